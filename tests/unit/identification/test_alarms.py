"""Logs that cannot be right raise their alarm; clean ones raise none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from unit.identification.corrupted_logs import (
    DELAY,
    FAULTS,
    ROBOTS,
    alarms,
    clean_log,
    corrupted,
    covered,
    found_alarms,
    robot,
    stribeck_values,
)

import setsu
from setsu.identification import KINDS

pytestmark = pytest.mark.thin(2)

FAST = ("planar arm", "PUMA 560")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", FAST[:1])
def test_fault_raises_its_alarm(fault: str, name: str) -> None:
    fit = alarms(fault, name, 0)
    found = {alarm.kind: alarm for alarm in fit.alarms}
    assert FAULTS[fault] <= set(found), fit.alarms
    assert set(found) <= set(KINDS)
    assert all(alarm.message and alarm.evidence for alarm in fit.alarms)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("fault", ["none", "no velocities"])
def test_clean_logs_raise_none(fault: str, name: str) -> None:
    assert alarms(fault, name, 0).alarms == ()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ROBOTS)
def test_clean_logs_of_five_robots_raise_none(name: str) -> None:
    for seed in range(5):
        for fault in ("none", "no velocities"):
            assert alarms(fault, name, seed).alarms == ()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ROBOTS)
def test_faults_of_five_robots(name: str) -> None:
    for fault, kinds in FAULTS.items():
        assert kinds <= set(found_alarms(fault, name, 0).messages), fault


def test_delay_and_stribeck_are_found_when_asked_for() -> None:
    """The alarms vanish, and what made them is identified within its own standard deviations."""
    name = "planar arm"
    truth, log = clean_log(name, 1)
    nominal, motion = robot(name)
    t, q, tau, v = corrupted("8 ms delay + Stribeck friction", name, truth, log)
    fit = setsu.identify(nominal, t, q, tau, v, friction="coulomb+viscous+stribeck", delay=True)
    assert fit.alarms == ()
    values = np.concatenate([*stribeck_values(truth, motion), [DELAY]])
    assert (np.abs(fit.further.values - values) < 4.0 * fit.further.std).all()


@pytest.mark.nightly
@pytest.mark.slow
def test_intervals_cover_with_delay_and_stribeck_modelled() -> None:
    """95 % intervals hold at least 90 % of the true parameters, delay and Stribeck's among them (eight logs)."""
    runs = [covered("planar arm", seed) for seed in range(8)]
    assert sum(inside for inside, _, _ in runs) >= 0.9 * sum(total for _, total, _ in runs)


def test_accepted_alarms_become_notes() -> None:
    name = "planar arm"
    truth, log = clean_log(name, 0)
    t, q, tau, v = corrupted("8 ms delay", name, truth, log)
    with pytest.warns(setsu.ModelWarning, match="delay"):
        setsu.identify(robot(name)[0], t, q, tau, v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = setsu.identify(robot(name)[0], t, q, tau, v, accept=["delay"])
    assert fit.alarms == ()
    assert [note.kind for note in fit.notes] == ["delay"]
    with pytest.raises(setsu.InputError, match="unknown alarm"):
        setsu.identify(robot(name)[0], t, q, tau, v, accept=["delays"])


@pytest.mark.filterwarnings("ignore::setsu.ModelWarning")
@pytest.mark.parametrize("fault", ["motor side of a gear", "constant"])
def test_torque_that_the_motion_does_not_explain_raises_an_alarm(fault: str) -> None:
    m = setsu.sample_mechanisms.planar_arm(3)
    motion = setsu.excitation_trajectory(m, duration=4.0, trials=5)
    tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a)
    tau = tau * [1.0, 1.0, 50.0] if fault == "motor side of a gear" else np.ones_like(tau)
    tau += 1e-3 * np.abs(tau).max() * np.random.default_rng(0).standard_normal(tau.shape)
    fit = setsu.identify(m, motion.time, motion.q, tau)
    assert fit.r2.min() < 0.0
    assert "unexplained" in {alarm.kind for alarm in fit.alarms}


def test_standing_still_says_so() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    time = np.linspace(0, 5, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(setsu.InputError, match="stands still"):
            setsu.identify(m, time, np.full((500, 2), 0.3), np.ones((500, 2)))


def test_huber_loss_is_not_moved_by_outliers() -> None:
    name = "planar arm"
    truth, log = clean_log(name, 0)
    t, q, tau, v = corrupted("ten outliers", name, truth, log)
    nominal = robot(name)[0]
    joint_values = np.concatenate([truth.armature, truth.damping, truth.coulomb])
    deviations = {}
    for loss in ("squares", "huber"):
        fit = setsu.identify(nominal, t, q, tau, v, loss=loss, accept=["outliers"])
        true = fit.model.matrix @ np.concatenate([setsu.inertial_parameters(truth), joint_values])
        clean = setsu.identify(nominal, *log[:3], log[3])
        deviations[loss] = np.sqrt(np.mean(((fit.parameters - true) / clean.std) ** 2))
    assert deviations["huber"] < deviations["squares"]
