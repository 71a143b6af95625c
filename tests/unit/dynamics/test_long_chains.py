"""Forward dynamics by composite bodies on long chains, where its factors have no zeros to leave out."""

from __future__ import annotations

import numpy as np

import setsu
from setsu.kernels.forward_dynamics_composite import is_deep
from setsu.sample_mechanisms import chain, random_tree


def test_a_dense_solution_is_chosen_for_long_chains_only() -> None:
    deep = [is_deep(chain(n).tables.dof_parent.tobytes()) for n in (7, 30, 64, 256)]
    assert deep == [False, False, True, True]
    assert not is_deep(random_tree(0, n_bodies=60).tables.dof_parent.tobytes())


def test_it_equals_articulated_bodies_in_batches_and_with_wrenches() -> None:
    m = chain(80)
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-0.1, 0.1, (3, 4, m.nv))
    push = rng.standard_normal((4, m.n_bodies, 6))
    for external in (None, push):
        one = setsu.forward_dynamics(m, q, v, tau, external)
        other = setsu.forward_dynamics(m, q, v, tau, external, method="composite_body")
        kappa = np.linalg.cond(setsu.mass_matrix(m, q[0]))
        assert np.abs(one - other).max() <= 10.0 * kappa * 2.2e-16 * np.abs(one).max()
        np.testing.assert_array_equal(
            other[1],
            setsu.forward_dynamics(
                m, q[1], v[1], tau[1], None if external is None else external[1], method="composite_body"
            ),
        )
