"""Operational space: the frame moves as a decoupled mass, forces are exact on a wall, singular poses stay bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import setsu
from setsu import control
from setsu.sample_mechanisms import panda_arm, planar_arm, ur10

PANDA = panda_arm()
TOOL = PANDA.body_names[-1]
Q = np.array([0.1, 0.3, -0.2, -1.8, 0.2, 2.0, 0.5])


def acceleration(arm: setsu.Mechanism, law: Any, q: np.ndarray, v: np.ndarray, frame: str) -> np.ndarray:
    a = setsu.forward_dynamics(arm, q, v, law(0.0, q, v))
    return setsu.frame_acceleration(arm, q, v, a, frame)


def test_the_frame_is_a_decoupled_mass() -> None:
    """x'' = x_d'' + K_v (x_d' - x') + K_p e, whatever the posture task asks for."""
    v = np.random.default_rng(1).standard_normal(7)
    T = setsu.frame_pose(PANDA, Q + 0.1, TOOL)
    rates = np.arange(6) * 0.1, np.arange(6) * 0.2
    for posture_gain in (0.0, 50.0):
        law = control.OperationalSpace(
            PANDA, TOOL, lambda t: (T, *rates), 100.0, 20.0, posture_gain=posture_gain, posture_damping=3.0
        )
        e = control.pose_error(setsu.frame_pose(PANDA, Q, TOOL), T)
        dx = setsu.frame_velocity(PANDA, Q, v, TOOL)
        expected = rates[1] + 20.0 * (rates[0] - dx) + 100.0 * e
        np.testing.assert_allclose(acceleration(PANDA, law, Q, v, TOOL), expected, rtol=0.0, atol=1e-8)


def test_what_the_frame_leaves_free_holds_the_posture() -> None:
    """The elbow comes to rest where the posture pulls no more; the frame does not move."""
    T = setsu.frame_pose(PANDA, Q, TOOL)
    posture = Q + np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    law = control.OperationalSpace(
        PANDA, TOOL, T, 400.0, 40.0, posture=posture, posture_gain=25.0, posture_damping=10.0
    )
    run = setsu.simulate(PANDA, Q, np.zeros(7), 3.0, 2e-3, torque=law, record_every=50)
    error = control.pose_error(setsu.frame_pose(PANDA, run.q[-1], TOOL), T)
    assert np.abs(error).max() < 1e-4

    def pull(q: np.ndarray) -> float:
        """Size of the posture's torque that does not accelerate the frame."""
        M, J = setsu.mass_matrix(PANDA, q), setsu.frame_jacobian(PANDA, q, TOOL)
        r = M @ (posture - q)
        return float(np.linalg.norm(r - J.T @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ np.linalg.solve(M, r))))

    assert pull(run.q[-1]) < 0.05 * pull(Q)
    assert np.abs(run.v[-1]).max() < 1e-2


