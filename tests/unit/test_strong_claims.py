"""What README and docs promise with strong words (always, never, exact, bit for bit), run.

Promises about bits are in tests/determinism, about loops in tests/identities; here is what no other test states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import setsu
from setsu import sample_mechanisms

RAGGED = [[1.0, 2.0], [3.0]]
BAD = [np.inf, np.nan, "abc", RAGGED, 1j, None]


def _linkage_state() -> tuple[setsu.Mechanism, np.ndarray]:
    m = sample_mechanisms.four_bar()
    return m, np.array([setsu.close_loops(m, [x, 0.0, 0.0], fixed=["crank"]) for x in (0.1, 0.3, 0.5)])


def test_functions_of_states_take_batches_and_give_the_bits_of_single_calls() -> None:
    m, q = _linkage_state()
    v = np.ones((3, m.nv))
    kept = setsu.consistent_velocity(m, q, v, fixed=["crank"])
    assert kept.shape == (3, m.nv)
    for k in range(3):
        assert np.array_equal(kept[k], setsu.consistent_velocity(m, q[k], v[k], fixed=["crank"]))
    a = setsu.constrained_dynamics(m, q, kept, v).acceleration
    for k in range(3):
        assert np.array_equal(a[k], setsu.constrained_dynamics(m, q[k], kept[k], v[k]).acceleration)
    for function in (setsu.mass_matrix, setsu.gravity_torque, setsu.body_poses, setsu.center_of_mass, setsu.loop_error):
        many = function(m, q)
        assert all(np.array_equal(many[k], function(m, q[k])) for k in range(3)), function


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_wrong_input_is_an_input_error(bad: object) -> None:
    m = sample_mechanisms.pendulum()
    calls = [
        lambda: setsu.inverse_dynamics(m, bad, [0.0], [0.0]),  # type: ignore[arg-type]
        lambda: setsu.mass_matrix(m, [bad]),  # type: ignore[list-item]
        lambda: setsu.simulate(m, [0.1], [bad], 0.1),  # type: ignore[list-item]
        lambda: setsu.pseudo_inertia(bad),  # type: ignore[arg-type]
        lambda: setsu.inertia_report(1.0, (0, 0, 0), [[bad] * 3] * 3),  # type: ignore[list-item]
        lambda: setsu.placement((bad, 0, 0)),  # type: ignore[arg-type]
        lambda: setsu.with_gravity(m, (0, 0, bad)),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(setsu.InputError):
            call()


NO_LIST = [3.5, print]


@pytest.mark.parametrize("bad", [*NO_LIST, [[1.0], [2.0, 3.0]]], ids=str)
def test_what_is_no_list_of_names_is_an_input_error(bad: Any) -> None:
    arm, linkage = sample_mechanisms.planar_arm(2), sample_mechanisms.four_bar()
    rest, closed, three = np.zeros(2), setsu.close_loops(linkage, linkage.neutral()), np.zeros(3)
    time = np.linspace(0.0, 1.0, 20)
    calls = [
        lambda: setsu.simulate(bad, rest, rest, 0.01),
        lambda: setsu.simulate(arm, rest, rest, 0.01, environment=setsu.Environment(), exclude=bad),
        lambda: setsu.simulate(arm, rest, rest, 0.01, record=bad),
        lambda: setsu.simulate(arm, rest, rest, 0.01, events=bad),
        lambda: setsu.simulate(arm, rest, rest, 0.01, contacts=bad),
        lambda: setsu.constrained_inverse_dynamics(linkage, closed, three, three, actuated=bad),
        lambda: setsu.nodal_inverse_dynamics(linkage, time, np.tile(closed, (20, 1)), actuated=bad),
        lambda: setsu.close_loops(linkage, closed, fixed=bad),
        lambda: setsu.inverse_kinematics(arm, {"link2": np.zeros(3)}, fixed=bad),
        lambda: setsu.lock_joints(arm, bad),
        lambda: setsu.compile(arm, bad),
        lambda: setsu.Environment(bad),
        lambda: setsu.Shape(bad, (1.0,)),
        lambda: setsu.load(text="<robot/>", format=bad),
        lambda: setsu.add_coupling(arm, "cam", bad, polynomial=(0.0, 1.0, 2.0)),
        lambda: setsu.add_coupling(arm, "cam", ("joint1", "joint2"), polynomial=bad),
    ]
    for call in calls:
        with pytest.raises(setsu.InputError):
            call()


@pytest.mark.parametrize("bad", [-1, 0.5, np.nan, "abc", print, [0, "x"]], ids=str)
def test_what_is_no_seed_is_an_input_error(bad: Any) -> None:
    m = sample_mechanisms.pendulum()
    with pytest.raises(setsu.InputError, match="seed"):
        m.random_configuration(bad)
    with pytest.raises(setsu.InputError, match="seed"):
        setsu.excitation_trajectory(m, seed=bad)


def test_lists_of_several_lengths_are_no_states_and_no_rows() -> None:
    m = sample_mechanisms.pendulum()
    sim = setsu.Simulator(m, count=3)
    calls = [
        lambda: setsu.simulate(m, RAGGED, [0.0], 0.1),  # type: ignore[arg-type]
        lambda: sim.reset(np.zeros((2, 1)), np.zeros((2, 1)), rows=RAGGED),  # type: ignore[arg-type]
        lambda: sim.push("bob1", (1.0, 0.0, 0.0), rows=RAGGED),  # type: ignore[arg-type]
        lambda: setsu.member_length_matrix(m).transformation(RAGGED),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(setsu.InputError):
            call()


def test_what_is_no_path_and_numbers_beyond_all_floats_are_input_errors() -> None:
    m, z, big = setsu.sample_mechanisms.planar_arm(2), np.zeros(2), 10**400
    sim = setsu.Simulator(m, step=1e-3)
    sim.reset(z, z)
    calls: list[Callable[[], Any]] = [
        lambda: m.save(3),
        lambda: sim.save(3),
        lambda: sim.run(0.01).save(3),
        lambda: setsu.load(3),
        lambda: setsu.Recording.load(3),
        lambda: setsu.Simulator.load(3),
        lambda: setsu.generate(m, "gravity_torque").write(3),
        lambda: setsu.inverse_dynamics(m, [big, 0], z, z),
        lambda: setsu.constrained_dynamics(m, [big, 0], z, z),
        lambda: setsu.simulate(m, [big, 0], z, 0.01),
        lambda: setsu.simulate(m, z, z, big),
        lambda: setsu.integrate(m, z, z, big),
        lambda: setsu.placement((big, 0, 0)),
        lambda: setsu.Revolute((big, 0, 0)),
        lambda: setsu.inverse_kinematics(m, {"link2": [big, 0, 0]}),
        lambda: setsu.contact.solve(np.eye(3).tolist(), [big, 0, 0], 0.5),
    ]
    for call in calls:
        with pytest.raises(setsu.InputError):
            call()


@pytest.mark.parametrize("mass", [np.inf, np.nan])
def test_a_mass_that_is_no_number_is_refused(mass: float) -> None:
    with pytest.raises(setsu.InputError, match="mass: expected a finite number"):
        setsu.inertia_report(mass, (0, 0, 0), np.eye(3))


@pytest.mark.parametrize("count", [3, 11])
def test_parameters_come_ten_per_body(count: int) -> None:
    with pytest.raises(setsu.InputError, match="ten numbers per body"):
        setsu.pseudo_inertia(np.ones(count))


@pytest.mark.parametrize("idle", [{"bearing_radius": 0.1}, {"preload": 5.0}])
def test_settings_of_a_bearing_without_friction_are_reported(idle: dict[str, float]) -> None:
    with pytest.warns(setsu.ModelWarning, match="no effect without bearing_friction"):
        setsu.Revolute((0, 0, 1), "hinge", **idle)
