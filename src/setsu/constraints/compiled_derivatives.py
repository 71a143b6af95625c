"""Derivatives of motion and forces under loops and couplings, many states at a time, in compiled code.

The equations are those of constrained_dynamics_derivatives.py, row_derivatives.py and constraint_partials.py for rows
whose wrench turns with body a, with nothing along free axes and linear couplings. Directions that move both bodies of a
loop change nothing of it, so that only its path counts. With P, Q, E of compiled_inverse.py,

    M a - Hᵀ λ = f,  H a = r   has   a = P f + Q r,   λ = -Qᵀ f + E r                                      (1)

which gives the motion first (f = τ - b, r = -γ), then its derivatives.
Kernels run on a group of states, as wide as the processor's vectors; all else on tiles of four of them.
Cost: 2 nv columns times (nv + n)². Refuses nothing: an outcome other than DONE leaves a state to the general way.
"""

from __future__ import annotations

from setsu.constraints.compiled_inverse import invert
from setsu.constraints.compiled_loops import motion_of_joint, pose_of_joint
from setsu.constraints.compiled_vectors import cross, dot, minus, plus, scaled, turned
from setsu.constraints.row_changes import change_by_a, change_by_b, relative_motion
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.lanes import LANES, gather, lane, load, load_at, spread, store, store_at

__all__ = ["BAD", "DONE", "OPEN", "SINGULAR", "differentiate_states"]

DONE, BAD, OPEN, SINGULAR = 0, 1, 2, 3
"""Outcome of a state, the same for all of a tile: done; numbers that are not finite (the same for all of a group); open
loops; almost singular."""

_OPEN = 1e-6
"""Error of a row, rad or lengths of the loop, up to which nothing has to be said."""


# What kernels wrote, as lanes ----------------------------------------------------------------------------------------


@inline
def _take(rows, first, lanes):
    """Numbers (n) of the states in rows from `first` on as lanes; those of a single row in all of them."""
    n = rows.shape[1]
    if rows.shape[0] == 1:
        for k in range(n):
            store(lanes, k, spread(rows[0, k]))
    else:
        for k in range(n):
            store(lanes, k, gather(rows, first * n + k))


@inline
def _give(lanes, n, rows, state, count):
    """The way back, of n numbers and the first `count` lanes."""
    if count == LANES:
        for k in range(n):
            x = load(lanes, k)
            rows[state, k] = lane(x, 0)
            rows[state + 1, k] = lane(x, 1)
            rows[state + 2, k] = lane(x, 2)
            rows[state + 3, k] = lane(x, 3)
        return
    for k in range(n):
        x = load(lanes, k)
        for j in range(count):
            rows[state + j, k] = lane(x, j)


@inline
def _spread3(array, row):
    return spread(array[row, 0]), spread(array[row, 1]), spread(array[row, 2])


@inline
def _spread_matrix(array, row):
    return (
        spread(array[row, 0, 0]), spread(array[row, 0, 1]), spread(array[row, 0, 2]),
        spread(array[row, 1, 0]), spread(array[row, 1, 1]), spread(array[row, 1, 2]),
        spread(array[row, 2, 0]), spread(array[row, 2, 1]), spread(array[row, 2, 2]),
    )  # fmt: skip


@inline
def _pose(poses, body):
    zero, one = spread(0.0), spread(1.0)
    if body < 0:
        return (one, zero, zero, zero, one, zero, zero, zero, one), (zero, zero, zero)
    k = 16 * body
    return (
        load(poses, k), load(poses, k + 1), load(poses, k + 2),
        load(poses, k + 4), load(poses, k + 5), load(poses, k + 6),
        load(poses, k + 8), load(poses, k + 9), load(poses, k + 10),
    ), (load(poses, k + 3), load(poses, k + 7), load(poses, k + 11))  # fmt: skip


@inline
def _motion(array, body, world):
    """Linear and angular part of a body's motion; world: what stands for body -1, (3,) and zero rotation."""
    if body < 0:
        zero = spread(0.0)
        return (spread(world[0]), spread(world[1]), spread(world[2])), (zero, zero, zero)
    k = 6 * body
    return (
        (load(array, k), load(array, k + 1), load(array, k + 2)),
        (load(array, k + 3), load(array, k + 4), load(array, k + 5)),
    )


