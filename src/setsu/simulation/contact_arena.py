"""Memory of a world with an environment: workspaces in one block of bytes, so that a reset is one copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact import free_motion as stepping
from setsu.contact.convex_tables import ConvexShapes
from setsu.contact.free_motion import StepState
from setsu.contact.tree import ROW
from setsu.dynamics.catalogue import native_function
from setsu.mechanism import Free, Mechanism
from setsu.native.workspace import Workspace
from setsu.simulation.block import Arrays, mutable_arrays
from setsu.simulation.contact_machine import DriveTables
from setsu.simulation.joint_servo import ServoRun, single_coordinates

__all__ = ["bind_motion", "in_arena", "make_drive_tables", "make_motion"]

Floats = NDArray[np.float64]

_LINE = 64  # bytes


def in_arena(*workspaces: Any, last: Sequence[Any]) -> tuple[tuple[Any, ...], Floats, list[int]]:
    """Return the workspaces (named tuples) with all arrays that a step may change in one block, and that block.

    last: arrays that stand at its end, in this order, and where each of them begins, in numbers of the block.
    """
    places: dict[int, int] = {}
    size = 0
    behind = {id(array): k for k, array in enumerate(last)}
    arrays = mutable_arrays(map(Workspace, workspaces))
    for array in sorted(arrays, key=lambda array: behind.get(id(array), -1)):
        places[id(array)] = size
        size += -(-array.nbytes // _LINE) * _LINE
    room = np.zeros(size + _LINE, dtype=np.uint8)
    arena = room[-room.ctypes.data % _LINE :][:size]

    def moved(array: Any) -> Any:
        if id(array) not in places:
            return array
        start = places[id(array)]
        view = arena[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    begins = [places.get(id(array), size) // 8 for array in last]
    return tuple(type(fields)(*map(moved, fields)) for fields in workspaces), arena.view(np.float64), begins


def make_motion(m: Mechanism, servo: ServoRun | None) -> StepState:
    """Return the state and work arrays of a world; `bind_motion` fills its kernels."""
    s, n, nv = stepping, m.n_bodies, m.nv
    vectors = np.zeros((s.VECTORS, nv))
    vectors[s.DAMPING], vectors[s.COULOMB], vectors[s.STIFFNESS] = m.damping, m.coulomb, m.tables.stiffness
    if servo is not None:
        vectors[s.KP], vectors[s.KD] = servo.kp, servo.kd
    free = [(k, m.v_slices[k].start) for k, body in enumerate(m.moving) if isinstance(body.joint, Free)]
    return StepState(
        q=np.zeros(m.nq),
        q_next=np.zeros(m.nq),
        vectors=vectors,
        coordinate=single_coordinates(m),
        q_middle=np.zeros(m.nq),
        start=np.zeros((1, nv)),
        poses_start=np.zeros((n, 4, 4)),
        poses=np.zeros((n, 4, 4)),
        poses_next=np.zeros((n, 4, 4)),
        columns=np.zeros((6, nv)),
        columns_next=np.zeros((6, nv)),
        H=np.zeros((nv, nv)),
        kernels=np.zeros((6, 7), dtype=np.int64),
        energies=np.zeros(8),
        free_joints=np.array(free, dtype=np.int64).reshape(-1, 2),
        body_twists=np.zeros((2, nv, ROW)),
        elastic=np.array([m.has_force_elements or bool(m.tables.stiffness.any())], dtype=np.int64),
        recovery_share=np.ones(1),
        weight=np.array([m.total_mass * float(np.linalg.norm(m.gravity))]),
    )


def bind_motion(m: Mechanism, smooth: Mechanism, motion: StepState, shapes: ConvexShapes) -> list[Any]:
    """Bind kernels to the arrays of a motion; return what must be kept alive. smooth: m without dry friction."""
    s, a, M = stepping, motion.vectors, motion
    bias = "bias_torque springs" if m.has_force_elements else "bias_torque"
    bound = [
        native_function(m, "mass_matrix").bind([M.q_middle], [M.H]),
        native_function(smooth, bias).bind([M.q_middle, a[s.V_MIDDLE]], [a[s.BIAS]]),
        native_function(m, "poses_and_axes").bind([M.q_middle], [M.poses, M.columns]),
        native_function(m, "integrate").bind([M.q, a[s.DISPLACEMENT]], [M.q_next]),
        native_function(m, "poses_and_axes").bind([M.q_next], [M.poses_next, M.columns_next]),
        native_function(m, "potential_energy").bind([M.q_next], [M.energies[s.POTENTIAL_NEXT : s.POTENTIAL_NEXT + 1]]),
    ]
    motion.kernels[:] = [call.handle for call in bound]
    if len(shapes.shapes):
        bound.append(native_function(m, "body_velocities").bind([M.q, a[s.V]], [shapes.velocities]))
        shapes.kernel[:] = bound[-1].handle
    return bound


def make_drive_tables(
    m: Mechanism, motion: StepState, arrays: Arrays, solver: int, driven: bool
) -> tuple[DriveTables, list[Any]]:
    """Return tables without torques and references, and what must be kept alive."""
    bound, state = [], [motion.q_middle, motion.vectors[stepping.V_MIDDLE]]
    tables = DriveTables(
        torque=np.zeros((1, m.nv)),
        position=np.zeros((1, m.nv)),
        velocity=np.zeros((1, m.nv)),
        first=np.zeros(1, dtype=np.int64),
        solver=np.array([solver]),
        driven=np.array([int(driven)]),
        q=arrays.q,
        v=arrays.v,
        element_power=np.zeros(1),
        element_powers=np.zeros((int(m.has_force_elements), 7), dtype=np.int64),
    )
    if m.has_force_elements:
        bound.append(native_function(m, "element_power").bind(state, [tables.element_power]))
        tables.element_powers[:] = bound[-1].handle
    return tables, bound
