"""Snapshots like the paper's Figs 4-6, and plots of the zero-moment point, the contact forces and the energy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.balance import support_polygon
from setsu.reproduce.drawing import new_figure, save_figure
from setsu.reproduce.report import Figure
from setsu.reproduce.sugihara2002.humanoid_runs import WALK, HumanoidRun, flight
from setsu.reproduce.sugihara2002.snapshots import View, draw_floor, draw_mechanism

__all__ = ["fall_figures", "jump_figures", "walk_figures"]

Floats = NDArray[np.float64]

_BLUE, _ORANGE, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#888888"


def walk_figures(run: HumanoidRun, out: Path) -> tuple[Figure, ...]:
    """Draw Fig. 4 and the plots of the walk into the folder `out`."""
    first = WALK.standing + 0.5 * (WALK.step_time + WALK.double_support)
    shown = first + WALK.step_time * np.arange(WALK.steps, dtype=np.float64)
    caption = "Ten steps of 3 cm in 0.6 s each, in the middle of every swing."
    return (
        _snapshots(run, shown, out, "figure_04", "Figure 4: walking motion", caption, View(-50.0, 14.0), 0.21),
        _zmp_on_ground(run, out),
        _zmp_over_time(run, out),
        _forces(run, out, "walk_forces", "Walking: vertical force on either foot"),
        _energy(run, out, "walk_energy", "Walking: energy"),
    )


def fall_figures(run: HumanoidRun, out: Path) -> tuple[Figure, ...]:
    """Draw Fig. 5 and the plots of the fall into the folder `out`."""
    shown = np.array([0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, run.recording.time[-1]])
    caption = (
        "All drives off, pushed ahead by 0.4 m/s. Joints end at their stops, and links touch each other and the floor."
    )
    return (
        _snapshots(run, shown, out, "figure_05", "Figure 5: falling down", caption, View(-65.0, 12.0), 0.42),
        _forces(run, out, "fall_forces", "Falling: vertical contact forces"),
        _energy(run, out, "fall_energy", "Falling: energy, which never rises"),
    )


def jump_figures(run: HumanoidRun, out: Path) -> tuple[Figure, ...]:
    """Draw Fig. 6 and the plots of the jump into the folder `out`."""
    time = run.recording.time
    begin, end = (time[row] for row in flight(run))
    shown = np.array([0.0, begin - 0.09, begin, 0.5 * (begin + end), end, end + 0.09, time[-1]])
    caption = "Standing, crouched, leaving the floor, highest, touching down, lowest, standing again."
    return (
        _snapshots(run, shown, out, "figure_06", "Figure 6: jumping", caption, View(-50.0, 6.0), 0.28),
        _height(run, out),
        _forces(run, out, "jump_forces", "Jumping: vertical force on either foot"),
        _energy(run, out, "jump_energy", "Jumping: energy"),
    )


def _snapshots(
    run: HumanoidRun, times: Floats, out: Path, name: str, title: str, caption: str, view: View, apart: float
) -> Figure:
    """One figure per instant, side by side, each over a patch of floor that stays where it is."""
    figure, axes = new_figure(12.0 / (apart * len(times) + 0.1) * 0.62, width=12.0)
    m, rec = run.biped.mechanism, run.recording
    for number, time in enumerate(times):
        row = int(np.argmin(np.abs(rec.time - time)))
        shift = number * apart * np.append(view.axes[0][:2], 0.0)
        middle = shift[:2] + rec.q[0, :2]
        draw_floor(axes, view, tuple(middle - 0.12), tuple(middle + 0.12), 0.04)
        draw_mechanism(axes, m, rec.q[row], view, tuple(shift))
        below = view.project(np.append(shift[:2] + rec.q[row, :2], 0.0))[0]
        axes.annotate(f"{rec.time[row]:.2f} s", (below, 0.01), xycoords=("data", "axes fraction"), ha="center")
    axes.set_aspect("equal")
    axes.autoscale_view()
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.05, high)
    axes.axis("off")
    return save_figure(figure, out / f"{name}.png", title, caption)


def _zmp_on_ground(run: HumanoidRun, out: Path) -> Figure:
    """Path of the zero-moment point over the places where the soles stood."""
    figure, axes = new_figure(4.2)
    assert run.motion is not None
    supports = np.unique(run.motion.support, axis=0, return_index=True)[1]
    changes = np.flatnonzero(np.any(np.diff(run.motion.support, axis=0), axis=1))
    corners = run.biped.sole_corners(run.recording.q)[..., :2]
    for row in sorted({0, *supports.tolist(), *(changes + 1).tolist()}):
        for side in np.flatnonzero(run.motion.support[row]):
            axes.fill(*corners[row, side].T, facecolor="#eeeeee", edgecolor=_GREY, linewidth=0.7)
    row = int(np.argmin(np.abs(run.recording.time - 0.5)))
    hull = support_polygon(corners[row].reshape(-1, 2))
    axes.fill(*hull.T, facecolor="none", edgecolor=_GREEN, linestyle="--", label="support polygon at the start")
    axes.plot(*run.motion.zmp.T, color=_ORANGE, linewidth=2.5, label="planned zero-moment point")
    axes.plot(*run.zmp.T, color=_BLUE, linewidth=0.9, label="zero-moment point of the contact forces")
    axes.plot(*run.com[:, :2].T, color=_GREEN, linewidth=0.9, label="centre of mass")
    axes.set_aspect("equal")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    caption = "Soles (grey) at every change of support. The zero-moment point stays well inside the sole that stands."
    return save_figure(figure, out / "walk_zmp_ground.png", "Walking: zero-moment point and soles, from above", caption)


def _zmp_over_time(run: HumanoidRun, out: Path) -> Figure:
    figure, panels = new_figure(6.5, rows=3, sharex=True)
    assert run.motion is not None
    for axes, axis in zip(panels[:2], (0, 1), strict=True):
        axes.plot(run.motion.time, run.motion.zmp[:, axis], color=_ORANGE, linewidth=2.0, label="planned")
        axes.plot(run.recording.time, run.zmp[:, axis], color=_BLUE, linewidth=0.9, label="contact forces")
        axes.set_ylabel(f"{'xy'[axis]} (m)")
    panels[0].legend(loc="upper left", ncols=2)
    panels[2].plot(run.recording.time, 1e3 * run.margin, color=_GREEN, linewidth=0.9)
    panels[2].axhline(15.0, color=_GREY, linestyle="--", linewidth=0.8)
    panels[2].set_ylabel("margin (mm)")
    panels[2].set_xlabel("time (s)")
    for axes in panels:
        axes.grid(alpha=0.3)
    median = 1e3 * float(np.nanmedian(run.margin))
    caption = f"Distance of the zero-moment point to the border of the support polygon: median {median:.1f} mm."
    return save_figure(
        figure, out / "walk_zmp_time.png", "Walking: zero-moment point over time, and its margin", caption
    )


def _forces(run: HumanoidRun, out: Path, name: str, title: str) -> Figure:
    figure, axes = new_figure(3.8)
    vertical, time = run.recording.contact_force[..., 2], run.recording.time
    bodies = np.array([point.body for point in run.biped.mechanism.contact_points])
    for foot, colour in zip(run.biped.feet, (_BLUE, _ORANGE), strict=True):
        axes.plot(
            time, vertical[:, bodies == foot].sum(axis=1), color=colour, linewidth=0.9, label=foot.replace("_", " ")
        )
    others = vertical[:, ~np.isin(bodies, run.biped.feet)].sum(axis=1)
    if others.any():
        axes.plot(time, others, color=_GREEN, linewidth=0.9, label="all other links")
    axes.axhline(run.biped.weight, color=_GREY, linestyle="--", linewidth=0.8, label="weight")
    highest = float(run.force[:, 2].max())
    if highest > 8.0 * run.biped.weight:
        axes.set_yscale("symlog", linthresh=run.biped.weight)
        axes.set_ylim(0.0, 2.0 * highest)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("vertical force (N)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4)
    axes.grid(alpha=0.3)
    caption = f"Impulses of impacts appear as force over one step of 1 ms; the highest sum is {highest:.0f} N."
    return save_figure(figure, out / f"{name}.png", title, caption)


def _energy(run: HumanoidRun, out: Path, name: str, title: str) -> Figure:
    figure, axes = new_figure(3.8)
    rec = run.recording
    axes.plot(rec.time, rec.energy - rec.energy[0], color="black", label="energy since the start")
    ledger = rec.ledger
    for entry, colour, label in (
        (ledger.actuators, _BLUE, "work of the drives"),
        (ledger.joint_friction, _ORANGE, "joint friction"),
        (ledger.contact_friction, _GREEN, "sliding"),
        (ledger.impacts, "#b22222", "impacts"),
    ):
        axes.plot(rec.time, entry, color=colour, linewidth=0.9, label=label)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("energy (J)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=5)
    axes.grid(alpha=0.3)
    change = float(rec.energy[-1] - rec.energy[0])
    caption = f"Kinetic and potential energy, what feeds it and where it goes; it changes by {change:.3g} J in all."
    return save_figure(figure, out / f"{name}.png", title, caption)


def _height(run: HumanoidRun, out: Path) -> Figure:
    figure, axes = new_figure(3.8)
    begin, end = flight(run)
    time, height = run.recording.time, run.com[:, 2]
    soles = run.biped.sole_corners(run.recording.q)[..., 2].min(axis=(1, 2))
    fit = np.polynomial.Polynomial.fit(time[begin : end + 1], height[begin : end + 1], 2)
    axes.plot(time, 1e3 * height, color=_BLUE, label="centre of mass")
    axes.plot(time, 1e3 * soles, color=_ORANGE, label="lowest corner of the soles")
    axes.plot(
        time[begin : end + 1],
        1e3 * fit(time[begin : end + 1]),
        "--",
        color=_GREEN,
        label="parabola fitted to the flight",
    )
    axes.axvspan(time[begin], time[end], color="#eeeeee", zorder=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("height (mm)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    axes.grid(alpha=0.3)
    caption = f"In the air for {time[end] - time[begin]:.3f} s (grey)."
    return save_figure(figure, out / "jump_height.png", "Jumping: heights", caption)
