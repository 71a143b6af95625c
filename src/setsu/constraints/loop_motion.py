"""Where the two halves of each loop joint are and how they move, for all loops and any leading axes at once.

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
descent; on the closed loop c is the derivative of each error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.loop_joints import LoopTables
from setsu.constraints.stacked import Floats, cross, dot, length_of, times, transposed_times

__all__ = ["LoopMotion", "LoopPoses", "loop_motion", "loop_poses"]


@dataclass(frozen=True)
class LoopPoses:
    """Geometry of n loops with k rows and f free axes."""

    rotation_a: Floats  # (..., n, 3, 3) frame A in the world
    turn: Floats  # (..., n, 3, 3) R
    travel: Floats  # (..., n, 3) p
    arm_a: Floats  # (..., n, 3) from body a's origin to B's origin, world axes
    arm_b: Floats  # (..., n, 3) from body b's origin to B's origin, world axes
    error: Floats  # (..., k) m or rad
    wrench: Floats  # (..., k, 6) rows c, axes of A
    free: Floats  # (..., f, 6) rows of the joint's own rates, axes of A

    def in_world(self, rows: Floats, loops: NDArray[np.int64]) -> Floats:
        """Turn wrenches (..., m, 6) from axes of A into world axes; `loops` (m,) says of which loop each is."""
        R = self.rotation_a[..., loops, :, :]
        halves = rows.reshape(*rows.shape[:-1], 2, 3)
        turned = np.matmul(R[..., None, :, :], halves[..., None])[..., 0]
        return turned.reshape(*turned.shape[:-2], 6)


@dataclass(frozen=True)
class LoopMotion:
    """Velocities and velocity terms of the loops' rows."""

    rate: Floats  # (..., k) c·[v, ω]
    velocity_term: Floats  # (..., k) γ
    free_rate: Floats  # (..., f) rates of the loop joints' own coordinates
    free_velocity_term: Floats  # (..., f) what their accelerations are when all joint accelerations are zero


def loop_poses(t: LoopTables, poses: Floats) -> LoopPoses:
    """Return the geometry; poses (..., n_bodies + 1, 4, 4) with the world as last body."""
    pose_a, pose_b = poses[..., t.body_a, :, :], poses[..., t.body_b, :, :]
    R_A = pose_a[..., :3, :3] @ t.rotation_a
    R_B = pose_b[..., :3, :3] @ t.rotation_b
    arm_b = times(pose_b[..., :3, :3], t.origin_b)
    arm_a = pose_b[..., :3, 3] + arm_b - pose_a[..., :3, 3]
    R = np.swapaxes(R_A, -1, -2) @ R_B
    p = transposed_times(R_A, arm_a - times(pose_a[..., :3, :3], t.origin_a))
    turned_axis = times(R, t.axis)
    epsilon = _axis_error(t, turned_axis)
    if t.turn_locked.any():
        epsilon = np.where(t.turn_locked[:, None], _rotation_vector(R), epsilon)
    deviation = np.concatenate([p, epsilon], axis=-1)
    error = dot(t.row_wrench, deviation[..., t.row_loop, :])  # (2)
    wrench = np.broadcast_to(t.row_wrench, (*error.shape, 6))
    free = np.broadcast_to(t.free_wrench, (*error.shape[:-1], *t.free_wrench.shape))
    if t.helical_rows.size:
        error[..., t.helical_rows] = _screw_error(t, p, R)
    if t.universal_rows.size:
        wrench, free = wrench.copy(), free.copy()
        _fill_universal(t, R, error, wrench, free)
    if t.varying_rows.size:
        from setsu.constraints.varying_rows import varying_positions

        wrench, which = np.array(wrench), t.varying_loops
        error[..., t.varying_rows], wrench[..., t.varying_rows, :] = varying_positions(
            t.varying_kind, t.varying_numbers, t.varying_code, p[..., which, :], R[..., which, :, :]
        )
    if t.spherical_loops.size:
        free = np.array(free)
        turned = R[..., t.spherical_loops, :, :]
        for k in range(3):
            # ω in axes of B: rows of Rᵀ.
            free[..., t.spherical_free + k, 3:] = turned[..., k]
    return LoopPoses(R_A, R, p, arm_a, arm_b, error, wrench, free)


