"""The dense way to constrained motion: any contacts, redundant and singular rows, one factorisation per state.

    M a + bias = τ + Gᵀ λ + Fᵀ σ + J_pᵀ f        rows of loops and couplings, forces along the loop joints' free axes,
    G a + γ = 0                                  contact forces                                              (1)

Loops and couplings are held by `held_motion`, contacts on top of them by `contact_forces`. With the rows held, contact
points move by x = B f + b, B = Yᵀ(1 - U Uᵀ)Y with Y = L⁻¹ J_pᵀ in the contacts' bases                     (2)

Source: nishiguchi2014 (10)-(21) in general vector form, for any number of contacts and loops.
Cost: singular values of the rows, (n, nv), per state.
Refuses: a motion without mass, contacts for which no forces exist.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import dry_friction, extended_newton_euler
from setsu.constraints.contact_forces import OPEN, STICKING, solve_contacts
from setsu.constraints.contact_modes_solve import ContactProblem
from setsu.constraints.contact_paradox import refuse_unsettled
from setsu.constraints.held_motion import HeldMotion, hold
from setsu.constraints.internal_forces import gather_loop_wrenches, least_internal_forces, open_directions
from setsu.constraints.loop_joint_forces import loop_joint_forces
from setsu.constraints.prescribed import NOT_DRIVEN, Driven
from setsu.constraints.ranks import EXACT
from setsu.constraints.redundancy import redundancy
from setsu.constraints.stacked import Floats, cross, dot, length_of, times, transposed_times
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics import bias_torque, joint_wrenches, mass_matrix
from setsu.dynamics.equations import bare_inverse_dynamics
from setsu.errors import InputError, ModelWarning

__all__ = ["DenseMotion", "States", "contact_basis", "held_tolerance", "kept_rows"]

_ROUNDS = 200
_EPSILON = float(np.finfo(np.float64).eps)


class States(NamedTuple):
    """States (N): coordinates, velocities, torques, torques along loop axes, wrenches on bodies or None."""

    q: Floats
    v: Floats
    tau: Floats
    loop_torque: Floats
    external: Floats | None

    def at(self, which: NDArray[np.int64]) -> States:
        """Return some of the states."""
        external = None if self.external is None else self.external[which]
        return States(self.q[which], self.v[which], self.tau[which], self.loop_torque[which], external)


def held_tolerance(system: ConstraintSystem, error: Floats) -> Floats:
    """Return the relative size below which singular values of the kept rows are zero, (...).

    Those of loops and couplings vanish at singular configurations only. Contacts may hold what others hold: off the
    closed configuration by some error such rows differ by about that much, and nothing below is meaningful.
    """
    if not system.contacts:
        return np.full(error.shape[:-1], EXACT)
    base = 16.0 * _EPSILON * max(system.mechanism.nv, system.n_rows, 4)
    n = system.n_loop_rows
    moved = np.abs(error[..., :n] / system.row_units[:n]).max(axis=-1, initial=0.0)
    return np.minimum(base + 10.0 * moved, 1e-4)


def kept_rows(system: ConstraintSystem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that always hold: kept ones of loops and couplings, then frictionless bilateral contacts (b,).

    The latter, which are rows like those of loops, are also returned as numbers of contacts.
    """
    always = np.flatnonzero(system.bilateral & (system.friction == 0.0))
    return np.concatenate([np.flatnonzero(redundancy(system).kept), system.n_held + always]), always


class _Wrenches(NamedTuple):
    """On body_b of loops (N, n_loops, 6), on bodies at their origins, and through joints (N, n_bodies, 6)."""

    loop: Floats
    body: Floats
    joint: Floats


