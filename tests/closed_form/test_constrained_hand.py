"""nishiguchi2014: a planar arm with its hand on the floor, forces of the paper's resting positions and first instants.

Motion in the y-z plane, joint axes +x, q = 0 straight up, links 0.5 m and 1 kg, g = 9.8, K = 0.01.
"""

import dataclasses

import numpy as np
import pytest

import setsu

pytestmark = pytest.mark.thin(3)

LENGTH = 0.5


def arm(links, inertia=1 / 3):
    """The paper's arm; its centroidal inertia is m l²/3, that of a true rod m l²/12."""
    builder = setsu.MechanismBuilder(f"{links}-link arm", gravity=(0, 0, -9.8))
    parent = "world"
    for k in range(1, links + 1):
        moment = inertia * LENGTH**2
        builder.add_body(
            f"link{k}",
            parent,
            setsu.Revolute((1, 0, 0), f"joint{k}", damping=3.0),
            setsu.placement((0, 0, LENGTH if k > 1 else 0.0)),
            mass=1.0,
            center_of_mass=(0, 0, LENGTH / 2),
            inertia=np.diag([moment, moment, 0.0]),
        )
        parent = f"link{k}"
    return builder.build()


def hand(links, friction=0.01):
    return setsu.SurfaceContact(f"link{links}", (0, 0, LENGTH), setsu.Plane((0, 0, 1), 0.0), friction)


def test_table_2_forces_at_rest():
    """Friction-free equilibrium at [-5π/6, 2π/3] under [0, -4.9/4]: f_n = 9.8 N, joint forces 9.8 N and 0."""
    q, tau = np.array([-5 * np.pi / 6, 2 * np.pi / 3]), np.array([0.0, -4.9 / 4])
    r = setsu.constrained_dynamics(arm(2), q, np.zeros(2), tau, [hand(2)])
    np.testing.assert_allclose(r.normal_force, [9.8], atol=1e-12)
    np.testing.assert_allclose(r.joint_wrenches[:, 2], [9.8, 0.0], atol=1e-12)
    np.testing.assert_allclose(r.acceleration, 0.0, atol=1e-12)


def test_table_4_forces_at_rest():
    """Equilibrium at [-π, π/2, π/2] without torques: f_n = 14.7 N, joint forces 14.7, 4.9, -4.9 N."""
    q = np.array([-np.pi, np.pi / 2, np.pi / 2])
    r = setsu.constrained_dynamics(arm(3), q, np.zeros(3), np.zeros(3), [hand(3)])
    np.testing.assert_allclose(r.normal_force, [14.7], atol=1e-12)
    np.testing.assert_allclose(r.joint_wrenches[:, 2], [14.7, 4.9, -4.9], atol=1e-12)


