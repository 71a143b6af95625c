"""Inverse kinematics: targets met within limits and with closed loops, batches as their rows, what is out of reach."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import (
    delta_robot,
    hoap1_like,
    planar_arm,
    puma560,
    random_tree,
    seven_joint_arm,
    stewart_platform,
)


def reachable(m: setsu.Mechanism, frame: str, count: int, seed: int = 0) -> np.ndarray:
    """Poses of a frame at random postures within limits, loops closed."""
    rng = np.random.default_rng(seed)
    q = [m.random_configuration(rng) for _ in range(count)]
    if m.loops:
        home = setsu.close_loops(m, m.reference_configuration())
        q = [
            setsu.close_loops(m, setsu.integrate(m, home, 0.02 * rng.standard_normal(m.nv), 1.0)) for _ in range(count)
        ]
    return setsu.frame_pose(m, np.array(q), frame)


def assert_reached(m: setsu.Mechanism, frame: str, poses: np.ndarray, found: setsu.InverseKinematics) -> None:
    """Judged by the kinematics, not by what the solver says."""
    assert found.converged.all()
    assert not found.infeasible
    assert np.abs(setsu.frame_pose(m, found.q, frame) - poses).max() < 2e-9  # not rounding: tolerance of the search
    if m.nq == m.nv:
        assert ((found.q >= m.lower) & (found.q <= m.upper)).all()
    if m.loops or m.couplings:
        assert np.abs(setsu.loop_error(m, found.q)).max() < 1e-10


@pytest.mark.parametrize("make", [puma560, seven_joint_arm], ids=lambda make: make.__name__)
def test_random_reachable_poses_of_arms(make) -> None:
    m = make()
    frame = m.frame_names[-1]
    poses = reachable(m, frame, 40)
    assert_reached(m, frame, poses, setsu.inverse_kinematics(m, {frame: poses}))


@pytest.mark.parametrize(("make", "frame"), [(stewart_platform, 0), (delta_robot, -1)])
def test_closed_loops_are_held(make, frame: int) -> None:
    m = make()
    name = m.body_names[frame]
    poses = reachable(m, name, 3)
    assert_reached(m, name, poses, setsu.inverse_kinematics(m, {name: poses}))


def test_floating_base_with_several_tasks_and_couplings() -> None:
    b = setsu.MechanismBuilder("geared")
    b.add_body("base", joint=setsu.Free(name="base"), mass=1.0, inertia=np.eye(3))
    for k in range(4):
        joint = setsu.Revolute(((0, 1, 0), (1, 0, 0))[k % 2], name=f"j{k}")
        parent, place = f"l{k - 1}" if k else "base", setsu.placement((0.3, 0, 0))
        b.add_body(f"l{k}", parent=parent, joint=joint, placement=place, mass=1.0, inertia=0.1 * np.eye(3))
    b.add_coupling("gear", {"j0": 1.0, "j1": -2.0})
    m = b.build()
    q = m.random_configuration(3)
    q[7] = 2.0 * q[8]
    tip, com = setsu.frame_pose(m, q, "l3"), setsu.center_of_mass(m, q)
    found = setsu.inverse_kinematics(m, {"l3": tip, "base": setsu.frame_pose(m, q, "base")[:3, 3]}, center_of_mass=com)
    assert found.converged
    assert np.abs(setsu.center_of_mass(m, found.q) - com).max() < 1e-9
    assert abs(found.q[7] - 2.0 * found.q[8]) < 1e-11


def test_batches_over_targets_and_starts() -> None:
    m = planar_arm(3)
    points = setsu.frame_pose(m, [[0.1, 0.5, 0.6], [0.3, -0.5, 0.9]], "tip")[:, :3, 3]
    starts = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 1, 3))
    found = setsu.inverse_kinematics(m, {"tip": points}, starts)
    assert found.q.shape == (4, 2, 3)
    assert found.error.shape == found.converged.shape == (4, 2)
    assert found.converged.all()
    one = setsu.inverse_kinematics(m, {"tip": points[1]}, starts[2, 0])
    assert np.abs(one.q - found.q[2, 1]).max() < 1e-9
    again = setsu.inverse_kinematics(m, {"tip": points}, starts)
    assert np.array_equal(again.q, found.q)


def test_a_start_at_the_target_stays_there() -> None:
    m = puma560()
    q = m.random_configuration(1)
    frame = m.frame_names[-1]
    found = setsu.inverse_kinematics(m, {frame: setsu.frame_pose(m, q, frame)}, q)
    assert np.array_equal(found.q, q)
    assert found.rounds == 0


def test_out_of_reach_is_named_and_the_arm_points_there() -> None:
    m = planar_arm(2)
    found = setsu.inverse_kinematics(m, {"tip": [3.0, 0.0, 0.0], "link1": [0.0, 0.0, 0.0]}, [0.5, 0.3], restarts=3)
    assert not found.converged
    assert found.infeasible == ("tip",)
    assert np.abs(setsu.frame_pose(m, found.q, "tip")[:3, 3] - [1.0, 0.0, 0.0]).max() < 1e-3
    assert found.error == pytest.approx(2.0, abs=1e-5)


def test_limits_are_hard_bounds() -> None:
    b = setsu.MechanismBuilder("short")
    b.add_body("a", joint=setsu.Revolute((0, 0, 1), name="j", lower=-0.5, upper=0.5), mass=1.0)
    m = b.build()
    target = {"a": setsu.FrameTarget(position=(np.cos(1.0), np.sin(1.0), 0.0), point=(1.0, 0.0, 0.0))}
    held = setsu.inverse_kinematics(m, target, restarts=2)
    assert held.q.tolist() == [0.5]
    assert not held.converged
    free = setsu.inverse_kinematics(m, target, limits=False)
    assert free.converged
    assert free.q[0] == pytest.approx(1.0, abs=1e-9)  # not rounding: tolerance of the search


def test_posture_pulls_and_fixed_joints_stay() -> None:
    m = seven_joint_arm()
    frame = m.frame_names[-1]
    q = np.clip(m.random_configuration(2), m.lower, m.upper)
    pose = setsu.frame_pose(m, q, frame)
    near = setsu.inverse_kinematics(m, {frame: pose}, posture=q)
    plain = setsu.inverse_kinematics(m, {frame: pose})
    assert near.converged
    assert setsu.distance(m, near.q, q) <= setsu.distance(m, plain.q, q) + 1e-9
    name = m.joint_names[2]
    start = q.copy()
    start[[0, 4]] += 0.05
    held = setsu.inverse_kinematics(m, {frame: pose}, start, fixed=[name])
    assert held.converged
    assert held.q[2] == q[2]


def test_humanoid_sole_and_torso() -> None:
    m = hoap1_like()
    q = m.random_configuration(0)
    names = [name for name in m.body_names if "foot" in name]
    targets = {name: setsu.frame_pose(m, q, name) for name in names}
    found = setsu.inverse_kinematics(m, targets)
    assert found.converged


def test_orientation_alone() -> None:
    m = random_tree(1, n_bodies=5, joint_types=["Spherical", "Revolute"], branching=0.0)
    frame = m.frame_names[-1]
    R = setsu.rotation_exp([0.4, -1.0, 2.0])
    found = setsu.inverse_kinematics(m, {frame: setsu.FrameTarget(rotation=R)})
    assert np.abs(setsu.frame_pose(m, found.q, frame)[:3, :3] - R).max() < 2e-9


def test_velocities_follow_targets_within_limits_and_loops() -> None:
    m = delta_robot()
    q = setsu.close_loops(m, m.reference_configuration())
    frame = m.body_names[-1]
    moving = setsu.consistent_velocity(m, q, np.random.default_rng(0).standard_normal(m.nv))
    wanted = setsu.frame_velocity(m, q, moving, frame)
    r = setsu.velocity_inverse_kinematics(m, q, {frame: wanted})
    assert r.feasible
    assert np.abs(setsu.frame_velocity(m, q, r.v, frame) - wanted).max() < 1e-4 * np.abs(wanted).max()
    # The rate at which loops would open, by differences.
    h = 1e-6
    ahead, back = (setsu.loop_error(m, setsu.integrate(m, q, r.v, step)) for step in (h, -h))
    assert np.abs(ahead - back).max() / (2.0 * h) < 1e-7 * np.abs(r.v).max()
    b = setsu.MechanismBuilder("slow")
    b.add_body("a", joint=setsu.Prismatic((1, 0, 0), velocity_limit=0.1, lower=0.0, upper=1.0), mass=1.0)
    slow = b.build()
    assert setsu.velocity_inverse_kinematics(slow, [0.5], {"a": [1.0, 0, 0]}).v[0] == pytest.approx(0.1)
    near = setsu.velocity_inverse_kinematics(slow, [[0.5], [0.999]], {"a": [1.0, 0, 0]}, dt=0.1)
    assert near.v[:, 0] == pytest.approx([0.1, 0.01])
    free = setsu.velocity_inverse_kinematics(slow, [0.5], {"a": [1.0, 0, 0]}, limits=False)
    assert free.v[0] == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: setsu.inverse_kinematics(m, {"tap": [0, 0, 0]}), "did you mean .tip"),
        (lambda m: setsu.inverse_kinematics(m, {}), "at least one frame"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0.0, 1.0]}), r"expected poses \(..., 4, 4\)"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": np.full(3, np.nan)}), "finite"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": 2.0 * np.eye(4)}), "last row"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0, 0, 0]}, [0.0]), "q0: expected shape"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0, 0, 0]}, weights={"tool": 1.0}), "weights"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0, 0, 0]}, tolerance=0.0), "tolerance"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0, 0, 0]}, restarts=-1), "restarts"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": [0, 0, 0]}, fixed="joint1"), "list of joint names"),
        (lambda m: setsu.inverse_kinematics(m, {"tip": setsu.FrameTarget()}), "position or a rotation"),
        (lambda m: setsu.velocity_inverse_kinematics(m, [0.0, 0.0], {"tip": [0.0]}), "expected"),
        (lambda m: setsu.velocity_inverse_kinematics(m, [0.0, 0.0], {"tip": [0, 0, 0]}, dt=0.0), "dt"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        call(planar_arm(2))
