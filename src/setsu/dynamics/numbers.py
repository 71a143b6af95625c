"""Checks of arguments that do not go into native code as they are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError

__all__ = ["finite_array", "require_finite"]

Floats = NDArray[np.float64]


def require_finite(numbers: Floats, what: str) -> None:
    """Raise an InputError that shows the first number that is not finite."""
    if not np.isfinite(numbers).all():
        where = np.argwhere(~np.isfinite(numbers))[0].tolist()
        value = float(numbers[tuple(where)])
        raise InputError(f"{what}{where or ''} is {value}, expected finite numbers")


def finite_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """Return an array (..., *shape) of finite numbers, or raise an InputError that names it."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":
            raise TypeError
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected real numbers, got {type(value).__name__} {value!r:.80}") from None
    if shape and numbers.shape[-len(shape) :] != shape:
        listed = ", ".join(map(str, shape))
        raise InputError(f"{what}: expected shape (..., {listed}), got {numbers.shape}")
    require_finite(numbers, what)
    return numbers
