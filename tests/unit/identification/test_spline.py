"""Regression splines: exact on polynomials, right derivatives on jittered stamps, blind to the direction of time."""

import numpy as np
import pytest

import setsu
from setsu.identification.spline import smooth


def jittered(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.linspace(0.0, 4.0, count) + rng.uniform(-0.3, 0.3, count) * 4.0 / (count - 1)


def test_polynomials_of_degree_five_are_reproduced_with_both_derivatives() -> None:
    rng = np.random.default_rng(0)
    time = jittered(200, rng)
    polynomials = [np.polynomial.Polynomial(rng.standard_normal(6)) for _ in range(3)]
    samples = np.stack([p(time) for p in polynomials], axis=1)
    fit = smooth(time, samples, knot_distance=0.5)
    for order, tolerance in ((0, 1e-9), (1, 1e-8), (2, 1e-7)):
        expected = np.stack([p.deriv(order)(time) for p in polynomials], axis=1)
        assert np.abs(fit(time, order) - expected).max() <= tolerance * np.abs(expected).max()


def test_derivatives_of_a_sine_under_noise_are_as_good_as_the_noise_allows() -> None:
    """Errors away from the ends stay within a few of the standard deviations that white noise leaves in the band."""
    rng = np.random.default_rng(1)
    time = jittered(2000, rng)
    noise = 1e-3
    fit = smooth(time, (np.sin(3.0 * time) + noise * rng.standard_normal(2000))[:, None])
    inner = slice(200, -200)
    for order, exact in ((0, np.sin(3 * time)), (1, 3 * np.cos(3 * time)), (2, -9 * np.sin(3 * time))):
        error = np.std((fit(time, order)[:, 0] - exact)[inner])
        assert error <= 3.0 * fit.noise_of_derivative(order)[0]
    assert fit.noise[0] == pytest.approx(noise, rel=0.05)


def test_no_phase_is_shifted() -> None:
    """What a signal run backwards becomes is what the signal becomes, run backwards."""
    rng = np.random.default_rng(2)
    time = jittered(500, rng)
    samples = np.sin(5.0 * time)[:, None] + 0.01 * rng.standard_normal((500, 1))
    forward = smooth(time, samples)
    backward = smooth(-time[::-1], samples[::-1])
    np.testing.assert_allclose(backward(-time[::-1], 2)[::-1], forward(time, 2), atol=1e-6)
    np.testing.assert_allclose(-backward(-time[::-1], 1)[::-1], forward(time, 1), atol=1e-7)


def test_finer_signals_get_finer_knots() -> None:
    rng = np.random.default_rng(3)
    time = np.linspace(0.0, 10.0, 3000)
    noise = 1e-4 * rng.standard_normal(3000)
    slow, fast = (smooth(time, (np.sin(w * time) + noise)[:, None]).knot_distance for w in (1.0, 20.0))
    assert fast < 0.3 * slow


def test_refusals() -> None:
    with pytest.raises(setsu.InputError, match="at least 12 samples, got 11"):
        smooth(np.arange(11.0), np.zeros((11, 1)))
    with pytest.raises(setsu.InputError, match="positive number of seconds"):
        smooth(np.arange(20.0), np.zeros((20, 1)), knot_distance=-1.0)
