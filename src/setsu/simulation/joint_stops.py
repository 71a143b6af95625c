"""Ends of travel of joints as one-sided constraints: a joint at its limit is held there as long as it is pushed.

gap = q - lower,  gap = upper - q    of each coordinate with a finite limit                      (1)
held: row ±1 on the coordinate's velocity, force >= 0; free: gap >= 0                            (2)

Joints of the tree whose coordinates are plain numbers, and joints that close loops, with
coordinates and rates as in constraints/loop_motion.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.mechanism import Mechanism, Spherical

__all__ = ["JointStops"]

Floats = NDArray[np.float64]


class JointStops:
    """All stops of a mechanism and which of them hold; an empty set when `active` is False.

    coordinate, velocity (n,): places in q and v, -1 for joints that close loops. axis (n,): among the free axes of
    those, or -1. sign (n,): +1 for a lower limit. limit (n,): m or rad.
    """

    def __init__(self, mechanism: Mechanism, active: bool) -> None:
        found: list[tuple[str, int, int, int, float, float]] = []
        names = coordinate_names(mechanism) if active else ()
        places = zip(mechanism.moving, mechanism.q_slices, mechanism.v_slices, strict=True) if active else ()
        for body, coordinates, velocities in places:
            for k in range(body.joint.nv if body.joint.nq == body.joint.nv else 0):
                d = velocities.start + k
                for side, sign in (("lower", 1.0), ("upper", -1.0)):
                    limit = float(getattr(mechanism, side)[d])
                    found.append((f"{side} stop of {names[d]}", coordinates.start + k, d, -1, sign, limit))
        axis = 0
        for loop in mechanism.loops if active else ():
            for k in range(loop.joint.nv):
                for side, sign in (("lower", 1.0), ("upper", -1.0)):
                    limit = float(getattr(loop.joint, side)[k])
                    if not isinstance(loop.joint, Spherical):
                        where = loop.name if loop.joint.nv == 1 else f"{loop.name}[{k}]"
                        found.append((f"{side} stop of {where}", -1, -1, axis + k, sign, limit))
            axis += loop.joint.nv
        found = [entry for entry in found if np.isfinite(entry[-1])]
        self.names = tuple(entry[0] for entry in found)
        self.coordinate, self.velocity, self.axis = (
            np.array([entry[k] for entry in found], dtype=np.int64) for k in (1, 2, 3)
        )
        self.sign, self.limit = (np.array([entry[k] for entry in found], dtype=np.float64) for k in (4, 5))
        self._nv = mechanism.nv
        self.held: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def gaps(self, q: Floats, loop_coordinates: Floats | None = None) -> Floats:
        """Return the distance of each joint from its stop (m or rad), negative beyond it (1).

        loop_coordinates: (f,), of the joints that close loops.
        """
        both = np.concatenate([q, np.zeros(0) if loop_coordinates is None else loop_coordinates])
        return self.sign * (both[np.where(self.axis >= 0, len(q) + self.axis, self.coordinate)] - self.limit)

    def rows(self, free_jacobian: Floats) -> Floats:
        """Return the rates of the gaps per velocity, (n, nv), with those of the loop joints' coordinates, (f, nv)."""
        both = np.concatenate([np.eye(self._nv), free_jacobian])
        return self.sign[:, None] * both[np.where(self.axis >= 0, self._nv + self.axis, self.velocity)]

    def hold(self, place: int) -> None:
        """Let a stop hold its joint."""
        self.held = tuple(sorted({*self.held, place}))

    def release(self, place: int) -> None:
        """Let a stop go of its joint."""
        self.held = tuple(other for other in self.held if other != place)
