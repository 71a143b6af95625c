"""Motion and forces of a mechanism under its loops, couplings and surface contacts, all at once.

Loops and couplings alone are solved by sparse blocks (sparse_solve), states with redundant rows or with contacts by
dense matrices (dense_dynamics). Both solve the same equations, nishiguchi2014 (10)-(21) in general vector form.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.assembly import opening
from setsu.constraints.bearing_loads import all_bearing_friction, settled_bearing_friction
from setsu.constraints.block_fields import BlockFields, Part, part
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.dense_dynamics import DenseMotion, States
from setsu.constraints.forces_at_frames import Loaded, kept_external, require_source
from setsu.constraints.prescribed import Driven, Prescribed, driven_joints
from setsu.constraints.redundancy import redundancy, refuse_locked
from setsu.constraints.sparse_dynamics import Found, SparseSolver, sparse_solver
from setsu.constraints.stacked import Floats
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import joint_wrenches
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.wrenches import ExternalWrenches, body_rows
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism import Mechanism
from setsu.mechanism.checks import finite_number
from setsu.native.single_calls import SingleCall

__all__ = ["ConstrainedDynamics", "constrained_dynamics", "refuse_open"]

_METHODS = ("default", "extended_newton_euler")
_STICK_SPEED = 1e-9
_OPEN, _SLIGHTLY_OPEN = 1e-3, 1e-6  # rad, or lengths of the loop: refused, warned of


@dataclass(frozen=True)
class ConstrainedDynamics(BlockFields):
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
    prescribed_torque: (..., n_prescribed), N or N m, of the drives of joints whose motion is prescribed, beside `tau`.
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
    prescribed_torque: Floats = field(default_factory=lambda: np.zeros(0))
    source: Loaded | None = field(default_factory=lambda: None, repr=False, compare=False)

    def wrench_at(self, frame: str, *, axes: str = "frame") -> Floats:
        """Return the wrench through the weld, mount or joint that carries a frame (..., 6), N and N m.

        It is what the base's side exerts on the far side, at the frame's origin, with loops, contacts, springs and
        external wrenches counted on the declared bodies they act on. axes: "frame" or "world".
        """
        return require_source(self.source).wrench_at(
            frame, self.acceleration, self.joint_wrenches, self.loop_wrench,
            self.normal_force, self.friction_force, axes,
        )  # fmt: skip


def constrained_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    method: str = "default",
    *,
    loop_torque: ArrayLike | None = None,
    external_wrenches: ExternalWrenches | None = None,
    stick_speed: float = _STICK_SPEED,
    sticking: ArrayLike | None = None,
    frame: str = "world",
    specialised: bool = False,
    prescribed: Iterable[Prescribed] = (),
    time: float = 0.0,
) -> ConstrainedDynamics:
    """Return accelerations and all forces of a mechanism with loops, couplings and surface contacts.

    Args:
        q, v, tau: coordinates (..., nq), velocities (..., nv), joint torques (..., nv).
        contacts: points held on surfaces; they are taken as touching.
        method: "default", or "extended_newton_euler": mass matrix, bias and constraint directions all out of repeated
            inverse dynamics, as in nishiguchi2014 (30)-(35); same result.
        loop_torque: actuators in loop joints, along their free axes in the order of the loops, (..., n), N or N m.
        external_wrenches: on each body at its origin, world axes, (..., n_bodies, 6), N and N m; or by frame name.
        stick_speed: sliding slower than this (m/s, rad/s for joints) counts as rest. Dry friction (`coulomb`) holds
            a joint at rest up to its limit.
        sticking: (..., n_contacts), decide rest or sliding yourself instead of by stick_speed.
        frame: axes of joint_wrenches, "world" or "body".
        specialised: use code made for this mechanism alone, as `compile` does.
        prescribed: joints that are driven along a given motion at `time` (s); q and v must agree with it.

    Raises:
        InputError: bad arguments, loops open by more than 1e-3 (a ModelWarning above 1e-6), a chain without mass,
            loops that tilted axes lock, contacts for which no finite forces exist (by name, with the
            critical coefficient of friction).

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> r = setsu.constrained_dynamics(m, [0.0] * 3, [0.0] * 3, [0.0] * 3)
    >>> r.loop_wrench.shape, bool(r.residual < 1e-10)
    ((1, 6), True)
    """
    plain = loop_torque is None and external_wrenches is None and sticking is None and contacts == prescribed == ()
    if plain and method == "default" and frame == "world" and stick_speed == _STICK_SPEED:
        try:
            solve, opening, parts, solve_many = mechanism.__dict__["_one_state"][specialised]
        except (AttributeError, KeyError):
            _keep_solver(mechanism, specialised)
        else:
            found = solve(q, v, tau)
            if found is None:
                many = solve_many(q, v, tau)
                if many is not None:
                    return many
            elif found[1][opening] <= _SLIGHTLY_OPEN:
                record = object.__new__(ConstrainedDynamics)
                own = record.__dict__
                own["acceleration"], own["_block"] = found
                own["_parts"] = parts
                return record
    if method not in _METHODS:
        raise InputError(f"constrained_dynamics: unknown method {method!r}{nearest_names(str(method), _METHODS)}")
    if frame not in ("world", "body"):
        raise InputError(f'constrained_dynamics: frame: expected "world" or "body", got {frame!r}')
    stick_speed = finite_number(stick_speed, "constrained_dynamics: stick_speed", minimum=0.0)
    require_mechanism(mechanism, "constrained_dynamics")
    m = mechanism
    system = constraint_system(m, contacts)
    n_free, n_contacts = len(system.loops.free_loop), len(system.contacts)
    arrays: list[tuple[str, ArrayLike, tuple[int, ...]]] = [("q", q, (m.nq,)), ("v", v, (m.nv,)), ("tau", tau, (m.nv,))]
    if loop_torque is not None:
        arrays.append(("loop_torque", loop_torque, (n_free,)))
    external = body_rows(m, "constrained_dynamics", q, external_wrenches)
    if external is not None:
        arrays.append(("external_wrenches", external, (m.n_bodies, 6)))
    if sticking is not None:
        arrays.append(("sticking", sticking, (n_contacts,)))
    taken, batch = checked_arrays("constrained_dynamics", m, arrays)
    count = math.prod(batch)
    flat = {name: numbers.reshape(count, *shape) for (name, _, shape), numbers in zip(arrays, taken, strict=True)}
    along = flat["loop_torque"] if loop_torque is not None else np.zeros((count, n_free))
    states = States(flat["q"], flat["v"], flat["tau"], along, flat.get("external_wrenches"))
    at_rest = flat["sticking"] != 0.0 if sticking is not None else None
    driven = driven_joints(m, prescribed, time, "constrained_dynamics")
    _check_driven(driven, states)
    if m.has_bearings:

        def friction_of(friction: Floats) -> Floats:
            resisted = _resisted(states, friction[:, : m.nv], friction[:, m.nv :])
            motion = DenseMotion(system, resisted, method, batch, driven)
            found = motion.solve(stick_speed, at_rest, "body")
            return all_bearing_friction(system, motion.rows, states.v, found["joint_wrenches"], found["loop_wrench"])

        states = _resisted(states, *settled_bearing_friction(system, "constrained_dynamics", friction_of, (count,)))
    refuse_locked(system, "constrained_dynamics")
    solver = sparse_solver(system, specialised) if method == "default" and count and not driven.names else None
    if solver is None or m.coulomb.any() or system.loops.coulomb.any():
        # The sparse solve looks itself.
        refuse_open("constrained_dynamics", system, states.q, batch)
    states = _with_joints_at_rest(system, states, method, batch, driven, stick_speed, at_rest)
    if solver is not None:
        result = _sparse_first(system, solver, states, frame, batch)
    else:
        motion = DenseMotion(system, states, method, batch, driven)
        motion.warn_of_singularity(4)
        result = motion.solve(stick_speed, at_rest, frame)
    shaped = {key: array.reshape((*batch, *array.shape[1:])) for key, array in result.items()}
    source = Loaded(m, taken[0].copy(), taken[1].copy(), system.contacts, kept_external(external_wrenches), frame)
    return ConstrainedDynamics(**shaped, source=source)


class _OneState(NamedTuple):
    """How a single state of a mechanism is solved; kept with it.

    solve: None where the long way has to look: other arguments, contacts, redundant rows, numbers that are not finite.
    opening: where that stands in the block it returns beside the acceleration. parts: fields of the block.
    many: the same for states (N, n), with the results; None where the long way has to look.
    """

    solve: SingleCall
    opening: int
    parts: dict[str, Part]
    many: Callable[[Any, Any, Any], ConstrainedDynamics | None]


def _keep_solver(m: Any, specialised: bool) -> None:
    """Keep the solver of single states with a mechanism; constraints that contradict each other are refused here."""
    if not isinstance(m, Mechanism) or specialised in m.__dict__.get("_one_state", {}):
        return
    system = constraint_system(m)
    dry = m.coulomb.any() or system.loops.coulomb.any() or redundancy(system).locked
    solver = None if m.has_bearings or dry else sparse_solver(system, specialised)
    way = _OneState(_never, 0, {}, _never)
    if solver is not None:
        place, shapes = solver.places, solver.shapes
        q, v = place["q"], place["v"]
        parts = {
            "normal_force": part(0, (0,)),
            "friction_force": part(0, (0, 3)),
            "loop_wrench": part(place["loop_wrench"], shapes["loop_wrench"]),
            "joint_wrenches": part(place["joint_wrenches"], shapes["joint_wrenches"]),
            "coupling_force": part(place["multiplier"] + system.n_loop_rows, (len(m.couplings),)),
            "residual": part(place["residual"], ()),
            "touching": lambda block: np.zeros(0, dtype=bool),
            "sticking": lambda block: np.zeros(0, dtype=bool),
            "constraint_wrenches": part(place["body_wrench"], shapes["body_wrench"]),
            "prescribed_torque": part(0, (0,)),
            "source": lambda block: Loaded(m, block[q : q + m.nq], block[v : v + m.nv]),
        }
        way = _OneState(solver.one, place["opening"], parts, partial(_many_states, solver))
    m.__dict__.setdefault("_one_state", {})[specialised] = way


def _many_states(solver: SparseSolver, q: Any, v: Any, tau: Any) -> ConstrainedDynamics | None:
    """Solve states (N, n) that are arrays of float64; None where anything has to be said or done about them."""
    m = solver.system.mechanism
    for array, length in ((q, m.nq), (v, m.nv), (tau, m.nv)):
        plain = type(array) is np.ndarray and array.dtype == np.float64 and array.flags.c_contiguous
        if not plain or array.shape != (*q.shape[:1], length):
            return None
    found = solver.solve(q, v, tau, np.zeros((len(q), len(solver.system.loops.free_loop))), None)
    if not len(q) or found.outcome.any() or not (found.opening <= _SLIGHTLY_OPEN).all():
        return None
    fields = _fields_of(solver.system, found, found.joint_wrenches)
    return ConstrainedDynamics(**fields, source=Loaded(m, q.copy(), v.copy()))


def _never(q: Any, v: Any, tau: Any) -> None:
    """The long way always has to look."""


def _check_driven(driven: Driven, states: States) -> None:
    """Warn of states that do not agree with the motion of the joints that are driven."""
    for k, name in enumerate(driven.names):
        place, rate, _ = driven.motion[k]
        off = float(np.abs(states.q[:, driven.coordinate[k]] - place).max(initial=0.0))
        slow = float(np.abs(states.v[:, driven.velocity[k]] - rate).max(initial=0.0))
        if off > _SLIGHTLY_OPEN * (1.0 + abs(place)) or slow > _SLIGHTLY_OPEN * (1.0 + abs(rate)):
            warnings.warn(
                f'constrained_dynamics: joint "{name}" is off its prescribed motion by {off:.3g} (m or rad) and '
                f"{slow:.3g} (m/s or rad/s)",
                ModelWarning,
                stacklevel=3,
            )


def refuse_open(
    function: str, system: ConstraintSystem, q: Floats, batch: tuple[int, ...], stacklevel: int = 3
) -> None:
    """Loops and couplings that are open say nothing about the closed mechanism: refused; slightly open: a warning."""
    n = system.n_held
    if not n or not len(q):
        return
    error = system.position_error(q)
    size = np.abs(error[:, :n]) / redundancy(system).length
    state, row = (int(k) for k in np.unravel_index(np.argmax(size), size.shape))
    if size[state, row] <= _SLIGHTLY_OPEN:
        return
    where = f" in state {[int(i) for i in np.unravel_index(state, batch)]}" if batch else ""
    gap = f"{function}: q does not satisfy {system.names[row]}{where}, {opening(system, error[state], row)}"
    if size[state, row] > _OPEN:
        raise InputError(f"{gap}; expected a closed configuration, for example from close_loops")
    warnings.warn(f"{gap}; accelerations and forces are off by about as much", ModelWarning, stacklevel=stacklevel)


def _with_joints_at_rest(
    system: ConstraintSystem,
    states: States,
    method: str,
    batch: tuple[int, ...],
    driven: Driven,
    stick_speed: float,
    at_rest: NDArray[np.bool_] | None,
) -> States:
    """States with the dry friction of joints at rest, which holds them up to its limit, added to the torques."""
    m = system.mechanism
    limit = np.concatenate([m.coulomb, system.loops.coulomb])
    axes = np.flatnonzero(limit)
    if not axes.size or not len(states.q):
        return states
    motion = DenseMotion(system, states, method, batch, driven)
    rate = np.concatenate([states.v, motion.rows.motion.free_rate], axis=-1)[:, axes]
    resting = np.abs(rate) <= stick_speed
    if not resting.any():
        return states
    whole = np.zeros((len(rate), len(limit)))
    # The equations know sliding friction by the sign of the velocity: of slow axes that is taken back, before
    # friction is asked for what holds them.
    whole[:, axes] = -np.where(resting, limit[axes] * np.sign(rate), 0.0)
    if whole.any():
        states = _resisted(states, whole[:, : m.nv], whole[:, m.nv :])
        motion = DenseMotion(system, states, method, batch, driven)
    whole[:, axes] = -motion.friction_at_rest(axes, resting, limit[axes], stick_speed, at_rest)
    return _resisted(states, whole[:, : m.nv], whole[:, m.nv :])


def _resisted(states: States, tree: Floats, loops: Floats) -> States:
    """States with friction of bearings (N, nv) and (N, f) taken off the torques."""
    return states._replace(tau=states.tau - tree, loop_torque=states.loop_torque - loops)


def _sparse_first(
    system: ConstraintSystem, solver: SparseSolver, states: States, frame: str, batch: tuple[int, ...]
) -> dict[str, NDArray]:
    """Solve states without contacts at a cost that grows with the loops; those with redundant rows densely."""
    m = system.mechanism
    found = solver.solve(*states)
    if not (found.opening <= _SLIGHTLY_OPEN).all():
        refuse_open("constrained_dynamics", system, states.q, batch, 4)
    through = found.joint_wrenches
    if frame == "body":
        total = found.body_wrench if states.external is None else found.body_wrench + states.external
        through = joint_wrenches(m, states.q, states.v, found.a, total)
    result = _fields_of(system, found, through)
    left = np.flatnonzero(found.outcome)
    if left.size:
        motion = DenseMotion(system, states.at(left), "default", batch)
        motion.warn_of_singularity(5)
        dense = motion.solve(0.0, None, frame)
        for key, array in dense.items():
            result[key][left] = array
    return result


def _fields_of(system: ConstraintSystem, found: Found, through: Floats) -> dict[str, NDArray]:
    """Fields of ConstrainedDynamics from what the sparse solve found; through: joint wrenches."""
    count = len(found.a)
    return {
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
        "prescribed_torque": np.zeros((count, 0)),
    }
