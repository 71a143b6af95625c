"""The rounds of inverse kinematics, one problem after the other, in compiled code: (1)-(3) of positions.py.

Errors and Jacobians are those of tasks.py, from one sweep of the kinematics that frames, the centre of mass and loops
share. Of loops and couplings the rows that are kept (constraints/redundancy.py) take part; closed are all of them.
Cost of a round: that sweep, rows times nv², and a factorisation of size nv.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import fill_positions
from setsu.constraints.compiled_vectors import body_pose, cross, dot, minus, plus, product, scaled, turned, vector
from setsu.native.compiled_elementary import arctan2
from setsu.native.control_flow import inline, jit, run_bound

__all__ = ["search"]

_LOOP_WEIGHT = 10.0
_LOOPS_CLOSED = 1e-11
_LARGEST_STEP = 1.0
_STUCK = 1e6
_LEAST_DAMPING = 1e-12


@inline
def _rotation_vector(R):
    """Rotation vector of a rotation, row by row; at half a turn along the longest column of R + 1."""
    skew = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    sine, cosine = math.sqrt(dot(skew, skew)), 0.5 * (R[0] + R[4] + R[8] - 1.0)
    if cosine < 0.0 and sine < 1e-4:
        x, y, z = R[0] - cosine, R[4] - cosine, R[8] - cosine
        xy, xz, yz = 0.5 * (R[1] + R[3]), 0.5 * (R[2] + R[6]), 0.5 * (R[5] + R[7])
        axis = (xz, yz, z)
        if x >= y and x >= z:
            axis = (x, xy, xz)
        elif y >= z:
            axis = (xy, y, yz)
        angle = arctan2(sine, cosine) / math.sqrt(dot(axis, axis))
        return scaled(axis, -angle if dot(axis, skew) < 0.0 else angle)
    return scaled(skew, arctan2(sine, cosine) / sine) if sine > 1e-9 else skew


@inline
def _frame_error(c, s, w, given, k, problem, row):
    """Error of a frame's task into w.plain from `row` on."""
    R_b, x = body_pose(s.poses, c.body[k])
    p = plus(x, turned(R_b, vector(c.point, k)))
    if c.has_position[k]:
        e = minus((given.position[k, problem, 0], given.position[k, problem, 1], given.position[k, problem, 2]), p)
        for i in range(3):
            w.plain[row + i] = e[i]
        row += 3
    if c.has_rotation[k]:
        R = product(R_b, (
            c.rotation[k, 0], c.rotation[k, 1], c.rotation[k, 2], c.rotation[k, 3], c.rotation[k, 4],
            c.rotation[k, 5], c.rotation[k, 6], c.rotation[k, 7], c.rotation[k, 8],
        ))  # fmt: skip
        G = given.rotation[k, problem]
        wanted = (G[0], G[1], G[2], G[3], G[4], G[5], G[6], G[7], G[8])
        apart = product(wanted, (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]))
        e = _rotation_vector(apart)
        for i in range(3):
            w.plain[row + i] = e[i]
    return p


@inline
def _velocity_at(s, d, point):
    """Velocity of a point that velocity d moves at unit rate, and its axis."""
    along = (s.directions[0, d], s.directions[1, d], s.directions[2, d])
    axis = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
    origin = (s.directions[6, d], s.directions[7, d], s.directions[8, d])
    return plus(along, cross(axis, minus(point, origin))), axis


@inline
def _frame_rows(c, s, w, given, k, problem, row):
    """Error and Jacobian of a frame's task; returns the row after its last."""
    body = c.body[k]
    p = _frame_error(c, s, w, given, k, problem, row)
    place = row
    turn = row + 3 if c.has_position[k] else row
    d = c.last[body] if body >= 0 else -1
    while d >= 0:
        moved, axis = _velocity_at(s, d, p)
        for i in range(3):
            if c.has_position[k]:
                w.J[place + i, d] = c.weight[place + i] * moved[i]
            if c.has_rotation[k]:
                w.J[turn + i, d] = c.weight[turn + i] * axis[i]
        d = c.parent[d]
    return turn + 3 if c.has_rotation[k] else turn


@inline
def _center_rows(c, s, w, given, problem, row):
    """Error and Jacobian of the centre of mass."""
    nv = len(w.step)
    for d in range(nv):
        for i in range(3):
            w.J[row + i, d] = 0.0
    center = (0.0, 0.0, 0.0)
    for body in range(len(c.mass)):
        R, x = body_pose(s.poses, body)
        m = c.mass[body]
        r = plus(x, turned(R, vector(c.center, body)))
        center = plus(center, scaled(r, m))
        d = c.last[body]
        while d >= 0:
            moved, _ = _velocity_at(s, d, r)
            for i in range(3):
                w.J[row + i, d] += c.weight[row + i] * m * moved[i] / c.total[0]
            d = c.parent[d]
    for i in range(3):
        w.plain[row + i] = given.center[problem, i] - center[i] / c.total[0]


