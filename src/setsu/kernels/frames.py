"""Pose, velocity and acceleration of one frame: a point and axes fixed on a body, the target.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R, x, w, v, dw, acc | motion of the target's last link, as in kinematics.py | | world |
| point | origin of the frame, or a point of it | m | body |
| turn | axes of the frame | - | body |
| d | from the origin of the body to the point | m | world |

    R_F = R axesᵀ turn,   d = R axesᵀ point                                    (1)
    pose = (R_F, x + d)                                                        (2)
    velocity = (v + w x d, w)                                                  (3)
    acceleration = (acc + dw x d + w x (w x d), dw)                            (4)  of the point, gravity not counted

In the frame's axes the vectors of (3) and (4) are turned by R_Fᵀ and nothing is added. Specialised code computes the
way from the world to the target only. Cost O(N).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.kernels.kinematics import (
    outward_acceleration,
    outward_pose,
    outward_velocity,
    start_acceleration,
    start_pose,
    start_velocity,
)
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import Matrix, Vector, add, cross, multiply, rotate, rotate_back, transpose

__all__ = ["TURN", "frame_acceleration", "frame_pose", "frame_rotation", "frame_velocity", "turned_into_frame"]

_POINT, TURN = Array("point", "total", 3), Array("turn", "total", 9)
_Q, _V, _A = Array("q", "q"), Array("v", "v"), Array("a", "v")
_POSE = {"R": 9, "x": 3}
_VELOCITY = {**_POSE, "w": 3, "v_origin": 3}


def frame_rotation(world: Any) -> Matrix:
    """R_F (1)."""
    target = world.target
    return multiply(target.R, multiply(transpose(target.axes), world.turn))


def turned_into_frame(R_frame: Matrix, vector: tuple) -> tuple:
    """Linear and angular part in the axes of the frame."""
    return (*rotate_back(R_frame, vector[:3]), *rotate_back(R_frame, vector[3:]))


def _arm(world: Any) -> Vector:
    target = world.target
    return rotate(target.R, rotate_back(target.axes, world.point))  # (1)


def _give_pose(world: Any) -> None:
    R, x = frame_rotation(world), add(world.target.x, _arm(world))
    world.pose = (*R[0:3], x[0], *R[3:6], x[1], *R[6:9], x[2], 0.0, 0.0, 0.0, 1.0)  # (2)


def _velocity(world: Any) -> tuple:
    target = world.target
    return (*add(target.v_origin, cross(target.w, _arm(world))), *target.w)  # (3)


def _acceleration(world: Any) -> tuple:
    target, d = world.target, _arm(world)
    turning = add(cross(target.dw, d), cross(target.w, cross(target.w, d)))
    return (*add(target.acc, turning), *target.dw)  # (4)


def _give_velocity(world: Any) -> None:
    world.velocity = _velocity(world)


def _give_local_velocity(world: Any) -> None:
    world.velocity = turned_into_frame(frame_rotation(world), _velocity(world))


def _give_acceleration(world: Any) -> None:
    world.acceleration = _acceleration(world)


def _give_local_acceleration(world: Any) -> None:
    world.acceleration = turned_into_frame(frame_rotation(world), _acceleration(world))


def frame_pose() -> Kernel:
    """4x4 placement of the frame in the world, row by row."""
    return Kernel(
        name="frame_pose",
        inputs=(_Q, _POINT, TURN),
        outputs=(Array("pose", "total", 16),),
        phases=(start_pose, Loop("links", (outward_pose,)), _give_pose),
        link_fields=_POSE,
    )


def frame_velocity(local: bool = False) -> Kernel:
    """Velocity of the point and angular velocity, world axes, or with `local` the frame's."""
    give: Callable[[Any], None] = _give_local_velocity if local else _give_velocity
    return Kernel(
        name="frame_velocity_local" if local else "frame_velocity",
        inputs=(_Q, _V, _POINT, *((TURN,) if local else ())),
        outputs=(Array("velocity", "total", 6),),
        phases=(start_pose, start_velocity, Loop("links", (outward_pose, outward_velocity)), give),
        link_fields=_VELOCITY,
    )


def frame_acceleration(local: bool = False) -> Kernel:
    """Acceleration of the point and angular acceleration, world axes, or with `local` the frame's."""
    give: Callable[[Any], None] = _give_local_acceleration if local else _give_acceleration
    steps = (outward_pose, outward_velocity, outward_acceleration)
    return Kernel(
        name="frame_acceleration_local" if local else "frame_acceleration",
        inputs=(_Q, _V, _A, _POINT, *((TURN,) if local else ())),
        outputs=(Array("acceleration", "total", 6),),
        phases=(start_pose, start_velocity, start_acceleration, Loop("links", steps), give),
        link_fields={**_VELOCITY, "dw": 3, "acc": 3},
    )
