"""Rows of one loop at one state: errors, rows, velocity terms, and what its free axes do.

Written once, as compiled code: runs and solvers call it along the velocities that move the loop's two bodies against
each other, functions of many states through loop_motion.py.

Symbols, in axes of A unless said otherwise (x_A = R_Aᵀ x):
    p       B's origin in frame A, m                               R = R_Aᵀ R_B
    v, ω    velocity of B's origin relative to body a, angular velocity of b relative to a

    ε = θ n         angle and axis of R where it is locked; of the smallest turn between u and R u for an axis u  (1)
    error = c·[p, ε];  screw: u·p - pitch (turn about u), whole turns removed;
            universal: angle between a1 and R a2, less the one it should have; others: varying_rows.py           (2)
    ĉ = a1 × R a2 / |a1 × R a2|,  dĉ/dt = (1 - ĉ ĉᵀ)(a1 × (ω × R a2)) / |a1 × R a2|                              (3)
    dv/dt = R_Aᵀ(a_B - a_a - α_a × r - ω_a × dr/dt - ω_a × v),  dω/dt = R_Aᵀ(α_b - α_a - ω_a × ω)   (world axes, r from
            body a's origin to B's origin, accelerations of the bodies with all joint accelerations zero)        (4)
    γ = c·[dv/dt, dω/dt] + dc/dt·[v, ω]                                                                           (5)

ε makes the gradient of ½ error² exactly cᵀ error however far the loop is open, so that closing it from afar is a
descent; on the closed loop c is the derivative of each error. Cost: the length of the loop's path.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_vectors import (
    back_product,
    body_motion,
    body_pose,
    cross,
    dot,
    length,
    matrix,
    minus,
    plus,
    product,
    scaled,
    second_vector,
    turned,
    turned_back,
    vector,
)
from setsu.constraints.loop_joints import (
    ALONG,
    BALL,
    CROSS,
    FIRST_AXIS,
    FROM_DISTANCE,
    SCREW,
    SCREW_TURN,
    SECOND_AXIS,
    TURN,
)
from setsu.constraints.varying_rows import varying_change, varying_row
from setsu.native.compiled_elementary import arctan2
from setsu.native.control_flow import inline

__all__ = [
    "free_axis",
    "free_rates",
    "loop_errors",
    "loop_pose",
    "loop_rates",
    "loop_rows",
    "motion_of_joint",
    "pose_of_joint",
    "relative_motion",
    "row_change",
    "row_wrench",
]


@inline
def _sines(R):
    """Axis of a rotation times twice the sine of its angle."""
    return R[7] - R[5], R[2] - R[6], R[3] - R[1]


@inline
def _angle(sine, cosine):
    """arctan2 for numbers on the unit circle, quick where the angle is small."""
    if abs(sine) < 0.01 and cosine > 0.0:
        # The series of the arc sine; what is left out is below rounding.
        square = sine * sine
        return sine * (1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * (15.0 / 336.0))))
    return arctan2(sine, cosine)


@inline
def _turn_about(axis, R):
    return arctan2(0.5 * dot(axis, _sines(R)), 0.5 * (R[0] + R[4] + R[8] - 1.0))


@inline
def _angle_about(axis, start, end):
    first = minus(start, scaled(axis, dot(axis, start)))
    second = minus(end, scaled(axis, dot(axis, end)))
    return arctan2(dot(axis, cross(first, second)), dot(first, second))


@inline
def _axis_error(axis, normal, turned):
    """Rotation vector of the smallest turn from the axis to where it has gone."""
    x = cross(axis, turned)
    sine, cosine = length(x), dot(axis, turned)
    if sine < 1e-12 and cosine < 0.0:
        return scaled(normal, math.pi)
    return scaled(x, _angle(sine, cosine) / sine) if sine > 0.0 else x


@inline
def _rotation_vector(R):
    sines = scaled(_sines(R), 0.5)
    sine, cosine = length(sines), 0.5 * (R[0] + R[4] + R[8] - 1.0)
    angle = _angle(sine, cosine)
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
        scale = angle / length(axis)
        return scaled(axis, -scale if dot(axis, sines) < 0.0 else scale)
    return scaled(sines, angle / sine) if sine > 0.0 else sines


@inline
def _cross_direction(first, second, normal):
    """Unit vector normal to both axes of a universal joint, its sine; any normal where the axes are in line."""
    both = cross(first, second)
    sine = length(both)
    if sine < 1e-9:
        return normal, sine
    return scaled(both, 1.0 / sine), sine


@inline
def free_axis(t, loop, j, R, p):
    """Row (linear, angular) of a free axis in axes of A, and the coordinate of that axis."""
    kind, axis = t.free_kind[j], vector(t.axis, loop)
    linear, angular = vector(t.free_wrench, j), second_vector(t.free_wrench, j)
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
    a2 = vector(t.second_axis, loop)
    second = turned(R, a2)
    cosine = dot(axis, second)
    square = max(1.0 - cosine * cosine, 1e-18)
    # Dual basis of (a1, R a2): each rate is what its axis contributes to ω.
    if kind == FIRST_AXIS:
        return linear, scaled(minus(axis, scaled(second, cosine)), 1.0 / square), _angle_about(axis, a2, second)
    back = turned_back(R, axis)
    return linear, scaled(minus(second, scaled(axis, cosine)), 1.0 / square), _angle_about(a2, back, axis)


@inline
def loop_pose(t, s, loop):
    """Axes of the joint's frame A, axes of B seen from A, travel in axes of A, place in the world, arms of a and b."""
    a, b = body_pose(s.poses, t.body_a[loop]), body_pose(s.poses, t.body_b[loop])
    frame_a = matrix(t.rotation_a, loop), vector(t.origin_a, loop)
    return pose_of_joint(a, b, frame_a, (matrix(t.rotation_b, loop), vector(t.origin_b, loop)))