@pytest.mark.parametrize(
    ("inertia", "normal", "first", "second"),
    [(1 / 3, 9.324, (-0.129, 10.252), (-0.120, 0.464)), (1 / 12, 9.3366, (-0.1128, 10.2700), (-0.1079, 0.4667))],
)
def test_the_printed_forces_a_tenth_of_a_second_after_the_start(inertia, normal, first, second):
    """RK4 with h = 0.01, forces solved again in every stage."""
    m, contacts, tau, h = arm(2, inertia), [hand(2)], np.array([0.0, -4.9 / 4]), 0.01

    def rates(q, v):
        return v, setsu.constrained_dynamics(m, q, v, tau, contacts).acceleration

    q, v = np.array([-7 * np.pi / 12, np.pi / 6]), np.zeros(2)
    for _ in range(10):
        k1 = rates(q, v)
        k2 = rates(q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rates(q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rates(q + h * k3[0], v + h * k3[1])
        q = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        v = v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    for method in ("default", "extended_newton_euler"):
        r = setsu.constrained_dynamics(m, q, v, tau, contacts, method=method)
        np.testing.assert_allclose(r.normal_force, [normal], atol=6e-4)
        np.testing.assert_allclose(r.joint_wrenches[0, 1:3], first, atol=6e-4)
        np.testing.assert_allclose(r.joint_wrenches[1, 1:3], second, atol=6e-4)
        np.testing.assert_allclose(r.friction_force[0, 1], 0.01 * normal, atol=1e-5)


def test_the_normal_force_is_equation_21():
    """A f_n = a - dᵀτ with A = m_c - K dᵀ j_t, written out for a sphere and a random three-link state."""
    rng = np.random.default_rng(7)
    m, K = arm(3), 0.05
    q = rng.uniform(-1.5, 1.5, 3)
    point = (setsu.body_poses(m, q)[2] @ [0, 0, LENGTH, 1])[:3]
    J = setsu.point_jacobian(m, q, "link3", (0, 0, LENGTH))
    sphere = setsu.Sphere(point - [0, 0.3, 0.4], 0.5)
    normal = sphere.gradient(point)
    v = rng.standard_normal(3)
    v -= (normal @ J) * (normal @ J @ v) / np.sum((normal @ J) ** 2)
    tau = rng.standard_normal(3)
    contact = setsu.SurfaceContact("link3", (0, 0, LENGTH), sphere, K, bilateral=True)
    r = setsu.constrained_dynamics(m, q, v, tau, [contact])

    M, b = setsu.mass_matrix(m, q), setsu.bias_torque(m, q, v)
    velocity = J @ v
    row = normal @ J
    d = np.linalg.solve(M, row)
    j_t = J.T @ velocity / np.linalg.norm(velocity)
    rate = setsu.point_jacobian_rate(m, q, v, "link3", (0, 0, LENGTH))
    a = d @ b - (normal @ rate @ v + velocity @ sphere.hessian(point) @ velocity)
    pressed = (a - d @ tau) / (row @ d - K * np.sign(r.normal_force[0]) * (d @ j_t))
    np.testing.assert_allclose(r.normal_force, [pressed], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("step", "integrator"), [(1e-2, "rk4"), (1e-3, "rk4"), (2e-3, "rk8")])
@pytest.mark.parametrize("friction", [0.05, 0.3])
@pytest.mark.parametrize("inertia", [1 / 12, 0.2, 1 / 3])
def test_the_hand_turns_back_at_a_dead_point_without_a_jump(inertia, friction, step, integrator, scale):
    """Straight, the arm cannot move its hand along the floor: nothing is lost there, whatever friction could hold."""
    m = arm(2, inertia)
    axis = setsu.Revolute((1, 0, 0), damping=3.0 * scale)
    turn = setsu.placement(rpy=(0.3, -0.7, 1.1))
    bodies = tuple(
        dataclasses.replace(
            body, mass=scale * body.mass, inertia=tuple(scale * np.array(body.inertia)),
            joint=dataclasses.replace(axis, name=body.joint.name),
            pose=setsu.Pose.of(turn @ body.pose.matrix, "") if k == 0 else body.pose,
        )
        for k, body in enumerate(m.bodies)
    )  # fmt: skip
    m = dataclasses.replace(m, bodies=bodies, gravity=tuple(turn[:3, :3] @ [0.0, 0.0, -9.8]))
    floor = setsu.SurfaceContact("link2", (0, 0, LENGTH), setsu.Plane(turn[:3, 2], 0.0), friction, name="hand")
    rec = setsu.simulate(
        m, [-np.pi / 2 + 0.2, -0.4], [-0.9, 1.8], 0.4, step,
        torque=scale * np.array([-3.0, 3.0]), contacts=[floor], integrator=integrator,
    )  # fmt: skip
    assert [event.kind for event in rec.events] == ["turn"]
    # The hand stays on the floor, and no step changes the speed by more than its acceleration does.
    assert np.abs(np.diff(rec.v, axis=0)).max() <= 1.1 * step * np.abs(rec.acceleration).max()
    assert np.abs(rec.acceleration).max() < 10.0
    assert rec.constraint_error.max() < 1e-12
    assert abs(rec.ledger.integration[-1]) < 1e-4 * scale


def test_energy_that_nothing_explains_is_reported(monkeypatch):
    """The dead point again, taken as a point that friction can hold."""
    monkeypatch.setattr("setsu.simulation.transitions._stops_the_mechanism", lambda *_: False)
    with pytest.warns(setsu.ModelWarning, match="energy changes by -.* J that nothing explains"):
        setsu.simulate(
            arm(2, 1 / 12),
            [-np.pi / 2 + 0.2, -0.4],
            [-0.9, 1.8],
            0.4,
            1e-3,
            torque=[-3.0, 3.0],
            contacts=[hand(2, 0.2)],
        )
