"""Mass matrix and constraint rows factored for one state, rank-revealing, in compiled code.

| symbol | meaning |
|---|---|
| M = L Lᵀ | mass matrix and its Cholesky factor |
| G, γ | active rows (k, nv) and their velocity terms: G a + γ = 0 |
| B = L⁻¹ Gᵀ S, B P = Q R | scaled rows where the mass matrix is 1; Householder reflections, largest column first |
| R = [R1 X; 0 0] | R1 (r, r) with r the rank |
| y = L⁻¹ f | generalised force f in these coordinates |

    z = y - Q1 Q1ᵀ y - Q1 R1⁻ᵀ γ_P,   a = L⁻ᵀ z                              (1)
    S⁻¹λ_P = (u - Z c, c),  Z = R1⁻¹ X,  u = R1⁻¹ Q1ᵀ (z - y),  (1 + ZᵀZ) c = Zᵀ u     (2)  least norm of S⁻¹λ
    nearest x with G x = e:  Lᵀ x = Q1 R1⁻ᵀ e_P                              (3)  nearest in the metric of M
    γ_P and e_P are scaled by S

S makes pivots of kept rows about 1 away from singular configurations (redundancy.typical_pivots), those of other rows 1
where they stand: a pivot below `cut` means that the configuration is singular, or that contacts, stops and joints at
rest hold the same thing twice. No more than `most` rows are taken: off the constraints contacts that hold the same
look independent. Where parts without mass make M singular, α GᵀG is added to M and -α Gᵀγ to f, which changes neither
a nor λ.
Source: Golub and Van Loan 1996, ch. 5.4 and 5.5. Cost: nv³/6 + nv² k + nv k r.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.control_flow import inline
from setsu.native.workspace import floats, ints, make

__all__ = ["Factor", "acceleration", "cut_rank", "factor", "factor_space", "multipliers", "nearest", "solve_L"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SMALLEST_PIVOT = 1e-13
_IDLE = 1e-10


class Factor(NamedTuple):
    """The factors of one state; k active rows at most `most`."""

    L: Floats = floats("nv", "nv")  # lower triangle
    diagonal: Floats = floats("nv")  # reciprocals of the diagonal of L
    G: Floats = floats("most", "nv")  # active rows
    B: Floats = floats("most", "nv")  # column j of B P as a row: R above, reflections below
    given: Floats = floats("most")  # S where it is known, zero where the present row gives it
    scale: Floats = floats("most")  # S of the factored rows
    weight: Floats = floats("most")  # of each reflection
    order: Ints = ints("most")  # P
    size: Ints = ints(2)  # rows, r
    added: Floats = floats(1)  # α
    Z: Floats = floats("most", "most")  # Z, column by column: Z[j - r, i]
    gram: Floats = floats("most", "most")  # Cholesky factor of 1 + ZᵀZ
    t: Floats = floats("longer")  # scratch
    u: Floats = floats("longer")


def factor_space(nv: int, most: int) -> Factor:
    """Return zeroed work space for nv velocities and up to `most` rows."""
    return make(Factor, {"nv": nv, "most": most, "longer": max(nv, most)})


@inline
def _cholesky(M, L, diagonal):
    n = len(diagonal)
    for i in range(n):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > _SMALLEST_PIVOT * M[i, i]:
                    return False
                L[i, i] = math.sqrt(total)
                diagonal[i] = 1.0 / L[i, i]
            else:
                L[i, j] = total * diagonal[j]
    return True


@inline
def solve_L(F: Factor, x: Floats) -> None:
    """Replace x (nv,) by L⁻¹ x."""
    for i in range(len(F.diagonal)):
        total = x[i]
        for k in range(i):
            total -= F.L[i, k] * x[k]
        x[i] = total * F.diagonal[i]


@inline
def _solve_Lt(F, x):
    """Replace x by L⁻ᵀ x."""
    n = len(F.diagonal)
    for i in range(n - 1, -1, -1):
        x[i] *= F.diagonal[i]
        for k in range(i):
            x[k] -= F.L[i, k] * x[i]


@inline
def _reflect(B, weight, i, x):
    """Apply reflection i to x (nv,)."""
    nv = B.shape[1]
    total = x[i]
    for d in range(i + 1, nv):
        total += B[i, d] * x[d]
    total *= weight[i]
    x[i] -= total
    for d in range(i + 1, nv):
        x[d] -= total * B[i, d]


@inline
def _orthogonalise(F, k, most, cut):
    """Householder reflections with the largest remaining column first; the rank."""
    B, nv = F.B, F.B.shape[1]
    for i in range(min(k, nv)):
        best, longest = i, -1.0
        for j in range(i, k):
            total = 0.0
            for d in range(i, nv):
                total += B[j, d] * B[j, d]
            if total > longest:
                best, longest = j, total
        length = math.sqrt(longest)
        if i >= most or not length > cut:
            return i
        if best != i:
            F.order[i], F.order[best] = F.order[best], F.order[i]
            for d in range(nv):
                B[i, d], B[best, d] = B[best, d], B[i, d]
        # v = x ± |x| e_i, scaled to v_i = 1; 1 - weight v vᵀ turns x into ∓|x| e_i.
        head = B[i, i]
        turned = -length if head > 0.0 else length
        scale = 1.0 / (head - turned)
        F.weight[i] = (turned - head) / turned
        for d in range(i + 1, nv):
            B[i, d] *= scale
        for j in range(i + 1, k):
            _reflect(B, F.weight, i, B[j])
        B[i, i] = turned
    return min(k, nv)


@inline
def _prepare_least_norm(F):
    """Z and the Cholesky factor of 1 + ZᵀZ, where rows are redundant."""
    k, r = F.size[0], F.size[1]
    for j in range(k - r):
        for i in range(r - 1, -1, -1):
            total = F.B[r + j, i]
            for c in range(i + 1, r):
                total -= F.B[c, i] * F.Z[j, c]
            F.Z[j, i] = total / F.B[i, i]
    for a in range(k - r):
        for b in range(a + 1):
            total = 1.0 if a == b else 0.0
            for i in range(r):
                total += F.Z[a, i] * F.Z[b, i]
            for c in range(b):
                total -= F.gram[a, c] * F.gram[b, c]
            F.gram[a, b] = math.sqrt(total) if a == b else total / F.gram[b, b]


@inline
def factor(F: Factor, M: Floats, k: int, most: int, cut: float) -> bool:
    """Factor M (nv, nv; may be overwritten) and the k rows in F.G, scaled by F.given.

    Returns False when a motion they leave free has no mass.
    """
    nv = len(F.diagonal)
    F.added[0] = 0.0
    if not _cholesky(M, F.L, F.diagonal):
        trace, square = 0.0, 0.0
        for d in range(nv):
            trace += M[d, d]
        for i in range(k):
            for d in range(nv):
                square += F.G[i, d] * F.G[i, d]
        alpha = trace / max(square, 1e-300)
        for i in range(k):
            for a in range(nv):
                for b in range(nv):
                    M[a, b] += alpha * F.G[i, a] * F.G[i, b]
        F.added[0] = alpha
        if not _cholesky(M, F.L, F.diagonal):
            return False
    _push_rows(F, k)
    F.size[0] = k
    F.size[1] = _orthogonalise(F, k, most, cut)
    if F.size[1] < k:
        _prepare_least_norm(F)
    return True


@inline
def cut_rank(F: Factor, cut: float) -> bool:
    """Leave out rows whose pivots are below a larger cut than they were factored with; returns whether there are."""
    rank = F.size[1]
    while rank > 0 and not abs(F.B[rank - 1, rank - 1]) > cut:
        rank -= 1
    if rank == F.size[1]:
        return False
    # Above and right of R1, columns still hold R; left below it reflections, which nothing reads any more.
    F.size[1] = rank
    _prepare_least_norm(F)
    return True


@inline
def _push_rows(F, k):
    """B = L⁻¹ Gᵀ S."""
    nv, largest = len(F.diagonal), 0.0
    for i in range(k):
        F.order[i] = i
        F.t[i] = 0.0
        for d in range(nv):
            F.B[i, d] = F.G[i, d]
        solve_L(F, F.B[i])
        for d in range(nv):
            F.t[i] += F.B[i, d] * F.B[i, d]
        F.t[i] = math.sqrt(F.t[i])
        largest = max(largest, F.t[i])
    for i in range(k):
        # Rows that are rounding alone stay small.
        F.scale[i] = F.given[i] if F.given[i] > 0.0 else 1.0 / max(F.t[i], _IDLE * largest, 1e-300)
        for d in range(nv):
            F.B[i, d] *= F.scale[i]


@inline
def _held_part(F, e, u):
    """u = R1⁻ᵀ e_P."""
    for i in range(F.size[1]):
        total = e[F.order[i]] * F.scale[F.order[i]]
        for c in range(i):
            total -= F.B[i, c] * u[c]
        u[i] = total / F.B[i, i]


@inline
def multipliers(F: Factor, y: Floats, gamma: Floats, result: Floats) -> None:
    """Write λ (k,) of a force y = L⁻¹ f (nv,) into result (2)."""
    k, r, nv = F.size[0], F.size[1], len(F.diagonal)
    t, u = F.t, F.u
    for d in range(nv):
        t[d] = y[d]
    for i in range(r):
        _reflect(F.B, F.weight, i, t)
    _held_part(F, gamma, u)
    for i in range(r):
        u[i] = -u[i] - t[i]
    for i in range(r - 1, -1, -1):
        total = u[i]
        for c in range(i + 1, r):
            total -= F.B[c, i] * u[c]
        u[i] = total / F.B[i, i]
    n = k - r
    for a in range(n):
        total = 0.0
        for i in range(r):
            total += F.Z[a, i] * u[i]
        for c in range(a):
            total -= F.gram[a, c] * t[c]
        t[a] = total / F.gram[a, a]
    for a in range(n - 1, -1, -1):
        t[a] /= F.gram[a, a]
        for c in range(a):
            t[c] -= F.gram[a, c] * t[a]
    for i in range(r):
        total = u[i]
        for a in range(n):
            total -= F.Z[a, i] * t[a]
        result[F.order[i]] = total * F.scale[F.order[i]]
    for a in range(n):
        result[F.order[r + a]] = t[a] * F.scale[F.order[r + a]]


@inline
def acceleration(F: Factor, y: Floats, gamma: Floats, result: Floats) -> None:
    """Write a (nv,) of a force y = L⁻¹ f (nv,) into result (1)."""
    r = F.size[1]
    for d in range(len(F.diagonal)):
        result[d] = y[d]
    for i in range(r):
        _reflect(F.B, F.weight, i, result)
    _held_part(F, gamma, F.u)
    for i in range(r):
        result[i] = -F.u[i]
    for i in range(r - 1, -1, -1):
        _reflect(F.B, F.weight, i, result)
    _solve_Lt(F, result)


@inline
def nearest(F: Factor, e: Floats, result: Floats) -> None:
    """Write the x (nv,) nearest to zero with G x = e into result (3)."""
    r = F.size[1]
    _held_part(F, e, F.u)
    for d in range(len(F.diagonal)):
        result[d] = F.u[d] if d < r else 0.0
    for i in range(r - 1, -1, -1):
        _reflect(F.B, F.weight, i, result)
    _solve_Lt(F, result)
