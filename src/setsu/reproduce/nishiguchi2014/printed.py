"""Numbers as nishiguchi2014 prints them, as text so that their digits say how exact they are.

Vectors are (y, z) parts in world axes: forces in N, accelerations of the centres of mass in m/s², angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

__all__ = ["AT_REST", "INSTANTS", "MASS_TIMES_GRAVITY", "Instant", "Rest"]

Pair = tuple[str, str]

MASS_TIMES_GRAVITY = 9.8
"""Weight of a link, N."""


@dataclass(frozen=True)
class Instant:
    """What the text prints of one instant: forces by link, friction, normal force, accelerations by link."""

    motion: str
    time: float
    forces: tuple[Pair, ...]
    friction: str
    normal: str
    accelerations: tuple[Pair, ...]

    def values(self) -> dict[str, str]:
        """Every printed number by the name its row has."""
        named = {}
        for letter, pairs in (("f", self.forces), ("s", self.accelerations)):
            for link, pair in enumerate(pairs, start=1):
                named |= {f"{letter}{link}{axis}": text for axis, text in zip("yz", pair, strict=True)}
            if letter == "f":
                named |= {"f_t": self.friction, "f_n": self.normal}
        return named

    def implied(self) -> dict[str, float]:
        """What the printed forces demand of accelerations, by (37)-(40), and of the friction by (39)."""
        number = {name: float(text) for name, text in self.values().items()}
        last = len(self.forces)
        demanded = {}
        for link in range(1, last):
            demanded[f"s{link}y"] = number[f"f{link}y"] - number[f"f{link + 1}y"]
            demanded[f"s{link}z"] = number[f"f{link}z"] - number[f"f{link + 1}z"] - MASS_TIMES_GRAVITY
        demanded["f_t"] = number[f"s{last}y"] - number[f"f{last}y"]
        demanded[f"s{last}z"] = number[f"f{last}z"] + number["f_n"] - MASS_TIMES_GRAVITY
        return demanded


@dataclass(frozen=True)
class Rest:
    """What Tables 2 and 4 print: initial angles, and the state at rest."""

    motion: str
    title: str
    start: tuple[float, ...]
    angles: tuple[float, ...]
    forces: tuple[Pair, ...]
    normal: str


INSTANTS: tuple[Instant, ...] = (
    Instant(
        "2-link", 0.10, (("-0.129", "10.252"), ("-0.120", "0.464")), "0.093", "9.324",
        (("-0.009", "-0.012"), ("-0.027", "-0.012")),
    ),
    Instant(
        "2-link", 4.85, (("-0.088", "10.074"), ("-0.090", "0.271")), "0.095", "9.533",
        (("0.002", "0.003"), ("0.006", "0.003")),
    ),
    Instant(
        "3-link", 3.01, (("0.368", "16.952"), ("0.308", "7.322"), ("0.197", "-2.134")), "-0.118", "11.760",
        (("0.060", "-0.170"), ("0.111", "-0.343"), ("0.079", "-0.174")),
    ),
    Instant(
        "3-link", 3.95, (("-1.772", "16.826"), ("-1.499", "7.033"), ("-0.968", "-2.803")), "-0.127", "12.658",
        (("-0.274", "-0.007"), ("-0.007", "-0.036"), ("-0.841", "-0.055")),
    ),
)  # fmt: skip

AT_REST: tuple[Rest, ...] = (
    Rest(
        "2-link", "Table 2: 2-link manipulator, initial and converged values", (-7 * pi / 12, pi / 6),
        (-5 * pi / 6, 2 * pi / 3), (("-0.098", "9.8"), ("-0.098", "0")), "9.8",
    ),
    Rest(
        "3-link", "Table 4: 3-link manipulator, initial and converged values", (-0.05, -pi / 2 + 0.05, -pi / 2 + 0.05),
        (-pi, pi / 2, pi / 2), (("-0.147", "14.7"), ("-0.147", "4.9"), ("-0.147", "-4.9")), "14.7",
    ),
)  # fmt: skip
