"""Rows of surface contacts: points of bodies, the surfaces they are on, and how they move.

    n = ∂C/∂r / |∂C/∂r|,  G = nᵀ J_p                                                                  (1)
    γ = nᵀ dJ_p/dt v + vᵀ J_pᵀ (∂²C/∂r∂r) J_p v / |∂C/∂r|                                             (2)

Source: nishiguchi2014 (1), (11), (12), (22), for any number of contacts; J_p (3 x nv) is the Jacobian of the contact
point, world axes.
Refuses: a surface without a normal at the contact point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.stacked import Floats, cross, dot, times, transposed_times
from setsu.mechanism import Mechanism

__all__ = ["ContactMotion", "ContactRows"]


class ContactMotion(NamedTuple):
    """Contact points: distance (..., c), normals, arms, velocities (..., c, 3), Jacobians (..., c, 3, nv),
    accelerations at a = 0 (..., c, 3), rows of the normals (..., c, nv) and their velocity terms (..., c)."""

    distance: Floats
    normal: Floats
    arm: Floats
    velocity: Floats
    jacobian: Floats
    velocity_term: Floats
    normal_jacobian: Floats
    normal_term: Floats


class ContactRows:
    """The contacts of a mechanism. body (c,): carries them; point (c, 3): on that body; friction, bilateral and
    restitution (c,)."""

    def __init__(self, mechanism: Mechanism, contacts: tuple[SurfaceContact, ...]) -> None:
        self.nv, self.contacts = mechanism.nv, contacts
        self.names = tuple(f'contact "{contact.name}": normal' for contact in contacts)
        self.body: NDArray[np.int64] = np.array([mechanism.frame(c.body).body for c in contacts], dtype=np.int64)
        self.point = np.array([_point_on_carrier(mechanism, c) for c in contacts]).reshape(-1, 3)
        self.friction = np.array([contact.friction for contact in contacts])
        self.bilateral = np.array([contact.bilateral for contact in contacts], dtype=bool)
        self.restitution = np.array([contact.restitution for contact in contacts])

    def distances(self, poses: Floats) -> Floats:
        """Return the distances (..., c) of the points from their surfaces for poses (..., n_bodies, 4, 4)."""
        return self.surfaces(self.points(poses)[0])[0]

    def motion(self, poses: Floats, velocities: Floats, accelerations: Floats, J: Floats) -> ContactMotion:
        """Return geometry and motion of the points; J (..., c, 6, nv) are Jacobians of their bodies' origins."""
        batch = poses.shape[:-3]
        if not self.contacts:
            vectors, numbers = np.zeros((*batch, 0, 3)), np.zeros((*batch, 0))
            rows, columns = np.zeros((*batch, 0, self.nv)), np.zeros((*batch, 0, 3, self.nv))
            return ContactMotion(numbers, vectors, vectors, vectors, columns, vectors, rows, numbers)
        points, arms = self.points(poses)
        distance, normal, curvature = self.surfaces(points)
        J_p = self.jacobian(arms, J)
        V, A = velocities[..., self.body, :], accelerations[..., self.body, :]
        swing = cross(V[..., 3:], arms)
        speed = V[..., :3] + swing
        acceleration = A[..., :3] + cross(A[..., 3:], arms) + cross(V[..., 3:], swing)
        gamma = dot(normal, acceleration) + dot(speed, times(curvature, speed))  # (2)
        return ContactMotion(distance, normal, arms, speed, J_p, acceleration, transposed_times(J_p, normal), gamma)

    def points(self, poses: Floats) -> tuple[Floats, Floats]:
        """Return world positions of the points and their arms from the bodies' origins, (..., c, 3)."""
        carriers = poses[..., self.body, :, :]
        arms = times(carriers[..., :3, :3], self.point)
        return carriers[..., :3, 3] + arms, arms

    def jacobian(self, arms: Floats, J: Floats) -> Floats:
        """Return Jacobians of the points, (..., c, 3, nv), from those of their bodies' origins."""
        return J[..., :3, :] + _cross_rows(J[..., 3:, :], arms)

    def surfaces(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return distance (..., c), normal (..., c, 3) and curvature (..., c, 3, 3) of each contact's surface."""
        batch = points.shape[:-2]
        distance, normal = np.zeros((*batch, len(self.contacts))), np.zeros((*batch, len(self.contacts), 3))
        curvature = np.zeros((*batch, len(self.contacts), 3, 3))
        for k, contact in enumerate(self.contacts):
            found = contact.surface.frame(points[..., k, :], f'contact "{contact.name}"')
            distance[..., k], normal[..., k, :], curvature[..., k, :, :] = found[:3]
        return distance, normal, curvature


def _point_on_carrier(m: Mechanism, contact: SurfaceContact) -> Floats:
    T = m.frame(contact.body).pose.matrix
    return T[:3, :3] @ np.array(contact.point) + T[:3, 3]


def _cross_rows(columns: Floats, arm: Floats) -> Floats:
    """Cross products of the columns of (..., 3, nv) with an arm (..., 3)."""
    x, y, z = (arm[..., k, None] for k in range(3))
    a, b, c = (columns[..., k, :] for k in range(3))
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-2)
