"""Coefficients of the explicit methods: semi-implicit Euler, rk4, rk8 and the adaptive pair.

Shifts E of the stage positions by accelerations, after Nyström, keep order 4 when e_i = Σ_j E_ij satisfies
Σ b_i e_i = Σ b_i c_i e_i = Σ b_i A_ij e_j = 0 and Σ b_i E_ij c_j = 0: all they do to velocities up to h⁴ then cancels,
on rotations too, where kv differs from the second derivative of φ by c_j h times one and the same vector and O(h²).
Every stage is projected onto the constraints: the method is the plain one applied to the vector field f∘P, which equals
f on the constraints, so that the order is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["DP8", "EXPLICIT", "REAL_STABILITY", "RK4", "RK8", "RKN4", "STAGE_POSITIONS", "Tableau"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit method: A and E (s, s) strictly lower triangular, b (s,), c (s,), order.

    error_weights (2, s): differences to embedded methods of order 5 and 3; (0, s) where there are none.
    """

    A: Floats
    b: Floats
    c: Floats
    order: int
    E: Floats | None = None
    error_weights: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def shifts(self) -> Floats:
        """E, zero where there are no shifts."""
        return np.zeros_like(self.A) if self.E is None else self.E


def _lower(rows: tuple[tuple[float, ...], ...]) -> Floats:
    return np.array([[*row, *[0.0] * (len(rows) - len(row))] for row in rows])


# Kutta's classical method, 1901: order 4, four stages. Stable along the negative real axis to h|λ| < 2.785 (dampers),
# along the imaginary one to 2.83 (springs).
_A4 = _lower(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)))
RK4 = Tableau(A=_A4, b=np.array([1, 2, 2, 1]) / 6.0, c=np.array([0, 0.5, 0.5, 1.0]), order=4)

# The same with stage positions after Nyström: velocities and the end of the step are Kutta's, stage positions are
#
#     q2 = q + h/2 v + h²/8 a1,  q3 = q2 + p h² (a2 - a1),  q4 = q + h v + h² (2p a1 + s a2 + (1/2 - 2p - s) a3)
#
# Taylor's to second order, where Kutta adds up stage velocities. p = 9/200, s = 23/40 were chosen among those that
# never amplify an undamped oscillation: they make the error of a pendulum a quarter of Kutta's, of a spatial
# slider-crank half, of Bricard's linkage a quarter (`setsu bench --only loops`), at no cost. Stable along the imaginary
# axis to 2.76.
# Source of the form: Nyström 1925; p and s are ours.
_p, _s = 9 / 200, 23 / 40
STAGE_POSITIONS = np.array([[0, 0, 0, 0], [1 / 8, 0, 0, 0], [1 / 8 - _p, _p, 0, 0], [2 * _p, _s, 0.5 - 2 * _p - _s, 0]])
RKN4 = Tableau(A=_A4, b=RK4.b, c=RK4.c, order=4, E=STAGE_POSITIONS - _A4 @ _A4)

# Cooper and Verner 1972, SIAM J. Numer. Anal. 9, 389-405: order 8, eleven stages, Lobatto weights; stable along the
# negative real axis to h|λ| < 3.715.
_r = math.sqrt(21.0)
RK8 = Tableau(
    A=_lower((

    (),
    (1 / 2,),
    (1 / 4, 1 / 4),
    (1 / 7, (-7 - 3 * _r) / 98, (21 + 5 * _r) / 49),
    ((11 + _r) / 84, 0, (18 + 4 * _r) / 63, (21 - _r) / 252),
    ((5 + _r) / 48, 0, (9 + _r) / 36, (-231 + 14 * _r) / 360, (63 - 7 * _r) / 80),
    ((10 - _r) / 42, 0, (-432 + 92 * _r) / 315, (633 - 145 * _r) / 90, (-504 + 115 * _r) / 70, (63 - 13 * _r) / 35),
    (1 / 14, 0, 0, 0, (14 - 3 * _r) / 126, (13 - 3 * _r) / 63, 1 / 9),
    (1 / 32, 0, 0, 0, (91 - 21 * _r) / 576, 11 / 72, (-385 - 75 * _r) / 1152, (63 + 13 * _r) / 128),
    (
        1 / 14, 0, 0, 0, 1 / 9, (-733 - 147 * _r) / 2205, (515 + 111 * _r) / 504, (-51 - 11 * _r) / 56,
        (132 + 28 * _r) / 245,
    ),
    (
        0, 0, 0, 0, (-42 + 7 * _r) / 18, (-18 + 28 * _r) / 45, (-273 - 53 * _r) / 72, (301 + 53 * _r) / 72,
        (28 - 28 * _r) / 45, (49 - 7 * _r) / 18,
    ),
    )),
    b=np.array([9, 0, 0, 0, 0, 0, 0, 49, 64, 49, 9]) / 180.0,
    c=np.array([0, 0.5, 0.5, (7 + _r) / 14, (7 + _r) / 14, 0.5, (7 - _r) / 14, (7 - _r) / 14, 0.5, (7 + _r) / 14, 1]),
    order=8,
)  # fmt: skip

# Dormand and Prince's pair of order 8 with error estimates of order 5 and 3, twelve stages. Source: Hairer, Nørsett and
# Wanner 1993, Solving Ordinary Differential Equations I, ch. II.5 and II.10, whose printed coefficients these are; `b`
# belongs to order 8, and its stages do not use the state at the end of the step.
DP8 = Tableau(
    A=_lower((

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
    )),
    b=np.array((

    0.054293734116568765, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259,
    )),
    c=np.array((

    0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 0.3333333333333333,
    0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0,
    )),
    order=8,
    error_weights=np.array((
        (

    0.01312004499419488, 0, 0, 0, 0, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864,
    -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294,
        ), (

    -0.18980075407240762, 0, 0, 0, 0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082,
        ),
    )),
)  # fmt: skip

EXPLICIT: dict[str, Tableau | None] = {"semi_implicit": None, "rk4": RK4, "rkn4": RKN4, "rk8": RK8, "adaptive": DP8}
"""Explicit methods by name; None: v' = v + h a, q' = q ⊕ h v' (Hairer, Lubich and Wanner 2006, ch. I)."""

REAL_STABILITY = {"semi_implicit": 2.0, "rk4": 2.785, "rkn4": 2.785, "rk8": 3.715}
"""Largest h|λ| of a damped motion that an explicit method with fixed step can follow."""
