"""Sampled laws inside the steps are the ones called from Python: memory, delay, noise, sensors, structure, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu import control
from setsu.noise import noise_key, standard_normal

ARM = setsu.sample_mechanisms.planar_arm(3)
START = np.array([0.4, -0.7, 0.5])


class Called:
    """A sampled law as a plain function, which the simulator has to call."""

    stateless = True

    def __init__(self, law: control.Sampled) -> None:
        self.law, self.period, self.next_change = law, law.period, law.next_change

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.law(t, q, v)


def motion() -> control.SampledMotion:
    t = np.linspace(0.0, 0.2, 41)
    return control.SampledMotion(t, START + 0.2 * np.sin(np.outer(t, [3.0, 4.0, 5.0])))


def wall() -> setsu.SurfaceContact:
    height = float(setsu.frame_pose(ARM, START, "tip")[2, 3])
    return setsu.SurfaceContact("tip", (0, 0, 0), setsu.Plane((0, 0, 1), height), friction=0.1)


LAWS: dict[str, Any] = {
    "feedback": lambda: control.JointFeedback(ARM, motion(), 40.0, 4.0),
    "integral": lambda: control.JointFeedback(ARM, START, 40.0, 4.0, 200.0, integral_limit=0.5),
    "computed torque": lambda: control.ComputedTorque(ARM, motion(), 400.0, 40.0).limited(20.0),
    "sum": lambda: control.FeedForward([0.0, 0.1], [[0.0] * 3, [1.0] * 3]) + control.JointFeedback(ARM, START, 9.0),
    "function": lambda: control.law(lambda t, q, v: setsu.gravity_torque(ARM, q) - 3.0 * v) + (lambda t, q, v: -q),
}


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.0115])
@pytest.mark.parametrize("name", LAWS)
def test_in_trees(name: str, delay: float) -> None:
    def made() -> control.Sampled:
        return LAWS[name]().sampled(
            0.005, delay=delay, position_noise=1e-4, velocity_noise=1e-3, seed=4, initial=[0.1, 0.2, 0.3]
        )

    inside = setsu.simulate(ARM, START, np.zeros(3), 0.1, 1e-3, torque=made())
    called = setsu.simulate(ARM, START, np.zeros(3), 0.1, 1e-3, torque=Called(made()))
    np.testing.assert_allclose(inside.torque, called.torque, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(inside.q, called.q, rtol=0.0, atol=1e-12)
    assert (made().traced(ARM) is None) == (name == "function")


def grinding(noise: float = 0.3, delay: float = 0.002, seed: Any = 1) -> control.Sampled:
    touch = wall()
    path = control.law(lambda t: (setsu.frame_pose(ARM, START, "tip")[:3, 3] + np.array([0.1, 0.0, 0.0]) * t,))
    sensor = control.ForceSensor(ARM, [touch], noise=noise, seed=seed)
    law = control.HybridControl(ARM, touch, path, 8.0, 400.0, 40.0) + control.ForceFeedback(
        control.SurfacePress(ARM, touch), 8.0, sensor, 0.1, integral_gain=30.0
    )
    return law.sampled(0.001, delay=delay, position_noise=1e-6, seed=seed, sensor=sensor)


@pytest.mark.parametrize("delay", [0.0, 0.002])
def test_with_a_force_sensor_on_a_wall(delay: float) -> None:
    law = grinding(delay=delay)
    assert law.traced(ARM, [wall()]) is not None
    inside = setsu.simulate(ARM, START, np.zeros(3), 0.15, 1e-3, torque=law, contacts=[wall()])
    called = setsu.simulate(
        ARM, START, np.zeros(3), 0.15, 1e-3, torque=Called(grinding(delay=delay)), contacts=[wall()]
    )
    np.testing.assert_allclose(inside.normal_force, called.normal_force, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(inside.q, called.q, rtol=0.0, atol=1e-9)
    assert np.abs(inside.normal_force[100:, 0] - 8.0).max() < 1.0


def test_steps_files_and_worlds_are_the_run() -> None:
    run = setsu.simulate(ARM, START, np.zeros(3), 0.04, 1e-3, torque=grinding(), contacts=[wall()])
    sim = setsu.Simulator(ARM, 1e-3, torque=grinding(), contacts=[wall()])
    sim.reset(START, np.zeros(3))
    sim.step(steps=17)
    kept = sim.save()
    other = setsu.Simulator(ARM, 1e-3, torque=grinding(), contacts=[wall()])
    other.restore(kept)
    for each in (sim, other):
        for _ in range(23):
            each.step()
        assert np.array_equal(each.q, run.q[-1])
        assert np.array_equal(each.v, run.v[-1])
    # What is read in between changes nothing; a reset begins anew.
    sim.reset(START, np.zeros(3))
    for _ in range(40):
        _ = sim.normal_force
        sim.step()
    assert np.array_equal(sim.q, run.q[-1])
    many = setsu.simulate(
        ARM, np.tile(START, (3, 1)), np.zeros((3, 3)), 0.04, 1e-3, torque=grinding(), contacts=[wall()]
    )
    for k in range(3):
        one = setsu.simulate(ARM, START, np.zeros(3), 0.04, 1e-3, torque=grinding(seed=(1, k)), contacts=[wall()])
        assert np.array_equal(many.q[k], one.q)


def test_a_law_of_two_runs_one_after_the_other_goes_on_where_it_was() -> None:
    law = LAWS["integral"]().sampled(0.005, delay=0.004)
    whole = setsu.simulate(ARM, START, np.zeros(3), 0.08, 1e-3, torque=law)
    sim = setsu.Simulator(ARM, 1e-3, torque=np.zeros(3))
    sim.reset(START, np.zeros(3))
    sim.run(0.043, torque=law)
    sim.run(0.037, torque=law)
    np.testing.assert_allclose(sim.q, whole.q[-1], rtol=0.0, atol=1e-15)


def test_laws_and_pushes_go_on_acting_when_a_loop_closes() -> None:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, m.neutral() + 0.3)
    name = m.loops[0].name
    events = [setsu.OpenLoop(0.003, name), setsu.CloseLoop(0.004, name, here=True)]
    hold = control.JointFeedback(m, q, 50.0, 5.0)

    @control.law
    def traced(t: Any, q: Any, v: Any) -> Any:
        return hold(t, q, v)

    def plain(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return hold(t, q, v)

    runs = [setsu.simulate(m, q, np.zeros(m.nv), 0.01, 1e-3, torque=law, events=events) for law in (traced, plain)]
    np.testing.assert_allclose(runs[0].torque, runs[1].torque, rtol=0.0, atol=1e-9)
    assert np.abs(runs[0].torque[-1]).max() > 0.0


def test_a_sensor_of_something_else_is_asked_in_python() -> None:
    sensor = control.ForceSensor(ARM, [wall()], lambda result, q: [result.normal_force[0]])
    press = control.ForceFeedback(control.SurfacePress(ARM, wall()), 8.0, sensor, 0.1)
    assert press.sampled(0.001, sensor=sensor).traced(ARM, [wall()]) is None
    elsewhere = control.ForceSensor(ARM, [wall()])
    press = control.ForceFeedback(control.SurfacePress(ARM, wall()), 8.0, elsewhere, 0.1)
    assert press.sampled(0.001, sensor=elsewhere).traced(ARM, []) is None


def test_noise_is_gaussian_and_depends_on_all_its_words() -> None:
    drawn = np.array([standard_normal(noise_key(3), k, 4) for k in range(4000)])
    assert abs(drawn.mean()) < 4.0 / np.sqrt(drawn.size)
    assert abs(drawn.std() - 1.0) < 4.0 / np.sqrt(2 * drawn.size)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.08
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.08
    others = [noise_key(3), noise_key(4), noise_key(3, 0), noise_key(0, 3), noise_key(2**60)]
    assert len({float(standard_normal(key, 0, 1)[0]) for key in others}) == len(others)


def test_force_on_a_compliant_wall_by_a_sensor_of_a_body() -> None:
    """A cart against a soft wall: the set force comes, both give way by F/k, and a wound-up sum has its limit."""
    soft = setsu.Material(0.0, 0.0, stiffness=2e4, damping=300.0)
    b = setsu.MechanismBuilder("cart", gravity=(0, 0, 0))
    b.add_body("cart", joint=setsu.Prismatic((1, 0, 0), "rail"), mass=2.0, inertia=0.1 * np.eye(3))
    b.add_contact_points("cart", [(0.1, 0, 0)], material=soft)
    cart = b.build()
    wall = setsu.Polygon([[0.1, -1, -1], [0.1, -1, 1], [0.1, 1, 1], [0.1, 1, -1]], material=soft)
    sensor = control.ForceSensor(cart, body="cart", noise=0.05, seed=3)
    press = control.ForceFeedback(
        control.PointForce(cart, "cart", (0.1, 0, 0)), (8.0, 0.0, 0.0), sensor, 0.0, 20.0, integral_limit=30.0
    )
    law = (press + control.law(lambda t, q, v: -20.0 * v)).sampled(1e-3, delay=1e-3, sensor=sensor)
    options = {"torque": law, "environment": setsu.Environment([wall])}
    run = setsu.simulate(cart, [-0.02], [0.0], 2.0, 1e-3, **options)
    assert run.torque[-500:, 0].mean() == pytest.approx(8.0, abs=0.05)
    assert run.q[-500:, 0].mean() == pytest.approx(2 * 8.0 / 2e4, rel=0.02)
    far = setsu.simulate(cart, [-30.0], [0.0], 0.3, 1e-3, **options)
    assert far.torque.max() <= 30.0 + 1e-9
    with pytest.raises(setsu.InputError, match="ForceSensor of a body"):
        setsu.simulate(cart, [-0.02], [0.0], 0.01, 1e-3, torque=law)


def test_gains_changed_between_runs_keep_the_integral() -> None:
    def sums(change: bool) -> float:
        law = LAWS["integral"]().sampled(0.005)
        sim = setsu.Simulator(ARM, 1e-3)
        sim.reset(START + 0.1, np.zeros(3))
        sim.run(0.02, torque=law)
        if change:
            law.law.velocity_gain = law.law.velocity_gain * (1.0 + 1e-12)
        return float(np.abs(sim.run(0.02, torque=law).torque[0]).max())

    assert sums(True) == pytest.approx(sums(False), rel=1e-6)


def test_restoring_under_another_law_is_refused(tmp_path: Path) -> None:
    sim = setsu.Simulator(ARM, 1e-3, torque=LAWS["integral"]().sampled(0.005, velocity_noise=1e-3))
    sim.reset(START + 0.1, np.zeros(3))
    sim.step(steps=17)
    kept = sim.save(tmp_path / "sim.bin")
    for law in (None, LAWS["feedback"]().sampled(0.005), LAWS["integral"]().sampled(0.005, delay=0.1)):
        with pytest.raises(setsu.InputError, match="sampled laws"):
            setsu.Simulator(ARM, 1e-3, torque=law).restore(kept)
    again = setsu.Simulator.load(tmp_path / "sim.bin")
    for each in (sim, again):
        each.step(steps=20)
    assert np.array_equal(sim.q, again.q)
    assert np.array_equal(sim.v, again.v)


@pytest.mark.parametrize("period", [0.0004, 0.0025])
def test_periods_that_no_step_divides(period: float) -> None:
    def made() -> control.Sampled:
        return LAWS["integral"]().sampled(period, delay=0.0007)

    inside = setsu.simulate(ARM, START + 0.1, np.zeros(3), 0.05, 1e-3, torque=made())
    called = setsu.simulate(ARM, START + 0.1, np.zeros(3), 0.05, 1e-3, torque=Called(made()))
    np.testing.assert_allclose(inside.torque, called.torque, rtol=0.0, atol=1e-10)
