"""The inverse of a mass matrix with rows that hold, of four states at a time, in compiled code.

With M = Lᵀ L along the tree and H the rows,

    [M  -Hᵀ]⁻¹  =  [ P   Q]                                                                                (1)
    [H   0 ]       [-Qᵀ  E]
    Y = L⁻ᵀ Hᵀ,  YᵀY = C Cᵀ,  T = L⁻¹ Y C⁻ᵀ,  P = M⁻¹ - T Tᵀ,  Q = T C⁻¹,  E = C⁻ᵀ C⁻¹                      (2)

Cost: nv² n + nv n². Refuses, by its result, motions without mass and rows that depend on each other.
"""

from __future__ import annotations

from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load, load_at, root, spread, store, store_at

__all__ = ["invert"]

_SMALLEST_PIVOT = 1e-7
"""Part of a row's pivot that other rows must leave; below it too many digits are lost here."""
_SMALLEST_MASS = 1e-12


@inline
def _large_enough(w, pivot, size, least):
    """Return whether a pivot is at least a part of what it was, in all lanes."""
    store(w.pivot, 0, pivot - size * spread(least))
    large = True
    for lane in range(LANES):
        large = large and w.pivot[0, lane] > 0.0
    return large


@inline
def _factor_mass(c, w):
    """L of M = Lᵀ L in w.L, along the tree; diagonals inverted. Returns whether every motion moves mass."""
    nv = w.a.shape[0]
    for i in range(nv):
        j = i
        while j >= 0:
            store_at(w.L, i, j, load(w.M, i * nv + j))
            j = c.parent[j]
    for k in range(nv - 1, -1, -1):
        pivot = load_at(w.L, k, k)
        if not _large_enough(w, pivot, load(w.M, k * nv + k), _SMALLEST_MASS):
            return False
        inverse = spread(1.0) / root(pivot)
        store_at(w.L, k, k, inverse)
        i = c.parent[k]
        while i >= 0:
            store_at(w.L, k, i, load_at(w.L, k, i) * inverse)
            i = c.parent[i]
        i = c.parent[k]
        while i >= 0:
            factor, j = load_at(w.L, k, i), i
            while j >= 0:
                store_at(w.L, i, j, load_at(w.L, i, j) - factor * load_at(w.L, k, j))
                j = c.parent[j]
            i = c.parent[i]
    return True


@inline
def _solve_transposed(c, w, x, row):
    """x[row] = L⁻ᵀ x[row]."""
    for i in range(w.a.shape[0] - 1, -1, -1):
        value = load_at(x, row, i) * load_at(w.L, i, i)
        store_at(x, row, i, value)
        j = c.parent[i]
        while j >= 0:
            store_at(x, row, j, load_at(x, row, j) - load_at(w.L, i, j) * value)
            j = c.parent[j]


@inline
def _solve_plain(c, w, x, row):
    """x[row] = L⁻¹ x[row]."""
    for i in range(w.a.shape[0]):
        value, j = load_at(x, row, i), c.parent[i]
        while j >= 0:
            value -= load_at(w.L, i, j) * load_at(x, row, j)
            j = c.parent[j]
        store_at(x, row, i, value * load_at(w.L, i, i))


@inline
def _scalar_product(x, i, y, j, first, stop):
    """Σ x[i] y[j] over some columns."""
    total = spread(0.0)
    for k in range(first, stop):
        total += load_at(x, i, k) * load_at(y, j, k)
    return total


@inline
def _take_off(x, row, factor, other, count):
    """x[row] -= factor x[other], and what that leaves."""
    for k in range(count):
        store_at(x, row, k, load_at(x, row, k) - factor * load_at(x, other, k))


@inline
def invert(c, w):
    """P, Q (by rows) and E of (2) from M and H; returns whether rows are independent enough."""
    nv, n = w.a.shape[0], w.H.shape[0]
    if not _factor_mass(c, w):
        return False
    for r in range(n):
        for d in range(nv):
            store_at(w.Q, r, d, load_at(w.H, r, d))
        _solve_transposed(c, w, w.Q, r)
    for r in range(n):
        for s in range(r + 1):
            store_at(w.C, r, s, _scalar_product(w.Q, r, w.Q, s, 0, nv))
    # C with inverted diagonals; then T by rows.
    for r in range(n):
        size = load_at(w.C, r, r)
        for s in range(r):
            value = load_at(w.C, r, s) - _scalar_product(w.C, r, w.C, s, 0, s)
            store_at(w.C, r, s, value * load_at(w.C, s, s))
        pivot = size - _scalar_product(w.C, r, w.C, r, 0, r)
        if not _large_enough(w, pivot, size, _SMALLEST_PIVOT):
            return False
        store_at(w.C, r, r, spread(1.0) / root(pivot))
    for r in range(n):
        for s in range(r):
            _take_off(w.Q, r, load_at(w.C, r, s), s, nv)
        inverse = load_at(w.C, r, r)
        for d in range(nv):
            store_at(w.Q, r, d, load_at(w.Q, r, d) * inverse)
    for r in range(n):
        _solve_plain(c, w, w.Q, r)
    _free_inverse(c, w)
    for r in range(n - 1, -1, -1):
        for s in range(r + 1, n):
            _take_off(w.Q, r, load_at(w.C, s, r), s, nv)
        inverse = load_at(w.C, r, r)
        for d in range(nv):
            store_at(w.Q, r, d, load_at(w.Q, r, d) * inverse)
    _row_inverse(w)
    return True


@inline
def _free_inverse(c, w):
    """P = L⁻¹ L⁻ᵀ - T Tᵀ, T by rows in w.Q."""
    nv, n = w.a.shape[0], w.H.shape[0]
    # L⁻¹ by rows, along the tree: (L⁻¹)_ij = -(Σ L_ik (L⁻¹)_kj) / L_ii over k from the parent of i up to j.
    for i in range(nv):
        inverse = load_at(w.L, i, i)
        store_at(w.U, i, i, inverse)
        j = c.parent[i]
        while j >= 0:
            total, k = spread(0.0), c.parent[i]
            while k >= j:
                total += load_at(w.L, i, k) * load_at(w.U, k, j)
                k = c.parent[k]
            store_at(w.U, i, j, -(total * inverse))
            j = c.parent[j]
    for i in range(nv):
        for j in range(i + 1):
            total = spread(0.0)
            # Velocities that move both: the chain of j as far as it is that of i.
            k = j
            while k >= 0:
                if c.chain[i, k]:
                    total += load_at(w.U, i, k) * load_at(w.U, j, k)
                k = c.parent[k]
            for r in range(n):
                total -= load_at(w.Q, r, i) * load_at(w.Q, r, j)
            store_at(w.P, i, j, total)
            store_at(w.P, j, i, total)


@inline
def _row_inverse(w):
    """E = C⁻ᵀ C⁻¹."""
    n = w.H.shape[0]
    for i in range(n):
        inverse = load_at(w.C, i, i)
        store_at(w.F, i, i, inverse)
        for j in range(i):
            total = spread(0.0)
            for k in range(j, i):
                total += load_at(w.C, i, k) * load_at(w.F, k, j)
            store_at(w.F, i, j, -(total * inverse))
    for i in range(n):
        for j in range(i + 1):
            total = spread(0.0)
            for k in range(i, n):
                total += load_at(w.F, k, i) * load_at(w.F, k, j)
            store_at(w.E, i, j, total)
            store_at(w.E, j, i, total)
