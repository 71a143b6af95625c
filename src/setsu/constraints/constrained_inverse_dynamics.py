"""Torques of chosen actuators for a motion under loops, couplings and surface contacts, and all forces that go with it.

    τ_o = ID(q, v, a, contact forces)     torques of the tree, every joint driven                                (1)
    N     basis of the motions the rows allow, G N = 0 (the J = ∂q_o/∂q of kawasaki1995 up to a choice of q)     (2)
    E     columns: unit vectors of actuated joints, Fᵀ of actuated loop joints
    Nᵀ E u = Nᵀ τ_o                       virtual work: τ = Jᵀ τ_o, τ_c = (Sᵀ)⁻¹ τ                               (3)
    u = W⁻¹ Eᵀ N (Nᵀ E W⁻¹ Eᵀ N)⁻¹ Nᵀ τ_o + (what the user selects of the null space of Nᵀ E)                    (4)
    Gᵀ λ = τ_o - E u                      reactions of the loops; see internal_forces where it leaves some open  (5)

W = diag(weights): the sum of weight x torque² is the least possible. Contacts: a given normal force f_n brings friction
-K f_n t with it; contacts without a given force are not loaded.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.bearing_loads import all_bearing_friction, settled_bearing_friction
from setsu.constraints.constrained_dynamics import refuse_open
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.dense_dynamics import held_tolerance
from setsu.constraints.forces_at_frames import Loaded, kept_external, require_source
from setsu.constraints.held_motion import hold
from setsu.constraints.internal_forces import gather_loop_wrenches, least_internal_forces, open_directions
from setsu.constraints.loop_joint_forces import loop_joint_forces
from setsu.constraints.redundancy import redundancy
from setsu.constraints.stacked import Floats, dot, length_of, times, transposed_times
from setsu.constraints.states import checked_arrays, coordinate_names, velocity_indices
from setsu.constraints.system import ConstraintSystem, Linearisation, constraint_system
from setsu.dynamics import joint_wrenches
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.equations import bare_inverse_dynamics
from setsu.dynamics.wrenches import ExternalWrenches, body_rows
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism import Mechanism
from setsu.spatial import listed

__all__ = ["ConstrainedInverseDynamics", "constrained_inverse_dynamics"]

# A motion that violates its own loops by more than this share of its accelerations is refused.
_MOTION_TOLERANCE = 1e-6
# Force left over on a freedom nobody drives, as a share of all forces, that counts as a real demand.
_DEMAND_TOLERANCE = 1e-8
# Forces in loops over weight and demand that no toggle reaches which somebody built.
_HUGE = 1e4


@dataclass(frozen=True)
class ConstrainedInverseDynamics:
    """Actuator torques and every force of a constrained motion; forces act on the mechanism, world axes.

    torque: (..., nv), N or N m, zero where not actuated.
    loop_torque: (..., n), along the free axes of the loop joints in the order of the loops, zero where not actuated.
    normal_force: (..., n_contacts), N. friction_force: (..., n_contacts, 3), N.
    loop_wrench: (..., n_loops, 6), by body_a on body_b at the joint (origin of its frame on body_b).
    joint_wrenches: (..., n_bodies, 6), by the parent on the body at the body origin.
    coupling_force: (..., n_couplings): the force on each joint is this times the joint's factor.
    redundancy: (...) how many actuators more than freedoms: dimensions of internal forces left to choose.
    """

    torque: Floats
    loop_torque: Floats
    normal_force: Floats
    friction_force: Floats
    loop_wrench: Floats
    joint_wrenches: Floats
    coupling_force: Floats
    redundancy: NDArray[np.int64]
    source: tuple[Loaded, Floats] | None = field(default=None, repr=False, compare=False)

    def wrench_at(self, frame: str, *, axes: str = "frame") -> Floats:
        """Return the wrench through the weld, mount or joint that carries a frame, as `ConstrainedDynamics` does."""
        loaded, a = self.source or (None, self.torque)
        return require_source(loaded).wrench_at(
            frame, a, self.joint_wrenches, self.loop_wrench, self.normal_force, self.friction_force, axes
        )


def constrained_inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    normal_force: ArrayLike | None = None,
    actuated: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    *,
    internal_torque: ArrayLike | None = None,
    external_wrenches: ExternalWrenches | None = None,
    frame: str = "world",
) -> ConstrainedInverseDynamics:
    """Return the torques of the actuated joints that produce a motion, and all forces.

    Args:
        q, v, a: coordinates (..., nq), velocities and accelerations (..., nv) that satisfy loops and couplings.
        contacts: points on surfaces, pressed with `normal_force` (..., n_contacts), N; none is pressed when not given.
        actuated: joints with an actuator, loop joints too; every joint of the tree when not given.
        weights: joint name -> weight (1 where not named); redundant actuators share so that the sum of
            weight x torque² is least.
        internal_torque: (..., n_actuated), actuated velocities in the order of v, then loop axes; the part of it that
            moves nothing, the squeeze, is added.
        external_wrenches: on each body at its origin, world axes, (..., n_bodies, 6), or by frame name (..., 6).
        frame: axes of joint_wrenches, "world" or "body".

    Raises:
        InputError: the motion breaks a loop; it needs force along a freedom nobody drives (named).

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> r = setsu.constrained_inverse_dynamics(m, [0.0] * 3, [0.0] * 3, [0.0] * 3, actuated=["crank"])
    >>> r.torque.shape, int(r.redundancy)
    ((3,), 0)
    """
    require_mechanism(mechanism, "constrained_inverse_dynamics")
    m = mechanism
    system = constraint_system(m, contacts)
    if frame not in ("world", "body"):
        raise InputError(f'constrained_inverse_dynamics: frame: expected "world" or "body", got {frame!r}')
    drives = _Drives(system, actuated, weights)
    rows_of_bodies = body_rows(m, "constrained_inverse_dynamics", q, external_wrenches)
    n_contacts = len(system.contacts)
    if normal_force is not None and np.size(normal_force) and not n_contacts:
        raise InputError("constrained_inverse_dynamics: normal_force: expected contacts that press with it, got none")
    given = np.zeros(n_contacts) if normal_force is None else normal_force
    if n_contacts == 1 and np.ndim(given) == 0:
        given = np.reshape(given, (1,))
    arrays: list[tuple[str, ArrayLike, tuple[int, ...]]] = [
        ("q", q, (m.nq,)),
        ("v", v, (m.nv,)),
        ("a", a, (m.nv,)),
        ("normal_force", given, (n_contacts,)),
        ("internal_torque", np.zeros(drives.count) if internal_torque is None else internal_torque, (drives.count,)),
        (
            "external_wrenches",
            np.zeros((m.n_bodies, 6)) if rows_of_bodies is None else rows_of_bodies,
            (m.n_bodies, 6),
        ),
    ]
    taken, batch = checked_arrays("constrained_inverse_dynamics", m, arrays)
    count = math.prod(batch)
    q, v, a, press, squeeze, external = (x.reshape(count, *x.shape[len(batch) :]) for x in taken)
    _refuse_pulling(system, press)
    refuse_open("constrained_inverse_dynamics", system, q, batch)
    rows = system.linearise(q, v)
    _refuse_broken_motion(system, rows, a)
    contact_force, friction = _contact_force(system, rows, press)
    loads = external + system.body_wrenches(rows, np.zeros((count, len(m.loops), 6)), contact_force)
    passive = loop_joint_forces(system, rows, a)
    tree_demand = bare_inverse_dynamics(m, q, v, a, loads)

    def solved(tree_friction: Floats, loop_friction: Floats, axes: str) -> _Shared:
        """All torques and wrenches when bearings resist with so much."""
        resisted = passive - loop_friction
        demand = tree_demand + tree_friction - transposed_times(rows.free_jacobian, resisted)  # (1)
        u, spare, reaction, open_rows = _share(system, rows, drives.columns(rows), demand, drives.weights, squeeze)
        torque, loop_torque = np.zeros((count, m.nv)), np.zeros((count, len(system.loops.free_loop)))
        torque[:, drives.joints] = u[:, : len(drives.joints)]
        loop_torque[:, drives.loop_axes] = u[:, len(drives.joints) :]

        def wrenches(axes: str) -> tuple[Floats, Floats]:
            loop = gather_loop_wrenches(system, rows, reaction, loop_torque + resisted)
            total = external + system.body_wrenches(rows, loop, contact_force)
            return loop, joint_wrenches(m, q, v, a, total, frame=axes)

        none = np.zeros(0, dtype=np.int64)
        reaction = least_internal_forces(system, rows, q, open_rows, reaction, *wrenches("world"), none)
        return _Shared(torque, loop_torque, spare, reaction, *wrenches(axes))

    resistance = np.zeros((count, m.nv)), np.zeros((count, len(system.loops.free_loop)))
    if m.has_bearings:

        def friction_of(friction: Floats) -> Floats:
            found = solved(friction[:, : m.nv], friction[:, m.nv :], "body")
            return all_bearing_friction(system, rows, v, found.joint, found.loop)

        resistance = settled_bearing_friction(system, "constrained_inverse_dynamics", friction_of, (count,))
    shared = solved(*resistance, frame)
    _warn_of_huge_forces(system, shared.loop, float(np.abs(tree_demand).max(initial=0.0)))
    result = {
        "torque": shared.torque,
        "loop_torque": shared.loop_torque,
        "normal_force": press,
        "friction_force": friction,
        "loop_wrench": shared.loop,
        "joint_wrenches": shared.joint,
        "coupling_force": shared.reaction[:, system.n_loop_rows :],
        "redundancy": shared.redundancy,
    }
    shaped = {key: x.reshape((*batch, *x.shape[1:])) for key, x in result.items()}
    source = Loaded(m, taken[0].copy(), taken[1].copy(), system.contacts, kept_external(external_wrenches), frame)
    return ConstrainedInverseDynamics(**shaped, source=(source, taken[2].copy()))


def _warn_of_huge_forces(system: ConstraintSystem, loop: Floats, demand: float) -> None:
    """Warn where loops carry far more than what weighs and moves: their rows are all but dependent in such a state."""
    m = system.mechanism
    force = np.abs(loop[..., :3]).max(axis=(0, -1), initial=0.0)
    usual = demand / system.length + m.total_mass * float(np.linalg.norm(m.gravity))
    if force.size and force.max() > _HUGE * usual > 0.0:
        worst = int(np.argmax(force))
        warnings.warn(
            f'constrained_inverse_dynamics: {m.name}: loop "{m.loops[worst].name}" carries {force[worst]:.3g} N, '
            f"{force[worst] / usual:.1g} times the weight and what the joints ask for: the loop is all but locked by "
            "its own joints, and its forces hang on the last digits of lengths and axes; see constraint_report",
            ModelWarning,
            stacklevel=3,
        )


class _Shared(NamedTuple):
    """Torques of actuators, how many are redundant, multipliers, and wrenches through loops and joints."""

    torque: Floats
    loop_torque: Floats
    redundancy: NDArray[np.int64]
    reaction: Floats
    loop: Floats
    joint: Floats


class _Drives:
    """Which velocities and loop axes have an actuator, and the weights of their torques."""

    def __init__(
        self, system: ConstraintSystem, actuated: Sequence[str] | None, weights: Mapping[str, float] | None
    ) -> None:
        m, t = system.mechanism, system.loops
        what = "constrained_inverse_dynamics: actuated"
        named = [actuated] if isinstance(actuated, str) else actuated
        names = list(m.joint_names) if named is None else listed(named, what, "joint names")
        loop_joints = {loop.joint.name: k for k, loop in enumerate(m.loops)}
        unknown = [name for name in names if not isinstance(name, str) or name not in loop_joints]
        try:
            self.joints = velocity_indices(m, unknown, what)
        except InputError:
            known = tuple(dict.fromkeys((*m.joint_names, *coordinate_names(m), *loop_joints)))
            bad = next(name for name in unknown if name not in known)
            raise InputError(f"{what}: unknown joint {bad!r} in {m.name}{nearest_names(str(bad), known)}") from None
        driven = [loop_joints[name] for name in names if name in loop_joints]
        self.loop_axes = [int(axis) for axis in np.flatnonzero(np.isin(t.free_loop, driven))]
        self.count = len(self.joints) + len(self.loop_axes)
        owners = [*(coordinate_names(m)[k] for k in self.joints), *(t.names[t.free_loop[k]] for k in self.loop_axes)]
        self.weights = np.ones(self.count)
        for name, weight in _weights(weights).items():
            mine = [k for k, owner in enumerate(owners) if owner == name or owner.startswith(f"{name}[")]
            if not mine:
                raise InputError(
                    f"constrained_inverse_dynamics: weights: expected actuated joints, got {name!r}"
                    f"{nearest_names(str(name), owners)}"
                )
            if not (isinstance(weight, (int, float)) and np.isfinite(weight) and weight > 0.0):
                raise InputError(
                    f'constrained_inverse_dynamics: weights: "{name}": expected a positive number, got {weight!r}'
                )
            self.weights[mine] = float(weight)

    def columns(self, rows: Linearisation) -> Floats:
        """E, (..., nv, n_actuated)."""
        nv = rows.jacobian.shape[-1]
        batch = rows.jacobian.shape[:-2]
        joints = np.broadcast_to(np.eye(nv)[:, self.joints], (*batch, nv, len(self.joints)))
        return np.concatenate([joints, np.swapaxes(rows.free_jacobian[..., self.loop_axes, :], -1, -2)], axis=-1)


def _weights(weights: Mapping[str, float] | None) -> Mapping[str, float]:
    if weights is not None and not isinstance(weights, Mapping):
        raise InputError(
            "constrained_inverse_dynamics: weights: expected a weight per joint name, as {"
            f'"joint1": 2.0}}, got {weights!r:.80}'
        )
    return weights or {}


def _share(
    system: ConstraintSystem, rows: Linearisation, E: Floats, demand: Floats, weights: Floats, squeeze: Floats
) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Actuator torques u, redundancy, multipliers of loops and couplings, and those that move nothing; (2)-(5)."""
    nv, n = system.mechanism.nv, system.n_held
    kept = redundancy(system).kept
    places, others = np.flatnonzero(kept), np.flatnonzero(~kept)
    units = system.velocity_units
    # Coordinates scaled by their units: forces along them become comparable.
    unit_mass = np.broadcast_to(np.diag(1.0 / units**2), (*demand.shape[:-1], nv, nv))
    held = hold(
        unit_mass, rows.jacobian[..., places, :], np.zeros((*demand.shape[:-1], len(places))),
        system.row_size(rows)[..., places, :],
        held_tolerance(system, rows.error), system.mechanism, "constrained_inverse_dynamics",
    )  # fmt: skip
    load, E_s = demand * units, E * units[:, None]
    P = np.eye(nv) - held.U @ np.swapaxes(held.U, -1, -2)  # P = N Nᵀ
    weighted = P @ E_s / np.sqrt(weights)
    U, s, Vt = np.linalg.svd(weighted, full_matrices=False)
    largest = np.linalg.norm(E_s / np.sqrt(weights), axis=(-2, -1))[..., None]
    keep = s > 1e-10 * np.where(largest > 0.0, largest, 1.0)
    wanted = times(P, load)
    parts = np.where(keep, transposed_times(U, wanted) / np.where(keep, s, 1.0), 0.0)
    chosen = squeeze * np.sqrt(weights)
    internal = chosen - transposed_times(Vt, np.where(keep, times(Vt, chosen), 0.0))
    u = (transposed_times(Vt, parts) + internal) / np.sqrt(weights)  # (4)
    left = wanted - times(P @ E_s, u)
    scale = np.maximum(length_of(load), length_of(wanted))
    undriven = length_of(left) > _DEMAND_TOLERANCE * np.where(scale > 0.0, scale, 1.0)
    if undriven.any():
        _refuse_undriven(system, P, U, keep, left, undriven)
    reaction = np.zeros((*demand.shape[:-1], n))
    reaction[..., places] = held.multipliers(load - times(E_s, u))
    open_rows = open_directions(held, rows.jacobian[..., others, :], places, others, n)
    return u, E.shape[-1] - np.sum(keep, axis=-1), reaction, open_rows


