"""Kutta's method with Nyström's stage positions: order conditions, oscillations, and what it is worth."""

import numpy as np
import pytest
from rounding import rounding

import setsu
from setsu.benchmarks.loops_problems import four_bar_problem, motion_of_states
from setsu.kernels.tableaus import RKN4 as TABLEAU
from setsu.kernels.tableaus import STAGE_POSITIONS

A, b, c, E = TABLEAU.A, TABLEAU.b, TABLEAU.c, TABLEAU.shifts


def amplification(hw: float, damping: float) -> float:
    """Spectral radius of a step for q'' = -w² q - 2 damping w q'."""
    slopes_of_q, slopes_of_v = np.zeros(4), np.zeros(4)
    for i in range(4):
        for slopes, q, v in ((slopes_of_q, 1.0, 0.0), (slopes_of_v, c[i], 1.0)):
            slopes[i] = -(hw**2) * (q + STAGE_POSITIONS[i] @ slopes) - 2.0 * damping * hw * (v + A[i] @ slopes)
    step = np.array([[1.0, 1.0], [0.0, 1.0]])
    step += np.array([b * (1.0 - c), b]) @ np.stack([slopes_of_q, slopes_of_v], axis=1)
    return float(np.abs(np.linalg.eigvals(step)).max())


def test_shifts_meet_the_conditions_of_order_four():
    e = E.sum(axis=1)
    for weights, terms in ((b, e), (b * c, e), (b @ A, e), (b @ E, c)):
        assert abs(weights @ terms) <= rounding([np.abs(weights) @ np.abs(E).sum(axis=1)], c=4.0)


def test_stage_positions_are_right_to_second_order():
    np.testing.assert_allclose(STAGE_POSITIONS.sum(axis=1), c**2 / 2.0, atol=1e-16)


@pytest.mark.parametrize(("damping", "limit"), [(0.0, 2.76), (0.1, 2.9), (0.5, 2.3), (1.0, 2.2)])
def test_no_oscillation_grows_below_the_limit(damping, limit):
    for hw in np.linspace(0.01, limit, 400):
        assert amplification(hw, damping) <= 1.0 + 1e-12


def test_four_bars_stay_within_six_tenths_of_a_micrometre_for_ten_seconds():
    problem = four_bar_problem(2)
    m = problem.mechanism
    exact, _ = problem.reference(10.0)
    rec = setsu.simulate(m, m.neutral(), problem.velocity, 10.0, 0.01, integrator="rkn4")
    points = motion_of_states(m, problem.points, rec.q, rec.v, 1000, 1.0).points
    assert np.linalg.norm(points - exact, axis=-1).max() < 6e-7  # not rounding: error of the method at this step


def test_rk4_is_the_classical_method():
    """A pendulum with damping, and Kutta's four stages written out."""
    m, h, tau = setsu.sample_mechanisms.pendulum(damping=0.3), 0.05, np.array([0.7])
    run = setsu.simulate(m, [1.0], [0.4], 1.0, h, torque=tau, integrator="rk4")
    q, v = np.array([1.0]), np.array([0.4])
    for _ in range(20):
        k = []
        for factor in (0.0, 0.5, 0.5, 1.0):
            dq, dv = k[-1] if k else (np.zeros(1), np.zeros(1))
            at, speed = q + factor * h * dq, v + factor * h * dv
            k.append((speed, setsu.forward_dynamics(m, at, speed, tau)))
        weights = np.array([1, 2, 2, 1]) / 6.0
        q = q + h * sum(w * part[0] for w, part in zip(weights, k, strict=True))
        v = v + h * sum(w * part[1] for w, part in zip(weights, k, strict=True))
    np.testing.assert_allclose(run.q[-1], q, rtol=0, atol=1e-14)
