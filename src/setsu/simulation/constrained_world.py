"""One world with constraints: a ConstrainedMotion, its machine, and the decisions between its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.freedom import weakest_row
from setsu.errors import InputError
from setsu.kernels.tableaus import EXPLICIT
from setsu.mechanism import Mechanism
from setsu.native.compiled_code import entry, machine
from setsu.native.control_flow import jit
from setsu.native.workspace import Workspace, make
from setsu.simulation.block import Arrays, Block, Failure
from setsu.simulation.clock import READY, Ask, Clock, Drive, drive, make_clock, make_drive
from setsu.simulation.constrained_machine import (
    DIVERGENCE,
    NO_SOLUTION,
    STEP_TOO_SHORT,
    Course,
    Records,
    run_constrained,
)
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import JamError
from setsu.simulation.driven_joints import DrivenJoints
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop, initially_open
from setsu.simulation.implicit import forget_steps, make_implicit
from setsu.simulation.jamming import resolve_jam
from setsu.simulation.motion import Evaluation
from setsu.simulation.motion_space import NEEDS_DENSE
from setsu.simulation.recorded_forces import RecordedForces, RecordedStates, column
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.sampling import make_sampling
from setsu.simulation.setting_up import Settings
from setsu.simulation.stability import warn_of_lost_energy
from setsu.simulation.stages import Rows, make_method, make_stages
from setsu.simulation.transitions import begin, change_loop, switch

__all__ = ["ConstrainedWorld"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@jit
def _drive(c: Clock, y: Rows, d: Drive):
    drive(d, y, c)
    return 0


class ConstrainedWorld(Block):
    """A mechanism with loops, couplings, surface contacts, stops or dry friction, under an explicit method.

    law: answers (t, q, v) -> (nv,) where the torque is asked for.
    """

    def __init__(
        self,
        m: Mechanism,
        arrays: Arrays,
        first: int,
        settings: Settings,
        law: Callable[[float, Floats, Floats], Floats],
    ) -> None:
        super().__init__()
        step = settings.step
        self.mechanism, self.arrays, self.first, self.step = m, arrays, first, step
        implicit = settings.integrator == "radau"
        self._method, self._law = make_method(None if implicit else EXPLICIT[settings.integrator]), law
        if implicit:
            # To the machine it has the start of the step, whose slope is kept, and one stage that takes many rounds.
            self._method = self._method._replace(b=np.zeros(2), c=np.zeros(2), A=np.zeros((2, 2)), E=np.zeros((2, 2)))
        self._implicit = make_implicit(m.nv if implicit else 0)
        self.depends_on_state = True
        self._changes: list[CloseLoop | OpenLoop] = []
        self._restructured = False
        self._pushed = []
        self.sampling = make_sampling((), 1, m.nv, 0, None)
        self.clock = make_clock(1, step)
        self.clock.ledger[0] = 1
        self.events: list[EventReport] = []
        self.impacts = self._shift = 0.0
        self._drives = DrivenJoints(m, settings.prescribed)
        self._make = lambda: ConstrainedMotion(
            m,
            self,
            settings.contacts,
            open_loops=initially_open(settings.events),
            baumgarte=settings.baumgarte,
            joint_stops=settings.joint_stops,
            drives=self._drives,
        )
        self.motion = self._make()
        held = self.motion.constrained and not settings.leave_free(m)
        self.course = make(
            Course,
            {"nv": m.nv, "drives": len(self._drives)},
            held=np.array([int(held)]),
            until=np.array([np.inf]),
            adaptive=np.array([int(settings.integrator == "adaptive")]),
            tolerance=np.array([settings.tolerance]),
            proposed=np.array([step]),
            q=arrays.q,
            v=arrays.v,
        )
        self._settings, self.sensed = settings, len(settings.contacts)
        self._blocks: list[Any] = []
        self._room = 1
        self._take_motion(self.motion)

    # Workspaces ----------------------------------------------------------------------------------------------------

    def _take_motion(self, motion: ConstrainedMotion) -> None:
        """Work on the arrays of a motion: at the start, and when a loop opens or closes."""
        self.motion, self.space = motion, motion.space
        state, work, m, a = self.space.state, self.space.work, motion.mechanism, self.arrays
        self.rows = Rows(
            state.q.reshape(1, -1),
            state.v.reshape(1, -1),
            work.a.reshape(1, -1),
            work.powers.reshape(1, -1),
            a.t,
            np.zeros(1),
            a.t0,
            a.k,
        )
        # Their rows are the last of those that are kept, before contacts.
        kept, drives = len(self.space.tables.held), len(self._drives)
        self.course.drive_velocity[:] = self._drives.velocity
        self.course.drive_place[:] = np.arange(kept - drives, kept)
        total = work.tau.reshape(1, -1)
        # Laws and pushes go on acting when a loop opens or closes.
        begun = hasattr(self, "drive")
        self.drive = self.drive._replace(total=total) if begun else make_drive(a.held, a.asked, total, m.nq)
        self.stages, self._kept_stages = make_stages(m, self._method, self.rows)
        self._make_records(self._room)
        if self._pushed:
            self._make_push_slots(self._pushed)

    def _make_records(self, room: int) -> None:
        m = self.mechanism
        contacts, axes, loop_rows = self.motion.record_widths()
        self.records = make(
            Records,
            {"room": room, "nq": m.nq, "nv": m.nv, "contacts": contacts, "axes": axes, "loop_rows": loop_rows},
        )
        self.clock.used[0] = 0
        self.rebind()

    def rebind(self) -> None:
        """Make the way into the machine anew, after workspaces have changed."""
        own = (self.clock, self.course, self.rows, self.drive, self.sampling, self.stages)
        self._workspaces = [Workspace(fields) for fields in own]
        c, e, y, d, p, g = self._workspaces
        space = self.space.arguments
        self.machine = machine(
            run_constrained,
            Workspace(self._method),
            Workspace(self._implicit),
            c,
            e,
            y,
            d,
            p,
            g,
            Workspace(self.records),
            *space,
        )
        self._find_torque = entry(_drive, c, y, d)

    def workspaces(self) -> Iterable[Workspace]:
        """All workspaces but the records."""
        return (*self._workspaces, Workspace(self._implicit), *self.space.arguments)

    @property
    def q_of_stage(self) -> Floats:
        """Configurations (1, nq) that are evaluated."""
        return self.rows.q

    # Torque, as the decisions between steps ask for it -----------------------------------------------------------

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) that acts at time t in a state."""
        y = self.rows
        y.t[0] = t + self._shift
        # An impact asks for the torque behind it before its velocities are taken over.
        loaded = y.q[0].copy(), y.v[0].copy()
        y.q[0], y.v[0] = q, v
        if self.clock.asks[0]:
            self.drive.asked[0] = self._law(t + self._shift, q, v)
        self._find_torque()
        y.q[0], y.v[0] = loaded
        return self.drive.total[0].copy()

    # Running -------------------------------------------------------------------------------------------------------

    def reset(self, rows: Ints) -> None:
        """Begin anew with the state that stands in the arrays."""
        c, e = self.clock, self.course
        self._changes = [change for change in self._settings.events if change.time >= self.arrays.t[0]]
        if self._restructured:
            self._take_motion(self._make())
            self._restructured = False
        c.frozen[:], c.failure[0], c.answered[0] = 0, -1, 0
        e.inside[0] = e.unchecked[0] = e.locating[0] = 0
        e.totals[:], self.impacts, self.events = 0.0, 0.0, []
        e.proposed[0], e.until[0] = self.step, np.inf
        t = float(self.arrays.t[0])
        # A run of the motion alone begins at t = 0.
        self._shift = t
        self.motion.start_at(t)
        if len(self._drives):
            self._drives.refuse_start(self.motion.system, t, self.arrays.q[0], self.arrays.v[0])
        try:
            state, reports = begin(self.motion, self.arrays.q[0].copy(), self.arrays.v[0].copy())
        finally:
            self._shift = 0.0
            self.motion.start_at(0.0, t)
        self.events.extend(replace(report, time=t) for report in reports)
        self._put(state, t)

    def _load(self, q: Floats, v: Floats) -> None:
        self.motion.load(q, v)
        self.course.most[0] = self.motion.largest_rank

    def _put(self, state: Evaluation, t: float) -> None:
        """Go on from an evaluated state."""
        self._load(state.q, state.v)
        if self.space is not self.motion.space:
            # Dense factors have come to it.
            self.space = self.motion.space
            self.rebind()
        work, e = self.space.work, self.course
        work.tau[:], work.a[:], work.powers[:] = state.torque, state.acceleration, state.powers
        self.drive.tau[0] = state.torque
        self.rows.t[0] = self.rows.start[0] = t
        e.guard[0] = float(state.guards.min(initial=np.inf))
        e.factored[0] = 0
        forget_steps(self._implicit)
        self.clock.phase[0], self.clock.stage[0], self.clock.answered[0] = READY, -1, 0
        self._show()

    def _show(self) -> None:
        """State of the world where the simulator reads it."""
        self.arrays.q[...], self.arrays.v[...] = self.rows.q, self.rows.v

    @property
    def is_plain(self) -> bool:
        """Whether steps without records need nothing of Python but torques."""
        return not (self._changes or len(self._drives))

    def call(self) -> Ask:
        """Let the machine run until it asks, to the next change of structure at most."""
        while True:
            if self._changes:
                self.course.until[0] = self._changes[0].time
            ask = super().call()
            while ask is Ask.NEED_MOTION:
                self.motion.place(float(self.rows.t[0]))
                ask = super().call()
            if not self._changes or ask is not Ask.DONE or not self._change_is_due():
                return ask
            self._change_loop(self._changes.pop(0))
            self.course.until[0] = np.inf

    def _change_is_due(self) -> bool:
        t = float(self.rows.t[0])
        return self.clock.phase[0] == READY and t >= self._changes[0].time - 1e-9 * self.step

    def answer_event(self) -> None:
        """Change the modes of contacts, stops and joints, as the guards demand."""
        self.take_records()
        self._remember_modes()
        t = float(self.rows.t[0])
        start = float(self.rows.start[0])
        found = self.motion.gathered(t, self.rows.q[0].copy(), self.rows.v[0].copy(), self.space.work.tau.copy())
        try:
            state, reports = switch(self.motion, found)
        except InputError as problem:
            raise Failure(str(problem).removeprefix("simulate: ")) from problem
        self._log(reports)
        self._put(state, t)
        self.rows.start[0] = start

    def answer_failure(self) -> None:
        """Let contacts that jam go, or stop them; nothing else helps."""
        if self.clock.frozen[0]:
            raise Failure(self.reason(0))
        self.take_records()
        self._remember_modes()
        t, status = float(self.rows.start[0]), int(self.clock.failure[0])
        self.clock.failure[0] = -1
        q, v = self.rows.q[0].copy(), self.rows.v[0].copy()
        try:
            if status == DIVERGENCE:
                speed = np.abs(v).max(initial=0.0)
                raise Failure(
                    f"at t = {t:.9g} s the motion grows without bound or has no solution with an explicit method "
                    f"(largest |v| {speed:.3g}); try a shorter step or radau"
                )
            if status == NO_SOLUTION:
                weak = weakest_row(self.motion.mechanism, q)
                where = f": {weak} is singular there, or nearly so" if weak else ""
                way_out = "rk8, which steps over such configurations" if weak else "another integrator"
                raise Failure(
                    f"at t = {t:.9g} s the equations of an implicit step have no solution, however short it is{where}; "
                    f"try {way_out}"
                )
            if status == STEP_TOO_SHORT:
                raise Failure(
                    f"at t = {t:.9g} s the adaptive step fell below {self.clock.h[0]:.1e} s; "
                    f"expected a smoother torque or a tolerance above {self.course.tolerance[0]:g}"
                )
            if status == NEEDS_DENSE:
                self.motion.use_dense_factors(t)
                inside = int(self.course.inside[0])
                self._put(self.motion.evaluate(t, q, v), t)
                self.course.inside[0] = inside
                return
            self.motion.refuse(status, t)
        except JamError as jam:
            inside = int(self.course.inside[0])
            state, reports = resolve_jam(self.motion, t, q, v, jam)
            state, more = switch(self.motion, state)
            self._log([*reports, *more])
            self._put(state, t)
            self.course.inside[0] = inside
        except InputError as problem:
            raise Failure(str(problem).removeprefix("simulate: ")) from problem

    def _change_loop(self, change: CloseLoop | OpenLoop) -> None:
        """Close or open a loop now."""
        self.take_records()
        self._remember_modes()
        t = float(self.rows.t[0])
        q, v = self.rows.q[0].copy(), self.rows.v[0].copy()
        now = self.motion.evaluate(t, q, v)
        inside, start, totals = self.course.inside.copy(), self.rows.start.copy(), self.course.totals.copy()
        motion, state, report = change_loop(self.motion, now, change)
        self._take_motion(motion)
        self._restructured = True
        self.course.inside[:], self.course.totals[:] = inside, totals
        self._log([report])
        self._put(state, t)
        self.rows.start[:] = start

    def _remember_modes(self) -> None:
        self.motion.learn_rank(int(self.course.most[0]))
        self.motion.unload_directions()

    def _log(self, reports: Iterable[EventReport]) -> None:
        for report in reports:
            self.events.append(report)
            self.impacts -= report.energy_lost

    # State -----------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that a step changes, as copies."""
        self._remember_modes()
        motion = self.motion
        return super().state() | {
            "loops": (motion.declared, motion.open_loops),
            "modes": list(motion.modes),
            "stops": motion.stops.held,
            "friction": (motion.friction.held, motion.friction.sign.copy()),
            "ranks": dict(motion._ranks),
            "packed": motion.space.packed,
            "events": list(self.events),
            "impacts": self.impacts,
            "changes": list(self._changes),
        }

    def set_state(self, kept: dict[str, Any]) -> None:
        """Take over the state of a world of the same kind."""
        declared, open_loops = kept["loops"]
        if (declared.digest, open_loops) != (self.motion.declared.digest, self.motion.open_loops):
            self._take_motion(self.motion.restructured(declared, open_loops))
            self._restructured = True
        if kept["packed"] != self.motion.space.packed:
            if kept["packed"]:
                self._take_motion(self.motion.restructured(declared, open_loops))
            else:
                self.motion.use_dense_factors(0.0)
                self.space = self.motion.space
                self.rebind()
        motion = self.motion
        motion.modes[:], motion.stops.held = kept["modes"], kept["stops"]
        motion.friction.held, motion.friction.sign[:] = kept["friction"]
        motion._ranks = dict(kept["ranks"])
        super().set_state(kept)
        self.events, self.impacts, self._changes = list(kept["events"]), kept["impacts"], list(kept["changes"])

    # Recording -----------------------------------------------------------------------------------------------------

    def begin_records(self, rows: int, whole: bool = False) -> None:
        """Forget all records, and make room for so many at once; whole: of every quantity."""
        self._blocks, self._room = [], max(rows, 1)
        self._make_records(self._room)

    @property
    def row_bytes(self) -> int:
        """What a recorded state takes, in bytes."""
        return sum(array[:1].nbytes for array in self.records)

    def take_records(self) -> None:
        """Take over the records that the machine has kept."""
        used = int(self.clock.used[0])
        if used:
            self._blocks.append(self._taken(used))
            self.clock.used[0] = 0

    def _taken(self, used: int) -> RecordedStates:
        kept = Records(*(array[:used].copy() for array in self.records))
        entries = np.hstack([kept.totals, np.full((used, 1), self.impacts)])
        return RecordedStates(self.motion, kept, entries)

    def recording(self, row: int, **names: Any) -> Recording:
        """Return the recording of this world."""
        m, blocks = self.mechanism, tuple(self._blocks) or (self._taken(0),)
        energy, entries = column(blocks, "energy"), np.concatenate([block.entries for block in blocks])
        rest = energy - energy[:1] - entries.sum(axis=1)
        forces = RecordedForces(m, blocks, tuple(self.pushes(0)))
        time, q, v = (column(blocks, name) for name in ("t", "q", "v"))
        warn_of_lost_energy(m, time, q, v, energy, entries, rest)
        return Recording(
            **{**names, "time": time},
            q=q,
            v=v,
            acceleration=column(blocks, "a"),
            torque=column(blocks, "tau"),
            joint_wrenches=lambda: forces.joint_wrenches,
            normal_force=column(blocks, "normal_force"),
            friction_force=column(blocks, "friction_force"),
            contact_force=lambda: forces.contact_force,
            loop_wrench=lambda: forces.loop_wrench,
            energy=energy,
            constraint_error=column(blocks, "error"),
            ledger=EnergyLedger(*entries.T, integration=rest),
            mechanism=m,
        )
