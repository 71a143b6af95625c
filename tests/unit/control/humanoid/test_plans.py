"""Plans of walks and jumps: what they promise about feet, centre of mass, momentum and forces holds in every sample."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.control.humanoid import (
    Biped,
    Jump,
    Landing,
    Motion,
    Walk,
    plan_footsteps,
    plan_jump,
    plan_walk,
    solve_postures,
    standing_posture,
)
from setsu.control.humanoid.smooth_paths import hump, quintic
from setsu.errors import InputError

M = setsu.sample_mechanisms.hoap1_like()
BIPED = Biped(M)
FEET = np.array([[0.0, 0.039, 0.0], [0.0, -0.039, 0.0]])
G = 9.81


@pytest.fixture(scope="module")
def walk() -> Motion:
    return plan_walk(BIPED, Walk(steps=3, standing=0.8, sample=2e-3))


@pytest.fixture(scope="module")
def jump() -> Motion:
    return plan_jump(BIPED, Jump())


def test_a_quintic_has_its_ends() -> None:
    ends = (0.1, -0.3, 2.0), (0.5, 1.0, -9.81)
    for at, (position, velocity, acceleration) in zip((0.0, 0.7), ends, strict=True):
        t = at + (np.arange(4) if at == 0.0 else np.arange(-3, 1)) * 1e-3
        fit = np.polynomial.Polynomial.fit(t - at, quintic(t, 0.7, *ends), 3).convert().coef
        assert np.allclose(fit[:3], (position, velocity, acceleration / 2), atol=3e-4)


def test_a_hump_rises_to_one_and_rests_at_its_ends() -> None:
    assert np.allclose(hump(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]), 1.0), [0, 0, 1, 0, 0])
    assert hump(np.array([1e-3]), 1.0)[0] < 1e-7  # not rounding: 64 t³


def test_footsteps_lead_as_far_as_the_walk_says_with_one_foot_always_on_the_ground() -> None:
    walk = Walk(steps=10)
    plan = plan_footsteps(walk, FEET)
    assert np.isclose(walk.travel, 0.27)
    assert np.allclose(plan.feet[-1], FEET + np.array([walk.travel, 0, 0]), atol=1e-12)
    assert plan.support.any(axis=1).all()
    assert (plan.feet[plan.support][:, 2] < 1e-12).all()
    # A foot on the ground does not move.
    both = plan.support[1:] & plan.support[:-1]
    assert np.abs(np.diff(plan.feet, axis=0)[both]).max() < 1e-12
    # In single support the zero-moment point is in the middle of the sole that stands.
    single = plan.support.sum(axis=1) == 1
    assert np.allclose(plan.zmp[single], plan.feet[plan.support & single[:, None]][:, :2], atol=1e-12)


def test_a_walk_backwards_begun_with_the_right_foot_is_the_half_turn_of_one_ahead() -> None:
    ahead, back = plan_footsteps(Walk(steps=4), FEET), plan_footsteps(Walk(steps=4, stride=-0.03, first=1), FEET)
    assert np.allclose(ahead.zmp, -back.zmp, atol=1e-15)
    assert np.allclose(ahead.feet, back.feet[:, ::-1] * [-1, -1, 1], atol=1e-15)


def test_postures_are_where_they_were_wanted() -> None:
    rng = np.random.default_rng(11)
    com = np.array([0.0, 0.0, 0.22]) + rng.uniform(-0.015, 0.015, (20, 3))
    feet = FEET + rng.uniform(0.0, 0.02, (20, 2, 3)) * [1, 0, 1]
    q = solve_postures(BIPED, com, feet)
    assert np.allclose(setsu.center_of_mass(M, q), com, atol=1e-10)
    assert np.allclose(BIPED.sole_corners(q).mean(axis=2), feet, atol=1e-10)
    assert np.allclose(BIPED.pose_of(q, "torso")[:, :3, :3], np.eye(3), atol=1e-10)
    for foot in BIPED.feet:
        assert np.allclose(BIPED.pose_of(q, foot)[:, :3, :3], np.eye(3), atol=1e-10)


def test_legs_cannot_reach_beyond_their_length() -> None:
    with pytest.raises(InputError, match=r"sample 0: .* out of reach"):
        standing_posture(BIPED, height=0.3)


def test_a_standing_posture_stands_on_the_ground_within_joint_limits() -> None:
    q = standing_posture(BIPED)
    assert np.allclose(BIPED.sole_corners(q)[..., 2], 0.0, atol=1e-10)
    assert (q[7:] >= M.lower[6:]).all()
    assert (q[7:] <= M.upper[6:]).all()


def test_torques_of_a_walk_need_no_hand_of_god(walk: Motion) -> None:
    """With the shared ground wrench the free joint carries nothing: the motion is one the ground alone can cause."""
    assert np.abs(walk.torque[:, :6]).max() < 1e-12 * BIPED.weight


def test_the_whole_body_s_zero_moment_point_follows_the_plan(walk: Motion) -> None:
    plan = plan_footsteps(Walk(steps=3, standing=0.8, sample=2e-3), FEET)
    assert np.abs(walk.zmp - plan.zmp).max() < 1e-3
    rough = plan_walk(BIPED, Walk(steps=3, standing=0.8, sample=2e-3), refinements=0)
    assert np.abs(rough.zmp - plan.zmp).max() > 5.0 * np.abs(walk.zmp - plan.zmp).max()


def test_the_zero_moment_point_is_that_of_the_centroidal_momentum(walk: Motion) -> None:
    """Newton and Euler for the whole body: p = c - (c_z f - k × dL/dt) / f_z, L about the centre of mass."""
    h = walk.time[1] - walk.time[0]
    com, L = setsu.center_of_mass(M, walk.q), setsu.momentum(M, walk.q, walk.v)[:, 3:]
    rate = np.gradient(L, h, axis=0)
    f = walk.ground_force
    p = com[:, :2] + (-com[:, 2:] * f[:, :2] + np.stack([-rate[:, 1], rate[:, 0]], axis=1)) / f[:, 2:]
    inner = slice(5, -5)
    assert np.abs(walk.zmp - p)[inner].max() < 2e-4


def test_a_jump_flies_without_spin_and_weight(jump: Motion) -> None:
    flying = ~jump.support.any(axis=1)
    momentum = setsu.momentum(M, jump.q, jump.v)
    # About all of the angular momentum of the legs alone is 1e-2 kg m²/s.
    assert np.abs(momentum[:, 3:]).max() < 1e-6  # not rounding: tolerance of the plan
    # Nothing acts in the air; what is left at the free joint is the error of central differences, of order 2.
    coarse = plan_jump(BIPED, Jump(sample=2e-3))
    left = [np.abs(each.torque[~each.support.any(axis=1), :6][4:-4]).max() for each in (jump, coarse)]
    assert left[0] < 1e-3 * BIPED.weight
    assert 3.0 < left[1] / left[0] < 5.0
    assert np.abs(jump.torque[~flying, :6]).max() < 1e-12 * BIPED.weight
    com = setsu.center_of_mass(M, jump.q[flying])[:, 2]
    assert np.isclose(np.polyfit(jump.time[flying], com, 2)[0], -0.5 * G, rtol=1e-8)
    assert np.isclose(com.max() - com[0], 0.98**2 / (2 * G), rtol=0.03)


def test_the_rest_of_a_motion_is_the_motion_later(jump: Motion) -> None:
    rest = jump.after(0.5)
    for t in (0.0, 0.3, 5.0):
        for reference in ("position", "velocity", "feed_forward"):
            assert np.array_equal(getattr(rest, reference)(t), getattr(jump, reference)(t + 0.5))
    assert not jump.feed_forward(0.9)[:6].any()
    # The position is that of the next sample, reached with the velocity between the two.
    moved = setsu.difference(M, jump.q[600], jump.position(0.6)) / 1e-3
    assert np.allclose(moved, jump.velocity(0.6), atol=0.02)


def test_the_ground_never_pulls(walk: Motion, jump: Motion) -> None:
    assert (walk.ground_force[:, 2] > 0.0).all()
    assert (jump.ground_force[jump.support.any(axis=1), 2] > 0.0).all()


def test_landing_turns_the_legs_against_the_tilt_until_touch_down_and_then_lets_go(jump: Motion) -> None:
    flying = np.flatnonzero(~jump.support.any(axis=1))
    landing, tilt = Landing(jump), 0.1
    k = int(flying[len(flying) // 3])
    tilted = jump.q[k].copy()
    planned = BIPED.pose_of(jump.q[k], "torso")[:3, :3]
    # Pitch on top of the plan's own: the quaternion of a turn about y.
    angle = np.arctan2(planned[0, 2], planned[0, 0]) + tilt
    tilted[3:7] = [0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
    assert not landing.correction(0.0, jump.q[0]).any()
    flight = landing.correction(jump.time[k], tilted)
    hips = [M.v_slices[M.joint_index(f"{side}_hip_pitch")].start for side in ("left", "right")]
    assert np.allclose(flight[hips], -tilt, atol=1e-12)
    down = jump.time[flying[-1]] + 1e-3
    assert landing.touched is None
    assert np.allclose(landing.correction(down, jump.q[flying[-1]])[hips], -tilt, atol=1e-12)
    assert landing.touched == down
    assert np.abs(landing.correction(down + 0.15, jump.q[-1])[hips]).max() < 0.6 * tilt
    assert not landing.correction(down + 0.301, jump.q[-1]).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Walk(steps=0), "Walk steps"),
        (lambda: Walk(double_support=0.7), "double_support"),
        (lambda: Walk(height=float("inf")), "Walk height"),
        (lambda: Walk(first=2), "Walk first"),
        (lambda: Jump(crouch=0.3), "Jump crouch"),
        (lambda: Jump(flight=1e-3), "Jump flight"),
        (lambda: Jump(standing=-1.0), "Jump standing"),
        (lambda: Biped(setsu.sample_mechanisms.planar_arm(2)), "Free"),
        (lambda: Biped(M, feet=("left_foot", "left_foot")), "two different bodies"),
        (lambda: Biped(M, torso="chest"), "chest"),
        (lambda: Biped(M, posture=[1.0]), "27 finite numbers"),
        (lambda: solve_postures(BIPED, np.zeros((3, 3)), np.zeros((2, 2, 3))), "expected com"),
        (lambda: solve_postures(BIPED, np.zeros((0, 3)), np.zeros((0, 2, 3))), "expected com"),
        (lambda: solve_postures(BIPED, np.ones((2, 3)), np.zeros((2, 2, 3)), torso=np.eye(4)), "torso"),
        (lambda: solve_postures(BIPED, np.ones((2, 3)), np.zeros((2, 2, 3)), start=[0.0]), "start"),
        (lambda: solve_postures(BIPED, np.full((1, 3), np.nan), np.zeros((1, 2, 3))), "finite"),
        (lambda: plan_jump(BIPED, Jump(take_off=0.245)), "out of reach"),
        (lambda: plan_jump(BIPED, Jump(crouch=0.14)), 'joint "left_hip_pitch"'),
    ],
)
def test_bad_input_is_refused(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_landing_refuses_a_walk(walk: Motion) -> None:
    with pytest.raises(InputError, match="flight"):
        Landing(walk)
