"""Rods, points on curves and rolling as constraints of a mechanism, against closed forms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from rounding import opening
from scipy.special import ellipk

import setsu
from setsu.constraints import constraint_system
from setsu.errors import InputError, ModelFileError, ModelWarning
from setsu.sample_mechanisms import random_tree

G = 9.81
INTEGRATORS = {"rk4": 1e-9, "rk8": 1e-13, "adaptive": 1e-11, "radau": 1e-11, "semi_implicit": 5e-3}
"""What one second with a step of 1 ms may miss the closed forms below by, m: the order of each method."""
over_integrators = pytest.mark.parametrize("integrator", INTEGRATORS)
FIXED = np.array([0.0, 0.0, 0.0, 1.0])


def free_body(name: str, inertia: float = 0.1) -> setsu.MechanismBuilder:
    return setsu.MechanismBuilder(name).add_body("body", joint=setsu.Free(), mass=2.0, inertia=inertia * np.eye(3))


def pendulum(length: float = 2.0) -> setsu.Mechanism:
    return free_body("pendulum").add_distance("rod", "world", (0, 0, 1), "body", (0, 0, 0), length).build()


def swung(angle: float, rate: float = 0.0, length: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """State of the pendulum at an angle from below."""
    q = np.array([length * np.sin(angle), 0.0, 1.0 - length * np.cos(angle), *FIXED])
    return q, length * rate * np.array([np.cos(angle), 0.0, np.sin(angle), 0.0, 0.0, 0.0])


def bead() -> setsu.Mechanism:
    return free_body("bead").add_point_on_curve("wire", "world", ("z - x**2", "y"), "body").build()


def rolling(shape: str, slope: float) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray]:
    """A ball or disc at rest on an incline, its state, and the way down."""
    part = {"disc": 0.5, "ball": 0.4}[shape]
    normal, down = np.array([np.sin(slope), 0, np.cos(slope)]), np.array([np.cos(slope), 0, -np.sin(slope)])
    b = free_body(shape, part * 2.0 * 0.3**2)
    axis = (0, 1, 0) if shape == "disc" else None
    b.add_rolling("contact", "world", "body", 0.3, axis=axis, point=(1, 0, 2), normal=normal)
    return b.build(), np.array([*(np.array([1, 0, 2]) + 0.3 * normal), *FIXED]), down


def everything() -> setsu.Mechanism:
    """All kinds between the bodies of a floating tree."""
    tree = random_tree(3, n_bodies=8, floating_base=True)
    names, b = tree.body_names, setsu.MechanismBuilder.of(tree)
    b.add_distance("rod", names[2], (0.1, 0.2, 0.3), names[6], (0.3, 0.1, 0), 1.3)
    b.add_point_on_curve("wire", names[1], ("x**2 + y**2/3 + z - 1", "sin(x) + z*y + 0.2"), names[5], (0.1, 0, 0.2))
    b.add_rolling("ball", names[2], names[7], 0.3, center=(0.1, 0.1, 0.1), normal=(0.1, 0.3, 0.8))
    b.add_rolling("disc", "world", names[4], 0.3, center=(0.1, 0.1, 0.1), axis=(1, 0.3, 0.2), normal=(0.1, 0.3, 0.8))
    b.add_rolling("on", names[0], names[7], 0.3, on_radius=0.4)
    b.add_rolling("in", names[3], names[5], 0.3, on_radius=-1.4, point=(0.2, 0.3, 0.4))
    return b.build()


def test_rows_are_derivatives_of_errors_and_their_rates() -> None:
    """At any velocity. Rows without slip have no position error; a curve's error has its row as slope on the curve."""
    m = everything()
    system, rng, h = constraint_system(m), np.random.default_rng(3), 1e-6
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    ahead, behind = (setsu.integrate(m, q, v, way) for way in (h, -h))
    J, gamma, error, names = system.evaluate(q, v)
    rate = (setsu.loop_error(m, ahead) - setsu.loop_error(m, behind)) / (2 * h)
    slips, wire = np.array(["slip" in name for name in names]), np.array(["wire" in name for name in names])
    np.testing.assert_allclose((J @ v)[~slips & ~wire], rate[~slips & ~wire], atol=1e-7)
    np.testing.assert_array_equal(error[slips], 0.0)
    change = (system.evaluate(ahead, v).jacobian - system.evaluate(behind, v).jacobian) @ v / (2 * h)
    np.testing.assert_allclose(gamma, change, atol=1e-7)


