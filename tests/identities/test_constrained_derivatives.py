"""Derivatives under loops, couplings and surface contacts against fourth-order differences of what they differentiate.

    f'(x) = (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h + O(h⁴)

Along the coordinates the step leaves the closed loops by about h, within what `constrained_dynamics` takes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from identities.closed_mechanisms import consistent_velocity

import setsu
from setsu.constraints.redundancy import redundancy

pytestmark = pytest.mark.thin(2)

RELATIVE = 1e-8
PARTS = {
    "": "acceleration",
    "loop_wrench": "loop_wrench",
    "normal_force": "normal_force",
    "friction_force": "friction_force",
    "coupling_force": "coupling_force",
}
LOOPS = ("four_bar", "five_bar", "spatial_slider_crank", "delta_robot", "stewart_platform", "jansen_leg", "bricard")
CLOSED_BY = {
    "Fixed": setsu.Fixed(),
    "Revolute": setsu.Revolute((0, 0, 1), damping=0.3, stiffness=2.0, spring_rest=0.1, armature=0.2),
    "Prismatic": setsu.Prismatic((1, 0, 0), damping=0.3, stiffness=20.0, armature=0.2),
    "Helical": setsu.Helical((0, 0, 1), pitch=0.1, damping=0.3, armature=0.1),
    "Cylindrical": setsu.Cylindrical((0, 0, 1), damping=0.2, armature=0.1),
    "Universal": setsu.Universal(damping=0.2, stiffness=1.5),
    "Spherical": setsu.Spherical(damping=0.2),
    "Planar": setsu.Planar((0, 0, 1), damping=0.2, stiffness=3.0, armature=0.1),
}


def differences(m: setsu.Mechanism, state: tuple, along: np.ndarray, h: float, **options: Any) -> dict[str, np.ndarray]:
    """Derivatives (..., k + 2 nv) of all parts along directions of coordinates (k, nv), velocities, torques."""
    q, v, tau = state
    steps = h * np.array([-2.0, -1.0, 1.0, 2.0])
    shifts = np.zeros((3, len(along) + 2 * m.nv, m.nv))
    shifts[0, : len(along)] = along
    shifts[1, len(along) : len(along) + m.nv] = shifts[2, len(along) + m.nv :] = np.eye(m.nv)
    dq, dv, dtau = steps[:, None, None] * shifts[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        found = setsu.constrained_dynamics(m, setsu.integrate(m, q, dq, 1.0), v + dv, tau + dtau, **options)
    result = {}
    for key, field in PARTS.items():
        f = getattr(found, field)
        slope = (8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * h)
        result[key] = np.moveaxis(slope, 0, -1)
    return result


def assert_derivatives(
    m: setsu.Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float = 5e-5, closed: bool = False, **o: Any
) -> setsu.ConstrainedDynamicsDerivatives:
    """Compare all parts; with `closed`, along coordinates only for motions that keep the loops closed."""
    along = np.eye(m.nv)
    if closed:
        _, s, Vt = np.linalg.svd(setsu.constraints.constraint_system(m).evaluate(q, v).jacobian)
        along = Vt[int((s > 1e-9 * s[0]).sum()) :]
    found = setsu.constrained_dynamics_derivatives(m, q, v, tau, **o)
    expected = differences(m, (q, v, tau), along, h, **o)
    for key, reference in expected.items():
        dq, dv, dtau = (getattr(found, f"{key}_{name}" if key else name) for name in ("dq", "dv", "dtau"))
        whole = np.concatenate([dq @ along.T, dv, dtau], axis=-1)
        assert whole.shape == reference.shape
        size = np.abs(reference).max(initial=0.0)
        if key == "friction_force":  # a part of the whole force
            size = max(size, np.abs(expected["normal_force"]).max(initial=0.0))
        np.testing.assert_allclose(whole, reference, rtol=0, atol=RELATIVE * size, err_msg=key or "acceleration")
    return found


@pytest.mark.parametrize("name", LOOPS)
def test_sample_mechanisms(name: str) -> None:
    """Loops of every kind, most of them with redundant rows, whose forces are the least over all joints."""
    m = getattr(setsu.sample_mechanisms, name)()
    rng = np.random.default_rng(1)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.2 * rng.standard_normal(m.nv), 1.0))
    v, tau = consistent_velocity(m, q, 3), rng.standard_normal(m.nv)
    redundant = not redundancy(setsu.constraints.constraint_system(m)).kept.all()
    assert_derivatives(m, q, v, tau, closed=redundant)


def hanging(joint: setsu.Joint) -> setsu.Mechanism:
    """A free body that hangs on a swinging one by a loop."""
    builder = setsu.MechanismBuilder("hanging")
    inertia = np.diag([0.01, 0.02, 0.015])
    builder.add_body("first", joint=setsu.Spherical(name="hang"), mass=1.0, center_of_mass=(0.3, 0, 0), inertia=inertia)
    builder.add_body("second", joint=setsu.Free(), mass=2.0, center_of_mass=(0.1, 0.05, 0), inertia=2.0 * inertia)
    turned = setsu.placement((0.6, 0, 0), rpy=(0.3, -0.2, 0.5))
    builder.add_loop("link", "first", "second", joint, turned, setsu.placement((0.0, 0.2, 0.1), rpy=(-0.4, 0.1, 0.2)))
    return builder.build()


@pytest.mark.parametrize("kind", CLOSED_BY)
def test_every_joint_type_closes_a_loop(kind: str) -> None:
    """With dampers, springs and drives in the joint, external wrenches and torques along its free axes."""
    m = hanging(CLOSED_BY[kind])
    rng = np.random.default_rng(5)
    start = setsu.integrate(m, m.neutral(), 0.3 * rng.standard_normal(m.nv), 1.0)
    q = setsu.close_loops(m, start)
    v = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv))
    extra = {
        "loop_torque": rng.standard_normal(m.loops[0].joint.nv),
        "external_wrenches": rng.standard_normal((m.n_bodies, 6)),
    }
    # A joint's own coordinates are defined on the closed loop.
    assert_derivatives(m, q, v, rng.standard_normal(m.nv), closed=True, **extra)


@pytest.mark.parametrize(
    "joint_type", ["Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free"]
)
def test_every_joint_type_in_the_tree(joint_type: str) -> None:
    """A chain of one joint type slides along a curved surface with friction, under external wrenches."""
    options = {"damping": 0.5, "armature": 0.1, "stiffness": 2.0}
    m = setsu.sample_mechanisms.random_tree(7, n_bodies=3, joint_types=[joint_type], branching=0.0, **options)
    rng = np.random.default_rng(2)
    q, v, tau = m.random_configuration(3), rng.standard_normal(m.nv), 5.0 * rng.standard_normal(m.nv)
    body, point = m.body_names[-1], np.array([0.1, 0.2, -0.1])
    r = (setsu.body_poses(m, q)[-1] @ [*point, 1.0])[:3]
    direction = rng.standard_normal(3)
    center = r - 0.8 * direction / np.linalg.norm(direction)
    hand = setsu.SurfaceContact(body, point, setsu.Sphere(center, 0.8), friction=0.3, bilateral=True)
    found = assert_derivatives(m, q, v, tau, contacts=[hand], external_wrenches=rng.standard_normal((m.n_bodies, 6)))
    assert np.abs(found.normal_force_dq).max() > 0.0


SURFACES = {
    "plane": setsu.Plane((0.1, 0.2, 1.0), 0.0),
    "cylinder": setsu.Cylinder((0.0, 0.0, -0.5), (1.0, 0.3, 0.0), 0.5),
    "implicit": setsu.ImplicitSurface("z + 0.3*x**2 - 0.2*sin(3*y) + 0.1*x*y*z"),
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("mode", ["sliding", "sticking", "starting", "frictionless", "open"])
def test_contact_modes(surface: str, mode: str) -> None:
    """One point of a six-joint arm on a surface, in each mode; the mode is checked."""
    m = setsu.sample_mechanisms.puma560()
    rng = np.random.default_rng(4)
    place = SURFACES[surface]
    q = m.random_configuration(8)
    body, point = m.body_names[-1], np.array([0.05, 0.1, 0.2])
    # The surface is moved to the hand by moving the arm's point onto it.
    for _ in range(60):
        r = (setsu.body_poses(m, q)[-1] @ [*point, 1.0])[:3]
        distance, normal, _, _ = place.frame(r)
        J = setsu.point_jacobian(m, q, body, point)
        q = setsu.integrate(m, q, -np.linalg.pinv(normal[None] @ J)[:, 0] * distance, 1.0)
    G = (normal @ J)[None]
    v = rng.standard_normal(m.nv)
    v = (v - np.linalg.pinv(G) @ (G @ v)) * (0.0 if mode in ("sticking", "starting") else 1.0)
    push = 400.0 if mode != "open" else -400.0
    friction = {"frictionless": 0.0, "starting": 0.05, "sticking": 5.0}.get(mode, 0.3)
    aside = np.cross(normal, (0.3, 0.5, -0.4)) * (300.0 if mode == "starting" else 0.0)
    tau = setsu.bias_torque(m, q, v) + J.T @ (aside - push * normal) + 2.0 * rng.standard_normal(m.nv)
    hand = setsu.SurfaceContact(body, point, place, friction=friction)
    # In rest the directions of velocity end the mode: slow contacts are held in it.
    options = {"sticking": [mode in ("sticking", "starting")]} if mode in ("sticking", "starting") else {}
    found = assert_derivatives(m, q, v, tau, contacts=[hand], **options)
    assert bool(found.dynamics.touching[0]) == (mode != "open")
    assert bool(found.dynamics.sticking[0]) == (mode == "sticking")


@pytest.mark.parametrize("mode", ["sticking", "sliding"])
def test_contacts_that_share_a_load(mode: str) -> None:
    """A box on four points: the forces are those of least norm, and so are their derivatives."""
    builder = setsu.MechanismBuilder("box")
    inertia = np.diag([0.1, 0.2, 0.25])
    builder.add_body("box", joint=setsu.Free(), mass=3.0, center_of_mass=(0.05, 0.02, 0.1), inertia=inertia)
    m = builder.build()
    rng = np.random.default_rng(0)
    q = m.neutral()
    v = np.array([0.4, 0.3, 0.0, 0.0, 0.0, 0.6]) if mode == "sliding" else np.zeros(6)
    floor = setsu.Plane((0, 0, 1), 0.0)
    feet = [
        setsu.SurfaceContact("box", (x, y, 0.0), floor, friction=0.8, name=f"{x} {y}")
        for x in (-0.3, 0.2) for y in (-0.2, 0.25)
    ]  # fmt: skip
    tau = 0.5 * rng.standard_normal(6)
    options = {"sticking": np.ones(4)} if mode == "sticking" else {}
    # Only motions in which all four points stay on the floor keep the load shared.
    found = setsu.constrained_dynamics_derivatives(m, q, v, tau, contacts=feet, **options)
    assert found.dynamics.sticking.all() == (mode == "sticking")
    along = np.eye(6)[[0, 1, 5]]
    expected = differences(m, (q, v, tau), along, 1e-4, contacts=feet, **options)
    for key in ("", "normal_force", "friction_force"):
        dq, dv, dtau = (getattr(found, f"{key}_{name}" if key else name) for name in ("dq", "dv", "dtau"))
        keep = [0, 1, 2, *(3 + k for k in (0, 1, 5)), *range(9, 15)]
        whole = np.concatenate([dq @ along.T, dv, dtau], axis=-1)[..., keep]
        reference = expected[key][..., keep]
        size = max(1.0, float(np.abs(reference).max()))
        np.testing.assert_allclose(whole, reference, rtol=0, atol=RELATIVE * size, err_msg=key)


def test_couplings_linear_and_by_a_polynomial() -> None:
    """Rows of couplings bend with their polynomial; their forces change too."""
    m = setsu.sample_mechanisms.planar_arm(4)
    m = setsu.add_coupling(m, "gear", {m.joint_names[0]: 1.0, m.joint_names[1]: -3.0})
    names = m.joint_names
    m = setsu.add_coupling(m, "cam", {names[3]: 1.0, names[2]: -1.0}, polynomial=(0.1, 0.4, -0.3, 0.2))
    rng = np.random.default_rng(2)
    q = setsu.close_loops(m, 0.4 * rng.standard_normal(m.nq))
    v = consistent_velocity(m, q, 1)
    found = assert_derivatives(m, q, v, rng.standard_normal(m.nv))
    assert np.abs(found.coupling_force_dq).max() > 0.0


def test_loops_and_contacts_and_drives_at_once() -> None:
    """A five-bar whose tip slides in friction along a plane, one crank driven, dry friction in moving joints."""
    m = setsu.sample_mechanisms.five_bar()
    rng = np.random.default_rng(3)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal(m.nv), 1.0))
    v = consistent_velocity(m, q, 2)
    body = m.body_names[1]
    r = (setsu.body_poses(m, q)[1] @ [0.1, 0.0, 0.0, 1.0])[:3]
    u = setsu.point_jacobian(m, q, body, (0.1, 0.0, 0.0)) @ v
    across = np.cross(u, [0.0, 1.0, 0.0]) + np.cross(u, [0.0, 0.0, 1.0]) + np.cross(u, [1.0, 0.0, 0.0])
    plane = setsu.Plane(across, float(across @ r) / float(np.linalg.norm(across)))
    hand = setsu.SurfaceContact(body, (0.1, 0.0, 0.0), plane, friction=0.2, bilateral=True)
    assert_derivatives(m, q, v, rng.standard_normal(m.nv), closed=True, contacts=[hand])
    k = 0
    drive = setsu.Prescribed(m.joint_names[k], lambda t: (float(q[k]), float(v[k]), 0.7))
    assert_derivatives(m, q, v, rng.standard_normal(m.nv), closed=True, prescribed=[drive])


def test_dry_friction_holds_or_resists() -> None:
    """A joint that dry friction holds has no derivative of its acceleration; one that moves feels a constant."""
    b = setsu.MechanismBuilder("arm")
    for k in range(3):
        b.add_body(
            f"link{k}", f"link{k - 1}" if k else "world", setsu.Revolute((0, 1, 0), coulomb=30.0 if k == 1 else 0.1),
            setsu.placement((0.3 if k else 0.0, 0, 0)), mass=1.0, center_of_mass=(0.15, 0, 0),
            inertia=0.01 * np.eye(3),
        )  # fmt: skip
    m = b.build()
    q, v, tau = np.array([0.3, -0.4, 0.5]), np.array([0.2, 0.0, -0.4]), np.array([1.0, 0.5, -0.2])
    d = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    assert np.abs(d.dq[1]).max() < 1e-12
    assert np.abs(d.dtau[:, 1]).max() < 1e-12
    keep = [0, 1, 2, 3, 5, 6, 7, 8]  # the velocity of the held joint ends the mode
    reference = differences(m, (q, v, tau), np.eye(3), 1e-4)[""][:, keep]
    whole = np.concatenate([d.dq, d.dv, d.dtau], axis=-1)[:, keep]
    np.testing.assert_allclose(whole, reference, rtol=0, atol=RELATIVE * np.abs(reference).max())


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scaled_masses_scale_the_derivatives(scale: float) -> None:
    """Masses and torques times s leave accelerations as they are: dq, dv the same, dtau over s, forces times s."""
    m = setsu.sample_mechanisms.delta_robot()
    heavy = setsu.MechanismBuilder("scaled", gravity=m.gravity)
    for body in m.bodies:
        joint = body.joint
        heavy.add_body(
            body.name, body.parent, joint, body.pose.matrix, scale * body.mass, body.center_of_mass,
            scale * body.inertia_matrix,
        )  # fmt: skip
    for loop in m.loops:
        heavy.add_loop(loop.name, loop.body_a, loop.body_b, loop.joint, loop.pose_a.matrix, loop.pose_b.matrix)
    other = heavy.build()
    q = setsu.close_loops(m, m.neutral())
    v, tau = consistent_velocity(m, q, 3), np.random.default_rng(0).standard_normal(m.nv)
    one = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    two = setsu.constrained_dynamics_derivatives(other, q, v, scale * tau)
    for key, factor in (("dq", 1.0), ("dv", 1.0), ("dtau", 1 / scale), ("loop_wrench_dq", scale)):
        expected = factor * getattr(one, key)
        np.testing.assert_allclose(getattr(two, key), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_batches_are_single_states() -> None:
    """Any batch shape, broadcasting included, row by row the numbers of single calls."""
    m = setsu.sample_mechanisms.five_bar()
    rng = np.random.default_rng(7)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal((2, 3, m.nv)), 1.0))
    v = consistent_velocity(m, q, 3)
    tau = rng.standard_normal(m.nv)
    whole = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    assert whole.loop_wrench_dv.shape == (2, 3, len(m.loops), 6, m.nv)
    one = setsu.constrained_dynamics_derivatives(m, q[1, 2], v[1, 2], tau)
    for key in ("dq", "dv", "dtau", "loop_wrench_dq", "loop_wrench_dtau"):
        size = np.abs(getattr(one, key)).max()
        np.testing.assert_allclose(getattr(whole, key)[1, 2], getattr(one, key), rtol=0, atol=1e-11 * size)
    empty = setsu.constrained_dynamics_derivatives(m, q[:0], v[:0], tau)
    assert empty.dq.shape == (0, 3, m.nv, m.nv)


def test_a_tree_without_constraints_is_forward_dynamics() -> None:
    """Nothing holds: the derivatives of forward dynamics."""
    m = setsu.sample_mechanisms.puma560()
    rng = np.random.default_rng(1)
    q, v, tau = m.random_configuration(1), rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    one, two = setsu.constrained_dynamics_derivatives(m, q, v, tau), setsu.forward_dynamics_derivatives(m, q, v, tau)
    for key in ("dq", "dv", "dtau"):
        size = np.abs(getattr(two, key)).max()
        np.testing.assert_allclose(getattr(one, key), getattr(two, key), rtol=0, atol=1e-11 * size)


def test_what_has_no_derivative_is_refused() -> None:
    """A folded parallelogram, friction by loads."""
    m = setsu.sample_mechanisms.two_joint_parallelogram()
    b = setsu.MechanismBuilder("worn")
    b.add_body("a", joint=setsu.Revolute((0, 0, 1), bearing_friction=0.1, bearing_radius=0.02), mass=1.0)
    with pytest.raises(setsu.InputError, match="constrained_dynamics_derivatives"):
        setsu.constrained_dynamics_derivatives(b.build(), [0.0], [0.0], [0.0])
    driven = hanging(setsu.Universal(armature=0.1))
    q = setsu.close_loops(driven, driven.neutral())
    with pytest.raises(setsu.InputError, match="universal joint with armature"):
        setsu.constrained_dynamics_derivatives(driven, q, np.zeros(driven.nv), np.zeros(driven.nv))
    with pytest.raises(setsu.InputError, match="q: expected shape"):
        setsu.constrained_dynamics_derivatives(m, [0.0], [0.0], [0.0])
