"""Chains and trees of hundreds of links: scratch space, deep paths and rounding hold up."""

import numpy as np
import pytest
from identities.zoo import assert_law, times

import setsu
from setsu.sample_mechanisms import binary_tree, chain

LARGE = {"chain of 300": lambda: chain(300), "tree of 511": lambda: binary_tree(511)}


@pytest.fixture(scope="module", params=LARGE)
def large(request: pytest.FixtureRequest) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    m = LARGE[request.param]()
    rng = np.random.default_rng(0)
    q = np.array([m.random_configuration(rng) for _ in range(9)])
    return m, q, *rng.standard_normal((2, 9, m.nv))


def test_mass_matrix_and_bias_make_inverse_dynamics(large: tuple) -> None:
    m, q, v, a = large
    inertial, bias = times(setsu.mass_matrix(m, q), a), setsu.bias_torque(m, q, v)
    tau = setsu.inverse_dynamics(m, q, v, a)
    assert_law(inertial + bias, tau, [inertial, bias], c=10 * m.nv)
    assert_law(setsu.inverse_dynamics(m, q, v, a, formulation="world"), tau, [inertial, bias], c=10 * m.nv)


@pytest.mark.parametrize("method", ["articulated_body", "composite_body"])
def test_inverse_dynamics_undoes_forward_dynamics(large: tuple, method: str) -> None:
    """ID(FD(tau)) = tau relative to the terms that cancel: |M| |a| and the bias."""
    m, q, v, tau = large
    a = setsu.forward_dynamics(m, q, v, tau, method=method)
    bias = setsu.bias_torque(m, q, v)
    inertial = np.linalg.norm(setsu.mass_matrix(m, q), axis=(-2, -1)) * np.linalg.norm(a, axis=-1)
    assert_law(setsu.inverse_dynamics(m, q, v, a), tau, [tau, bias, inertial], c=10 * m.nv)


def test_a_row_alone_is_the_row_in_the_batch(large: tuple) -> None:
    m, q, v, a = large
    for function in (setsu.inverse_dynamics, setsu.forward_dynamics):
        together = function(m, q, v, a)
        for row in (0, 8):
            np.testing.assert_array_equal(function(m, q[row], v[row], a[row]), together[row])
