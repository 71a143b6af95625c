"""What the record of minimum parameters promises: values, names, regrouping, invariances, refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import setsu
from setsu.mechanism.native_text import from_text, to_text

samples = setsu.sample_mechanisms


def test_matrix_times_parameters_gives_values() -> None:
    m = samples.puma560()
    p = setsu.minimum_parameters(m)
    np.testing.assert_allclose(p.matrix @ setsu.inertial_parameters(m), p.values, rtol=0, atol=0)
    assert p.count == len(p.names) == len(p.independent) == 36
    assert len(set(p.names)) == 36


def test_torques_from_minimum_parameters_are_the_inverse_dynamics() -> None:
    m = samples.planar_arm(3)
    p = setsu.minimum_parameters(m)
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 50, 3))
    torque = np.einsum("nij,j->ni", p.regressor(q, v, a), p.values)
    np.testing.assert_allclose(torque, setsu.inverse_dynamics(m, q, v, a), atol=1e-12)
    np.testing.assert_allclose(setsu.regressor(m, q, v, a) @ p.full_parameters(), torque, atol=1e-12)


def test_driven_torques_of_a_closed_arm_need_only_the_minimum_parameters() -> None:
    """Inverse dynamics of the loop with the minimum parameters in place of the true ones: the same drive torques."""
    m = samples.two_joint_parallelogram(vertical=True, named=False)
    p = setsu.minimum_parameters(m)
    rng = np.random.default_rng(1)
    q = setsu.close_loops(m, p.reference)
    v = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv))
    motion = setsu.constrained_dynamics(m, q, v, rng.standard_normal(m.nv))
    a = motion.acceleration
    true = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=["joint1", "joint1p"]).torque
    tree_torque = p.regressor(q, v, a) @ p.values
    # τ = Jᵀ τ_o with q_o = (θ1, θ2, θ1', θ2') = (θ1, θ1' - θ1, θ1', θ1 - θ1') up to constants.
    J = np.array([[1, 0], [-1, 1], [0, 1], [1, -1]])
    np.testing.assert_allclose(J.T @ tree_torque, true[[0, 2]], atol=1e-12)


def test_parameters_of_a_free_body_are_all_needed() -> None:
    p = setsu.minimum_parameters(samples.floating_box())
    assert p.count == 10
    assert p.without_effect == ()


def test_joint_types_together() -> None:
    """Closed forms: a ball joint passes on the mass, a slide all six moments, a fixed body everything."""
    builder = setsu.MechanismBuilder("mixed")
    builder.add_body("base", joint=setsu.Free(), mass=1.0)
    builder.add_body("ball", "base", setsu.Spherical(), setsu.placement((0.1, 0.2, 0.3)), mass=1.0)
    builder.add_body("slide", "ball", setsu.Prismatic((1, 0, 0)), setsu.placement((0.3, 0, 0.1)), mass=1.0)
    builder.add_body("tool", "slide", setsu.Fixed(), setsu.placement((0, 0, 1)), mass=1.0)
    p = setsu.minimum_parameters(builder.build())
    assert p.count == 10 + 9 + 4
    assert "M_base + M_ball" in p.names
    assert "Ixy_ball + Ixy_slide" in p.names
    assert p.method == "identity"
    assert p.torque_error() <= 1e-12


def test_gear_and_rack_share_one_inertia() -> None:
    """J = I1 + I2 (1/3)² + m r² for q2 = q1/3, x = r q1."""
    builder = setsu.MechanismBuilder("gears", gravity=(0, 0, 0))
    builder.add_body("pinion", joint=setsu.Revolute((0, 1, 0), "j1"), mass=1.0)
    builder.add_body("wheel", joint=setsu.Revolute((0, 1, 0), "j2"), placement=setsu.placement((0.3, 0, 0)), mass=1.0)
    builder.add_body("rack", joint=setsu.Prismatic((1, 0, 0), "j3"), mass=1.0)
    builder.add_coupling("gear", {"j1": 1.0, "j2": -3.0}, 0.3).add_coupling("teeth", {"j1": 0.05, "j3": -1.0})
    p = setsu.minimum_parameters(builder.build())
    assert p.names == ("Iyy_pinion + 1/9*Iyy_wheel + 0.0025*M_rack",)
    assert p.torque_error() <= 1e-12


def test_screw() -> None:
    """A nut on a screw has one parameter without gravity: I + pitch² m."""
    builder = setsu.MechanismBuilder("screw", gravity=(0, 0, 0))
    builder.add_body("nut", joint=setsu.Helical((0, 0, 1), pitch=0.02), mass=1.0)
    assert setsu.minimum_parameters(builder.build()).names == ("Izz_nut + 0.0004*M_nut",)


def test_named_angle_stays_a_name() -> None:
    alpha, a = setsu.symbol("alpha", 0.5), setsu.symbol("a", 0.3)
    arm = setsu.from_dh([(0.0, 0.0, 0.0, 0.0), (alpha, a, 0.0, 0.0)])
    p = setsu.minimum_parameters(arm)
    assert any("sin(alpha)" in name for name in p.names)
    assert not any("tan" in name for name in p.names)  # as a person writes it
    assert p.count == setsu.minimum_parameters(arm, exact=False).count
    assert p.torque_error() <= 1e-12
    plain = setsu.minimum_parameters(setsu.from_dh([(0.0, 0.0, 0.0, 0.0), (0.5, 0.3, 0.0, 0.0)]))
    np.testing.assert_allclose(p.matrix, plain.matrix, atol=1e-13)


def test_names_survive_the_file() -> None:
    arm = samples.two_joint_parallelogram()
    again = from_text(to_text(arm))
    assert setsu.minimum_parameters(again).names == setsu.minimum_parameters(arm).names


def test_special_values_of_names_are_told() -> None:
    """A named length of value zero has fewer parameters than its name promises: a warning says so."""
    a = setsu.symbol("a", 0.0)
    arm = setsu.from_dh([(0.0, 0.0, 0.0, 0.0), (math.pi / 2, a, 0.0, 0.0), (0.0, a, 0.0, 0.0)], gravity=(0, 0, 0))
    with pytest.warns(setsu.ModelWarning, match="special relation"):
        p = setsu.minimum_parameters(arm)
    assert p.count > setsu.minimum_parameters(arm, exact=False).count


def test_count_does_not_depend_on_orientation_or_body_frames() -> None:
    """Turn the world with gravity: the same count; the robot is the same."""
    turn = setsu.placement((1.0, 2.0, 3.0), rpy=(0.3, -0.2, 0.9))
    arm = samples.puma560()
    moved = setsu.merge(
        setsu.MechanismBuilder("turned", gravity=turn[:3, :3] @ np.array(arm.gravity)).build(), arm, placement=turn
    )
    assert setsu.minimum_parameters(moved, exact=False).count == 36


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_exact_and_numeric_agree(seed: int) -> None:
    tree = samples.random_tree(seed, n_bodies=4)
    exact, numeric = setsu.minimum_parameters(tree), setsu.minimum_parameters(tree, exact=False)
    assert exact.count == numeric.count
    assert max(exact.torque_error(), numeric.torque_error()) <= 1e-12


def test_spatial_loops_are_decided_in_extended_precision() -> None:
    p = setsu.minimum_parameters(samples.spatial_slider_crank())
    assert (p.method, p.count) == ("extended", 11)
    assert p.torque_error() <= 1e-12


def test_texts() -> None:
    p = setsu.minimum_parameters(samples.two_joint_parallelogram())
    assert r"MS_{x,2} - \frac{a_{2p}}{a_{2}}\,MS_{x,2p}" in p.to_latex()
    told = json.loads(p.to_json())
    assert told["count"] == 4
    assert told["parameters"][1]["terms"] == [["+", "MSx_2"], ["-a2p/a2", "MSx_2p"]]
    assert str(p).splitlines()[1] == "2  MSx_2 - a2p/a2*MSx_2p"


def test_refusals() -> None:
    with pytest.raises(setsu.InputError, match="expected a Mechanism"):
        setsu.minimum_parameters("robot")  # type: ignore[arg-type]
    arm = samples.two_joint_parallelogram()
    with pytest.raises(setsu.InputError, match="q"):
        setsu.minimum_parameters(arm, q=[0.0, math.nan, 0.0, 0.0])
    with pytest.raises(setsu.InputError, match="one configuration"):
        setsu.minimum_parameters(arm, q=np.zeros((2, 4)))
    with pytest.raises(setsu.InputError, match="determine all others"):
        setsu.serial_equivalence(arm, "link1")
    with pytest.raises(setsu.InputError, match="moving body"):
        setsu.serial_equivalence(arm, "world")
    with pytest.raises(setsu.InputError, match="cut"):
        samples.six_joint_parallelogram_arm(cut="5")
    with pytest.raises(setsu.InputError, match="above 0"):
        samples.two_joint_parallelogram(a2=0.0)
