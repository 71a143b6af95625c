"""isobe2003: orders, wall tracing, and its control experiments on a part of their time."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.reproduce.isobe2003 import experiments, systems
from setsu.reproduce.isobe2003.pushing_hands import FALLEN, FRICTION, carry


def quiet(text: str, part: float) -> None:
    """Take no notice of the progress."""


@pytest.mark.parametrize("build", [systems.three_links, systems.branched_arm])
def test_figures_2_and_4_order_two_and_the_two_sides_of_newmark(build) -> None:
    found = experiments.accuracy(build())
    assert found.order("central") == pytest.approx(2.0, abs=0.1)
    for scheme in (experiments.AVERAGED, experiments.FOUND_START):
        assert found.order(scheme) == pytest.approx(2.0, abs=0.1)
    saw = found.errors[experiments.EXACT_START]
    assert saw.min() > 0.1
    assert saw[-1] / saw[0] == pytest.approx(1.0, abs=0.05)


def test_figure_9_nodal_torques_are_dynamics_and_push() -> None:
    wall = experiments.wall_tracing(400)
    assert wall.difference <= 3e-6
    assert np.abs(wall.push).max() > 1.0


def test_motions_satisfy_their_loops_and_their_own_derivatives() -> None:
    shake = systems.shaking_branch(systems.branched_closed_system(), 2001, 1.5)
    swing = systems.object_swing(4001)
    for m, motion in ((systems.branched_closed_system(), shake), (systems.two_arms_with_object(), swing)):
        assert np.abs(setsu.loop_error(m, motion.q)).max() < 1e-14
        for values, rates in ((motion.q, motion.v), (motion.v, motion.a)):
            slopes = np.gradient(values, motion.time, axis=0)[2:-2]
            assert np.abs(slopes - rates[2:-2]).max() < 1e-3 * np.abs(rates).max()


@pytest.mark.slow
def test_figure_7_feed_forward_holds_the_closed_part_three_times_better() -> None:
    """Masses 10 % wrong, 2 ms delay: RMS error at most a third of feedback alone."""
    assert experiments.steadiness(quiet, 0.5).ratio <= 1.0 / 3.0


@pytest.mark.slow
def test_figure_15_grip_and_tracking() -> None:
    """0.5 N within 20 %, torques return the motion to 1e-10, tracking at most a third of feedback alone."""
    hold = experiments.grip_control(quiet, 0.5)
    assert hold.returned <= 1e-10
    assert hold.returned_grip <= 1e-10
    assert hold.grip == pytest.approx(np.full(len(hold.grip), 0.5), rel=0.2)
    assert hold.ratio <= 1.0 / 3.0
    assert hold.grip_feedback.min() < 0.4


@pytest.mark.parametrize("grip", [0.3, 0.5, 1.0])
def test_hands_that_only_push_carry_or_drop_by_their_friction(grip: float) -> None:
    """2 μ F against m g: with less the object falls with g - 2 μ F / m; no hand pulls, no friction leaves its cone."""
    run = carry(grip, 0.5)
    fall = 9.81 - 2.0 * FRICTION * grip / systems.OBJECT_MASS
    if fall > 0.0:
        assert run.dropped == pytest.approx((2.0 * FALLEN / fall) ** 0.5, abs=0.01)
    else:
        assert run.dropped is None
        assert run.pressing.min() > 0.8 * grip
        assert run.height.min() > -1e-5
    assert run.pressing.min() >= 0.0
    assert (run.rubbing - FRICTION * run.pressing).max() < 1e-9
