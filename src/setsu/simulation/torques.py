"""The torque a user gives: nothing, numbers, or a function of time and state; every answer of a function is checked."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism
from setsu.simulation.joint_servo import JointServo, ServoRun
from setsu.spatial import real_array

__all__ = ["Source", "TorqueInput", "held_torque", "law_name"]

Floats = NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)
TorqueInput = ArrayLike | Callable[..., ArrayLike] | None


def law_name(law: Any) -> str:
    """How messages call a law."""
    return getattr(law, "__name__", None) or type(law).__name__


class Source:
    """Torques (count, nv) of all worlds, N or N m: a constant part, and functions that are asked.

    single: one world without a batch axis: functions get (t, q, v) with (nq,), (nv,). Otherwise they get (t, Q, V) with
    (count,), (count, nq), (count, nv) and give (count, nv); a law with memory of its own (`single_state` true, as all
    of setsu.control) is copied for each world and asked row by row. A law that can run without Python is among `codes`,
    not among `functions`; contacts: of the run, whose forces such a law may sense;
    environment: whether there is one, so that it may sense forces of bodies. before: of an earlier run, whose copies of
    the same laws hand their memory on.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        single: bool,
        given: Sequence[TorqueInput],
        contacts: Sequence[SurfaceContact] = (),
        environment: bool = False,
        before: Source | None = None,
    ) -> None:
        self._mechanism, self._count, self._single = mechanism, count, single
        self.constant = np.zeros((count, mechanism.nv))
        self.functions: list[Any] = []
        self.codes: list[Any] = []
        self._copies: dict[int, list[Any]] = {}
        for torque in given:
            if torque is None:
                continue
            if not callable(torque):
                self.constant += self._checked(torque, "simulate: torque")
                continue
            if isinstance(torque, JointServo):
                torque = ServoRun(torque, mechanism)
            trace: Any = getattr(torque, "traced", None)
            sampled = trace is not None and hasattr(torque, "period")
            code = None if trace is None else trace(mechanism, contacts, environment) if sampled else trace(mechanism)
            if code is not None:
                self.codes.append(code)
                continue
            self.functions.append(torque)
            if not single and getattr(torque, "single_state", False):
                own = getattr(torque, "for_world", lambda _, law=torque: copy.deepcopy(law))
                copies = self._copies[id(torque)] = [own(k) for k in range(count)]
                known = before is not None and any(torque is function for function in before.functions)
                for law, old in zip(copies, before._copies[id(torque)], strict=True) if known and before else ():
                    if hasattr(law, "set_state"):
                        law.set_state(old.state())

    def memories(self) -> list[Any]:
        """What the functions remember, by function and world; None, after a warning, where they do not offer it."""
        kept = []
        for function in self.functions:
            if not hasattr(function, "set_state") and not getattr(function, "stateless", False):
                warnings.warn(
                    f"Simulator.save: the torque function {law_name(function)} may have a memory that is not kept; "
                    "offer state() and set_state(kept), or mark it by stateless = True",
                    ModelWarning,
                    stacklevel=3,
                )
            laws = self._copies.get(id(function), [function])
            kept.append([law.state() if hasattr(law, "set_state") else None for law in laws])
        return kept

    def set_memories(self, kept: list[Any]) -> None:
        """Let the functions remember what `memories` returned."""
        for function, states in zip(self.functions, kept, strict=True):
            for law, state in zip(self._copies.get(id(function), [function]), states, strict=True):
                if state is not None:
                    law.set_state(copy.deepcopy(state))

    def forget(self, rows: Iterable[int]) -> None:
        """Let the functions of some worlds begin anew, where they offer forget(); rows: all where they share one."""
        rows = list(rows)
        for function in self.functions:
            laws = self._copies.get(id(function))
            for law in [laws[k] for k in rows] if laws else [function] if len(rows) == self._count else ():
                if hasattr(law, "forget"):
                    law.forget()

    @property
    def period(self) -> float:
        """How long (s) answers hold where all functions are sampled; 0 when they are asked in every stage."""
        periods = [float(getattr(function, "period", 0.0)) for function in self.functions]
        return min(periods) if periods and all(periods) else 0.0

    def next_change(self, t: float) -> float:
        """The first time (s) after t at which a sampled torque changes."""
        return min(function.next_change(t) for function in self.functions)

    def answer(self, t: Floats, q: Floats, v: Floats) -> Floats:
        """Return the torque of the functions for all worlds, (count, nv)."""
        total = np.zeros((self._count, self._mechanism.nv))
        for function in self.functions:
            if self._single:
                total[0] += self.answer_one(function, float(t[0]), q[0], v[0])
            elif id(function) in self._copies:
                copies = self._copies[id(function)]
                total += [self.answer_one(f, float(t[k]), q[k], v[k]) for k, f in enumerate(copies)]
            else:
                # Copies: a controller that writes into its arguments must not move the mechanism.
                what = f"simulate: torque function {law_name(function)} at t = {t.min():.9g} s"
                try:
                    value = function(t.copy(), q.copy(), v.copy())
                except InputError:
                    raise
                except Exception as problem:
                    raise _raised(problem, what) from problem
                total += self._checked(value, what)
        return total

    def answer_one(self, function: Any, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) of one function for one world."""
        try:
            value = function(t, q.copy(), v.copy())
        except InputError:
            raise
        except Exception as problem:
            raise _raised(problem, f"simulate: torque function {law_name(function)} at t = {t:.9g} s") from problem
        if type(value) is np.ndarray and value.dtype == _FLOAT64 and value.shape == v.shape:
            return value
        what = f"simulate: torque function {law_name(function)} at t = {t:.9g} s"
        return _numbers(value, v.shape, what, self._mechanism.name)

    def _checked(self, value: Any, what: str) -> Floats:
        nv = self._mechanism.nv
        shapes = ((nv,),) if self._single else ((nv,), (self._count, nv))
        numbers = _numbers(value, None, what, self._mechanism.name)
        if numbers.shape not in shapes:
            expected = " or ".join(str(shape) for shape in shapes)
            raise InputError(f"{what}: expected shape {expected} for {self._mechanism.name}, got {numbers.shape}")
        if not callable(value) and what.endswith("torque") and not np.isfinite(numbers).all():
            flat = numbers.ravel()
            index = int(np.flatnonzero(~np.isfinite(flat))[0])
            raise InputError(f"{what}: entry {index} is {flat[index]}, expected finite numbers")
        return numbers


def _raised(problem: Exception, where: str) -> InputError:
    return InputError(f"{where} raised {type(problem).__name__}: {problem}")


def _numbers(value: Any, shape: tuple[int, ...] | None, what: str, name: str) -> Floats:
    try:
        numbers = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected numbers, got {value!r:.80}") from None
    if shape is not None and numbers.shape != shape:
        raise InputError(f"{what}: expected shape {shape} for {name}, got {numbers.shape}")
    return numbers


def held_torque(torque: ArrayLike, shapes: tuple[tuple[int, ...], ...]) -> Floats:
    """Return the torque of a step, N m or N, of one of the shapes."""
    try:
        given = torque if type(torque) is np.ndarray and torque.dtype == _FLOAT64 else real_array(torque)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"Simulator.step: torque: expected numbers, got {torque!r:.80}; a function is given to the constructor or "
            "to `run`"
        ) from None
    if given.shape not in shapes:
        raise InputError(f"Simulator.step: torque: expected shape {shapes[0]}, got {given.shape}")
    return given
