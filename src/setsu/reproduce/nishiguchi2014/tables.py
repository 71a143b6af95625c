"""Tables 1-4 of nishiguchi2014 and the numbers of its text, printed beside computed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from setsu.reproduce.nishiguchi2014.arms import MOTIONS, Run
from setsu.reproduce.nishiguchi2014.printed import AT_REST, INSTANTS, Instant, Reason, Rest
from setsu.reproduce.report import Row, Table

__all__ = ["instant_table", "parameter_table", "rest_table", "tables"]

HALF_DIGIT = 0.000501
"""Half a unit of the third printed decimal, and a rounding."""
_TRUE_ROD = "true rod (m l²/12)"


def tables(paper: Mapping[str, Run], rod: Mapping[str, Run]) -> tuple[Table, ...]:
    """Return all tables from runs by motion, with the paper's inertia and with that of a thin rod."""
    return (
        parameter_table("Table 1: parameters of the 2-link manipulator", "2-link", paper["2-link"]),
        *(rest_table(rest, paper[rest.motion], rod[rest.motion]) for rest in AT_REST[:1]),
        parameter_table("Table 3: parameters of the 3-link manipulator", "3-link", paper["3-link"]),
        *(rest_table(rest, paper[rest.motion], rod[rest.motion]) for rest in AT_REST[1:]),
        *(instant_table(instant, paper[instant.motion], rod[instant.motion]) for instant in INSTANTS),
    )


def parameter_table(title: str, motion: str, run: Run) -> Table:
    """Return the parameters the mechanism really has beside the printed ones."""
    m, rows = run.mechanism, []
    for k, body in enumerate(m.moving):
        length = float(np.linalg.norm(run.joints[0, k + 1] - run.joints[0, k]))
        rows.append(Row(f"m{k + 1}", "kg", 1.0, body.mass, 0.0, given=True))
        rows.append(Row(f"l{k + 1}", "m", 0.5, length, 1e-12, given=True))
        rows.append(Row(f"D{k + 1}", "N m s/rad", 3.0, float(m.damping[k]), 0.0, given=True))
        printed = -4.9 / 4 if (motion, k) == ("2-link", 1) else 0.0
        rows.append(Row(f"τ{k + 1}", "N m", printed, float(run.recording.torque[0, k]), 1e-12, given=True))
    rows.append(Row("g", "m/s²", 9.8, -m.gravity[2], 0.0, given=True))
    rows.append(Row("K", "", 0.01, MOTIONS[motion].friction, 0.0, given=True))
    return Table(title, tuple(rows))


def rest_table(rest: Rest, run: Run, rod: Run) -> Table:
    """Return angles and forces at the end of a run beside Tables 2 and 4."""
    rows = []
    for k, angle in enumerate(rest.angles):
        computed, other = float(run.recording.q[-1, k]), float(rod.recording.q[-1, k])
        rows.append(_row(f"q{k + 1}", "rad", angle, computed, 0.001, rest.reason, other))
    for k, (y, z) in enumerate(rest.forces):
        for letter, printed, axis in (("y", y, 1), ("z", z, 2)):
            name, computed, other = f"f{k + 1}{letter}", run.forces[-1, k, axis], rod.forces[-1, k, axis]
            rows.append(_row(name, "N", printed, computed, HALF_DIGIT, None, other))
    rows.append(_row("f_n", "N", rest.normal, run.normal[-1], HALF_DIGIT, None, rod.normal[-1]))
    return Table(rest.title, tuple(rows), _TRUE_ROD)


def instant_table(instant: Instant, run: Run, rod: Run) -> Table:
    """Return forces and accelerations at one instant beside the numbers of the text."""
    k, other = run.at(instant.time), rod.at(instant.time)
    rows: list[Row] = []

    def add(name: str, unit: str, printed: float, computed: float, second: float) -> None:
        reason = instant.reasons.get(name, instant.reasons.get(""))
        rows.append(_row(name, unit, printed, computed, HALF_DIGIT, reason, second))

    for link, pair in enumerate(instant.forces):
        for axis, letter in ((1, "y"), (2, "z")):
            values = run.forces[k, link, axis], rod.forces[other, link, axis]
            add(f"f{link + 1}{letter}", "N", pair[axis - 1], *values)
    add("f_t", "N", instant.friction, run.friction[k], rod.friction[other])
    add("f_n", "N", instant.normal, run.normal[k], rod.normal[other])
    for link, pair in enumerate(instant.accelerations):
        for axis, letter in ((1, "y"), (2, "z")):
            values = run.centroid[k, link, axis], rod.centroid[other, link, axis]
            add(f"s{link + 1}{letter}", "m/s²", pair[axis - 1], *values)
    return Table(f"{instant.motion} manipulator at t = {instant.time:.2f} s", tuple(rows), _TRUE_ROD)


def _row(
    name: str, unit: str, printed: float, computed: float, tolerance: float, reason: Reason | None, other: float
) -> Row:
    text, reach = (reason.text, reason.reach) if reason else ("", 0.0)
    return Row(name, unit, printed, float(computed), tolerance, text, reach, float(other))
