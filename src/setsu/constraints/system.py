"""All constraints of a mechanism as one stacked system G(q) a + γ(q, v) = 0: loops, couplings, surface contacts.

Symbols:
    G      Jacobian (..., n, nv): rate of each row = G v                                      m/s or rad/s
    γ      velocity term (..., n): acceleration of each row at a = 0                          m/s² or rad/s²
    error  position error (..., n): what each row should keep at zero                         m or rad
    w      wrench of a row on a body at its origin per unit of its multiplier, world axes     [f, n]

    loop row       G = w_bᵀ J_b - w_aᵀ J_a,  γ from compiled_loops (5)                          (1)
    coupling row   coupling_rows.py (1)                                                       (2)
    contact row    the surface's normal, from contact_rows                                    (3)

J_b, J_a are Jacobians of body origins (6 x nv), world axes. Rows come in the order loops, couplings, contacts.
Cost: one Jacobian per body that takes part, then products over all rows at once.
Refuses: contradictory couplings, a surface without a normal at the contact point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact, checked_contacts
from setsu.constraints.contact_rows import ContactRows
from setsu.constraints.coupling_rows import CouplingRows
from setsu.constraints.loop_joints import ASIDE, FORWARD, LoopTables, chain_of, loop_tables
from setsu.constraints.loop_motion import LoopMotion, LoopPoses, loop_motion, loop_poses
from setsu.constraints.stacked import Floats, cross, length_of, times, transposed_times
from setsu.constraints.states import checked_arrays
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import flat_numbers

__all__ = ["ConstraintRows", "ConstraintSystem", "ForceGeometry", "Linearisation", "constraint_system"]

Ints = NDArray[np.int64]


class ConstraintRows(NamedTuple):
    """Rows G a + γ = 0 with their position errors and names."""

    jacobian: Floats  # (..., n, nv)
    velocity_term: Floats  # (..., n)
    error: Floats  # (..., n) m or rad
    names: tuple[str, ...]


@dataclass(frozen=True)
class Linearisation:
    """Everything the solvers need at a state; rows in the order loops, couplings, contact normals."""

    jacobian: Floats  # (..., n, nv)
    velocity_term: Floats  # (..., n)
    error: Floats  # (..., n)
    loop_poses: LoopPoses
    motion: LoopMotion
    loop_wrench: Floats  # (..., k, 6) loop rows on body_b at the joint, world axes
    free_jacobian: Floats  # (..., f, nv) rates of the loop joints' own coordinates
    free_wrench: Floats  # (..., f, 6) of a unit force along each free axis, on body_b at the joint, world axes
    normal: Floats  # (..., c, 3)
    contact_arm: Floats  # (..., c, 3) from the body's origin to the contact point
    contact_velocity: Floats  # (..., c, 3)
    contact_jacobian: Floats  # (..., c, 3, nv)
    contact_velocity_term: Floats  # (..., c, 3) acceleration of the contact point at a = 0
    body_jacobians: Floats  # (..., bodies that take part + 1, 6, nv) of their origins, the world's last


class ForceGeometry(NamedTuple):
    """What turns multipliers into forces: where loops and contacts act and along which directions."""

    loop_poses: LoopPoses
    loop_wrench: Floats  # (..., k, 6)
    free_wrench: Floats  # (..., f, 6)
    normal: Floats  # (..., c, 3)
    contact_arm: Floats  # (..., c, 3)


class ConstraintSystem:
    """The constraints of a mechanism, evaluated at any states; made by `constraint_system`.

    names: one per row. n_rows: their number.
    """

    def __init__(self, mechanism: Mechanism, contacts: tuple[SurfaceContact, ...]) -> None:
        self.mechanism, self.contacts = mechanism, contacts
        self.loops: LoopTables = loop_tables(mechanism)
        self.couplings = CouplingRows(mechanism)
        self.contact_rows = ContactRows(mechanism, contacts)
        self.names = (*self.loops.row_names, *self.couplings.names, *self.contact_rows.names)
        self.n_loop_rows = len(self.loops.row_names)
        self.n_held = self.n_loop_rows + len(mechanism.couplings)
        self.n_rows = self.n_held + len(contacts)
        self.coupling_jacobian, self.coupling_offset = self.couplings.jacobian, self.couplings.offset
        self.single_coordinates, self.single_velocities = self.couplings.coordinates, self.couplings.velocities
        self.contact_body, self.contact_point = self.contact_rows.body, self.contact_rows.point
        self.friction, self.bilateral = self.contact_rows.friction, self.contact_rows.bilateral
        involved = {*self.loops.body_a.tolist(), *self.loops.body_b.tolist(), *self.contact_body.tolist()} - {-1}
        self._involved = sorted(int(body) for body in involved)
        self._place_of = np.full(mechanism.n_bodies + 1, len(self._involved))
        self._place_of[self._involved] = np.arange(len(self._involved))
        self._row_and_free_loop = np.concatenate([self.loops.row_loop, self.loops.free_loop])
        # Units that make metres and radians comparable: the mechanism's length for one, 1 for the other.
        self.length = _characteristic_length(mechanism, self.loops)
        self.travels = _travels(mechanism)
        self.velocity_units = np.where(self.travels, self.length, 1.0)
        self.row_units = self._row_units()

    @cached_property
    def _moves(self) -> Floats:
        """Whether a velocity moves a body that takes part, (bodies + 1, 1, nv)."""
        moves = np.zeros((len(self._involved) + 1, 1, self.mechanism.nv))
        for place, body in enumerate(self._involved):
            moves[place, 0, chain_of(self.mechanism, body)] = 1.0
        return moves

    def evaluate(self, q: ArrayLike, v: ArrayLike) -> ConstraintRows:
        """Return Jacobian, velocity term, position error and names of all rows for states q (..., nq), v (..., nv)."""
        m = self.mechanism
        (q, v), _ = checked_arrays("constraint_system", m, (("q", q, (m.nq,)), ("v", v, (m.nv,))))
        rows = self.linearise(q, v)
        return ConstraintRows(rows.jacobian, rows.velocity_term, rows.error, self.names)

    def position_error(self, q: Floats) -> Floats:
        """Return the position error of all rows, (..., n), for checked coordinates (..., nq)."""
        poses = self._poses(q)
        return self._join(q, loop_poses(self.loops, poses).error, self.contact_rows.distances(poses))

    def jacobian_and_error(self, q: Floats) -> tuple[Floats, Floats]:
        """Return G (..., n, nv) and the position error (..., n): what a projection needs, without velocities."""
        poses, J = self._poses_and_jacobians(q)
        ends = loop_poses(self.loops, poses)
        parts = [self._loop_jacobian(ends, ends.in_world(ends.wrench, self.loops.row_loop), self.loops.row_loop, J)]
        if self.mechanism.couplings:
            parts.append(self.couplings.jacobian_at(q))
        distance = np.zeros((*q.shape[:-1], 0))
        if self.contacts:
            points, arms = self.contact_rows.points(poses)
            distance, normal, _ = self.contact_rows.surfaces(points)
            J_p = self.contact_rows.jacobian(arms, self._of_contact_bodies(J))
            parts.append(transposed_times(J_p, normal))
        return np.concatenate(parts, axis=-2), self._join(q, ends.error, distance)

    def placed_jacobian_and_error(self, q: Floats) -> tuple[Floats, Floats]:
        """The same without the rows that hold at velocity level only, which are zero: what brings a position home."""
        G, error = self.jacobian_and_error(q)
        slips = np.flatnonzero(np.isin(self.loops.row_kind, (FORWARD, ASIDE)))
        if slips.size:
            G[..., slips, :] = 0.0
        return G, error

    def force_geometry(self, q: Floats) -> ForceGeometry:
        """Return where and along which directions forces act at checked coordinates q (..., nq): no Jacobians."""
        poses, k = self._poses(q), self.n_loop_rows
        ends = loop_poses(self.loops, poses)
        wrench = ends.in_world(np.concatenate([ends.wrench, ends.free], axis=-2), self._row_and_free_loop)
        normal = arms = np.zeros((*q.shape[:-1], 0, 3))
        if self.contacts:
            points, arms = self.contact_rows.points(poses)
            normal = self.contact_rows.surfaces(points)[1]
        return ForceGeometry(ends, wrench[..., :k, :], wrench[..., k:, :], normal, arms)

    def linearise(self, q: Floats, v: Floats) -> Linearisation:
        """Return all there is to know at checked states q (..., nq), v (..., nv) of the same leading axes."""
        m, t, k = self.mechanism, self.loops, self.n_loop_rows
        poses, J = self._poses_and_jacobians(q)
        velocities = _with_world(native_function(m, "body_velocities").fast(q, v))
        accelerations = _with_world(native_function(m, "body_accelerations").fast(q, v, np.zeros(m.nv)))
        ends = loop_poses(t, poses)
        motion = loop_motion(t, poses, velocities, accelerations)
        wrench = ends.in_world(np.concatenate([ends.wrench, ends.free], axis=-2), self._row_and_free_loop)
        G_loop = self._loop_jacobian(ends, wrench, self._row_and_free_loop, J)  # (1)
        contact = self.contact_rows.motion(poses, velocities, accelerations, self._of_contact_bodies(J))
        jacobians = [G_loop[..., :k, :], contact.normal_jacobian]
        terms = [motion.velocity_term, contact.normal_term]
        if m.couplings:
            jacobians.insert(1, self.couplings.jacobian_at(q))  # (2)
            terms.insert(1, self.couplings.velocity_term(q, v))
        return Linearisation(
            jacobian=np.concatenate(jacobians, axis=-2),
            velocity_term=np.concatenate(terms, axis=-1),
            error=self._join(q, ends.error, contact.distance),
            loop_poses=ends,
            motion=motion,
            loop_wrench=wrench[..., :k, :],
            free_jacobian=G_loop[..., k:, :],
            free_wrench=wrench[..., k:, :],
            normal=contact.normal,
            contact_arm=contact.arm,
            contact_velocity=contact.velocity,
            contact_jacobian=contact.jacobian,
            contact_velocity_term=contact.velocity_term,
            body_jacobians=J,
        )

    def errors_and_rates(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return errors and rates (..., n_held) of loops and couplings at checked states; cost: their number."""
        poses = self._poses(q)
        ends = loop_poses(self.loops, poses)
        velocities = _with_world(native_function(self.mechanism, "body_velocities").fast(q, v))
        rates = loop_motion(self.loops, poses, velocities, np.zeros_like(velocities)).rate
        if not self.mechanism.couplings:
            return ends.error, rates
        coupled = times(self.couplings.jacobian_at(q), v) + self.couplings.offset_rate
        error = np.concatenate([ends.error, self.couplings.error(q)], axis=-1)
        return error, np.concatenate([rates, coupled], axis=-1)

    def row_size(self, rows: Linearisation) -> Floats:
        """Return a bound of |G| (..., n, nv) from the lengths of wrenches and of columns of body Jacobians.

        It is what the entries would be if nothing cancelled: rounding errors go by it.
        """
        t, J = self.loops, rows.body_jacobians
        linear, angular = np.sqrt((J[..., :3, :] ** 2).sum(-2)), np.sqrt((J[..., 3:, :] ** 2).sum(-2))
        size = np.zeros((*rows.loop_wrench.shape[:-1], self.mechanism.nv))
        for bodies, arms in ((t.body_b, rows.loop_poses.arm_b), (t.body_a, rows.loop_poses.arm_a)):
            moved = _at_origin(rows.loop_wrench, arms[..., t.row_loop, :])
            place = self._place_of[bodies[t.row_loop]]
            size += length_of(moved[..., :3])[..., None] * linear[..., place, :]
            size += length_of(moved[..., 3:])[..., None] * angular[..., place, :]
        couplings = np.broadcast_to(np.abs(self.coupling_jacobian), (*size.shape[:-2], *self.coupling_jacobian.shape))
        return np.concatenate([size, couplings, np.sqrt((rows.contact_jacobian**2).sum(-2))], axis=-2)

    def drive_inertia(self, free_jacobian: Floats) -> Floats:
        """Return what drives in loop joints add to the mass matrix, for rows (..., f, nv) of their free axes."""
        return np.swapaxes(free_jacobian, -1, -2) @ (self.loops.armature[:, None] * free_jacobian)

    def body_wrenches(self, rows: Linearisation | ForceGeometry, loop_wrench: Floats, contact_force: Floats) -> Floats:
        """Return loop wrenches (..., n_loops, 6; on body_b at the joint) and contact forces (..., c, 3) as wrenches on
        the bodies at their origins, world axes, (..., n_bodies, 6)."""
        ends = rows.loop_poses
        # The world, -1, comes last and is left out in the end.
        total = np.zeros((*loop_wrench.shape[:-2], self.mechanism.n_bodies + 1, 6))
        by_body = np.moveaxis(total, -2, 0)
        np.add.at(by_body, self.loops.body_b, np.moveaxis(_at_origin(loop_wrench, ends.arm_b), -2, 0))
        np.subtract.at(by_body, self.loops.body_a, np.moveaxis(_at_origin(loop_wrench, ends.arm_a), -2, 0))
        if self.contacts:
            turning = cross(rows.contact_arm, contact_force)
            pressed = np.concatenate([contact_force, turning], axis=-1)
            np.add.at(by_body, self.contact_body, np.moveaxis(pressed, -2, 0))
        return total[..., :-1, :]

    def _row_units(self) -> Floats:
        """Units of the rows' errors, (n,); those of couplings by the size of their factors."""
        loops = np.where(np.abs(self.loops.row_wrench[:, :3]).max(axis=-1, initial=0.0) > 0.0, self.length, 1.0)
        couplings = np.sqrt(np.sum((self.coupling_jacobian * self.velocity_units) ** 2, axis=-1))
        return np.concatenate([loops, couplings, np.full(len(self.contacts), self.length)])

    def _poses(self, q: Floats) -> Floats:
        """Poses of all bodies, the world as the last one."""
        poses = native_function(self.mechanism, "body_poses").fast(q)
        return np.concatenate([poses, np.broadcast_to(np.eye(4), (*poses.shape[:-3], 1, 4, 4))], axis=-3)

    def _poses_and_jacobians(self, q: Floats) -> tuple[Floats, Floats]:
        """Poses as above, and Jacobians of the origins of all bodies that take part, (..., bodies + 1, 6, nv).

        From the directions (l, a, o) of every velocity (world_state.py): J = [l + a x (x - o); a] where it moves the
        body. The world's, the last one, is zero.
        """
        poses, directions = native_function(self.mechanism, "world_poses").fast(q)
        poses = np.concatenate([poses, np.broadcast_to(np.eye(4), (*poses.shape[:-3], 1, 4, 4))], axis=-3)
        linear, a, o = (directions[..., None, k : k + 3, :] for k in (0, 3, 6))
        x, y, z = np.moveaxis(poses[..., :3, 3][..., [*self._involved, -1], :, None] - o, -2, 0)
        a_x, a_y, a_z = np.moveaxis(a, -2, 0)
        turning = np.stack([a_y * z - a_z * y, a_z * x - a_x * z, a_x * y - a_y * x], axis=-2)
        return poses, np.concatenate([linear + turning, np.broadcast_to(a, turning.shape)], axis=-2) * self._moves

    def _loop_jacobian(self, ends: LoopPoses, wrench: Floats, loops: Ints, J: Floats) -> Floats:
        """Rows w_bᵀ J_b - w_aᵀ J_a for wrenches (..., k, 6) at the joints of `loops` (k,)."""
        t = self.loops
        on_b = _at_origin(wrench, ends.arm_b[..., loops, :])[..., None, :]
        on_a = _at_origin(wrench, ends.arm_a[..., loops, :])[..., None, :]
        J_b = J[..., self._place_of[t.body_b[loops]], :, :]
        J_a = J[..., self._place_of[t.body_a[loops]], :, :]
        return (on_b @ J_b - on_a @ J_a)[..., 0, :]

    def _of_contact_bodies(self, J: Floats) -> Floats:
        """Of the Jacobians of all bodies that take part those of the contacts' bodies, (..., c, 6, nv)."""
        return J[..., self._place_of[self.contact_body], :, :]

    def _join(self, q: Floats, loops: Floats, contacts: Floats) -> Floats:
        if not self.mechanism.couplings and not self.contacts:
            return loops
        return np.concatenate([loops, self.couplings.error(q), contacts], axis=-1)


