"""The end of a step: configuration and velocity of its trees, with their columns.

Equations: contact_step_motion.py (4), contact/flight.py (1), (4), (6).
"""

from __future__ import annotations

from setsu.contact.tree import Tree
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import load_at, spread, store_at
from setsu.simulation.contact_step import (
    DISPLACEMENT,
    END,
    FROM,
    MIDDLE,
    NU_NEXT,
    PLACE_END,
    PLAIN,
    START,
    STEP,
    STILL,
    TO,
    TO_END,
    V_END,
    V_START,
    StepMap,
)
from setsu.simulation.contact_step_columns import add_middle, add_moment, first_moment, pose_row
from setsu.simulation.contact_step_space import (
    add_product,
    clear,
    invert_base,
    momentum_terms,
    move,
    place,
    set_chart,
    set_product,
)

__all__ = ["set_end", "set_end_velocity", "turn_further"]


@inline
def set_end(w: StepMap, tree: Tree, exact, differentiated):
    """Configuration at the end, into d_q or, if not exact, d_out; exact: centres of mass as flight.py (6)."""
    if run_bound(w.kernels[TO_END]) >= 0 or run_bound(w.kernels[PLACE_END]) >= 0:
        return False
    place(w, END)
    h = w.numbers[STEP]
    if differentiated:
        _differentiate_end(w, w.d_q if exact else w.d_out, w.d_q4 if exact else w.d_out4)
    if not exact or w.counts[PLAIN] == 1:
        return True
    c, shift = w.small[2, 0], w.small[2, 1]
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        first_moment(w, END, r.body, c)
        T, start, goal, jumps = w.poses[pose_row(w, END, r.body)], w.before[k], w.targets[k], w.jumps[r.body] == 1
        for i in range(3):
            rate = goal[i] if jumps else 0.5 * (start[3 + i] + goal[i])
            shift[i] = start[i] + h / r.mass * rate - T[i, 3] - c[i] / r.mass
        for i in range(3):
            w.q[END, r.coordinate + i] += r.axes[0, i] * shift[0] + r.axes[1, i] * shift[1] + r.axes[2, i] * shift[2]
        for body in range(len(w.reference)):
            if w.reference[body] == r.body:
                for i in range(3):
                    w.poses[END * len(w.reference) + body, i, 3] += shift[i]
        if differentiated:
            _differentiate_center(w, k, r, T, jumps)
    return True


@inline
def _differentiate_end(w: StepMap, out, blocks):
    """Columns of the configuration at the end from those of the displacement."""
    start, stop = w.counts[FROM], w.counts[TO]
    for d in range(len(w.parent)):
        set_product(blocks, d, 1.0, w.d_way4, d, start, stop)
        if start == 0:
            out[d, d] += 1.0
    for n in range(len(w.turning)):
        o, count, k = w.turning[n, 0], w.turning[n, 1], len(w.turning) + n
        set_chart(w, w.vectors[DISPLACEMENT], o, count, w.carried[k], w.chart[k])
        clear(blocks, o, o + count, start, stop)
        for i in range(count):
            for j in range(count):
                if w.chart[k, i, j] != 0.0:
                    add_product(blocks, o + i, w.chart[k, i, j], w.d_way4, o + j, start, stop)
                if start == 0:
                    out[o + i, o + j] += w.carried[k, i, j]


@inline
def _differentiate_center(w: StepMap, k, r, T, jumps):
    """Let the base of a tree follow its centre of mass (4)."""
    nv, start, stop, o, rows = len(w.parent), w.counts[FROM], w.counts[TO], r.velocity, w.d_row4
    share = w.numbers[STEP] / r.mass * (1.0 if jumps else 0.5)
    part, f = spread(share), spread(-1.0 / r.mass)
    for j in range(start, stop):
        x, y, z = _first_moment_change(w, r.body, w.d_q4, j)
        store_at(rows, 0, j, part * load_at(w.d_targets4, 6 * k, j) + f * x)
        store_at(rows, 1, j, part * load_at(w.d_targets4, 6 * k + 1, j) + f * y)
        store_at(rows, 2, j, part * load_at(w.d_targets4, 6 * k + 2, j) + f * z)
    for i in range(3):
        for d in range(nv if start == 0 else 0):
            if w.reference[w.dof_body[d]] == r.body:
                w.d_row[i, d] += w.by_v[START, d, i] / r.mass
                if not jumps:
                    w.d_row[i, d] += share * w.by_q[START, d, i]
                    w.d_row[i, nv + d] += share * w.by_v[START, d, i]
    for i in range(3):
        for j in range(3):
            add_product(w.d_q4, o + i, T[j, i], rows, j, start, stop)


