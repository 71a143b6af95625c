"""Laws of constrained motion over closed mechanisms: forces and motions belong together, wherever loops are cut."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from identities.closed_mechanisms import consistent_velocity, cut, graph_of, same_velocity

import setsu
from setsu import sample_mechanisms as samples

pytestmark = pytest.mark.thin(2)

MECHANISMS = {
    "four_bar": (samples.four_bar, ["crank"]),
    "slider_crank": (samples.slider_crank, ["slider"]),
    "five_bar": (samples.five_bar, ["left_upper", "right_upper"]),
    "parallelogram_arm": (samples.parallelogram_arm, ["upper", "lever"]),
    "n_four_bar": (lambda: samples.n_four_bar(3), ["crank1"]),
    "bricard": (samples.bricard, ["rod3"]),
    "spatial_slider_crank": (samples.spatial_slider_crank, ["crank"]),
}
over_mechanisms = pytest.mark.parametrize("name", MECHANISMS)
STATES = 4


def states(name, seed=5):
    """A mechanism with gravity askew, and closed states: q (4, nq), v (4, nv) on the loops."""
    m = setsu.with_gravity(MECHANISMS[name][0](), (1.0, 2.0, -9.0))
    steps = 0.2 * np.random.default_rng(seed).standard_normal((STATES, m.nv))
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), steps, 1.0))
    return m, q, consistent_velocity(m, q, seed)


def moving_contact(m):
    """A point of the first body held on a plane for ever, with friction."""
    return setsu.SurfaceContact(
        m.body_names[0], (0.05, 0.02, 0.01), setsu.Plane((0.3, 0.2, 1.0), 0.1), 0.1, bilateral=True
    )


@over_mechanisms
def test_inverse_dynamics_undoes_forward_dynamics(name):
    m, q, v = states(name)
    driven = MECHANISMS[name][1]
    tau = np.zeros((STATES, m.nv))
    tau[:, [m.joint_names.index(joint) for joint in driven] if m.nq == m.nv else [0]] = 3.0
    forward = setsu.constrained_dynamics(m, q, v, tau)
    assert forward.residual.max() < 1e-10
    inverse = setsu.constrained_inverse_dynamics(m, q, v, forward.acceleration, actuated=driven)
    np.testing.assert_allclose(inverse.torque, tau, atol=1e-9)
    np.testing.assert_allclose(inverse.loop_wrench, forward.loop_wrench, atol=1e-9)
    np.testing.assert_allclose(inverse.joint_wrenches, forward.joint_wrenches, atol=1e-9)
    assert (inverse.redundancy == 0).all()


@over_mechanisms
def test_the_papers_way_equals_the_default(name):
    """nishiguchi2014 (30)-(35): everything from repeated inverse dynamics."""
    m, q, v = states(name)
    tau = np.random.default_rng(1).standard_normal((STATES, m.nv))
    contacts = [] if name in ("slider_crank", "bricard") else [moving_contact(m)]
    ours = setsu.constrained_dynamics(m, q, v, tau, contacts)
    theirs = setsu.constrained_dynamics(m, q, v, tau, contacts, method="extended_newton_euler")
    for field in ("acceleration", "normal_force", "friction_force", "loop_wrench", "joint_wrenches"):
        a, b = getattr(ours, field), getattr(theirs, field)
        np.testing.assert_allclose(a, b, atol=1e-10 * max(1.0, np.abs(a).max(initial=0.0)))


@over_mechanisms
def test_loops_do_no_work(name):
    """vᵀ(M a + bias - τ) = 0: the power of all loop forces together."""
    m, q, v = states(name)
    tau = np.random.default_rng(2).standard_normal((STATES, m.nv))
    a = setsu.constrained_dynamics(m, q, v, tau).acceleration
    forces = setsu.inverse_dynamics(m, q, v, a) - tau
    np.testing.assert_allclose(np.sum(v * forces, axis=-1), 0.0, atol=1e-9 * np.abs(forces).max())


@over_mechanisms
def test_wrenches_do_not_know_where_the_loops_are_cut(name):
    m, q, _ = states(name)
    for state in range(2):
        graph = graph_of(m, q[state])
        reference, places = cut(graph, 0)
        at_zero = reference.neutral()
        speed = consistent_velocity(reference, at_zero, 3)
        centers = {body: center for body, (_, center, _) in graph.bodies.items()}
        motion = motion_of(reference, at_zero, speed, centers)
        expected = wrenches_of(reference, speed, places, centers)
        for seed in range(1, 6):
            other, places = cut(graph, seed)
            own = same_velocity(other, other.neutral(), centers, motion)
            found = wrenches_of(other, own, places, centers)
            for key, value in expected.items():
                np.testing.assert_allclose(found[key], value, atol=1e-9, err_msg=f"{key}, cut {seed}")


def motion_of(m, q, v, centers):
    """Velocity of each body's center of mass and its angular velocity."""
    result = {}
    for name, T, V in zip(m.body_names, setsu.body_poses(m, q), setsu.body_velocities(m, q, v), strict=True):
        result[name] = np.concatenate([V[:3] + np.cross(V[3:], centers[name] - T[:3, 3]), V[3:]])
    return result


