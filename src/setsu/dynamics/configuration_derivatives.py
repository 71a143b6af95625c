"""Derivatives of `integrate` and `difference`, and of the rates of coordinates around a configuration.

With q' = q ⊕ φ, tangent vectors δ at q (as `integrate` adds them) and δ' at q':

    δ' = Ad(exp(-φ)) δ + J(φ) dφ                                              (1)
    d = q1 ⊖ q0:  dd = J(d)⁻¹ δ1 - J(-d)⁻¹ δ0                                 (2)
    dφ/dt = J(φ)⁻¹ v                                                          (3)

J is the right Jacobian of the exponential: of rotations for spherical joints, of poses for free ones, 1 for numbers.
Source: Murray, Li and Sastry 1994, ch. 2; Barfoot 2017, ch. 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import native_function, require_mechanism
from setsu.dynamics.configurations import difference
from setsu.dynamics.numbers import finite_array
from setsu.lie_groups import pose_exp, pose_exp_jacobian, rotation_exp, rotation_exp_jacobian
from setsu.mechanism import Mechanism
from setsu.mechanism.joints import Free, Spherical

__all__ = [
    "DifferenceDerivatives",
    "IntegrateDerivatives",
    "chart",
    "chart_rates",
    "difference_derivatives",
    "integrate_derivatives",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class IntegrateDerivatives:
    """Derivatives of `integrate`, (..., nv, nv) each, tangent at the configuration reached.

    dq: by the configuration, dv: by the velocity (s).
    """

    dq: Floats
    dv: Floats


@dataclass(frozen=True)
class DifferenceDerivatives:
    """Derivatives of `difference`, (..., nv, nv) each, by tangent vectors at q0 and at q1."""

    dq0: Floats
    dq1: Floats


def integrate_derivatives(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, dt: ArrayLike) -> IntegrateDerivatives:
    """Return the exact derivatives of `integrate(m, q, v, dt)` in tangent coordinates.

    >>> import setsu
    >>> d = setsu.integrate_derivatives(setsu.sample_mechanisms.planar_arm(2), [0.1, 0.2], [1.0, 2.0], 0.5)
    >>> d.dq.tolist(), d.dv.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.0], [0.0, 0.5]])
    """
    require_mechanism(mechanism, "integrate_derivatives")
    _, velocity = native_function(mechanism, "integrate").arguments.take((q, v))[0]
    time = finite_array(dt, (), "integrate_derivatives: dt")
    finite_array(q, (mechanism.nq,), "integrate_derivatives: q")
    finite_array(v, (mechanism.nv,), "integrate_derivatives: v")
    carried, jacobian = chart(mechanism, velocity * time[..., None])
    return IntegrateDerivatives(carried, jacobian * time[..., None, None])


def difference_derivatives(mechanism: Mechanism, q0: ArrayLike, q1: ArrayLike) -> DifferenceDerivatives:
    """Return the exact derivatives of `difference(m, q0, q1)` in tangent coordinates."""
    d = difference(mechanism, q0, q1)
    ends = [np.asarray(np.linalg.inv(chart(mechanism, step)[1]), dtype=np.float64) for step in (d, -d)]
    return DifferenceDerivatives(-ends[1], ends[0])


def chart(m: Mechanism, phi: Floats) -> tuple[Floats, Floats]:
    """Return Ad(exp(-φ)) and J(φ) (..., nv, nv) of (1) for steps φ (..., nv)."""
    batch = phi.shape[:-1]
    carried = np.broadcast_to(np.eye(m.nv), (*batch, m.nv, m.nv)).copy()
    jacobian = carried.copy()
    for body, where in zip(m.moving, m.v_slices, strict=True):
        if isinstance(body.joint, Spherical):
            carried[..., where, where] = np.swapaxes(rotation_exp(phi[..., where]), -1, -2)
            jacobian[..., where, where] = rotation_exp_jacobian(phi[..., where])
        elif isinstance(body.joint, Free):
            T = pose_exp(phi[..., where])
            back = np.swapaxes(T[..., :3, :3], -1, -2)
            block = np.zeros((*batch, 6, 6))
            block[..., :3, :3] = block[..., 3:, 3:] = back
            # v - p x w of each column of the unit matrix
            block[..., :3, 3:] = -back @ _skew(T[..., :3, 3])
            carried[..., where, where] = block
            jacobian[..., where, where] = pose_exp_jacobian(phi[..., where])
    return carried, jacobian


def chart_rates(m: Mechanism, phi: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Return dφ/dt (..., nv) at coordinates φ and velocities v (..., nv), and its derivatives by both (..., nv, nv).

    Those by φ are complex steps: the rates are quotients of sines and series, analytic in φ.
    """
    _, jacobian = chart(m, phi)
    by_v = np.asarray(np.linalg.inv(jacobian), dtype=np.float64)
    by_phi = np.zeros(by_v.shape)
    for body, where in zip(m.moving, m.v_slices, strict=True):
        if isinstance(body.joint, Spherical | Free):
            n = body.joint.nv
            point = phi[..., None, where] + 1j * _STEP * np.eye(n)
            by_phi[..., where, where] = np.swapaxes(np.imag(_rates(point, v[..., None, where])) / _STEP, -1, -2)
    return (by_v @ v[..., None])[..., 0], by_phi, by_v


