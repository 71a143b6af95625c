"""Derivatives of motion and forces under loops and couplings, four states at a time, in compiled code.

The equations are those of constrained_dynamics_derivatives.py, row_derivatives.py and constraint_partials.py for rows
whose wrench turns with body a, with nothing along free axes and linear couplings. Directions that move both bodies of a
loop change nothing of it, so that only its path counts. With P, Q, E of compiled_inverse.py,

    M a - Hᵀ λ = f,  H a = r   has   a = P f + Q r,   λ = -Qᵀ f + E r                                      (1)

which gives the motion first (f = τ - b, r = -γ), then its derivatives.
Cost: 2 nv columns times (nv + n)². Refuses nothing: an outcome other than DONE leaves a state to the general way.
"""

from __future__ import annotations

from setsu.constraints.compiled_inverse import invert
from setsu.constraints.compiled_vectors import back_product, cross, dot, minus, plus, product, turned, turned_back
from setsu.constraints.row_changes import change_by_a, change_by_b, relative_motion
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.lanes import LANES, gather, load, load_at, spread, store, store_at

__all__ = ["BAD", "DONE", "OPEN", "SINGULAR", "differentiate_states"]

DONE, BAD, OPEN, SINGULAR = 0, 1, 2, 3
"""Outcome of a state, the same for all of a tile: done; numbers that are not finite; open loops; almost singular."""

_OPEN = 1e-6
"""Error of a row, rad or lengths of the loop, up to which nothing has to be said."""


# What kernels wrote, as lanes ----------------------------------------------------------------------------------------


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
        gather(poses, k), gather(poses, k + 1), gather(poses, k + 2),
        gather(poses, k + 4), gather(poses, k + 5), gather(poses, k + 6),
        gather(poses, k + 8), gather(poses, k + 9), gather(poses, k + 10),
    ), (gather(poses, k + 3), gather(poses, k + 7), gather(poses, k + 11))  # fmt: skip


@inline
def _motion(array, body, world):
    """Linear and angular part of a body's motion; world: what stands for body -1, (3,) and zero rotation."""
    if body < 0:
        zero = spread(0.0)
        return (spread(world[0]), spread(world[1]), spread(world[2])), (zero, zero, zero)
    k = 6 * body
    return (
        (gather(array, k), gather(array, k + 1), gather(array, k + 2)),
        (gather(array, k + 3), gather(array, k + 4), gather(array, k + 5)),
    )


@inline
def _column(array, d, nv):
    """Column d of an array (6, nv)."""
    return (
        (gather(array, d), gather(array, nv + d), gather(array, 2 * nv + d)),
        (gather(array, 3 * nv + d), gather(array, 4 * nv + d), gather(array, 5 * nv + d)),
    )


@inline
def _times3(a, s):
    return a[0] * s, a[1] * s, a[2] * s


@inline
def _load3(array, row, first):
    return load_at(array, row, first), load_at(array, row, first + 1), load_at(array, row, first + 2)


@inline
def _store3(array, row, first, x):
    store_at(array, row, first, x[0])
    store_at(array, row, first + 1, x[1])
    store_at(array, row, first + 2, x[2])


# Rows, their velocity terms and errors -------------------------------------------------------------------------------


