"""What the three motions have to show, as tables: the paper prints pictures of them and no numbers.

The wanted value is a law (weight, gravity, energy) or the plan; the tolerance is what counts as keeping it.
"""

from __future__ import annotations

import numpy as np

from setsu.reproduce.report import Row, Table
from setsu.reproduce.sugihara2002.humanoid_runs import WALK, HumanoidRun, flight

__all__ = ["fall_table", "jump_table", "walk_table"]

_DEGREE = float(np.degrees(1.0))


def walk_table(run: HumanoidRun) -> Table:
    """Return ten steps against their plan."""
    rec = run.recording
    mean = float(run.force[:, 2].mean()) / run.biped.weight
    return Table(
        "Walking motion (Fig. 4): ten steps; wanted beside computed",
        (
            Row("steps on the plan", "", WALK.steps, _landings(run), 0.0),
            Row("travel of the torso", "m", WALK.travel, float(rec.q[-1, 0] - rec.q[0, 0]), 0.03 * WALK.travel),
            Row("largest tilt", "°", 0.0, _DEGREE * float(run.tilt.max()), 1.0),
            Row("mean vertical force / weight", "", 1.0, mean, 1e-6),
            Row("median margin of the ZMP, at least 15 mm", "mm", 36.5, 1e3 * float(np.nanmedian(run.margin)), 21.5),
            *_common(run),
        ),
    )


def fall_table(run: HumanoidRun) -> Table:
    """Return the laws of a fall without drives."""
    rec = run.recording
    rise = max(0.0, float(np.diff(rec.energy).max()))
    return Table(
        "Falling down (Fig. 5): drives off, pushed; wanted beside computed",
        (
            Row("largest rise of energy in a step", "J", 0.0, rise, 1e-9 * float(rec.energy[0])),
            Row("largest joint or body speed at the end", "m/s, rad/s", 0.0, float(np.abs(rec.v[-1]).max()), 1e-3),
            *_common(run),
        ),
    )


def jump_table(run: HumanoidRun) -> Table:
    """Return the laws of flight, and how the jump ends."""
    begin, end = flight(run)
    time, height = run.recording.time[begin : end + 1], run.com[begin : end + 1, 2]
    gravity = -2.0 * float(np.polyfit(time - time[0], height, 2)[0])
    # The velocity of a semi-implicit step is that of its middle: at a state it is the mean of those around.
    speed = 0.5 * float(run.speed[begin, 2] + run.speed[begin + 1, 2])
    rise = float(height.max() - height[0])
    later = run.recording.time >= run.recording.time[end] + 1.0
    tilt = _DEGREE * float(run.tilt[later].max()) if later.any() else float("nan")
    g = -run.biped.mechanism.gravity[2]
    return Table(
        "Jumping (Fig. 6): wanted beside computed",
        (
            Row("flight, at least 0.15 s, planned", "s", 0.2, float(time[-1] - time[0]), 0.05),
            Row("gravity fitted to the flight", "m/s²", g, gravity, 1e-3 * g),
            Row("rise against v²/2g", "mm", 1e3 * speed**2 / (2.0 * g), 1e3 * rise, 20.0 * speed**2 / (2.0 * g)),
            Row("largest tilt from 1 s after landing on", "°", 0.0, tilt, 3.0),
            *_common(run),
        ),
    )


def _common(run: HumanoidRun) -> tuple[Row, ...]:
    return (
        Row("deepest point below the floor", "mm", 0.0, 1e3 * run.depth, 0.1),
        Row("balance of momentum, worst step", "weights", 0.0, float(run.momentum_error.max()), 1e-9),
    )


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
