"""Vector and matrix products over leading axes, quick also for a single state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.motion_derivatives import cross

__all__ = ["Floats", "cross", "dot", "length_of", "solve", "times", "transposed_times"]

Floats = NDArray[np.float64]


def dot(a: Floats, b: Floats) -> Floats:
    """Return a·b over the last axis."""
    return (a * b).sum(-1)


def length_of(a: Floats) -> Floats:
    """Return |a| over the last axis."""
    return np.sqrt((a * a).sum(-1))


def times(matrix: Floats, vector: Floats) -> Floats:
    """Return matrix @ vector for (..., m, n) and (..., n)."""
    return np.matmul(matrix, vector[..., None])[..., 0]


def transposed_times(matrix: Floats, vector: Floats) -> Floats:
    """Return matrixᵀ @ vector for (..., n, m) and (..., n)."""
    return np.matmul(vector[..., None, :], matrix)[..., 0, :]


def solve(matrix: Floats, columns: Floats) -> Floats:
    """Return matrix⁻¹ columns for (..., n, n) and (..., n, k)."""
    return np.asarray(np.linalg.solve(matrix, columns), dtype=np.float64)
