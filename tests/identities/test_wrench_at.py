"""The wrench through any weld, mount or joint: by cutting there, by sums over the mechanism, and in runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from identities.zoo import STATES, animal, assert_law, over_the_zoo

import setsu
from setsu.spatial import quaternion_from_rotation

pytestmark = pytest.mark.thin(3)


def cut(m: setsu.Mechanism, frame: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[Any, list, int]:
    """The far side on a Free joint, in the same motion, and the number of the body it begins with."""
    far = setsu.extract(m, frame, base="floating", drop=True)
    T = setsu.frame_pose(m, q, frame)
    velocity = setsu.frame_velocity(m, q, v, frame, axes="frame")
    acceleration = setsu.frame_acceleration(m, q, v, a, frame, axes="frame")
    # Free joints count the rate of the body-axes velocity: the classical acceleration less ω x v.
    acceleration[:, :3] -= np.cross(velocity[:, 3:], velocity[:, :3])
    state = [np.tile(far.neutral(), (len(q), 1)), np.zeros((len(q), far.nv)), np.zeros((len(q), far.nv))]
    for k, body in enumerate(far.moving):
        where_q, where_v = far.q_slices[k], far.v_slices[k]
        if body.name == frame:
            state[0][:, where_q] = [np.r_[t[:3, 3], quaternion_from_rotation(t[:3, :3])] for t in T]
            state[1][:, where_v], state[2][:, where_v] = velocity, acceleration
        else:
            old = m.joint_index(body.joint.name)
            state[0][:, where_q] = q[:, m.q_slices[old]]
            state[1][:, where_v], state[2][:, where_v] = v[:, m.v_slices[old]], a[:, m.v_slices[old]]
    return far, state, far.body_names.index(frame)


@over_the_zoo
def test_wrench_at_is_the_wrench_by_cutting_there(name: str) -> None:
    one = animal(name)
    m, q, v, a = one.mechanism, one.q, one.v, one.a
    rng = np.random.default_rng(5)
    pushes = {frame: rng.standard_normal((STATES, 6)) for frame in m.frame_names[1:]}
    for frame in m.frame_names[1:]:
        wrench = setsu.wrench_at(m, q, v, a, frame, pushes)
        far, state, index = cut(m, frame, q, v, a)
        given = {key: push for key, push in pushes.items() if key in far.frame_names}
        expected = setsu.joint_wrenches(far, state[0], state[1], state[2], given)[:, index]
        everything = setsu.joint_wrenches(m, q, v, a, pushes)
        assert_law(wrench, expected, [wrench, everything], 500 * len(m.bodies))


@over_the_zoo
def test_dict_wrenches_do_the_work_of_their_jacobians(name: str) -> None:
    """τ(with wrenches) = τ - Σ Jᵀ w, generic, specialised and in forward dynamics."""
    one = animal(name)
    m, q, v, a = one.mechanism, one.q, one.v, one.a
    rng = np.random.default_rng(6)
    pushes = {frame: rng.standard_normal((STATES, 6)) for frame in m.frame_names[1:]}
    tau = setsu.inverse_dynamics(m, q, v, a)
    work = [np.einsum("nij,ni->nj", setsu.frame_jacobian(m, q, frame), push) for frame, push in pushes.items()]
    pushed = setsu.inverse_dynamics(m, q, v, a, pushes)
    assert_law(pushed, tau - np.sum(work, axis=0), [tau, *work], 100 * m.nv)
    if name in ("fixed 1", "floating 2"):
        special = setsu.compile(m, ["inverse_dynamics"]).inverse_dynamics(q, v, a, external_wrenches=pushes)
        assert_law(special, pushed, [tau, pushed], 500 * m.nv)
    back = setsu.forward_dynamics(m, q, v, pushed, pushes)
    condition = np.linalg.cond(setsu.mass_matrix(m, q)).max()
    assert_law(back, a, [a, setsu.bias_torque(m, q, v)], 100 * m.nv, condition)


def _welded_arm(**joint) -> setsu.MechanismBuilder:
    """A pedestal on the floor, a link, a sensor welded to it, a tool welded to the sensor, a finger on the tool."""
    b = setsu.MechanismBuilder("welded arm")
    solid = {"inertia": np.diag([0.02, 0.03, 0.04])}
    b.add_body(
        "pedestal",
        joint=setsu.Fixed(),
        placement=setsu.placement((0, 0, 0.4)),
        mass=20.0,
        center_of_mass=(0.1, 0, -0.2),
    )
    b.add_body(
        "link",
        parent="pedestal",
        joint=setsu.Revolute((0, 1, 0), name="shoulder", **joint),
        mass=3.0,
        center_of_mass=(0.2, 0, 0),
        **solid,
    )
    b.add_body(
        "sensor",
        parent="link",
        joint=setsu.Fixed(),
        placement=setsu.placement((0.5, 0, 0), rpy=(0.3, -0.2, 0.7)),
        mass=0.1,
        **solid,
    )
    b.add_body(
        "tool",
        parent="sensor",
        joint=setsu.Fixed(),
        placement=setsu.placement((0, 0, 0.1), rpy=(0, 0.5, 0)),
        mass=0.6,
        center_of_mass=(0.03, 0.01, 0.02),
        **solid,
    )
    b.add_body("finger", parent="tool", joint=setsu.Prismatic((0, 0, 1), name="grip"), mass=0.2, **solid)
    return b  # fmt: skip


def test_push_on_the_tool_shows_beyond_the_weld() -> None:
    m = _welded_arm().build()
    state = np.array([0.3, 0.02]), np.array([0.5, -0.1]), np.array([1.0, 2.0])
    push = np.array([5.0, 0, 0, 0, 0, 0])
    for frame, felt in (("tool", 1.0), ("sensor", 1.0), ("link", 1.0), ("pedestal", 1.0), ("finger", 0.0)):
        free, pushed = (setsu.wrench_at(m, *state, frame, w, axes="world") for w in (None, {"tool": push}))
        assert np.allclose(pushed - free, -felt * np.r_[push[:3], np.cross(
            setsu.frame_pose(m, state[0], "tool")[:3, 3] - setsu.frame_pose(m, state[0], frame)[:3, 3], push[:3])],
            atol=1e-13)  # fmt: skip
    # An array row acts on the moving body itself, before any weld.
    rows = np.zeros((m.n_bodies, 6))
    rows[m.body_names.index("link")] = push
    for frame, felt in (("tool", 0.0), ("sensor", 0.0), ("link", 1.0)):
        difference = setsu.wrench_at(m, *state, frame, rows, axes="world") - setsu.wrench_at(
            m, *state, frame, axes="world"
        )
        assert np.allclose(difference, -felt * push, atol=1e-13)


def test_mount_carries_weight_and_change_of_momentum() -> None:
    """Force through the mount = Σ m (acc - g) of all declared bodies, those fixed to the world included."""
    m = _welded_arm().build()
    q, v, a = np.array([0.3, 0.02]), np.array([0.5, -0.1]), np.array([1.0, 2.0])
    force = np.zeros(3)
    for body in m.bodies:
        acceleration = setsu.frame_acceleration(m, q, v, a, body.name, body.center_of_mass)[:3]
        force += body.mass * (acceleration - np.array(m.gravity))
    wrench = setsu.wrench_at(m, q, v, a, "pedestal", axes="world")
    assert np.abs(wrench[:3] - force).max() < 1e-13 * m.total_mass * 9.81


def test_springs_between_points_count_on_the_body_they_are_tied_to() -> None:
    b = _welded_arm()
    b.add_spring("inside", "link", (0, 0, 0.1), "tool", (0, 0, 0), stiffness=500.0, rest_length=0.2)
    b.add_spring("rope", "world", (0, 0, 2), "tool", (0.1, 0, 0), stiffness=80.0, rest_length=0.5, damping=3.0)
    b.add_spring("grip spring", "tool", (0.1, 0, 0), "finger", (0, 0, 0), stiffness=30.0, rest_length=0.01)
    m, bare = b.build(), _welded_arm().build()
    q, v, a = np.array([[0.3, 0.02], [0.1, 0.05]]), np.array([0.5, -0.1]), np.array([1.0, 2.0])

    def pull(spring: setsu.Spring) -> tuple[np.ndarray, np.ndarray]:
        ends = [setsu.frame_pose(m, q, n)[:, :3, :3] @ p + setsu.frame_pose(m, q, n)[:, :3, 3]
                for n, p in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b))]  # fmt: skip
        rates = [setsu.frame_velocity(m, q, v, n, p)[:, :3]
                 for n, p in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b))]  # fmt: skip
        r = ends[1] - ends[0]
        length = np.linalg.norm(r, axis=1, keepdims=True)
        rate = np.sum(r / length * (rates[1] - rates[0]), axis=1, keepdims=True)
        return -(spring.stiffness * (length - spring.rest_length) + spring.damping * rate) * r / length, ends[1]

    origin = setsu.frame_pose(m, q, "sensor")[:, :3, 3]
    expected = setsu.wrench_at(bare, q, v, a, "sensor", axes="world")
    for spring in m.springs[:2]:  # the third pulls tool and finger, both beyond the sensor, against each other
        force, end = pull(spring)
        expected -= np.concatenate([force, np.cross(end - origin, force)], axis=1)
    wrench = setsu.wrench_at(m, q, v, a, "sensor", axes="world")
    assert_law(wrench, expected, [wrench, expected], 100)


def _four_bar_with_welds() -> setsu.Mechanism:
    """A four-bar whose coupler and rocker consist of two welded halves, the pin on the far half of the rocker."""
    b = setsu.MechanismBuilder("welded four-bar", gravity=(0, 0, -9.81))
    y = setsu.Revolute((0, 1, 0), name="crank")
    rod = {"mass": 1.0, "inertia": np.diag([0.01, 0.05, 0.05])}
    b.add_body("crank", joint=y, center_of_mass=(0.15, 0, 0), **rod)
    b.add_body(
        "coupler",
        parent="crank",
        joint=setsu.Revolute((0, 1, 0), name="elbow"),
        placement=setsu.placement((0.3, 0, 0)),
        center_of_mass=(0.2, 0, 0),
        **rod,
    )
    b.add_body(
        "half",
        parent="coupler",
        joint=setsu.Fixed(),
        placement=setsu.placement((0.4, 0, 0), rpy=(0, 0.3, 0)),
        center_of_mass=(0.2, 0, 0),
        **rod,
    )
    b.add_body(
        "rocker",
        joint=setsu.Revolute((0, 1, 0), name="rocker"),
        placement=setsu.placement((0.7, 0, 0)),
        center_of_mass=(0.2, 0, 0),
        **rod,
    )
    b.add_body(
        "end",
        parent="rocker",
        joint=setsu.Fixed(),
        placement=setsu.placement((0.3, 0, 0)),
        center_of_mass=(0.1, 0, 0),
        **rod,
    )
    b.add_loop(
        "pin",
        body_a="half",
        body_b="end",
        joint=setsu.Revolute((0, 1, 0)),
        placement_a=setsu.placement((0.35, 0, 0)),
        placement_b=setsu.placement((0.35, 0, 0)),
    )
    return b.build()  # fmt: skip


def _newton_euler_of(m: setsu.Mechanism, body: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """What one declared body alone needs, at its origin, world axes."""
    part = next(one for one in m.bodies if one.name == body)
    R = setsu.frame_pose(m, q, body)[:3, :3]
    center = np.array(part.center_of_mass)
    motion = setsu.frame_acceleration(m, q, v, a, body, center)
    w = setsu.frame_velocity(m, q, v, body)[3:]
    force = part.mass * (motion[:3] - np.array(m.gravity))
    inertia = R @ part.inertia_matrix @ R.T
    return np.r_[force, inertia @ motion[3:] + np.cross(w, inertia @ w) + np.cross(R @ center, force)]


def test_loops_and_contacts_of_constrained_dynamics_pass_the_weld() -> None:
    m = _four_bar_with_welds()
    q = setsu.close_loops(m, [0.8, 1.0, 1.2], fixed=["crank"])
    v = setsu.consistent_velocity(m, q, [0.7, 0.0, 0.0])
    normal = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    offset = float(normal @ (setsu.frame_pose(m, q, "half") @ [0.1, 0, 0.02, 1])[:3])
    plane = setsu.Plane(normal.tolist(), offset)
    touch = setsu.SurfaceContact("half", point=(0.1, 0, 0.02), surface=plane, friction=0.1, bilateral=True)
    for contacts in ((), (touch,)):
        for axes in ("world", "body"):
            r = setsu.constrained_dynamics(m, q, v, [2.0, 0.0, 0.0], contacts=contacts, frame=axes)
            for body, sign in (("end", 1.0), ("half", -1.0)):
                T = setsu.frame_pose(m, q, body)
                joint_name = ("end", (0.35, 0, 0))  # the wrench is given at the origin of the frame on body_b
                J = setsu.frame_pose(m, q, joint_name[0])
                at = J[:3, :3] @ joint_name[1] + J[:3, 3] - T[:3, 3]
                loop = sign * r.loop_wrench[0]
                expected = (
                    _newton_euler_of(m, body, q, v, r.acceleration) - np.r_[loop[:3], loop[3:] + np.cross(at, loop[:3])]
                )
                if contacts and body == "half":
                    force = r.normal_force[0] * normal + r.friction_force[0]
                    expected -= np.r_[force, np.cross(T[:3, :3] @ touch.point, force)]
                wrench = r.wrench_at(body, axes="world")
                assert np.abs(wrench - expected).max() < 1e-11 * np.abs(expected).max()
                with pytest.warns(setsu.ModelWarning, match="loop pin joins both sides"):
                    setsu.wrench_at(m, q, v, r.acceleration, body)
                if not contacts:
                    given = setsu.wrench_at(m, q, v, r.acceleration, body, loop_wrench=r.loop_wrench, axes="world")
                    assert np.abs(wrench - given).max() < 1e-11 * np.abs(expected).max()
            inverse = setsu.constrained_inverse_dynamics(m, q, v, r.acceleration, frame=axes, actuated=["crank"])
            if not contacts:
                assert np.allclose(inverse.wrench_at("half"), r.wrench_at("half"), rtol=1e-9, atol=1e-9)


def test_batches_of_constrained_results_are_their_rows() -> None:
    m = _four_bar_with_welds()
    q = np.array([setsu.close_loops(m, [x, 1.0, 1.2], fixed=["crank"]) for x in (0.7, 0.8, 0.9)])
    v = np.array([setsu.consistent_velocity(m, row, [0.7, 0.0, 0.0]) for row in q])
    push = {"half": np.array([1.0, 0, 2.0, 0, 0.3, 0])}
    many = setsu.constrained_dynamics(m, q, v, np.zeros(3), external_wrenches=push)
    for frame in m.frame_names[1:]:
        wrench = many.wrench_at(frame)
        for k in range(3):
            one = setsu.constrained_dynamics(m, q[k], v[k], np.zeros(3), external_wrenches=push)
            assert np.allclose(wrench[k], one.wrench_at(frame), rtol=1e-12, atol=1e-10)


def test_recordings_read_as_a_sensor_would() -> None:
    m = _four_bar_with_welds()
    q = setsu.close_loops(m, [0.8, 1.0, 1.2], fixed=["crank"])
    rec = setsu.simulate(m, q, np.zeros(3), duration=0.05, step=1e-3, torque=[1.0, 0.0, 0.0])
    r = setsu.constrained_dynamics(m, rec.q, rec.v, rec.torque)
    for frame in ("end", "half", "coupler"):
        found = rec.wrench_at(frame)
        assert found.shape == (len(rec.time), 6)
        assert np.abs(found - r.wrench_at(frame)).max() < 1e-7 * np.abs(found).max()
    assert np.allclose(rec.wrench_at("coupler", axes="world"), rec.joint_wrenches[:, m.body_names.index("coupler")])


def test_foot_sensor_carries_the_ground_force() -> None:
    """A box on four feet at rest: what passes the ankle's weld is the ground's force less the sole's weight."""
    b = setsu.MechanismBuilder("box on a sole")
    b.add_body("box", joint=setsu.Free(name="base"), mass=3.0, inertia=np.diag([0.1, 0.1, 0.1]))
    b.add_body(
        "ankle",
        parent="box",
        joint=setsu.Fixed(),
        placement=setsu.placement((0, 0, -0.1)),
        mass=0.5,
        inertia=np.diag([0.01] * 3),
    )
    b.add_body(
        "sole",
        parent="ankle",
        joint=setsu.Fixed(),
        placement=setsu.placement((0, 0, -0.05)),
        mass=0.5,
        inertia=np.diag([0.01] * 3),
    )
    b.add_contact_points("sole", [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])  # fmt: skip
    m = b.build()
    q = m.neutral()
    q[2] = 0.15
    rec = setsu.simulate(m, q, np.zeros(6), duration=0.2, step=1e-3, environment=setsu.Environment.floor())
    up = rec.wrench_at("sole", axes="world")[-1]
    assert up[2] == pytest.approx(-3.5 * 9.81, rel=1e-6)  # the sole pushes up on the ankle, so the ankle down on it
    assert rec.wrench_at("ankle", axes="world")[-1, 2] == pytest.approx(-3.0 * 9.81, rel=1e-6)


