"""Footsteps of a walk, and where the zero-moment point is to be at every instant.

A walk stands first, shifts onto one foot, makes its steps, the last of which sets the feet side by side again, and
stands. Every step is a double support, in which the zero-moment point moves from the old supporting foot to the new
one, and a single support, in which it rests in the middle of the supporting sole while the other foot swings.

Feet stay level and point ahead. Refuses counts, lengths and times out of range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.smooth_paths import hump, smooth_step
from setsu.errors import InputError

__all__ = ["FootstepPlan", "Walk", "plan_footsteps"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Walk:
    """What walk is wanted.

    Args:
        steps: how many. stride: how far the feet are apart after each, m; negative walks backwards.
        step_time: from step to step, s. double_support: part of it with both feet on the ground, s.
        swing_height: how far the swinging foot is lifted, m.
        height: of the centre of mass, m.
        standing: time of standing before and after, s.
        first: foot that swings first, 0 left, 1 right.
        sample: time between samples of the plan, s.
    """

    steps: int = 10
    stride: float = 0.03
    step_time: float = 0.6
    double_support: float = 0.15
    swing_height: float = 0.02
    height: float = 0.225
    standing: float = 1.0
    first: int = 0
    sample: float = 1e-3

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise InputError(f"Walk steps: expected a whole number, at least 1, got {self.steps!r}")
        for key in ("stride", "step_time", "double_support", "swing_height", "height", "standing", "sample"):
            value = getattr(self, key)
            positive = key != "stride"
            if not isinstance(value, int | float) or not math.isfinite(value) or (positive and value <= 0.0):
                raise InputError(f"Walk {key}: expected a {'positive ' if positive else ''}number, got {value!r}")
        if self.double_support >= self.step_time:
            raise InputError(
                f"Walk double_support: expected less than step_time {self.step_time}, got {self.double_support}"
            )
        if self.first not in (0, 1):
            raise InputError(f"Walk first: expected 0 (left) or 1 (right), got {self.first!r}")

    @property
    def travel(self) -> float:
        """How far the walk leads, m: the last step only closes the stance."""
        return self.stride * (self.steps - 1) if self.steps > 1 else self.stride

    @property
    def duration(self) -> float:
        """From the beginning to the end of standing, s."""
        return 2.0 * self.standing + self.steps * self.step_time + self.double_support


@dataclass(frozen=True)
class FootstepPlan:
    """Samples of a plan: time (T,) s; zmp (T, 2) m; feet (T, 2, 3): middles of soles, m; support (T, 2): on ground."""

    time: Floats
    zmp: Floats
    feet: Floats
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
    zmp = np.repeat(place[0, :, :2].mean(axis=0)[None], count, axis=0)
    support = np.ones((count, 2), dtype=bool)
    single = walk.step_time - walk.double_support
    swing, begin = walk.first, walk.standing
    for number in range(1, walk.steps + 1):
        stance = 1 - swing
        shifted = smooth_step(time - begin, walk.double_support)[:, None]
        after = time >= begin
        zmp[after] = (zmp + (place[:, stance, :2] - zmp) * shifted)[after]
        # The swinging foot passes the standing one by a stride; the last step closes the stance.
        ahead = 0.0 if number == walk.steps > 1 else walk.stride
        lifted = begin + walk.double_support
        goal = place[-1, stance, 0] + ahead
        place[:, swing, 0] += (goal - place[-1, swing, 0]) * smooth_step(time - lifted, single)
        place[:, swing, 2] += walk.swing_height * hump(time - lifted, single)
        support[:, swing] &= ~((time > lifted + 1e-9) & (time < lifted + single - 1e-9))
        swing, begin = stance, begin + walk.step_time
    shifted = smooth_step(time - begin, walk.double_support)[:, None]
    zmp = zmp + (place[-1, :, :2].mean(axis=0) - zmp) * shifted
    return FootstepPlan(time, zmp, place, support)
