"""First derivatives of inverse and forward dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.equations import forward_dynamics, inverse_dynamics, mass_matrix
from setsu.dynamics.frames import frame_pose
from setsu.dynamics.kinematics import body_poses
from setsu.dynamics.motion_derivatives import MotionDerivatives, cross, fixed_wrench_changes, force_derivative
from setsu.dynamics.numbers import finite_array
from setsu.dynamics.parameters import regressor
from setsu.dynamics.wrenches import ExternalWrenches, body_rows
from setsu.mechanism import Mechanism

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "forward_dynamics_parameter_derivatives",
    "inverse_dynamics_derivatives",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InverseDynamicsDerivatives:
    """Derivatives of the torques, (..., nv, nv) each: column k by coordinate, velocity, acceleration k."""

    dq: Floats
    dv: Floats
    da: Floats


@dataclass(frozen=True)
class ForwardDynamicsDerivatives:
    """Derivatives of the accelerations, (..., nv, nv) each: column k by coordinate, velocity, torque k."""

    dq: Floats
    dv: Floats
    dtau: Floats


def inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external_wrenches: ExternalWrenches | None = None,
) -> InverseDynamicsDerivatives:
    """Return the exact derivatives of `inverse_dynamics`; those by q are along velocities, as `integrate` adds them.

    external_wrenches: as of `inverse_dynamics`; given at body origins they keep their direction while bodies move, and
    by frame name they stay at the frames' origins.
    """
    found = InverseDynamicsDerivatives(*_function(mechanism, "inverse_dynamics_derivatives")(q, v, a))
    if external_wrenches is None:
        return found
    change = _external_change(mechanism, "inverse_dynamics_derivatives", q, external_wrenches)
    dq = found.dq - change
    return InverseDynamicsDerivatives(dq, *(np.broadcast_to(block, dq.shape).copy() for block in (found.dv, found.da)))


def forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external_wrenches: ExternalWrenches | None = None,
) -> ForwardDynamicsDerivatives:
    """Return the exact derivatives of `forward_dynamics`; those by q are along velocities, as `integrate` adds them.

    external_wrenches: as of `inverse_dynamics_derivatives`.
    """
    if external_wrenches is None:
        return ForwardDynamicsDerivatives(*_function(mechanism, "forward_dynamics_derivatives")(q, v, tau))
    name = "forward_dynamics_derivatives"
    change = _external_change(mechanism, name, q, external_wrenches)
    # The torques without wrenches that make the same accelerations.
    a = forward_dynamics(mechanism, q, v, tau, external_wrenches)
    same = inverse_dynamics(mechanism, q, v, a)
    found = ForwardDynamicsDerivatives(*_function(mechanism, name)(q, v, same))
    dq = found.dq + found.dtau @ change
    return ForwardDynamicsDerivatives(
        dq, *(np.broadcast_to(block, dq.shape).copy() for block in (found.dv, found.dtau))
    )


def forward_dynamics_parameter_derivatives(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Floats:
    """Return the derivative (..., nv, 10 n_bodies) of `forward_dynamics` by the `inertial_parameters`: -M⁻¹ Y(q, v, a).

    That of `inverse_dynamics` is the `regressor` Y itself.
    """
    require_mechanism(mechanism, "forward_dynamics_parameter_derivatives")
    refuse_bearings(mechanism, "forward_dynamics_parameter_derivatives")
    Y = regressor(mechanism, q, v, forward_dynamics(mechanism, q, v, tau))
    return -np.asarray(np.linalg.solve(mass_matrix(mechanism, q), Y), dtype=np.float64)


def _external_change(m: Mechanism, function: str, q: ArrayLike, external: ExternalWrenches) -> Floats:
    """Derivative (..., nv, nv) of the joint forces of external wrenches by the coordinates."""
    require_mechanism(m, function)
    q = finite_array(q, (m.nq,), f"{function}: q")
    rows = finite_array(body_rows(m, function, q, external), (m.n_bodies, 6), f"{function}: external_wrenches")
    batch = np.broadcast_shapes(q.shape[:-1], rows.shape[:-2])
    flat_q = np.broadcast_to(q, (*batch, m.nq)).reshape(-1, m.nq)
    wrenches = np.broadcast_to(rows, (*batch, m.n_bodies, 6)).reshape(-1, m.n_bodies, 6)
    rest = np.zeros((len(flat_q), m.nv))
    motion = MotionDerivatives(m, flat_q, rest, rest)
    origins = body_poses(m, flat_q)[..., :3, 3]
    moved = fixed_wrench_changes(motion, wrenches, origins)
    if isinstance(external, Mapping):
        moved = moved + _at_frames(m, motion, origins, external, batch)
    about = np.concatenate([wrenches[..., :3], wrenches[..., 3:] + cross(origins, wrenches[..., :3])], axis=-1)
    change = force_derivative(motion, about, [(moved, motion.moves[:-1])])[..., : m.nv]
    return change.reshape(*batch, m.nv, m.nv)


def _at_frames(
    m: Mechanism, motion: MotionDerivatives, origins: Floats, external: Mapping[str, ArrayLike], batch: tuple[int, ...]
) -> Floats:
    """What the motion of frames against the origins of their bodies adds to the change of wrenches given by frame."""
    total = np.zeros((len(origins), m.n_bodies, 2 * m.nv, 6))
    for name, wrench in external.items():
        body = m.frame(name).body
        if body < 0:
            continue
        force = np.broadcast_to(np.asarray(wrench, dtype=np.float64), (*batch, 6)).reshape(-1, 6)[:, None, :3]
        point = np.broadcast_to(frame_pose(m, motion.q, name)[..., :3, 3], origins[:, body].shape)
        D = motion.displacement(np.array([body]))[:, 0]
        total[:, body, :, 3:] += cross(cross(D[..., 3:], (point - origins[:, body])[:, None]), force)
    return total


def _function(mechanism: Mechanism, name: str) -> Callable[..., tuple]:
    require_mechanism(mechanism, name)
    refuse_bearings(mechanism, name)
    return fast_function(mechanism, f"{name} springs" if mechanism.has_force_elements else name)
