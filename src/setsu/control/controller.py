"""What every controller is: a callable (t, q, v) -> torque that adds up with others and can be made less ideal."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import nonnegative, torque_of
from setsu.dynamics.actuators import effort_limits
from setsu.errors import InputError
from setsu.mechanism import Mechanism

if TYPE_CHECKING:
    from setsu.control.force_feedback import ForceSensor
    from setsu.control.law import CompiledLaw, TracedLaw
    from setsu.control.sampled import Sampled

__all__ = ["Controller", "Law", "Limited", "Sum", "fingerprint", "forget", "seeds"]

Floats = NDArray[np.float64]
Law = Callable[[float, Floats, Floats], ArrayLike]


# Attributes that hold code made for this process.
_CODES = ("_code", "_traced_for", "_codes", "_answers", "_sampled_code")


class Controller(ABC):
    """A law (t, q, v) -> torque (nv,), N m or N; t in s, q (nq,), v (nv,).

    Controllers add with `+`, also with plain functions. What they remember follows the time they are called at: it is
    forgotten where time goes back and at a reset, so that one controller serves any number of runs.
    """

    single_state = True
    """With many worlds, each has a copy of its own."""

    memory: tuple[str, ...] = ()
    """Attributes that change while the law runs: plain data, or parts with a state of their own."""

    _code: TracedLaw | None = None
    _traced_for: Any = None

    traceable = False
    """Whether the torque depends on t, q and v alone, by operations that can be compiled."""

    @abstractmethod
    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,)."""

    def state(self) -> dict[str, Any]:
        """Return what the law remembers, as copies."""
        return {name: _kept(getattr(self, name)) for name in self.memory}

    def set_state(self, kept: dict[str, Any]) -> None:
        """Remember what `state` returned here or in a copy."""
        for name, value in kept.items():
            object.__setattr__(self, name, _taken(getattr(self, name), value))

    def forget(self) -> None:
        """Begin as if the law had not been asked: what a reset of its simulator lets it do."""
        for name in self.memory:
            forget(getattr(self, name))

    def for_world(self, number: int) -> Controller:
        """Return a copy with a memory and noise of its own, for one of many worlds."""
        shared: dict[int, Any] = {}
        _collect_mechanisms(self, shared)
        copied = copy.deepcopy(self, shared)
        _reseed(copied, number, set())
        return copied

    def traced(self, m: Mechanism) -> TracedLaw | None:
        """Return the law as code without Python for a mechanism, made anew when its numbers have changed, or None."""
        if not self.traceable:
            return None
        from setsu.control.law import traced_law
        from setsu.symbolic.tracing import Untraceable

        numbers = (m.digest, fingerprint(self))
        if self._traced_for != numbers:
            try:
                self._code = traced_law(self, m)
            except Untraceable:
                self._code = None
            self._traced_for = numbers
        return self._code

    def compile(self, mechanism: Mechanism) -> CompiledLaw:
        """Return the law (t, q, v) -> torque (nv,) as code, for a control loop of one's own: some microseconds a call.

        mechanism: the one that is driven; its coordinates are what the law gets.

        Raises:
            InputError: the law has a memory, reads a sensor or calls functions that are no `control.law`.
        """
        from setsu.control.law import CompiledLaw, traced_law
        from setsu.symbolic.tracing import Untraceable

        expected = "expected a law of t, q and v alone, its functions decorated by setsu.control.law"
        if not self.traceable:
            raise InputError(
                f"{type(self).__name__}.compile: it calls functions of Python, or is sampled itself; {expected}"
            )
        try:
            return CompiledLaw(self.traced(mechanism) or traced_law(self, mechanism), mechanism)
        except Untraceable as problem:
            raise InputError(f"{type(self).__name__}.compile for {mechanism.name}: {problem}; {expected}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _CODES}

    def __add__(self, other: Law) -> Sum:
        return Sum(self, other)

    def __radd__(self, other: Law) -> Sum:
        return Sum(other, self)

    def limited(self, torque_limit: ArrayLike | Mechanism) -> Limited:
        """Return the controller with torques cut off at ± torque_limit, a number or (nv,).

        A mechanism stands for the effort limits of its joints.
        """
        return Limited(self, torque_limit)

    def sampled(
        self,
        period: float,
        *,
        delay: float = 0.0,
        position_noise: float = 0.0,
        velocity_noise: float = 0.0,
        seed: int | tuple[int, ...] = 0,
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

    memory = ("laws",)

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(getattr(law, "traceable", False) for law in self.laws)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the sum of the torques."""
        total: Floats = np.zeros(len(v))
        for law in self.laws:
            part: Any = torque_of(law, t, q, v)
            if part.shape != total.shape:
                raise InputError(f"sum of controllers: expected torques of shape {total.shape}, got {part.shape}")
            total = total + part
        return total


class Limited(Controller):
    """A law whose torques are cut off at ± torque_limit, a number or (nv,), N m or N, or effort limits."""

    def __init__(self, law: Law, torque_limit: ArrayLike | Mechanism) -> None:
        if isinstance(torque_limit, Mechanism):
            torque_limit = np.minimum(effort_limits(torque_limit), 1e300)
        self.law, self.torque_limit = law, nonnegative(torque_limit, "Limited torque_limit")

    memory = ("law",)

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the law is."""
        return getattr(self.law, "traceable", False)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque within the limits."""
        torque: Any = torque_of(self.law, t, q, v)
        return np.clip(torque, -self.torque_limit, self.torque_limit)


def _kept(value: Any) -> Any:
    """A copy of something remembered; of laws what they remember, of other functions nothing."""
    if isinstance(value, tuple):
        return tuple(_kept(part) for part in value)
    if hasattr(value, "set_state"):
        return value.state()
    return None if callable(value) else copy.deepcopy(value)


def _taken(present: Any, kept: Any) -> Any:
    """The value that takes over something remembered."""
    if isinstance(present, tuple):
        return tuple(_taken(part, value) for part, value in zip(present, kept, strict=True))
    if hasattr(present, "set_state"):
        present.set_state(kept)
        return present
    return present if callable(present) else copy.deepcopy(kept)


def _collect_mechanisms(value: Any, found: dict[int, Any]) -> None:
    """Find the mechanisms of a law and of what it is made of, by identity: copies of it share them."""
    if isinstance(value, Mechanism):
        found[id(value)] = value
    elif isinstance(value, tuple | list):
        for part in value:
            _collect_mechanisms(part, found)
    elif type(value).__module__.startswith("setsu.control"):
        for part in vars(value).values():
            _collect_mechanisms(part, found)


def _reseed(value: Any, number: int, done: set[int]) -> None:
    """Give a law, and the laws and sensors it is made of, noise of one world."""
    if isinstance(value, tuple):
        for part in value:
            _reseed(part, number, done)
    elif hasattr(value, "memory") and id(value) not in done:
        done.add(id(value))
        if hasattr(value, "seed"):
            value.seed = (*seeds(value.seed), number)
        for name in value.memory:
            _reseed(getattr(value, name), number, done)


def _is_law(value: Any) -> bool:
    return hasattr(value, "memory") or isinstance(value, tuple) or (callable(value) and not hasattr(value, "set_state"))


def forget(value: Any) -> None:
    """Let a law, a sensor or several begin as if they had not been asked."""
    if isinstance(value, tuple):
        for part in value:
            forget(part)
    elif hasattr(value, "forget"):
        value.forget()


def seeds(seed: int | tuple[int, ...]) -> tuple[int, ...]:
    """A seed as whole numbers."""
    return seed if isinstance(seed, tuple) else (seed,)


def fingerprint(value: Any) -> Any:
    """Something that differs when the numbers of a law have changed."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if hasattr(value, "memory") or getattr(value, "traceable", False) is True:
        changing = [name for name in getattr(value, "memory", ()) if not _is_law(getattr(value, name))]
        left_out = (*_CODES, *changing)
        return tuple((name, fingerprint(part)) for name, part in value.__dict__.items() if name not in left_out)
    if isinstance(value, tuple | list):
        return tuple(map(fingerprint, value))
    return value if isinstance(value, float | int | str) else id(value)
