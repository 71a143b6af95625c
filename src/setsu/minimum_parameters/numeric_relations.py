"""The numeric twin: linear relations of the regressor's columns at random closed states, in floating point.

| symbol | meaning |
|---|---|
| Y | regressor of the tree, (nv, 10 n_bodies) |
| J | basis of the velocities that loops and couplings leave free |
| W* | Jᵀ Y(q, 0, J α) and Jᵀ Y(q, 0, 0): inertia and gravity at random q, α |

Velocities are left at zero: a combination of parameters without a share in M(q) has none in the Coriolis terms either.
Columns are walked in the order of preference; one whose part outside the span of those kept before is below
1e-8 of its length is dependent. Cost: one regressor per point and one orthogonalisation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import constraint_system
from setsu.dynamics import regressor
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities

__all__ = ["closed_regressor", "numeric_relations", "refine"]

Floats = NDArray[np.float64]

_DEPENDENT = 1e-8


def closed_regressor(mechanism: Mechanism, reference: Floats, count: int, seed: int) -> Floats:
    """Return W* (rows, 10 n_bodies) at `count` random points of the reference's branch, but for a rotation of rows."""
    system = constraint_system(mechanism)
    rng = np.random.default_rng(seed)
    still = np.zeros(mechanism.nv)
    blocks = []
    for q in branch_points(mechanism, reference, count, seed):
        J = free_velocities(system, q)[0]
        gravity = regressor(mechanism, q, still, still)
        moved = regressor(mechanism, q, still, J @ rng.standard_normal(J.shape[1]))
        blocks += [J.T @ gravity, J.T @ (moved - gravity)]
    rows = np.concatenate(blocks)
    # The triangular factor has the same columns, lengths and angles in as few rows as can be.
    return np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows


def numeric_relations(W: Floats, order: Sequence[int]) -> tuple[list[int], list[int], Floats]:
    """Return independent columns, dependent columns, and K (independent x dependent), W_dependent = W_independent K."""
    independent: list[int] = []
    size = np.linalg.norm(W, axis=0)
    floor = 1e-12 * float(size.max(initial=0.0))
    basis = np.zeros((0, W.shape[0]))
    for column in order:
        if size[column] <= floor:
            continue
        rest = W[:, column] / size[column]
        for _ in range(3):
            rest = rest - basis.T @ (basis @ rest)
        length = float(np.linalg.norm(rest))
        if length > _DEPENDENT:
            independent.append(column)
            basis = np.vstack([basis, rest / length])
    kept = set(independent)
    dependent = [column for column in order if column not in kept]
    if not independent or not dependent:
        return independent, dependent, np.zeros((len(independent), len(dependent)))
    scaled = W[:, independent] / size[independent]
    K = np.linalg.lstsq(scaled, W[:, dependent], rcond=None)[0] / size[independent][:, None]
    return independent, dependent, np.where(np.abs(K) < 1e-9 * np.abs(K).max(initial=1.0), 0.0, K)


def refine(W: Floats, independent: Sequence[int], dependent: Sequence[int], K: Floats) -> Floats:
    """Return K adjusted to the floats of W where exact geometry had to be a nearby one; unchanged when it fits."""
    if not len(independent) or not len(dependent):
        return K
    left, right = W[:, independent], W[:, dependent]
    rest = right - left @ K
    if np.abs(rest).max() <= 1e-14 * np.abs(W).max():
        return K
    size = np.linalg.norm(left, axis=0)
    change = np.linalg.lstsq(left / size, rest, rcond=None)[0] / size[:, None]
    return K + np.where(np.abs(change) > 4e-16 * np.maximum(1.0, np.abs(K)), change, 0.0)
