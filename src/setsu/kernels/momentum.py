"""Centre of mass, momentum about it, and the matrix that gives this momentum from the joint velocities.

| symbol | meaning |
|---|---|
| m, h, E | inertia of a subtree about the world origin, world axes (world_motion.py (3)) |
| S_d, F_d | motion of a velocity about the world origin, momentum of its subtree for unit velocity |
| c | h / m of everything that moves |

    F_d = I S_d                                                               (1)
    column d: (F_l, F_a - c x F_l)                                            (2)
    momentum = Σ column v                                                     (3)
    its rate = (Σ f, Σ (n + x x f) - c x Σ f) over the links, without gravity (4)

f, n: force and moment the motion of a link needs, at its origin x (newton_euler_link.py (4)).

Source: Orin, Goswami and Lee 2013. Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.composite_body import column_forces
from setsu.kernels.kinematics import (
    outward_acceleration,
    outward_velocity,
    start_acceleration,
    start_velocity,
)
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    acceleration_matrix,
    add,
    cross,
    moment_of_acceleration,
    rotate,
    rotate_back,
    scale,
    sub,
)
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    gather_body,
    inertia_about_reference,
    outward_columns,
    outward_frame_absolute,
    start_body,
    start_frame,
)

__all__ = ["center_of_mass", "centroidal_matrix", "momentum", "momentum_rate", "subtree_moments"]


def _find_center(world: Any) -> None:
    world.c = scale(world.h, 1.0 / world.m)


def _give_center(world: Any) -> None:
    world.center = world.c


def _about_center(d: Any) -> tuple:
    F = d.F
    return (*F[:3], *sub(F[3:], cross(d.world.c, F[:3])))  # (2)


def _column(d: Any) -> None:
    d.A = _about_center(d)


def _start_sum(world: Any) -> None:
    world.total = (0.0,) * 6


def _add_up(d: Any) -> None:
    d.world.total = add(d.world.total, scale(_about_center(d), d.v))  # (3)


def _give_momentum(world: Any) -> None:
    world.result = world.total


_GATHER = (
    start_frame,
    start_body,
    Loop("links", (outward_frame_absolute, outward_columns, inertia_about_reference)),
    Loop("links_down", (column_forces, gather_body)),
    _find_center,
)
_FIELDS = {**FRAME_FIELDS, **BODY_FIELDS, "c": 3}


def center_of_mass() -> Kernel:
    """Centre of mass of all moving bodies, world axes."""
    phases = (
        start_frame,
        start_body,
        Loop("links", (outward_frame_absolute, inertia_about_reference)),
        Loop("links_down", (gather_body,)),
        _find_center,
        _give_center,
    )
    return Kernel(
        name="center_of_mass",
        inputs=(Array("q", "q"),),
        outputs=(Array("center", "total", 3),),
        phases=phases,
        link_fields=_FIELDS,
    )


def centroidal_matrix() -> Kernel:
    """(6, nv) matrix A with momentum = A v."""
    return Kernel(
        name="centroidal_matrix",
        inputs=(Array("q", "q"),),
        outputs=(Array("A", "dof", 6),),
        phases=(*_GATHER, Loop("dofs", (_column,))),
        link_fields=_FIELDS,
        dof_fields={"S": 6, "F": 6},
    )


def momentum() -> Kernel:
    """Linear momentum and angular momentum about the centre of mass, world axes."""
    return Kernel(
        name="momentum",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("result", "total", 6),),
        phases=(*_GATHER, _start_sum, Loop("dofs", (_add_up,)), _give_momentum),
        link_fields={**_FIELDS, "total": 6},
        dof_fields={"S": 6, "F": 6},
    )


def _link_force(link: Any) -> None:
    """Add what the motion of the link needs to the world's total, about the world origin (4)."""
    R, s = link.R, link.moment
    acc = rotate_back(R, link.acc)
    U = acceleration_matrix(rotate_back(R, link.w), rotate_back(R, link.dw))
    f = rotate(R, add(scale(acc, link.mass), rotate(U, s)))
    n = rotate(R, add(cross(s, acc), moment_of_acceleration(U, link.second_moment)))
    link.total = (*f, *add(n, cross(link.x, f)))


def _gather_force(link: Any) -> None:
    link.parent.total = add(link.parent.total, link.total)


def _give_rate(world: Any) -> None:
    total = world.total
    world.result = (*total[:3], *sub(total[3:], cross(world.c, total[:3])))


def momentum_rate() -> Kernel:
    """Time derivative of the momentum about the centre of mass, world axes."""
    motion = (outward_frame_absolute, outward_velocity, outward_acceleration, inertia_about_reference, _link_force)
    return Kernel(
        name="momentum_rate",
        inputs=(Array("q", "q"), Array("v", "v"), Array("a", "v")),
        outputs=(Array("result", "total", 6),),
        phases=(
            start_frame,
            start_body,
            start_velocity,
            start_acceleration,
            _start_sum,
            Loop("links", motion),
            Loop("links_down", (gather_body, _gather_force)),
            _find_center,
            _give_rate,
        ),
        link_fields={**_FIELDS, "total": 6, "w": 3, "v_origin": 3, "dw": 3, "acc": 3},
    )


def _give_moment(link: Any) -> None:
    link.moments = link.h


def subtree_moments() -> Kernel:
    """First moment of mass of each body with all that hangs on it, about the world origin, world axes."""
    return Kernel(
        name="subtree_moments",
        inputs=(Array("q", "q"),),
        outputs=(Array("moments", "body", 3),),
        phases=(
            start_frame,
            start_body,
            Loop("links", (outward_frame_absolute, inertia_about_reference)),
            Loop("links_down", (gather_body,)),
            Loop("links", (_give_moment,)),
        ),
        link_fields={**FRAME_FIELDS, **BODY_FIELDS},
    )
