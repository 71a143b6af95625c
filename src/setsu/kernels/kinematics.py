"""Poses, velocities and accelerations of all bodies in world axes.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R, x | rotation and origin of a link | -, m | world |
| w, v | angular velocity, velocity of the origin | rad/s, m/s | world |
| dw, acc | angular acceleration, acceleration of the origin | rad/s², m/s² | world |

    R_j = R_i ⁱR_j,  x_j = x_i + R_i p                                        (1)  yamamoto2022 (1), (2)
    w_j = w_i + R_j wj,  v_j = v_i + w_i x (x_j - x_i) + R_j vj               (2)  (8), (9)
    dw_j = dw_i + w_i x R_j wj + R_j dwj                                      (3)  (11)
    acc_j = acc_i + dw_i x d + w_i x (w_i x d) + R_j dvj + (w_i + w_j) x R_j vj    (4)  (10), d = x_j - x_i

Cost O(N). The link frame is the body frame turned by `axes`; results are for the body frame.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joint_forces import as_scalar_or_tuple
from setsu.kernels.joints import joint_columns, joint_motion, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import IDENTITY, ZERO, add, cross, multiply, rotate, sub, transpose

__all__ = [
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "give_acceleration",
    "give_pose",
    "give_velocity",
    "joint_axes",
    "outward_acceleration",
    "outward_pose",
    "outward_velocity",
    "poses_and_axes",
    "start_acceleration",
    "start_pose",
    "start_velocity",
]


def start_pose(world: Any) -> None:
    """The world frame."""
    world.R, world.x = IDENTITY, ZERO


def outward_pose(link: Any) -> None:
    """Pose of the link (1)."""
    R, p = joint_pose(link)
    link.x = add(link.parent.x, rotate(link.parent.R, p))
    link.R = multiply(link.parent.R, R)


def start_velocity(world: Any) -> None:
    """The world rests."""
    world.w = world.v_origin = ZERO


def outward_velocity(link: Any) -> None:
    """Velocity of the link (2)."""
    vj, wj = joint_motion(link, link.v)
    d = sub(link.x, link.parent.x)
    link.w = add(link.parent.w, rotate(link.R, wj))
    link.v_origin = add(add(link.parent.v_origin, cross(link.parent.w, d)), rotate(link.R, vj))


def start_acceleration(world: Any) -> None:
    """The world does not accelerate: these are accelerations as a camera sees them, without gravity."""
    world.dw = world.acc = ZERO


def outward_acceleration(link: Any) -> None:
    """Acceleration of the link (3), (4)."""
    vj, wj = (rotate(link.R, part) for part in joint_motion(link, link.v))
    dvj, dwj = (rotate(link.R, part) for part in joint_motion(link, link.a))
    w_parent = link.parent.w
    d = sub(link.x, link.parent.x)
    link.dw = add(add(link.parent.dw, cross(w_parent, wj)), dwj)
    acc = add(add(link.parent.acc, cross(link.parent.dw, d)), cross(w_parent, cross(w_parent, d)))
    link.acc = add(add(acc, dvj), cross(add(w_parent, link.w), vj))


def give_pose(link: Any) -> None:
    """Placement of the body as a 4x4 matrix."""
    R, x = multiply(link.R, transpose(link.axes)), link.x
    link.poses = (*R[0:3], x[0], *R[3:6], x[1], *R[6:9], x[2], 0.0, 0.0, 0.0, 1.0)


def give_velocity(link: Any) -> None:
    """Velocity of the body."""
    link.velocities = (*link.v_origin, *link.w)


def give_acceleration(link: Any) -> None:
    """Acceleration of the body."""
    link.accelerations = (*link.acc, *link.dw)


def _give_axes(link: Any) -> None:
    columns = [(*rotate(link.R, linear), *rotate(link.R, angular)) for linear, angular in joint_columns(link)]
    link.columns = as_scalar_or_tuple(tuple(columns))


_POSE = {"R": 9, "x": 3}
_VELOCITY = {**_POSE, "w": 3, "v_origin": 3}
_Q, _V, _A = Array("q", "q"), Array("v", "v"), Array("a", "v")


def body_poses() -> Kernel:
    """4x4 placement of each body in the world, row by row."""
    return Kernel(
        name="body_poses",
        inputs=(_Q,),
        outputs=(Array("poses", "body", 16),),
        phases=(start_pose, Loop("links", (outward_pose, give_pose))),
        link_fields=_POSE,
    )


def joint_axes() -> Kernel:
    """(6, nv): direction of each joint velocity, world axes: a joint wrench times it is its torque."""
    return Kernel(
        name="joint_axes",
        inputs=(_Q,),
        outputs=(Array("columns", "dof", 6),),
        phases=(start_pose, Loop("links", (outward_pose, _give_axes))),
        link_fields=_POSE,
    )


def poses_and_axes() -> Kernel:
    """Both of these in one sweep."""
    return Kernel(
        name="poses_and_axes",
        inputs=(_Q,),
        outputs=(Array("poses", "body", 16), Array("columns", "dof", 6)),
        phases=(start_pose, Loop("links", (outward_pose, give_pose, _give_axes))),
        link_fields=_POSE,
    )


def body_velocities() -> Kernel:
    """Linear velocity of the body origin and angular velocity, world axes."""
    return Kernel(
        name="body_velocities",
        inputs=(_Q, _V),
        outputs=(Array("velocities", "body", 6),),
        phases=(start_pose, start_velocity, Loop("links", (outward_pose, outward_velocity, give_velocity))),
        link_fields=_VELOCITY,
    )


def body_accelerations() -> Kernel:
    """Linear acceleration of the body origin and angular acceleration, world axes, gravity not counted."""
    steps = (outward_pose, outward_velocity, outward_acceleration, give_acceleration)
    return Kernel(
        name="body_accelerations",
        inputs=(_Q, _V, _A),
        outputs=(Array("accelerations", "body", 6),),
        phases=(start_pose, start_velocity, start_acceleration, Loop("links", steps)),
        link_fields={**_VELOCITY, "dw": 3, "acc": 3},
    )
