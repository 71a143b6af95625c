"""The linear algebra of Radau's method: eigenvectors of its matrix, factors of its two systems."""

from __future__ import annotations

import numpy as np
import pytest
from rounding import assert_law

from setsu.native.control_flow import jit
from setsu.simulation import implicit
from setsu.simulation.implicit import make_implicit

GAMMA, ROOT = implicit._GAMMA, implicit._ALPHA + 1j * implicit._BETA


@jit
def _solved(b, h, without):
    found = implicit._factor(b, h, without)
    implicit._solve(b)
    return found


def test_eigenvectors_take_its_matrix_apart() -> None:
    b = make_implicit(1)
    blocks = np.array([[GAMMA, 0, 0], [0, ROOT.real, -ROOT.imag], [0, ROOT.imag, ROOT.real]])
    assert_law(b.T_inverse @ b.T, np.eye(3), [np.abs(b.T_inverse) @ np.abs(b.T)], 3.0)
    np.testing.assert_allclose(b.T_inverse @ np.linalg.inv(b.A) @ b.T, blocks, atol=1e-13)


@pytest.mark.parametrize("without", [0, 1])
def test_both_systems_are_solved_with_rows_exchanged(without: int) -> None:
    """J far larger than 1/h off its diagonal: almost every pivot comes from another row."""
    rng = np.random.default_rng(8)
    b, h = make_implicit(6), 0.5
    b.J[:] = 100.0 * rng.standard_normal(b.J.shape)
    np.fill_diagonal(b.J, 0.0)
    rhs = rng.standard_normal(b.rhs.shape)
    b.rhs[:] = rhs
    assert _solved(b, h, without)
    J = b.J * (1 - without)
    real = np.linalg.solve(GAMMA / h * np.eye(12) - J, rhs[0])
    pair = np.linalg.solve(ROOT / h * np.eye(12) - J, rhs[1] + 1j * rhs[2])
    largest = 1e-13 * np.linalg.cond(GAMMA / h * np.eye(12) - J)
    np.testing.assert_allclose(b.rhs, [real, pair.real, pair.imag], atol=largest * np.abs(b.rhs).max())
    assert without or (b.pivot[0] != np.arange(12)).any()
