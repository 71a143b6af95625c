"""The shortest vector that satisfies linear equations and inequalities, or the proof that there is none.

    min |y|²,  E y = e,  G y >= h                                                                      (1)
    y = E⁺ e + N z, N the null space of E:  min |z|²,  G N z >= h - G E⁺ e                             (2)
    min |A u - (0, …, 0, 1)|², u >= 0,  A = (G Nᵀ | h)ᵀ;  r = A u - (0, …, 0, 1);  z_k = -r_k / r_last  (3)

The residual r of (3) is zero where no z exists: u then combines the inequalities to 0 >= 1. Non-negative least squares
by an active set: the column that helps most enters, those that turn negative leave.

Source: C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23, algorithms NNLS and LDP.
Cost: some ten least-squares problems of as many columns as inequalities are active.
"""

from __future__ import annotations

import numpy as np

from setsu.constraints.ranks import EXACT
from setsu.constraints.stacked import Floats

__all__ = ["shortest_vector"]

# Residuals below this count as zero, of rows of length one and vectors of size one.
_ROUNDING = 1e-10
_MOST_ROUNDS = 3


def shortest_vector(equations: Floats, right: Floats, inequalities: Floats, least: Floats) -> Floats | None:
    """Return y (n,) of (1), or None where there is none.

    Args:
        equations, right: E (m, n) and e (m,).
        inequalities, least: G (k, n) and h (k,); rows of length about one.
    """
    n = inequalities.shape[1]
    y, null = np.zeros(n), np.eye(n)
    if len(equations):
        U, s, Vt = np.linalg.svd(equations)
        rank = int(np.sum(s > EXACT * s[0])) if s[0] > 0.0 else 0
        y = Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank])
        if np.abs(equations @ y - right).max() > _ROUNDING * max(1.0, float(np.abs(y).max())):
            return None
        null = Vt[rank:].T
    G, h = inequalities @ null, least - inequalities @ y
    if h.max(initial=-np.inf) <= 0.0:
        return y
    A = np.concatenate([G.T, h[None]])
    u = _non_negative_least_squares(A)
    residual = A @ u
    residual[-1] -= 1.0
    if np.linalg.norm(residual) <= _ROUNDING:
        return None
    return y + null @ (residual[:-1] / -residual[-1])


def _non_negative_least_squares(A: Floats) -> Floats:
    """Return u >= 0 (k,) that brings A u nearest to (0, …, 0, 1)."""
    k = A.shape[1]
    u, active = np.zeros(k), np.zeros(k, dtype=bool)
    goal = np.zeros(len(A))
    goal[-1] = 1.0
    size = float(np.abs(A).max(initial=1.0))
    for _ in range(_MOST_ROUNDS * k):
        helps = A.T @ (goal - A @ u)
        helps[active] = 0.0
        best = int(np.argmax(helps))
        if helps[best] <= 1e-13 * size:
            break
        active[best] = True
        while True:
            wish = np.zeros(k)
            wish[active] = np.linalg.lstsq(A[:, active], goal, rcond=None)[0]
            leaving = active & (wish <= 0.0)
            if not leaving.any():
                u = wish
                break
            if leaving[best] and u[best] == 0.0:
                # Rounding chose a column that helps no more.
                active[best] = False
                return u
            share = float(np.min(u[leaving] / (u[leaving] - wish[leaving])))
            u = u + share * (wish - u)
            u[leaving & (u <= 1e-15 * max(1.0, float(u.max())))] = 0.0
            active &= u > 0.0
    return u
