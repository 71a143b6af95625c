"""Kinetic and potential energy as linear functions of the bodies' inertial parameters: T = k(q, v) θ, V = h(q) θ.

Per body θ = (m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz), inertia about the body origin in body axes.

| symbol | meaning | frame |
|---|---|---|
| R, p | rotation and origin of the link in its parent link | parent link |
| w, v | angular velocity, velocity of the origin | link |
| down | acceleration of free fall | link |
| height | potential energy of a unit mass at the origin (m²/s²) | |

    w = Rᵀ w_i + wj,   v = Rᵀ (v_i + w_i x p) + vj                              (1)
    down = Rᵀ down_i,   height = height_i - down_i · p                          (2)
    T = ½ m v·v + (m c) · (v x w) + ½ w · I w,   V = m height - (m c) · down    (3)

Everything stays in link frames, so that a symbolic run never multiplies out what a body's pose in the world has in
common with its velocity. Source: kinetic and potential energy of a rigid body. Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joints import joint_motion, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import ZERO, add, cross, dot, rotate, rotate_back

__all__ = ["energy_regressor"]


def _start(world: Any) -> None:
    world.w = world.v_link = ZERO
    world.down, world.height = world.gravity, 0.0


def _outward(link: Any) -> None:
    parent = link.parent
    R, p = joint_pose(link)
    vj, wj = joint_motion(link, link.v)
    link.w = add(rotate_back(R, parent.w), wj)  # (1)
    link.v_link = add(rotate_back(R, add(parent.v_link, cross(parent.w, p))), vj)
    link.down = rotate_back(R, parent.down)  # (2)
    link.height = parent.height - dot(parent.down, p)


def _energies(link: Any) -> None:
    v, w, down = (rotate(link.axes, vector) for vector in (link.v_link, link.w, link.down))
    link.kinetic = (
        0.5 * dot(v, v),
        *cross(v, w),  # (3)
        0.5 * (w[0] * w[0]), w[0] * w[1], 0.5 * (w[1] * w[1]), w[0] * w[2], w[1] * w[2], 0.5 * (w[2] * w[2]),
    )  # fmt: skip
    link.potential = (link.height, *(-entry for entry in down), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def energy_regressor() -> Kernel:
    """Kinetic and potential energy of each body per unit of each of its ten parameters."""
    return Kernel(
        name="energy_regressor",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("kinetic", "body", 10), Array("potential", "body", 10)),
        phases=(_start, Loop("links", (_outward, _energies))),
        link_fields={"w": 3, "v_link": 3, "down": 3, "height": 1},
    )