def wrenches_of(m, v, places, centers):
    """Wrench by a on b at every joint, and acceleration of every center of mass, world axes."""
    q = m.neutral()
    r = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv))
    assert r.residual < 1e-9
    result = {}
    for joint, (where, backwards) in places.items():
        loop = next((k for k, loop in enumerate(m.loops) if loop.name == where and loop.joint.name == joint), None)
        wrench = r.joint_wrenches[m.body_names.index(where)] if loop is None else r.loop_wrench[loop]
        result[f"joint {joint}"] = -wrench if backwards else wrench
    A, V = setsu.body_accelerations(m, q, v, r.acceleration), setsu.body_velocities(m, q, v)
    for k, (name, T) in enumerate(zip(m.body_names, setsu.body_poses(m, q), strict=True)):
        arm = centers[name] - T[:3, 3]
        linear = A[k, :3] + np.cross(A[k, 3:], arm) + np.cross(V[k, 3:], np.cross(V[k, 3:], arm))
        result[f"body {name}"] = np.concatenate([linear, A[k, 3:]])
    return result


@over_mechanisms
def test_an_opened_loop_with_its_wrench_on_both_sides_moves_the_same(name):
    m, q, v = states(name)
    r = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv))
    opened = dataclasses.replace(m, loops=())
    free = setsu.forward_dynamics(opened, q, v, np.zeros(m.nv), external_wrenches=r.constraint_wrenches)
    np.testing.assert_allclose(free, r.acceleration, atol=1e-8)
    # The joint wrenches then are those of the open mechanism under the same loads.
    np.testing.assert_allclose(
        r.joint_wrenches, setsu.joint_wrenches(opened, q, v, free, r.constraint_wrenches, frame="world"), atol=1e-8
    )


def test_joint_friction_springs_and_drives_of_a_joint_do_not_know_whether_it_closes_the_loop():
    options = {"damping": 0.4, "coulomb": 0.2, "stiffness": 3.0, "spring_rest": 0.3, "armature": 0.05}
    m = samples.four_bar()
    bodies = [dataclasses.replace(b, joint=dataclasses.replace(b.joint, **options)) for b in m.bodies]
    loops = tuple(dataclasses.replace(loop, joint=dataclasses.replace(loop.joint, **options)) for loop in m.loops)
    m = dataclasses.replace(m, bodies=tuple(bodies), loops=loops)
    graph = graph_of(m, m.neutral())
    centers = {body: center for body, (_, center, _) in graph.bodies.items()}
    results = []
    for seed in range(6):
        other, places = cut(graph, seed)
        if not results:
            motion = motion_of(other, other.neutral(), consistent_velocity(other, other.neutral(), 1), centers)
        # Springs and dry friction see the joint's own coordinate: reversed joints have it reversed.
        turned = [_with_rest(body.joint, places) for body in other.bodies]
        other = dataclasses.replace(
            other,
            bodies=tuple(dataclasses.replace(b, joint=j) for b, j in zip(other.bodies, turned, strict=True)),
            loops=tuple(dataclasses.replace(loop, joint=_with_rest(loop.joint, places)) for loop in other.loops),
        )
        v = same_velocity(other, other.neutral(), centers, motion)
        results.append(wrenches_of(other, v, places, centers))
    for found in results[1:]:
        for key, value in results[0].items():
            np.testing.assert_allclose(found[key], value, atol=1e-8, err_msg=key)


