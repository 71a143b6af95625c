"""The semi-implicit Euler method: order 1, one evaluation, keeps the energy of oscillations bounded.

    v' = v + h a(t, q, v)                                                    (1)
    q' = q ⊕ h v'                                                            (2)  with the new velocity

Stable along the negative real axis to h|λ| < 2. Source: Hairer, Lubich and Wanner 2006, ch. I.
"""

from __future__ import annotations

import numpy as np

from setsu.simulation.explicit_runge_kutta import Step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["REAL_STABILITY", "step"]

REAL_STABILITY = 2.0


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds."""
    v = start.v + h * start.acceleration  # (1)
    return Step(motion.charts.point(start.q, h * v), v, h * start.powers, np.zeros((0, 0)))  # (2)
