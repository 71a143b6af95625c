"""Dry friction of joints at rest: forces within their limits that keep as many joints at rest as can be.

| symbol | meaning | unit |
|---|---|---|
| f, c | friction along the axes at rest, and its limits | N or N m |
| A, b | accelerations of the axes under their own friction, w = A f + b; loops, stops and contacts hold | |

    |f_i| <= c_i;   |f_i| < c_i: w_i = 0;   f_i = c_i: w_i <= 0;   f_i = -c_i: w_i >= 0                          (1)

(1) are the conditions of min ½ fᵀA f + bᵀf within the box, which is strictly convex: one solution, however many joints.
All axes on the wrong side change sides at once; where that does not lead on, only the last of them does, which ends.

Source: J. J. Júdice, F. M. Pires, Computers & Operations Research 21 (1994), block pivoting; K. G. Murty 1974.
Cost: some Cholesky factors of A.
"""

from __future__ import annotations

import numpy as np

from setsu.constraints.stacked import Floats

__all__ = ["friction_at_rest"]

_ROUNDING = 1e-11
_RIGID = 1e-12
_TOGETHER = 1e-11  # of a pivot or eigenvalue: below it, axes can only move together
_PATIENCE = 10


def friction_at_rest(
    A: Floats,
    b: Floats,
    limit: Floats,
    size: Floats | None = None,
    noise: Floats | float = 0.0,
    *,
    fewest_inside: bool = False,
) -> Floats:
    """Return f (n,) of (1) for A (n, n), b (n,) and limits (n,).

    size: (n,), diagonal of A if nothing were held: against it, compliance that loops leave is rounding. Friction does
        not change how such an axis moves (a rocker in its dead centre); it acts against b all the same, where that is
        more than `noise` (n,).

    fewest_inside: where loops let axes move together only, so that many forces do the same, give as many of them as can
        be their limit: those inside it are then determined by the motion.

    >>> float(friction_at_rest(np.eye(1), np.array([1.5]), np.array([2.0]))[0])
    -1.5
    """
    force = np.zeros(len(b))
    diagonal = np.diagonal(A)
    mobile = diagonal > _RIGID * (diagonal.max(initial=0.0) if size is None else size)
    force[~mobile] = (-np.sign(np.where(np.abs(b) > noise, b, 0.0)) * limit)[~mobile]
    moves = np.flatnonzero(mobile)
    b = b + A[:, ~mobile] @ force[~mobile]
    if not moves.size:
        return force
    # Each axis in a unit in which its own compliance is one.
    unit = 1.0 / np.sqrt(diagonal[moves])
    M, r, c = A[np.ix_(moves, moves)] * np.outer(unit, unit), b[moves] * unit, limit[moves] / unit
    room = _ROUNDING * max(float(np.abs(r).max()), float(c.max()), 1e-300)
    side, fewest, patience = np.zeros(len(r)), len(r) + 1, _PATIENCE
    x = np.zeros(len(r))
    for _ in range(20 * len(r) + 200):
        inside = np.flatnonzero(side == 0.0)
        x = side * c
        x[inside] = -_solved(M[np.ix_(inside, inside)], r[inside] + M[inside] @ x)
        w = M @ x + r
        new = np.where(side == 0.0, np.where(x > c + room, 1.0, np.where(x < -c - room, -1.0, 0.0)), side)
        new = np.where((side * w > room) & (side != 0.0), 0.0, new)
        wrong = np.flatnonzero(new != side)
        if not wrong.size:
            break
        if len(wrong) < fewest:
            fewest, patience = len(wrong), _PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        side[wrong] = new[wrong]
    if fewest_inside:
        _push_to_limits(M, c, x, side)
    # Exactly at the limit where it does not hold: callers tell by that.
    force[moves] = np.where(side != 0.0, side * limit[moves], np.clip(x * unit, -limit[moves], limit[moves]))
    return force


def _push_to_limits(M: Floats, c: Floats, x: Floats, side: Floats) -> None:
    """Change forces inside their limits c by what moves nothing, in place, until one limit after the other is met."""
    while True:
        inside = np.flatnonzero(side == 0.0)
        if len(inside) < 2:
            return
        values, vectors = np.linalg.eigh(M[np.ix_(inside, inside)])
        if values[0] > _TOGETHER * values[-1]:
            return
        null = vectors[:, 0] * (1.0 if vectors[:, 0].sum() >= 0.0 else -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            way = np.where(np.abs(null) > 1e-12, (np.sign(null) * c[inside] - x[inside]) / null, np.inf)
        first = int(np.argmin(way))
        x[inside] += way[first] * null
        side[inside[first]] = 1.0 if null[first] > 0.0 else -1.0


def _solved(M: Floats, r: Floats) -> Floats:
    """M⁻¹ r of a symmetric M with ones on its diagonal; where axes can only move together, the least one.

    Rounding may leave a singular M with a Cholesky factor: its pivots say so.
    """
    if not len(r):
        return r
    try:
        if (np.diagonal(np.linalg.cholesky(M)) ** 2).min() > _TOGETHER:
            return np.asarray(np.linalg.solve(M, r), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(M, r, rcond=_TOGETHER)[0], dtype=np.float64)
