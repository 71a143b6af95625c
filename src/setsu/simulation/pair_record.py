"""What a run keeps of contacts between bodies: which pair, where, how strong, and when it began and ended.

f = Σ f_i,   p = Σ p_i n·f_i / Σ n·f_i,   moment = Σ (p_i - p) x f_i      (1)  over the contacts i of a pair
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Mechanism
from setsu.simulation.events import EventReport
from setsu.simulation.recording import BodyContacts

__all__ = ["PairRecord"]

Floats = NDArray[np.float64]
Pair = tuple[int, int]


class PairRecord:
    """Contacts between the bodies of a mechanism, step after step."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._names = mechanism.body_names
        self._touching: set[Pair] = set()
        self._rows: list[tuple[int, Pair, Floats]] = []

    def see(self, contacts: Any, t: float) -> list[EventReport]:
        """Return which pairs began and ended to touch in the step at time t (s), from its contact records."""
        now = {(int(c["body_a"]), int(c["body_b"])) for c in _between_bodies(contacts)}
        none = np.zeros(0)
        events = [
            EventReport(t, kind, " - ".join(self._named(pair)), none, none)
            for kind, pairs in (("touch", now - self._touching), ("lift-off", self._touching - now))
            for pair in sorted(pairs)
        ]
        self._touching = now
        return events

    def keep(self, contacts: Any, h: float, row: int) -> None:
        """Keep the forces of a step of length h (s) as a row of the recording (1)."""
        found = _between_bodies(contacts)
        for pair in sorted({(int(c["body_a"]), int(c["body_b"])) for c in found}):
            mine = found[(found["body_a"] == pair[0]) & (found["body_b"] == pair[1])]
            normal, places = mine["impulse"][:, 0] / h, mine["position"]
            forces = np.einsum("ck,cki->ci", mine["impulse"], mine["axes"]) / h
            place = normal @ places / normal.sum()
            moment = np.cross(places - place, forces).sum(axis=0)
            self._rows.append((row, pair, np.concatenate([forces.sum(axis=0), moment, place, [normal.sum()]])))

    def contacts(self, count: int) -> BodyContacts:
        """Return all pairs that touched in a recording of so many rows."""
        pairs = sorted({pair for _, pair, _ in self._rows})
        values = np.zeros((count, len(pairs), 10))
        values[:, :, 6:9] = np.nan
        for row, pair, numbers in self._rows:
            values[row, pairs.index(pair)] = numbers
        force, moment, position = (values[:, :, 3 * k : 3 * k + 3].copy() for k in range(3))
        names = tuple(self._named(pair) for pair in pairs)
        return BodyContacts(names, force, moment, position, values[:, :, 9].copy())

    def _named(self, pair: Pair) -> tuple[str, str]:
        return self._names[pair[0]], self._names[pair[1]]


def _between_bodies(contacts: Any) -> Any:
    """The contact records that press and belong to two bodies."""
    return contacts[(contacts["point"] == -1) & (contacts["impulse"][:, 0] > 0.0)]
