"""One world with an environment: contact solved together with friction, loops, stops and impacts of each step.

Rows of a recording hold a state and what acts in the step that begins there: H a + b = tau + K f in every row. Loops,
couplings and surface contacts of the mechanism are rows of the same problem, and so are ends of travel of joints. Loops
open and close at the first step that begins at, or after, the time asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.prescribed import with_driven_couplings
from setsu.contact import free_motion as stepping
from setsu.contact import pair_log, scene, tree
from setsu.contact.body_pairs import BodyPairs
from setsu.contact.convex_tables import make_shapes
from setsu.contact.overlaps import count_overlaps, drop_overlaps
from setsu.contact.scene import N_CONTACTS, N_PAIRS, UNCONVERGED
from setsu.contact.shape_pairs import ShapePairs, shape_pairs
from setsu.dynamics import forward_dynamics, joint_wrenches, mass_matrix
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.reductions import without_bearings
from setsu.native.compiled_code import entry, machine
from setsu.native.machine_calls import Hold
from setsu.native.workspace import Workspace
from setsu.simulation import contact_machine
from setsu.simulation.block import Arrays, Block, Failure
from setsu.simulation.clock import BAD_NUMBERS, READY, Ask, make_clock, make_drive
from setsu.simulation.contact_arena import bind_motion, in_arena, make_drive_tables, make_motion
from setsu.simulation.contact_reset import BEYOND, INSIDE, begin_anew, make_fresh
from setsu.simulation.contact_start import (
    StartCheck,
    begin_at_stops,
    finder_of_contacts,
    refuse_contact_run,
)
from setsu.simulation.contact_warnings import warn_of_little_room, warn_of_unconverged
from setsu.simulation.driven_joints import DrivenJoints
from setsu.simulation.events import EventReport, initially_open
from setsu.simulation.held_loops import HeldLoops
from setsu.simulation.joint_friction import without_dry_friction
from setsu.simulation.joint_servo import JointServo, ServoRun
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.lazy_field import NotRecorded
from setsu.simulation.motion import mechanical_energy
from setsu.simulation.pair_record import PairRecord
from setsu.simulation.pushes import pushed_torque, pushed_wrenches
from setsu.simulation.recording import ContactLog, EnergyLedger, Recording
from setsu.simulation.recording_set import point_names
from setsu.simulation.sampling import make_sampling
from setsu.simulation.setting_up import CONTACT_SOLVERS, RECORDED, Settings
from setsu.simulation.stages import Rows
from setsu.simulation.step_forces import contact_wrenches, stop_forces
from setsu.simulation.touch_record import TouchRecord

__all__ = ["ContactWorld"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Law = Callable[[float, Floats, Floats], Floats]


class ContactWorld(Block):
    """A mechanism in an environment under time-stepping contact."""

    def __init__(self, m: Mechanism, arrays: Arrays, first: int, settings: Settings, law: Law) -> None:
        super().__init__()
        finder = finder_of_contacts(settings.body_contacts)
        refuse_contact_run(m, settings)
        self._drives = DrivenJoints(m, settings.prescribed)
        if len(self._drives):
            m = with_driven_couplings(m, self._drives.names)
        self.mechanism, self.arrays, self.first, self.step = m, arrays, first, settings.step
        self._settings = settings
        self._servo = ServoRun(settings.law, m) if isinstance(settings.law, JointServo) else None
        self._changes = list(settings.events)
        self.stops = JointStops(m, settings.joint_stops)
        s, environment = self.stops, settings.environment
        self._stops_in_loops = in_loops = bool((s.axis >= 0).any())
        self.loops = HeldLoops(m, settings.contacts, initially_open(settings.events), self._drives, in_loops)
        assert environment is not None
        self.environment = environment
        stops = scene.make_stops(s.coordinate, s.velocity, s.axis, s.sign, s.limit)
        self.scene = scene.make_scene(m, environment, stops)
        self.pairs = shape_pairs(m, environment, bool(finder), settings.exclude)
        self.coal = BodyPairs(self.pairs) if finder == "coal" else None
        self.shapes = make_shapes(self.pairs if finder != "coal" else ShapePairs(), m.n_bodies)
        self.pair_log = pair_log.make_pair_log(len(self.pairs.names))
        materials = [s.material for s in self.pairs.shapes if s.material]
        soft = bool(self.scene.soft[0]) or any(s.stiffness for s in materials)
        turning = scene.has_turning_friction(self.scene) or any(s.torsional or s.rolling for s in materials)
        self.problem = scene.make_problem(self.scene, m.nv, self.pairs.room, self.loops.count > 0, soft, turning)
        if self.loops.acts_along_axes:
            # What acts along an axis of a loop joint couples branches of the tree.
            self.scene = self.scene._replace(parent=np.arange(m.nv) - 1)
        plain = tree.held_trees(m, [contact.body for contact in settings.contacts])
        plain[:] |= settings.contact_solver == "sugihara2002"
        self.tree = tree.make_tree(m, scene.stopped_velocities(self.scene), plain)
        self._smooth = without_bearings(without_dry_friction(m))
        made = (self.scene, self.tree, self.problem, make_motion(m, self._servo))
        last = (self.problem.pairs, self.problem.contacts)
        # Without pairs of shapes, nothing is written to their tables.
        touching = (self.shapes, self.pair_log) if self.pairs.names else ()
        moved, self.arena, begins = in_arena(*made, *touching, last=last)
        self.scene, self.tree, self.problem, self.motion = moved[:4]
        self.shapes, self.pair_log = moved[4:] or (self.shapes, self.pair_log)
        self._bound = bind_motion(m, self._smooth, self.motion, self.shapes)
        self._start = StartCheck(environment, self.scene, point_names(m))
        vectors = self.motion.vectors
        self.clock = make_clock(1, settings.step)
        self.rows = Rows(
            self.motion.q.reshape(1, -1), vectors[stepping.V].reshape(1, -1), np.zeros((1, m.nv)), np.zeros((1, 4)),
            arrays.t, np.zeros(1), arrays.t0, arrays.k,
        )  # fmt: skip
        self.drive = make_drive(arrays.held, arrays.asked, vectors[stepping.TORQUE].reshape(1, -1), m.nq)
        solver = CONTACT_SOLVERS.index(settings.contact_solver)
        self.tables, bound = make_drive_tables(m, self.motion, arrays, solver, len(self._drives) > 0)
        self._bound += bound
        self.point_names = point_names(m)
        self._pushed, self._finder, self._room = [], finder, 1
        self.sampling, self.sensed = make_sampling((), 1, m.nv, 0, None), 3 * m.n_bodies
        self._before_last: dict[str, Any] | None = None
        self._final, self._events = False, []
        self._t0: float | None = None
        # Whether each step has to be prepared in Python, besides torques of functions.
        of_servo = self._servo is not None and self._servo.needs_state
        self._needs_python = self.coal is not None or of_servo or len(self._drives) > 0 or m.has_bearings
        self._is_plain = not (self._changes or self._needs_python or self._servo is not None)
        self._initially_open = frozenset(initially_open(settings.events))
        self._fresh = Workspace(make_fresh(self.arena, begins, self.scene, self.problem, m.total_mass))
        self.begin_records(1)

    # Workspaces ----------------------------------------------------------------------------------------------------

    @property
    def q_of_stage(self) -> Floats:
        """Configurations (1, nq) that are evaluated."""
        return self.rows.q

    def rebind(self) -> None:
        """Make the way into the machine anew, after workspaces have changed."""
        own = (self.clock, self.rows, self.drive, self.sampling, self.scene, self.tree, self.problem, self.motion)
        self._workspaces = [Workspace(fields) for fields in own]
        rest = [Workspace(fields) for fields in (self.tables, self.records, self.shapes, self.pair_log)]
        self.machine = machine(contact_machine.run_contact, *self._workspaces, *rest, self.loops.compiled)
        clock, rows, _, _, where, _, problem, motion = self._workspaces
        given = (self._fresh, clock, rows, where, problem, motion, *rest[:2], self.loops.compiled)
        self._begin_anew = entry(begin_anew, *given)
        self._count_overlaps = entry(count_overlaps, rest[2], problem, motion) if len(self.shapes.shapes) else None

    def workspaces(self) -> Iterable[Workspace]:
        """All workspaces that a step changes, but the records."""
        held = self.loops.compiled
        return (*self._workspaces, Workspace(self.shapes), Workspace(self.pair_log), held.state, held.work)

    def _mutable(self) -> list[Any]:
        return [*super()._mutable(), self.records.sums]

    # Running -------------------------------------------------------------------------------------------------------

    def reset(self, rows: Ints) -> None:
        """Begin anew with the state that stands in the arrays."""
        m, a, motion = self.mechanism, self.arrays, self.motion
        self._changes = [change for change in self._settings.events if change.time >= a.t[0]]
        self.loops.restart(self._initially_open)
        # Impulses and depths that are remembered belong to the run before.
        found, self._events = self._begin_anew(), []
        if found == BAD_NUMBERS:
            raise InputError(f"simulate: the poses of {m.name} at q0 are not finite")
        if self._count_overlaps is not None and self._count_overlaps():
            both = Workspace(self.shapes), Workspace(self.problem)
            drop_overlaps(m, self.pairs, self.shapes, both, self.problem, motion.q)
        if found & INSIDE:
            motion.energies[stepping.GIVEN] = self._start.depth(motion.poses) * motion.weight[0]
        if len(self._drives):
            motion.energies[stepping.GIVEN] = np.inf  # a drive puts in what it takes
        if self.loops.count:
            self.loops.refuse_violations(float(a.t[0]), motion.q, motion.vectors[stepping.V])
        if found & BEYOND or self._stops_in_loops:
            begin_at_stops(m, self.stops, self.scene, motion.q, *self.loops.axes(motion.q))
        if m.has_bearings:
            self._take_loads(True)
        if self._changes:
            self._change_loops()

    @property
    def events(self) -> list[EventReport]:
        """What has happened since the reset."""
        self._take_events()
        return self._events

    def new_torque(self) -> None:
        """A step always asks for the torque of its beginning: nothing is out of date."""
        self.clock.answered[0] = 0

    def set_run(self, before: int, steps: int, last: float, every: int, final: bool) -> None:
        """Let the next call of the machine take so many steps, after those of the same run before."""
        super().set_run(before, steps, last, every, False)
        self._final, self._t0, self._k0 = final, float(self.arrays.t0[0]), int(self.arrays.k[0])
        self._target, self._steps = before + steps, steps
        if self._servo is not None and not self._servo.needs_state:
            counted = np.arange(steps + 1) if self._servo.varies else np.zeros(1)
            times = np.asarray(self._t0 + (self._k0 + counted) * self.step, dtype=np.float64)
            given = dict(zip(("torque", "position", "velocity"), self._servo.tables(times), strict=True))
            # The way into the machine is made anew only where tables have other sizes: it takes as long as many steps.
            if all(getattr(self.tables, name).shape == table.shape for name, table in given.items()):
                for name, table in given.items():
                    getattr(self.tables, name)[...] = table
            else:
                self.tables = self.tables._replace(**{name: np.array(table) for name, table in given.items()})
                self.rebind()
            self.tables.first[0] = before
        self.clock.asks[0] = int(self.clock.asks[0] or self._needs_python)

    @property
    def is_plain(self) -> bool:
        """Whether steps without records need nothing of Python but torques."""
        return self._is_plain

    @property
    def watched(self) -> Ints:
        """(1,) not zero when contacts between shapes were left out."""
        return self.problem.counts[_LEFT_OUT : _LEFT_OUT + 1]

    def quick_way(self, constant: Floats) -> Hold | None:
        """Return hold(torque, steps), or None where steps are prepared in Python: see Block."""
        self._final, self._t0 = False, None
        return super().quick_way(constant)

    def notice(self) -> None:
        """Say what was noticed in steps that Python was not asked in."""
        if self.problem.counts[_LEFT_OUT]:
            self._warn_of_little_room()

    def call(self) -> Ask:
        """Let the machine run until it asks; before the step that only tells what acts at the end, keep the state."""
        while True:
            if self._changes:
                self._change_loops()
                due = [self._step_of(change.time) for change in self._changes]
                self.clock.target[0] = min([self._target, *(k for k in due if k > self.clock.done[0])])
            ask = super().call()
            if self.problem.counts[_LEFT_OUT]:
                self._warn_of_little_room()
            if ask is not Ask.DONE:
                if self._needs_python and ask is Ask.NEED_TORQUE:
                    self._prepare_step()
                return ask
            if self._before_last is not None:
                self.take_records()
                self.set_state(self._before_last)
                self._before_last = None
                if self._settings.contact_solver == "default":
                    warn_of_unconverged(int(self.problem.counts[UNCONVERGED]))
                return ask
            if self._cut_short():
                continue
            if not self._final:
                return ask
            self.take_records()
            self._final, self._before_last = False, self.state()
            # The last state is always kept, also between the rows that are due.
            self.clock.final[0], self.clock.due[0] = 1, int(self.clock.every[0] > 0)

    def _cut_short(self) -> bool:
        """Whether the steps to the next change of loops are done, and others are still to be taken."""
        if self._changes and self.clock.done[0] < self._target:
            self.clock.target[0] = self._target
            return True
        if self._changes:
            self._change_loops()
        return False

    def _warn_of_little_room(self) -> None:
        """Say once per run that there were more contacts between shapes than the problem holds."""
        if not self._left_out:
            warn_of_little_room(float(self.arrays.t[0]), len(self.problem.pairs))
        self._left_out, self.watched[0] = True, 0

    def state(self) -> dict[str, Any]:
        """All that a step changes, as copies."""
        own = {"loops": self.loops.state(), "events": list(self.events), "changes": list(self._changes)}
        return super().state() | own

    def set_state(self, kept: dict[str, Any]) -> None:
        """Take over the state of a world of the same kind."""
        self.loops.set_state(kept["loops"])
        super().set_state(kept)
        self.records.counts[:] = 0
        self._events, self._changes = list(kept["events"]), list(kept["changes"])

    def as_it_stands(self) -> ContactWorld:
        """This block as recordings read it: later runs, resets and pushes do not change it."""
        kept: Any = super().as_it_stands()
        kept.loops = self.loops.as_they_stand()
        return kept

    def last_point_forces(self) -> Floats:
        """Forces on the contact points (n, 3) in the step just taken, N, world axes; zero before the first."""
        force = np.zeros((len(self.scene.points), 3))
        for c in self.problem.contacts[: self.problem.counts[N_CONTACTS]]:  # a few: NumPy on all at once takes longer
            if c["point"] >= 0:
                force[c["point"]] += c["impulse"] @ c["axes"] / self.step
        return force

    def answer_failure(self) -> None:
        """Say why the world cannot go on."""
        if self.clock.frozen[0]:
            raise Failure(self.reason(0))
        t = float(self.arrays.t[0])
        if self.clock.failure[0] == stepping.NOT_POSITIVE:
            raise Failure(f"at t = {t:.9g} s a joint moves no mass; give it inertia or armature")
        raise Failure(f"at t = {t:.9g} s the state is not finite; expected a shorter step or smaller forces")

    def _step_of(self, time: float) -> int:
        """Number, in this run, of the first step that begins at a time (s) or later."""
        assert self._t0 is not None
        after = (time - self._t0) / self.step - self._k0
        return self._target - self._steps + max(0, int(np.ceil(after - 1e-9)))

    # Steps ---------------------------------------------------------------------------------------------------------

    def _prepare_step(self) -> None:
        """What a step needs from Python: references of a servo, drives, loads of bearings, contacts that coal finds."""
        motion, c = self.motion, self.clock
        t, q, v = float(self.arrays.t[0]), motion.q, motion.vectors[stepping.V]
        if self._servo is not None and self._servo.needs_state:
            torque, position, velocity = self._servo.at(t, q, v)
            self.tables.torque[0], self.tables.position[0], self.tables.velocity[0] = torque, position, velocity
        if len(self._drives):
            short = c.last[0] if c.done[0] == c.target[0] - 1 else 0.0
            self.loops.prescribe(t + float(short or self.step))
        if self.mechanism.has_bearings and c.done[0] + self.arrays.k[0] > 0:
            self._take_loads(False)
        if self.coal is not None:
            velocities = native_function(self.mechanism, "body_velocities").fast(q, v)
            self.problem.counts[N_PAIRS] = self.coal.find(motion.poses_start, velocities, self.step, self.problem.pairs)

    def _take_loads(self, first: bool) -> None:
        """Let bearings resist as the step before loads them; before the first, the weight at rest, without contacts."""
        m, work, a = self.mechanism, self.loops.compiled.work.fields, self.motion.vectors
        f = len(work.axis_limit)
        acceleration, wrench, stops, along = np.zeros(m.nv), np.zeros((m.n_bodies, 6)), np.zeros(m.nv), np.zeros(f)
        if not first:
            acceleration = a[stepping.ACCELERATION]
            wrench = contact_wrenches(self.problem, self.motion.poses_start, self.step)
            stops, along = stop_forces(self.scene, self.problem, m.nv, f, self.step)
        acting = a[stepping.APPLIED] + a[stepping.DRY] + stops
        state = (self.motion.q[None], a[stepping.V][None], acceleration[None])
        along = work.axis_end[:, 1] + along
        loops, external, _ = self.loops.forces(self.arrays.t.copy(), *state, acting[None], wrench[None], along[None])
        limits = self.loops.limits(self.motion.q, a[stepping.V], joint_wrenches(m, *state, external), loops)
        a[stepping.COULOMB] = m.coulomb + limits[: m.nv]
        work.axis_limit[:] = self.loops.compiled.tables.fields.coulomb + limits[m.nv :]

    def _change_loops(self) -> None:
        """Close and open the loops whose time has come, by plastic impacts."""
        m, motion = self.mechanism, self.motion
        t, q, v = float(self.arrays.t[0]), motion.q, motion.vectors[stepping.V]
        while self._changes and self._changes[0].time <= t + 1e-9 * self.step:
            report = self.loops.change(self._changes.pop(0), t, q, v)
            self._events.append(report)
            v += report.velocity_jump
            M = mass_matrix(m, q)
            for k in range(self.tree.account.shape[1]):
                own = self.tree.root == k
                self.tree.account[tree.NOW, k] = 0.5 * v[own] @ M[np.ix_(own, own)] @ v[own]
            motion.energies[0] = self.tree.account[tree.NOW].sum()
            self.records.sums[contact_machine.HIT_WORK] -= report.energy_lost
            self.clock.phase[0] = READY

    # Recording -----------------------------------------------------------------------------------------------------

    def begin_records(self, rows: int, whole: bool = False) -> None:
        """Forget all records, and make room for so many at once; whole: of every quantity."""
        m, sums, record = self.mechanism, np.zeros(contact_machine.TOTALS), self._settings.record
        asked = set(RECORDED if whole or record is None else record)
        self._keeps_touches, self._keeps_pairs = bool(asked & _OF_TOUCHES), "body_contacts" in asked
        # The torque of a drive follows from all other forces.
        self._columns = [name for name in _COLUMNS if name != "wrench" or asked & _OF_WRENCHES or len(self._drives)]
        if hasattr(self, "records"):
            sums = self.records.sums
        room = max(rows, 1)
        axes = len(self.loops.compiled.work.fields.axis)
        count = len(self.problem.contacts)
        made = contact_machine.make_records(room, m.nq, m.nv, axes, m.n_bodies, self.scene, count)
        self.records = made._replace(sums=sums)
        self._chunks: list[contact_machine.Records] = []
        self._rows_taken, self.clock.used[0], self._left_out = 0, 0, False
        self.touches = TouchRecord(m, self.scene.points)
        touching = self._finder or self.pairs.names
        self.pair_record = PairRecord(self.pairs.names, self._keeps_pairs) if touching else None
        self.rebind()

    @property
    def row_bytes(self) -> int:
        """What a recorded state takes, in bytes, at most: where all points touch."""
        columns = sum(getattr(self.records, name)[:1].nbytes for name in self._columns)
        return columns + (len(self.scene.points) * self.records.touches[:1].nbytes if self._keeps_touches else 0)

    def take_records(self) -> None:
        """Take over the records that the machine has kept, and the events it has seen."""
        self._take_events()
        r, used = self.records, int(self.clock.used[0])
        if used:
            kept = {name: getattr(r, name)[: used if name in self._columns else 0].copy() for name in _COLUMNS}
            self._chunks.append(r._replace(**kept))
            self._rows_taken += used
            self.clock.used[0] = 0

    def _take_events(self) -> None:
        r = self.records
        if self._keeps_touches:
            self.touches.fetch(r.touches[: r.counts[contact_machine.N_TOUCHES]], self._rows_taken)
        none, names = np.zeros(0), (*self.point_names, *self.stops.names)
        t0 = float(self.arrays.t0[0]) if self._t0 is None else self._t0
        found = [
            (step, EventReport(t0 + step * self.step, contact_machine.EVENT_KINDS[kind], names[point], none, none))
            for step, kind, point in r.events[: r.counts[contact_machine.N_EVENTS]].tolist()
        ]
        if self.pair_record is not None:
            found += self.pair_record.fetch(self.pair_log, self._rows_taken, t0, self.step)
        self._events.extend(event for _, event in sorted(found, key=lambda entry: entry[0]))
        r.counts[:] = 0

    def recording(self, row: int, **names: Any) -> Recording:
        """Return the recording of this world."""
        m, touches, count = self.mechanism, self.touches, self._rows_taken
        q, motion, axes, wrench, totals = (
            np.concatenate([getattr(self.records, name)[:0], *(getattr(c, name) for c in self._chunks)])
            for name in _COLUMNS
        )
        v, stepped, torque, stop_torque, dry = (motion[:, k].copy() for k in range(5))
        names["time"] = time = names["time"][:count]
        has_wrench, pushes = "wrench" in self._columns, self.pushes(0)
        torque -= pushed_torque(m, pushes, q)
        wrench = wrench + pushed_wrenches(m, pushes, q) if has_wrench else wrench
        acting = torque + stop_torque + dry
        energy = np.asarray(mechanical_energy(m, q, v)) + self.loops.energy(time, q, v)
        drives, joints, dampers, rub, hit, *certificate = totals.T.copy()
        entries = [drives, joints, dampers, rub, np.zeros(count), hit]
        rest = energy - energy[:1] - np.sum(entries, axis=0)

        smooth = has_wrench and count and not self.loops.count and self._settings.contact_solver == "default"

        @cache
        def acceleration() -> Floats:
            # What the recorded forces do to the recorded state: a step takes them to its middle.
            if smooth:
                return forward_dynamics(self._smooth, q, v, acting, wrench)
            return self.loops.accelerations(time, q, v, stepped) if self.loops.count else stepped

        @cache
        def forces() -> tuple[Floats, Floats, Floats]:
            return self.loops.forces(time, q, v, acceleration(), acting, wrench, axes)

        if has_wrench and len(self._drives):
            driven = self._drives.velocity
            torque[:, driven] += forces()[2] + self._drives.friction * np.sign(v[:, driven])

        quantities: dict[str, Any] = {
            "acceleration": acceleration,
            "joint_wrenches": lambda: joint_wrenches(m, q, v, acceleration(), forces()[1], "world"),
            "loop_wrench": lambda: forces()[0],
            "normal_force": lambda: touches.normal_force(count),
            "friction_force": lambda: touches.friction(count),
            "contact_force": lambda: touches.force(count),
        }
        for name in quantities:
            if not (has_wrench if name in _OF_WRENCHES else self._keeps_touches):
                quantities[name] = NotRecorded(name)
        position = (lambda: touches.position(q)) if self._keeps_touches else NotRecorded("contact_log")
        return Recording(
            **names,
            **quantities,
            q=q,
            v=v,
            torque=torque,
            energy=energy,
            constraint_error=np.maximum(certificate[0], self.loops.errors(time, q)),
            ledger=EnergyLedger(*entries, integration=rest),
            mechanism=m,
            contact_log=ContactLog(stop_torque, *certificate, position=position),
            body_contacts=self.pair_record.contacts(count) if self.pair_record and self._keeps_pairs else None,
            environment=self.environment,
        )


_LEFT_OUT = 7  # of Problem.counts: 1 when there was no room for a pair
_COLUMNS = ("q", "motion", "axes", "wrench", "totals")
# Quantities of a recording that need forces of points, and wrenches of contacts, of every row.
_OF_TOUCHES = {"normal_force", "friction_force", "contact_force", "contact_log"}
_OF_WRENCHES = {"acceleration", "joint_wrenches", "loop_wrench"}
