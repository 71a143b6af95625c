"""Contacts of a step: how their points move, their laws in the modes at hand, and the derivatives of both.

With the columns of contact_step_motion.py, x = ν' or ½ (ν' - ν), r from the tree's first body to where a contact acts,

    ∂(K x)/∂q_e = E ((S_e x (V - V_p))_v + (S_e x (V - V_p))_w x r + V_w x dr_e)                      (1)  V = V(x)
    ∂(Kᵀ λ)_d/∂q_e = (S_e x S_d) · (f, r x f) + S_d · (0, dr_e x f)                  (2)  first term: e above d
    slides: ∂R_t = ∂λ_t + μ û ∂λ_n + μ λ_n (1 - û ûᵀ)/|w_t| ∂w_t,   û = w_t/|w_t|                     (3)
    out of the ground: H s = K_nᵀ y,  K_n s + ε y = -⅕ s(q'),  linearised                             (4)
"""

from __future__ import annotations

import math

from setsu.contact.scene import Problem, Scene
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline
from setsu.native.lanes import load_at, spread, store_at
from setsu.simulation.contact_step import (
    CLOSED,
    COLUMN,
    COMPLIANCE,
    CREEP_DEPTH,
    END,
    FROM,
    HELD,
    IMPULSES,
    LISTED,
    MIDDLE,
    NU,
    NU_NEXT,
    START,
    STEP,
    TO,
    StepMap,
)
from setsu.simulation.contact_step_columns import add_middle, add_nu
from setsu.simulation.contact_step_space import add_product, clear, factor_small, solve_small

__all__ = [
    "add_load_change",
    "arm_of",
    "begin_contacts",
    "differentiate_laws",
    "factor_laws",
    "set_jacobian",
    "set_laws",
    "set_load_changes",
    "set_swing",
    "solve_laws",
]


@inline
def _point(w: StepMap, when, k, out, first):
    """Where the point of a contact is, world, into out[first : first + 3]."""
    T, p = w.poses[when * len(w.reference) + w.body[k]], w.at[k]
    for i in range(3):
        out[first + i] = T[i, 0] * p[0] + T[i, 1] * p[1] + T[i, 2] * p[2] + T[i, 3]


@inline
def arm_of(w: StepMap, when, k, at, first, out):
    """The same from the first body of its tree."""
    T = w.poses[when * len(w.reference) + w.reference[w.body[k]]]
    for i in range(3):
        out[i] = at[first + i] - T[i, 3]


@inline
def _velocity_of(s, r, out):
    """Velocity (3) of a point at r that moves with s (6)."""
    out[0] = s[0] + s[4] * r[2] - s[5] * r[1]
    out[1] = s[1] + s[5] * r[0] - s[3] * r[2]
    out[2] = s[2] + s[3] * r[1] - s[4] * r[0]


@inline
def set_jacobian(w: StepMap, when, k, r, out):
    """Rows (3, nv) of a point at r along the axes of its contact."""
    u = w.small[0, 0]
    for i in range(3):
        for d in range(len(w.parent)):
            out[i, d] = 0.0
    d = w.last[w.body[k]]
    while d >= 0:
        _velocity_of(w.axes[when, d], r, u)
        for i in range(3):
            E = w.E[k, i]
            out[i, d] = E[0] * u[0] + E[1] * u[1] + E[2] * u[2]
        d = w.parent[d]


@inline
def _stop_of(scene: Scene, problem: Problem, w: StepMap, k):
    return problem.contacts[w.record[k]].face


@inline
def _stop_gap(scene: Scene, stop, q):
    """Gap (m) of the stop of a joint of the tree, contact_step.py (8)."""
    s = scene.stops[stop]
    return s.sign * s.lever * (q[s.coordinate] - s.limit)


@inline
def begin_contacts(w: StepMap, scene: Scene, problem: Problem):
    """Where contacts act, their rows K and gaps at the beginning."""
    r = w.small[1, 0]
    for k in range(w.counts[LISTED]):
        rows = w.K[3 * k : 3 * k + 3]
        if w.stop[k] >= 0:
            s = scene.stops[_stop_of(scene, problem, w, k)]
            for i in range(3):
                for d in range(len(w.parent)):
                    rows[i, d] = 0.0
            rows[0, w.stop[k]] = s.sign * s.lever
            w.gaps[k, 0] = _stop_gap(scene, _stop_of(scene, problem, w, k), w.q[START])
            continue
        n = w.E[k, 0]
        _point(w, MIDDLE, k, w.acts[k], 0)
        for i in range(3):
            w.acts[k, i] -= w.radius[k] * n[i]
        arm_of(w, MIDDLE, k, w.acts[k], 0, r)
        set_jacobian(w, MIDDLE, k, r, rows)
        p = w.points[k]
        _point(w, START, k, p, 0)
        w.gaps[k, 0] = n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - w.offset[k] - w.radius[k]


