"""What the searches for contact forces work on: contacts that move by x = B f + b, with their friction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import Floats

__all__ = ["Booleans", "ContactProblem"]

Booleans = NDArray[np.bool_]


class ContactProblem(NamedTuple):
    """c contacts in N states, each with a basis n, t1, t2; t1 of a sliding contact is along its sliding velocity.

    B: (N, c, 3, c, 3), 1/kg. b: (N, c, 3), accelerations without contact forces, m/s².
    friction, bilateral: (c,), K and whether the contact may pull.
    slides: (N, c), whether friction has its direction: the contact slides, or has no friction.
    """

    B: Floats
    b: Floats
    friction: Floats
    bilateral: Booleans
    slides: Booleans

    def at(self, states: NDArray[np.int64] | list[int]) -> ContactProblem:
        """Return the problem of some of the states."""
        return self._replace(B=self.B[states], b=self.b[states], slides=self.slides[states])

    def sizes(self) -> tuple[float, float]:
        """Return the largest of B's diagonal and of |b| in the first state, 1 where that is zero: units to work in."""
        stiffness = float(np.abs(np.einsum("kiki->ki", self.B[0])).max(initial=0.0))
        return stiffness or 1.0, float(np.abs(self.b[0]).max(initial=0.0)) or 1.0