class DenseMotion:
    """One batch of N states on its way from rows to forces; method as in `constrained_dynamics`, batch for messages."""

    def __init__(
        self,
        system: ConstraintSystem,
        states: States,
        method: str,
        batch: tuple[int, ...],
        driven: Driven = NOT_DRIVEN,
    ) -> None:
        q, v, tau, loop_torque, external = states
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
            M = M + system.drive_inertia(self.free_jacobian)
            self.free_force = self.free_force - t.armature * rows.motion.free_velocity_term
        self.force = tau - bias + transposed_times(self.free_jacobian, self.free_force)
        self.held_rows, self.always = kept_rows(system)
        self.left_out = np.flatnonzero(~redundancy(system).kept)
        self.changing = np.setdiff1d(np.arange(len(system.contacts)), self.always)
        self.driven = driven
        drives = np.broadcast_to(np.eye(m.nv)[driven.velocity], (len(q), len(driven.names), m.nv))
        self.held: HeldMotion = hold(
            M,
            np.concatenate([self.jacobian[..., self.held_rows, :], drives], axis=-2),
            np.concatenate(
                [rows.velocity_term[..., self.held_rows], np.tile(-driven.motion[:, 2], (len(q), 1))], axis=-1
            ),
            np.concatenate([system.row_size(rows)[..., self.held_rows, :], drives], axis=-2),
            held_tolerance(system, rows.error),
            m,
            "constrained_dynamics",
        )
        self.force = self.force + self.held.shift

    def warn_of_singularity(self, stacklevel: int) -> None:
        """Warn of states in which rows that are independent elsewhere depend on each other."""
        if self.system.contacts or self.driven.names or not (self.held.s_inverse == 0.0).any():
            return
        warnings.warn(
            f"constrained_dynamics: {self.system.mechanism.name} is in a singular configuration, where its constraints "
            "do not determine the motion: accelerations and forces are the least ones (see `residual`)",
            ModelWarning,
            stacklevel=stacklevel,
        )

    def solve(self, stick_speed: float, at_rest: NDArray[np.bool_] | None, frame: str) -> dict[str, NDArray]:
        system, held, rows = self.system, self.held, self.rows
        pushed = held.solve_L(self.force)
        z = held.free_part(pushed[..., None])[..., 0] + held.forced_part
        force, mode, z_contact, pushed_contact = self._contacts(z, stick_speed, at_rest)
        z = z + z_contact
        a = held.acceleration(z)
        multipliers = np.zeros((len(self.q), system.n_held + len(self.always)))
        places = np.concatenate(
            [self.held_rows[: len(self.held_rows) - len(self.always)], system.n_held + np.arange(len(self.always))]
        ).astype(np.int64)
        n_rows = len(places)
        found = held.multipliers(z - pushed - pushed_contact)
        multipliers[:, places] = found[:, :n_rows]
        if self.system.loops.armature.any():
            drive = system.loops.armature * times(self.free_jacobian, a)
            self.free_force = self.free_force - drive

        contact_force = np.zeros((len(self.q), len(system.contacts), 3))
        contact_force[:, self.changing] = force
        wrenches = self._wrenches(multipliers, contact_force, a, "world")
        left_out = self.jacobian[..., self.left_out, :]
        open_rows = open_directions(held, left_out, places, self.left_out, multipliers.shape[-1])
        multipliers = least_internal_forces(
            system, rows, self.q, open_rows, multipliers, wrenches.loop, wrenches.joint, self.always
        )
        wrenches = self._wrenches(multipliers, contact_force, a, frame)
        touching = np.ones(contact_force.shape[:-1], dtype=bool)
        touching[:, self.changing] = mode != OPEN
        # Rounding must not make a contact pull that cannot.
        pressing = dot(contact_force, rows.normal)
        normal_force = np.where(touching, np.where(system.bilateral, pressing, np.maximum(pressing, 0.0)), 0.0)
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
            "prescribed_torque": found[:, n_rows:],
        }

    def friction_at_rest(
        self,
        axes: NDArray[np.int64],
        resting: NDArray[np.bool_],
        limit: Floats,
        stick_speed: float,
        at_rest: NDArray[np.bool_] | None,
    ) -> Floats:
        """Return the friction (N, r) along axes (r,) of joints, numbered as velocities and then axes of loop joints.

        resting: (N, r), whether friction holds an axis up to its limit (r,); it is zero for the others.
        """
        nv, held = self.system.mechanism.nv, self.held
        F = np.swapaxes(self.free_jacobian, -1, -2)
        columns = np.concatenate([np.broadcast_to(np.eye(nv), (len(F), nv, nv)), F], axis=-1)[..., axes]
        bias = np.concatenate([np.zeros((len(F), nv)), self.rows.motion.free_velocity_term], axis=-1)[:, axes]
        Y = held.solve_L(columns)
        Z = held.free_part(Y)
        A, size = np.swapaxes(Z, -1, -2) @ Z, (Y * Y).sum(-2)
        z = held.free_part(held.solve_L(self.force)[..., None])[..., 0] + held.forced_part
        force = np.zeros(resting.shape)
        for _ in range(_ROUNDS if self.changing.size else 1):
            # Contacts answer to friction, and friction to contacts: in turn, until neither changes.
            moved = self._contacts(z + times(Z, force), stick_speed, at_rest)[2]
            b, before = transposed_times(Y, z + moved) + bias, force
            noise = 1e-10 * (np.sqrt(size) * length_of(z + moved)[:, None] + np.abs(bias))
            force = np.zeros(resting.shape)
            for n, mine in enumerate(resting):
                own = np.flatnonzero(mine)
                compliance = A[n][np.ix_(own, own)]
                force[n, own] = dry_friction.friction_at_rest(
                    compliance, b[n, own], limit[own], size[n, own], noise[n, own]
                )
            if np.abs(force - before).max(initial=0.0) <= 1e-12 * np.abs(force).max(initial=0.0):
                return force
        if self.changing.size:
            raise InputError(
                "constrained_dynamics: no balance of dry friction in joints at rest with friction of contacts was "
                "found; expected smaller coefficients, or `coulomb` of joints that move"
            )
        return force

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
        basis, moving = contact_basis(normal, velocity, stick_speed)
        if at_rest is not None:
            moving = ~at_rest[:, which] & (length_of(velocity) > 0.0)
        J = (basis @ self.contact_jacobian[:, which]).reshape(count, 3 * c, system.mechanism.nv)
        Y, Z, gives = held.responses(J)
        B = (np.swapaxes(Z, -1, -2) @ Z).reshape(count, c, 3, c, 3)  # (2)
        b = transposed_times(Y, z).reshape(count, c, 3)
        b = b + times(basis, rows.contact_velocity_term[:, which])
        b[..., 0] += rows.velocity_term[:, system.n_held + which] - dot(normal, rows.contact_velocity_term[:, which])
        b = b * gives.reshape(b.shape)
        friction, bilateral = system.friction[which], system.bilateral[which]
        names = tuple(system.contacts[k].name for k in which)
        solution = solve_contacts(B, b, friction, bilateral, moving)
        if not solution.converged.all():
            state = int(np.argmin(solution.converged))
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
        kept = np.zeros(self.system.n_held, dtype=bool)
        kept[self.held_rows[: len(self.held_rows) - len(self.always)]] = True
        held = np.concatenate([np.broadcast_to(kept, (len(a), len(kept))), touching], axis=-1)
        left = times(self.rows.jacobian, a) + self.rows.velocity_term
        return np.abs(np.where(held, left, 0.0)).max(axis=-1, initial=0.0)


def contact_basis(normal: Floats, velocity: Floats, stick_speed: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return rows n, t1, t2 of each contact, t1 along the sliding velocity if there is one, and whether it slides."""
    sliding = velocity - normal * dot(normal, velocity)[..., None]
    speed = length_of(sliding)
    # Some direction normal to n: the coordinate axis n has least of, made tangential.
    helper = np.eye(3)[np.argmin(np.abs(normal), axis=-1)]
    any_tangent = cross(normal, helper)
    t1 = np.where((speed > 0.0)[..., None], sliding, any_tangent)
    t1 = t1 / np.linalg.norm(t1, axis=-1, keepdims=True)
    return np.stack([normal, t1, cross(normal, t1)], axis=-2), speed > stick_speed
