"""Zero-moment point, support polygon, margin and momentum of bipeds against closed forms and scipy's hull."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import setsu
from setsu.control.humanoid import Biped, standing_posture
from setsu.control.humanoid.balance import (
    contact_positions,
    ground_zero_moment_point,
    momentum_error,
    support_margin,
    support_polygon,
    tilt,
    with_fall,
)

M = setsu.sample_mechanisms.hoap1_like()
BIPED = Biped(M)


@pytest.mark.parametrize("seed", range(4))
def test_the_support_polygon_is_the_convex_hull(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(30, 2))
    ours = support_polygon(points)
    x, y = ours.T
    area = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    other = ConvexHull(points)
    assert len(ours) == len(other.vertices)
    assert np.isclose(area, other.volume, rtol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_roundings_of_corners_in_a_line_lose_no_corner(seed: int) -> None:
    """Two soles side by side have eight corners on four lines; their hull is the rectangle around them."""
    x, y = np.meshgrid([-0.054, 0.054], [-0.0755, -0.0025, 0.0025, 0.0755])
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    points += np.random.default_rng(seed).normal(scale=1e-16, size=points.shape)
    corners = support_polygon(points)
    assert len(corners) == 4
    assert np.allclose(np.ptp(corners, axis=0), (0.108, 0.151), atol=1e-8)


def test_margins_are_distances_to_the_nearest_edge_and_negative_outside() -> None:
    square = np.tile([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]], (4, 1, 1))
    zmp = np.array([[1.0, 0.5], [0.2, 0.5], [2.5, 0.5], [np.nan, np.nan]])
    margins = support_margin(zmp, square, np.ones((4, 4), dtype=bool))
    assert np.allclose(margins[:3], [0.5, 0.2, -0.5], atol=1e-15)
    assert np.isnan(margins[3])
    two = support_margin(zmp[:1], square[:1], np.array([[True, True, False, False]]))
    assert np.isnan(two).all()


def test_the_zero_moment_point_has_no_tipping_moment() -> None:
    rng = np.random.default_rng(1)
    positions, forces = rng.normal(size=(2, 5, 6, 3))
    forces[..., 2] = np.abs(forces[..., 2])
    p = ground_zero_moment_point(positions, forces)
    about = np.concatenate([p, np.zeros((5, 1))], axis=1)
    moment = np.cross(positions - about[:, None], forces).sum(axis=1)
    assert np.allclose(moment[:, :2], 0.0, atol=1e-12)
    assert np.isnan(ground_zero_moment_point(positions, 0.0 * forces)).all()


def test_contact_positions_are_points_of_their_bodies() -> None:
    q = M.random_configuration(5)
    positions = contact_positions(M, q)
    for index in (0, 40, 100, 175):
        point = M.contact_points[index]
        assert np.allclose(positions[index], BIPED.pose_of(q, point.body) @ [*point.position, 1.0] @ np.eye(4, 3))


def test_standing_weight_on_the_soles_balances_momentum() -> None:
    """A body at rest under m g at its zero-moment point; half of it leaves half a weight open."""
    q = standing_posture(BIPED)[None]
    rest = np.zeros((1, M.nv))
    positions = BIPED.sole_corners(q[0]).reshape(1, 8, 3)
    forces = np.zeros((1, 8, 3))
    forces[..., 2] = BIPED.weight / 8.0
    assert momentum_error(BIPED, q, rest, rest, positions, forces)[0] < 1e-10
    assert np.isclose(momentum_error(BIPED, q, rest, rest, positions, 0.5 * forces)[0], 0.5)


def test_the_balance_of_momentum_is_that_of_the_centroidal_matrix() -> None:
    """A_g a + dA_g/dt v - (m g, 0) is the wrench about the centre of mass; dA_g/dt by central differences."""
    rng = np.random.default_rng(2)
    q, v, a = M.random_configuration(2), *rng.normal(size=(2, M.nv))
    e = 1e-5
    ahead, behind = (setsu.centroidal_matrix(M, setsu.integrate(M, q, v, sign * e)) for sign in (1.0, -1.0))
    wrench = setsu.centroidal_matrix(M, q) @ a + (ahead - behind) @ v / (2 * e)
    wrench[2] += BIPED.weight
    # One force that gives this wrench's force, and a couple of two that gives the rest of its moment.
    com = setsu.center_of_mass(M, q)
    axis = np.cross(wrench[3:], [0.3, -0.5, 0.8])
    arm = np.cross(axis, wrench[3:]) / (axis @ axis)
    positions = np.array([com, com + arm, com])[None]
    forces = np.array([wrench[:3], axis, -axis])[None]
    assert np.allclose(np.cross(arm, axis), wrench[3:], rtol=1e-12)
    assert momentum_error(BIPED, q[None], v[None], a[None], positions, forces)[0] < 1e-7


def test_tilt_is_the_angle_to_the_vertical() -> None:
    q = np.tile(M.neutral(), (3, 1))
    angles = np.array([0.0, 1e-9, 2.0])
    q[:, 3], q[:, 6] = np.sin(angles / 2), np.cos(angles / 2)
    assert np.allclose(tilt(BIPED, q), angles, rtol=1e-12, atol=1e-18)


def test_a_fall_is_an_event_and_standing_is_none() -> None:
    m = setsu.sample_mechanisms.hoap1_like()
    biped = Biped(m)
    pushed = np.zeros(m.nv)
    pushed[0] = 0.8
    start, floor = standing_posture(biped), setsu.Environment.floor()
    run = setsu.simulate(m, start, pushed, 0.7, 1e-3, environment=floor, record_every=10)
    falls = [event for event in with_fall(biped, run).events if event.kind == "fall"]
    assert len(falls) == 1
    assert 0.1 < falls[0].time < 0.7
    assert str(falls[0]).endswith("fall torso")
    assert [event.time for event in with_fall(biped, run).events] == sorted(
        event.time for event in with_fall(biped, run).events
    )
    servo = setsu.JointServo(300.0, 4.0, start)
    stands = setsu.simulate(m, start, np.zeros(m.nv), 0.1, 1e-3, torque=servo, environment=floor, record_every=10)
    assert with_fall(biped, stands) is stands
