"""Smooth paths of one coordinate between two states of position, velocity and acceleration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hump", "quintic", "smooth_step"]

Floats = NDArray[np.float64]
State = tuple[float, float, float]


def quintic(time: Floats, duration: float, start: State, end: State) -> Floats:
    """Return the polynomial of degree five at `time` (T,) from `start` at 0 to `end` at `duration`.

    States are (position, velocity, acceleration). Before and after, the position of the nearer end is held.
    """
    s = np.clip(time / duration, 0.0, 1.0)
    p0, v0, a0 = start[0], start[1] * duration, start[2] * duration**2
    p1, v1, a1 = end[0], end[1] * duration, end[2] * duration**2
    d = p1 - p0 - v0 - 0.5 * a0
    e, f = v1 - v0 - a0, a1 - a0
    c3, c4, c5 = 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
    return p0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))))


def smooth_step(time: Floats, duration: float) -> Floats:
    """Return a path (T,) from 0 at time 0 to 1 at `duration`, at rest at both ends."""
    return quintic(time, duration, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))


def hump(time: Floats, duration: float) -> Floats:
    """Return a path (T,) from 0 over 1 at half of `duration` back to 0, at rest at both ends: (4 s (1 - s))³."""
    s = np.clip(time / duration, 0.0, 1.0)
    return (4.0 * s * (1.0 - s)) ** 3
