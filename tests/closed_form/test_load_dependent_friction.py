"""Friction that depends on a joint's own load, against closed forms of levers, sliders and linkages.

Lever: uniform rod of mass m and length l on a journal of radius r, swinging in a vertical plane. With ω the rate, g
along -z and θ from the horizontal, the bearing carries
    radial (along the rod)  F_r = -m (l/2) ω² - m g sin θ  (on the rod, along it, up to sign)
    across                  F_t = m (l/2) α + m g cos θ
and the drive has to give  τ = (m l²/3) α + m g (l/2) cos θ + sign(ω) μ r (sqrt(F_r² + F_t²) + P).
"""

from __future__ import annotations

import numpy as np
import pytest

import setsu

MASS, LENGTH, MU, RADIUS, PRELOAD, G = 2.0, 0.8, 0.2, 0.03, 5.0, 9.81


def _lever(**options: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("lever")
    rod = MASS * LENGTH**2 / 12.0
    joint = setsu.Revolute((0, -1, 0), name="hinge", **options)
    b.add_body(
        "rod", parent="world", joint=joint, mass=MASS, center_of_mass=(LENGTH / 2, 0, 0), inertia=np.diag([0, rod, rod])
    )
    return b.build()


def _friction(theta: float, omega: float, alpha: float) -> float:
    radial = MASS * (G * np.sin(theta) - LENGTH / 2 * omega**2)
    across = MASS * (LENGTH / 2 * alpha + G * np.cos(theta))
    return float(np.sign(omega) * MU * RADIUS * (np.hypot(radial, across) + PRELOAD))


@pytest.mark.parametrize(("theta", "omega", "alpha"), [(0.3, 1.2, -0.7), (-1.0, -2.0, 3.0), (0.4, 0.0, 1.0)])
def test_the_drive_of_a_lever_overcomes_its_journal(theta: float, omega: float, alpha: float) -> None:
    m = _lever(bearing_friction=MU, bearing_radius=RADIUS, preload=PRELOAD)
    frictionless = MASS * LENGTH**2 / 3 * alpha + MASS * G * LENGTH / 2 * np.cos(theta)
    tau = setsu.inverse_dynamics(m, [theta], [omega], [alpha])
    assert tau[0] == pytest.approx(frictionless + _friction(theta, omega, alpha), rel=1e-13)
    assert setsu.forward_dynamics(m, [theta], [omega], tau)[0] == pytest.approx(alpha, rel=1e-12)


def test_batches_equal_single_states_and_all_methods_agree() -> None:
    m = _lever(bearing_friction=MU, bearing_radius=RADIUS, preload=PRELOAD)
    rng = np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, 6, 1))
    tau = setsu.inverse_dynamics(m, q, v, a)
    np.testing.assert_array_equal(tau[2], setsu.inverse_dynamics(m, q[2], v[2], a[2]))
    for method in ("articulated_body", "composite_body", "unit_vector"):
        np.testing.assert_allclose(setsu.forward_dynamics(m, q, v, tau, method=method), a, rtol=1e-11, atol=1e-11)


def test_a_sliding_block_is_braked_by_its_weight_and_preload() -> None:
    b = setsu.MechanismBuilder("block")
    joint = setsu.Prismatic((1, 0, 0), name="slide", bearing_friction=0.3, preload=4.0)
    b.add_body("block", parent="world", joint=joint, mass=2.0, inertia=np.eye(3))
    m = b.build()
    assert setsu.inverse_dynamics(m, [0.0], [0.5], [0.0])[0] == pytest.approx(0.3 * (2.0 * G + 4.0))
    rec = setsu.simulate(m, [0.0], [1.0], duration=0.1, step=0.01)
    deceleration = 0.3 * (2.0 * G + 4.0) / 2.0
    assert rec.q[-1, 0] == pytest.approx(0.1 - deceleration * 0.1**2 / 2, rel=1e-12)
    assert np.abs(rec.ledger.integration).max() < 1e-12


