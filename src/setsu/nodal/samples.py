"""Checked samples of a motion: times, coordinates, and which samples around an instant give its derivatives.

| symbol | meaning | unit |
|---|---|---|
| t_k, h | times; their step where it is even | s |
| w1, w2 | weights of four other samples: u' = Σ w1 (u_i - u), u'' = Σ w2 (u_i - u) | 1/s, 1/s² |

    exact for quartics, whatever the spacing: Σ_i w_i (t_i - t)^p = p! where p is the derivative, else 0; p = 1 ... 4
    (1)

Inner samples of even steps use their two neighbours (order 2, the other weights zero); ends and uneven steps five
samples, whose error is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.spatial import real_array

__all__ = ["FEWEST", "Stencils", "central", "checked_rows", "checked_time", "even_step", "stencils"]

Floats = NDArray[np.float64]

FEWEST = 4
"""Samples without which nothing is defined."""
_EVEN = 1e-6


@dataclass(frozen=True)
class Stencils:
    """For R samples that are treated alike: which they are, others (R, 2 or 4), and their weights (R or 1, likewise).

    even: the step where the two neighbours serve alone (central differences), else None; the samples then follow each
    other without a gap.
    """

    rows: slice | NDArray[np.int64]
    at: NDArray[np.int64]
    first: Floats
    second: Floats
    even: float | None
    around: NDArray[np.int64] | None = None

    @cached_property
    def others(self) -> NDArray[np.int64]:
        """The four other samples of each; the two neighbours where they serve alone."""
        if self.around is not None:
            return self.around
        return np.stack([self.at - 1, self.at + 1], axis=1)


def stencils(time: Floats, h: float | None) -> list[Stencils]:
    """Return the stencils of all samples: of those with two equal neighbours, and of the others."""
    last = len(time) - 1
    if h is None:
        return [_five(time, np.arange(last + 1))]
    return [central(h, 1, last), _ends(h, last)]


def central(h: float, start: int, stop: int) -> Stencils:
    """Return the stencil of samples from start up to stop, between two neighbours of even steps."""
    first, second = 0.5 / h, 1.0 / (h * h)
    return Stencils(
        slice(start, stop),
        np.arange(start, stop),
        np.array([[-first, first]]),
        np.array([[second, second]]),
        h,
    )


@lru_cache(maxsize=64)
def _ends(h: float, last: int) -> Stencils:
    """Return the stencils of the first and the last sample of even steps."""
    made = _five(np.arange(last + 1, dtype=np.float64), np.array([0, last]))
    return replace(made, first=made.first * (1.0 / h), second=made.second * (1.0 / (h * h)))


def _five(time: Floats, at: NDArray[np.int64]) -> Stencils:
    """Return the stencils of samples from the five nearest ones, or from all where there are four."""
    last = len(time) - 1
    base = np.clip(at - 2, 0, max(last - 4, 0))
    near = base[:, None] + np.arange(min(5, last + 1))
    others = near[near != at[:, None]].reshape(len(at), -1)
    first, second = _weights(time[others] - time[at][:, None])
    if others.shape[1] == FEWEST - 1:
        others, first, second = np.column_stack([others, at]), _with_zero(first), _with_zero(second)
    return Stencils(at, at, first, second, None, others)


def _with_zero(weights: Floats) -> Floats:
    return np.column_stack([weights, np.zeros(len(weights))])


def _weights(away: Floats) -> tuple[Floats, Floats]:
    """Weights of first and second derivatives from three or four samples so far away in time (1)."""
    first, second = np.empty_like(away), np.empty_like(away)
    for k in range(away.shape[1]):
        x, rest = away[:, k], np.delete(away, k, axis=1)
        # Lagrange's polynomial that is 1 at x, zero at 0 and at the rest: s/x Π (s - r)/(x - r).
        below = x * np.prod(x[:, None] - rest, axis=1)
        constant = np.prod(-rest, axis=1)
        slope = sum(np.prod(-np.delete(rest, j, axis=1), axis=1) for j in range(rest.shape[1]))
        first[:, k], second[:, k] = constant / below, 2.0 * slope / below
    return first, second


def checked_time(time: ArrayLike, where: str) -> tuple[Floats, float | None]:
    """Return times (T,) and their step, None where it is not even."""
    try:
        t = real_array(time)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: time: expected numbers, got {time!r:.80}") from None
    if t.ndim != 1 or len(t) < FEWEST:
        raise InputError(f"{where}: time: expected at least {FEWEST} samples, got shape {t.shape}")
    if not np.isfinite(t).all():
        raise InputError(f"{where}: time[{int(np.argmin(np.isfinite(t)))}] is not finite")
    steps = np.diff(t)
    if (steps <= 0.0).any():
        at = int(np.argmax(steps <= 0.0))
        raise InputError(
            f"{where}: time: expected increasing times, got {t[at]:g} s and then {t[at + 1]:g} s at sample {at + 1}"
        )
    return t, even_step(t)


def even_step(t: Floats) -> float | None:
    """The step of evenly spaced times, with the digits it was most likely written with; None where uneven."""
    mean = float((t[-1] - t[0]) / (len(t) - 1))
    if np.abs(np.diff(t) - mean).max() > _EVEN * mean:
        return None
    noise = 4.0 * np.finfo(np.float64).eps * float(np.abs(t).max()) / (len(t) - 1) + 4e-16 * mean
    for guess in (float(t[1]) if t[0] == 0.0 else mean, float(f"{mean:.9g}")):
        if abs(guess - mean) <= noise:
            return guess
    return mean


def checked_rows(value: ArrayLike, samples: int, width: int, name: str, where: str) -> Floats:
    """Return finite numbers (samples, width)."""
    try:
        rows = np.ascontiguousarray(real_array(value))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: {name}: expected numbers, got {type(value).__name__}") from None
    if rows.shape != (samples, width):
        raise InputError(f"{where}: {name}: expected shape ({samples}, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise InputError(f"{where}: {name}[{row}, {column}] is {rows[row, column]}, expected finite numbers")
    return rows
