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

from setsu.constraints.bearing_loads import all_bearing_limits
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.internal_forces import gather_loop_wrenches
from setsu.constraints.states import coordinate_names
from setsu.constraints.system import constraint_system
from setsu.dynamics import body_poses, joint_wrenches
from setsu.dynamics.bearings import settle_friction
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.contact_modes import ContactMode, JamError, Mode
from setsu.simulation.internal_forces import InternalForces
from setsu.simulation.joint_friction import JointFriction, without_dry_friction
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.loop_joint_forces import LoopJointForces
from setsu.simulation.mass_metric import MassMetric
from setsu.simulation.motion import Evaluation, mechanical_energy

__all__ = ["SPARSE_FROM", "ConstrainedMotion"]

Floats = NDArray[np.float64]
Structure = tuple[tuple[Mode, ...], tuple[int, ...], tuple[int, ...]]

SPARSE_FROM = 6
"""Velocities from which loops are factored sparsely: for fewer, dense factors cost no more and judge ranks better."""


class ConstrainedMotion:
    """A mechanism with constraints; its contact modes and its active loops change only between steps.

    open_loops: names of loops that are not active. baumgarte: rate (1/s) of Baumgarte's stabilisation, which then takes
    the place of projection. joint_stops: whether joints end at their limits.
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
    ) -> None:
        self.declared, self.torque, self.baumgarte = mechanism, torque, baumgarte
        self.stops = JointStops(mechanism, joint_stops)
        self.open_loops = frozenset(open_loops)
        closed = tuple(loop for loop in mechanism.loops if loop.name not in self.open_loops)
        active = replace(mechanism, loops=closed) if self.open_loops else mechanism
        self.friction = JointFriction(active)
        # Dry friction acts by its state, not by the sign of a velocity as in the kernels.
        self.mechanism = without_dry_friction(active) if len(self.friction) else active
        self._loop_places = [k for k, loop in enumerate(mechanism.loops) if loop.name not in self.open_loops]
        self.system = constraint_system(self.mechanism, contacts)
        self.contacts = self.system.contacts
        self.contact_names = tuple(contact.name for contact in self.contacts)
        self.modes = [ContactMode(Mode.SLIDE) for _ in self.contacts]
        self.joint_forces = LoopJointForces(self.system)
        self._ranks: dict[Structure, int] = {}
        drives_in_loops = bool(self.system.loops.armature.any())
        loops_alone = bool(self.system.n_held) and not (self.contacts or drives_in_loops or baumgarte)
        self._sparse = loops_alone and self.mechanism.nv >= SPARSE_FROM

    def restructured(self, declared: Mechanism, open_loops: Iterable[str]) -> ConstrainedMotion:
        """The motion with other loops open, contacts and stops as they are."""
        changed = ConstrainedMotion(
            declared, self.torque, self.contacts, open_loops=open_loops, baumgarte=self.baumgarte
        )
        changed.modes, changed.stops = list(self.modes), self.stops
        return changed

    @property
    def constrained(self) -> bool:
        """Whether stages have to be projected."""
        return self.baumgarte is None

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return kinetic and potential energy, springs and drives in loop joints included (J), (...)."""
        energy = mechanical_energy(self.mechanism, q, v)
        return energy + self.joint_forces.energy(q, v) if self.joint_forces.exist else energy

    # Compiled code and its arrays ----------------------------------------------------------------------------------

    @cached_property
    def compiled(self) -> Any:
        """The compiled functions; loading them brings Numba along, so only when there is something to move."""
        from setsu.simulation import compiled_motion

        return compiled_motion

    @cached_property
    def compiled_projection(self) -> Any:
        """Those that lead to the constraints."""
        from setsu.simulation import compiled_projection

        return compiled_projection

    @cached_property
    def space(self) -> Any:
        """The arrays of the compiled functions."""
        from setsu.simulation.motion_space import motion_space

        return motion_space(self.system, self.stops, self.friction, self.baumgarte)

    def load(self, q: Floats, v: Floats) -> Any:
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

    def unload_directions(self) -> None:
        """Take over the sliding directions that compiled steps have left."""
        for k, mode in enumerate(self.modes):
            if mode.mode is Mode.SLIDE:
                self.modes[k] = replace(mode, direction=self.space.modes.direction[k].copy())

    def refuse(self, status: int, t: float) -> None:
        """Raise the InputError that a status of compiled code stands for; none below zero."""
        from setsu.simulation.motion_space import JAMMED, MASSLESS, UNSUITABLE

        if status < 0:
            return
        if status >= JAMMED:
            contact = self.contacts[status - JAMMED]
            raise JamError(
                f'simulate: contact "{contact.name}" jams at t = {t:.9g} s: friction {contact.friction:g} '
                f"presses it harder into the surface than it can resist (Painlevé paradox); expected a coefficient "
                f"below {self.space.work.critical[0]:.6g} in this configuration",
                status - JAMMED,
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

    def evaluate(self, t: float, q: Floats, v: Floats, *, complete: bool = True) -> Evaluation:
        """Return accelerations and powers at time t (s) in a state that satisfies the constraints.

        complete: also what only the end of a step needs: forces, guards, violation.
        """
        space, tau = self.load(q, v), self.torque(t, q, v)
        work = space.work
        work.tau[:] = tau
        if self.mechanism.has_bearings:
            self._evaluate_with_bearings(t, q, v, tau)
        else:
            self.refuse(self.compiled.evaluate(*space.arguments, False, True), t)
        if not complete:
            return Evaluation(t, q, v, work.a.copy(), tau, work.powers.copy())
        self._learn_rank()
        return self.gathered(t, q, v, tau)

    def _evaluate_with_bearings(self, t: float, q: Floats, v: Floats, tau: Floats) -> None:
        """Evaluate with the friction of bearings that the forces of that very state bring about."""
        system, space, friction = self.system, self.space, self.friction
        rows = self.system.linearise(q[None], v[None])
        places = np.where(friction.velocity >= 0, friction.velocity, self.mechanism.nv + friction.loop_axis)

        def limits_of(limits: Floats) -> Floats:
            space.modes.dry_limit[:] = friction.coulomb + limits
            self.refuse(self.compiled.evaluate(*space.arguments, False, True), t)
            found = self.gathered(t, q, v, tau)
            along = self.joint_forces.along_axes(rows, found.acceleration[None])
            along += friction.along_loop_axes(found.dry_force[None], along.shape[1])
            contact_force = found.normal_force[:, None] * rows.normal[0] + found.friction_force
            loops = gather_loop_wrenches(system, rows, found.multipliers[None], along)
            external = system.body_wrenches(rows, loops, contact_force[None])
            through = joint_wrenches(self.mechanism, q[None], v[None], found.acceleration[None], external)
            return all_bearing_limits(system, rows, through, loops)[0, places]

        limits_of(settle_friction(self.mechanism, f"simulate: at t = {t:.9g} s", limits_of, (len(friction),)))

    def gathered(self, t: float, q: Floats, v: Floats, tau: Floats) -> Evaluation:
        """Return what compiled code has just found of a state, as a record."""
        space = self.space
        state, work = space.state, space.work
        normal = state.contact_normal
        normal_force, friction_force = work.normal_force.copy(), work.friction_force.copy()
        velocity = state.contact_velocity
        return Evaluation(
            t, q, v, work.a.copy(), tau, work.powers.copy(),
            normal_force=normal_force,
            friction_force=friction_force,
            multipliers=work.multiplier[: self.system.n_loop_rows].copy(),
            sliding=velocity - normal * np.sum(normal * velocity, axis=1)[:, None],
            dry_force=work.dry_force.copy(),
            dry_rate=work.dry_rate.copy(),
            dry_change=work.dry_change.copy(),
            guards=work.guards.copy(),
            error=float(work.violation[0]),
            redundant=bool(work.redundant[0]),
        )  # fmt: skip

    def record_widths(self) -> tuple[int, int, int]:
        """How many contacts, axes with dry friction and loop rows there are."""
        return len(self.contacts), len(self.friction), self.system.n_loop_rows

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the nearest state, in the metric of the mass matrix, that satisfies the constraints."""
        space = self.load(q, v)
        self.refuse(self.compiled_projection.project(*space.arguments, self.largest_rank), 0.0)
        return space.state.q.copy(), space.state.v.copy()

    def forces(
        self,
        q: Floats,
        v: Floats,
        a: Floats,
        multipliers: Floats,
        normal_force: Floats,
        friction_force: Floats,
        dry_force: Floats,
        redundant: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Return the forces of T recorded states, world axes.

        q, v, a: (T, nq) and (T, nv). multipliers (T, loop rows). normal_force (T, contacts), friction_force with (3).
        dry_force (T, axes with dry friction). redundant (T,): not zero where rows depend on each other.
        Returns contact forces (T, contacts, 3), loop wrenches (T, declared loops, 6), and all of them as wrenches on
        the bodies at their origins (T, n_bodies, 6).
        """
        if self.joint_forces.exist:
            rows = self.system.linearise(q, v)
            along = self.joint_forces.along_axes(rows, a)
        else:
            rows, along = self.system.force_geometry(q), np.zeros((len(q), len(self.system.loops.free_loop)))
        dry = self.friction.along_loop_axes(dry_force, along.shape[1])
        along = along + dry
        contact_force = normal_force[..., None] * rows.normal + friction_force
        active = gather_loop_wrenches(self.system, rows, multipliers, along)
        if active.size:
            choice = InternalForces(self.system, rows, q, v, a, active, contact_force)
            choice.make_least(multipliers == 0.0, redundant != 0.0, dry)
        loops = np.zeros((len(q), len(self.declared.loops), 6))
        loops[:, self._loop_places] = active
        return contact_force, loops, self.system.body_wrenches(rows, active, contact_force)

    # Ranks and impacts ---------------------------------------------------------------------------------------------

    @property
    def largest_rank(self) -> int:
        """Rank met on the constraints in the present structure: off them redundant rows look independent."""
        return self._ranks.get(self._structure(), len(self.space.work.gamma))

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
        if self.compiled.evaluate(*space.arguments, False, True) < 0:
            self._learn_rank()
        else:
            # Forces do not exist, as where friction jams; rows do.
            self.learn_rank(self.impact_metric(q, v)[0].rank)

    def impact_metric(self, q: Floats, v: Floats) -> tuple[MassMetric, Floats]:
        """Return mass metric and active rows (k, nv) for an impact at a state."""
        space = self.load(q, v)
        count, status = self.compiled_projection.active_rows(*space.arguments)
        self.refuse(status, 0.0)
        G = space.factor.G[:count].copy()
        return MassMetric(space.kernels.M.copy(), G), G

    def let_joints_slide(self, q: Floats, v: Floats) -> None:
        """Let go of every joint that dry friction holds, and let all slide as they move."""
        if len(self.friction):
            self.friction.slide_all(self.friction.rates(v, self.system.linearise(q, v).motion.free_rate))

    def contact_position(self, k: int, q: Floats) -> Floats:
        """Return where the point of a contact is, (3,) m."""
        frame = self.mechanism.frame(self.contacts[k].body)
        place = body_poses(self.mechanism, q)[frame.body] @ frame.pose.matrix
        return place[:3, :3] @ np.array(self.contacts[k].point) + place[:3, 3]


# As in motion_space, which is not imported before it is needed.
_NUMBER = {Mode.FREE: 0, Mode.SLIDE: 1, Mode.STICK: 2}
