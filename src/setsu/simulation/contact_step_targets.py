"""Displacement of a step and momentum of its trees at the end, with their columns.

Equations: contact/flight.py (2), (3), (5).
"""

from __future__ import annotations

from setsu.contact.tree import Tree
from setsu.native.control_flow import inline
from setsu.native.lanes import load_at, spread, store_at
from setsu.simulation.contact_step import (
    APPLIED,
    COLUMN,
    DISPLACEMENT,
    FROM,
    LISTED,
    MIDDLE,
    NU,
    NU_NEXT,
    PLAIN,
    START,
    STEP,
    TO,
    StepMap,
)
from setsu.simulation.contact_step_columns import (
    add_middle,
    add_moment,
    add_nu_of,
    first_moment,
    has_middle,
    is_last,
    joint_of,
    pose_row,
)
from setsu.simulation.contact_step_space import clear, set_product

__all__ = ["set_displacement", "set_targets"]


@inline
def set_displacement(w: StepMap, tree: Tree, differentiated):
    """Flight.py (2), (3), in the axes of the beginning."""
    a, h, nv, start, stop = w.vectors, w.numbers[STEP], len(w.parent), w.counts[FROM], w.counts[TO]
    x, way = a[DISPLACEMENT], w.d_way4
    for d in range(nv):
        last = is_last(w, d)
        x[d] = h * a[NU_NEXT, d] if last else 0.5 * h * (a[NU, d] + a[NU_NEXT, d])
        if differentiated:
            set_product(way, d, h if last else 0.5 * h, w.d_next4, d, start, stop)
            if not last and start == 0:
                add_nu_of(w, tree, w.d_way[d], d, 0.5 * h)
    if w.counts[PLAIN] == 1:
        return
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        j, n = joint_of(w, r.velocity), 3 if r.free == 1 else 0
        T, J, half, t = w.carried[j], w.chart[j], 0.5 * h, r.turning
        moves = has_middle(w)
        if differentiated and moves and start == 0:
            for i in range(3):
                # δ x y of the turn of the middle by ω_i, before T is applied.
                column = nv + t + i
                dx, dy, dz = half * J[n, n + i], half * J[n + 1, n + i], half * J[n + 2, n + i]
                for o in range(t, t - 1 - n, -3):
                    w.d_way[o, column] += dy * x[o + 2] - dz * x[o + 1]
                    w.d_way[o + 1, column] += dz * x[o] - dx * x[o + 2]
                    w.d_way[o + 2, column] += dx * x[o + 1] - dy * x[o]
        for o in range(t, t - 1 - n, -3):
            p, q, s = x[o], x[o + 1], x[o + 2]
            if moves:
                for i in range(3):
                    # T is the transpose of the chart's block.
                    x[o + i] = T[n, n + i] * p + T[n + 1, n + i] * q + T[n + 2, n + i] * s
            for c in range(start, stop if differentiated and moves else start):
                dp, dq, ds = load_at(way, o, c), load_at(way, o + 1, c), load_at(way, o + 2, c)
                for i in range(3):
                    u, v, t3 = spread(T[n, n + i]), spread(T[n + 1, n + i]), spread(T[n + 2, n + i])
                    store_at(way, o + i, c, u * dp + v * dq + t3 * ds)
        if r.free == 0:
            continue
        o = r.velocity
        # Along the screw: way - ½ θ x way + θ x (θ x way) / 12.
        u, v, s, X, Y, Z = x[t], x[t + 1], x[t + 2], x[o], x[o + 1], x[o + 2]
        i, j2, k2 = v * Z - s * Y, s * X - u * Z, u * Y - v * X
        x[o] = X - 0.5 * i + (v * k2 - s * j2) / 12.0
        x[o + 1] = Y - 0.5 * j2 + (s * i - u * k2) / 12.0
        x[o + 2] = Z - 0.5 * k2 + (u * j2 - v * i) / 12.0
        if differentiated:
            _differentiate_screw(w, o, t, (u, v, s), (X, Y, Z), (i, j2, k2))


@inline
def _differentiate_screw(w: StepMap, o, t, turn, way, across):
    """Columns of the same; across: turn x way."""
    out, half, part12 = w.d_way4, spread(0.5), spread(1.0 / 12.0)
    u, v, s = spread(turn[0]), spread(turn[1]), spread(turn[2])
    X, Y, Z = spread(way[0]), spread(way[1]), spread(way[2])
    i, j, k = spread(across[0]), spread(across[1]), spread(across[2])
    for c in range(w.counts[FROM], w.counts[TO]):
        du, dv, ds = load_at(out, t, c), load_at(out, t + 1, c), load_at(out, t + 2, c)
        dX, dY, dZ = load_at(out, o, c), load_at(out, o + 1, c), load_at(out, o + 2, c)
        di = dv * Z - ds * Y + v * dZ - s * dY
        dj = ds * X - du * Z + s * dX - u * dZ
        dk = du * Y - dv * X + u * dY - v * dX
        store_at(out, o, c, dX - half * di + part12 * (dv * k - ds * j + v * dk - s * dj))
        store_at(out, o + 1, c, dY - half * dj + part12 * (ds * i - du * k + s * di - u * dk))
        store_at(out, o + 2, c, dZ - half * dk + part12 * (du * j - dv * i + u * dj - v * di))


