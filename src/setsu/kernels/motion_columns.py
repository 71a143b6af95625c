"""Spatial motions of bodies and joint velocities, and how coordinates and velocities change them.

| symbol | meaning (world axes, about the world's origin) |
|---|---|
| S | motion of a joint velocity |
| V, A | spatial velocity and acceleration of a body; A_0 = (-g, 0): gravity counted as an acceleration of the world |
| X, Y, Z | parent's V x S; parent's A x S + V x X; parent's V x S + own V x S |

A body b that velocity e moves changes by

    ∂V_b/∂q_e = S_e x V_b + X_e,   ∂A_b/∂q_e = S_e x A_b + X_e x V_b + Y_e    (1)
    ∂V_b/∂v_e = S_e,               ∂A_b/∂v_e = S_e x V_b + Z_e                (2)
    ∂A_b/∂a_e = S_e                                                           (3)

Derivatives by q are along velocities, as `integrate` adds them. Columns of a joint turn with its own link.
Source: Singh, Russell and Wensing 2022. Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.forward_dynamics_composite import start_motion
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import add
from setsu.kernels.world_motion import (
    FRAME_FIELDS,
    combine,
    cross_motion,
    outward_columns,
    outward_frame_absolute,
    per_column,
    start_frame,
)

__all__ = ["motion_columns"]


def _motion(link: Any) -> None:
    parent = link.parent
    moved = combine(link, link.v)
    V = add(parent.V, moved)
    A = add(add(parent.A, cross_motion(V, moved)), combine(link, link.a))
    link.V, link.A = V, A
    link.body_V, link.body_A = V, A
    link.motion = link.S
    link.by_q = per_column(link, lambda S: cross_motion(parent.V, S))
    link.by_q_twice = per_column(
        link, lambda S: add(cross_motion(parent.A, S), cross_motion(parent.V, cross_motion(parent.V, S)))
    )
    link.by_v = per_column(link, lambda S: add(cross_motion(parent.V, S), cross_motion(V, S)))


def motion_columns() -> Kernel:
    """S, X, Y, Z (6, nv) each, V and A (bodies, 6)."""
    return Kernel(
        name="motion_columns",
        inputs=(Array("q", "q"), Array("v", "v"), Array("a", "v")),
        outputs=(
            Array("motion", "dof", 6),
            Array("by_q", "dof", 6),
            Array("by_q_twice", "dof", 6),
            Array("by_v", "dof", 6),
            Array("body_V", "body", 6),
            Array("body_A", "body", 6),
        ),
        phases=(start_frame, start_motion, Loop("links", (outward_frame_absolute, outward_columns, _motion))),
        link_fields={**FRAME_FIELDS, "V": 6, "A": 6, "f": 6},
        dof_fields={"S": 6},
    )
