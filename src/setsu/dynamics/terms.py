"""Everything about a state in one call, and what holds a mechanism at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.derivatives import inverse_dynamics_derivatives
from setsu.dynamics.energy import centroidal_matrix, kinetic_energy, momentum, potential_energy
from setsu.dynamics.equations import bias_torque, coriolis_matrix, gravity_torque, inverse_dynamics, mass_matrix
from setsu.dynamics.kinematics import body_poses, body_velocities
from setsu.dynamics.numbers import finite_array
from setsu.dynamics.wrenches import ExternalWrenches
from setsu.mechanism import Mechanism

__all__ = ["AllTerms", "all_terms", "static_torque", "static_torque_derivatives"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AllTerms:
    """What the functions of the same names return for one state or a batch; M a + bias_torque = tau."""

    mass_matrix: Floats
    bias_torque: Floats
    gravity_torque: Floats
    coriolis_matrix: Floats
    body_poses: Floats
    body_velocities: Floats
    center_of_mass: Floats
    centroidal_matrix: Floats
    momentum: Floats
    kinetic_energy: Floats
    potential_energy: Floats


def all_terms(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> AllTerms:
    """Return all terms of the equations of motion at coordinates (..., nq) and velocities (..., nv).

    >>> import setsu
    >>> setsu.all_terms(setsu.sample_mechanisms.planar_arm(2), [0.1, 0.2], [0.0, 0.0]).mass_matrix.shape
    (2, 2)
    """
    require_mechanism(mechanism, "all_terms")
    m = mechanism
    q, v = finite_array(q, (m.nq,), "all_terms: q"), finite_array(v, (m.nv,), "all_terms: v")
    if q.shape[:-1] != v.shape[:-1]:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        q, v = np.broadcast_to(q, (*batch, m.nq)), np.broadcast_to(v, (*batch, m.nv))
    return AllTerms(
        mass_matrix=mass_matrix(m, q),
        bias_torque=bias_torque(m, q, v),
        gravity_torque=gravity_torque(m, q),
        coriolis_matrix=coriolis_matrix(m, q, v),
        body_poses=body_poses(m, q),
        body_velocities=body_velocities(m, q, v),
        center_of_mass=fast_function(m, "center_of_mass")(q),
        centroidal_matrix=centroidal_matrix(m, q),
        momentum=momentum(m, q, v),
        kinetic_energy=kinetic_energy(m, q, v),
        potential_energy=potential_energy(m, q),
    )


def static_torque(mechanism: Mechanism, q: ArrayLike, external_wrenches: ExternalWrenches | None = None) -> Floats:
    """Return the torques (..., nv) that hold a mechanism at rest against gravity, springs and external wrenches."""
    require_mechanism(mechanism, "static_torque")
    rest = np.zeros(mechanism.nv)
    return inverse_dynamics(mechanism, q, rest, rest, external_wrenches)


def static_torque_derivatives(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the derivative of `static_torque` without external wrenches by the coordinates (..., nv, nv), along
    velocities as `integrate` adds them: the stiffness of the mechanism under gravity and springs."""
    require_mechanism(mechanism, "static_torque_derivatives")
    rest = np.zeros(mechanism.nv)
    return inverse_dynamics_derivatives(mechanism, q, rest, rest).dq
