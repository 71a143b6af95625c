"""Where all bodies are and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function
from setsu.mechanism import Mechanism

__all__ = [
    "body_accelerations",
    "body_poses",
    "body_velocities",
]

Floats = NDArray[np.float64]


def body_poses(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the placement of each body in the world (..., n_bodies, 4, 4) for coordinates (..., nq)."""
    return fast_function(mechanism, "body_poses")(q)


def body_velocities(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return velocity of the body origin (m/s) and angular velocity (rad/s), world axes, (..., n_bodies, 6)."""
    return fast_function(mechanism, "body_velocities")(q, v)


def body_accelerations(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return acceleration of the body origin (m/s²) and angular acceleration (rad/s²), world axes, (..., n_bodies, 6).

    These are the second derivatives of the motion; gravity is not added.
    """
    return fast_function(mechanism, "body_accelerations")(q, v, a)
