"""Forces and moments as arrows in the 3D view: of joints, loops, welds, a chosen frame, and contacts.

The page draws them over the links (page_script.js), the shorter over the longer, so that arrows of joints with one
origin are seen one beside the other. Each has a text, "elbow: force 12.3 N", shown where the mouse is, or as a label.
"""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Mechanism
from setsu.studio.colors import LOOP, WELD, Color, contact_color, joint_color, linear_light, paler
from setsu.studio.state import Moment, moment_at_rest, place_of, welds_of

__all__ = ["Arrow", "ForceArrows"]

Floats = NDArray[np.float64]

MANY_JOINTS = 14
"""Joints from which on arrows become thinner."""

LONGEST = 1.3
"""Length of the largest arrow at most, in radii of the mechanism."""

_PARTS = (slice(0, 3), slice(3, 6))

MOST_LABELS = 40
"""Labels at arrows: more cannot be read; the largest are kept."""


@dataclass(frozen=True)
class _Load:
    """A wrench (6,) N and N m, world axes, that acts at a place (3,) m."""

    name: str
    place: Floats
    wrench: Floats
    color: Color


@dataclass(frozen=True)
class Arrow:
    """From start to end, (3,) m, world; text: whose, what and how much."""

    start: Floats
    end: Floats
    color: Color
    text: str

    @property
    def length(self) -> float:
        """Metres."""
        return float(np.linalg.norm(self.end - self.start))


