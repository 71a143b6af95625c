"""Joint sliders: one per coordinate, roll pitch yaw in place of quaternions, limits of the model as ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Cylindrical, Free, Mechanism, Planar, Prismatic, Spherical
from setsu.spatial import euler_rotation, quaternion_from_rotation, rotation_from_quaternion

__all__ = ["PosePanel"]

Floats = NDArray[np.float64]

_TURN = ("roll", "pitch", "yaw")


class PosePanel:
    """Sliders for a mechanism's coordinates inside the current container.

    changed(joint name, q): called when a person moved a slider; `set_pose` moves the sliders without a call.
    """

    def __init__(self, gui: Any, mechanism: Mechanism, radius: float, changed: Callable[[str, Floats], None]) -> None:
        self._mechanism, self._changed = mechanism, changed
        self._sliders: list[list[Any]] = []
        self.q = mechanism.neutral()
        for index, body in enumerate(mechanism.moving):
            joint, row = body.joint, []
            for label, low, high in _axes(joint, radius):
                name = f"{joint.name} {label}"
                start = min(max(0.0, low), high)
                slider = gui.add_slider(name, min=low, max=high, step=1e-3, initial_value=round(start, 3))
                slider.on_update(lambda event, index=index: self._moved(event, index))
                row.append(slider)
            self._sliders.append(row)

    def set_pose(self, q: Floats) -> None:
        """Show a configuration (nq,)."""
        self.q = q.copy()
        for index, values in enumerate(self._values(q)):
            for slider, value in zip(self._sliders[index], values, strict=True):
                shown = round(min(max(value, slider.min), slider.max), 3)
                if slider.value != shown:
                    slider.value = shown

    def _moved(self, event: Any, index: int) -> None:
        # Values the studio itself sets come back as events without a client.
        if event.client is None:
            return
        where = self._mechanism.q_slices[index]
        joint = self._mechanism.moving[index].joint
        numbers = [float(slider.value) for slider in self._sliders[index]]
        q = self.q.copy()
        if isinstance(joint, Spherical | Free):
            rotation = quaternion_from_rotation(euler_rotation(*numbers[-3:]))
            q[where] = [*numbers[:-3], *rotation]
        else:
            q[where] = numbers
        self._changed(joint.name, q)

    def _values(self, q: Floats) -> list[list[float]]:
        rows = []
        for body, where in zip(self._mechanism.moving, self._mechanism.q_slices, strict=True):
            part = q[where]
            if isinstance(body.joint, Spherical | Free):
                rows.append([*part[:-4].tolist(), *_roll_pitch_yaw(rotation_from_quaternion(part[-4:]))])
            else:
                rows.append(part.tolist())
        return rows


def _axes(joint: Any, radius: float) -> list[tuple[str, float, float]]:
    """Label with unit, lower and upper end of each slider of a joint."""
    reach = math.ceil(20.0 * radius) / 10.0
    turn = [(f"{name} (rad)", -round(math.pi, 3), round(math.pi, 3)) for name in _TURN]
    if isinstance(joint, Free):
        return [*((f"{name} (m)", -reach, reach) for name in "xyz"), *turn]
    if isinstance(joint, Spherical):
        return turn
    travels = {Prismatic: (True,), Cylindrical: (True, False), Planar: (True, True, False)}.get(type(joint))
    rows = []
    for k in range(joint.nq):
        is_travel = bool(travels and travels[k])
        widest = reach if is_travel else math.pi
        low = joint.lower[k] if math.isfinite(joint.lower[k]) else -widest
        high = joint.upper[k] if math.isfinite(joint.upper[k]) else widest
        low, high = max(low, -1e4), min(high, 1e4)
        label = "(m)" if is_travel else "(rad)"
        number = f"{k} " if joint.nq > 1 else ""
        # A slider needs two ends a step apart at least; a locked joint shows its one value between them.
        low, high = math.floor(low * 1e3) / 1e3, math.ceil(high * 1e3) / 1e3
        rows.append((number + label, low, max(high, low + 1e-3)))
    return rows


def _roll_pitch_yaw(R: Floats) -> list[float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.asin(min(max(-float(R[2, 0]), -1.0), 1.0))
    if abs(R[2, 0]) > 1.0 - 1e-12:
        return [math.atan2(-float(R[1, 2]), float(R[1, 1])), pitch, 0.0]
    return [math.atan2(float(R[2, 1]), float(R[2, 2])), pitch, math.atan2(float(R[1, 0]), float(R[0, 0]))]
