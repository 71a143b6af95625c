"""Closed configurations on one assembly branch of a mechanism, and the linear closure where there is one.

A linkage may close in several ways (a parallelogram also crosses over), and each way has its own minimum parameters.
The branch is that of a given configuration. Points of it are found by small steps along the directions the loops leave
free, on in one direction so that they spread, closed again each time; a step that comes near a singular position, where
branches meet, is taken back and the walk turns round.

| symbol | meaning |
|---|---|
| G | constraint rows, G v = 0 |
| J | basis of the free velocities, v = J du |

    linear closure: D = J_dependent J_independent^-1 is the same at all points          (1)
    q_dependent = D q_independent + b, proved by putting it into the loops exactly      (2)

Cost: one closing per point. Refuses mechanisms whose loops cannot be closed (`close_loops` says which).
"""

from __future__ import annotations

import contextlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import ClosingError, close_loops, loop_error
from setsu.constraints.redundancy import redundancy
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import integrate
from setsu.errors import InputError
from setsu.kernels.interpreter import run
from setsu.kernels.loop_closures import loop_kinematics
from setsu.mechanism import Joint, LoopConstraint, Mechanism
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.coordinates import LinearClosure, no_closure, whole_angles
from setsu.minimum_parameters.energy_rows import symbolic_setting
from setsu.minimum_parameters.exact_geometry import rational, rational_rotation
from setsu.spatial import axis_to_z_rotation
from setsu.symbolic.exact_numbers import ExactRing, Value
from setsu.symbolic.trigonometric_polynomials import TooManyTermsError

__all__ = [
    "branch_points",
    "free_velocities",
    "has_residuals",
    "independent_velocities",
    "joint_residuals",
    "linear_closure",
    "loop_residuals",
    "reference_configuration",
]

Floats = NDArray[np.float64]

_STEP = 0.2
_TRIES = 12
_CLOSED = 1e-9
_CLOSING_STEPS = 12
_SETTLED = 1e-11
# Part of the reference's distance from singular positions that points of the walk keep.
_KEPT_DISTANCE = 0.3


def _rows(system: ConstraintSystem, q: Floats) -> Floats:
    """Constraint rows with metres and radians made comparable, so that singular values mean something."""
    G, _ = system.jacobian_and_error(q)
    return G * system.velocity_units / system.row_units[:, None]


def free_velocities(system: ConstraintSystem, q: Floats) -> tuple[Floats, float, int]:
    """Return J (nv, freedom) at a configuration, the least singular value of G that is not zero, and G's rank."""
    nv = system.mechanism.nv
    if system.n_rows == 0:
        return np.eye(nv), 1.0, 0
    _, s, Vt = np.linalg.svd(_rows(system, q))
    rank = int((s > 1e-8 * max(float(s[0]), 1e-30)).sum())
    return system.velocity_units[:, None] * Vt[rank:].T, float(s[rank - 1]) if rank else 1.0, rank


def branch_points(mechanism: Mechanism, start: Floats, count: int, seed: int) -> Floats:
    """Return `count` closed configurations (count, nq) of the branch that `start` lies on."""
    system = constraint_system(mechanism)
    rng = np.random.default_rng(seed)
    if system.n_rows == 0:
        spread = np.pi * rng.uniform(-1.0, 1.0, (count, mechanism.nv))
        return np.array([integrate(mechanism, mechanism.neutral(), step, 1.0) for step in spread])
    J, distance, rank = free_velocities(system, start)
    if not mechanism.loops and not any(coupling.polynomial for coupling in mechanism.couplings):
        # Linear relations of coordinates hold everywhere: no need to walk.
        spread = np.pi * rng.uniform(-1.0, 1.0, (count, mechanism.nv)) @ (J @ np.linalg.pinv(J)).T
        closed = [_closed_nearby(system, integrate(mechanism, start, step, 1.0)) for step in spread]
        if all(point is not None for point in closed):
            return np.array(closed)
    q, points = start, []
    heading = rng.standard_normal(mechanism.nv)
    for _ in range(40 * count):
        # On in one direction, with a little of a new one: the points spread over the branch, not around its start.
        heading = heading + 0.5 * np.linalg.norm(heading) / np.sqrt(mechanism.nv) * rng.standard_normal(mechanism.nv)
        along = J @ (np.linalg.pinv(J) @ heading)
        length = np.linalg.norm(along / system.velocity_units) or 1.0
        step = along * (_STEP * np.sqrt(J.shape[1]) * (0.5 + rng.uniform()) / length)
        new = _closed_nearby(system, integrate(mechanism, q, step, 1.0))
        if new is not None:
            J_new, distance_new, rank_new = free_velocities(system, new)
            moved = np.linalg.norm((new - q)[: mechanism.nq])
            jumped = moved > 3.0 * np.linalg.norm(step) + 1e-6
            if rank_new == rank and distance_new >= _KEPT_DISTANCE * distance and not jumped:
                q, J, heading = new, J_new, along
                points.append(q)
                if len(points) == count:
                    return np.array(points)
                continue
        heading = -along + 0.3 * np.linalg.norm(along) / np.sqrt(mechanism.nv) * rng.standard_normal(mechanism.nv)
    raise InputError(
        f'minimum_parameters of "{mechanism.name}": found only {len(points)} closed configurations near the reference; '
        "give another q, away from singular positions"
    )


