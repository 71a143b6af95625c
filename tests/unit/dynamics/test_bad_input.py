"""Bad input is refused before any work, by a message that says what, where, the value got and what was expected."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import planar_arm, random_tree

ARM = planar_arm(3)
ZERO = np.zeros(3)
BALLS = random_tree(1, n_bodies=3, joint_types=["Spherical"], floating_base=True)


def refused(expected: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    with pytest.raises(setsu.InputError, match=re.escape(expected)):
        function(*arguments, **options)


def at(shape: tuple[int, ...], place: tuple[int, ...], value: float) -> np.ndarray:
    array = np.zeros(shape)
    array[place] = value
    return array


def no_quaternion(where: slice) -> np.ndarray:
    q = BALLS.neutral()
    q[where] = 0.0
    return q


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(4), ZERO, ZERO), "inverse_dynamics: q: expected shape (..., 3) for planar 3R arm, got (4,)"),
        ((0.0, ZERO, ZERO), "q: expected shape (..., 3) for planar 3R arm, got ()"),
        ((ZERO[:, None], ZERO, ZERO), "q: expected shape (..., 3) for planar 3R arm, got (3, 1)"),
        ((None, ZERO, ZERO), "q: expected shape (..., 3)"),
        ((ZERO, np.zeros((5, 2)), ZERO), "v: expected shape (..., 3) for planar 3R arm, got (5, 2)"),
        (
            (np.zeros((2, 3)), np.zeros((4, 3)), ZERO),
            "leading axes do not broadcast against each other: q (2,), v (4,)",
        ),
        ((ZERO, ZERO, ZERO, np.zeros((2, 6))), "external_wrenches: expected shape (..., 3, 6)"),
        ((ZERO, ZERO, ZERO, np.zeros(18)), "external_wrenches: expected shape (..., 3, 6)"),
        (([0.0, [1.0], 2.0], ZERO, ZERO), "q: expected real numbers, got list"),
        (("abc", ZERO, ZERO), "q: expected real numbers, got str 'abc'"),
        ((["1", "2", "3"], ZERO, ZERO), "q: expected real numbers, got list"),
        ((ZERO + 1j, ZERO, ZERO), "q: expected real numbers, got ndarray"),
        ((ZERO, {}, ZERO), "v: expected real numbers, got dict"),
    ],
)
def test_shapes_and_types(arguments: tuple, message: str) -> None:
    refused(message, setsu.inverse_dynamics, ARM, *arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_named_by_its_index(bad: float) -> None:
    refused(
        f"inverse_dynamics: q[1] is {bad}, expected finite numbers",
        setsu.inverse_dynamics,
        ARM,
        [0, bad, 0],
        ZERO,
        ZERO,
    )
    many = np.zeros((4, 3))
    refused(f"a[2, 1] is {bad}", setsu.inverse_dynamics, ARM, many, many, at((4, 3), (2, 1), bad))
    grid = np.zeros((2, 5, 3))
    refused(f"v[1, 3, 0] is {bad}", setsu.forward_dynamics, ARM, grid, at((2, 5, 3), (1, 3, 0), bad), grid)
    wrench = at((3, 6), (1, 4), bad)
    refused(f"external_wrenches[1, 4] is {bad}", setsu.inverse_dynamics, ARM, ZERO, ZERO, ZERO, wrench)
    refused(f"point[2] is {bad}", setsu.point_jacobian, ARM, ZERO, "tip", (0, 0, bad))
    refused(f"integrate: dt is {bad}", setsu.integrate, ARM, ZERO, ZERO, bad)
    refused(f"integrate: v[0] is {bad}", setsu.integrate, ARM, ZERO, at((3,), (0,), bad), 0.1)
    refused(f"difference: q1[2] is {bad}", setsu.difference, ARM, ZERO, at((3,), (2,), bad))


@pytest.mark.parametrize("method", ["articulated_body", "composite_body", "unit_vector"])
def test_every_method_refuses_bad_states(method: str) -> None:
    refused("forward_dynamics: v[2] is nan", setsu.forward_dynamics, ARM, ZERO, [0, 0, np.nan], ZERO, method=method)
    tau = at((2, 3), (1, 0), np.nan)
    refused("forward_dynamics: tau[1, 0] is nan", setsu.forward_dynamics, ARM, ZERO, ZERO, tau, method=method)
    refused("q: expected shape", setsu.forward_dynamics, ARM, np.zeros(2), ZERO, ZERO, method=method)
    refused(
        "external_wrenches: expected shape", setsu.forward_dynamics, ARM, ZERO, ZERO, ZERO, np.zeros(6), method=method
    )


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (
            setsu.inverse_dynamics,
            {"formulation": "wrld"},
            "inverse_dynamics: unknown formulation 'wrld' (did you mean \"world\"?)",
        ),
        (setsu.inverse_dynamics, {"formulation": None}, "unknown formulation None (known: link, world)"),
        (
            setsu.forward_dynamics,
            {"method": "articulated"},
            "unknown method 'articulated' (did you mean \"articulated_body\"?)",
        ),
        (setsu.joint_wrenches, {"frame": ["body"]}, "unknown frame ['body']"),
    ],
)
def test_unknown_choices(function: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    refused(message, function, ARM, ZERO, ZERO, ZERO, **options)


def test_unknown_way_to_the_mass_matrix() -> None:
    refused(
        "mass_matrix: unknown method 'crba' (known: composite_body, unit_vector)", setsu.mass_matrix, ARM, ZERO, "crba"
    )


def test_unknown_bodies_come_with_the_nearest_names() -> None:
    refused("unknown body 'link9' in planar 3R arm (did you mean \"link3\"", setsu.point_jacobian, ARM, ZERO, "link9")
    refused("(known: world, link1, link2, link3, tip)", setsu.point_jacobian, ARM, ZERO, "elbow")
    refused("unknown body 3", setsu.point_jacobian_rate, ARM, ZERO, ZERO, 3)
    refused("unknown body ['tip']", setsu.point_jacobian, ARM, ZERO, ["tip"])


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (setsu.body_poses, 1), (setsu.body_velocities, 2), (setsu.body_accelerations, 3), (setsu.inverse_dynamics, 3),
        (setsu.forward_dynamics, 3), (setsu.mass_matrix, 1), (setsu.bias_torque, 2), (setsu.gravity_torque, 1),
        (setsu.coriolis_matrix, 2), (setsu.joint_wrenches, 3), (setsu.regressor, 3), (setsu.inertial_parameters, 0),
        (setsu.inverse_dynamics_derivatives, 3), (setsu.forward_dynamics_derivatives, 3), (setsu.center_of_mass, 1),
        (setsu.momentum, 2), (setsu.centroidal_matrix, 1), (setsu.kinetic_energy, 2), (setsu.potential_energy, 1),
        (setsu.integrate, 3), (setsu.difference, 2), (setsu.point_jacobian, 2), (setsu.point_jacobian_rate, 3),
        (setsu.compile, 1),
    ],
)  # fmt: skip
def test_what_is_not_a_mechanism(function: Callable[..., Any], count: int) -> None:
    for thing in ("robot.urdf", None, 42, {}):
        refused(f"{function.__name__}: expected a Mechanism", function, thing, *[ZERO] * count)


@pytest.mark.parametrize("function", [setsu.body_poses, setsu.mass_matrix, setsu.gravity_torque])
def test_a_quaternion_of_zeros_is_named_by_its_joint(function: Callable[..., Any]) -> None:
    name = function.__name__
    refused(
        f'{name}: q[3:7], the quaternion of joint "joint1", is all zeros', function, BALLS, no_quaternion(slice(3, 7))
    )
    batch = np.stack([BALLS.neutral(), no_quaternion(slice(7, 11))])
    refused('q[7:11], the quaternion of joint "joint2"', function, BALLS, batch)


def massless_tip() -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("massless tip")
    builder.add_body("rod", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, 1))
    builder.add_body("tip", "rod", setsu.Revolute((0, 1, 0)))
    return builder.build()


METHODS = ("articulated_body", "composite_body", "unit_vector")
IDLE_TIP = "massless tip: a motion of joint tip_joint moves no mass, so that forces determine no acceleration; give its"


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_that_moves_no_mass_has_no_acceleration(method: str) -> None:
    m = massless_tip()
    state = ([0.1, 0.2], [0.0, 0.0], [0.0, 1.0])
    refused(f"forward_dynamics: {IDLE_TIP}", setsu.forward_dynamics, m, *state, method=method)
    refused(f"forward_dynamics: {IDLE_TIP}", setsu.forward_dynamics, m, *state, np.zeros((2, 6)), method=method)
    many = [np.tile(x, (9, 1)) for x in state]
    refused(f"forward_dynamics: {IDLE_TIP}", setsu.forward_dynamics, m, *many, method=method)
    # Torques are defined all the same.
    assert np.isfinite(setsu.inverse_dynamics(m, *state)).all()


def test_compiled_code_for_a_joint_that_moves_no_mass() -> None:
    m = massless_tip()
    refused(f"compile forward_dynamics: {IDLE_TIP}", setsu.compile, m, ["forward_dynamics"])
    refused(f"forward_dynamics_derivatives: {IDLE_TIP}", setsu.forward_dynamics_derivatives, m, *np.zeros((3, 2)))
    for language in ("c", "python", "fmu"):
        refused("generate forward_dynamics: massless tip", setsu.generate, m, "forward_dynamics", language=language)


def test_armature_or_a_locked_joint_gives_the_accelerations_back() -> None:
    """What the message says to do: with armature J the tip's own torque turns it by tau / J against the rod."""
    for joint in (setsu.Revolute((0, 1, 0), armature=0.5), setsu.Fixed()):
        builder = setsu.MechanismBuilder("helped", gravity=(0, 0, 0))
        builder.add_body("rod", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, 1))
        m = builder.add_body("tip", "rod", joint).build()
        found = setsu.forward_dynamics(m, np.full(m.nv, 0.3), np.zeros(m.nv), np.arange(1.0, m.nv + 1.0))
        np.testing.assert_allclose(found, [1.0, 4.0][: m.nv], rtol=1e-14)