def _slider_crank(**options: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("slider-crank")
    y = (0, 1, 0)
    rod = np.diag([1e-3, 2e-2, 2e-2])
    b.add_body("crank", parent="world", joint=setsu.Revolute(y, name="crank", **options), mass=0.5, inertia=rod,
               center_of_mass=(0.1, 0, 0))  # fmt: skip
    b.add_body("rod", parent="crank", joint=setsu.Revolute(y, name="wrist", **options), mass=0.4, inertia=rod,
               placement=setsu.placement(translation=(0.2, 0, 0)), center_of_mass=(0.25, 0, 0))  # fmt: skip
    b.add_body("piston", parent="rod", joint=setsu.Revolute(y, name="pin", **options), mass=1.0, inertia=rod,
               placement=setsu.placement(translation=(0.5, 0, 0)))  # fmt: skip
    b.add_loop("bore", body_a="world", body_b="piston", joint=setsu.Prismatic((1, 0, 0)))
    return b.build()


def test_the_power_of_a_slider_crank_goes_into_its_bearings_and_bore() -> None:
    m = _slider_crank(bearing_friction=0.15, bearing_radius=0.012, preload=3.0)
    q = setsu.close_loops(m, [0.7, -1.0, 0.3], fixed=["crank"])
    v = setsu.consistent_velocity(m, q, [3.0, 0.0, 0.0], fixed=["crank"])
    tau = np.array([4.0, 0.0, 0.0])
    r = setsu.constrained_dynamics(m, q, v, tau, frame="body")
    # The loads that came out must be those the friction was computed with.
    loads = np.hypot(r.joint_wrenches[:, 0], r.joint_wrenches[:, 2]) + 3.0
    friction = np.sign(v) * 0.15 * 0.012 * loads
    smooth = setsu.constrained_dynamics(_slider_crank(), q, v, tau - friction)
    np.testing.assert_allclose(r.acceleration, smooth.acceleration, rtol=1e-10)
    back = setsu.constrained_inverse_dynamics(m, q, v, r.acceleration, actuated=["crank"])
    assert back.torque[0] == pytest.approx(4.0, rel=1e-9)


def test_a_run_of_a_slider_crank_keeps_its_energy_ledger_closed() -> None:
    m = _slider_crank(bearing_friction=0.15, bearing_radius=0.012, preload=3.0)
    q = setsu.close_loops(m, [0.7, -1.0, 0.3], fixed=["crank"])
    v = setsu.consistent_velocity(m, q, [3.0, 0.0, 0.0], fixed=["crank"])
    rec = setsu.simulate(m, q, v, duration=0.05, step=1e-3)
    assert rec.ledger.joint_friction[-1] < -1e-3
    assert np.abs(rec.ledger.integration).max() < 1e-7
    assert rec.constraint_error.max() < 1e-12


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(setsu.InputError, match="expected a Revolute or Prismatic joint"):
        setsu.Spherical(name="ball", bearing_friction=0.1)
    with pytest.raises(setsu.InputError, match="bearing_radius: expected a positive radius"):
        setsu.Revolute(name="hinge", bearing_friction=0.1)
    jamming = _lever(bearing_friction=5.0, bearing_radius=0.6)
    with pytest.raises(setsu.InputError, match="jams"):
        setsu.forward_dynamics(jamming, [0.3], [1.0], [0.0])
    with pytest.raises(setsu.InputError, match="depends on its load"):
        setsu.compile(_lever(bearing_friction=MU, bearing_radius=RADIUS), ["forward_dynamics"])


def test_bearings_survive_the_text_format() -> None:
    m = _lever(bearing_friction=MU, bearing_radius=RADIUS, preload=PRELOAD)
    from setsu.mechanism.native_text import from_text, to_text

    assert from_text(to_text(m)) == m
