"""Exponential and logarithm of rotations and poses, and their Jacobians; batched NumPy.

| symbol | meaning |
|---|---|
| φ, θ | rotation vector (rad), its length |
| ξ = [u, φ] | twist over unit time in body axes: linear part (m), rotation vector (rad) |
| K | [φ]x |

    R = exp(φ) = 1 + a K + b K²,   a = sin θ/θ,  b = (1 - cos θ)/θ²                        (1)
    exp(ξ) = (R, V u),   V = 1 + b K + c K²,  c = (θ - sin θ)/θ³                           (2)
    log(T) = (V⁻¹ p, φ),   V⁻¹ = 1 - ½ K + d K²,  d = (1 - (θ/2) cot(θ/2))/θ²              (3)
    exp(φ + δ) = exp(φ) exp(J δ) to first order,   J = 1 - b K + c K²,  J⁻¹ = 1 + ½ K + d K²     (4)
    the same for poses:   J(ξ) = [[J, Q], [0, J]],  Q from the derivative of V along u      (5)

Jacobians multiply changes in body axes, as `integrate` and `difference` count them, and are those Pinocchio calls
Jexp3, Jlog3, Jexp6, Jlog6. The logarithm is the one with θ <= pi; at θ = pi either of two opposite axes.
Source: Murray, Li and Sastry 1994, ch. 2; Barfoot, State Estimation for Robotics (2017), ch. 7 (Q).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError

__all__ = [
    "pose_exp",
    "pose_exp_jacobian",
    "pose_log",
    "pose_log_jacobian",
    "rotation_exp",
    "rotation_exp_jacobian",
    "rotation_log",
    "rotation_log_jacobian",
]

Floats = NDArray[np.float64]

# Coefficients of series in θ², good to rounding below θ = 1.
_TERMS = 10
_SMALL = 1.0
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(_TERMS)]
_COSINE = [(-1) ** k / math.factorial(2 * k + 2) for k in range(_TERMS)]
_CUBE = [(-1) ** k / math.factorial(2 * k + 3) for k in range(_TERMS)]
# (1 - h cot h)/(4 h²) as a series in θ² = 4 h²: Σ ζ(2k) 2/(π^{2k}) h^{2k-2} / 4
_ZETA = [math.pi**2 / 6.0, math.pi**4 / 90.0, *(sum(n ** (-2.0 * k) for n in range(1, 200)) for k in range(3, 16))]
_COTANGENT = [2.0 * zeta / math.pi ** (2 * k) / 4.0**k for k, zeta in enumerate(_ZETA, start=1)]


def rotation_exp(vector: ArrayLike) -> Floats:
    """Return the rotations (..., 3, 3) of rotation vectors (..., 3), rad (1)."""
    phi = _numbers(vector, (3,), "rotation_exp")
    a, b, _, _ = _factors(phi)
    K = _skew(phi)
    return np.eye(3) + a * K + b * (K @ K)


def rotation_log(rotation: ArrayLike) -> Floats:
    """Return the rotation vectors (..., 3), rad, |φ| <= pi, of rotations (..., 3, 3).

    >>> rotation_log(rotation_exp([0.1, -0.2, 3.0])).round(12).tolist()
    [0.1, -0.2, 3.0]
    """
    R = _rotations(_numbers(rotation, (3, 3), "rotation_log"), "rotation_log")
    quaternion = _quaternions(R)
    n, w = quaternion[..., :3], quaternion[..., 3]
    sine = np.linalg.norm(n, axis=-1)
    tiny = sine < 1e-150
    angle = 2.0 * np.arctan2(sine, w)
    return n * np.where(tiny, 2.0, angle / np.where(tiny, 1.0, sine))[..., None]


def rotation_exp_jacobian(vector: ArrayLike) -> Floats:
    """Return J (..., 3, 3) with exp(φ + δ) = exp(φ) exp(J δ) to first order (4)."""
    phi = _numbers(vector, (3,), "rotation_exp_jacobian")
    _, b, c, _ = _factors(phi)
    K = _skew(phi)
    return np.eye(3) - b * K + c * (K @ K)


def rotation_log_jacobian(rotation: ArrayLike) -> Floats:
    """Return J⁻¹ (..., 3, 3) with log(R exp(δ)) = log(R) + J⁻¹ δ to first order (4)."""
    return _inverse_jacobian(rotation_log(rotation))


def pose_exp(twist: ArrayLike) -> Floats:
    """Return the placements (..., 4, 4) reached by body twists [u, φ] (..., 6) over unit time (2)."""
    xi = _numbers(twist, (6,), "pose_exp")
    u, phi = xi[..., :3], xi[..., 3:]
    _, b, c, _ = _factors(phi)
    K = _skew(phi)
    V = np.eye(3) + b * K + c * (K @ K)
    return _placements(rotation_exp(phi), np.einsum("...ij,...j->...i", V, u))


def pose_log(placement: ArrayLike) -> Floats:
    """Return the body twists [u, φ] (..., 6) over unit time that lead to placements (..., 4, 4) (3).

    >>> pose_log(pose_exp([0.3, 0.1, -0.2, 0.5, 0.4, 1.0])).round(12).tolist()
    [0.3, 0.1, -0.2, 0.5, 0.4, 1.0]
    """
    T = _numbers(placement, (4, 4), "pose_log")
    phi = rotation_log(T[..., :3, :3])
    *_, d = _factors(phi)
    K = _skew(phi)
    u = np.einsum("...ij,...j->...i", np.eye(3) - 0.5 * K + d * (K @ K), T[..., :3, 3])
    return np.concatenate([u, phi], axis=-1)


def pose_exp_jacobian(twist: ArrayLike) -> Floats:
    """Return J (..., 6, 6) with exp(ξ + δ) = exp(ξ) exp(J δ) to first order (5)."""
    xi = _numbers(twist, (6,), "pose_exp_jacobian")
    J = rotation_exp_jacobian(xi[..., 3:])
    return _blocks(J, _coupling(xi))


def pose_log_jacobian(placement: ArrayLike) -> Floats:
    """Return J⁻¹ (..., 6, 6) with log(T exp(δ)) = log(T) + J⁻¹ δ to first order (5)."""
    xi = pose_log(placement)
    inverse = _inverse_jacobian(xi[..., 3:])
    return _blocks(inverse, -inverse @ _coupling(xi) @ inverse)


def _inverse_jacobian(phi: Floats) -> Floats:
    *_, d = _factors(phi)
    K = _skew(phi)
    return np.eye(3) + 0.5 * K + d * (K @ K)


def _coupling(xi: Floats) -> Floats:
    """Q of (5) for the right Jacobian: that of the left one at -ξ, Barfoot (7.86)."""
    rho, phi = -xi[..., :3], -xi[..., 3:]
    P, F = _skew(rho), _skew(phi)
    square = np.sum(phi * phi, axis=-1)
    theta = np.sqrt(square)
    small = theta < _SMALL
    safe = np.where(small, 1.0, theta)
    # (θ - sin θ)/θ³, (θ² + 2 cos θ - 2)/(2 θ⁴), (2 θ - 3 sin θ + θ cos θ)/(2 θ⁵)
    first = np.where(small, _series(_CUBE, square), (safe - np.sin(safe)) / safe**3)
    second = np.where(small, _series(_FOURTH, square), (safe**2 + 2.0 * np.cos(safe) - 2.0) / (2.0 * safe**4))
    third = np.where(
        small, _series(_FIFTH, square), (2.0 * safe - 3.0 * np.sin(safe) + safe * np.cos(safe)) / (2.0 * safe**5)
    )
    first, second, third = (factor[..., None, None] for factor in (first, second, third))
    FP, PF = F @ P, P @ F
    FPF = FP @ F
    return 0.5 * P + first * (FP + PF + FPF) + second * (F @ FP + PF @ F - 3.0 * FPF) + third * (FPF @ F + F @ FPF)


# cos θ = Σ (-1)^k θ^{2k}/(2k)!: second factor = Σ_{k>=0} (-1)^k θ^{2k}/(2k+4)!
_FOURTH = [(-1) ** k / math.factorial(2 * k + 4) for k in range(_TERMS)]
# third: ½ Σ (-1)^k θ^{2k} (1/(2k+4)! - 3/(2k+5)!)
_FIFTH = [
    0.5 * (-1) ** k * (1.0 / math.factorial(2 * k + 4) - 3.0 / math.factorial(2 * k + 5)) for k in range(_TERMS)
]  # fmt: skip


def _factors(phi: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """a, b, c, d of (1)-(3), (..., 1, 1) each; series near θ = 0, where the quotients lose digits."""
    square = np.sum(phi * phi, axis=-1)[..., None, None]
    theta = np.sqrt(square)
    small = theta < _SMALL
    safe = np.where(small, 1.0, theta)
    sine, half = np.sin(safe), 0.5 * safe
    a = np.where(small, _series(_SINE, square), sine / safe)
    b = np.where(small, _series(_COSINE, square), 2.0 * (np.sin(half) / safe) ** 2)
    c = np.where(small, _series(_CUBE, square), (safe - sine) / safe**3)
    d = np.where(small, _series(_COTANGENT, square), (1.0 - half * np.cos(half) / np.sin(half)) / safe**2)
    return a, b, c, d


def _series(coefficients: list[float], square: Floats) -> Floats:
    total = np.zeros_like(square)
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return total


def _skew(vector: Floats) -> Floats:
    x, y, z = (vector[..., k] for k in range(3))
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _quaternions(R: Floats) -> Floats:
    """Quaternions x y z w, w >= 0, of rotations: the largest column of four times q qᵀ, scaled."""
    xx, yy, zz = (R[..., k, k] for k in range(3))
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    columns = np.stack(
        [
            np.stack([1 + xx - yy - zz, xy, xz, wx], axis=-1),
            np.stack([xy, 1 - xx + yy - zz, yz, wy], axis=-1),
            np.stack([xz, yz, 1 - xx - yy + zz, wz], axis=-1),
            np.stack([wx, wy, wz, 1 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.einsum("...ii->...i", columns), axis=-1)
    q = np.take_along_axis(columns, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., 3:] < 0.0, -q, q)


def _placements(R: Floats, p: Floats) -> Floats:
    T = np.zeros((*p.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T


def _blocks(diagonal: Floats, coupling: Floats) -> Floats:
    J = np.zeros((*diagonal.shape[:-2], 6, 6))
    J[..., :3, :3] = J[..., 3:, 3:] = diagonal
    J[..., :3, 3:] = coupling
    return J


def _numbers(value: ArrayLike, shape: tuple[int, ...], function: str) -> Floats:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{function}: expected numbers (..., {', '.join(map(str, shape))}), got {value!r:.80}"
        ) from None
    if numbers.shape[-len(shape) :] != shape:
        raise InputError(f"{function}: expected shape (..., {', '.join(map(str, shape))}), got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise InputError(f"{function}: expected finite numbers, got {numbers[~np.isfinite(numbers)][0]}")
    return numbers


def _rotations(R: Floats, function: str) -> Floats:
    error = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2))
    if error.size and (error.max() > 1e-6 or np.linalg.det(R).min() < 0.0):
        raise InputError(f"{function}: expected rotations, orthonormal within 1e-6, got an error of {error.max():.3g}")
    return R