@inline
def _first_moment_change(w: StepMap, root, moved, j):
    """Block j of the columns of a tree's first moment (3), from those of its configuration at the end."""
    x = y = z = spread(0.0)
    for d in range(len(w.parent)):
        if w.reference[w.dof_body[d]] == root:
            by, m = w.by_v[END, d], load_at(moved, d, j)
            x, y, z = x + spread(by[0]) * m, y + spread(by[1]) * m, z + spread(by[2]) * m
    return x, y, z


@inline
def turn_further(w: StepMap, tree: Tree, differentiated):
    """Turns of free joints from the velocities at both ends, flight.py (4); return by how much they change (rad)."""
    a, h, nv, start, change = w.vectors, w.numbers[STEP], len(w.parent), w.counts[FROM], 0.0
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        before = 0.0 if w.jumps[r.body] == 1 else 0.5
        for o in range(r.turning, r.turning + 3):
            turn = h * (before * a[V_START, o] + (1.0 - before) * a[V_END, o])
            change = max(change, abs(turn - a[DISPLACEMENT, o]))
            a[DISPLACEMENT, o] = turn
            if differentiated:
                set_product(w.d_way4, o, h * (1.0 - before), w.d_v4, o, start, w.counts[TO])
                if start == 0:
                    w.d_way[o, nv + o] += h * before
    return change


@inline
def set_end_velocity(w: StepMap, tree: Tree, moved, differentiated):
    """v' from ν' and the momentum of the trees; moved: derivatives of the configuration at the end."""
    a, nv, start, stop = w.vectors, len(w.parent), w.counts[FROM], w.counts[TO]
    for d in range(nv):
        a[V_END, d] = a[NU_NEXT, d]
        if differentiated:
            set_product(w.d_v4, d, 1.0, w.d_next4, d, start, stop)
    if w.counts[STILL] == 1:
        return
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            _turn_velocity(w, r, moved, differentiated)
        else:
            for d in range(r.velocity, r.velocity + 6):
                a[V_END, d] = 0.0
            if differentiated:
                clear(w.d_v4, r.velocity, r.velocity + 6, start, stop)
    move(w, END, a[V_END])
    for k in range(len(tree.roots)):
        if tree.roots[k].exact == 1:
            _solve_base(w, k, tree.roots[k])
    if not differentiated:
        return
    move(w, END, a[V_END])
    momentum_terms(w, END, a[V_END], w.row[0], w.row[1])
    for k in range(len(tree.roots)):
        if tree.roots[k].exact == 1:
            _differentiate_base(w, k, tree.roots[k], moved)


@inline
def _turn_velocity(w: StepMap, r, moved, differentiated):
    """Velocities of a base in its axes at the end, flight.py (1)."""
    a = w.vectors
    A, B, n = w.poses[pose_row(w, MIDDLE, r.body)], w.poses[pose_row(w, END, r.body)], 3 if r.free == 1 else 0
    U, t = w.small[2], r.turning
    for i in range(3):
        for j in range(3):
            U[i, j] = B[0, i] * A[0, j] + B[1, i] * A[1, j] + B[2, i] * A[2, j]
    for o in range(t, t - 1 - n, -3):
        x, y, z = a[NU_NEXT, o], a[NU_NEXT, o + 1], a[NU_NEXT, o + 2]
        for i in range(3):
            a[V_END, o + i] = U[i, 0] * x + U[i, 1] * y + U[i, 2] * z
        if differentiated:
            _differentiate_turned(w, o, t, moved)


