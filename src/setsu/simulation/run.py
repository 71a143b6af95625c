"""One run of a simulation: the grid of times, changes of structure on the way, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Free, Mechanism, Spherical
from setsu.simulation.contact_modes import JamError
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.integrators import Driver
from setsu.simulation.jamming import SHORTEST, resolve_jam
from setsu.simulation.motion import POWERS, Evaluation
from setsu.simulation.recorded_forces import Block, RecordedForces, column
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.stretch import Stretch
from setsu.simulation.transitions import begin, change_loop, settle, switch

__all__ = ["Run"]

Floats = NDArray[np.float64]
_ENTRIES = (*POWERS, "projection", "impacts", "integration")
_STEPS_AT_ONCE = 500


class Run:
    """Takes a motion over a grid of times and keeps what happens.

    motion: a FreeMotion or a ConstrainedMotion; names: of the contacts.
    """

    def __init__(self, mechanism: Mechanism, motion: Any, driver: Driver, contact_names: tuple[str, ...]) -> None:
        self.mechanism, self.motion, self.driver, self.contact_names = mechanism, motion, driver, contact_names
        self.works = np.zeros(len(POWERS))
        self.projection = self.impacts = 0.0
        self.blocks: list[Block] = []
        self.events: list[EventReport] = []
        self.state: Evaluation
        self._stretch: Stretch | None = None

    def begin(self, q: Floats, v: Floats) -> None:
        """Evaluate and record the state at t = 0."""
        self.state, reports = begin(self.motion, q, v)
        # The ledger begins with the energy of the first record, after an impact or jam at the start.
        self.events.extend(reports)
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
        index, last = 1, len(times) - 1
        while index <= last:
            while waiting and waiting[0].time <= times[index]:
                change = waiting.pop(0)
                self._advance_to(change.time)
                self.motion, self.state, report = change_loop(self.motion, self.state, change)
                self._book_events([report])
            end = min(index + _STEPS_AT_ONCE, last + 1)
            if waiting:
                end = min(end, int(np.searchsorted(times, waiting[0].time)))
            taken = self._without_python(times, index, end, record_every)
            index += taken
            if taken and index > last and last % record_every:
                self._record()
            elif not taken:
                self._advance_to(float(times[index]))
                if index % record_every == 0 or index == last:
                    self._record()
                index += 1
            progress(f"t = {times[index - 1]:.3g} s", (index - 1) / last)

    def recording(self) -> Recording:
        """Return what was recorded so far."""
        m, blocks = self.mechanism, tuple(self.blocks)
        energy, entries = column(blocks, "energy"), column(blocks, "entries")
        rest = energy - energy[0] - entries.sum(axis=1)
        forces = RecordedForces(m, blocks)
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
            time=column(blocks, "time"),
            q=column(blocks, "q"),
            v=column(blocks, "v"),
            acceleration=column(blocks, "acceleration"),
            torque=column(blocks, "torque"),
            joint_wrenches=lambda: forces.joint_wrenches,
            normal_force=column(blocks, "normal_force"),
            friction_force=column(blocks, "friction_force"),
            contact_force=lambda: forces.contact_force,
            loop_wrench=lambda: forces.loop_wrench,
            energy=energy,
            constraint_error=column(blocks, "error"),
            ledger=EnergyLedger(**dict(zip(_ENTRIES, (*entries.T, rest), strict=True))),
            events=tuple(self.events),
            mechanism=m,
            surface_contacts=tuple(getattr(self.motion, "contacts", ())),
        )

    def _without_python(self, times: Floats, index: int, end: int, every: int) -> int:
        """Take steps in compiled code up to the grid time before `end`, or to an event; return how many were taken."""
        if not Stretch.possible(self.motion, self.driver) or end <= index or self.state.t != times[index - 1]:
            return 0
        if self._stretch is None or self._stretch.motion is not self.motion:
            self._stretch = Stretch(self.motion, self.driver.integrator)
        taken = self._stretch.go(self.state, times[index - 1 : end], index, every)
        if not taken.count:
            return 0
        self.state = taken.end
        if len(taken.records.q):
            start = np.array([*self.works, self.projection])
            entries = np.empty((len(taken.records.q), len(POWERS) + 2))
            entries[:, :-1], entries[:, -1] = start + taken.records.numbers[:, 2:7], self.impacts
            n_times = times[index : index + taken.count]
            kept = (np.arange(index, index + taken.count) % every) == 0
            records = taken.records
            self.blocks.append(
                Block(
                    self.motion,
                    n_times[kept],
                    records.q,
                    records.v,
                    records.a,
                    np.broadcast_to(taken.end.torque, records.a.shape),
                    records.normal_force,
                    records.friction_force,
                    records.dry_force,
                    records.multiplier,
                    records.numbers[:, 7],
                    records.numbers[:, 1],
                    records.numbers[:, 0],
                    entries,
                )
            )
        self.works += taken.totals[:4]
        self.projection += float(taken.totals[4])
        return taken.count

    def _advance_to(self, target: float) -> None:
        end = target
        while self.state.t < target:
            # What is left below a rounding of the time is no step.
            if target - self.state.t <= 1e-9 * self.driver.resolution:
                self.state = _at_time(self.state, target)
                return
            try:
                taken, event = self.driver.advance(self.motion, self.state, end)
            except JamError as jam:
                # Come as near as time can tell, then let the impulse act.
                end = self.state.t + 0.5 * (end - self.state.t)
                if end - self.state.t <= SHORTEST * self.driver.resolution:
                    end = target
                    self._resolve(jam)
                continue
            end = target
            self.works += taken.works
            self.projection += taken.projected
            self.state = taken.end
            if event:
                self.state, reports = switch(self.motion, taken.end)
                self._book_events(reports)
            else:
                settle(self.motion, taken.end)

    def _resolve(self, jam: JamError) -> None:
        """Let a contact that jams go, or stop it, and go on from there."""
        state, reports = resolve_jam(self.motion, self.state.t, self.state.q, self.state.v, jam)
        self.state, more = switch(self.motion, state)
        self._book_events([*reports, *more])

    def _book_events(self, reports: list[EventReport]) -> None:
        self.events.extend(reports)
        self.impacts -= sum(report.energy_lost for report in reports)

    def _record(self) -> None:
        state = self.state
        self.blocks.append(
            Block(
                self.motion,
                np.array([state.t]),
                state.q[None],
                state.v[None],
                state.acceleration[None],
                state.torque[None],
                state.normal_force[None],
                state.friction_force[None],
                state.dry_force[None],
                state.multipliers[None],
                np.array([float(state.redundant)]),
                np.array([state.error]),
                np.array([float(self.motion.energy(state.q, state.v))]),
                np.array([[*self.works, self.projection, self.impacts]]),
            )
        )


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
