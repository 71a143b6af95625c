"""One run of a simulation: the grid of times, changes of structure on the way, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import joint_wrenches
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.integrators import Driver
from setsu.simulation.motion import POWERS, Evaluation
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.transitions import begin, change_loop, settle, switch

__all__ = ["Run"]

Floats = NDArray[np.float64]
_ENTRIES = (*POWERS, "projection", "impacts", "integration")


class Run:
    """Takes a motion over a grid of times and keeps what happens.

    motion: a FreeMotion or a ConstrainedMotion; names: of the contacts.
    """

    def __init__(self, mechanism: Mechanism, motion: Any, driver: Driver, contact_names: tuple[str, ...]) -> None:
        self.mechanism, self.motion, self.driver, self.contact_names = mechanism, motion, driver, contact_names
        self.works = np.zeros(len(POWERS))
        self.projection = self.impacts = 0.0
        self.rows: list[tuple[Evaluation, Floats, float]] = []
        self.events: list[EventReport] = []
        self.state: Evaluation

    def begin(self, q: Floats, v: Floats) -> None:
        """Evaluate and record the state at t = 0."""
        self.state, reports = begin(self.motion, q, v)
        self._book_events(reports)
        self._record()

    def go(
        self,
        times: Floats,
        record_every: int,
        changes: list[CloseLoop | OpenLoop],
        progress: Callable[[str, float], None],
    ) -> None:
        """Advance over `times` (s), the first of which is 0, and record every so many of them, and the last."""
        waiting = list(changes)
        for index, time in enumerate(times[1:], start=1):
            while waiting and waiting[0].time <= time:
                change = waiting.pop(0)
                self._advance_to(change.time)
                self.motion, self.state, report = change_loop(self.motion, self.state, change)
                self._book_events([report])
            self._advance_to(float(time))
            if index % record_every == 0 or index == len(times) - 1:
                self._record()
                progress(f"t = {time:.3g} s", index / (len(times) - 1))

    def recording(self) -> Recording:
        """Return what was recorded so far."""
        m = self.mechanism
        states = [row[0] for row in self.rows]
        column = lambda key: np.array([getattr(state, key) for state in states])  # noqa: E731
        q, v, acceleration = column("q"), column("v"), column("acceleration")
        has_forces = states[0].external is not None
        energy = np.array([row[2] for row in self.rows])
        entries = np.array([row[1] for row in self.rows])
        rest = energy - energy[0] - entries.sum(axis=1)
        return Recording(
            name=m.name,
            integrator=self.driver.integrator,
            step=self.driver.resolution,
            joint_names=m.joint_names,
            body_names=m.body_names,
            velocity_names=_axis_names(m, "nv"),
            coordinate_names=_axis_names(m, "nq"),
            contact_names=self.contact_names,
            loop_names=tuple(loop.name for loop in m.loops),
            time=column("t"),
            q=q,
            v=v,
            acceleration=acceleration,
            torque=column("torque"),
            joint_wrenches=joint_wrenches(m, q, v, acceleration, column("external") if has_forces else None, "world"),
            normal_force=column("normal_force"),
            friction_force=column("friction_force"),
            contact_force=column("contact_force"),
            loop_wrench=column("loop_wrench"),
            energy=energy,
            constraint_error=column("error"),
            ledger=EnergyLedger(**dict(zip(_ENTRIES, (*entries.T, rest), strict=True))),
            events=tuple(self.events),
            mechanism=m,
        )

    def _advance_to(self, target: float) -> None:
        while self.state.t < target:
            # What is left below a rounding of the time is no step.
            if target - self.state.t <= 1e-9 * self.driver.resolution:
                self.state = _at_time(self.state, target)
                return
            taken, event = self.driver.advance(self.motion, self.state, target)
            self.works += taken.works
            self.projection += taken.projected
            self.state = taken.end
            if event:
                self.state, reports = switch(self.motion, taken.end)
                self._book_events(reports)
            else:
                settle(self.motion, taken.end)

    def _book_events(self, reports: list[EventReport]) -> None:
        self.events.extend(reports)
        self.impacts -= sum(report.energy_lost for report in reports)

    def _record(self) -> None:
        entries = np.array([*self.works, self.projection, self.impacts])
        energy = float(self.motion.energy(self.state.q, self.state.v))
        self.rows.append((self.state, entries, energy))


def _at_time(state: Evaluation, time: float) -> Evaluation:
    """The same state, a rounding later."""
    return Evaluation(**{**state.__dict__, "t": time})


def _axis_names(m: Mechanism, count: str) -> tuple[str, ...]:
    """Names of coordinates or velocities: the joint's, with a suffix where it has several."""
    names: list[str] = []
    for body in m.moving:
        number = getattr(body.joint, count)
        if number == 1:
            names.append(body.joint.name)
            continue
        suffixes: tuple[str, ...] = tuple(str(k) for k in range(number))
        if isinstance(body.joint, Free):
            suffixes = (
                ("x", "y", "z", "qx", "qy", "qz", "qw") if count == "nq" else ("vx", "vy", "vz", "wx", "wy", "wz")
            )
        elif isinstance(body.joint, Spherical):
            suffixes = ("qx", "qy", "qz", "qw") if count == "nq" else ("wx", "wy", "wz")
        names.extend(f"{body.joint.name} {suffix}" for suffix in suffixes)
    return tuple(names)
