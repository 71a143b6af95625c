"""Figures 1-16 of nishiguchi2014: by the default method, by the paper's, and with the inertia of a thin rod."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from setsu.dynamics import body_poses
from setsu.reproduce.drawing import COLORS, GREY, new_figure, place_labels, save_figure
from setsu.reproduce.nishiguchi2014.arms import LENGTH, MOTIONS, Run, arm
from setsu.reproduce.nishiguchi2014.printed import INSTANTS, Instant
from setsu.reproduce.nishiguchi2014.tables import Runs
from setsu.reproduce.report import Figure

__all__ = ["figures"]

_BLUE, _ORANGE, _GREEN, _RED = COLORS[0], COLORS[1], COLORS[2], "#b22222"
_COLOURS = (_BLUE, _ORANGE, _GREEN)
_TORQUES = {
    "figure 3": "τ = (-3, 3) N m",
    "figure 4": "τ = (3 sin πt/3, 3 sin πt/3) N m",
    "figure 5": "τ = (3, 3, 3) N m",
    "figure 6": "τ = (-3 cos 2πt, -3 sin 2πt, 3 cos 2πt) N m",
}
_SETTLED = 8
"""Samples at the start that do not set the scale of a plot of forces."""
_WAYS = (("", "-", 1.6), (", paper's method", ":", 2.0), (", thin rod", "--", 1.0))
"""How the three runs of a motion are drawn: words of the legend, line, width."""


def figures(runs: Mapping[str, Runs], out: Path) -> tuple[Figure, ...]:
    """Draw all figures into the folder `out`."""
    drawn = [_schematic(out), _models(out)]
    drawn += [_angles(key, runs[key], out) for key in _TORQUES]
    for motion, first in (("2-link", 7), ("3-link", 12)):
        # The axes end where the motion does.
        end = float(ceil(runs[motion][0].quiet))
        drawn.append(_equilibria(motion, first, runs[motion][0], out))
        drawn.append(_postures(motion, first + 1, runs[motion], end, out))
        drawn.append(_forces(motion, first + 2, "y", runs[motion], end, out))
        drawn.append(_forces(motion, first + 3, "z", runs[motion], end, out))
        drawn.append(_diagrams(motion, first + 4, runs[motion], out))
    return tuple(drawn)


def _points(links: int, q: np.ndarray) -> np.ndarray:
    """Positions (links + 1, 3) of the joints and the hand."""
    poses = body_poses(arm(links), q)
    return np.vstack([poses[:, :3, 3], poses[-1, :3, 3] + poses[-1, :3, :3] @ np.array([0.0, 0.0, LENGTH])])


def _draw_arm(axes: Any, points: np.ndarray, label: str, colour: str = _BLUE, **options: Any) -> None:
    axes.plot(points[:, 1], points[:, 2], "o-", color=colour, label=label, linewidth=3, **options)


def _finish_posture(axes: Any, title: str) -> None:
    axes.axhline(0.0, color=GREY, linewidth=1.0, label="floor z = 0")
    axes.set_aspect("equal")
    axes.set(xlabel="y (m)", ylabel="z (m)", title=title)
    axes.margins(0.18)
    axes.grid(alpha=0.3)


def _schematic(out: Path) -> Figure:
    canvas, axes = new_figure(4.2)
    q = np.array([0.3, -0.7, -0.8, -0.6, -0.4])
    points = _points(5, q)
    points = points - np.array([0.0, 0.0, points[-1, 2]])
    _draw_arm(axes, points, "links 1 to n")
    hand = points[-1]
    pushes = (((hand[1], hand[2] + 0.45), "f_n", (6, -4)), ((hand[1] - 0.3, hand[2]), "f_t = K f_n", (-30, -16)))
    for end, text, aside in pushes:
        axes.annotate("", end, (hand[1], hand[2]), arrowprops={"arrowstyle": "-|>", "color": _RED})
        axes.annotate(text, end, textcoords="offset points", xytext=aside, color=_RED)
    for k, (one, two) in enumerate(pairwise(points), start=1):
        middle = 0.5 * (one + two)
        axes.annotate(str(k) if k < 5 else "n", middle[1:], textcoords="offset points", xytext=(8, 6))
    _finish_posture(axes, "the hand on the surface C(r) = 0, here the floor")
    caption = "A chain of rigid links whose hand is held on a surface; the floor acts on it with f_n and f_t."
    return save_figure(canvas, out / "figure_01.png", "Figure 1: n-link manipulator with its hand on a floor", caption)


def _models(out: Path) -> Figure:
    canvas, panels = new_figure(4.4, columns=2)
    for axes, key, name in zip(panels, ("figure 3", "figure 5"), ("(a) 2 links", "(b) 3 links"), strict=True):
        start = MOTIONS[key].start
        _draw_arm(axes, _points(MOTIONS[key].links, np.array(start)), "initial posture")
        _finish_posture(axes, f"{name}: q = ({', '.join(f'{angle:.4f}' for angle in start)}) rad")
    caption = "The postures from which the motions of Figs 3 to 6 start: (-π/6, -2π/3) and (-π/6, -π/3, -π/3)."
    return save_figure(canvas, out / "figure_02.png", "Figure 2: the two models and their initial postures", caption)


def _equilibria(motion: str, number: int, run: Run, out: Path) -> Figure:
    canvas, panels = new_figure(4.4, columns=2)
    for axes, k, name in ((panels[0], 0, "(a) start"), (panels[1], -1, "(b) at rest, computed")):
        _draw_arm(axes, run.joints[k], name)
        _finish_posture(axes, f"{name}: q = ({', '.join(f'{angle:.3f}' for angle in run.q[k])}) rad")
    caption = f"Where the {motion} manipulator starts and where it comes to rest, K = 0.01."
    title = f"Figure {number}: start and rest of the {motion} manipulator"
    return save_figure(canvas, out / f"figure_{number:02}.png", title, caption)


def _angles(key: str, runs: Runs, out: Path) -> Figure:
    canvas, (axes, right) = new_figure(6.6, rows=2, sharex=True, height_ratios=(2.2, 1.0))
    for run, (words, style, width) in zip(runs, _WAYS, strict=True):
        for k in range(run.q.shape[1]):
            axes.plot(run.time, run.q[:, k], style, color=_COLOURS[k], linewidth=width, label=f"q{k + 1}{words}")
        height = np.abs(run.hand[:, 2])
        right.semilogy(run.time, np.maximum(height, 1e-17), style, color=_RED, linewidth=width, label=f"hand{words}")
    right.set(xlabel="time (s)", ylabel="|z| of the hand (m)")
    axes.set(ylabel="joint angle (rad)", title=f"{key.capitalize()}: {_TORQUES[key]}, K = 0.2")
    axes.legend(fontsize="small", ncols=3)
    right.legend(fontsize="small", ncols=3)
    for each in (axes, right):
        each.grid(alpha=0.3)
        each.set_xlim(0.0, float(runs[0].time[-1]))
    flips = int(np.count_nonzero(np.diff(np.sign(runs[1].friction))))
    heights = [np.abs(run.hand[:, 2]).max() for run in runs]
    caption = (
        f"Full: default method; dotted: the paper's plain Runge-Kutta; dashed: thin rod. The hand leaves z = 0 by at "
        f"most {heights[0]:.0e} m (default), {heights[1]:.0e} m (paper's method, whose friction changes sign {flips} "
        f"times) and {heights[2]:.0e} m (thin rod). The hand's changes: {_changes(runs[0])}; with the thin rod: "
        f"{_changes(runs[2])}."
    )
    number = int(key.split()[1])
    return save_figure(canvas, out / f"figure_{number:02}.png", key.capitalize(), caption)


def _changes(run: Run) -> str:
    """When the hand sticks, slips, turns or leaves the floor: the first ones."""
    named = ", ".join(f"{kind} {time:.2f} s" for kind, time in run.events[:4])
    return (named or "none") + (f" and {len(run.events) - 4} more" if len(run.events) > 4 else "")


def _postures(motion: str, number: int, runs: Runs, end: float, out: Path) -> Figure:
    canvas, panels = new_figure(4.6, columns=2)
    for axes, run, name in zip(panels, (runs[0], runs[2]), ("paper's inertia", "thin rod"), strict=True):
        shown = np.linspace(0.0, end, 9)
        for part, time in enumerate(shown):
            points = run.joints[run.at(time)]
            shade = 0.25 + 0.75 * part / (len(shown) - 1)
            label = f"t = {time:.2f} s"
            axes.plot(points[:, 1], points[:, 2], "o-", color=_BLUE, alpha=shade, markersize=3, label=label)
        _finish_posture(axes, f"{name}, 0 to {end:g} s")
    caption = f"Postures of the free response every {end / 8:g} s; the later, the darker. The hand slides on z = 0."
    title = f"Figure {number}: postures of the {motion} manipulator"
    return save_figure(canvas, out / f"figure_{number:02}.png", title, caption)


def _forces(motion: str, number: int, letter: str, runs: Runs, end: float, out: Path) -> Figure:
    canvas, axes = new_figure(5.2)
    axis = "xyz".index(letter)
    for run, (words, style, width) in zip(runs, _WAYS, strict=True):
        inside = run.time <= end
        time = run.time[inside]
        for k in range(run.forces.shape[1]):
            label = f"f{k + 1}{letter}{words}"
            axes.plot(time, run.forces[inside, k, axis], style, color=_COLOURS[k], linewidth=width, label=label)
        last, name = (run.friction, "f_t") if letter == "y" else (run.normal, "f_n")
        axes.plot(time, last[inside], style, color=_RED, linewidth=width, label=f"{name}{words}")
    for mark, instant in enumerate((instant for instant in INSTANTS if instant.motion == motion), start=1):
        number_of = mark + 2 * (motion == "3-link")
        axes.axvline(instant.time, color=GREY, linewidth=0.8, label=f"_instant {number_of}")
        axes.annotate(f"({number_of})", (instant.time, 1.01), xycoords=("data", "axes fraction"),
                      ha="center", fontsize="small")  # fmt: skip
        values = instant.values()
        names = [f"f{k + 1}{letter}" for k in range(len(instant.forces))] + ["f_t" if letter == "y" else "f_n"]
        for name, colour in zip(names, (*_COLOURS[: len(instant.forces)], _RED), strict=True):
            label = f"{name} printed at {instant.time:.2f} s"
            axes.plot([instant.time], [float(values[name])], "x", color=colour, markersize=8, label=label)
    axes.set(xlabel="time (s)", ylabel=f"force along {letter} (N)", xlim=(0.0, end))
    # The first samples, when the arm falls into its motion, would press all else flat.
    settled = [np.concatenate([run.forces[_SETTLED:, :, axis].ravel(), other[_SETTLED:]])
               for run in runs for other in ((run.friction if letter == "y" else run.normal),)]  # fmt: skip
    low, high = float(min(map(np.min, settled))), float(max(map(np.max, settled)))
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    handles = [line for line in axes.get_lines() if "printed" not in str(line.get_label())]
    named = [line for line in handles if not str(line.get_label()).startswith("_")]
    axes.legend(handles=named, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=6)
    axes.grid(alpha=0.3)
    caption = (
        f"Forces on the links along {letter}, until the arm rests. Full: default, dotted: paper's method, dashed: thin "
        f"rod. Crosses: the printed values of the instants. The first {_SETTLED} samples may leave the frame."
    )
    title = f"Figure {number}: {letter} components of the forces, {motion} manipulator"
    return save_figure(canvas, out / f"figure_{number:02}.png", title, caption)


def _diagrams(motion: str, number: int, runs: Runs, out: Path) -> Figure:
    """Forces and accelerations on the posture: one row per instant and direction, one column per inertia."""
    instants = [instant for instant in INSTANTS if instant.motion == motion]
    figure, panels = new_figure(13.0 if motion == "3-link" else 16.0, rows=4, columns=2, width=12.0)
    for row in range(4):
        instant, axis = instants[row // 2], 1 + row % 2
        for column, (run, name) in enumerate(zip((runs[0], runs[2]), ("paper's inertia", "thin rod"), strict=True)):
            _diagram(panels[row][column], run, instant, axis)
            title = f"({'abcd'[row]}) t = {instant.time:.2f} s, {'xyz'[axis]} direction, {name}"
            panels[row][column].set_title(title, fontsize="medium")
    for axes in panels.flat:
        place_labels(figure, axes)
    caption = (
        "Blue: force of the previous link on each link; orange: reaction of the next link; red: friction and normal "
        "force; grey: weight; green: acceleration of the centre of mass. Forces share one scale per panel, "
        "accelerations another; numbers in N and m/s²."
    )
    title = f"Figure {number}: forces and accelerations, {motion} manipulator"
    return save_figure(figure, out / f"figure_{number:02}.png", title, caption)


def _diagram(axes: Any, run: Run, instant: Instant, axis: int) -> None:
    k = run.at(instant.time)
    points, forces = run.joints[k], run.forces[k, :, axis]
    axes.plot(points[:, 1], points[:, 2], "o-", color="black", linewidth=2.5, markersize=4, alpha=0.3)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    hand = run.friction[k] if axis == 1 else run.normal[k]
    scale = 0.2 / max(float(np.abs(forces).max()), abs(float(hand)), 1e-9)
    centres = 0.5 * (points[1:] + points[:-1])
    pull = run.centroid[k, :, axis]
    acceleration_scale = 0.14 / max(float(np.abs(pull).max()), 1e-9)
    for link, force in enumerate(forces):
        _arrow(axes, points[link], axis, force * scale, _BLUE, f"f{link + 1} {force:.3f}", 0.03)
        if link:
            _arrow(axes, points[link], axis, -force * scale, _ORANGE, "", -0.03)
        if axis == 2:
            _arrow(axes, centres[link], axis, -9.8 * scale, GREY, "", -0.03)
        text = f"s{link + 1} {pull[link]:.3f}"
        _arrow(axes, centres[link], axis, pull[link] * acceleration_scale, _GREEN, text, -0.06 if axis == 1 else 0.03)
    _arrow(axes, points[-1], axis, hand * scale, _RED, f"{'f_t' if axis == 1 else 'f_n'} {hand:.3f}", 0.03)
    axes.set_aspect("equal")
    y, z = points[:, 1], points[:, 2]
    axes.set_xlim(y.min() - 0.3, y.max() + 0.3)
    axes.set_ylim(z.min() - 0.26, z.max() + 0.28)
    axes.set_xlabel("y (m)")
    axes.set_ylabel("z (m)")


def _arrow(axes: Any, origin: np.ndarray, axis: int, length: float, colour: str, text: str, aside: float) -> None:
    """An arrow along y or z, moved aside a little so that arrows of one line do not hide each other."""
    y, z = (origin[1], origin[2] + aside) if axis == 1 else (origin[1] + aside, origin[2])
    end = (y + length, z) if axis == 1 else (y, z + length)
    axes.annotate("", end, (y, z), arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0})
    if text:
        middle = (0.5 * (y + end[0]), 0.5 * (z + end[1]))
        axes.annotate(text, middle, textcoords="offset points", xytext=(0, 0), fontsize=8, color=colour)