def test_the_rows_of_a_curve_are_the_slopes_of_its_errors_on_it() -> None:
    m, h = bead(), 1e-6
    q, v = setsu.close_loops(m, [0.5, 0.2, 0.1, *FIXED]), np.random.default_rng(0).standard_normal(m.nv)
    ahead, behind = (setsu.integrate(m, q, v, way) for way in (h, -h))
    rate = (setsu.loop_error(m, ahead) - setsu.loop_error(m, behind)) / (2 * h)
    np.testing.assert_allclose(constraint_system(m).evaluate(q, v).jacobian @ v, rate, atol=1e-8)


def test_files_hold_them_exactly(tmp_path) -> None:
    m = everything()
    m.save(tmp_path / "m.toml")
    assert setsu.load(tmp_path / "m.toml") == m


def test_other_formats_say_what_they_leave_out(tmp_path) -> None:
    for name in ("m.xml", "m.urdf"):
        b = setsu.MechanismBuilder("arm").add_body("arm", joint=setsu.Revolute((0, 1, 0)), mass=1.0, inertia=np.eye(3))
        m = b.add_distance("rod", "world", (0, 0, 1), "arm", (1, 0, 0), 1.5).build()
        with pytest.warns(ModelWarning, match='loop "rod".*Distance'):
            m.save(tmp_path / name)


# A rod --------------------------------------------------------------------------------------------------------------


def test_a_mass_on_a_rod_is_the_point_pendulum() -> None:
    """θ'' = -g/l sin θ, rod force m (g cos θ + l θ'²) towards the pivot."""
    m, angle, rate = pendulum(), 1.2, 0.7
    q, v = swung(angle, rate)
    along, towards = np.array([np.cos(angle), 0, np.sin(angle)]), np.array([-np.sin(angle), 0, np.cos(angle)])
    r = setsu.constrained_dynamics(m, q, v, np.zeros(6))
    expected = -G * np.sin(angle) * along + 2.0 * rate**2 * towards
    np.testing.assert_allclose(r.acceleration[:3], expected, atol=1e-13)
    force = 2.0 * (G * np.cos(angle) + 2.0 * rate**2) * towards
    np.testing.assert_allclose(r.loop_wrench[0], [*force, 0, 0, 0], atol=1e-13)
    inverse = setsu.constrained_inverse_dynamics(m, q, v, r.acceleration, actuated=[])
    np.testing.assert_allclose(inverse.loop_wrench, r.loop_wrench, atol=1e-12)
    assert setsu.degrees_of_freedom(m, q) == 5
    assert setsu.constraint_report(m, q).redundant == ()
    assert abs(setsu.loop_error(m, setsu.close_loops(m, [1, 0.2, 0.3, *FIXED]))).max() < 1e-14


@over_integrators
def test_it_swings_with_the_period_of_the_elliptic_integral(integrator: str) -> None:
    m, angle = pendulum(), 1.2
    period = 4.0 * np.sqrt(2.0 / G) * ellipk(np.sin(angle / 2) ** 2)
    q, v = swung(angle)
    rec = setsu.simulate(m, q, v, period, step=period / 2000, integrator=integrator)
    assert np.abs(rec.q[-1] - q).max() < 4.0 * INTEGRATORS[integrator]
    assert rec.constraint_error.max() <= opening(m, rec.q, c=16.0)  # rows are differences of squares
    towards = np.array([-np.sin(angle), 0, np.cos(angle)])
    np.testing.assert_allclose(rec.loop_wrench[0, 0, :3], 2.0 * G * np.cos(angle) * towards, atol=1e-12)


def test_a_rod_breaks_and_ties_by_events() -> None:
    m = pendulum()
    q, v = swung(1.2)
    cut = setsu.simulate(m, q, v, 0.3, step=1e-3, events=[setsu.OpenLoop(0.0, "rod")])
    np.testing.assert_allclose(cut.q[-1, :3] - q[:3], [0, 0, -0.5 * G * 0.3**2], atol=1e-12)
    with pytest.raises(InputError, match="Distance cannot be joined where the bodies are"):
        setsu.simulate(m, q, v, 0.3, events=[setsu.CloseLoop(0.1, "rod", here=True)])


