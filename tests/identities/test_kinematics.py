"""Kinematics: each rate is the exact time derivative (complex step) of what it is the rate of."""

import numpy as np
from identities.complex_step import directional
from identities.zoo import STATES, animal, assert_law, over_the_zoo, times

import setsu
from setsu.spatial import skew

POINT = np.array([0.3, -0.2, 0.5])


@over_the_zoo
def test_velocities_are_rates_of_poses(name: str) -> None:
    """dx/dt = v and dR/dt = [ω]x R for every body."""
    x = animal(name)
    m = x.mechanism
    poses, velocities = setsu.body_poses(m, x.q), setsu.body_velocities(m, x.q, x.v)
    for k in range(STATES):
        rate = directional(m, "body_poses", {"q": x.q[k]}, {"q": x.v[k]})["poses"].reshape(-1, 4, 4)
        assert_law(velocities[k, :, :3], rate[:, :3, 3], [velocities[k]], c=100)
        turning = np.array([skew(w) @ T[:3, :3] for w, T in zip(velocities[k, :, 3:], poses[k], strict=True)])
        assert_law(turning, rate[:, :3, :3], [velocities[k]], c=100)


@over_the_zoo
def test_accelerations_are_rates_of_velocities(name: str) -> None:
    x = animal(name)
    m = x.mechanism
    accelerations = setsu.body_accelerations(m, x.q, x.v, x.a)
    for k in range(STATES):
        state, motion = {"q": x.q[k], "v": x.v[k]}, {"q": x.v[k], "v": x.a[k]}
        rate = directional(m, "body_velocities", state, motion)["velocities"].reshape(-1, 6)
        assert_law(accelerations[k], rate, [accelerations[k]], c=100)


@over_the_zoo
def test_a_jacobian_maps_velocities_to_a_point(name: str) -> None:
    """J v = v_body + ω x r, at every declared body, those behind fixed joints included."""
    x = animal(name)
    m = x.mechanism
    poses, velocities = setsu.body_poses(m, x.q), setsu.body_velocities(m, x.q, x.v)
    for body in m.bodies:
        moved = times(setsu.point_jacobian(m, x.q, body.name, POINT), x.v)
        frame = m.frame(body.name)
        if frame.body < 0:
            np.testing.assert_array_equal(moved, 0.0)
            continue
        local = frame.pose.matrix[:3, :3] @ POINT + frame.pose.translation
        arm = poses[:, frame.body, :3, :3] @ local
        expected = velocities[:, frame.body, :3] + np.cross(velocities[:, frame.body, 3:], arm)
        assert_law(moved, expected, [velocities], c=100)


@over_the_zoo
def test_a_frame_jacobian_holds_the_point_jacobian_and_the_turning(name: str) -> None:
    """First three rows = point_jacobian; the last three times v = angular velocity of the body."""
    x = animal(name)
    m = x.mechanism
    velocities = setsu.body_velocities(m, x.q, x.v)
    for body in (m.bodies[0], m.bodies[-1]):
        J = setsu.frame_jacobian(m, x.q, body.name, POINT)
        points = setsu.point_jacobian(m, x.q, body.name, POINT)
        assert_law(J[:, :3], points, [points], c=10)
        carrier = m.frame(body.name).body
        turning = velocities[:, carrier, 3:] if carrier >= 0 else np.zeros((STATES, 3))
        assert_law(times(J[:, 3:], x.v), turning, [velocities], c=100)


@over_the_zoo
def test_the_rate_of_a_jacobian_is_its_derivative(name: str) -> None:
    x = animal(name)
    m = x.mechanism
    target, body = m.n_bodies - 1, m.body_names[-1]
    rate = setsu.point_jacobian_rate(m, x.q, x.v, body, POINT)
    for k in range(STATES):
        state = {"q": x.q[k], "point": POINT}
        expected = directional(m, "point_jacobian", state, {"q": x.v[k]}, target=target)["J"].reshape(3, m.nv)
        assert_law(rate[k], expected, [expected], c=100)


@over_the_zoo
def test_integrate_and_difference_undo_each_other(name: str) -> None:
    """q0 ⊕ (q1 ⊖ q0) puts every body where q1 does; (q ⊕ v) ⊖ q = v for turns below half a revolution."""
    x = animal(name)
    m = x.mechanism
    q1 = x.q[::-1]
    arrived = setsu.integrate(m, x.q, setsu.difference(m, x.q, q1), 1.0)
    poses = setsu.body_poses(m, q1)
    assert_law(setsu.body_poses(m, arrived), poses, [poses], c=200)
    back = setsu.difference(m, x.q, setsu.integrate(m, x.q, x.v, 0.3))
    assert_law(back, 0.3 * x.v, [x.v, x.q], c=200)


@over_the_zoo
def test_integrate_follows_its_velocity(name: str) -> None:
    """Two half steps are one step, and no step stays; quaternions keep length one."""
    x = animal(name)
    m = x.mechanism
    whole = setsu.body_poses(m, setsu.integrate(m, x.q, x.v, 0.4))
    halves = setsu.body_poses(m, setsu.integrate(m, setsu.integrate(m, x.q, x.v, 0.2), x.v, 0.2))
    assert_law(halves, whole, [whole], c=200)
    stayed = setsu.integrate(m, x.q, 0.0 * x.v, 1.0)
    assert_law(stayed, x.q, [x.q, np.ones(1)], c=10)
    moved = setsu.integrate(m, x.q, x.v, 0.4)
    for body, where in zip(m.moving, m.q_slices, strict=True):
        if body.joint.nq != body.joint.nv:
            lengths = np.linalg.norm(moved[:, where][:, -4:], axis=-1)
            assert_law(lengths, np.ones(STATES), [lengths], c=4)


@over_the_zoo
def test_a_quaternion_of_any_length_is_the_same_rotation(name: str) -> None:
    x = animal(name)
    m = x.mechanism
    scaled = x.q.copy()
    for body, where in zip(m.moving, m.q_slices, strict=True):
        if body.joint.nq != body.joint.nv:
            scaled[:, where.stop - 4 : where.stop] *= -1.7
    tau = setsu.inverse_dynamics(m, x.q, x.v, x.a)
    terms = [times(setsu.mass_matrix(m, x.q), x.a), setsu.bias_torque(m, x.q, x.v)]
    assert_law(setsu.inverse_dynamics(m, scaled, x.v, x.a), tau, terms, c=100)
