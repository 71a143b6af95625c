"""A filter for noisy samples: coordinates, velocities and accelerations by a cubic through neighbouring samples.

| symbol | meaning | unit |
|---|---|---|
| n, h | half-width of the window, step | -, s |
| x_i | step from sample k to sample k + i, i = -n ... n: q_k ⊕ x_i = q_{k+i} | |
| c_p | weights of the p-th derivative at the middle | 1/s^p |

    least squares of a cubic:  x ≈ Σ_i c0_i x_i,   x' = Σ_i c1_i x_i,   x'' = Σ_i c2_i x_i              (1)

White noise of size σ in the samples becomes 26.8 σ / (h² (2n+1)^2.5) in x'' (2.45 σ/h² by plain differences), and a
sine of rate ω loses (n h ω)²/14 of its acceleration. The window is centred: the filter delays a stepper by n samples
and does not shift the signal. Near the ends the first or last window is used off its middle.
Source: Savitzky and Golay 1964.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["checked_smoothing", "smoothed"]

Floats = NDArray[np.float64]


def checked_smoothing(value: int, where: str) -> int:
    """Return a half-width: 0 (no filter), or at least 2 samples."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0 or value == 1:
        raise InputError(f"{where}: smoothing: expected 0 or a half-width of at least 2 samples, got {value!r}")
    return int(value)


def smoothed(
    m: Mechanism, q: Floats, h: float, n: int, rows: NDArray[np.int64], last: int
) -> tuple[Floats, Floats, Floats]:
    """Coordinates, velocities, accelerations (R, .) at some rows of q; `last`: the row of the last sample (1)."""
    middle = np.clip(rows, n, last - n)
    away = rows - middle
    difference = fast_function(m, "difference")
    value, rate, curve = (np.zeros((len(rows), m.nv)) for _ in range(3))
    tables = {int(k): _weights(n, int(k)) for k in np.unique(away)}
    weights = np.stack([tables[int(k)] for k in away])
    for i in range(-n, n + 1):
        x = difference(q[rows], q[middle + i])
        c = weights[:, :, i + n]
        value += c[:, :1] * x
        rate += c[:, 1:2] * x
        curve += c[:, 2:3] * x
    return fast_function(m, "integrate")(q[rows], value), rate * (1.0 / h), curve * (1.0 / (h * h))


def _weights(n: int, away: int) -> Floats:
    """Weights (3, 2n + 1) of value, first and second derivative at `away` samples from the middle, step 1."""
    i = np.arange(-n, n + 1, dtype=np.float64)
    fit = np.linalg.pinv(np.stack([i**p for p in range(4)], axis=1))
    s = float(away)
    at = np.array([[1.0, s, s**2, s**3], [0.0, 1.0, 2.0 * s, 3.0 * s**2], [0.0, 0.0, 2.0, 6.0 * s]])
    return np.asarray(at @ fit, dtype=np.float64)
