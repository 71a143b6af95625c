"""Joint limits in runs with an environment, where they are rows of the contact solve, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import setsu

FLOOR = setsu.Environment.floor(height=-5.0)


def _pendulum(lower: float = -math.inf, upper: float = math.inf) -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("pendulum with stops")
    joint = setsu.Revolute((0, -1, 0), "hinge", lower=lower, upper=upper)
    builder.add_body("bob", joint=joint, mass=1.0, center_of_mass=(0, 0, -1.0))
    return builder.add_contact_points("bob", [(0, 0, -1.0)]).build()


def test_a_falling_pendulum_ends_at_its_limit_and_loses_its_speed() -> None:
    """From 1 rad at rest to a stop at 0.2 rad: g l (cos 0.2 - cos 1) is lost to first order in the step."""
    lost = []
    for h in (1e-3, 2.5e-4):
        run = setsu.simulate(_pendulum(lower=0.2), [1.0], [0.0], 1.0, h, environment=FLOOR, joint_stops=True)
        (stop,) = run.events
        assert (stop.kind, stop.name) == ("stop", "lower stop of hinge")
        # In the step after the blow the stop still gives back what a millionth of compliance let in.
        after = run.time > stop.time + 2.5 * h
        assert np.abs(run.q[after] - 0.2).max() < 1e-8
        assert np.abs(run.v[after]).max() < 1e-8
        lost.append(-run.ledger.impacts[-1] / (9.81 * (math.cos(0.2) - math.cos(1.0))) - 1.0)
        log = run.contact_log
        assert log is not None
        # The stop carries the weight: m g l sin 0.2.
        assert log.stop_torque[-1, 0] == pytest.approx(9.81 * math.sin(0.2), rel=1e-6)
    assert abs(lost[0]) < 5e-3
    assert abs(lost[1]) < 0.4 * abs(lost[0]) + 1e-6


def test_a_joint_leaves_its_stop_when_the_torque_turns() -> None:
    """Held at its upper limit by 6 cos(t) N m, released when that falls below m g l sin(0.5)."""
    weight = 9.81 * math.sin(0.5)
    run = setsu.simulate(
        _pendulum(upper=0.5), [0.5], [0.0], 1.0, 1e-3, lambda t, q, v: [6.0 * math.cos(t)],
        environment=FLOOR, joint_stops=True,
    )  # fmt: skip
    stop, release = run.events
    assert (stop.kind, release.kind) == ("stop", "release")
    assert release.time == pytest.approx(math.acos(weight / 6.0), abs=2e-3)
    assert (run.q[run.time > release.time + 0.05] < 0.5).all()


def test_limits_do_not_matter_unless_asked_for() -> None:
    run = setsu.simulate(_pendulum(lower=0.2), [1.0], [0.0], 1.0, 1e-3, environment=FLOOR)
    assert run.q.min() < 0.0


def test_a_slider_between_stop_and_floor_shares_its_load() -> None:
    # A rod pushed down by 30 N that may sink 0.1 m: the stop takes it all above the floor, the floor when it is higher.
    for height, carried_by_stop in ((-0.2, 1.0), (-0.05, 0.0)):
        b = setsu.MechanismBuilder("press")
        b.add_body("rod", joint=setsu.Prismatic((0, 0, 1), name="slide", lower=-0.1), mass=1.0, inertia=np.eye(3))
        m = b.add_contact_points("rod", [(0, 0, 0)]).build()
        ground = setsu.Environment.floor(height=height)
        run = setsu.simulate(m, [0.0], [0.0], 0.5, 1e-3, torque=[-30.0], environment=ground, joint_stops=True)
        log = run.contact_log
        assert log is not None
        load = 30.0 + 9.81
        assert log.stop_torque[-1, 0] == pytest.approx(carried_by_stop * load, abs=1e-6 * load)
        assert run.contact_force[-1, 0, 2] == pytest.approx((1.0 - carried_by_stop) * load, abs=1e-6 * load)


def test_a_limp_humanoid_falls_within_its_limits() -> None:
    m = setsu.sample_mechanisms.hoap1_like()
    q, v = m.neutral(), np.zeros(m.nv)
    poses = setsu.body_poses(m, q)
    frames = [(m.frame(point.body), point.position) for point in m.contact_points]
    q[2] -= min((poses[frame.body] @ frame.pose.matrix @ [*place, 1.0])[2] for frame, place in frames)
    v[0], v[4] = 0.6, 1.0
    run = setsu.simulate(m, q, v, 1.0, 1e-3, environment=setsu.Environment.floor(), joint_stops=True)
    joints = run.q[:, 7:]
    assert (joints > m.lower[6:] - 1e-6).all()
    assert (joints < m.upper[6:] + 1e-6).all()
    assert {event.kind for event in run.events} >= {"touch", "stop", "release"}
    assert run.contact_log is not None
    assert (run.contact_log.unconverged == 0.0).all()
    assert np.diff(run.energy).max() < 1e-9 * abs(run.energy[0])
    # Stops are internal forces: momentum changes by the floor and weight alone.
    base = setsu.inverse_dynamics(m, run.q, run.v, run.acceleration)[:, :3]
    total = run.contact_force.sum(axis=1)
    turned = np.einsum("tij,tj->ti", setsu.body_poses(m, run.q)[:, 0, :3, :3], base)
    assert np.abs(turned - total).max() < 1e-9 * m.total_mass * 9.81


def test_starting_beyond_a_stop_is_refused() -> None:
    with pytest.raises(setsu.InputError, match=r"q0 is 0.5 .* beyond the lower stop of hinge"):
        setsu.simulate(_pendulum(lower=0.5), [0.0], [0.0], 1.0, 0.01, environment=FLOOR, joint_stops=True)
    with pytest.raises(setsu.InputError, match="joint_stops need contact_solver='default'"):
        setsu.simulate(
            _pendulum(), [0.0], [0.0], 1.0, 0.01,
            environment=FLOOR, joint_stops=True, contact_solver="sugihara2002",
        )  # fmt: skip