@inline
def _loop_rows(t, c, w, loop):
    """Rows, velocity terms and errors of one loop: compiled_loops.py in world axes."""
    a, b, nv = t.body_a[loop], t.body_b[loop], w.a.shape[0]
    R_a, x_a = _pose(w.poses, a)
    R_b, x_b = _pose(w.poses, b)
    R_A, R_B = product(R_a, _spread_matrix(t.rotation_a, loop)), product(R_b, _spread_matrix(t.rotation_b, loop))
    arm_b = turned(R_b, _spread3(t.origin_b, loop))
    pin = plus(x_b, arm_b)
    arm_a = minus(pin, x_a)
    _store3(w.pin, loop, 0, pin)
    R = back_product(R_A, R_B)
    travel = turned_back(R_A, minus(arm_a, turned(R_a, _spread3(t.origin_a, loop))))
    axis, half = _spread3(t.axis, loop), spread(0.5)
    if t.turn_locked[loop]:
        epsilon = (half * (R[7] - R[5]), half * (R[2] - R[6]), half * (R[3] - R[1]))
        store(w.cosine, loop, half * (R[0] + R[4] + R[8] - spread(1.0)))
    else:
        towards = turned(R, axis)
        epsilon = cross(axis, towards)
        store(w.cosine, loop, dot(axis, towards))

    v_a, w_a = _motion(w.velocities, a, c.nothing)
    v_b, w_b = _motion(w.velocities, b, c.nothing)
    dv_a, dw_a = _motion(w.accelerations, a, c.nothing)
    dv_b, dw_b = _motion(w.accelerations, b, c.nothing)
    tip = cross(w_b, arm_b)
    dr = minus(plus(v_b, tip), v_a)
    u, omega = minus(dr, cross(w_a, arm_a)), minus(w_b, w_a)
    du = plus(plus(dv_b, cross(dw_b, arm_b)), cross(w_b, tip))
    du = minus(minus(minus(du, dv_a), cross(dw_a, arm_a)), cross(w_a, plus(dr, u)))
    domega = minus(minus(dw_b, dw_a), cross(w_a, omega))

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
        turn = (gather(w.directions, 3 * nv + d), gather(w.directions, 4 * nv + d), gather(w.directions, 5 * nv + d))
        at = (gather(w.directions, 6 * nv + d), gather(w.directions, 7 * nv + d), gather(w.directions, 8 * nv + d))
        along = (gather(w.directions, d), gather(w.directions, nv + d), gather(w.directions, 2 * nv + d))
        sign = spread(t.path_sign[p])
        along, turn = _times3(plus(along, cross(turn, minus(pin, at))), sign), _times3(turn, sign)
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
                error += spread(factor) * gather(w.q, t.coordinate[d])
            if k >= 0:
                store_at(w.H, k, d, spread(factor))
        store(w.error, first + j, error)
        if k >= 0:
            store(w.gamma, k, spread(0.0))


@inline
def _closed(t, w):
    """Tell whether all loops and couplings are closed in all lanes."""
    for row in range(len(t.place)):
        for lane in range(LANES):
            # A comparison with NaN is false.
            if not abs(w.error[row, lane]) <= _OPEN * t.length[row]:
                return False
    for loop in range(len(t.body_a)):
        if t.turn_held[loop]:
            for lane in range(LANES):
                if not w.cosine[loop, lane] > 0.5:
                    return False
    return True


# Motion (1) ---------------------------------------------------------------------------------------------------------


@inline
def _move(w):
    """Accelerations and multipliers (1), the rows' remainder taken up once more."""
    nv, n = w.a.shape[0], w.H.shape[0]
    for d in range(nv):
        store(w.f, d, gather(w.tau, d) - gather(w.b, d))
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
    for d in range(nv):
        for lane in range(LANES):
            w.acceleration[lane, d] = w.a[d, lane]


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
            force = plus(force, _times3(_load3(w.wrench, k, 0), amount))
            moment = plus(moment, _times3(_load3(w.wrench, k, 3), amount))
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
                store_at(w.rows, k, e, dot(along, linear) + dot(around, angular))
                store_at(w.rows, k, nv + e, dot(along, faster) + dot(around, turning))

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
            store_at(w.changes, d, e, load_at(w.changes, d, e) - sign * total)


@inline
def _products(w):
    """Change of accelerations and multipliers by (1), four columns at a time."""
    nv, n = w.a.shape[0], w.H.shape[0]
    stop = w.changes.shape[1]
    for i in range(nv + n):
        for first in range(0, stop, 4):
            x0, x1, x2, x3 = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for j in range(nv):
                factor = -load_at(w.P, i, j) if i < nv else load_at(w.Q, i - nv, j)
                x0 += factor * load_at(w.changes, j, first)
                x1 += factor * load_at(w.changes, j, first + 1)
                x2 += factor * load_at(w.changes, j, first + 2)
                x3 += factor * load_at(w.changes, j, first + 3)
            for r in range(n):
                factor = load_at(w.Q, r, i) if i < nv else load_at(w.E, r, i - nv)
                x0 -= factor * load_at(w.rows, r, first)
                x1 -= factor * load_at(w.rows, r, first + 1)
                x2 -= factor * load_at(w.rows, r, first + 2)
                x3 -= factor * load_at(w.rows, r, first + 3)
            store_at(w.answer, i, first, x0)
            store_at(w.answer, i, first + 1, x1)
            store_at(w.answer, i, first + 2, x2)
            store_at(w.answer, i, first + 3, x3)