def constraint_system(mechanism: Mechanism, contacts: Iterable[SurfaceContact] = ()) -> ConstraintSystem:
    """Return the constraint system of a mechanism with surface contacts; kept with the mechanism and made once.

    Args:
        mechanism: its loops and couplings are rows of the system.
        contacts: points held on surfaces; one row each, the normal.

    Raises:
        InputError: contradictory couplings, a contact on an unknown body.

    >>> import setsu, numpy as np
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> G, gamma, error, names = constraint_system(m).evaluate(m.neutral(), np.zeros(m.nv))
    >>> G.shape, float(np.abs(error).max()) < 1e-12, names[0]
    ((5, 3), True, 'loop "pin": translation along x')
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError(
            f"constraint_system: expected a Mechanism (from setsu.load or MechanismBuilder), got {mechanism!r:.80}"
        )
    checked = checked_contacts(mechanism, contacts, "constraint_system")
    known = mechanism.__dict__.setdefault("_constraint_systems", {})
    if checked not in known:
        if len(known) >= 64:
            # Contacts that change from call to call must not fill the memory.
            known.clear()
        known[checked] = ConstraintSystem(mechanism, checked)
    return known[checked]


def _characteristic_length(m: Mechanism, loops: LoopTables) -> float:
    """Largest distance between neighbouring joints (m), against which position errors are small or not."""
    offsets = flat_numbers(row for body in m.bodies for row in (body.pose.translation, body.center_of_mass))
    lengths = np.linalg.norm(np.concatenate([offsets.reshape(-1, 3), loops.origin_a, loops.origin_b]), axis=-1)
    return float(lengths.max(initial=0.0)) or 1.0


def _travels(m: Mechanism) -> NDArray[np.bool_]:
    """Which velocities are travel (m/s), (nv,)."""
    by_type = {kind: body.joint.travels for kind, body in {type(body.joint): body for body in m.moving}.items()}
    return np.array([travels for body in m.moving for travels in by_type[type(body.joint)]], dtype=bool)


def _at_origin(wrench: Floats, arm: Floats) -> Floats:
    """Wrench (..., 6) at a point as one at the origin that the arm (..., 3) starts from."""
    return np.concatenate([wrench[..., :3], wrench[..., 3:] + cross(arm, wrench[..., :3])], axis=-1)


def _with_world(motion: Floats) -> Floats:
    """Append the world, which does not move, to (..., n_bodies, 6)."""
    return np.concatenate([motion, np.zeros((*motion.shape[:-2], 1, 6))], axis=-2)
