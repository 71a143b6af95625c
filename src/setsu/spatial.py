"""Rotations, placements and rigid-body inertias as small NumPy arrays.

A placement is a 4x4 homogeneous matrix: `T_AB` maps coordinates in frame B to coordinates in frame A.
Quaternions are x y z w. Angles are in radians, lengths in metres.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.elementary import LARGEST_ANGLE, cos_sin, length, matmul, reduced_angle
from setsu.errors import InputError
from setsu.named_numbers import NamedNumber, as_placement, named, named_cos_sin

__all__ = [
    "axis_angle_rotation",
    "axis_to_z_rotation",
    "classic_dh",
    "euler_rotation",
    "file_path",
    "finite_vector",
    "inertia_about_origin",
    "inverse_placement",
    "is_rotation",
    "listed",
    "modified_dh",
    "nearest_rotation",
    "placement",
    "quaternion_from_rotation",
    "random_generator",
    "real_array",
    "rotation_from_quaternion",
    "skew",
    "whole_number",
]

Array = NDArray[np.float64]
T = TypeVar("T")


def real_array(value: ArrayLike) -> Array:
    """Return a copy of numbers as float64; TypeError or ValueError for anything else.

    NumPy alone drops imaginary parts and masks, and makes numbers of text and times.
    """
    given = np.asarray(value)
    if given.dtype.kind not in "biufO" or np.ma.is_masked(value):
        raise TypeError(f"expected real numbers, got {given.dtype}")
    return np.array(given, dtype=np.float64)


def finite_vector(value: ArrayLike, length: int, what: str) -> Array:
    """Return `value` as a float64 vector of `length` finite numbers, or raise an InputError naming `what`."""
    try:
        vector = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected {length} numbers, got {value!r}") from None
    if vector.shape != (length,):
        raise InputError(f"{what}: expected {length} numbers, got an array of shape {vector.shape}")
    if not all(map(math.isfinite, vector.tolist())):
        raise InputError(f"{what}: expected finite numbers, got {vector.tolist()}")
    return vector


def file_path(value: Any, what: str) -> Path:
    """Return a path, or raise an InputError naming `what`."""
    try:
        return Path(value)
    except TypeError:
        raise InputError(f"{what}: expected a path, got {value!r:.80}") from None


def listed(value: Iterable[T], what: str, entries: str) -> list[T]:
    """Return the entries of a sequence, or raise an InputError that names it and the `entries` expected."""
    try:
        return list(value)
    except TypeError:
        raise InputError(f"{what}: expected a list of {entries}, got {value!r:.80}") from None


def whole_number(value: object, what: str, least: int = 1) -> int:
    """Return a whole number (NumPy's too, not a bool) of at least `least`, or raise an InputError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{what}: expected a whole number, at least {least}, got {value!r:.80}")
    return int(value)


def random_generator(seed: int | np.random.Generator, what: str) -> np.random.Generator:
    """Return NumPy's generator of a seed, or raise an InputError naming `what`."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: seed: expected a whole number, at least 0, got {seed!r:.80}") from None


def skew(vector: ArrayLike) -> Array:
    """Return the 3x3 matrix S with S @ x = vector x x."""
    x, y, z = np.asarray(vector, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine that are exact at multiples of a right angle (within one rounding of the angle)."""
    if isinstance(angle, NamedNumber):
        return named_cos_sin(angle, *_cos_sin(float(angle)))
    quarter = round(angle / (math.pi / 2))
    # Beyond a few turns one rounding of the angle is no longer small against the sine it would change.
    if abs(angle) < 100.0 and abs(angle - quarter * (math.pi / 2)) <= 4e-16 * max(1.0, abs(angle)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return cos_sin(angle if abs(angle) <= LARGEST_ANGLE else reduced_angle(angle))


def axis_angle_rotation(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation by `angle` (rad) about the unit vector along `axis`."""
    u = np.asarray(axis, dtype=np.float64)
    u = u / length(u)
    c, s = _cos_sin(angle)
    return c * np.eye(3) + s * skew(u) + (1.0 - c) * np.outer(u, u)


def euler_rotation(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), the URDF convention (rad)."""
    return np.array(_euler_entries(roll, pitch, yaw))


def _euler_entries(roll: float, pitch: float, yaw: float) -> list[list[float]]:
    cr, sr = _cos_sin(roll)
    cp, sp = _cos_sin(pitch)
    cy, sy = _cos_sin(yaw)
    return [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Return the rotation of a quaternion x y z w, normalised first."""
    q = finite_vector(quaternion, 4, "quaternion")
    norm = length(q)
    if norm == 0.0:
        raise InputError("quaternion: expected a non-zero quaternion x y z w, got all zeros")
    x, y, z, w = q / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """Return the quaternion x y z w (w >= 0) of a rotation matrix."""
    R = np.asarray(rotation, dtype=np.float64)
    # Four times the outer product of the quaternion with itself: its largest column is the safest to normalise.
    K = np.array(
        [
            [1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
            [R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    column = K[:, int(np.argmax(np.diag(K)))]
    quaternion = column / length(column)
    return -quaternion if quaternion[3] < 0 else quaternion


def is_rotation(matrix: Array, tolerance: float = 1e-9) -> bool:
    """Return whether `matrix` is orthonormal with determinant +1 within `tolerance`."""
    # With nine numbers at hand, arrays would take ten times as long.
    (a, b, c), (d, e, f), (g, h, i) = np.asarray(matrix, dtype=np.float64).tolist()
    products = (
        *(a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0),
        *(a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i),
    )
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return all(abs(entry) <= tolerance for entry in products) and determinant > 0.0


def nearest_rotation(matrix: Array) -> Array:
    """Return the rotation closest to `matrix` in the Frobenius norm; exact rotations of 0 and ±1 stay as they are."""
    if np.array_equal(matmul(matrix, matrix.T), np.eye(3)):
        return matrix.copy()
    # Newton's iteration for the polar factor, R = ½ (R + R⁻ᵀ), in explicit terms: it doubles the digits.
    R, before = np.asarray(matrix, dtype=np.float64), np.inf
    while True:
        cofactors = np.array([np.cross(R[1], R[2]), np.cross(R[2], R[0]), np.cross(R[0], R[1])])
        determinant = float(R[0, 0] * cofactors[0, 0] + R[0, 1] * cofactors[0, 1] + R[0, 2] * cofactors[0, 2])
        if determinant <= 0.0:
            raise InputError(f"nearest_rotation: expected a matrix of positive determinant, got {matrix.tolist()}")
        following = 0.5 * (R + cofactors / determinant)
        change = float(np.abs(following - R).max())
        if change >= before or change == 0.0:
            return R
        R, before = following, change


def placement(
    translation: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike | None = None,
    *,
    rotation: ArrayLike | None = None,
    quaternion: ArrayLike | None = None,
) -> Array:
    """Return a 4x4 placement: translation (m) and one of roll-pitch-yaw (rad), rotation matrix, quaternion x y z w.

    >>> placement((0, 0, 0.1), rpy=(0, 0, 0))[2, 3]
    np.float64(0.1)
    """
    if sum(part is not None for part in (rpy, rotation, quaternion)) > 1:
        raise InputError("placement: give one of rpy, rotation, quaternion, not several")
    T = np.eye(4)
    T[:3, 3] = finite_vector(translation, 3, "placement translation")
    if rpy is not None:
        T[:3, :3] = euler_rotation(*finite_vector(rpy, 3, "placement rpy"))
        given = [*_entries(translation), *_entries(rpy)]
        if any(isinstance(entry, NamedNumber) for entry in given):
            rotation_rows = _euler_entries(*given[3:])
            return as_placement([*([*rotation_rows[k], given[k]] for k in range(3)), [0.0, 0.0, 0.0, 1.0]])
    elif quaternion is not None:
        T[:3, :3] = rotation_from_quaternion(quaternion)
    elif rotation is not None:
        R = np.asarray(rotation, dtype=np.float64)
        if R.shape != (3, 3) or not np.isfinite(R).all() or not is_rotation(R, 1e-6):
            raise InputError(f"placement rotation: expected a 3x3 rotation matrix, got {R.tolist()}")
        T[:3, :3] = R
    if any(isinstance(entry, NamedNumber) for entry in _entries(translation)):
        rows = T.tolist()
        for row, entry in zip(rows, _entries(translation), strict=False):
            row[3] = entry
        return as_placement(rows)
    return T


def _entries(vector: ArrayLike) -> list[float]:
    """Entries of a checked vector, named ones kept."""
    return [named(float(entry), entry) for entry in vector]  # type: ignore[union-attr]


def modified_dh(alpha: float, d: float, theta: float, r: float) -> Array:
    """Return the placement Rx(alpha) Tx(d) Rz(theta) Tz(r) of modified (Khalil, Craig) Denavit-Hartenberg rows."""
    finite_vector((alpha, d, theta, r), 4, "modified_dh(alpha, d, theta, r)")
    alpha, d, theta, r = _entries((alpha, d, theta, r))
    ca, sa = _cos_sin(alpha)
    ct, st = _cos_sin(theta)
    return as_placement(
        [
            [ct, -st, 0.0, d],
            [ca * st, ca * ct, -sa, -r * sa],
            [sa * st, sa * ct, ca, r * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def classic_dh(theta: float, d: float, a: float, alpha: float) -> Array:
    """Return the placement Rz(theta) Tz(d) Tx(a) Rx(alpha) of classic Denavit-Hartenberg rows."""
    finite_vector((theta, d, a, alpha), 4, "classic_dh(theta, d, a, alpha)")
    theta, d, a, alpha = _entries((theta, d, a, alpha))
    ct, st = _cos_sin(theta)
    ca, sa = _cos_sin(alpha)
    return as_placement(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def inverse_placement(T: Array) -> Array:
    """Return the inverse of a placement."""
    result = np.eye(4)
    result[:3, :3] = T[:3, :3].T
    result[:3, 3] = -matmul(T[:3, :3].T, T[:3, 3])
    return result


_EXACT_AXES = {
    (0.0, 0.0, 1.0): ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    (0.0, 0.0, -1.0): ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
    (1.0, 0.0, 0.0): ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    (-1.0, 0.0, 0.0): ((0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    (0.0, 1.0, 0.0): ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    (0.0, -1.0, 0.0): ((0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),
}


def axis_to_z_rotation(axis: Sequence[float]) -> Array:
    """Return a rotation A with A @ (0, 0, 1) = axis; made of exact 0 and ±1 when the axis is a coordinate axis."""
    x, y, z = axis
    exact = _EXACT_AXES.get((float(x), float(y), float(z)))
    if exact is not None:
        return np.array(exact)
    w = np.array([x, y, z], dtype=np.float64)
    w /= length(w)
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(w)))] = 1.0
    u = np.cross(helper, w)
    u /= length(u)
    return np.column_stack([u, np.cross(w, u), w])


def inertia_about_origin(mass: float, center_of_mass: ArrayLike, inertia: ArrayLike) -> Array:
    """Return the 3x3 inertia about the frame origin from the one about the centre of mass (kg m²)."""
    c = np.asarray(center_of_mass, dtype=np.float64)
    return np.asarray(inertia, dtype=np.float64) + mass * (float(matmul(c, c)) * np.eye(3) - np.outer(c, c))
