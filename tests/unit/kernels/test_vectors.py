"""Small vector algebra of the kernels, on floats, against NumPy."""

import numpy as np
import pytest
from rounding import EPSILON

from setsu.kernels import vectors
from setsu.spatial import rotation_from_quaternion, skew
from setsu.symbolic import Graph

RNG = np.random.default_rng(0)
X, Y = (tuple(v) for v in RNG.standard_normal((2, 3)))
ROTATION = rotation_from_quaternion(RNG.standard_normal(4))
R = tuple(ROTATION.ravel())


def symmetric() -> tuple[np.ndarray, tuple]:
    A = RNG.standard_normal((3, 3))
    S = A @ A.T
    return S, tuple(S[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


def test_products() -> None:
    np.testing.assert_allclose(vectors.cross(X, Y), np.cross(X, Y), rtol=1e-14)
    assert vectors.dot(X, Y) == pytest.approx(np.dot(X, Y), rel=1e-14)
    np.testing.assert_allclose(vectors.rotate(R, X), ROTATION @ X, rtol=1e-14)
    np.testing.assert_allclose(vectors.rotate_back(R, X), ROTATION.T @ X, rtol=1e-14)
    other = tuple(ROTATION.T.ravel())
    np.testing.assert_allclose(vectors.multiply(R, other), np.eye(3).ravel(), atol=6.0 * EPSILON)


@pytest.mark.parametrize("turn", ["any", "about z", "permutation", "identity"])
def test_turning_second_moments(turn: str) -> None:
    """R S Rᵀ, also where rows of R are axes and a shorter formula applies."""
    c, s = np.cos(0.7), np.sin(0.7)
    Q = {
        "any": ROTATION,
        "about z": np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]),
        "permutation": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        "identity": np.eye(3),
    }[turn]
    S, packed = symmetric()
    turned = Q @ S @ Q.T
    expected = [turned[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    np.testing.assert_allclose(
        vectors.turn_symmetric(tuple(Q.ravel().tolist()), packed), expected, rtol=1e-12, atol=1e-14
    )


def test_inertia_from_second_moments() -> None:
    """I w = (tr S 1 - S) w, and ∫ r x (U r) dm for U = [dw]x + [w]x² is I dw + w x I w."""
    S, packed = symmetric()
    inertia = np.trace(S) * np.eye(3) - S
    np.testing.assert_allclose(vectors.inertia_times(packed, X), inertia @ X, rtol=1e-13)
    U = vectors.acceleration_matrix(X, Y)
    np.testing.assert_allclose(np.reshape(U, (3, 3)), skew(Y) + skew(X) @ skew(X), rtol=1e-13, atol=1e-15)
    expected = inertia @ Y + np.cross(X, inertia @ X)
    np.testing.assert_allclose(vectors.moment_of_acceleration(U, packed), expected, rtol=1e-12)


def test_functions_of_any_scalar() -> None:
    assert vectors.cos_sin(0.5) == pytest.approx((np.cos(0.5), np.sin(0.5)))
    step = vectors.cos_sin(0.5 + 1e-30j)[1]
    assert step.imag / 1e-30 == pytest.approx(np.cos(0.5))
    assert vectors.square_root(4.0) == 2.0
    assert vectors.square_root(-4.0 + 0j) == 2j
    assert [vectors.sign(x) for x in (-3.0, 0.0, 2.0)] == [-1.0, 0.0, 1.0]
    assert vectors.select_negative(-1e-9 + 5j, "a", "b") == "a"
    x = Graph().input("x")
    assert vectors.cos_sin(x) == x.cos_sin()
    assert vectors.square_root(x) is x.sqrt()
