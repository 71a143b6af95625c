"""Rows of loops, couplings and contacts at one state, in compiled code.

The equations are those of compiled_loops.py (1)-(5) and system.py (1)-(4), on flat arrays, along the velocities that
take part. Rows come in the order loops, couplings, contacts. Cost: the length of the paths.
Refuses nothing itself: `fill_rows` returns the number of the first contact whose surface has no normal, or -1.
"""

from __future__ import annotations

from setsu.constraints.compiled_loops import loop_errors, loop_pose, loop_rates, loop_rows
from setsu.constraints.compiled_vectors import (
    body_motion,
    body_pose,
    cross,
    dot,
    length,
    minus,
    plus,
    scaled,
    turned,
    vector,
)
from setsu.constraints.row_tables import BoundKernels, RowState, RowTables
from setsu.constraints.surface_code import surface_at
from setsu.native.control_flow import inline, run_bound

__all__ = [
    "BAD_STATE",
    "coupling_polynomial",
    "fill_errors",
    "fill_errors_at_poses",
    "fill_positions",
    "fill_positions_and_mass",
    "fill_rates",
    "fill_rows",
    "fill_rows_at_poses",
    "held_rates",
    "held_rows",
]

BAD_STATE = 1_000_000
"""What `fill_rows` returns when the kinematics meet numbers that are not finite."""


@inline
def _contact_error(t, s, k, row):
    """Error of a contact; return its place, arm and gradient, and the length of that, 0 where there is no normal."""
    R, x = body_pose(s.poses, t.contact_body[k])
    arm = turned(R, vector(t.contact_point, k))
    r = plus(x, arm)
    surface_at(t.surface[k], t.surface_code[k], s.point, s.surface, r)
    slope = (s.surface[1], s.surface[2], s.surface[3])
    steepness = length(slope)
    if not (steepness > 1e-12 and steepness < 1e300 and abs(s.surface[0]) < 1e300):
        return r, arm, slope, 0.0
    s.error[row] = s.surface[0] / steepness
    return r, arm, slope, steepness


@inline
def _contact_row(t, s, k, row):
    """Row of a contact's normal; returns whether the surface has one."""
    body = t.contact_body[k]
    r, arm, slope, steepness = _contact_error(t, s, k, row)
    s.place[k, 0], s.place[k, 1], s.place[k, 2] = r
    if steepness == 0.0:
        return False
    n = scaled(slope, 1.0 / steepness)
    v_o, w = body_motion(s.velocities, body)
    dv_o, dw = body_motion(s.accelerations, body)
    swing = cross(w, arm)
    v = plus(v_o, swing)
    dv = plus(plus(dv_o, cross(dw, arm)), cross(w, swing))
    bend = 0.0
    for i in range(3):
        for j in range(3):
            bend += v[i] * s.surface[4 + 3 * i + j] * v[j]
    s.gamma[row] = dot(n, dv) + bend / steepness
    for i in range(3):
        s.contact_normal[k, i], s.contact_velocity[k, i], s.contact_gamma[k, i] = n[i], v[i], dv[i]
    for place in range(t.contact_path_start[k], t.contact_path_start[k + 1]):
        d = t.contact_path[place]
        turn = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
        moved = cross(turn, minus(r, (s.directions[6, d], s.directions[7, d], s.directions[8, d])))
        for i in range(3):
            s.contact_jacobian[k, i, d] = s.directions[i, d] + moved[i]
        s.G[row, d] = (
            n[0] * s.contact_jacobian[k, 0, d] + n[1] * s.contact_jacobian[k, 1, d] + n[2] * s.contact_jacobian[k, 2, d]
        )
    return True


@inline
def _coupling_errors(t, s):
    row = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        total = t.coupling_offset[c]
        for p in range(t.coupling_start[c], t.coupling_start[c + 1]):
            d = t.coupling_velocity[p]
            factor = t.coupling[c, d]
            if factor != 0.0:
                total += factor * s.q[t.coordinate[d]]
        value, _, _ = coupling_polynomial(t, s, c)
        s.error[row + c] = total - value


