"""Derivatives of all rows, and of the joint forces of all constraint forces, with accelerations and forces held.

They are the right-hand side of constrained_dynamics_derivatives (2). Directions, an axis of length 2 nv, are along the
coordinates first, then along the velocities.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from setsu.constraints.internal_forces import gather_loop_wrenches
from setsu.constraints.row_derivatives import (
    ContactDerivatives,
    LoopDerivatives,
    coupling_derivatives,
    loop_derivatives,
)
from setsu.constraints.stacked import Floats, cross, times
from setsu.constraints.system import ConstraintSystem, Linearisation
from setsu.dynamics import body_poses, inverse_dynamics_derivatives
from setsu.dynamics.motion_derivatives import MotionDerivatives, fixed_wrench_changes, force_derivative

__all__ = ["ConstraintPartials", "at_points", "at_rest", "in_motion"]


def at_points(wrench: Floats, points: Floats) -> Floats:
    """Return wrenches (..., 6) at points (..., 3) as wrenches about the world's origin."""
    return np.concatenate([wrench[..., :3], wrench[..., 3:] + cross(points, wrench[..., :3])], axis=-1)


class ConstraintPartials:
    """Constraints at N states q (N, nq), v, a (N, nv), with wrenches of loops (N, L, 6; at the joints, world axes) of
    which `free` (N, f) is along the free axes."""

    def __init__(
        self,
        system: ConstraintSystem,
        rows: Linearisation,
        q: Floats,
        v: Floats,
        a: Floats,
        loop_wrench: Floats,
        free: Floats,
    ) -> None:
        self.system, self.rows, self.q, self.v, self.a = system, rows, q, v, a
        self.loop_wrench, self.free = loop_wrench, free
        self.motion = MotionDerivatives(system.mechanism, q, v, a)
        self.poses = body_poses(system.mechanism, q)
        self.origins = np.concatenate([self.poses[..., :3, 3], np.zeros((len(q), 1, 3))], axis=1)
        t = system.loops
        self.pins = self.origins[:, t.body_b] + self.rows.loop_poses.arm_b
        # A velocity feels a loop's wrench where it moves one of the two bodies.
        self.felt = self.motion.moves[t.body_b] - self.motion.moves[t.body_a]

    @cached_property
    def loops(self) -> LoopDerivatives:
        """Of the loops' rows and free axes."""
        coefficients = np.concatenate([self._multipliers(), self.free], axis=1)
        return loop_derivatives(self.system, self.rows, self.motion, self.pins, coefficients)

    @cached_property
    def contacts(self) -> ContactDerivatives:
        """Of the contact points."""
        return ContactDerivatives(self.system, self.rows, self.motion, self.origins, self.a)

    @cached_property
    def _couplings(self) -> tuple[Floats, Floats]:
        return coupling_derivatives(self.system, self.q, self.v, self.a)

    @property
    def row_changes(self) -> Floats:
        """Of G a + γ, all rows of loops, couplings and contact normals, (N, n, 2 nv)."""
        loops = self.loops.acceleration[:, : self.system.n_loop_rows]
        return np.concatenate([loops, self._couplings[0], self.contacts.drow], axis=1)

    @property
    def rate_changes(self) -> Floats:
        """Of G v, all rows of loops and couplings, (N, n_held, 2 nv)."""
        loops = self.loops.rate[:, : self.system.n_loop_rows]
        A, bend = self.system.couplings.argument, self._couplings[1]
        by_q = -(bend * (self.v @ A.T))[..., None] * A
        rows = np.broadcast_to(self.system.couplings.jacobian_at(self.q), by_q.shape)
        return np.concatenate([loops, np.concatenate([by_q, rows], axis=-1)], axis=1)

    def joint_forces(
        self, contact_force: Floats, contact_change: Floats, couplings: Floats, external: Floats | None = None
    ) -> Floats:
        """Return the change (N, nv, 2 nv) of the joint forces of loops, contacts, couplings and external wrenches.

        contact_force (N, c, 3), contact_change (N, c, 2 nv, 3): how it changes by itself. couplings: (N, couplings)
        multipliers. external: (N, n_bodies, 6) at body origins, world axes, which do not turn.
        """
        system, motion, nv = self.system, self.motion, self.system.mechanism.nv
        bodies = system.body_wrenches(self.rows, self.loop_wrench, contact_force)
        moved = [(self.loops.wrench, self.felt)]
        if len(system.contacts):
            contacts = self.contacts
            about = cross(contacts.dp, contact_force[:, :, None]) + cross(contacts.point[:, :, None], contact_change)
            moved.append((np.concatenate([contact_change, about], axis=-1), motion.moves[system.contact_body]))
        if external is not None and external.any():
            bodies = bodies + external
            moved.append((fixed_wrench_changes(motion, external, self.origins[:, :-1]), motion.moves[:-1]))
        total = force_derivative(motion, at_points(bodies, self.origins[:, :-1]), moved)
        bend, A = self._couplings[1], system.couplings.argument
        if bend.any():
            total[..., :nv] -= np.einsum("nk,kd,ke->nde", couplings * bend, A, A)
        return total

    def balance_changes(self, contact_force: Floats, contact_change: Floats, couplings: Floats) -> Floats:
        """Return the change (N, nv, 2 nv) of M a - Gᵀ λ - Jᵀ f, of states at rest; arguments as of `joint_forces`."""
        t, m, rest = self.system.loops, self.system.mechanism, np.zeros_like(self.v)
        drives = t.armature[:, None] * self.loops.acceleration[:, self.system.n_loop_rows :]
        total = np.swapaxes(self.rows.free_jacobian, -1, -2) @ drives
        # Without gravity, which acts at zero accelerations too.
        moved, still = (inverse_dynamics_derivatives(m, self.q, rest, a).dq for a in (self.a, rest))
        total[..., : m.nv] += moved - still
        return total - self.joint_forces(contact_force, contact_change, couplings)

    def loop_wrench_change(self, multipliers: Floats, free: Floats) -> Floats:
        """Return the change (N, L, 6, d) of the loops' wrenches at the joints for changes of multipliers (N, k, d) and
        of forces along free axes (N, f, d); the first 2 nv of the d directions move the joints."""
        t = self.system.loops
        onto = np.concatenate([t.row_owner, t.free_owner], axis=1)
        wrench = np.concatenate([self.rows.loop_wrench, self.rows.free_wrench], axis=1)
        amounts = np.concatenate([multipliers[:, : self.system.n_loop_rows], free], axis=1)
        result = np.einsum("lk,nkx,nkd->nlxd", onto, wrench, amounts, optimize=True)
        about = self.loops.wrench
        moment = about[..., 3:] - self._moved_arms - cross(self.pins[:, :, None], about[..., :3])
        held = np.concatenate([about[..., :3], moment], axis=-1)
        result[..., : held.shape[-2]] += np.swapaxes(held, -1, -2)
        return result

    def about_world(self, change: Floats) -> Floats:
        """Return changes (N, L, 6, d) of the loops' wrenches at the joints as those about the world's origin."""
        result = change.copy()
        moment = np.cross(self.pins[..., None], change[:, :, :3], axis=2)
        moment[..., : self._moved_arms.shape[-2]] += np.swapaxes(self._moved_arms, -1, -2)
        result[:, :, 3:] += moment
        return result

    @cached_property
    def _moved_arms(self) -> Floats:
        """Moments (N, L, 2 nv, 3) about the world's origin that the motion of the joints gives to their forces."""
        D = self.motion.displacement(self.system.loops.body_b)
        dp = D[..., :3] + cross(D[..., 3:], self.pins[:, :, None])
        return cross(dp, self.loop_wrench[:, :, None, :3])

    def _multipliers(self) -> Floats:
        """Multipliers (N, k) of the loops' rows, from the wrenches: the rows of one loop are independent."""
        t = self.system.loops
        free = t.free_owner @ (self.free[..., None] * self.rows.free_wrench)
        result = np.zeros((len(self.q), self.system.n_loop_rows))
        for loop in range(len(t.names)):
            mine = np.flatnonzero(t.row_loop == loop)
            c = np.swapaxes(self.rows.loop_wrench[:, mine], -1, -2)
            result[:, mine] = times(
                np.asarray(np.linalg.pinv(c), dtype=np.float64), self.loop_wrench[:, loop] - free[:, loop]
            )
        return result


def at_rest(system: ConstraintSystem, q: Floats, a: Floats, multipliers: Floats) -> ConstraintPartials:
    """Return the constraints at rest under accelerations a (N, nv) and multipliers (N, n_held), drives included."""
    rest = np.zeros_like(a)
    rows = system.linearise(q, rest)
    drives = -system.loops.armature * times(rows.free_jacobian, a)
    wrench = gather_loop_wrenches(system, rows, multipliers, drives)
    return ConstraintPartials(system, rows, q, rest, a, wrench, drives)


def in_motion(system: ConstraintSystem, q: Floats, v: Floats) -> ConstraintPartials:
    """Return the constraints in motion, without accelerations and forces."""
    wrench, free = np.zeros((len(q), len(system.loops.names), 6)), np.zeros((len(q), len(system.loops.free_loop)))
    return ConstraintPartials(system, system.linearise(q, v), q, v, np.zeros_like(v), wrench, free)