def loop_motion(t: LoopTables, ends: LoopPoses, velocities: Floats, accelerations: Floats) -> LoopMotion:
    """Return rates and velocity terms; velocities and accelerations (..., n_bodies + 1, 6), the world last."""
    V_a, V_b = velocities[..., t.body_a, :], velocities[..., t.body_b, :]
    A_a, A_b = accelerations[..., t.body_a, :], accelerations[..., t.body_b, :]
    w_a, w_b = V_a[..., 3:], V_b[..., 3:]
    tip = cross(w_b, ends.arm_b)
    dr = V_b[..., :3] + tip - V_a[..., :3]
    v = dr - cross(w_a, ends.arm_a)
    w = w_b - w_a
    tip_acceleration = A_b[..., :3] + cross(A_b[..., 3:], ends.arm_b) + cross(w_b, tip)
    dv = tip_acceleration - A_a[..., :3] - cross(A_a[..., 3:], ends.arm_a) - cross(w_a, dr + v)  # (4)
    dw = A_b[..., 3:] - A_a[..., 3:] - cross(w_a, w)
    R_A = ends.rotation_a
    motion = np.concatenate([transposed_times(R_A, v), transposed_times(R_A, w)], axis=-1)
    change = np.concatenate([transposed_times(R_A, dv), transposed_times(R_A, dw)], axis=-1)
    rate = dot(ends.wrench, motion[..., t.row_loop, :])
    gamma = dot(ends.wrench, change[..., t.row_loop, :])  # (5)
    free_rate = dot(ends.free, motion[..., t.free_loop, :])
    free_gamma = dot(ends.free, change[..., t.free_loop, :])
    if t.varying_rows.size:
        from setsu.constraints.varying_rows import varying_rates

        which = t.varying_loops
        gamma[..., t.varying_rows] += varying_rates(
            t.varying_kind, t.varying_numbers, t.varying_code, ends.travel[..., which, :],
            ends.turn[..., which, :, :], motion[..., which, :],
        )  # fmt: skip
    if t.universal_rows.size:
        loops = t.universal_loops
        second = times(ends.turn[..., loops, :, :], t.second_axis[loops])
        spin = motion[..., loops, 3:]
        swing = cross(spin, second)
        moved = cross(t.axis[loops], swing)
        c = ends.wrench[..., t.universal_rows, 3:]
        length = length_of(cross(t.axis[loops], second))
        dc = (moved - c * dot(c, moved)[..., None]) / np.maximum(length, 1e-9)[..., None]  # (3)
        gamma[..., t.universal_rows] += dot(dc, spin)
        # ω = a1 s1 + R a2 s2: the swing of the second axis is no acceleration of the joint's own coordinates.
        carried = swing * free_rate[..., t.universal_free + 1, None]
        for k in range(2):
            axis = t.universal_free + k
            free_gamma[..., axis] -= dot(ends.free[..., axis, 3:], carried)
    return LoopMotion(rate, gamma, free_rate, free_gamma)


def loop_coordinates(t: LoopTables, ends: LoopPoses) -> Floats:
    """Return the loop joints' own coordinates (..., f): travel in m, angles in (-pi, pi]; 0 for spherical joints."""
    R, p = ends.turn, ends.travel
    turn = _turn_about(t.axis, R)[..., t.free_loop]
    along = dot(t.free_wrench[:, :3], p[..., t.free_loop, :])
    rotates = np.abs(t.free_wrench[:, 3:]).max(axis=-1, initial=0.0) > 0.0
    result = np.where(rotates, turn, along)
    screw = np.flatnonzero(rotates & (t.pitch[t.free_loop] != 0.0))
    if screw.size:
        # The travel of a screw tells its angle without the loss of whole turns.
        loops = t.free_loop[screw]
        result[..., screw] = dot(t.axis[loops], p[..., loops, :]) / t.pitch[loops]
    if t.universal_rows.size:
        loops = t.universal_loops
        a1, a2 = t.axis[loops], t.second_axis[loops]
        R_u = R[..., loops, :, :]
        result[..., t.universal_free] = _angle_about(a1, a2, times(R_u, a2))
        back = transposed_times(R_u, a1)
        result[..., t.universal_free + 1] = _angle_about(a2, back, a1)
    return result


