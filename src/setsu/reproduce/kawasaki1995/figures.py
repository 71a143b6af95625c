"""Figures 2 to 7: the closed-link mechanisms of the examples and the trees that cutting a joint makes of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import close_loops
from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism
from setsu.reproduce.drawing import new_figure, save_figure
from setsu.reproduce.report import Figure
from setsu.sample_mechanisms import five_bar, six_joint_parallelogram_arm, two_joint_parallelogram

__all__ = ["figures"]

Floats = NDArray[np.float64]

_COLORS = ("#1f6f8b", "#c8553d", "#588157", "#7b2d8b", "#b08900", "#444444", "#2a9d8f", "#e76f51")

_BOX = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
# Links that reach beyond their pin, and how far (m).
_HANDS = {"link2": 0.25}


def figures(out: Path) -> tuple[Figure, ...]:
    """Draw all figures into `out`."""
    planar = two_joint_parallelogram(named=False)
    q_planar = close_loops(planar, [0.4, 1.2, 0.4 + 1.2 + np.pi, -1.2 - np.pi], fixed=["joint1", "joint1p"])
    bars = five_bar()
    arm = six_joint_parallelogram_arm(named=False)
    q_arm = np.array([0.3, -1.3, 1.0, 0.3, 0.5, 0.0, -1.3 + 1.0 + np.pi, -1.0 - np.pi])
    five_bar_note = (
        "The page with example 2 is missing from the text this was made from: a five-bar of ours stands in its place."
    )
    return (
        _flat(planar, q_planar, out / "figure_2.png", "Figure 2: four-bar parallel mechanism with two degrees", (0, 1)),
        _flat(
            _cut(planar), _opened(planar, q_planar, "link2p"), out / "figure_3.png",
            "Figure 3: its tree, cut at joint 3'", (0, 1),
        ),
        _flat(bars, bars.neutral(), out / "figure_4.png", "Figure 4: a five-bar", (0, 2), five_bar_note),
        _flat(
            _cut(bars), _opened(bars, bars.neutral(), "right_fore"), out / "figure_5.png",
            "Figure 5: its tree, cut at the pin", (0, 2), five_bar_note,
        ),
        _spatial(arm, q_arm, out / "figure_6.png", "Figure 6: six-joint manipulator with a closed link"),
        _spatial(_cut(arm), _opened(arm, q_arm, "link3p"), out / "figure_7.png", "Figure 7: its tree, cut at joint 4'"),
    )  # fmt: skip


def _cut(mechanism: Mechanism) -> Mechanism:
    return dataclasses.replace(mechanism, loops=())


def _opened(mechanism: Mechanism, q: Floats, body: str) -> Floats:
    """The configuration with one joint turned a little, so that the cut can be seen."""
    result = q.copy()
    result[mechanism.q_slices[mechanism.body_names.index(body)]] += 0.35
    return result


def _skeleton(mechanism: Mechanism, closed: Mechanism, q: Floats) -> list[tuple[str, Floats, list[Floats]]]:
    """Per body its name, its origin, and where its lines lead: to the joints of its children, its pins, or its tip."""
    poses = body_poses(mechanism, q)
    result = []
    for name, T in zip(mechanism.body_names, poses, strict=True):
        points = [poses[k][:3, 3] for k, child in enumerate(mechanism.moving) if child.parent == name]
        for loop in closed.loops:
            for end, pose in ((loop.body_a, loop.pose_a), (loop.body_b, loop.pose_b)):
                if end == name:
                    points.append((T @ pose.matrix)[:3, 3])
        is_tip = all(child.parent != name for child in mechanism.moving)
        if not points or (is_tip and name in _HANDS):
            points.append(T[:3, 3] + T[:3, :3] @ np.array([_HANDS.get(name, 0.12), 0.0, 0.0]))
        result.append((name, T[:3, 3], points))
    return result


def _short(name: str) -> str:
    return name.removeprefix("link").replace("p", "'") if name.startswith("link") else name.replace("_", " ")


def _flat(mechanism: Mechanism, q: Floats, path: Path, title: str, plane: tuple[int, int], note: str = "") -> Figure:
    canvas, axes = new_figure(5.2)
    closed = _with_loops(mechanism)
    for k, (name, origin, points) in enumerate(_skeleton(mechanism, closed, q)):
        color = _COLORS[k % len(_COLORS)]
        for point in points:
            line = np.array([origin, point])[:, plane]
            axes.plot(*line.T, color=color, linewidth=4, solid_capstyle="round", alpha=0.85)
            axes.plot(*line[1], "o", markerfacecolor="white", markeredgecolor="#222", markersize=8, zorder=3)
        axes.plot(*origin[list(plane)], "o", markerfacecolor="white", markeredgecolor="#222", markersize=8, zorder=3)
        along, across = np.mean([origin, points[0]], axis=0)[list(plane)]
        axes.text(along, across, _short(name), color=color, fontsize=11, ha="center", va="center", bbox=_BOX)
    axes.set_aspect("equal")
    axes.margins(0.15)
    axes.set(xlabel=f"{'xyz'[plane[0]]} (m)", ylabel=f"{'xyz'[plane[1]]} (m)")
    axes.grid(alpha=0.3)
    caption = (
        "Links by number; circles are joints."
        if not mechanism.loops
        else "Links by number; circles are joints and pins."
    )
    return save_figure(canvas, path, title, f"{caption} {note}".strip())


def _spatial(mechanism: Mechanism, q: Floats, path: Path, title: str) -> Figure:
    canvas, axes = new_figure(6.4, subplot_kw={"projection": "3d"})
    poses = body_poses(mechanism, q)
    for k, (name, origin, points) in enumerate(_skeleton(mechanism, _with_loops(mechanism), q)):
        color = _COLORS[k % len(_COLORS)]
        for point in points:
            axes.plot(*np.array([origin, point]).T, color=color, linewidth=4, alpha=0.85)
            axes.scatter(*point, s=40, facecolor="white", edgecolor="#222", depthshade=False)
        along = 0.12 * poses[k][:3, 2]
        axes.quiver(*origin, *along, color="#888", linewidth=1.2, arrow_length_ratio=0.3)
        # Links of no length sit on one spot: their names go beside each other.
        aside = (
            0.09 * sum(np.allclose(origin, other) for other in poses[:k, :3, 3]) if np.allclose(origin, points) else 0.0
        )
        where = 0.5 * (origin + points[0]) + np.array([aside, 0.0, 0.09 if np.allclose(origin, points) else 0.0])
        axes.text(*where, _short(name), color=color, fontsize=11, ha="center", va="center", bbox=_BOX)
    axes.set_box_aspect((1, 1, 1))
    reach = np.array([point for _, origin, points in _skeleton(mechanism, _with_loops(mechanism), q)
                      for point in (origin, *points)])  # fmt: skip
    middle, half = 0.5 * (reach.max(0) + reach.min(0)), 0.55 * float((reach.max(0) - reach.min(0)).max())
    for name, center in zip(("xlim", "ylim", "zlim"), middle, strict=True):
        axes.set(**{name: (center - half, center + half)})
    axes.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    axes.view_init(elev=18, azim=-65)
    return save_figure(canvas, path, title, "Links by number; arrows are joint axes, circles the joints and pins.")


def _with_loops(mechanism: Mechanism) -> Mechanism:
    """The mechanism a tree was cut from, whose pins are drawn on the open tree too."""
    if mechanism.loops:
        return mechanism
    sources = {m.name: m for m in (two_joint_parallelogram(named=False), five_bar(), six_joint_parallelogram_arm())}
    return sources[mechanism.name]
