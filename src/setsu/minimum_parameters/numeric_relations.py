"""The numeric twin: linear relations of the regressor's columns at random closed states, in floating point.

| symbol | meaning |
|---|---|
| Y | regressor of the tree, (nv, 10 n_bodies) |
| J | basis of the velocities that loops and couplings leave free |
| L | the mechanism's length |
| W* | Jᵀ Y(q, 0, J α) and Jᵀ Y(q, 0, 0) L/g: inertia and gravity at random q, α; columns M/L², MS/L, I |

    1. QR with column pivots, |r1| >= |r2| >= ...: rank = how many lie above the gap                        (1)
    2. from the pivots' columns to those of the order of preference, one exchanged for another at a time    (2)
    3. K by least squares, columns exchanged back while an entry of K, in units, exceeds 100                (3)

Step 2 starts from well-conditioned columns because taking preferred ones first, one after another, may pass through
nearly dependent ones, behind which rounding looks like rank (fingers of a hand, coupled).

A gap is a jump by 1e4 from above 1e-8 to below 1e-11. Where there is none the rank is not decided here
(`extended_relations` does). Velocities are left at zero: a combination of parameters without a share in M(q) has none
in the Coriolis terms either. Cost: one regressor per point and one orthogonalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import constraint_system
from setsu.dynamics import regressor
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities

__all__ = ["ClosedRegressor", "closed_regressor", "numeric_columns", "numeric_rank", "numeric_relations", "refine"]

Floats = NDArray[np.float64]

_SMALLEST_KEPT, _LARGEST_LEFT, _GAP = 1e-8, 1e-11, 1e4
_LARGEST_FACTOR = 100.0
_STANDS_FOR = (1e-6, 1e-3, 0.3, np.inf)
"""Factors from which on a column may stand for another; the next one where too little of the digits is left."""

_FEW = 120
_CLEAN = 1e-14
_EXACT_PIVOT = 1e-3
"""Factors below which an exchange costs digits."""

_MOST_EXCHANGES = 20
_MOST_ROUNDS = 5
"""Exchanges lose digits: they are repeated on K solved anew."""


@dataclass(frozen=True)
class ClosedRegressor:
    """W* (rows, 10 n_bodies) in the mechanism's units, and the units of its columns: column = units * W*."""

    rows: Floats
    units: Floats

    @cached_property
    def pivots(self) -> tuple[list[int], Floats]:
        """Columns and sizes of the pivots of a QR factorisation, largest first (1)."""
        A, place = self.rows.copy(), np.arange(self.rows.shape[1])
        columns, sizes = [], []
        for _ in range(min(A.shape)):
            norms = np.linalg.norm(A, axis=0)
            j = int(np.argmax(norms))
            columns.append(int(place[j]))
            sizes.append(float(norms[j]))
            if norms[j] == 0.0:
                break
            direction = A[:, j] / norms[j]
            A[:, j], place[j] = A[:, -1], place[-1]
            A, place = A[:, :-1], place[:-1]
            for _ in range(2):
                A -= np.outer(direction, direction @ A)
        return columns, np.array(sizes)


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
    # Gravity and inertia each bring `freedom` rows per point: either alone may have the full rank of its columns. The
    # rows of a joint see the bodies behind it only, so that a few dozen points serve however many there are.
    columns = 10 * mechanism.n_bodies
    count = max(columns // max(1, freedom), min(columns // 3, 30)) + 10
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
    sizes = W.pivots[1]
    above = int((sizes > _SMALLEST_KEPT).sum())
    kept = float(sizes[above - 1]) if above else np.inf
    left = float(sizes[above]) if above < len(sizes) else 0.0
    return (above, kept, left) if left <= min(_LARGEST_LEFT, kept / _GAP) else None


def numeric_relations(W: ClosedRegressor, order: Sequence[int], rank: int) -> tuple[list[int], Floats]:
    """Return `rank` independent columns and K (independent x dependent), W_dependent = W_independent K (2), (3).

    Dependent columns follow in the order of preference.
    """
    independent, K = _chosen_columns(W, order, order, rank)
    dependent = _others(independent, order)
    # Rounding becomes zero, column by column where that leaves the column as it was.
    clean = np.where(np.abs(K) < 1e-9 * max(1.0, float(np.abs(K).max(initial=0.0))), 0.0, K)
    rest = np.abs(W.rows[:, independent] @ clean - W.rows[:, dependent]).max(axis=0, initial=0.0)
    K = np.where(rest <= _CLEAN, clean, K)
    return independent, K * W.units[dependent] / W.units[independent][:, None]


def numeric_columns(W: ClosedRegressor, preferred: list[int], order: Sequence[int]) -> tuple[list[int], Floats]:
    """Return as many independent columns as preferred, these where floating point agrees, and K in units."""
    if not preferred or len(preferred) == len(order):
        return preferred, np.zeros((len(preferred), len(order) - len(preferred)))
    K = _solved(W.rows, preferred, order)
    rest = W.rows[:, preferred] @ K - W.rows[:, _others(preferred, order)]
    if np.abs(K).max() <= _LARGEST_FACTOR and np.abs(rest).max() <= _LARGEST_LEFT:
        return preferred, K
    first = set(preferred)
    wish = [*preferred, *(column for column in order if column not in first)]
    return _chosen_columns(W, wish, order, len(preferred))


def _chosen_columns(
    W: ClosedRegressor, wish: Sequence[int], order: Sequence[int], rank: int
) -> tuple[list[int], Floats]:
    """Return well-conditioned columns, as many of the first in `wish` as leave W_dependent = W_independent K."""
    independent: list[int] = []
    K = np.zeros((0, len(order)))
    # Factors below 1e-3 have K solved anew for each: too long for hundreds of columns.
    for least in _STANDS_FOR if rank <= _FEW else _STANDS_FOR[1:]:
        independent, K = _well_conditioned(W, _preferred_columns(W, wish, rank, least), order)
        rest = W.rows[:, independent] @ K - W.rows[:, _others(independent, order)]
        if np.abs(rest).max(initial=0.0) <= _LARGEST_LEFT:
            break
    return independent, K


def _preferred_columns(W: ClosedRegressor, order: Sequence[int], rank: int, least: float) -> list[int]:
    """From the pivots' columns, exchange each preferred column for the least preferred one it can stand for (2)."""
    place = {column: k for k, column in enumerate(order)}
    chosen = W.pivots[0][:rank]
    if not chosen or len(chosen) == len(order):
        return sorted(chosen, key=place.__getitem__)
    others = _others(chosen, order)
    K = _solved(W.rows, chosen, order)
    for wanted in order:
        if wanted not in others:
            continue
        b = others.index(wanted)
        worse = [a for a in np.flatnonzero(np.abs(K[:, b]) > least) if place[chosen[a]] > place[wanted]]
        if not worse:
            continue
        a = int(max(worse, key=lambda k: place[chosen[k]]))
        small = abs(K[a, b]) < _EXACT_PIVOT
        _exchange(K, a, b)
        chosen[a], others[b] = others[b], chosen[a]
        if small:
            # What is left of the digits is solved for anew.
            others = _others(chosen, order)
            K = _solved(W.rows, chosen, order)
    return sorted(chosen, key=place.__getitem__)


def _exchange(K: Floats, a: int, b: int) -> None:
    """Let d_b = Σ i_k K[k, b] and i_a change places, in place."""
    pivot = float(K[a, b])
    column, row = K[:, b].copy(), K[a] / pivot
    K -= column[:, None] * row
    K[:, b] = -column / pivot
    K[a] = row
    K[a, b] = 1.0 / pivot


def _well_conditioned(W: ClosedRegressor, independent: list[int], order: Sequence[int]) -> tuple[list[int], Floats]:
    """Return independent columns, exchanged for better ones while an entry of K exceeds 100, and K in units (3)."""
    if not independent or len(independent) == len(order):
        return independent, np.zeros((len(independent), len(order) - len(independent)))
    place = {column: k for k, column in enumerate(order)}
    independent = sorted(independent, key=place.__getitem__)
    K = _solved(W.rows, independent, order)
    # Every exchange enlarges the volume of the columns: there is an end to them.
    for _ in range(_MOST_ROUNDS):
        if np.abs(K).max() <= _LARGEST_FACTOR:
            break
        independent = _exchanged(independent, order, K)
        K = _solved(W.rows, independent, order)
    return independent, K


def _others(independent: Sequence[int], order: Sequence[int]) -> list[int]:
    kept = set(independent)
    return [column for column in order if column not in kept]


def _solved(rows: Floats, independent: Sequence[int], order: Sequence[int]) -> Floats:
    """K in units by least squares (3)."""
    left, right = rows[:, list(independent)], rows[:, _others(independent, order)]
    size = np.linalg.norm(left, axis=0)
    return np.linalg.lstsq(left / size, right, rcond=None)[0] / size[:, None]


def _exchanged(independent: Sequence[int], order: Sequence[int], K: Floats) -> list[int]:
    """Exchange columns while an entry of K exceeds the limit, K following by one elimination each."""
    chosen, others, K = list(independent), _others(independent, order), K.copy()
    for _ in range(_MOST_EXCHANGES * len(chosen)):
        a, b = (int(k) for k in np.unravel_index(int(np.argmax(np.abs(K))), K.shape))
        if abs(K[a, b]) <= _LARGEST_FACTOR:
            break
        _exchange(K, a, b)
        chosen[a], others[b] = others[b], chosen[a]
    place = {column: k for k, column in enumerate(order)}
    return sorted(chosen, key=place.__getitem__)


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
