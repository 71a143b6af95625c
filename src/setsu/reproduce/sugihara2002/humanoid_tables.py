"""What the three motions have to show, as tables: the paper prints pictures of them and no numbers.

What is expected is a law (weight, gravity, energy), a bound or the plan. Beside the default solver stands the paper's
own method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from setsu.reproduce.report import Expected, Row, Table, at_least, at_most, equal
from setsu.reproduce.sugihara2002.humanoid_runs import WALK, HumanoidRun, flight

__all__ = ["PAPER_METHOD", "computing_table", "fall_table", "jump_table", "walk_table"]

PAPER_METHOD = "the paper's method"
"""Heading of the column with the results of the contact solver "sugihara2002"."""

_DEGREE = float(np.degrees(1.0))


class _Demand(NamedTuple):
    """What a run is to show and what it shows."""

    quantity: str
    unit: str
    wanted: Expected
    computed: float


def walk_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return ten steps against their plan, by the default solver and by the paper's method."""
    return _table("Walking motion (Fig. 4): ten steps", _walk, run, paper)


def fall_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return the laws of a fall without drives."""
    return _table("Falling down (Fig. 5): drives off, pushed", _fall, run, paper)


def jump_table(run: HumanoidRun, paper: HumanoidRun) -> Table:
    """Return the laws of flight, and how the jump ends."""
    return _table("Jumping (Fig. 6): wanted beside computed", _jump, run, paper)


def computing_table(runs: Mapping[str, Sequence[HumanoidRun]]) -> Table:
    """Return the time of a step and the rounds of the solvers; the paper states both for its own."""
    rows = []
    for name, (one, two) in runs.items():
        rows.append(
            Row(f"{name}: processor time of a step", "ms", None, 1e3 * one.seconds, others=(1e3 * two.seconds,))
        )
    for name, pair in runs.items():
        logs = [each.recording.contact_log for each in pair]
        if any(log is None for log in logs):
            continue
        mean, worst = ([float(function(log.rounds)) for log in logs if log] for function in (np.mean, np.max))
        rows.append(Row(f"{name}: rounds of a step, mean", "-", None, mean[0], others=(mean[1],)))
        rows.append(Row(f"{name}: rounds of a step, worst", "-", None, worst[0], others=(worst[1],)))
        points = pair[1].positions.shape[1]
        rows.append(
            Row(f"{name}: worst rounds of the paper's method, over {points} points", "-", at_most(points), worst[1])
        )
    title = (
        "Computing of the motions, this run (paper: about 4 ms a step on a Pentium 4 with 1.8 GHz; at most as many "
        "rounds as contact points)"
    )
    return Table(title, tuple(rows), (PAPER_METHOD,), "expected")


def _table(title: str, demands: Callable[[HumanoidRun], list[_Demand]], run: HumanoidRun, paper: HumanoidRun) -> Table:
    pairs = zip(demands(run), demands(paper), strict=True)
    rows = (Row(one.quantity, one.unit, one.wanted, one.computed, others=(two.computed,)) for one, two in pairs)
    return Table(title, tuple(rows), (PAPER_METHOD,), "expected")


def _walk(run: HumanoidRun) -> list[_Demand]:
    rec = run.recording
    mean = float(run.force[:, 2].mean()) / run.biped.weight
    return [
        _Demand("steps on the plan", "", equal(WALK.steps), _landings(run)),
        _Demand("travel of the torso", "m", equal(WALK.travel, 0.03 * WALK.travel), float(rec.q[-1, 0] - rec.q[0, 0])),
        _Demand("largest tilt", "°", at_most(1.0), _DEGREE * float(run.tilt.max())),
        _Demand("mean vertical force / weight", "", equal(1.0, 1e-6), mean),
        _Demand("median margin of the ZMP", "mm", at_least(15.0), 1e3 * float(np.nanmedian(run.margin))),
        *_common(run),
    ]


def _fall(run: HumanoidRun) -> list[_Demand]:
    rec = run.recording
    rise = max(0.0, float(np.diff(rec.energy).max()))
    return [
        _Demand("largest rise of energy in a step", "J", at_most(1e-9 * float(rec.energy[0])), rise),
        _Demand("largest joint or body speed at the end", "m/s, rad/s", at_most(1e-3), float(np.abs(rec.v[-1]).max())),
        _Demand("farthest a joint goes beyond its limits", "rad", at_most(1e-4), run.beyond),
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
        _Demand("time of flight", "s", at_least(0.15), float(time[-1] - time[0])),
        _Demand("gravity fitted to the flight", "m/s²", equal(g, 1e-3 * g), gravity),
        _Demand("rise over v²/2g", "", equal(1.0, 0.02), rise),
        _Demand("largest tilt from 1 s after landing on", "°", at_most(3.0), tilt),
        *_common(run),
    ]


def _common(run: HumanoidRun) -> list[_Demand]:
    return [
        _Demand("deepest point below the floor", "mm", at_most(0.1), 1e3 * run.depth),
        _Demand("balance of momentum, worst step", "weights", at_most(1e-9), float(run.momentum_error.max())),
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
