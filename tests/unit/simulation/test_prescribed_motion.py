"""Joints driven along a given motion in runs: held to rounding, and the torque it takes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from rounding import opening

import setsu
from setsu.errors import InputError

INTEGRATORS = ("rk4", "rk8", "adaptive", "radau", "semi_implicit")
over_integrators = pytest.mark.parametrize("integrator", INTEGRATORS)
CRANK, ROD = 0.3, 1.0


def crank_motion(t: float) -> tuple[float, float, float]:
    """An uneven turn: coordinate, rate, acceleration."""
    return 5.0 * t + 0.1 * np.sin(3.0 * t), 5.0 + 0.3 * np.cos(3.0 * t), -0.9 * np.sin(3.0 * t)


DRIVE = setsu.Prescribed("crank", crank_motion)


def slider_crank(**options) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("slider crank")
    crank = setsu.Revolute((0, 1, 0), name="crank", **options)
    b.add_body("crank", joint=crank, mass=1.0, center_of_mass=(CRANK / 2, 0, 0), inertia=0.01 * np.eye(3))
    hinge = setsu.Revolute((0, 1, 0), name="rod")
    b.add_body("rod", "crank", hinge, setsu.placement((CRANK, 0, 0)), 1.0, (ROD / 2, 0, 0), 0.1 * np.eye(3))
    b.add_body("piston", joint=setsu.Prismatic((1, 0, 0), name="piston"), mass=2.0)
    b.add_loop("pin", "rod", "piston", setsu.Revolute((0, 1, 0)), setsu.placement((ROD, 0, 0)))
    return b.build()


def start(m: setsu.Mechanism, time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    place, rate, _ = crank_motion(time)
    q = setsu.close_loops(m, [place, -place, CRANK + ROD], fixed=["crank"])
    return q, setsu.consistent_velocity(m, q, [rate, 0, 0], fixed=["crank"])


@over_integrators
def test_the_piston_of_a_driven_crank(integrator: str) -> None:
    """x = r cos θ + sqrt(l² - r² sin² θ), and the torque of the drive is that of inverse dynamics."""
    m = slider_crank()
    rec = setsu.simulate(m, *start(m), 1.0, step=2e-3, integrator=integrator, prescribed=[DRIVE])
    angle, rate, change = np.array([crank_motion(t) for t in rec.time]).T
    np.testing.assert_allclose(rec.q[:, 0], angle, atol=1e-14)
    np.testing.assert_allclose(rec.v[:, 0], rate, atol=1e-14)
    np.testing.assert_allclose(rec.acceleration[:, 0], change, atol=1e-13)
    piston = CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    np.testing.assert_allclose(rec.q[:, 2], piston, atol=1e-14)
    needed = setsu.constrained_inverse_dynamics(m, rec.q, rec.v, rec.acceleration, actuated=["crank"])
    np.testing.assert_allclose(rec.torque, needed.torque, atol=1e-12)
    np.testing.assert_allclose(rec.loop_wrench, needed.loop_wrench, atol=1e-11)
    assert rec.constraint_error.max() <= opening(m, rec.q)
    if integrator != "semi_implicit":
        assert np.abs(rec.ledger.integration).max() < 1e-8


def test_the_torque_of_a_driven_pendulum_is_that_of_inverse_dynamics() -> None:
    """Without loops, with damping and a spring; a torque given beside the drive is part of what the joint gets."""
    b = setsu.MechanismBuilder("pendulum")
    joint = setsu.Revolute((0, 1, 0), name="crank", damping=0.3, stiffness=2.0, armature=0.05, lower=-1.0, upper=1.0)
    m = b.add_body("rod", joint=joint, mass=1.5, center_of_mass=(0, 0, -0.5), inertia=0.1 * np.eye(3)).build()
    q, v = [0.0], [crank_motion(0.0)[1]]
    for torque in (None, [0.7], lambda t, q, v: np.array([np.sin(t)])):
        rec = setsu.simulate(m, q, v, 0.5, step=1e-2, torque=torque, prescribed=[DRIVE], joint_stops=True)
        np.testing.assert_allclose(rec.torque, setsu.inverse_dynamics(m, rec.q, rec.v, rec.acceleration), atol=1e-12)
    np.testing.assert_allclose(rec.q[-1], crank_motion(0.5)[0], atol=1e-14)


def test_the_drive_overcomes_dry_friction() -> None:
    """It swings to and fro: friction changes sides, never holds, and is all in the torque and in the ledger."""
    swing = setsu.Prescribed("crank", lambda t: (0.4 * np.sin(9 * t), 3.6 * np.cos(9 * t), -32.4 * np.sin(9 * t)))
    runs = []
    for coulomb in (0.0, 0.5):
        m = slider_crank(coulomb=coulomb)
        q = setsu.close_loops(m, [0, 0, CRANK + ROD], fixed=["crank"])
        v = setsu.consistent_velocity(m, q, [3.6, 0, 0], fixed=["crank"])
        runs.append(setsu.simulate(m, q, v, 1.0, step=1e-3, prescribed=[swing]))
    plain, rubbing = runs
    np.testing.assert_array_equal(plain.q, rubbing.q)
    expected = plain.torque[:, 0] + 0.5 * np.sign(plain.v[:, 0])
    np.testing.assert_allclose(rubbing.torque[:, 0], expected, atol=1e-13)
    lost = 0.5 * np.trapezoid(np.abs(plain.v[:, 0]), plain.time)
    assert rubbing.ledger.joint_friction[-1] == pytest.approx(-lost, rel=1e-4)
    assert np.abs(rubbing.ledger.integration).max() < 1e-8


def test_what_hangs_on_a_driven_joint_moves_freely() -> None:
    """The others move as constrained_dynamics says of every state."""
    m = setsu.sample_mechanisms.planar_arm(3)
    drive = setsu.Prescribed(
        m.joint_names[1], lambda t: (0.4 * np.sin(4 * t), 1.6 * np.cos(4 * t), -6.4 * np.sin(4 * t))
    )
    rec = setsu.simulate(m, np.zeros(3), [0.0, 1.6, 0.0], 0.5, step=1e-3, prescribed=[drive])
    for k in (0, 137, 500):
        state = rec.q[k], rec.v[k], np.zeros(3)
        now = setsu.constrained_dynamics(m, *state, prescribed=[drive], time=float(rec.time[k]))
        np.testing.assert_allclose(rec.acceleration[k], now.acceleration, atol=1e-10)
        assert rec.torque[k, 1] == pytest.approx(now.prescribed_torque[0], abs=1e-10)
    coarse = setsu.simulate(m, np.zeros(3), [0.0, 1.6, 0.0], 0.5, step=1e-3, prescribed=[drive], integrator="rk8")
    np.testing.assert_allclose(rec.q[-1], coarse.q[-1], atol=1e-9)


def test_a_ball_on_a_driven_turntable_goes_round_in_two_sevenths_of_its_rate() -> None:
    rate, b = 3.0, setsu.MechanismBuilder("turntable")
    b.add_body("table", joint=setsu.Revolute((0, 0, 1), name="spin"), mass=1.0, inertia=np.eye(3))
    b.add_body("ball", joint=setsu.Free(), mass=2.0, inertia=0.4 * 2.0 * 0.1**2 * np.eye(3))
    m = b.add_rolling("contact", "table", "ball", 0.1).build()
    q = np.array([0.0, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    v = setsu.consistent_velocity(m, q, np.array([rate, 0.4, 0.1, 0, 0, 0, 0]), fixed=["spin"])
    spin = setsu.Prescribed("spin", lambda t: (rate * t, rate, 0.0))
    rec = setsu.simulate(m, q, v, 2 * np.pi / (2 / 7 * rate), step=2e-3, integrator="rk8", prescribed=[spin])
    np.testing.assert_allclose(rec.q[-1, 1:4], q[1:4], atol=1e-11)


def test_many_loops_with_one_drive() -> None:
    """Sparse factors: a row of four-bars whose first crank is driven."""
    m = setsu.sample_mechanisms.n_four_bar(4)
    q = setsu.close_loops(m, m.reference_configuration())
    joint = m.joint_names[0]
    v = setsu.consistent_velocity(m, q, np.ones(m.nv), fixed=[joint])
    drive = setsu.Prescribed(joint, lambda t: (q[0] + t + t * t, 1.0 + 2.0 * t, 2.0))
    rec = setsu.simulate(m, q, v, 0.5, step=1e-3, prescribed=[drive])
    np.testing.assert_allclose(rec.q[:, 0], q[0] + rec.time + rec.time**2, atol=1e-14)
    needed = setsu.constrained_inverse_dynamics(m, rec.q, rec.v, rec.acceleration, actuated=[joint])
    np.testing.assert_allclose(rec.torque, needed.torque, atol=1e-9)


def test_steps_are_a_run_and_worlds_are_single_runs() -> None:
    m = slider_crank()
    q, v = start(m)
    rec = setsu.simulate(m, q, v, 0.05, step=1e-2, prescribed=[DRIVE])
    sim = setsu.Simulator(m, step=1e-2, prescribed=[DRIVE])
    sim.reset(q, v)
    for _ in range(5):
        sim.step()
    np.testing.assert_array_equal(sim.q, rec.q[-1])
    np.testing.assert_array_equal(sim.torque, rec.torque[-1])
    many = setsu.simulate(m, np.tile(q, (3, 1)), np.tile(v, (3, 1)), 0.05, step=1e-2, prescribed=[DRIVE], threads=2)
    for k in range(3):
        np.testing.assert_array_equal(many.q[k], rec.q)
        np.testing.assert_array_equal(many.torque[k], rec.torque)


def test_worlds_at_different_times_and_restored_ones() -> None:
    m = slider_crank()
    sim = setsu.Simulator(m, step=1e-2, prescribed=[DRIVE], count=2)
    sim.reset(*(np.tile(x, (2, 1)) for x in start(m)))
    sim.reset(*(x[None] for x in start(m, 0.7)), time=0.7, rows=[1])
    sim.step(steps=3)
    np.testing.assert_allclose(sim.q[:, 0], [crank_motion(0.03)[0], crank_motion(0.73)[0]], atol=1e-14)
    kept = sim.save()
    sim.step(steps=4)
    there = sim.q
    other = setsu.Simulator(m, step=1e-2, prescribed=[DRIVE], count=2)
    other.restore(kept)
    other.step(steps=4)
    np.testing.assert_array_equal(other.q, there)


def test_a_loop_opens_while_its_crank_is_driven() -> None:
    m = slider_crank()
    opens = [setsu.OpenLoop(0.1, "pin")]
    rec = setsu.simulate(m, *start(m), 0.3, step=1e-3, prescribed=[DRIVE], events=opens)
    np.testing.assert_allclose(rec.q[:, 0], [crank_motion(t)[0] for t in rec.time], atol=1e-14)
    assert np.ptp(rec.v[-100:, 2]) < 1e-12  # the piston is free


def test_a_drive_goes_on_through_an_impact() -> None:
    """A slider that is driven carries a mass, which falls onto a surface."""
    b = setsu.MechanismBuilder("cart")
    b.add_body("cart", joint=setsu.Prismatic((1, 0, 0), name="cart"), mass=1.0)
    b.add_body("weight", "cart", setsu.Prismatic((0, 0, 1), name="fall"), mass=1.0)
    floor = setsu.SurfaceContact("weight", (0, 0, 0), setsu.Plane((0.6, 0, 0.8), -0.1))
    drive = setsu.Prescribed("cart", lambda t: (0.5 * t, 0.5, 0.0))
    rec = setsu.simulate(b.build(), [0, 0], [0.5, 0], 0.5, step=1e-3, contacts=[floor], prescribed=[drive])
    np.testing.assert_allclose(rec.q[:, 0], 0.5 * rec.time, atol=1e-14)
    np.testing.assert_allclose(rec.v[:, 0], 0.5, atol=1e-14)
    # It slides down the slope 0.6 x + 0.8 z = -0.1 as the cart goes on.
    assert rec.v[-1, 1] == pytest.approx(-0.6 * 0.5 / 0.8, abs=1e-12)


def test_baumgarte_drifts_but_follows() -> None:
    m = slider_crank()
    rec = setsu.simulate(m, *start(m), 0.5, step=1e-3, prescribed=[DRIVE], baumgarte=50.0)
    np.testing.assert_allclose(rec.q[:, 0], [crank_motion(t)[0] for t in rec.time], atol=1e-6)


@pytest.mark.parametrize(
    ("prescribed", "message"),
    [
        (setsu.Prescribed("crank", crank_motion), "expected setsu.Prescribed records"),
        (["crank"], "expected setsu.Prescribed records"),
        ([setsu.Prescribed("cranc", crank_motion)], "unknown joint 'cranc'"),
        ([DRIVE, DRIVE], "driven twice"),
        ([setsu.Prescribed("crank", lambda t: t)], "coordinate, rate and acceleration"),
        ([setsu.Prescribed("crank", lambda t: (1.0, 0.0, 0.0))], "q0 of joint .crank. is 0.*at 1"),
        ([setsu.Prescribed("crank", lambda t: (0.0, 1.0, 0.0))], "v0 of joint .crank. is 5.3.*1"),
        ([DRIVE, setsu.Prescribed("rod", lambda t: (0.0, -6.89, 0.0))], "cannot be driven at once"),
    ],
)
def test_bad_drives_are_named(prescribed, message: str) -> None:
    m = slider_crank()
    with pytest.raises(InputError, match=message):
        setsu.simulate(m, *start(m), 0.1, prescribed=prescribed)


def test_a_motion_that_ends_in_no_number_stops_the_run() -> None:
    m = slider_crank()
    bad = setsu.Prescribed("crank", lambda t: crank_motion(t) if t < 0.05 else (np.nan, 0.0, 0.0))
    with pytest.raises(setsu.SimulationStopped, match=r"three finite numbers, at t = 0\.05") as stop:
        setsu.simulate(m, *start(m), 0.1, step=1e-2, prescribed=[bad])
    assert len(stop.value.recording.time) >= 4


def test_what_drives_cannot_be_combined_with_is_refused() -> None:
    m = slider_crank(bearing_friction=0.1, bearing_radius=0.01)
    with pytest.raises(InputError, match="bearing friction"):
        setsu.simulate(m, *start(m), 0.1, prescribed=[DRIVE])


@pytest.mark.parametrize("environment", [None, setsu.Environment.floor()])
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda t: (2.0 * t, 0.0, 0.0), "rate of joint"),
        (lambda t: (np.sin(3.0 * t), 3.0 * np.cos(3.0 * t), 0.0), "acceleration of joint"),
        (lambda t: (np.sin(3.0 * t), 3.0 * np.cos(3.0 * t), -9.0 * np.sin(3.0 * t)), None),
        (lambda t: (abs(t - 0.05), 1.0 if t > 0.05 else -1.0, 0.0), None),  # turns round at once
        (lambda t: (0.0, 0.0, 0.0), None),
    ],
)
def test_rates_and_accelerations_that_do_not_fit_are_named(function, said, environment) -> None:  # type: ignore[no-untyped-def]
    b = setsu.MechanismBuilder("slide")
    b.add_body("a", joint=setsu.Prismatic((1, 0, 0), "x"), mass=1.0)
    b.add_body("b", "a", joint=setsu.Revolute((0, 1, 0), "y"), mass=1.0, center_of_mass=(0, 0, 0.3))
    m = b.build()
    start, rate, _ = function(0.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run = setsu.simulate(
            m, [start, 0.1], [rate, 0.0], 0.1, 1e-3, prescribed=[setsu.Prescribed("x", function)],
            environment=environment,
        )  # fmt: skip
    assert np.isfinite(run.q).all()
    named = [str(each.message) for each in found if "does not fit" in str(each.message)]
    assert len(named) == (said is not None), named
    assert said is None or said in named[0]
