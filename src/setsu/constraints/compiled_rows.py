"""Rows of loops, couplings and contacts at one state, in compiled code.

The equations are those of loop_motion.py (1)-(5) and system.py (1)-(4); here for one state, on flat arrays, along the
velocities that take part. Rows come in the order loops, couplings, contacts. Cost: the length of the paths.
Refuses nothing itself: `fill_rows` returns the number of the first contact whose surface has no normal, or -1.
"""

from __future__ import annotations

import math

from setsu.constraints.row_tables import (
    ALONG,
    BALL,
    CROSS,
    FIRST_AXIS,
    SCREW,
    SCREW_TURN,
    SECOND_AXIS,
    TURN,
    BoundKernels,
    RowState,
    RowTables,
)
from setsu.constraints.surface_code import CYLINDER, PLANE, SPHERE
from setsu.native.control_flow import part, run_bound, run_code

__all__ = [
    "BAD_STATE",
    "cross",
    "dot",
    "fill_errors",
    "fill_positions",
    "fill_rates",
    "fill_rows",
    "minus",
    "plus",
    "scaled",
]

BAD_STATE = 1_000_000
"""What `fill_rows` returns when the kinematics meet numbers that are not finite."""


@part
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@part
def dot(a, b):
    """a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@part
def minus(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@part
def scaled(a, s):
    """a s."""
    return a[0] * s, a[1] * s, a[2] * s


@part
def _length(a):
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@part
def _turned(R, a):
    """R a for a rotation given row by row."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@part
