"""Energy, centre of mass and momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function
from setsu.mechanism import Mechanism

__all__ = ["center_of_mass", "centroidal_matrix", "kinetic_energy", "momentum", "potential_energy"]

Floats = NDArray[np.float64]


def kinetic_energy(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return the kinetic energy of bodies and drives (J), (...)."""
    return fast_function(mechanism, "kinetic_energy")(q, v)


def potential_energy(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the energy of masses against gravity and of all springs (J), (...); masses count from the world origin."""
    return fast_function(mechanism, "potential_energy")(q)


def center_of_mass(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the centre of mass of all moving bodies (m), world axes, (..., 3)."""
    return fast_function(mechanism, "center_of_mass")(q)


def momentum(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return linear momentum (kg m/s) and angular momentum about the centre of mass (kg m²/s), world axes, (..., 6)."""
    return fast_function(mechanism, "momentum")(q, v)


def centroidal_matrix(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return A (..., 6, nv) with momentum = A v."""
    return fast_function(mechanism, "centroidal_matrix")(q)
