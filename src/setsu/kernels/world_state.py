"""Everything that constraints ask of a moving mechanism, in one or two sweeps: poses, directions, motions.

| result | meaning | frame |
|---|---|---|
| poses | 4x4 placement of each body | world |
| velocities | of the body origin, and angular | world |
| accelerations | the same at zero joint accelerations, gravity not counted | world |
| directions | of each joint velocity: motion of its joint's origin (3), rotation (3), and that origin (3) | world |
| M | mass matrix (composite_body.py) | |
| tau | bias torque, springs between points not counted (newton_euler_link.py) | |

`world_poses` gives what depends on coordinates alone, with the mass matrix or without; `world_rates` the rest.

A point r of a body moves by  l + a x (r - o)  for unit velocity with directions (l, a, o).                     (1)

Directions about each joint's own origin, not about one common point: nothing is lost far from the world's origin.
Equations: kinematics.py (1)-(4). Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.composite_body import MASS_MATRIX
from setsu.kernels.joint_forces import as_scalar_or_tuple
from setsu.kernels.joints import joint_columns, joint_pose
from setsu.kernels.kinematics import (
    give_acceleration,
    give_pose,
    give_velocity,
    outward_acceleration,
    outward_pose,
    outward_velocity,
    start_acceleration,
    start_pose,
    start_velocity,
)
from setsu.kernels.newton_euler_world import inward
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    ZERO,
    Vector,
    acceleration_matrix,
    add,
    cross,
    moment_of_acceleration,
    multiply,
    rotate,
    rotate_back,
    scale,
    sub,
    transpose,
)
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    inertia_about_reference,
    outward_columns,
    start_body,
    start_frame,
)

__all__ = ["world_poses", "world_poses_and_mass", "world_rates"]


def _give_directions(link: Any) -> None:
    _give_directions_from(link, link.x)


def _give_directions_from(link: Any, origin: Vector) -> None:
    link.directions = as_scalar_or_tuple(
        tuple((*rotate(link.R, linear), *rotate(link.R, angular), *origin) for linear, angular in joint_columns(link))
    )


_POSES = (Array("poses", "body", 16), Array("directions", "dof", 9))


def world_poses() -> Kernel:
    """Poses (16) per body and directions (9, nv)."""
    return Kernel(
        name="world_poses",
        inputs=(Array("q", "q"),),
        outputs=_POSES,
        phases=(start_pose, Loop("links", (outward_pose, give_pose, _give_directions))),
        link_fields={"R": 9, "x": 3},
    )


def _start_position(world: Any) -> None:
    world.position = ZERO


def _outward_position(link: Any) -> None:
    """Rotation of the link, its origin relative to the tree's first link as composite bodies need it, its position."""
    R, p = joint_pose(link)
    d = rotate(link.parent.R, p)
    link.x = add(link.parent.x, scale(d, link.carried))
    link.position = add(link.parent.position, d)
    link.R = multiply(link.parent.R, R)


def _give_pose_at_position(link: Any) -> None:
    R, x = multiply(link.R, transpose(link.axes)), link.position
    link.poses = (*R[0:3], x[0], *R[3:6], x[1], *R[6:9], x[2], 0.0, 0.0, 0.0, 1.0)
    _give_directions_from(link, link.position)


def world_poses_and_mass() -> Kernel:
    """The same and the mass matrix, in one sweep."""
    steps = (_outward_position, _give_pose_at_position, outward_columns, inertia_about_reference)
    return Kernel(
        name="world_poses_and_mass",
        inputs=(Array("q", "q"),),
        outputs=(*_POSES, Array("M", "matrix")),
        phases=(start_frame, _start_position, start_body, Loop("links", steps), *MASS_MATRIX),
        link_fields={**FRAME_FIELDS, **BODY_FIELDS, "position": 3},
        dof_fields={"S": 6, "F": 6},
        regrouped=True,
    )


def _start_bias(world: Any) -> None:
    world.f = world.n = ZERO


def _bias_force(link: Any) -> None:
    """Force and moment the motion of the link needs against gravity, world axes: newton_euler_link.py (4)."""
    R, s = link.R, link.moment
    acc = rotate_back(R, sub(link.acc, link.gravity))
    U = acceleration_matrix(rotate_back(R, link.w), rotate_back(R, link.dw))
    link.f = rotate(R, add(scale(acc, link.mass), rotate(U, s)))
    link.n = rotate(R, add(cross(s, acc), moment_of_acceleration(U, link.second_moment)))


def world_rates() -> Kernel:
    """Velocities (6) and bias accelerations (6) per body, and the bias torque, in one sweep."""
    steps = (outward_pose, outward_velocity, outward_acceleration, give_velocity, give_acceleration, _bias_force)
    return Kernel(
        name="world_rates",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("velocities", "body", 6), Array("accelerations", "body", 6), Array("tau", "v")),
        zeros=("a",),
        phases=(
            start_pose,
            start_velocity,
            start_acceleration,
            _start_bias,
            Loop("links", steps),
            Loop("links_down", (inward,)),
        ),
        link_fields={"R": 9, "x": 3, "w": 3, "v_origin": 3, "dw": 3, "acc": 3, "f": 3, "n": 3},
        regrouped=True,
    )
