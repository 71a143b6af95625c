"""How a mechanism is packed for the generic loops: one table of integers, one of floats, one work space.

Integers: HEADER_INTS, then LINK_INTS per link, DOF_INTS per velocity, TWO_BODY_INTS per two-body element, LINE_INTS per
line.
Floats: gravity in HEADER_FLOATS, then the constants of the links, the velocities, the two-body elements and the lines.
Work space, in entries of `lanes` doubles: the fields of the world and of each link, the fields of each velocity, the
scratch matrices, the slots of passed fields; then the tiles of the arrays. A link takes a slot that is free, and its
last child frees it: a chain of any length gets by with three, which stay in the first-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.kernels.program import (
    DOF_CONSTANTS,
    INERTIAL_CONSTANTS,
    LINE_CONSTANTS,
    LINK_CONSTANTS,
    TWO_BODY_CONSTANTS,
    Kernel,
)
from setsu.mechanism.tables import Inertias, Kind, Tables

__all__ = [
    "DOF_INTS",
    "DOF_OFFSET",
    "DOF_STRIDE",
    "HEADER_FLOATS",
    "HEADER_INTS",
    "LINE_INTS",
    "LINE_OFFSET",
    "LINE_STRIDE",
    "LINK_INTS",
    "LINK_OFFSET",
    "LINK_STRIDE",
    "TWO_BODY_INTS",
    "TWO_BODY_OFFSET",
    "TWO_BODY_STRIDE",
    "Variant",
    "offsets",
    "pack",
    "variant",
    "work_entries",
]

# n_links, nv, n_bodies, last velocity and last link of the target body, n_springs, n_loops, n_pushes, n_lines
HEADER_INTS = 9
# kind, parent + 1, q_index, v_index, body, last velocity, slot, slot of the parent
LINK_INTS = 8
# parent velocity, first velocity of the joint, number of velocities of the joint
DOF_INTS = 3
# link_a + 1, link_b + 1, last velocity of either
TWO_BODY_INTS = 4
# first piece, the one after the last
LINE_INTS = 2
HEADER_FLOATS = 3


def offsets(widths: dict[str, int]) -> tuple[dict[str, int], int]:
    """Return where each named group starts in a row, and the length of the row."""
    starts, position = {}, 0
    for name, width in widths.items():
        starts[name] = position
        position += width
    return starts, position


LINK_OFFSET, LINK_STRIDE = offsets(LINK_CONSTANTS)
DOF_OFFSET, DOF_STRIDE = offsets(DOF_CONSTANTS)
TWO_BODY_OFFSET, TWO_BODY_STRIDE = offsets(TWO_BODY_CONSTANTS)
LINE_OFFSET, LINE_STRIDE = offsets(LINE_CONSTANTS)


@dataclass(frozen=True)
class Variant:
    """What generic code is made for: the kinds of joints met, and constants that are 0 or 1 throughout."""

    kinds: tuple[Kind, ...]
    uniform: tuple[tuple[str, float], ...]


def variant(tables: Tables) -> Variant:
    """Find the variant of a mechanism; a coarse description, so that few variants are ever compiled."""
    uniform = []
    for name in ("is_body", *DOF_CONSTANTS):
        values = getattr(tables, name)
        for value in (0.0, 1.0):
            if bool(np.all(values == value)) and (value == 0.0 or name == "is_body"):
                uniform.append((name, value))
    # Without any joint no loop body runs, but it has to be there.
    kinds = tuple(sorted(map(Kind, np.unique(tables.kind)))) or (Kind.REVOLUTE,)
    return Variant(kinds, tuple(uniform))


def pack(kernel: Kernel, tables: Tables, target: int = -1) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the integer and float tables of a mechanism for a kernel; kernels share them, nobody writes to them."""
    kept = tables.__dict__.setdefault("_packed", {})
    key = kernel.regrouped, target
    if key not in kept:
        kept[key] = _packed(tables.regrouped if kernel.regrouped else tables.true, tables, target)
    return kept[key]


def _packed(inertias: Inertias, tables: Tables, target: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    n, nv = tables.n_links, tables.nv
    counts = np.zeros(n, dtype=np.int64)
    for k in np.unique(tables.kind):
        counts[tables.kind == k] = Kind(k).nv
    last = tables.v_index + counts - 1
    target_link = int(tables.body_link[target]) if target >= 0 else -1
    target_dof = last[target_link] if target >= 0 else -1
    slot = _slots(tables)
    links = np.stack(
        [
            *(tables.kind, tables.parent + 1, tables.q_index, tables.v_index, tables.body, last),
            *(slot[1:], slot[tables.parent + 1]),
        ],
        axis=1,
    )
    dofs = np.stack([tables.dof_parent, tables.v_index[tables.dof_link], counts[tables.dof_link]], axis=1)
    two_body, lines = tables.two_body, tables.lines
    header = np.array(
        [
            *(n, nv, len(tables.body_link), target_dof, target_link),
            *(tables.n_springs, tables.n_loops, tables.n_pushes, len(lines.first)),
        ]
    )
    ends = [np.where(link >= 0, last[link], -1) if n else link for link in (two_body.link_a, two_body.link_b)]
    two_body_ints = np.stack([two_body.link_a + 1, two_body.link_b + 1, *ends], axis=1)
    line_ints = np.stack([lines.first, lines.stop], axis=1)
    ints = np.concatenate([header, links.ravel(), dofs.ravel(), two_body_ints.ravel(), line_ints.ravel()]).astype(
        np.int64
    )
    columns = {
        name: getattr(inertias if name in INERTIAL_CONSTANTS else tables, name).reshape(n, width)
        for name, width in LINK_CONSTANTS.items()
    }
    link_floats = np.concatenate([columns[name] for name in LINK_CONSTANTS], axis=1)
    dof_floats = np.stack([getattr(tables, name) for name in DOF_CONSTANTS], axis=1).reshape(nv, DOF_STRIDE)
    two_body_floats = [getattr(two_body, name).reshape(-1, width) for name, width in TWO_BODY_CONSTANTS.items()]
    two_body_rows = np.concatenate(two_body_floats, axis=1)
    line_rows = np.stack([getattr(lines, name) for name in LINE_CONSTANTS], axis=1)
    parts = (link_floats, dof_floats, two_body_rows, line_rows)
    floats = np.concatenate([tables.gravity, *(part.ravel() for part in parts)])
    ints.flags.writeable = floats.flags.writeable = False
    return ints, floats


def _slots(tables: Tables) -> NDArray[np.int64]:
    """Slot of the world and of each link: no link shares one with a link whose children are still to come."""
    kept = tables.__dict__.get("_slots")
    if kept is not None:
        return kept
    parents = tables.parent.tolist()
    last_child = {parent: child for child, parent in enumerate(parents)}
    slots, free, count = [0], [], 1
    for link, parent in enumerate(parents):
        if free:
            slots.append(free.pop())
        else:
            slots.append(count)
            count += 1
        if parent >= 0 and last_child[parent] == link:
            free.append(slots[parent + 1])
        if link not in last_child:
            free.append(slots[link + 1])
    tables.__dict__["_slots"] = np.array(slots, dtype=np.int64)
    return tables.__dict__["_slots"]


def work_entries(kernel: Kernel, tables: Tables) -> int:
    """Entries of scratch space a kernel needs, without the tiles."""
    links = (tables.n_links + 1) * sum(kernel.kept_fields.values())
    dofs = tables.nv * sum(kernel.dof_fields.values())
    passed = (int(_slots(tables).max()) + 1) * sum(kernel.passed_fields.values())
    return links + dofs + len(kernel.matrices) * tables.nv**2 + passed
