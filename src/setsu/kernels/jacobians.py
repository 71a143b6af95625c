"""Jacobian of a point fixed on a body, or of a frame there, and its rate; in world axes, or those of the frame.

| symbol | meaning |
|---|---|
| S = (S_l, S_a) | motion of a joint velocity in world axes about O (world_motion.py) |
| P, dP | the point relative to O, its velocity |
| V = (V_l, V_a) | spatial velocity of the link about O |

    J_d = S_l + S_a x P                                                       (1)
    Ṡ = V x S  (a column is constant in its link),   J̇_d = Ṡ_l + Ṡ_a x P + S_a x dP     (2)
    frame: (J_d, S_a) and (J̇_d, Ṡ_a), turned by Rᵀ of the frame where its axes are asked for           (3)

O does not move (the first link's origin is taken at one instant). Cost O(N) for the motion, O(depth) for the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.kernels.frames import TURN, frame_rotation, turned_into_frame
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import Vector, add, cross, rotate, rotate_back
from setsu.kernels.world_motion import (
    FRAME_FIELDS,
    combine,
    cross_motion,
    outward_columns,
    outward_frame,
    per_column,
    start_frame,
)

__all__ = ["frame_jacobian", "frame_jacobian_rate", "point_jacobian", "point_jacobian_rate"]


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


def _find_axes(world: Any) -> None:
    world.R_frame = frame_rotation(world)


def _linear(d: Any) -> Vector:
    return add(d.S[:3], cross(d.S[3:], d.world.P))  # (1)


def _linear_rate(d: Any) -> Vector:
    dS = d.dS
    return add(add(dS[:3], cross(dS[3:], d.world.P)), cross(d.S[3:], d.world.dP))  # (2)


def _column(d: Any) -> None:
    d.J = _linear(d)


def _column_rate(d: Any) -> None:
    d.dJ = _linear_rate(d)


def _frame_column(d: Any) -> None:
    d.J6 = (*_linear(d), *d.S[3:])  # (3)


def _frame_column_rate(d: Any) -> None:
    d.dJ6 = (*_linear_rate(d), *d.dS[3:])


def _local_column(d: Any) -> None:
    d.J6 = turned_into_frame(d.world.R_frame, (*_linear(d), *d.S[3:]))


def _local_column_rate(d: Any) -> None:
    d.dJ6 = turned_into_frame(d.world.R_frame, (*_linear_rate(d), *d.dS[3:]))


_FIELDS = {**FRAME_FIELDS, "P": 3}
_POINT = Array("point", "total", 3)


def point_jacobian() -> Kernel:
    """(3, nv) Jacobian of a point given in the target body's frame."""
    return _jacobian("point_jacobian", Array("J", "dof", 3), _column)


def point_jacobian_rate() -> Kernel:
    """(3, nv) time derivative of the Jacobian."""
    return _jacobian("point_jacobian_rate", Array("dJ", "dof", 3), _column_rate, rate=True)


def frame_jacobian(local: bool = False) -> Kernel:
    """(6, nv) Jacobian of a frame at a point of the target body: velocity of the point, angular velocity.

    local: in the axes of the frame, which `turn` gives in the body's.
    """
    if local:
        return _jacobian("frame_jacobian_local", Array("J6", "dof", 6), _local_column, local=True)
    return _jacobian("frame_jacobian", Array("J6", "dof", 6), _frame_column)


def frame_jacobian_rate(local: bool = False) -> Kernel:
    """(6, nv) time derivative of the Jacobian in world axes, `local`: that turned into the axes of the frame."""
    if local:
        output = Array("dJ6", "dof", 6)
        return _jacobian("frame_jacobian_rate_local", output, _local_column_rate, rate=True, local=True)
    return _jacobian("frame_jacobian_rate", Array("dJ6", "dof", 6), _frame_column_rate, rate=True)


def _jacobian(
    name: str, output: Array, column: Callable[[Any], None], *, rate: bool = False, local: bool = False
) -> Kernel:
    links = (outward_frame, outward_columns, *((_velocity,) if rate else ()))
    return Kernel(
        name=name,
        inputs=(
            Array("q", "q"),
            *((Array("v", "v"),) if rate else ()),
            _POINT,
            *((TURN,) if local else ()),
        ),
        outputs=(output,),
        phases=(
            start_frame,
            *((_start_rest,) if rate else ()),
            Loop("links", links),
            _find_point,
            *((_find_point_velocity,) if rate else ()),
            *((_find_axes,) if local else ()),
            Loop("target_dofs", (column,)),
        ),
        link_fields={
            **_FIELDS,
            **({"dP": 3, "V": 6} if rate else {}),
            **({"R_frame": 9} if local else {}),
        },
        dof_fields={"S": 6, **({"dS": 6} if rate else {})},
    )
