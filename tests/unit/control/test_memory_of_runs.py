"""What laws remember ends with a reset, and goes on from run to run, in single worlds and in batches alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import setsu

M = setsu.sample_mechanisms.planar_arm(2)
Q, V = np.zeros(2), np.zeros(2)
BATCH = {"count": 2}


def holding() -> setsu.control.JointFeedback:
    return setsu.control.JointFeedback(M, [0.5, 0.0], 10.0, 1.0, 20.0)


LAWS: dict[str, Callable[[], Any]] = {
    "integral": holding,
    "sum": lambda: holding() + (lambda t, q, v: np.zeros(2)),
    "limited": lambda: holding().limited(4.0),
    "sampled": lambda: holding().sampled(0.01, delay=0.003),
    "sampled in Python": lambda: holding().sampled(0.01, delay=0.003) + (lambda t, q, v: np.zeros(2)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("options", [{}, BATCH], ids=["single", "batch"])
def test_a_reset_begins_anew_at_any_time(name: str, options: dict[str, Any]) -> None:
    alone = setsu.simulate(M, Q, V, 0.1, 1e-3, torque=LAWS[name]())
    sim = setsu.Simulator(M, 1e-3, torque=LAWS[name](), **options)
    q, v = (np.stack([Q, Q]), np.stack([V, V])) if options else (Q, V)
    sim.reset(q, v)
    sim.run(0.1)
    for later in (0.5, 0.6):  # the latter is the time it has come to
        sim.reset(q, v, time=later)
        rec = sim.run(0.1)
        assert np.abs(rec.q - alone.q).max() < 1e-8


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("options", [{}, BATCH], ids=["single", "batch"])
def test_a_law_given_to_runs_goes_on(name: str, options: dict[str, Any]) -> None:
    alone, law = setsu.simulate(M, Q, V, 0.1, 1e-3, torque=LAWS[name]()), LAWS[name]()
    sim = setsu.Simulator(M, 1e-3, **options)
    sim.reset(*((np.stack([Q, Q]), np.stack([V, V])) if options else (Q, V)))
    sim.run(0.05, torque=law)
    rec = sim.run(0.05, torque=law)
    assert np.array_equal(rec.q[..., -1, :], np.broadcast_to(alone.q[-1], rec.q[..., -1, :].shape))


def test_sums_and_limits_of_laws_refuse_complex_torques() -> None:
    def law(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return np.array([1.0, 1e-3j])

    for made in (holding() + law, (holding() + law).limited(1.0), setsu.control.Sampled(law, 0.01)):
        with pytest.raises(setsu.InputError, match="torque function law at t = 0 s: expected numbers"):
            setsu.simulate(M, Q, V, 0.01, 1e-3, torque=made)


@pytest.mark.parametrize("name", ["integral", "sum", "sampled"])
@pytest.mark.parametrize("options", [{}, BATCH], ids=["single", "batch"])
def test_a_reset_takes_the_gains_that_a_law_has_now(name: str, options: dict[str, Any]) -> None:
    def taken(gain: float) -> tuple[setsu.control.JointFeedback, Any]:
        hold = setsu.control.JointFeedback(M, [0.5, 0.0], gain, 1.0)
        return hold, {"integral": hold, "sum": hold + (lambda t, q, v: np.zeros(2)), "sampled": hold.sampled(0.01)}[
            name
        ]

    q, v = (np.stack([Q, Q]), np.stack([V, V])) if options else (Q, V)
    hold, law = taken(10.0)
    sim, other = (
        setsu.Simulator(M, 1e-3, torque=law, **options),
        setsu.Simulator(M, 1e-3, torque=taken(30.0)[1], **options),
    )
    sim.reset(q, v)
    sim.step(steps=20)
    hold.position_gain = np.array([30.0, 30.0])
    for each in (sim, other):
        each.reset(q, v)
        each.step(steps=20)
    assert np.array_equal(sim.q, other.q)
