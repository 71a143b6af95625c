"""Surgery changes what it says and nothing else: bodies that stay keep pose, velocity and mass."""

import dataclasses

import numpy as np
import pytest
from unit.mechanism.kinematics_by_hand import center_of_mass, kinetic_energy, poses_and_velocities

from setsu.errors import InputError, ModelWarning
from setsu.mechanism import (
    JOINT_TYPES,
    Fixed,
    Free,
    Mechanism,
    MechanismBuilder,
    Revolute,
    Spherical,
    extract,
    inertia_report,
    lock_joints,
    merge,
    repaired,
    with_gravity,
    with_payload,
)
from setsu.sample_mechanisms import floating_box, four_bar, planar_arm, random_tree
from setsu.spatial import placement


def connected() -> Mechanism:
    """Two arms on the world with a loop, a spring, a coupling and contacts."""
    builder = MechanismBuilder("m")
    builder.add_body("a1", joint=Revolute(name="ja1"), mass=1.0).add_body("a2", "a1", Revolute(name="ja2"), mass=2.0)
    builder.add_body("b1", joint=Revolute(name="jb1"), mass=3.0).add_body("b2", "b1", Revolute(name="jb2"), mass=4.0)
    builder.add_loop("pin", "a2", "b2", Spherical()).add_loop("inner", "a1", "a2", Spherical())
    builder.add_spring("k", "a1", (1, 0, 0), "world", (0, 1, 0), 5.0)
    builder.add_coupling("gear", {"ja1": 2.0, "ja2": -1.0}, offset=0.5)
    return builder.add_contact_points("a2", [(0, 0, 0)]).add_contact_points("b2", [(0, 0, 0)]).build()


@pytest.mark.parametrize("seed", range(10))
def test_a_locked_mechanism_moves_as_the_free_one_with_those_joints_still(seed):
    rng = np.random.default_rng(seed)
    m = random_tree(seed, n_bodies=12, joint_types=JOINT_TYPES)
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    locked_names = [name for name in m.joint_names if rng.random() < 0.4]
    for name in locked_names:
        v[m.v_slices[m.joint_index(name)]] = 0.0
    locked = lock_joints(m, locked_names, q)
    new_q = np.concatenate([q[m.q_slices[m.joint_index(name)]] for name in locked.joint_names])
    new_v = np.concatenate([v[m.v_slices[m.joint_index(name)]] for name in locked.joint_names])
    assert set(locked.joint_names) == set(m.joint_names) - set(locked_names)
    old_poses, old_velocities = poses_and_velocities(m, q, v)
    new_poses, new_velocities = poses_and_velocities(locked, new_q, new_v)
    for body in m.bodies:
        np.testing.assert_allclose(new_poses[body.name], old_poses[body.name], atol=1e-12)
        np.testing.assert_allclose(new_velocities[body.name], old_velocities[body.name], atol=1e-11)
    assert kinetic_energy(locked, new_q, new_v) == pytest.approx(kinetic_energy(m, q, v), rel=1e-12)


def test_locking_by_value_equals_locking_at_a_configuration_that_holds_it():
    m = planar_arm(3)
    assert lock_joints(m, {"joint2": 0.5}) == lock_joints(m, ["joint2"], [9.0, 0.5, 9.0])
    assert lock_joints(m, ["joint2"]) == lock_joints(m, {"joint2": 0.0})
    ball = MechanismBuilder("m").add_body("a", joint=Spherical(name="s")).build()
    half = np.sqrt(0.5)
    assert lock_joints(ball, {"s": (0, 0, half, half)}).bodies[0].pose.matrix[0, 1] == pytest.approx(-1.0)
    with pytest.raises(InputError, match="expected a quaternion x y z w of length 1"):
        lock_joints(ball, {"s": (0, 0, 1, 1)})


def test_a_locked_joint_becomes_part_of_the_offset_of_its_couplings():
    m = lock_joints(connected(), {"ja1": 0.3})
    assert m.couplings[0].factors == (("ja2", -1.0),)
    assert m.couplings[0].offset == pytest.approx(0.5 + 2.0 * 0.3)
    assert lock_joints(connected(), {"ja1": 0.3, "ja2": 1.1}).couplings == ()
    with pytest.raises(InputError, match='coupling "gear" does not hold'):
        lock_joints(connected(), {"ja1": 0.3, "ja2": 1.0})


