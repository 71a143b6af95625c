"""Where a joint puts its body, how fast, and back: plain NumPy, one state at a time, for work on the mechanism itself.

T(q)       placement of the body in the joint frame, 4x4                          T_parent_body = pose · T(q)   (1)
V(q, v)    velocity of the body relative to the joint frame, [linear, angular], body axes, at the body origin

Both follow from the primitive motions of the joint's type, one after the other:  T = T_1 T_2 ...,  T_k = T_k(q_k)  (2)
                                                            V = Ad(T_k)⁻¹ V + S_k v_k                           (3)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism.joints import Cylindrical, Fixed, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from setsu.spatial import (
    axis_angle_rotation,
    axis_to_z_rotation,
    finite_vector,
    inverse_placement,
    placement,
    quaternion_from_rotation,
    rotation_from_quaternion,
)

__all__ = ["direction", "joint_coordinates", "joint_placement", "joint_velocity", "transported"]

Array = NDArray[np.float64]


def direction(joint: Joint, letter: str) -> Array:
    """Return a direction of a joint, (3,), in its own frame: z its axis, x and y across it, "second"."""
    if letter == "z":
        return np.array(joint.axis)
    if letter == "second":
        return np.array(joint.second_axis)  # type: ignore[attr-defined]
    return axis_to_z_rotation(joint.axis)[:, "xy".index(letter)]


def joint_placement(joint: Joint, coordinates: ArrayLike) -> Array:
    """Return T(q), 4x4, for the joint's own coordinates, (nq,) (2).

    >>> joint_placement(Prismatic((0, 0, 1)), [0.3])[2, 3]
    np.float64(0.3)
    """
    q = finite_vector(coordinates, joint.nq, f'coordinates of joint "{joint.name}"')
    T = np.eye(4)
    for step, _ in _steps(joint, q, np.zeros(joint.nv)):
        T = matmul(T, step)
    return T


def joint_velocity(joint: Joint, coordinates: ArrayLike, velocities: ArrayLike) -> Array:
    """Return V(q, v), (6,), for the joint's own coordinates (nq,) and velocities (nv,) (3)."""
    q = finite_vector(coordinates, joint.nq, f'coordinates of joint "{joint.name}"')
    v = finite_vector(velocities, joint.nv, f'velocities of joint "{joint.name}"')
    velocity = np.zeros(6)
    for step, own in _steps(joint, q, v):
        velocity = transported(inverse_placement(step), velocity) + own
    return velocity


def _steps(joint: Joint, q: Array, v: Array) -> Iterator[tuple[Array, Array]]:
    """Placement and velocity of each primitive motion."""
    none, pitch = np.zeros(3), getattr(joint, "pitch", 0.0)
    at_q = at_v = 0
    for kind, letter in joint.motions:
        if kind == "ball":
            yield placement(rotation=rotation_from_quaternion(q)), np.concatenate([none, v])
        elif kind == "float":
            yield placement(q[:3], rotation=rotation_from_quaternion(q[3:])), v
        else:
            axis = direction(joint, letter)
            travel = {"turn": 0.0, "travel": 1.0, "screw": pitch}[kind]
            turn = 0.0 if kind == "travel" else 1.0
            rotation = axis_angle_rotation(axis, q[at_q]) if turn else np.eye(3)
            own = np.concatenate([axis * (travel * v[at_v]), axis * (turn * v[at_v])])
            yield placement(axis * (travel * q[at_q]), rotation=rotation), own
        at_q, at_v = at_q + 1, at_v + 1


def transported(T: Array, velocity: Array) -> Array:
    """Express a velocity [linear, angular], given in frame B at B's origin, in frame A at A's origin; T is T_AB."""
    angular = T[:3, :3] @ velocity[3:]
    return np.concatenate([T[:3, :3] @ velocity[:3] + np.cross(T[:3, 3], angular), angular])


def joint_coordinates(joint: Joint, T: Array) -> Array:
    """Return the coordinates (nq,) at which a joint has placement T; what the joint holds is taken as held."""
    axis, R, p = np.array(joint.axis), T[:3, :3], T[:3, 3]
    match joint:
        case Fixed():
            return np.zeros(0)
        case Prismatic():
            return np.array([axis @ p])
        case Helical() if joint.pitch != 0.0:
            return np.array([axis @ p / joint.pitch])
        case Revolute() | Helical():
            return np.array([_turn(axis, R)])
        case Cylindrical():
            return np.array([axis @ p, _turn(axis, R)])
        case Universal():
            second = np.array(joint.second_axis)
            # R second = R(q1) second and Rᵀ axis = R(-q2) axis: each angle alone.
            return np.array([_angle(axis, second, R @ second), -_angle(second, axis, R.T @ axis)])
        case Planar():
            return np.array([direction(joint, "x") @ p, direction(joint, "y") @ p, _turn(axis, R)])
        case Spherical():
            return quaternion_from_rotation(R)
    raise InputError(f'joint "{joint.name}": coordinates of a {type(joint).__name__} do not follow from its placement')


def _turn(axis: Array, R: Array) -> float:
    """Angle of a rotation about an axis."""
    across = np.eye(3)[int(np.argmin(np.abs(axis)))]
    return _angle(axis, across, R @ across)


def _angle(axis: Array, start: Array, end: Array) -> float:
    """Angle about an axis from one vector to another."""
    first = start - axis * (axis @ start)
    return float(np.arctan2(axis @ np.cross(first, end), first @ end))
