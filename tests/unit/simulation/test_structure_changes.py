"""Loops that close and open in mid-run: plastic impact, its impulse and loss; nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import four_bar

# Two discs on one axis: the textbook clutch.
INERTIA = (0.5, 0.2)


def clutch() -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("clutch")
    for name, inertia in zip(("motor", "load"), INERTIA, strict=True):
        builder.add_body(name, joint=setsu.Revolute((0, 0, 1), name), mass=1.0, inertia=np.eye(3) * inertia)
    builder.add_loop("grip", "motor", "load", setsu.Fixed())
    return builder.build()


def test_a_clutch_keeps_the_momentum_and_loses_the_slip_energy() -> None:
    """ω' = (I1 ω1 + I2 ω2)/(I1 + I2); loss ½ I1 I2/(I1 + I2) (ω1 - ω2)²."""
    events = [setsu.CloseLoop(0.2, "grip", here=True), setsu.OpenLoop(0.4, "grip")]
    run = setsu.simulate(clutch(), [0, 0], [10.0, 0.0], 0.6, 0.01, events=events)
    close, release = run.events
    common, lost = 5.0 / 0.7, 0.5 * 0.1 / 0.7 * 100.0
    assert np.allclose(run.v[run.time > 0.205], common, atol=1e-12)
    assert close.energy_lost == pytest.approx(lost, rel=1e-12)
    assert close.velocity_jump == pytest.approx([common - 10.0, common])
    assert np.abs(close.impulse).max() == pytest.approx(0.2 * common)
    assert release.kind == "open"
    assert release.energy_lost == pytest.approx(0.0, abs=1e-12)
    assert run.ledger.impacts[-1] == pytest.approx(-lost, rel=1e-12)
    assert np.abs(run.loop_wrench[run.time < 0.195]).max() == 0.0
    # Joined where they were: the turn of 2 rad between the discs stays.
    slip = run.q[:, 0] - run.q[:, 1]
    assert slip[run.time > 0.205] == pytest.approx(2.0, abs=1e-12)


def test_opening_a_loop_gives_the_motion_of_the_open_mechanism() -> None:
    m = four_bar()
    v0 = setsu.consistent_velocity(m, m.neutral(), [2.0, 0.0, 0.0], fixed=["crank"])
    run = setsu.simulate(m, m.neutral(), v0, 0.2, 0.01, events=[setsu.OpenLoop(0.1, "pin")])
    tree = setsu.MechanismBuilder("tree")
    for body in m.bodies:
        tree.add_body(
            body.name, body.parent, body.joint, placement=body.pose.matrix, mass=body.mass,
            center_of_mass=body.center_of_mass, inertia=body.inertia_matrix,
        )  # fmt: skip
    half = int(np.argmin(np.abs(run.time - 0.1)))
    free = setsu.simulate(tree.build(), run.q[half], run.v[half], 0.1, 0.01)
    assert np.abs(free.q - run.q[half:]).max() < 1e-12


def test_catching_a_pendulum_is_as_plastic_as_its_formula() -> None:
    """A bar hinged at one end, caught at the other by a pin: it stops; all kinetic energy is lost."""
    builder = setsu.MechanismBuilder("bar")
    builder.add_body(
        "bar", joint=setsu.Revolute((0, 1, 0), "hinge"), mass=3.0, center_of_mass=(0, 0, -0.5),
        inertia=np.eye(3) * 3.0 / 12,
    )  # fmt: skip
    builder.add_loop("catch", "bar", "world", setsu.Spherical(), placement_a=setsu.placement((0, 0, -1.0)))
    m = builder.build()
    run = setsu.simulate(m, [1.0], [0.0], 0.4, 0.01, events=[setsu.CloseLoop(0.3, "catch", here=True)])
    (caught,) = run.events
    before = run.v[run.time < 0.3][-1, 0]
    assert abs(before) > 1.0
    assert np.abs(run.v[run.time > 0.305]).max() < 1e-12
    assert caught.energy_lost == pytest.approx(0.5 * (3.0 / 12 + 3.0 * 0.25) * caught.velocity_jump[0] ** 2, rel=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "rk8", "radau", "adaptive", "semi_implicit"])
def test_every_integrator_holds_loops_to_rounding(integrator: str) -> None:
    m = four_bar()
    v0 = setsu.consistent_velocity(m, m.neutral(), [2.0, 0.0, 0.0], fixed=["crank"])
    run = setsu.simulate(m, m.neutral(), v0, 0.2, 0.02, integrator=integrator)
    assert run.constraint_error.max() < 1e-14
    rows = setsu.constraints.constraint_system(m).evaluate(run.q, run.v)
    assert np.abs(rows.jacobian @ run.v[..., None]).max() < 1e-13
    exact = setsu.constrained_dynamics(m, run.q, run.v, run.torque)
    assert np.abs(exact.acceleration - run.acceleration).max() < 1e-9
    assert np.abs(exact.loop_wrench - run.loop_wrench).max() < 1e-9
    assert np.abs(exact.joint_wrenches - run.joint_wrenches).max() < 1e-9


def test_baumgarte_drifts_and_projection_does_not() -> None:
    m = four_bar()
    v0 = setsu.consistent_velocity(m, m.neutral(), [2.0, 0.0, 0.0], fixed=["crank"])
    drifting = setsu.simulate(m, m.neutral(), v0, 0.3, 0.01, baumgarte=10.0)
    assert 1e-12 < drifting.constraint_error.max() < 1e-4