@inline
def set_load_changes(w: StepMap):
    """∂(Kᵀ λ)/∂q_m of all contacts (2)."""
    nv = len(w.parent)
    for d in range(nv):
        for e in range(nv):
            w.by_middle[d, e] = 0.0
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0 and w.stop[k] < 0:
            add_load_change(w, k, w.impulse[k], 3)


@inline
def add_load_change(w: StepMap, k, impulse, count):
    """Add ∂(Kᵀ λ)/∂q_m (2) of the first `count` impulses of a contact to by_middle."""
    f, r, u, swung = w.small[1, 1], w.small[1, 0], w.small[1, 2], w.small[1, 4]
    for i in range(3):
        f[i] = 0.0
        for j in range(count):
            f[i] += w.E[k, j, i] * impulse[j]
    arm_of(w, MIDDLE, k, w.acts[k], 0, r)
    R, N, center = w.radius[k], w.E[k, 0], w.small[1, 5]
    for i in range(3):
        # The point moves with its body, what acts beside it with the point.
        center[i] = r[i] + R * N[i]
    mx, my, mz = r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2], r[0] * f[1] - r[1] * f[0]
    tip = w.last[w.body[k]]
    e, turned = tip, w.row
    while e >= 0:
        _velocity_of(w.axes[MIDDLE, e], center, u)
        turned[0, e], turned[1, e] = u[1] * f[2] - u[2] * f[1], u[2] * f[0] - u[0] * f[2]
        turned[2, e] = u[0] * f[1] - u[1] * f[0]
        e = w.parent[e]
    d = tip
    while d >= 0:
        s = w.axes[MIDDLE, d]
        # s · (e x* force) for the axes e above: (f x s_w, m x s_w + f x s_v), by the rules of the triple product.
        swung[0], swung[1], swung[2] = s[4] * f[2] - s[5] * f[1], s[5] * f[0] - s[3] * f[2], s[3] * f[1] - s[4] * f[0]
        swung[3] = s[4] * mz - s[5] * my + s[1] * f[2] - s[2] * f[1]
        swung[4] = s[5] * mx - s[3] * mz + s[2] * f[0] - s[0] * f[2]
        swung[5] = s[3] * my - s[4] * mx + s[0] * f[1] - s[1] * f[0]
        e = tip
        while e >= 0:
            total = s[3] * turned[0, e] + s[4] * turned[1, e] + s[5] * turned[2, e]
            if e <= d or w.link[e] == w.link[d]:
                t = w.axes[MIDDLE, e]
                for i in range(6):
                    total += swung[i] * t[i]
            w.by_middle[d, e] += total
            e = w.parent[e]
        d = w.parent[d]


@inline
def _set_ways(w: StepMap):
    """Motions of the bodies for ν and ν', in the middle."""
    a = w.vectors
    for d in range(len(w.parent)):
        s, p = w.axes[MIDDLE, d], w.parent[d]
        for i in range(6):
            w.way[0, d, i] = s[i] * a[NU, d] + (w.way[0, p, i] if p >= 0 else 0.0)
            w.way[1, d, i] = s[i] * a[NU_NEXT, d] + (w.way[1, p, i] if p >= 0 else 0.0)


@inline
def _bends(w: StepMap, k, i):
    """Whether the way of a contact counts along its axis i, instead of its velocity."""
    return w.stop[k] < 0 and (i == 0 or w.bends[k] == 1)


