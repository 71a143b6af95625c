"""Coordinates around one configuration, so that a step of any integrator adds numbers only.

| symbol | meaning |
|---|---|
| q0 | configuration at the start of a step |
| φ | coordinates of q in the chart around q0, (nv,): q = q0 ⊕ φ (setsu.integrate) |
| ω, V | body rates of a spherical joint (rad/s), of a free joint (linear, angular; m/s, rad/s) |
| ad | the commutator: φ × for rotations; (u, φ) (v, ω) → (φ × v + u × ω, φ × ω) for rigid motions |
| θ | length of the rotation vector φ (rad) |

    numbers (revolute, prismatic, ...):  dφ/dt = v                                            (1)
    rotation:       dφ/dt = ω + ½ ad ω + c(θ) ad² ω,         c = (1 - g)/θ²                   (2)
    rigid motion:   dξ/dt = V + ½ ad V + a(θ) ad² V + b(θ) ad⁴ V                              (3)
    g(s) = h cot h with s = θ², h = θ/2;   b = (s g' - g + 1)/s²,  a = 2 b s - g'             (4)

Without the brackets in (2) and (3) any integrator falls to order 2 on rotations; with them it keeps its own order.
Sources: Munthe-Kaas 1998 (integrators on Lie groups); Bullo and Murray 1995 (3). Cost: a few products per rotation.
A chart reaches to θ < 2π; steps are far shorter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function
from setsu.mechanism import Free, Mechanism, Spherical

__all__ = ["SERIES", "Charts"]

Floats = NDArray[np.float64]

# g(s) = Σ (-1)^k B_2k s^k / (2k)!, with the Bernoulli numbers B_2k; terms beyond these are below 1e-17 for s < 1.
_BERNOULLI = (1.0, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
SERIES = tuple((-1) ** k * b / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI))


class Charts:
    """Charts of one mechanism: points from coordinates, coordinates from points, rates from velocities."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._add = fast_function(mechanism, "integrate")
        self._separate = fast_function(mechanism, "difference")
        pairs = list(zip(mechanism.moving, mechanism.v_slices, strict=True))
        self._rotations = [where for body, where in pairs if isinstance(body.joint, Spherical)]
        self._motions = [where for body, where in pairs if isinstance(body.joint, Free)]
        self.flat = not (self._rotations or self._motions)
        """Whether every coordinate is a plain number, so that velocities are rates."""

    def point(self, start: Floats, phi: Floats) -> Floats:
        """Return the configuration (nq,) with coordinates `phi` (nv,) around `start` (nq,)."""
        return self._add(start, phi)

    def coordinates(self, start: Floats, q: Floats) -> Floats:
        """Return the coordinates (nv,) of q (nq,) around `start` (nq,)."""
        return q - start if self.flat else self._separate(start, q)

    def rate(self, phi: Floats, v: Floats) -> Floats:
        """Return dφ/dt (nv,) of a motion that is at coordinates `phi` (nv,) with velocity v (nv,)."""
        if self.flat:
            return v
        rate = v.copy()  # (1)
        for where in self._rotations:
            rate[where] = _rotation_rate(phi[where], v[where])
        for where in self._motions:
            rate[where] = _motion_rate(phi[where], v[where])
        return rate


def _rotation_rate(phi: Floats, w: Floats) -> Floats:
    s = float(phi @ phi)
    once = _cross(phi, w)
    twice = _cross(phi, once)
    g, _ = _half_cotangent(s)
    # The series of (1 - g)/s has no quotient that loses digits near zero.
    c = -_horner(SERIES[1:], s) if s < 1.0 else (1.0 - g) / s
    return w + 0.5 * once + c * twice  # (2)


def _motion_rate(xi: Floats, V: Floats) -> Floats:
    s = float(xi[3:] @ xi[3:])
    once = _commutator(xi, V)
    twice = _commutator(xi, once)
    fourth = _commutator(xi, _commutator(xi, twice))
    g, slope = _half_cotangent(s)
    if s < 1.0:
        # s g' - g + 1 = Σ (k - 1) g_k s^k, whose terms of order 0 and 1 vanish.
        b = _horner(tuple((k - 1) * term for k, term in enumerate(SERIES))[2:], s)
    else:
        b = (s * slope - g + 1.0) / (s * s)
    return V + 0.5 * once + (2.0 * b * s - slope) * twice + b * fourth  # (3), (4)


def _half_cotangent(s: float) -> tuple[float, float]:
    """g and dg/ds."""
    if s < 1.0:
        return _horner(SERIES, s), _horner(tuple(k * term for k, term in enumerate(SERIES))[1:], s)
    h = 0.5 * math.sqrt(s)
    cotangent = 1.0 / math.tan(h)
    return h * cotangent, (cotangent - h * (1.0 + cotangent * cotangent)) / (8.0 * h)


def _horner(coefficients: tuple[float, ...], s: float) -> float:
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * s + coefficient
    return total


def _commutator(xi: Floats, V: Floats) -> Floats:
    return np.concatenate([_cross(xi[3:], V[:3]) + _cross(xi[:3], V[3:]), _cross(xi[3:], V[3:])])


def _cross(a: Floats, b: Floats) -> Floats:
    # numpy.cross spends ten times as long on its axes as on these products.
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
