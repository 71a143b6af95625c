"""Index lists of elimination by articulated bodies (articulated_factor.py): what meets what on which body.

A row is eliminated when all that it moves against each other is: above the paths between the bodies of its velocities,
on the body that carries them all, or on the world. Until then the multiplier of the row presses on one body of each
path. Cost: once per mechanism.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BodyColumns", "body_columns", "last_bodies"]

Ints = NDArray[np.int64]


class BodyColumns(NamedTuple):
    """Later rows of each unknown, itself first, and the places (body, row) where a multiplier presses on a body."""

    columns: list[list[int]]
    force_place: list[list[int]]  # the same shape: the place of each row on the body where the unknown is eliminated
    carry: list[list[tuple[int, int]]]  # per body: places there and on its parent
    places: int


def last_bodies(parent: Ints, bodies: list[list[int]]) -> list[int]:
    """For rows that move joints of bodies, the body of the paths between them that is eliminated last."""
    found = []
    for own in bodies:
        heads, last = {int(parent[b]) for b in own}, min(own)
        while len(heads) > 1:
            # Bodies come after what carries them: the largest is on a path, not above all of them.
            head = max(heads)
            heads.remove(head)
            heads.add(int(parent[head]))
            last = min(last, head)
        found.append(last)
    return found


def body_columns(
    parent: Ints, velocity_start: list[int], waiting: list[list[int]], met: list[list[int]]
) -> BodyColumns:
    """Return the columns of an elimination from the last body to the first.

    parent: (n_bodies,). velocity_start: (n_bodies + 1,) velocities of each body. waiting: rows to be eliminated after
    each body, as unknowns. met: rows, as unknowns, with an entry at each velocity.
    """
    n = len(parent)
    active: list[set[int]] = [set() for _ in range(n)]
    place: list[dict[int, int]] = [{} for _ in range(n)]
    later: dict[int, set[int]] = {row: set() for rows in waiting for row in rows}
    columns: list[list[int]] = []
    force_place: list[list[int]] = []
    carry: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    count = 0

    def at(b: int, row: int) -> int:
        nonlocal count
        if b < 0:
            return -1
        if row not in place[b]:
            place[b][row] = count
            count += 1
        return place[b][row]

    def add(unknown: int, rows: set[int], home: int) -> None:
        column = sorted(rows)
        columns.append([unknown, *column])
        force_place.append([at(home, row) for row in columns[-1]] if unknown in later else [-1])
        if unknown not in later:
            force_place[-1] += [at(home, row) for row in column]
        if len(column) > 1:
            # Eliminating an unknown joins all it meets; the first of them passes that on.
            later[column[0]].update(column[1:])

    for b in range(n - 1, -1, -1):
        for d in range(velocity_start[b + 1] - 1, velocity_start[b] - 1, -1):
            active[b].update(met[d])
            add(len(columns), active[b], b)
        p = int(parent[b])
        if p >= 0:
            carry[b] = [(at(b, row), at(p, row)) for row in sorted(active[b])]
            active[p] |= active[b]
        for row in waiting[b]:
            add(row, later[row], p)
            if p >= 0:
                active[p].discard(row)
    return BodyColumns(columns, force_place, carry, count)
