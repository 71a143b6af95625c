"""Numbers as nishiguchi2014 prints them, and why some of them cannot be met.

Vectors are (y, z) parts in world axes: forces in N, accelerations of the centres of mass in m/s², angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

__all__ = ["AT_REST", "INSTANTS", "Instant", "Reason", "Rest"]

Pair = tuple[float, float]


@dataclass(frozen=True)
class Reason:
    """Why printed values deviate, and by how much at most."""

    text: str
    reach: float


@dataclass(frozen=True)
class Instant:
    """What the text prints of one instant: forces by link, friction, normal force, accelerations by link.

    reasons: by the name of a value, or "" for all others.
    """

    motion: str
    time: float
    forces: tuple[Pair, ...]
    friction: float
    normal: float
    accelerations: tuple[Pair, ...]
    reasons: dict[str, Reason]


@dataclass(frozen=True)
class Rest:
    """What Tables 2 and 4 print of the state at rest."""

    motion: str
    title: str
    angles: tuple[float, ...]
    forces: tuple[Pair, ...]
    normal: float
    reason: Reason


_LATER = Reason(
    "The values printed for t = 3.01 s are those of one sample (0.01 s) later: at t = 3.02 s the same simulation gives "
    "f1 = (0.371, 16.954) N and f_n = 11.760 N. The values computed for 3.01 s do not change when the step is made "
    "smaller.",
    0.03,
)
_STRETCHED = Reason(
    "At t = 3.95 s the hand has just turned round (at 3.88 s) and the arm is nearly stretched out, where forces change "
    "quickly; the computed values do not change when the step is made smaller.",
    0.03,
)
_FRICTION_SIGN = Reason(
    "The printed sign of f_t is a slip: the printed f3y = -0.968 N and the printed acceleration -0.841 m/s² of link 3 "
    "demand f_t = +0.127 N, and friction acts against the hand's motion.",
    0.26,
)
_SECOND_LINK = Reason(
    "The printed -0.007 m/s² repeats a value of link 1: the printed forces f2y - f3y = -1.499 + 0.968 demand "
    "-0.531 m/s².",
    0.53,
)
_UPWARDS = Reason(
    "The printed sign is a slip: the printed forces f2z - f3z - m g = 7.033 + 2.803 - 9.8 and f3z + f_n - m g = "
    "-2.803 + 12.658 - 9.8 are positive.",
    0.12,
)
_RESTING = Reason(
    "The printed angles are those of the equilibrium without friction. With K = 0.01 the arm comes to rest before it, "
    "where friction balances what is left.",
    0.045,
)

INSTANTS: tuple[Instant, ...] = (
    Instant(
        "2-link", 0.10, ((-0.129, 10.252), (-0.120, 0.464)), 0.093, 9.324, ((-0.009, -0.012), (-0.027, -0.012)), {}
    ),
    Instant("2-link", 4.85, ((-0.088, 10.074), (-0.090, 0.271)), 0.095, 9.533, ((0.002, 0.003), (0.006, 0.003)), {}),
    Instant(
        "3-link", 3.01, ((0.368, 16.952), (0.308, 7.322), (0.197, -2.134)), -0.118, 11.760,
        ((0.060, -0.170), (0.111, -0.343), (0.079, -0.174)), {"": _LATER},
    ),
    Instant(
        "3-link", 3.95, ((-1.772, 16.826), (-1.499, 7.033), (-0.968, -2.803)), -0.127, 12.658,
        ((-0.274, -0.007), (-0.007, -0.036), (-0.841, -0.055)),
        {"": _STRETCHED, "f_t": _FRICTION_SIGN, "s2y": _SECOND_LINK, "s2z": _UPWARDS, "s3z": _UPWARDS},
    ),
)  # fmt: skip

AT_REST: tuple[Rest, ...] = (
    Rest("2-link", "Table 2: 2-link manipulator at rest", (-5 * pi / 6, 2 * pi / 3), ((-0.098, 9.8), (-0.098, 0.0)),
         9.8, _RESTING),
    Rest("3-link", "Table 4: 3-link manipulator at rest", (-pi, pi / 2, pi / 2),
         ((-0.147, 14.7), (-0.147, 4.9), (-0.147, -4.9)), 14.7, _RESTING),
)  # fmt: skip