def test_bad_arguments() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    zero = np.zeros(2)
    for call, message in (
        (lambda: setsu.wrench_at(m, zero, zero, zero, "world"), "nothing carries it"),
        (lambda: setsu.wrench_at(m, zero, zero, zero, "tap"), "did you mean .tip"),
        (lambda: setsu.wrench_at(m, zero, zero, zero, "tip", axes="body"), 'axes: expected "frame" or "world"'),
        (lambda: setsu.wrench_at(m, zero, zero, zero, "tip", {"tip": np.zeros(3)}), "expected shape"),
        (lambda: setsu.inverse_dynamics(m, zero, zero, zero, {"tip": [0, 0, np.nan, 0, 0, 0]}), "expected finite"),
        (lambda: setsu.inverse_dynamics(m, zero, zero, zero, {"tap": np.zeros(6)}), "did you mean .tip"),
        (lambda: setsu.inverse_dynamics(m, zero, zero, zero, {"world": np.zeros(6)}), "frames that a body has"),
        (lambda: setsu.inverse_dynamics(m, [0.0], zero, zero, {"tip": np.zeros(6)}), "inverse_dynamics: q: expected"),
        (lambda: setsu.inverse_dynamics(m, np.zeros((3, 2)), zero, zero, {"tip": np.zeros((2, 6))}), "broadcast"),
    ):
        with pytest.raises(setsu.InputError, match=message):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setsu.wrench_at(m, zero, zero, zero, "tip")
