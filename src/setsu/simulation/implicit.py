"""Radau IIA: implicit Runge-Kutta of order 5, three stages, for stiff springs, dampers and controllers; compiled.

| symbol | meaning |
|---|---|
| z_i | increment of (φ, v) at stage i against the start of the step |
| f | (rate of the chart, acceleration), behind the projection onto the constraints |
| J | ∂f/∂(φ, v), by differences |

    z_i = h Σ_j A_ij f(t + c_j h, y_0 + z_j)                                 (1)
    (1 - h A ⊗ J) Δz = h (A ⊗ 1) F(z) - z                                    (2)  simplified Newton
    y' = y_0 + z_3                                                           (3)  the last stage is the end

J decides how fast (2) converges, not what it converges to: it is kept from step to step, and made anew where (2) takes
more than six rounds. Evaluations are asked for one by one, as the stages of explicit methods are (`wanted_state`,
`take_slope`). A-stable and L-stable: no limit on h from damping.
Source: Hairer and Wanner 1996, Solving Ordinary Differential Equations II, ch. IV.8. Cost: three evaluations a round,
2 nv for J, 72 nv³ for the factors of (2) when h or J changes. Refuses: steps whose equations have no solution even when
halved twenty times.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.control_flow import inline
from setsu.simulation.stages import chart_rates, move_rows

__all__ = ["ENDED", "FAILS", "GOES_ON", "Implicit", "begin_implicit", "make_implicit", "take_slope", "wanted_state"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What a slope leads to: another evaluation, the end of the step, no solution with this length.
GOES_ON, ENDED, FAILS = 0, 1, 2
_COLUMN, _NEWTON = 0, 1
_ROUNDS, _SLOW = 25, 6
_DIFFERENCE = 1e-7
_FARTHEST = 1e6


class Implicit(NamedTuple):
    """The method and its work space; all empty for explicit methods."""

    A: Floats  # (3, 3)
    c: Floats  # (3,)
    z: Floats  # (3, 2 nv)
    F: Floats  # (3, 2 nv)
    powers: Floats  # (3, 4)
    J: Floats  # (2 nv, 2 nv)
    matrix: Floats  # (6 nv, 6 nv) factors of (2)
    pivot: Ints  # (6 nv,)
    rhs: Floats  # (6 nv,)
    slope: Floats  # (2 nv,)
    what: Ints  # (1,) whether the state evaluated is a column of J or a stage
    place: Ints  # (1,) its number
    rounds: Ints  # (1,)
    size: Floats  # (1,) of the last correction
    h: Floats  # (1,) s, length of the step that the factors are for
    fresh: Ints  # (1,) 1: J is of the present step
    known: Ints  # (1,) 1: there is a J


def make_implicit(nv: int) -> Implicit:
    """Return the method for nv velocities; 0: none."""
    r = math.sqrt(6.0)
    A = np.array(
        [
            [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
            [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
            [(16 - r) / 36, (16 + r) / 36, 1 / 9],
        ]
    )
    c = np.array([(4 - r) / 10, (4 + r) / 10, 1.0])

    def number() -> Ints:
        return np.zeros(1, dtype=np.int64)

    n = 2 * nv
    return Implicit(
        A if nv else np.zeros((0, 0)), c if nv else np.zeros(0), np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, 4)),
        np.zeros((n, n)), np.zeros((3 * n, 3 * n)), np.zeros(3 * n, dtype=np.int64), np.zeros(3 * n), np.zeros(n),
        number(), number(), number(), np.zeros(1), np.zeros(1), number(), number(),
    )  # fmt: skip


@inline
def begin_implicit(b, g, y, h, again):
    """Begin the equations of a step of length h; again: the same step as before, shorter."""
    nv = y.v.shape[1]
    for d in range(nv):
        b.slope[d], b.slope[nv + d] = g.v0[0, d], g.slopes[0, 0, nv + d]
    for i in range(3):
        for k in range(2 * nv):
            b.z[i, k] = b.c[i] * h * b.slope[k]
    b.place[0] = b.rounds[0] = 0
    b.size[0] = math.inf
    if not again:
        b.fresh[0] = 0
    b.what[0] = _NEWTON
    if b.known[0] == 0:
        b.what[0] = _COLUMN
    elif b.h[0] != h:
        b.known[0] = 1 if _factor(b, h) else 0
        b.what[0] = _NEWTON if b.known[0] else _COLUMN


@inline
def wanted_state(b, g, y, h):
    """Put the state whose slope is wanted next into the rows, before its projection; False for bad numbers."""
    nv, k = y.v.shape[1], b.place[0]
    if b.what[0] == _COLUMN:
        for d in range(nv):
            g.phi[0, d] = _DIFFERENCE if d == k else 0.0
            y.v[0, d] = g.v0[0, d] + (_DIFFERENCE if nv + d == k else 0.0)
        y.t[0] = y.start[0]
    else:
        for d in range(nv):
            g.phi[0, d] = b.z[k, d]
            y.v[0, d] = g.v0[0, d] + b.z[k, nv + d]
            if not (abs(b.z[k, d]) < _FARTHEST and abs(b.z[k, nv + d]) < 1e8):
                return False
        y.t[0] = y.start[0] + b.c[k] * h
    return move_rows(g, y)


@inline
def take_slope(method, b, g, y, h):
    """Take the slope of the state just evaluated; GOES_ON, ENDED with the end of the step in the rows, or FAILS."""
    nv, k = y.v.shape[1], b.place[0]
    target = b.rhs if b.what[0] == _COLUMN else b.F[k]
    chart_rates(method, g, g.phi[0], y.v[0], target[:nv])
    for d in range(nv):
        target[nv + d] = y.a[0, d]
    b.place[0] = k + 1
    if b.what[0] == _COLUMN:
        for i in range(2 * nv):
            b.J[i, k] = (target[i] - b.slope[i]) / _DIFFERENCE
        if k + 1 == 2 * nv:
            b.fresh[0] = b.known[0] = 1
            if not _factor(b, h):
                b.known[0] = 0
                return FAILS
            b.what[0], b.place[0] = _NEWTON, 0
        return GOES_ON
    for i in range(4):
        b.powers[k, i] = y.powers[0, i]
    if k < 2:
        return GOES_ON
    b.place[0] = 0
    return _correct(b, g, y, h)


@inline
def _correct(b, g, y, h):
    """One round of (2); afterwards as take_slope."""
    n, nv = b.z.shape[1], y.v.shape[1]
    for i in range(3):
        for k in range(n):
            b.rhs[i * n + k] = h * (b.A[i, 0] * b.F[0, k] + b.A[i, 1] * b.F[1, k] + b.A[i, 2] * b.F[2, k]) - b.z[i, k]
    _solve(b)
    size = 0.0
    for i in range(3):
        for k in range(n):
            b.z[i, k] += b.rhs[i * n + k]
            part_ = abs(b.rhs[i * n + k]) / (1.0 + abs(b.z[i, k]))
            # Comparisons with NaN are false.
            size = part_ if not part_ <= size else size
    last, b.size[0] = b.size[0], size
    b.rounds[0] += 1
    if size <= 1e-14 or (size <= 1e-9 and size >= 0.5 * last):
        if b.rounds[0] > _SLOW and b.fresh[0] == 0:
            b.known[0] = 0
        for d in range(nv):
            g.phi[0, d] = b.z[2, d]
            y.v[0, d] = g.v0[0, d] + b.z[2, nv + d]
        for i in range(4):
            g.total[0, 2 * nv + i] = h * (
                b.A[2, 0] * b.powers[0, i] + b.A[2, 1] * b.powers[1, i] + b.A[2, 2] * b.powers[2, i]
            )
        return ENDED if move_rows(g, y) else FAILS
    if size < 10.0 * last and b.rounds[0] < _ROUNDS:
        return GOES_ON
    if b.fresh[0] == 1:
        return FAILS
    # The Jacobian of an earlier step does not do any more.
    b.known[0] = 0
    begin_implicit(b, g, y, h, False)
    return GOES_ON


@inline
def _factor(b, h):
    """LU factors with partial pivoting of 1 - h A ⊗ J; False when it is singular."""
    n, m = b.z.shape[1], b.matrix
    for i in range(3):
        for j in range(3):
            for k in range(n):
                for e in range(n):
                    m[i * n + k, j * n + e] = (1.0 if i == j and k == e else 0.0) - h * b.A[i, j] * b.J[k, e]
    b.h[0] = h
    size = 3 * n
    for k in range(size):
        best, place = 0.0, k
        for i in range(k, size):
            if abs(m[i, k]) > best:
                best, place = abs(m[i, k]), i
        if not 0.0 < best < math.inf:
            return False
        b.pivot[k] = place
        if place != k:
            for e in range(size):
                m[k, e], m[place, e] = m[place, e], m[k, e]
        scale = 1.0 / m[k, k]
        for i in range(k + 1, size):
            if m[i, k] != 0.0:
                factor = m[i, k] * scale
                m[i, k] = factor
                for e in range(k + 1, size):
                    m[i, e] -= factor * m[k, e]
    return True


@inline
def _solve(b):
    """Solve with the factors; b.rhs becomes the solution."""
    m, x, size = b.matrix, b.rhs, len(b.rhs)
    for k in range(size):
        place = b.pivot[k]
        if place != k:
            x[k], x[place] = x[place], x[k]
        for i in range(k + 1, size):
            x[i] -= m[i, k] * x[k]
    for k in range(size - 1, -1, -1):
        for e in range(k + 1, size):
            x[k] -= m[k, e] * x[e]
        x[k] /= m[k, k]
