"""What acts along the free axes of a joint besides the motion of the links: drive inertia, friction, joint spring.

tau = columns · (f, n) + armature a + passive                              (1)
passive = damping v + coulomb sign(v) + stiffness (q - spring_rest)        (2)  force the drive has to overcome
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joints import joint_columns
from setsu.kernels.vectors import Scalar, Vector, dot, sign
from setsu.mechanism.tables import Kind

__all__ = ["as_scalar_or_tuple", "as_tuple", "joint_passive", "joint_torque"]


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
    return tuple(forces)


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
