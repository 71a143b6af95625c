"""Many runs of a tree of bodies through time together: every operation on arrays with one row per run.

| symbol | meaning |
|---|---|
| q, v, a, tau | coordinates, velocities, accelerations, torques, one row per run |
| h | step (s) |
| ⊕ | setsu.integrate: addition for plain coordinates, rotations for quaternions |

    semi_implicit:  v' = v + h a(t, q, v),  q' = q ⊕ h v'                                          (1)
    rk4:            k_i = (v_i, a_i) at t + c_i h,  (q, v)' = (q, v) + h/6 (k1 + 2 k2 + 2 k3 + k4)   (2)  simulation/rk4

The same steps as setsu.simulate takes for one run, on the same times. Runs are taken in blocks that stay in the cache.
A run that grows without bound is put aside with the time it happened; the others do not notice.
Cost per run and step: one (1) or four (2) batched accelerations. Refuses loops, contacts, joints that can
stick and, for (2), quaternions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import compile, forward_dynamics, gravity_torque, kinetic_energy, potential_energy
from setsu.dynamics.catalogue import fast_function
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.scenario import Prepared, Simulation
from setsu.scenario.torques import TorqueLaw
from setsu.simulation.joint_friction import has_dry_friction
from setsu.simulation.rk4 import STAGE_POSITIONS
from setsu.sweep.varied import VariedFunction

__all__ = ["Outcome", "RunModel", "can_batch", "run_batch"]

Floats = NDArray[np.float64]
Rows = slice | NDArray[np.int64]

BLOCK = 1024
"""Runs that go through time together: their arrays fit into the second-level cache."""

_LARGEST = 1e8  # as in setsu.simulate: rad, m, or per second
_WORTH_COMPILING = 300_000  # run steps above which code for the mechanism alone pays
_LARGEST_STEP = 40  # velocities up to which a step in one piece pays


@dataclass(frozen=True)
class RunModel:
    """What the time loop asks of the mechanisms of the runs, one row per run."""

    accelerations: Callable[[Floats, Floats, Floats], Any]
    kinetic: Callable[[Floats, Floats], Any]
    potential: Callable[[Floats], Any]
    gravity: Callable[[Floats], Any]
    add: Callable[[Floats, Floats], Any] | None
    whole_step: Callable[[Floats, Floats, Floats], Any] | None = None
    """One semi-implicit step of the usual length in one piece of native code."""

    @staticmethod
    def of_one(m: Mechanism, settings: Simulation, runs: int) -> RunModel:
        """All runs have the same mechanism."""
        flat, plain = m.nq == m.nv, not m.has_force_elements
        accelerations: Callable[..., Any] = lambda q, v, tau: forward_dynamics(m, q, v, tau)  # noqa: E731
        whole = None
        if runs * settings.duration / settings.step > _WORTH_COMPILING:
            accelerations = compile(m, ["forward_dynamics"]).forward_dynamics
            if flat and plain and settings.integrator == "semi_implicit" and m.nv <= _LARGEST_STEP:
                whole = VariedFunction.step_of(m, settings.step)
        elif plain:
            accelerations = fast_function(m, "forward_dynamics")
        return RunModel(
            accelerations,
            lambda q, v: kinetic_energy(m, q, v),
            lambda q: potential_energy(m, q),
            lambda q: gravity_torque(m, q),
            None if flat else fast_function(m, "integrate"),
            whole,
        )

    @staticmethod
    def of_each(nominal: Mechanism, mechanisms: list[Mechanism], settings: Simulation) -> RunModel:
        """Every run has its own mechanism, of the same structure."""
        make = lambda name: VariedFunction.of(name, nominal, mechanisms)  # noqa: E731
        flat = nominal.nq == nominal.nv
        fused = flat and settings.integrator == "semi_implicit"
        return RunModel(
            make("forward_dynamics"),
            make("kinetic_energy"),
            make("potential_energy"),
            make("gravity_torque"),
            None if flat else fast_function(nominal, "integrate"),
            VariedFunction.step_of(nominal, settings.step, mechanisms) if fused else None,
        )

    def rows(self, chosen: Rows) -> RunModel:
        """The model of some of the runs."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return RunModel(**{name: p.rows(chosen) if isinstance(p, VariedFunction) else p for name, p in parts.items()})


