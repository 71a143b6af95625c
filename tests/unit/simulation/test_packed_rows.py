"""Large mechanisms keep rows by their paths, and take dense factors only close to a singular state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import setsu
from setsu.benchmarks.loops_problems import four_bar_problem
from setsu.constraints.system import constraint_system
from setsu.simulation import motion_space


def _run(monkeypatch: pytest.MonkeyPatch, packed: bool, duration: float, **more: Any) -> Any:
    monkeypatch.setattr(motion_space, "_PACKED_FROM", 0 if packed else 10**12)
    p = four_bar_problem(5)
    return setsu.simulate(p.mechanism, p.mechanism.neutral(), p.velocity, duration, 1e-3, integrator="rk4", **more)


def test_packed_rows_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    packed, whole = (_run(monkeypatch, way, 0.2) for way in (True, False))
    for name in ("q", "v", "acceleration", "loop_wrench", "energy", "constraint_error"):
        np.testing.assert_array_equal(getattr(packed, name), getattr(whole, name), err_msg=name)


def test_a_passage_through_a_change_point_takes_dense_factors_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # All rods lie on one line after 0.718 s: there sparse factors hand over.
    packed, whole = (_run(monkeypatch, way, 1.0) for way in (True, False))
    assert whole.constraint_error.max() < 1e-12
    np.testing.assert_allclose(packed.q, whole.q, atol=1e-9)
    np.testing.assert_allclose(packed.time, whole.time)


def test_dense_factors_that_would_be_too_large_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion_space, "_MOST_DENSE", 5)
    with pytest.raises(setsu.SimulationStopped, match=r"5 four-bars in a row comes close to a singular configuration"):
        _run(monkeypatch, True, 1.0)


def test_saved_states_go_between_worlds_before_and_after_dense_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion_space, "_PACKED_FROM", 0)
    p = four_bar_problem(5)
    worlds = [setsu.Simulator(p.mechanism, step=1e-3, integrator="rk4") for _ in range(2)]
    for sim in worlds:
        sim.reset(p.mechanism.neutral(), p.velocity)
    worlds[0].step(steps=100)
    early = worlds[0].save()
    worlds[0].step(steps=890)
    assert not worlds[0]._blocks[0].space.packed
    late = worlds[0].save()
    worlds[1].restore(late)
    np.testing.assert_array_equal(worlds[1].q, worlds[0].q)
    for sim in worlds:
        sim.step(steps=5)
    np.testing.assert_array_equal(worlds[1].q, worlds[0].q)
    worlds[1].restore(early)
    worlds[1].step(steps=890)
    worlds[0].restore(late)
    np.testing.assert_allclose(worlds[1].q, worlds[0].q, atol=1e-9)


def test_rates_of_rows_are_those_of_their_jacobian() -> None:
    rng = np.random.default_rng(3)
    for name in ("delta_robot", "stewart_platform", "jansen_leg", "parallelogram_arm"):
        m = getattr(setsu.sample_mechanisms, name)()
        system = constraint_system(m)
        q, v = m.random_configuration(1), rng.normal(size=m.nv)
        error, rates = system.errors_and_rates(q, v)
        rows = system.linearise(q, v)
        np.testing.assert_allclose(rates, rows.jacobian @ v, atol=1e-12 * np.abs(rates).max())
        np.testing.assert_array_equal(error, rows.error)
