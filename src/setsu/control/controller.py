"""What every controller is: a callable (t, q, v) -> torque that adds up with others and can be made less ideal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import nonnegative
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.control.force_feedback import ForceSensor
    from setsu.control.sampled import Sampled

__all__ = ["Controller", "Law", "Limited", "Sum"]

Floats = NDArray[np.float64]
Law = Callable[[float, Floats, Floats], ArrayLike]


class Controller(ABC):
    """A law (t, q, v) -> torque (nv,), N m or N; t in s, q (nq,), v (nv,).

    Controllers add with `+`, also with plain functions. What they remember follows the time they are called at: it is
    forgotten where time goes back, so that one controller serves any number of runs.
    """

    single_state = True
    """With many worlds, each has a copy of its own."""

    @abstractmethod
    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,)."""

    def __add__(self, other: Law) -> Sum:
        return Sum(self, other)

    def __radd__(self, other: Law) -> Sum:
        return Sum(other, self)

    def limited(self, torque_limit: ArrayLike) -> Limited:
        """Return the controller with torques cut off at ± torque_limit, a number or (nv,)."""
        return Limited(self, torque_limit)

    def sampled(
        self,
        period: float,
        *,
        delay: float = 0.0,
        position_noise: float = 0.0,
        velocity_noise: float = 0.0,
        seed: int = 0,
        sensor: ForceSensor | None = None,
        initial: ArrayLike | None = None,
    ) -> Sampled:
        """Return the controller as a computer runs it; see Sampled."""
        from setsu.control.sampled import Sampled

        return Sampled(
            self, period, delay=delay, position_noise=position_noise, velocity_noise=velocity_noise, seed=seed,
            sensor=sensor, initial=initial,
        )  # fmt: skip


class Sum(Controller):
    """Several laws together."""

    def __init__(self, *laws: Law) -> None:
        flat: list[Any] = []
        for law in laws:
            if not callable(law):
                raise InputError(f"controllers add up with functions (t, q, v) -> torque, got {law!r:.80}")
            flat.extend(law.laws if isinstance(law, Sum) else [law])
        self.laws: tuple[Law, ...] = tuple(flat)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the sum of the torques."""
        total = np.zeros(len(v))
        for law in self.laws:
            part = np.asarray(law(t, q, v), dtype=np.float64)
            if part.shape != total.shape:
                raise InputError(f"sum of controllers: expected torques of shape {total.shape}, got {part.shape}")
            total += part
        return total


class Limited(Controller):
    """A law whose torques are cut off at ± torque_limit, a number or (nv,), N m or N."""

    def __init__(self, law: Law, torque_limit: ArrayLike) -> None:
        self.law, self.torque_limit = law, nonnegative(torque_limit, "Limited torque_limit")

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque within the limits."""
        return np.clip(np.asarray(self.law(t, q, v), dtype=np.float64), -self.torque_limit, self.torque_limit)
