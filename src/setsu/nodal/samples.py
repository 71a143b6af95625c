"""Checked samples of a motion: times, coordinates, and which samples around an instant give its derivatives.

| symbol | meaning | unit |
|---|---|---|
| t_k, h | times; their step where it is even | s |
| w1, w2 | weights of three other samples: u' = Σ w1 (u_i - u), u'' = Σ w2 (u_i - u) | 1/s, 1/s² |

    exact for cubics, whatever the spacing: Σ_i w_i (t_i - t)^p = p! where p is the derivative, else 0, p = 1, 2, 3  (1)

Inner samples of even steps use their two neighbours (order 2, third weight zero); ends and uneven steps four samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError

__all__ = ["FEWEST", "Stencils", "checked_rows", "checked_time", "even_step", "stencils"]

Floats = NDArray[np.float64]

FEWEST = 4
"""Samples without which nothing is defined."""
_EVEN = 1e-6


@dataclass(frozen=True)
class Stencils:
    """For each of R instants: its sample, three others (R, 3), and their weights (R, 3).

    even: the step where the two neighbours serve alone (central differences), else None.
    """

    at: NDArray[np.int64]
    others: NDArray[np.int64]
    first: Floats
    second: Floats
    even: float | None


def stencils(time: Floats, h: float | None, at: NDArray[np.int64], last: int) -> list[Stencils]:
    """Return the stencils of some samples of `last` + 1, those with two equal neighbours apart from the others."""
    inner = (at > 0) & (at < last) if h is not None else np.zeros(len(at), dtype=bool)
    found = []
    if h is not None and inner.any():
        k = at[inner]
        one, none = np.ones(len(k)), np.zeros(len(k))
        found.append(
            Stencils(
                k,
                np.stack([k - 1, k + 1, k], axis=1),
                np.stack([-0.5 / h * one, 0.5 / h * one, none], axis=1),
                np.stack([1.0 / (h * h) * one, 1.0 / (h * h) * one, none], axis=1),
                h,
            )
        )
    if not inner.all():
        k = at[~inner]
        # Two before and one after where there are, so that a stepper needs one sample more and no second.
        base = np.clip(k - 2, 0, last - 3)
        four = base[:, None] + np.arange(4)
        others = four[four != k[:, None]].reshape(-1, 3)
        away = (others - k[:, None]) * h if h is not None else time[others] - time[k][:, None]
        found.append(Stencils(k, others, *_weights(away), None))
    return found


def _weights(away: Floats) -> tuple[Floats, Floats]:
    """Weights (R, 3) of first and second derivatives from three samples so far away in time (1)."""
    a, b, c = away.T
    first, second = np.empty_like(away), np.empty_like(away)
    for k, (x, y, z) in enumerate(((a, b, c), (b, c, a), (c, a, b))):
        # Lagrange's polynomial through 0 at t and 1 at x, zero at y and z.
        below = x * (x - y) * (x - z)
        first[:, k] = y * z / below
        second[:, k] = -2.0 * (y + z) / below
    return first, second


def checked_time(time: ArrayLike, where: str) -> tuple[Floats, float | None]:
    """Return times (T,) and their step, None where it is not even."""
    try:
        t = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError):
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
        rows = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {name}: expected numbers, got {type(value).__name__}") from None
    if rows.shape != (samples, width):
        raise InputError(f"{where}: {name}: expected shape ({samples}, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise InputError(f"{where}: {name}[{row}, {column}] is {rows[row, column]}, expected finite numbers")
    return rows