@inline
def set_targets(w: StepMap, tree: Tree, differentiated):
    """Momentum of the trees at the end, flight.py (5)."""
    if w.counts[PLAIN] == 1:
        return
    a, h, g, nv = w.vectors, w.numbers[STEP], tree.gravity, len(w.parent)
    c, push, arm, force, R = w.small[2, 0], w.small[2, 1], w.small[2, 2], w.small[2, 3], w.small[3]
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        T, o, out, start = w.poses[pose_row(w, MIDDLE, r.body)], r.velocity, w.targets[k], w.before[k]
        first_moment(w, MIDDLE, r.body, c)
        for i in range(3):
            c[i] = c[i] / r.mass  # from the origin of the body
            for j in range(3):
                R[i, j] = h * T[i, j]
        for i in range(3):
            push[i] = R[i, 0] * a[APPLIED, o] + R[i, 1] * a[APPLIED, o + 1] + R[i, 2] * a[APPLIED, o + 2]
            turn = R[i, 0] * a[APPLIED, o + 3] + R[i, 1] * a[APPLIED, o + 4] + R[i, 2] * a[APPLIED, o + 5]
            out[i] = start[3 + i] + h * r.mass * g[i] + push[i]
            out[3 + i] = start[6 + i] + turn
            arm[i] = -c[i]
        add_moment(out, arm, push)
        for n in range(w.counts[LISTED]):
            if w.place[n] >= 0 and w.reference[w.body[n]] == r.body:
                for i in range(3):
                    force[i], arm[i] = 0.0, w.acts[n, i] - T[i, 3] - c[i]
                    for j in range(3):
                        force[i] += w.E[n, j, i] * w.impulse[n, j]
                    out[i] += force[i]
                add_moment(out, arm, force)
        if differentiated:
            _differentiate_targets(w, k, r, c, push, nv)


@inline
def _differentiate_targets(w: StepMap, k, r, c, push, nv):
    """Columns of a tree's momentum at the end; c: its centre in the middle, from the origin; push: of its base."""
    h, o, mass = w.numbers[STEP], r.velocity, r.mass
    out, start, T = w.d_targets, w.before[k], w.poses[pose_row(w, MIDDLE, r.body)]
    first, begin = 6 * k, w.poses[pose_row(w, START, r.body)]
    clear(w.d_targets4, first, first + 6, w.counts[FROM], w.counts[TO])
    if w.counts[FROM] > 0:
        _differentiate_pushes(w, r, c, first)
        return
    x, y, z = start[0] - begin[0, 3], start[1] - begin[1, 3], start[2] - begin[2, 3]
    P = w.small[4, 0]
    P[0], P[1], P[2] = start[3], start[4], start[5]
    dc, df, da = w.small[4, 1], w.small[4, 2], w.small[4, 3]
    wrench, moved = w.small[4, 4], w.small[4, 5]
    for d in range(nv):
        if w.reference[w.dof_body[d]] != r.body:
            continue
        by_q, by_v = w.by_q[START, d], w.by_v[START, d]
        for i in range(3):
            out[first + i, d] += by_q[i]
            out[first + i, nv + d] += by_v[i]
            dc[i] = by_v[i] / mass
        # About the centre, which moves: dL - dc x P - (c - O) x dP.
        out[first + 3, d] += by_q[3] - (y * by_q[2] - z * by_q[1]) - (dc[1] * P[2] - dc[2] * P[1])
        out[first + 4, d] += by_q[4] - (z * by_q[0] - x * by_q[2]) - (dc[2] * P[0] - dc[0] * P[2])
        out[first + 5, d] += by_q[5] - (x * by_q[1] - y * by_q[0]) - (dc[0] * P[1] - dc[1] * P[0])
        out[first + 3, nv + d] += by_v[3] - (y * by_v[2] - z * by_v[1])
        out[first + 4, nv + d] += by_v[4] - (z * by_v[0] - x * by_v[2])
        out[first + 5, nv + d] += by_v[5] - (x * by_v[1] - y * by_v[0])
    # Along q_m: rows (6, nv).
    for i in range(6):
        for d in range(nv):
            w.row[i, d] = 0.0
    u = w.vectors[APPLIED]
    for d in range(nv):
        if w.reference[w.dof_body[d]] != r.body:
            continue
        s = w.axes[MIDDLE, d]
        for i in range(6):
            wrench[i] = 0.0
        for i in range(3):
            dc[i] = w.by_v[MIDDLE, d, i] / mass
            da[i] = (s[i] if o <= d < o + 6 else 0.0) - dc[i]
            df[i] = 0.0
        if o + 3 <= d < o + 6:
            # The base turns what acts on it: s_ang x force.
            df[0] = s[4] * push[2] - s[5] * push[1]
            df[1] = s[5] * push[0] - s[3] * push[2]
            df[2] = s[3] * push[1] - s[4] * push[0]
            for i in range(3):
                moved[i] = h * (T[i, 0] * u[o + 3] + T[i, 1] * u[o + 4] + T[i, 2] * u[o + 5])
                wrench[i] += df[i]
            wrench[3] += s[4] * moved[2] - s[5] * moved[1]
            wrench[4] += s[5] * moved[0] - s[3] * moved[2]
            wrench[5] += s[3] * moved[1] - s[4] * moved[0]
            for i in range(3):
                moved[i] = -c[i]
            add_moment(wrench, moved, df)
        add_moment(wrench, da, push)
        for i in range(6):
            w.row[i, d] += wrench[i]
    _differentiate_pushes(w, r, c, first)
    for i in range(6):
        add_middle(w, out[first + i], w.row[i])
    for i in range(3):
        for j in range(3):
            # Torques on the base, at its origin.
            f = h * T[i, j]
            out[first + i, 2 * nv + o + j] += f
            out[first + 3 + i, 2 * nv + o + 3 + j] += f
    for j in range(3):
        f, column = w.small[4, 2], 2 * nv + o + j
        for i in range(3):
            f[i] = h * T[i, j]
        out[first + 3, column] += -c[1] * f[2] + c[2] * f[1]
        out[first + 4, column] += -c[2] * f[0] + c[0] * f[2]
        out[first + 5, column] += -c[0] * f[1] + c[1] * f[0]


