"""What a joint transmits: cut there, and both parts move on unchanged if the wrench acts on the cut faces."""

import dataclasses

import numpy as np
import pytest
from identities.zoo import STATES, animal, assert_law, over_the_zoo

import setsu
from setsu.spatial import quaternion_from_rotation

pytestmark = pytest.mark.thin(3)


def below(m: setsu.Mechanism, root: str) -> set[str]:
    """The declared bodies of the subtree that begins with `root`."""
    names = {root}
    for body in m.bodies:
        if body.parent in names:
            names.add(body.name)
    return names


def pick(m: setsu.Mechanism, names: list[str], slices: tuple[slice, ...]) -> list[int]:
    """Positions in q or v of some joints, in the given order."""
    return [k for name in names for k in range(m.nq)[slices[m.joint_index(name)]]]


@over_the_zoo
def test_the_wrench_stands_for_what_was_cut_off(name: str) -> None:
    """Remove the subtree, load its parent by the reaction: torques and wrenches of the rest do not change."""
    x = animal(name)
    m = x.mechanism
    tau = setsu.inverse_dynamics(m, x.q, x.v, x.a, x.external)
    wrenches = setsu.joint_wrenches(m, x.q, x.v, x.a, x.external, frame="world")
    origins = setsu.body_poses(m, x.q)[..., :3, 3]
    for b in {1, m.n_bodies // 2, m.n_bodies - 1}:
        parent = m.frame(m.moving[b].parent).body
        if parent < 0:
            continue
        gone = below(m, m.body_names[b])
        rest = dataclasses.replace(m, bodies=tuple(body for body in m.bodies if body.name not in gone))
        kept = [m.body_names.index(body) for body in rest.body_names]
        joints = list(rest.joint_names)
        v_kept = pick(m, joints, m.v_slices)
        loads = x.external[:, kept].copy()
        f, n = -wrenches[:, b, :3], -wrenches[:, b, 3:]
        loads[:, kept.index(parent)] += np.concatenate(
            [f, n + np.cross(origins[:, b] - origins[:, parent], f)], axis=-1
        )
        state = (x.q[:, pick(m, joints, m.q_slices)], x.v[:, v_kept], x.a[:, v_kept])
        assert_law(setsu.inverse_dynamics(rest, *state, loads), tau[:, v_kept], [tau, wrenches], c=100)
        left = setsu.joint_wrenches(rest, *state, loads, frame="world")
        assert_law(left, wrenches[:, kept], [wrenches], c=100)


@over_the_zoo
def test_the_part_cut_off_flies_on_under_the_wrench(name: str) -> None:
    """On a free joint the subtree needs, for the same motion, exactly the wrench, in body axes."""
    x = animal(name)
    m = x.mechanism
    tau = setsu.inverse_dynamics(m, x.q, x.v, x.a, x.external)
    wrenches = setsu.joint_wrenches(m, x.q, x.v, x.a, x.external, frame="body")
    poses = setsu.body_poses(m, x.q)
    velocities, accelerations = (
        setsu.body_velocities(m, x.q, x.v),
        setsu.body_accelerations(m, x.q, x.v, x.a),
    )
    for b in {0, m.n_bodies // 2, m.n_bodies - 1}:
        part = setsu.extract(m, m.body_names[b], base="floating")
        carried = [m.body_names.index(body) for body in part.body_names]
        joints = [m.joint_names[k] for k in carried[1:]]
        q_in, v_in = pick(m, joints, m.q_slices), pick(m, joints, m.v_slices)
        for k in range(STATES):
            R = poses[k, b, :3, :3]
            v_free = np.concatenate([R.T @ velocities[k, b, :3], R.T @ velocities[k, b, 3:]])
            a_free = np.concatenate([R.T @ accelerations[k, b, :3], R.T @ accelerations[k, b, 3:]])
            a_free[:3] -= np.cross(v_free[3:], v_free[:3])  # rate of the components, not of the vector
            state = (
                np.concatenate([poses[k, b, :3, 3], quaternion_from_rotation(R), x.q[k, q_in]]),
                np.concatenate([v_free, x.v[k, v_in]]),
                np.concatenate([a_free, x.a[k, v_in]]),
            )
            needed = setsu.inverse_dynamics(part, *state, x.external[k, carried])
            terms = [needed, wrenches[k], a_free]
            assert_law(needed[:6], wrenches[k, b], terms, c=200)
            assert_law(needed[6:], tau[k, v_in], terms, c=200)


@over_the_zoo
def test_every_body_is_in_balance(name: str) -> None:
    """Newton and Euler for each body: own wrench - reactions of children + external = rate of momentum - gravity.

    f = m (a - g) + dω x h + ω x (ω x h),  n = I dω + ω x I ω + h x (a - g), about the origin, h = m c, world axes.
    """
    x = animal(name)
    m = x.mechanism
    wrenches = setsu.joint_wrenches(m, x.q, x.v, x.a, x.external, frame="world")
    poses = setsu.body_poses(m, x.q)
    w = setsu.body_velocities(m, x.q, x.v)[..., 3:]
    acceleration = setsu.body_accelerations(m, x.q, x.v, x.a)
    parameters = setsu.inertial_parameters(m).reshape(-1, 10)
    net = wrenches + x.external
    for b, body in enumerate(m.moving):
        parent = m.frame(body.parent).body
        if parent >= 0:
            arm = poses[:, b, :3, 3] - poses[:, parent, :3, 3]
            net[:, parent, :3] -= wrenches[:, b, :3]
            net[:, parent, 3:] -= wrenches[:, b, 3:] + np.cross(arm, wrenches[:, b, :3])
    for b in range(m.n_bodies):
        R = poses[:, b, :3, :3]
        xx, xy, yy, xz, yz, zz = parameters[b, 4:]
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(R, -1, -2)
        h = R @ parameters[b, 1:4]
        lifted, dw = acceleration[:, b, :3] - np.array(m.gravity), acceleration[:, b, 3:]
        spin = np.einsum("kij,kj->ki", inertia, w[:, b])
        f = parameters[b, 0] * lifted + np.cross(dw, h) + np.cross(w[:, b], np.cross(w[:, b], h))
        n = np.einsum("kij,kj->ki", inertia, dw) + np.cross(w[:, b], spin) + np.cross(h, lifted)
        assert_law(net[:, b, :3], f, [wrenches, f], c=100)
        assert_law(net[:, b, 3:], n, [wrenches, n], c=100)


@over_the_zoo
def test_both_frames_hold_the_same_vector(name: str) -> None:
    x = animal(name)
    local, world = (setsu.joint_wrenches(x.mechanism, x.q, x.v, x.a, frame=frame) for frame in ("body", "world"))
    R = setsu.body_poses(x.mechanism, x.q)[..., :3, :3]
    for part in (slice(0, 3), slice(3, 6)):
        turned = np.einsum("kbij,kbj->kbi", R, local[..., part])
        assert_law(turned, world[..., part], [world], c=20)


@over_the_zoo
def test_the_drive_works_along_the_free_axes(name: str) -> None:
    """Power of a joint wrench on the joint's own motion = power of the drive less armature, friction and spring."""
    x = animal(name)
    m = x.mechanism
    wrenches = setsu.joint_wrenches(m, x.q, x.v, x.a, frame="world")
    poses, velocities = setsu.body_poses(m, x.q), setsu.body_velocities(m, x.q, x.v)
    drive = setsu.inverse_dynamics(m, x.q, x.v, x.a) - x.friction() - x.joint_springs() - m.armature * x.a
    for b, (body, where) in enumerate(zip(m.moving, m.v_slices, strict=True)):
        relative = velocities[:, b].copy()
        parent = m.frame(body.parent).body
        if parent >= 0:
            arm = poses[:, b, :3, 3] - poses[:, parent, :3, 3]
            relative[:, :3] -= velocities[:, parent, :3] + np.cross(velocities[:, parent, 3:], arm)
            relative[:, 3:] -= velocities[:, parent, 3:]
        power = np.sum(wrenches[:, b] * relative, axis=-1)
        expected = np.sum(drive[:, where] * x.v[:, where], axis=-1)
        assert_law(power, expected, [wrenches[:, b] * np.abs(velocities).max(), expected], c=100)
