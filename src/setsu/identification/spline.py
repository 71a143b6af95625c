"""Positions, velocities and accelerations from sampled signals: regression splines, their knots set by the data.

| symbol | meaning |
|---|---|
| t_k, x_k | time stamps (s), not necessarily equidistant, and samples, T of them |
| b_i | B-splines of degree 5 on K equal intervals of the recorded time, K + 5 of them |
| c | coefficients (K + 5, channels) |
| h | distance of the knots, s |

    c = argmin Σ_k |x_k - Σ_i c_i b_i(t_k)|²                                               (1)
    x' = Σ c_i b_i',  x'' = Σ c_i b_i''                                                    (2)
    GCV(K) = (residual sum / T) / (1 - (K + 5)/T)²                                         (3)
    K: where the geometric mean of GCV over the channels is least                          (4)

A least-squares spline weighs the samples before and after a time alike: it shifts no phase, needs no equal steps, and
its derivatives are exact derivatives of what was fitted. (4) takes all channels together, so that all joints are seen
through the same window.

Source: Craven and Wahba 1979 (3). Cost O(T + K³) per trial of K. Refuses fewer than 12 samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError

__all__ = ["FEWEST_SAMPLES", "SmoothedSignal", "smooth"]

Floats = NDArray[np.float64]

DEGREE = 5
FEWEST_SAMPLES = 12
_MOST_INTERVALS = 1000
_TRIALS = 16


@dataclass(frozen=True)
class SmoothedSignal:
    """A fitted signal: coefficients (K + 5, channels) on intervals of `knot_distance` s from `start`.

    noise: standard deviation of the samples about it (channels,).
    """

    start: float
    knot_distance: float
    coefficients: Floats
    noise: Floats
    samples_per_interval: float

    def __call__(self, time: Floats, derivative: int = 0) -> Floats:
        """Return values (T, channels), or a time derivative of them (2)."""
        intervals = len(self.coefficients) - DEGREE
        place, basis = _basis(time, self.start, self.knot_distance, intervals, derivative)
        result = np.zeros((len(time), self.coefficients.shape[1]))
        for i in range(DEGREE + 1):
            result += basis[:, i, None] * self.coefficients[place + i]
        return result

    def noise_of_derivative(self, derivative: int) -> Floats:
        """Return the standard deviation of a derivative of the fit, away from its ends, (channels,).

        For equidistant samples of step dt the fit passes noise up to about the frequency 1/(2 h), so that white noise
        of variance s² leaves s² dt ∫ (2πf)^(2d) df over |f| < 1/(2h) in the d-th derivative.
        """
        h, d = self.knot_distance, derivative
        return self.noise * np.sqrt((np.pi / h) ** (2 * d) / (2 * d + 1) / self.samples_per_interval)


def smooth(time: Floats, samples: Floats, knot_distance: float | None = None) -> SmoothedSignal:
    """Fit samples (T, channels) at strictly increasing times (T,).

    knot_distance: s; None lets the data choose (4).
    """
    T, span = len(time), float(time[-1] - time[0])
    if T < FEWEST_SAMPLES:
        raise InputError(f"identify: expected at least {FEWEST_SAMPLES} samples, got {T}")
    most = int(min(_MOST_INTERVALS, T // 2 - DEGREE))
    if knot_distance is not None:
        if not knot_distance > 0.0:
            raise InputError(f"identify: knot_distance: expected a positive number of seconds, got {knot_distance!r}")
        return _fit(time, samples, max(1, min(most, round(span / knot_distance))))[0]
    trials = sorted({int(k) for k in np.round(np.geomspace(1, most, _TRIALS))})
    fits = [_fit(time, samples, intervals) for intervals in trials]
    return min(fits, key=lambda fit: float(np.log(fit[1]).mean()))[0]  # (4)


def _fit(time: Floats, samples: Floats, intervals: int) -> tuple[SmoothedSignal, Floats]:
    """Solve (1); return the fit and its score (3) per channel."""
    T, count = len(time), intervals + DEGREE
    start, h = float(time[0]), float(time[-1] - time[0]) / intervals
    place, basis = _basis(time, start, h, intervals, 0)
    normal = np.zeros((count, count))
    right = np.zeros((count, samples.shape[1]))
    for i in range(DEGREE + 1):
        for channel in range(samples.shape[1]):
            right[:, channel] += np.bincount(place + i, basis[:, i] * samples[:, channel], count)
        for j in range(DEGREE + 1):
            np.add.at(normal, (place + i, place + j), basis[:, i] * basis[:, j])
    # A grain of ridge keeps intervals without samples from making the system singular.
    normal[np.diag_indices(count)] += 1e-15 * np.trace(normal) / count
    coefficients = np.asarray(np.linalg.solve(normal, right), dtype=np.float64)
    fit = SmoothedSignal(start, h, coefficients, np.zeros(samples.shape[1]), T / intervals)
    rest = np.sum((samples - fit(time)) ** 2, axis=0)
    # Rounding is noise too: it keeps the logarithm of a perfect fit finite.
    floor = T * (1e-15 * np.abs(samples).max(axis=0, initial=1e-300)) ** 2
    rest = np.maximum(rest, floor)
    noise = np.sqrt(rest / max(1, T - count))
    return replace(fit, noise=noise), rest / T / (1.0 - count / T) ** 2


def _basis(time: Floats, start: float, h: float, intervals: int, derivative: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the interval of each time and the six B-splines (or derivatives) there, (T, 6), by de Boor's recursion."""
    x = (time - start) / h
    place = np.clip(np.floor(x).astype(np.intp), 0, intervals - 1)
    u = x - place
    N = np.ones((len(time), 1))
    for degree in range(1, DEGREE - derivative + 1):
        N = _raise(N, u, degree)
    for _ in range(derivative):
        # d/dt of B-splines on equal knots: differences of those one degree lower.
        padded = np.pad(N, ((0, 0), (1, 1)))
        N = (padded[:, :-1] - padded[:, 1:]) / h
    return place, N


def _raise(N: Floats, u: Floats, degree: int) -> Floats:
    """From the B-splines of one degree lower on unit knots, (T, degree), to (T, degree + 1)."""
    result = np.zeros((len(u), degree + 1))
    for i in range(degree + 1):
        if i > 0:  # rising part
            result[:, i] += (u + degree - i) / degree * N[:, i - 1]
        if i < degree:  # falling part
            result[:, i] += (i + 1 - u) / degree * N[:, i]
    return result
