"""Where the two halves of each loop joint are and how they move, for all loops and any leading axes at once.

The rows of compiled_loops.py (1)-(5), evaluated at many states. Cost: the number of loops times the number of states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_loops import (
    free_axis,
    free_rates,
    loop_errors,
    loop_pose,
    relative_motion,
    row_change,
    row_wrench,
)
from setsu.constraints.compiled_vectors import dot
from setsu.constraints.loop_joints import LoopTables
from setsu.constraints.stacked import Floats
from setsu.native.control_flow import inline, jit
from setsu.native.workspace import Workspace

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
    coordinate: Floats  # (..., f) of the loop joints: travel in m, angles in (-pi, pi]; 0 for spherical joints

    def in_world(self, rows: Floats, loops: NDArray[np.int64]) -> Floats:
        """Turn wrenches (..., m, 6) from axes of A into world axes; `loops` (m,) says of which loop each is."""
        R = self.rotation_a[..., loops, :, :]
        halves = rows.reshape(*rows.shape[:-1], 2, 3)
        turned = np.matmul(R[..., None, :, :], halves[..., None])[..., 0]
        return turned.reshape(*turned.shape[:-2], 6)


class LoopMotion(NamedTuple):
    """Velocities and velocity terms of the loops' rows."""

    rate: Floats  # (..., k) c·[v, ω]
    velocity_term: Floats  # (..., k) γ
    free_rate: Floats  # (..., f) rates of the loop joints' own coordinates
    free_velocity_term: Floats  # (..., f) what their accelerations are when all joint accelerations are zero


class _State(NamedTuple):
    """One state, as compiled_loops.py reads it, and what it writes there."""

    poses: Floats  # (bodies, 16), the world last
    velocities: Floats  # (bodies, 6)
    accelerations: Floats
    error: Floats  # (k,)
    point: Floats  # (3,) scratch
    surface: Floats  # (13,) scratch


class _States(NamedTuple):
    """Many states; poses alone where motions are not asked for."""

    poses: Floats  # (N, bodies, 16)
    velocities: Floats  # (N, bodies, 6)
    accelerations: Floats


class _Geometry(NamedTuple):
    """The fields of LoopPoses over N states, rotations row by row."""

    rotation_a: Floats  # (N, n, 9)
    turn: Floats
    travel: Floats  # (N, n, 3)
    arm_a: Floats
    arm_b: Floats
    error: Floats  # (N, k)
    wrench: Floats  # (N, k, 6)
    free: Floats  # (N, f, 6)
    coordinate: Floats  # (N, f)


@inline
def _put(row, first, second):
    for k in range(3):
        row[k], row[3 + k] = first[k], second[k]


@inline
def _copy(array, into):
    for i in range(array.shape[0]):
        for k in range(array.shape[1]):
            into[i, k] = array[i, k]


@jit
def _fill_poses(t, s, states, out):
    """Geometry, errors and wrenches of all loops at all states."""
    for i in range(states.poses.shape[0]):
        _copy(states.poses[i], s.poses)
        for loop in range(len(t.body_a)):
            R_A, R, p, _, arm_a, arm_b = loop_pose(t, s, loop)
            loop_errors(t, s, loop, R, p)
            for k in range(9):
                out.rotation_a[i, loop, k], out.turn[i, loop, k] = R_A[k], R[k]
            for k in range(3):
                out.travel[i, loop, k], out.arm_a[i, loop, k], out.arm_b[i, loop, k] = p[k], arm_a[k], arm_b[k]
            for row in range(t.row_start[loop], t.row_start[loop + 1]):
                force, moment = row_wrench(t, s, loop, row, R, p)
                out.error[i, row] = s.error[row]
                _put(out.wrench[i, row], force, moment)
            for j in range(t.free_start[loop], t.free_start[loop + 1]):
                force, moment, out.coordinate[i, j] = free_axis(t, loop, j, R, p)
                _put(out.free[i, j], force, moment)


@jit
def _fill_motion(t, s, states, out):
    """Rates and velocity terms of all rows and free axes at all states."""
    for i in range(states.poses.shape[0]):
        _copy(states.poses[i], s.poses)
        _copy(states.velocities[i], s.velocities)
        _copy(states.accelerations[i], s.accelerations)
        for loop in range(len(t.body_a)):
            R_A, R, p, _, arm_a, arm_b = loop_pose(t, s, loop)
            v, w, dv, dw = relative_motion(t, s, loop, R_A, arm_a, arm_b)
            for row in range(t.row_start[loop], t.row_start[loop + 1]):
                force, moment = row_wrench(t, s, loop, row, R, p)
                out.rate[i, row] = dot(force, v) + dot(moment, w)
                change = row_change(t, s, loop, row, moment, R, p, v, w)
                out.velocity_term[i, row] = dot(force, dv) + dot(moment, dw) + change
            free_rates(t, loop, R, p, v, w, dv, dw, out.free_rate[i], out.free_velocity_term[i])


def loop_poses(t: LoopTables, poses: Floats) -> LoopPoses:
    """Return the geometry; poses (..., n_bodies + 1, 4, 4) with the world as last body."""
    batch, n, k, f = poses.shape[:-3], len(t.names), len(t.row_loop), len(t.free_loop)
    count = math.prod(batch)
    shapes = ((n, 9), (n, 9), (n, 3), (n, 3), (n, 3), (k,), (k, 6), (f, 6), (f,))
    out = _Geometry(*(np.empty((count, *shape)) for shape in shapes))
    if n:
        states = _flat(poses)
        _fill_poses(t.workspace, _state(states, k), Workspace(states), Workspace(out))
    rotations = (field.reshape(*batch, n, 3, 3) for field in out[:2])
    return LoopPoses(*rotations, *(field.reshape(*batch, *field.shape[1:]) for field in out[2:]))


def loop_motion(t: LoopTables, poses: Floats, velocities: Floats, accelerations: Floats) -> LoopMotion:
    """Return rates and velocity terms; velocities and accelerations (..., n_bodies + 1, 6), the world last."""
    batch, k, f = poses.shape[:-3], len(t.row_loop), len(t.free_loop)
    out = LoopMotion(*(np.empty((math.prod(batch), length)) for length in (k, k, f, f)))
    if t.names:
        states = _flat(poses, velocities, accelerations)
        _fill_motion(t.workspace, _state(states, k), Workspace(states), Workspace(out))
    return LoopMotion(*(field.reshape(*batch, field.shape[1]) for field in out))


def _flat(poses: Floats, *motions: Floats) -> _States:
    """States with one leading axis."""
    bodies, count = poses.shape[-3], math.prod(poses.shape[:-3])
    if not motions:
        motions = (np.empty((0, bodies, 6)),) * 2
    flat = (np.ascontiguousarray(motion).reshape(-1, bodies, 6) for motion in motions)
    return _States(np.ascontiguousarray(poses).reshape(count, bodies, 16), *flat)


def _state(states: _States, rows: int) -> Workspace:
    poses, velocities, accelerations = (np.empty(field.shape[1:]) for field in states)
    return Workspace(_State(poses, velocities, accelerations, np.empty(rows), np.empty(3), np.empty(13)))
