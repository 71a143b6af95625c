"""Joints that end at their limits: where, when, with which loss, and how they leave again."""

from __future__ import annotations

import math

import numpy as np
import pytest

import setsu


def pendulum(lower: float = -math.inf, upper: float = math.inf) -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("pendulum with stops")
    joint = setsu.Revolute((0, -1, 0), "hinge", lower=lower, upper=upper)
    builder.add_body("bob", joint=joint, mass=1.0, center_of_mass=(0, 0, -1.0))
    return builder.build()


def test_a_falling_pendulum_stops_at_its_limit_and_loses_its_speed() -> None:
    """From 1 rad at rest to a stop at 0.2 rad: ½ l² v² = g l (cos 0.2 - cos 1) is lost, and there it stays."""
    run = setsu.simulate(pendulum(lower=0.2), [1.0], [0.0], 1.0, 0.01, joint_stops=True)
    (stop,) = run.events
    assert (stop.kind, stop.name) == ("stop", "lower stop of hinge")
    assert stop.energy_lost == pytest.approx(9.81 * (math.cos(0.2) - math.cos(1.0)), rel=1e-7)
    after = run.time > stop.time
    assert np.abs(run.q[after] - 0.2).max() < 1e-14
    assert np.abs(run.v[after]).max() == 0.0
    assert np.abs(run.ledger.integration).max() < 1e-7


def test_a_joint_leaves_its_stop_when_the_torque_turns() -> None:
    """Held at its upper limit by 5 N m, released when 5 cos(t) falls below m g l sin(0.5): q'' = 0 there."""
    m = pendulum(upper=0.5)
    weight = 9.81 * math.sin(0.5)
    run = setsu.simulate(m, [0.5], [0.0], 1.0, 0.01, lambda t, q, v: [6.0 * math.cos(t)], joint_stops=True)
    (release,) = run.events
    assert release.kind == "release"
    assert release.time == pytest.approx(math.acos(weight / 6.0), abs=1e-6)
    assert (run.q[run.time > release.time + 0.05] < 0.5).all()


def test_limits_do_not_matter_unless_asked_for() -> None:
    run = setsu.simulate(pendulum(lower=0.2), [1.0], [0.0], 1.0, 0.01)
    assert run.q.min() < 0.0
    assert not run.events


def test_starting_beyond_a_stop_is_refused() -> None:
    with pytest.raises(setsu.InputError, match=r"q0 is 0.5 .* beyond the lower stop of hinge"):
        setsu.simulate(pendulum(lower=0.5), [0.0], [0.0], 1.0, 0.01, joint_stops=True)
