"""Mass matrix by composite bodies.

| symbol | meaning |
|---|---|
| S_d | motion of velocity d in world axes about O (world_motion.py) |
| m, h, E | inertia of the whole subtree that d moves, about O |
| F_d | force that accelerates this subtree by S_d: F_d = I S_d |

    I_i += I_j  from the tips inwards                                         (1)
    F_d = I S_d,   M[d, e] = M[e, d] = S_e · F_d  for d and all e it rides on (2)
    M[d, d] += armature                                                       (3)

Source: Walker and Orin 1982; Featherstone 2008, ch. 6. Cost O(N depth).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import dot
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    gather_body,
    inertia_about_reference,
    outward_columns,
    outward_frame,
    per_column,
    start_body,
    start_frame,
    times_inertia,
)

__all__ = ["MASS_MATRIX", "column_forces", "mass_matrix"]


def column_forces(link: Any) -> None:
    """Force of each column (2); the subtree is complete when the tips-first loop arrives here."""
    link.F = per_column(link, lambda column: times_inertia(link.m, link.h, link.E, column))


def _entry(d: Any, e: Any) -> None:
    value = dot(e.S, d.F)
    d.M[e] = value
    e.M[d] = value


def _add_armature(d: Any) -> None:
    """Inertia of the drives (3)."""
    d.M[d] = d.M[d] + d.armature


MASS_MATRIX = (
    Loop("links_down", (column_forces, gather_body)),
    Loop("dofs", (Loop("ancestors", (_entry,)), _add_armature)),
)
"""Phases (1)-(3), after a loop outwards that leaves S and the inertias of the links about O."""


def mass_matrix() -> Kernel:
    """Full symmetric mass matrix, row by row."""
    return Kernel(
        name="mass_matrix",
        inputs=(Array("q", "q"),),
        outputs=(Array("M", "matrix"),),
        phases=(
            start_frame,
            start_body,
            Loop("links", (outward_frame, outward_columns, inertia_about_reference)),
            *MASS_MATRIX,
        ),
        link_fields={**FRAME_FIELDS, **BODY_FIELDS},
        dof_fields={"S": 6, "F": 6},
        regrouped=True,
    )
