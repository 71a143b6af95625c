"""Forces of recorded states: in contacts, in loops and in all joints, from what steps keep of their motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import joint_wrenches
from setsu.mechanism import Mechanism
from setsu.simulation.constrained_machine import Records
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.pushes import Push, pushed_wrenches

__all__ = ["RecordedForces", "RecordedStates", "column"]

Floats = NDArray[np.float64]

_FORCE_KEYS = ("q", "v", "a", "multiplier", "normal_force", "friction_force", "axis_force", "redundant")
_ROWS_AT_ONCE = 2000


class RecordedStates(NamedTuple):
    """Recorded states (T of them) of one motion; entries (T, 6): works, projection and impacts since the start."""

    motion: ConstrainedMotion
    records: Records
    entries: Floats


def column(blocks: Sequence[RecordedStates], key: str) -> Floats:
    """One field of the records of blocks, one after the other."""
    return np.concatenate([getattr(block.records, key) for block in blocks])


@dataclass(frozen=True)
class RecordedForces:
    """Forces in the states of blocks, T of them together, computed when asked for; world axes."""

    mechanism: Mechanism
    blocks: tuple[RecordedStates, ...]
    pushes: tuple[Push, ...] = ()

    @cached_property
    def _on_contacts_loops_bodies(self) -> tuple[Floats, Floats, Floats]:
        """Contact forces (T, contacts, 3), loop wrenches (T, loops, 6), all with pushes on bodies (T, n_bodies, 6)."""
        m, parts, first = self.mechanism, [], 0
        while first < len(self.blocks):
            motion, rows, last = self.blocks[first].motion, 0, first
            while last < len(self.blocks) and self.blocks[last].motion is motion and rows < _ROWS_AT_ONCE:
                rows += len(self.blocks[last].records.t)
                last += 1
            blocks = self.blocks[first:last]
            pushed = pushed_wrenches(m, self.pushes, column(blocks, "q"))
            parts.append(motion.forces(pushed, *(column(blocks, key) for key in _FORCE_KEYS)))
            first = last
        contact, loops, bodies = (np.concatenate(part) for part in zip(*parts, strict=True))
        return contact, loops, bodies

    @cached_property
    def joint_wrenches(self) -> Floats:
        """By the parent on each body at its origin, (T, n_bodies, 6)."""
        q, v, a = (column(self.blocks, key) for key in ("q", "v", "a"))
        return joint_wrenches(self.mechanism, q, v, a, self._on_contacts_loops_bodies[2], "world")

    @cached_property
    def contact_force(self) -> Floats:
        """On the mechanism, (T, contacts, 3)."""
        return self._on_contacts_loops_bodies[0]

    @cached_property
    def loop_wrench(self) -> Floats:
        """By body_a on body_b at the loop joint, (T, loops, 6)."""
        return self._on_contacts_loops_bodies[1]
