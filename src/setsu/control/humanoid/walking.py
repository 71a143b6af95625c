"""Plan a walk of a biped: footsteps, centre of mass by preview control, postures, torques.

The pendulum that preview control moves has no legs that swing. So the zero-moment point of the whole body is computed
by inverse dynamics, and what it misses of the plan is followed by a second pendulum whose motion is taken off the first
(the dynamic filter of Kajita et al. 2003), a few rounds of it.

    (1)  c = pendulum following r                    r the planned zero-moment point
    (2)  p = zero-moment point of the whole body moving with c
    (3)  c <- c + pendulum following r - p           until |r - p| no longer matters
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.biped import Biped
from setsu.control.humanoid.motion import Motion, planned_motion
from setsu.control.humanoid.preview_control import PreviewController
from setsu.control.humanoid.whole_body_kinematics import solve_postures
from setsu.control.humanoid.zero_moment_point_plan import Walk, plan_footsteps

__all__ = ["feet_below_hips", "plan_walk", "standing_posture"]

Floats = NDArray[np.float64]


def plan_walk(biped: Biped, walk: Walk | None = None, *, refinements: int = 2) -> Motion:
    """Return the motion of a walk, beginning along x with the feet below the hips.

    Args:
        walk: what walk; Walk() when not given.
        refinements: rounds of (2), (3).

    Raises:
        InputError: strides or heights out of reach of the legs or beyond limits of their joints.

    >>> import setsu
    >>> from setsu.control.humanoid import Biped, Walk, plan_walk
    >>> biped = Biped(setsu.sample_mechanisms.hoap1_like())
    >>> motion = plan_walk(biped, Walk(steps=1, standing=0.1), refinements=0)
    >>> round(float(motion.feet[-1, 0, 0]), 3)
    0.03
    """
    walk = Walk() if walk is None else walk
    plan = plan_footsteps(walk, feet_below_hips(biped))
    pendulum = PreviewController(walk.height, walk.sample, gravity=-biped.mechanism.gravity[2])
    com = np.column_stack([pendulum.follow(plan.zmp).position, walk.height + plan.ground])  # (1)
    c, s, torso = np.cos(plan.heading), np.sin(plan.heading), np.zeros((len(com), 3, 3))
    torso[:, 0, 0], torso[:, 0, 1], torso[:, 1, 0], torso[:, 1, 1], torso[:, 2, 2] = c, -s, s, c, 1.0

    def moved(start: Floats | None) -> Motion:
        q = solve_postures(biped, com, plan.feet, torso, start, plan.soles)
        return planned_motion(biped, plan.time, q, plan.feet, plan.support, plan.ground)

    motion = moved(None)
    for _ in range(refinements):
        com[:, :2] += pendulum.follow(plan.zmp - motion.zmp, start=np.zeros(2)).position  # (3)
        motion = moved(motion.q)  # (2)
    biped.require_limits(motion.q, "plan_walk")
    return motion


def standing_posture(biped: Biped, height: float = 0.225) -> Floats:
    """Return coordinates (nq,) with the feet below the hips on z = 0 and the centre of mass at `height` (m) above."""
    feet = feet_below_hips(biped)
    com = np.append(feet[:, :2].mean(axis=0), height)
    return solve_postures(biped, com[None], feet[None])[0]


def feet_below_hips(biped: Biped) -> Floats:
    """Middles of the soles (2, 3) where they are in the straight posture, carried down onto z = 0."""
    q = biped.mechanism.neutral()
    feet = biped.sole_corners(q).mean(axis=1)
    feet[:, 2] = 0.0
    return feet
