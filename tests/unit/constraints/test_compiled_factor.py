"""Compiled factors of mass matrix and rows give what singular values give, redundant rows included."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.constraints.compiled_factor import acceleration, factor, factor_space, multipliers, nearest, solve_L
from setsu.constraints.held_motion import hold
from setsu.constraints.ranks import EXACT
from setsu.native.control_flow import jit
from setsu.native.workspace import Workspace


@jit
def _solve(F, M, k, force, gamma, a, lagrange, near):
    if not factor(F, M, k, k, 1e-9):
        return False
    solve_L(F, force)
    acceleration(F, force, gamma, a)
    multipliers(F, force, gamma, lagrange)
    nearest(F, gamma, near)
    return True


@pytest.mark.parametrize(
    ("nv", "rows", "redundant"), [(5, 3, 0), (7, 9, 4), (4, 6, 3), (6, 6, 1), (3, 5, 3), (3, 3, 0)]
)
def test_accelerations_and_least_norm_multipliers_equal_those_by_singular_values(nv, rows, redundant) -> None:
    rng = np.random.default_rng(10 * nv + rows)
    A = rng.normal(size=(nv, nv))
    M = A @ A.T + 0.1 * np.eye(nv)
    G = rng.normal(size=(rows - redundant, nv))
    G = np.concatenate([G, rng.normal(size=(redundant, rows - redundant)) @ G])[rng.permutation(rows)]
    gamma, force = -G @ rng.normal(size=nv), rng.normal(size=nv)
    space = factor_space(nv, rows)
    space.G[:] = G
    a, lagrange, near = np.zeros(nv), np.zeros(rows), np.zeros(nv)
    assert _solve(Workspace(space), M.copy(), rows, force.copy(), gamma, a, lagrange, near)
    # Both take rows of length one in the metric of M: so do the multipliers of least norm.
    held = hold(M, G, gamma, None, EXACT, setsu.sample_mechanisms.pendulum(), "test")
    y = held.solve_L(force)
    z = held.free_part(y[:, None])[:, 0] + held.forced_part
    assert space.size.tolist() == [rows, held.rank]
    np.testing.assert_allclose(a, held.acceleration(z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lagrange, held.multipliers(z - y), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(near, held.acceleration(held.least(gamma)), rtol=1e-10, atol=1e-12)
