"""Cut a loop at any of its joints: the machine moves the same, and every joint carries the same wrench."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from identities.closed_mechanisms import consistent_velocity

import setsu
from setsu import sample_mechanisms as samples

pytestmark = pytest.mark.thin(4)

MAKERS = {
    "four_bar": samples.four_bar,
    "slider_crank": samples.slider_crank,
    "five_bar": samples.five_bar,
    "parallelogram_arm": samples.parallelogram_arm,
    "n_four_bar": lambda: samples.n_four_bar(2),
    "bricard": samples.bricard,
    "spatial_slider_crank": samples.spatial_slider_crank,
    "two_joint_parallelogram": samples.two_joint_parallelogram,
    "six_joint_parallelogram_arm": samples.six_joint_parallelogram_arm,
    "delta_robot": samples.delta_robot,
    "stewart_platform": samples.stewart_platform,
    "excavator_boom": samples.excavator_boom,
    "jansen_leg": samples.jansen_leg,
    "closed_leg_biped": samples.closed_leg_biped,
}


def cuts_of(m: setsu.Mechanism) -> list[tuple[str, str]]:
    """Every loop with every joint of the tree that is in it."""
    parents = {body.name: body for body in m.bodies}

    def joints_to_world(name: str) -> set[str]:
        joints = set()
        while name != "world":
            joints.add(parents[name].joint.name)
            name = parents[name].parent
        return joints

    return [
        (loop.name, joint)
        for loop in m.loops
        for joint in sorted(joints_to_world(loop.body_a) ^ joints_to_world(loop.body_b))
    ]


CUTS = [(name, loop, joint) for name, make in MAKERS.items() for loop, joint in cuts_of(make())]


def places(m: setsu.Mechanism, q: np.ndarray, names: list[str]) -> np.ndarray:
    """Poses of bodies or frames by name."""
    poses = setsu.body_poses(m, q)
    return np.array([poses[m.frame(name).body] @ m.frame(name).pose.matrix for name in names])


def accelerations(
    m: setsu.Mechanism, q: np.ndarray, v: np.ndarray, r: setsu.ConstrainedDynamics, names: list[str]
) -> np.ndarray:
    """Linear and angular accelerations of bodies or frames by name, world axes, at their origins."""
    poses, V = setsu.body_poses(m, q), setsu.body_velocities(m, q, v)
    A = setsu.body_accelerations(m, q, v, r.acceleration)
    result = []
    for frame in map(m.frame, names):
        k = frame.body
        arm, omega = poses[k, :3, :3] @ frame.pose.matrix[:3, 3], V[k, 3:]
        linear = A[k, :3] + np.cross(A[k, 3:], arm) + np.cross(omega, np.cross(omega, arm))
        result.append([*linear, *A[k, 3:]])
    return np.array(result)


def joint_loads(m: setsu.Mechanism, q: np.ndarray, r: setsu.ConstrainedDynamics) -> dict[str, np.ndarray]:
    """Wrench through every joint, of the tree or closing a loop, on its body, or on body_b, at the world's origin."""
    poses = setsu.body_poses(m, q)
    loads = {}
    for k, body in enumerate(m.moving):
        loads[body.joint.name] = at_world_origin(r.joint_wrenches[k], poses[k, :3, 3])
    for k, loop in enumerate(m.loops):
        frame = m.frame(loop.body_b)
        T = (poses[frame.body] if frame.body >= 0 else np.eye(4)) @ frame.pose.matrix @ loop.pose_b.matrix
        loads[loop.joint.name] = at_world_origin(r.loop_wrench[k], T[:3, 3])
    return loads


def carried(m: setsu.Mechanism) -> dict[str, str]:
    """The body each joint's wrench acts on."""
    return {body.joint.name: body.name for body in m.moving} | {loop.joint.name: loop.body_b for loop in m.loops}


def at_world_origin(wrench: np.ndarray, point: np.ndarray) -> np.ndarray:
    return np.concatenate([wrench[:3], wrench[3:] + np.cross(point, wrench[:3])])


