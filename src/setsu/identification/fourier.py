"""Finite Fourier series as joint motions: periodic, starting and ending at rest, scaled into position and speed limits.

| symbol | meaning |
|---|---|
| w = 2π/duration | base frequency, rad/s |
| a, b | coefficients (harmonics, joints), rad/s or m/s |
| q0 | middle of the motion (joints,) |

    q = q0 + Σ_l [a_l sin(l w t) - b_l cos(l w t)] / (l w)                          (1)
    v = Σ_l [a_l cos(l w t) + b_l sin(l w t)]                                       (2)
    a = Σ_l l w [-a_l sin(l w t) + b_l cos(l w t)]                                  (3)
    at rest at t = 0: Σ a_l = 0, Σ l b_l = 0                                        (4)

Limits: a shape is scaled by the largest factor that keeps its range and its speed within them. Extremes are taken on a
grid of N points per period; between two of them a trigonometric polynomial of degree L exceeds the grid's largest
magnitude at most by the factor 1/cos(π L/N), which is allowed for.                     (5)

Source: Swevers et al. 1997 (1). (5): Ehlich and Zeller 1964.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FourierMotion", "at_rest", "scaled_into_limits"]

Floats = NDArray[np.float64]

_POINTS_PER_HARMONIC = 40


@dataclass(frozen=True)
class FourierMotion:
    """Coefficients of (1): duration s, middle (joints,), sine and cosine (harmonics, joints)."""

    duration: float
    middle: Floats
    sine: Floats
    cosine: Floats

    def __call__(self, time: Floats, derivative: int = 0) -> Floats:
        """Return position, velocity or acceleration (derivative 0, 1, 2) at times (...), shape (..., joints)."""
        w = 2.0 * np.pi / self.duration * np.arange(1, len(self.sine) + 1)
        angle = np.asarray(time, dtype=np.float64)[..., None] * w
        c, s = np.cos(angle), np.sin(angle)
        match derivative:
            case 0:
                return self.middle + (s / w) @ self.sine - (c / w) @ self.cosine  # (1)
            case 1:
                return c @ self.sine + s @ self.cosine  # (2)
            case _:
                return -(s * w) @ self.sine + (c * w) @ self.cosine  # (3)


def at_rest(sine: Floats, cosine: Floats) -> tuple[Floats, Floats]:
    """Project coefficients (harmonics, joints) onto (4)."""
    number = np.arange(1, len(sine) + 1, dtype=np.float64)
    return sine - sine.mean(axis=0), cosine - np.outer(number, number @ cosine) / (number @ number)


def scaled_into_limits(
    duration: float, sine: Floats, cosine: Floats, lower: Floats, upper: Floats, speed: Floats
) -> FourierMotion:
    """Scale each joint's shape by the largest factor that keeps it within limits (5), centred between them."""
    shape = FourierMotion(duration, np.zeros(sine.shape[1]), sine, cosine)
    points = _POINTS_PER_HARMONIC * len(sine)
    time = np.arange(points) * duration / points
    excess = 1.0 / np.cos(np.pi / _POINTS_PER_HARMONIC)
    q, v = shape(time), shape(time, 1)
    high, low = q.max(axis=0), q.min(axis=0)
    # About the middle of its range a shape is a polynomial of the same degree, with extremes of equal size.
    scale = np.minimum((upper - lower) / np.maximum(excess * (high - low), 1e-300),
                       speed / np.maximum(excess * np.abs(v).max(axis=0), 1e-300))  # fmt: skip
    middle = 0.5 * (lower + upper) - scale * 0.5 * (high + low)
    return FourierMotion(duration, middle, scale * sine, scale * cosine)
