"""Pendulums against their textbook equations. SI units."""

import numpy as np
import pytest

import setsu
from setsu.spatial import quaternion_from_rotation

G = 9.81


def pendulum(length: float = 0.8, mass: float = 1.3, **options: float) -> setsu.Mechanism:
    """A point mass on a rod, hanging along -z at q = 0, turning about y."""
    builder = setsu.MechanismBuilder("pendulum", gravity=(0, 0, -G))
    joint = setsu.Revolute((0, 1, 0), **options)  # type: ignore[arg-type]
    builder.add_body("rod", joint=joint, mass=mass, center_of_mass=(0, 0, -length))
    return builder.build()


@pytest.mark.parametrize("q", [-2.0, 0.0, 0.4, np.pi / 2])
def test_torque(q: float) -> None:
    """tau = m l² a + m g l sin q + d v + c sign(v) + J a."""
    m, length, v, a = 1.3, 0.8, -0.7, 2.1
    expected = m * length**2 * a + m * G * length * np.sin(q)
    assert setsu.inverse_dynamics(pendulum(), [q], [v], [a])[0] == pytest.approx(expected, rel=1e-14)
    loaded = pendulum(damping=0.4, coulomb=0.3, armature=0.05, stiffness=7.0, spring_rest=0.2)
    expected += 0.4 * v - 0.3 + 0.05 * a + 7.0 * (q - 0.2)
    assert setsu.inverse_dynamics(loaded, [q], [v], [a])[0] == pytest.approx(expected, rel=1e-14)


def test_small_swings_have_the_known_period() -> None:
    """Linearised at rest: da/dq = -g/l, T = 2 π √(l/g): 1.794 s for 0.8 m."""
    slope = setsu.forward_dynamics_derivatives(pendulum(), [0.0], [0.0], [0.0]).dq[0, 0]
    assert slope == pytest.approx(-G / 0.8, rel=1e-14)
    assert 2 * np.pi / np.sqrt(-slope) == pytest.approx(1.794281, abs=1e-6)  # not rounding: printed digits


def test_large_swings_have_the_known_period() -> None:
    """T = 2 π √(l/g) / agm(1, cos(q0/2)); Runge-Kutta of order 4 returns to q0 after T, error ~ (T/n)⁴."""
    q0, length = 2.5, 0.8
    high, low = 1.0, np.cos(q0 / 2)
    for _ in range(8):
        high, low = (high + low) / 2, np.sqrt(high * low)
    period = 2 * np.pi * np.sqrt(length / G) / high
    m, zero = pendulum(), np.zeros(1)
    n = 2000
    h, y = period / n, np.array([q0, 0.0])

    def rate(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], setsu.forward_dynamics(m, y[:1], y[1:], zero)[0]])

    for _ in range(n):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    np.testing.assert_allclose(y, [q0, 0.0], atol=1e-9)


def test_energy_from_the_lowest_point() -> None:
    """T = ½ m l² v², V = -m g l cos q."""
    assert setsu.kinetic_energy(pendulum(), [0.3], [2.0]) == pytest.approx(0.5 * 1.3 * 0.8**2 * 4.0, rel=1e-14)
    assert setsu.potential_energy(pendulum(), [0.3]) == pytest.approx(-1.3 * G * 0.8 * np.cos(0.3), rel=1e-14)


def test_tension_of_the_rod() -> None:
    """Passing the lowest point at rate v the pivot pulls the rod up by m (g + l v²)."""
    wrench = setsu.joint_wrenches(pendulum(), [0.0], [3.0], [0.0], frame="world")[0]
    np.testing.assert_allclose(wrench, [0, 0, 1.3 * (G + 0.8 * 9.0), 0, 0, 0], atol=1e-13)


def double_pendulum(m1: float, m2: float, l1: float, l2: float) -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("double pendulum", gravity=(0, 0, -G))
    axis = (0, 1, 0)
    builder.add_body("upper", joint=setsu.Revolute(axis), mass=m1, center_of_mass=(0, 0, -l1))
    where = setsu.placement((0, 0, -l1))
    builder.add_body("lower", "upper", setsu.Revolute(axis), where, mass=m2, center_of_mass=(0, 0, -l2))
    return builder.build()


def test_double_pendulum() -> None:
    """Point masses, relative angles q1, q2 (Lagrange):

    M11 = (m1 + m2) l1² + m2 l2² + 2 m2 l1 l2 cos q2,  M12 = m2 l2² + m2 l1 l2 cos q2,  M22 = m2 l2²
    c1 = -m2 l1 l2 sin q2 (2 v1 v2 + v2²),  c2 = m2 l1 l2 sin q2 v1²
    g1 = (m1 + m2) g l1 sin q1 + m2 g l2 sin(q1 + q2),  g2 = m2 g l2 sin(q1 + q2)
    """
    m1, m2, l1, l2 = 1.2, 0.7, 0.5, 0.9
    m = double_pendulum(m1, m2, l1, l2)
    (q1, q2), (v1, v2), a = (0.7, -1.9), (1.1, -2.3), np.array([0.4, 3.0])
    k = m2 * l1 * l2
    M12 = m2 * l2**2 + k * np.cos(q2)
    M = np.array([[(m1 + m2) * l1**2 + m2 * l2**2 + 2 * k * np.cos(q2), M12], [M12, m2 * l2**2]])
    c = k * np.sin(q2) * np.array([-(2 * v1 * v2 + v2**2), v1**2])
    lower = m2 * G * l2 * np.sin(q1 + q2)
    g = np.array([(m1 + m2) * G * l1 * np.sin(q1) + lower, lower])
    np.testing.assert_allclose(setsu.mass_matrix(m, [q1, q2]), M, rtol=1e-13)
    np.testing.assert_allclose(setsu.gravity_torque(m, [q1, q2]), g, rtol=1e-13)
    np.testing.assert_allclose(setsu.bias_torque(m, [q1, q2], [v1, v2]), c + g, rtol=1e-13)
    np.testing.assert_allclose(setsu.inverse_dynamics(m, [q1, q2], [v1, v2], a), M @ a + c + g, rtol=1e-13)
    expected = np.linalg.solve(M, np.array([0.5, -0.2]) - c - g)
    for method in ("articulated_body", "composite_body", "unit_vector"):
        found = setsu.forward_dynamics(m, [q1, q2], [v1, v2], [0.5, -0.2], method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_spherical_pendulum_on_a_cone() -> None:
    """A mass circling at tilt θ about the vertical needs no torque when Ω² = g/(l cos θ)."""
    length, tilt = 0.6, 0.9
    builder = setsu.MechanismBuilder("conical", gravity=(0, 0, -G))
    builder.add_body("bob", joint=setsu.Spherical(), mass=2.0, center_of_mass=(0, 0, -length))
    m = builder.build()
    turn = setsu.placement(rpy=(tilt, 0, 0.3))[:3, :3]
    q = quaternion_from_rotation(turn)
    np.testing.assert_allclose(setsu.body_poses(m, q)[0, :3, :3], turn, atol=1e-15)
    omega = turn.T @ np.array([0, 0, np.sqrt(G / (length * np.cos(tilt)))])
    np.testing.assert_allclose(setsu.inverse_dynamics(m, q, omega, np.zeros(3)), 0.0, atol=1e-13)
    faster = setsu.inverse_dynamics(m, q, 1.1 * omega, np.zeros(3))
    assert np.linalg.norm(faster) == pytest.approx(0.21 * 2.0 * G * length * np.sin(tilt), rel=1e-12)
