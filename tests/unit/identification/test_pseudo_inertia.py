"""Pseudo-inertias: those of the definition; the consistent parameters are possible, and the minimum that they claim."""

import numpy as np
import pytest

import setsu
from setsu.identification.pseudo_inertia import nearest_consistent, possible_prior
from setsu.sample_mechanisms import puma560, random_tree


def test_pseudo_inertia_of_points_is_the_sum_of_their_outer_products() -> None:
    """P = Σ m_k (x_k, 1)(x_k, 1)ᵀ by definition."""
    rng = np.random.default_rng(0)
    x, mass = rng.standard_normal((7, 3)), rng.uniform(0.1, 2.0, 7)
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(mass, x, strict=True))
    ten = [mass.sum(), *(mass @ x), *(inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))]
    homogeneous = np.column_stack([x, np.ones(7)])
    np.testing.assert_allclose(setsu.pseudo_inertia(np.array(ten))[0], homogeneous.T * mass @ homogeneous, atol=1e-12)


def test_prior_becomes_possible_and_possible_bodies_stay() -> None:
    good = setsu.inertial_parameters(random_tree(4, n_bodies=4))
    P = setsu.pseudo_inertia(good)
    assert np.linalg.eigvalsh(P).min() > 0
    np.testing.assert_allclose(possible_prior(good), good, atol=1e-3 * np.abs(good).max())
    bad = np.concatenate([good[:10], np.zeros(10), [1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.5]])
    assert np.linalg.eigvalsh(setsu.pseudo_inertia(possible_prior(bad))).min() > 0


def problem(seed: int, spread: float) -> tuple:
    """Base parameters of a PUMA with bodies off the prior's, in numbers that no body need have."""
    m = puma560()
    rng = np.random.default_rng(seed)
    prior = possible_prior(setsu.inertial_parameters(m))
    base = setsu.minimum_parameters(m, exact=False)
    truth = prior * rng.uniform(1 - spread, 1 + spread, len(prior))
    beta = base.matrix @ truth
    std = 0.01 * np.abs(beta) + 1e-4
    return base.matrix, beta, np.diag(std**2), prior


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [0.1, 0.6, 1.5])
def test_result_is_possible_and_no_neighbour_is_better(seed: int, spread: float) -> None:
    K, beta, C, prior = problem(seed, spread)
    found = nearest_consistent(K, beta, C, prior, np.zeros(0, dtype=bool), 1.0)
    P0 = setsu.pseudo_inertia(prior)

    def value(theta: np.ndarray) -> float:
        """The function as it is defined, with determinants instead of factors."""
        P = setsu.pseudo_inertia(theta)
        if np.linalg.eigvalsh(P).min() <= 0:
            return np.inf
        rest = (K @ theta - beta) / np.sqrt(np.diag(C) + (1e-7 * (np.abs(K) @ np.abs(prior) + np.abs(beta))) ** 2)
        divergence = np.trace(np.linalg.solve(P0, P), axis1=1, axis2=2) - np.log(np.linalg.det(P))
        return 0.5 * rest @ rest + divergence.sum()

    assert np.linalg.eigvalsh(setsu.pseudo_inertia(found.parameters)).min() > 0
    best = value(found.parameters)
    rng = np.random.default_rng(100 + seed)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            other = found.parameters + size * (np.abs(found.parameters) + 1e-3) * rng.standard_normal(len(prior))
            assert value(other) >= best - 1e-9 * max(1.0, abs(best))
    assert best <= value(prior)


def test_exact_data_of_possible_bodies_are_met_far_below_their_standard_deviation() -> None:
    m = puma560()
    prior = possible_prior(setsu.inertial_parameters(m))
    base = setsu.minimum_parameters(m, exact=False)
    P = setsu.pseudo_inertia(prior)
    A = np.eye(4) + 0.05 * np.random.default_rng(0).standard_normal((6, 4, 4))
    truth = [
        [p[3, 3], *p[:3, 3], *((np.trace(p[:3, :3]) * np.eye(3) - p[:3, :3])[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]])]
        for p in A @ P @ np.swapaxes(A, 1, 2)
    ]
    beta = base.matrix @ np.ravel(truth)
    for precision in (1e-3, 1e-6, 1e-12):
        C = np.diag((precision * np.abs(beta) + 1e-12) ** 2)
        found = nearest_consistent(base.matrix, beta, C, prior, np.zeros(0, dtype=bool), 1.0)
        assert found.deviation < 0.1
        assert np.linalg.eigvalsh(setsu.pseudo_inertia(found.parameters)).min() > 0


def test_sign_bound_values_stay_positive() -> None:
    K, beta, C, prior = problem(0, 0.1)
    K = np.block([[K, np.zeros((len(K), 2))], [np.zeros((2, K.shape[1])), np.eye(2)]])
    C = np.diag([*np.diag(C), 1e-4, 1e-4])
    found = nearest_consistent(K, np.array([*beta, -0.05, 0.3]), C, np.array([*prior, 0.0, 0.2]), np.ones(2, bool), 1.0)
    assert 0.0 < found.parameters[-2] < 0.01
    assert found.parameters[-1] == pytest.approx(0.3, abs=1e-3)
