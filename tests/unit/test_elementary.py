"""Our own elementary functions: within a unit in the last place of exact arithmetic, the same bits when compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rounding import EPSILON, assert_law
from unit.native.test_cos_sin import exact_cos_sin

from setsu.elementary import LARGEST_ANGLE, arctan2, cos_sin, exp, length, matmul, reduced_angle, solve_positive
from setsu.native import compiled_elementary
from setsu.native.control_flow import jit


def angles() -> list[float]:
    rng = np.random.default_rng(4)
    spread = [rng.uniform(-size, size, 40) for size in (1e-8, 1e-3, 1.0, 10.0, 1e3, 1e5, LARGEST_ANGLE)]
    near = [k * math.pi / 2 + d for k in (1, 2, 3, 7, 101, 12345, 999_999) for d in (0.0, 1e-12, -1e-9, 1e-5)]
    return [*np.concatenate(spread).tolist(), *near, 0.0, -0.0]


def test_cosine_and_sine() -> None:
    for x in angles():
        for found, exact in zip(cos_sin(x), exact_cos_sin(x), strict=True):
            assert abs(found - exact) <= np.spacing(max(abs(exact), 2.0**-70)), x


def test_angles_of_any_size_are_reduced_exactly() -> None:
    """Beside the C library, whose reduction is exact, too."""
    for x in (3e6, -123456789.123, 1e22, -1e300, 1.7e308):
        assert cos_sin(reduced_angle(x)) == pytest.approx((math.cos(x), math.sin(x)), abs=2.0 * EPSILON)


def test_arctan2_in_every_quadrant() -> None:
    rng = np.random.default_rng(5)
    for y, x in (rng.standard_normal((500, 2)) * 10.0 ** rng.uniform(-8, 8, (500, 2))).tolist():
        assert abs(arctan2(y, x) - math.atan2(y, x)) <= 2.0 * np.spacing(abs(math.atan2(y, x)))
    for y in (0.0, -0.0, 1.0, -1.0):
        for x in (0.0, -0.0, 1.0, -1.0):
            assert repr(arctan2(y, x)) == repr(math.atan2(y, x)), (y, x)


def test_exponential() -> None:
    for x in np.random.default_rng(6).uniform(-700.0, 700.0, 500).tolist():
        assert exp(x) == pytest.approx(math.exp(x), rel=2.0 * EPSILON)


@jit
def _all(x, y, out):
    out[0], out[1] = compiled_elementary.cos_sin(x)
    out[2] = compiled_elementary.arctan2(y, x)
    out[3] = compiled_elementary.exp(y)


def test_compiled_code_has_the_same_bits() -> None:
    out = np.zeros(4)
    for x in angles():
        y = math.copysign(min(abs(x) ** 0.5, 600.0), -x)
        _all(x, y, out)
        assert out.tolist() == [*cos_sin(x), arctan2(y, x), exp(y)], x


def test_products_and_solutions_of_small_matrices() -> None:
    rng = np.random.default_rng(7)
    A, B = rng.standard_normal((4, 3, 5)), rng.standard_normal((5, 2))
    np.testing.assert_allclose(matmul(A, B), A @ B, rtol=0, atol=1e-14)
    np.testing.assert_allclose(matmul(A[0], B, B.T), A[0] @ B @ B.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(matmul(A, B[:, 0]), A @ B[:, 0], rtol=0, atol=1e-14)
    S = matmul(A, np.swapaxes(A, -1, -2))
    np.testing.assert_allclose(matmul(S, solve_positive(S, A[..., 0])[..., None])[..., 0], A[..., 0], atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        solve_positive(np.zeros((2, 2)), np.ones(2))
    assert length([3.0, 4.0]) == 5.0


def test_matmul_has_the_shapes_of_numpy_for_vectors_on_either_side() -> None:
    rng = np.random.default_rng(3)
    R, x, many = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(5, 3))
    for factors in ((R, x), (x, R), (many, R), (rng.normal(size=(4, 3, 3)), x), (x, R, R), (R, R, x)):
        expected, sizes = factors[0], np.abs(factors[0])
        for factor in factors[1:]:
            expected, sizes = expected @ factor, sizes @ np.abs(factor)
        found = matmul(*factors)
        assert found.shape == expected.shape
        assert_law(found, expected, [sizes], c=3.0 * len(factors))
