"""How many freedoms the constraints leave, which of them are redundant, which coordinates can be chosen freely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.assembly import assembly_modes as find_modes
from setsu.constraints.assembly import close_loops, opening
from setsu.constraints.held_motion import singular_values_kept
from setsu.constraints.ranks import EXACT, WEAK, rank_of
from setsu.constraints.redundancy import redundancy
from setsu.constraints.stacked import Floats
from setsu.constraints.states import checked_arrays, coordinate_names, velocity_indices
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import integrate
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["ConstraintReport", "constraint_report", "degrees_of_freedom", "independent_coordinates", "weakest_row"]

# Further open than this (m or rad), the rows at hand say nothing about the closed mechanism.
_OPEN = 1e-3
# Smallest singular value of scaled rows, in parts of the largest, at which a configuration is called nearly singular.
_NEARLY = 1e-2


@dataclass(frozen=True)
class ConstraintReport:
    """Freedoms of a mechanism at a configuration.

    degrees_of_freedom: velocities less the rank of the rows of loops and couplings at this configuration.
    rank: of those rows.
    redundant: names of rows that hold nothing the others do not hold already, in any configuration.
    generic_degrees_of_freedom: of the mechanism at configurations that are not singular.
    singular: whether the rows that are not redundant depend on each other at this configuration.
    distance_to_singularity: the smallest singular value of those rows over the largest, each over the size it could
        have; 0 at a singular configuration.
    assembly_modes: (k, nq) ways to assemble it with the same independent coordinates, the given one first; when asked.
    """

    degrees_of_freedom: int
    rank: int
    redundant: tuple[str, ...]
    generic_degrees_of_freedom: int
    singular: bool
    distance_to_singularity: float
    assembly_modes: Floats | None = None


def degrees_of_freedom(mechanism: Mechanism, q: ArrayLike) -> int | NDArray[np.int64]:
    """Return the number of independent velocities at configurations (..., nq) that satisfy the loops.

    It is nv less the rank of all loops and couplings; at a singular configuration it is larger than elsewhere.

    Returns:
        A whole number for one configuration, an array (...) for many.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.five_bar()
    >>> setsu.degrees_of_freedom(m, m.neutral())
    2
    """
    system = constraint_system(mechanism)
    (configuration,), batch = _closed("degrees_of_freedom", system, q)
    G, tolerance = _scaled_rows(system, configuration)
    free = mechanism.nv - _rank(G, tolerance)
    return int(free) if batch == () else np.asarray(free, dtype=np.int64)


def constraint_report(
    mechanism: Mechanism,
    q: ArrayLike,
    *,
    assembly_modes: bool = False,
    fixed: Sequence[str] = (),
    starts: int = 200,
    seed: int = 0,
) -> ConstraintReport:
    """Return freedoms, rank and the names of redundant rows at one configuration (nq,).

    Args:
        q: a configuration that satisfies the loops.
        assembly_modes: look for the other ways to assemble the mechanism with some joints where they are, within the
            limits of the joints. More starts may find more; a rod turned half round between two ball joints is another.
        fixed: those joints, as many as there are freedoms; else `independent_coordinates`.
        starts: number of random places from which loops are closed for that.
        seed: of these places.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> report = setsu.constraint_report(m, m.neutral(), assembly_modes=True)
    >>> len(report.redundant), report.assembly_modes.shape
    (3, (2, 3))
    """
    system = constraint_system(mechanism)
    (configuration,), batch = _closed("constraint_report", system, q)
    if batch != ():
        raise InputError(
            f"constraint_report: q: expected one configuration ({mechanism.nq},), got leading axes {batch}"
        )
    G, tolerance = _scaled_rows(system, configuration)
    rank = int(_rank(G, tolerance))
    judged = redundancy(system)
    redundant = tuple(name for name, kept in zip(system.names, judged.kept, strict=True) if not kept)
    held = G[judged.kept[judged.live]]
    s = np.linalg.svd(held, compute_uv=False) if 0 not in held.shape else np.ones(1)
    nearness = float(s[-1] / s[0]) if s[0] > 0.0 and len(held) <= mechanism.nv else 0.0
    singular = rank_of(held) < judged.rank
    modes = None
    if assembly_modes:
        if not isinstance(starts, (int, np.integer)) or starts < 1:
            raise InputError(f"constraint_report: starts: expected a whole number from 1 on, got {starts!r:.40}")
        if singular:
            raise InputError(
                "constraint_report: assembly_modes: at a singular configuration no coordinates determine the others; "
                "expected another configuration, as of setsu.close_loops"
            )
        names = coordinate_names(mechanism)
        chosen = [names.index(name) for name in independent_coordinates(mechanism, configuration)]
        if fixed:
            chosen = velocity_indices(mechanism, fixed, "constraint_report: fixed")
        modes = find_modes(system, configuration, chosen, int(starts), seed)
    generic = mechanism.nv - min(judged.rank, mechanism.nv)
    return ConstraintReport(mechanism.nv - rank, rank, redundant, generic, singular, nearness, modes)


def independent_coordinates(
    mechanism: Mechanism, q: ArrayLike | None = None, prefer: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return names of coordinates that determine all others through loops and couplings, as many as there are freedoms.

    Args:
        q: a configuration (nq,) that satisfies the loops; when not given, the closed one nearest to a generic one.
        prefer: joints to be taken where possible; when not given, those the model file calls independent. After them,
            joints earlier in the tree come first.

    Names are those of joints; of joints with several velocities "base.vx", "shoulder.wz" or "joint[1]".

    >>> import setsu
    >>> setsu.independent_coordinates(setsu.sample_mechanisms.four_bar())
    ('crank',)
    """
    system = constraint_system(mechanism)
    m = mechanism
    wished = prefer or [joint for joint in m.independent if joint in m.joint_names]
    first = velocity_indices(m, wished, "independent_coordinates: prefer")
    start = close_loops(m, _generic(m)) if q is None else q
    (configuration,), batch = _closed("independent_coordinates", system, start)
    if batch != ():
        raise InputError(f"independent_coordinates: q: expected one configuration ({m.nq},), got leading axes {batch}")
    G, tolerance = _scaled_rows(system, configuration)
    # Columns that are dependent on the ones before, taken from the least wanted coordinate on.
    order = [k for k in reversed(range(m.nv)) if k not in first] + list(reversed(first))
    dependent = [order[k] for k in _independent_rows(G.T[order], float(tolerance))]
    names = coordinate_names(m)
    return tuple(names[k] for k in range(m.nv) if k not in dependent)


