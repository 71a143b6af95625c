"""Power of the dampers between points, in compiled code; springs themselves act in the kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Mechanism
from setsu.native.control_flow import part

__all__ = ["spring_ends", "spring_power"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def spring_ends(m: Mechanism) -> tuple[Ints, Floats]:
    """Bodies and points of both ends of each spring between points."""
    bodies, points = [], []
    for spring in m.springs:
        for body, point in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b)):
            frame = m.frame(body)
            bodies.append(frame.body)
            points.append(frame.pose.matrix[:3, :3] @ np.array(point) + np.array(frame.pose.translation))
    return (np.array(bodies, dtype=np.int64).reshape(-1, 2), np.array(points, dtype=np.float64).reshape(-1, 2, 3))


@part
def spring_power(w, poses, velocities):
    """Power of the dampers of springs between points: minus damping times the square of the spring's rate."""
    power = 0.0
    for i in range(len(w.spring_damping)):
        square, along = 0.0, 0.0
        for end in range(2):
            body = w.spring_body[i, end]
            for k in range(3):
                w.end[end, k] = w.spring_point[i, end, k]
                w.end[2 + end, k] = 0.0
            if body >= 0:
                R, V = poses[body], velocities[body]
                x, y, z = w.end[end, 0], w.end[end, 1], w.end[end, 2]
                for k in range(3):
                    w.end[4, k] = R[4 * k] * x + R[4 * k + 1] * y + R[4 * k + 2] * z
                    w.end[end, k] = R[4 * k + 3] + w.end[4, k]
                w.end[2 + end, 0] = V[0] + V[4] * w.end[4, 2] - V[5] * w.end[4, 1]
                w.end[2 + end, 1] = V[1] + V[5] * w.end[4, 0] - V[3] * w.end[4, 2]
                w.end[2 + end, 2] = V[2] + V[3] * w.end[4, 1] - V[4] * w.end[4, 0]
        for k in range(3):
            apart = w.end[1, k] - w.end[0, k]
            square += apart * apart
            along += apart * (w.end[3, k] - w.end[2, k])
        if square > 0.0:
            power -= w.spring_damping[i] * along * along / square
    return power
