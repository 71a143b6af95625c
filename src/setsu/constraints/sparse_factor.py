"""Mass matrix and rows of loops and couplings factored at a cost that grows with their number, in compiled code.

| symbol | meaning |
|---|---|
| M = Lᵀ D L | mass matrix and its factors along the branches: sparse_inertia.py |
| G | rows that are kept: redundancy.py |
| W | G M⁻¹ Gᵀ, one block for each two groups (loops, couplings) with a common velocity |

    W = Y D⁻¹ Yᵀ,  Y = G L⁻¹ on the support of each group                                        (1)
    W = U Δ Uᵀ block by block in the order of loop_network                                          (2)
    least x in the metric of M with G x = e:  x = M⁻¹ Gᵀ W⁻¹ e                                      (3)

Repeating (3) on what is left of e gives back the digits that squaring in (1) costs.
Source: Featherstone 2008, ch. 8; George and Liu 1981, ch. 2. Cost: the supports of the groups, squared, and the blocks.
Refuses, by its outcome: parts without mass, and pivots far below what they typically are, as near a change point.
"""

from __future__ import annotations

import math

from setsu.constraints.sparse_inertia import factor_inertia, packed_inertia, solve_inertia
from setsu.native.control_flow import inline

__all__ = ["factor_rows", "hold_rows", "least_motion", "rest_of", "solve_rows"]

_ROUNDING = 6e-16
_MOST_REPEATS = 5


@inline
def _spread(c, s, u, g):
    """Y D^-1/2 of a group: rows of G on its support, then (1)."""
    first = c.support_start[g]
    count = c.support_start[g + 1] - first
    for p in range(count):
        u.local[c.support[first + p]] = p
    for k in range(c.group_rows[g], c.group_rows[g + 1]):
        y, row = u.Y[k], c.rows[k]
        for p in range(count):
            y[p] = s.G[row, c.support[first + p]]
        for p in range(count):
            d = c.support[first + p]
            if y[p] != 0.0:
                for q in range(c.ancestor_start[d] + 1, c.ancestor_start[d + 1]):
                    y[u.local[c.ancestor[q]]] -= u.H[q] * y[p]
                y[p] *= u.root[d]


@inline
def _fill_blocks(c, u):
    for g in range(len(c.group_loop)):
        columns, first = c.group_rows[g + 1] - c.group_rows[g], c.group_rows[g]
        for block in range(c.block_start[g], c.block_start[g + 1]):
            i = c.block_group[block]
            place, other = c.block_place[block], c.group_rows[i]
            for a in range(c.group_rows[i + 1] - other):
                for b in range(a + 1 if i == g else columns):
                    total = 0.0
                    for p in range(c.shared_start[block], c.shared_start[block + 1]):
                        total += u.Y[other + a, c.shared_row[p]] * u.Y[first + b, c.shared_column[p]]
                    u.W[place + a * columns + b] = total


