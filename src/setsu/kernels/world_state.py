"""Everything that constraints ask of a moving mechanism, in one sweep: poses, motions, directions of all velocities.

| result | meaning | frame |
|---|---|---|
| poses | 4x4 placement of each body | world |
| velocities | of the body origin, and angular | world |
| accelerations | the same at zero joint accelerations, gravity not counted | world |
| directions | of each joint velocity: motion of its joint's origin (3), rotation (3), and that origin (3) | world |

A point r of a body moves by  l + a x (r - o)  for unit velocity with directions (l, a, o).                     (1)

Directions about each joint's own origin, not about one common point: nothing is lost far from the world's origin.
Equations: kinematics.py (1)-(4). Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joint_forces import as_scalar_or_tuple
from setsu.kernels.joints import joint_columns
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
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import rotate

__all__ = ["world_state"]


def _give_axes(link: Any) -> None:
    link.directions = as_scalar_or_tuple(
        tuple((*rotate(link.R, linear), *rotate(link.R, angular), *link.x) for linear, angular in joint_columns(link))
    )


def world_state() -> Kernel:
    """Poses (16), velocities (6) and bias accelerations (6) per body, directions (9, nv)."""
    steps = (outward_pose, outward_velocity, outward_acceleration, give_pose, give_velocity, give_acceleration)
    return Kernel(
        name="world_state",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(
            Array("poses", "body", 16),
            Array("velocities", "body", 6),
            Array("accelerations", "body", 6),
            Array("directions", "dof", 9),
        ),
        zeros=("a",),
        phases=(start_pose, start_velocity, start_acceleration, Loop("links", (*steps, _give_axes))),
        link_fields={"R": 9, "x": 3, "w": 3, "v_origin": 3, "dw": 3, "acc": 3},
    )
