"""Hybrid control: a point follows a path along a surface and presses on it with a set force.

| symbol | meaning | unit |
|---|---|---|
| x, J | contact point and its Jacobian | m |
| n, H | outward normal of the surface, its curvature | -, 1/m |
| K, f | coefficient of friction, wanted normal force | -, N |

    x'' = (1 - n nᵀ)(x_d'' + K_v (x_d' - x') + K_p (x_d - x)) - n (x'ᵀ H x')      along the path, on the surface    (1)
    a = J⁺ (x'' - J' v) + (1 - J⁺ J)(K_r (q_r - q) - D_r v)                       the rest holds a posture          (2)
    tau = ID(q, v, a) - Jᵀ (f n - K f t)      t: direction of the path; the model pushes against both forces        (3)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import SurfaceContact
from setsu.constraints.contact import checked_contacts
from setsu.control.arguments import function_of_time, gains
from setsu.control.controller import Controller
from setsu.control.force_directions import normal_and_curvature, point_position
from setsu.control.impedance import Place, place_and_velocity
from setsu.control.linear_algebra import slightly_damped, solve_definite
from setsu.dynamics import difference, inverse_dynamics, point_jacobian, point_jacobian_rate
from setsu.dynamics.catalogue import require_mechanism
from setsu.mechanism import Mechanism
from setsu.spatial import finite_vector

__all__ = ["HybridControl"]

Floats = NDArray[np.float64]

# Below this speed (m/s) of the path the friction reckoned with fades to zero, since the point may rest.
_SLOW = 1e-3


class HybridControl(Controller):
    """Position along a surface, force across it (1)-(3).

    Args:
        mechanism: the controller's model.
        contact: point, surface and the friction the controller reckons with.
        path: where along the surface, a function of time t -> (x, x', x''); parts across the surface do not matter.
        normal_force: N, a number or a function of time.
        position_gain, velocity_gain: K_p (1/s²) and K_v (1/s) along the surface.
        posture: q_r (nq,), held by what the point leaves free. posture_gain, posture_damping: K_r (1/s²), D_r (1/s).
    """

    def __init__(
        self,
        mechanism: Mechanism,
        contact: SurfaceContact,
        path: Place,
        normal_force: float | Callable[[float], float],
        position_gain: float,
        velocity_gain: float,
        *,
        posture: ArrayLike | None = None,
        posture_gain: float = 0.0,
        posture_damping: float = 0.0,
    ) -> None:
        require_mechanism(mechanism, "HybridControl")
        (self.contact,) = checked_contacts(mechanism, [contact], "HybridControl")
        self.mechanism, self.path = mechanism, place_and_velocity(path, "HybridControl path")
        self.normal_force = function_of_time(normal_force, "HybridControl normal_force", 1)
        self.position_gain, self.velocity_gain = (
            float(gains(value, 1, f"HybridControl {name}")[0])
            for value, name in ((position_gain, "position_gain"), (velocity_gain, "velocity_gain"))
        )
        self.posture = (
            mechanism.neutral() if posture is None else finite_vector(posture, mechanism.nq, "HybridControl posture")
        )
        self.posture_gain, self.posture_damping = (
            float(gains(value, 1, f"HybridControl {name}")[0])
            for value, name in ((posture_gain, "posture_gain"), (posture_damping, "posture_damping"))
        )

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether path and force are no functions of the user's that are not."""
        return getattr(self.path, "traceable", False) and self.normal_force.traceable

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,)."""
        m, contact = self.mechanism, self.contact
        J = point_jacobian(m, q, contact.body, contact.point)
        x, dx = point_position(m, q, contact.body, contact.point), J @ v
        n, H = normal_and_curvature(contact, x)
        x_d, dx_d, ddx_d = self.path(t)
        wanted = ddx_d + self.velocity_gain * (dx_d - dx) + self.position_gain * (x_d - x)
        ddx = wanted - n * (n @ wanted) - n * (dx @ H @ dx)  # (1)
        rest = self.posture_gain * difference(m, q, self.posture) - self.posture_damping * v
        drift = point_jacobian_rate(m, q, v, contact.body, contact.point) @ v
        a = rest + J.T @ solve_definite(slightly_damped(J @ J.T), ddx - drift - J @ rest)  # (2)
        f = self.normal_force(t)[0]
        # The path's direction, not the measured one: near rest that is noise.
        slide = dx_d - n * (n @ dx_d)
        direction = slide / np.maximum(np.sqrt(slide @ slide), _SLOW)
        return inverse_dynamics(m, q, v, a) - J.T @ (f * n - contact.friction * f * direction)  # (3)