@pytest.mark.parametrize("arm", [PANDA, ur10()], ids=["panda", "ur10"])
def test_without_python_it_is_the_same_law(arm: setsu.Mechanism) -> None:
    tool, rng = arm.body_names[-1], np.random.default_rng(3)
    law = control.OperationalSpace(
        arm, tool, setsu.frame_pose(arm, rng.uniform(-1, 1, arm.nq), tool), 100.0, 20.0, posture_gain=9.0
    )
    compiled = law.compile(arm)
    for _ in range(20):
        q, v = rng.uniform(-1, 1, arm.nq), rng.standard_normal(arm.nv)
        expected = law(0.0, q, v)
        np.testing.assert_allclose(compiled(0.0, q, v), expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_the_force_on_a_wall_is_exact_while_it_slides_and_turns() -> None:
    """Khatib's law with the right model: the wall gets the wanted force at every instant."""
    T0 = setsu.frame_pose(PANDA, Q, TOOL)
    wall = setsu.SurfaceContact(TOOL, (0, 0, 0), setsu.Plane((0, 0, 1), float(T0[2, 3])))

    def path(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        T = T0.copy()
        T[0, 3] += 0.05 * (1 - np.cos(3.0 * t))
        rate, rate2 = np.zeros(6), np.zeros(6)
        rate[0], rate2[0] = 0.15 * np.sin(3.0 * t), 0.45 * np.cos(3.0 * t)
        return T, rate, rate2

    law = control.OperationalSpace(
        PANDA, TOOL, path, 400.0, 40.0, wrench=(0, 0, -12.0, 0, 0, 0), force_axes=("z",), posture=Q, posture_gain=25.0,
        posture_damping=10.0,
    )  # fmt: skip
    run = setsu.simulate(PANDA, Q, np.zeros(7), 0.5, 1e-3, torque=law, contacts=[wall])
    np.testing.assert_allclose(run.normal_force[:, 0], 12.0, rtol=0.0, atol=1e-6)
    places = setsu.frame_pose(PANDA, run.q, TOOL)[:, :3, 3]
    assert np.abs(places[:, 0] - [path(t)[0][0, 3] for t in run.time]).max() < 1e-6


def test_planar_arms_control_the_axes_they_have() -> None:
    arm, q, v = planar_arm(3), np.array([0.4, -0.7, 0.5]), np.array([0.3, 0.2, -0.1])
    T = setsu.frame_pose(arm, q + 0.2, "tip")
    law = control.OperationalSpace(arm, "tip", T, 100.0, 20.0, axes=("x", "z", "ry"))
    wanted = 100.0 * control.pose_error(setsu.frame_pose(arm, q, "tip"), T)
    wanted -= 20.0 * setsu.frame_velocity(arm, q, v, "tip")
    np.testing.assert_allclose(acceleration(arm, law, q, v, "tip")[[0, 2, 4]], wanted[[0, 2, 4]], atol=1e-8)


def test_torques_stay_bounded_at_singular_poses() -> None:
    """A stretched arm asked to go further out: damped, it asks for torques of a motor, and goes on."""
    arm = ur10()
    tool, v = arm.body_names[-1], np.zeros(6)
    rest = np.array([0.2, -1.0, 1e-3, -0.5, 0.3, 0.1])  # elbow all but straight
    T = setsu.frame_pose(arm, rest, tool)
    T[:3, 3] *= 1.2
    law = control.OperationalSpace(arm, tool, T, 100.0, 20.0)
    undamped = control.OperationalSpace(arm, tool, T, 100.0, 20.0, damping=0.0)
    gravity = np.abs(setsu.gravity_torque(arm, rest)).max()
    assert np.abs(law(0.0, rest, v)).max() < 100 * gravity
    assert np.abs(undamped(0.0, rest, v)).max() > 10 * np.abs(law(0.0, rest, v)).max()
    run = setsu.simulate(arm, rest, v, 0.5, 1e-3, torque=law, record_every=10)
    assert np.abs(run.v).max() < 20.0


def test_the_rotation_error_is_the_axis_and_smooth_to_half_a_turn() -> None:
    axis = np.array([0.48, -0.6, 0.64])
    for angle in (0.0, 1e-9, 0.5, 2.0, 3.1):
        T = np.eye(4)
        T[:3, :3] = _turn(axis, angle)
        expected = 2.0 * np.sin(angle / 2.0) * axis
        np.testing.assert_allclose(control.pose_error(np.eye(4), T)[3:], expected, rtol=1e-9, atol=1e-15)


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": ("x", "w")}, "axes: expected some of x, y, z, rx, ry, rz, each once, got 'w'"),
        ({"axes": ("x",), "force_axes": ("z",)}, "force_axes: expected some of x"),
        ({"axes": ()}, "at least one"),
        ({"damping": -1.0}, "damping"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        control.OperationalSpace(PANDA, TOOL, np.eye(4), 1.0, 1.0, **options)
    with pytest.raises(setsu.InputError, match=r"expected shapes \(4, 4\)"):
        control.OperationalSpace(PANDA, TOOL, np.eye(3), 1.0, 1.0)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda T: np.diag([2.0, 2.0, 2.0, 1.0]) @ T, "rotation"),
        (lambda T: np.diag([-1.0, 1.0, 1.0, 1.0]) @ T, "rotation"),
        (lambda T: T * np.nan, "finite"),
        (lambda T: T + np.eye(4)[:, [3, 0, 1, 2]], "pose"),
    ],
)
def test_what_is_no_pose_is_refused_at_once_or_when_a_function_gives_it(spoil: Any, message: str) -> None:
    wrong = spoil(setsu.frame_pose(PANDA, Q, TOOL))
    for make in (control.OperationalSpace, control.PoseImpedance):
        with pytest.raises(setsu.InputError, match=message):
            make(PANDA, TOOL, wrong, 100.0, 20.0)
        with pytest.raises(setsu.InputError, match=message):
            make(PANDA, TOOL, lambda t: wrong, 100.0, 20.0)(0.5, Q, np.zeros(7))


