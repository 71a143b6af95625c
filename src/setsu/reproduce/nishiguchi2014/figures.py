"""Figures 3-6, 8-11 and 13-16 of nishiguchi2014, with the paper's inertia and with that of a thin rod."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from setsu.reproduce.nishiguchi2014.arms import Run
from setsu.reproduce.nishiguchi2014.printed import INSTANTS, Instant
from setsu.reproduce.report import Figure

__all__ = ["figures"]

_BLUE, _ORANGE, _GREEN, _RED, _GREY = "#0072b2", "#d55e00", "#009e73", "#b22222", "#888888"
_COLOURS = (_BLUE, _ORANGE, _GREEN)
_PLATE = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
_TORQUES = {
    "figure 3": "τ = (-3, 3) N m",
    "figure 4": "τ = (3 sin πt/3, 3 sin πt/3) N m",
    "figure 5": "τ = (3, 3, 3) N m",
    "figure 6": "τ = (-3 cos 2πt, -3 sin 2πt, 3 cos 2πt) N m",
}


def figures(paper: Mapping[str, Run], rod: Mapping[str, Run], out: Path) -> tuple[Figure, ...]:
    """Draw all figures into the folder `out`."""
    drawn = [_angles(key, paper[key], rod[key], out) for key in _TORQUES]
    for motion, first, end in (("2-link", 8, 12.0), ("3-link", 13, 12.0)):
        runs = (paper[motion], rod[motion])
        drawn.append(_postures(motion, first, runs, end, out))
        drawn.append(_forces(motion, first + 1, "y", runs, end, out))
        drawn.append(_forces(motion, first + 2, "z", runs, end, out))
        drawn.append(_diagrams(motion, first + 3, runs, out))
    return tuple(drawn)


def _angles(key: str, run: Run, rod: Run, out: Path) -> Figure:
    figure, axes = _new_figure((8.0, 4.6))
    right = axes.twinx()
    for k in range(run.recording.q.shape[1]):
        axes.plot(run.recording.time, run.recording.q[:, k], color=_COLOURS[k], label=f"q{k + 1}")
        axes.plot(rod.recording.time, rod.recording.q[:, k], color=_COLOURS[k], linestyle="--", linewidth=1.0)
    right.plot(run.recording.time, run.hand[:, 2], color=_RED, label="hand z (right scale)")
    right.set_ylim(-1.0, 1.0)
    right.set_ylabel("height of the hand z (m)", color=_RED)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("joint angle (rad)")
    axes.set_title(f"{key.capitalize()}: {_TORQUES[key]}, K = 0.2")
    lines = [*axes.get_lines()[::2], right.get_lines()[0]]
    axes.legend(lines, [line.get_label() for line in lines], loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4)
    axes.grid(alpha=0.3)
    events = [event for event in run.recording.events if event.kind in ("stick", "slip", "turn")]
    told = ", ".join(f"{event.kind} {event.time:.2f} s" for event in events[:4])
    told += f" and {len(events) - 4} more" if len(events) > 4 else ""
    caption = (
        f"Solid: the paper's inertia, dashed: thin rod. The hand stays on z = 0 within "
        f"{np.abs(run.hand[:, 2]).max():.0e} m. The hand's changes: {told or 'none'}."
    )
    number = int(key.split()[1])
    return _save(figure, out, f"figure_{number:02}", key.capitalize(), caption)


def _postures(motion: str, number: int, runs: tuple[Run, Run], end: float, out: Path) -> Figure:
    figure, panels = _new_figure((9.5, 4.6), columns=2)
    for axes, run, name in zip(panels, runs, ("paper's inertia", "thin rod"), strict=True):
        shown = np.linspace(0.0, end, 9)
        for part, time in enumerate(shown):
            points = run.joints[run.at(time)]
            shade = 0.25 + 0.75 * part / (len(shown) - 1)
            axes.plot(points[:, 1], points[:, 2], "o-", color=_BLUE, alpha=shade, markersize=3)
        axes.axhline(0.0, color=_GREY, linewidth=1.0)
        axes.set_aspect("equal")
        axes.set_xlabel("y (m)")
        axes.set_ylabel("z (m)")
        axes.set_title(f"{name}, 0 to {end:g} s")
        axes.grid(alpha=0.3)
    caption = f"Postures of the free response every {end / 8:g} s; the later, the darker. The hand slides on z = 0."
    return _save(figure, out, f"figure_{number:02}", f"Figure {number}: postures of the {motion} manipulator", caption)


def _forces(motion: str, number: int, letter: str, runs: tuple[Run, Run], end: float, out: Path) -> Figure:
    figure, axes = _new_figure((8.0, 4.6))
    axis = "xyz".index(letter)
    for run, style in zip(runs, ("-", "--"), strict=True):
        inside = run.recording.time <= end
        time = run.recording.time[inside]
        for k in range(run.forces.shape[1]):
            label = f"f{k + 1}{letter}" if style == "-" else None
            axes.plot(time, run.forces[inside, k, axis], style, color=_COLOURS[k], label=label)
        last, name = (run.friction, "friction f_t") if letter == "y" else (run.normal, "normal force f_n")
        axes.plot(time, last[inside], style, color=_RED, label=name if style == "-" else None)
    for mark, instant in enumerate((instant for instant in INSTANTS if instant.motion == motion), start=1):
        axes.axvline(instant.time, color=_GREY, linewidth=0.8)
        axes.annotate(f"({mark + 2 * (motion == '3-link')})", (instant.time, 1.01), xycoords=("data", "axes fraction"),
                      ha="center", fontsize="small")  # fmt: skip
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"force along {letter} (N)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4)
    axes.grid(alpha=0.3)
    caption = f"Forces on the links along {letter}. Solid: the paper's inertia, dashed: thin rod. Lines: the instants."
    title = f"Figure {number}: {letter} components of the forces, {motion} manipulator"
    return _save(figure, out, f"figure_{number:02}", title, caption)


def _diagrams(motion: str, number: int, runs: tuple[Run, Run], out: Path) -> Figure:
    """Forces and accelerations on the posture: one row per instant and direction, one column per inertia."""
    instants = [instant for instant in INSTANTS if instant.motion == motion]
    figure, panels = _new_figure((12.0, 13.0 if motion == "3-link" else 16.0), columns=2, rows=4)
    for row in range(4):
        instant, axis = instants[row // 2], 1 + row % 2
        for column, (run, name) in enumerate(zip(runs, ("paper's inertia", "thin rod"), strict=True)):
            _diagram(panels[row][column], run, instant, axis)
            title = f"({'abcd'[row]}) t = {instant.time:.2f} s, {'xyz'[axis]} direction, {name}"
            panels[row][column].set_title(title, fontsize="medium")
    caption = (
        "Blue: force of the previous link on each link; orange: reaction of the next link; red: friction and normal "
        "force; grey: weight; green: acceleration of the centre of mass. Forces share one scale per panel, "
        "accelerations another; numbers in N and m/s²."
    )
    title = f"Figure {number}: forces and accelerations, {motion} manipulator"
    return _save(figure, out, f"figure_{number:02}", title, caption)


def _diagram(axes: Any, run: Run, instant: Instant, axis: int) -> None:
    k = run.at(instant.time)
    points, forces = run.joints[k], run.forces[k, :, axis]
    axes.plot(points[:, 1], points[:, 2], "o-", color="black", linewidth=2.5, markersize=4, alpha=0.3)
    axes.axhline(0.0, color=_GREY, linewidth=0.8)
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
            _arrow(axes, centres[link], axis, -9.8 * scale, _GREY, "", -0.03)
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
        # Beside the arrow's middle: above or below along y, to the right along z.
        middle = (0.5 * (y + end[0]), 0.5 * (z + end[1]))
        place, align = ((0, 3 if aside > 0 else -10), "center") if axis == 1 else ((4, -3), "left")
        axes.annotate(
            text, middle, textcoords="offset points", xytext=place, fontsize=8, color=colour, ha=align, bbox=_PLATE
        )


def _new_figure(size: tuple[float, float], columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns)


def _save(figure: Any, out: Path, name: str, title: str, caption: str) -> Figure:
    path = out / f"{name}.png"
    figure.savefig(path, dpi=110)
    return Figure(title, path, caption)