@dataclass(frozen=True)
class Outcome:
    """What is kept of the runs, one row each; `errors` is empty where a run went well."""

    final_q: Floats
    final_v: Floats
    largest_speed: Floats
    largest_torque: Floats
    energy_start: Floats
    energy_end: Floats
    end_time: Floats
    errors: list[str]


def can_batch(ready: Prepared) -> bool:
    """Whether runs of a scenario can go through time together."""
    m, s = ready.mechanism, ready.scenario.simulation
    free = not (m.loops or m.couplings or ready.contacts or ready.events or s.joint_stops or has_dry_friction(m))
    free = free and ready.scenario.environment is None
    turning = any(isinstance(body.joint, Free | Spherical) for body in m.moving)
    return free and (s.integrator == "semi_implicit" or (s.integrator == "rk4" and not turning))


def run_batch(ready: Prepared, model: RunModel, q0: Floats, v0: Floats, law: TorqueLaw) -> Outcome:
    """Take runs from states q0 (runs, nq), v0 (runs, nv) to the end; law: of all runs (`TorqueLaw.for_runs`)."""
    blocks = [slice(start, start + BLOCK) for start in range(0, len(q0), BLOCK)]
    parts = [_Block(ready, model.rows(rows), q0[rows], v0[rows], law.rows(rows)).run() for rows in blocks]
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Outcome.__dataclass_fields__
        if name != "errors"
    }
    return Outcome(**arrays, errors=[error for part in parts for error in part.errors])


class _Block:
    """Some runs on their way; those that fail leave it."""

    def __init__(self, ready: Prepared, model: RunModel, q0: Floats, v0: Floats, law: TorqueLaw) -> None:
        self.settings, self.model, self.law = ready.scenario.simulation, model, law
        self.step = _semi_implicit if self.settings.integrator == "semi_implicit" else _rk4
        self.q, self.v = np.array(q0), np.array(v0)
        self.speed, self.torque = np.zeros(v0.shape), np.zeros(v0.shape)
        self.alive = np.arange(len(q0))
        self.errors = [""] * len(q0)
        self.end_time = np.full(len(q0), self.settings.duration)

    def run(self) -> Outcome:
        """Take the runs to the end."""
        n, times = len(self.alive), _times(self.settings.duration, self.settings.step)
        if self.model.add is not None:
            # Adding nothing scales quaternions to length one, as setsu.simulate does.
            self.q = self.model.add(self.q, np.zeros(self.v.shape))
        energy_start = _energy(self.model, self.q, self.v)
        every, last = self.settings.record_every, len(times) - 1
        # A run that grows without bound overflows before it is found out.
        with np.errstate(over="ignore", invalid="ignore"):
            self._summarise(0.0)
            for k in range(last):
                t = float(times[k])
                self._advance(t, float(times[k + 1]) - t)
                if (k + 1) % every == 0 or k + 1 == last:
                    self._drop_runaways(float(times[k + 1]))
                    self._summarise(float(times[k + 1]))
        energy_end = _energy(self.model, self.q, self.v) if len(self.alive) else np.zeros(0)
        spread = lambda part: _spread(part, self.alive, n)  # noqa: E731
        return Outcome(
            spread(self.q), spread(self.v), spread(self.speed), spread(self.torque),
            energy_start, spread(energy_end), self.end_time, self.errors,
        )  # fmt: skip

    def _advance(self, t: float, h: float) -> None:
        """Take a step; runs that cannot are dropped, and the step is taken without them."""
        while len(self.alive):
            try:
                self.q, self.v = self.step(self.model, self.law, self.q, self.v, t, h, self.settings.step)
                return
            except InputError:
                self._drop(self._stuck(np.arange(len(self.alive)), t, h), t)

    def _stuck(self, rows: NDArray[np.int64], t: float, h: float) -> list[int]:
        """Rows of `rows` whose step fails, found by halves."""
        try:
            self.step(self.model.rows(rows), self.law.rows(rows), self.q[rows], self.v[rows], t, h, self.settings.step)
            return []
        except InputError:
            if len(rows) == 1:
                return [int(rows[0])]
            middle = len(rows) // 2
            return [*self._stuck(rows[:middle], t, h), *self._stuck(rows[middle:], t, h)]

    def _drop_runaways(self, t: float) -> None:
        largest = np.maximum(np.abs(self.q).max(axis=1, initial=0.0), np.abs(self.v).max(axis=1, initial=0.0))
        # Comparisons with NaN are false, so that this finds it too.
        bad = np.flatnonzero(~(largest < _LARGEST))
        if len(bad):
            self._drop(bad.tolist(), t)

    def _drop(self, rows: list[int], t: float) -> None:
        for row in rows:
            self.end_time[self.alive[row]] = t
            self.errors[self.alive[row]] = (
                f"at t = {t:.9g} s the motion grows without bound or has no solution with {self.settings.integrator} "
                f"(largest |v| {np.abs(self.v[row]).max(initial=0.0):.3g}); try a shorter step"
            )
        keep = np.setdiff1d(np.arange(len(self.alive)), rows)
        self.model, self.law, self.alive = self.model.rows(keep), self.law.rows(keep), self.alive[keep]
        self.q, self.v, self.speed, self.torque = (x[keep] for x in (self.q, self.v, self.speed, self.torque))

    def _summarise(self, t: float) -> None:
        if len(self.alive):
            np.maximum(self.speed, np.abs(self.v), out=self.speed)
            np.maximum(self.torque, np.abs(self.law(t, self.q, self.v, self.model.gravity)), out=self.torque)