@inline
def pose_of_joint(a, b, frame_a, frame_b):
    """The same from rotation and origin of two bodies, and of the frames on them; numbers or lanes."""
    R_A, R_B = product(a[0], frame_a[0]), product(b[0], frame_b[0])
    arm_b = turned(b[0], frame_b[1])
    pin = plus(b[1], arm_b)
    arm_a = minus(pin, a[1])
    R = back_product(R_A, R_B)
    return R_A, R, turned_back(R_A, minus(arm_a, turned(a[0], frame_a[1]))), pin, arm_a, arm_b


@inline
def loop_errors(t, s, loop, R, p):
    axis, normal = vector(t.axis, loop), vector(t.normal, loop)
    epsilon = (0.0, 0.0, 0.0)
    if t.turn_held[loop]:
        epsilon = _rotation_vector(R) if t.turn_locked[loop] else _axis_error(axis, normal, turned(R, axis))
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        kind = t.row_kind[row]
        if kind == CROSS:
            second = turned(R, vector(t.second_axis, loop))
            sine, cosine = length(cross(axis, second)), dot(axis, second)
            s_0, c_0 = t.cross_angle[loop, 0], t.cross_angle[loop, 1]
            s.error[row] = _angle(sine * c_0 - cosine * s_0, cosine * c_0 + sine * s_0)
        elif kind == SCREW:
            pitch = t.pitch[loop]
            raw = dot(axis, p) - pitch * _turn_about(axis, R)
            whole = 2.0 * math.pi * pitch
            s.error[row] = raw - whole * round(raw / whole) if pitch != 0.0 else raw
        elif kind >= FROM_DISTANCE:
            s.error[row], _, _ = varying_row(kind, t.row_numbers[row], t.row_code[row], s.point, s.surface, R, p)
        else:
            s.error[row] = dot(vector(t.row_wrench, row), p) + dot(second_vector(t.row_wrench, row), epsilon)


@inline
def row_wrench(t, s, loop, row, R, p):
    """Force and moment of a row in axes of A."""
    kind = t.row_kind[row]
    if kind == CROSS:
        axis = vector(t.axis, loop)
        moment, _ = _cross_direction(axis, turned(R, vector(t.second_axis, loop)), vector(t.normal, loop))
        return (0.0, 0.0, 0.0), moment
    if kind >= FROM_DISTANCE:
        _, force, moment = varying_row(kind, t.row_numbers[row], t.row_code[row], s.point, s.surface, R, p)
        return force, moment
    return vector(t.row_wrench, row), second_vector(t.row_wrench, row)


@inline
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


@inline
def _along_path(t, s, loop, force, moment, row):
    """Write the rates of a wrench along the path into a row of G."""
    for place in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[place]
        linear = force[0] * s.column[0, d] + force[1] * s.column[1, d] + force[2] * s.column[2, d]
        angular = moment[0] * s.column[3, d] + moment[1] * s.column[4, d] + moment[2] * s.column[5, d]
        row[t.path_column[place]] = linear + angular


