"""Motion and forces of a mechanism under its loops, couplings and surface contacts, all at once.

    M a + bias = τ + Gᵀ λ + Fᵀ σ + J_pᵀ f        rows of loops and couplings, forces along the loop joints' free axes,
    G a + γ = 0                                  contact forces                                              (1)

Loops and couplings are held by `held_motion`, contacts on top of them by `contact_forces`. With the rows held, contact
points move by x = B f + b, B = Yᵀ(1 - U Uᵀ)Y with Y = L⁻¹ J_pᵀ in the contacts' bases                     (2)

Source: nishiguchi2014 (10)-(21) in general vector form, for any number of contacts and loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import extended_newton_euler
from setsu.constraints.bearing_loads import all_bearing_friction, settled_bearing_friction
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.contact_forces import OPEN, STICKING, solve_contacts
from setsu.constraints.contact_paradox import refuse_unsettled
from setsu.constraints.contact_problem import ContactProblem
from setsu.constraints.held_motion import HeldMotion, hold
from setsu.constraints.internal_forces import gather_loop_wrenches, least_internal_forces
from setsu.constraints.sparse_dynamics import SparseSolver, sparse_solver
from setsu.constraints.stacked import Floats, cross, dot, length_of, times, transposed_times
from setsu.constraints.states import checked_arrays, coordinate_names
from setsu.constraints.system import ConstraintSystem, Linearisation, constraint_system
from setsu.dynamics import bias_torque, joint_wrenches, mass_matrix
from setsu.dynamics.equations import bare_inverse_dynamics
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism

__all__ = [
    "ConstrainedDynamics",
    "constrained_dynamics",
    "constrained_dynamics_with",
    "held_tolerance",
    "loop_joint_forces",
]

_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ConstrainedDynamics:
    """Motion and every force of a constrained mechanism; forces act on the mechanism, world axes.

    Where redundant constraints leave forces undetermined, they are the least over all joints, wherever loops are cut.

    acceleration: (..., nv), m/s² or rad/s².
    normal_force: (..., n_contacts), N, along the surface normal; at least 0 unless the contact is bilateral.
    friction_force: (..., n_contacts, 3), N, tangential to the surface.
    loop_wrench: (..., n_loops, 6), exerted by body_a on body_b at the joint (the origin of its frame on body_b), N and
        N m; parts along free axes are the actuator's and the joint's own friction.
    joint_wrenches: (..., n_bodies, 6), exerted by the parent on the body at the body origin, with all contact and loop
        forces at work; parts along free axes are those of actuator, friction and couplings.
    coupling_force: (..., n_couplings): the force on each joint is this times the joint's factor.
    residual: (...,), largest |G a + γ| of the rows that hold, m/s² or rad/s²; not small where rows contradict.
    touching: (..., n_contacts), whether the contact presses (or is bilateral).
    sticking: (..., n_contacts), whether friction holds the contact point at rest.
    constraint_wrenches: (..., n_bodies, 6), loops and contacts as wrenches on the bodies at their origins.
    """

    acceleration: Floats
    normal_force: Floats
    friction_force: Floats
    loop_wrench: Floats
    joint_wrenches: Floats
    coupling_force: Floats
    residual: Floats
    touching: NDArray[np.bool_]
    sticking: NDArray[np.bool_]
    constraint_wrenches: Floats


def constrained_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    method: str = "default",
    *,
    loop_torque: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
    stick_speed: float = 1e-9,
    sticking: ArrayLike | None = None,
    frame: str = "world",
) -> ConstrainedDynamics:
    """Return accelerations and all forces of a mechanism with loops, couplings and surface contacts.

    Args:
        q, v, tau: coordinates (..., nq), velocities (..., nv), joint torques (..., nv).
        contacts: points held on surfaces; they are taken as touching.
        method: "default", or "extended_newton_euler": mass matrix, bias and constraint directions all out of repeated
            inverse dynamics, as in nishiguchi2014 (30)-(35); same result.
        loop_torque: actuators in loop joints, along their free axes in the order of the loops, (..., n), N or N m.
        external_wrenches: on each body at its origin, world axes, (..., n_bodies, 6), N and N m.
        stick_speed: sliding slower than this (m/s) counts as rest.
        sticking: (..., n_contacts), decide rest or sliding yourself instead of by stick_speed.
        frame: axes of joint_wrenches, "world" or "body".

    Raises:
        InputError: bad arguments, friction jamming (with K's critical value), a chain without mass.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> r = setsu.constrained_dynamics(m, [0.0] * 3, [0.0] * 3, [0.0] * 3)
    >>> r.loop_wrench.shape, bool(r.residual < 1e-10)
    ((1, 6), True)
    """
    return constrained_dynamics_with(
        False, mechanism, q, v, tau, contacts, method, loop_torque=loop_torque, external_wrenches=external_wrenches,
        stick_speed=stick_speed, sticking=sticking, frame=frame,
    )  # fmt: skip


def constrained_dynamics_with(
    specialised: bool,
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    method: str = "default",
    *,
    loop_torque: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
    stick_speed: float = 1e-9,
    sticking: ArrayLike | None = None,
    frame: str = "world",
) -> ConstrainedDynamics:
    """`constrained_dynamics` with generic code or with code specialised for the mechanism."""
    if method not in ("default", "extended_newton_euler"):
        choices = ("default", "extended_newton_euler")
        raise InputError(f"constrained_dynamics: unknown method {method!r}{nearest_names(str(method), choices)}")
    if frame not in ("world", "body"):
        raise InputError(f'constrained_dynamics: frame: expected "world" or "body", got {frame!r}')
    m = mechanism
    system = constraint_system(m, contacts)
    n_free, n_contacts = len(system.loops.free_loop), len(system.contacts)
    arrays: list[tuple[str, ArrayLike, tuple[int, ...]]] = [("q", q, (m.nq,)), ("v", v, (m.nv,)), ("tau", tau, (m.nv,))]
    arrays.append(("loop_torque", np.zeros(n_free) if loop_torque is None else loop_torque, (n_free,)))
    if external_wrenches is not None:
        arrays.append(("external_wrenches", external_wrenches, (m.n_bodies, 6)))
    if sticking is not None:
        arrays.append(("sticking", sticking, (n_contacts,)))
    taken, batch = checked_arrays("constrained_dynamics", m, arrays)
    count = math.prod(batch)
    flat = [numbers.reshape(count, *numbers.shape[len(batch) :]) for numbers in taken]
    external = flat[4] if external_wrenches is not None else None
    at_rest = flat[-1] != 0.0 if sticking is not None else None
    if m.has_bearings:

        def friction_of(friction: Floats) -> Floats:
            tau, along = flat[2] - friction[:, : m.nv], flat[3] - friction[:, m.nv :]
            motion = _Motion(system, flat[0], flat[1], tau, along, external, method, batch)
            found = motion.solve(stick_speed, at_rest, "body")
            return all_bearing_friction(system, motion.rows, flat[1], found["joint_wrenches"], found["loop_wrench"])

        of_tree, of_loops = settled_bearing_friction(system, "constrained_dynamics", friction_of, (count,))
        flat[2], flat[3] = flat[2] - of_tree, flat[3] - of_loops
    states = _States(flat[0], flat[1], flat[2], flat[3], external)
    solver = sparse_solver(system, specialised) if method == "default" and count else None
    if solver is not None:
        result = _sparse_first(system, solver, states, frame, batch)
    else:
        result = _Motion(system, *states, method, batch).solve(stick_speed, at_rest, frame)
    return ConstrainedDynamics(**{key: array.reshape((*batch, *array.shape[1:])) for key, array in result.items()})


class _States(NamedTuple):
    """States (N): coordinates, velocities, torques, torques along loop axes, wrenches on bodies or None."""

    q: Floats
    v: Floats
    tau: Floats
    loop_torque: Floats
    external: Floats | None


def _sparse_first(
    system: ConstraintSystem, solver: SparseSolver, states: _States, frame: str, batch: tuple[int, ...]
) -> dict[str, NDArray]:
    """Solve states without contacts at a cost that grows with the loops; those with redundant rows densely."""
    m, count = system.mechanism, len(states.q)
    found = solver.solve(*states)
    through = found.joint_wrenches
    if frame == "body":
        total = found.body_wrench if states.external is None else found.body_wrench + states.external
        through = joint_wrenches(m, states.q, states.v, found.a, total)
    result = {
        "acceleration": found.a,
        "normal_force": np.zeros((count, 0)),
        "friction_force": np.zeros((count, 0, 3)),
        "loop_wrench": found.loop_wrench,
        "joint_wrenches": through,
        "coupling_force": found.multiplier[:, system.n_loop_rows :],
        "residual": found.residual,
        "touching": np.zeros((count, 0), dtype=bool),
        "sticking": np.zeros((count, 0), dtype=bool),
        "constraint_wrenches": found.body_wrench,
    }
    left = np.flatnonzero(found.outcome)
    if left.size:
        some = [None if array is None else array[left] for array in states]
        dense = _Motion(system, *some, "default", batch).solve(0.0, None, frame)  # type: ignore[arg-type]
        for key, array in dense.items():
            result[key][left] = array
    return result


def held_tolerance(system: ConstraintSystem, error: Floats) -> Floats:
    """Return the relative size below which singular values of the rows are zero, (...).

    Off the closed configuration by some error, redundant rows differ by about that much: nothing below is meaningful.
    """
    base = 16.0 * _EPSILON * max(system.mechanism.nv, system.n_rows, 4)
    n = system.n_loop_rows
    moved = np.abs(error[..., :n] / system.row_units[:n]).max(axis=-1, initial=0.0)
    return np.minimum(base + 10.0 * moved, 1e-4)


def loop_joint_forces(system: ConstraintSystem, rows: Linearisation) -> Floats:
    """Return damper, dry friction and spring forces of the loop joints along their free axes, (..., f)."""
    t = system.loops
    if not t.has_joint_forces:
        return np.zeros(rows.motion.free_rate.shape)
    rate = rows.motion.free_rate
    stretch = system.loop_coordinates(rows.places) - t.spring_rest
    return -t.damping * rate - t.coulomb * np.sign(rate) - t.stiffness * stretch


class _Wrenches(NamedTuple):
    """On body_b of loops (N, n_loops, 6), on bodies at their origins, and through joints (N, n_bodies, 6)."""

    loop: Floats
    body: Floats
    joint: Floats


class _Motion:
    """One batch of N states on its way from rows to forces."""

    def __init__(
        self,
        system: ConstraintSystem,
        q: Floats,
        v: Floats,
        tau: Floats,
        loop_torque: Floats,
        external: Floats | None,
        method: str,
        batch: tuple[int, ...],
    ) -> None:
        self.system, self.q, self.v, self.external, self.batch = system, q, v, external, batch
        m, t = system.mechanism, system.loops
        rows = self.rows = system.linearise(q, v)
        self.jacobian, self.free_jacobian = rows.jacobian, rows.free_jacobian
        self.contact_jacobian = rows.contact_jacobian
        if method == "extended_newton_euler":
            terms = extended_newton_euler.terms(system, rows, q, v, external)
            M, bias, self.jacobian = terms.mass_matrix, terms.bias, terms.jacobian
            self.free_jacobian, self.contact_jacobian = terms.free_jacobian, terms.contact_jacobian
        else:
            M = mass_matrix(m, q)
            bias = (
                bias_torque(m, q, v) if external is None else bare_inverse_dynamics(m, q, v, np.zeros(m.nv), external)
            )
        # Along free axes: actuators, friction and springs of loop joints, and their drives' inertia.
        self.free_force = loop_torque + loop_joint_forces(system, rows)
        if t.armature.any():
            F = self.free_jacobian
            M = M + np.swapaxes(F, -1, -2) @ (t.armature[:, None] * F)
            self.free_force = self.free_force - t.armature * rows.motion.free_velocity_term
        self.force = tau - bias + transposed_times(self.free_jacobian, self.free_force)
        # Frictionless contacts that hold for ever are rows like those of loops.
        self.always = np.flatnonzero(system.bilateral & (system.friction == 0.0))
        self.held_rows = np.concatenate([np.arange(system.n_held), system.n_held + self.always])
        self.changing = np.flatnonzero(~(system.bilateral & (system.friction == 0.0)))
        self.held: HeldMotion = hold(
            M,
            self.jacobian[..., self.held_rows, :],
            rows.velocity_term[..., self.held_rows],
            system.row_size(rows)[..., self.held_rows, :],
            held_tolerance(system, rows.error),
            coordinate_names(m),
        )
        self.force = self.force + self.held.shift

    def solve(self, stick_speed: float, at_rest: NDArray[np.bool_] | None, frame: str) -> dict[str, NDArray]:
        system, held, rows = self.system, self.held, self.rows
        pushed = held.push(self.force)
        z = held.free_part(pushed[..., None])[..., 0] + held.forced_part
        force, mode, z_contact, pushed_contact = self._contacts(z, stick_speed, at_rest)
        z = z + z_contact
        a = held.acceleration(z)
        multipliers = held.multipliers(z - pushed - pushed_contact)
        if self.system.loops.armature.any():
            drive = system.loops.armature * times(self.free_jacobian, a)
            self.free_force = self.free_force - drive

        contact_force = np.zeros((len(self.q), len(system.contacts), 3))
        contact_force[:, self.changing] = force
        wrenches = self._wrenches(multipliers, contact_force, a, "world")
        multipliers = least_internal_forces(
            system, rows, self.q, held, multipliers, wrenches.loop, wrenches.joint, self.always
        )
        wrenches = self._wrenches(multipliers, contact_force, a, frame)
        normal_force = dot(contact_force, rows.normal)
        touching = np.ones(contact_force.shape[:-1], dtype=bool)
        touching[:, self.changing] = mode != OPEN
        sticking = np.zeros(touching.shape, dtype=bool)
        sticking[:, self.changing] = mode == STICKING
        return {
            "acceleration": a,
            "normal_force": normal_force,
            "friction_force": contact_force - normal_force[..., None] * rows.normal,
            "loop_wrench": wrenches.loop,
            "joint_wrenches": wrenches.joint,
            "coupling_force": multipliers[:, system.n_loop_rows : system.n_held],
            "residual": self._residual(a, touching),
            "touching": touching,
            "sticking": sticking,
            "constraint_wrenches": wrenches.body,
        }

    def _contacts(
        self, z: Floats, stick_speed: float, at_rest: NDArray[np.bool_] | None
    ) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
        """Forces (N, c, 3) of the changing contacts in world axes, their modes, and what they add to z and L⁻¹ f."""
        system, rows, held, which = self.system, self.rows, self.held, self.changing
        count, c = len(self.q), len(which)
        if not c:
            zeros = np.zeros((count, 0, 3))
            return zeros, np.zeros((count, 0), dtype=np.int64), np.zeros(z.shape), np.zeros(z.shape)
        normal, velocity = rows.normal[:, which], rows.contact_velocity[:, which]
        basis, moving = _contact_basis(normal, velocity, stick_speed)
        if at_rest is not None:
            moving = ~at_rest[:, which] & (length_of(velocity) > 0.0)
        J = (basis @ self.contact_jacobian[:, which]).reshape(count, 3 * c, -1)
        Y = held.push(np.swapaxes(J, -1, -2))
        Z = held.free_part(Y)
        B = (np.swapaxes(Z, -1, -2) @ Z).reshape(count, c, 3, c, 3)  # (2)
        b = transposed_times(Y, z).reshape(count, c, 3)
        b = b + times(basis, rows.contact_velocity_term[:, which])
        b[..., 0] += rows.velocity_term[:, system.n_held + which] - dot(normal, rows.contact_velocity_term[:, which])
        friction, bilateral = system.friction[which], system.bilateral[which]
        names = tuple(system.contacts[k].name for k in which)
        solution = solve_contacts(B, b, friction, bilateral, moving)
        if not solution.settled.all():
            state = int(np.argmin(solution.settled))
            problem = ContactProblem(B, b, friction, bilateral, moving).at([state])
            where = f" in state {[int(i) for i in np.unravel_index(state, self.batch)]}" if self.batch else ""
            refuse_unsettled(problem, names, where, impossible=bool(solution.impossible[state]))
        local = solution.force.reshape(count, 3 * c)
        world = transposed_times(basis, solution.force)
        return world, solution.mode, times(Z, local), times(Y, local)

    def _wrenches(self, multipliers: Floats, contact_force: Floats, a: Floats, frame: str) -> _Wrenches:
        """All wrenches of the multipliers; fills in the forces of contacts that are rows."""
        system, rows = self.system, self.rows
        contact_force[:, self.always] = multipliers[:, system.n_held :, None] * rows.normal[:, self.always]
        loop = gather_loop_wrenches(system, rows, multipliers, self.free_force)
        body = system.body_wrenches(rows, loop, contact_force)
        total = body if self.external is None else body + self.external
        return _Wrenches(loop, body, joint_wrenches(system.mechanism, self.q, self.v, a, total, frame=frame))

    def _residual(self, a: Floats, touching: NDArray[np.bool_]) -> Floats:
        held = np.concatenate([np.ones((len(a), self.system.n_held), dtype=bool), touching], axis=-1)
        left = times(self.rows.jacobian, a) + self.rows.velocity_term
        return np.abs(np.where(held, left, 0.0)).max(axis=-1, initial=0.0)


def _contact_basis(normal: Floats, velocity: Floats, stick_speed: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows n, t1, t2 of each contact, t1 along the sliding velocity where there is one, and whether it slides."""
    sliding = velocity - normal * dot(normal, velocity)[..., None]
    speed = length_of(sliding)
    # Some direction normal to n: the coordinate axis n has least of, made tangential.
    helper = np.eye(3)[np.argmin(np.abs(normal), axis=-1)]
    any_tangent = cross(normal, helper)
    t1 = np.where((speed > 0.0)[..., None], sliding, any_tangent)
    t1 = t1 / np.linalg.norm(t1, axis=-1, keepdims=True)
    return np.stack([normal, t1, cross(normal, t1)], axis=-2), speed > stick_speed