def _axis_error(t: LoopTables, turned: Floats) -> Floats:
    """Rotation vector of the smallest turn from the axis u to R u, in A; (1)."""
    x = cross(t.axis, turned)
    sine, cosine = length_of(x), dot(t.axis, turned)
    scale = np.arctan2(sine, cosine) / np.where(sine > 0.0, sine, 1.0)
    epsilon = x * np.where(sine > 0.0, scale, 1.0)[..., None]
    reversed_axis = (sine < 1e-12) & (cosine < 0.0)
    return np.where(reversed_axis[..., None], np.pi * t.normal, epsilon)


def _rotation_vector(R: Floats) -> Floats:
    """Axis times angle of rotations (..., 3, 3), angle in [0, pi]."""
    sines = 0.5 * np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1
    )
    sine = length_of(sines)
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(sine, cosine)
    vector = sines * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 1.0)[..., None]
    near_half_turn = (cosine < 0.0) & (sine < 1e-4)
    if near_half_turn.any():
        # R + 1 is about 2 n nᵀ there; its longest column is the axis without the loss of digits of the sines.
        columns = R + np.swapaxes(R, -1, -2) + 2.0 * np.maximum(-cosine, 0.0)[..., None, None] * np.eye(3)
        longest = np.argmax(np.diagonal(columns, axis1=-2, axis2=-1), axis=-1)
        axis = np.take_along_axis(columns, longest[..., None, None], axis=-1)[..., 0]
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        axis = axis * np.where(dot(axis, sines) < 0.0, -1.0, 1.0)[..., None]
        vector = np.where(near_half_turn[..., None], axis * angle[..., None], vector)
    return vector


def _screw_error(t: LoopTables, p: Floats, R: Floats) -> Floats:
    """Travel that does not fit the turn, whole turns removed: a nut fits its thread at every turn."""
    loops = t.row_loop[t.helical_rows]
    pitch = t.pitch[loops]
    raw = dot(t.axis[loops], p[..., loops, :]) - pitch * _turn_about(t.axis, R)[..., loops]
    whole = 2.0 * np.pi * np.where(pitch == 0.0, 1.0, pitch)
    return raw - np.where(pitch == 0.0, 0.0, whole * np.round(raw / whole))


def _fill_universal(t: LoopTables, R: Floats, error: Floats, wrench: Floats, free: Floats) -> None:
    """Write error, row ĉ and rates of universal loops."""
    loops = t.universal_loops
    a1, a2 = t.axis[loops], t.second_axis[loops]
    second = times(R[..., loops, :, :], a2)
    both = cross(a1, second)
    sine, cosine = length_of(both), dot(a1, second)
    wanted = np.arctan2(length_of(cross(a1, a2)), dot(a1, a2))
    error[..., t.universal_rows] = np.arctan2(sine, cosine) - wanted
    degenerate = sine < 1e-9
    c = np.where(degenerate[..., None], t.normal[loops], both / np.where(degenerate, 1.0, sine)[..., None])
    wrench[..., t.universal_rows, 3:] = c
    # Dual basis of (a1, R a2): each rate is what its axis contributes to ω.
    square = np.where(degenerate, 1.0, sine * sine)[..., None]
    free[..., t.universal_free, 3:] = (a1 - cosine[..., None] * second) / square
    free[..., t.universal_free + 1, 3:] = (second - cosine[..., None] * a1) / square


def _turn_about(axis: Floats, R: Floats) -> Floats:
    """Angle of R about `axis` (n, 3) for rotations that keep it, in (-pi, pi]."""
    sines = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    return np.arctan2(0.5 * dot(axis, sines), 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0))


def _angle_about(axis: Floats, start: Floats, end: Floats) -> Floats:
    """Angle that turns `start` into `end` about `axis`."""
    first = start - axis * dot(axis, start)[..., None]
    second = end - axis * dot(axis, end)[..., None]
    return np.arctan2(dot(axis, cross(first, second)), dot(first, second))