# A curve ------------------------------------------------------------------------------------------------------------


def test_a_bead_on_a_parabola() -> None:
    """z = x²: x'' (1 + 4 x²) + 4 x x'² + 2 g x = 0, and the force is what is left of Newton's law."""
    m, x, u = bead(), 0.6, 0.8
    q, v = np.array([x, 0, x * x, *FIXED]), np.array([u, 0, 2 * x * u, 0, 0, 0])
    r = setsu.constrained_dynamics(m, q, v, np.zeros(6))
    a = -(4 * x * u * u + 2 * G * x) / (1 + 4 * x * x)
    np.testing.assert_allclose(r.acceleration, [a, 0, 2 * u * u + 2 * x * a, 0, 0, 0], atol=1e-13)
    np.testing.assert_allclose(r.loop_wrench[0, :3], 2.0 * (r.acceleration[:3] + np.array([0, 0, G])), atol=1e-13)
    assert setsu.degrees_of_freedom(m, q) == 4


@over_integrators
def test_a_bead_on_a_circle_swings_as_a_pendulum(integrator: str) -> None:
    m = free_body("ring").add_point_on_curve("wire", "world", ("x**2 + (z - 1)**2 - 4", "y"), "body").build()
    rod, (q, v) = pendulum(), swung(1.2)
    rec, other = (setsu.simulate(one, q, v, 1.0, step=1e-3, integrator=integrator) for one in (m, rod))
    assert np.abs(rec.q - other.q).max() < 10.0 * INTEGRATORS[integrator]
    assert rec.constraint_error.max() <= opening(m, rec.q, c=16.0)  # rows are differences of squares


# Rolling ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "part"), [("disc", 2 / 3), ("ball", 5 / 7)])
def test_down_an_incline(shape: str, part: float) -> None:
    """a = 2/3 g sin α for a disc, 5/7 for a ball; N = m g cos α, friction (1 - part) m g sin α up the slope."""
    slope = 0.3
    m, q, down = rolling(shape, slope)
    r = setsu.constrained_dynamics(m, q, np.zeros(6), np.zeros(6))
    assert r.acceleration[:3] @ down == pytest.approx(part * G * np.sin(slope), abs=1e-13)
    up = np.array([np.sin(slope), 0, np.cos(slope)])
    force = 2.0 * G * (np.cos(slope) * up - (1 - part) * np.sin(slope) * down)
    np.testing.assert_allclose(r.loop_wrench[0, :3], force, atol=1e-12)
    np.testing.assert_allclose(r.loop_wrench[0, 3:], np.cross(-0.3 * up, force), atol=1e-12)
    assert setsu.degrees_of_freedom(m, q) == 3
    for integrator, accuracy in INTEGRATORS.items():
        rec = setsu.simulate(m, q, np.zeros(6), 1.0, step=1e-3, integrator=integrator)
        assert (rec.q[-1] - q)[:3] @ down == pytest.approx(0.5 * part * G * np.sin(slope), abs=accuracy)
        assert rec.constraint_error.max() <= opening(m, rec.q, c=16.0)  # rows are differences of squares


def test_a_disc_rolls_in_a_ring_as_a_pendulum_of_another_length() -> None:
    """θ'' = -2/3 g / (R - r) sin θ, exactly."""
    b = setsu.MechanismBuilder("ring", gravity=(0, -G, 0))
    b.add_body("disc", joint=setsu.Planar((0, 0, 1)), mass=2.0, inertia=0.5 * 2.0 * 0.3**2 * np.eye(3))
    m = b.add_rolling("contact", "world", "disc", 0.3, on_radius=-2.3).build()
    angle = 1.2
    q = np.array([2.0 * np.sin(angle), -2.0 * np.cos(angle), 0.0])
    period = 4.0 * np.sqrt(1.5 * 2.0 / G) * ellipk(np.sin(angle / 2) ** 2)
    assert setsu.constraint_report(m, q).redundant == ('loop "contact": slip aside',)
    rec = setsu.simulate(m, q, np.zeros(3), period, step=period / 500, integrator="rk8")
    np.testing.assert_allclose(rec.q[-1], q, atol=1e-11)
    # It turns by (R - r)/r against the way it goes.
    np.testing.assert_allclose(rec.q[:, 2], -(np.arctan2(rec.q[:, 0], -rec.q[:, 1]) - angle) * 2.0 / 0.3, atol=1e-11)


