"""Derivatives of frames and of the momentum against fourth-order differences in tangent coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import random_tree

TYPES = ["Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Fixed"]
POINT = np.array([0.1, -0.2, 0.3])


def slopes(f: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """Derivatives of f around zero, the direction last."""
    e = 2e-3
    columns = [(8.0 * (f(e * x) - f(-e * x)) - f(2.0 * e * x) + f(-2.0 * e * x)) / (12.0 * e) for x in np.eye(n)]
    return np.stack(columns, axis=-1)


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(3))
def test_all_joint_types_on_a_free_base(seed: int) -> None:
    m = random_tree(seed, n_bodies=9, joint_types=TYPES, floating_base=True)
    rng = np.random.default_rng(seed)
    q, v, a = m.random_configuration(seed), rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    frame = m.body_names[-1]

    def at(x: np.ndarray) -> np.ndarray:
        return setsu.integrate(m, q, x, 1.0)

    d = setsu.frame_velocity_derivatives(m, q, v, frame, POINT)
    assert_near(d.dq, slopes(lambda x: setsu.frame_velocity(m, at(x), v, frame, POINT), m.nv))
    assert_near(d.dv, setsu.frame_jacobian(m, q, frame, POINT))
    d = setsu.frame_acceleration_derivatives(m, q, v, a, frame, POINT)
    assert_near(d.dq, slopes(lambda x: setsu.frame_acceleration(m, at(x), v, a, frame, POINT), m.nv))
    assert_near(d.dv, slopes(lambda x: setsu.frame_acceleration(m, q, v + x, a, frame, POINT), m.nv))
    assert_near(d.da, setsu.frame_jacobian(m, q, frame, POINT))
    J = setsu.frame_jacobian_derivatives(m, q, frame, POINT)
    assert_near(J, slopes(lambda x: setsu.frame_jacobian(m, at(x), frame, POINT), m.nv))
    d = setsu.momentum_derivatives(m, q, v)
    assert_near(d.dq, slopes(lambda x: setsu.momentum(m, at(x), v), m.nv))
    assert_near(d.dv, setsu.centroidal_matrix(m, q))


def test_batches_are_rows_and_frames_of_the_world_do_not_move() -> None:
    m = setsu.sample_mechanisms.puma560()
    rng = np.random.default_rng(0)
    q, v, a = (rng.standard_normal((2, 3, 6)) for _ in range(3))
    many = setsu.frame_acceleration_derivatives(m, q, v, a[0, 0], m.body_names[-1], POINT)
    one = setsu.frame_acceleration_derivatives(m, q[1, 2], v[1, 2], a[0, 0], m.body_names[-1], POINT)
    np.testing.assert_array_equal(many.dq[1, 2], one.dq)
    assert setsu.frame_jacobian_derivatives(m, q, m.body_names[-1]).shape == (2, 3, 6, 6, 6)
    momentum = setsu.momentum_derivatives(m, q, v)
    np.testing.assert_array_equal(momentum.dq[1, 2], setsu.momentum_derivatives(m, q[1, 2], v[1, 2]).dq)
    still = setsu.frame_velocity_derivatives(m, q[0, 0], v[0, 0], "world", POINT)
    np.testing.assert_array_equal(still.dq, 0.0)


def test_bad_input_is_named() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    with pytest.raises(setsu.InputError, match="frame_velocity_derivatives: v"):
        setsu.frame_velocity_derivatives(m, [0.0, 0.0], [0.0], "tip")
    with pytest.raises(setsu.InputError, match="tipp"):
        setsu.frame_acceleration_derivatives(m, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], "tipp")
    with pytest.raises(setsu.InputError, match="point"):
        setsu.frame_jacobian_derivatives(m, [0.0, 0.0], "tip", [0.0])
