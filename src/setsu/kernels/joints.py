"""Primitive joints: pose, velocity and motion subspace of a link relative to its parent.

| symbol | meaning |
|---|---|
| R, p | rotation and position of the link frame in the parent link frame (m) |
| vj, wj | velocity of the link relative to the parent, link axes (m/s, rad/s) |
| columns | motion subspace: one (linear, angular) pair of constant vectors in link axes per velocity |

The joint axis is z of the link frame; `rotation`, `translation` are the constant joint frame (mechanism.tables).
A quaternion of any length but zero is a rotation: R = 1 + 2/|q|² (w [u]x + [u]x²).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.vectors import IDENTITY, ZERO, Matrix, Scalar, Vector, add, column, cos_sin, multiply, rotate, scale
from setsu.mechanism.tables import Kind

__all__ = ["COLUMNS", "joint_motion", "joint_pose", "joint_pose_at", "quaternion_rotation", "turned"]

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# The travel of a screw depends on its pitch: `joint_columns` puts it in.
COLUMNS: dict[Kind, tuple[tuple[Vector, Vector], ...]] = {
    Kind.REVOLUTE: ((ZERO, _Z),),
    Kind.PRISMATIC: ((_Z, ZERO),),
    Kind.SPHERICAL: ((ZERO, _X), (ZERO, _Y), (ZERO, _Z)),
    Kind.FREE: ((_X, ZERO), (_Y, ZERO), (_Z, ZERO), (ZERO, _X), (ZERO, _Y), (ZERO, _Z)),
}


def joint_columns(link: Any) -> tuple[tuple[Vector, Vector], ...]:
    """Motion subspace of a link's joint in link axes at the link origin, (linear, angular) per velocity."""
    if link.kind == Kind.HELICAL:
        return (((0.0, 0.0, link.pitch), _Z),)
    return COLUMNS[link.kind]


def joint_pose(link: Any) -> tuple[Matrix, Vector]:
    """Rotation and position of the link frame in the parent link frame."""
    return joint_pose_at(link, link.q)


def joint_pose_at(link: Any, q: Any) -> tuple[Matrix, Vector]:
    """Rotation and position of the link frame in the parent link frame at joint coordinates q."""
    R, p = link.rotation, link.translation
    match link.kind:
        case Kind.REVOLUTE:
            return turned(R, *cos_sin(q)), p
        case Kind.PRISMATIC:
            return R, add(p, scale(column(R, 2), q))
        case Kind.HELICAL:
            return turned(R, *cos_sin(q)), add(p, scale(column(R, 2), q * link.pitch))
        case Kind.SPHERICAL:
            return multiply(R, quaternion_rotation(q)), p
        case _:
            return multiply(R, quaternion_rotation(q[3:])), add(p, rotate(R, q[:3]))


def joint_motion(link: Any, rates: Any) -> tuple[Vector, Vector]:
    """Linear and angular part of the joint's motion for `rates` (velocities or accelerations), link axes."""
    match link.kind:
        case Kind.REVOLUTE:
            return ZERO, (0.0, 0.0, rates)
        case Kind.PRISMATIC:
            return (0.0, 0.0, rates), ZERO
        case Kind.HELICAL:
            return (0.0, 0.0, link.pitch * rates), (0.0, 0.0, rates)
        case Kind.SPHERICAL:
            return ZERO, rates
        case _:
            return rates[:3], rates[3:]


def quaternion_rotation(quaternion: tuple[Scalar, Scalar, Scalar, Scalar]) -> Matrix:
    """Rotation of a quaternion x y z w of any length but zero."""
    x, y, z, w = quaternion
    s = 2.0 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, xz, yz = sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return (
        1.0 - (yy + zz), xy - wz, xz + wy,
        xy + wz, 1.0 - (xx + zz), yz - wx,
        xz - wy, yz + wx, 1.0 - (xx + yy),
    )  # fmt: skip


def turned(R: Matrix, c: Scalar, s: Scalar) -> Matrix:
    """R Rz(angle) for the cosine and sine of the angle."""
    if R == IDENTITY:
        return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
    return (
        R[0] * c + R[1] * s, R[1] * c - R[0] * s, R[2],
        R[3] * c + R[4] * s, R[4] * c - R[3] * s, R[5],
        R[6] * c + R[7] * s, R[7] * c - R[6] * s, R[8],
    )  # fmt: skip