def _semi_implicit(
    model: RunModel, law: TorqueLaw, q: Floats, v: Floats, t: float, h: float, usual: float
) -> tuple[Floats, Floats]:
    tau = law(t, q, v, model.gravity)
    if model.whole_step is not None and abs(h - usual) <= 1e-9 * usual:
        return model.whole_step(q, v, tau)
    a = model.accelerations(q, v, tau)
    np.multiply(a, h, out=a)
    v = np.add(v, a)  # (1)
    np.multiply(v, h, out=a)
    return (np.add(q, a, out=a) if model.add is None else model.add(q, a)), v


def _rk4(
    model: RunModel, law: TorqueLaw, q: Floats, v: Floats, t: float, h: float, usual: float
) -> tuple[Floats, Floats]:
    f, half, N = model.accelerations, 0.5 * h, h * h * STAGE_POSITIONS
    a1 = f(q, v, law(t, q, v, model.gravity))
    q2, v2 = q + half * v + N[1, 0] * a1, v + half * a1
    a2 = f(q2, v2, law(t + half, q2, v2, model.gravity))
    q3, v3 = q + half * v + N[2, 0] * a1 + N[2, 1] * a2, v + half * a2
    a3 = f(q3, v3, law(t + half, q3, v3, model.gravity))
    q4, v4 = q + h * v + N[3, 0] * a1 + N[3, 1] * a2 + N[3, 2] * a3, v + h * a3
    a4 = f(q4, v4, law(t + h, q4, v4, model.gravity))
    return q + (h / 6.0) * (v + 2.0 * (v2 + v3) + v4), v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)  # (2)


def _energy(model: RunModel, q: Floats, v: Floats) -> Floats:
    return np.asarray(model.kinetic(q, v) + model.potential(q))


def _spread(part: Floats, rows: NDArray[np.int64], n: int) -> Floats:
    """Rows put back among n, NaN where a run failed."""
    whole = np.full((n, *part.shape[1:]), np.nan)
    whole[rows] = part
    return whole


def _times(duration: float, step: float) -> Floats:
    """The times of setsu.simulate: multiples of the step, the last one cut short where they do not fit."""
    count = max(1, math.ceil(duration / step * (1.0 - 1e-12) - 1e-9))
    times = step * np.arange(count + 1, dtype=np.float64)
    times[-1] = duration
    return times
