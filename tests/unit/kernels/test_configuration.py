"""Steps of quaternions and free bodies: exponential and logarithm of tiny turns, half turns and all between."""

import numpy as np
import pytest
from scipy.linalg import expm

import setsu
from setsu.spatial import skew

EPSILON = np.finfo(float).eps
ANGLES = [0.0, 1e-300, 1e-170, 1e-16, 1e-9, 0.9e-6, 1.1e-6, 1e-3, 0.4, 0.5, 0.51, 0.99, 1.0, 1.01, 2.0, 3.0, 3.14159]


def free_body() -> setsu.Mechanism:
    return setsu.MechanismBuilder("free").add_body("body", joint=setsu.Free(), mass=1.0, inertia=np.eye(3)).build()


def steps(angle: float) -> np.ndarray:
    """Steps (20, 6): any translation, and a turn by `angle` about any axis."""
    rng = np.random.default_rng(0)
    axis = rng.standard_normal((20, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    return np.concatenate([rng.standard_normal((20, 3)), angle * axis], axis=-1)


@pytest.mark.parametrize("angle", ANGLES)
def test_a_step_is_the_exponential_of_its_twist(angle: float) -> None:
    """T(q ⊕ s) = T(q) exp([s]), [s] the 4x4 twist of linear and angular part in body axes."""
    m = free_body()
    q = m.random_configuration(1)
    before = setsu.body_poses(m, q)[0]
    for step in steps(angle):
        twist = np.zeros((4, 4))
        twist[:3, :3], twist[:3, 3] = skew(step[3:]), step[:3]
        after = setsu.body_poses(m, setsu.integrate(m, q, step, 1.0))[0]
        np.testing.assert_allclose(after, before @ expm(twist), rtol=0, atol=40 * EPSILON)


@pytest.mark.parametrize("angle", ANGLES)
def test_difference_finds_the_step_again(angle: float) -> None:
    """(q ⊕ s) ⊖ q = s for turns below π, within rounding of the coordinates."""
    m = free_body()
    q = m.random_configuration(2)
    s = steps(angle)
    found = setsu.difference(m, q, setsu.integrate(m, q, s, 1.0))
    np.testing.assert_allclose(found, s, rtol=0, atol=100 * EPSILON)


def test_difference_goes_the_shorter_way() -> None:
    """A turn by 3/2 π comes back as -π/2; a quaternion and its negative are the same place."""
    m = setsu.MechanismBuilder("ball").add_body("ball", joint=setsu.Spherical(), mass=1.0, inertia=np.eye(3)).build()
    q = m.neutral()
    there = setsu.integrate(m, q, [0.0, 0.0, 1.5 * np.pi], 1.0)
    np.testing.assert_allclose(setsu.difference(m, q, there), [0, 0, -0.5 * np.pi], atol=1e-15)
    np.testing.assert_allclose(setsu.difference(m, q, -there), [0, 0, -0.5 * np.pi], atol=1e-15)
    np.testing.assert_array_equal(setsu.difference(m, q, q), 0.0)
    half = setsu.difference(m, q, [1.0, 0.0, 0.0, 0.0])
    assert abs(half[0]) == pytest.approx(np.pi, rel=1e-15)


def test_ten_thousand_turns_stay_on_the_sphere() -> None:
    """Quaternions come out with length one: no drift, whatever went in."""
    m = setsu.MechanismBuilder("ball").add_body("ball", joint=setsu.Spherical(), mass=1.0, inertia=np.eye(3)).build()
    q = np.array([0.1, -0.2, 0.3, 5.0])
    for _ in range(10_000):
        q = setsu.integrate(m, q, [1.0, 2.0, -3.0], 0.01)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=2 * EPSILON)
