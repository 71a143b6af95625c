"""The measured motion: checked once, with the place of every fault, and seen through the same spline for all joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics import integrate
from setsu.errors import InputError
from setsu.identification.spline import DEGREE, FEWEST_SAMPLES, smooth
from setsu.mechanism import Mechanism, lock_joints

__all__ = ["MeasuredMotion", "SmoothMotion", "hold_still", "measured_motion", "smooth_motion"]

Floats = NDArray[np.float64]

# Longer than so many usual steps between two samples is a gap.
_GAP = 5.0


@dataclass(frozen=True)
class MeasuredMotion:
    """Time (T,) s, coordinates (T, nq), torques (T, nv), velocities (T, nv) or None; `source`: file or "identify"."""

    source: str
    time: Floats
    q: Floats
    tau: Floats
    v: Floats | None


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
    return MeasuredMotion(source, stamps, coordinates, torques, velocities)


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
    """
    m = mechanism
    indices = [m.joint_index(name) for name in joints]
    places = motions[0].q.mean(axis=0)
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


def smooth_motion(mechanism: Mechanism, motion: MeasuredMotion, knot_distance: float | None) -> SmoothMotion:
    """Return coordinates, velocities and accelerations of the fitted splines; ends, where they are loose, left out."""
    m, time = mechanism, motion.time
    if len(time) < FEWEST_SAMPLES:
        raise InputError(f"{motion.source}: expected at least {FEWEST_SAMPLES} samples, got {len(time)}")
    if motion.v is not None:
        fit = smooth(time, motion.v, knot_distance)
        v, a = fit(time), fit(time, 1)
        q, position_noise = _smooth_coordinates(m, motion, fit.knot_distance)
        velocity_noise = fit.noise_of_derivative(0)
    else:
        quaternions = _quaternion_joints(m)
        if quaternions:
            raise InputError(
                f'identify: joint "{quaternions[0]}" has quaternion coordinates; '
                "its velocities do not follow from splines of q: give v"
            )
        fit = smooth(time, motion.q, knot_distance)
        q, v, a = fit(time), fit(time, 1), fit(time, 2)
        position_noise, velocity_noise = fit.noise, fit.noise_of_derivative(1)
    margin = 0.5 * DEGREE * fit.knot_distance
    inner = np.flatnonzero((time >= time[0] + margin) & (time <= time[-1] - margin))
    if len(inner) < 2:
        raise InputError(
            f"{motion.source}: {time[-1] - time[0]:.3g} s are too short for splines with knots "
            f"{fit.knot_distance:.3g} s apart; give a longer log or a smaller knot_distance"
        )
    return SmoothMotion(
        time=time[inner],
        q=q[inner],
        v=v[inner],
        a=a[inner],
        tau=motion.tau[inner],
        samples=inner,
        velocity_noise=velocity_noise,
        position_noise=position_noise,
        knot_distance=fit.knot_distance,
    )


def _smooth_coordinates(m: Mechanism, motion: MeasuredMotion, knot_distance: float) -> tuple[Floats, Floats]:
    """Smooth the coordinates of joints without quaternions; the others are taken as measured, of length one."""
    q = integrate(m, motion.q, np.zeros(m.nv), 0.0)
    noise = np.zeros(m.nv)
    for joint, in_q, in_v in zip((body.joint for body in m.moving), m.q_slices, m.v_slices, strict=True):
        if joint.nq == joint.nv:
            fit = smooth(motion.time, motion.q[:, in_q], knot_distance)
            q[:, in_q], noise[in_v] = fit(motion.time), fit.noise
    return q, noise


def _quaternion_joints(m: Mechanism) -> list[str]:
    return [body.joint.name for body in m.moving if body.joint.nq != body.joint.nv]


def _array(source: str, name: str, value: ArrayLike) -> Floats:
    try:
        return np.ascontiguousarray(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{source}: {name}: expected real numbers, got {value!r:.80}") from None


def _table(source: str, name: str, value: ArrayLike, shape: Sequence[int], m: Mechanism) -> Floats:
    table = _array(source, name, value)
    if table.ndim == 1 and shape[1] == 1:
        table = table[:, None]
    if table.shape != tuple(shape):
        raise InputError(f"{source}: {name}: expected shape {tuple(shape)} for {m.name}, got {table.shape}")
    return table