_STEP = 1e-30
# h cot h = Σ c_k θ^2k with h = θ/2; terms beyond these are below 1e-17 for θ < 1.
_BERNOULLI = (1.0, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


def _rates(phi: NDArray[np.complex128], v: Floats) -> NDArray:
    """(3) for rotations (..., 3) or poses (..., 6), in closed form for complex φ.

    v + ½ ad v + a ad² v + b ad⁴ v; g = h cot h of s = θ², b = (s g' - g + 1)/s², a = 2 b s - g' (poses), a = (1 - g)/s
    and b = 0 (rotations). Source: Bullo and Murray 1995.
    """
    pose = phi.shape[-1] == 6
    turn = phi[..., -3:]
    s = (turn * turn).sum(-1)
    near = s.real < 1.0
    small, large = np.where(near, s, 0.5), np.where(near, 2.0, s)
    factorial, g0, slope0, c0, b0 = 1.0, 0.0, 0.0, 0.0, 0.0
    for k, number in enumerate(_BERNOULLI):
        factorial *= (2 * k) * (2 * k - 1) if k else 1.0
        term = (-1) ** k * number / factorial
        g0 = g0 + term * small**k
        if k >= 1:
            slope0 = slope0 + k * term * small ** (k - 1)
            c0 = c0 - term * small ** (k - 1)
        if k >= 2:
            b0 = b0 + (k - 1) * term * small ** (k - 2)
    h = 0.5 * np.sqrt(large)
    cotangent = np.cos(h) / np.sin(h)
    g1, slope1 = h * cotangent, (cotangent - h * (1.0 + cotangent * cotangent)) / (8.0 * h)
    slope = np.where(near, slope0, slope1)
    c = np.where(near, c0, (1.0 - g1) / large)
    b = np.where(near, b0, (large * slope1 - g1 + 1.0) / (large * large))
    once = _commutator(phi, v)
    twice = _commutator(phi, once)
    if not pose:
        return v + 0.5 * once + c[..., None] * twice
    fourth = _commutator(phi, _commutator(phi, twice))
    return v + 0.5 * once + (2.0 * b * s - slope)[..., None] * twice + b[..., None] * fourth


def _commutator(phi: NDArray, u: NDArray) -> NDArray:
    """ad(φ) u of rotations (..., 3) or rigid motions (..., 6)."""
    if phi.shape[-1] == 3:
        return np.cross(phi, u)
    w = phi[..., 3:]
    linear = np.cross(w, u[..., :3]) + np.cross(phi[..., :3], u[..., 3:])
    return np.concatenate([linear, np.cross(w, u[..., 3:])], axis=-1)


def _skew(a: Floats) -> Floats:
    result = np.zeros((*a.shape, 3))
    result[..., 0, 1], result[..., 0, 2], result[..., 1, 2] = -a[..., 2], a[..., 1], -a[..., 0]
    return result - np.swapaxes(result, -1, -2)
