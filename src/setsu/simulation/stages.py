"""Stages of an explicit method, in compiled code, for one world or many rows of them: positions, slopes, sums.

| symbol | meaning |
|---|---|
| φ, v, w | chart coordinates around the start of the step, velocities, works of the energy ledger |
| A, b, c | coefficients of the method, s stages |
| E | shifts of the stage positions by accelerations (tableaus.py); zero in a plain Runge-Kutta method |

    φ_i = h Σ_j A_ij kφ_j + h² Σ_j E_ij kv_j,   v_i = v_0 + h Σ_j A_ij kv_j                  (1)
    kφ_i = rate(φ_i, v_i),  kv_i = acceleration(t + c_i h, φ_i, v_i),  kw_i = powers          (2)
    (φ, v) = (h Σ b_i kφ_i, v_0 + h Σ b_i kv_i),  w = h Σ b_i kw_i                            (3)

and without stages the semi-implicit Euler method, v' = v + h a, φ = h v'. Charts, with q = q0 ⊕ φ, θ = |φ|:

    numbers (revolute, prismatic, ...):  dφ/dt = v                                            (4)
    rotation:       dφ/dt = ω + ½ ad ω + c(θ) ad² ω,         c = (1 - g)/θ²                   (5)
    rigid motion:   dξ/dt = V + ½ ad V + a(θ) ad² V + b(θ) ad⁴ V                              (6)
    g(s) = h cot h with s = θ², h = θ/2;   b = (s g' - g + 1)/s²,  a = 2 b s - g'             (7)

ad is the commutator: φ × for rotations; (u, φ) (v, ω) → (φ × v + u × ω, φ × ω) for rigid motions. Without the brackets
any method falls to order 2 on rotations. Sources: Munthe-Kaas 1998 (integrators on Lie groups); Bullo and Murray 1995
(6). Cost: s (s + 1) products per velocity and some thirty per rotation. A chart reaches to θ < 2π.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.kernels.tableaus import Tableau
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.native.compiled_elementary import cos_sin
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import LANES, load_from, spread, store_from
from setsu.native.workspace import floats, ints, make
from setsu.simulation.row_lanes import add, copy

__all__ = [
    "Method",
    "Rows",
    "Stages",
    "begin_stage",
    "chart_rates",
    "end_step",
    "first_slope",
    "keep_slope",
    "make_method",
    "make_stages",
    "move_rows",
    "remember_start",
    "separate_rows",
    "within_reach",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# rad, m, or per second: far beyond any mechanism, and within what the kernels take.
_LARGEST = 1e8

# g(s) = Σ (-1)^k B_2k s^k / (2k)!, with the Bernoulli numbers B_2k; terms beyond these are below 1e-17 for s < 1.
_BERNOULLI = (1.0, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_SERIES = tuple((-1) ** k * b / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI))


class Method(NamedTuple):
    """A method: coefficients of its stages, weights, nodes, error weights; no stages: semi-implicit Euler."""

    A: Floats  # (stages, stages)
    E: Floats  # (stages, stages)
    b: Floats  # (stages,)
    c: Floats
    error: Floats  # (2, stages) differences to two methods of lower order, or (0, stages)
    series: Floats  # coefficients of g(s) in (7)


class Rows(NamedTuple):
    """The N states a block of worlds works on, as they stand in a stage or between steps."""

    q: Floats  # (N, nq)
    v: Floats  # (N, nv)
    a: Floats  # (N, nv)
    powers: Floats  # (N, 4) W: actuators, joint friction, dampers of point springs, contact friction
    t: Floats  # (N,) s, of the state
    start: Floats  # (N,) s, of the step
    t0: Floats  # (N,) s; between steps t = t0 + k step
    k: Ints  # (N,)


class Stages(NamedTuple):
    """Work space of the stages of N rows."""

    q0: Floats  # start of the step
    v0: Floats = floats("N", "nv")
    phi: Floats = floats("N", "nv")  # chart coordinates of the stage
    point: Floats = floats("N", "nq")
    slopes: Floats = floats("stages", "N", "2 nv + 4")
    total: Floats = floats("N", "2 nv + 4")
    scratch: Floats = floats(4, 6)
    rotations: Ints = ints(0)  # first velocities of spherical joints
    motions: Ints = ints(0)  # first velocities of free joints
    move: Handle = ints(7)  # q0 ⊕ phi -> point
    separate: Handle = ints(7)  # coordinates of the rows' q around q0 -> phi


def make_method(tableau: Tableau | None) -> Method:
    """Return the tables of a method; None: semi-implicit Euler."""
    series = np.array(_SERIES)
    if tableau is None:
        none = np.zeros((0, 0))
        return Method(none, none, np.zeros(0), np.zeros(0), none, series)
    return Method(tableau.A, tableau.shifts, tableau.b, tableau.c, tableau.error_weights, series)


def make_stages(m: Mechanism, method: Method, rows: Rows) -> tuple[Stages, tuple[object, ...]]:
    """Return the work space of a mechanism for the rows given, and what must be kept alive."""
    pairs = list(zip(m.moving, m.v_slices, strict=True))
    stages = make(
        Stages,
        {"N": len(rows.q), "nq": m.nq, "nv": m.nv, "stages": len(method.b)},
        q0=np.zeros(rows.q.shape),
        rotations=np.array([w.start for b, w in pairs if isinstance(b.joint, Spherical)], dtype=np.int64),
        motions=np.array([w.start for b, w in pairs if isinstance(b.joint, Free)], dtype=np.int64),
    )
    move = native_function(m, "integrate").bind([stages.q0, stages.phi], [stages.point])
    separate = native_function(m, "difference").bind([stages.q0, rows.q], [stages.phi])
    return stages._replace(move=move.handle, separate=separate.handle), (move, separate)


@inline
def _half_cotangent(series, s):
    """g, dg/ds, (1 - g)/s and (s g' - g + 1)/s² without loss near zero."""
    if s < 1.0:
        g, slope, c, b = 0.0, 0.0, 0.0, 0.0
        for k in range(len(series) - 1, -1, -1):
            g = g * s + series[k]
            if k >= 1:
                slope = slope * s + k * series[k]
                c = c * s - series[k]
            if k >= 2:
                b = b * s + (k - 1) * series[k]
        return g, slope, c, b
    h = 0.5 * math.sqrt(s)
    cosine, sine = cos_sin(h)
    cotangent = cosine / sine
    g, slope = (h * cotangent, (cotangent - h * (1.0 + cotangent * cotangent)) / (8.0 * h))
    return g, slope, (1.0 - g) / s, (s * slope - g + 1.0) / (s * s)


@inline
def _commutator(phi, u, result, linear):
    """result = ad(phi) u; with `linear` for rigid motions (linear, angular), else for rotations (angular at 3)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[3 + i] = phi[3 + j] * u[3 + k] - phi[3 + k] * u[3 + j]
        result[i] = 0.0
        if linear:
            result[i] = phi[3 + j] * u[k] - phi[3 + k] * u[j] + phi[j] * u[3 + k] - phi[k] * u[3 + j]


@inline
def chart_rates(method, g, phi, v, rate):
    """Rates of the chart's coordinates of a motion that is at phi (nv,) with velocity v (nv,): (4)-(7)."""
    copy(v, rate, 0)
    once, twice, place, moved = g.scratch[0], g.scratch[1], g.scratch[2], g.scratch[3]
    for n in range(len(g.rotations) + len(g.motions)):
        linear = n >= len(g.rotations)
        first = g.motions[n - len(g.rotations)] if linear else g.rotations[n] - 3
        for i in range(6):
            place[i] = phi[first + i] if linear or i >= 3 else 0.0
            moved[i] = v[first + i] if linear or i >= 3 else 0.0
        s = place[3] ** 2 + place[4] ** 2 + place[5] ** 2
        _, slope, c, b = _half_cotangent(method.series, s)
        _commutator(place, moved, once, linear)
        _commutator(place, once, twice, linear)
        factor = 2.0 * b * s - slope if linear else c
        for i in range(0 if linear else 3, 6):
            rate[first + i] += 0.5 * once[i] + factor * twice[i]
        if linear:
            _commutator(place, twice, once, True)
            _commutator(place, once, twice, True)
            for i in range(6):
                rate[first + i] += b * twice[i]


@inline
def move_rows(g, y):
    """q = q0 ⊕ phi; False for bad numbers."""
    if y.q.shape[1] == y.v.shape[1]:
        # No rotations among the coordinates.
        for n in range(len(y.q)):
            add(g.q0[n], g.phi[n], y.q[n])
        return True
    if run_bound(g.move) >= 0:
        return False
    for n in range(len(y.q)):
        copy(g.point[n], y.q[n], 0)
    return True


@inline
def separate_rows(g, y):
    """Coordinates phi of q around q0; False for bad numbers."""
    if y.q.shape[1] == y.v.shape[1]:
        for n in range(len(y.q)):
            for i in range(y.q.shape[1]):
                g.phi[n, i] = y.q[n, i] - g.q0[n, i]
        return True
    return run_bound(g.separate) < 0


@inline
def remember_start(g, y):
    """Remember the states as the start of a step."""
    for n in range(len(y.q)):
        copy(y.q[n], g.q0[n], 0)
        copy(y.v[n], g.v0[n], 0)


@inline
def first_slope(method, g, y):
    """Keep the slopes of the evaluated states at the start of a step."""
    nv = y.v.shape[1]
    if len(method.b) > 0:
        for n in range(len(y.q)):
            slope = g.slopes[0, n]
            copy(y.v[n], slope, 0)
            copy(y.a[n], slope, nv)
            copy(y.powers[n], slope, 2 * nv)


@inline
def begin_stage(method, g, y, i, h):
    """Put the states of stage i into the rows (1); False for bad numbers."""
    nv = y.v.shape[1]
    for n in range(len(y.q)):
        if nv < LANES:
            for d in range(nv):
                phi, v = 0.0, 0.0
                for j in range(i):
                    if method.A[i, j] != 0.0:
                        phi += method.A[i, j] * g.slopes[j, n, d]
                        v += method.A[i, j] * g.slopes[j, n, nv + d]
                    if method.E[i, j] != 0.0:
                        phi += h * method.E[i, j] * g.slopes[j, n, nv + d]
                g.phi[n, d] = h * phi
                y.v[n, d] = g.v0[n, d] + h * v
        else:
            for k in range(0, nv, LANES):
                d = min(k, nv - LANES)
                way, rate = spread(0.0), spread(0.0)
                for j in range(i):
                    slope = g.slopes[j, n]
                    if method.A[i, j] != 0.0:
                        way += spread(method.A[i, j]) * load_from(slope, d)
                        rate += spread(method.A[i, j]) * load_from(slope, nv + d)
                    if method.E[i, j] != 0.0:
                        way += spread(h * method.E[i, j]) * load_from(slope, nv + d)
                store_from(g.phi[n], d, spread(h) * way)
                store_from(y.v[n], d, load_from(g.v0[n], d) + spread(h) * rate)
        y.t[n] = y.start[n] + method.c[i] * h
    return move_rows(g, y)


@inline
def keep_slope(method, g, y, i):
    """Keep the slopes of stage i, which has been evaluated; g.phi are its coordinates (2)."""
    nv = y.v.shape[1]
    for n in range(len(y.q)):
        slope = g.slopes[i, n]
        chart_rates(method, g, g.phi[n], y.v[n], slope)
        copy(y.a[n], slope, nv)
        copy(y.powers[n], slope, 2 * nv)


@inline
def end_step(method, g, y, h):
    """Put the ends of the step into the rows, works into g.total (3); False for bad numbers."""
    nv = y.v.shape[1]
    for n in range(len(y.q)):
        total = g.total[n]
        if len(method.b) == 0:
            for d in range(nv):
                y.v[n, d] += h * y.a[n, d]
                total[d] = h * y.v[n, d]
            for i in range(4):
                total[2 * nv + i] = h * y.powers[n, i]
        else:
            for first in range(0, 2 * nv + 4, LANES):
                k = min(first, 2 * nv)
                sum_ = spread(0.0)
                for i in range(len(method.b)):
                    sum_ += spread(method.b[i]) * load_from(g.slopes[i, n], k)
                store_from(total, k, spread(h) * sum_)
            add(g.v0[n], total[nv : 2 * nv], y.v[n])
        copy(total[:nv], g.phi[n], 0)
    return move_rows(g, y)


@inline
def within_reach(q, v):
    """Whether all numbers of a state are finite and of a size a motion can have."""
    # Comparisons with NaN are false, so that this finds it too.
    for i in range(len(q)):
        if not abs(q[i]) < _LARGEST:
            return False
    fast = 0
    for d in range(len(v)):
        fast += not abs(v[d]) < _LARGEST
    return fast == 0
