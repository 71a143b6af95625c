"""A joint servo that runs with contact treat implicitly: stiff gains stay stable at long steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.spatial import real_array

__all__ = ["JointServo", "ServoRun", "single_coordinates"]

Floats = NDArray[np.float64]
Reference = ArrayLike | Callable[..., ArrayLike] | None


class JointServo:
    """tau = torque + kp (position - q) + kd (velocity - v) for the joints with one coordinate.

    kp, kd: N m/rad or N/m, and with s: one number for all such joints, or (nv,) with zeros elsewhere.
    position: where the joints should be: an array (nq,) or (nv,), whose entries for other joints do not matter, or a
        function of (t) or of (t, q, v) that returns one. velocity, torque: the same with (nv,); zero when not given.

    Functions of time alone are evaluated before the run, which then needs no Python in its steps. Given to `simulate`
    together with an environment, springs and dampers act at the end of each step (implicit); called as a function, the
    servo is an ordinary controller.

    >>> JointServo(300.0, 4.0, [0.1, 0.2])(0.0, np.zeros(2), np.zeros(2)).tolist()
    [30.0, 60.0]
    """

    def __init__(
        self,
        kp: ArrayLike,
        kd: ArrayLike,
        position: Reference,
        velocity: Reference = None,
        torque: Reference = None,
    ) -> None:
        self.kp, self.kd = _gain(kp, "kp"), _gain(kd, "kd")
        self.position, self.velocity, self.torque = position, velocity, torque
        for value, what in ((position, "position"), (velocity, "velocity"), (torque, "torque")):
            if callable(value) and _arguments(value) not in (1, 3):
                raise InputError(f"JointServo {what}: expected a function of (t) or of (t, q, v)")

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque for a mechanism all of whose joints have one coordinate."""
        position = _at(self.position, t, q, v, np.zeros(len(v)))
        velocity = _at(self.velocity, t, q, v, np.zeros(len(v)))
        if len(q) != len(v):
            raise InputError("JointServo: as a plain function it takes mechanisms of joints with one coordinate only")
        return _at(self.torque, t, q, v, np.zeros(len(v))) + self.kp * (position - q) + self.kd * (velocity - v)


class ServoRun:
    """A servo, checked for a mechanism, as rows for the steps of a run, and as a function (t, q, v) of one world."""

    single_state = True
    __name__ = JointServo.__name__

    def __init__(self, servo: JointServo, mechanism: Mechanism) -> None:
        self.servo, self.mechanism = servo, mechanism
        self.coordinate = single_coordinates(mechanism)
        single = self.coordinate >= 0
        self.kp, self.kd = self._gains(servo.kp, "kp", single), self._gains(servo.kd, "kd", single)
        self.needs_state = any(
            callable(value) and _arguments(value) == 3 for value in (servo.position, servo.velocity, servo.torque)
        )
        self.stateless = not self.varies

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) in a state."""
        torque, position, velocity = self.at(t, q, v)
        angle = np.where(self.coordinate >= 0, q[np.maximum(self.coordinate, 0)], 0.0)
        return torque + self.kp * (position - angle) + self.kd * (velocity - v)

    def for_world(self, world: int) -> ServoRun:
        """Return the servo of one of many worlds: it remembers nothing, so that all can share it."""
        return self

    @property
    def varies(self) -> bool:
        """Whether a reference is a function."""
        servo = self.servo
        return callable(servo.position) or callable(servo.velocity) or callable(servo.torque)

    def tables(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        """Return torque, position, velocity over the times, (T, nv) each, or one row where they do not change."""
        servo = self.servo
        parts = ((servo.torque, "torque"), (servo.position, "position"), (servo.velocity, "velocity"))
        return tuple(  # type: ignore[return-value]
            np.array([self._row(value, what, t) for t in times])
            if callable(value)
            else self._row(value, what, 0.0)[None]
            for value, what in parts
        )

    def at(self, t: float, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return torque, position, velocity at a state, (nv,) each."""
        servo = self.servo
        return (
            self._row(servo.torque, "torque", t, q, v),
            self._row(servo.position, "position", t, q, v),
            self._row(servo.velocity, "velocity", t, q, v),
        )

    def _gains(self, gain: Floats, what: str, single: NDArray[np.bool_]) -> Floats:
        if gain.ndim == 0:
            return np.where(single, gain, 0.0)
        if gain.shape != (self.mechanism.nv,):
            raise InputError(
                f"JointServo {what}: expected one number or shape ({self.mechanism.nv},), got {gain.shape}"
            )
        if gain[~single].any():
            raise InputError(f"JointServo {what}: expected zeros for velocities of joints with several coordinates")
        return gain

    def _row(self, value: Reference, what: str, t: float, *state: Floats) -> Floats:
        m = self.mechanism
        if value is None:
            return np.zeros(m.nv)
        if callable(value):
            value = value(t, *(part.copy() for part in state)) if _arguments(value) == 3 else value(t)
        where = f"simulate: JointServo {what} at t = {t:.9g} s"
        try:
            row = real_array(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{where}: expected numbers, got {value!r:.80}") from None
        if what == "position" and row.shape == (m.nq,):
            row = np.where(self.coordinate >= 0, row[np.maximum(self.coordinate, 0)], 0.0)
        if row.shape != (m.nv,):
            raise InputError(f"{where}: expected shape ({m.nv},) for {m.name}, got {row.shape}")
        if not np.isfinite(row).all():
            index = int(np.flatnonzero(~np.isfinite(row))[0])
            raise InputError(f"{where}: entry {index} is {row[index]}, expected finite numbers")
        return row


def single_coordinates(m: Mechanism) -> NDArray[np.int64]:
    """Where in q the coordinate of each velocity stands, (nv,); -1 for joints with quaternions."""
    where = np.full(m.nv, -1, dtype=np.int64)
    for body, q_slice, v_slice in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        if body.joint.nq == body.joint.nv:
            where[v_slice] = np.arange(q_slice.start, q_slice.stop)
    return where


def _gain(value: ArrayLike, what: str) -> Floats:
    try:
        gain = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"JointServo {what}: expected numbers, got {value!r:.80}") from None
    if gain.ndim > 1 or not np.isfinite(gain).all() or (gain < 0.0).any():
        raise InputError(f"JointServo {what}: expected finite numbers, at least 0, got {value!r:.80}")
    return gain


def _arguments(function: Any) -> int:
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError, OverflowError):
        return 1


def _at(value: Reference, t: float, q: Floats, v: Floats, otherwise: Floats) -> Floats:
    if value is None:
        return otherwise
    if callable(value):
        value = value(t, q, v) if _arguments(value) == 3 else value(t)
    return np.asarray(value, dtype=np.float64)
