"""Bad input is refused before work begins, by name; a run that stops keeps what it did."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

BOX = setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.1), 1.0)
SLIDING = setsu.SurfaceContact("box", (0, 0, 0), setsu.Plane((0, 0, 1), 0.05), friction=0.2, name="rub")
REST = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])


def _run(q: np.ndarray = REST, **more: object) -> setsu.Recording:
    return setsu.simulate(BOX, q, np.zeros(6), 0.05, 1e-3, **{"environment": setsu.Environment.floor(), **more})  # type: ignore[arg-type]


def test_materials_are_checked() -> None:
    with pytest.raises(setsu.InputError, match=r"Material static_friction: expected a number from 0 to inf, got -0\.1"):
        setsu.Material(static_friction=-0.1)
    with pytest.raises(setsu.InputError, match=r"kinetic_friction <= static_friction, got 0\.3 > 0\.2"):
        setsu.Material(static_friction=0.2, kinetic_friction=0.3)
    with pytest.raises(setsu.InputError, match=r"restitution: expected a number from 0 to 1, got 1\.5"):
        setsu.Material(restitution=1.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 0.1, 0.2), "expected a whole number, at least 1, got 0"),
        ((2, -0.1, 0.2), r"rise: expected a positive length in m, got -0\.1"),
        ((2, 0.1, float("nan")), "tread: expected a positive length in m, got nan"),
        ((2, 0.1, 0.2, "wide"), "width: expected a positive length in m, got 'wide'"),
        ((2, 0.1, 0.2, 1.0, (0.0, 0.0)), "stairs start"),
    ],
)
def test_stairs_are_checked(arguments: tuple, words: str) -> None:
    with pytest.raises(setsu.InputError, match=words):
        setsu.Environment.stairs(*arguments)


def test_a_start_inside_the_ground_names_point_and_polygon() -> None:
    with pytest.raises(setsu.InputError, match=r'contact point box 0 starts 0\.02 m inside polygon "floor"'):
        _run(REST - [0, 0, 0.02, 0, 0, 0, 0])


def test_a_start_in_the_middle_of_a_block_is_refused_and_one_below_a_table_is_not() -> None:
    floor = setsu.Environment.floor()
    block = setsu.Environment.box((4.0, 4.0, 2.0), (0.0, 0.0, 1.0), name="block")
    with pytest.raises(setsu.InputError, match=r'starts 0\.\d+ m inside polygon "block \+z"'):
        _run(np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 1.0]), environment=floor + block)
    top = setsu.Polygon([(-1, -1, 0.7), (1, -1, 0.7), (1, 1, 0.7), (-1, 1, 0.7)], "table top")
    for table in (setsu.Environment([top]), setsu.Environment.box((2.0, 2.0, 0.05), (0.0, 0.0, 0.7))):
        run = _run(environment=floor + table)
        np.testing.assert_allclose(
            run.contact_force[:, :, 2].sum(axis=1), 9.81, rtol=1e-6
        )  # not rounding: contacts are a little soft


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"environment": "floor"}, "expected an Environment"),
        ({"integrator": "rk8"}, "cannot step over impacts"),
        ({"contact_solver": "defualt"}, "unknown 'defualt'"),
        ({"baumgarte": 10.0}, "baumgarte cannot be combined with an environment: loops hold at the end of every step"),
        ({"events": [setsu.OpenLoop(0.01, "pin")]}, "unknown loop 'pin'"),
        ({"contacts": [SLIDING]}, 'contact "rub": with an environment expected bilateral=True and friction=0'),
        ({"torque": setsu.JointServo(1.0, 1.0, np.zeros(5))}, "expected shape"),
        ({"torque": setsu.JointServo(np.ones(6), 1.0, np.zeros(6))}, "expected zeros"),
    ],
)
def test_what_a_run_cannot_do_is_refused_by_name(more: dict, words: str) -> None:
    with pytest.raises(setsu.InputError, match=words):
        _run(**more)


def test_gains_of_a_servo_are_checked() -> None:
    with pytest.raises(setsu.InputError, match="kp"):
        setsu.JointServo(-1.0, 0.0, None)
    with pytest.raises(setsu.InputError, match="position"):
        setsu.JointServo(1.0, 0.0, lambda a, b: a)


def test_a_torque_that_becomes_nan_stops_the_run_which_keeps_its_states() -> None:
    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.full(6, np.nan if t > 0.0205 else 0.0)

    with pytest.raises(setsu.SimulationStopped, match=r"t = 0\.021 s") as caught:
        _run(torque=torque)
    kept = caught.value.recording
    assert len(kept.time) == 21
    assert kept.time[-1] == pytest.approx(0.020)
    np.testing.assert_allclose(
        kept.contact_force[:, :, 2].sum(axis=1), 9.81, rtol=1e-6
    )  # not rounding: contacts are a little soft
