"""Inertial parameters, and the matrices that make torques and energies linear in them; geometry likewise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.frames import frame_pose
from setsu.dynamics.kinematics import body_poses
from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["EnergyRegressor", "energy_regressor", "inertial_parameters", "kinematic_regressor", "regressor"]

Floats = NDArray[np.float64]


def regressor(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return Y (..., nv, 10 n_bodies): Y @ inertial_parameters = torques without armature, friction and springs.

    Per body: m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about the body origin, body axes.
    """
    return fast_function(mechanism, "regressor")(q, v, a)


@dataclass(frozen=True)
class EnergyRegressor:
    """Rows (..., 10 n_bodies): energy = row @ inertial_parameters, of motion and against gravity (J)."""

    kinetic: Floats
    potential: Floats


def energy_regressor(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> EnergyRegressor:
    """Return the rows that give kinetic and potential energy from the inertial parameters (order of `regressor`).

    Drives (armature), springs and other force elements are not part of it.
    """
    rows = fast_function(mechanism, "energy_regressor")(q, v)
    kinetic, potential = (row.reshape(*row.shape[:-2], -1) for row in rows)
    return EnergyRegressor(kinetic, potential)


def kinematic_regressor(mechanism: Mechanism, q: ArrayLike, frame: str, *, axes: str = "world") -> Floats:
    """Return K (..., 6, 6 n_bodies): how a frame moves when the frames of bodies are displaced on their joints.

    Column block i belongs to a small displacement [translation (m), rotation (rad)] of body i beyond its joint, in the
    body's axes, as calibration estimates it; the result is the displacement of the frame's origin and its rotation.
    Bodies that do not carry the frame have zeros. axes: of the result, "world" or "frame".
    """
    require_mechanism(mechanism, "kinematic_regressor")
    m, target = mechanism, mechanism.frame(frame)
    if axes not in ("world", "frame"):
        raise InputError(f'kinematic_regressor: axes: expected "world" or "frame", got {axes!r}')
    T, poses = frame_pose(m, q, frame), body_poses(m, q)
    K = np.zeros((*poses.shape[:-3], 6, 6 * m.n_bodies))
    body = target.body
    while body >= 0:
        R = poses[..., body, :3, :3]
        arm = T[..., :3, 3] - poses[..., body, :3, 3]
        block = K[..., 6 * body : 6 * body + 6]
        block[..., :3, :3] = block[..., 3:, 3:] = R
        block[..., :3, 3:] = np.swapaxes(np.cross(np.swapaxes(R, -1, -2), arm[..., None, :]), -1, -2)
        body = m.frame(m.moving[body].parent).body
    if axes == "frame":
        turn = np.swapaxes(T[..., :3, :3], -1, -2)
        K[..., :3, :], K[..., 3:, :] = turn @ K[..., :3, :], turn @ K[..., 3:, :]
    return K


def inertial_parameters(mechanism: Mechanism) -> Floats:
    """Return the inertial parameters (10 n_bodies,) in the order of the regressor; fixed bodies merged."""
    require_mechanism(mechanism, "inertial_parameters")
    tables = mechanism.tables
    parameters = np.zeros((mechanism.n_bodies, 10))
    for body, link in enumerate(tables.body_link):
        A = tables.axes[link]
        E = matmul(A, tables.true.second_moment[link][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3), A.T)
        inertia = np.trace(E) * np.eye(3) - E
        parameters[body, 0] = tables.true.mass[link]
        parameters[body, 1:4] = matmul(A, tables.true.moment[link])
        parameters[body, 4:] = [inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return parameters.ravel()
