"""Symmetric positive definite systems on symbols: M = L diag(d) Lᵀ without pivots, and substitution."""

from __future__ import annotations

from collections.abc import Sequence

from setsu.symbolic import Scalar

__all__ = ["factors", "solve"]

Rows = list[list[Scalar]]


def factors(M: Sequence[Sequence[Scalar]]) -> tuple[Rows, list[Scalar]]:
    """Return L with ones on its diagonal, and 1/d."""
    n = len(M)
    L: Rows = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = []
    for i in range(n):
        scaled: list[Scalar] = []
        for j in range(i):
            total = M[i][j]
            for k in range(j):
                total = total - scaled[k] * L[j][k]
            scaled.append(total)
        pivot = M[i][i]
        for j in range(i):
            L[i][j] = scaled[j] * inverse[j]
            pivot = pivot - scaled[j] * L[i][j]
        inverse.append(1.0 / pivot)
    return L, inverse


def solve(found: tuple[Rows, list[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """Return x of M x = right, from the factors of M."""
    L, inverse = found
    x = list(right)
    for i in range(len(x)):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    x = [value * inverse[i] for i, value in enumerate(x)]
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x)):
            x[i] = x[i] - L[j][i] * x[j]
    return x