@inline
def _column(array, d, nv):
    """Column d of an array (6, nv)."""
    return (
        (load(array, d), load(array, nv + d), load(array, 2 * nv + d)),
        (load(array, 3 * nv + d), load(array, 4 * nv + d), load(array, 5 * nv + d)),
    )


@inline
def _load3(array, row, first):
    return load_at(array, row, first), load_at(array, row, first + 1), load_at(array, row, first + 2)


@inline
def _store3(array, row, first, x):
    store_at(array, row, first, x[0])
    store_at(array, row, first + 1, x[1])
    store_at(array, row, first + 2, x[2])


@inline
def _store_column(array, first, column, force, moment):
    """Rows first ... first + 5 of a column."""
    store_at(array, first, column, force[0])
    store_at(array, first + 1, column, force[1])
    store_at(array, first + 2, column, force[2])
    store_at(array, first + 3, column, moment[0])
    store_at(array, first + 4, column, moment[1])
    store_at(array, first + 5, column, moment[2])


# Rows, their velocity terms and errors -------------------------------------------------------------------------------


@inline
def _loop_rows(t, c, w, loop):
    """Rows, velocity terms and errors of one loop: compiled_loops.py in world axes."""
    a, b, nv = t.body_a[loop], t.body_b[loop], w.a.shape[0]
    frame_a = _spread_matrix(t.rotation_a, loop), _spread3(t.origin_a, loop)
    frame_b = _spread_matrix(t.rotation_b, loop), _spread3(t.origin_b, loop)
    R_A, R, travel, pin, arm_a, arm_b = pose_of_joint(_pose(w.poses, a), _pose(w.poses, b), frame_a, frame_b)
    _store3(w.pin, loop, 0, pin)
    axis, half = _spread3(t.axis, loop), spread(0.5)
    if t.turn_locked[loop]:
        epsilon = (half * (R[7] - R[5]), half * (R[2] - R[6]), half * (R[3] - R[1]))
        store(w.cosine, loop, half * (R[0] + R[4] + R[8] - spread(1.0)))
    else:
        towards = turned(R, axis)
        epsilon = cross(axis, towards)
        store(w.cosine, loop, dot(axis, towards))

    _, _, du, domega = motion_of_joint(
        _motion(w.velocities, a, c.nothing), _motion(w.velocities, b, c.nothing),
        _motion(w.accelerations, a, c.nothing), _motion(w.accelerations, b, c.nothing), arm_a, arm_b,
    )  # fmt: skip

    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        force = (spread(t.row_wrench[row, 0]), spread(t.row_wrench[row, 1]), spread(t.row_wrench[row, 2]))
        moment = (spread(t.row_wrench[row, 3]), spread(t.row_wrench[row, 4]), spread(t.row_wrench[row, 5]))
        store(w.error, row, dot(force, travel) + dot(moment, epsilon))
        k = t.place[row]
        if k < 0:
            continue
        force, moment = turned(R_A, force), turned(R_A, moment)
        _store3(w.wrench, k, 0, force)
        _store3(w.wrench, k, 3, moment)
        store(w.gamma, k, dot(force, du) + dot(moment, domega))
    for p in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[p]
        turn = (load(w.directions, 3 * nv + d), load(w.directions, 4 * nv + d), load(w.directions, 5 * nv + d))
        at = (load(w.directions, 6 * nv + d), load(w.directions, 7 * nv + d), load(w.directions, 8 * nv + d))
        along = (load(w.directions, d), load(w.directions, nv + d), load(w.directions, 2 * nv + d))
        sign = spread(t.path_sign[p])
        along, turn = scaled(plus(along, cross(turn, minus(pin, at))), sign), scaled(turn, sign)
        for row in range(t.row_start[loop], t.row_start[loop + 1]):
            k = t.place[row]
            if k >= 0:
                store_at(w.H, k, d, dot(_load3(w.wrench, k, 0), along) + dot(_load3(w.wrench, k, 3), turn))


@inline
def _coupling_rows(t, w):
    """Linear couplings."""
    first, nv = len(t.row_kind), w.a.shape[0]
    for j in range(len(t.coupling_offset)):
        error = spread(t.coupling_offset[j])
        k = t.place[first + j]
        for d in range(nv):
            factor = t.coupling[j, d]
            if factor != 0.0:
                error += spread(factor) * load(w.q, t.coordinate[d])
            if k >= 0:
                store_at(w.H, k, d, spread(factor))
        store(w.error, first + j, error)
        if k >= 0:
            store(w.gamma, k, spread(0.0))


