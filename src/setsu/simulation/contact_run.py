"""A run with an environment: the time loop of setsu.contact, and its recording.

Rows hold a state and what acts in the step that begins there: H a + b = tau + K f in every row. Torques that are
plain functions, and contacts between bodies if coal is to find them, are evaluated in Python before each step;
everything else stays in compiled code. Loops, couplings and surface contacts of the mechanism are rows of the same
problem, and so are ends of travel of joints. Loops open and close at the first step that begins at, or after, the time
asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.contact.body_pairs import BodyPairs
from setsu.contact.convex_tables import make_shapes
from setsu.contact.deep_start import deep_point, shallow_depth
from setsu.contact.environment import Environment
from setsu.contact.shape_pairs import ShapePairs, shape_pairs
from setsu.dynamics import body_poses, joint_wrenches, kinetic_energy, mass_matrix, potential_energy
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism import Free, Mechanism
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop, initially_open
from setsu.simulation.held_loops import HeldLoops
from setsu.simulation.joint_servo import JointServo, ServoRun, single_coordinates
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.motion import mechanical_energy
from setsu.simulation.pair_record import PairRecord
from setsu.simulation.recording import ContactLog, EnergyLedger, Recording
from setsu.simulation.run import _axis_names as axis_names
from setsu.simulation.torque import Torque, TorqueInput
from setsu.simulation.touch_record import TouchRecord

__all__ = ["ContactRun"]

Floats = NDArray[np.float64]

CONTACT_SOLVERS = ("default", "sugihara2002")
BODY_CONTACTS = ("compiled", "coal")
_STEPS_PER_CALL = 500
# m: a point may start this deep inside the environment, no deeper; m or rad: a joint this far beyond its limit.
_DEEPEST_START, _BEYOND_START = 1e-3, 1e-6


class ContactRun:
    """Takes a mechanism over a grid of times in an environment and keeps what happens."""

    def __init__(
        self,
        mechanism: Mechanism,
        environment: Environment,
        torque: TorqueInput | JointServo,
        contacts: Sequence[SurfaceContact],
        step: float,
        times: Floats,
        record_every: int,
        contact_solver: str = "default",
        body_contacts: bool | str = False,
        changes: Sequence[CloseLoop | OpenLoop] = (),
        joint_stops: bool = False,
    ) -> None:
        if contact_solver not in CONTACT_SOLVERS:
            raise InputError(
                f"simulate: contact_solver: unknown {contact_solver!r}{nearest_names(contact_solver, CONTACT_SOLVERS)}"
            )
        finder = _finder(body_contacts)
        if joint_stops and contact_solver != "default":
            raise InputError(f"simulate: joint_stops need contact_solver='default'; {contact_solver} knows points only")
        if mechanism.has_bearings:
            raise InputError("simulate: bearing_friction of joints cannot be combined with an environment")
        for contact in contacts:
            if contact.friction or not contact.bilateral:
                raise InputError(
                    f'simulate: contact "{contact.name}": with an environment expected bilateral=True and friction=0; '
                    "points that may lift off or rub are contact points of the mechanism"
                )
        from setsu.contact import advance, pair_log, scene, tree
        from setsu.contact import free_motion as stepping
        from setsu.native.array_book import Book

        self._advance, self._stepping = advance, stepping
        self._solver = CONTACT_SOLVERS.index(contact_solver)
        m = self.mechanism = mechanism
        self.environment, self.step, self.times, self.record_every = environment, step, times, record_every
        self.servo = ServoRun(torque, m) if isinstance(torque, JointServo) else None
        self.torque = Torque(m, None if isinstance(torque, JointServo) else torque)
        self.loops = HeldLoops(m, contacts, initially_open(changes))
        self._changes = [(int(np.searchsorted(times, c.time - 1e-9 * step)), c) for c in changes]
        self.stops = JointStops(m, joint_stops)
        s = self.stops
        self.scene = scene.make_scene(
            m, environment, scene.make_stops(s.coordinate, s.velocity, s.sign, s.limit, np.ones(len(s)))
        )
        self.pairs = shape_pairs(m) if finder else ShapePairs()
        self.coal = BodyPairs(self.pairs) if finder == "coal" else None
        self.shapes = make_shapes(self.pairs if finder == "compiled" else ShapePairs(), m.n_bodies)
        self.pair_log = pair_log.make_pair_log(len(self.pairs.body_pairs))
        self.pair_record = PairRecord(m, self.pairs.body_pairs) if finder else None
        self.problem = scene.make_problem(self.scene, m.nv, self.pairs.room, self.loops.count > 0)
        self.tree = tree.make_tree(m, np.unique(self.scene.stops["velocity"]))
        self.motion, self._bound = self._bind()
        rows = (len(times) - 1) // record_every + 2
        self.records = advance.make_records(rows, m.nq, m.nv, m.n_bodies, self.scene, len(self.problem.contacts))
        self.tables = self._tables()
        compiled = (self.scene, self.tree, self.problem, self.motion, self.tables, self.records)
        self._books = [Book(pages) for pages in (*compiled, self.shapes, self.pair_log)]
        self.events: list[EventReport] = []
        self.touches = TouchRecord(m, self.scene.points)
        self.point_names = point_names(m)
        self.done = 0

    @property
    def time(self) -> float:
        """Time reached, s."""
        return float(self.times[min(self.done, len(self.times) - 1)])

    def begin(self, q: Floats, v: Floats) -> None:
        """Set the state at t = 0; InputError when a point is deep inside a polygon, or a constraint violated."""
        self.motion.q[:], self.motion.vectors[self._stepping.V] = q, v
        self.motion.poses[:] = body_poses(self.mechanism, q)
        self.motion.energies[:2] = kinetic_energy(self.mechanism, q, v), potential_energy(self.mechanism, q)
        depth = self._start_depth()
        self.motion.energies[self._stepping.GIVEN] = (
            depth * self.mechanism.total_mass * np.linalg.norm(self.mechanism.gravity)
        )
        self.loops.refuse_violations(q, v)
        self._begin_at_stops(q)

    def go(self, progress: Callable[[str, float], None]) -> None:
        """Take all steps."""
        stop = len(self.times)
        by_step = (
            self.torque.depends_on_state or self.coal is not None or (self.servo is not None and self.servo.needs_state)
        )
        while self.done < stop:
            self._change_loops()
            first = self.done
            if by_step:
                self._prepare_step()
            target = min(stop, self.done + (1 if by_step else _STEPS_PER_CALL), *(k for k, _ in self._changes))
            self.done, status = self._advance.advance(
                *self._books, self.loops.compiled, self.times, self.step, first, target, self.record_every, self._solver
            )  # fmt: skip
            self._fetch_events()
            if status != self._stepping.FINE:
                raise InputError(self._problem(status))
            if not by_step or self.done % _STEPS_PER_CALL == 0:
                progress(f"t = {self.time:.3g} s", min(1.0, self.done / stop))
        self._warn_unconverged()

    def _warn_unconverged(self) -> None:
        """One warning per run that names how many steps took the convex problem instead of Coulomb's law."""
        steps = int(self.problem.counts[6])
        if steps:
            warnings.warn(
                f"simulate: contact impulses of {steps} of {self.done} steps did not converge; these steps took the "
                "convex friction problem, which lets sliding contacts separate. contact_log.unconverged marks them; a "
                "shorter step may help.",
                ModelWarning,
                stacklevel=2,
            )

    def recording(self) -> Recording:
        """Return what was recorded so far."""
        m, r, touches = self.mechanism, self.records, self.touches
        count = int(r.counts[0])
        q, wrench, totals = r.q[:count].copy(), r.wrench[:count], r.totals[:count]
        v, acceleration, torque, stop_torque = (r.motion[:count, k].copy() for k in range(4))
        steps = np.minimum(np.arange(count) * self.record_every, len(self.times) - 1)
        time = self.times[steps]
        loops, external = self.loops.forces(time, q, v, acceleration, torque + stop_torque, wrench)
        energy = np.asarray(mechanical_energy(m, q, v)) if count else np.zeros(0)
        entries = [totals[:, 0], totals[:, 1], np.zeros(count), totals[:, 2], np.zeros(count), totals[:, 3]]
        rest = energy - energy[:1] - np.sum(entries, axis=0)
        return Recording(
            name=m.name,
            integrator="semi_implicit",
            step=self.step,
            joint_names=m.joint_names,
            body_names=m.body_names,
            velocity_names=axis_names(m, "nv"),
            coordinate_names=axis_names(m, "nq"),
            contact_names=self.point_names,
            loop_names=tuple(loop.name for loop in m.loops),
            time=time,
            q=q,
            v=v,
            acceleration=acceleration,
            torque=torque,
            joint_wrenches=joint_wrenches(m, q, v, acceleration, external, "world"),
            normal_force=lambda: touches.normal_force(count),
            friction_force=lambda: touches.friction(count),
            contact_force=lambda: touches.force(count),
            loop_wrench=loops,
            energy=energy,
            constraint_error=np.maximum(totals[:, 4], self.loops.errors(time, q)),
            ledger=EnergyLedger(*(entry.copy() for entry in entries), integration=rest),
            events=tuple(self.events),
            mechanism=m,
            contact_log=ContactLog(stop_torque, *totals[:, 4:].T.copy(), position=lambda: touches.position(q)),
            body_contacts=self.pair_record.contacts(count) if self.pair_record is not None else None,
            environment=self.environment,
        )

    # Beginning -----------------------------------------------------------------------------------------------------

    def _bind(self) -> tuple[Any, list[Any]]:
        """Arrays of the state and the native kernels that read and write them."""
        m, s = self.mechanism, self._stepping
        vectors, q, q_next = np.zeros((s.VECTORS, m.nv)), np.zeros(m.nq), np.zeros(m.nq)
        poses, poses_next = np.zeros((m.n_bodies, 4, 4)), np.zeros((m.n_bodies, 4, 4))
        columns, columns_next = np.zeros((6, m.nv)), np.zeros((6, m.nv))
        H, energies = np.zeros((m.nv, m.nv)), np.zeros(5)
        free = [(k, m.v_slices[k].start) for k, body in enumerate(m.moving) if isinstance(body.joint, Free)]
        vectors[s.DAMPING], vectors[s.COULOMB] = m.damping, m.coulomb
        vectors[s.STIFFNESS] = m.tables.stiffness
        if self.servo:
            vectors[s.KP], vectors[s.KD] = self.servo.kp, self.servo.kd
        bias = "bias_torque springs" if m.springs else "bias_torque"
        bound = [
            native_function(m, "mass_matrix").bind([q], [H]),
            native_function(m, bias).bind([q, vectors[s.V]], [vectors[s.BIAS]]),
            native_function(m, "poses_and_axes").bind([q], [poses, columns]),
            native_function(m, "integrate").bind([q, vectors[s.DISPLACEMENT]], [q_next]),
            native_function(m, "poses_and_axes").bind([q_next], [poses_next, columns_next]),
            native_function(m, "potential_energy").bind([q_next], [energies[3:4]]),
        ]
        motion = s.Motion(
            q=q,
            q_next=q_next,
            vectors=vectors,
            coordinate=single_coordinates(m),
            poses=poses,
            poses_next=poses_next,
            columns=columns,
            columns_next=columns_next,
            H=H,
            kernels=np.array([call.handle for call in bound]),
            energies=energies,
            free_joints=np.array(free, dtype=np.int64).reshape(-1, 2),
            body_twists=np.zeros((2, m.nv, 6)),
            elastic=np.array([bool(m.springs) or bool(m.tables.stiffness.any())], dtype=np.int64),
            creep=np.array([1.0, m.total_mass * float(np.linalg.norm(m.gravity))]),
        )
        if len(self.shapes.pairs):
            bound.append(native_function(m, "body_velocities").bind([q, vectors[s.V]], [self.shapes.velocities]))
            self.shapes.kernel[:] = bound[-1].handle
        return motion, bound

    def _tables(self) -> Any:
        nv = self.mechanism.nv
        if self.servo and not self.servo.needs_state:
            return self._advance.DriveTables(*self.servo.tables(self.times))
        tables = [np.zeros((1, nv)) for _ in range(3)]
        if not self.servo and not self.torque.depends_on_state:
            tables[0][0] = self.torque(0.0, np.zeros(0), np.zeros(0))
        return self._advance.DriveTables(*tables)

    def _start_depth(self) -> float:
        """How deep (m) points start inside the environment; InputError when that is too deep."""
        points = self.scene.points
        moving = np.flatnonzero(points["body"] >= 0)
        T = self.motion.poses[points["body"][moving]]
        places = np.einsum("nij,nj->ni", T[:, :3, :3], points["position"][moving]) + T[:, :3, 3]
        radii, polygons = points["radius"][moving], self.environment.polygons
        deep = deep_point(polygons, places, radii, _DEEPEST_START)
        if deep is not None:
            raise InputError(
                f"simulate: contact point {self.point_names[moving[deep.point]]} starts {deep.depth:.3g} m "
                f'inside polygon "{deep.polygon.name}"; expected at most {_DEEPEST_START:g} m '
                "(lift the mechanism at t = 0)"
            )
        return shallow_depth(polygons, places, radii, _DEEPEST_START)

    def _begin_at_stops(self, q: Floats) -> None:
        """Refuse joints beyond their limits, and find the levers of the stops (contact/joint_stops.py)."""
        m, stops = self.mechanism, self.stops
        for gap, name in zip(stops.gaps(q), stops.names, strict=True):
            if gap < -_BEYOND_START:
                raise InputError(
                    f"simulate: q0 is {-gap:.6g} (m or rad) beyond the {name}; expected a state within the limits"
                )
        if len(stops) and m.total_mass > 0.0:
            inertia = np.diag(mass_matrix(m, q))[stops.velocity]
            self.scene.stops["lever"] = np.sqrt(inertia / m.total_mass)

    # Steps ---------------------------------------------------------------------------------------------------------

    def _prepare_step(self) -> None:
        """What a step needs from Python: torques of functions, rows of the constraints."""
        motion = self.motion
        t, q, v = self.time, motion.q, motion.vectors[self._stepping.V]
        if self.servo and self.servo.needs_state:
            for table, row in zip(self.tables, self.servo.at(t, q, v), strict=True):
                table[0] = row
        elif self.torque.depends_on_state:
            self.tables.torque[0] = self.torque(t, q, v)
        if self.coal is not None:
            velocities = native_function(self.mechanism, "body_velocities").fast(q, v)
            self.problem.counts[2] = self.coal.find(motion.poses, velocities, self.step, self.problem.pairs)

    def _change_loops(self) -> None:
        """Close and open the loops whose time has come, by plastic impacts."""
        m, motion = self.mechanism, self.motion
        q, v = motion.q, motion.vectors[self._stepping.V]
        while self._changes and self._changes[0][0] <= self.done:
            _, change = self._changes.pop(0)
            report = self.loops.change(change, self.time, q, v)
            self.events.append(report)
            v += report.velocity_jump
            motion.energies[0] = kinetic_energy(m, q, v)
            self.records.sums[3] -= report.energy_lost

    def _fetch_events(self) -> None:
        self.touches.fetch(self.records)
        none, names = np.zeros(0), (*self.point_names, *self.stops.names)
        kinds = self._advance.EVENT_KINDS
        found = [
            (step, EventReport(float(self.times[step]), kinds[kind], names[point], none, none))
            for step, kind, point in self.records.events[: self.records.counts[1]].tolist()
        ]
        self.records.counts[1] = 0
        if self.pair_record is not None:
            found += self.pair_record.fetch(self.pair_log, self.times)
        self.events.extend(event for _, event in sorted(found, key=lambda entry: entry[0]))

    def _problem(self, status: int) -> str:
        if status == self._stepping.NOT_POSITIVE:
            return f"simulate: at t = {self.time:.9g} s a joint moves no mass; give it inertia or armature"
        return f"simulate: at t = {self.time:.9g} s the state is not finite; expected a shorter step or smaller forces"


def _finder(body_contacts: object) -> str:
    """Who looks for contacts between bodies: "" for nobody."""
    if isinstance(body_contacts, bool | np.bool_):
        return BODY_CONTACTS[0] if body_contacts else ""
    if not isinstance(body_contacts, str) or body_contacts not in BODY_CONTACTS:
        known = " or ".join(f'"{word}"' for word in BODY_CONTACTS)
        raise InputError(f"simulate: body_contacts: expected True, False, {known}, got {body_contacts!r:.80}")
    return body_contacts


def point_names(m: Mechanism) -> tuple[str, ...]:
    """Names of the contact points: their body's, and their number on it."""
    seen: dict[str, int] = {}
    names = []
    for point in m.contact_points:
        seen[point.body] = seen.get(point.body, -1) + 1
        names.append(f"{point.body} {seen[point.body]}")
    return tuple(names)