def coaxial() -> setsu.Mechanism:
    """Two joints about one and the same tilted axis with nothing between them: only their sum moves the mass."""
    axis = (0.3, 0.4, 0.5)
    builder = setsu.MechanismBuilder("coaxial")
    builder.add_body("sleeve", joint=setsu.Revolute(axis), placement=setsu.placement((0, 0, 1), (0.1, 0.3, 0.7)))
    builder.add_body(
        "rotor", "sleeve", setsu.Revolute(axis), mass=1.3, center_of_mass=(0.17, 0.03, 0.2), inertia=0.013 * np.eye(3)
    )
    return builder.build()


@pytest.mark.parametrize("method", METHODS)
def test_joints_that_only_together_move_mass_are_named_together(method: str) -> None:
    """Rounding leaves the last pivot of the mass matrix at 1e-17 instead of 0: finite accelerations without sense."""
    m = coaxial()
    for state in (np.ones((3, 2)), np.ones((3, 20, 2))):
        refused(
            "a motion of joints sleeve_joint, rotor_joint moves no mass",
            setsu.forward_dynamics,
            m,
            *state,
            method=method,
        )


def test_a_point_mass_on_a_ball_joint_turns_about_itself_without_mass() -> None:
    m = setsu.MechanismBuilder("ball").add_body("bob", joint=setsu.Spherical(), mass=1.0, center_of_mass=(1, 0, 0))
    ball = m.build()
    refused(
        "ball: a motion of joint bob_joint.wx moves no mass",
        setsu.forward_dynamics,
        ball,
        [0, 0, 0, 1],
        *np.ones((2, 3)),
    )


