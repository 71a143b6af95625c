"""Where a joint puts its body, and how fast: plain NumPy, one state at a time, for work on the mechanism itself.

T(q)       placement of the body in the joint frame, 4x4                          T_parent_body = pose · T(q)   (1)
V(q, v)    velocity of the body relative to the joint frame, [linear, angular], body axes, at the body origin
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.elementary import matmul
from setsu.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)  # fmt: skip
from setsu.spatial import axis_angle_rotation, axis_to_z_rotation, finite_vector, placement, rotation_from_quaternion

__all__ = ["joint_placement", "joint_velocity"]

Array = NDArray[np.float64]


def joint_placement(joint: Joint, coordinates: ArrayLike) -> Array:
    """Return T(q), 4x4, for the joint's own coordinates, (nq,).

    >>> joint_placement(Prismatic((0, 0, 1)), [0.3])[2, 3]
    np.float64(0.3)
    """
    q = finite_vector(coordinates, joint.nq, f'coordinates of joint "{joint.name}"')
    axis = np.array(joint.axis)
    match joint:
        case Revolute():
            return placement(rotation=axis_angle_rotation(axis, q[0]))
        case Prismatic():
            return placement(axis * q[0])
        case Helical():
            return placement(axis * (joint.pitch * q[0]), rotation=axis_angle_rotation(axis, q[0]))
        case Cylindrical():
            return placement(axis * q[0], rotation=axis_angle_rotation(axis, q[1]))
        case Universal():
            second = axis_angle_rotation(joint.second_axis, q[1])
            return placement(rotation=matmul(axis_angle_rotation(axis, q[0]), second))
        case Planar():
            return placement(matmul(_plane(joint), q[:2]), rotation=axis_angle_rotation(axis, q[2]))
        case Spherical():
            return placement(rotation=rotation_from_quaternion(q))
        case Free():
            return placement(q[:3], rotation=rotation_from_quaternion(q[3:]))
        case Fixed():
            return np.eye(4)
    raise TypeError(f"no motion is defined for {type(joint).__name__}")


def joint_velocity(joint: Joint, coordinates: ArrayLike, velocities: ArrayLike) -> Array:
    """Return V(q, v), (6,), for the joint's own coordinates (nq,) and velocities (nv,)."""
    q = finite_vector(coordinates, joint.nq, f'coordinates of joint "{joint.name}"')
    v = finite_vector(velocities, joint.nv, f'velocities of joint "{joint.name}"')
    axis = np.array(joint.axis)
    linear, angular = np.zeros(3), np.zeros(3)
    match joint:
        case Revolute():
            angular = axis * v[0]
        case Prismatic():
            linear = axis * v[0]
        case Helical():
            linear, angular = axis * (joint.pitch * v[0]), axis * v[0]
        case Cylindrical():
            linear, angular = axis * v[0], axis * v[1]
        case Universal():
            second = np.array(joint.second_axis)
            angular = matmul(axis_angle_rotation(second, q[1]).T, axis) * v[0] + second * v[1]
        case Planar():
            linear, angular = matmul(axis_angle_rotation(axis, q[2]).T, matmul(_plane(joint), v[:2])), axis * v[2]
        case Spherical():
            angular = v
        case Free():
            return v
    return np.concatenate([linear, angular])


def _plane(joint: Planar) -> Array:
    """The two directions of travel as columns, (3, 2)."""
    return axis_to_z_rotation(joint.axis)[:, :2]  # type: ignore[arg-type]
