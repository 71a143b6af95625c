"""A world of a batch does, bit for bit, what it does alone, also where a decision between steps needs the torque."""

import numpy as np
import pytest

import setsu
from setsu import control
from setsu.sample_mechanisms import puma560

STEPS = {"rk4": 0.06, "semi_implicit": 0.06, "rk8": 0.03, "adaptive": 0.03, "radau": 0.02}


def _states() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return 0.5 * random.normal(size=(3, 6)), 0.3 * random.normal(size=(3, 6))


def _law(t, q, v):
    # Products of arrays: the same operations for one world and for many.
    return -2.0 * v + np.multiply.outer(3.0 - 40.0 * np.asarray(t), np.ones(6))


def _assert_rows(batch: setsu.Recording, singles: list[setsu.Recording]) -> None:
    for k, single in enumerate(singles):
        np.testing.assert_array_equal(batch.q[k], single.q)
        np.testing.assert_array_equal(batch.v[k], single.v)
        row = batch[k]
        assert [(e.time, e.kind, e.name) for e in row.events] == [(e.time, e.kind, e.name) for e in single.events]


@pytest.mark.parametrize("integrator", STEPS)
def test_joints_with_dry_friction_under_a_python_law(integrator):
    m, (q, v) = puma560(friction=True), _states()
    options = {"duration": STEPS[integrator], "torque": _law, "integrator": integrator}
    singles = [setsu.simulate(m, q[k], v[k], **options) for k in range(3)]
    assert any(single.events for single in singles)
    _assert_rows(setsu.simulate(m, q, v, **options), singles)


def test_joints_with_dry_friction_under_a_sampled_law():
    m, (q, v) = puma560(friction=True), _states()

    def law(t, q, v):
        return -20.0 * v - 10.0 * q

    singles = [setsu.simulate(m, q[k], v[k], 0.06, torque=control.Sampled(law, 0.0033)) for k in range(3)]
    _assert_rows(setsu.simulate(m, q, v, 0.06, torque=control.Sampled(law, 0.0033)), singles)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive", "radau"])
def test_a_decision_between_steps_sees_the_torque_of_its_own_time(integrator):
    """A block of 1 kg, friction 1 N: v = 0.1 - t, from 0.05 s on 0.05 - 2.5 (t - 0.05); at 0.07 s it turns round."""
    b = setsu.MechanismBuilder("block", gravity=(0, 0, 0))
    m = b.add_body("block", joint=setsu.Prismatic((1, 0, 0), "x", coulomb=1.0), mass=1.0).build()

    def law(t, q, v):
        return np.where(np.asarray(t)[..., None] > 0.05, -1.5, 0.0) * np.ones(np.shape(v))

    run = setsu.simulate(m, [0.0], [0.1], 0.2, step=1e-3, torque=law, integrator=integrator)
    # Pushed by more than the limit, it does not stick, as it would under the torque of the start.
    assert [event.kind for event in run.events] == ["turn"]
    assert run.events[0].time == pytest.approx(0.07, abs=2e-4)


@pytest.mark.parametrize("duration", [0.05])
@pytest.mark.parametrize("count", [3, 6])
def test_a_joint_servo_acts_on_each_world(duration, count):
    m, random = puma560(), np.random.default_rng(4)
    q, v = 0.5 * random.normal(size=(count, 6)), 0.3 * random.normal(size=(count, 6))
    servo = setsu.JointServo(30.0, 2.0, lambda t: np.array([np.sin(t), t, 0.0, 0.0, 0.1, 0.0]))
    singles = [setsu.simulate(m, q[k], v[k], duration, torque=servo) for k in range(count)]
    _assert_rows(setsu.simulate(m, q, v, duration, torque=servo), singles)


def test_a_joint_servo_without_environment_leaves_free_joints_alone():
    m = setsu.sample_mechanisms.quadruped()
    q = m.neutral()
    run = setsu.simulate(m, q, np.zeros(m.nv), 0.05, torque=setsu.JointServo(30.0, 1.0, q))
    assert np.abs(run.q[-1] - q)[3:].max() < 1e-12
    assert run.v[-1, 2] == pytest.approx(-9.81 * 0.05)


@pytest.mark.parametrize("kind", ["loop", "coupling"])
def test_worlds_that_differ_in_what_closes_loops(kind):
    def arm(closed: bool) -> setsu.Mechanism:
        b = setsu.MechanismBuilder("arm", gravity=(0, -9.81, 0))
        link = {"mass": 1.0, "center_of_mass": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
        b.add_body("a", joint=setsu.Revolute((0, 0, 1), "j1"), **link)
        b.add_body("b", "a", setsu.Revolute((0, 0, 1), "j2"), setsu.placement((1, 0, 0)), **link)
        if closed and kind == "loop":
            b.add_distance("rod", "world", (1, -1, 0), "b", (0, 0, 0), 1.0)
        if closed and kind == "coupling":
            b.add_coupling("gear", {"j1": 1.0, "j2": -1.0})
        return b.build()

    for order in ((False, True), (True, False)):
        worlds = [arm(closed) for closed in order]
        batch = setsu.simulate(worlds, np.zeros((2, 2)), np.zeros((2, 2)), 0.1)
        _assert_rows(batch, [setsu.simulate(m, np.zeros(2), np.zeros(2), 0.1) for m in worlds])


def test_a_stopped_world_says_when_it_stopped():
    """The first pendulum passes 1.2 rad, where the law has no answer; its time and the reason are of that step."""
    m = setsu.sample_mechanisms.pendulum()

    def law(t, q, v):
        return np.where(q > 1.2, np.nan, -0.1 * v)

    sim = setsu.Simulator(m, torque=law, count=2)
    sim.reset([[1.0], [0.5]], [[2.0], [0.0]])
    sim.step(steps=500)
    at, reason = sim.stopped[0]
    assert sim.time.tolist() == [at, 0.5]
    assert f"in the step from t = {at:.9g} s" in reason
    alone = setsu.simulate(m, [1.0], [2.0], at, torque=law)
    np.testing.assert_array_equal(sim.q[0], alone.q[-1])
