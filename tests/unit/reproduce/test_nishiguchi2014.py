"""nishiguchi2014: every number of the paper, met or explained, and what a right implementation gives beyond the print.

Numbers marked h → 0 were derived independently of this program; f_n, f1z and f2z are given to five digits there.
"""

from __future__ import annotations

import numpy as np
import pytest

from setsu.reproduce.nishiguchi2014.arms import MOTIONS, PAPER_INERTIA, TRUE_ROD, Run, run_motion
from setsu.reproduce.nishiguchi2014.paper_method import run_by_paper
from setsu.reproduce.nishiguchi2014.printed import AT_REST, INSTANTS
from setsu.reproduce.nishiguchi2014.tables import balance_table, instant_table, parameter_table, rest_table, time_table


def computed(key: str, inertia: float, duration: float) -> Run:
    return run_motion(MOTIONS[key], inertia, lambda text, part: None, duration)


@pytest.fixture(scope="module")
def two_link() -> Run:
    return computed("2-link", PAPER_INERTIA, 4.9)


@pytest.fixture(scope="module")
def three_link() -> Run:
    return computed("3-link", PAPER_INERTIA, 4.0)


def test_two_link_meets_every_printed_digit(two_link: Run) -> None:
    for instant in INSTANTS[:2]:
        table = instant_table(instant, (two_link,) * 3)
        assert [row.verdict for row in table.rows] == ["agrees"] * 10, table


def test_two_link_digits_beyond_the_print(two_link: Run) -> None:
    k = two_link.at(0.10)
    assert two_link.normal[k] == pytest.approx(9.32415, abs=2e-5)
    assert two_link.forces[k, 0, 2] == pytest.approx(10.25215, abs=2e-5)
    assert two_link.forces[k, 1, 2] == pytest.approx(0.46400, abs=2e-5)


def test_three_link_meets_the_converged_values(three_link: Run) -> None:
    k, later = three_link.at(3.01), three_link.at(3.95)
    assert three_link.forces[k, 0, 1:] == pytest.approx([0.381, 16.961], abs=0.003)
    assert three_link.normal[k] == pytest.approx(11.762, abs=0.003)
    assert three_link.forces[later, 0, 1:] == pytest.approx([-1.773, 16.819], abs=0.003)
    assert three_link.normal[later] == pytest.approx(12.631, abs=0.003)
    assert three_link.friction[later] == pytest.approx(0.126, abs=0.001)
    assert three_link.centroid[later, 1, 1] == pytest.approx(-0.531, abs=0.003)
    assert three_link.centroid[later, 1, 2] > 0.0
    assert three_link.centroid[later, 2, 2] > 0.0


def test_three_link_deviations_are_shown_for_what_they_are(three_link: Run) -> None:
    """Slips of the print by the printed forces themselves; the rest fits one sample later, or stays open."""
    for instant, slips in ((INSTANTS[2], set()), (INSTANTS[3], {"f_t", "s2y", "s2z", "s3z"})):
        table = instant_table(instant, (three_link,) * 3)
        assert {row.verdict for row in table.rows} <= {"agrees", "explained", "unexplained"}
        assert {row.quantity for row in table.rows if "slip of the print" in row.reason} == slips
        forces = [row for row in table.rows if row.quantity.startswith("f") and row.quantity != "f_t"]
        assert max(abs(row.difference) for row in forces) <= 0.03


@pytest.mark.parametrize(("number", "time", "before", "after"), [(2, 3.02, 0.0131, 0.0030), (3, 3.96, 0.0273, 0.0075)])
def test_both_prints_fit_best_one_sample_late(
    three_link: Run, number: int, time: float, before: float, after: float
) -> None:
    instant = INSTANTS[number]
    values = {row.quantity: row.computed for row in time_table(instant, (three_link,) * 3).rows}
    assert values[f"t = {instant.time:.2f} s"] == pytest.approx(before, abs=2e-4)
    assert values[f"t = {time:.2f} s"] == pytest.approx(after, abs=2e-4)
    assert min(value for name, value in values.items() if name.startswith("t =")) == values[f"t = {time:.2f} s"]