@inline
def _eliminate(c, u, limit):
    """Factor W in place (2): unit lower blocks and reciprocal pivots; False when a pivot is below its limit."""
    for g in range(len(c.group_loop)):
        n = c.group_rows[g + 1] - c.group_rows[g]
        columns, place, first = n, c.block_place[c.block_start[g]], c.group_rows[g]
        for a in range(n):
            pivot = u.W[place + a * columns + a]
            if not pivot > limit * c.typical[first + a]:
                return False
            u.pivot[first + a] = 1.0 / pivot
            for b in range(a + 1, n):
                ratio = u.W[place + b * columns + a] * u.pivot[first + a]
                for k in range(a + 1, b + 1):
                    u.W[place + b * columns + k] -= ratio * u.W[place + k * columns + a]
            for b in range(a + 1, n):
                u.W[place + b * columns + a] *= u.pivot[first + a]
        # Later groups: X Δ = W L⁻ᵀ, row by row; X replaces the block after its products have changed the later blocks.
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at = c.block_place[block]
            i = c.block_group[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    total = u.W[at + r * columns + a]
                    for b in range(a):
                        total -= u.W[at + r * columns + b] * u.W[place + a * columns + b]
                    u.W[at + r * columns + a] = total
        pair = c.update_start[g]
        for block_i in range(c.block_start[g] + 1, c.block_start[g + 1]):
            i, at_i = c.block_group[block_i], c.block_place[block_i]
            for block_j in range(c.block_start[g] + 1, block_i + 1):
                j, at_j = c.block_group[block_j], c.block_place[block_j]
                target, width = c.block_place[c.update_block[pair]], c.group_rows[j + 1] - c.group_rows[j]
                pair += 1
                for a in range(c.group_rows[i + 1] - c.group_rows[i]):
                    for b in range(a + 1 if i == j else width):
                        total = 0.0
                        for q in range(n):
                            total += u.W[at_i + a * columns + q] * u.W[at_j + b * columns + q] * u.pivot[first + q]
                        u.W[target + a * width + b] -= total
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at = c.block_place[block]
            i = c.block_group[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    u.W[at + r * columns + a] *= u.pivot[first + a]
    return True


@inline
def factor_rows(c, s, u, limit):
    """Factor the state whose rows and directions are in s: M into u.H, W into u.W; tells whether it could be done.

    limit: part of a typical pivot below which one is left to the dense factors.
    """
    packed_inertia(c, s, u)
    for d in range(len(u.diagonal)):
        u.diagonal[d] = u.H[c.ancestor_start[d]]
    if not factor_inertia(c, u):
        return False
    for d in range(len(u.root)):
        u.root[d] = math.sqrt(u.inverse[d])
    for g in range(len(c.group_loop)):
        _spread(c, s, u, g)
    _fill_blocks(c, u)
    return _eliminate(c, u, limit)


@inline
def solve_rows(c, u, x):
    """Replace x, rows in the order of elimination, by W⁻¹ x."""
    groups = len(c.group_loop)
    for g in range(groups):
        n = columns = c.group_rows[g + 1] - c.group_rows[g]
        first, place = c.group_rows[g], c.block_place[c.block_start[g]]
        for a in range(n):
            for b in range(a):
                x[first + a] -= u.W[place + a * columns + b] * x[first + b]
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at, i = c.block_place[block], c.block_group[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    x[c.group_rows[i] + r] -= u.W[at + r * columns + a] * x[first + a]
    for g in range(groups - 1, -1, -1):
        n = columns = c.group_rows[g + 1] - c.group_rows[g]
        first, place = c.group_rows[g], c.block_place[c.block_start[g]]
        for a in range(n):
            x[first + a] *= u.pivot[first + a]
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at, i = c.block_place[block], c.block_group[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    x[first + a] -= u.W[at + r * columns + a] * x[c.group_rows[i] + r]
        for a in range(n - 1, -1, -1):
            for b in range(a + 1, n):
                x[first + a] -= u.W[place + b * columns + a] * x[first + b]


@inline
def least_motion(c, s, u):
    """Leave M⁻¹ Gᵀ x in u.force for x in u.left, rows in the order of elimination (3)."""
    for d in range(len(u.force)):
        u.force[d] = 0.0
    for g in range(len(c.group_loop)):
        for k in range(c.group_rows[g], c.group_rows[g + 1]):
            row = c.rows[k]
            for p in range(c.support_start[g], c.support_start[g + 1]):
                u.force[c.support[p]] += s.G[row, c.support[p]] * u.left[k]
    solve_inertia(c, u, u.force)


@inline
def rest_of(c, s, u, x, offset):
    """u.left = -(G x + offset[row]), rows in the order of elimination; the largest, in parts of its row's terms."""
    largest = 0.0
    for g in range(len(c.group_loop)):
        for k in range(c.group_rows[g], c.group_rows[g + 1]):
            row = c.rows[k]
            total = offset[row]
            terms = abs(total)
            for p in range(c.support_start[g], c.support_start[g + 1]):
                term = s.G[row, c.support[p]] * x[c.support[p]]
                total += term
                terms += abs(term)
            u.left[k] = -total
            # A row that fades, as at a change point, has small terms, and moves x by its rest over its own size.
            if abs(total) > largest * terms:
                largest = abs(total) / terms
    return largest


@inline
def hold_rows(c, s, u, x, offset):
    """Change x (nv,) by the least motion that makes G x + offset zero; multipliers of it in u.total."""
    for k in range(len(u.total)):
        u.total[k] = 0.0
    last = math.inf
    for _ in range(_MOST_REPEATS):
        size = rest_of(c, s, u, x, offset)
        if not size > _ROUNDING or size > 0.5 * last:
            return
        last = size
        solve_rows(c, u, u.left)
        least_motion(c, s, u)
        for d in range(len(x)):
            x[d] += u.force[d]
        for k in range(len(u.total)):
            u.total[k] += u.left[k]