def _closed_nearby(system: ConstraintSystem, q: Floats) -> Floats | None:
    """Close the loops again after a small step, by Newton's method; None when that does not settle at once."""
    for _ in range(_CLOSING_STEPS):
        G, error = system.jacobian_and_error(q)
        scaled = G * system.velocity_units / system.row_units[:, None]
        error = error / system.row_units
        change = np.linalg.lstsq(scaled, -error, rcond=1e-9)[0]
        q = integrate(system.mechanism, q, system.velocity_units * change, 1.0)
        # Errors fall quadratically: one more step from here leaves rounding only.
        if np.abs(error).max(initial=0.0) < _SETTLED:
            return q
    return None


def reference_configuration(mechanism: Mechanism, q: ArrayLike | None, function: str) -> Floats:
    """Return a closed, regular configuration: the one given, else neutral, else one found, parallelograms first."""
    system = constraint_system(mechanism)
    if q is not None:
        (given,), batch = checked_arrays(function, mechanism, [("q", q, (mechanism.nq,))])
        if batch != ():
            raise InputError(f"{function}: q: expected one configuration ({mechanism.nq},), got leading axes {batch}")
        closed = close_loops(mechanism, given, respect_limits=False)
        _refuse_locked(system, free_velocities(system, closed)[2])
        return closed
    if system.n_rows == 0:
        return mechanism.neutral()
    # Closing from many places takes seconds, and every generated function asks: it is kept with the mechanism.
    kept = mechanism.__dict__
    if "_regular_configuration" not in kept:
        kept["_regular_configuration"] = _regular_configuration(system)
    return kept["_regular_configuration"].copy()


