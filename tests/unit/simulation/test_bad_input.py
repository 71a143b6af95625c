"""Bad arguments of simulate are refused before work; a run that cannot go on keeps what it has recorded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import floating_box, four_bar, pendulum, planar_arm

ARM = planar_arm(2)
GOOD: dict[str, Any] = {"q0": [0.1, 0.2], "v0": [0.0, 0.0], "duration": 0.1, "step": 0.01}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q0": [0.1]}, "simulate: q0: expected shape (2,) for planar 2R arm, got (1,)"),
        ({"v0": np.zeros((2, 2))}, "simulate: v0: expected shape (2,) for planar 2R arm, got (2, 2)"),
        ({"q0": [0.1, np.nan]}, "simulate: q0[1] is nan, expected finite numbers"),
        ({"v0": ["a", "b"]}, "simulate: v0: expected real numbers"),
        ({"v0": [0.0, 1e160]}, "simulate: v0[1] is 1e+160, expected numbers up to 1e+150"),
        ({"duration": 0.0}, "simulate: duration: expected a positive finite number, got 0.0"),
        ({"duration": np.inf}, "simulate: duration: expected a positive finite number"),
        ({"step": -0.1}, "simulate: step: expected a positive finite number, got -0.1"),
        ({"step": "fast"}, "simulate: step: expected a positive number, got 'fast'"),
        ({"step": 1e-15}, "expected at most 100000000"),
        ({"integrator": "rk5"}, "simulate: unknown integrator 'rk5' (did you mean"),
        ({"record_every": 0}, "simulate: record_every: expected a whole number, at least 1, got 0"),
        ({"tolerance": 0.0}, "simulate: tolerance: expected a positive finite number"),
        ({"torque": [1.0]}, "simulate: torque: expected shape (2,) for planar 2R arm, got (1,)"),
        ({"torque": [1.0, np.inf]}, "simulate: torque: entry 1 is inf, expected finite numbers"),
        ({"torque": "full"}, "simulate: torque: expected numbers, got 'full'"),
        ({"contacts": [3]}, "contacts: expected SurfaceContact entries, got 3"),
        ({"events": [3]}, "simulate: events: expected CloseLoop or OpenLoop, got 3"),
        ({"events": 3}, "simulate: events: expected a list of CloseLoop and OpenLoop, got 3"),
        ({"events": [setsu.OpenLoop(0.0, "pin")]}, "simulate: events: unknown loop 'pin' (there are none)"),
        ({"progress": "yes"}, "simulate: progress: expected True, False or a function, got 'yes'"),
        ({"baumgarte": -1.0}, "simulate: baumgarte: expected a positive finite number"),
        ({"baumgarte": 10.0}, "simulate: baumgarte has nothing to stabilise: no constraint holds planar 2R arm"),
        ({"tolerance": 1e-10}, "simulate: tolerance is that of integrator 'adaptive' and means nothing to 'rk4'"),
        ({"tolerance": 1e-6, "integrator": "radau"}, "means nothing to 'radau'"),
        ({"contact_solver": "siconos"}, "simulate: contact_solver: unknown 'siconos' (known: default, sugihara2002)"),
        ({"contact_solver": "sugihara2002"}, "simulate: contact_solver 'sugihara2002' needs an environment"),
        ({"joint_stops": "no"}, "simulate: joint_stops: expected True or False, got 'no'"),
        (
            {"environment": setsu.Environment.floor(-9.0), "exclude": [("link1", "link2")]},
            "exclude: ('link1', 'link2') has no effect: without body_contacts",
        ),
        ({"torque": [1.0, 1e-3j]}, "simulate: torque: expected numbers, got [1.0, 0.001j]"),
        ({"q0": [0.1, 0.2 + 1e-3j]}, "simulate: q0: expected real numbers"),
        ({"v0": np.array(["1", "2"])}, "simulate: v0: expected real numbers"),
    ],
)
def test_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(setsu.InputError, match=re.escape(message)):
        setsu.simulate(ARM, **{**GOOD, **change})


def test_not_a_mechanism() -> None:
    with pytest.raises(setsu.InputError, match="simulate: expected a Mechanism"):
        setsu.simulate("arm.urdf", [], [], 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t: [0.0], r"torque function torque at t = 0.05\d* s: expected shape \(2,\)"),
        (lambda t: [0.0, np.nan], r"torque function at t = 0.05\d* s: entry 1 is nan"),
        (lambda t: None, r"torque function torque at t = 0.05\d* s: "),
        (lambda t: np.array([1.0, 1e-3j]), r"torque function torque at t = 0.05\d* s: expected numbers"),
    ],
)
def test_a_torque_function_that_fails_in_mid_run_names_the_time(answer: Any, message: str) -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return [0.0, 0.0] if t < 0.05 else answer(t)

    with pytest.raises(setsu.SimulationStopped, match=message) as caught:
        setsu.simulate(ARM, **GOOD, torque=torque)
    assert caught.value.recording.time[-1] == pytest.approx(0.04)
    assert caught.value.recording.q.shape == (5, 2)


def test_a_controller_cannot_move_the_mechanism_by_writing_into_its_arguments() -> None:
    def writes(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q[:], v[:] = 7.0, 7.0
        return np.zeros(2)

    run, plain = (setsu.simulate(ARM, **GOOD, torque=torque) for torque in (writes, lambda t, q, v: np.zeros(2)))
    assert np.array_equal(run.q, plain.q)


def test_a_state_that_violates_a_loop_is_refused_by_name() -> None:
    m = four_bar()
    with pytest.raises(setsu.InputError, match=r'q0 violates loop "pin": .*open by .* mm and 0 degrees; .*close_loops'):
        setsu.simulate(m, m.neutral() + 0.1, np.zeros(3), 0.1, 0.01)
    with pytest.raises(setsu.InputError, match=r'v0 violates loop "pin": .* see setsu.consistent_velocity'):
        setsu.simulate(m, m.neutral(), [1.0, 0.0, 0.0], 0.1, 0.01)


def test_a_point_below_its_surface_is_refused() -> None:
    contact = setsu.SurfaceContact("link2", (0.5, 0, 0), setsu.Plane((0, 0, 1), 5.0))
    with pytest.raises(setsu.InputError, match=r'q0 violates contact "link2": normal by -'):
        setsu.simulate(ARM, **GOOD, contacts=[contact])


def test_closing_an_open_gap_is_refused_with_the_way_out() -> None:
    m = four_bar()
    v0 = np.array([3.0, 0.0, 0.0])
    with pytest.raises(setsu.SimulationStopped, match=r'is open by .* or CloseLoop\(0.05, "pin", here=True\)'):
        setsu.simulate(m, m.neutral(), v0, 0.1, 0.01, events=[setsu.CloseLoop(0.05, "pin")])


def test_a_motion_that_blows_up_is_an_error_not_nan() -> None:
    m = pendulum(damping=50.0)
    with (
        pytest.warns(setsu.ModelWarning, match=r"semi_implicit diverges beyond 2: take a step below 0\.04 s"),
        pytest.raises(setsu.SimulationStopped, match=r"grows without bound .* try a shorter step or radau") as caught,
    ):
        setsu.simulate(m, [1.0], [0.0], 100.0, 0.1, integrator="semi_implicit")
    assert np.isfinite(caught.value.recording.q).all()
    with pytest.raises(setsu.InputError, match="contradict the constraints of four-bar"):
        setsu.consistent_velocity(four_bar(), four_bar().neutral(), [1.0, 1.0, 1.0], fixed=["crank", "rocker"])


def test_contacts_of_bodies_need_an_environment() -> None:
    m = floating_box()
    options: tuple[dict[str, Any], ...] = ({"body_contacts": True}, {"exclude": [("box", "world")]})
    for option in options:
        with pytest.raises(setsu.InputError, match="need an environment"):
            setsu.simulate(m, m.neutral(), np.zeros(6), 0.01, **option)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two"])
def test_threads(threads: Any) -> None:
    with pytest.raises(setsu.InputError, match="threads: expected a whole number from 1"):
        setsu.Simulator(pendulum(), count=2, threads=threads)


def test_a_function_is_no_torque_of_a_step() -> None:
    sim = setsu.Simulator(pendulum())
    sim.reset([0.0], [0.0])
    with pytest.raises(setsu.InputError, match="torque: expected numbers"):
        sim.step(lambda t, q, v: -v)  # type: ignore[arg-type]


def test_a_recording_of_many_runs_is_saved_one_by_one(tmp_path: Path) -> None:
    runs = setsu.simulate(pendulum(), np.zeros((2, 1)), np.zeros((2, 1)), 0.01)
    for way in (runs.to_xarray, lambda: runs.save(tmp_path / "runs.nc"), lambda: runs.save(tmp_path / "runs.npz")):
        with pytest.raises(setsu.InputError, match=r"recording\[k\]"):
            way()


def test_inverse_dynamics_of_an_open_loop_is_refused() -> None:
    m = four_bar()
    with pytest.raises(setsu.InputError, match="constrained_inverse_dynamics: q does not satisfy"):
        setsu.constrained_inverse_dynamics(m, np.full(3, 0.3), np.zeros(3), np.zeros(3))


def test_elements_of_a_builder() -> None:
    b = setsu.MechanismBuilder("arm").add_body("a", joint=setsu.Revolute((0, 0, 1), "j"), mass=1.0)
    with pytest.raises(setsu.InputError, match="expected an Actuator"):
        b.add_actuator("motor")  # type: ignore[arg-type]
    for lower, upper in ((np.nan, 1.0), (2.0, 1.0)):
        with pytest.raises(setsu.InputError, match="expected lower <= upper"):
            b.add_tendon("t", {"j": 1.0}, stiffness=1.0, lower=lower, upper=upper)


def test_derivatives_of_a_step_that_is_no_map_are_refused_in_words() -> None:
    m = setsu.sample_mechanisms.flyball_governor()
    sim = setsu.Simulator(m, step=1e-3, environment=setsu.Environment.floor(-99.0))
    q = setsu.close_loops(m, m.reference_configuration())
    sim.reset(q, setsu.consistent_velocity(m, q, 0.4 * np.random.default_rng(1).normal(size=m.nv)))
    with pytest.raises(setsu.InputError, match=r"Simulator\.derivatives"):
        sim.derivatives(np.zeros(m.nv))


def test_a_mechanism_that_cannot_move_is_refused_and_a_new_simulator_is_at_the_neutral_configuration() -> None:
    b = setsu.MechanismBuilder("rock")
    for rigid in (b.build(), b.add_body("stone", mass=1.0).build()):
        with pytest.raises(setsu.InputError, match="no joint that moves"):
            setsu.simulate(rigid, [], [], 0.1)
    m = setsu.sample_mechanisms.floating_box()
    assert np.array_equal(setsu.Simulator(m, 1e-3).q, m.neutral())
    assert np.array_equal(setsu.Simulator(m, 1e-3, count=2).q, [m.neutral()] * 2)
