"""Exponential and logarithm of rotations and poses: inverse of each other, Jacobians by complex-free differences."""

from __future__ import annotations

import numpy as np
import pytest
from rounding import assert_law
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import setsu

ANGLES = [0.0, 1e-12, 1e-8, 1e-4, 0.1, 0.999, 1.001, 2.0, 3.0, np.pi - 1e-9, np.pi]


def _vectors(angle: float) -> np.ndarray:
    axes = np.random.default_rng(0).standard_normal((20, 3))
    return angle * axes / np.linalg.norm(axes, axis=1, keepdims=True)


def _screw(xi: np.ndarray) -> np.ndarray:
    K = np.zeros((4, 4))
    u, (x, y, z) = xi[:3], xi[3:]
    K[:3] = [[0, -z, y, u[0]], [z, 0, -x, u[1]], [-y, x, 0, u[2]]]
    return K


@pytest.mark.parametrize("angle", ANGLES)
def test_against_scipy_and_inverse(angle: float) -> None:
    phi = _vectors(angle)
    R = setsu.rotation_exp(phi)
    assert np.abs(R - Rotation.from_rotvec(phi).as_matrix()).max() < 4e-16 * 4
    back = setsu.rotation_log(R)
    if angle < np.pi:
        # At θ the axis of a rotation is known to ε, the angle near pi to ε too: the quaternion carries both.
        assert np.abs(back - phi).max() < 1e-15 * max(1.0, angle) * 4
    assert_law(setsu.rotation_exp(back), R, [np.ones(1), phi], c=10.0)
    xi = np.concatenate([np.random.default_rng(1).standard_normal((20, 3)), phi], axis=1)
    T = setsu.pose_exp(xi)
    # A position is at most as far as its path is long; expm squares its matrix again and again.
    assert_law(T, np.array([expm(_screw(row)) for row in xi]), [np.ones(1), xi], c=20.0)
    assert_law(setsu.pose_exp(setsu.pose_log(T)), T, [np.ones(1), xi], c=20.0)


@pytest.mark.parametrize("angle", ANGLES[:-2])
def test_jacobians_are_first_order(angle: float) -> None:
    """exp(x + δ) = exp(x) exp(J δ) + O(δ²): central differences of log(exp(x)⁻¹ exp(x + δ)), fourth order."""
    phi = _vectors(angle)
    xi = np.concatenate([np.random.default_rng(1).standard_normal((20, 3)), phi], axis=1)
    h = 1e-3
    for x, exp, log, jacobian in (
        (phi, setsu.rotation_exp, setsu.rotation_log, setsu.rotation_exp_jacobian),
        (xi, setsu.pose_exp, setsu.pose_log, setsu.pose_exp_jacobian),
    ):
        start, columns = np.linalg.inv(exp(x)), []
        for unit in np.eye(x.shape[1]):
            steps = [log(start @ exp(x + k * h * unit)) for k in (-2, -1, 1, 2)]
            columns.append((steps[0] - 8.0 * steps[1] + 8.0 * steps[2] - steps[3]) / (12.0 * h))
        assert np.abs(np.stack(columns, axis=-1) - jacobian(x)).max() < 1e-10
    assert (
        np.abs(
            setsu.rotation_log_jacobian(setsu.rotation_exp(phi)) @ setsu.rotation_exp_jacobian(phi) - np.eye(3)
        ).max()
        < 1e-13
    )
    assert np.abs(setsu.pose_log_jacobian(setsu.pose_exp(xi)) @ setsu.pose_exp_jacobian(xi) - np.eye(6)).max() < 1e-13


def test_bad_input() -> None:
    for call, message in (
        (lambda: setsu.rotation_exp([1.0, 2.0]), "expected shape"),
        (lambda: setsu.rotation_log(2.0 * np.eye(3)), "expected rotations"),
        (lambda: setsu.rotation_log(-np.eye(3)), "expected rotations"),
        (lambda: setsu.pose_exp([0, 0, 0, 0, 0, np.nan]), "expected finite"),
        (lambda: setsu.pose_log("x"), "expected numbers"),
    ):
        with pytest.raises(setsu.InputError, match=message):
            call()