@inline
def _differentiate_turned(w: StepMap, o, t, moved):
    """Columns of three velocities from o on; small[2] turns them, t: first angular velocity of their joint."""
    a, start, stop, turned, rows, U = w.vectors, w.counts[FROM], w.counts[TO], w.row[6], w.d_row4, w.small[2]
    clear(rows, 0, 3, start, stop)
    for i in range(3):
        # dθ_m x ν', a row of q_m at a time.
        p, q = (i + 1) % 3, (i + 2) % 3
        for d in range(len(turned)):
            turned[d] = 0.0
        turned[t + p], turned[t + q] = a[NU_NEXT, o + q], -a[NU_NEXT, o + p]
        if start == 0:
            add_middle(w, w.d_row[i], turned)
        add_product(rows, i, 1.0, w.d_next4, o + i, start, stop)
    X, Y, Z = spread(a[V_END, o]), spread(a[V_END, o + 1]), spread(a[V_END, o + 2])
    for c in range(start, stop):
        x, y, z = load_at(rows, 0, c), load_at(rows, 1, c), load_at(rows, 2, c)
        u, v, s = load_at(moved, t, c), load_at(moved, t + 1, c), load_at(moved, t + 2, c)
        p, q, r = spread(U[0, 0]) * x + spread(U[0, 1]) * y + spread(U[0, 2]) * z, v * Z - s * Y, s * X - u * Z
        store_at(w.d_v4, o, c, p - q)
        store_at(w.d_v4, o + 1, c, spread(U[1, 0]) * x + spread(U[1, 1]) * y + spread(U[1, 2]) * z - r)
        p = spread(U[2, 0]) * x + spread(U[2, 1]) * y + spread(U[2, 2]) * z
        store_at(w.d_v4, o + 2, c, p - (u * Y - v * X))


@inline
def _goal(w: StepMap, k, r, c, out):
    """Momentum (6) of a tree at the end, about the origin of its base; c: its centre from there."""
    goal = w.targets[k]
    first_moment(w, END, r.body, c)
    for i in range(3):
        c[i] = c[i] / r.mass
        out[i], out[3 + i] = goal[i], goal[3 + i]
    add_moment(out, c, goal)


@inline
def _solve_base(w: StepMap, k, r):
    """Velocity of the base that gives a tree its momentum; those of its joints are in `momenta` already."""
    c, goal, v, o = w.small[2, 0], w.small[2, 1], w.vectors[V_END], r.velocity
    _goal(w, k, r, c, goal)
    invert_base(w, END, o)
    B, h = w.small[6], w.momenta[END, o]
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += B[i, j] * (goal[j] - h[j])
        v[o + i] = total


@inline
def _differentiate_base(w: StepMap, k, r, moved):
    """Columns of that velocity (4)."""
    o, P, c, B = r.velocity, w.targets[k], w.small[2, 0], w.small[6]
    _goal(w, k, r, c, w.small[2, 1])
    invert_base(w, END, o)
    x, y, z = spread(P[0] / r.mass), spread(P[1] / r.mass), spread(P[2] / r.mass)
    cx, cy, cz, goal, g = spread(c[0]), spread(c[1]), spread(c[2]), w.d_targets4, 6 * k
    for j in range(w.counts[FROM], w.counts[TO]):
        u, v, s = _first_moment_change(w, r.body, moved, j)
        p, q, t = load_at(goal, g, j), load_at(goal, g + 1, j), load_at(goal, g + 2, j)
        lx = load_at(goal, g + 3, j) + v * z - s * y + cy * t - cz * q
        ly = load_at(goal, g + 4, j) + s * x - u * z + cz * p - cx * t
        lz = load_at(goal, g + 5, j) + u * y - v * x + cx * q - cy * p
        for d in range(len(w.parent)):
            if w.reference[w.dof_body[d]] != r.body:
                continue
            by, change = w.by_q[END, d], load_at(moved, d, j)
            p, q, t = p - spread(by[0]) * change, q - spread(by[1]) * change, t - spread(by[2]) * change
            lx, ly, lz = lx - spread(by[3]) * change, ly - spread(by[4]) * change, lz - spread(by[5]) * change
            if not o <= d < o + 6:
                by, change = w.by_v[END, d], load_at(w.d_v4, d, j)
                p, q, t = p - spread(by[0]) * change, q - spread(by[1]) * change, t - spread(by[2]) * change
                lx, ly, lz = lx - spread(by[3]) * change, ly - spread(by[4]) * change, lz - spread(by[5]) * change
        for i in range(6):
            linear = spread(B[i, 0]) * p + spread(B[i, 1]) * q + spread(B[i, 2]) * t
            store_at(w.d_v4, o + i, j, linear + (spread(B[i, 3]) * lx + spread(B[i, 4]) * ly + spread(B[i, 5]) * lz))