def _regular_configuration(system: ConstraintSystem) -> Floats:
    """The neutral configuration where it is closed and regular, else the first one found that is."""
    mechanism = system.mechanism
    rng = np.random.default_rng(0)
    sizes = np.where(np.arange(_TRIES) < _TRIES // 2, 0.3, 1.5)
    starts = integrate(
        mechanism, mechanism.neutral(), sizes[:, None] * rng.standard_normal((_TRIES, mechanism.nv)), 1.0
    )
    found = _closed_from(mechanism, starts[:2])
    if len(found) == 2 and _is_regular(system, mechanism.neutral(), found):
        _refuse_locked(system, free_velocities(system, mechanism.neutral())[2])
        return mechanism.neutral()
    found += _closed_from(mechanism, starts[2:])
    if not found:
        return close_loops(mechanism, mechanism.neutral(), respect_limits=False)  # says which loop stays open
    ranks = [free_velocities(system, closed)[1:] for closed in found]
    generic = max(rank for _, rank in ranks)
    _refuse_locked(system, generic)
    regular = [closed for closed, (_, rank) in zip(found, ranks, strict=True) if rank == generic]
    for closed in regular:
        if _constant_ratios(mechanism, closed) is not None:
            return closed
    return regular[0]


def _refuse_locked(system: ConstraintSystem, rank: int) -> None:
    """Loops that leave no motion leave no torque either; most often their axes are parallel but for rounding."""
    m = system.mechanism
    if m.nv and rank >= m.nv:
        judged = redundancy(system)
        left_out = ", ".join(name for name, kept in zip(system.names, judged.kept, strict=False) if not kept)
        if left_out and judged.kept.sum() < m.nv:
            why = f", unless axes that are parallel but for rounding are taken as parallel ({left_out}); write "
            why += "its angles and axes with more digits"
        else:
            why = "; expected a mechanism that can move"
        raise InputError(f'minimum_parameters of "{m.name}": its loops and couplings leave it no motion{why}')


def _closed_from(mechanism: Mechanism, starts: Floats) -> list[Floats]:
    """Closed configurations near those of the starts (N, nq) that can be closed; all at once where all can."""
    try:
        return list(close_loops(mechanism, starts, respect_limits=False))
    except ClosingError:
        found = []
        for start in starts:
            with contextlib.suppress(ClosingError):
                found.append(close_loops(mechanism, start, respect_limits=False))
        return found


def _is_regular(system: ConstraintSystem, q: Floats, others: list[Floats]) -> bool:
    """Whether q closes the loops and is as far from singular positions as others are, within reason."""
    if np.abs(loop_error(system.mechanism, q)).max(initial=0.0) > _CLOSED:
        return False
    _, distance, rank = free_velocities(system, q)
    compared = [free_velocities(system, other)[1:] for other in others]
    return rank == max(r for _, r in compared) and distance > 0.05 * max(d for d, _ in compared)


def linear_closure(mechanism: Mechanism, reference: Floats, limit: int) -> LinearClosure | None:
    """Return the linear closure of the branch when there is one that holds exactly, else None."""
    if not mechanism.loops and not mechanism.couplings:
        return no_closure(mechanism)
    if any(coupling.polynomial for coupling in mechanism.couplings):
        return None
    found = _constant_ratios(mechanism, reference)
    if found is None:
        return None
    D, independent = found
    nv = mechanism.nv
    coordinates, single = _coordinates(mechanism, reference)
    dependent = [d for d in range(nv) if d not in independent]
    if not all(single[d] for d in dependent) or np.abs(D[:, [not single[d] for d in independent]]).max(initial=0) > 0:
        return None
    matrix = [[rational(0.0)] * len(independent) for _ in range(nv)]
    offset = [0.0] * nv
    for k, d in enumerate(independent):
        matrix[d][k] = rational(1.0)
    for row, d in zip(D, dependent, strict=True):
        matrix[d] = [rational(float(entry), 1e-7) for entry in row]
        offset[d] = coordinates[d] - sum(
            float(entry) * coordinates[e] for entry, e in zip(matrix[d], independent, strict=True)
        )
    closure = whole_angles(mechanism, LinearClosure(tuple(tuple(row) for row in matrix), tuple(offset)))
    return closure if _holds_exactly(mechanism, closure, limit) else None


def _constant_ratios(mechanism: Mechanism, reference: Floats) -> tuple[Floats, list[int]] | None:
    """Return D of (1) and the independent velocities, or None when D varies."""
    system = constraint_system(mechanism)
    independent = independent_velocities(free_velocities(system, reference)[0])
    dependent = [d for d in range(mechanism.nv) if d not in independent]
    try:
        points = branch_points(mechanism, reference, 6, seed=1)
    except InputError:
        return None
    ratios = []
    for q in (reference, *points):
        J = free_velocities(system, q)[0]
        ratios.append(J[dependent] @ np.linalg.inv(J[independent]))
    D = np.mean(ratios, axis=0)
    constant = max(np.abs(ratio - D).max(initial=0.0) for ratio in ratios) < 1e-7 * max(1.0, np.abs(D).max(initial=0.0))
    return (np.where(np.abs(D) < 1e-7, 0.0, D), independent) if constant else None


def independent_velocities(J: Floats) -> list[int]:
    """Return the first rows of J that are linearly independent."""
    chosen: list[int] = []
    for d in range(J.shape[0]):
        if np.linalg.matrix_rank(J[[*chosen, d]], tol=1e-6 * np.abs(J).max()) > len(chosen):
            chosen.append(d)
    return chosen


def _coordinates(mechanism: Mechanism, q: Floats) -> tuple[list[float], list[bool]]:
    """Return the coordinate of every velocity, and whether it has one of its own."""
    tables = mechanism.tables
    values, single = [0.0] * tables.nv, [False] * tables.nv
    for link, kind in enumerate(tables.kind.tolist()):
        if Kind(kind).nv == 1:
            values[tables.v_index[link]] = float(q[tables.q_index[link]])
            single[tables.v_index[link]] = True
    return values, single


def _holds_exactly(mechanism: Mechanism, closure: LinearClosure, limit: int) -> bool:
    """Put the closure into couplings and loops (2)."""
    first = {body.joint.name: where.start for body, where in zip(mechanism.moving, mechanism.v_slices, strict=True)}
    for coupling in mechanism.couplings:
        for k in range(closure.freedom):
            if sum(rational(factor) * closure.matrix[first[joint]][k] for joint, factor in coupling.factors) != 0:
                return False
    if not mechanism.loops:
        return True
    try:
        ring, constants, q, _ = symbolic_setting(mechanism, closure, limit)
        residuals = loop_residuals(mechanism, ring, constants, q)
    except TooManyTermsError:
        return False
    return residuals is not None and all(ring.raw(entry) == 0 for rows in residuals for entry in rows)


def loop_residuals(mechanism: Mechanism, ring: ExactRing, constants: dict, q: list) -> list[list[Value]] | None:
    """Return what every loop joint holds at zero, loop by loop; None for a joint type that has no such form here."""
    v = [0.0] * mechanism.nv
    placed = run(loop_kinematics(), mechanism.tables, {"q": q, "v": v}, constants=constants)["placement"]
    result = []
    for k, loop in enumerate(mechanism.loops):
        T = placed[16 * k : 16 * (k + 1)]
        R, p = [*T[0:3], *T[4:7], *T[8:11]], [T[3], T[7], T[11]]
        if not has_residuals(loop.joint):
            return None
        result.append(joint_residuals(loop.joint, ring, R, p))
    return result


def has_residuals(joint: Joint) -> bool:
    """Whether what a joint holds has a form in sines and cosines: a screw's travel has none."""
    return not isinstance(joint, LoopConstraint) and all(kind != "screw" for kind, _ in joint.motions)


def joint_residuals(joint: Joint, ring: ExactRing, R: list[Value], p: list[Value]) -> list[Value]:
    """Return what a joint holds of a rotation R (9 entries) and a travel p."""
    travel, turn = joint.holds
    across = dict(zip("xyz", _frame(joint, ring), strict=True)) if joint.has_axis else {}
    held = p if travel == "xyz" else [_dot(across[letter], p) for letter in travel]
    held = [*held, *(_no_turn(R) if turn == "xyz" else _axis_kept(joint, ring, R) if turn else [])]
    return [*held, *_cross_kept(joint, ring, R)] if joint.has_cross else held


def _frame(joint: Joint, ring: ExactRing) -> list[list[Value]]:
    """Exact unit vectors: two across the joint's axis and the axis itself."""
    turn = [ring.number(entry) for entry in rational_rotation(axis_to_z_rotation(joint.axis))]
    return [[turn[j], turn[3 + j], turn[6 + j]] for j in range(3)]


def _dot(a: list[Value], b: list[Value]) -> Value:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def _rotate(R: list[Value], x: list[Value]) -> list[Value]:
    return [_dot(R[3 * i : 3 * i + 3], x) for i in range(3)]


def _axis_kept(joint: Joint, ring: ExactRing, R: list[Value]) -> list[Value]:
    axis = _frame(joint, ring)[2]
    return [a + -1 * b for a, b in zip(_rotate(R, axis), axis, strict=True)]


def _no_turn(R: list[Value]) -> list[Value]:
    return [entry + -1.0 if k % 4 == 0 else entry for k, entry in enumerate(R)]


def _cross_kept(joint: Joint, ring: ExactRing, R: list[Value]) -> list[Value]:
    first = [ring.number(rational(float(entry))) for entry in joint.axis]
    second = [ring.number(rational(float(entry))) for entry in joint.second_axis]  # type: ignore[attr-defined]
    return [_dot(first, _rotate(R, second)) + -1 * _dot(first, second)]
