"""Sample mechanisms are what their descriptions say: geometry, masses, closed loops, valid inertias."""

import warnings

import numpy as np
import pytest
from unit.mechanism.kinematics_by_hand import center_of_mass, poses_and_velocities

import setsu.sample_mechanisms as samples
from setsu.errors import InputError
from setsu.mechanism import JOINT_TYPES, Free, inertia_report
from setsu.sample_mechanisms import (
    binary_tree,
    chain,
    five_bar,
    floating_box,
    four_bar,
    parallelogram_arm,
    pendulum,
    planar_arm,
    puma560,
    random_tree,
    seven_joint_arm,
    slider_crank,
)


@pytest.mark.parametrize("name", samples.__all__)
def test_every_sample_is_made_without_a_warning(name):
    make = getattr(samples, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = make(9) if name in ("chain", "binary_tree", "random_tree") else make()
    assert m.nv > 0


def test_a_pendulum_hangs_down_and_swings_towards_x():
    m = pendulum(2, length=0.7, mass=2.0)
    np.testing.assert_allclose(center_of_mass(m, m.neutral()), [0, 0, -0.7 * 1.5])
    np.testing.assert_allclose(center_of_mass(pendulum(), [np.pi / 2]), [1, 0, 0], atol=1e-15)


def test_a_planar_arm_reaches_by_the_sum_of_its_turned_links():
    lengths, q = (0.3, 0.4, 0.5), np.array([0.2, -0.7, 1.1])
    m = planar_arm(3, lengths=lengths)
    poses, _ = poses_and_velocities(m, q)
    angles = np.cumsum(q)
    np.testing.assert_allclose(poses["tip"][:3, 3], [lengths @ np.cos(angles), 0, lengths @ np.sin(angles)], atol=1e-15)


@pytest.mark.parametrize("make", [four_bar, slider_crank, five_bar, parallelogram_arm])
def test_the_neutral_configuration_closes_the_loop(make):
    m = make()
    poses, _ = poses_and_velocities(m, m.neutral())
    (loop,) = m.loops
    end_a = poses[loop.body_a] @ loop.pose_a.matrix
    end_b = poses[loop.body_b] @ loop.pose_b.matrix
    np.testing.assert_allclose(end_a[:3, 3], end_b[:3, 3], atol=1e-15)
    np.testing.assert_allclose(end_a[:3, 1], end_b[:3, 1], atol=1e-15)


def test_the_parallelogram_keeps_the_forearm_parallel_to_the_lever():
    m = parallelogram_arm()
    shoulder, lever = 0.4, -0.3
    # Upper arm and lever turn freely; rod and forearm make up for the other's angle.
    q = np.array([shoulder, lever - shoulder, lever, shoulder - lever])
    poses, _ = poses_and_velocities(m, q)
    (loop,) = m.loops
    end_a = poses[loop.body_a] @ loop.pose_a.matrix
    end_b = poses[loop.body_b] @ loop.pose_b.matrix
    np.testing.assert_allclose(end_a[:3, 3], end_b[:3, 3], atol=1e-15)


def test_bars_that_cannot_meet_are_refused():
    with pytest.raises(InputError, match="cannot meet"):
        four_bar(ground=5.0)
    with pytest.raises(InputError, match="rod > crank"):
        slider_crank(crank=1.0, rod=0.5)


def test_the_puma_stretches_as_published():
    m = puma560()
    poses, _ = poses_and_velocities(m, m.neutral())
    # At q = 0 in these frames the upper arm lies along x and the forearm stands up at its end.
    np.testing.assert_allclose(poses["link4"][:3, 3], [0.4318 - 0.0203, 0.2435 - 0.0934, 0.4331], atol=1e-12)
    assert m.total_mass == pytest.approx(23.45)
    assert m.armature.tolist() == [1.14, 4.71, 0.83, 0.2, 0.179, 0.193]
    assert not m.damping.any()
    assert (puma560(friction=True).coulomb > 0).all()


def test_the_seven_joint_arm_stands_upright_at_neutral():
    m = seven_joint_arm()
    poses, _ = poses_and_velocities(m, m.neutral())
    np.testing.assert_allclose(poses["flange"][:3, 3], [0.09, 0.0, 0.34 + 0.32 + 0.38 - 0.11], atol=1e-12)
    assert m.total_mass == 16.0


def test_the_floating_box_touches_with_its_corners():
    m = floating_box((2, 4, 6), mass=3.0)
    assert {tuple(np.abs(point.position)) for point in m.contact_points} == {(1.0, 2.0, 3.0)}
    assert len({point.position for point in m.contact_points}) == 8


def test_large_trees_have_their_shape():
    assert [body.parent for body in chain(4).bodies] == ["world", "link1", "link2", "link3"]
    assert [body.parent for body in binary_tree(7).bodies] == ["world", *[f"link{i}" for i in (1, 1, 2, 2, 3, 3)]]
    poses, _ = poses_and_velocities(chain(30), np.zeros(30))
    np.testing.assert_allclose(poses["link30"][:3, 3], [2.9, 0, 0], atol=1e-12)
    assert chain(1000).nv == binary_tree(1000).nv == 1000


@pytest.mark.parametrize("seed", range(10))
def test_random_trees_have_every_joint_type_and_possible_inertias(seed):
    m = random_tree(seed, n_bodies=10, joint_types=JOINT_TYPES)
    assert {type(body.joint).__name__ for body in m.bodies} == set(JOINT_TYPES)
    for body in m.bodies:
        assert inertia_report(body.mass, body.center_of_mass, body.inertia_matrix).valid
    floating = random_tree(seed, n_bodies=8, floating_base=True)
    assert isinstance(floating.bodies[0].joint, Free)
    assert len({type(body.joint) for body in floating.bodies}) == 8


def test_a_random_tree_is_its_seed_s():
    assert random_tree(5) == random_tree(5)
    assert random_tree(5) != random_tree(6)


def test_options_of_a_random_tree_change_nothing_else():
    plain, rich = random_tree(5, n_bodies=20), random_tree(5, n_bodies=20, damping=0.5, armature=0.1, coulomb=0.2)
    assert ((rich.damping > 0) & (rich.damping <= 0.5)).all()
    assert not plain.damping.any()
    for one, other in zip(plain.bodies, rich.bodies, strict=True):
        assert (one.pose, one.inertia, one.parent, one.joint.axis) == (
            other.pose,
            other.inertia,
            other.parent,
            other.joint.axis,
        )


def test_branching_sets_the_shape():
    assert [body.parent for body in random_tree(0, n_bodies=4, branching=0.0).bodies][1:] == ["body1", "body2", "body3"]
    children = [body.parent for body in random_tree(0, n_bodies=40, branching=1.0).bodies]
    assert len(set(children)) < 35


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: random_tree(0, n_bodies=0), "n_bodies: expected at least 1, got 0"),
        (lambda: random_tree(0, branching=2.0), "probability"),
        (lambda: random_tree(0, joint_types=["Revolut"]), 'did you mean "Revolute"'),
        (lambda: random_tree(0, joint_types=[]), "at least one joint type"),
        (lambda: chain(0), "expected at least 1"),
        (lambda: pendulum(0), "expected at least 1"),
        (lambda: planar_arm(2, lengths=(1, 2, 3)), "lengths: expected one number or 2, got 3"),
    ],
)
def test_bad_arguments_are_refused(action, message):
    with pytest.raises(InputError, match=message):
        action()
