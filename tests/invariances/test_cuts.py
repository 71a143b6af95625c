"""Cut a loop at any of its joints: the machine moves the same, and every joint carries the same wrench."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from identities.closed_mechanisms import consistent_velocity

import setsu
from setsu import sample_mechanisms as samples

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
    """A sample added later must come here too; those that cannot be made without a size or seed are trees."""
    trees = {"binary_tree", "chain", "random_tree"}
    closed = {name for name in set(samples.__all__) - trees if getattr(samples, name)().loops}
    assert closed == set(MAKERS)
