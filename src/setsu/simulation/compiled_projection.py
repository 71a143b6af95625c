"""The active rows of a constrained mechanism, and the projection of a state onto them, in compiled code.

| symbol | meaning |
|---|---|
| G, γ | active rows: those kept of loops and couplings, normals of contacts, held stops, sticking joints and contacts |
| e | violations of the rows |

    q ⊕= -x with the least x in the metric of M for which G x = e, until e is rounding               (1)
    v -= x with the least x for which G x = G v + rate, the rate of what is driven                   (2)

The factors of (2) are those of the state that was reached, and serve the evaluation that follows (compiled_motion.py).
While errors are small, corrections (1) take the factors of a state nearby: each gains as many digits as that is near.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_factor import factor, nearest
from setsu.constraints.compiled_rows import fill_errors, fill_positions, fill_positions_and_mass, fill_rows
from setsu.constraints.sparse_factor import hold_rows
from setsu.native.control_flow import inline, jit, run_bound
from setsu.simulation.compiled_friction import tangents
from setsu.simulation.motion_space import FREE, MASSLESS, NEEDS_DENSE, STICK, UNSUITABLE
from setsu.simulation.sparse_motion import HANDED_OVER, sparse_factors, sparse_projection, take_increment

__all__ = [
    "SMALLEST_PIVOT",
    "active_rows",
    "along_motion",
    "gather",
    "held_rows_and_mass",
    "hold_fading_rows",
    "mass",
    "project",
    "smooth_stage",
    "stop_gap",
]

SMALLEST_PIVOT = 1e-6
"""Pivot, in parts of a typical one, below which a row is too near others for a correction along it to mean anything."""
_FADING = 1e-4
"""The same for loops alone, which pass change points: rounding, over the pivot, moves positions and, over its square,
velocities by more than an integrator leaves beside such a row in the few steps of the passage."""
_DIRECTION = 1e-9
"""The same for directions, which are known long after forces are not."""
_STRONG = 0.01
"""The same for states that stay beside the constraints."""
_SMALLEST_ERROR = 1e-15
_LAST_CORRECTION = 1e-13
_SLOWLY = 1e-11
_NEAR = 1e-4
_ROUNDING = 1e-16


@inline
def _rest_row(s, x, i, row):
    """Write the row of an axis with dry friction into row (nv,); its rate."""
    d, j = x.dry_velocity[i], x.dry_axis[i]
    for e in range(len(row)):
        row[e] = s.free[j, e] if j >= 0 else 0.0
    if d >= 0:
        row[d] = 1.0
        return s.v[d]
    return s.free_rate[j]


@inline
def stop_gap(s, x, i):
    """Distance of a joint from its stop, m or rad."""
    j = x.stop_axis[i]
    place = s.free_coordinate[j] if j >= 0 else s.q[x.stop_coordinate[i]]
    return x.stop_sign[i] * (place - x.stop_limit[i])


@inline
def gather(t, s, x, F, w):
    """Copy the active rows into F.G with velocity terms in w.gamma and errors in w.error; how many there are."""
    nv, held = len(s.v), len(t.row_kind) + len(t.coupling_offset)
    k = 0
    for row in range(held + len(t.contact_body)):
        if t.place[row] < 0 if row < held else x.mode[row - held] == FREE:
            continue
        F.given[k] = t.pivot_scale[k] if row < held else 0.0
        for d in range(nv):
            F.G[k, d] = s.G[row, d]
        w.gamma[k], w.error[k] = s.gamma[row], s.error[row]
        if w.rate[0] > 0.0:
            speed = 0.0
            for d in range(nv):
                speed += s.G[row, d] * s.v[d]
            speed += s.rate[row]
            w.gamma[k] += w.rate[0] * (2.0 * speed + w.rate[0] * s.error[row])
        k += 1
    for i in range(len(x.stop_held)):
        if x.stop_held[i]:
            j = x.stop_axis[i]
            for d in range(nv):
                F.G[k, d] = x.stop_sign[i] * s.free[j, d] if j >= 0 else 0.0
            w.gamma[k], F.given[k], w.error[k] = 0.0, 0.0, stop_gap(s, x, i)
            if j >= 0:
                w.gamma[k] = x.stop_sign[i] * s.free_gamma[j]
            else:
                F.G[k, x.stop_velocity[i]] = x.stop_sign[i]
            k += 1
    for i in range(len(x.dry_held)):
        if x.dry_held[i]:
            speed, w.gamma[k], w.error[k] = _rest_row(s, x, i, F.G[k]), 0.0, 0.0
            if x.dry_axis[i] >= 0:
                w.gamma[k] = s.free_gamma[x.dry_axis[i]]
            w.gamma[k] += 2.0 * w.rate[0] * speed
            F.given[k] = 0.0
            k += 1
    for c in range(len(t.contact_body)):
        if x.mode[c] == STICK:
            tangents(s.contact_normal[c], w.T)
            for i in range(2):
                w.gamma[k], w.error[k], F.given[k] = 0.0, 0.0, 0.0
                for d in range(nv):
                    F.G[k, d] = 0.0
                for j in range(3):
                    w.gamma[k] += w.T[i, j] * s.contact_gamma[c, j]
                    w.error[k] += w.T[i, j] * (s.place[c, j] - x.anchor[c, j])
                    for d in range(nv):
                        F.G[k, d] += w.T[i, j] * s.contact_jacobian[c, j, d]
                k += 1
    return k


@inline
def mass(t, s, kernels):
    """Mass matrix, drives in loop joints included."""
    run_bound(kernels.mass)
    _add_drives(t, s, kernels)


@inline
def _add_drives(t, s, kernels):
    """Drives in loop joints, to the mass matrix."""
    for j in range(len(t.armature)):
        if t.armature[j] != 0.0:
            for a in range(len(s.v)):
                for b in range(len(s.v)):
                    kernels.M[a, b] += t.armature[j] * s.free[j, a] * s.free[j, b]


@inline
def _more_held(x):
    """Whether stops or sticking axes hold rows besides those of loops and couplings."""
    held = 0
    for i in range(len(x.stop_held)):
        held += x.stop_held[i]
    for i in range(len(x.dry_held)):
        held += x.dry_held[i]
    return held > 0


@inline
def _moved(s, F, w):
    """Take the least motion that removes the errors in w.error to first order; False when it cannot be."""
    nearest(F, w.error, w.increment)
    for d in range(len(s.v)):
        w.increment[d] = -w.increment[d]
    return take_increment(s, w)


@inline
def _hold_velocities(t, s, F, w, k):
    """Take what moves the k rows in F.G out of the velocities, but for what drives ask of them."""
    nv = len(s.v)
    for i in range(k):
        w.error[i] = s.rate[t.held[i]] if i < len(t.held) else 0.0
        for d in range(nv):
            w.error[i] += F.G[i, d] * s.v[d]
    nearest(F, w.error, w.increment)
    for d in range(nv):
        s.v[d] -= w.increment[d]


@inline
def hold_fading_rows(kernels, F, w):
    """Factor rows that the last evaluation has left out as fading, for `along_motion`."""
    if w.passing[0] > 0:
        factor(F, kernels.M, w.size[0], w.size[0], _DIRECTION)


@inline
def along_motion(s, x, F, w, c, u, vector):
    """Take out of a vector (nv,) what moves the active rows, by the factors of the last evaluation.

    It is what a projection takes out of errors: beside a change point rounding fills them with it.
    """
    k = w.size[0]
    if k > 0 and x.sparse[0] and x.sparse_ready[0]:
        hold_rows(c, s, u, vector, w.zero)
    elif k > 0:
        for i in range(k):
            w.error[i] = 0.0
            for d in range(len(vector)):
                w.error[i] += F.G[i, d] * vector[d]
        nearest(F, w.error, w.increment)
        for d in range(len(vector)):
            vector[d] -= w.increment[d]


@inline
def _largest(numbers, k):
    """The largest of the first k numbers by size."""
    largest = 0.0
    for i in range(k):
        largest = max(largest, abs(numbers[i]))
    return largest


@inline
def _stalls(size, last):
    """Whether errors fall no further; at a singular configuration they do so slowly: they are squares of the way."""
    return size > (0.25 if size < _SLOWLY else 0.8) * last


@inline
def _project_loops(t, s, kernels, x, F, w, most):
    """`project` for loops and couplings alone: while factors do, corrections look at poses and errors only."""
    last = math.inf
    while True:
        status = fill_positions_and_mass(t, s, kernels)
        if status >= 0:
            return status
        k = gather(t, s, x, F, w)
        if k == 0:
            return -1
        _add_drives(t, s, kernels)
        if not factor(F, kernels.M, k, most, _FADING):
            return MASSLESS
        size = _largest(w.error, k)
        # Rounding keeps the error from falling further: more steps would only wander.
        if size <= _SMALLEST_ERROR or _stalls(size, last) or (size <= _LAST_CORRECTION and last < math.inf):
            break
        last = size
        while True:
            if not _moved(s, F, w):
                return UNSUITABLE
            if size * last <= _ROUNDING or size > _NEAR:
                # The next error is below rounding; or these factors are too far away for another correction.
                break
            status = fill_errors(t, s, kernels)
            if status >= 0:
                return status
            for i in range(k):
                w.error[i] = s.error[t.held[i]]
            before, size = size, _largest(w.error, k)
            if size <= _SMALLEST_ERROR or size > 0.25 * before:
                break
    _hold_velocities(t, s, F, w, k)
    x.rows_ready[0] = 1
    return -1


@inline
def smooth_stage(t, s, kernels, x, F, w, c, u, most):
    """Factor a stage beside the constraints as it is; returns whether it may stay there.

    Next to loops and couplings accelerations are as smooth as on them, and a method keeps its order, but where rows
    fade: there what is beside weighs the more.
    """
    x.rows_ready[0] = 0
    if len(t.contact_body) > 0 or _more_held(x):
        return False
    if x.sparse[0]:
        return fill_positions(t, s, kernels) < 0 and sparse_factors(s, x, F, c, u, _STRONG * _STRONG)
    if len(F.diagonal) == 0:
        return False
    if fill_positions_and_mass(t, s, kernels) >= 0:
        return False
    k = gather(t, s, x, F, w)
    _add_drives(t, s, kernels)
    if k == 0 or not factor(F, kernels.M, k, most, _STRONG) or F.size[1] < k:
        return False
    x.rows_ready[0] = 1
    return True


@jit
def project(t, s, kernels, x, F, w, c, u, most):
    """Move the state in s to the nearest one that satisfies the active rows, nearest in the mass matrix's metric.

    most: the largest rank met on the constraints, where contacts, stops or joints at rest are active.
    """
    x.rows_ready[0] = 0
    if x.sparse[0]:
        status = sparse_projection(t, s, kernels, x, F, w, c, u)
        if status != HANDED_OVER:
            return status
    if len(F.diagonal) == 0:
        return NEEDS_DENSE
    if len(t.contact_body) == 0 and not _more_held(x):
        return _project_loops(t, s, kernels, x, F, w, most)
    last, size = math.inf, math.inf
    while True:
        status = fill_rows(t, s, kernels)
        if status >= 0:
            return status
        k = gather(t, s, x, F, w)
        if k == 0:
            return -1
        before, size = size, _largest(w.error, k)
        # Close by, the last factors are as good as new ones: each repeat gains as many digits as the step was small.
        stale = before <= _NEAR
        if not stale:
            mass(t, s, kernels)
            if not factor(F, kernels.M, k, most, SMALLEST_PIVOT):
                return MASSLESS
        # Rounding keeps the error from falling further: more steps would only wander.
        if size <= _SMALLEST_ERROR or _stalls(size, last):
            break
        last = size
        if not _moved(s, F, w):
            return UNSUITABLE
        if size <= _LAST_CORRECTION:
            # Newton's next error is below rounding, and so is the change of the rows.
            break
    # Velocities take the factors where the state has come to; so does the evaluation that follows.
    if stale:
        mass(t, s, kernels)
        if not factor(F, kernels.M, k, most, SMALLEST_PIVOT):
            return MASSLESS
    _hold_velocities(t, s, F, w, k)
    return -1


@jit
def held_rows_and_mass(t, s, kernels):
    """Leave the kept rows of loops and couplings of the state in s in s.G, and the mass matrix in kernels.M."""
    status = fill_positions_and_mass(t, s, kernels)
    _add_drives(t, s, kernels)
    return status


@jit
def active_rows(t, s, kernels, x, F, w, c, u):
    """Leave the active rows of the state in s in F.G and the mass matrix in kernels.M; their number and a status."""
    status = fill_rows(t, s, kernels)
    if status >= 0:
        return 0, status
    mass(t, s, kernels)
    return gather(t, s, x, F, w), -1
