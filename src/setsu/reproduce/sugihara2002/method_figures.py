"""Figures 1-3 of sugihara2002: states of contact, the model of a collision, and the steps of the method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from setsu.reproduce.drawing import COLORS, GREY, new_figure, save_figure
from setsu.reproduce.report import Figure

__all__ = ["method_figures"]

_STEPS = (
    "1. mass matrix H and bias b",
    "2. find the points in contact",
    "3. directions K of the points",
    "4. velocities after contact: -e v_ν ν + v_t, 0 when stuck",
    "5. M = Kᵀ H⁻¹ K;  M Δf = v⁺ - Kᵀ (v + H⁻¹ (u - b) Δt)",
    "6. drop points with f_ν ≤ 0, admit dropped ones that sink",
    "8. slip where |f_t| > μ_s f_ν:  f = f_ν (ν - μ_k σ)",
    "9. accelerations",
    "10. integrate",
)
_BACK = ((5, 3, "7. until none is dropped"), (6, 3, "until none slips anew"))


def method_figures(out: Path) -> tuple[Figure, ...]:
    """Draw the three figures into the folder `out`."""
    return _states(out), _collision(out), _flow(out)


def _states(out: Path) -> Figure:
    """A box seen from the side, in the states the paper tells apart; contact points are corners in all of them."""
    canvas, panels = new_figure(3.4, columns=4)
    size = np.array([[-0.5, -0.3], [0.5, -0.3], [0.5, 0.3], [-0.5, 0.3]])
    shown = (
        ("(A) point", 0.5, 0.0, (0,)),
        ("(B) line", 0.5, 0.35, (0, 4)),
        ("(C) face", 0.0, 0.35, (0, 1, 4, 5)),
        ("(D) none of these", 0.0, 0.35, (0, 1)),
    )
    for axes, (title, turn, depth, touching) in zip(panels, shown, strict=True):
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        front = size @ R.T
        lift = -float(front[:, 1].min())
        front = front + np.array([0.0, lift])
        # The far face, shifted aside as in a picture in space.
        back = front + max(depth, 0.2) * np.array([0.35, 0.25])
        for face, alpha in ((back, 0.15), (front, 0.45)):
            axes.fill(*face.T, facecolor=COLORS[0], edgecolor="black", alpha=alpha, label="_box")
        for a, b in zip(front, back, strict=True):
            axes.plot(*np.array([a, b]).T, color="black", linewidth=0.8, alpha=0.6)
        corners = np.concatenate([front, back])
        lowest = [k for k in touching if k < len(corners)]
        axes.plot(*corners[lowest].T, "o", color=COLORS[1], label="contact points")
        axes.axhline(0.0, color=GREY, linewidth=1.5, label="floor")
        if title.startswith("(D)"):
            axes.plot([0.0], [0.0], "o", color=COLORS[1], label="a third body's point")
            axes.fill([-0.1, 0.1, 0.0], [-0.25, -0.25, 0.0], facecolor=GREY, alpha=0.6)
        axes.set_aspect("equal")
        axes.set(title=title, xlim=(-0.8, 0.95), ylim=(-0.3, 1.1))
        axes.axis("off")
    caption = (
        "The paper replaces every state by contact of the corners that make it (dots): one rule for all of them, no "
        "case for lines and faces."
    )
    return save_figure(canvas, out / "figure_01.png", "Figure 1: states of contact, all as points", caption)


def _collision(out: Path) -> Figure:
    canvas, panels = new_figure(4.2, columns=2)
    before = np.array([0.8, -1.0])
    for axes, (title, e, slip) in zip(
        panels, (("e = 0.5, sliding goes on", 0.5, True), ("e = 0, stuck", 0.0, False)), strict=True
    ):
        after = np.array([before[0] if slip else 0.0, -e * before[1]])
        axes.axhline(0.0, color=GREY, linewidth=2.0, label="surface")
        _arrow(axes, -before, np.zeros(2), COLORS[0], "")
        axes.annotate("v⁻", -0.6 * before, textcoords="offset points", xytext=(6, 4), color=COLORS[0])
        _arrow(axes, np.zeros(2), after, COLORS[1], "v⁺" if slip else "v⁺ = 0")
        _arrow(axes, np.array([0.0, 0.0]), np.array([0.0, 1.3]), COLORS[2], "ν")
        axes.plot([0.0], [0.0], "o", color="black", label="contact point")
        axes.set_aspect("equal")
        axes.set(title=title, xlabel="along the surface", ylabel="along ν", xlim=(-1.2, 1.4), ylim=(-0.2, 1.5))
        axes.grid(alpha=0.3)
    caption = (
        "Velocity of a point before and after contact, (8)-(12): v⁺ = -e v_ν ν + v_t while it slides, 0 when it sticks."
    )
    return save_figure(canvas, out / "figure_02.png", "Figure 2: rigid contact model", caption)


def _arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str, text: str) -> None:
    if np.allclose(start, end):
        axes.annotate(text, end, textcoords="offset points", xytext=(8, 8), color=colour)
        return
    axes.plot(*np.array([start, end]).T, color=colour, linewidth=0.0, label=text or "v⁻")
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6})
    axes.annotate(text, end, textcoords="offset points", xytext=(6, -4), color=colour)


def _flow(out: Path) -> Figure:
    canvas, axes = new_figure(6.4)
    box = {"boxstyle": "round,pad=0.35", "facecolor": "#eef4f8", "edgecolor": COLORS[0]}
    count = len(_STEPS)
    for k, text in enumerate(_STEPS):
        y = count - k
        axes.text(0.5, y, text, ha="center", va="center", bbox=box)
        if k:
            axes.annotate("", (0.5, y + 0.3), (0.5, y + 0.7), arrowprops={"arrowstyle": "-|>", "color": "black"})
    for number, (start, end, text) in enumerate(_BACK):
        x = 0.82 + 0.24 * number
        axes.annotate(
            "",
            (0.74, count - end),
            (x, count - start),
            arrowprops={"arrowstyle": "-|>", "color": COLORS[1], "connectionstyle": "angle,angleA=90,angleB=0,rad=4"},
        )
        axes.plot([0.72, x], [count - start] * 2, color=COLORS[1], linewidth=1.2, label=text)
        axes.text(x + 0.005, count - start + 0.35, text, color=COLORS[1], fontsize="small", va="center")
    axes.set(xlim=(0.1, 1.25), ylim=(0.4, count + 0.6))
    axes.axis("off")
    caption = (
        'The method as shipped (contact_solver="sugihara2002"), in the corrected reading: step 7 runs at most '
        "once per point for dropping, dropped points are checked again, and slipping points are solved anew."
    )
    return save_figure(canvas, out / "figure_03.png", "Figure 3: flow of the forward dynamics", caption)
