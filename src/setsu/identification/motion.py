"""The measured motion: checked once, with the place of every fault, and seen through the same spline for all joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics import integrate
from setsu.errors import InputError
from setsu.identification.payload import Payload
from setsu.identification.spline import DEGREE, FEWEST_SAMPLES, SmoothedSignal, smooth
from setsu.mechanism import Mechanism, lock_joints
from setsu.spatial import real_array

__all__ = ["MeasuredMotion", "MotionCurves", "SmoothMotion", "hold_still", "measured_motion", "smooth_motion"]

Floats = NDArray[np.float64]

# rad or m: what a drive that holds its joint lets through.
_TREMBLE = 1e-3

# Longer than so many usual steps between two samples is a gap.
_GAP = 5.0


@dataclass(frozen=True)
class MeasuredMotion:
    """Time (T,) s, coordinates (T, nq), torques (T, nv), velocities (T, nv) or None; `source`: file or "identify".

    payload: what the mechanism carried. wrenches: (T, n_bodies, 6) measured external wrenches on the bodies' origins,
    world axes, N and N m: contacts of a walking robot.
    """

    source: str
    time: Floats
    q: Floats
    tau: Floats
    v: Floats | None
    payload: Payload | None = None
    wrenches: Floats | None = None


@dataclass(frozen=True)
class SmoothMotion:
    """A motion after smoothing: time (T,), q (T, nq), v, a, tau (T, nv); samples: their numbers in the measured one.

    velocity_noise (nv,): standard deviation of v. position_noise (nv,): of the measured coordinates about the fit; zero
    for quaternions. knot_distance: s.
    """

    time: Floats
    q: Floats
    v: Floats
    a: Floats
    tau: Floats
    samples: NDArray[np.intp]
    velocity_noise: Floats
    position_noise: Floats
    knot_distance: float


def measured_motion(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    v: ArrayLike | None = None,
    *,
    source: str = "identify",
    place: Callable[[int], str] = "sample {}".format,
    payload: Payload | None = None,
    wrenches: ArrayLike | None = None,
) -> MeasuredMotion:
    """Check shapes, finiteness and time stamps.

    place: what to call the sample of a number in messages, such as the line of a file.
    """
    stamps = _array(source, "time", time)
    if stamps.ndim != 1 or len(stamps) < 2:
        raise InputError(f"{source}: time: expected shape (T,), got {stamps.shape}")
    T = len(stamps)
    m = mechanism
    coordinates = _table(source, "q", q, (T, m.nq), m)
    torques = _table(source, "tau", tau, (T, m.nv), m)
    velocities = None if v is None else _table(source, "v", v, (T, m.nv), m)
    tables = [("t", stamps[:, None]), ("q", coordinates), ("tau", torques)]
    for name, table in [*tables, *([("v", velocities)] if velocities is not None else [])]:
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            row, column = (int(k) for k in bad[0])
            label = name if name == "t" else f"{name}{column + 1}"
            raise InputError(f"{source}, {place(row)}: {label} is {table[row, column]}, expected finite numbers")
    _check_stamps(source, stamps, place)
    if payload is not None and not isinstance(payload, Payload):
        raise InputError(f"{source}: payload: expected a setsu.Payload, got {type(payload).__name__}")
    forces = None if wrenches is None else _array(source, "external_wrenches", wrenches)
    if forces is not None and (forces.shape != (T, m.n_bodies, 6) or not np.isfinite(forces).all()):
        raise InputError(
            f"{source}: external_wrenches: expected finite numbers of shape {(T, m.n_bodies, 6)}, got {forces.shape}"
        )
    return MeasuredMotion(source, stamps, coordinates, torques, velocities, payload, forces)


def _check_stamps(source: str, time: Floats, place: Callable[[int], str]) -> None:
    steps = np.diff(time)
    for k in np.flatnonzero(steps <= 0.0)[:1]:
        word = "the same time stamp as" if steps[k] == 0.0 else "an earlier time stamp than"
        raise InputError(
            f"{source}, {place(int(k) + 1)}: t = {time[k + 1]:.9g} s is {word} {place(int(k))} ({time[k]:.9g} s); "
            "expected strictly increasing time"
        )
    usual = float(np.median(steps))
    for k in np.flatnonzero(steps > _GAP * usual)[:1]:
        raise InputError(
            f"{source}, {place(int(k) + 1)}: gap of {steps[k]:.6g} s after t = {time[k]:.9g} s, where samples are "
            f"usually {usual:.6g} s apart; split the log there and identify from one part"
        )


def hold_still(
    mechanism: Mechanism, joints: Sequence[str], motions: Sequence[MeasuredMotion]
) -> tuple[Mechanism, list[MeasuredMotion]]:
    """Hold joints that stand still in a log where they stood in the first motion; return what is left of all.

    The columns of these joints are dropped: what holds them is no concern of the others.

    Raises:
        InputError: one of them moves, or stands elsewhere in another motion.
    """
    m = mechanism
    indices = [m.joint_index(name) for name in joints]
    places = motions[0].q.mean(axis=0)
    for name, index in zip(joints, indices, strict=True):
        for motion in motions:
            _check_still(name, motion, motion.q[:, m.q_slices[index]], places[m.q_slices[index]])
    q_kept, v_kept = np.ones(m.nq, dtype=bool), np.ones(m.nv, dtype=bool)
    for index in indices:
        q_kept[m.q_slices[index]] = v_kept[m.v_slices[index]] = False
    held = lock_joints(m, {name: places[m.q_slices[index]] for name, index in zip(joints, indices, strict=True)})
    return held, [
        replace(
            motion,
            q=motion.q[:, q_kept],
            tau=motion.tau[:, v_kept],
            v=None if motion.v is None else motion.v[:, v_kept],
        )
        for motion in motions
    ]


def _check_still(joint: str, motion: MeasuredMotion, q: Floats, place: Floats) -> None:
    """Refuse to hold a joint whose coordinates (T, n) are not `place` (n,) all the time, but for noise."""
    # The noise from one sample to the next; a joint that is held by its drive trembles by less than _TREMBLE.
    noise = 1.4826 / math.sqrt(2.0) * np.median(np.abs(np.diff(q, axis=0)), axis=0)
    allowed = np.maximum(_TREMBLE, 6.0 * noise)
    travel = np.ptp(q, axis=0)
    if (travel > 2.0 * allowed).any():
        k = int(np.argmax(travel / allowed))
        raise InputError(
            f'{motion.source}: joint "{joint}" cannot be held: it moves by {travel[k]:.4g} (from {q[:, k].min():.6g} '
            f"to {q[:, k].max():.6g}) rad or m, expected at most {2.0 * allowed[k]:.2g}; leave it free, or use a "
            "part of the log where it stands still"
        )
    away = np.abs(q.mean(axis=0) - place)
    if (away > allowed).any():
        k = int(np.argmax(away / allowed))
        raise InputError(
            f'{motion.source}: joint "{joint}" stands at {q[:, k].mean():.6g}, in the first log at {place[k]:.6g} '
            "rad or m; expected the same place in all logs: identify from one of them, or leave the joint free"
        )


class MotionCurves:
    """The splines of a measured motion, read at the sample times or a delay before them."""

    def __init__(self, mechanism: Mechanism, motion: MeasuredMotion, knot_distance: float | None) -> None:
        m, time = mechanism, motion.time
        if len(time) < FEWEST_SAMPLES:
            raise InputError(f"{motion.source}: expected at least {FEWEST_SAMPLES} samples, got {len(time)}")
        self.mechanism, self.motion = m, motion
        if motion.v is not None:
            self._v = smooth(time, motion.v, knot_distance)
            self._singles = _single_curves(m, motion, self._v.knot_distance)
            self.knot_distance = self._v.knot_distance
            self.velocity_noise = self._v.noise_of_derivative(0)
            self.position_noise = np.zeros(m.nv)
            for in_v, curve in zip(m.v_slices, self._singles, strict=True):
                if curve is not None:
                    self.position_noise[in_v] = curve.noise
        else:
            quaternions = [body.joint.name for body in m.moving if body.joint.nq != body.joint.nv]
            if quaternions:
                raise InputError(
                    f'identify: joint "{quaternions[0]}" has quaternion coordinates; '
                    "its velocities do not follow from splines of q: give v"
                )
            self._q = smooth(time, motion.q, knot_distance)
            self.knot_distance = self._q.knot_distance
            self.position_noise, self.velocity_noise = self._q.noise, self._q.noise_of_derivative(1)

    def at(self, delay: float = 0.0, samples: NDArray[np.intp] | None = None) -> SmoothMotion:
        """Return the motion `delay` seconds before the samples of the torques.

        samples: their numbers; when not given all but the ends, where splines are loose.
        """
        m, motion, time = self.mechanism, self.motion, self.motion.time
        margin = 0.5 * DEGREE * self.knot_distance
        inside = (time - delay >= time[0] + margin) & (time - delay <= time[-1] - margin)
        inner = np.flatnonzero(inside) if samples is None else samples
        if len(inner) < 2:
            raise InputError(
                f"{motion.source}: {time[-1] - time[0]:.3g} s are too short for splines with knots "
                f"{self.knot_distance:.3g} s apart; give a longer log or a smaller knot_distance"
            )
        shifted = time[inner] - delay
        if motion.v is None:
            q, v, a = (self._q(shifted, order) for order in range(3))
        else:
            v, a = self._v(shifted), self._v(shifted, 1)
            q = integrate(m, motion.q[inner], -delay * v, 1.0)
            for in_q, curve in zip(m.q_slices, self._singles, strict=True):
                if curve is not None:
                    q[:, in_q] = curve(shifted)
        return SmoothMotion(
            time=time[inner],
            q=q,
            v=v,
            a=a,
            tau=motion.tau[inner],
            samples=inner,
            velocity_noise=self.velocity_noise,
            position_noise=self.position_noise,
            knot_distance=self.knot_distance,
        )

    def coordinate_rates(self) -> Floats | None:
        """Return dq/dt (T, nv) of joints without quaternions, nan elsewhere; None when v was not measured."""
        if self.motion.v is None:
            return None
        rates = np.full((len(self.motion.time), self.mechanism.nv), np.nan)
        for in_v, curve in zip(self.mechanism.v_slices, self._singles, strict=True):
            if curve is not None:
                rates[:, in_v] = curve(self.motion.time, 1)
        return rates


def smooth_motion(mechanism: Mechanism, motion: MeasuredMotion, knot_distance: float | None) -> SmoothMotion:
    """Return coordinates, velocities and accelerations of the fitted splines; ends, where they are loose, left out."""
    return MotionCurves(mechanism, motion, knot_distance).at()


def _single_curves(m: Mechanism, motion: MeasuredMotion, knot_distance: float) -> list[SmoothedSignal | None]:
    """Splines of the coordinates of joints without quaternions, joint by joint; the others are taken as measured."""
    return [
        smooth(motion.time, motion.q[:, in_q], knot_distance) if body.joint.nq == body.joint.nv else None
        for body, in_q in zip(m.moving, m.q_slices, strict=True)
    ]


def _array(source: str, name: str, value: ArrayLike) -> Floats:
    try:
        return np.ascontiguousarray(real_array(value))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{source}: {name}: expected real numbers, got {value!r:.80}") from None


def _table(source: str, name: str, value: ArrayLike, shape: Sequence[int], m: Mechanism) -> Floats:
    table = _array(source, name, value)
    if table.ndim == 1 and shape[1] == 1:
        table = table[:, None]
    if table.shape != tuple(shape):
        raise InputError(f"{source}: {name}: expected shape {tuple(shape)} for {m.name}, got {table.shape}")
    return table
