"""Exciting motions keep the limits everywhere, begin and end at rest, and are better conditioned than random ones."""

import numpy as np
import pytest

import setsu
from setsu.identification.fourier import FourierMotion, at_rest, scaled_into_limits
from setsu.sample_mechanisms import four_bar, planar_arm, random_tree, seven_joint_arm


def limited_arm() -> setsu.Mechanism:
    b = setsu.MechanismBuilder("limited")
    joints = [
        setsu.Revolute((0, 0, 1), lower=0.2, upper=1.4, velocity_limit=3.0),
        setsu.Prismatic((1, 0, 0), lower=-0.1, upper=0.5, velocity_limit=0.2),
        setsu.Revolute((0, 1, 0), upper=0.5, velocity_limit=0.5),
    ]
    parent = "world"
    for k, joint in enumerate(joints):
        b.add_body(
            f"link{k}", parent=parent, joint=joint, placement=setsu.placement(translation=(0.2, 0, 0.1)),
            mass=1.0 + k, center_of_mass=(0.1, 0.02 * k, 0.03), inertia=np.diag([0.02, 0.03, 0.04]),
        )  # fmt: skip
        parent = f"link{k}"
    return b.build()


@pytest.mark.parametrize("make", [limited_arm, seven_joint_arm], ids=["limited", "seven"])
@pytest.mark.parametrize("seed", [0, 7])
def test_limits_are_kept_between_the_samples_too(make, seed: int) -> None:
    m = make()
    motion = setsu.excitation_trajectory(m, duration=6.0, seed=seed, trials=60)
    time = np.linspace(0.0, 6.0, 20_011)
    q, v = motion.position(time), motion.velocity(time)
    assert (q >= m.lower).all()
    assert (q <= m.upper).all()
    assert (np.abs(v) <= m.velocity_limit).all()
    # Room is used, not only kept: each joint reaches 90 % of what its range or its speed leaves after the margin.
    used = np.maximum(np.ptp(q, axis=0) / (m.upper - m.lower), np.abs(v).max(axis=0) / m.velocity_limit)
    assert (used[np.isfinite(m.lower)] >= 0.8).all()


def test_velocity_and_acceleration_are_derivatives_and_the_ends_are_at_rest() -> None:
    motion = setsu.excitation_trajectory(planar_arm(2), duration=4.0, trials=30)
    time, h = np.linspace(0.1, 3.9, 57), 1e-4
    rate = (motion.position(time + h) - motion.position(time - h)) / (2 * h)
    change = (motion.velocity(time + h) - motion.velocity(time - h)) / (2 * h)
    # Central differences: errors h² times third derivatives of about 100.
    assert np.abs(rate - motion.velocity(time)).max() < 1e-5
    assert np.abs(change - motion.acceleration(time)).max() < 1e-4
    for t in (0.0, 4.0):
        assert np.abs(motion.velocity(t)).max() < 1e-12
        assert np.abs(motion.acceleration(t)).max() < 1e-11
    np.testing.assert_allclose(motion.position(0.0), motion.position(4.0), atol=1e-12)
    np.testing.assert_array_equal(motion.q, motion.position(motion.time))


def test_the_search_beats_random_motions_and_equal_seeds_give_equal_motions() -> None:
    m = seven_joint_arm()
    random = [setsu.excitation_trajectory(m, seed=seed, trials=1).condition_number for seed in range(8)]
    searched = setsu.excitation_trajectory(m, seed=3, trials=150)
    assert searched.condition_number < min(random)
    again = setsu.excitation_trajectory(m, seed=3, trials=150)
    np.testing.assert_array_equal(again.q, searched.q)


def test_effort_limits_count() -> None:
    """With drives that hardly carry the arm, the motion found asks them for less than that without limits."""
    for limit in (np.inf, 12.0):
        b = setsu.MechanismBuilder("weak")
        b.add_body("a", joint=setsu.Revolute((0, 1, 0), effort_limit=limit), mass=2.0, center_of_mass=(0.5, 0, 0.1),
                   inertia=np.diag([0.1, 0.1, 0.1]))  # fmt: skip
        effort = setsu.excitation_trajectory(b.build(), trials=200).largest_effort[0]
        assert np.isinf(limit) or effort < 1.05 * limit


@pytest.mark.parametrize("seed", range(5))
def test_scaling_reaches_the_limits_exactly_or_stays_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sine, cosine = at_rest(*rng.standard_normal((2, 5, 3)))
    lower, upper, speed = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 5.0, 2.5]), np.array([1.0, 0.1, 10.0])
    series = scaled_into_limits(7.0, sine, cosine, lower, upper, speed)
    assert isinstance(series, FourierMotion)
    time = np.linspace(0.0, 7.0, 50_001)
    q, v = series(time), series(time, 1)
    assert (q >= lower - 1e-12).all()
    assert (q <= upper + 1e-12).all()
    assert (np.abs(v) <= speed + 1e-12).all()
    assert (np.maximum(np.ptp(q, axis=0) / (upper - lower), np.abs(v).max(axis=0) / speed) > 0.99).all()


def test_the_file_holds_the_motion(tmp_path) -> None:
    motion = setsu.excitation_trajectory(planar_arm(2), duration=2.0, trials=5)
    table = np.genfromtxt(motion.save(tmp_path / "motion.csv"), delimiter=",", names=True)
    np.testing.assert_array_equal(table["q2"], motion.q[:, 1])
    np.testing.assert_array_equal(table["a1"], motion.a[:, 0])


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        (four_bar(), {}, "loops or couplings"),
        (random_tree(3, n_bodies=3, floating_base=True), {}, "has quaternion coordinates"),
        (planar_arm(2), {"duration": -1.0}, "duration: expected a number above 0"),
        (planar_arm(2), {"duration": float("nan")}, "duration"),
        (planar_arm(2), {"harmonics": 2}, "harmonics: expected a number above 2"),
        (planar_arm(2), {"margin": 0.7}, "margin: expected a number from 0 to 0.5"),
        (planar_arm(2), {"friction": "viscos"}, 'did you mean "viscous"'),
        ("arm.urdf", {}, "expected a Mechanism"),
    ],
)
def test_refusals(mechanism, options: dict, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        setsu.excitation_trajectory(mechanism, **options)


def test_a_joint_without_room_is_named() -> None:
    b = setsu.MechanismBuilder("stuck")
    b.add_body("a", joint=setsu.Revolute((0, 1, 0), name="shoulder", lower=0.5, upper=0.5), mass=1.0)
    with pytest.raises(setsu.InputError, match='joint "shoulder" cannot move: limits'):
        setsu.excitation_trajectory(b.build())