def _refuse_undriven(
    system: ConstraintSystem, P: Floats, U: Floats, keep: NDArray[np.bool_], left: Floats, undriven: NDArray[np.bool_]
) -> None:
    """Name the coordinates of the motions that no actuator can push."""
    where = tuple(np.argwhere(undriven)[0])
    driven = U[where][:, keep[where]]
    free = P[where] - driven @ driven.T
    part = np.sqrt(np.maximum(np.diag(free), 0.0))
    names = coordinate_names(system.mechanism)
    movers = [names[k] for k in np.argsort(-part) if part[k] > 0.05 * part.max()]
    count = round(float(np.trace(free)))
    raise InputError(
        f"constrained_inverse_dynamics: the motion needs force along {count} freedom{'s' if count > 1 else ''} that "
        f"nobody drives, moving {', '.join(movers)}; name one of these joints in `actuated` for each"
    )


def _contact_force(system: ConstraintSystem, rows: Linearisation, press: Floats) -> tuple[Floats, Floats]:
    """Contact forces and their friction parts, (..., c, 3); a point at rest is held by no friction."""
    sliding = rows.contact_velocity - rows.normal * dot(rows.normal, rows.contact_velocity)[..., None]
    speed = length_of(sliding)
    direction = sliding / np.where(speed > 0.0, speed, 1.0)[..., None]
    friction = -(system.friction * np.abs(press))[..., None] * direction
    return press[..., None] * rows.normal + friction, friction


def _refuse_pulling(system: ConstraintSystem, press: Floats) -> None:
    bad = (press < 0.0) & ~system.bilateral
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        raise InputError(
            f'constrained_inverse_dynamics: contact "{system.contacts[where[-1]].name}": expected a normal force of at '
            f"least 0 (or a bilateral contact), got {press[where]:g}"
        )


def _refuse_broken_motion(system: ConstraintSystem, rows: Linearisation, a: Floats) -> None:
    """The accelerations must satisfy loops, couplings and bilateral contacts."""
    held = np.concatenate([redundancy(system).kept, system.bilateral])
    left = np.abs(times(rows.jacobian, a) + rows.velocity_term) * held
    scale = np.sum(system.row_size(rows) * np.abs(a)[..., None, :], axis=-1) + np.abs(rows.velocity_term)
    bad = left > _MOTION_TOLERANCE * np.maximum(scale.max(axis=-1, initial=0.0), 1e-6)[..., None]
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        raise InputError(
            f"constrained_inverse_dynamics: a breaks {system.names[where[-1]]} by {left[where]:.3g} m/s² or rad/s²; "
            "expected accelerations that satisfy loops and couplings, for example those of constrained_dynamics"
        )