def weakest_row(m: Mechanism, q: Floats) -> str | None:
    """Return the row that depends on others most nearly at a configuration (nq,), if it is nearly singular."""
    system = constraint_system(m)
    judged = redundancy(system)
    held = _scaled_rows(system, q)[0][judged.kept[judged.live]]
    if 0 in held.shape:
        return None
    vectors, s, _ = np.linalg.svd(held, full_matrices=False)
    if s[-1] > _NEARLY * s[0]:
        return None
    return system.names[int(np.flatnonzero(judged.kept)[np.argmax(np.abs(vectors[:, -1]))])]


def _generic(m: Mechanism) -> Floats:
    """The neutral configuration moved a little: symmetric and stretched positions are often singular."""
    rng = np.random.default_rng(2014)
    return integrate(m, m.neutral(), 0.1 * rng.standard_normal(m.nv), 1.0)


def _closed(function: str, system: ConstraintSystem, q: ArrayLike) -> tuple[list[Floats], tuple[int, ...]]:
    m = system.mechanism
    taken, batch = checked_arrays(function, m, [("q", q, (m.nq,))])
    error = system.position_error(taken[0]).reshape(math.prod(batch), system.n_rows)
    if np.abs(error).max(initial=0.0) > _OPEN:
        state, row = (int(k) for k in np.unravel_index(np.argmax(np.abs(error)), error.shape))
        raise InputError(
            f"{function}: q does not satisfy {system.names[row]}, {opening(system, error[state], row)}; expected a "
            "closed configuration, for example from close_loops"
        )
    return taken, batch


def _scaled_rows(system: ConstraintSystem, q: Floats) -> tuple[Floats, Floats]:
    """Live rows without units, each over the length it could have, and the tolerance for their rank.

    Off the closed configuration by some error, rows of an over-constrained linkage differ by about that much.
    """
    rows = system.linearise(q, np.zeros((*q.shape[:-1], system.mechanism.nv)))
    column, live = system.velocity_units, redundancy(system).live
    size = np.sqrt(np.sum((system.row_size(rows) * column) ** 2, axis=-1))
    scaled = rows.jacobian * column / np.where(size > 0.0, size, 1.0)[..., None]
    moved = np.abs(rows.error / system.row_units).max(axis=-1, initial=0.0)
    return scaled[..., live, :], np.minimum(EXACT + 10.0 * moved, WEAK)


def _rank(G: Floats, tolerance: Floats) -> NDArray[np.int64]:
    if 0 in G.shape[-2:]:
        return np.zeros(G.shape[:-2], dtype=np.int64)
    s = np.asarray(np.linalg.svd(G, compute_uv=False), dtype=np.float64)
    return singular_values_kept(s, tolerance).sum(axis=-1)


def _independent_rows(rows: Floats, tolerance: float) -> list[int]:
    """Numbers of the rows (n, k) that are no combinations of earlier ones, by Gram-Schmidt, twice for accuracy."""
    kept: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    limit = max(100.0 * tolerance, 1e-10) * float(np.linalg.norm(rows, axis=1).max(initial=0.0))
    for k, row in enumerate(rows):
        rest = row
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        length = float(np.linalg.norm(rest))
        if length > limit:
            kept.append(k)
            basis = np.vstack([basis, rest / length])
    return kept