def test_bad_locks_are_refused():
    with pytest.raises(InputError, match="joint2"):
        lock_joints(planar_arm(2), ["joint22"])
    with pytest.raises(InputError, match='joint "joint1": expected 1 numbers'):
        lock_joints(planar_arm(2), {"joint1": (1.0, 2.0)})
    with pytest.raises(InputError, match="got the text"):
        lock_joints(planar_arm(2), "joint1")
    with pytest.raises(InputError, match="lock_joints q: expected 2 numbers"):
        lock_joints(planar_arm(2), ["joint1"], [0.0])


@pytest.mark.parametrize("seed", range(6))
def test_a_part_keeps_its_poses_relative_to_its_root(seed):
    m = random_tree(seed, n_bodies=12, branching=0.4)
    q = m.random_configuration(seed)
    part = extract(m, "body3")
    new_q = np.concatenate([[], *(q[m.q_slices[m.joint_index(name)]] for name in part.joint_names)])
    old, _ = poses_and_velocities(m, q)
    new, _ = poses_and_velocities(part, new_q)
    for body in part.bodies:
        np.testing.assert_allclose(new[body.name], np.linalg.inv(old["body3"]) @ old[body.name], atol=1e-12)
    below = {"body3"}
    for body in m.bodies:
        below |= {body.name} if body.parent in below else set()
    assert {body.name for body in part.bodies} == below


def test_the_base_of_a_part_is_as_asked():
    m = planar_arm(3)
    assert extract(m, "link2", base="floating").nv == 7
    assert isinstance(extract(m, "link2", base="floating").bodies[0].joint, Free)
    assert extract(m, "link2", base="joint").joint_names == ("joint2", "joint3")
    part = extract(m, "link2", base="fixed", placement=placement((1, 2, 3)))
    assert isinstance(part.bodies[0].joint, Fixed)
    assert part.bodies[0].pose.translation == (1.0, 2.0, 3.0)
    assert extract(m, "link1", without=["link3"]).joint_names == ("joint2",)


def test_what_reaches_outside_a_part_is_refused_or_dropped_with_a_list():
    with pytest.raises(
        InputError,
        match=r'drop=True to leave out loop "pin" \(it reaches b2\); coupling "gear" \(it reaches ja1\); '
        r'spring "k" \(it reaches world\)',
    ):
        extract(connected(), "a1")
    with pytest.warns(ModelWarning, match='left out loop "pin"'):
        part = extract(connected(), "a1", base="joint", drop=True)
    assert [loop.name for loop in part.loops] == ["inner"]
    assert [coupling.name for coupling in part.couplings] == ["gear"]
    assert part.springs == ()
    assert [point.body for point in part.contact_points] == ["a2"]


def test_bad_parts_are_refused():
    with pytest.raises(InputError, match="got the world"):
        extract(planar_arm(2), "world")
    with pytest.raises(InputError, match="unknown body"):
        extract(planar_arm(2), "link7")
    with pytest.raises(InputError, match="is the root"):
        extract(planar_arm(2), "link1", without=["link1"])
    with pytest.raises(InputError, match='"fixed", "floating" or "joint"'):
        extract(planar_arm(2), "link1", base="loose")  # type: ignore[arg-type]


