"""Alarms about the raw log: time steps, limits and velocities, before any fit."""

from __future__ import annotations

import numpy as np

from setsu.constraints.states import coordinate_names
from setsu.identification.alarms import Alarm
from setsu.identification.motion import MotionCurves
from setsu.mechanism import Mechanism

__all__ = ["log_alarms"]

_LONGEST_STEP = 0.2
_OUTSIDE = 0.05
_SLOPE = 0.03


def log_alarms(mechanism: Mechanism, curves: MotionCurves) -> list[Alarm]:
    """Return what the log alone shows: time steps, limits, velocities."""
    return [*_time_unit(curves), *_limits(mechanism, curves), *_velocity(mechanism, curves)]


def _time_unit(curves: MotionCurves) -> list[Alarm]:
    step = float(np.median(np.diff(curves.motion.time)))
    if step < _LONGEST_STEP and step > 1e-6:
        return []
    unit = "ms" if 0.2 <= step < 200.0 else "µs or ns" if step >= 200.0 else "another unit"
    return [
        Alarm(
            "units",
            f"{curves.motion.source}: samples are {step:g} s apart: is time in {unit}? expected seconds",
            {"step": step},
        )
    ]


def _limits(m: Mechanism, curves: MotionCurves) -> list[Alarm]:
    names, found, inside_as_degrees = coordinate_names(m), [], True
    turning = False
    for body, in_q, in_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        if body.joint.nq != 1:
            continue
        q, low, high = curves.motion.q[:, in_q.start], float(m.lower[in_v.start]), float(m.upper[in_v.start])
        room = _OUTSIDE * min(high - low, 2.0 * np.pi) if np.isfinite(high - low) else _OUTSIDE
        beyond = max(float(low - q.min()), float(q.max() - high))
        is_angle = not body.joint.travels[0]
        turning = turning or is_angle
        if is_angle and not np.isfinite(high - low) and np.ptp(q) > 20.0 * np.pi:
            beyond = float(np.ptp(q))
        if beyond > room:
            found.append((names[in_v.start], beyond, float(q.min()), float(q.max()), low, high))
        if is_angle:
            degrees = np.deg2rad(q)
            inside_as_degrees &= bool(degrees.min() >= low - _OUTSIDE and degrees.max() <= high + _OUTSIDE)
    if not found:
        return []
    name, beyond, least, most, low, high = max(found, key=lambda entry: entry[1])
    alarms = [
        Alarm(
            "limits",
            f'{curves.motion.source}: joint "{name}" goes from {least:.4g} to {most:.4g}, {_room(low, high)}'
            + (f", and {len(found) - 1} more" if len(found) > 1 else ""),
            {"joint": name, "beyond": beyond, "joints": [entry[0] for entry in found]},
        )
    ]
    if turning and inside_as_degrees and max(entry[3] - entry[2] for entry in found) > 2.0 * np.pi:
        alarms.append(
            Alarm(
                "units",
                f"{curves.motion.source}: all angles times π/180 are inside the limits: are they degrees? expected rad",
                {"joints_outside": len(found), "inside_as_degrees": True},
            )
        )
    return alarms


def _velocity(m: Mechanism, curves: MotionCurves) -> list[Alarm]:
    rates = curves.coordinate_rates()
    if rates is None:
        return []
    v, names = np.asarray(curves.motion.v), coordinate_names(m)
    inner = slice(len(v) // 20, -max(1, len(v) // 20))
    alarms = []
    for d in range(m.nv):
        x, y = rates[inner, d], v[inner, d]
        if not np.isfinite(x).all() or float(x @ x) == 0.0:
            continue
        # Both have noise: the slope lies between that of y over x and the inverse of that of x over y.
        xy, xx, yy = float(x @ y), float(x @ x), float(y @ y)
        correlation = xy / max(np.sqrt(xx * yy), 1e-300)
        low, high = sorted((xy / xx, yy / xy if xy else np.inf))
        if (low > 1.0 + _SLOPE or high < 1.0 - _SLOPE) or correlation < 0.5:
            slope = float(np.sign(xy) * np.sqrt(yy / xx))
            # A common factor may be the unit of time: then the samples' distance says so as well.
            alarms.append((names[d], slope, correlation))
    if not alarms:
        return []
    name, slope, correlation = max(alarms, key=lambda entry: abs(np.log(max(abs(entry[1]), 1e-300))))
    return [
        Alarm(
            "velocity",
            f'{curves.motion.source}: v of joint "{name}" is {slope:.4g} times dq/dt (correlation {correlation:.3f})'
            + (f", and {len(alarms) - 1} more joints" if len(alarms) > 1 else "")
            + ": check units and order of the velocity columns, or leave them out",
            {"joint": name, "slope": slope, "correlation": correlation, "joints": [entry[0] for entry in alarms]},
        )
    ]


def _room(low: float, high: float) -> str:
    """Where a joint may go, for messages."""
    if np.isfinite(high - low):
        return f"outside its limits {low:.4g} to {high:.4g}"
    return "more than ten turns of a joint without limits"