def _with_rest(joint, places):
    sign = -1.0 if places[joint.name][1] else 1.0
    return dataclasses.replace(joint, spring_rest=sign * joint.spring_rest[0])


def test_a_massless_coupler_and_the_massless_cross_of_a_joint_move():
    """A four-bar whose coupler has no mass is a crank and a rocker tied together; the limit of small masses agrees."""
    m = samples.four_bar()
    light = [
        dataclasses.replace(m, bodies=tuple(_scaled(b, factor) if b.name == "coupler" else b for b in m.bodies))
        for factor in (0.0, 1e-7)
    ]
    v = consistent_velocity(m, m.neutral(), 0)
    none, little = (setsu.constrained_dynamics(k, m.neutral(), v, np.array([1.0, 0, 0])) for k in light)
    np.testing.assert_allclose(none.acceleration, little.acceleration, rtol=1e-5, atol=1e-5)
    assert none.residual < 1e-9
    np.testing.assert_allclose(none.loop_wrench, little.loop_wrench, rtol=1e-5, atol=1e-5)


def _scaled(body, factor):
    return dataclasses.replace(body, mass=body.mass * factor, inertia=tuple(factor * x for x in body.inertia))


def test_a_free_massless_chain_is_refused_by_name():
    builder = setsu.MechanismBuilder("nothing")
    builder.add_body("arm", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(1, 0, 0))
    builder.add_body("whip", "arm", setsu.Revolute((0, 1, 0)), setsu.placement((1, 0, 0)))
    with pytest.raises(setsu.InputError, match="a motion of joint whip_joint moves no mass"):
        setsu.constrained_dynamics(builder.build(), [0, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_motion_stays_finite_where_all_rods_are_in_line(n):
    m = samples.n_four_bar(n)
    flat = np.array([np.pi / 2, -np.pi / 2] * (n + 1))[: m.nv]
    swing = np.array([1.0, -1.0] * (n + 1))[: m.nv]
    for offset in (0.0, 1e-12, 1e-9, 1e-6):
        r = setsu.constrained_dynamics(m, flat + offset * swing, swing, np.zeros(m.nv))
        assert np.isfinite(r.acceleration).all()
        assert np.abs(r.acceleration).max() < 1e3
        assert np.isfinite(r.joint_wrenches).all()
    # A little aside the rods move as parallelograms again.
    a = setsu.constrained_dynamics(m, flat + 1e-6 * swing, swing, np.zeros(m.nv)).acceleration
    np.testing.assert_allclose(a[::2], a[0], rtol=1e-6)


def test_two_actuators_share_by_their_weights():
    """Both drive the one freedom of a four-bar: Σ w τ² is least, so w1 τ1 / w2 τ2 is the ratio of their rates."""
    m, q, v = states("four_bar")
    a = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv)).acceleration
    G = setsu.constraints.constraint_system(m).evaluate(q, v).jacobian
    rates = np.linalg.svd(G)[2][:, -1]
    a = a + 2.0 * rates
    for weights in ({}, {"crank": 5.0}, {"crank": 2.0, "rocker": 7.0}):
        r = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=["crank", "rocker"], weights=weights)
        w = np.array([weights.get("crank", 1.0), weights.get("rocker", 1.0)])
        pull = r.torque[:, [0, 2]] * w
        np.testing.assert_allclose(pull[:, 0] * rates[:, 2], pull[:, 1] * rates[:, 0], rtol=1e-9)
        assert (r.redundancy == 1).all()
        np.testing.assert_allclose(setsu.constrained_dynamics(m, q, v, r.torque).acceleration, a, atol=1e-9)
    squeezed = setsu.constrained_inverse_dynamics(
        m, q, v, a, actuated=["crank", "rocker"], internal_torque=np.array([10.0, 0.0])
    )
    assert np.abs(squeezed.torque - r.torque).max() > 0.1
    np.testing.assert_allclose(setsu.constrained_dynamics(m, q, v, squeezed.torque).acceleration, a, atol=1e-9)