@inline
def _closed(t, w):
    """Return whether all loops and couplings are closed in all lanes."""
    for row in range(len(t.place)):
        for k in range(LANES):
            # A comparison with NaN is false.
            if not abs(w.error[row, k]) <= _OPEN * t.length[row]:
                return False
    for loop in range(len(t.body_a)):
        if t.turn_held[loop]:
            for k in range(LANES):
                if not w.cosine[loop, k] > 0.5:
                    return False
    return True


# Motion (1) ---------------------------------------------------------------------------------------------------------


@inline
def _move(w):
    """Accelerations and multipliers (1), the rows' remainder taken up once more."""
    nv, n = w.a.shape[0], w.H.shape[0]
    for d in range(nv):
        store(w.f, d, load(w.tau, d) - load(w.b, d))
        store(w.a, d, spread(0.0))
    for r in range(n):
        store(w.multiplier, r, spread(0.0))
        store(w.r, r, -load(w.gamma, r))
    for turn in range(2):
        for i in range(nv):
            total = load(w.a, i)
            if turn == 0:
                for j in range(nv):
                    total += load_at(w.P, i, j) * load(w.f, j)
            for r in range(n):
                total += load_at(w.Q, r, i) * load(w.r, r)
            store(w.a, i, total)
        for r in range(n):
            total = load(w.multiplier, r)
            if turn == 0:
                for j in range(nv):
                    total -= load_at(w.Q, r, j) * load(w.f, j)
            for s in range(n):
                total += load_at(w.E, r, s) * load(w.r, s)
            store(w.multiplier, r, total)
        for r in range(n):
            total = load(w.gamma, r)
            for d in range(nv):
                total += load_at(w.H, r, d) * load(w.a, d)
            store(w.r, r, -total)


# Changes at held accelerations and forces ----------------------------------------------------------------------------


@inline
def _loop_changes(t, c, w, loop):
    """Changes of a loop's rows, row_derivatives.py (1) and (2), and of its joint forces."""
    a, b, nv = t.body_a[loop], t.body_b[loop], w.a.shape[0]
    zero = spread(0.0)
    force, moment = (zero, zero, zero), (zero, zero, zero)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        k = t.place[row]
        if k >= 0:
            amount = load(w.multiplier, k)
            force = plus(force, scaled(_load3(w.wrench, k, 0), amount))
            moment = plus(moment, scaled(_load3(w.wrench, k, 3), amount))
    _store3(w.loop_wrench, loop, 0, force)
    _store3(w.loop_wrench, loop, 3, moment)
    pin = _load3(w.pin, loop, 0)
    about = plus(moment, cross(pin, force))
    V_a, V_b = _motion(w.V, a, c.nothing), _motion(w.V, b, c.nothing)
    A_a, A_b = _motion(w.A, a, c.falling), _motion(w.A, b, c.falling)
    omega, u, gamma, g = relative_motion(V_a, V_b, A_a, A_b, pin)

    for p in range(t.path_start[loop], t.path_start[loop + 1]):
        e = t.path_velocity[p]
        S, X, Y, Z = (
            _column(w.motion, e, nv), _column(w.by_q, e, nv),
            _column(w.by_q_twice, e, nv), _column(w.by_v, e, nv),
        )  # fmt: skip
        if t.path_sign[p] > 0.0:
            linear, angular, faster, turning = change_by_b(S, X, Y, Z, V_a, V_b, A_b, pin, omega, u, gamma)
            _store3(w.moved, e, 0, (zero, zero, zero))
            _store3(w.moved, e, 3, cross(plus(S[0], cross(S[1], pin)), force))
        else:
            linear, angular, faster, turning = change_by_a(S, X, Y, Z, V_a, V_b, A_a, pin, omega, u, gamma, g)
            swung = cross(S[1], force)
            _store3(w.moved, e, 0, swung)
            _store3(w.moved, e, 3, plus(cross(S[1], moment), cross(pin, swung)))
        for row in range(t.row_start[loop], t.row_start[loop + 1]):
            k = t.place[row]
            if k >= 0:
                along, around = _load3(w.wrench, k, 0), _load3(w.wrench, k, 3)
                store_at(w.rows_dq, k, e, dot(along, linear) + dot(around, angular))
                store_at(w.rows_dv, k, e, dot(along, faster) + dot(around, turning))

    # Joint forces: what a velocity feels of the wrench turns with it, and the wrench itself moves.
    for p in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[p]
        sign = spread(t.path_sign[p])
        S = _column(w.motion, d, nv)
        swung = (cross(S[1], force), plus(cross(S[1], about), cross(S[0], force)))
        for other in range(t.path_start[loop], t.path_start[loop + 1]):
            e = t.path_velocity[other]
            total = dot(S[0], _load3(w.moved, e, 0)) + dot(S[1], _load3(w.moved, e, 3))
            if c.above[d, e]:
                E = _column(w.motion, e, nv)
                total += dot(swung[0], E[0]) + dot(swung[1], E[1])
            store_at(w.own_dq, d, e, load_at(w.own_dq, d, e) - sign * total)