@inline
def set_laws(w: StepMap, scene: Scene, problem: Problem):
    """Gaps at the end, w and the residual of the laws of closed contacts and held rows."""
    a, h, eps, nv = w.vectors, w.numbers[STEP], w.numbers[COMPLIANCE], len(w.parent)
    for k in range(w.counts[LISTED]):
        if w.stop[k] >= 0:
            w.gaps[k, 1] = _stop_gap(scene, _stop_of(scene, problem, w, k), w.q[END])
        else:
            n, p = w.E[k, 0], w.points[k]
            _point(w, END, k, p, 3)
            w.gaps[k, 1] = n[0] * p[3] + n[1] * p[4] + n[2] * p[5] - w.offset[k] - w.radius[k]
        if w.place[k] < 0:
            continue
        for i in range(3):
            after = before = way = 0.0
            K, E, p = w.K[3 * k + i], w.E[k, i], w.points[k]
            for d in range(nv):
                after += K[d] * a[NU_NEXT, d]
                before += K[d] * a[NU, d]
            if _bends(w, k, i):
                for j in range(3):
                    way += E[j] * (p[3 + j] - p[j])
                way = way / h + (0.0 if w.jumping[k] == 1 else 0.5 * (after - before))
            else:
                way = after
            w.w[k, i] = way + eps * w.impulse[k, i] - w.surface[k, i]
        w.w[k, 0] += (-w.numbers[CREEP_DEPTH] if w.pressed[k] == 1 else w.gaps[k, 0]) / h
        R, o, x, y = w.residual, 3 * w.place[k], w.w[k, 1], w.w[k, 2]
        R[o], R[o + 1], R[o + 2] = w.w[k, 0], x, y
        if w.slides[k] == 1:
            speed = math.sqrt(x * x + y * y)
            f = w.friction[k] * w.impulse[k, 0] / speed if speed > 0.0 else 0.0
            R[o + 1], R[o + 2] = w.impulse[k, 1] + f * x, w.impulse[k, 2] + f * y
    for r in range(w.counts[HELD]):
        w.residual[3 * w.counts[CLOSED] + r] = w.held_error[r] / h


@inline
def differentiate_laws(w: StepMap, tree: Tree):
    """Columns of the laws, from those of ν' and q'."""
    nv, h, eps, start, stop = len(w.parent), w.numbers[STEP], w.numbers[COMPLIANCE], w.counts[FROM], w.counts[TO]
    _set_ways(w)
    first, last = w.row[0:3], w.row[3:6]
    r, V, out = w.small[1, 0], w.small[3, 0], w.laws
    for k in range(w.counts[LISTED]):
        if w.place[k] < 0:
            continue
        o = 3 * w.place[k]
        clear(w.laws4, o, o + 3, start, stop)
        for i in range(o, o + 3):
            out[i, w.counts[COLUMN] + i] = eps
        if w.stop[k] >= 0:
            d = w.stop[k]
            add_product(w.laws4, o, w.K[3 * k, d], w.d_next4, d, start, stop)
            if w.pressed[k] == 0 and start == 0:
                out[o, d] += w.K[3 * k, d] / h
        else:
            p = w.points[k]
            if start == 0:
                arm_of(w, START, k, p, 0, r)
                set_jacobian(w, START, k, r, first)
            arm_of(w, END, k, p, 3, r)
            set_jacobian(w, END, k, r, last)
            arm_of(w, MIDDLE, k, w.acts[k], 0, r)
            jumps = w.jumping[k] == 1
            for i in range(3):
                bends, row = _bends(w, k, i), out[o + i]
                if bends and start == 0 and (i > 0 or w.pressed[k] == 1):
                    for d in range(nv):
                        row[d] -= first[i, d] / h
                # The velocity at the end, or half of its change.
                share = (0.0 if jumps else 0.5) if bends else 1.0
                for d in range(nv):
                    first[i, d] = share * w.K[3 * k + i, d]
                    last[i, d] = last[i, d] / h if bends else 0.0
            _along_path(w, k, o, last, first)
            for i in range(3 if start == 0 else 0):
                bends, row = _bends(w, k, i), out[o + i]
                if bends and jumps:
                    continue
                share = 0.5 if bends else 1.0
                tip = w.last[w.body[k]]
                for j in range(6):
                    V[j] = share * w.way[1, tip, j] - (0.5 * w.way[0, tip, j] if bends else 0.0)
                changes = w.row[6]
                set_swing(w, k, i, r, V, share, bends, changes)
                add_middle(w, row, changes)
                if bends:
                    for d in range(nv):
                        changes[d] = -0.5 * w.K[3 * k + i, d]
                    add_nu(w, tree, row, changes)
        if w.slides[k] == 1:
            _slide(w, k, o)
    o = 3 * w.counts[CLOSED]
    clear(w.laws4, o, o + w.counts[HELD], start, stop)
    for i in range(w.counts[HELD]):
        for d in range(nv):
            if w.held_end[i, d] != 0.0:
                add_product(w.laws4, o + i, w.held_end[i, d] / h, w.d_q4, d, start, stop)


