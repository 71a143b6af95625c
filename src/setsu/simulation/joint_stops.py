"""Ends of travel of joints as one-sided constraints: a joint at its limit is held there as long as it is pushed.

gap = q - lower,  gap = upper - q    of each joint with one coordinate and a finite limit        (1)
held: row ±1 on the joint's velocity, force >= 0; free: gap >= 0                                 (2)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Mechanism

__all__ = ["JointStops"]

Floats = NDArray[np.float64]


class JointStops:
    """All stops of a mechanism and which of them hold; an empty set when `active` is False."""

    def __init__(self, mechanism: Mechanism, active: bool) -> None:
        found = []
        for body, coordinates, velocities in zip(mechanism.moving, mechanism.q_slices, mechanism.v_slices, strict=True):
            if active and body.joint.nq == body.joint.nv == 1:
                for side, sign in (("lower", 1.0), ("upper", -1.0)):
                    limit = float(getattr(mechanism, side)[velocities.start])
                    if np.isfinite(limit):
                        found.append(
                            (f"{side} stop of {body.joint.name}", coordinates.start, velocities.start, sign, limit)
                        )
        self.names = tuple(entry[0] for entry in found)
        self.coordinate = np.array([entry[1] for entry in found], dtype=np.int64)
        self.velocity = np.array([entry[2] for entry in found], dtype=np.int64)
        self.sign = np.array([entry[3] for entry in found], dtype=np.float64)
        self.limit = np.array([entry[4] for entry in found], dtype=np.float64)
        self.rows = np.zeros((len(found), mechanism.nv))
        self.rows[np.arange(len(found)), self.velocity] = self.sign
        self.held: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def gaps(self, q: Floats) -> Floats:
        """Return the distance of each joint from its stop (m or rad), negative beyond it (1)."""
        return self.sign * (q[self.coordinate] - self.limit)

    def rates(self, v: Floats) -> Floats:
        """Return the rates of the gaps."""
        return self.sign * v[self.velocity]

    def hold(self, place: int) -> None:
        """Let a stop hold its joint."""
        self.held = tuple(sorted({*self.held, place}))

    def release(self, place: int) -> None:
        """Let a stop go of its joint."""
        self.held = tuple(other for other in self.held if other != place)
