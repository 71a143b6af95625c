"""Coefficients of the integrators satisfy the conditions of their order that quadrature and linear problems show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rounding import assert_law

from setsu.kernels.tableaus import DP8, REAL_STABILITY, RK4, RK8, RKN4, Tableau
from setsu.simulation.implicit import make_implicit

RADAU = make_implicit(1)

TABLEAUS = {
    "rk4": RK4,
    "rkn4": RKN4,
    "rk8": RK8,
    "adaptive": DP8,
    "radau": Tableau(RADAU.A, RADAU.A[2], RADAU.c, 5),
}


@pytest.mark.parametrize("name", TABLEAUS)
def test_order_conditions(name: str) -> None:
    """Σ b c^(k-1) = 1/k, row sums of A are c, and b A^(k-1) 1 = 1/k!, for k up to the order."""
    t = TABLEAUS[name]
    assert np.allclose(t.A.sum(axis=1), t.c, atol=2e-15)
    for k in range(1, t.order + 1):
        assert_law(t.b @ t.c ** (k - 1), np.array(1 / k), [np.abs(t.b) @ np.abs(t.c) ** (k - 1)], c=len(t.c))
        power, size = np.linalg.matrix_power(t.A, k - 1), np.linalg.matrix_power(np.abs(t.A), k - 1)
        rows = np.ones(len(t.c))
        assert_law(t.b @ power @ rows, np.array(1 / math.factorial(k)), [np.abs(t.b) @ size @ rows], c=len(t.c) * k)


@pytest.mark.parametrize(("name", "limit"), [(name, REAL_STABILITY[name]) for name in ("rk4", "rk8")])
def test_real_stability_limit(name: str, limit: float) -> None:
    """The growth 1 + Σ b A^(k-1) 1 z^k of y' = λ y stays within one up to the limit told and not beyond."""
    t = TABLEAUS[name]
    powers = [t.b @ np.linalg.matrix_power(t.A, k) @ np.ones(len(t.c)) for k in range(len(t.c))]
    growth = lambda z: abs(1 + sum(p * (-z) ** (k + 1) for k, p in enumerate(powers)))  # noqa: E731
    assert max(growth(z) for z in np.linspace(0.001, limit, 2000)) <= 1.0
    assert growth(limit + 0.005) > 1.0
