"""Poses a frame is held at or led along, and how far it is from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.control.arguments import plain_or_symbols
from setsu.errors import InputError
from setsu.spatial import is_rotation
from setsu.symbolic.tracing import Number, holds_symbols

__all__ = ["PoseTarget", "pose_error"]


class PoseTarget:
    """A pose (4, 4) that stays or is a function of time t -> T, (T, x') or (T, x', x''); rates (6,), world axes."""

    def __init__(self, pose: ArrayLike | Callable[[Any], Any], what: str) -> None:
        self.pose, self.what = pose, what
        self.traceable = not callable(pose) or getattr(pose, "traceable", False) is True
        if not callable(pose):
            self.pose = np.array(pose, dtype=np.float64)
            self(0.0)

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        """Return pose, velocity and acceleration."""
        answer = self.pose(t) if callable(self.pose) else self.pose
        parts = list(answer) if isinstance(answer, tuple) else [answer]
        T: Any = parts[0] if holds_symbols(parts[0]) else np.asarray(parts[0], dtype=np.float64)
        rates = [plain_or_symbols(part) for part in parts[1:]] + [np.zeros(6)] * (3 - len(parts))
        if T.shape != (4, 4) or [rate.shape for rate in rates] != [(6,), (6,)]:
            when = "" if isinstance(t, Number) else f" at t = {t:.9g} s"
            shapes = ", ".join(str(part.shape) for part in (T, *rates))
            raise InputError(f"{self.what} pose{when}: expected shapes (4, 4), (6,), (6,), got {shapes}")
        if not holds_symbols(T):
            _require_pose(T, f"{self.what} pose" if not callable(self.pose) else f"{self.what} pose at t = {t} s")
        return T, rates[0], rates[1]


def _require_pose(T: Any, what: str) -> None:
    if not np.isfinite(T).all():
        raise InputError(f"{what}: expected finite numbers, got {T.tolist()}")
    if T[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise InputError(f"{what}: expected a pose (4, 4) whose last row is 0 0 0 1, got {T[3].tolist()}")
    if not is_rotation(T[:3, :3], 1e-6):
        raise InputError(f"{what}: expected a rotation in its upper left, right-handed, got {T[:3, :3].tolist()}")


def pose_error(T: Any, T_d: Any) -> Any:
    """What is left from a pose to another, (6,): metres, and 2 sin(θ/2) times the axis of the rotation, world axes.

    The rotation's part is a force with a potential, 4 (1 - cos θ/2), smooth up to half a turn.

    >>> import setsu
    >>> pose_error(np.eye(4), setsu.placement((0.1, 0, 0), (0, 0, 0.2))).round(6).tolist()
    [0.1, 0.0, 0.0, 0.0, 0.0, 0.199667]
    """
    R = T_d[:3, :3] @ T[:3, :3].T
    sine = [0.5 * (R[2, 1] - R[1, 2]), 0.5 * (R[0, 2] - R[2, 0]), 0.5 * (R[1, 0] - R[0, 1])]
    # (1 + cos θ)/2 = cos² θ/2; at half a turn the axis is not defined, and the force ends there.
    half = np.sqrt(np.maximum(0.25 * (1.0 + R[0, 0] + R[1, 1] + R[2, 2]), 1e-12))
    return plain_or_symbols([*(T_d[:3, 3] - T[:3, 3]), *(entry / half for entry in sine)])
