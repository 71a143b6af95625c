"""Along what a force acts: rows (k, nv) that turn k force components into torques, tau = rowsᵀ force."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import SurfaceContact
from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane
from setsu.control.arguments import plain_or_symbols
from setsu.dynamics import body_poses, point_jacobian
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.spatial import finite_vector
from setsu.symbolic.tracing import holds_symbols

__all__ = ["PointForce", "Squeeze", "SurfacePress", "normal_and_curvature", "point_position"]

Floats = NDArray[np.float64]


def point_position(m: Mechanism, q: Floats, body: str, point: ArrayLike) -> Floats:
    """Return where a point of a body is, (3,) m."""
    frame = m.frame(body)
    place = frame.pose.matrix
    if frame.body >= 0:
        place = body_poses(m, q)[frame.body] @ place
    return place[:3, :3] @ np.asarray(point, dtype=np.float64) + place[:3, 3]


class PointForce:
    """Force (3,) exerted at a point of a body, world axes, N."""

    size = 3

    def __init__(self, mechanism: Mechanism, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        require_mechanism(mechanism, "PointForce")
        mechanism.frame(body)
        self.mechanism, self.body, self.point = mechanism, body, finite_vector(point, 3, "PointForce point")

    def __call__(self, q: Floats) -> Floats:
        """Return the rows (3, nv)."""
        return point_jacobian(self.mechanism, q, self.body, self.point)


class Squeeze:
    """Force with which two hands press towards each other, N; each grip is a pair (body, point in its frame)."""

    size = 1

    def __init__(self, mechanism: Mechanism, first: tuple[str, ArrayLike], second: tuple[str, ArrayLike]) -> None:
        require_mechanism(mechanism, "Squeeze")
        self.mechanism = mechanism
        self.grips = []
        for body, point in (first, second):
            mechanism.frame(body)
            self.grips.append((body, finite_vector(point, 3, f'Squeeze grip on "{body}"')))

    def line(self, q: Floats) -> Floats:
        """Return the direction from the first to the second grip, (3,)."""
        first, second = (point_position(self.mechanism, q, *grip) for grip in self.grips)
        apart = second - first
        length = np.sqrt(apart @ apart)
        if not holds_symbols(length) and length == 0.0:
            raise InputError("Squeeze: the two grips are at one place; expected a line between them")
        return apart / length

    def __call__(self, q: Floats) -> Floats:
        """Return the row (1, nv)."""
        first, second = (point_jacobian(self.mechanism, q, *grip) for grip in self.grips)
        return (self.line(q) @ (first - second))[None]


class SurfacePress:
    """Force with which a contact presses onto its surface, N."""

    size = 1

    def __init__(self, mechanism: Mechanism, contact: SurfaceContact) -> None:
        require_mechanism(mechanism, "SurfacePress")
        mechanism.frame(contact.body)
        self.mechanism, self.contact = mechanism, contact

    def __call__(self, q: Floats) -> Floats:
        """Return the row (1, nv)."""
        contact = self.contact
        x = point_position(self.mechanism, q, contact.body, contact.point)
        normal, _ = normal_and_curvature(contact, x)
        return -(normal @ point_jacobian(self.mechanism, q, contact.body, contact.point))[None]


def normal_and_curvature(contact: SurfaceContact, x: Any) -> tuple[Any, Any]:
    """Return the outward normal (3,) and the curvature (3, 3), 1/m, of a contact's surface at a point (3,).

    The point may be symbols, while a law is being traced.
    """
    surface: Any = contact.surface
    if not holds_symbols(x):
        return surface.frame(x, contact.name)[1:3]
    if isinstance(surface, Plane):
        return np.array(surface.normal), np.zeros((3, 3))
    if isinstance(surface, ImplicitSurface):
        found = surface.derivatives(*x)
        slope, second = plain_or_symbols(found[1:4]), plain_or_symbols(found[4:]).reshape(3, 3)
        length = np.sqrt(slope @ slope)
        return slope / length, second / length
    round_about = isinstance(surface, Cylinder)
    across = np.eye(3) - (np.outer(surface.axis, surface.axis) if round_about else 0.0)
    arm = across @ (x - np.array(surface.point if round_about else surface.center))
    length = np.sqrt(arm @ arm)
    normal = arm / length
    return normal, (across - np.outer(normal, normal)) / length
