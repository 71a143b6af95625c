"""Contact forces with a polygon in place of each circle of friction: a linear complementarity problem, by pivoting.

A contact at rest pushes with f_n and along m directions d_j with β_j; one that slides along t1 has f_n alone:

    x_n >= 0  ⊥  f_n >= 0                                                                              (1)
    x_t·d_j + λ >= 0  ⊥  β_j >= 0                                                                      (2)
    K f_n - Σ β_j >= 0  ⊥  λ >= 0        λ: speed at which it starts, zero when it sticks              (3)
    together  w = A z + p,  w >= 0, z >= 0, wᵀz = 0                                                     (4)

Lemke's method follows w = A z + p + r t from t = ∞ down to t = 0 by exchanging one variable at a time. Where all
contacts are at rest A is copositive and the way ends in a solution; where contacts slide it may end in a ray: there
may be none.

Source: R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem, 1992, algorithm 4.4.5; (1)-(3) after
D. E. Stewart, J. C. Trinkle, Int. J. Numer. Meth. Eng. 39 (1996), at the level of accelerations.
Cost: a few times n exchanges of n² operations each, n = (m + 2) c, one state at a time: for states that quicker ways
could not solve. Bilateral contacts are one-sided here, to the side that `sign` says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_modes_solve import Booleans, ContactProblem
from setsu.constraints.stacked import Floats

__all__ = ["pivot_contacts"]

_EXCHANGES_PER_ROW = 20
_SMALLEST_PIVOT = 1e-11
_SMALLEST_SPEED = 1e-10


def pivot_contacts(
    problem: ContactProblem, sign: Floats, corners: int, rng: np.random.Generator
) -> tuple[Floats, Booleans] | None:
    """Return forces (c, 3) of c contacts in the first state and which of them start to slide, (c,).

    None where the way ends in a ray.

    Args:
        sign: (c,) -1 for a contact that pulls.
        corners: m of each polygon.
        rng: turns the polygons and chooses r: another way, perhaps to another solution.
    """
    B, b, friction, slides = problem.B[0], problem.b[0], problem.friction, problem.slides[0]
    c = len(friction)
    resting = ~slides
    count = np.where(resting, corners, 0)
    n_beta = int(count.sum())
    size = c + n_beta + int(resting.sum())
    # Forces (3c) of each variable, and the rows of accelerations that answer.
    push, answer = np.zeros((3 * c, size)), np.zeros((size, 3 * c))
    A = np.zeros((size, size))
    beta, at_rest = c, c + n_beta
    for k in range(c):
        push[3 * k, k] = answer[k, 3 * k] = sign[k]
        if slides[k]:
            push[3 * k + 1, k] = -friction[k]
            continue
        angle = rng.uniform(0.0, 2.0 * np.pi) + 2.0 * np.pi * np.arange(corners) / corners
        own = slice(beta, beta + corners)
        for axis, part in ((1, np.cos(angle)), (2, np.sin(angle))):
            push[3 * k + axis, own] = part
            answer[own, 3 * k + axis] = part
        A[own, at_rest] = 1.0
        A[at_rest, own] = -1.0
        A[at_rest, k] = friction[k]
        beta, at_rest = beta + corners, at_rest + 1
    # Sizes of one for forces and accelerations alike: pivots are then comparable.
    stiffness, load = problem.sizes()
    A += answer @ (B.reshape(3 * c, 3 * c) / stiffness) @ push
    z = _lemke(A, answer @ (b.reshape(-1) / load), rng)
    if z is None:
        return None
    starts = np.zeros(c, dtype=bool)
    starts[resting] = z[c + n_beta :] > _SMALLEST_SPEED
    return (push @ z).reshape(c, 3) * (load / stiffness), starts


def _lemke(A: Floats, p: Floats, rng: np.random.Generator) -> Floats | None:
    """Return z (n,) of (4), or None."""
    n = len(p)
    r = rng.uniform(0.5, 1.5, n)
    # Variables 0..n-1 are w, n..2n-1 are z, 2n is t. The table holds  w - A z - r t = p.
    table = np.concatenate([np.eye(n), -A, -r[:, None], p[:, None]], axis=1)
    basis = np.arange(n)
    row = int(np.argmin(p / r))
    if p[row] >= 0.0:
        return np.zeros(n)
    entering = 2 * n
    for _ in range(_EXCHANGES_PER_ROW * n):
        table[row] /= table[row, entering]
        column = table[:, entering].copy()
        column[row] = 0.0
        table -= column[:, None] * table[row]
        leaving, basis[row] = int(basis[row]), entering
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = table[:, -1]
            return z[n : 2 * n]
        entering = leaving + n if leaving < n else leaving - n
        row = _leaving_row(table, basis, entering, 2 * n)
        if row < 0:
            return None
    return None


def _leaving_row(table: Floats, basis: NDArray[np.int64], entering: int, t: int) -> int:
    """Return the row whose variable reaches zero first, of equal ones t or that with the largest pivot; -1 in a ray."""
    column = table[:, entering]
    usable = column > _SMALLEST_PIVOT
    if not usable.any():
        return -1
    ratio = np.where(usable, np.maximum(table[:, -1], 0.0) / np.where(usable, column, 1.0), np.inf)
    tied = np.flatnonzero(ratio <= ratio.min() * (1.0 + 1e-9) + 1e-14)
    ends = tied[basis[tied] == t]
    return int(ends[0] if ends.size else tied[np.argmax(column[tied])])
