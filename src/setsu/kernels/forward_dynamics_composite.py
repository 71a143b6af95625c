"""Forward dynamics by the mass matrix of composite bodies and its sparse factors.

| symbol | meaning |
|---|---|
| S, V, A, m, h, E, F | as in world_motion.py and composite_body.py |
| A | spatial acceleration with all joint accelerations zero |
| f | force the subtree needs for that motion, less the external wrenches |

    A_j = A_i + V_j x Σ S v,   A_0 = (-g, 0)                                  (1)
    f_j = I A_j + V_j x* I V_j - external,   f_i += f_j                       (2)
    b_d = S_d · f + friction                                                  (3)
    M a = tau - b,  M = Lᵀ D L                                                (4)

Source: Walker and Orin 1982, method 3; Featherstone 2008, ch. 6, 8. Cost O(N depth²), below articulated bodies for the
shallow trees of real robots. A long chain has no zeros to leave out: the sparse factors walk from parent to parent, one
number at a time, where a dense solution streams through rows. `is_deep` says where that is faster.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from setsu.kernels.composite_body import column_forces
from setsu.kernels.factorisation import FACTOR, SOLVE
from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple, joint_passive
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import add, cross, dot, negative, scale, sub
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    combine,
    cross_force,
    cross_motion,
    each,
    gather_body,
    inertia_about_reference,
    outward_columns,
    outward_frame,
    start_body,
    start_frame,
    times_inertia,
)

__all__ = [
    "MASS_ENTRIES",
    "bias_motion",
    "forward_dynamics_composite",
    "gather_force",
    "is_deep",
    "right_hand_side",
    "start_motion",
]


def start_motion(world: Any) -> None:
    """The world rests and accelerates against gravity."""
    world.V = world.f = (0.0,) * 6
    world.A = (*negative(world.gravity), 0.0, 0.0, 0.0)


def bias_motion(link: Any) -> None:
    """Motion without joint accelerations, and the force it needs (1), (2)."""
    moved = combine(link, link.v)
    V = add(link.parent.V, moved)
    A = add(link.parent.A, cross_motion(V, moved))
    link.V, link.A = V, A
    momentum = times_inertia(link.m, link.h, link.E, V)
    link.f = add(times_inertia(link.m, link.h, link.E, A), cross_force(V, momentum))


def take_external(link: Any) -> None:
    """Subtract the external wrench, moved from the body origin to O (2)."""
    wrench = scale(link.external, link.is_body)
    link.f = sub(link.f, (*wrench[:3], *add(wrench[3:], cross(link.x, wrench[:3]))))


def gather_force(link: Any) -> None:
    """Hand the force on to the parent (2)."""
    link.parent.f = add(link.parent.f, link.f)


def right_hand_side(link: Any) -> None:
    """What is left of the drive's force to accelerate (3), (4)."""
    left = [
        tau - dot(column, link.f) - passive
        for tau, column, passive in zip(as_tuple(link.tau), each(link.S), joint_passive(link), strict=True)
    ]
    link.y = as_scalar_or_tuple(tuple(left))


def _entry(d: Any, e: Any) -> None:
    d.H[e] = dot(e.S, d.F)


def _armature(d: Any) -> None:
    d.H[d] = d.H[d] + d.armature


def _give(d: Any) -> None:
    d.a = d.y


MASS_ENTRIES = Loop("dofs", (Loop("ancestors", (_entry,)), _armature))


# Nanoseconds, measured on several processors: of one elimination along the tree, of a dense solution's start, and of a
# dense one per cube of the size.
_SPARSE, _START, _DENSE = 2.2, 8000.0, 0.1


@lru_cache(maxsize=256)
def is_deep(dof_parent: bytes) -> bool:
    """Whether a dense solution beats factors along the tree; dof_parent: the velocity each one rides on, or -1, as the
    bytes of 64-bit integers.
    """
    depth: list[int] = []
    for parent in memoryview(dof_parent).cast("q"):
        depth.append(1 if parent < 0 else depth[parent] + 1)
    eliminations = sum(d * (d - 1) // 2 for d in depth)
    return _SPARSE * eliminations > _START + _DENSE * len(depth) ** 3


def forward_dynamics_composite(external: bool = False) -> Kernel:
    """Joint accelerations for torques; with `external`, wrenches (bodies, 6) act on the bodies."""
    motion = (outward_frame, outward_columns, inertia_about_reference, bias_motion)
    state = (Array("q", "q"), Array("v", "v"), Array("tau", "v"))
    return Kernel(
        name="forward_dynamics_composite" + ("_external" if external else ""),
        inputs=(*state, Array("external", "body", 6)) if external else state,
        outputs=(Array("a", "v"),),
        phases=(
            start_frame,
            start_body,
            start_motion,
            Loop("links", (*motion, *((take_external,) if external else ()))),
            Loop("links_down", (column_forces, right_hand_side, gather_body, gather_force)),
            MASS_ENTRIES,
            FACTOR,
            *SOLVE,
            Loop("dofs", (_give,)),
        ),
        link_fields={**FRAME_FIELDS, **BODY_FIELDS, "V": 6, "A": 6, "f": 6},
        dof_fields={"S": 6, "F": 6, "y": 1, "ratio": 1, "inverse": 1},
        matrices=("H",),
        regrouped=True,
    )
