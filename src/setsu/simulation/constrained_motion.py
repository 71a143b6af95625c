"""Motion under loops, couplings and surface contacts: the Python side of compiled_motion.py.

Modes of contacts, stops and joints with dry friction are kept here and change only between steps; compiled code works
on its own arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.assembly import opening
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.dry_friction import friction_at_rest
from setsu.constraints.held_motion import HeldMotion, hold
from setsu.constraints.internal_forces import gather_loop_wrenches
from setsu.constraints.loop_joint_forces import loop_joint_energy, loop_joint_forces
from setsu.constraints.prescribed import with_driven_couplings
from setsu.constraints.ranks import EXACT
from setsu.constraints.redundancy import redundancy
from setsu.constraints.states import coordinate_names
from setsu.constraints.system import constraint_system
from setsu.dynamics import body_poses, difference, integrate
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation import compiled_motion, compiled_projection
from setsu.simulation.contact_modes import REST_SPEED, ContactMode, JamError, Mode
from setsu.simulation.driven_joints import DrivenJoints
from setsu.simulation.internal_forces import make_least
from setsu.simulation.joint_friction import JointFriction, without_dry_friction
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.motion import Evaluation, mechanical_energy
from setsu.simulation.motion_space import (
    BEARING_JAMS,
    BROKEN,
    FREE,
    JAMMED,
    MASSLESS,
    NEEDS_DENSE,
    SLIDE,
    STICK,
    UNSUITABLE,
    MotionSpace,
    motion_space,
    with_dense_factors,
)

__all__ = ["SPARSE_FROM", "ConstrainedMotion"]

Floats = NDArray[np.float64]
Structure = tuple[tuple[Mode, ...], tuple[int, ...], tuple[int, ...]]

_NUMBER = {Mode.FREE: FREE, Mode.SLIDE: SLIDE, Mode.STICK: STICK}
_LARGEST_ERROR = 1e-6
"""Error of a loop (rad, or m in lengths of its longest lever) with which a run does not go on."""
_SHORT_WAY = 1e-3  # rad or m to either side of a singular start
SPARSE_FROM = 6
"""Velocities from which loops are factored sparsely: for fewer, dense factors cost no more and judge ranks better."""


class ConstrainedMotion:
    """A mechanism with constraints; its contact modes and its active loops change only between steps.

    open_loops: names of loops that are not active. baumgarte: rate (1/s) of Baumgarte's stabilisation, which then takes
    the place of projection. joint_stops: whether joints end at their limits. drives: joints whose motion is prescribed.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        torque: Callable[[float, Floats, Floats], Floats],
        contacts: Sequence[SurfaceContact],
        *,
        open_loops: Iterable[str] = (),
        baumgarte: float | None = None,
        joint_stops: bool = False,
        drives: DrivenJoints | None = None,
    ) -> None:
        self.drives = drives if drives else None
        if self.drives is not None:
            mechanism = with_driven_couplings(mechanism, self.drives.names)
        self.declared, self.torque, self.baumgarte = mechanism, torque, baumgarte
        self.open_loops, self.joint_stops = frozenset(open_loops), joint_stops
        closed = tuple(loop for loop in mechanism.loops if loop.name not in self.open_loops)
        active = replace(mechanism, loops=closed) if self.open_loops else mechanism
        self.friction = JointFriction(active)
        self.stops = JointStops(active, joint_stops)
        # Dry friction acts by its state, not by the sign of a velocity as in the kernels.
        self.mechanism = without_dry_friction(active) if len(self.friction) else active
        self._loop_places = [k for k, loop in enumerate(mechanism.loops) if loop.name not in self.open_loops]
        self.system = constraint_system(self.mechanism, contacts)
        self.contacts = self.system.contacts
        self.rest_speed = REST_SPEED * self.system.length  # m/s
        self.contact_names = tuple(contact.name for contact in self.contacts)
        self.modes = [ContactMode(Mode.SLIDE) for _ in self.contacts]
        self._judged = redundancy(self.system)
        self._held_loop_rows = np.flatnonzero(self._judged.kept[: self.system.n_loop_rows])
        self._time = self._shift = 0.0
        self._ranks: dict[Structure, int] = {}
        drives_in_loops = bool(self.system.loops.armature.any())
        loops_alone = bool(self.system.n_held) and not (self.contacts or drives_in_loops or baumgarte)
        self._sparse = loops_alone and self.mechanism.nv >= SPARSE_FROM

    def restructured(self, declared: Mechanism, open_loops: Iterable[str]) -> ConstrainedMotion:
        """The motion with other loops open, contacts and stops as they are."""
        changed = ConstrainedMotion(
            declared, self.torque, self.contacts, open_loops=open_loops, baumgarte=self.baumgarte,
            joint_stops=self.joint_stops, drives=self.drives,
        )  # fmt: skip
        changed._shift, changed._time = self._shift, self._time
        changed.modes = list(self.modes)
        stopped = {self.stops.names[k] for k in self.stops.held}
        changed.stops.held = tuple(k for k, name in enumerate(changed.stops.names) if name in stopped)
        return changed

    def start_at(self, shift: float, t: float = 0.0) -> None:
        """Let t = 0 of what follows be a time (s) of the prescribed motions; it is now t."""
        self._shift = shift
        self.place(t)

    def place(self, t: float) -> None:
        """Let rows say what is prescribed at a time (s)."""
        if self.drives is not None:
            self.drives.put_into(self.system, t + self._shift)

    def kept_rates(self) -> Floats:
        """Rates of the kept rows of loops and couplings at zero velocities: those of drives, (kept,)."""
        system = self.system
        rates = np.concatenate([np.zeros(system.n_loop_rows), system.couplings.offset_rate])
        return rates[self._judged.kept]

    @property
    def constrained(self) -> bool:
        """Whether stages have to be projected."""
        return self.baumgarte is None

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return kinetic and potential energy, springs and drives in loop joints included (J), (...)."""
        energy = mechanical_energy(self.mechanism, q, v)
        return energy + loop_joint_energy(self.system, q, v) if self.system.loops.has_joint_forces else energy

    # Compiled code and its arrays ----------------------------------------------------------------------------------

    @cached_property
    def space(self) -> MotionSpace:
        """The arrays of the compiled functions."""
        return motion_space(self.system, self.stops, self.friction, self.baumgarte)

    def load(self, q: Floats, v: Floats) -> MotionSpace:
        """Put a state and the present modes into the arrays of the compiled functions, and return these."""
        space = self.space
        space.state.q[:], space.state.v[:] = q, v
        for k, mode in enumerate(self.modes):
            space.modes.mode[k] = _NUMBER[mode.mode]
            space.modes.direction[k], space.modes.anchor[k] = mode.direction, mode.anchor
        if len(self.stops):
            space.modes.stop_held[:] = 0
            space.modes.stop_held[list(self.stops.held)] = 1
        if len(self.friction):
            space.modes.dry_held[:], space.modes.dry_sign[:] = 0, self.friction.sign
            space.modes.dry_held[list(self.friction.held)] = 1
        space.modes.sparse[0] = self._sparse and not (self.stops.held or self.friction.held)
        return space

    def _run(self, function: Callable[..., int], *more: Any) -> int:
        """Run a compiled function on what is loaded, with dense factors where it asks for them; its status."""
        status = function(*self.space.arguments, *more)
        if status == NEEDS_DENSE:
            self.use_dense_factors(self._time)
            status = function(*self.space.arguments, *more)
        return status

    def use_dense_factors(self, t: float) -> None:
        """Let dense factors be there, which a large mechanism has only once it comes close to a singular state.

        t: time of the run (s), for the InputError where it is too large for them.
        """
        if self.space.packed:
            self.__dict__["space"] = with_dense_factors(self.system, self.space, t)

    def unload_directions(self) -> None:
        """Take over the sliding directions that compiled steps have left."""
        for k, mode in enumerate(self.modes):
            if mode.mode is Mode.SLIDE:
                self.modes[k] = replace(mode, direction=self.space.modes.direction[k].copy())

    def watch(self, q: Floats) -> None:
        """Set how far each row of loops and couplings may open in a run from q (nq,): see `refuse`."""
        if self.baumgarte is not None:
            return
        judged, error = self._judged, np.abs(self.system.position_error(q)[: self.system.n_held])
        limit = np.where(judged.kept, _LARGEST_ERROR, np.maximum(_LARGEST_ERROR, 10.0 * error / judged.length))
        self.space.modes.limit[:] = limit * judged.length

    def refuse(self, status: int, t: float) -> None:
        """Raise the InputError that a status of compiled code stands for; none below zero."""
        if status < 0:
            return
        if status >= BROKEN:
            row = status - BROKEN
            error = self.space.state.error[: self.system.n_rows]
            why = "" if self._judged.kept[row] else ", though it seemed to follow from the others at the start"
            raise InputError(
                f"simulate: at t = {t:.9g} s {self.system.names[row]} cannot be held any longer, "
                f"{opening(self.system, error, row)}{why}; try a shorter step, or a start away from this "
                "configuration: near a singular one (setsu.constraint_report) the motion is not determined"
            )
        if status >= JAMMED:
            contact = self.contacts[status - JAMMED]
            raise JamError(
                f'simulate: contact "{contact.name}" jams at t = {t:.9g} s: friction {contact.friction:g} '
                f"presses it harder into the surface than it can resist (Painlevé paradox); expected a coefficient "
                f"below {self.space.work.critical[0]:.6g} in this configuration",
                status - JAMMED,
            )
        if status == BEARING_JAMS:
            raise InputError(
                f"simulate: at t = {t:.9g} s load-dependent friction of {self.mechanism.name} jams: it grows with the "
                "very load it makes; expected a smaller bearing_friction or bearing_radius"
            )
        if status == MASSLESS:
            raise InputError(f"simulate: at t = {t:.9g} s {self._massless_joints()}")
        if status < UNSUITABLE - 1:
            contact = self.contacts[status]
            contact.surface.frame(self.space.state.place[status], f'contact "{contact.name}" at t = {t:.9g} s')
        raise InputError(
            f"simulate: at t = {t:.9g} s the state is not finite; expected a shorter step or smaller forces"
        )

    def _massless_joints(self) -> str:
        """Say which joints can move without moving any mass."""
        kernels, factor = self.space.kernels, self.space.factor
        _, vectors = np.linalg.eigh(kernels.M + factor.G.T @ factor.G)
        part, names = np.abs(vectors[:, 0]), coordinate_names(self.mechanism)
        movers = [names[k] for k in np.argsort(-part) if part[k] > 0.3 * part.max()]
        return (
            f"the mass matrix is singular: joint{'s' if len(movers) > 1 else ''} {', '.join(movers)} can move without "
            "moving any mass, and no loop or coupling holds them; give their bodies inertia or the joints armature"
        )

    # What integrators ask ------------------------------------------------------------------------------------------

    def evaluate(self, t: float, q: Floats, v: Floats) -> Evaluation:
        """Return what acts at time t (s) in a state that satisfies the constraints."""
        space, tau, self._time = self.load(q, v), self.torque(t, q, v), t
        space.work.tau[:] = tau
        self.place(t)
        self.refuse(self._run(compiled_motion.evaluate, False), t)
        self._learn_rank()
        return self.gathered(t, q, v, tau)

    def gathered(self, t: float, q: Floats, v: Floats, tau: Floats) -> Evaluation:
        """Return what compiled code has just found of a state, as a record."""
        # Decisions that follow ask for the torque at this time; the machine's own steps do not pass through `evaluate`.
        state, work, self._time = self.space.state, self.space.work, t
        normal, velocity = state.contact_normal, state.contact_velocity
        return Evaluation(
            t, q, v, work.a.copy(), tau, work.powers.copy(),
            friction_force=work.friction_force.copy(),
            sliding=velocity - normal * np.sum(normal * velocity, axis=1)[:, None],
            dry_force=work.dry_force.copy(),
            dry_rate=work.dry_rate.copy(),
            dry_change=work.dry_change.copy(),
            guards=work.guards.copy(),
        )  # fmt: skip

    def record_widths(self) -> tuple[int, int, int]:
        """How many contacts, free axes of loop joints and kept rows of loops there are."""
        return len(self.contacts), len(self.system.loops.free_loop), len(self._held_loop_rows)

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the nearest state, in the metric of the mass matrix, that satisfies the constraints."""
        space = self.load(q, v)
        self.refuse(self._run(compiled_projection.project, self.largest_rank), self._time)
        return space.state.q.copy(), space.state.v.copy()

    def forces(
        self,
        pushed: Floats,
        q: Floats,
        v: Floats,
        a: Floats,
        multipliers: Floats,
        normal_force: Floats,
        friction_force: Floats,
        axis_force: Floats,
        redundant: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Return the forces of T recorded states, world axes.

        pushed (T, n_bodies, 6): on bodies from outside. q, v, a: (T, nq) and (T, nv). multipliers (T, kept loop rows).
        normal_force (T, contacts), friction_force (T, contacts, 3). axis_force (T, f): dry friction and stops along the
        free axes of loop joints.
        redundant (T,): not zero where rows depend on each other.
        Returns contact forces (T, contacts, 3), loop wrenches (T, declared loops, 6), and all of them with
        the pushes as wrenches on the bodies at their origins (T, n_bodies, 6).
        """
        if self.system.loops.has_joint_forces:
            rows = self.system.linearise(q, v)
            along = loop_joint_forces(self.system, rows, a)
        else:
            rows, along = self.system.force_geometry(q), np.zeros((len(q), len(self.system.loops.free_loop)))
        contact_force = normal_force[..., None] * rows.normal + friction_force
        active = gather_loop_wrenches(self.system, rows, self._all_rows(multipliers), along + axis_force)
        if active.size:
            judged, n = self._judged, self.system.n_loop_rows
            left_out = np.broadcast_to(~judged.kept[:n], (len(q), n))
            others = (redundant != 0.0) | bool((judged.live & ~judged.kept).any())
            make_least(self.system, rows, (q, v, a), active, contact_force, pushed, axis_force, left_out, others)
        loops = np.zeros((len(q), len(self.declared.loops), 6))
        loops[:, self._loop_places] = active
        return contact_force, loops, self.system.body_wrenches(rows, active, contact_force) + pushed

    # Ranks and impacts ---------------------------------------------------------------------------------------------

    def _all_rows(self, multipliers: Floats) -> Floats:
        """Multipliers (T, kept loop rows) among those of all loop rows, (T, loop rows): zero for the redundant ones."""
        result = np.zeros((len(multipliers), self.system.n_loop_rows))
        result[:, self._held_loop_rows] = multipliers
        return result

    @property
    def largest_rank(self) -> int:
        """Rank met on the constraints in the present structure: off them contacts that hold the same look independent.

        Kept rows of loops and couplings alone are independent; where they are not, the configuration is singular.
        """
        modes, stops, axes = self._structure()
        if not (stops or axes or any(mode is not Mode.FREE for mode in modes)):
            return len(self.space.work.gamma)
        return self._ranks.get((modes, stops, axes), len(self.space.work.gamma))

    def learn_rank(self, rank: int) -> None:
        """Remember a rank met on the constraints in the present structure."""
        key = self._structure()
        self._ranks[key] = max(rank, self._ranks.get(key, 0))

    def _learn_rank(self) -> None:
        self.learn_rank(int(self.space.factor.size[1]) if self.space.work.size[0] else 0)

    def _structure(self) -> Structure:
        return tuple(state.mode for state in self.modes), self.stops.held, self.friction.held

    def prime(self, q: Floats, v: Floats) -> None:
        """Learn the rank of the active rows at a state on the constraints, before the first projection."""
        space = self.load(q, v)
        status = self._run(compiled_motion.evaluate, False)
        if 0 <= status < BROKEN:
            # Forces do not exist, as where friction jams; rows do.
            self.learn_rank(self.impact_rows(q, v)[0].rank)
            return
        self._learn_rank()
        if space.work.redundant[0] and space.work.size[0] == len(space.tables.held):
            self._prime_singular_start(q, v)

    def _prime_singular_start(self, q: Floats, v: Floats) -> None:
        """Leave the force of loops in a singular configuration: between those before and after it along the motion."""
        speed, work = float(np.abs(v).max(initial=0.0)), self.space.work
        self._refuse_rigid_start(q, v if speed else work.a.copy())
        work.held_force[:] = 0.0
        if not speed:
            return
        forces = []
        for way in (_SHORT_WAY / speed, -_SHORT_WAY / speed):
            near = self.project(integrate(self.mechanism, q, way * v, 1.0), v)
            self.load(*near)
            work.tau[:] = self.torque(self._time, *near)
            if self._run(compiled_motion.evaluate, False) < 0 and not work.redundant[0]:
                forces.append(work.held_force.copy())
        work.held_force[:] = np.mean(forces, axis=0) if forces else 0.0
        work.passing[0] = 0

    def _refuse_rigid_start(self, q: Floats, direction: Floats) -> None:
        """Refuse a singular configuration that the loops do not let go, as a chain that is stretched between its ends.

        direction: (nv,), of the motion to first order.
        """
        size = float(np.abs(direction).max(initial=0.0))
        if not size or self.baumgarte is not None:
            return
        gone = integrate(self.mechanism, q, direction * (_SHORT_WAY / size), 1.0)
        near, _ = self.project(gone, np.zeros(self.mechanism.nv))
        # From a way out of a rigid configuration corrections lead back, or end on the way.
        left = np.abs(self.system.position_error(near)[: self.system.n_held] / self._judged.length)[self._judged.kept]
        moved = np.abs(difference(self.mechanism, q, near)).max()
        if moved > 0.3 * _SHORT_WAY and left.max(initial=0.0) < 1e-11:
            return
        error = self.system.position_error(gone)[: self.system.n_held]
        row = int(np.argmax(np.where(self._judged.kept, np.abs(error) / self._judged.length, 0.0)))
        raise InputError(
            f"simulate: at t = {self._time:.9g} s {self.system.names[row]} allows no motion in this singular "
            "configuration, though its rates do (a chain stretched between its ends): forces in it have no bound; "
            "expected a configuration with some slack"
        )

    def impact_rows(self, q: Floats, v: Floats) -> tuple[HeldMotion, Floats]:
        """Return the active rows (k, nv) for an impact at a state, factored in the metric of the mass matrix."""
        self.use_dense_factors(self._time)
        space = self.load(q, v)
        count, status = compiled_projection.active_rows(*space.arguments)
        self.refuse(status, 0.0)
        G = space.factor.G[:count].copy()
        none = np.zeros(len(G))
        return hold(space.kernels.M.copy(), G, none, None, EXACT, self.mechanism, "simulate"), G

    def settle_joints(self, q: Floats, v: Floats) -> None:
        """Decide at once which of the joints at rest dry friction holds, and which way the others go.

        With friction of sliding contacts, which depends on the joints' friction in turn, this is a first guess.
        """
        friction, rows = self.friction, self.system.linearise(q, v)
        rates = friction.rates(v, rows.motion.free_rate)
        resting = np.flatnonzero(np.abs(rates) <= 10.0 * REST_SPEED * self.space.modes.dry_unit)
        resting = np.union1d(resting, np.array(friction.held, dtype=np.int64)).astype(np.int64)
        friction.slide_all(rates)
        space = self.load(q, v)
        limit, bearings = space.modes.dry_limit.copy(), space.work.bearings.fields.factor
        factor = bearings.copy()
        space.modes.dry_limit[resting] = 0.0
        bearings[resting[: len(bearings)]] = 0.0
        space.work.tau[:] = self.torque(self._time, q, v)
        self.refuse(self._run(compiled_motion.evaluate, False), self._time)
        bearings[:], space.modes.dry_limit[:] = factor, limit
        b = space.work.dry_change[resting].copy()
        noise = 1e-10 * float(np.abs(space.work.a).max(initial=0.0))
        held, _ = self.impact_rows(q, v)
        axes = np.concatenate([np.eye(self.mechanism.nv), rows.free_jacobian])
        E = axes[np.where(friction.velocity >= 0, friction.velocity, self.mechanism.nv + friction.loop_axis)[resting]]
        pushed = held.solve_L(E.T)
        moved, size = held.free_part(pushed), (pushed * pushed).sum(axis=0)
        force = friction_at_rest(moved.T @ moved, b, limit[resting], size, noise, fewest_inside=True)
        for place, axis in enumerate(resting):
            if abs(force[place]) < limit[axis]:
                friction.hold(int(axis))
            else:
                friction.slide(int(axis), -force[place])

    def let_joints_slide(self, q: Floats, v: Floats) -> None:
        """Let go of every joint that dry friction holds, and let all slide as they move."""
        if len(self.friction):
            self.friction.slide_all(self.friction.rates(v, self.system.linearise(q, v).motion.free_rate))

    def contact_position(self, k: int, q: Floats) -> Floats:
        """Return where the point of a contact is, (3,) m."""
        frame = self.mechanism.frame(self.contacts[k].body)
        place = body_poses(self.mechanism, q)[frame.body] @ frame.pose.matrix
        return place[:3, :3] @ np.array(self.contacts[k].point) + place[:3, 3]
