"""Every joint type as the joint of a loop: the wrench told is the one by body_a on body_b, at the joint, world axes."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

JOINTS = {
    "Fixed": (setsu.Fixed(), 3),
    "Revolute": (setsu.Revolute((0, 0, 1)), 4),
    "Prismatic": (setsu.Prismatic((1, 0, 0)), 4),
    "Helical": (setsu.Helical((0, 0, 1), pitch=0.1), 4),
    "Cylindrical": (setsu.Cylindrical((0, 0, 1)), 5),
    "Universal": (setsu.Universal(), 5),
    "Spherical": (setsu.Spherical(), 6),
    "Planar": (setsu.Planar((0, 0, 1)), 6),
}
CENTER = np.array([0.1, 0.05, 0.0])


@pytest.mark.parametrize("kind", JOINTS)
def test_the_wrench_is_all_that_carries_the_second_body(kind: str) -> None:
    """A free body hangs on a swinging one by the loop alone: its momentum changes by its weight and that wrench."""
    joint, freedoms = JOINTS[kind]
    builder = setsu.MechanismBuilder(kind)
    inertia = 0.01 * np.eye(3)
    swing = {"mass": 1.0, "center_of_mass": (0.3, 0, 0), "inertia": inertia}
    builder.add_body("first", joint=setsu.Spherical(name="hang"), **swing)
    builder.add_body("second", joint=setsu.Free(), mass=2.0, center_of_mass=tuple(CENTER), inertia=2.0 * inertia)
    builder.add_loop("link", "first", "second", joint, setsu.placement((0.6, 0, 0)), setsu.placement((0.0, 0.2, 0.1)))
    m = builder.build()
    q = setsu.close_loops(m, m.neutral())
    assert setsu.degrees_of_freedom(m, q) == freedoms
    v = setsu.consistent_velocity(m, q, np.random.default_rng(0).standard_normal(m.nv))
    r = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv))
    T, V = setsu.body_poses(m, q)[1], setsu.body_velocities(m, q, v)[1]
    A = setsu.body_accelerations(m, q, v, r.acceleration)[1]
    R, omega, alpha = T[:3, :3], V[3:], A[3:]
    arm = R @ CENTER
    force = 2.0 * (A[:3] + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)) - m.gravity)
    moment = 0.02 * alpha  # an inertia that is the same about all axes
    joint_arm = R @ [0.0, 0.2, 0.1] - arm  # from the center of mass to the joint's frame on body_b
    np.testing.assert_allclose(r.loop_wrench[0, :3], force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(r.loop_wrench[0, 3:] + np.cross(joint_arm, force), moment, rtol=0, atol=1e-12)
    # Nothing drives the joint: a free joint in the tree carries nothing, and no torque is needed.
    np.testing.assert_allclose(r.joint_wrenches[1], 0.0, atol=1e-12)
    back = setsu.constrained_inverse_dynamics(m, q, v, r.acceleration, actuated=[])
    np.testing.assert_allclose(back.loop_wrench, r.loop_wrench, rtol=0, atol=1e-12)
