"""Logs of five robots, clean and with the faults that measured data have; what alarms they raise.

python tests/unit/identification/corrupted_logs.py      writes benchmarks/identification/corrupted_logs.md
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import setsu
from setsu.benchmarks.identification import drawn_mechanism, measured

samples = setsu.sample_mechanisms
Log = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]

ROBOTS: dict[str, Callable[[], setsu.Mechanism]] = {
    "planar arm": lambda: samples.planar_arm(2),
    "PUMA 560": samples.puma560,
    "RX-90": samples.rx90,
    "Stanford arm": samples.stanford_arm,
    "seven-joint arm": samples.seven_joint_arm,
}
DELAY = 0.008
VELOCITY_NOISE = 1e-3


@cache
def robot(name: str) -> tuple[setsu.Mechanism, setsu.ExcitationTrajectory]:
    """A nominal robot and an exciting motion of it."""
    nominal = ROBOTS[name]()
    return nominal, setsu.excitation_trajectory(nominal, duration=8.0, trials=60)


def clean_log(name: str, seed: int) -> tuple[setsu.Mechanism, Log]:
    """The mechanism that was measured, and time, q, tau, v with white noise."""
    nominal, motion = robot(name)
    rng = np.random.default_rng(seed)
    truth = drawn_mechanism(nominal, rng)
    q, tau = measured(truth, motion, rng)
    return truth, (motion.time, q, tau, motion.v + VELOCITY_NOISE * rng.standard_normal(motion.v.shape))


def stribeck_values(truth: setsu.Mechanism, motion: setsu.ExcitationTrajectory) -> tuple[np.ndarray, np.ndarray]:
    """Stribeck friction and its velocity, per joint."""
    tau = setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a)
    return 0.04 * np.abs(tau).max(axis=0), 0.1 * np.abs(motion.v).max(axis=0)


def corrupted(fault: str, name: str, truth: setsu.Mechanism, log: Log) -> Log:
    """Put one fault into a log, or several that are joined by "+"."""
    for single in fault.split(" + "):
        log = _one_fault(single, name, truth, log, DELAY if "8 ms delay" in fault else 0.0)
    return log


def _one_fault(fault: str, name: str, truth: setsu.Mechanism, log: Log, lag: float) -> Log:
    t, q, tau, v = log
    _, motion = robot(name)
    swap = np.arange(q.shape[1])
    swap[[0, 1]] = 1, 0
    assert v is not None
    match fault:
        case "none":
            return log
        case "no velocities":
            return t, q, tau, None
        case "torques negated":
            return t, q, -tau, v
        case "one torque negated":
            return t, q, tau * np.where(swap == 0, -1.0, 1.0), v
        case "time in ms":
            return 1e3 * t, q, tau, v
        case "time in ms, no velocities":
            return 1e3 * t, q, tau, None
        case "velocities halved":
            return t, q, tau, 0.5 * v
        case "degrees":
            return t, np.rad2deg(q), tau, np.rad2deg(v)
        case "torque columns swapped":
            return t, q, tau[:, swap], v
        case "coordinate columns swapped":
            return t, q[:, swap], tau, v[:, swap]
        case "ten outliers":
            rng = np.random.default_rng(9)
            tau = tau.copy()
            when, which = rng.integers(150, len(t) - 150, 10), rng.integers(0, q.shape[1], 10)
            tau[when, which] += 0.5 * np.abs(tau).max(axis=0)[which] * rng.choice([-1.0, 1.0], 10)
            return t, q, tau, v
        case "8 ms delay":
            clean = setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a)
            before = motion.time - DELAY
            late = setsu.inverse_dynamics(
                truth, *(f(before) for f in (motion.position, motion.velocity, motion.acceleration))
            )
            return t, q, tau - clean + late, v
        case "Stribeck friction":
            fs, vs = stribeck_values(truth, motion)
            rates = motion.velocity(motion.time - lag)
            return t, q, tau + fs * np.sign(rates) * np.exp(-((rates / vs) ** 2)), v
    raise KeyError(fault)


FAULTS: dict[str, set[str]] = {
    "torques negated": {"sign"},
    "one torque negated": {"sign"},
    "time in ms": {"units"},
    "time in ms, no velocities": {"units"},
    "velocities halved": {"velocity"},
    "degrees": {"limits", "units"},
    "torque columns swapped": {"swapped columns"},
    "coordinate columns swapped": {"swapped columns"},
    "ten outliers": {"outliers"},
    "8 ms delay": {"delay"},
    "Stribeck friction": {"friction shape"},
    "8 ms delay + Stribeck friction": {"delay", "friction shape"},
    "ten outliers + 8 ms delay": {"outliers", "delay"},
    "torques negated + ten outliers": {"sign", "outliers"},
    "velocities halved + torque columns swapped": {"velocity", "swapped columns"},
    "degrees + torques negated": {"units"},
}


def alarms(fault: str, name: str, seed: int) -> setsu.Fit:
    """Fit a log with a fault in it."""
    truth, log = clean_log(name, seed)
    t, q, tau, v = corrupted(fault, name, truth, log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        warnings.simplefilter("error", RuntimeWarning)
        return setsu.identify(robot(name)[0], t, q, tau, v)


def table() -> str:
    """All faults on all robots, as a Markdown table."""
    lines = ["| robot | fault | least R² | alarms | evidence of the first |", "|---|---|---|---|---|"]
    for name in ROBOTS:
        for fault in ("none", *FAULTS):
            fit = alarms(fault, name, 0)
            kinds = ", ".join(alarm.kind for alarm in fit.alarms) or "none"
            first = fit.alarms[0].message.replace("|", "/") if fit.alarms else ""
            lines.append(f"| {name} | {fault} | {fit.r2.min():.4f} | {kinds} | {first} |")
    return "\n".join(lines)


if __name__ == "__main__":
    target = Path(__file__).parents[3] / "benchmarks" / "identification" / "corrupted_logs.md"
    target.write_text(
        "# Corrupted logs and the alarms they raise\n\n"
        "Written by `python tests/unit/identification/corrupted_logs.py`.\n\n" + table() + "\n"
    )
