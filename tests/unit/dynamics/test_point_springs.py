"""Springs and dampers between points: force along the line, energy ½ k (l - l0)², by hand.

A block of 2 kg on a vertical rail at height q hangs on a spring from (0.3, 0, 1) to its origin: the line
r = (0.3, 0, 1 - q) from block to anchor, length l = |r|, tension t = k (l - l0) + c dl/dt, upward force on the block
t (1 - q)/l.
"""

import numpy as np
import pytest

import setsu

K, REST, C, MASS, G = 800.0, 0.5, 4.0, 2.0, 9.81


def block() -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("block", gravity=(0, 0, -G))
    builder.add_body("block", joint=setsu.Prismatic((0, 0, 1)), mass=MASS)
    builder.add_spring("k", "world", (0.3, 0, 1), "block", (0, 0, 0), stiffness=K, rest_length=REST, damping=C)
    return builder.build()


def upward(q: float, v: float) -> float:
    """Force of the spring on the block (N)."""
    length = np.hypot(0.3, 1.0 - q)
    rate = -(1.0 - q) / length * v
    return (K * (length - REST) + C * rate) * (1.0 - q) / length


@pytest.mark.parametrize(("q", "v", "a"), [(0.2, 0.0, 0.0), (0.2, 0.7, -1.0), (1.4, -0.3, 2.0)])
def test_force(q: float, v: float, a: float) -> None:
    m = block()
    expected = MASS * (a + G) - upward(q, v)
    for formulation in ("link", "world"):
        assert setsu.inverse_dynamics(m, [q], [v], [a], formulation=formulation)[0] == pytest.approx(
            expected, rel=1e-13
        )
    for method in ("articulated_body", "composite_body", "unit_vector"):
        found = setsu.forward_dynamics(m, [q], [v], [expected], method=method)[0]
        assert found == pytest.approx(a, abs=1e-12)
    assert setsu.bias_torque(m, [q], [v])[0] == pytest.approx(MASS * G - upward(q, v), rel=1e-13)
    # The rail holds the block sideways against the spring.
    side = (
        0.3
        / np.hypot(0.3, 1.0 - q)
        * np.hypot(upward(q, v), upward(q, v) * 0.3 / (1.0 - q))
        * np.sign(upward(q, v) * (1.0 - q))
    )
    assert setsu.joint_wrenches(m, [q], [v], [a])[0, 0] == pytest.approx(-side, rel=1e-12)


def test_energy_is_gravity_and_half_k_stretch_squared() -> None:
    q = 0.35
    stretch = np.hypot(0.3, 1.0 - q) - REST
    expected = MASS * G * q + 0.5 * K * stretch**2
    assert setsu.potential_energy(block(), [q]) == pytest.approx(expected, rel=1e-14)
    assert setsu.potential_energy(block(), [[q], [q]]).shape == (2,)


def test_gravity_torque_leaves_springs_out() -> None:
    assert setsu.gravity_torque(block(), [0.2])[0] == pytest.approx(MASS * G, rel=1e-15)


def test_a_spring_between_two_bodies_is_an_inner_force() -> None:
    """Two floating boxes: momentum does not change by it, energy changes by the damper alone."""
    builder = setsu.MechanismBuilder("two boxes", gravity=(0, 0, 0))
    for name in ("a", "b"):
        builder.add_body(
            name, joint=setsu.Free(), mass=1.5, center_of_mass=(0.1, 0, 0), inertia=np.diag([0.1, 0.2, 0.15])
        )
    builder.add_body("handle", "b", placement=setsu.placement((0, 0.2, 0), rpy=(0.1, 0.2, 0.3)))
    builder.add_spring("k", "a", (0.1, 0.2, 0), "handle", (0, 0, 0.3), stiffness=50.0, rest_length=0.4, damping=3.0)
    m = builder.build()
    rng = np.random.default_rng(0)
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    a = setsu.forward_dynamics(m, q, v, np.zeros(m.nv))
    wrenches = setsu.joint_wrenches(m, q, v, a, frame="world")
    np.testing.assert_allclose(wrenches, 0.0, atol=1e-12)  # nothing but the spring acts on them

    h = 1e-5
    ahead, behind = (setsu.integrate(m, q, v + 0.5 * s * a, s) for s in (h, -h))
    change = setsu.momentum(m, ahead, v + h * a) - setsu.momentum(m, behind, v - h * a)
    np.testing.assert_allclose(change / (2 * h), 0.0, atol=1e-5)

    def energy(x: np.ndarray, rate: np.ndarray) -> float:
        return float(setsu.kinetic_energy(m, x, rate) + setsu.potential_energy(m, x))

    def ends(x: np.ndarray) -> np.ndarray:
        poses = setsu.body_poses(m, x)
        T = poses[1] @ m.frame("handle").pose.matrix
        return (
            T[:3, :3] @ np.array([0, 0, 0.3]) + T[:3, 3] - poses[0, :3, :3] @ np.array([0.1, 0.2, 0]) - poses[0, :3, 3]
        )

    rate = (np.linalg.norm(ends(ahead)) - np.linalg.norm(ends(behind))) / (2 * h)
    power = (energy(ahead, v + h * a) - energy(behind, v - h * a)) / (2 * h)
    assert power == pytest.approx(-3.0 * rate**2, rel=1e-4)


def test_batches_equal_rows() -> None:
    m = block()
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-0.5, 0.5, (3, 5, 1))
    batch = setsu.inverse_dynamics(m, q, v, a, np.zeros((1, 6)))
    rows = [setsu.inverse_dynamics(m, *state) for state in zip(q, v, a, strict=True)]
    np.testing.assert_allclose(batch, rows, rtol=1e-14)


def test_a_spring_of_no_length_pulls_nowhere() -> None:
    builder = setsu.MechanismBuilder("m", gravity=(0, 0, 0))
    builder.add_body("a", joint=setsu.Prismatic((1, 0, 0)), mass=1.0)
    builder.add_spring("k", "world", (0, 0, 0), "a", (0, 0, 0), stiffness=10.0, rest_length=0.2)
    assert setsu.inverse_dynamics(builder.build(), [0.0], [0.0], [0.0])[0] == 0.0
