"""`excitation_trajectory`: a motion within the limits of the joints that tells the base parameters apart.

The condition number of the base regressor over the motion, columns scaled to length one, is minimised over the
coefficients of Fourier series by a (1+1) evolution strategy with the one-fifth rule: a change that lowers the condition
number is kept and the step grows, any other is dropped and the step shrinks. Every candidate is scaled into the limits
before it is judged, so that no candidate breaks them. Torques beyond the effort limits, by the model's own inertias,
count against a candidate.

Source: Swevers et al. 1997 (criterion); Rechenberg 1973 (one-fifth rule). Cost: `trials` regressors and their QR.
Refuses joints with quaternions, loops and couplings, and joints whose limits leave no room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.states import coordinate_names
from setsu.dynamics import inverse_dynamics
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.identification.fourier import FourierMotion, at_rest, scaled_into_limits
from setsu.identification.torque_model import TorqueModel, torque_model
from setsu.mechanism import Mechanism
from setsu.spatial import random_generator

__all__ = ["ExcitationTrajectory", "excitation_trajectory"]

Floats = NDArray[np.float64]

# What joints without limits get: half range and speed, in rad and rad/s, or m and m/s.
_ANGLE, _ANGULAR_SPEED = np.pi, 2.0
_TRAVEL, _SPEED = 0.5, 0.5
_NO_LIMIT = 1e6
_JUDGED_SAMPLES = 120
_COLLISION = 1e12


@dataclass(frozen=True)
class ExcitationTrajectory:
    """A motion for identification; position, velocity and acceleration are functions of time (s).

    time (T,) s; q, v, a (T, nv); condition_number: of the base regressor with columns scaled to length one;
    largest_effort (nv,): largest |torque| by the model's own values, N m or N.
    """

    mechanism: Mechanism
    series: FourierMotion
    time: Floats
    q: Floats
    v: Floats
    a: Floats
    condition_number: float
    largest_effort: Floats

    @property
    def duration(self) -> float:
        """Period of the motion, s."""
        return self.series.duration

    def position(self, time: ArrayLike) -> Floats:
        """Return coordinates (..., nv) at times (...)."""
        return self.series(np.asarray(time, dtype=np.float64))

    def velocity(self, time: ArrayLike) -> Floats:
        """Return velocities (..., nv) at times (...)."""
        return self.series(np.asarray(time, dtype=np.float64), 1)

    def acceleration(self, time: ArrayLike) -> Floats:
        """Return accelerations (..., nv) at times (...)."""
        return self.series(np.asarray(time, dtype=np.float64), 2)

    def save(self, path: str | Path) -> Path:
        """Write a CSV file with the columns t, q1..., v1..., a1..."""
        n = self.q.shape[1]
        head = ["t", *(f"{letter}{k + 1}" for letter in "qva" for k in range(n))]
        table = np.column_stack([self.time, self.q, self.v, self.a])
        try:
            np.savetxt(path, table, fmt="%.17g", delimiter=",", header=",".join(head), comments="")
        except OSError as problem:
            raise InputError(f"ExcitationTrajectory.save: cannot write {path} ({problem.strerror})") from None
        return Path(path)


def excitation_trajectory(
    mechanism: Mechanism,
    duration: float = 10.0,
    seed: int = 0,
    *,
    harmonics: int = 5,
    rate: float = 200.0,
    margin: float = 0.05,
    trials: int = 600,
    friction: str = "coulomb+viscous",
    drive_inertia: bool = True,
    clearance: Callable[[Floats], ArrayLike] | None = None,
) -> ExcitationTrajectory:
    """Return a periodic motion, at rest at its ends and within the joints' limits, from which `identify` learns most.

    Args:
        duration: period, s.
        seed: of the search.
        harmonics: of the Fourier series, at least 3.
        rate: samples per second of the arrays.
        margin: share of the range and of the speed to stay away from the limits.
        trials: candidates to judge.
        friction, drive_inertia: what `identify` shall find besides inertias.
        clearance: function of configurations (T, nq) that returns (T,) distances, negative in collision, by any
            collision checker; the motion keeps it above zero.

    Joints without limits move within ±pi rad or ±0.5 m, at 2 rad/s or 0.5 m/s at most.

    >>> import setsu
    >>> motion = setsu.excitation_trajectory(setsu.sample_mechanisms.planar_arm(2), duration=5.0, trials=50)
    >>> motion.q.shape, motion.position(0.0).shape
    ((1001, 2), (2,))
    """
    require_mechanism(mechanism, "excitation_trajectory")
    for name, value, least in (("duration", duration, 0.0), ("rate", rate, 0.0), ("trials", trials, 0)):
        _require_above(name, value, least)
    _require_above("harmonics", harmonics, 2)
    if not 0.0 <= margin < 0.5:
        raise InputError(f"excitation_trajectory: margin: expected a number from 0 to 0.5, got {margin!r}")
    lower, upper, speed = _limits(mechanism, margin)
    judge = _Judge(torque_model(mechanism, friction, bool(drive_inertia)), float(duration), clearance)
    rng = random_generator(seed, "excitation_trajectory")
    n = mechanism.nv

    def candidate(x: Floats) -> FourierMotion:
        return scaled_into_limits(float(duration), *at_rest(x[0], x[1]), lower, upper, speed)

    x = rng.standard_normal((2, int(harmonics), n))
    best, step = judge(candidate(x)), 0.5
    for _ in range(int(trials)):
        # Change some joints only: good ones need not wait for the others.
        chosen = rng.random(n) < max(0.3, 1.5 / n)
        trial = x + step * rng.standard_normal(x.shape) * chosen
        score = judge(candidate(trial))
        step *= 1.22 if score < best else 0.95
        step = min(max(step, 1e-3), 1.0)
        if score < best:
            # Only shapes matter, since sizes follow from the limits: keep the numbers near one.
            x, best = trial / np.sqrt(np.mean(trial**2, axis=(0, 1))), score
    series = candidate(x)
    time = np.linspace(0.0, duration, max(2, round(duration * rate) + 1))
    q, v, a = series(time), series(time, 1), series(time, 2)
    if clearance is not None and (least := judge.least_clearance(q)) < 0.0:
        raise InputError(
            f"excitation_trajectory: no motion without collision was found in {trials} trials (least clearance "
            f"{least:.3g}); give more trials, another seed, a larger margin or narrower joint limits"
        )
    return ExcitationTrajectory(
        mechanism=mechanism,
        series=series,
        time=time,
        q=q,
        v=v,
        a=a,
        condition_number=judge.condition(series),
        largest_effort=np.abs(inverse_dynamics(mechanism, q, v, a)).max(axis=0),
    )


class _Judge:
    """Condition number of a motion, raised in proportion where torques exceed the effort limits."""

    def __init__(
        self, model: TorqueModel, duration: float, clearance: Callable[[Floats], ArrayLike] | None = None
    ) -> None:
        self._model, self._clearance = model, clearance
        # Irregular times: equal steps would alias the harmonics of the regressor.
        steps = np.random.default_rng(1).random(_JUDGED_SAMPLES)
        self._time = (np.arange(_JUDGED_SAMPLES) + steps) * duration / _JUDGED_SAMPLES
        self._fine = np.linspace(0.0, duration, 3 * _JUDGED_SAMPLES)
        effort = model.mechanism.effort_limit
        self._effort = np.where(effort > 0.0, effort, np.inf)

    def __call__(self, series: FourierMotion) -> float:
        states = self._states(series)
        effort = np.abs(inverse_dynamics(self._model.mechanism, *states)).max(axis=0)
        score = self._condition(*states) * max(1.0, float((effort / self._effort).max())) ** 4
        if self._clearance is None:
            return score
        # Any collision is worse than any condition number, and a deep one worse than a shallow one.
        depth = -self.least_clearance(series(self._fine))
        return score if depth < 0.0 else _COLLISION * (1.0 + depth)

    def least_clearance(self, q: Floats) -> float:
        """Return the least distance along a motion."""
        assert self._clearance is not None
        distances = np.asarray(self._clearance(q), dtype=np.float64)
        if distances.shape != (len(q),) or np.isnan(distances).any():
            raise InputError(
                f"excitation_trajectory: clearance: expected {len(q)} distances, got shape {distances.shape}"
            )
        return float(distances.min())

    def condition(self, series: FourierMotion) -> float:
        return self._condition(*self._states(series))

    def _states(self, series: FourierMotion) -> tuple[Floats, Floats, Floats]:
        return series(self._time), series(self._time, 1), series(self._time, 2)

    def _condition(self, q: Floats, v: Floats, a: Floats) -> float:
        W = self._model.regressor(q, v, a).reshape(-1, len(self._model.names))
        size = np.linalg.norm(W, axis=0)
        if size.min() == 0.0:
            return np.inf
        scaled = W / size
        eigenvalues = np.linalg.eigvalsh(scaled.T @ scaled)
        return float(np.sqrt(eigenvalues[-1] / max(eigenvalues[0], 1e-16 * eigenvalues[-1])))


def _limits(m: Mechanism, margin: float) -> tuple[Floats, Floats, Floats]:
    """Return lower, upper and speed limits (nv,) with the margin taken off."""
    if m.loops or m.couplings:
        name = (*m.loops, *m.couplings)[0].name
        raise InputError(
            f'excitation_trajectory: {m.name} has loops or couplings ("{name}"); '
            "motions are made for trees: hold coupled joints with setsu.lock_joints, or extract a tree"
        )
    if m.nv == 0:
        raise InputError(f"excitation_trajectory: {m.name} has no moving joint")
    for body in m.moving:
        if body.joint.nq != body.joint.nv:
            raise InputError(
                f'excitation_trajectory: joint "{body.joint.name}" ({type(body.joint).__name__}) has quaternion '
                "coordinates; motions are made for joints with angles and travels"
            )
    span, fastest = np.array([pair for body in m.moving for pair in _defaults(body.joint)]).T
    lower = np.where(m.lower > -_NO_LIMIT, m.lower, np.where(m.upper < _NO_LIMIT, m.upper - 2.0 * span, -span))
    upper = np.where(m.upper < _NO_LIMIT, m.upper, np.where(m.lower > -_NO_LIMIT, m.lower + 2.0 * span, span))
    speed = np.where(m.velocity_limit < _NO_LIMIT, m.velocity_limit, fastest)
    for name, low, high, fast in zip(coordinate_names(m), lower, upper, speed, strict=True):
        if not (high > low and fast > 0.0):
            raise InputError(
                f'excitation_trajectory: joint "{name}" cannot move: limits {low:g} to {high:g}, speed {fast:g}; '
                "hold it with setsu.lock_joints, or correct the limits"
            )
    room = margin * (upper - lower)
    return lower + room, upper - room, (1.0 - margin) * speed


def _defaults(joint: Any) -> list[tuple[float, float]]:
    """Half range and speed per velocity for joints without limits."""
    turn, slide = (_ANGLE, _ANGULAR_SPEED), (_TRAVEL, _SPEED)
    return [slide if travels else turn for travels in joint.travels]


def _require_above(name: str, value: Any, least: float) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float) and np.isfinite(value) and value > least):
        raise InputError(f"excitation_trajectory: {name}: expected a number above {least}, got {value!r}")