@inline
def loop_rows(t, s, loop):
    """Errors, rows and wrenches of a loop: all that depends on positions alone; rows that are not kept stay zero."""
    R_A, R, p, pin, _, _ = loop_pose(t, s, loop)
    loop_errors(t, s, loop, R, p)
    _loop_directions(t, s, loop, pin)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        force, moment = row_wrench(t, s, loop, row, R, p)
        force, moment = turned(R_A, force), turned(R_A, moment)
        for k in range(3):
            s.wrench[row, k], s.wrench[row, 3 + k] = force[k], moment[k]
        if t.place[row] >= 0:
            _along_path(t, s, loop, force, moment, s.G[row])
    if not t.free_used[0]:
        return
    for j in range(t.free_start[loop], t.free_start[loop + 1]):
        force, moment, s.free_coordinate[j] = free_axis(t, loop, j, R, p)
        force, moment = turned(R_A, force), turned(R_A, moment)
        for k in range(3):
            s.free_wrench[j, k], s.free_wrench[j, 3 + k] = force[k], moment[k]
        _along_path(t, s, loop, force, moment, s.free[j])


@inline
def relative_motion(t, s, loop, R_A, arm_a, arm_b):
    """Motion v, ω of b's half against a's in axes of A, and its rates at zero joint accelerations (4)."""
    a, b = t.body_a[loop], t.body_b[loop]
    v, w, dv, dw = motion_of_joint(
        body_motion(s.velocities, a), body_motion(s.velocities, b),
        body_motion(s.accelerations, a), body_motion(s.accelerations, b), arm_a, arm_b,
    )  # fmt: skip
    return turned_back(R_A, v), turned_back(R_A, w), turned_back(R_A, dv), turned_back(R_A, dw)


@inline
def motion_of_joint(V_a, V_b, A_a, A_b, arm_a, arm_b):
    """The same in world axes, from linear and angular motions of two bodies (4); numbers or lanes."""
    tip = cross(V_b[1], arm_b)
    dr = minus(plus(V_b[0], tip), V_a[0])
    v, w = minus(dr, cross(V_a[1], arm_a)), minus(V_b[1], V_a[1])
    dv = plus(plus(A_b[0], cross(A_b[1], arm_b)), cross(V_b[1], tip))
    dv = minus(minus(minus(dv, A_a[0]), cross(A_a[1], arm_a)), cross(V_a[1], plus(dr, v)))
    return v, w, dv, minus(minus(A_b[1], A_a[1]), cross(V_a[1], w))


@inline
def row_change(t, s, loop, row, moment, R, p, v, w):
    """dc/dt·[v, ω] of a row (5); zero where its wrench is constant in axes of A."""
    kind = t.row_kind[row]
    if kind >= FROM_DISTANCE:
        return varying_change(kind, t.row_numbers[row], t.row_code[row], s.point, s.surface, R, p, v, w)
    if kind == CROSS:
        axis, second = vector(t.axis, loop), turned(R, vector(t.second_axis, loop))
        swing = cross(axis, cross(w, second))
        change = minus(swing, scaled(moment, dot(moment, swing)))
        return dot(change, w) / max(length(cross(axis, second)), 1e-9)  # (3)
    return 0.0


@inline
def free_rates(t, loop, R, p, v, w, dv, dw, rate, gamma):
    """Rates of a loop's free axes, and their accelerations at zero joint accelerations, into rate and gamma."""
    first = t.free_start[loop]
    for j in range(first, t.free_start[loop + 1]):
        force, moment, _ = free_axis(t, loop, j, R, p)
        rate[j] = dot(force, v) + dot(moment, w)
        gamma[j] = dot(force, dv) + dot(moment, dw)
    for j in range(first, t.free_start[loop + 1]):
        if t.free_kind[j] == FIRST_AXIS or t.free_kind[j] == SECOND_AXIS:
            # ω = a1 s1 + R a2 s2: the swing of the second axis is no acceleration of the joint's own coordinates.
            _, moment, _ = free_axis(t, loop, j, R, p)
            carried = scaled(cross(w, turned(R, vector(t.second_axis, loop))), rate[first + 1])
            gamma[j] -= dot(moment, carried)


@inline
def loop_rates(t, s, loop):
    """Velocity terms of a loop's rows, rates of its free axes."""
    R_A, R, p, _, arm_a, arm_b = loop_pose(t, s, loop)
    v, w, dv, dw = relative_motion(t, s, loop, R_A, arm_a, arm_b)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        if t.place[row] >= 0:
            force, moment = row_wrench(t, s, loop, row, R, p)
            s.gamma[row] = dot(force, dv) + dot(moment, dw) + row_change(t, s, loop, row, moment, R, p, v, w)
    if t.free_used[0]:
        free_rates(t, loop, R, p, v, w, dv, dw, s.free_rate, s.free_gamma)
