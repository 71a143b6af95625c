"""Single joints with one body against elementary mechanics. SI units."""

import numpy as np
import pytest

import setsu

G = 9.81
MASS = 2.5
INERTIA = np.diag([0.02, 0.03, 0.045])


def one_body(joint: setsu.Joint, center: tuple[float, float, float] = (0, 0, 0), gravity: float = G) -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("one body", gravity=(0, 0, -gravity))
    builder.add_body("body", joint=joint, mass=MASS, center_of_mass=center, inertia=INERTIA)
    return builder.build()


def test_elevator() -> None:
    """Prismatic, upwards: F = m (g + a), whatever the speed; off the vertical only the component along the rail."""
    m = one_body(setsu.Prismatic((0, 0, 1)))
    assert setsu.inverse_dynamics(m, [3.0], [2.0], [1.5])[0] == pytest.approx(MASS * (G + 1.5), rel=1e-15)
    tilt = np.radians(30)
    m = one_body(setsu.Prismatic((np.cos(tilt), 0, np.sin(tilt)), coulomb=4.0))
    up, down = (setsu.forward_dynamics(m, [0.0], [v], [0.0])[0] for v in (1.0, -1.0))
    assert up == pytest.approx(-G / 2 - 4.0 / MASS, rel=1e-14)
    assert down == pytest.approx(-G / 2 + 4.0 / MASS, rel=1e-14)


def test_screw() -> None:
    """Helical, pitch p m/rad, axis up: tau = (I + m p²) a + m g p; one turn lifts by 2 π p."""
    p = 0.02 / (2 * np.pi)
    m = one_body(setsu.Helical((0, 0, 1), pitch=p))
    tau = setsu.inverse_dynamics(m, [0.7], [5.0], [3.0])[0]
    assert tau == pytest.approx((0.045 + MASS * p**2) * 3.0 + MASS * G * p, rel=1e-14)
    assert setsu.body_poses(m, [2 * np.pi])[0, 2, 3] == pytest.approx(0.02, rel=1e-14)


def test_cylindrical() -> None:
    """Travel and turn about an axis through the centre of mass do not know of each other."""
    m = one_body(setsu.Cylindrical((0, 0, 1)))
    tau = setsu.inverse_dynamics(m, [0.4, 1.0], [2.0, 30.0], [0.5, 7.0])
    np.testing.assert_allclose(tau, [MASS * (G + 0.5), 0.045 * 7.0], rtol=1e-14)


def test_puck_on_a_plane() -> None:
    """Planar, centre of mass at r from the origin: m (ax - r α sin θ - r ω² cos θ) and so on; the plane is level."""
    r, theta, w = 0.3, 0.8, 4.0
    m = one_body(setsu.Planar((0, 0, 1)), center=(r, 0, 0))
    x, y, alpha = 1.1, -0.6, 2.0
    ax = x - r * alpha * np.sin(theta) - r * w**2 * np.cos(theta)
    ay = y + r * alpha * np.cos(theta) - r * w**2 * np.sin(theta)
    moment = 0.045 * alpha + MASS * r * (np.cos(theta) * ay - np.sin(theta) * ax)
    tau = setsu.inverse_dynamics(m, [0.2, 0.5, theta], [7.0, -3.0, w], [x, y, alpha])
    np.testing.assert_allclose(tau, [MASS * ax, MASS * ay, moment], rtol=1e-13)
    wrench = setsu.joint_wrenches(m, [0.2, 0.5, theta], [0, 0, 0], [0, 0, 0])[0]
    assert wrench[2] == pytest.approx(MASS * G, rel=1e-14)  # the plane carries the weight


def test_universal() -> None:
    """Axes z, then x carried along: ω = (v2, v1 sin q2, v1 cos q2) in the body; T = ½ ω · I ω."""
    m = one_body(setsu.Universal((0, 0, 1), second_axis=(1, 0, 0)))
    q2, v1, v2 = 0.9, 3.0, -2.0
    omega = np.array([v2, v1 * np.sin(q2), v1 * np.cos(q2)])
    assert setsu.kinetic_energy(m, [0.3, q2], [v1, v2]) == pytest.approx(0.5 * omega @ INERTIA @ omega, rel=1e-14)
    # Lagrange: M11 = Iy sin² + Iz cos², M22 = Ix, centrifugal terms from dM11/dq2 = 2 (Iy - Iz) sin cos.
    Ix, Iy, Iz = np.diag(INERTIA)
    s, c = np.sin(q2), np.cos(q2)
    half = (Iy - Iz) * s * c
    expected = [(Iy * s**2 + Iz * c**2) * 1.5 + 2 * half * v1 * v2, Ix * 0.7 - half * v1**2]
    np.testing.assert_allclose(setsu.inverse_dynamics(m, [0.3, q2], [v1, v2], [1.5, 0.7]), expected, rtol=1e-13)