@inline
def coupling_polynomial(t, s, c):
    """P, P' and P'' of a coupling, by Horner's rule; zeros for linear ones."""
    value, slope, curvature = 0.0, 0.0, 0.0
    n = len(t.coupling_power)
    if n > 0:
        x = -t.coupling_reference[c]
        for p in range(t.coupling_start[c], t.coupling_start[c + 1]):
            d = t.coupling_velocity[p]
            factor = t.coupling_argument[c, d]
            if factor != 0.0:
                x += factor * s.q[t.coordinate[d]]
        for k in range(n):
            curvature = curvature * x + 2.0 * slope
            slope = slope * x + value
            value = value * x + t.coupling_polynomial[c, n - 1 - k]
    return value, slope, curvature


@inline
def _coupling_rates(t, s):
    """Velocity terms of couplings that are not linear."""
    row = len(t.row_kind)
    if len(t.coupling_power) > 0:
        for c in range(len(t.coupling_offset)):
            rate = 0.0
            for p in range(t.coupling_start[c], t.coupling_start[c + 1]):
                d = t.coupling_velocity[p]
                rate += t.coupling_argument[c, d] * s.v[d]
            _, _, curvature = coupling_polynomial(t, s, c)
            s.gamma[row + c] = t.coupling_acceleration[c] - curvature * rate * rate


@inline
def fill_rows(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill all rows of the state in s.q and s.v; -1, the number of a contact without normal, or BAD_STATE."""
    if run_bound(kernels.world) >= 0:
        return BAD_STATE
    return fill_rows_at_poses(t, s, kernels)


@inline
def fill_rows_at_poses(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """The same, where poses and directions are filled already."""
    held_rows(t, s)
    status = fill_rates(t, s, kernels)
    if status >= 0:
        return status
    row = len(t.row_kind) + len(t.coupling_offset)
    for k in range(len(t.contact_body)):
        if not _contact_row(t, s, k, row):
            return k
        row += 1
    return -1


@inline
def fill_positions(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill errors and rows of loops and couplings, without what depends on velocities; -1 or BAD_STATE."""
    if run_bound(kernels.world) >= 0:
        return BAD_STATE
    held_rows(t, s)
    return -1


@inline
def fill_positions_and_mass(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """The same, and the mass matrix without drives in loop joints."""
    if run_bound(kernels.world_and_mass) >= 0:
        return BAD_STATE
    held_rows(t, s)
    return -1


@inline
def held_rows(t, s):
    """Errors and rows of loops and couplings, from poses and directions."""
    for loop in range(len(t.body_a)):
        loop_rows(t, s, loop)
    row = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        _, slope, _ = coupling_polynomial(t, s, c)
        for p in range(t.coupling_start[c], t.coupling_start[c + 1]):
            d = t.coupling_velocity[p]
            s.G[row + c, t.coupling_column[p]] = t.coupling[c, d] - slope * t.coupling_argument[c, d]
        s.rate[row + c], s.gamma[row + c] = t.coupling_rate[c], t.coupling_acceleration[c]
    _coupling_errors(t, s)


@inline
def fill_errors(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill poses and errors of loops and couplings alone; -1 or BAD_STATE."""
    if run_bound(kernels.poses) >= 0:
        return BAD_STATE
    _held_errors(t, s)
    return -1


@inline
def _held_errors(t, s):
    """Errors of loops and couplings, from poses."""
    for loop in range(len(t.body_a)):
        _, R, p, _, _, _ = loop_pose(t, s, loop)
        loop_errors(t, s, loop, R, p)
    _coupling_errors(t, s)


@inline
def fill_errors_at_poses(t: RowTables, s: RowState) -> int:
    """Fill all errors where poses are filled already; -1 or the number of a contact without normal."""
    _held_errors(t, s)
    row = len(t.row_kind) + len(t.coupling_offset)
    for k in range(len(t.contact_body)):
        _, _, _, steepness = _contact_error(t, s, k, row + k)
        if steepness == 0.0:
            return k
    return -1


@inline
def fill_rates(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill what depends on velocities, for loops and couplings whose positions are filled; -1 or BAD_STATE.

    Leaves the bias torque too, without springs between points.
    """
    if run_bound(kernels.rates) >= 0:
        return BAD_STATE
    held_rates(t, s)
    return -1


@inline
def held_rates(t, s):
    """What depends on velocities of loops and couplings, from motions and what `held_rows` leaves."""
    for loop in range(len(t.body_a)):
        loop_rates(t, s, loop)
    _coupling_rates(t, s)
