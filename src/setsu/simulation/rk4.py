"""Kutta's classical method with stage positions after Nyström: order 4, four stages.

    v2 = v + h/2 a1,  v3 = v + h/2 a2,  v4 = v + h a3                                                       (1)
    q2 = q + h/2 v + h²/8 a1,  q3 = q2 + p h² (a2 - a1),  q4 = q + h v + h² (2p a1 + s a2 + (1/2 - 2p - s) a3)  (2)
    q' = q + h/6 (v + 2 v2 + 2 v3 + v4),  v' = v + h/6 (a1 + 2 a2 + 2 a3 + a4)                              (3)

Velocities and the end of the step are Kutta's. His stage positions add up stage velocities, v + h/2 a1 and so on; here
they are Taylor's to second order, which any p and s keep at order 4 (explicit_runge_kutta.py). p = 9/200, s = 23/40
were chosen among those that never amplify an undamped oscillation: they make the error of a pendulum a quarter of
Kutta's, of a spatial slider-crank half, of Bricard's linkage a quarter (`setsu bench --only loops`), at no cost.

Stable along the negative real axis to h|λ| < 2.785 (dampers), along the imaginary one to 2.76 (springs; Kutta 2.83),
for a critically damped joint to h ω < 2.2. Sources: Kutta 1901; Nyström 1925 for the form of (2); p, s are ours.
"""

from __future__ import annotations

import numpy as np

from setsu.simulation.explicit_runge_kutta import Step, Tableau, explicit_step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["REAL_STABILITY", "STAGE_POSITIONS", "TABLEAU", "step"]

_p, _s = 9 / 200, 23 / 40
# q_i = q + c_i h v + h² Σ_j STAGE_POSITIONS_ij a_j
STAGE_POSITIONS = np.array([[0, 0, 0, 0], [1 / 8, 0, 0, 0], [1 / 8 - _p, _p, 0, 0], [2 * _p, _s, 0.5 - 2 * _p - _s, 0]])
_A = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]])
TABLEAU = Tableau(
    A=_A,
    b=np.array([1, 2, 2, 1]) / 6.0,
    c=np.array([0, 0.5, 0.5, 1.0]),
    order=4,
    E=STAGE_POSITIONS - _A @ _A,
)
REAL_STABILITY = 2.785


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds."""
    return explicit_step(TABLEAU, motion, start, h)