def stretching() -> setsu.Mechanism:
    """A point mass on two massless rods: determined unless they are in line."""
    builder = setsu.MechanismBuilder("two rods")
    builder.add_body("upper", joint=setsu.Revolute((0, 1, 0)))
    builder.add_body(
        "lower", "upper", setsu.Revolute((0, 1, 0)), setsu.placement((1, 0, 0)), mass=1.0, center_of_mass=(1, 0, 0)
    )
    return builder.build()


@pytest.mark.parametrize("method", METHODS)
def test_a_configuration_in_which_a_motion_moves_no_mass(method: str) -> None:
    m = stretching()
    # Without torques no rod pushes: the mass falls freely, x = cos q1 + cos(q1 + q2), z = -sin q1 - sin(q1 + q2).
    found = setsu.forward_dynamics(m, [0.2, 0.5], [0, 0], [0, 0], method=method)
    s1, s12, c1, c12 = np.sin(0.2), np.sin(0.7), np.cos(0.2), np.cos(0.7)
    J = np.array([[-s1 - s12, -s12], [-c1 - c12, -c12]])
    np.testing.assert_allclose(J @ found, [0.0, -9.81], rtol=0, atol=1e-12)
    message = "two rods: a motion of joints upper_joint, lower_joint moves no mass in this configuration"
    refused(message, setsu.forward_dynamics, m, [0.0, 0.0], [0, 0], [0, 0], method=method)
    q = np.array([[0.1 * k, 0.5 - 0.01 * k] for k in range(51)])
    q[50] = 0.0
    refused(message, setsu.forward_dynamics, m, q, np.zeros(2), np.zeros(2), method=method)


