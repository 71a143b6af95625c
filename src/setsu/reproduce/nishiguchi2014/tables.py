"""Tables 1-4 of nishiguchi2014 and the numbers of its text, printed beside computed, with reasons that are computed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from setsu.dynamics import gravity_torque, point_jacobian
from setsu.reproduce.nishiguchi2014.arms import LENGTH, MOTIONS, STEP, Run
from setsu.reproduce.nishiguchi2014.printed import AT_REST, INSTANTS, MASS_TIMES_GRAVITY, Instant, Rest
from setsu.reproduce.report import Deviation, Expected, Row, Table, at_most, equal, printed

__all__ = ["Runs", "balance_table", "instant_table", "parameter_table", "rest_table", "tables", "time_table"]

Runs = tuple[Run, Run, Run]
"""One motion three times: by the default method, by the paper's, and by the default with a thin rod's inertia."""

_OTHERS = ("paper's method", "true rod (m l²/12)")
_UNKNOWN = 0.03
"""Largest deviation (N, m/s²) from the print that may stay without an explanation."""
_AROUND = 3
"""Samples before and after a printed instant in the table of deviations."""


def tables(runs: Mapping[str, Runs]) -> tuple[Table, ...]:
    """Return all tables from runs by motion."""
    found = []
    for number, rest in enumerate(AT_REST):
        title = f"Table {2 * number + 1}: parameters of the {rest.motion} manipulator"
        found += [parameter_table(title, rest.motion, runs[rest.motion][0]), rest_table(rest, runs[rest.motion])]
    for instant in INSTANTS:
        found.append(instant_table(instant, runs[instant.motion]))
        found.append(balance_table(instant, runs[instant.motion]))
        if not _fits(instant, runs[instant.motion][0]):
            found.append(time_table(instant, runs[instant.motion]))
    return (*found, drift_table(runs))


def parameter_table(title: str, motion: str, run: Run) -> Table:
    """Return the parameters the mechanism really has beside the printed ones."""
    m, rows = run.mechanism, []
    for k, body in enumerate(m.moving):
        length = float(np.linalg.norm(run.joints[0, k + 1] - run.joints[0, k]))
        torque = -4.9 / 4 if (motion, k) == ("2-link", 1) else 0.0
        rows += [
            Row(f"m{k + 1}", "kg", equal(1.0), body.mass, given=True),
            Row(f"l{k + 1}", "m", equal(0.5, 1e-12), length, given=True),
            Row(f"D{k + 1}", "N m s/rad", equal(3.0), float(m.damping[k]), given=True),
            Row(f"τ{k + 1}", "N m", equal(torque, 1e-12), float(run.torque[0, k]), given=True),
        ]
    rows.append(Row("g", "m/s²", equal(9.8), -m.gravity[2], given=True))
    rows.append(Row("K", "", equal(0.01), MOTIONS[motion].friction, given=True))
    return Table(title, tuple(rows))


def rest_table(rest: Rest, runs: Runs) -> Table:
    """Return angles and forces at the start and at the end of a run beside Tables 2 and 4."""
    run, others = runs[0], runs[1:]
    rows = [
        Row(f"initial q{k + 1}", "rad", equal(angle, 1e-12), float(run.q[0, k]), given=True)
        for k, angle in enumerate(rest.start)
    ]
    known = _resting(rest, run)
    for k, angle in enumerate(rest.angles):
        values = tuple(float(other.q[-1, k]) for other in others)
        rows.append(Row(f"converged q{k + 1}", "rad", equal(angle, 0.001), float(run.q[-1, k]), known, values))
    for k, pair in enumerate(rest.forces):
        for letter, text, axis in (("y", pair[0], 1), ("z", pair[1], 2)):
            values = tuple(float(other.forces[-1, k, axis]) for other in others)
            rows.append(Row(f"f{k + 1}{letter}", "N", _three(text), float(run.forces[-1, k, axis]), None, values))
    values = tuple(float(other.normal[-1]) for other in others)
    rows.append(Row("f_n", "N", _three(rest.normal), float(run.normal[-1]), None, values))
    return Table(rest.title, tuple(rows), _OTHERS)


def _three(text: str) -> Expected:
    """A number of Tables 2 and 4, where trailing zeros are left out: exact to the third decimal as the others are."""
    return equal(float(text), 0.0005)


def _resting(rest: Rest, run: Run) -> Deviation:
    """Why the arm rests beside the printed angles: these balance without friction, and friction holds it earlier."""
    m, friction = run.mechanism, MOTIONS[rest.motion].friction
    q = np.array(rest.angles)
    J = point_jacobian(m, q, m.body_names[-1], (0.0, 0.0, LENGTH))
    left = gravity_torque(m, q) - run.torque[-1]
    pushed = np.linalg.lstsq(J[1:].T, left, rcond=None)[0]
    unbalanced = float(np.abs(left - J[1:].T @ pushed).max())
    used = abs(float(run.friction[-1])) / (friction * float(run.normal[-1]))
    off = float(np.abs(run.q[-1] - q).max())
    return Deviation(
        f"The printed angles are those of the equilibrium without friction: there the torques balance with a friction "
        f"of {abs(pushed[0]):.1g} N (rest of the balance {unbalanced:.0e} N m). The printed forces hold a friction of "
        f"{abs(float(rest.forces[-1][0])):.3f} N, which is K f_n. With K = {friction:g} the arm stops earlier, where "
        f"{100 * used:.0f} % of K f_n are in use, {off:.3f} rad away.",
        0.045,
    )


def instant_table(instant: Instant, runs: Runs) -> Table:
    """Return forces and accelerations at one instant beside the numbers of the text."""
    run = runs[0]
    now = [_values(each, each.at(instant.time)) for each in runs]
    best = _best(instant, run)
    rows = []
    for name, text in instant.values().items():
        asked = printed(text)
        known = None if asked.holds(now[0][name]) else _deviation(instant, run, name, asked, best)
        unit = "N" if name.startswith("f") else "m/s²"
        rows.append(Row(name, unit, asked, now[0][name], known, tuple(values[name] for values in now[1:])))
    return Table(f"{instant.motion} manipulator at t = {instant.time:.2f} s", tuple(rows), _OTHERS)


def balance_table(instant: Instant, runs: Runs) -> Table:
    """Return the forces on each link added up as in (37)-(40), beside its mass times its acceleration."""
    values = [_values(run, run.at(instant.time)) for run in runs]
    sums = [_balances(each, len(instant.forces)) for each in values]
    rows = tuple(
        Row(f"force on link {name[1]} along {name[2]}", "N", equal(values[0][name], 1e-9), total,
            others=tuple(each[name] for each in sums[1:]))
        for name, total in sums[0].items()
    )  # fmt: skip
    title = f"(37)-(40) at t = {instant.time:.2f} s: forces on a link added up, beside its mass times acceleration"
    return Table(title, rows, _OTHERS, "m s")


def time_table(instant: Instant, runs: Runs) -> Table:
    """Return the largest deviation of the printed forces at the samples around an instant."""
    run, centre = runs[0], runs[0].at(instant.time)
    rows = []
    for k in range(centre - _AROUND, centre + _AROUND + 1):
        other = tuple(_worst(instant, _values(each, k)) for each in runs[1:2])
        rows.append(Row(f"t = {run.time[k]:.2f} s", "N", None, _worst(instant, _values(run, k)), others=other))
    finer = [(_worst(instant, _between(run, centre, part)), part) for part in np.arange(-2.0, 2.001, 0.05)]
    least, part = min(finer)
    rows.append(Row(f"between samples, t = {instant.time + part * STEP:.4f} s", "N", None, least))
    title = f"Largest deviation of a printed force of t = {instant.time:.2f} s, against the time computed"
    return Table(title, tuple(rows), _OTHERS[:1])


def drift_table(runs: Mapping[str, Runs]) -> Table:
    """Return how far the hand leaves the floor, and the least normal force, in every run."""
    rows = []
    for motion, (run, paper, rod) in runs.items():
        others = (float(np.abs(paper.hand[:, 2]).max()), float(np.abs(rod.hand[:, 2]).max()))
        rows.append(Row(f"{motion}: largest |z| of the hand", "m", at_most(1e-12), float(np.abs(run.hand[:, 2]).max()),
                        others=others))  # fmt: skip
    for motion, (run, paper, rod) in runs.items():
        least = [float(each.normal.min()) for each in (run, paper, rod)]
        rows.append(Row(f"{motion}: least f_n", "N", Expected(">=", 0.0), least[0], others=tuple(least[1:])))
    return Table("Constraint in all runs: the hand stays on z = 0 and presses on it", tuple(rows), _OTHERS, "expected")


def _values(run: Run, k: int) -> dict[str, float]:
    """All numbers of a sample by the names of their rows."""
    found = {}
    for letter, array in (("f", run.forces), ("s", run.centroid)):
        for link in range(array.shape[1]):
            found |= {f"{letter}{link + 1}{axis}": float(array[k, link, "xyz".index(axis)]) for axis in "yz"}
    return found | {"f_t": float(run.friction[k]), "f_n": float(run.normal[k])}


def _balances(values: Mapping[str, float], links: int) -> dict[str, float]:
    """Sums of the forces on each link, by the name of the acceleration they make (mass 1 kg)."""
    sums = {}
    for link in range(1, links + 1):
        tip = link == links
        sums[f"s{link}y"] = values[f"f{link}y"] + (values["f_t"] if tip else -values[f"f{link + 1}y"])
        sums[f"s{link}z"] = (
            values[f"f{link}z"] + (values["f_n"] if tip else -values[f"f{link + 1}z"]) - MASS_TIMES_GRAVITY
        )
    return sums


def _between(run: Run, k: int, part: float) -> dict[str, float]:
    """Numbers so many samples after sample k, on straight lines between samples."""
    low = int(np.floor(part))
    one, two = _values(run, k + low), _values(run, k + low + 1)
    return {name: one[name] + (part - low) * (two[name] - one[name]) for name in one}


def _worst(instant: Instant, values: Mapping[str, float]) -> float:
    """Largest deviation of a printed force; f_t by its size, its sign being in doubt."""
    pairs = [(float(text), values[name]) for name, text in instant.values().items() if name.startswith("f")]
    names = [name for name in instant.values() if name.startswith("f")]
    return max(
        abs(abs(wanted) - abs(got)) if name == "f_t" else abs(wanted - got)
        for name, (wanted, got) in zip(names, pairs, strict=True)
    )


def _best(instant: Instant, run: Run) -> int:
    """The sample around a printed instant whose forces fit the print best."""
    centre = run.at(instant.time)
    around = range(centre - _AROUND, min(centre + _AROUND + 1, len(run.time)))
    return min(around, key=lambda k: _worst(instant, _values(run, k)))


def _fits(instant: Instant, run: Run) -> bool:
    values = _values(run, run.at(instant.time))
    return all(printed(text).holds(values[name]) for name, text in instant.values().items())


def _deviation(instant: Instant, run: Run, name: str, asked: Expected, best: int) -> Deviation:
    """What is known of a printed number that is not met."""
    if _is_slip(instant, name):
        implied = instant.implied()[name]
        return Deviation(
            f"{name} is printed as {asked.value:.3f}, but the printed forces and accelerations around it demand "
            f"{implied:+.3f} by (37)-(40): a slip of the print.",
            abs(implied - asked.value) + _UNKNOWN,
        )
    then, when = _values(run, best), f"t = {run.time[best]:.2f} s"
    if asked.holds(then[name]):
        now = _worst(instant, _values(run, run.at(instant.time)))
        return Deviation(
            f"The printed forces of t = {instant.time:.2f} s fit best at {when}, "
            f"{round((run.time[best] - instant.time) / STEP):+d} sample: the largest deviation falls from {now:.4f} to "
            f"{_worst(instant, then):.4f} N (table of deviations against time).",
            _UNKNOWN,
        )
    left = [
        f"{each} {then[each]:.4f} for {text}"
        for each, text in instant.values().items()
        if not printed(text).holds(then[each]) and not _is_slip(instant, each)
    ]
    return Deviation(
        f"Unexplained, up to {_UNKNOWN:g} N or m/s²: what is left at {when}, where the print fits best: "
        f"{', '.join(left)}.",
        _UNKNOWN,
        explained=False,
    )


def _is_slip(instant: Instant, name: str) -> bool:
    """Whether other printed numbers contradict one; sums of three are exact to 1.5 units of their last digit."""
    implied, asked = instant.implied().get(name), printed(instant.values()[name])
    return implied is not None and abs(implied - asked.value) > 3.0 * asked.tolerance
