"""A spring of rest length 0 where its points coincide: k r + c dr/dt and its derivatives are the limit beside it."""

import numpy as np
import pytest

import setsu
from setsu.dynamics.springs import element_power

K, C = 10.0, 3.0


def crossing_arms(stiffness: float = K, rest_length: float = 0.0) -> setsu.Mechanism:
    """Two arms about different axes that are joined by a spring where they meet at q = 0."""
    b = setsu.MechanismBuilder("crossing arms", gravity=(0, 0, 0))
    b.add_body("a", joint=setsu.Revolute((0, 0, 1)), mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    b.add_body(
        "b",
        joint=setsu.Revolute((0, 1, 0)),
        placement=setsu.placement((1, 0, 0)),
        mass=2.0,
        inertia=np.diag([0.3, 0.2, 0.1]),
    )
    b.add_spring("k", "a", (0.5, 0, 0), "b", (-0.5, 0, 0), stiffness=stiffness, rest_length=rest_length, damping=C)
    return b.build()


def torque_against(m: setsu.Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Jᵀ (k r + c dr/dt), r from the point of a to that of b."""
    ends = [("b", (-0.5, 0, 0)), ("a", (0.5, 0, 0))]
    x = [setsu.frame_pose(m, q, body)[:3, :3] @ point + setsu.frame_pose(m, q, body)[:3, 3] for body, point in ends]
    J = np.subtract(*(setsu.frame_jacobian(m, q, body, point)[:3] for body, point in ends))
    return J.T @ (K * (x[0] - x[1]) + C * J @ v)


def differences(function, nv: int) -> np.ndarray:
    """Fourth-order central differences (n, nv) around zero."""
    h = 1e-3
    columns = [(8 * (function(h * e) - function(-h * e)) - function(2 * h * e) + function(-2 * h * e)) / (12 * h)
               for e in np.eye(nv)]  # fmt: skip
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("specialised", [False, True])
def test_derivatives_where_the_points_coincide_are_those_of_a_spring_and_damper_in_all_directions(specialised) -> None:
    m, v, zero = crossing_arms(), np.array([0.7, -0.4]), np.zeros(2)
    offered = setsu.compile(m, ["inverse_dynamics", "inverse_dynamics_derivatives"]) if specialised else setsu
    arguments = () if specialised else (m,)
    found = offered.inverse_dynamics_derivatives(*arguments, zero, v, zero)
    inertial = setsu.inverse_dynamics_derivatives(crossing_arms_without_spring(), zero, v, zero)
    np.testing.assert_allclose(
        found.dq - inertial.dq, differences(lambda x: torque_against(m, x, v), 2), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        found.dv - inertial.dv, differences(lambda x: torque_against(m, zero, v + x), 2), rtol=1e-9, atol=1e-9
    )
    rest = setsu.inverse_dynamics(crossing_arms_without_spring(), zero, v, zero)
    torque = offered.inverse_dynamics(*arguments, zero, v, zero)
    np.testing.assert_allclose(torque - rest, torque_against(m, zero, v), rtol=1e-13)


def crossing_arms_without_spring() -> setsu.Mechanism:
    m = crossing_arms()
    return setsu.Mechanism(m.name, m.gravity, m.bodies)


def test_stiffness_at_the_point_is_that_beside_it() -> None:
    b = setsu.MechanismBuilder("m", gravity=(0, 0, 0))
    b.add_body("a", joint=setsu.Free(), mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    b.add_spring("k", "world", (0, 0, 0), "a", (0, 0, 0), stiffness=K, damping=C)
    m, still = b.build(), np.zeros(6)
    for offset in (0.0, 1e-9):
        q = m.neutral()
        q[:3] = offset
        d = setsu.inverse_dynamics_derivatives(m, q, still, still)
        np.testing.assert_allclose(d.dq[:3, :3], K * np.eye(3), atol=1e-8)
    d = setsu.inverse_dynamics_derivatives(m, m.neutral(), still, still)
    np.testing.assert_allclose(d.dv[:3, :3], C * np.eye(3), rtol=1e-14)
    np.testing.assert_array_equal(d.dq[3:], 0.0)


def test_the_damper_takes_the_energy_it_says() -> None:
    m, v = crossing_arms(), np.array([0.7, -0.4])
    J_v = np.array([0.0, -0.5 * v[0], 0.5 * v[1]])
    assert element_power(m, np.zeros(2), v) == pytest.approx(-C * J_v @ J_v, rel=1e-13)
    powers = setsu.inverse_dynamics(m, np.zeros(2), v, np.zeros(2)) @ v
    assert powers == pytest.approx(C * J_v @ J_v, rel=1e-13)


def test_a_damper_alone_needs_no_rest_length_and_a_spring_with_one_pulls_nowhere() -> None:
    zero, v = np.zeros(2), np.array([0.7, -0.4])
    m = crossing_arms(stiffness=0.0, rest_length=0.3)
    expected = setsu.inverse_dynamics(crossing_arms(), zero, v, zero)
    np.testing.assert_allclose(setsu.inverse_dynamics(m, zero, v, zero), expected, rtol=1e-14)
    m = crossing_arms(rest_length=0.3)
    np.testing.assert_array_equal(
        setsu.inverse_dynamics(m, zero, v, zero),
        setsu.inverse_dynamics(crossing_arms_without_spring(), zero, v, zero),
    )


def test_wrench_at_a_weld_counts_the_damper_too() -> None:
    """A weld between the spring's end and the arm carries what the arm without weld feels."""
    b = setsu.MechanismBuilder("m", gravity=(0, 0, 0))
    b.add_body("rail", joint=setsu.Prismatic((1, 0, 0)), mass=1.0)
    b.add_body("hook", parent="rail")
    b.add_spring("k", "world", (0, 0, 0), "hook", (0, 0, 0), stiffness=K, damping=C)
    m = b.build()
    wrench = setsu.wrench_at(m, [0.0], [2.0], [0.0], "hook")
    assert wrench[0] == pytest.approx(C * 2.0, rel=1e-13)