class ForceArrows:
    """Arrows of one mechanism in a viser scene; `show` draws those of a moment.

    frame: a frame whose wrench is drawn too; "" for none. unknown_welds: why a weld has no arrow.
    """

    def __init__(self, scene: Any, mechanism: Mechanism, radius: float) -> None:
        self._scene, self.mechanism, self.radius = scene, mechanism, radius
        # Many joints, many arrows: thinner ones stay apart.
        self._thick = radius * min(1.0, math.sqrt(MANY_JOINTS / max(mechanism.n_bodies, 1)))
        self.force_scale, self.moment_scale = self._natural_scales()
        self.factor = 1.0
        self._shrunk = [1.0, 1.0]
        self.frame = ""
        self.unknown_welds: dict[str, str] = {}
        self._welds = welds_of(mechanism)
        self._handles = {name: self._add(name) for name in ("forces", "moments")}
        self._labels: list[Any] = []
        self.drawn: list[Arrow] = []

    @property
    def newton_per_metre(self) -> tuple[float, float]:
        """Force (N) and moment (N m) that one metre of arrow stands for."""
        force, moment = self._shrunk
        return 1.0 / (self.force_scale * self.factor * force), 1.0 / (self.moment_scale * self.factor * moment)

    @property
    def page_data(self) -> str:
        """An element that the page's script reads: start, end (m) and text of each arrow."""
        rows = [[*arrow.start.round(5).tolist(), *arrow.end.round(5).tolist(), arrow.text] for arrow in self.drawn]
        return f'<div class="setsu-arrows" hidden data-arrows="{html.escape(json.dumps(rows))}"></div>'

    def show(self, moment: Moment, visible: Mapping[str, bool]) -> None:
        """Draw the layers "forces", "moments", "welds" and "values" that are visible."""
        loads = self._loads(moment, visible["welds"])
        # All of a kind shrink together where the largest would leave the picture, so that lengths can be compared.
        sizes = [max((float(np.linalg.norm(load.wrench[part])) for load in loads), default=0.0) for part in _PARTS]
        scales = (self.force_scale * self.factor, self.moment_scale * self.factor)
        self._shrunk = [
            min(1.0, LONGEST * self.radius / max(size * scale, 1e-300))
            for size, scale in zip(sizes, scales, strict=True)
        ]  # fmt: skip
        forces, turns = [], []
        for load in loads:
            force, turn = load.wrench[:3], load.wrench[3:]
            forces.append(Arrow(
                load.place, load.place + force * scales[0] * self._shrunk[0], load.color,
                f"{load.name}: force {np.linalg.norm(force):.4g} N",
            ))  # fmt: skip
            turns.append(Arrow(
                load.place, load.place + turn * scales[1] * self._shrunk[1],
                paler(load.color, 0.35), f"{load.name}: moment {np.linalg.norm(turn):.4g} N m",
            ))  # fmt: skip
        shown = [*self._draw("forces", forces, visible["forces"]), *self._draw("moments", turns, visible["moments"])]
        self.drawn = shown
        self._label(shown if visible["values"] else [])

    def _loads(self, moment: Moment, with_welds: bool) -> list[_Load]:
        m = self.mechanism
        loads = [
            _Load(name, pose[:3, 3], wrench, joint_color(k))
            for k, (name, pose, wrench) in enumerate(
                zip(m.joint_names, moment.poses, moment.joint_wrenches, strict=True)
            )
        ]
        for loop, wrench in zip(m.loops, moment.loop_wrench, strict=True):
            place = place_of(m, moment.poses, loop.body_b, loop.pose_b.translation)
            loads.append(_Load(f"loop {loop.name}", place, wrench, LOOP))
        asked = [*(self._welds if with_welds else ()), *([self.frame] if self.frame else [])]
        known, self.unknown_welds = moment.weld_wrenches(asked)
        for name, wrench in known.items():
            loads.append(_Load(f"at {name}", place_of(m, moment.poses, name), wrench, WELD))
        for k, (point, force) in enumerate(zip(moment.contact_points, moment.contact_force, strict=True)):
            name = moment.contact_names[k] if k < len(moment.contact_names) else f"contact {k}"
            loads.append(_Load(name, point, np.concatenate([force, np.zeros(3)]), contact_color(k)))
        return loads

    def _draw(self, name: str, arrows: Sequence[Arrow], visible: bool) -> list[Arrow]:
        """Draw arrows, the longest first; return those that are seen.

        Those too short to be seen are left out, since viser draws their heads in full size.
        """
        seen = sorted((arrow for arrow in arrows if arrow.length > 0.01 * self.radius), key=lambda arrow: -arrow.length)
        handle = self._handles[name]
        handle.visible = bool(visible and seen)
        if not handle.visible:
            return []
        seen = self._beside(seen)
        points = np.array([[arrow.start, arrow.end] for arrow in seen])
        if name == "moments":
            # A moment carries two heads: a full arrow and one that ends a head earlier.
            along = points[:, 1] - points[:, 0]
            size = np.linalg.norm(along, axis=1, keepdims=True)
            earlier = points[:, 0] + along * np.maximum(1.0 - 0.05 * self._thick / size, 0.0)
            points = np.stack([points, np.stack([points[:, 0], earlier], axis=1)], axis=1).reshape(-1, 2, 3)
        colors = np.array([arrow.color for arrow in seen], dtype=np.uint8)
        handle.points = points.astype(np.float32)
        handle.colors = linear_light(np.repeat(colors, len(points) // len(seen), axis=0))
        return seen

    def _beside(self, arrows: Sequence[Arrow]) -> list[Arrow]:
        """Move arrows that would lie on a longer one beside it: joints whose axes meet have such; longest first."""
        apart = 0.035 * self._thick
        placed: list[Arrow] = []
        for arrow in arrows:
            along = (arrow.end - arrow.start) / arrow.length
            aside = np.cross(along, (0.0, 0.0, 1.0) if abs(along[2]) < 0.9 else (0.0, 1.0, 0.0))
            aside *= apart / np.linalg.norm(aside)
            while any(
                max(_distance(arrow.start, other), _distance(arrow.end, other)) < 0.6 * apart for other in placed
            ):
                arrow = dataclasses.replace(arrow, start=arrow.start + aside, end=arrow.end + aside)
            placed.append(arrow)
        return placed

    def _label(self, arrows: Sequence[Arrow]) -> None:
        """Put a label at the head of the largest arrows."""
        kept = sorted(arrows, key=lambda arrow: -arrow.length)[:MOST_LABELS]
        while len(self._labels) < len(kept):
            number = len(self._labels)
            self._labels.append(self._scene.add_label(f"/mechanism/values/{number:02d}", "", font_screen_scale=0.7))
        for label, arrow in zip(self._labels, kept, strict=False):
            label.text, label.position, label.visible = arrow.text, arrow.end, True
        for label in self._labels[len(kept) :]:
            label.visible = False

    def _add(self, name: str) -> Any:
        thick = self._thick * (0.75 if name == "moments" else 1.0)
        return self._scene.add_arrows(
            f"/mechanism/{name}", np.zeros((1, 2, 3)), np.zeros((1, 3), dtype=np.uint8),
            shaft_radius=0.012 * thick, head_radius=0.03 * thick, head_length=0.075 * thick, visible=False,
        )  # fmt: skip

    def _natural_scales(self) -> tuple[float, float]:
        """Metres per N and per N m: the largest force and moment at rest are 0.45 of the mechanism's radius long."""
        m = self.mechanism
        try:
            wrench = moment_at_rest(m, m.neutral()).joint_wrenches
            force = float(np.linalg.norm(wrench[:, :3], axis=1).max())
            moment = float(np.linalg.norm(wrench[:, 3:], axis=1).max())
        except ValueError:
            force = moment = 0.0
        weight = 9.81 * max(m.total_mass, 1e-3)
        force = force if force > 1e-3 * weight else weight
        # A pose may be free of moments: forces at a lever of a third of the radius are the least to expect.
        moment = max(moment, 0.3 * force * self.radius)
        return 0.45 * self.radius / force, 0.45 * self.radius / moment


def _distance(point: Floats, arrow: Arrow) -> float:
    """Distance of a point to an arrow, m."""
    along = arrow.end - arrow.start
    part = min(max(float((point - arrow.start) @ along) / float(along @ along), 0.0), 1.0)
    return float(np.linalg.norm(point - arrow.start - part * along))
