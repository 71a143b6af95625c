"""Steps between configurations: the shorter way, fractions of it, its length; quaternions of length one."""

from __future__ import annotations

import numpy as np
import pytest
from rounding import EPSILON

import setsu
from setsu.sample_mechanisms import random_tree

TYPES = ("Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar")


@pytest.fixture
def tree() -> setsu.Mechanism:
    return random_tree(2, n_bodies=12, joint_types=TYPES, floating_base=True)


def test_shortest_differs_by_whole_turns_of_turning_joints_only(tree: setsu.Mechanism) -> None:
    rng = np.random.default_rng(0)
    q0 = np.array([tree.random_configuration(rng) for _ in range(5)])
    step = 4.0 * rng.standard_normal((5, tree.nv))
    q1 = setsu.integrate(tree, q0, step, 1.0)
    plain, short = setsu.difference(tree, q0, q1), setsu.difference(tree, q0, q1, shortest=True)
    turns = (plain - short) / (2.0 * np.pi)
    assert np.abs(turns - np.round(turns)).max() < 1e-12
    turning = {"Revolute": (0,), "Cylindrical": (1,), "Universal": (0, 1), "Planar": (2,)}
    for body, where in zip(tree.moving, tree.v_slices, strict=True):
        for k in range(where.stop - where.start):
            if k in turning.get(type(body.joint).__name__, ()):
                assert np.abs(short[:, where.start + k]).max() <= np.pi * (1.0 + 1e-15)
            else:
                assert np.array_equal(plain[:, where.start + k], short[:, where.start + k])
    poses = setsu.body_poses(tree, setsu.integrate(tree, q0, short, 1.0))
    assert np.abs(poses - setsu.body_poses(tree, q1)).max() < 1e-12
    fast = setsu.compile(tree, ["difference"])
    assert np.abs(fast.difference(q0, q1, shortest=True) - short).max() < 1e-13


def test_joints_with_limits_keep_their_turns() -> None:
    b = setsu.MechanismBuilder("two")
    b.add_body("a", joint=setsu.Revolute(lower=-10.0, upper=10.0), mass=1.0)
    b.add_body("b", joint=setsu.Revolute(), mass=1.0)
    assert setsu.difference(b.build(), [0.0, 0.0], [6.0, 6.0], shortest=True) == pytest.approx([6.0, 6.0 - 2 * np.pi])


def test_interpolation_and_distance(tree: setsu.Mechanism) -> None:
    rng = np.random.default_rng(1)
    q0, q1 = (np.array([tree.random_configuration(rng) for _ in range(4)]) for _ in range(2))
    for shortest in (False, True):
        whole = setsu.distance(tree, q0, q1, shortest=shortest)
        middle = setsu.interpolate(tree, q0, q1, 0.3, shortest=shortest)
        assert setsu.distance(tree, q0, middle) == pytest.approx(0.3 * whole, rel=1e-12)
        ends = setsu.interpolate(tree, q0, q1, np.array([0.0, 0.0, 1.0, 1.0]), shortest=shortest)
        target = np.concatenate([q0[:2], q1[2:]])
        assert np.abs(setsu.body_poses(tree, ends) - setsu.body_poses(tree, target)).max() < 1e-12
    assert setsu.distance(tree, q0[0], q0[0]) < 1e-15


def test_normalize(tree: setsu.Mechanism) -> None:
    q = tree.random_configuration(3)
    scaled = q.copy()
    for body, where in zip(tree.moving, tree.q_slices, strict=True):
        if body.joint.nq != body.joint.nv:
            scaled[where.stop - 4 : where.stop] *= 3.0
    assert np.abs(setsu.normalize(tree, np.stack([scaled, q])) - q).max() <= 4.0 * EPSILON
    scaled[tree.q_slices[0].stop - 4 : tree.q_slices[0].stop] = 0.0
    with pytest.raises(setsu.InputError, match="is all zeros"):
        setsu.normalize(tree, scaled)
    with pytest.raises(setsu.InputError, match="fraction"):
        setsu.interpolate(tree, q, q, np.nan)
