"""Derivatives under loops, couplings and surface contacts for every mechanism and all arguments, in NumPy.

The equations stand in constrained_dynamics_derivatives.py, numbered as here.
Cost: per state an inverse of size nv + n, and products with 2 nv directions.
Refuses: singular configurations, friction that depends on loads, dry friction at rest in joints that close loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.constrained_dynamics import ConstrainedDynamics, constrained_dynamics
from setsu.constraints.constraint_partials import ConstraintPartials
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.contact_force_derivatives import ContactForceDerivatives
from setsu.constraints.contact_forces import OPEN, SLIDING, STARTING, STICKING
from setsu.constraints.dense_dynamics import kept_rows
from setsu.constraints.internal_force_derivatives import divide_internal_forces
from setsu.constraints.loop_joint_forces import loop_joint_forces
from setsu.constraints.loop_joints import BALL, FIRST_AXIS, SECOND_AXIS
from setsu.constraints.prescribed import Prescribed, driven_joints
from setsu.constraints.redundancy import redundancy
from setsu.constraints.stacked import Floats, cross, dot, length_of, transposed_times
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import ConstraintSystem, Linearisation, constraint_system
from setsu.dynamics import inverse_dynamics_derivatives
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.equations import bare_inverse_dynamics
from setsu.dynamics.wrenches import ExternalWrenches, body_rows
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.loop_constraints import refuse_loop_constraints

__all__ = ["BY", "NAME", "STICK_SPEED", "general_derivatives"]

NAME = "constrained_dynamics_derivatives"
STICK_SPEED = 1e-9
BY = ("dq", "dv", "dtau")
_CHUNK = 256  # states at a time: their arrays stay in the processor's cache
_SINGULAR = 1e13


def general_derivatives(
    m: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: tuple[SurfaceContact, ...] = (),
    loop_torque: ArrayLike | None = None,
    external_wrenches: ExternalWrenches | None = None,
    stick_speed: float = STICK_SPEED,
    sticking: ArrayLike | None = None,
    prescribed: tuple[Prescribed, ...] = (),
    time: float = 0.0,
) -> tuple[dict[str, Floats], ConstrainedDynamics]:
    """Return the fields of `ConstrainedDynamicsDerivatives`, and what is differentiated."""
    require_mechanism(m, NAME)
    refuse_bearings(m, NAME)
    refuse_loop_constraints(m, NAME)
    found = constrained_dynamics(
        m, q, v, tau, contacts, loop_torque=loop_torque, external_wrenches=external_wrenches,
        stick_speed=stick_speed, sticking=sticking, prescribed=prescribed, time=time,
    )  # fmt: skip
    system = constraint_system(m, contacts)
    external = body_rows(m, NAME, q, external_wrenches)
    n_free, n_contacts = len(system.loops.free_loop), len(system.contacts)
    given: list[tuple[str, ArrayLike, tuple[int, ...]]] = [
        ("q", q, (m.nq,)),
        ("v", v, (m.nv,)),
        ("tau", tau, (m.nv,)),
        ("loop_torque", np.zeros(n_free) if loop_torque is None else loop_torque, (n_free,)),
        ("external_wrenches", np.zeros((m.n_bodies, 6)) if external is None else external, (m.n_bodies, 6)),
        ("sticking", np.full(n_contacts, -1.0) if sticking is None else sticking, (n_contacts,)),
    ]
    taken, batch = checked_arrays(NAME, m, given)
    count = math.prod(batch)
    states = _States(*(_flat(array, count, len(batch)) for array in taken))
    solved = _Solved(*(_flat(getattr(found, key), count, len(batch)) for key in _Solved._fields))
    driven = driven_joints(m, prescribed, time, NAME).velocity

    def where(state: int) -> str:
        return f" in state {[int(i) for i in np.unravel_index(state, batch)]}" if batch else ""

    pieces = []
    for k in range(0, count, _CHUNK):
        some = slice(k, k + _CHUNK)
        chunk = _Chunk(
            system,
            _States(*(array[some] for array in states)),
            solved.at(some),
            driven,
            float(stick_speed),
            lambda state, k=k: where(k + state),
        )
        pieces.append(chunk.derivatives())
    shapes = {
        "": (m.nv,),
        "loop_wrench": (len(m.loops), 6),
        "normal_force": (n_contacts,),
        "friction_force": (n_contacts, 3),
        "coupling_force": (len(m.couplings),),
    }
    fields: dict[str, Floats] = {}
    for key, shape in shapes.items():
        whole = np.concatenate([np.zeros((0, *shape, 3 * m.nv)), *(piece[key] for piece in pieces)])
        whole = whole.reshape(*batch, *shape, 3 * m.nv)
        for k, name in enumerate(BY):
            part = np.ascontiguousarray(whole[..., k * m.nv : (k + 1) * m.nv])
            fields[f"{key}_{name}" if key else name] = part
    return fields, found


class _States(NamedTuple):
    """States (N): as of `constrained_dynamics`; sticking (N, c) -1 where it was not given."""

    q: Floats
    v: Floats
    tau: Floats
    loop_torque: Floats
    external: Floats
    sticking: Floats


class _Solved(NamedTuple):
    """What `constrained_dynamics` found for them."""

    acceleration: Floats
    loop_wrench: Floats
    coupling_force: Floats
    normal_force: Floats
    friction_force: Floats
    touching: NDArray[np.bool_]
    sticking: NDArray[np.bool_]
    joint_wrenches: Floats
    prescribed_torque: Floats

    def at(self, some: slice) -> _Solved:
        """Return some of the states."""
        parts: list[Any] = [array[some] for array in self]
        return _Solved(*parts)


def _flat(array: Any, count: int, axes: int) -> Any:
    """An array of a batch with so many leading axes as one of `count` states."""
    return array.reshape(count, *array.shape[axes:])


class _Chunk:
    """N states on their way to derivatives. driven: velocities of driven joints. where: names a state in messages."""

    def __init__(
        self,
        system: ConstraintSystem,
        states: _States,
        solved: _Solved,
        driven: NDArray[np.int64],
        stick_speed: float,
        where: Callable[[int], str],
    ) -> None:
        self.system, self.states, self.solved = system, states, solved
        self.driven, self.stick_speed, self.where = driven, stick_speed, where
        self.m, self.count = system.mechanism, len(states.q)
        rows = system.linearise(states.q, states.v)
        held, self.always = kept_rows(system)
        self.kept = held[: len(held) - len(self.always)]
        self.partials = ConstraintPartials(
            system, rows, states.q, states.v, solved.acceleration, solved.loop_wrench, self._free_force(rows)
        )
        self.contact_force = solved.normal_force[..., None] * rows.normal + solved.friction_force
        self.contacts = ContactForceDerivatives(
            self.partials, self.contact_force, self._modes(rows), self.kept, self.always
        )

    def derivatives(self) -> dict[str, Floats]:
        """Return the derivatives (N, ..., 3 nv) by coordinates, velocities and torques."""
        system, partials, states, solved = self.system, self.partials, self.states, self.solved
        nv, N, k, t = self.m.nv, self.count, system.n_loop_rows, system.loops
        F = partials.rows.free_jacobian
        held_change = self.contacts.held_change()
        own = inverse_dynamics_derivatives(self.m, states.q, states.v, solved.acceleration)
        dfree = self._free_change()
        changes = np.concatenate([own.dq, own.dv], axis=-1) - np.swapaxes(F, -1, -2) @ dfree
        changes -= partials.joint_forces(self.contact_force, held_change, solved.coupling_force, states.external)
        M = own.da + system.drive_inertia(F) + self.contacts.added_mass()

        held = np.concatenate([self.kept, system.n_held + self.always])
        fixed = np.concatenate([self.driven, self._stuck()])
        units = np.broadcast_to(np.eye(nv)[fixed], (N, len(fixed), nv))
        H = np.concatenate([partials.rows.jacobian[:, held], units], axis=1)
        right = np.zeros((N, nv + H.shape[1], 3 * nv))
        right[:, :nv, : 2 * nv] = -changes
        right[:, :nv, 2 * nv :] = np.eye(nv)
        right[:, nv : nv + len(held), : 2 * nv] = -partials.row_changes[:, held]
        inverse = self._inverse(M, H)
        solution = inverse @ right  # (2)
        phi = np.zeros((N, 0, 3 * nv))
        if self.contacts.changing.size:
            phi, solution = self.contacts.solve(inverse, solution)
        da, multipliers = solution[:, :nv], solution[:, nv : nv + len(held)]
        dforce = self.contacts.total(held_change, phi, da, multipliers[:, len(self.kept) :])

        dlambda = np.zeros((N, system.n_held, 3 * nv))
        dlambda[:, self.kept] = multipliers[:, : len(self.kept)]
        dfree = np.concatenate([dfree, np.zeros((N, len(t.free_loop), nv))], axis=-1) - t.armature[:, None] * (F @ da)
        dwrench = partials.loop_wrench_change(dlambda, dfree)
        if k and not redundancy(system).kept.all():
            dlambda = divide_internal_forces(
                partials, self.kept, inverse, solved.joint_wrenches, dlambda, da,
                partials.about_world(dwrench), self._other_wrenches(dforce),
            )  # fmt: skip
            dwrench = partials.loop_wrench_change(dlambda, dfree)
        dnormal, dfriction = self._parts(dforce)
        return {
            "": da,
            "loop_wrench": dwrench,
            "normal_force": dnormal,
            "friction_force": dfriction,
            "coupling_force": dlambda[:, k:],
        }

    def _modes(self, rows: Linearisation) -> NDArray[np.int64]:
        """Modes (N, c) of all contacts; those that always hold count as sliding without friction."""
        n, u = rows.normal, rows.contact_velocity
        speed = length_of(u - n * dot(n, u)[..., None])
        given = self.states.sticking
        moving = np.where(given < 0.0, speed > self.stick_speed, (given == 0.0) & (speed > 0.0))
        slides = np.where(moving | (self.system.friction == 0.0), SLIDING, STARTING)
        return np.where(self.solved.touching, np.where(self.solved.sticking, STICKING, slides), OPEN)

    def _free_force(self, rows: Linearisation) -> Floats:
        """Forces along the free axes of loop joints (N, f), as `constrained_dynamics` has them."""
        t, a = self.system.loops, self.solved.acceleration
        resting = ((np.abs(rows.motion.free_rate) <= self.stick_speed) & (t.coulomb > 0.0)).any(axis=0)
        if resting.any():
            raise InputError(
                f'{NAME}: loop "{t.names[t.free_loop[int(np.argmax(resting))]]}" rests under dry friction, whose '
                "forces have no derivatives here; expected a moving joint, or no `coulomb` in joints that close loops"
            )
        driven = t.free_loop[(t.armature != 0.0) & np.isin(t.free_kind, (FIRST_AXIS, SECOND_AXIS))]
        if driven.size:
            raise InputError(
                f'{NAME}: loop "{t.names[int(driven[0])]}" is closed by a universal joint with armature, which is not '
                "differentiated; expected the drive in a joint of the tree"
            )
        return self.states.loop_torque + loop_joint_forces(self.system, rows, a)

    def _free_change(self) -> Floats:
        """Change of the forces along free axes of loop joints at held accelerations (N, f, 2 nv)."""
        t, k, nv = self.system.loops, self.system.n_loop_rows, self.m.nv
        loops = self.partials.loops
        change = -t.damping[:, None] * loops.rate[:, k:] - t.armature[:, None] * loops.acceleration[:, k:]
        stiffness = np.where(t.free_kind == BALL, 0.0, t.stiffness)  # these have no coordinate
        change[..., :nv] -= stiffness[:, None] * self.partials.rows.free_jacobian
        return change

    def _stuck(self) -> NDArray[np.int64]:
        """Velocities of joints that dry friction holds at rest; the same in all states, or refused."""
        m, s, a = self.m, self.states, self.solved.acceleration
        resting = (np.abs(s.v) <= self.stick_speed) & (m.coulomb > 0.0)
        if not resting.any():
            return np.zeros(0, dtype=np.int64)
        wrenches = self.system.body_wrenches(self.partials.rows, self.solved.loop_wrench, self.contact_force)
        friction = s.tau - bare_inverse_dynamics(m, s.q, s.v, a, wrenches + s.external)
        friction += transposed_times(self.system.couplings.jacobian_at(s.q), self.solved.coupling_force)
        friction[:, self.driven] += self.solved.prescribed_torque
        friction += m.coulomb * np.sign(s.v)  # which the equations take for sliding
        stuck = resting & (np.abs(friction) < m.coulomb * (1.0 - 1e-9))
        if (stuck != stuck[:1]).any():
            raise InputError(
                f"{NAME}: dry friction holds joints at rest in some states of the batch only; expected these states "
                "in calls of their own"
            )
        return np.flatnonzero(stuck[0])

    def _inverse(self, M: Floats, H: Floats) -> Floats:
        """Inverse of [[M, -Hᵀ], [H, 0]] (N, n, n), scaled so that no unit matters."""
        nv, n = M.shape[-1], M.shape[-1] + H.shape[1]
        diagonal = np.diagonal(M, axis1=-2, axis2=-1)
        largest = np.maximum(diagonal.max(axis=-1, keepdims=True, initial=0.0), 1e-300)
        unit = 1.0 / np.sqrt(np.maximum(diagonal, 1e-6 * largest))
        size = length_of(H * unit[:, None])
        scale = np.concatenate([unit, 1.0 / np.where(size > 0.0, size, 1.0)], axis=-1)
        K = np.zeros((len(M), n, n))
        K[:, :nv, :nv] = M
        K[:, :nv, nv:], K[:, nv:, :nv] = -np.swapaxes(H, -1, -2), H
        K = scale[:, :, None] * K * scale[:, None, :]
        try:
            inverse = np.asarray(np.linalg.inv(K), dtype=np.float64)
            size = np.abs(K).sum(-1).max(-1, initial=0.0) * np.abs(inverse).sum(-1).max(-1, initial=0.0)
            singular = ~(size < _SINGULAR)
        except np.linalg.LinAlgError:
            inverse, singular = K, np.linalg.svd(K, compute_uv=False)[:, -1] < 1e-13
        if singular.any():
            raise InputError(
                f"{NAME}: derivatives do not exist{self.where(int(np.argmax(singular)))}: {self.m.name} is in a "
                "singular configuration, or bilateral contacts, driven joints or joints at rest hold one motion twice"
            )
        return scale[:, :, None] * inverse * scale[:, None, :]

    def _other_wrenches(self, dforce: Floats) -> list[tuple[Floats, NDArray[np.int64]]]:
        """Changes of contact forces and external wrenches about the world's origin, with the bodies they act on."""
        nv, partials, external = self.m.nv, self.partials, self.states.external
        contacts, points = partials.contacts, partials.contacts.point
        dF = np.swapaxes(dforce, -1, -2)
        about = cross(points[:, :, None], dF)
        about[:, :, : 2 * nv] += cross(contacts.dp, self.contact_force[:, :, None])
        changes = [(np.swapaxes(np.concatenate([dF, about], axis=-1), -1, -2), self.system.contact_body)]
        if external.any():
            bodies = np.arange(self.m.n_bodies)
            D = partials.motion.displacement(bodies)
            dp = D[..., :3] + cross(D[..., 3:], partials.origins[:, :-1, None])
            moved = np.zeros((self.count, self.m.n_bodies, 6, 3 * nv))
            moved[:, :, 3:, : 2 * nv] = np.swapaxes(cross(dp, external[:, :, None, :3]), -1, -2)
            changes.append((moved, bodies))
        return changes

    def _parts(self, dforce: Floats) -> tuple[Floats, Floats]:
        """Changes of the normal forces (N, c, 3 nv) and of friction (N, c, 3, 3 nv)."""
        nv, n = self.m.nv, self.partials.rows.normal[:, :, None]
        dF = np.swapaxes(dforce, -1, -2)
        dn = np.zeros(dF.shape)
        dn[:, :, : 2 * nv] = self.partials.contacts.dn
        touching = self.solved.touching[..., None]
        dnormal = (dot(dF, n) + dot(self.contact_force[:, :, None], dn)) * touching
        normal = self.solved.normal_force[..., None, None]
        dfriction = (dF - dnormal[..., None] * n - normal * dn) * touching[..., None]
        return dnormal, np.swapaxes(dfriction, -1, -2)
