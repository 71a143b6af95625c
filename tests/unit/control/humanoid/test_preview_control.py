"""Preview control: its Riccati equation against another solver, its motion against the pendulum's own equation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from setsu.control.humanoid import PreviewController
from setsu.control.humanoid.preview_control import solve_riccati
from setsu.errors import InputError


@pytest.mark.parametrize("step", [0.001, 0.005])
@pytest.mark.parametrize("weight", [1e-6, 1e-9])
def test_the_riccati_solution_is_that_of_scipy(step: float, weight: float) -> None:
    A, B, C = PreviewController(0.225, step, jerk_weight=weight).matrices
    R = np.array([[weight]])
    ours, other = solve_riccati(A, B, C.T @ C, R), scipy.linalg.solve_discrete_are(A, B, C.T @ C, R)
    assert np.abs(ours - other).max() <= 1e-10 * np.abs(other).max()


@pytest.mark.parametrize("seed", range(5))
def test_random_systems_satisfy_the_riccati_equation_and_are_stable(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    Q, R = np.eye(4), np.eye(2)
    P = solve_riccati(A, B, Q, R)
    S = R + B.T @ P @ B
    residual = A.T @ P @ A - A.T @ P @ B @ np.linalg.solve(S, B.T @ P @ A) + Q - P
    assert np.abs(residual).max() <= 1e-11 * np.abs(P).max()
    assert np.abs(np.linalg.eigvals(A - B @ np.linalg.solve(S, B.T @ P @ A))).max() < 1.0


def test_a_state_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(InputError, match="stabilisable"):
        solve_riccati(np.diag([2.0, 0.5]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))


def test_the_zero_moment_point_obeys_the_pendulum_and_follows_a_step_known_ahead() -> None:
    """p = c - (z/g) c''; a step in the plan is met half-way at the instant it comes, and fully soon after."""
    plan = np.where(np.arange(4000) < 2000, 0.0, 0.05)[:, None]
    motion = PreviewController(0.225, jerk_weight=1e-9).follow(plan)
    assert np.allclose(motion.zmp, motion.position - 0.225 / 9.81 * motion.acceleration, atol=1e-15)
    assert np.abs(motion.zmp - plan)[2050:].max() < 1e-3
    assert np.abs(motion.zmp - plan)[:1950].max() < 1e-3
    # The centre of mass starts before the foot it goes to is loaded.
    assert motion.position[2000, 0] > 0.02


def test_position_velocity_and_acceleration_belong_together() -> None:
    rng = np.random.default_rng(3)
    plan = np.cumsum(rng.normal(size=(500, 2)), axis=0) * 1e-3
    controller = PreviewController(0.3, 0.005, jerk_weight=1e-6)
    motion = controller.follow(plan)
    h, jerk = 0.005, np.diff(motion.acceleration, axis=0) / 0.005
    moved = h * motion.velocity[:-1] + h**2 / 2 * motion.acceleration[:-1] + h**3 / 6 * jerk
    assert np.allclose(np.diff(motion.position, axis=0), moved, atol=1e-15)


def test_both_axes_are_followed_alike_and_plans_add_up() -> None:
    rng = np.random.default_rng(4)
    one, two = np.cumsum(rng.normal(size=(2, 300, 1)), axis=1) * 1e-3
    controller = PreviewController(0.225, 0.005)
    both = controller.follow(np.hstack([one, two])).position
    assert np.allclose(both, np.hstack([controller.follow(p).position for p in (one, two)]), atol=1e-14)
    assert np.allclose(controller.follow(one + two).position, both.sum(axis=1, keepdims=True), atol=1e-13)


@pytest.mark.parametrize("bad", [{"height": 0.0}, {"height": 0.2, "step": -1.0}, {"height": float("nan")}])
def test_bad_settings_are_refused(bad: dict) -> None:
    with pytest.raises(InputError, match="PreviewController"):
        PreviewController(**bad)


def test_plans_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="finite"):
        PreviewController(0.2).follow(np.full((10, 2), np.nan))