def test_a_ball_on_a_turntable_goes_round_in_two_sevenths_of_its_rate() -> None:
    """A ball that rolls on a turning plane moves on a circle with 2/7 of the plane's rate, wherever it begins."""
    rate, b = 3.0, setsu.MechanismBuilder("turntable")
    b.add_body("table", joint=setsu.Revolute((0, 0, 1), name="spin"), mass=1.0, inertia=1e9 * np.eye(3))
    b.add_body("ball", joint=setsu.Free(), mass=2.0, inertia=0.4 * 2.0 * 0.1**2 * np.eye(3))
    m = b.add_rolling("contact", "table", "ball", 0.1).build()
    q = np.array([0.0, 0.5, 0.0, 0.1, *FIXED])
    v = setsu.consistent_velocity(m, q, np.array([rate, 0.4, 0.1, 0, 0, 0, 0]), fixed=["spin"])
    rec = setsu.simulate(m, q, v, 2 * np.pi / (2 / 7 * rate), step=2e-3, integrator="rk8")
    np.testing.assert_allclose(rec.q[-1, 1:4], q[1:4], atol=1e-8)
    assert np.ptp(rec.q[:, 3]) < 1e-14
    x, y, _ = setsu.body_velocities(m, rec.q[0], rec.v[0])[1, :3]
    center = q[1:3] + np.array([-y, x]) / (2 / 7 * rate)
    away = np.linalg.norm(rec.q[:, 1:3] - center, axis=1)
    np.testing.assert_allclose(away, away[0], rtol=1e-8)


def test_a_tilted_disc_on_its_steady_circle() -> None:
    """Moments about the point of contact (Routh): 3/2 ω Ω cos α - 1/4 Ω² sin α cos α + g/r sin α = 0.

    α tilt from upright, Ω rate of turning about the vertical, ω rate about the disc's own axis, r its radius.
    """
    b = setsu.MechanismBuilder("coin")
    b.add_body("x", joint=setsu.Prismatic((1, 0, 0)))
    b.add_body("y", "x", setsu.Prismatic((0, 1, 0)))
    b.add_body("z", "y", setsu.Prismatic((0, 0, 1)))
    b.add_body("heading", "z", setsu.Revolute((0, 0, 1), name="heading"))
    b.add_body("lean", "heading", setsu.Revolute((1, 0, 0), name="lean"))
    b.add_body(
        "coin", "lean", setsu.Revolute((0, 1, 0), name="spin"), mass=1.0, inertia=0.25 * 0.09 * np.diag([1, 2, 1])
    )
    m = b.add_rolling("contact", "world", "coin", 0.3, axis=(0, 1, 0)).build()
    lean, turn, r = 0.4, 2.0, 0.3
    q = setsu.close_loops(m, [0, 0, r * np.cos(lean), 0, lean, 0], fixed=["heading", "lean"])
    assert q[2] == pytest.approx(r * np.cos(lean), abs=1e-14)

    def lean_acceleration(spin: float) -> float:
        v = setsu.consistent_velocity(m, q, [0, 0, 0, turn, 0, spin], fixed=["heading", "lean", "spin"])
        return float(setsu.constrained_dynamics(m, q, v, np.zeros(6)).acceleration[4])

    # The acceleration is linear in the spin.
    at = lean_acceleration(0.0)
    spin = -at / (lean_acceleration(1.0) - at)
    along = spin + turn * np.sin(lean)
    balance = 1.5 * along * turn * np.cos(lean) - 0.25 * turn**2 * np.sin(lean) * np.cos(lean) + G / r * np.sin(lean)
    assert balance == pytest.approx(0.0, abs=1e-10)
    v = setsu.consistent_velocity(m, q, [0, 0, 0, turn, 0, spin], fixed=["heading", "lean", "spin"])
    rec = setsu.simulate(m, q, v, 1.0, step=1e-3, integrator="rk8")
    np.testing.assert_allclose(rec.v[:, 3:], np.tile([turn, 0, spin], (len(rec.v), 1)), atol=1e-9)
    assert np.ptp(rec.energy) < 1e-11


