"""The numeric twin: linear relations of the regressor's columns at random closed states, in floating point.

| symbol | meaning |
|---|---|
| Y | regressor of the tree, (nv, 10 n_bodies) |
| J | basis of the velocities that loops and couplings leave free |
| L | the mechanism's length |
| W* | Jᵀ Y(q, 0, J α) and Jᵀ Y(q, 0, 0) L/g: inertia and gravity at random q, α; columns M/L², MS/L, I |

    1. QR with column pivots, |r1| >= |r2| >= ...: rank = how many lie above the gap                        (1)
    2. columns in the order of preference whose part outside the span of those before lies above the gap    (2)
    3. K by least squares, columns exchanged while an entry of K, in units, exceeds 100                     (3)

A gap is a jump by 1e4 from above 1e-8 to below 1e-11. Where there is none the rank is not decided here
(`extended_relations` does). Velocities are left at zero: a combination of parameters without a share in M(q) has none
in the Coriolis terms either. Cost: one regressor per point and one orthogonalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import constraint_system
from setsu.dynamics import regressor
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities

__all__ = ["ClosedRegressor", "closed_regressor", "numeric_rank", "numeric_relations", "refine"]

Floats = NDArray[np.float64]

_SMALLEST_KEPT, _LARGEST_LEFT, _GAP = 1e-8, 1e-11, 1e4
_LARGEST_FACTOR = 100.0
_MOST_EXCHANGES = 20


@dataclass(frozen=True)
class ClosedRegressor:
    """W* (rows, 10 n_bodies) in the mechanism's units, and the units of its columns: column = units * W*."""

    rows: Floats
    units: Floats


def closed_regressor(mechanism: Mechanism, reference: Floats, seed: int) -> ClosedRegressor:
    """Return W* at random points of the reference's branch, but for a rotation of its rows; more rows than columns."""
    system = constraint_system(mechanism)
    rng = np.random.default_rng(seed)
    length = system.length
    units = np.tile([length**2, *[length] * 3, *[1.0] * 6], mechanism.n_bodies)
    weight = float(np.linalg.norm(mechanism.gravity))
    gravity_unit = length / weight if weight > 0 else 1.0
    still = np.zeros(mechanism.nv)
    freedom = free_velocities(system, reference)[0].shape[1]
    # Gravity and inertia each bring `freedom` rows per point: either alone may have the full rank of its columns.
    count = 10 * mechanism.n_bodies // max(1, min(freedom, 3)) + 10
    blocks = []
    for q in branch_points(mechanism, reference, count, seed):
        J = free_velocities(system, q)[0]
        gravity = regressor(mechanism, q, still, still)
        moved = regressor(mechanism, q, still, J @ rng.standard_normal(J.shape[1]))
        blocks += [J.T @ gravity * gravity_unit, J.T @ (moved - gravity)]
    rows = np.concatenate(blocks) / units
    # The triangular factor has the same columns, lengths and angles in as few rows as can be.
    short = np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows
    return ClosedRegressor(short / max(float(np.linalg.norm(short, axis=0).max(initial=0.0)), 1e-300), units)


def numeric_rank(W: ClosedRegressor) -> tuple[int, float, float] | None:
    """Return the rank and the pivots on both sides of the gap (1); None where there is no gap."""
    sizes = _pivot_sizes(W.rows)
    above = int((sizes > _SMALLEST_KEPT).sum())
    kept = float(sizes[above - 1]) if above else np.inf
    left = float(sizes[above]) if above < len(sizes) else 0.0
    return (above, kept, left) if left <= min(_LARGEST_LEFT, kept / _GAP) else None


def _pivot_sizes(W: Floats) -> Floats:
    """Diagonal of R of a QR factorisation with column pivots, largest first."""
    A = W.copy()
    sizes = []
    for _ in range(min(A.shape)):
        norms = np.linalg.norm(A, axis=0)
        j = int(np.argmax(norms))
        sizes.append(float(norms[j]))
        if norms[j] == 0.0:
            break
        direction = A[:, j] / norms[j]
        for _ in range(2):
            A = A - np.outer(direction, direction @ A)
        A[:, j] = 0.0
    return np.array(sizes)


def numeric_relations(W: ClosedRegressor, order: Sequence[int], rank: int, floor: float) -> tuple[list[int], Floats]:
    """Return `rank` independent columns and K (independent x dependent), W_dependent = W_independent K (2), (3).

    floor: what lies between the pivots kept and those left; dependent columns follow in the order of preference.
    """
    independent: list[int] = []
    rows = W.rows
    basis = np.zeros((0, rows.shape[0]))
    for column in order:
        rest = rows[:, column]
        for _ in range(3):
            rest = rest - basis.T @ (basis @ rest)
        length = float(np.linalg.norm(rest))
        if length > floor and len(independent) < rank:
            independent.append(column)
            basis = np.vstack([basis, rest / length])
    place = {column: k for k, column in enumerate(order)}
    exchanges = 0
    while True:
        kept = set(independent)
        dependent = [column for column in order if column not in kept]
        if not independent or not dependent:
            return independent, np.zeros((len(independent), len(dependent)))
        size = np.linalg.norm(rows[:, independent], axis=0)
        K = np.linalg.lstsq(rows[:, independent] / size, rows[:, dependent], rcond=None)[0] / size[:, None]
        # Every exchange enlarges the volume of the columns: there is an end to them.
        if np.abs(K).max() <= _LARGEST_FACTOR or exchanges >= _MOST_EXCHANGES * rank:
            break
        a, b = np.unravel_index(int(np.argmax(np.abs(K))), K.shape)
        independent[a] = dependent[b]
        independent.sort(key=place.__getitem__)
        exchanges += 1
    K = np.where(np.abs(K) < 1e-9 * max(1.0, float(np.abs(K).max())), 0.0, K)
    return independent, K * W.units[dependent] / W.units[independent][:, None]


def refine(W: ClosedRegressor, independent: Sequence[int], dependent: Sequence[int], K: Floats) -> Floats:
    """Return K adjusted to the floats of W where exact geometry had to be a nearby one; unchanged when it fits."""
    if not len(independent) or not len(dependent):
        return K
    unit = W.units[list(independent)][:, None] / W.units[list(dependent)]
    left, right = W.rows[:, independent], W.rows[:, dependent]
    scaled = K * unit
    rest = right - left @ scaled
    if np.abs(rest).max() <= 1e-14:
        return K
    size = np.linalg.norm(left, axis=0)
    change = np.linalg.lstsq(left / size, rest, rcond=None)[0] / size[:, None]
    # Factors that are exactly zero stay so: in other units their rounding would be large.
    large = (np.abs(change) > 4e-16 * np.maximum(1.0, np.abs(scaled))) & (K != 0.0)
    return K + np.where(large, change, 0.0) / unit