@inline
def _evaluate(t, s, kernels, c, w, given, problem):
    """Errors and Jacobian at s.q into w; the cost, or infinity where numbers are not finite."""
    if fill_positions(t, s, kernels) >= 0:
        return math.inf
    row = 0
    for k in range(len(c.body)):
        row = _frame_rows(c, s, w, given, k, problem, row)
    if c.has_center[0]:
        _center_rows(c, s, w, given, problem, row)
        row += 3
    cost = 0.0
    for i in range(row):
        w.e[i] = c.weight[i] * w.plain[i]
        cost += w.e[i] * w.e[i]
    for k in range(len(t.held)):
        w.e[row + k] = -_LOOP_WEIGHT * s.error[t.held[k]]
        cost += w.e[row + k] * w.e[row + k]
        for d in range(len(w.step)):
            w.J[row + k, d] = _LOOP_WEIGHT * s.G[t.held[k], d]
    return 0.5 * cost


@inline
def _met(t, s, w, c, tolerance):
    met = True
    for i in range(c.n_rows[0]):
        met = met and abs(w.plain[i]) <= tolerance
    for row in range(len(t.place)):
        met = met and abs(s.error[row]) <= _LOOPS_CLOSED
    return met


@inline
def _solve(w, damping):
    """w.step from (JᵀJ + λ 1) step = Jᵀ rest on the coordinates that are free, by Cholesky's factors."""
    nv, rows = len(w.step), len(w.e)
    for i in range(nv):
        if not w.free[i]:
            continue
        for j in range(i + 1):
            if w.free[j]:
                total = damping if i == j else 0.0
                for k in range(rows):
                    total += w.Jt[i, k] * w.Jt[j, k]
                w.H[i, j] = total
        total = 0.0
        for k in range(rows):
            total += w.Jt[i, k] * w.rest[k]
        w.g[i] = total
    for i in range(nv):
        if not w.free[i]:
            continue
        for j in range(i):
            if w.free[j]:
                total = w.H[i, j]
                for k in range(j):
                    if w.free[k]:
                        total -= w.H[i, k] * w.H[j, k]
                w.H[i, j] = total * w.H[j, j]
        total = w.H[i, i]
        floor = 1e-15 * total
        for k in range(i):
            if w.free[k]:
                total -= w.H[i, k] * w.H[i, k]
        w.H[i, i] = 1.0 / math.sqrt(max(total, floor, 1e-300))  # an inverted diagonal
    for i in range(nv):
        if w.free[i]:
            total = w.g[i]
            for k in range(i):
                if w.free[k]:
                    total -= w.H[i, k] * w.step[k]
            w.step[i] = total * w.H[i, i]
    for i in range(nv - 1, -1, -1):
        if w.free[i]:
            total = w.step[i]
            for k in range(i + 1, nv):
                if w.free[k]:
                    total -= w.H[k, i] * w.step[k]
            w.step[i] = total * w.H[i, i]


@inline
def _find_step(c, s, w, damping):
    """A step (1), cut (2), into w.step; coordinates at a limit that it would leave through stay."""
    nv, rows = len(w.step), len(w.e)
    for i in range(nv):
        g = 0.0
        for k in range(rows):
            w.Jt[i, k] = w.J[k, i]
            g += w.J[k, i] * w.e[k]
        w.step[i], w.free[i] = 0.0, 0 if c.held[i] else 1
        at = c.coordinate[i]
        if at >= 0 and ((s.q[at] <= c.lower[i] and g < 0.0) or (s.q[at] >= c.upper[i] and g > 0.0)):
            w.free[i] = 0
    for k in range(rows):
        w.rest[k] = w.e[k]
    _solve(w, damping)
    # A second look: what would leave its range in this step goes to the limit, and the others make up for it.
    out = False
    for i in range(nv):
        at = c.coordinate[i]
        if w.free[i] and at >= 0:
            wanted = s.q[at] + w.step[i]
            cut = min(max(wanted, c.lower[i]), c.upper[i])
            if cut != wanted:
                out = True
                w.free[i], w.step[i] = 0, cut - s.q[at]
                for k in range(rows):
                    w.rest[k] -= w.J[k, i] * w.step[i]
    if out:
        _solve(w, damping)
    largest = _LARGEST_STEP
    for i in range(nv):
        largest = max(largest, abs(w.step[i]))
    for i in range(nv):
        w.step[i] *= _LARGEST_STEP / largest


