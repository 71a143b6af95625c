"""What acts along the free axes of a joint besides the motion of the links: drive inertia, friction, joint spring.

tau = columns · (f, n) + armature a + passive                              (1)
passive = damping v + coulomb sign(v) + stiffness (q - spring_rest)        (2)  force the drive has to overcome

A quaternion's spring turns back along the rotation vector φ from its rest; a free joint's pulls back along its
displacement d too, both in body axes, each with one stiffness for its three axes:

passive += (k Rᵀ (position - rest), k φ)                                   (3)
energy = ½ k |d|² + ½ k |φ|²                                               (4)
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.configuration import inverse_turn_factor, rotation_vector, turned
from setsu.kernels.joints import joint_columns, quaternion_rotation
from setsu.kernels.vectors import ZERO, Scalar, Vector, add, cross, dot, rotate_back, scale, sign, sub
from setsu.mechanism.tables import Kind

__all__ = [
    "as_scalar_or_tuple",
    "as_tuple",
    "has_spring",
    "joint_passive",
    "joint_torque",
    "quaternion_spring",
    "quaternion_spring_energy",
]


def as_tuple(value: Any) -> tuple:
    """Joint values as a tuple also for one velocity."""
    return value if isinstance(value, tuple) else (value,)


def as_scalar_or_tuple(values: tuple) -> Any:
    """One value as a scalar, several as a tuple: how views exchange joint values."""
    return values[0] if len(values) == 1 else values


def joint_passive(link: Any) -> tuple[Scalar, ...]:
    """Friction and spring forces of the joint that the drive has to overcome (2)."""
    v, damping, coulomb = as_tuple(link.v), as_tuple(link.damping), as_tuple(link.coulomb)
    forces = [
        d * rate + c * sign(rate) if c != 0.0 else d * rate for d, c, rate in zip(damping, coulomb, v, strict=True)
    ]
    if link.kind in (Kind.REVOLUTE, Kind.PRISMATIC, Kind.HELICAL):
        forces[0] = forces[0] + link.stiffness * (link.q - link.spring_rest)
    elif has_spring(link):
        forces = list(add(tuple(forces), quaternion_spring(link)[0]))
    return tuple(forces)


def has_spring(link: Any) -> bool:
    """Whether a joint with a quaternion may have a spring: false where all such stiffnesses are known to be zero."""
    return not all(isinstance(k, float) and k == 0.0 for k in link.stiffness)


def quaternion_spring(link: Any) -> tuple[tuple, tuple]:
    """Force of a quaternion's spring that the drive has to overcome (3), and its derivative by each velocity (6 each).

    The derivatives stand in the joint's own order, filled up with zeros: force_element_derivatives.py (9).
    """
    turn, k = link.stiffness[-1], link.stiffness[0]
    phi, factor = _spring_turn(link)

    def turned_back(axis: Vector) -> Vector:
        across = cross(phi, axis)
        return add(add(axis, scale(across, 0.5)), scale(cross(phi, across), factor))

    axes: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    by_turn = tuple(scale(turned_back(axis), turn) for axis in axes)
    if link.kind == Kind.SPHERICAL:
        return scale(phi, turn), tuple((*row, 0.0, 0.0, 0.0) for row in by_turn)
    d = _spring_displacement(link)
    by_shift = tuple((*scale(axis, k), *ZERO) for axis in axes)
    by_both = tuple((*scale(cross(d, axis), k), *row) for axis, row in zip(axes, by_turn, strict=True))
    return (*scale(d, k), *scale(phi, turn)), (*by_shift, *by_both)


def quaternion_spring_energy(link: Any) -> Scalar:
    """Energy of a quaternion's spring (4)."""
    if not has_spring(link):
        return 0.0
    phi, _ = _spring_turn(link)
    energy = 0.5 * link.stiffness[-1] * dot(phi, phi)
    if link.kind == Kind.FREE:
        d = _spring_displacement(link)
        energy = energy + 0.5 * link.stiffness[0] * dot(d, d)
    return energy


def _spring_turn(link: Any) -> tuple[Vector, Scalar]:
    rest: tuple = (0.0, 0.0, 0.0, 1.0)
    turn = link.spring_rest[-3:]
    if not all(isinstance(angle, float) and angle == 0.0 for angle in turn):
        rest = turned(rest, turn)
    phi, theta2, h_cot_h = rotation_vector(rest, link.q[-4:])
    return phi, inverse_turn_factor(theta2, h_cot_h)


def _spring_displacement(link: Any) -> Vector:
    return rotate_back(quaternion_rotation(link.q[3:]), sub(link.q[:3], link.spring_rest[:3]))


def joint_torque(link: Any, f: Vector, n: Vector) -> Any:
    """Generalised force of the joint that transmits the wrench (f, n) in link axes at the link origin (1)."""
    transmitted = [dot(linear, f) + dot(angular, n) for linear, angular in joint_columns(link)]
    armature, a = as_tuple(link.armature), as_tuple(link.a)
    return as_scalar_or_tuple(
        tuple(
            t + inertia * rate + passive
            for t, inertia, rate, passive in zip(transmitted, armature, a, joint_passive(link), strict=True)
        )
    )
