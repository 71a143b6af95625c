"""Model surgery, seen through dynamics: what is locked, loaded, merged or cut out behaves as it must."""

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import planar_arm, random_tree, seven_joint_arm

OPTIONS = {"damping": 0.4, "armature": 0.1, "coulomb": 0.2}


def state(m: setsu.Mechanism, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), *rng.standard_normal((2, m.nv))


def positions(m: setsu.Mechanism, joints: tuple[str, ...], slices: tuple[slice, ...]) -> list[int]:
    return [k for name in joints for k in range(m.nq)[slices[m.joint_index(name)]]]


@pytest.mark.parametrize("seed", range(6))
def test_a_locked_joint_is_a_joint_that_stands_still(seed: int) -> None:
    """ID of the locked mechanism = entries of ID of the whole with v = a = 0 at the locked joints."""
    m = random_tree(seed, n_bodies=9, floating_base=seed % 2 == 1, **OPTIONS)
    q, v, a = state(m, seed)
    held = (m.joint_names[1], m.joint_names[4], m.joint_names[-1])
    locked = setsu.lock_joints(m, held, q)
    in_q, in_v = (positions(m, locked.joint_names, s) for s in (m.q_slices, m.v_slices))
    still = np.zeros(m.nv)
    still[in_v] = 1.0
    whole = setsu.inverse_dynamics(m, q, v * still, a * still)[in_v]
    part = setsu.inverse_dynamics(locked, q[in_q], v[in_v], a[in_v])
    np.testing.assert_allclose(part, whole, rtol=0, atol=1e-13 * max(1.0, np.abs(whole).max()))
    M = setsu.mass_matrix(m, q)[np.ix_(in_v, in_v)]
    np.testing.assert_allclose(setsu.mass_matrix(locked, q[in_q]), M, rtol=0, atol=1e-13 * np.abs(M).max())
    for name in m.body_names:
        J, moved = setsu.point_jacobian(m, q, name)[:, in_v], setsu.point_jacobian(locked, q[in_q], name)
        np.testing.assert_allclose(moved, J, rtol=0, atol=1e-13 * max(1.0, np.abs(J).max()))


def test_a_payload_weighs_what_it_weighs() -> None:
    """Torques change by Jᵀ m (a - g) of the payload's centre, for a point mass."""
    m = seven_joint_arm()
    hand, where, mass = m.body_names[-1], (0.1, 0.02, 0.3), 3.0
    loaded = setsu.with_payload(m, hand, mass, where)
    q, v, a = state(m)
    J, dJ = setsu.point_jacobian(m, q, hand, where), setsu.point_jacobian_rate(m, q, v, hand, where)
    needed = J.T @ (mass * (J @ a + dJ @ v - np.array(m.gravity)))
    change = setsu.inverse_dynamics(loaded, q, v, a) - setsu.inverse_dynamics(m, q, v, a)
    np.testing.assert_allclose(change, needed, rtol=0, atol=1e-12)
    assert loaded.total_mass == pytest.approx(m.total_mass + mass, rel=1e-15)


def test_a_payload_is_a_body_welded_on() -> None:
    m = planar_arm(3)
    inertia = np.diag([0.1, 0.2, 0.15])
    loaded = setsu.with_payload(m, "link3", 2.0, (0.3, 0.1, 0.2), inertia)
    load = setsu.MechanismBuilder("load").add_body("load", mass=2.0, center_of_mass=(0.3, 0.1, 0.2), inertia=inertia)
    welded = setsu.merge(m, load.build(), parent="link3")
    q, v, a = state(m)
    for function in (setsu.inverse_dynamics, setsu.joint_wrenches, setsu.forward_dynamics):
        np.testing.assert_allclose(function(loaded, q, v, a), function(welded, q, v, a), rtol=1e-11, atol=1e-12)


def test_two_arms_on_one_base_do_not_know_of_each_other() -> None:
    """Merged into the world: the mass matrix is block diagonal, and so are torques."""
    one, two = planar_arm(2), seven_joint_arm()
    both = setsu.merge(one, two, placement=setsu.placement((3, 0, 0)), prefix="right_")
    (q1, v1, a1), (q2, v2, a2) = state(one, 1), state(two, 2)
    q, v, a = (np.concatenate(pair) for pair in ((q1, q2), (v1, v2), (a1, a2)))
    alone = np.concatenate([setsu.inverse_dynamics(one, q1, v1, a1), setsu.inverse_dynamics(two, q2, v2, a2)])
    np.testing.assert_allclose(setsu.inverse_dynamics(both, q, v, a), alone, rtol=0, atol=1e-12)
    M = setsu.mass_matrix(both, q)
    np.testing.assert_array_equal(M[:2, 2:], 0.0)
    np.testing.assert_allclose(M[2:, 2:], setsu.mass_matrix(two, q2), rtol=0, atol=1e-13)


def test_an_arm_on_a_body_loads_it_by_its_base_wrench() -> None:
    """Merged onto a floating box: the box needs, at rest, the arm's base wrench more than alone."""
    box, arm = setsu.sample_mechanisms.floating_box(), planar_arm(2)
    both = setsu.merge(box, arm, parent=box.body_names[0])
    q_arm = np.array([0.4, -0.3])
    rest = np.zeros(both.nv)
    q = np.concatenate([box.neutral(), q_arm])
    found = setsu.inverse_dynamics(both, q, rest, rest)
    alone = setsu.inverse_dynamics(box, box.neutral(), np.zeros(6), np.zeros(6))
    wrench = setsu.joint_wrenches(arm, q_arm, np.zeros(2), np.zeros(2), frame="world")[0]
    arm_at = setsu.body_poses(arm, q_arm)[0, :3, 3]
    wrench[3:] += np.cross(arm_at, wrench[:3])
    np.testing.assert_allclose(found[:6], alone + wrench, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[6:], setsu.gravity_torque(arm, q_arm), rtol=0, atol=1e-12)


def test_a_part_cut_out_with_its_joint_is_the_tip_of_a_resting_whole() -> None:
    """With everything before it at rest the cut-out part feels the same torques, gravity turned into its place."""
    m = seven_joint_arm()
    q, v, a = state(m)
    v[:4], a[:4] = 0.0, 0.0
    root = m.body_names[4]
    before = setsu.body_poses(m, q)[3] @ m.moving[4].pose.matrix
    part = setsu.extract(m, root, base="joint", placement=before)
    found = setsu.inverse_dynamics(part, q[4:], v[4:], a[4:])
    np.testing.assert_allclose(found, setsu.inverse_dynamics(m, q, v, a)[4:], rtol=0, atol=1e-12)


def test_other_gravity_is_another_load() -> None:
    """Torques are affine in gravity: g and 2 g differ by what g and none do."""
    m = seven_joint_arm()
    q, v, a = state(m)
    none, once, twice = (
        setsu.inverse_dynamics(setsu.with_gravity(m, k * np.array(m.gravity)), q, v, a) for k in (0.0, 1.0, 2.0)
    )
    np.testing.assert_allclose(twice - once, once - none, rtol=0, atol=1e-12)
    np.testing.assert_allclose(once - none, setsu.gravity_torque(m, q), rtol=0, atol=1e-12)
