"""Forces of contact points over a run, kept for points that touch alone, and spread over all points when asked for.

A robot with the hulls of its meshes has ten thousand points, of which ten touch: a number for every point and row would
fill gigabytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism

__all__ = ["TouchRecord"]

Floats = NDArray[np.float64]

# Columns of contact_machine.py's `touches`.
_ROW, _POINT, _FORCE, _PLACE, _NORMAL, _PRESS = 0, 1, slice(2, 5), slice(5, 8), slice(8, 11), 11


class TouchRecord:
    """What the points of a run did while they touched."""

    def __init__(self, mechanism: Mechanism, points: Any) -> None:
        self._mechanism = mechanism
        self._body, self._position = points["body"].copy(), points["position"].copy()
        self._pieces: list[Floats] = []

    def fetch(self, touches: Floats, first: int) -> None:
        """Take what the machine has noted since row `first` (contact_machine.py)."""
        if len(touches):
            self._pieces.append(touches.copy())
            self._pieces[-1][:, _ROW] += first

    def normal_force(self, rows: int) -> Floats:
        """Return how hard each point presses, (rows, n_points), N."""
        touches = self._touches()
        out = np.zeros((rows, len(self._body)))
        np.add.at(out, self._places(touches), touches[:, _PRESS])
        return out

    def force(self, rows: int) -> Floats:
        """Return the force on each point, (rows, n_points, 3), N, world axes."""
        touches = self._touches()
        return self._spread(rows, touches, touches[:, _FORCE])

    def friction(self, rows: int) -> Floats:
        """Return its part along the surfaces, (rows, n_points, 3), N, world axes."""
        touches = self._touches()
        return self._spread(rows, touches, touches[:, _FORCE] - touches[:, _NORMAL])

    def position(self, q: Floats) -> Floats:
        """Return where each point, or the force on it, is at the states q (rows, nq): (rows, n_points, 3), m."""
        touches, poses = self._touches(), body_poses(self._mechanism, q)
        out = np.zeros((len(q), len(self._body), 3))
        for body in np.unique(self._body[self._body >= 0]):
            members = np.flatnonzero(self._body == body)
            T = poses[:, body]
            out[:, members] = self._position[members] @ T[:, :3, :3].transpose(0, 2, 1) + T[:, None, :3, 3]
        out[self._places(touches)] = touches[:, _PLACE]
        return out

    def _touches(self) -> Floats:
        return np.concatenate([np.zeros((0, 12)), *self._pieces])

    def _places(self, touches: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return touches[:, _ROW].astype(np.int64), touches[:, _POINT].astype(np.int64)

    def _spread(self, rows: int, touches: Floats, values: Floats) -> Floats:
        out = np.zeros((rows, len(self._body), 3))
        # A point may touch several faces at once.
        np.add.at(out, self._places(touches), values)
        return out
