"""Jacobian of a point fixed on a body, and its rate, in world axes.

| symbol | meaning |
|---|---|
| S = (S_l, S_a) | motion of a joint velocity in world axes about O (world_motion.py) |
| P, dP | the point relative to O, its velocity |
| V = (V_l, V_a) | spatial velocity of the link about O |

    J_d = S_l + S_a x P                                                       (1)
    Ṡ = V x S  (a column is constant in its link),   J̇_d = Ṡ_l + Ṡ_a x P + S_a x dP     (2)

O does not move (the first link's origin is taken at one instant). Cost O(N) for the motion, O(depth) for the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import add, cross, rotate, rotate_back
from setsu.kernels.world_motion import (
    FRAME_FIELDS,
    combine,
    cross_motion,
    outward_columns,
    outward_frame,
    per_column,
    start_frame,
)

__all__ = ["frame_jacobian", "point_jacobian", "point_jacobian_rate"]


def _start_rest(world: Any) -> None:
    world.V = (0.0,) * 6


def _velocity(link: Any) -> None:
    link.V = add(link.parent.V, combine(link, link.v))
    link.dS = per_column(link, lambda column: cross_motion(link.V, column))


def _find_point(world: Any) -> None:
    target = world.target
    world.P = add(target.x, rotate(target.R, rotate_back(target.axes, world.point)))


def _find_point_velocity(world: Any) -> None:
    V = world.target.V
    world.dP = add(V[:3], cross(V[3:], world.P))


def _column(d: Any) -> None:
    S = d.S
    d.J = add(S[:3], cross(S[3:], d.world.P))  # (1)


def _column_with_rotation(d: Any) -> None:
    S = d.S
    d.J6 = (*add(S[:3], cross(S[3:], d.world.P)), *S[3:])


def _column_rate(d: Any) -> None:
    S, dS = d.S, d.dS
    d.dJ = add(add(dS[:3], cross(dS[3:], d.world.P)), cross(S[3:], d.world.dP))  # (2)


_FIELDS = {**FRAME_FIELDS, "P": 3}
_POINT = Array("point", "total", 3)


def point_jacobian() -> Kernel:
    """(3, nv) Jacobian of a point given in the target body's frame."""
    return _jacobian("point_jacobian", Array("J", "dof", 3), _column)


def frame_jacobian() -> Kernel:
    """(6, nv) Jacobian of a frame at a point of the target body: velocity of the point, angular velocity."""
    return _jacobian("frame_jacobian", Array("J6", "dof", 6), _column_with_rotation)


def _jacobian(name: str, output: Array, column: Callable[[Any], None]) -> Kernel:
    return Kernel(
        name=name,
        inputs=(Array("q", "q"), _POINT),
        outputs=(output,),
        phases=(
            start_frame,
            Loop("links", (outward_frame, outward_columns)),
            _find_point,
            Loop("target_dofs", (column,)),
        ),
        link_fields=_FIELDS,
        dof_fields={"S": 6},
    )


def point_jacobian_rate() -> Kernel:
    """(3, nv) time derivative of the Jacobian."""
    return Kernel(
        name="point_jacobian_rate",
        inputs=(Array("q", "q"), Array("v", "v"), _POINT),
        outputs=(Array("dJ", "dof", 3),),
        phases=(
            start_frame,
            _start_rest,
            Loop("links", (outward_frame, outward_columns, _velocity)),
            _find_point,
            _find_point_velocity,
            Loop("target_dofs", (_column_rate,)),
        ),
        link_fields={**_FIELDS, "dP": 3, "V": 6},
        dof_fields={"S": 6, "dS": 6},
    )
