"""Mass matrix and rows of loops and couplings factored together, sparse and without pivoting, in compiled code.

| symbol | meaning |
|---|---|
| M | mass matrix: sparse_inertia.py |
| G | rows that are kept: redundancy.py |
| K = [M Gᵀ; G 0] | symmetric, indefinite; entries and order of elimination from kkt_pattern.py |

    K = L D Lᵀ                                                                                      (1)
    M a - Gᵀ λ = f,  G a + γ = 0:         K [a; -λ] = [f; -γ]                                        (2)
    least x in the metric of M with G x = e:  K [x; -λ] = [0; e]                                     (3)

Repeating (3) on what is left of the rows gives back the digits that their pivots lose.
Source: Vanderbei 1995; Duff, Erisman and Reid 1986, ch. 7. Cost: the columns, squared: linear in the number of loops.
Refuses, by its outcome: parts without mass, and pivots far below what they typically are, as near a change point.
"""

from __future__ import annotations

import math

from setsu.constraints.articulated_factor import NO_MASS, eliminate_bodies, solve_bodies, take_out
from setsu.constraints.compiled_rows import fill_positions
from setsu.constraints.sparse_inertia import own_inertias, packed_inertia
from setsu.native.control_flow import inline, jit

__all__ = ["accelerate", "factor_kkt", "hold_rows", "least_motion", "measure_pivots"]

_ROUNDING = 6e-16
_MOST_REPEATS = 5


@inline
def factor_kkt(c, s, u, limit):
    """Factor the state whose rows and directions are in s (1); returns whether it could be done.

    limit: part of a typical pivot below which one is left to the dense factors.
    """
    for p in range(len(u.K)):
        u.K[p] = 0.0
    for k in range(len(c.rows)):
        for e in range(c.entry_start[k], c.entry_start[k + 1]):
            u.K[c.entry_place[e]] = s.G[c.rows[k], c.entry_column[e]]
    if len(c.body_unknown) > 0:
        return eliminate_bodies(c, s, u, limit)
    own_inertias(c, s, u)
    packed_inertia(c, s, u)
    for i in range(len(u.inverse)):
        u.inverse[i] = u.K[c.column_start[i]]
    return _eliminate(c, u, limit)


@inline
def _eliminate(c, u, limit):
    """Replace the entries of K by those of L, and D by its inverse; False when a pivot is too small."""
    for i in range(len(u.inverse)):
        first, last = c.column_start[i], c.column_start[i + 1]
        pivot, row = u.K[first], c.unknown_row[i]
        if not (pivot > NO_MASS * u.inverse[i] if row < 0 else -pivot > limit * c.typical[row]):
            return False
        u.inverse[i] = 1.0 / pivot
        take_out(c, u, first, last, u.inverse[i])
    return True


@inline
def _solve(c, u):
    """Replace u.x, in the order of elimination, by K⁻¹ u.x."""
    if len(c.body_unknown) > 0:
        solve_bodies(c, u)
        return
    n = len(u.inverse)
    for i in range(n):
        x = u.x[i]
        for p in range(c.column_start[i] + 1, c.column_start[i + 1]):
            u.x[c.column[p]] -= u.K[p] * x
    for i in range(n - 1, -1, -1):
        x = u.x[i] * u.inverse[i]
        for p in range(c.column_start[i] + 1, c.column_start[i + 1]):
            x -= u.K[p] * u.x[c.column[p]]
        u.x[i] = x


@inline
def least_motion(c, s, u, change):
    """Write the least motion that takes away the errors of the rows into change (nv,) (3)."""
    for d in range(len(change)):
        u.x[c.velocity_unknown[d]] = 0.0
    for k in range(len(c.rows)):
        u.x[c.row_unknown[k]] = -s.error[c.rows[k]]
    _solve(c, u)
    for d in range(len(change)):
        change[d] = u.x[c.velocity_unknown[d]]


@inline
def accelerate(c, s, u, x, offset):
    """Replace forces x (nv,) by the accelerations they cause while G x + offset is zero; multipliers in u.total (2)."""
    for d in range(len(x)):
        u.x[c.velocity_unknown[d]] = x[d]
    for k in range(len(c.rows)):
        u.x[c.row_unknown[k]] = -offset[c.rows[k]]
    _solve(c, u)
    for d in range(len(x)):
        x[d] = u.x[c.velocity_unknown[d]]
    for k in range(len(c.rows)):
        u.total[k] = -u.x[c.row_unknown[k]]
    _repeat(c, s, u, x, offset)


@inline
def hold_rows(c, s, u, x, offset):
    """Change x (nv,) by the least motion that makes G x + offset zero; multipliers of it in u.total."""
    for k in range(len(c.rows)):
        u.total[k] = 0.0
    _repeat(c, s, u, x, offset)


@inline
def _repeat(c, s, u, x, offset):
    """Add (3) to x and u.total until what is left of the rows is rounding, or falls no further."""
    last = math.inf
    for _ in range(_MOST_REPEATS):
        size = _rest(c, s, u, x, offset)
        if not size > _ROUNDING or size > 0.5 * last:
            return
        last = size
        _solve(c, u)
        for d in range(len(x)):
            x[d] += u.x[c.velocity_unknown[d]]
        for k in range(len(c.rows)):
            u.total[k] -= u.x[c.row_unknown[k]]


@inline
def _rest(c, s, u, x, offset):
    """u.x = -(G x + offset) for rows and 0 for velocities; the largest, in parts of its row's terms."""
    for d in range(len(x)):
        u.x[c.velocity_unknown[d]] = 0.0
    largest = 0.0
    for k in range(len(c.rows)):
        row = c.rows[k]
        total = offset[row]
        terms = abs(total)
        for e in range(c.entry_start[k], c.entry_start[k + 1]):
            term = s.G[row, c.entry_column[e]] * x[c.entry_velocity[e]]
            total += term
            terms += abs(term)
        u.x[c.row_unknown[k]] = -total
        # A row that fades, as at a change point, has small terms, and moves x by its rest over its own size.
        if abs(total) > largest * terms:
            largest = abs(total) / terms
    return largest


@jit
def measure_pivots(t, s, kernels, c, u):
    """Leave the rows' pivots at the state in s, without their sign, in u.total; returns whether it can be factored."""
    if fill_positions(t, s, kernels) >= 0 or not factor_kkt(c, s, u, 0.0):
        return False
    for k in range(len(c.rows)):
        u.total[k] = -1.0 / u.inverse[c.row_unknown[k]]
    return True
