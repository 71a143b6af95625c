"""What README and docs promise with strong words (always, never, exact, bit for bit), run.

Promises about bits are in tests/determinism, about loops in tests/identities; here is what no other test states.
"""

from __future__ import annotations

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
