"""Cooper and Verner's explicit Runge-Kutta method: order 8, eleven stages, fixed step.

    y' = y + h/180 (9 k1 + 49 k8 + 64 k9 + 49 k10 + 9 k11)                    (1)  Lobatto weights
    stages at 0, 1/2, (7 ± √21)/14, 1; coefficients below in terms of √21     (2)

Stable along the negative real axis to h|λ| < 3.715. Source: Cooper and Verner 1972, SIAM J. Numer. Anal. 9, 389-405.
"""

from __future__ import annotations

import math

import numpy as np

from setsu.simulation.explicit_runge_kutta import Step, Tableau, explicit_step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["REAL_STABILITY", "TABLEAU", "step"]

_s = math.sqrt(21.0)
_ROWS = (
    (),
    (1 / 2,),
    (1 / 4, 1 / 4),
    (1 / 7, (-7 - 3 * _s) / 98, (21 + 5 * _s) / 49),
    ((11 + _s) / 84, 0, (18 + 4 * _s) / 63, (21 - _s) / 252),
    ((5 + _s) / 48, 0, (9 + _s) / 36, (-231 + 14 * _s) / 360, (63 - 7 * _s) / 80),
    ((10 - _s) / 42, 0, (-432 + 92 * _s) / 315, (633 - 145 * _s) / 90, (-504 + 115 * _s) / 70, (63 - 13 * _s) / 35),
    (1 / 14, 0, 0, 0, (14 - 3 * _s) / 126, (13 - 3 * _s) / 63, 1 / 9),
    (1 / 32, 0, 0, 0, (91 - 21 * _s) / 576, 11 / 72, (-385 - 75 * _s) / 1152, (63 + 13 * _s) / 128),
    (
        1 / 14, 0, 0, 0, 1 / 9, (-733 - 147 * _s) / 2205, (515 + 111 * _s) / 504, (-51 - 11 * _s) / 56,
        (132 + 28 * _s) / 245,
    ),
    (
        0, 0, 0, 0, (-42 + 7 * _s) / 18, (-18 + 28 * _s) / 45, (-273 - 53 * _s) / 72, (301 + 53 * _s) / 72,
        (28 - 28 * _s) / 45, (49 - 7 * _s) / 18,
    ),
)  # fmt: skip
_near, _far = (7 - _s) / 14, (7 + _s) / 14

TABLEAU = Tableau(
    A=np.array([[*row, *[0.0] * (11 - len(row))] for row in _ROWS]),
    b=np.array([9, 0, 0, 0, 0, 0, 0, 49, 64, 49, 9]) / 180.0,
    c=np.array([0, 0.5, 0.5, _far, _far, 0.5, _near, _near, 0.5, _far, 1]),
    order=8,
)
REAL_STABILITY = 3.715


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds."""
    return explicit_step(TABLEAU, motion, start, h)
