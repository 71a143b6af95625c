"""Linkages that pass change points, where rows of their loops fade: energy and motion stay what they were."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.benchmarks.loops_problems import SAMPLING, four_bar_problem, motion_of_states


@pytest.mark.parametrize("integrator", ["rk4", "rk8"])
@pytest.mark.parametrize("stretch", [0.0, 0.078, 0.13])
def test_energy_stays_wherever_in_a_step_the_change_point_is(integrator: str, stretch: float) -> None:
    """Four four-bars pass one some five times in 6 s, each time in another part of a step."""
    problem = four_bar_problem(4)
    m = problem.mechanism
    step = 1e-3 * (1.0 + stretch)
    r = setsu.simulate(m, m.neutral(), problem.velocity, 6.0, step, integrator=integrator, record=("q", "v"))
    energy = setsu.kinetic_energy(m, r.q, r.v) + setsu.potential_energy(m, r.q)
    # 12.3 J in one step before rows that fade were left alone.
    assert np.abs(energy - energy[0]).max() < 1e-8  # not rounding: error of the method at this step


def test_implicit_steps_pass_the_change_point_of_ten_loops() -> None:
    """Rounding that the projection takes away is no reason to call the equations of a step unsolved."""
    problem = four_bar_problem(10)
    m = problem.mechanism
    points, _ = problem.reference(1.0)
    r = setsu.simulate(m, m.neutral(), problem.velocity, 1.0, 1e-3, integrator="radau", record_every=10)
    motion = motion_of_states(m, problem.points, r.q, r.v, 0, 0.0)
    assert np.abs(motion.points - points).max() < 1e-8
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-7


def test_adaptive_steps_are_not_shortened_by_rounding_beside_the_constraints() -> None:
    """Beside the change point, at 0.71 s, rows of many loops fill accelerations with it: one step took minutes."""
    problem = four_bar_problem(40)
    m = problem.mechanism
    points, _ = problem.reference(1.0)
    r = setsu.simulate(m, m.neutral(), problem.velocity, 1.0, SAMPLING, integrator="adaptive", tolerance=1e-12)
    motion = motion_of_states(m, problem.points, r.q, r.v, 0, 0.0)
    assert np.abs(motion.points - points).max() < 1e-8
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-7


@pytest.mark.nightly
@pytest.mark.parametrize("integrator", ["rk4", "rk8", "adaptive"])
def test_forty_four_bars_for_twenty_seconds(integrator: str) -> None:
    problem = four_bar_problem(40)
    m = problem.mechanism
    points, _ = problem.reference(20.0)
    r = setsu.simulate(
        m, m.neutral(), problem.velocity, 20.0, 1e-3, integrator=integrator, tolerance=1e-12, record=("q", "v")
    )
    every = round(SAMPLING / 1e-3)
    motion = motion_of_states(m, problem.points, r.q[::every], r.v[::every], 0, 0.0)
    assert np.abs(motion.points - points).max() < 1e-8
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-7
