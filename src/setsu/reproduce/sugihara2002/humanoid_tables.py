"""What the three motions have to show, as tables: the paper prints pictures of them and no numbers.

The wanted value is a law (weight, gravity, energy) or the plan; the tolerance is what counts as keeping it. Beside the
default solver stands the paper's own method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from setsu.reproduce.report import Row, Table
from setsu.reproduce.sugihara2002.humanoid_runs import WALK, HumanoidRun, flight

__all__ = ["PAPER_METHOD", "fall_table", "jump_table", "walk_table"]

PAPER_METHOD = "the paper's method"
"""Heading of the column with the results of the contact solver "sugihara2002"."""

_DEGREE = float(np.degrees(1.0))


class _Demand(NamedTuple):
    """What a run is to show and what it shows."""

    quantity: str
    unit: str
    wanted: float
    computed: float
    tolerance: float


def walk_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return ten steps against their plan, by the default solver and by the paper's method."""
    return _table("Walking motion (Fig. 4): ten steps; wanted beside computed", _walk, run, paper)


def fall_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return the laws of a fall without drives."""
    return _table("Falling down (Fig. 5): drives off, pushed; wanted beside computed", _fall, run, paper)


def jump_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return the laws of flight, and how the jump ends."""
    return _table("Jumping (Fig. 6): wanted beside computed", _jump, run, paper)


def _table(title: str, demands: Callable[[HumanoidRun], list[_Demand]], run: HumanoidRun, paper: HumanoidRun) -> Table:
    pairs = zip(demands(run), demands(paper), strict=True)
    rows = (
        Row(one.quantity, one.unit, one.wanted, one.computed, one.tolerance, other=two.computed) for one, two in pairs
    )
    return Table(title, tuple(rows), PAPER_METHOD, "expected")


def _walk(run: HumanoidRun) -> list[_Demand]:
    rec = run.recording
    mean = float(run.force[:, 2].mean()) / run.biped.weight
    return [
        _Demand("steps on the plan", "", WALK.steps, _landings(run), 0.0),
        _Demand("travel of the torso", "m", WALK.travel, float(rec.q[-1, 0] - rec.q[0, 0]), 0.03 * WALK.travel),
        _Demand("largest tilt", "°", 0.0, _DEGREE * float(run.tilt.max()), 1.0),
        _Demand("mean vertical force / weight", "", 1.0, mean, 1e-6),
        _Demand("median margin of the ZMP, at least 15 mm", "mm", 36.5, 1e3 * float(np.nanmedian(run.margin)), 21.5),
        *_common(run),
    ]


def _fall(run: HumanoidRun) -> list[_Demand]:
    rec = run.recording
    rise = max(0.0, float(np.diff(rec.energy).max()))
    return [
        _Demand("largest rise of energy in a step", "J", 0.0, rise, 1e-9 * float(rec.energy[0])),
        _Demand("largest joint or body speed at the end", "m/s, rad/s", 0.0, float(np.abs(rec.v[-1]).max()), 1e-3),
        *_common(run),
    ]


def _jump(run: HumanoidRun) -> list[_Demand]:
    begin, end = flight(run)
    time, height = run.recording.time[begin : end + 1], run.com[begin : end + 1, 2]
    gravity = -2.0 * float(np.polyfit(time - time[0], height, 2)[0])
    g = -run.biped.mechanism.gravity[2]
    # The velocity of a semi-implicit step is that of its middle: at a state it is the mean of those around.
    speed = 0.5 * float(run.speed[begin, 2] + run.speed[begin + 1, 2])
    rise = float(height.max() - height[0]) / (speed**2 / (2.0 * g))
    later = run.recording.time >= run.recording.time[end] + 1.0
    tilt = _DEGREE * float(run.tilt[later].max()) if later.any() else float("nan")
    return [
        _Demand("flight, at least 0.15 s", "s", 0.2, float(time[-1] - time[0]), 0.05),
        _Demand("gravity fitted to the flight", "m/s²", g, gravity, 1e-3 * g),
        _Demand("rise over v²/2g", "", 1.0, rise, 0.02),
        _Demand("largest tilt from 1 s after landing on", "°", 0.0, tilt, 3.0),
        *_common(run),
    ]


def _common(run: HumanoidRun) -> list[_Demand]:
    return [
        _Demand("deepest point below the floor", "mm", 0.0, 1e3 * run.depth, 0.1),
        _Demand("balance of momentum, worst step", "weights", 0.0, float(run.momentum_error.max()), 1e-9),
    ]


def _landings(run: HumanoidRun) -> int:
    """Count how often a foot comes down from at least half of the planned swing."""
    heights = run.biped.sole_corners(run.recording.q)[..., 2].min(axis=2)
    count = 0
    for height in heights.T:
        high = False
        for value in height:
            if value > 0.5 * WALK.swing_height:
                high = True
            elif high and value < 1e-4:
                count, high = count + 1, False
    return count
