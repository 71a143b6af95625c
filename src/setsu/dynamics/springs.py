"""Springs and dampers between points of two bodies, as wrenches on the bodies.

    r = B - A,  length l = |r|,  n = r / l,  rate dl = n · (dB - dA)          (1)
    tension t = stiffness (l - rest_length) + damping dl                      (2)
    force on body a at A: t n, on body b at B: -t n                           (3)

At l = 0 the direction is undefined and the force is taken as zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import native_function

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism

__all__ = ["spring_energy", "spring_wrenches"]

Floats = NDArray[np.float64]


def spring_wrenches(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Wrenches of all point springs on the bodies at their origins, world axes, (..., n_bodies, 6)."""
    poses = native_function(mechanism, "body_poses")(q)
    velocities = native_function(mechanism, "body_velocities")(q, v)
    leading = np.broadcast_shapes(poses.shape[:-3], velocities.shape[:-2])
    wrenches = np.zeros((*leading, mechanism.n_bodies, 6))
    for spring in mechanism.springs:
        body_a, x_a, arm_a = _point(mechanism, poses, spring.body_a, spring.point_a)
        body_b, x_b, arm_b = _point(mechanism, poses, spring.body_b, spring.point_b)
        n, length = _direction(x_b - x_a)
        rate = np.sum(n * (_velocity(velocities, body_b, arm_b) - _velocity(velocities, body_a, arm_a)), axis=-1)  # (1)
        tension = spring.stiffness * (length - spring.rest_length) + spring.damping * rate  # (2)
        force = tension[..., None] * n
        for body, arm, sign in ((body_a, arm_a, 1.0), (body_b, arm_b, -1.0)):  # (3)
            if body >= 0:
                wrenches[..., body, :3] += sign * force
                wrenches[..., body, 3:] += sign * np.cross(arm, force)
    return wrenches


def spring_energy(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Energy stored in all point springs (J), (...)."""
    poses = native_function(mechanism, "body_poses")(q)
    energy = np.zeros(poses.shape[:-3])
    for spring in mechanism.springs:
        _, x_a, _ = _point(mechanism, poses, spring.body_a, spring.point_a)
        _, x_b, _ = _point(mechanism, poses, spring.body_b, spring.point_b)
        _, length = _direction(x_b - x_a)
        energy += 0.5 * spring.stiffness * (length - spring.rest_length) ** 2
    return energy


def _point(m: Mechanism, poses: Floats, body: str, point: tuple[float, ...]) -> tuple[int, Floats, Floats]:
    """Index of the moving body, position of the point, and its arm from the body origin, world axes."""
    frame = m.frame(body)
    local = frame.pose.matrix[:3, :3] @ np.array(point) + np.array(frame.pose.translation)
    if frame.body < 0:
        return -1, local, local
    arm = poses[..., frame.body, :3, :3] @ local
    return frame.body, poses[..., frame.body, :3, 3] + arm, arm


def _velocity(velocities: Floats, body: int, arm: Floats) -> Floats:
    if body < 0:
        return np.zeros(3)
    return velocities[..., body, :3] + np.cross(velocities[..., body, 3:], arm)


def _direction(r: Floats) -> tuple[Floats, Floats]:
    length = np.linalg.norm(r, axis=-1)
    return r / np.where(length == 0.0, 1.0, length)[..., None], length