def _turned_back(R, a):
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@part
def _product(A, B):
    x = _turned(A, (B[0], B[3], B[6]))
    y = _turned(A, (B[1], B[4], B[7]))
    z = _turned(A, (B[2], B[5], B[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@part
def _back_product(A, B):
    """Aᵀ B."""
    x = _turned_back(A, (B[0], B[3], B[6]))
    y = _turned_back(A, (B[1], B[4], B[7]))
    z = _turned_back(A, (B[2], B[5], B[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@part
def _vector(array, row):
    return array[row, 0], array[row, 1], array[row, 2]


@part
def _second_vector(array, row):
    return array[row, 3], array[row, 4], array[row, 5]


@part
def _matrix(array, row):
    return (
        array[row, 0, 0], array[row, 0, 1], array[row, 0, 2],
        array[row, 1, 0], array[row, 1, 1], array[row, 1, 2],
        array[row, 2, 0], array[row, 2, 1], array[row, 2, 2],
    )  # fmt: skip


@part
def _body_pose(poses, body):
    """Rotation, row by row, and origin of a body; -1 is the world."""
    if body < 0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    return (
        poses[body, 0], poses[body, 1], poses[body, 2],
        poses[body, 4], poses[body, 5], poses[body, 6],
        poses[body, 8], poses[body, 9], poses[body, 10],
    ), (poses[body, 3], poses[body, 7], poses[body, 11])  # fmt: skip


@part
def _body_motion(motion, body):
    if body < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return _vector(motion, body), _second_vector(motion, body)


@part
def _sines(R):
    """Axis of a rotation times twice the sine of its angle."""
    return R[7] - R[5], R[2] - R[6], R[3] - R[1]


@part
def _turn_about(axis, R):
    return math.atan2(0.5 * dot(axis, _sines(R)), 0.5 * (R[0] + R[4] + R[8] - 1.0))


@part
def _angle_about(axis, start, end):
    first = minus(start, scaled(axis, dot(axis, start)))
    second = minus(end, scaled(axis, dot(axis, end)))
    return math.atan2(dot(axis, cross(first, second)), dot(first, second))


@part
def _axis_error(axis, normal, turned):
    """Rotation vector of the smallest turn from the axis to where it has gone."""
    x = cross(axis, turned)
    sine, cosine = _length(x), dot(axis, turned)
    if sine < 1e-12 and cosine < 0.0:
        return scaled(normal, math.pi)
    return scaled(x, math.atan2(sine, cosine) / sine) if sine > 0.0 else x


@part
def _rotation_vector(R):
    sines = scaled(_sines(R), 0.5)
    sine, cosine = _length(sines), 0.5 * (R[0] + R[4] + R[8] - 1.0)
    angle = math.atan2(sine, cosine)
    if cosine < 0.0 and sine < 1e-4:
        # R + Rᵀ - 2 cos is about 4 n nᵀ there; its longest column is the axis without the loss of digits of the sines.
        x, y, z = 2.0 * (R[0] - cosine), 2.0 * (R[4] - cosine), 2.0 * (R[8] - cosine)
        xy, xz, yz = R[1] + R[3], R[2] + R[6], R[5] + R[7]
        if x >= y and x >= z:
            axis = (x, xy, xz)
        elif y >= z:
            axis = (xy, y, yz)
        else:
            axis = (xz, yz, z)
        scale = angle / _length(axis)
        return scaled(axis, -scale if dot(axis, sines) < 0.0 else scale)
    return scaled(sines, angle / sine) if sine > 0.0 else sines


@part
def _cross_direction(first, second, normal):
    """Unit vector normal to both axes of a universal joint, its sine; any normal where the axes are in line."""
    both = cross(first, second)
    sine = _length(both)
    if sine < 1e-9:
        return normal, sine
    return scaled(both, 1.0 / sine), sine


@part
def _free_rows(t, loop, j, R, p):
    """Row (linear, angular) of a free axis in axes of A, and the coordinate of that axis."""
    kind, axis = t.free_kind[j], _vector(t.axis, loop)
    linear, angular = _vector(t.free_wrench, j), _second_vector(t.free_wrench, j)
    if kind == ALONG:
        return linear, angular, dot(linear, p)
    if kind == TURN:
        return linear, angular, _turn_about(axis, R)
    if kind == SCREW_TURN:
        return linear, angular, dot(axis, p) / t.pitch[loop]
    if kind == BALL:
        k = j - t.free_start[loop]
        # ω in axes of B: rows of Rᵀ.
        if k == 0:
            return linear, (R[0], R[3], R[6]), 0.0
        if k == 1:
            return linear, (R[1], R[4], R[7]), 0.0
        return linear, (R[2], R[5], R[8]), 0.0
    a2 = _vector(t.second_axis, loop)
    second = _turned(R, a2)
    cosine = dot(axis, second)
    square = max(1.0 - cosine * cosine, 1e-18)
    # Dual basis of (a1, R a2): each rate is what its axis contributes to ω.
    if kind == FIRST_AXIS:
        return linear, scaled(minus(axis, scaled(second, cosine)), 1.0 / square), _angle_about(axis, a2, second)
    back = _turned_back(R, axis)
    return linear, scaled(minus(second, scaled(axis, cosine)), 1.0 / square), _angle_about(a2, back, axis)


@part
def _loop_pose(t, s, loop):
    """Axes of the joint's frame A, axes of B seen from A, travel in axes of A, place in the world, arms of a and b."""
    R_a, x_a = _body_pose(s.poses, t.body_a[loop])
    R_b, x_b = _body_pose(s.poses, t.body_b[loop])
    R_A, R_B = _product(R_a, _matrix(t.rotation_a, loop)), _product(R_b, _matrix(t.rotation_b, loop))
    arm_b = _turned(R_b, _vector(t.origin_b, loop))
    pin = plus(x_b, arm_b)
    arm_a = minus(pin, x_a)
    R = _back_product(R_A, R_B)
    p = _turned_back(R_A, minus(arm_a, _turned(R_a, _vector(t.origin_a, loop))))
    return R_A, R, p, pin, arm_a, arm_b


@part
def _loop_errors(t, s, loop, R, p):
    axis, normal, a2 = _vector(t.axis, loop), _vector(t.normal, loop), _vector(t.second_axis, loop)
    epsilon = _rotation_vector(R) if t.turn_locked[loop] else _axis_error(axis, normal, _turned(R, axis))
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        kind = t.row_kind[row]
        if kind == CROSS:
            second = _turned(R, a2)
            _, sine = _cross_direction(axis, second, normal)
            wanted = math.atan2(_length(cross(axis, a2)), dot(axis, a2))
            s.error[row] = math.atan2(sine, dot(axis, second)) - wanted
        elif kind == SCREW:
            pitch = t.pitch[loop]
            raw = dot(axis, p) - pitch * _turn_about(axis, R)
            whole = 2.0 * math.pi * pitch
            s.error[row] = raw - whole * round(raw / whole) if pitch != 0.0 else raw
        else:
            s.error[row] = dot(_vector(t.row_wrench, row), p) + dot(_second_vector(t.row_wrench, row), epsilon)


@part
def _row_moment(t, loop, row, R):
    """Moment of a row in axes of A."""
    if t.row_kind[row] == CROSS:
        axis = _vector(t.axis, loop)
        moment, _ = _cross_direction(axis, _turned(R, _vector(t.second_axis, loop)), _vector(t.normal, loop))
        return moment
    return _second_vector(t.row_wrench, row)


@part
def _loop_directions(t, s, loop, pin):
    """Motion of body b against body a at the joint by each velocity of the path, into s.column."""
    for place in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[place]
        turn = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
        origin = (s.directions[6, d], s.directions[7, d], s.directions[8, d])
        moved = cross(turn, minus(pin, origin))
        sign = t.path_sign[place]
        s.column[0, d], s.column[1, d] = sign * (s.directions[0, d] + moved[0]), sign * (s.directions[1, d] + moved[1])
        s.column[2, d] = sign * (s.directions[2, d] + moved[2])
        s.column[3, d], s.column[4, d], s.column[5, d] = sign * turn[0], sign * turn[1], sign * turn[2]


@part
def _along_path(t, s, loop, force, moment, row):
    """Write the rates of a wrench along the path into row (nv,)."""
    for place in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[place]
        linear = force[0] * s.column[0, d] + force[1] * s.column[1, d] + force[2] * s.column[2, d]
        angular = moment[0] * s.column[3, d] + moment[1] * s.column[4, d] + moment[2] * s.column[5, d]
        row[d] = linear + angular


@part
def _loop_rows(t, s, loop):
    """Errors, rows and wrenches of a loop: all that depends on positions alone."""
    R_A, R, p, pin, _, _ = _loop_pose(t, s, loop)
    _loop_errors(t, s, loop, R, p)
    _loop_directions(t, s, loop, pin)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        force, moment = _turned(R_A, _vector(t.row_wrench, row)), _turned(R_A, _row_moment(t, loop, row, R))
        for k in range(3):
            s.wrench[row, k], s.wrench[row, 3 + k] = force[k], moment[k]
        _along_path(t, s, loop, force, moment, s.G[row])
    if not t.free_used[0]:
        return
    for j in range(t.free_start[loop], t.free_start[loop + 1]):
        force, moment, s.free_coordinate[j] = _free_rows(t, loop, j, R, p)
        force, moment = _turned(R_A, force), _turned(R_A, moment)
        for k in range(3):
            s.free_wrench[j, k], s.free_wrench[j, 3 + k] = force[k], moment[k]
        _along_path(t, s, loop, force, moment, s.free[j])


@part
def _loop_rates(t, s, loop):
    """Velocity terms of a loop's rows, rates of its free axes."""
    a, b = t.body_a[loop], t.body_b[loop]
    R_A, R, p, _, arm_a, arm_b = _loop_pose(t, s, loop)

    # Relative motion in axes of A, and its rate at zero joint accelerations: loop_motion (4).
    v_a, w_a = _body_motion(s.velocities, a)
    v_b, w_b = _body_motion(s.velocities, b)
    dv_a, dw_a = _body_motion(s.accelerations, a)
    dv_b, dw_b = _body_motion(s.accelerations, b)
    tip = cross(w_b, arm_b)
    dr = minus(plus(v_b, tip), v_a)
    v, w = minus(dr, cross(w_a, arm_a)), minus(w_b, w_a)
    dv = plus(plus(dv_b, cross(dw_b, arm_b)), cross(w_b, tip))
    dv = minus(minus(minus(dv, dv_a), cross(dw_a, arm_a)), cross(w_a, plus(dr, v)))
    dw = minus(minus(dw_b, dw_a), cross(w_a, w))
    v, w, dv, dw = _turned_back(R_A, v), _turned_back(R_A, w), _turned_back(R_A, dv), _turned_back(R_A, dw)

    axis, a2 = _vector(t.axis, loop), _vector(t.second_axis, loop)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        moment, term = _row_moment(t, loop, row, R), 0.0
        if t.row_kind[row] == CROSS:
            second = _turned(R, a2)
            swing = cross(axis, cross(w, second))
            change = minus(swing, scaled(moment, dot(moment, swing)))
            term = dot(change, w) / max(_length(cross(axis, second)), 1e-9)
        s.gamma[row] = dot(_vector(t.row_wrench, row), dv) + dot(moment, dw) + term
    if not t.free_used[0]:
        return
    for j in range(t.free_start[loop], t.free_start[loop + 1]):
        force, moment, _ = _free_rows(t, loop, j, R, p)
        s.free_rate[j] = dot(force, v) + dot(moment, w)
        s.free_gamma[j] = dot(force, dv) + dot(moment, dw)
    for j in range(t.free_start[loop], t.free_start[loop + 1]):
        if t.free_kind[j] == FIRST_AXIS or t.free_kind[j] == SECOND_AXIS:
            # ω = a1 s1 + R a2 s2: the swing of the second axis is no acceleration of the joint's own coordinates.
            _, moment, _ = _free_rows(t, loop, j, R, p)
            carried = scaled(cross(w, _turned(R, a2)), s.free_rate[t.free_start[loop] + 1])
            s.free_gamma[j] -= dot(moment, carried)


@part
def _surface(t, s, k, r):
    """Value, gradient and second derivatives of a contact's surface at r, into s.surface (13)."""
    out, kind = s.surface, int(t.surface[k, 0])
    if kind == PLANE:
        out[0] = t.surface[k, 1] * r[0] + t.surface[k, 2] * r[1] + t.surface[k, 3] * r[2] - t.surface[k, 4]
        for i in range(3):
            out[1 + i] = t.surface[k, 1 + i]
        out[4:13] = 0.0
        return
    if kind in (SPHERE, CYLINDER):
        arm = minus(r, (t.surface[k, 1], t.surface[k, 2], t.surface[k, 3]))
        axis, radius = (0.0, 0.0, 0.0), t.surface[k, 4]
        if kind == CYLINDER:
            axis, radius = (t.surface[k, 4], t.surface[k, 5], t.surface[k, 6]), t.surface[k, 7]
            arm = minus(arm, scaled(axis, dot(axis, arm)))
        distance = _length(arm)
        n = scaled(arm, 1.0 / distance)
        out[0] = distance - radius
        for i in range(3):
            out[1 + i] = n[i]
            for j in range(3):
                across = (1.0 if i == j else 0.0) - axis[i] * axis[j]
                out[4 + 3 * i + j] = (across - n[i] * n[j]) / distance
        return
    s.place[k, 0], s.place[k, 1], s.place[k, 2] = r
    run_code(t.surface_code[k], s.place[k], s.surface)


@part
def _contact_row(t, s, k, row):
    """Row of a contact's normal; tells whether the surface has one."""
    body = t.contact_body[k]
    R, x = _body_pose(s.poses, body)
    arm = _turned(R, _vector(t.contact_point, k))
    r = plus(x, arm)
    s.place[k, 0], s.place[k, 1], s.place[k, 2] = r
    _surface(t, s, k, r)
    slope = (s.surface[1], s.surface[2], s.surface[3])
    length = _length(slope)
    if not (length > 1e-12 and length < 1e300 and abs(s.surface[0]) < 1e300):
        return False
    n = scaled(slope, 1.0 / length)
    v_o, w = _body_motion(s.velocities, body)
    dv_o, dw = _body_motion(s.accelerations, body)
    swing = cross(w, arm)
    v = plus(v_o, swing)
    dv = plus(plus(dv_o, cross(dw, arm)), cross(w, swing))
    bend = 0.0
    for i in range(3):
        for j in range(3):
            bend += v[i] * s.surface[4 + 3 * i + j] * v[j]
    s.error[row] = s.surface[0] / length
    s.gamma[row] = dot(n, dv) + bend / length
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


@part
def _coupling_errors(t, s):
    row = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        total = t.coupling_offset[c]
        for d in range(len(s.v)):
            factor = t.coupling[c, d]
            if factor != 0.0:
                total += factor * s.q[t.coordinate[d]]
        s.error[row + c] = total


@part
def fill_rows(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill all rows of the state in s.q and s.v; -1, the number of a contact without normal, or BAD_STATE."""
    status = fill_positions(t, s, kernels)
    if status >= 0:
        return status
    for loop in range(len(t.body_a)):
        _loop_rates(t, s, loop)
    row = len(t.row_kind) + len(t.coupling_offset)
    for k in range(len(t.contact_body)):
        if not _contact_row(t, s, k, row):
            return k
        row += 1
    return -1


@part
def fill_positions(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill errors and rows of loops and couplings, without what depends on velocities; -1 or BAD_STATE."""
    if run_bound(kernels.world) >= 0:
        return BAD_STATE
    for loop in range(len(t.body_a)):
        _loop_rows(t, s, loop)
    row = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        for d in range(len(s.v)):
            s.G[row + c, d] = t.coupling[c, d]
        s.gamma[row + c] = 0.0
    _coupling_errors(t, s)
    return -1


@part
def fill_errors(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill poses and errors of loops and couplings alone; -1 or BAD_STATE."""
    if run_bound(kernels.poses) >= 0:
        return BAD_STATE
    for loop in range(len(t.body_a)):
        _, R, p, _, _, _ = _loop_pose(t, s, loop)
        _loop_errors(t, s, loop, R, p)
    _coupling_errors(t, s)
    return -1


@part
def fill_rates(t: RowTables, s: RowState, kernels: BoundKernels) -> int:
    """Fill what depends on velocities, for loops and couplings whose positions are filled; -1 or BAD_STATE."""
    if run_bound(kernels.world) >= 0:
        return BAD_STATE
    for loop in range(len(t.body_a)):
        _loop_rates(t, s, loop)
    return -1