def test_worlds_of_a_batch_are_single_runs() -> None:
    m, q, _ = rolling("ball", 0.2)
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (3, 1)), np.array([setsu.consistent_velocity(m, q, rng.standard_normal(6)) for _ in range(3)])
    many = setsu.simulate(m, Q, V, 0.1, step=1e-2)
    for k in range(3):
        np.testing.assert_array_equal(many.q[k], setsu.simulate(m, Q[k], V[k], 0.1, step=1e-2).q)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_masses_do_not_change_motions_without_forces_of_their_own(scale: float) -> None:
    for m, q in ((pendulum(), swung(1.2)[0]), (rolling("disc", 0.3)[0], rolling("disc", 0.3)[1])):
        body = m.bodies[0]
        other = dataclasses.replace(
            m,
            bodies=(dataclasses.replace(body, mass=scale * body.mass, inertia=tuple(scale * x for x in body.inertia)),),
        )
        one, two = (setsu.simulate(each, q, np.zeros(6), 0.2, step=1e-2) for each in (m, other))
        np.testing.assert_allclose(one.q, two.q, atol=1e-12)
        np.testing.assert_allclose(scale * one.loop_wrench, two.loop_wrench, rtol=1e-9, atol=1e-9 * scale)


def test_an_environment_takes_them_too() -> None:
    m, q, down = rolling("ball", 0.3)
    b = setsu.MechanismBuilder.of(m).add_contact_points("body", [(0, 0, 0)])
    ground = setsu.Environment([setsu.Polygon([(-9, -9, -50), (9, -9, -50), (0, 9, -50)])])
    rec = setsu.simulate(b.build(), q, np.zeros(6), 0.5, step=1e-3, environment=ground)
    assert (rec.q[-1] - q)[:3] @ down == pytest.approx(0.125 * 5 / 7 * G * np.sin(0.3), abs=2e-3)
    assert rec.constraint_error.max() < 1e-10


# Bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.add_distance("rod", "world", (0, 0, 0), "body", (0, 0, 0), 0.0), "length: expected a positive"),
        (lambda b: b.add_distance("rod", "world", (0, 0, 0), "nobody", (0, 0, 0), 1.0), "body_b: expected a body"),
        (lambda b: b.add_distance("rod", "body", (0, 0, 0), "body", (0, 0, 0), 1.0), "two different bodies"),
        (lambda b: b.add_point_on_curve("c", "world", "z - x**2", "body"), "expected two expressions"),
        (lambda b: b.add_point_on_curve("c", "world", ("z - x**2", "w"), "body"), "expression in x, y, z"),
        (lambda b: b.add_point_on_curve("c", "world", ("z -", "y"), "body"), "cannot read"),
        (lambda b: b.add_rolling("r", "world", "body", -1.0), "radius: expected a positive"),
        (lambda b: b.add_rolling("r", "world", "body", 1.0, normal=(0, 0, 0)), "normal"),
        (lambda b: b.add_rolling("r", "world", "body", 1.0, axis=(0, 1, 0), on_radius=2.0), "rolls on a plane"),
        (lambda b: b.add_rolling("r", "world", "body", 2.0, on_radius=-1.0), "below 1 m"),
        (lambda b: b.add_body("two", joint=setsu.mechanism.Distance(length=1.0)), "expected a joint such as"),
    ],
)
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(free_body("b"))


def test_a_file_with_a_bad_constraint_is_refused(tmp_path) -> None:
    path = tmp_path / "m.toml"
    pendulum().save(path)
    path.write_text(path.read_text().replace("length = 2.0", "length = -2.0"))
    with pytest.raises(ModelFileError, match="length"):
        setsu.load(path)


def test_what_cannot_have_them_says_so() -> None:
    m = pendulum()
    with pytest.raises(InputError, match='loop "rod" is closed by Distance'):
        setsu.generate(m, "constrained_dynamics")
    with pytest.raises(InputError, match="closed by Distance"):
        setsu.constrained_dynamics_derivatives(m, *swung(1.2), np.zeros(6))
    with pytest.raises(InputError, match="closed by Distance"):
        setsu.move_cut(m, "rod", "body_joint")