def test_an_actuator_in_a_loop_joint_drives_like_any_other():
    m, q, v = states("four_bar")
    twist = np.linspace(-2.0, 3.0, STATES)[:, None]
    forward = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv), loop_torque=twist)
    inverse = setsu.constrained_inverse_dynamics(m, q, v, forward.acceleration, actuated=["pin"])
    np.testing.assert_allclose(inverse.loop_torque, twist, atol=1e-10)
    np.testing.assert_allclose(inverse.loop_wrench[:, 0, 4], -twist[:, 0], atol=1e-10)  # the pin's axis is -y


def test_freedoms_nobody_drives_are_named():
    m, q, v = states("five_bar")
    with pytest.raises(setsu.InputError, match=r"1 freedom that nobody drives, moving .*right_upper"):
        setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), actuated=["left_upper"])
    with pytest.raises(setsu.InputError, match="2 freedoms"):
        setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), actuated=[])


def test_accelerations_that_break_a_loop_are_refused():
    m, q, v = states("five_bar")
    with pytest.raises(setsu.InputError, match='a breaks loop "pin"'):
        setsu.constrained_inverse_dynamics(m, q, v, np.ones(m.nv))
    with pytest.raises(setsu.InputError, match=r'unknown joint .*did you mean "left_upper"'):
        setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), actuated=["left_uper"])
    for weights, says in (({"left_upper": 0.0}, "positive number"), ([1.0], "a weight per joint name")):
        with pytest.raises(setsu.InputError, match=says):
            setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), weights=weights)
    with pytest.raises(setsu.InputError, match="a list of joint names, got 3"):
        setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), actuated=3)
    with pytest.raises(setsu.InputError, match="expected contacts that press with it"):
        setsu.constrained_inverse_dynamics(m, q, v, _accelerations(m, q, v), normal_force=[1.0])


def _accelerations(m, q, v):
    return setsu.constrained_dynamics(m, q, v, np.ones(m.nv)).acceleration


def test_pressing_on_a_surface_takes_the_torques_of_the_force():
    """An arm at rest that presses on the floor: Jᵀ f more than gravity asks."""
    m = samples.planar_arm(3)
    q = np.array([0.8, -1.2, -0.5])
    hand = setsu.SurfaceContact("tip", (0, 0, 0), setsu.Plane(), 0.3)
    r = setsu.constrained_inverse_dynamics(m, q, np.zeros(3), np.zeros(3), [hand], normal_force=[20.0])
    expected = setsu.gravity_torque(m, q) - setsu.point_jacobian(m, q, "tip").T @ [0, 0, 20.0]
    np.testing.assert_allclose(r.torque, expected, atol=1e-12)
    v = np.array([0.1, 0.2, -0.3])
    sliding = setsu.constrained_inverse_dynamics(m, q, v, np.zeros(3), [hand], normal_force=[20.0])
    np.testing.assert_allclose(np.linalg.norm(sliding.friction_force), 6.0)
    assert sliding.friction_force[0] @ (setsu.point_jacobian(m, q, "tip") @ v) < 0.0


def test_couplings_tie_joints_with_forces_in_the_ratio_of_their_factors():
    builder = setsu.MechanismBuilder("gears")
    for name, inertia in (("small", 1.0), ("large", 5.0)):
        builder.add_body(name, joint=setsu.Revolute((0, 0, 1), name), mass=1.0, inertia=inertia * np.eye(3))
    builder.add_coupling("gear", {"small": 1.0, "large": 3.0})
    r = setsu.constrained_dynamics(builder.build(), [0, 0], [0, 0], [2.0, 0.0])
    # Reflected inertia 1 + 5/9 at the small wheel.
    np.testing.assert_allclose(r.acceleration, [2 / (1 + 5 / 9), -2 / (1 + 5 / 9) / 3])
    np.testing.assert_allclose(r.coupling_force * 3.0, 5.0 * r.acceleration[1])