def assert_same_machine(first_state: tuple, second_state: tuple) -> None:
    """Poses, motions and wrenches of two mechanisms (m, q, v), the second cut elsewhere, are the same to 1e-9."""
    (m, q, v), (other, own_q, own_v) = first_state, second_state
    assert np.abs(setsu.loop_error(other, own_q)).max(initial=0.0) < 1e-11
    names = [body.name for body in m.bodies]
    np.testing.assert_allclose(places(other, own_q, names), places(m, q, names), rtol=0, atol=1e-11)
    h = 1e-6
    later = [
        places(one, setsu.integrate(one, x, rate, h), names) - places(one, setsu.integrate(one, x, rate, -h), names)
        for one, x, rate in (first_state, second_state)
    ]
    np.testing.assert_allclose(later[1] / (2 * h), later[0] / (2 * h), rtol=0, atol=1e-8)

    first = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv))
    second = setsu.constrained_dynamics(other, own_q, own_v, np.zeros(other.nv))
    motions = [accelerations(*one, names) for one in ((m, q, v, first), (other, own_q, own_v, second))]
    np.testing.assert_allclose(motions[1], motions[0], rtol=0, atol=1e-9 * max(1.0, np.abs(motions[0]).max()))
    expected, found = joint_loads(m, q, first), joint_loads(other, own_q, second)
    # A Free joint that was cut is gone: it held nothing.
    assert set(expected) - set(found) <= {body.joint.name for body in m.moving if isinstance(body.joint, setsu.Free)}
    scale = max(1.0, *(np.abs(load).max() for load in expected.values()))
    before, after = carried(m), carried(other)
    for key in found:
        sign = 1.0 if after[key].split("_pivot")[0] == before[key] else -1.0
        np.testing.assert_allclose(sign * found[key], expected[key], rtol=0, atol=1e-9 * scale, err_msg=key)


def closed_state(name: str, seed: int) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray]:
    """A sample with gravity askew in a closed state that moves."""
    m = setsu.with_gravity(MAKERS[name](), (1.0, 2.0, -9.0))
    steps = 0.2 * np.random.default_rng(seed).standard_normal(m.nv)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), steps, 1.0))
    return m, q, consistent_velocity(m, q, seed)


def test_every_sample_with_loops_is_cut() -> None:
    """Samples that are added later belong into MAKERS."""
    needs_arguments = {"binary_tree", "chain", "n_four_bar", "random_tree"}
    makers = {name: getattr(samples, name) for name in samples.__all__ if name not in needs_arguments}
    assert {name for name, make in makers.items() if make().loops} == set(MAKERS) - needs_arguments


@pytest.mark.thin(3)
@pytest.mark.parametrize(("name", "loop", "joint"), CUTS)
def test_every_cut_gives_the_same_motion_and_wrenches(name: str, loop: str, joint: str) -> None:
    m, q, v = closed_state(name, 5)
    moved = setsu.move_cut(m, loop, joint)
    assert_same_machine((m, q, v), (moved.mechanism, *moved.convert(q, v)))
    # The new loop's wrench is by the parent on the body, as it was while the joint was in the tree.
    before, after = carried(m), carried(moved.mechanism)
    assert after.get(joint, before[joint]) == before[joint]


@pytest.mark.parametrize("name", MAKERS)
def test_all_loops_cut_elsewhere_at_once_are_the_same_machine(name: str) -> None:
    """Loop after loop is cut at a joint drawn from those that are in it by then."""
    m, q, v = closed_state(name, 8)
    rng, real = np.random.default_rng(8), carried(m)
    other, own_q, own_v = m, q, v
    for loop in m.loops:
        joints = [joint for owner, joint in cuts_of(other) if owner == loop.name and joint in real]
        moved = setsu.move_cut(other, loop.name, joints[rng.integers(len(joints))])
        own_q, own_v = moved.convert(own_q, own_v)
        other = moved.mechanism
    assert_same_machine((m, q, v), (other, own_q, own_v))


def test_moving_the_cut_there_and_back_is_the_same_machine() -> None:
    m = samples.four_bar()
    q = setsu.close_loops(m, [0.4, 0.0, 0.0], fixed=["crank"])
    there = setsu.move_cut(m, "pin", "coupler")
    back = setsu.move_cut(there.mechanism, "pin", "pin")
    again, _ = back.convert(there.convert(q)[0])
    names = [body.name for body in m.bodies]
    np.testing.assert_allclose(places(back.mechanism, again, names), places(m, q, names), atol=1e-12)
    assert back.mechanism.loops[0].joint.name == "pin"


def test_a_run_with_another_cut_is_the_same_run() -> None:
    m = samples.four_bar()
    v = setsu.consistent_velocity(m, m.neutral(), [4.0, 0.0, 0.0], fixed=["crank"])
    moved = setsu.move_cut(m, "pin", "crank")
    runs = [
        setsu.simulate(one, q, rate, duration=0.2, step=0.002, integrator="rk8")
        for one, q, rate in ((m, m.neutral(), v), (moved.mechanism, *moved.convert(m.neutral(), v)))
    ]
    names = [body.name for body in m.bodies]
    ends = [places(one, run.q[-1], names) for one, run in zip((m, moved.mechanism), runs, strict=True)]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)
    np.testing.assert_allclose(runs[1].energy, runs[0].energy, atol=1e-9)


