"""nishiguchi2014: every number of the paper, met or explained, and what a right implementation gives beyond the print.

Numbers marked h → 0 were derived independently of this program; f_n, f1z and f2z are given to five digits there.
"""

from __future__ import annotations

import numpy as np
import pytest

from setsu.reproduce.nishiguchi2014.arms import MOTIONS, PAPER_INERTIA, TRUE_ROD, Run, run_motion
from setsu.reproduce.nishiguchi2014.printed import AT_REST, INSTANTS
from setsu.reproduce.nishiguchi2014.tables import instant_table, parameter_table, rest_table


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
        table = instant_table(instant, two_link, two_link)
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


def test_three_link_deviations_are_explained_within_their_reach(three_link: Run) -> None:
    for instant in INSTANTS[2:]:
        table = instant_table(instant, three_link, three_link)
        assert {row.verdict for row in table.rows} == {"agrees", "explained"}
        forces = [row for row in table.rows if row.quantity.startswith("f") and row.quantity != "f_t"]
        assert max(abs(row.difference) for row in forces) <= 0.03


def test_the_print_of_the_third_instant_is_one_sample_late(three_link: Run) -> None:
    k = three_link.at(3.02)
    assert three_link.forces[k, 0, 1:] == pytest.approx([0.371, 16.954], abs=0.0006)
    assert three_link.normal[k] == pytest.approx(11.760, abs=0.0006)


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
    assert len(run.recording.events) < 20


def test_sticking_is_where_the_paper_cannot_express_it() -> None:
    """In Fig 6 the hand stops at 0.365 s and holds for 0.22 s; in Fig 3 it turns at once where the arm is stretched."""
    run = computed("figure 6", PAPER_INERTIA, 0.7)
    stick, slip = run.recording.events
    assert (stick.kind, slip.kind) == ("stick", "slip")
    assert [stick.time, slip.time] == pytest.approx([0.365, 0.586], abs=0.002)
    held = (run.recording.time > stick.time) & (run.recording.time < slip.time)
    assert np.ptp(run.hand[held, 1]) < 1e-14
    turned = computed("figure 3", PAPER_INERTIA, 1.5)
    (turn,) = turned.recording.events
    assert turn.kind == "turn"
    assert turned.hand[turned.at(turn.time), 1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("rest", "angles", "quiet"), [(0, [-2.598, 2.055], 22.36), (1, [-3.127, 1.556, 1.556], 13.94)])
def test_rest_is_reached_before_the_frictionless_equilibrium(rest: int, angles: list[float], quiet: float) -> None:
    run = computed(AT_REST[rest].motion, PAPER_INERTIA, MOTIONS[AT_REST[rest].motion].duration)
    table = rest_table(AT_REST[rest], run, run)
    assert all(row.verdict == ("explained" if row.quantity.startswith("q") else "agrees") for row in table.rows), table
    assert run.recording.q[-1] == pytest.approx(angles, abs=0.001)
    slow = (np.abs(run.recording.v) < 0.001).all(axis=1) & (run.recording.time > 1.0)
    assert run.recording.time[np.argmax(slow)] == pytest.approx(quiet, abs=0.015)
