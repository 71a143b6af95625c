"""Footsteps of a walk, and where the zero-moment point is to be at every instant.

A walk stands first, shifts onto one foot, makes its steps, the last of which sets the feet side by side again, and
stands. Every step is a double support, in which the zero-moment point moves from the old supporting foot to the new
one, and a single support, in which it rests in the middle of the supporting sole while the other foot swings.

A step leads from the standing foot: ahead by `stride` along the mean of both headings, aside by the width of the stance
and `sideways`, turned by `turn`, up by `rise`. Soles lie on the ground, level or on the slope. Refuses counts, lengths
and times out of range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.smooth_paths import hump, smooth_step
from setsu.errors import InputError
from setsu.spatial import whole_number

__all__ = ["FootstepPlan", "Walk", "plan_footsteps"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Walk:
    """What walk is wanted.

    Args:
        steps: how many. stride: how far the feet are apart after each, m; negative walks backwards.
        sideways: how far each step leads to the left, m. turn: by how much each turns to the left, rad.
        rise: how far up each step leads, m: stairs; negative leads down. together: only every other step leads on, the
            one between sets the feet side by side, as on stairs.
        slope: how steep the ground rises along x, rad, from the start of the walk on.
        step_time: from step to step, s. double_support: part of it with both feet on the ground, s.
        swing_height: how far the swinging foot is lifted, m.
        height: of the centre of mass, m.
        standing: time of standing before and after, s.
        first: foot that swings first, 0 left, 1 right.
        sample: time between samples of the plan, s.
    """

    steps: int = 10
    stride: float = 0.03
    sideways: float = 0.0
    turn: float = 0.0
    rise: float = 0.0
    together: bool = False
    slope: float = 0.0
    step_time: float = 0.6
    double_support: float = 0.15
    swing_height: float = 0.02
    height: float = 0.225
    standing: float = 1.0
    first: int = 0
    sample: float = 1e-3

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole_number(self.steps, "Walk steps"))
        signed = ("stride", "sideways", "turn", "rise", "slope")
        for key in (*signed, "step_time", "double_support", "swing_height", "height", "standing", "sample"):
            value = getattr(self, key)
            positive = key not in signed
            if not isinstance(value, int | float) or not math.isfinite(value) or (positive and value <= 0.0):
                raise InputError(f"Walk {key}: expected a {'positive ' if positive else ''}number, got {value!r}")
        if self.double_support >= self.step_time:
            raise InputError(
                f"Walk double_support: expected less than step_time {self.step_time}, got {self.double_support}"
            )
        if abs(self.slope) > 0.5:
            raise InputError(f"Walk slope: expected at most 0.5 rad either way, got {self.slope}")
        if self.first not in (0, 1):
            raise InputError(f"Walk first: expected 0 (left) or 1 (right), got {self.first!r}")

    @property
    def travel(self) -> float:
        """How far the walk leads along its way, m: steps that set the feet side by side do not."""
        return self.stride * sum(self.leads_on(number) for number in range(1, self.steps + 1))

    def leads_on(self, number: int) -> bool:
        """Whether a step, counted from 1, leads on; the others set the feet side by side, as the last one does."""
        if self.together:
            return number % 2 == 1
        return number < self.steps or self.steps == 1

    @property
    def duration(self) -> float:
        """From the beginning to the end of standing, s."""
        return 2.0 * self.standing + self.steps * self.step_time + self.double_support


@dataclass(frozen=True)
class FootstepPlan:
    """Samples of a plan.

    time (T,) s; zmp (T, 2) m, ground (T,) m: its height; feet (T, 2, 3): middles of soles, m; soles (T, 2, 3, 3): their
    rotations; heading (T,) rad; support (T, 2): on ground.
    """

    time: Floats
    zmp: Floats
    ground: Floats
    feet: Floats
    soles: Floats
    heading: Floats
    support: NDArray[np.bool_]


def plan_footsteps(walk: Walk, feet: Floats) -> FootstepPlan:
    """Return the plan of a walk from feet standing at (2, 3), the middles of the left and the right sole, m.

    >>> plan = plan_footsteps(Walk(steps=2), np.array([[0.0, 0.04, 0.0], [0.0, -0.04, 0.0]]))
    >>> [round(float(x), 6) for x in plan.feet[-1, :, 0]]
    [0.03, 0.03]
    """
    count = round(walk.duration / walk.sample) + 1
    time = walk.sample * np.arange(count, dtype=np.float64)
    place = np.repeat(np.array(feet, dtype=np.float64)[None], count, axis=0)
    start = place[0, :, :2].mean(axis=0)
    width = place[0, 0, 1] - place[0, 1, 1]
    yaw = np.zeros((count, 2))
    # The zero-moment point with its height: it moves on the line from sole to sole.
    zmp = np.repeat(place[0].mean(axis=0)[None], count, axis=0)
    support = np.ones((count, 2), dtype=bool)
    single = walk.step_time - walk.double_support
    swing, begin = walk.first, walk.standing
    for number in range(1, walk.steps + 1):
        stance, on = 1 - swing, float(walk.leads_on(number))
        shifted = smooth_step(time - begin, walk.double_support)[:, None]
        after = time >= begin
        zmp[after] = (zmp + (place[:, stance] - zmp) * shifted)[after]
        lifted = begin + walk.double_support
        goal, turned = _goal(walk, place[-1, stance], float(yaw[-1, stance]), width if swing == 0 else -width, on)
        moved = smooth_step(time - lifted, single)
        place[:, swing, :2] += (goal[:2] - place[-1, swing, :2]) * moved[:, None]
        yaw[:, swing] += (turned - yaw[-1, swing]) * moved
        # Up before it goes ahead, down after: the foot clears the edge of a step.
        up = goal[2] - place[-1, swing, 2]
        climbed = smooth_step(time - lifted - (0.0 if up > 0.0 else 0.5 * single), 0.5 * single)
        place[:, swing, 2] += up * climbed + walk.swing_height * hump(time - lifted, single)
        support[:, swing] &= ~((time > lifted + 1e-9) & (time < lifted + single - 1e-9))
        swing, begin = stance, begin + walk.step_time
    shifted = smooth_step(time - begin, walk.double_support)[:, None]
    zmp = zmp + (place[-1].mean(axis=0) - zmp) * shifted
    steep = math.tan(walk.slope)
    place[..., 2] += steep * (place[..., 0] - start[0])
    zmp[:, 2] += steep * (zmp[:, 0] - start[0])
    return FootstepPlan(time, zmp[:, :2], zmp[:, 2], place, _soles(yaw, walk.slope), yaw.mean(axis=1), support)


def _goal(walk: Walk, stance: Floats, yaw: float, width: float, on: float) -> tuple[Floats, float]:
    """Where the swinging foot comes down, and how it is turned; width: to it from the standing one, on: 1 or 0."""
    turn = on * walk.turn
    way, new = yaw + 0.5 * turn, yaw + turn
    ahead, aside = on * walk.stride, width + on * walk.sideways
    x = ahead * math.cos(way) - 0.5 * width * math.sin(yaw) - (aside - 0.5 * width) * math.sin(new)
    y = ahead * math.sin(way) + 0.5 * width * math.cos(yaw) + (aside - 0.5 * width) * math.cos(new)
    return stance + np.array([x, y, on * walk.rise]), new


def _soles(yaw: Floats, slope: float) -> Floats:
    """Rotations (T, 2, 3, 3) of soles that point along yaw (T, 2) on ground that rises along x."""
    c, s = np.cos(yaw), np.sin(yaw)
    turned = np.zeros((*yaw.shape, 3, 3))
    turned[..., 0, 0], turned[..., 0, 1], turned[..., 1, 0], turned[..., 1, 1], turned[..., 2, 2] = c, -s, s, c, 1.0
    along = np.array([[math.cos(slope), 0, -math.sin(slope)], [0, 1, 0], [math.sin(slope), 0, math.cos(slope)]])
    return along @ turned
