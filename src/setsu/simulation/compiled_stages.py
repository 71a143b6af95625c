"""Stages of an explicit method with fixed step, in compiled code: what is the same with and without constraints.

The method is explicit_runge_kutta.py (1)-(3) or semi_implicit.py (1), (2); charts are chart.py (1)-(4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.compiled_elementary import cos_sin
from setsu.native.control_flow import part, run_bound

__all__ = [
    "DIVERGED",
    "Records",
    "Stages",
    "begin_stage",
    "begin_step",
    "end_step",
    "euler_step",
    "keep_slope",
    "keep_state",
    "separate",
    "within_reach",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIVERGED = 1_000_003
_LARGEST = 1e8


class Stages(NamedTuple):
    """A method and the work space of its stages; an empty A means the semi-implicit Euler method."""

    A: Floats  # (stages, stages)
    E: Floats  # (stages, stages)
    b: Floats
    rotations: Ints  # first velocities of spherical joints
    motions: Ints  # first velocities of free joints
    series: Floats  # coefficients of g(s) in chart.py (4)
    q0: Floats  # (nq,) start of the step
    v0: Floats
    phi: Floats  # (nv,)
    point: Floats  # (nq,)
    slopes: Floats  # (stages, 2 nv + 4)
    total: Floats  # (2 nv + 4,)
    scratch: Floats  # (4, 6)
    move: Ints  # handles: q0 ⊕ phi -> point; coordinates of s.q around q0 -> phi
    separate: Ints
    most: Ints  # (1,) largest rank met on the constraints


class Records(NamedTuple):
    """What is kept of every `every`-th step."""

    q: Floats  # (rows, nq)
    v: Floats
    a: Floats
    normal_force: Floats  # (rows, p)
    friction_force: Floats  # (rows, p, 3)
    dry_force: Floats  # (rows, axes with dry friction)
    multiplier: Floats  # (rows, loop rows)
    numbers: Floats  # (rows, 8): energy, violation, four works and the projection's, summed from the start; redundant
    totals: Floats  # (5,) works and projection so far


@part
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


@part
def _commutator(phi, u, result, linear):
    """result = ad(phi) u; with `linear` for rigid motions (linear, angular), else for rotations (angular at 3)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result[3 + i] = phi[3 + j] * u[3 + k] - phi[3 + k] * u[3 + j]
        result[i] = 0.0
        if linear:
            result[i] = phi[3 + j] * u[k] - phi[3 + k] * u[j] + phi[j] * u[3 + k] - phi[k] * u[3 + j]


@part
def _rates(g, phi, v, rate):
    """Rates of the chart's coordinates of a motion that is at phi with velocity v: chart.py (1)-(3)."""
    for d in range(len(v)):
        rate[d] = v[d]
    once, twice, place, moved = g.scratch[0], g.scratch[1], g.scratch[2], g.scratch[3]
    for n in range(len(g.rotations) + len(g.motions)):
        linear = n >= len(g.rotations)
        first = g.motions[n - len(g.rotations)] if linear else g.rotations[n] - 3
        for i in range(6):
            place[i] = phi[first + i] if linear or i >= 3 else 0.0
            moved[i] = v[first + i] if linear or i >= 3 else 0.0
        s = place[3] ** 2 + place[4] ** 2 + place[5] ** 2
        _, slope, c, b = _half_cotangent(g.series, s)
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


@part
def _write_slope(g, s, w, stage, rate):
    nv = len(s.v)
    for d in range(nv):
        g.slopes[stage, d], g.slopes[stage, nv + d] = rate[d], w.a[d]
    for i in range(4):
        g.slopes[stage, 2 * nv + i] = w.powers[i]


@part
def _move_to(g, s):
    """s.q = q0 ⊕ phi."""
    if len(s.q) == len(s.v):
        # No rotations among the coordinates.
        for i in range(len(s.q)):
            s.q[i] = g.q0[i] + g.phi[i]
        return True
    if run_bound(g.move) >= 0:
        return False
    for i in range(len(s.q)):
        s.q[i] = g.point[i]
    return True


@part
def separate(g, s):
    """Coordinates phi of s.q around q0."""
    if len(s.q) == len(s.v):
        for i in range(len(s.q)):
            g.phi[i] = s.q[i] - g.q0[i]
        return True
    return run_bound(g.separate) < 0


@part
def begin_step(g, s, w):
    """Remember the evaluated state in s as the start of a step, and its slope."""
    for i in range(len(s.q)):
        g.q0[i] = s.q[i]
    for d in range(len(s.v)):
        g.v0[d] = s.v[d]
    if len(g.b) > 0:
        _write_slope(g, s, w, 0, s.v)


@part
def euler_step(g, s, w, h):
    """The semi-implicit Euler method; False for bad numbers."""
    nv = len(s.v)
    for d in range(nv):
        s.v[d] += h * w.a[d]
        g.phi[d] = h * s.v[d]
    for i in range(4):
        g.total[2 * nv + i] = h * w.powers[i]
    return _move_to(g, s)


@part
def begin_stage(g, s, i, h):
    """Put the state of stage i into s; False for bad numbers."""
    nv = len(s.v)
    for d in range(nv):
        phi, v = 0.0, 0.0
        for j in range(i):
            if g.A[i, j] != 0.0:
                phi += g.A[i, j] * g.slopes[j, d]
                v += g.A[i, j] * g.slopes[j, nv + d]
            if g.E[i, j] != 0.0:
                phi += h * g.E[i, j] * g.slopes[j, nv + d]
        g.phi[d] = h * phi
        s.v[d] = g.v0[d] + h * v
    return _move_to(g, s)


@part
def keep_slope(g, s, w, i):
    """Keep the slope of stage i, which has been evaluated; g.phi are its coordinates."""
    _rates(g, g.phi, s.v, g.total)
    _write_slope(g, s, w, i, g.total)


@part
def end_step(g, s, h):
    """Put the end of the step into s, works into g.total; False for bad numbers."""
    nv = len(s.v)
    for k in range(2 * nv + 4):
        total = 0.0
        for i in range(len(g.b)):
            total += g.b[i] * g.slopes[i, k]
        g.total[k] = h * total
    for d in range(nv):
        g.phi[d] = g.total[d]
        s.v[d] = g.v0[d] + g.total[nv + d]
    return _move_to(g, s)


@part
def within_reach(s):
    """Whether all numbers of the state are finite and of a size a motion can have."""
    # Comparisons with NaN are false, so that this finds it too.
    for i in range(len(s.q)):
        if not abs(s.q[i]) < _LARGEST:
            return False
    fast = 0
    for d in range(len(s.v)):
        fast += not abs(s.v[d]) < _LARGEST
    return fast == 0


@part
def keep_state(s, w, r, row, energy):
    """Write state, acceleration, energy (J) and the works so far into a row of the records."""
    for i in range(len(s.q)):
        r.q[row, i] = s.q[i]
    for d in range(len(s.v)):
        r.v[row, d], r.a[row, d] = s.v[d], w.a[d]
    r.numbers[row, 0] = energy
    for i in range(5):
        r.numbers[row, 2 + i] = r.totals[i]
