"""Arguments of controllers as arrays, or the error in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.spatial import real_array
from setsu.symbolic.tracing import Symbols, holds_symbols

__all__ = [
    "FunctionOfTime",
    "driven_mask",
    "function_of_time",
    "gains",
    "nonnegative",
    "plain_or_symbols",
    "positive",
    "torque_of",
]

Floats = NDArray[np.float64]


def _numbers(value: Any, what: str) -> Floats:
    try:
        numbers = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected numbers, got {value!r:.80}") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{what}: expected finite numbers, got {value!r:.80}")
    return numbers


def torque_of(law: Any, t: Any, q: Any, v: Any) -> Any:
    """Return what a law answers, as float64 or symbols; InputError for what is no real number."""
    answer = law(t, q, v)
    if holds_symbols(answer):
        return answer
    try:
        return real_array(answer)
    except (TypeError, ValueError, OverflowError):
        name = getattr(law, "__name__", type(law).__name__)
        raise InputError(f"torque function {name} at t = {t:.9g} s: expected numbers, got {answer!r:.80}") from None


def nonnegative(value: ArrayLike, what: str) -> Floats:
    """Return finite numbers of at least 0."""
    numbers = _numbers(value, what)
    if (numbers < 0.0).any():
        raise InputError(f"{what}: expected numbers of at least 0, got {value!r:.80}")
    return numbers


def positive(value: float, what: str) -> float:
    """Return a finite number above 0."""
    number = float(nonnegative(value, what))
    if number == 0.0:
        raise InputError(f"{what}: expected a positive number, got 0")
    return number


def gains(value: ArrayLike, length: int, what: str) -> Floats:
    """Return gains (length,) of at least 0 from one number for all or one each."""
    numbers = nonnegative(value, what)
    if numbers.shape not in ((), (length,)):
        raise InputError(f"{what}: expected one number or {length}, got shape {numbers.shape}")
    return np.broadcast_to(numbers, (length,)).copy()


def driven_mask(m: Mechanism, joints: Sequence[str] | None) -> Floats:
    """Return (nv,): 1 where a joint of these names moves, else 0; 1 everywhere without names."""
    if joints is None:
        return np.ones(m.nv)
    mask = np.zeros(m.nv)
    for name in [joints] if isinstance(joints, str) else joints:
        mask[m.v_slices[m.joint_index(name)]] = 1.0
    return mask


def plain_or_symbols(value: Any) -> Any:
    """Return numbers as an array; symbols, while a law is being traced, as they are."""
    if isinstance(value, list | tuple | np.ndarray) and not holds_symbols(value):
        entries = np.empty(len(value), dtype=object) if any(map(holds_symbols, value)) else None
        if entries is not None:
            entries[:] = list(value)
            return entries.view(Symbols)
    return value if holds_symbols(value) else np.asarray(value, dtype=np.float64)


class FunctionOfTime:
    """Numbers (length,) by time: a user's function, or the same ones always."""

    def __init__(self, value: Any, length: int) -> None:
        self.value, self.length = value, length
        self.traceable = not callable(value) or getattr(value, "traceable", False) is True

    def __call__(self, t: Any) -> Any:
        """Return the numbers at time t (s)."""
        return np.reshape(plain_or_symbols(self.value(t)), (self.length,)) if callable(self.value) else self.value


def function_of_time(value: Any, what: str, length: int) -> FunctionOfTime:
    """Return a function t -> (length,) from numbers or from a function of time."""
    if callable(value):
        return FunctionOfTime(value, length)
    numbers = _numbers(value, what)
    if numbers.size != length:
        raise InputError(f"{what}: expected {length} numbers or a function of time, got shape {numbers.shape}")
    return FunctionOfTime(numbers.reshape(length), length)
