"""The torque a user gives: nothing, numbers, or a function of time and state; every answer of a function is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["Torque", "TorqueInput"]

Floats = NDArray[np.float64]
TorqueInput = ArrayLike | Callable[[float, Floats, Floats], ArrayLike] | None


class Torque:
    """tau(t, q, v) -> (nv,), N or N m; InputError when a function answers with anything but nv finite numbers."""

    def __init__(self, mechanism: Mechanism, given: TorqueInput) -> None:
        self._mechanism = mechanism
        self.function: Callable[..., Any] | None = given if callable(given) else None
        constant = np.zeros(mechanism.nv) if given is None or callable(given) else given
        self._constant = self._checked(constant, "simulate: torque")

    @property
    def depends_on_state(self) -> bool:
        """Whether the torque may change with q and v."""
        return self.function is not None

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque at time t (s)."""
        if self.function is None:
            return self._constant
        # Copies: a controller that writes into its arguments must not move the mechanism.
        return self._checked(self.function(t, q.copy(), v.copy()), f"simulate: torque function at t = {t:.9g} s")

    def _checked(self, value: Any, what: str) -> Floats:
        nv = self._mechanism.nv
        try:
            numbers = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{what}: expected {nv} numbers, got {value!r:.80}") from None
        if numbers.shape != (nv,):
            raise InputError(f"{what}: expected shape ({nv},) for {self._mechanism.name}, got {numbers.shape}")
        if not np.isfinite(numbers).all():
            index = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise InputError(f"{what}: entry {index} is {numbers[index]}, expected finite numbers")
        return numbers