@inline
def _differentiate_pushes(w: StepMap, r, c, first):
    """What contacts of a tree do to its momentum: along q_m into w.row, and by their impulses."""
    out, nv, T = w.d_targets, len(w.parent), w.poses[pose_row(w, MIDDLE, r.body)]
    force, arm, da, total = w.small[5, 0], w.small[5, 1], w.small[5, 2], w.small[5, 3]
    total[0] = total[1] = total[2] = 0.0
    for n in range(w.counts[LISTED]):
        if w.place[n] < 0 or w.reference[w.body[n]] != r.body:
            continue
        for i in range(3):
            force[i], arm[i] = 0.0, w.acts[n, i] - T[i, 3]
            for j in range(3):
                force[i] += w.E[n, j, i] * w.impulse[n, j]
            total[i] += force[i]
        d = w.last[w.body[n]] if w.counts[FROM] == 0 else -1
        # The point moves with its body, what acts beside it with the point.
        R, N = w.radius[n], w.E[n, 0]
        x, y, z = arm[0] + R * N[0], arm[1] + R * N[1], arm[2] + R * N[2]
        while d >= 0:
            s, row = w.axes[MIDDLE, d], w.row
            da[0] = s[0] + s[4] * z - s[5] * y
            da[1] = s[1] + s[5] * x - s[3] * z
            da[2] = s[2] + s[3] * y - s[4] * x
            row[3, d] += da[1] * force[2] - da[2] * force[1]
            row[4, d] += da[2] * force[0] - da[0] * force[2]
            row[5, d] += da[0] * force[1] - da[1] * force[0]
            d = w.parent[d]
        for i in range(3):
            arm[i] -= c[i]
        for j in range(3):
            column, E = w.counts[COLUMN] + 3 * w.place[n] + j, w.E[n, j]
            for i in range(3):
                out[first + i, column] += E[i]
            out[first + 3, column] += arm[1] * E[2] - arm[2] * E[1]
            out[first + 4, column] += arm[2] * E[0] - arm[0] * E[2]
            out[first + 5, column] += arm[0] * E[1] - arm[1] * E[0]
    for d in range(nv if w.counts[FROM] == 0 else 0):
        if w.reference[w.dof_body[d]] == r.body:
            x, y, z = w.by_v[MIDDLE, d, 0] / r.mass, w.by_v[MIDDLE, d, 1] / r.mass, w.by_v[MIDDLE, d, 2] / r.mass
            w.row[3, d] -= y * total[2] - z * total[1]
            w.row[4, d] -= z * total[0] - x * total[2]
            w.row[5, d] -= x * total[1] - y * total[0]
