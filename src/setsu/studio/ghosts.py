"""Other runs as ghosts: pale links that move beside the run shown; of a batch, or runs kept to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser.transforms as transforms
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism
from setsu.simulation import Recording
from setsu.studio.colors import paler
from setsu.studio.geometry import Look

__all__ = ["MOST_GHOSTS", "Ghosts"]

Floats = NDArray[np.float64]

MOST_GHOSTS = 12
OPACITY = 0.3


class Ghosts:
    """Ghosts of one mechanism in a viser scene: one node per mesh, with as many copies as there are runs."""

    def __init__(self, scene: Any, atomic: Callable[[], Any], mechanism: Mechanism, look: Look) -> None:
        self._scene, self._atomic, self._mechanism, self._look = scene, atomic, mechanism, look
        self._meshes = [mesh for mesh in look.meshes if mesh.body >= 0]
        self.runs: list[Recording] = []
        self._nodes: list[Any] = []

    def set_runs(self, runs: Sequence[Recording]) -> None:
        """Show these runs, at most MOST_GHOSTS of them; replaces those before."""
        for node in self._nodes:
            node.remove()
        self.runs = list(runs)[:MOST_GHOSTS]
        self._nodes = []
        if not self.runs:
            return
        rest = np.zeros((len(self.runs), 3))
        turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(self.runs), 1))
        for number, mesh in enumerate(self._meshes):
            self._nodes.append(self._scene.add_batched_meshes_simple(
                f"/ghosts/{number:03d}", mesh.vertices, mesh.faces, turn, rest, batched_colors=paler(mesh.color, 0.3),
                opacity=OPACITY, lod="off", side="double", cast_shadow=False, receive_shadow=False,
            ))  # fmt: skip
        self.show(0.0)

    def show(self, time: float) -> None:
        """Move every ghost to where it is at a time (s), or at its end."""
        if not self.runs:
            return
        poses = self.poses(time)
        with self._atomic():
            for node, mesh in zip(self._nodes, self._meshes, strict=True):
                node.batched_positions = poses[:, mesh.body, :3, 3]
                node.batched_wxyzs = transforms.SO3.from_matrix(poses[:, mesh.body, :3, :3]).wxyz

    def poses(self, time: float) -> Floats:
        """Return the poses of all bodies in all runs at a time (s), (runs, n_bodies, 4, 4)."""
        rows = []
        for run in self.runs:
            k = int(np.clip(np.searchsorted(run.time, time + 1e-9, side="right") - 1, 0, None))
            finite = np.flatnonzero(np.isfinite(run.q[: k + 1]).all(axis=1))  # a run that stopped has no states behind
            rows.append(run.q[finite[-1]])
        return body_poses(self._mechanism, np.array(rows))
