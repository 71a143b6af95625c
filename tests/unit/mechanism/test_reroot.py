"""A mechanism looks the same from each of its bodies: poses, velocities and energy of a state do not change."""

import numpy as np
import pytest
from unit.mechanism.kinematics_by_hand import kinetic_energy, poses_and_velocities

from setsu.errors import InputError
from setsu.mechanism import JOINT_TYPES, Free, MechanismBuilder, Planar, Revolute, Spherical, reroot
from setsu.sample_mechanisms import four_bar, planar_arm, random_tree


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_every_body_keeps_pose_and_velocity_in_the_world(seed, floating):
    rng = np.random.default_rng(seed)
    m = random_tree(seed, n_bodies=12, joint_types=JOINT_TYPES, floating_base=floating, branching=0.3)
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    old_poses, old_velocities = poses_and_velocities(m, q, v)
    for root in ("body1", "body7", "body12"):
        result = reroot(m, root)
        new_q, new_v = result.convert(q, v)
        poses, velocities = poses_and_velocities(result.mechanism, new_q, new_v)
        for body in m.bodies:
            np.testing.assert_allclose(poses[body.name], old_poses[body.name], atol=1e-12)
            np.testing.assert_allclose(velocities[body.name], old_velocities[body.name], atol=1e-10)
        assert kinetic_energy(result.mechanism, new_q, new_v) == pytest.approx(kinetic_energy(m, q, v), rel=1e-11)
        assert result.mechanism.total_mass == pytest.approx(m.total_mass, rel=1e-15)


def test_a_fixed_base_keeps_poses_relative_to_the_new_root():
    m = random_tree(3, n_bodies=8)
    q = m.random_configuration(5)
    result = reroot(m, "body8", base="fixed")
    new_q, _ = result.convert(q)
    old, _ = poses_and_velocities(m, q)
    new, _ = poses_and_velocities(result.mechanism, new_q)
    for body in m.bodies:
        np.testing.assert_allclose(new[body.name], np.linalg.inv(old["body8"]) @ old[body.name], atol=1e-12)
    np.testing.assert_allclose(new["old_world"], np.linalg.inv(old["body8"]), atol=1e-12)


def test_a_floating_mechanism_keeps_its_velocity_count_and_its_world():
    m = random_tree(1, n_bodies=6, floating_base=True)
    result = reroot(m, "body4")
    assert result.mechanism.nv == m.nv
    assert "old_world" not in result.mechanism.frames


def test_loops_and_springs_to_the_world_move_to_the_body_that_was_the_world():
    builder = MechanismBuilder("m").add_body("a", joint=Revolute()).add_body("b", "a", Revolute())
    builder.add_loop("l", "world", "b", Spherical()).add_spring("s", "a", (0, 0, 0), "world", (1, 0, 0), 5.0)
    m = reroot(builder.build(), "b", world_body="ground").mechanism
    assert (m.loops[0].body_a, m.loops[0].body_b) == ("ground", "b")
    assert (m.springs[0].body_a, m.springs[0].body_b) == ("a", "ground")
    assert reroot(four_bar(), "coupler").mechanism.loops == four_bar().loops


def test_joint_options_travel_with_the_reversed_joint():
    m = reroot(planar_arm(2, damping=0.3, armature=0.1), "link2").mechanism
    assert m.damping.tolist() == [0.0] * 6 + [0.3, 0.3]
    assert m.armature.tolist() == [0.0] * 6 + [0.1, 0.1]


def test_options_without_a_counterpart_are_refused_by_name():
    builder = (
        MechanismBuilder("m").add_body("a", joint=Planar(name="slide", damping=1.0)).add_body("b", "a", Revolute())
    )
    with pytest.raises(InputError, match='damping of the Planar joint "slide"'):
        reroot(builder.build(), "b")
    floating = MechanismBuilder("m").add_body("a", joint=Free(damping=1.0)).build()
    with pytest.raises(InputError, match="damping of the Free joint"):
        reroot(floating, "a")


def test_unknown_root_and_base_are_refused():
    with pytest.raises(InputError, match="link1"):
        reroot(planar_arm(2), "link9")
    with pytest.raises(InputError, match="the world"):
        reroot(planar_arm(2), "world")
    with pytest.raises(InputError, match='"floating" or "fixed"'):
        reroot(planar_arm(2), "link1", base="flying")  # type: ignore[arg-type]