def test_forces_balance_as_in_equations_37_to_40(two_link: Run, three_link: Run) -> None:
    for instant in INSTANTS:
        run = two_link if instant.motion == "2-link" else three_link
        assert {row.verdict for row in balance_table(instant, (run,) * 3).rows} == {"agrees"}


def test_the_papers_own_method_gives_the_printed_digits_and_drifts() -> None:
    """Plain Runge-Kutta without projection: the digits of the first instant, and a hand that leaves the floor."""
    run = run_by_paper(MOTIONS["2-link"], PAPER_INERTIA, 0.1)
    table = instant_table(INSTANTS[0], (run,) * 3)
    assert {row.verdict for row in table.rows} == {"agrees"}
    turning = run_by_paper(MOTIONS["figure 6"], PAPER_INERTIA, 1.0)
    assert 1e-6 < np.abs(turning.hand[:, 2]).max() < 1e-2


def test_printed_parameters_are_those_of_the_mechanisms(two_link: Run, three_link: Run) -> None:
    for key, run in (("2-link", two_link), ("3-link", three_link)):
        assert {row.verdict for row in parameter_table("", key, run).rows} == {"given"}


def test_a_true_rod_gives_other_digits() -> None:
    run = computed("2-link", TRUE_ROD, 0.12)
    k = run.at(0.10)
    assert run.normal[k] == pytest.approx(9.3366, abs=1e-4)
    assert run.forces[k, 0, 2] == pytest.approx(10.2700, abs=1e-4)


@pytest.mark.parametrize("key", ["figure 3", "figure 4", "figure 5", "figure 6"])
def test_the_hand_stays_on_the_plane_and_presses_on_it(key: str) -> None:
    """With stick and projection |z| <= 1e-12 and f_n > 0; friction never exceeds K f_n."""
    run = computed(key, PAPER_INERTIA, 2.0)
    assert np.abs(run.hand[:, 2]).max() <= 1e-12
    assert run.normal.min() > 0.0
    assert (np.abs(run.friction) <= 0.2 * run.normal + 1e-7).all()
    assert len(run.events) < 20


def test_sticking_is_where_the_paper_cannot_express_it() -> None:
    """In Fig 6 the hand stops at 0.365 s and holds for 0.22 s; in Fig 3 it turns at once where the arm is stretched."""
    run = computed("figure 6", PAPER_INERTIA, 0.7)
    (first, stick), (second, slip) = run.events
    assert (first, second) == ("stick", "slip")
    assert [stick, slip] == pytest.approx([0.365, 0.586], abs=0.002)
    held = (run.time > stick) & (run.time < slip)
    assert np.ptp(run.hand[held, 1]) < 1e-14
    turned = computed("figure 3", PAPER_INERTIA, 1.5)
    ((kind, time),) = turned.events
    assert kind == "turn"
    assert turned.hand[turned.at(time), 1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("rest", "angles", "quiet"), [(0, [-2.598, 2.055], 22.36), (1, [-3.127, 1.556, 1.556], 13.94)])
def test_rest_is_reached_before_the_frictionless_equilibrium(rest: int, angles: list[float], quiet: float) -> None:
    run = computed(AT_REST[rest].motion, PAPER_INERTIA, MOTIONS[AT_REST[rest].motion].duration)
    table = rest_table(AT_REST[rest], (run,) * 3)
    verdicts = {"initial": "given", "converg": "explained"}
    assert all(row.verdict == verdicts.get(row.quantity[:7], "agrees") for row in table.rows), table
    assert run.q[-1] == pytest.approx(angles, abs=0.001)
    assert run.quiet == pytest.approx(quiet, abs=0.015)
