"""Drag a frame: a handle in the 3D view whose pose the frame takes by inverse kinematics, while the base stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import viser.transforms as transforms
from numpy.typing import NDArray

from setsu.dynamics import frame_pose
from setsu.inverse_kinematics import inverse_kinematics
from setsu.mechanism import Free, Mechanism

__all__ = ["DragPanel"]

Floats = NDArray[np.float64]

NOTHING = "nothing"
TOLERANCE = 1e-6
"""Of a dragged frame, m and rad: finer than the eye."""


class DragPanel:
    """Widgets to choose the frame, inside the current container, and the handle.

    world: viser's scene. moved(q): called with the configuration that a drag leads to. carefully: calls a function and
    tells what goes wrong in the page.
    """

    def __init__(
        self,
        gui: Any,
        world: Any,
        mechanism: Mechanism,
        radius: float,
        moved: Callable[[Floats], None],
        carefully: Callable[[Callable[[], Any]], None],
    ) -> None:
        self._mechanism, self._moved, self._carefully = mechanism, moved, carefully
        self.q = mechanism.neutral()
        self._waiting = threading.Event()
        self._dragged = False
        frames = [name for name, frame in mechanism.frames.items() if frame.body >= 0]
        self.frame = gui.add_dropdown("Drag frame", (NOTHING, *frames))
        self.turns = gui.add_checkbox("Keep or turn its orientation", False, visible=False)
        self.handle = world.add_transform_controls(
            "/drag/handle", scale=0.4 * radius, visible=False, depth_test=False, disable_rotations=True
        )
        self.frame.on_update(lambda event: carefully(self._choose))
        self.turns.on_update(lambda event: carefully(self._choose))
        self.handle.on_update(self._on_drag)

    def set_pose(self, q: Floats) -> None:
        """Follow the mechanism to a configuration (nq,), unless the handle is what moves it."""
        self.q = q
        if self.frame.value != NOTHING and not self._dragged:
            self._to_frame()

    def remove(self) -> None:
        """Take the handle away: its mechanism is no longer shown."""
        self.handle.remove()

    def drag(self, position: Floats, rotation: Floats | None = None) -> bool:
        """Bring the frame's origin to a position (3,) m, and its axes to a rotation (3, 3) where one is given.

        Returns whether it got there; where not, the posture is the nearest one found.
        """
        m = self._mechanism
        target: Floats = np.asarray(position, dtype=np.float64)
        if rotation is not None:
            target = np.eye(4)
            target[:3, :3], target[:3, 3] = rotation, position
        base = [body.joint.name for body in m.moving if isinstance(body.joint, Free)]
        held = base if len(base) < len(m.moving) else []
        # From where it is and without restarts: the mechanism follows the hand and does not jump to another posture.
        found = inverse_kinematics(
            m, {self.frame.value: target}, self.q, fixed=held, tolerance=TOLERANCE, restarts=0
        )  # fmt: skip
        self._dragged = True
        try:
            self._moved(found.q)
        finally:
            self._dragged = False
        return bool(found.converged)

    def _choose(self) -> None:
        chosen = self.frame.value != NOTHING
        self.turns.visible = chosen
        self.handle.disable_rotations = not self.turns.value
        if chosen:
            self._to_frame()
        self.handle.visible = chosen

    def _to_frame(self) -> None:
        pose = frame_pose(self._mechanism, self.q, self.frame.value)
        self.handle.position = pose[:3, 3]
        self.handle.wxyz = transforms.SO3.from_matrix(pose[:3, :3]).wxyz

    def _on_drag(self, event: Any) -> None:
        if event.phase == "end":
            # What could not be reached is left: the handle goes back to the frame.
            self._carefully(lambda: self.set_pose(self.q))
        elif event.phase == "update" and not self._waiting.is_set():
            # A browser sends places faster than postures are found: those in between are left out.
            self._waiting.set()
            try:
                self._carefully(self._follow)
            finally:
                self._waiting.clear()

    def _follow(self) -> None:
        turned = np.asarray(transforms.SO3(np.asarray(self.handle.wxyz)).as_matrix(), dtype=np.float64)
        self.drag(np.asarray(self.handle.position, dtype=np.float64), turned if self.turns.value else None)
