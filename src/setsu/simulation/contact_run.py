"""A run with an environment: the time loop of setsu.contact, and its recording.

Rows hold a state and what acts in the step that begins there: H a + b = tau + K f in every row. Torques that are
plain functions are evaluated in Python before each step; everything else stays in compiled code. Loops, couplings and
surface contacts of the mechanism are rows of the same problem, held at position level from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.system import constraint_system
from setsu.contact.body_pairs import BodyPairs
from setsu.contact.environment import Environment
from setsu.dynamics import body_poses, joint_wrenches, kinetic_energy, potential_energy
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Free, Mechanism
from setsu.simulation.events import EventReport
from setsu.simulation.joint_servo import JointServo, ServoRun, single_coordinates
from setsu.simulation.motion import mechanical_energy
from setsu.simulation.recording import ContactLog, EnergyLedger, Recording
from setsu.simulation.run import _axis_names as axis_names
from setsu.simulation.torque import Torque, TorqueInput

__all__ = ["ContactRun"]

Floats = NDArray[np.float64]

CONTACT_SOLVERS = ("default", "sugihara2002")
_STEPS_PER_CALL = 500
# m: a point may start this deep inside the environment, no deeper.
_DEEPEST_START = 1e-3


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
        body_contacts: bool = False,
    ) -> None:
        if contact_solver not in CONTACT_SOLVERS:
            raise InputError(
                f"simulate: contact_solver: unknown {contact_solver!r}{nearest_names(contact_solver, CONTACT_SOLVERS)}"
            )
        for contact in contacts:
            if contact.friction or not contact.bilateral:
                raise InputError(
                    f'simulate: contact "{contact.name}": with an environment expected bilateral=True and friction=0; '
                    "points that may lift off or rub are contact points of the mechanism"
                )
        from setsu.contact import advance, scene
        from setsu.contact import free_motion as stepping

        self._advance, self._stepping = advance, stepping
        self._solver = CONTACT_SOLVERS.index(contact_solver)
        m = self.mechanism = mechanism
        self.environment, self.step, self.times, self.record_every = environment, step, times, record_every
        self.servo = ServoRun(torque, m) if isinstance(torque, JointServo) else None
        self.torque = Torque(m, None if isinstance(torque, JointServo) else torque)
        self.system = constraint_system(m, contacts)
        self.scene = scene.make_scene(m, environment)
        self.pairs = BodyPairs(m) if body_contacts else None
        room = self.pairs.room if self.pairs else 0
        self.problem = scene.make_problem(len(m.contact_points), m.n_bodies, m.nv, room)
        self.motion, self._bound = self._bind()
        rows = (len(times) - 1) // record_every + 2
        self.records = advance.make_records(rows, m.nq, m.nv, len(m.contact_points), m.n_bodies)
        self.tables = self._tables()
        self.events: list[EventReport] = []
        self.done = 0

    @property
    def time(self) -> float:
        """Time reached, s."""
        return float(self.times[min(self.done, len(self.times) - 1)])

    def begin(self, q: Floats, v: Floats) -> None:
        """Set the state at t = 0; InputError when a point is deep inside a polygon."""
        self.motion.q[:], self.motion.vectors[self._stepping.V] = q, v
        self.motion.poses[:] = body_poses(self.mechanism, q)
        self.motion.energies[:2] = kinetic_energy(self.mechanism, q, v), potential_energy(self.mechanism, q)
        self._refuse_deep_start()

    def go(self, progress: Callable[[str, float], None]) -> None:
        """Take all steps."""
        stop = len(self.times)
        by_step = (
            self.torque.depends_on_state
            or self.system.n_rows > 0
            or self.pairs is not None
            or (self.servo is not None and self.servo.needs_state)
        )
        while self.done < stop:
            first = self.done
            if by_step:
                self._prepare_step()
            target = min(stop, self.done + (1 if by_step else _STEPS_PER_CALL))
            self.done, status = self._advance.advance(
                self.scene, self.problem, self.motion, self.tables, self.records, self.times, self.step, first, target,
                self.record_every, self._solver,
            )  # fmt: skip
            self._fetch_events()
            if status != self._stepping.FINE:
                raise InputError(self._problem(status))
            if not by_step or self.done % _STEPS_PER_CALL == 0:
                progress(f"t = {self.time:.3g} s", min(1.0, self.done / stop))

    def recording(self) -> Recording:
        """Return what was recorded so far."""
        m, r = self.mechanism, self.records
        count = int(r.counts[0])
        q, points, wrench, totals = r.q[:count], r.points[:count], r.wrench[:count], r.totals[:count]
        v, acceleration, torque = (r.motion[:count, k].copy() for k in range(3))
        force, normal_force = points[:, :, :3].copy(), points[:, :, 6].copy()
        loops, external = self._loop_forces(q, v, acceleration, torque, wrench)
        energy = np.asarray(mechanical_energy(m, q, v)) if count else np.zeros(0)
        entries = [totals[:, 0], totals[:, 1], np.zeros(count), totals[:, 2], np.zeros(count), totals[:, 3]]
        rest = energy - energy[:1] - np.sum(entries, axis=0)
        steps = np.minimum(np.arange(count) * self.record_every, len(self.times) - 1)
        return Recording(
            name=m.name,
            integrator="semi_implicit",
            step=self.step,
            joint_names=m.joint_names,
            body_names=m.body_names,
            velocity_names=axis_names(m, "nv"),
            coordinate_names=axis_names(m, "nq"),
            contact_names=point_names(m),
            loop_names=tuple(loop.name for loop in m.loops),
            time=self.times[steps].copy(),
            q=q.copy(),
            v=v,
            acceleration=acceleration,
            torque=torque,
            joint_wrenches=joint_wrenches(m, q, v, acceleration, external, "world"),
            normal_force=normal_force,
            friction_force=force - self._normal_parts(points),
            contact_force=force,
            loop_wrench=loops,
            energy=energy,
            constraint_error=totals[:, 4].copy(),
            ledger=EnergyLedger(*(entry.copy() for entry in entries), integration=rest),
            events=tuple(self.events),
            mechanism=m,
            contact_log=ContactLog(points[:, :, 3:6].copy(), *totals[:, 4:].T.copy()),
            environment=self.environment,
        )

    # Beginning -----------------------------------------------------------------------------------------------------

    def _bind(self) -> tuple[Any, list[Any]]:
        """Arrays of the state and the native kernels that read and write them."""
        m, s = self.mechanism, self._stepping
        vectors, q, q_next = np.zeros((s.VECTORS, m.nv)), np.zeros(m.nq), np.zeros(m.nq)
        poses, poses_next = np.zeros((m.n_bodies, 4, 4)), np.zeros((m.n_bodies, 4, 4))
        columns, H, energies = np.zeros((6, m.nv)), np.zeros((m.nv, m.nv)), np.zeros(4)
        free = [(k, m.v_slices[k].start) for k, body in enumerate(m.moving) if isinstance(body.joint, Free)]
        vectors[s.DAMPING], vectors[s.COULOMB] = m.damping, m.coulomb
        vectors[s.STIFFNESS] = m.tables.stiffness
        if self.servo:
            vectors[s.KP], vectors[s.KD] = self.servo.kp, self.servo.kd
        bias = "bias_torque springs" if m.springs else "bias_torque"
        bound = [
            native_function(m, "mass_matrix").bind([q], [H]),
            native_function(m, bias).bind([q, vectors[s.V]], [vectors[s.BIAS]]),
            native_function(m, "joint_axes").bind([q], [columns]),
            native_function(m, "integrate").bind([q, vectors[s.DISPLACEMENT]], [q_next]),
            native_function(m, "body_poses").bind([q_next], [poses_next]),
            native_function(m, "kinetic_energy").bind([q_next, vectors[s.V_NEXT]], [energies[2:3]]),
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
            H=H,
            rows=np.zeros((self.system.n_rows, m.nv)),
            row_rate=np.zeros(self.system.n_rows),
            kernels=np.array([call.handle for call in bound]),
            energies=energies,
            free_joints=np.array(free, dtype=np.int64).reshape(-1, 2),
        )
        return motion, bound

    def _tables(self) -> Any:
        nv = self.mechanism.nv
        if self.servo and not self.servo.needs_state:
            return self._advance.DriveTables(*self.servo.tables(self.times))
        tables = [np.zeros((1, nv)) for _ in range(3)]
        if not self.servo and not self.torque.depends_on_state:
            tables[0][0] = self.torque(0.0, np.zeros(0), np.zeros(0))
        return self._advance.DriveTables(*tables)

    def _refuse_deep_start(self) -> None:
        m, polygons = self.mechanism, self.environment.polygons
        for index, row in enumerate(self.scene.points):
            if row["body"] < 0:
                continue
            T = self.motion.poses[row["body"]]
            x = T[:3, :3] @ row["position"] + T[:3, 3]
            gaps = [float(p.normal @ x) - p.offset - row["radius"] for p in polygons]
            over = [bool((p.edge_planes[:, :3] @ x <= p.edge_planes[:, 3] + 1e-7).all()) for p in polygons]
            if any(o and g >= -1e-5 for g, o in zip(gaps, over, strict=True)):
                continue
            for gap, inside, polygon in zip(gaps, over, polygons, strict=True):
                if inside and gap < -_DEEPEST_START and (polygon.unbounded or gap > -0.1):
                    raise InputError(
                        f"simulate: contact point {point_names(m)[index]} starts {-gap:.3g} m inside polygon "
                        f'"{polygon.name}"; expected at most {_DEEPEST_START:g} m (lift the mechanism at t = 0)'
                    )

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
        if self.pairs is not None:
            speed = float(np.abs(v).max(initial=0.0))
            self.problem.counts[2] = self.pairs.find(motion.poses, speed, self.step, self.problem.pairs)
        if self.system.n_rows:
            jacobian, error = self.system.jacobian_and_error(q)
            h = self.times[min(self.done + 1, len(self.times) - 1)] - self.time
            motion.rows[:], motion.row_rate[:] = jacobian, -error / (h if h > 0.0 else self.step)

    def _fetch_events(self) -> None:
        none, names = np.zeros(0), point_names(self.mechanism)
        kinds = self._advance.EVENT_KINDS
        for step, kind, point in self.records.events[: self.records.counts[1]].tolist():
            self.events.append(EventReport(float(self.times[step]), kinds[kind], names[point], none, none))
        self.records.counts[1] = 0

    def _problem(self, status: int) -> str:
        if status == self._stepping.NOT_POSITIVE:
            return f"simulate: at t = {self.time:.9g} s a joint moves no mass; give it inertia or armature"
        return f"simulate: at t = {self.time:.9g} s the state is not finite; expected a shorter step or smaller forces"

    # Afterwards ----------------------------------------------------------------------------------------------------

    def _normal_parts(self, points: Floats) -> Floats:
        """Normal forces as vectors, (T, n_points, 3): exact for points at one polygon of one orientation."""
        force, normal = points[:, :, :3], points[:, :, 6]
        parts = np.zeros_like(force)
        for polygon in self.environment.polygons:
            near = np.abs(points[:, :, 3:6] @ polygon.normal - polygon.offset) < 1e-4
            along = np.abs(force @ polygon.normal - normal) <= 1e-9 * (1.0 + normal)
            parts = np.where((near & along & (normal > 0.0))[..., None], normal[..., None] * polygon.normal, parts)
        return parts

    def _loop_forces(self, q: Floats, v: Floats, a: Floats, torque: Floats, wrench: Floats) -> tuple[Floats, Floats]:
        """Loop wrenches (T, n_loops, 6), and contact and loop forces as wrenches on the bodies (T, n_bodies, 6)."""
        m, system = self.mechanism, self.system
        loops, external = np.zeros((len(q), len(m.loops), 6)), wrench.copy()
        if not (m.loops and len(q)):
            return loops, external
        from setsu.dynamics import inverse_dynamics

        rows = system.linearise(q, v)
        missing = inverse_dynamics(m, q, v, a, wrench) - torque
        k = system.n_loop_rows
        for t in range(len(q)):
            multipliers = np.linalg.lstsq(rows.jacobian[t].T, missing[t], rcond=1e-9)[0][:k]
            np.add.at(loops[t], system.loops.row_loop, rows.loop_wrench[t] * multipliers[:, None])
        external += system.body_wrenches(rows, loops, np.zeros((len(q), len(system.contacts), 3)))
        return loops, external


def point_names(m: Mechanism) -> tuple[str, ...]:
    """Names of the contact points: their body's, and their number on it."""
    seen: dict[str, int] = {}
    names = []
    for point in m.contact_points:
        seen[point.body] = seen.get(point.body, -1) + 1
        names.append(f"{point.body} {seen[point.body]}")
    return tuple(names)