@inline
def _products(w, changes, rows, answer):
    """Change of accelerations and multipliers by (1), four columns at a time.

    Columns beyond the last are those of the next row, which is written later, or room behind the array.
    """
    nv, n = w.a.shape[0], w.H.shape[0]
    for i in range(nv + n):
        for first in range(0, nv, 4):
            x0, x1, x2, x3 = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for j in range(nv):
                factor = -load_at(w.P, i, j) if i < nv else load_at(w.Q, i - nv, j)
                x0 += factor * load_at(changes, j, first)
                x1 += factor * load_at(changes, j, first + 1)
                x2 += factor * load_at(changes, j, first + 2)
                x3 += factor * load_at(changes, j, first + 3)
            for r in range(n):
                factor = load_at(w.Q, r, i) if i < nv else load_at(w.E, r, i - nv)
                x0 -= factor * load_at(rows, r, first)
                x1 -= factor * load_at(rows, r, first + 1)
                x2 -= factor * load_at(rows, r, first + 2)
                x3 -= factor * load_at(rows, r, first + 3)
            store_at(answer, i, first, x0)
            store_at(answer, i, first + 1, x1)
            store_at(answer, i, first + 2, x2)
            store_at(answer, i, first + 3, x3)


@inline
def _loop_wrenches(t, c, w, loop):
    """Change of a loop's wrench by coordinates, velocities and torques."""
    zero = spread(0.0)
    force, moment = _load3(w.loop_wrench, loop, 0), _load3(w.loop_wrench, loop, 3)
    nv = w.a.shape[0]
    for e in range(nv):
        by_q, by_q_moment = (zero, zero, zero), (zero, zero, zero)
        by_v, by_v_moment = by_q, by_q_moment
        by_tau, by_tau_moment = by_q, by_q_moment
        if c.turns_rows[loop, e]:
            S = _column(w.motion, e, nv)
            by_q, by_q_moment = cross(S[1], force), cross(S[1], moment)
        for row in range(t.row_start[loop], t.row_start[loop + 1]):
            k = t.place[row]
            if k < 0:
                continue
            along, around = _load3(w.wrench, k, 0), _load3(w.wrench, k, 3)
            amount = load_at(w.answer_dq, nv + k, e)
            by_q, by_q_moment = plus(by_q, scaled(along, amount)), plus(by_q_moment, scaled(around, amount))
            amount = load_at(w.answer_dv, nv + k, e)
            by_v, by_v_moment = plus(by_v, scaled(along, amount)), plus(by_v_moment, scaled(around, amount))
            amount = load_at(w.Q, k, e)
            by_tau = minus(by_tau, scaled(along, amount))
            by_tau_moment = minus(by_tau_moment, scaled(around, amount))
        _store_column(w.wrench_dq, 6 * loop, e, by_q, by_q_moment)
        _store_column(w.wrench_dv, 6 * loop, e, by_v, by_v_moment)
        _store_column(w.wrench_dtau, 6 * loop, e, by_tau, by_tau_moment)