def test_a_merged_mechanism_stands_where_it_was_put():
    host, guest = planar_arm(2), random_tree(1, n_bodies=5)
    mount = placement((0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    both = merge(host, guest, parent="tip", placement=mount, prefix="g_")
    q_host, q_guest = host.random_configuration(0), guest.random_configuration(1)
    together, _ = poses_and_velocities(both, np.concatenate([q_host, q_guest]))
    alone, _ = poses_and_velocities(guest, q_guest)
    for body in guest.bodies:
        np.testing.assert_allclose(together[f"g_{body.name}"], together["tip"] @ mount @ alone[body.name], atol=1e-12)
    assert both.total_mass == pytest.approx(host.total_mass + guest.total_mass)
    assert both.gravity == host.gravity


def test_what_stood_in_the_world_stands_on_the_new_parent():
    mount = placement((0, 0, 1), rpy=(0, 0, np.pi / 2))
    both = merge(planar_arm(2), connected(), parent="tip", placement=mount, prefix="x_")
    spring = both.springs[0]
    assert (spring.name, spring.body_a, spring.body_b, spring.point_b) == ("x_k", "x_a1", "tip", (-1.0, 0.0, 1.0))
    assert both.couplings[0].factors == (("x_ja1", 2.0), ("x_ja2", -1.0))
    assert (both.loops[0].name, both.loops[0].body_a, both.loops[0].joint.name) == ("x_pin", "x_a2", "x_pin")
    assert both.contact_points[0].body == "x_a2"


def test_equal_names_are_refused():
    with pytest.raises(InputError, match="both mechanisms have a body of the name link1, link2, tip; give a prefix"):
        merge(planar_arm(2), planar_arm(2))


def test_merging_and_cutting_out_again_gives_back_the_part():
    guest = four_bar()
    both = merge(MechanismBuilder("host").add_body("plate").build(), guest, parent="plate")
    part = extract(both, "plate")
    assert part.bodies[1:] == tuple(
        body if body.parent != "world" else type(body)(**{**vars(body), "parent": "plate"}) for body in guest.bodies
    )
    assert part.loops == guest.loops


@pytest.mark.parametrize("seed", range(5))
def test_a_payload_acts_as_a_second_body_fixed_there(seed):
    rng = np.random.default_rng(seed)
    m = random_tree(seed, n_bodies=6)
    center, inertia = rng.standard_normal(3), np.diag([0.1, 0.2, 0.25])
    loaded = with_payload(m, "body4", 2.5, center, inertia)
    load = MechanismBuilder("load").add_body("load", mass=2.5, center_of_mass=center, inertia=inertia).build()
    beside = merge(m, load, parent="body4")
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    assert kinetic_energy(loaded, q, v) == pytest.approx(kinetic_energy(beside, q, v), rel=1e-13)
    np.testing.assert_allclose(center_of_mass(loaded, q), center_of_mass(beside, q), atol=1e-13)


def test_bad_payloads_are_refused():
    with pytest.raises(InputError, match="mass: expected at least 0"):
        with_payload(planar_arm(2), "tip", -1.0)
    with pytest.raises(InputError, match="unknown body"):
        with_payload(planar_arm(2), "top", 1.0)
    with pytest.raises(InputError, match="3x3"):
        with_payload(planar_arm(2), "tip", 1.0, inertia=np.eye(2))


def test_gravity_is_all_that_changes():
    moon = with_gravity(floating_box(), (0, 0, -1.62))
    assert moon.gravity == (0.0, 0.0, -1.62)
    assert with_gravity(moon, floating_box().gravity) == floating_box()
    with pytest.raises(InputError, match="gravity: expected 3 numbers"):
        with_gravity(moon, 9.81)


def test_repair_changes_the_wrong_inertias_only_and_tells_which():
    builder = MechanismBuilder("m").add_body("good", mass=1.0, inertia=np.eye(3))
    with pytest.warns(ModelWarning):
        builder.add_body("bad", mass=1.0, inertia=np.diag([1.0, 1.0, 4.0]))
    m = builder.build()
    result = repaired(m)
    assert result.mechanism.bodies[0] == m.bodies[0]
    bad = result.mechanism.bodies[1]
    assert inertia_report(bad.mass, bad.center_of_mass, bad.inertia_matrix).valid
    assert result.changes == (
        'body "bad": Ixx + Iyy >= Izz violated: 1 + 1 < 4; principal moments 1, 1, 4 became 2, 2, 4 kg m²',
    )
    assert repaired(result.mechanism).changes == ()


def test_the_argument_is_left_as_it_was():
    m = connected()
    before = m.digest
    lock_joints(m, ["ja1"], m.neutral())
    merge(m, m, parent="a2", prefix="x_")
    with_payload(m, "a1", 1.0)
    assert Mechanism(*m.content).digest == before  # type: ignore[arg-type]


def test_replace_takes_placements_as_the_builder_does():
    m = four_bar()
    T = placement((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    body = dataclasses.replace(m.bodies[0], pose=T)
    np.testing.assert_allclose(body.pose.matrix, T, atol=1e-15)
    assert dataclasses.replace(m.bodies[0], pose=m.bodies[0].pose) == m.bodies[0]
    assert dataclasses.replace(m.loops[0], pose_b=m.loops[0].pose_b.matrix) == m.loops[0]
    with pytest.raises(InputError, match=r'body "\w+" pose: expected a 4x4 placement, got an array of shape \(3, 3\)'):
        dataclasses.replace(m.bodies[0], pose=np.eye(3))
