"""Forces under control: sensors read what the dynamics say, feedback settles as its recurrence says, hybrid control."""

import numpy as np
import pytest

import setsu
from setsu import control
from setsu.sample_mechanisms import planar_arm, puma560


def cart_on_a_wall() -> tuple[setsu.Mechanism, setsu.SurfaceContact]:
    """A mass on a rail pressed against a wall: the normal force is the torque."""
    b = setsu.MechanismBuilder("cart", gravity=(0, 0, 0))
    b.add_body("cart", joint=setsu.Prismatic((-1, 0, 0), "rail"), mass=2.0, inertia=0.1 * np.eye(3))
    return b.build(), setsu.SurfaceContact("cart", (0, 0, 0), setsu.Plane((1, 0, 0), 0.0))


def test_proportional_force_feedback_settles_by_its_recurrence() -> None:
    """F_{k+1} = F_0 + K (F_E - F_k) on a rigid wall: the equation (8) of isobe2003 sampled."""
    m, wall = cart_on_a_wall()
    sensor = control.ForceSensor(m, [wall])
    law = control.FeedForward([0, 1], [[5.0], [5.0]])
    law = law + control.ForceFeedback(control.SurfacePress(m, wall), 8.0, sensor, 0.5)
    rec = setsu.simulate(m, [0.0], [0.0], 0.05, 5e-3, torque=law.sampled(5e-3, sensor=sensor), contacts=[wall])
    force = [5.0 + 0.5 * 8.0]
    for _ in range(10):
        force.append(5.0 + 0.5 * (8.0 - force[-1]))
    np.testing.assert_allclose(rec.normal_force[:, 0], force, atol=1e-9)


def test_integral_force_feedback_leaves_no_error() -> None:
    m, wall = cart_on_a_wall()
    sensor = control.ForceSensor(m, [wall])
    law = control.FeedForward([0, 1], [[5.0], [5.0]])
    law = law + control.ForceFeedback(control.SurfacePress(m, wall), 8.0, sensor, 0.0, 60.0)
    rec = setsu.simulate(m, [0.0], [0.0], 0.2, 5e-3, torque=law.sampled(5e-3, sensor=sensor), contacts=[wall])
    assert rec.normal_force[-1, 0] == pytest.approx(8.0, abs=1e-3)


def test_sensor_noise_is_seeded() -> None:
    m, wall = cart_on_a_wall()
    readings = []
    for seed in (1, 1, 2):
        sensor = control.ForceSensor(m, [wall], noise=0.1, seed=seed)
        sensor.look(7, np.zeros(1), np.zeros(1), np.array([3.0]))
        readings.append(float(sensor.reading[0]))
    assert readings[0] == readings[1] != readings[2]
    assert abs(readings[0] - 3.0) < 1.0


def test_directions_of_forces_are_virtual_work() -> None:
    m = planar_arm(3)
    q, step = np.array([0.4, -0.7, 0.5]), 1e-6 * np.array([1.0, -2.0, 0.5])
    at = [control.force_directions.point_position(m, q + s, "tip", (0, 0, 0)) for s in (-step, step)]
    moved = control.PointForce(m, "tip")(q) @ (2 * step)
    np.testing.assert_allclose(moved, at[1] - at[0], atol=1e-15)
    squeeze = control.Squeeze(m, ("tip", (0, 0, 0)), ("link1", (0, 0, 0)))
    apart = [np.linalg.norm(x - control.force_directions.point_position(m, q, "link1", (0, 0, 0))) for x in at]
    np.testing.assert_allclose(squeeze(q) @ (2 * step), apart[0] - apart[1], atol=1e-15)
    contact = setsu.SurfaceContact("tip", (0, 0, 0), setsu.Sphere((0, 0, -1), 0.5))
    depth = [-contact.surface.value(x) for x in at]
    np.testing.assert_allclose(control.SurfacePress(m, contact)(q) @ (2 * step), depth[1] - depth[0], atol=1e-15)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_hybrid_control_with_the_right_model_gives_the_set_force_at_once(friction: float) -> None:
    """On a cylinder, along it and around it: normal force exact, path followed."""
    arm = puma560()
    q0 = np.array([0.3, -0.6, 0.4, 0.2, 0.8, 0.1])
    body = arm.body_names[-1]
    x0 = control.force_directions.point_position(arm, q0, body, (0, 0, 0.1))
    surface = setsu.Cylinder((x0[0], 0.0, x0[2] - 0.6), (0, 1, 0), 0.6)
    contact = setsu.SurfaceContact(body, (0, 0, 0.1), surface, friction=friction)

    def path(t: float):
        phi, rate = 0.15 * t, 0.15
        around = np.array([np.sin(phi), 0.0, np.cos(phi)])
        along = np.array([np.cos(phi), 0.0, -np.sin(phi)])
        x = np.array([x0[0], x0[1] + 0.1 * t, x0[2] - 0.6]) + 0.6 * around
        return x, 0.6 * rate * along + np.array([0, 0.1, 0]), -0.6 * rate**2 * around

    law = control.HybridControl(
        arm, contact, path, 20.0, 100.0, 20.0, posture=q0, posture_gain=25.0, posture_damping=10.0
    )
    J = setsu.point_jacobian(arm, q0, body, (0, 0, 0.1))
    v0 = np.linalg.pinv(J) @ path(0.0)[1]
    rec = setsu.simulate(arm, q0, v0, 0.1, 5e-3, torque=law, contacts=[contact])
    np.testing.assert_allclose(rec.normal_force[:, 0], 20.0, rtol=1e-6)
    end = control.force_directions.point_position(arm, rec.q[-1], body, (0, 0, 0.1))
    assert np.linalg.norm(end - path(0.1)[0]) < 1e-5