@inline
def _write(t, w, out, state, count):
    """Write the results of a tile whose first `count` lanes are states of their own."""
    nv = w.a.shape[0]
    _give(w.answer_dq, nv * nv, out.dq, state, count)
    _give(w.answer_dv, nv * nv, out.dv, state, count)
    _give(w.P, nv * nv, out.dtau, state, count)
    wrenches = 6 * len(t.body_a) * nv
    _give(w.wrench_dq, wrenches, out.wrench_dq, state, count)
    _give(w.wrench_dv, wrenches, out.wrench_dv, state, count)
    _give(w.wrench_dtau, wrenches, out.wrench_dtau, state, count)
    first = len(t.row_kind)
    for j in range(len(t.coupling_offset)):
        k = t.place[first + j]
        for e in range(nv):
            for i in range(count):
                if k < 0:
                    out.coupling_dq[state + i, j * nv + e] = 0.0
                    out.coupling_dv[state + i, j * nv + e] = 0.0
                    out.coupling_dtau[state + i, j * nv + e] = 0.0
                else:
                    out.coupling_dq[state + i, j * nv + e] = w.answer_dq[nv + k, e, i]
                    out.coupling_dv[state + i, j * nv + e] = w.answer_dv[nv + k, e, i]
                    out.coupling_dtau[state + i, j * nv + e] = -w.Q[k, e, i]


# Tiles and groups of them --------------------------------------------------------------------------------------------


@inline
def _solve_tile(t, c, g, w, first):
    """Accelerations and multipliers of the tile that begins at a row of the group; its outcome."""
    _take(g.q, first, w.q)
    _take(g.tau, first, w.tau)
    _take(g.poses, first, w.poses)
    _take(g.directions, first, w.directions)
    _take(g.M, first, w.M)
    _take(g.velocities, first, w.velocities)
    _take(g.accelerations, first, w.accelerations)
    _take(g.b, first, w.b)
    for loop in range(len(t.body_a)):
        _loop_rows(t, c, w, loop)
    _coupling_rows(t, w)
    if not _closed(t, w):
        return OPEN
    if not invert(c, w):
        return SINGULAR
    _move(w)
    return DONE


@inline
def _differentiate_tile(t, c, g, w, first):
    """Derivatives of that motion."""
    _take(g.motion, first, w.motion)
    _take(g.by_q, first, w.by_q)
    _take(g.by_q_twice, first, w.by_q_twice)
    _take(g.by_v, first, w.by_v)
    _take(g.V, first, w.V)
    _take(g.A, first, w.A)
    _take(g.own_dq, first, w.own_dq)
    _take(g.own_dv, first, w.own_dv)
    for loop in range(len(t.body_a)):
        _loop_changes(t, c, w, loop)
    _products(w, w.own_dq, w.rows_dq, w.answer_dq)
    _products(w, w.own_dv, w.rows_dv, w.answer_dv)
    for loop in range(len(t.body_a)):
        _loop_wrenches(t, c, w, loop)


@jit
def differentiate_states(t, c, g, left, right, given, out):
    """Derivatives of all states of `given` (q, v, tau) into `out`; g: a group of one state, or of the two tiles `left`
    and `right`, between which kernels run once more."""
    total, group, nv = given.q.shape[0], g.q.shape[0], given.v.shape[1]
    for state in range(0, total, group):
        count = min(group, total - state)
        for row in range(group):
            # Rows beyond the last state repeat it.
            source = state + min(row, count - 1)
            for i in range(given.q.shape[1]):
                g.q[row, i] = given.q[source, i]
            for d in range(nv):
                g.v[row, d], g.tau[row, d] = given.v[source, d], given.tau[source, d]
        good = run_bound(g.world) < 0 and run_bound(g.rates) < 0 and (not c.springs[0] or run_bound(g.bias) < 0)
        for row in range(count):
            out.outcome[state + row] = DONE if good else BAD
        for first in range(0, count if good else 0, LANES):
            w = left if first == 0 else right
            inside = min(LANES, count - first)
            status = _solve_tile(t, c, g, w, first)
            for row in range(inside):
                out.outcome[state + first + row] = status
            for row in range(min(LANES, group)):
                for d in range(nv):
                    g.acceleration[first + row, d] = w.a[d, row] if status == DONE else 0.0
        if not good:
            continue
        good = run_bound(g.columns) < 0 and run_bound(g.own) < 0
        for first in range(0, count, LANES):
            w = left if first == 0 else right
            inside = min(LANES, count - first)
            if not good:
                for row in range(inside):
                    out.outcome[state + first + row] = BAD
            elif out.outcome[state + first] == DONE:
                _differentiate_tile(t, c, g, w, first)
                _write(t, w, out, state + first, inside)
