"""The classical Runge-Kutta method: order 4, four stages.

    k1 = f(t, y),  k2 = f(t + h/2, y + h/2 k1),  k3 = f(t + h/2, y + h/2 k2),  k4 = f(t + h, y + h k3)     (1)
    y' = y + h/6 (k1 + 2 k2 + 2 k3 + k4)                                                                  (2)

Stable along the negative real axis to h|λ| < 2.785. Source: Kutta 1901.
"""

from __future__ import annotations

import numpy as np

from setsu.simulation.explicit_runge_kutta import Step, Tableau, explicit_step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["REAL_STABILITY", "TABLEAU", "step"]

TABLEAU = Tableau(
    A=np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    b=np.array([1, 2, 2, 1]) / 6.0,
    c=np.array([0, 0.5, 0.5, 1.0]),
    order=4,
)
REAL_STABILITY = 2.785


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds."""
    return explicit_step(TABLEAU, motion, start, h)
