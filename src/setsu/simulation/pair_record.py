"""What a run keeps of contacts between bodies: which pair, where, how strong, and when it began and ended.

Compiled code notes it (contact/pair_log.py); here it gets names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.simulation.events import EventReport
from setsu.simulation.recording import BodyContacts

__all__ = ["PairRecord"]

Floats = NDArray[np.float64]

_KINDS = ("touch", "lift-off")


class PairRecord:
    """Contacts between the bodies of a mechanism, step after step.

    names: of the two bodies of each pair, in the order of the log.
    """

    def __init__(self, names: Sequence[tuple[str, str]], keeps_forces: bool) -> None:
        self._names, self._keeps = list(names), keeps_forces
        self._rows: list[Any] = []

    def fetch(self, log: Any, first: int, t0: float, step: float) -> list[tuple[int, EventReport]]:
        """Take over what the log (PairLog) holds since row `first`, and empty it; return its events with their steps.

        t0, step: s; step k begins at t0 + k step.
        """
        rows, events = log.counts.tolist()
        taken = log.rows[:rows].copy()
        taken["row"] += first
        if self._keeps:
            self._rows.append(taken)
        none = np.zeros(0)
        found = [
            (k, EventReport(t0 + k * step, _KINDS[kind], " - ".join(self._names[pair]), none, none))
            for k, kind, pair in log.events[:events].tolist()
        ]
        log.counts[:] = 0
        return found

    def contacts(self, count: int) -> BodyContacts:
        """Return all pairs that touched in a recording of so many rows."""
        rows = np.concatenate(self._rows)
        rows = rows[rows["row"] < count]
        pairs, column = np.unique(rows["pair"], return_inverse=True)
        shape = (count, len(pairs))
        force, moment, position = np.zeros((*shape, 3)), np.zeros((*shape, 3)), np.full((*shape, 3), np.nan)
        normal = np.zeros(shape)
        for values, key in ((force, "force"), (moment, "moment"), (position, "place"), (normal, "normal")):
            values[rows["row"], column] = rows[key]
        return BodyContacts(tuple(self._names[pair] for pair in pairs), force, moment, position, normal)