def test_what_cannot_be_cut_is_refused_by_name() -> None:
    m = samples.four_bar()
    with pytest.raises(setsu.InputError, match=r"unknown loop 'pni'.*pin"):
        setsu.move_cut(m, "pni", "crank")
    with pytest.raises(setsu.InputError, match='is not in loop "pin"; expected one of coupler, crank, rocker'):
        setsu.move_cut(m, "pin", "elbow")
    coupled = dataclasses.replace(m, couplings=(setsu.Coupling("gear", (("crank", 1.0), ("rocker", -1.0))),))
    with pytest.raises(setsu.InputError, match='"crank" is in coupling "gear"'):
        setsu.move_cut(coupled, "pin", "crank")


@pytest.mark.thin(3)
@pytest.mark.parametrize(("name", "loop", "joint"), CUTS)
def test_any_joint_opened_with_its_wrench_on_both_sides_changes_nothing(name: str, loop: str, joint: str) -> None:
    """The cut test at every joint: the opened mechanism under the loop wrenches alone accelerates the same."""
    m = MAKERS[name]()
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), np.full(m.nv, 0.1), 1.0))
    moved = setsu.move_cut(m, loop, joint)
    other, (own_q, own_v) = moved.mechanism, moved.convert(q, consistent_velocity(m, q, 7))
    r = setsu.constrained_dynamics(other, own_q, own_v, np.zeros(other.nv))
    opened = dataclasses.replace(other, loops=())
    # The inertia of massless parts is carried by the loops alone, so equations are compared, not accelerations.
    load = setsu.inverse_dynamics(opened, own_q, own_v, r.acceleration, external_wrenches=r.constraint_wrenches)
    size = max(1.0, np.abs(r.constraint_wrenches).max(initial=0.0))
    np.testing.assert_allclose(load, 0.0, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("name", MAKERS)
def test_momentum_of_every_sub_tree_changes_by_the_wrenches_on_it(name: str) -> None:
    """d/dt of linear and angular momentum about the world's origin = weight + own joint + loops on the sub-tree."""
    m = MAKERS[name]()
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), np.full(m.nv, 0.1), 1.0))
    v = consistent_velocity(m, q, 9)
    r = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv))
    poses, V = setsu.body_poses(m, q), setsu.body_velocities(m, q, v)
    A = setsu.body_accelerations(m, q, v, r.acceleration)
    rates, weights = np.zeros((m.n_bodies, 6)), np.zeros((m.n_bodies, 6))
    for body in m.bodies:
        k = m.frame(body.name).body
        T, omega, alpha = poses[k] @ m.frame(body.name).pose.matrix, V[k, 3:], A[k, 3:]
        center = (T @ [*body.center_of_mass, 1.0])[:3]
        arm, inertia = center - poses[k, :3, 3], T[:3, :3] @ body.inertia_matrix @ T[:3, :3].T
        linear = body.mass * (A[k, :3] + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)))
        spin = inertia @ alpha + np.cross(omega, inertia @ omega)
        rates[k] += np.concatenate([linear, spin + np.cross(center, linear)])
        weights[k] += at_world_origin(np.concatenate([body.mass * np.array(m.gravity), np.zeros(3)]), center)
    on_bodies = np.array([at_world_origin(w, T[:3, 3]) for w, T in zip(r.constraint_wrenches, poses, strict=True)])
    parents = {body.name: body.parent for body in m.bodies}
    for k, body in enumerate(m.moving):
        members = [
            j for j, one in enumerate(m.moving) if one.name == body.name or _hangs_on(one.name, body.name, parents)
        ]
        own = at_world_origin(r.joint_wrenches[k], poses[k, :3, 3])
        given = own + on_bodies[members].sum(axis=0) + weights[members].sum(axis=0)
        size = max(1.0, np.abs(own).max())
        np.testing.assert_allclose(rates[members].sum(axis=0), given, rtol=0, atol=1e-9 * size, err_msg=body.name)


def _hangs_on(body: str, ancestor: str, parents: dict[str, str]) -> bool:
    while body != "world":
        body = parents[body]
        if body == ancestor:
            return True
    return False
