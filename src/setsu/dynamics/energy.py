"""Energy, centre of mass and momentum: of everything that moves.

Bodies fixed to the world never move. They count in `Mechanism.total_mass` (what a scale under the base shows) and
nowhere here: the centre of mass, the momentum and the potential energy are those of `Mechanism.moving_mass`, as in
Pinocchio, so that momentum = moving_mass x velocity of the centre of mass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = [
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centroidal_matrix",
    "kinetic_energy",
    "momentum",
    "momentum_rate",
    "potential_energy",
    "subtree_centers_of_mass",
    "subtree_masses",
]

Floats = NDArray[np.float64]


def kinetic_energy(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return the kinetic energy of bodies and drives (J), (...)."""
    return fast_function(mechanism, "kinetic_energy")(q, v)


def potential_energy(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the energy of moving masses against gravity and of all springs (J), (...); zero at the world origin."""
    return fast_function(mechanism, "potential_energy")(q)


def center_of_mass(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the centre of mass of all moving bodies (m), not of those fixed to the world; world axes, (..., 3)."""
    return fast_function(mechanism, "center_of_mass")(q)


def center_of_mass_velocity(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return the velocity of `center_of_mass` (m/s), world axes, (..., 3)."""
    return momentum(mechanism, q, v)[..., :3] / _mass(mechanism, "center_of_mass_velocity")


def center_of_mass_acceleration(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return the acceleration of `center_of_mass` (m/s²), world axes, (..., 3); gravity is not added."""
    return momentum_rate(mechanism, q, v, a)[..., :3] / _mass(mechanism, "center_of_mass_acceleration")


def center_of_mass_jacobian(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return J (..., 3, nv), world axes: velocity of the centre of mass = J v."""
    return centroidal_matrix(mechanism, q)[..., :3, :] / _mass(mechanism, "center_of_mass_jacobian")


def momentum(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return linear momentum (kg m/s) and angular momentum about the centre of mass (kg m²/s), world axes, (..., 6)."""
    return fast_function(mechanism, "momentum")(q, v)


def momentum_rate(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return the time derivative of `momentum` (N, N m), (..., 6): all outer forces, and their moment about the centre.

    With a = 0 it is dA/dt v of the centroidal matrix A.
    """
    return fast_function(mechanism, "momentum_rate")(q, v, a)


def centroidal_matrix(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return A (..., 6, nv) with momentum = A v."""
    return fast_function(mechanism, "centroidal_matrix")(q)


def subtree_masses(mechanism: Mechanism) -> Floats:
    """Return the mass of each moving body with all that hangs on it (kg), (n_bodies,)."""
    require_mechanism(mechanism, "subtree_masses")
    m, tables = mechanism, mechanism.tables
    masses = tables.true.mass[tables.body_link].copy()
    for index in range(m.n_bodies - 1, -1, -1):
        parent = m.frame(m.moving[index].parent).body
        if parent >= 0:
            masses[parent] += masses[index]
    return masses


def subtree_centers_of_mass(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the centre of mass of each moving body with all that hangs on it (m), world axes, (..., n_bodies, 3).

    NaN for a subtree without mass.
    """
    moments = fast_function(mechanism, "subtree_moments")(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        return moments / subtree_masses(mechanism)[:, None]


def _mass(m: Mechanism, function: str) -> float:
    if not m.moving_mass > 0.0:
        raise InputError(f"{function}: no moving body of {m.name} has mass")
    return m.moving_mass