@inline
def _keep(w, given, problem, cost, met):
    """Remember the best posture of a problem."""
    if met or cost < given.best_cost[problem]:
        given.best_cost[problem] = cost
        for i in range(len(w.q)):
            given.best[problem, i] = w.q[i]
        for i in range(len(w.plain)):
            given.plain[problem, i] = w.plain[i]
    if met:
        given.done[problem] = 1


@inline
def _attempt(t, s, kernels, c, w, given, problem, slow, most, rounds, tolerance):
    """Rounds (1)-(3) from w.q until the problem is met or stuck."""
    for i in range(len(w.q)):
        s.q[i] = w.q[i]
    cost = _evaluate(t, s, kernels, c, w, given, problem)
    met = _met(t, s, w, c, tolerance)
    mu, marked, since = 1e-3, cost, 0
    for _ in range(rounds):
        stuck = mu > _STUCK or not cost < math.inf
        if since >= most:
            stuck = stuck or cost > slow * marked
            marked, since = cost, 0
        if met or stuck:
            break
        given.rounds[problem] += 1
        _find_step(c, s, w, mu * cost + _LEAST_DAMPING)
        if run_bound(w.integrate) >= 0:
            break
        for d in range(len(w.step)):
            at = c.coordinate[d]
            if at >= 0 and not c.held[d]:
                w.trial[at] = min(max(w.trial[at], c.lower[d]), c.upper[d])
        for i in range(len(w.q)):
            s.q[i] = w.trial[i]
        fresh = _evaluate(t, s, kernels, c, w, given, problem)
        since += 1
        if fresh < cost:  # (3)
            cost = fresh
            for i in range(len(w.q)):
                w.q[i] = w.trial[i]
            mu = max(0.2 * mu, 1e-9)
            met = _met(t, s, w, c, tolerance)
        else:
            mu = 8.0 * max(mu, 1e-6)
            for i in range(len(w.q)):
                s.q[i] = w.q[i]
            _evaluate(t, s, kernels, c, w, given, problem)
    _keep(w, given, problem, cost, met)


@inline
def _distance(s, kernels, c, w, given, problem):
    """Weighted squared errors of the tasks at s.q, loops not counted."""
    if run_bound(kernels.poses) >= 0:
        return math.inf
    row, total = 0, 0.0
    for k in range(len(c.body)):
        _frame_error(c, s, w, given, k, problem, row)
        row += 3 * (c.has_position[k] + c.has_rotation[k])
    if c.has_center[0]:
        center = (0.0, 0.0, 0.0)
        for body in range(len(c.mass)):
            R, x = body_pose(s.poses, body)
            center = plus(center, scaled(plus(x, turned(R, vector(c.center, body))), c.mass[body]))
        for i in range(3):
            w.plain[row + i] = given.center[problem, i] - center[i] / c.total[0]
        row += 3
    for i in range(row):
        total += (c.weight[i] * w.plain[i]) ** 2
    return total


@inline
def _rank_candidates(s, kernels, c, w, given, problem, first):
    """Order (w.order) of the candidates of a problem by their distance; candidate -1 is its own, start[first]."""
    n = given.candidates.shape[0]
    own = given.own[0]
    for k in range(n + own):
        for i in range(len(s.q)):
            s.q[i] = given.start[first, i] if k < own else given.candidates[k - own, i]
        for i in range(len(s.q)):
            if c.held_coordinate[i]:
                s.q[i] = given.best[problem, i]
        distance = _distance(s, kernels, c, w, given, problem)
        # Insertion: equal ones stay in their order.
        place = k
        while place > 0 and w.distance[place - 1] > distance:
            w.distance[place], w.order[place] = w.distance[place - 1], w.order[place - 1]
            place -= 1
        w.distance[place], w.order[place] = distance, k - own


@jit
def search(t, s, kernels, c, w, given):
    """Search for each of the problems given.row in turn until it is done; the outcome is in `given`.

    Without candidates from given.start; else from the nearest `patience[4]` of them, and of given.start if given.own.
    """
    slow, most, rounds = given.patience[0], int(given.patience[1]), int(given.patience[2])
    for k in range(len(given.row)):
        problem = given.row[k]
        attempts, n = 1, given.candidates.shape[0]
        if n > 0:
            _rank_candidates(s, kernels, c, w, given, problem, k if given.own[0] else 0)
            attempts = min(int(given.patience[4]), n + given.own[0])
        for attempt in range(attempts):
            if given.done[problem]:
                break
            which = w.order[attempt] if n > 0 else -1
            for i in range(len(w.q)):
                w.q[i] = given.start[k, i] if which < 0 else given.candidates[which, i]
                if n > 0 and c.held_coordinate[i]:
                    w.q[i] = given.best[problem, i]
            _attempt(t, s, kernels, c, w, given, problem, slow, most, rounds, given.patience[3])
