"""The integrators by name, and the driver that takes a motion to a given time, stopping at events on the way.

    trial step of the integrator → projection onto the constraints → evaluation → event? locate it → book the energy

An event is a guard that has become negative. Its time is found by taking the step again, shorter, until the guard is
zero: no interpolation, so that the event is as accurate as the step itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError, nearest_names
from setsu.simulation import adaptive, radau, rk4, rk8, semi_implicit
from setsu.simulation.explicit_runge_kutta import Step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["INTEGRATORS", "REAL_STABILITY", "Driver", "Taken", "chosen_integrator"]

Floats = NDArray[np.float64]
StepFunction = Callable[[Motion, Evaluation, float], Step]

INTEGRATORS: dict[str, StepFunction] = {
    "rk4": rk4.step,
    "semi_implicit": semi_implicit.step,
    "rk8": rk8.step,
    "adaptive": adaptive.step,
    "radau": radau.step,
}
REAL_STABILITY = {"semi_implicit": semi_implicit.REAL_STABILITY, "rk4": rk4.REAL_STABILITY, "rk8": rk8.REAL_STABILITY}
"""Largest h|λ| of a damped motion that an explicit method with fixed step can follow."""

_SHORTEST = 1e-12  # part of the user's step below which a step is not shortened any more
_LOCATION_STEPS = 60
_LARGEST = 1e8  # rad, m, or per second: far beyond any mechanism, and within what the kernels take


def chosen_integrator(name: str) -> StepFunction:
    """Return the step function of a name; InputError with the nearest names."""
    try:
        return INTEGRATORS[name]
    except (KeyError, TypeError):
        raise InputError(f"simulate: unknown integrator {name!r}{nearest_names(name, INTEGRATORS)}") from None


@dataclass(frozen=True)
class Taken:
    """A step that was taken: the state at its end, its works (4,) J, energy given or taken by the projection (J)."""

    end: Evaluation
    works: Floats
    projected: float


@dataclass
class Driver:
    """Advances a motion with one integrator.

    resolution: the user's step (s); tolerance: of the adaptive integrator.
    """

    integrator: str
    resolution: float
    tolerance: float
    _step: StepFunction = field(init=False)
    _proposed: float = field(init=False)

    def __post_init__(self) -> None:
        self._step = chosen_integrator(self.integrator)
        self._proposed = self.resolution

    def advance(self, motion: Motion, start: Evaluation, target: float) -> tuple[Taken, bool]:
        """Take one step towards `target` (s); return it and whether an event ends it."""
        h = target - start.t
        if self.integrator == "adaptive":
            h, step = self._controlled(motion, start, h)
            taken = self._finished(motion, start, h, step)
        else:
            taken = self._longest_possible(motion, start, h)
        if not np.any(taken.end.guards < 0.0):
            return taken, False
        return self._located(motion, start, taken), True

    def _finished(self, motion: Motion, start: Evaluation, h: float, step: Step) -> Taken:
        """Project and evaluate the end of a step."""
        # Comparisons with NaN are false, so that this finds it too.
        if not (np.abs(step.q).max(initial=0.0) < _LARGEST and np.abs(step.v).max(initial=0.0) < _LARGEST):
            raise radau.StepFailed
        q, v, projected = step.q, step.v, 0.0
        if motion.constrained:
            q, v = motion.project(q, v)
            energies = motion.energy(np.stack([step.q, q]), np.stack([step.v, v]))
            projected = float(energies[1] - energies[0])
        return Taken(motion.evaluate(start.t + h, q, v), step.works, projected)

    def _longest_possible(self, motion: Motion, start: Evaluation, h: float) -> Taken:
        """Halve the step of an implicit integrator until its equations have a solution."""
        while True:
            try:
                return self._finished(motion, start, h, self._step(motion, start, h))
            except radau.StepFailed:
                h *= 0.5
                # A shorter step would hide that an explicit method has diverged.
                if self.integrator != "radau" or h < 1e-6 * self.resolution:
                    raise InputError(
                        f"simulate: at t = {start.t:.9g} s the motion grows without bound or has no solution with "
                        f"{self.integrator} (largest |v| {np.abs(start.v).max():.3g}); try a shorter step or radau"
                    ) from None

    def _controlled(self, motion: Motion, start: Evaluation, longest: float) -> tuple[float, Step]:
        """Return the length (s) of a step whose estimated error is within the tolerance, and the step."""
        h = min(self._proposed, longest)
        while True:
            step = self._step(motion, start, h)
            error = adaptive.error_estimate(step, start, h, self.tolerance)
            advised = adaptive.next_step(h, error)
            if error < 1.0:
                # A step cut short by the end of an interval says little about how long the next may be.
                self._proposed = max(advised, self._proposed) if h < self._proposed else advised
                return h, step
            h = advised
            if h < _SHORTEST * self.resolution:
                raise InputError(
                    f"simulate: at t = {start.t:.9g} s the adaptive step fell below {h:.1e} s; "
                    f"expected a smoother torque or a tolerance above {self.tolerance:g}"
                )

    def _located(self, motion: Motion, start: Evaluation, beyond: Taken) -> Taken:
        """Return the shortest step that ends in an event: regula falsi (Illinois) on the smallest guard."""
        low, high = 0.0, beyond.end.t - start.t
        value_low, value_high = max(float(start.guards.min()), 0.0), float(beyond.end.guards.min())
        for _ in range(_LOCATION_STEPS):
            if high - low <= _SHORTEST * self.resolution:
                break
            # A guard that has only come into being within the step gives no slope to go by.
            slope = (value_high - value_low) / (high - low) if 0.0 < value_low < np.inf else 0.0
            h = high - value_high / slope if slope else 0.5 * (low + high)
            h = min(max(h, low + 0.01 * (high - low)), high - 0.01 * (high - low))
            trial = self._longest_possible(motion, start, h)
            value = float(trial.end.guards.min())
            if value < 0.0:
                beyond, high, value_high = trial, h, value
                value_low *= 0.5
            else:
                low, value_low = h, value
                value_high *= 0.5
        return beyond
