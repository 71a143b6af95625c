"""Springs and dampers between points of two bodies, as wrenches on the bodies.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R_w, x_w, w_w, v_w | rotation, origin, angular velocity, velocity of the origin of a link | -, m, rad/s, m/s | world |
| r | from the end on body a to the end on body b | m | world |
| external | force and moment on a link at its origin, as the kernels take external wrenches | N, N m | world |

    l = |r|,  n = r / l,  dl = n · (velocity of b's end - velocity of a's end)    (1)
    tension = stiffness (l - rest) + damping dl                                   (2)
    force on a at its end: tension n, on b at its end: -tension n                 (3)
    energy = ½ stiffness (l - rest)²                                              (4)

At l = 0 the direction is undefined and the force is taken as zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from setsu.kernels.joints import joint_motion, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    multiply,
    rotate,
    scale,
    select_negative,
    square_root,
    sub,
)

__all__ = ["add_spring_energy", "spring_direction", "spring_wrenches", "with_springs"]


def with_springs(kernel: Kernel, applied: bool = False) -> Kernel:
    """Let the springs act in a kernel that takes external wrenches; with `applied`, further wrenches are given."""
    inputs = tuple(array for array in kernel.inputs if array.name != "external")
    return replace(
        kernel,
        name=f"{kernel.name}_{'applied_' if applied else ''}springs",
        inputs=(*inputs, Array("applied", "body", 6)) if applied else inputs,
        link_fields={**kernel.link_fields, **_FIELDS},
        phases=(*(_ACT_WITH_APPLIED if applied else _ACT), *kernel.phases),
    )


def _start(world: Any) -> None:
    world.R_w, world.external = IDENTITY, (0.0,) * 6
    world.x_w = world.w_w = world.v_w = ZERO


def _motion(link: Any) -> None:
    parent = link.parent
    R, p = joint_pose(link)
    vj, wj = joint_motion(link, link.v)
    d = rotate(parent.R_w, p)
    R_w = multiply(parent.R_w, R)
    link.x_w = add(parent.x_w, d)
    link.w_w = add(parent.w_w, rotate(R_w, wj))
    link.v_w = add(add(parent.v_w, cross(parent.w_w, d)), rotate(R_w, vj))
    link.R_w = R_w


def _take_nothing(link: Any) -> None:
    link.external = (0.0,) * 6


def _take_applied(link: Any) -> None:
    link.external = scale(link.applied, link.is_body)


def _pull(spring: Any) -> None:
    a, b = spring.a, spring.b
    arm_a, arm_b = rotate(a.R_w, spring.position_a), rotate(b.R_w, spring.position_b)
    n, length, _ = spring_direction(sub(add(b.x_w, arm_b), add(a.x_w, arm_a)))
    velocity_a, velocity_b = (add(end.v_w, cross(end.w_w, arm)) for end, arm in ((a, arm_a), (b, arm_b)))
    rate = dot(n, sub(velocity_b, velocity_a))  # (1)
    force = scale(n, spring.tie_stiffness * (length - spring.tie_rest) + spring.tie_damping * rate)  # (2)
    on_a, on_b = (*force, *cross(arm_a, force)), (*force, *cross(arm_b, force))
    a.external = add(a.external, on_a)  # (3)
    b.external = sub(b.external, on_b)


def spring_wrenches() -> Kernel:
    """Wrenches of all springs on the bodies at their origins, world axes, (bodies, 6)."""
    return Kernel(
        name="spring_wrenches",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("wrenches", "body", 6),),
        phases=(*_ACT, Loop("links", (_give,))),
        link_fields=_FIELDS,
    )


def _give(link: Any) -> None:
    link.wrenches = link.external


def add_spring_energy(spring: Any) -> None:
    """Add a spring's energy to the world's total, from the links' R and x (4)."""
    a, b = spring.a, spring.b
    x_a, x_b = add(a.x, rotate(a.R, spring.position_a)), add(b.x, rotate(b.R, spring.position_b))
    stretch = spring_direction(sub(x_b, x_a))[1] - spring.tie_rest
    spring.world.total = spring.world.total + 0.5 * spring.tie_stiffness * (stretch * stretch)


_FIELDS = {"R_w": 9, "x_w": 3, "w_w": 3, "v_w": 3, "external": 6}
_ACT = (_start, Loop("links", (_motion, _take_nothing)), Loop("springs", (_pull,)))
_ACT_WITH_APPLIED = (_start, Loop("links", (_motion, _take_applied)), Loop("springs", (_pull,)))


def spring_direction(r: Vector) -> tuple[Vector, Scalar, Scalar]:
    """Unit vector along r, its length and the reciprocal of it; zero, zero and zero where r is."""
    square = dot(r, r)
    length = square_root(square)
    inverse = select_negative(square - 1e-300, 0.0, 1.0 / length)
    return scale(r, inverse), length, inverse
