"""Small definite systems inside laws, on numbers or, while a law is being traced, on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from setsu.symbolic.tracing import holds_symbols

__all__ = ["factor_definite", "slightly_damped", "solve_definite", "solve_factored"]


def factor_definite(A: Any) -> tuple[Any, Any]:
    """Return L (n, n), its diagonal 1, and D (n,) with A = L diag(D) Lᵀ for a symmetric positive definite A (n, n)."""
    n = len(A)
    L = np.eye(n).astype(object) if holds_symbols(A) else np.eye(n)
    D = np.empty(n, dtype=L.dtype)
    for j in range(n):
        scaled = L[j, :j] * D[:j]
        D[j] = A[j, j] - scaled @ L[j, :j] if j else A[j, j]
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - scaled @ L[i, :j] if j else A[i, j]) / D[j]
    return L, D


def solve_factored(L: Any, D: Any, b: Any) -> Any:
    """Return x with L diag(D) Lᵀ x = b for b (n,) or (n, k)."""
    x = np.array(b, dtype=object if L.dtype == object or holds_symbols(b) else np.float64)
    n = len(D)
    for i in range(1, n):
        x[i] = x[i] - L[i, :i] @ x[:i]
    for i in range(n):
        x[i] = x[i] / D[i]
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - L[i + 1 :, i] @ x[i + 1 :]
    return x


def slightly_damped(A: Any) -> Any:
    """Return A + 1e-12 trace(A): a symmetric matrix whose dead directions (a planar arm's third one) do no harm."""
    total = A[0, 0]
    for k in range(1, len(A)):
        total = total + A[k, k]
    return A + np.eye(len(A)) * (1e-12 * total)


def solve_definite(A: Any, b: Any) -> Any:
    """Return x with A x = b for a symmetric positive definite A (n, n) and b (n,) or (n, k)."""
    if not holds_symbols(A) and not holds_symbols(b):
        return np.linalg.solve(A, b)
    return solve_factored(*factor_definite(A), b)