@inline
def _write(t, c, w, out, state, count):
    """Write the results of a tile whose first `count` lanes are states of their own."""
    nv = w.a.shape[0]
    for i in range(nv):
        for e in range(nv):
            for lane in range(count):
                out.dq[state + lane, i, e] = w.answer[i, e, lane]
                out.dv[state + lane, i, e] = w.answer[i, nv + e, lane]
                out.dtau[state + lane, i, e] = w.P[i, e, lane]
    for loop in range(len(t.body_a)):
        force, moment = _load3(w.loop_wrench, loop, 0), _load3(w.loop_wrench, loop, 3)
        for e in range(nv):
            zero = spread(0.0)
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
                amount = load_at(w.answer, nv + k, e)
                by_q, by_q_moment = plus(by_q, _times3(along, amount)), plus(by_q_moment, _times3(around, amount))
                amount = load_at(w.answer, nv + k, nv + e)
                by_v, by_v_moment = plus(by_v, _times3(along, amount)), plus(by_v_moment, _times3(around, amount))
                amount = load_at(w.Q, k, e)
                by_tau = minus(by_tau, _times3(along, amount))
                by_tau_moment = minus(by_tau_moment, _times3(around, amount))
            _store3(w.given, 0, 0, by_q)
            _store3(w.given, 0, 3, by_q_moment)
            _store3(w.given, 1, 0, by_v)
            _store3(w.given, 1, 3, by_v_moment)
            _store3(w.given, 2, 0, by_tau)
            _store3(w.given, 2, 3, by_tau_moment)
            for x in range(6):
                for lane in range(count):
                    out.wrench_dq[state + lane, 6 * loop + x, e] = w.given[0, x, lane]
                    out.wrench_dv[state + lane, 6 * loop + x, e] = w.given[1, x, lane]
                    out.wrench_dtau[state + lane, 6 * loop + x, e] = w.given[2, x, lane]
    first = len(t.row_kind)
    for j in range(len(t.coupling_offset)):
        k = t.place[first + j]
        for e in range(nv):
            for lane in range(count):
                if k < 0:
                    out.coupling_dq[state + lane, j, e] = 0.0
                    out.coupling_dv[state + lane, j, e] = 0.0
                    out.coupling_dtau[state + lane, j, e] = 0.0
                else:
                    out.coupling_dq[state + lane, j, e] = w.answer[nv + k, e, lane]
                    out.coupling_dv[state + lane, j, e] = w.answer[nv + k, nv + e, lane]
                    out.coupling_dtau[state + lane, j, e] = -w.Q[k, e, lane]


@inline
def _tile(t, c, w):
    """Derivatives of the states in w.q, w.v, w.tau."""
    nv = w.a.shape[0]
    if run_bound(w.world) >= 0 or run_bound(w.rates) >= 0:
        return BAD
    if c.springs[0] and run_bound(w.bias) >= 0:
        return BAD
    for loop in range(len(t.body_a)):
        _loop_rows(t, c, w, loop)
    _coupling_rows(t, w)
    if not _closed(t, w):
        return OPEN
    if not invert(c, w):
        return SINGULAR
    _move(w)
    if run_bound(w.columns) >= 0 or run_bound(w.own) >= 0:
        return BAD
    for i in range(nv):
        for e in range(nv):
            store_at(w.changes, i, e, gather(w.own_dq, i * nv + e))
            store_at(w.changes, i, nv + e, gather(w.own_dv, i * nv + e))
    for loop in range(len(t.body_a)):
        _loop_changes(t, c, w, loop)
    _products(w)
    return DONE


@jit
def differentiate_states(t, c, w, given, out):
    """Derivatives of all states of `given` (q, v, tau) into `out`; one outcome for all states of a tile."""
    total = given.q.shape[0]
    for state in range(0, total, LANES):
        count = min(LANES, total - state)
        for lane in range(LANES):
            # Lanes beyond the last state repeat it.
            source = state + min(lane, count - 1)
            for i in range(given.q.shape[1]):
                w.q[lane, i] = given.q[source, i]
            for d in range(given.v.shape[1]):
                w.v[lane, d], w.tau[lane, d] = given.v[source, d], given.tau[source, d]
        status = _tile(t, c, w)
        for lane in range(count):
            out.outcome[state + lane] = status
        if status == DONE:
            _write(t, c, w, out, state, count)