def test_results_too_large_for_a_number() -> None:
    refused("the result is not finite from state 0 on", setsu.inverse_dynamics, ARM, ZERO, [1e200, 0, 0], ZERO)


def test_compile_knows_its_functions() -> None:
    refused(
        "compile: no function 'inverse_dynamic' (did you mean \"inverse_dynamics\"",
        setsu.compile,
        ARM,
        ["inverse_dynamic"],
    )
    refused("compile: expected a list of function names, got 5", setsu.compile, ARM, 5)
    fast = setsu.compile(ARM, ["inverse_dynamics"])
    with pytest.raises(AttributeError, match=r"'mass_matrix' was not compiled \(known: inverse_dynamics\)"):
        fast.mass_matrix  # noqa: B018
    refused("'mass_matrix' was not compiled", fast.operations, "mass_matrix")
    refused("inverse_dynamics: expected 3 arrays (q, v, a), got 2", fast.inverse_dynamics, ZERO, ZERO)
    refused("inverse_dynamics: a[2] is nan", fast.inverse_dynamics, ZERO, ZERO, np.array([0, 0, np.nan]))


def test_steps_that_do_not_fit() -> None:
    refused(
        "integrate: dt: expected a number or an array that broadcasts against (3,)",
        setsu.integrate,
        ARM,
        ZERO,
        np.zeros((3, 3)),
        [1, 2],
    )
    refused("integrate: dt: expected a number", setsu.integrate, ARM, ZERO, ZERO, "soon")


def test_nothing_is_computed_before_the_refusal() -> None:
    """After a refusal the next good call is right: no scratch space is left in disorder."""
    good = setsu.inverse_dynamics(ARM, [0.1, 0.2, 0.3], ZERO, ZERO)
    refused("q[0] is nan", setsu.inverse_dynamics, ARM, [np.nan, 0, 0], ZERO, ZERO)
    np.testing.assert_array_equal(setsu.inverse_dynamics(ARM, [0.1, 0.2, 0.3], ZERO, ZERO), good)
