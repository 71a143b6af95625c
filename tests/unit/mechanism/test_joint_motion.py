"""The velocity of a joint is the rate of its placement: T⁻¹ dT/dt = [ω]ₓ, linear."""

import numpy as np
import pytest

from setsu.errors import InputError
from setsu.mechanism import JOINT_TYPES, Helical, Planar, Revolute, Universal
from setsu.mechanism.joint_motion import joint_placement, joint_velocity
from setsu.sample_mechanisms import random_tree
from setsu.spatial import skew


def moved(joint, q, v, time):
    """Coordinates after a short time at constant v, to second order in time."""
    if joint.nq == joint.nv:
        return q + time * v
    x, y, z, w = q[-4:]
    # d/dt (x y z w) = ½ quaternion * (ω, 0), ω in body axes.
    rate = 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ v[-3:]
    quaternion = q[-4:] + time * rate
    quaternion /= np.linalg.norm(quaternion)
    if joint.nq == 4:
        return quaternion
    return np.concatenate([q[:3] + time * joint_placement(joint, q)[:3, :3] @ v[:3], quaternion])


@pytest.mark.parametrize("kind", [kind for kind in JOINT_TYPES if kind != "Fixed"])
@pytest.mark.parametrize("seed", range(3))
def test_velocity_is_the_rate_of_the_placement(kind, seed):
    rng = np.random.default_rng(seed)
    m = random_tree(seed, n_bodies=1, joint_types=[kind])
    joint, q, v, h = m.bodies[0].joint, m.random_configuration(rng), rng.standard_normal(m.nv), 1e-6
    later, earlier = (joint_placement(joint, moved(joint, q, v, time)) for time in (h, -h))
    rate = np.linalg.inv(joint_placement(joint, q)) @ (later - earlier) / (2 * h)
    linear, angular = np.split(joint_velocity(joint, q, v), 2)
    # Central differences: error h² in truncation, 1e-16/h in rounding.
    np.testing.assert_allclose(rate[:3, :3], skew(angular), atol=1e-8)
    np.testing.assert_allclose(rate[:3, 3], linear, atol=1e-8)


def test_placements_of_joints_about_coordinate_axes():
    quarter = np.pi / 2
    np.testing.assert_allclose(joint_placement(Revolute((0, 0, 1)), [quarter])[:3, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(joint_placement(Helical((0, 0, 1), pitch=0.1), [quarter])[2, 3], 0.1 * quarter)
    T = joint_placement(Universal((0, 0, 1), second_axis=(1, 0, 0)), [quarter, quarter])
    # The second axis turns with the first: its direction in the joint frame is y.
    np.testing.assert_allclose(T[:3, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(T[:3, 1], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(joint_placement(Planar((0, 0, 1)), [1, 2, 3])[:3, 3], [1, 2, 0])


def test_wrong_coordinates_are_refused_by_joint_name():
    with pytest.raises(InputError, match='coordinates of joint "j": expected 1 numbers'):
        joint_placement(Revolute(name="j"), [1.0, 2.0])