@inline
def _along_path(w: StepMap, k, o, by_end, by_next):
    """Add to the three rows of a contact, from o on, what its path makes of q' and ν'; factors (3, nv) of both."""
    out, tip = w.laws4, w.last[w.body[k]]
    for j in range(w.counts[FROM], w.counts[TO]):
        x, y, z, d = load_at(out, o, j), load_at(out, o + 1, j), load_at(out, o + 2, j), tip
        while d >= 0:
            p, n = load_at(w.d_q4, d, j), load_at(w.d_next4, d, j)  # type: ignore[arg-type]
            x = x + (spread(by_end[0, d]) * p + spread(by_next[0, d]) * n)
            y = y + (spread(by_end[1, d]) * p + spread(by_next[1, d]) * n)
            z = z + (spread(by_end[2, d]) * p + spread(by_next[2, d]) * n)
            d = w.parent[d]
        store_at(out, o, j, x)
        store_at(out, o + 1, j, y)
        store_at(out, o + 2, j, z)


@inline
def set_swing(w: StepMap, k, i, r, V, share, bends, out):
    """∂(K x)/∂q_m (1) of a contact along its axis i, for x = share ν' (- ½ ν); V: motion of its body."""
    E, D, u, center = w.E[k, i], w.small[1, 2], w.small[1, 3], w.small[1, 5]
    for d in range(len(out)):
        out[d] = 0.0
    for j in range(3):
        center[j] = r[j] + w.radius[k] * w.E[k, 0, j]
    e = w.last[w.body[k]]
    while e >= 0:
        s, p = w.axes[MIDDLE, e], w.above[e]
        for j in range(6):
            D[j] = V[j]
            if p >= 0:
                D[j] -= share * w.way[1, p, j] - (0.5 * w.way[0, p, j] if bends else 0.0)
        # S_e x D
        ax, ay, az = s[4] * D[5] - s[5] * D[4], s[5] * D[3] - s[3] * D[5], s[3] * D[4] - s[4] * D[3]
        _velocity_of(s, center, u)
        x = s[4] * D[2] - s[5] * D[1] + s[1] * D[5] - s[2] * D[4] + ay * r[2] - az * r[1] + V[4] * u[2] - V[5] * u[1]
        y = s[5] * D[0] - s[3] * D[2] + s[2] * D[3] - s[0] * D[5] + az * r[0] - ax * r[2] + V[5] * u[0] - V[3] * u[2]
        z = s[3] * D[1] - s[4] * D[0] + s[0] * D[4] - s[1] * D[3] + ax * r[1] - ay * r[0] + V[3] * u[1] - V[4] * u[0]
        out[e] = E[0] * x + E[1] * y + E[2] * z
        e = w.parent[e]


@inline
def _slide(w: StepMap, k, o):
    """(3)."""
    mu, x, y = w.friction[k], w.w[k, 1], w.w[k, 2]
    speed = math.sqrt(x * x + y * y)
    u, v, f = 0.0, 0.0, 0.0
    if speed > 0.0:
        u, v, f = x / speed, y / speed, mu * w.impulse[k, 0] / speed
    a, b, c = spread(f * (1.0 - u * u)), spread(-f * u * v), spread(f * (1.0 - v * v))
    for j in range(w.counts[FROM], w.counts[TO]):
        dx, dy = load_at(w.laws4, o + 1, j), load_at(w.laws4, o + 2, j)
        store_at(w.laws4, o + 1, j, a * dx + b * dy)
        store_at(w.laws4, o + 2, j, b * dx + c * dy)
    column = w.counts[COLUMN] + o
    w.laws[o + 1, column + 1] += 1.0
    w.laws[o + 2, column + 2] += 1.0
    w.laws[o + 1, column] += mu * u
    w.laws[o + 2, column] += mu * v


@inline
def factor_laws(w: StepMap):
    """Factors of the laws' derivatives by the impulses; False where they are singular."""
    n, column = w.counts[IMPULSES], w.counts[COLUMN]
    for i in range(n):
        for j in range(n):
            w.factor[i, j] = w.laws[i, column + j]
    return factor_small(w.factor, w.pivots, n)


@inline
def solve_laws(w: StepMap, B, start, stop):
    """B <- (∂R/∂λ)⁻¹ B."""
    solve_small(w.factor, w.pivots, w.counts[IMPULSES], B, start, stop)