def test_gyroscopic_moment() -> None:
    """A wheel spinning at ω about x, turned about z at Ω: the bearing gives the moment I ω Ω about y."""
    builder = setsu.MechanismBuilder("gyroscope", gravity=(0, 0, 0))
    builder.add_body("yoke", joint=setsu.Revolute((0, 0, 1)))
    builder.add_body("wheel", "yoke", setsu.Revolute((1, 0, 0)), mass=1.0, inertia=np.diag([0.04, 0.02, 0.02]))
    m = builder.build()
    spin, turn = 200.0, 3.0
    wrench = setsu.joint_wrenches(m, [0.0, 0.0], [turn, spin], [0.0, 0.0], frame="world")[1]
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0.04 * spin * turn, 0], atol=1e-12)


def test_free_fall() -> None:
    """No force: the centre of mass accelerates by g, the body turns by Euler's equations I dω = -ω x I ω."""
    m = one_body(setsu.Free())
    rng = np.random.default_rng(0)
    q, v = m.random_configuration(rng), rng.standard_normal(6)
    a = setsu.forward_dynamics(m, q, v, np.zeros(6))
    omega = v[3:]
    np.testing.assert_allclose(a[3:], -np.linalg.solve(INERTIA, np.cross(omega, INERTIA @ omega)), rtol=1e-12)
    world = setsu.body_accelerations(m, q, v, a)[0]
    np.testing.assert_allclose(world[:3], [0, 0, -G], atol=1e-13)


def test_symmetric_top_precesses_at_the_known_rate() -> None:
    """I1 = I2: ω turns about the axis of symmetry, seen from the body, at (I3 - I1)/I1 ω3."""
    builder = setsu.MechanismBuilder("top", gravity=(0, 0, 0))
    builder.add_body("top", joint=setsu.Spherical(), mass=1.0, inertia=np.diag([0.02, 0.02, 0.03]))
    omega = np.array([0.5, 0.0, 40.0])
    a = setsu.forward_dynamics(builder.build(), [0, 0, 0, 1], omega, np.zeros(3))
    rate = (0.03 - 0.02) / 0.02 * 40.0
    np.testing.assert_allclose(a, [0.0, rate * 0.5, 0.0], atol=1e-13)


def test_geared_drive() -> None:
    """A rotor of J behind a gear of ratio r adds r² J to the inertia the joint feels, and nothing to any wrench."""
    ratio, rotor = 100.0, 2e-5
    plain, geared = (one_body(setsu.Revolute((0, 0, 1), armature=x)) for x in (0.0, ratio**2 * rotor))
    assert setsu.mass_matrix(geared, [0.0])[0, 0] == pytest.approx(0.045 + 0.2, rel=1e-14)
    state = ([0.3], [2.0], [5.0])
    np.testing.assert_array_equal(setsu.joint_wrenches(plain, *state), setsu.joint_wrenches(geared, *state))


def test_a_disc_on_a_turntable_feels_coriolis_force() -> None:
    """A block sliding out at u on a table turning at Ω needs the side force 2 m Ω u and the centripetal -m Ω² r."""
    builder = setsu.MechanismBuilder("turntable", gravity=(0, 0, 0))
    builder.add_body("table", joint=setsu.Revolute((0, 0, 1)))
    builder.add_body("block", "table", setsu.Prismatic((1, 0, 0)), mass=1.7)
    m = builder.build()
    r, turn, u = 0.4, 3.0, 0.9
    force = setsu.joint_wrenches(m, [0.6, r], [turn, u], [0.0, 0.0])[1, :3]
    np.testing.assert_allclose(force, [-1.7 * turn**2 * r, 2 * 1.7 * turn * u, 0.0], rtol=1e-13, atol=1e-14)
    tau = setsu.inverse_dynamics(m, [0.6, r], [turn, u], [0.0, 0.0])
    np.testing.assert_allclose(tau, [2 * 1.7 * turn * u * r, -1.7 * turn**2 * r], rtol=1e-13)
