"""Laws without Python: the same motion as the function called, in every machine; what cannot be traced is told."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.control import SampledMotion, law, where
from setsu.mechanism import Mechanism

QUIET = {"record_every": 10}


class Called:
    """The same law, called at every stage."""

    single_state = True
    stateless = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return self.function(t, q, v)


def functions(m: Mechanism) -> dict[str, Callable[..., Any]]:
    tip = m.body_names[-1]
    K = np.diag(np.linspace(1.0, 3.0, m.nv))

    def choosing(t: Any, q: Any, v: Any) -> Any:
        push = where((q > 0.1) & ~(v > 2.0) | (t < 0.01), -4.0 * v, np.clip(-30.0 * v, -1.0, 1.0))
        return push + np.minimum(np.sin(3.0 * t), 0.5) - np.abs(v) * np.sign(v) + np.maximum(v**2, 0.1) * 0.1

    return {
        "gravity and feedback": lambda t, q, v: setsu.gravity_torque(m, q) - K @ v - 0.5 * np.cos(2.0 * t),
        "inverse dynamics": lambda t, q, v: setsu.inverse_dynamics(m, q, v, -3.0 * v) / 2.0,
        "jacobian": lambda t, q, v: setsu.point_jacobian(m, q, tip, (0.1, 0.0, 0.0)).T @ np.array([1.0, t, 0.2]) - v,
        "poses": lambda t, q, v: setsu.body_poses(m, q)[-1, 2, 3] * np.ones(m.nv) - v,
        "mass matrix": lambda t, q, v: -setsu.mass_matrix(m, q) @ v,
        "choosing": choosing,
    }


def runs(name: str) -> tuple[Mechanism, np.ndarray, dict[str, Any]]:
    if name == "loop":
        return (m := setsu.sample_mechanisms.five_bar()), m.neutral(), {}
    m = setsu.sample_mechanisms.planar_arm(3)
    options = {"floor": {"environment": setsu.Environment.floor(-5.0)}, "radau": {"integrator": "radau"}}
    return m, np.array([0.3, -0.2, 0.4]), options.get(name, {})


@pytest.mark.filterwarnings("ignore:simulate. planar 3R arm has neither")
@pytest.mark.parametrize("machine", ["tree", "radau", "loop", "floor"])
@pytest.mark.parametrize("name", list(functions(setsu.sample_mechanisms.planar_arm(3))))
def test_a_law_without_python_is_the_function_called(name: str, machine: str) -> None:
    m, q0, options = runs(machine)
    function = functions(m)[name]
    traced = law(function)
    alone = setsu.simulate(m, q0, np.zeros(m.nv), 0.1, 1e-3, torque=traced, **QUIET, **options)
    assert traced.reason is None
    assert traced.traced(m) is not None
    called = setsu.simulate(m, q0, np.zeros(m.nv), 0.1, 1e-3, torque=Called(function), **QUIET, **options)
    for quantity in ("q", "v", "torque"):
        one, other = getattr(alone, quantity), getattr(called, quantity)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(other).max(), err_msg=quantity)
    assert np.abs(called.torque).max() > 0.01


def test_a_law_is_the_same_in_one_world_and_many_by_steps_and_by_runs() -> None:
    m = setsu.sample_mechanisms.puma560()
    hold = law(lambda t, q, v: setsu.gravity_torque(m, q) - 20.0 * (q - np.sin(t)) - 2.0 * v)
    Q = np.stack([m.random_configuration(k) for k in range(5)])
    many = setsu.simulate(m, Q, np.zeros((5, 6)), 0.05, 1e-3, torque=hold)
    sim = setsu.Simulator(m, 1e-3, torque=hold)
    for k in range(5):
        single = setsu.simulate(m, Q[k], np.zeros(6), 0.05, 1e-3, torque=hold)
        assert np.array_equal(many.q[k], single.q)
        sim.reset(Q[k], np.zeros(6))
        for _ in range(50):
            sim.step()
        assert np.array_equal(sim.q, single.q[-1])
        assert np.array_equal(sim.v, single.v[-1])


@pytest.mark.parametrize("name", ["feedback", "computed torque", "table", "limited sum", "impedance"])
def test_our_controllers_run_without_python(name: str) -> None:
    m = setsu.sample_mechanisms.puma560()
    time = np.linspace(0.0, 0.2, 9)
    motion = SampledMotion(time, 0.3 + np.outer(np.sin(3.0 * time), np.linspace(0.5, 1.0, 6)))
    feedback = setsu.control.JointFeedback(m, motion, 50.0, 5.0)
    table = setsu.control.FeedForward.from_motion(m, time, motion.q)
    law = {
        "feedback": feedback,
        "computed torque": setsu.control.ComputedTorque(m, motion, 100.0, 20.0),
        "table": table,
        "limited sum": (table + feedback).limited([60.0, 50.0, 40.0, 3.0, 2.0, 1.0]),
        "impedance": setsu.control.Impedance(m, "link6", (0, 0, 0.1), (0.3, 0.2, 0.1), 100.0, 10.0, joint_damping=1.0),
    }[name]
    assert law.traced(m) is not None
    q0, v0, _ = motion(0.0)
    # Beyond the end of the motion, at its instants, and with a last step of another length.
    alone = setsu.simulate(m, q0, v0, 0.2505, 1e-3, torque=law)
    called = setsu.simulate(m, q0, v0, 0.2505, 1e-3, torque=Called(law))
    np.testing.assert_allclose(alone.q, called.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(alone.torque, called.torque, rtol=0, atol=1e-10 * np.abs(called.torque).max())


def test_gains_that_change_between_runs_count() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    hold = setsu.control.JointFeedback(m, [0.5, 0.0], 10.0, 1.0)
    first = setsu.simulate(m, [0, 0], [0, 0], 0.01, torque=hold)
    hold.position_gain = hold.position_gain * 2.0
    second = setsu.simulate(m, [0, 0], [0, 0], 0.01, torque=hold)
    assert second.torque[0, 0] == 2.0 * first.torque[0, 0] == 10.0


def test_a_law_that_reads_another_gain_is_traced_anew() -> None:
    m, gains = setsu.sample_mechanisms.planar_arm(2), {"k": 10.0}
    hold = law(lambda t, q, v: -gains["k"] * q)
    torques = []
    for gains["k"] in (10.0, 10.0, 20.0, 10.0):
        torques.append(setsu.simulate(m, [0.5, 0.0], [0, 0], 0.002, torque=hold).torque[0, 0])
    assert torques == [-5.0, -5.0, -10.0, -5.0]
    assert hold.reason is None


def memory() -> Callable[..., Any]:
    seen: list[float] = []

    def remembering(t: Any, q: Any, v: Any) -> Any:
        seen.append(1.0)
        return -v * len(seen)

    return remembering


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda t, q, v: -v if q[0] > 0.0 else -2.0 * v, "branches on a comparison"),
        (lambda t, q, v: -v * float(q[0]), "needs the value of t, q or v as a plain number"),
        (lambda t, q, v: -v * (q[0] == 0.0), "asks whether a value equals"),
        (lambda t, q, v: np.exp(-v), "raises TypeError"),
        (lambda t, q, v: [0.0] if isinstance(t, float) else -v, "it gives"),
        (memory(), "has a memory"),
        (lambda t, q, v: -v * abs(q[0]) ** 1.5, "a power of 1.5"),
    ],
)
def test_what_cannot_be_traced_is_told_once_and_called(function: Callable[..., Any], reason: str) -> None:
    m, told = setsu.sample_mechanisms.planar_arm(2), law(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with contextlib.suppress(setsu.InputError):  # some of the functions are wrong themselves
                setsu.simulate(m, [0.2, 0.1], [0.0, 0.0], 0.002, torque=told)
    messages = [str(entry.message) for entry in caught if "control.law" in str(entry.message)]
    assert len(messages) == 1
    assert reason in messages[0] or "another answer" in messages[0] or "raises" in messages[0]
    assert told.reason is not None


def test_a_law_whose_torque_is_lost_stops_its_world_and_is_told() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    lost = law(lambda t, q, v: -v + 1.0 / where(t > 0.0035, 0.0, 1.0))
    with pytest.raises(setsu.SimulationStopped, match=r"torque function at t = 0\.00[0-9]+ s"):
        setsu.simulate(m, [0.2, 0.1], [1.0, 0.0], 0.01, torque=lost)


@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_sampled_laws_act_in_steps_as_in_runs_and_are_saved(delay: float) -> None:
    m = setsu.sample_mechanisms.planar_arm(2)

    def made() -> Any:
        hold = setsu.control.JointFeedback(m, [0.5, 0.2], 30.0, 3.0, integral_gain=5.0)
        return hold.sampled(0.01, delay=delay, position_noise=1e-3, seed=3)

    run = setsu.simulate(m, [0, 0], [0, 0], 0.1, 1e-3, torque=made())
    sim = setsu.Simulator(m, 1e-3, torque=made())
    sim.reset([0, 0], [0, 0])
    kept: Any = None
    for k in range(100):
        kept = sim.save() if k == 47 else kept
        sim.step()
    assert np.array_equal(sim.q, run.q[-1])
    other = setsu.Simulator(m, 1e-3, torque=made())
    other.restore(kept)
    other.step(steps=53)
    assert np.array_equal(other.q, run.q[-1])
    assert np.array_equal(other.v, run.v[-1])


def test_noise_of_world_k_is_that_of_a_single_run_with_seed_and_k() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    hold = setsu.control.JointFeedback(m, [0.5, 0.2], 30.0, 3.0)
    many = setsu.simulate(
        m, np.zeros((3, 2)), np.zeros((3, 2)), 0.05, 1e-3, torque=hold.sampled(0.01, velocity_noise=0.1, seed=7)
    )
    for k in range(3):
        law = hold.sampled(0.01, velocity_noise=0.1, seed=(7, k))
        assert np.array_equal(many.q[k], setsu.simulate(m, [0, 0], [0, 0], 0.05, 1e-3, torque=law).q)
    assert not np.array_equal(many.q[0], many.q[1])


def test_where_of_plain_numbers_is_numpys() -> None:
    assert where(True, 1.0, 2.0) == 1.0
    np.testing.assert_array_equal(where(np.array([True, False]), [1.0, 2.0], 0.0), [1.0, 0.0])


def test_actuators_of_a_mechanism_drive_runs_without_python() -> None:
    b = setsu.MechanismBuilder.of(setsu.sample_mechanisms.planar_arm(2))
    b.add_actuator(
        setsu.Actuator("servo", joint="joint1", gain=(50.0, 0.0, 0.0), bias=(0.0, -50.0, -5.0), force_range=(-9.0, 9.0))
    )
    b.add_actuator(setsu.Actuator("motor", joint="joint2", gear=(3.0,), control_range=(-0.5, 0.5)))
    m = b.build()
    drive = setsu.control.Actuators(m, law(lambda t: np.array([0.2, 0.0]) + np.array([0.0, 1.0]) * t))
    assert drive.traced(m) is not None
    inside = setsu.simulate(m, [0.0, 0.1], [0.0, 0.0], 0.3, torque=drive + law(lambda t, q, v: -0.1 * v))
    called = setsu.simulate(
        m, [0.0, 0.1], [0.0, 0.0], 0.3,
        torque=lambda t, q, v: setsu.actuator_torque(m, q, v, [0.2, t]) - 0.1 * v,
    )  # fmt: skip
    np.testing.assert_allclose(inside.q, called.q, rtol=0.0, atol=1e-12)
    assert setsu.actuator_torque(m, [0.0, 0.0], [0.0, 0.0], [9.0, 9.0]).tolist() == [9.0, 1.5]
    arm = setsu.sample_mechanisms.seven_joint_arm()
    strong = setsu.control.JointFeedback(arm, np.ones(7), 1e4).limited(arm)
    limits = [limit for body in arm.moving for limit in body.joint.effort_limit]
    assert strong(0.0, np.zeros(7), np.zeros(7)).tolist() == limits
    with pytest.raises(setsu.InputError, match="has none"):
        setsu.control.Actuators(arm, [])
