"""Arguments of a simulator, checked: rows, states, vectors, numbers of steps and worlds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.spatial import real_array, whole_number

__all__ = ["checked_threads", "chosen_rows", "count_worlds", "shape_of", "split_duration", "states_of", "vector"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_STEPS = 100_000_000
_LARGEST = 1e150  # of coordinates and velocities; the squares of larger ones are no numbers


def chosen_rows(rows: ArrayLike | None, count: int, batched: bool) -> Ints:
    """Numbers of the worlds that a mask or indices choose; all for None."""
    if rows is None:
        return np.arange(count)
    if not batched:
        raise InputError("Simulator: rows: expected none: this simulator has one world (give it count=...)")
    try:
        given = np.asarray(rows)
    except ValueError:  # lists of several lengths
        given = np.asarray(rows, dtype=object)
    if given.dtype == bool and given.shape == (count,):
        return np.flatnonzero(given)
    if given.dtype.kind in "iu" and given.ndim <= 1:
        indices = np.atleast_1d(given).astype(np.int64)
        if ((indices >= -count) & (indices < count)).all():
            return np.unique(indices % count)
    raise InputError(f"Simulator: rows: expected a mask ({count},) or indices below {count}, got {rows!r:.80}")


def shape_of(value: ArrayLike, what: str) -> tuple[int, ...]:
    """Shape of what was given for q0 or v0."""
    try:
        return np.shape(value) if not isinstance(value, str) else ()
    except ValueError:
        raise InputError(f"simulate: {what}: expected real numbers, got {value!r:.60}") from None


def states_of(value: ArrayLike, length: int, what: str, rows: int, batched: bool, name: str) -> Floats:
    """States (rows, length) from what was given for q0 or v0 of the mechanism `name`."""
    if type(value) is np.ndarray and not batched and value.dtype == np.float64 and value.shape == (length,):
        row: Floats = value[None]
        if (np.abs(row) <= _LARGEST).all():
            return row
    shape = shape_of(value, what)
    fits = shape in ((length,), (rows, length)) if batched else shape == (length,)
    if not fits:
        expected = f"({rows}, {length})" if batched else f"({length},)"
        raise InputError(f"simulate: {what}: expected shape {expected} for {name}, got {shape}")
    try:
        numbers = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"simulate: {what}: expected real numbers, got {value!r:.60}") from None
    if not np.isfinite(numbers).all():
        index = int(np.flatnonzero(~np.isfinite(numbers.ravel()))[0])
        raise InputError(f"simulate: {what}[{index}] is {numbers.ravel()[index]}, expected finite numbers")
    if np.abs(numbers).max(initial=0.0) > _LARGEST:
        at = int(np.abs(numbers).argmax())
        got = float(numbers.flat[at])
        raise InputError(f"simulate: {what}[{at % length}] is {got:g}, expected numbers up to {_LARGEST:g}")
    return np.broadcast_to(numbers, (rows, length)) if batched else numbers[None]


def count_worlds(count: int | None, listed: int | None) -> int:
    """Number of worlds; listed: that of the mechanisms given, if they were a list."""
    if listed is not None:
        if count not in (None, listed):
            raise InputError(f"Simulator: count: expected {listed}, the number of mechanisms, got {count!r}")
        return listed
    if count is None:
        return 1
    return whole_number(count, "Simulator: count")


def vector(value: ArrayLike, what: str) -> Floats:
    """Three finite numbers."""
    try:
        numbers = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"Simulator.push: {what}: expected 3 numbers, got {value!r:.80}") from None
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise InputError(f"Simulator.push: {what}: expected 3 finite numbers, got {value!r:.80}")
    return numbers


def split_duration(duration: float, step: float) -> tuple[int, float]:
    """Number of steps in a duration (s), and the length (s) of the last one where it is shorter, else 0."""
    steps = duration / step * (1.0 - 1e-12) - 1e-9
    count = max(1, math.ceil(min(steps, _MOST_STEPS + 1)))
    if count > _MOST_STEPS:
        raise InputError(
            f"simulate: {duration} s in steps of {step} s are {steps:.3g} steps; expected at most {_MOST_STEPS}"
        )
    last = duration - (count - 1) * step
    return count, 0.0 if abs(last - step) <= 1e-8 * step else last


def checked_threads(threads: Any) -> int | None:
    """Return how many threads work on a batch; InputError for what is no number of them."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1):
        raise InputError(f"Simulator: threads: expected a whole number from 1, or None, got {threads!r:.80}")
    return None if threads is None else int(threads)
