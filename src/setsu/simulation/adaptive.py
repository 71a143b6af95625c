"""Dormand and Prince's explicit pair of order 8 with error estimates of order 5 and 3, twelve stages, adaptive step.

    y' = y + h Σ b_i k_i                                                     (1)  order 8
    e5 = Σ d_i k_i,  e3 = Σ e_i k_i                                          (2)  differences to order 5 and to order 3
    err = h |e5|² / sqrt((|e5|² + 0.01 |e3|²) n),  |.| weighted by tolerance (1 + |y|)       (3)
    accept when err < 1; next step h · min(6, max(1/3, 0.9 err^(-1/8)))      (4)

Source: Hairer, Nørsett and Wanner 1993, Solving Ordinary Differential Equations I, ch. II.5 and II.10, whose printed
coefficients these are; `b` belongs to order 8, and its stages do not use the state at the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.simulation.explicit_runge_kutta import Step, Tableau, explicit_step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["TABLEAU", "error_estimate", "next_step", "step"]

Floats = NDArray[np.float64]

_ROWS = (
    (),
    (0.05260015195876773,),
    (0.0197250569845379, 0.0591751709536137),
    (0.02958758547680685, 0, 0.08876275643042054),
    (0.2413651341592667, 0, -0.8845494793282861, 0.924834003261792),
    (0.037037037037037035, 0, 0, 0.17082860872947386, 0.12546768756682242),
    (0.037109375, 0, 0, 0.17025221101954405, 0.06021653898045596, -0.017578125),
    (0.03709200011850479, 0, 0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402,
     0.008273789163814023),
    (0.6241109587160757, 0, 0, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894,
     -43.48988418106996),
    (0.47766253643826434, 0, 0, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423,
     -33.28821096898486, -0.020331201708508627),
    (-0.9371424300859873, 0, 0, 5.186372428844064, 1.0914373489967295, -8.149787010746927, -18.52006565999696,
     22.739487099350505, 2.4936055526796523, -3.0467644718982196),
    (2.273310147516538, 0, 0, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996,
     -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636),
)  # fmt: skip

_WEIGHTS = (
    0.054293734116568765, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259,
)  # fmt: skip

_NODES = (
    0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 0.3333333333333333,
    0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0,
)  # fmt: skip

_FIFTH = (
    0.01312004499419488, 0, 0, 0, 0, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864,
    -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294,
)  # fmt: skip

_THIRD = (
    -0.18980075407240762, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082,
)  # fmt: skip

TABLEAU = Tableau(
    A=np.array([[*row, *[0.0] * (12 - len(row))] for row in _ROWS]), b=np.array(_WEIGHTS), c=np.array(_NODES), order=8
)


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds."""
    return explicit_step(TABLEAU, motion, start, h)


def error_estimate(end: Step, start: Evaluation, h: float, tolerance: float) -> float:
    """Return the error of a step in units of the tolerance (3); below 1 it is good enough."""
    nv = len(start.v)
    scale = tolerance * np.concatenate([np.ones(nv), 1.0 + np.maximum(np.abs(start.v), np.abs(end.v))])
    slopes = end.slopes[:, : 2 * nv] / scale
    fifth, third = np.array(_FIFTH) @ slopes, np.array(_THIRD) @ slopes  # (2)
    e5, e3 = float(fifth @ fifth), float(third @ third)
    return 0.0 if e5 == 0.0 else h * e5 / float(np.sqrt((e5 + 0.01 * e3) * 2 * nv))


def next_step(h: float, error: float) -> float:
    """Return the step (s) that the error of the last one advises (4)."""
    return h * (6.0 if error == 0.0 else min(6.0, max(1.0 / 3.0, 0.9 * error**-0.125)))
