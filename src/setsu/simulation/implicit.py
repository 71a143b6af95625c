"""Radau IIA: implicit Runge-Kutta of order 5, three stages, for stiff springs, dampers and controllers; compiled.

| symbol | meaning |
|---|---|
| z_i | increment of (φ, v) at stage i against the start of the step |
| f | (rate of the chart, acceleration), behind the projection onto the constraints |
| J | ∂f/∂(φ, v), by differences |
| T, γ, α ± iβ | eigenvectors and eigenvalues of A⁻¹ |

    z_i = h Σ_j A_ij f(t + c_j h, y_0 + z_j)                                 (1)
    (1 - h A ⊗ J) Δz = r = h (A ⊗ 1) F(z) - z                                (2)  simplified Newton
    (γ/h - J) w_1 = γ/h u_1                                                  (3)  with Δz = (T ⊗ 1) w, u = (T⁻¹ ⊗ 1) r
    ((α + iβ)/h - J) (w_2 + i w_3) = (α + iβ)/h (u_2 + i u_3)                (4)  this is (2)
    y' = y_0 + z_3                                                           (5)  the last stage is the end

Rounds begin with the velocities of the polynomial through the stages of the step before, and end when what they leave
along the motion that the constraints allow is rounding, by the rate at which corrections shrink. J decides how fast (2)
converges, not what it converges to: it is kept from step to step, and made anew when the rounds it costs too many have
cost as much as making it. Where it leads nowhere, as beside a change point, where differences say nothing, J = 0 is
tried. Evaluations are asked for one by one,
as the stages of explicit methods are (`wanted_state`, `take_slope`). A-stable and L-stable: no limit on h from damping.
Source: Hairer and Wanner 1996, Solving Ordinary Differential Equations II, ch. IV.8. Cost: three evaluations and
20 nv² products a round, 2 nv evaluations for J, 13 nv³ products for the factors of (3), (4) when h or J changes.
Refuses: steps whose equations have no solution even when halved twenty times.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.control_flow import inline
from setsu.native.workspace import floats, ints, make
from setsu.simulation.compiled_projection import along_motion, hold_fading_rows
from setsu.simulation.stages import chart_rates, move_rows

__all__ = [
    "ENDED",
    "FAILS",
    "GOES_ON",
    "Implicit",
    "begin_implicit",
    "forget_steps",
    "make_implicit",
    "take_slope",
    "wanted_state",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What a slope leads to: another evaluation, the end of the step, no solution with this length.
GOES_ON, ENDED, FAILS = 0, 1, 2
_COLUMN, _NEWTON = 0, 1
# What J is: none, of an earlier step, of the present step.
_NONE, _OLD, _FRESH = 0, 1, 2
_ROUNDS = 25
_DIFFERENCE = 1e-7
_FARTHEST = 1e6
_LEFT = 1e-15  # what a step may leave of its equations
_ROUNDED = 1e-9  # corrections below which those that shrink no more are rounding

_GAMMA, _ALPHA, _BETA = 3.6378342527444957, 2.6810828736277522, 3.0504301992474106
_T = (
    (0.09123239487089294, -0.14125529502095421, -0.030029194105147424),
    (0.24171793270710702, 0.20412935229379993, 0.38294211275726194),
    (0.9660481826150929, 1.0, 0.0),
)
_T_INVERSE = (
    (4.3255798900631553, 0.33919925181580987, 0.54177053993587487),
    (-4.1787185915519047, -0.32768282076106239, 0.47662355450055045),
    (-0.50287263494578688, 2.5719269498556054, -0.59603920482822492),
)


class Implicit(NamedTuple):
    """The method and its work space; all empty for explicit methods."""

    A: Floats
    T: Floats
    T_inverse: Floats
    c: Floats
    z: Floats = floats(3, "2 nv")
    F: Floats = floats(3, "2 nv")
    powers: Floats = floats(3, 4)
    J: Floats = floats("2 nv", "2 nv")
    real: Floats = floats("2 nv", "2 nv")  # factors of (3)
    re: Floats = floats("2 nv", "2 nv")  # factors of (4)
    im: Floats = floats("2 nv", "2 nv")
    pivot: Ints = ints(2, "2 nv")  # of both
    rhs: Floats = floats(3, "2 nv")
    slope: Floats = floats("2 nv")
    what: Ints = ints(1)  # whether the state evaluated is a column of J or a stage
    place: Ints = ints(1)  # its number
    rounds: Ints = ints(1)
    size: Floats = floats(1)  # of the last correction
    rate: Floats = floats(1)  # at which corrections of this step shrink
    h: Floats = floats(1)  # s, length of the step that the factors are for
    solved: Floats = floats(1)  # s, length of the step that z solves; 0: of none
    kind: Ints = ints(1)  # what J is
    without: Ints = ints(1)  # 1: rounds go without it
    fewest: Ints = ints(1)  # rounds of a step with this J, and evaluations beyond these
    wasted: Ints = ints(1)


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
    return make(Implicit, {"nv": nv}, A=A, T=np.array(_T), T_inverse=np.array(_T_INVERSE), c=c if nv else np.zeros(0))


def forget_steps(b: Implicit) -> None:
    """Let the next step begin without what earlier ones have left: the motion does not go on smoothly."""
    b.kind[0], b.solved[0] = _NONE, 0.0


@inline
def begin_implicit(b, g, y, h, again):
    """Begin the equations of a step of length h; again: the same step as before, shorter."""
    nv = y.v.shape[1]
    for d in range(nv):
        b.slope[d], b.slope[nv + d] = g.v0[0, d], g.slopes[0, 0, nv + d]
    if b.kind[0] == _FRESH and not again:
        b.kind[0] = _OLD
    _predict(b, g, h, 0.0 if again else 1.0)
    _begin_rounds(b, h, 0)


@inline
def _begin_rounds(b, h, without):
    """Begin with the first round, with or without J, or with the columns of J that it takes."""
    b.place[0] = b.rounds[0] = 0
    b.size[0], b.rate[0] = math.inf, 0.0
    if (b.h[0] != h or b.without[0] != without) and (without or b.kind[0] != _NONE) and not _factor(b, h, without):
        b.kind[0] = _NONE
    b.what[0] = _COLUMN if b.kind[0] == _NONE and not without else _NEWTON


@inline
def _predict(b, g, h, begins):
    """First z: velocities by the polynomial of the step solved last, in whose parts this one begins; else by slope."""
    nv = len(b.slope) // 2
    part = h / b.solved[0] if b.solved[0] > 0.0 else 0.0
    b.solved[0] = 0.0
    for i in range(3):
        # Lagrange's polynomials of the nodes c; that of node 0 has the value 0.
        x = begins + part * b.c[i]
        for k in range(3):
            weight = x / b.c[k]
            for j in range(3):
                if j != k:
                    weight *= (x - b.c[j]) / (b.c[k] - b.c[j])
            b.F[i, k] = weight
    for d in range(nv):
        z_0, z_1, z_2 = b.z[0, nv + d], b.z[1, nv + d], b.z[2, nv + d]
        for i in range(3):
            if part > 0.0:
                b.z[i, nv + d] = b.F[i, 0] * z_0 + b.F[i, 1] * z_1 + b.F[i, 2] * z_2 - begins * z_2
            else:
                b.z[i, nv + d] = b.c[i] * h * b.slope[nv + d]
        for i in range(3):
            b.z[i, d] = 0.0
            for j in range(3):
                b.z[i, d] += h * b.A[i, j] * (g.v0[0, d] + b.z[j, nv + d])


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
def take_slope(method, b, g, y, h, held, s, kernels, x, F, w, c, u):
    """Take the slope of the state just evaluated; GOES_ON, ENDED with the end of the step in the rows, or FAILS.

    held: whether states are projected onto the constraints, whose factors are those of the last evaluation.
    """
    nv, k = y.v.shape[1], b.place[0]
    target = b.rhs[0] if b.what[0] == _COLUMN else b.F[k]
    chart_rates(method, g, g.phi[0], y.v[0], target[:nv])
    for d in range(nv):
        target[nv + d] = y.a[0, d]
    b.place[0] = k + 1
    if b.what[0] == _COLUMN:
        for i in range(2 * nv):
            b.J[i, k] = (target[i] - b.slope[i]) / _DIFFERENCE
        if k + 1 == 2 * nv:
            b.kind[0], b.fewest[0], b.wasted[0], b.h[0] = _FRESH, _ROUNDS, 0, 0.0
            _begin_rounds(b, h, 0)
            if b.kind[0] == _NONE:
                _begin_rounds(b, h, 1)
        return GOES_ON
    for i in range(4):
        b.powers[k, i] = y.powers[0, i]
    if k < 2:
        return GOES_ON
    b.place[0] = 0
    return _correct(b, g, y, h, held, s, kernels, x, F, w, c, u)


@inline
def _correct(b, g, y, h, held, s, kernels, x, F, w, c, u):
    """One round of (2); afterwards as take_slope."""
    nv = y.v.shape[1]
    last = b.size[0]
    _take_correction(b, h)
    if held == 1:
        hold_fading_rows(kernels, F, w)
        for i in range(3):
            along_motion(s, x, F, w, c, u, b.rhs[i, :nv])
            along_motion(s, x, F, w, c, u, b.rhs[i, nv:])
    size = 0.0
    for i in range(3):
        for k in range(2 * nv):
            part_ = abs(b.rhs[i, k]) / (1.0 + abs(b.z[i, k]))
            # Comparisons with NaN are false.
            size = part_ if not part_ <= size else size
    b.size[0] = size
    b.rounds[0] += 1
    rate = size / last
    b.rate[0] = max(b.rate[0], rate)
    left = size * b.rate[0] / (1.0 - b.rate[0]) if b.rounds[0] > 1 and b.rate[0] < 0.5 else size
    if left <= _LEFT or (size <= _ROUNDED and size >= 0.9 * last):
        b.fewest[0] = min(b.fewest[0], b.rounds[0])
        b.wasted[0] += 3 * (b.rounds[0] - b.fewest[0])
        if b.wasted[0] > 2 * nv and b.kind[0] == _OLD:
            b.kind[0] = _NONE
        for d in range(nv):
            g.phi[0, d] = b.z[2, d]
            y.v[0, d] = g.v0[0, d] + b.z[2, nv + d]
        for i in range(4):
            g.total[0, 2 * nv + i] = h * (
                b.A[2, 0] * b.powers[0, i] + b.A[2, 1] * b.powers[1, i] + b.A[2, 2] * b.powers[2, i]
            )
        b.solved[0] = h
        return ENDED if move_rows(g, y) else FAILS
    if _may_converge(size, rate, b.rounds[0]):
        return GOES_ON
    if b.without[0] == 1:
        return FAILS
    _predict(b, g, h, 0.0)
    # The J of an earlier step does not do any more; beside a change point a new one would say nothing.
    renewed = b.kind[0] == _OLD and w.passing[0] == 0
    if renewed:
        b.kind[0] = _NONE
    _begin_rounds(b, h, 0 if renewed else 1)
    return GOES_ON


@inline
def _may_converge(size, rate, rounds):
    """Whether corrections that go on shrinking at a rate are rounding in time."""
    if rounds < 4:
        return size < math.inf and rate < 10.0
    for _ in range(rounds, _ROUNDS):
        size *= rate
    return size <= _ROUNDED and rounds < _ROUNDS


@inline
def _take_correction(b, h):
    """Add the solution of (2) to z, and leave it in b.rhs."""
    n, x = len(b.slope), b.rhs
    for k in range(n):
        r_0 = h * (b.A[0, 0] * b.F[0, k] + b.A[0, 1] * b.F[1, k] + b.A[0, 2] * b.F[2, k]) - b.z[0, k]
        r_1 = h * (b.A[1, 0] * b.F[0, k] + b.A[1, 1] * b.F[1, k] + b.A[1, 2] * b.F[2, k]) - b.z[1, k]
        r_2 = h * (b.A[2, 0] * b.F[0, k] + b.A[2, 1] * b.F[1, k] + b.A[2, 2] * b.F[2, k]) - b.z[2, k]
        u_1 = b.T_inverse[1, 0] * r_0 + b.T_inverse[1, 1] * r_1 + b.T_inverse[1, 2] * r_2
        u_2 = b.T_inverse[2, 0] * r_0 + b.T_inverse[2, 1] * r_1 + b.T_inverse[2, 2] * r_2
        x[0, k] = _GAMMA / h * (b.T_inverse[0, 0] * r_0 + b.T_inverse[0, 1] * r_1 + b.T_inverse[0, 2] * r_2)
        x[1, k] = (_ALPHA * u_1 - _BETA * u_2) / h
        x[2, k] = (_BETA * u_1 + _ALPHA * u_2) / h
    _solve(b)
    for k in range(n):
        w_0, w_1, w_2 = x[0, k], x[1, k], x[2, k]
        for i in range(3):
            x[i, k] = b.T[i, 0] * w_0 + b.T[i, 1] * w_1 + b.T[i, 2] * w_2
            b.z[i, k] += x[i, k]


@inline
def _factor(b, h, without):
    """LU factors with partial pivoting of the matrices of (3) and (4), diagonals inverted; False when one is singular.

    without: J taken as zero.
    """
    n, m, re, im = len(b.slope), b.real, b.re, b.im
    for i in range(n):
        for k in range(n):
            m[i, k] = re[i, k] = 0.0 if without else -b.J[i, k]
            im[i, k] = 0.0
        m[i, i] += _GAMMA / h
        re[i, i] += _ALPHA / h
        im[i, i] += _BETA / h
    b.h[0], b.without[0] = h, without
    for k in range(n):
        best, place, best_complex, place_complex = 0.0, k, 0.0, k
        for i in range(k, n):
            if abs(m[i, k]) > best:
                best, place = abs(m[i, k]), i
            if abs(re[i, k]) + abs(im[i, k]) > best_complex:
                best_complex, place_complex = abs(re[i, k]) + abs(im[i, k]), i
        if not (0.0 < best < math.inf and 0.0 < best_complex < math.inf):
            return False
        b.pivot[0, k], b.pivot[1, k] = place, place_complex
        if place != k:
            for e in range(n):
                m[k, e], m[place, e] = m[place, e], m[k, e]
        if place_complex != k:
            for e in range(n):
                re[k, e], re[place_complex, e] = re[place_complex, e], re[k, e]
                im[k, e], im[place_complex, e] = im[place_complex, e], im[k, e]
        square = re[k, k] * re[k, k] + im[k, k] * im[k, k]
        m[k, k], re[k, k], im[k, k] = 1.0 / m[k, k], re[k, k] / square, -im[k, k] / square
        for i in range(k + 1, n):
            factor = m[i, k] * m[k, k]
            f_re = re[i, k] * re[k, k] - im[i, k] * im[k, k]
            f_im = re[i, k] * im[k, k] + im[i, k] * re[k, k]
            m[i, k], re[i, k], im[i, k] = factor, f_re, f_im
            for e in range(k + 1, n):
                m[i, e] -= factor * m[k, e]
                re[i, e] -= f_re * re[k, e] - f_im * im[k, e]
                im[i, e] -= f_re * im[k, e] + f_im * re[k, e]
    return True


@inline
def _solve(b):
    """Solve (3) and (4) with the factors; b.rhs becomes the solution."""
    n, m, re, im = len(b.slope), b.real, b.re, b.im
    x, x_re, x_im = b.rhs[0], b.rhs[1], b.rhs[2]
    # Factors were exchanged as whole rows, those to the left of the pivot too.
    for k in range(n):
        place, other = b.pivot[0, k], b.pivot[1, k]
        x[k], x[place] = x[place], x[k]
        x_re[k], x_re[other] = x_re[other], x_re[k]
        x_im[k], x_im[other] = x_im[other], x_im[k]
    for k in range(n):
        for e in range(k):
            x[k] -= m[k, e] * x[e]
            x_re[k] -= re[k, e] * x_re[e] - im[k, e] * x_im[e]
            x_im[k] -= re[k, e] * x_im[e] + im[k, e] * x_re[e]
    for k in range(n - 1, -1, -1):
        for e in range(k + 1, n):
            x[k] -= m[k, e] * x[e]
            x_re[k] -= re[k, e] * x_re[e] - im[k, e] * x_im[e]
            x_im[k] -= re[k, e] * x_im[e] + im[k, e] * x_re[e]
        x[k] *= m[k, k]
        s_re, s_im = x_re[k], x_im[k]
        x_re[k] = s_re * re[k, k] - s_im * im[k, k]
        x_im[k] = s_re * im[k, k] + s_im * re[k, k]
