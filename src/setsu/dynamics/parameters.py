"""Inertial parameters and the matrix that makes torques linear in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.elementary import matmul
from setsu.mechanism import Mechanism

__all__ = ["inertial_parameters", "regressor"]

Floats = NDArray[np.float64]


def regressor(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return Y (..., nv, 10 n_bodies): Y @ inertial_parameters = torques without armature, friction and springs.

    Per body: m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about the body origin, body axes.
    """
    return fast_function(mechanism, "regressor")(q, v, a)


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
