"""A free base in engines that keep its velocity in world axes, brought to body axes and back.

Symbols: R rotation of the base in the world; v, w linear and angular velocity of the base; B and W name the axes.

    v_W = R v_B                       a_W = R (a_B + w_B x v_B)            (linear part)
    w_W = R w_B                       dw_W = R dw_B                        (angular part)
    generalised force: f_B = Rᵀ f_W, n_B = Rᵀ n_W
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.spatial import rotation_from_quaternion

__all__ = ["FreeBase"]

Array = NDArray[np.float64]


class FreeBase:
    """Converts one state's first six entries; `angular_in_world` tells in which axes the engine keeps w."""

    def __init__(self, q: Array, v: Array, *, angular_in_world: bool) -> None:
        R = rotation_from_quaternion(q[3:7])
        self.velocity_map = np.eye(len(v))
        self.velocity_map[:3, :3] = R
        if angular_in_world:
            self.velocity_map[3:6, 3:6] = R
        self.transport = np.zeros(len(v))
        self.transport[:3] = np.cross(v[3:6], v[:3])

    def velocity(self, v: Array) -> Array:
        """Body axes to the engine's."""
        return self.velocity_map @ v

    def acceleration(self, a: Array) -> Array:
        """Body axes to the engine's."""
        return self.velocity_map @ (a + self.transport)

    def acceleration_back(self, a: Array) -> Array:
        """The engine's axes to body axes."""
        return self.velocity_map.T @ a - self.transport

    def force(self, tau: Array) -> Array:
        """Body axes to the engine's."""
        return self.velocity_map @ tau

    def force_back(self, tau: Array) -> Array:
        """The engine's axes to body axes."""
        return self.velocity_map.T @ tau

    def matrix_back(self, M: Array) -> Array:
        """Mass matrix in the engine's velocities to one in body axes."""
        return self.velocity_map.T @ M @ self.velocity_map