def test_compensations_leave_a_body_at_rest_and_friction_free() -> None:
    arm = setsu.with_drives(planar_arm(2), damping=0.5, coulomb=0.2)
    law = control.GravityCompensation(arm) + control.FrictionCompensation(arm, 1.0, 1e-3)
    run = setsu.simulate(arm, [0.3, 0.4], [1.0, -0.5], 0.3, 1e-3, torque=law)
    free = setsu.simulate(replace(planar_arm(2), gravity=(0.0, 0.0, 0.0)), [0.3, 0.4], [1.0, -0.5], 0.3, 1e-3)
    np.testing.assert_allclose(run.q, free.q, rtol=0.0, atol=1e-3)
    floating = setsu.sample_mechanisms.quadruped()
    assert not control.GravityCompensation(floating)(0.0, floating.neutral(), np.zeros(floating.nv))[:6].any()


def test_a_joint_impedance_is_a_spring_about_its_target() -> None:
    arm = planar_arm(2)
    law = control.JointImpedance(arm, [0.3, 0.4], 20.0, 2.0)
    np.testing.assert_allclose(law(0.0, np.array([0.3, 0.4]), np.zeros(2)), setsu.gravity_torque(arm, [0.3, 0.4]))
    np.testing.assert_allclose(
        law(0.0, np.array([0.2, 0.4]), np.zeros(2)) - setsu.gravity_torque(arm, [0.2, 0.4]), [2.0, 0.0], atol=1e-12
    )
    with pytest.raises(setsu.InputError, match="it integrates over all stages"):
        control.JointFeedback(arm, [0, 0], 1.0, integral_gain=1.0).compile(arm)
    with pytest.raises(setsu.InputError, match="is sampled itself"):
        law.sampled(0.01).compile(arm)
    with pytest.raises(setsu.InputError, match=r"compile for UR10: .* expected a law of t, q and v alone"):
        law.compile(ur10())


def test_a_pose_impedance_is_a_spring_in_position_and_orientation() -> None:
    """Energy of the spring and of the arm without gravity is kept, and the frame swings about its pose."""
    arm = replace(PANDA, gravity=(0.0, 0.0, 0.0))
    T = setsu.frame_pose(arm, Q, TOOL)
    K = np.array([200.0, 200.0, 200.0, 10.0, 10.0, 10.0])
    law = control.PoseImpedance(arm, TOOL, T, K, 0.0)

    def spring(q: np.ndarray) -> float:
        e = control.pose_error(setsu.frame_pose(arm, q, TOOL), T)
        angle = 2.0 * np.arcsin(0.5 * np.linalg.norm(e[3:]))
        return float(0.5 * K[0] * e[:3] @ e[:3] + 4.0 * K[3] * (1.0 - np.cos(0.5 * angle)))

    # Coriolis torques are taken away by `bias`, which does no work on the whole: check virtual work instead.
    rng = np.random.default_rng(5)
    q, dq = Q + 0.1 * rng.standard_normal(7), 1e-5 * rng.standard_normal(7)
    work = law(0.0, q, np.zeros(7)) @ (2.0 * dq)
    assert work == pytest.approx(spring(q - dq) - spring(q + dq), rel=1e-7)
    damped = control.PoseImpedance(arm, TOOL, T, K, [30.0] * 3 + [2.0] * 3, joint_damping=0.5)
    run = setsu.simulate(arm, Q + 0.1, np.zeros(7), 3.0, 2e-3, torque=damped, record_every=100)
    assert np.abs(control.pose_error(setsu.frame_pose(arm, run.q[-1], TOOL), T)).max() < 1e-2


def test_an_unstable_loop_is_called_so() -> None:
    law = control.JointFeedback(PANDA, Q, 20_000.0, 50.0).sampled(1e-3, delay=5e-3)
    with pytest.raises(setsu.SimulationStopped, match=r"the loop closed by Sampled is unstable: \|v\| grows from"):
        setsu.simulate(PANDA, Q + 0.1, np.zeros(7), 1.0, 1e-3, torque=law)
