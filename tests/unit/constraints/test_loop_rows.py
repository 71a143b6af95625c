"""Rows of loops by every joint type: derivatives of the errors, velocity terms, own coordinates of the loop joint."""

import dataclasses

import numpy as np
import pytest

import setsu
from setsu.constraints import constraint_system
from setsu.mechanism import Loop, Pose
from setsu.mechanism.joint_motion import joint_placement
from setsu.sample_mechanisms import random_tree

AXIS, SECOND = (0.3, -0.5, 0.8), (0.9, 0.1, 0.2)
JOINTS = {
    "Fixed": (setsu.Fixed(), 6),
    "Revolute": (setsu.Revolute(AXIS), 5),
    "Prismatic": (setsu.Prismatic(AXIS), 5),
    "Helical": (setsu.Helical(AXIS, pitch=0.2), 5),
    "Cylindrical": (setsu.Cylindrical(AXIS), 4),
    "Universal": (setsu.Universal(AXIS, second_axis=SECOND), 4),
    "Spherical": (setsu.Spherical(), 3),
    "Planar": (setsu.Planar(AXIS), 3),
}
over_joints = pytest.mark.parametrize("kind", JOINTS)
STEP = 1e-6


def closed(kind, seed=3, whole_turns=0.0):
    """A floating tree closed by the joint at a random configuration: mechanism, q, v on the loop, joint coordinates."""
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, n_bodies=8, floating_base=True)
    q = tree.random_configuration(rng)
    poses = setsu.body_poses(tree, q)
    joint = dataclasses.replace(JOINTS[kind][0], name="closing")
    own = 0.5 * rng.standard_normal(joint.nq) + whole_turns
    if joint.nq == 4:
        own /= np.linalg.norm(own)
    pose_a = setsu.placement(0.3 * rng.standard_normal(3), quaternion=rng.standard_normal(4))
    pose_b = np.linalg.inv(poses[6]) @ poses[2] @ pose_a @ joint_placement(joint, own)
    loop = Loop("ring", tree.body_names[2], tree.body_names[6], joint, Pose.of(pose_a, "a"), Pose.of(pose_b, "b"))
    m = dataclasses.replace(tree, loops=(loop,))
    v = rng.standard_normal(m.nv)
    G = constraint_system(m).evaluate(q, v).jacobian
    return m, q, v - np.linalg.pinv(G) @ (G @ v), own


@over_joints
def test_each_joint_holds_what_it_does_not_leave_free(kind):
    m, q, _, _ = closed(kind)
    joint, rows = JOINTS[kind]
    assert rows == 6 - joint.nv
    assert len(constraint_system(m).names) == rows
    assert np.abs(setsu.loop_error(m, q)).max() < 1e-14
    assert setsu.degrees_of_freedom(m, q) == m.nv - rows


@over_joints
def test_rows_are_derivatives_of_errors_and_their_rates(kind):
    m, q, v, _ = closed(kind)
    system = constraint_system(m)
    v = v + 0.3 * np.random.default_rng(9).standard_normal(m.nv)  # the laws hold off the loop's velocities as well
    ahead, behind = (setsu.integrate(m, q, v, h) for h in (STEP, -STEP))
    G, gamma, _, _ = system.evaluate(q, v)
    rate = (setsu.loop_error(m, ahead) - setsu.loop_error(m, behind)) / (2 * STEP)
    np.testing.assert_allclose(G @ v, rate, atol=1e-7)
    change = (system.evaluate(ahead, v).jacobian - system.evaluate(behind, v).jacobian) @ v / (2 * STEP)
    np.testing.assert_allclose(gamma, change, atol=1e-7)


@over_joints
def test_the_loop_joint_has_the_coordinates_and_rates_of_a_joint(kind):
    m, q, v, own = closed(kind)
    system = constraint_system(m)
    rows = system.linearise(q, v)
    np.testing.assert_allclose(rows.free_jacobian @ v, rows.motion.free_rate, atol=1e-13)
    ahead, behind = (setsu.integrate(m, q, v, h) for h in (STEP, -STEP))
    after, before = system.linearise(ahead, v), system.linearise(behind, v)
    change = (after.free_jacobian - before.free_jacobian) @ v / (2 * STEP)
    np.testing.assert_allclose(rows.motion.free_velocity_term, change, atol=1e-6)
    if JOINTS[kind][0].nq == JOINTS[kind][0].nv:
        np.testing.assert_allclose(rows.loop_poses.coordinate, own, atol=1e-13)
        travelled = after.loop_poses.coordinate - before.loop_poses.coordinate
        np.testing.assert_allclose(rows.motion.free_rate, travelled / (2 * STEP), atol=1e-7)


def test_a_nut_fits_its_thread_at_every_turn():
    m, q, _, own = closed("Helical", whole_turns=4 * np.pi)
    assert np.abs(setsu.loop_error(m, q)).max() < 1e-13
    system = constraint_system(m)
    np.testing.assert_allclose(system.linearise(q, np.zeros(m.nv)).loop_poses.coordinate, own)


def test_an_axis_turned_round_is_not_closed():
    """The axes coincide but point against each other: a revolute joint is then off by half a turn."""
    builder = setsu.MechanismBuilder("hinge")
    builder.add_body("flap", joint=setsu.Revolute((1, 0, 0)), mass=1.0, inertia=np.eye(3))
    builder.add_loop("pin", "world", "flap", setsu.Revolute((0, 0, 1)))
    m = builder.build()
    assert np.abs(setsu.loop_error(m, [np.pi])).max() == pytest.approx(np.pi)
    assert np.abs(setsu.loop_error(m, [0.0])).max() == 0.0


def test_rows_of_a_batch_are_rows_of_its_states():
    m, q, _, _ = closed("Universal")
    rng = np.random.default_rng(4)
    states_q = setsu.integrate(m, q, 0.1 * rng.standard_normal((4, 3, m.nv)), 1.0)
    states_v = rng.standard_normal((4, 3, m.nv))
    system = constraint_system(m, [setsu.SurfaceContact(m.body_names[4], (0.1, 0, 0), setsu.Sphere((5, 5, 5), 1.0))])
    all_rows = system.evaluate(states_q, states_v)
    assert all_rows.jacobian.shape == (4, 3, 5, m.nv)
    for index in np.ndindex(4, 3):
        one = system.evaluate(states_q[index], states_v[index])
        for many, single in zip(all_rows[:3], one[:3], strict=True):
            np.testing.assert_allclose(many[index], single, atol=1e-12)
