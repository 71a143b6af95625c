"""Feedback around a planned walk: pushed, or on other ground than planned, it arrives, or a fall is an event."""

from __future__ import annotations

import math

import numpy as np
import pytest

import setsu
from setsu.control.humanoid import Biped, Jump, Motion, Stabiliser, Walk, plan_jump, plan_walk
from setsu.control.humanoid.balance import with_fall
from setsu.control.humanoid.stepping import adjusted_footstep, pulled_into
from setsu.control.humanoid.whole_body_torque import WholeBodyTorque, body_state, foot_wrenches

M = setsu.sample_mechanisms.hoap1_like()
BIPED = Biped(M)
FLOOR = setsu.Environment.floor()
PUSH = 0.01  # s
WALK = Walk(steps=5, standing=0.4)
WAYS = {"ahead": (1.0, 0.0), "back": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}
# Of the second and the third step: both feet down, the swing's begin, middle and end.
INSTANTS = (1.0, 1.15, 1.3, 1.45, 1.6, 1.75, 1.9, 2.05)


@pytest.fixture(scope="module")
def motion() -> Motion:
    return plan_walk(BIPED, WALK)


def bump(begin: float, end: float, height: float = 0.01) -> setsu.Environment:
    """A floor with a bar across the way."""
    way = [[-1, -1, 0], [2, -1, 0], [2, 1, 0], [-1, 1, 0]]
    bar = [[begin, -1, height], [end, -1, height], [end, 1, height], [begin, 1, height]]
    return setsu.Environment([setsu.Polygon(way, name="floor"), setsu.Polygon(bar, name="bump")])


def walked(
    motion: Motion, ground: setsu.Environment, push: tuple[float, float] = (0.0, 0.0), at: float = 1.0
) -> tuple[setsu.Recording, Stabiliser]:
    """A run until two seconds after the plan's end; push: change of the body's velocity, m/s, from a time (s) on.

    The clock of the plan waits where the body is not ready, so that a walk that was disturbed takes longer.
    """
    law = Stabiliser(motion)
    sim = setsu.Simulator(M, 1e-3, torque=law, environment=ground)
    sim.reset(motion.q[0], np.zeros(M.nv))
    sim.step(steps=round(at * 1e3))
    sim.push(BIPED.torso, np.array([*push, 0.0]) * M.total_mass / PUSH)
    sim.step(steps=round(PUSH * 1e3))
    return sim.run(float(motion.time[-1]) + 2.0 - sim.time, record_every=10), law


def arrives(run: setsu.Recording, law: Stabiliser) -> bool:
    """Upright, at rest, with the plan walked to its end, the feet side by side where the plan and its changes say."""
    feet = BIPED.sole_corners(run.q[-1]).mean(axis=1)
    beside = np.abs(feet - law.motion.feet[-1] - law.shifts).max()
    return stands(run, law) and bool(beside < 0.005)


def stands(run: setsu.Recording, law: Stabiliser) -> bool:
    """Upright, at rest, with the plan walked to its end, wherever the feet are."""
    fallen = any(event.kind == "fall" for event in with_fall(BIPED, run).events)
    return not fallen and law.arrived and bool(np.abs(run.v[-1]).max() < 0.05)


@pytest.mark.nightly
def test_undisturbed_it_walks_the_plan(motion: Motion) -> None:
    run, law = walked(motion, FLOOR)
    assert arrives(run, law)
    assert np.abs(BIPED.sole_corners(run.q[-1]).mean(axis=1) - motion.feet[-1]).max() < 1e-3


@pytest.mark.nightly
@pytest.mark.parametrize(("way", "at"), [("right", 1.3)])
def test_pushed_it_arrives(motion: Motion, way: str, at: float) -> None:
    """Outwards over the standing foot, where only the torso helps; inwards, where a step does."""
    push = 0.3 * WAYS[way][0], 0.3 * WAYS[way][1]
    run, law = walked(motion, FLOOR, push, at)
    assert arrives(run, law)


@pytest.mark.nightly
@pytest.mark.parametrize("at", INSTANTS)
@pytest.mark.parametrize("way", WAYS)
def test_pushed_at_any_instant_it_arrives(motion: Motion, way: str, at: float) -> None:
    push = 0.3 * WAYS[way][0], 0.3 * WAYS[way][1]
    run, law = walked(motion, FLOOR, push, at)
    assert arrives(run, law)


@pytest.mark.nightly
@pytest.mark.parametrize("at", INSTANTS)
@pytest.mark.parametrize("way", WAYS)
def test_pushed_twice_as_hard_it_arrives_or_falls_by_an_event(motion: Motion, way: str, at: float) -> None:
    push = 0.6 * WAYS[way][0], 0.6 * WAYS[way][1]
    run, law = walked(motion, FLOOR, push, at)
    falls = [event for event in with_fall(BIPED, run).events if event.kind == "fall"]
    assert arrives(run, law) or (len(falls) == 1 and falls[0].time > at)


@pytest.mark.nightly
def test_a_bump_of_10_mm_is_walked_over() -> None:
    run, law = walked(plan_walk(BIPED, Walk(steps=8, standing=0.4)), bump(0.1, 0.2))
    assert arrives(run, law)
    # The walk ends on the bar's far side or on it: heights of soles are those of the ground.
    assert np.abs(law.shifts[:, 2]).max() < 0.011


@pytest.mark.nightly
@pytest.mark.parametrize("height", [0.01, 0.02])
@pytest.mark.parametrize("begin", [0.08, 0.1, 0.12, 0.15])
def test_bumps_are_walked_over_or_the_fall_is_an_event(begin: float, height: float) -> None:
    run, law = walked(plan_walk(BIPED, Walk(steps=10, standing=0.4)), bump(begin, begin + 0.1, height))
    falls = [event for event in with_fall(BIPED, run).events if event.kind == "fall"]
    # A walk over 20 mm may end with its soles tilted on the far edge of the bar, where no level sole can be.
    assert arrives(run, law) or (height > 0.01 and (len(falls) == 1 or stands(run, law)))


@pytest.mark.parametrize("seed", range(4))
def test_the_footstep_brings_the_capture_point_where_it_should_be(seed: int) -> None:
    """Integrate ξ' = w (ξ - p) with the chosen ankle and time: what it misses is what is said to stay open."""
    random = np.random.default_rng(seed)
    rate, sole, reach = 6.6, np.array([0.05, 0.03]), np.array([0.06, 0.05])
    capture, goal = random.normal(scale=0.03, size=2), random.normal(scale=0.02, size=2)
    times = np.array([0.3, 0.2, 0.1, 0.5])
    step = adjusted_footstep(capture, np.zeros(2), goal, times, rate, (-sole, sole), (-reach, reach))
    T = times[step.choice]
    reached = step.ankle + (capture - step.ankle) * math.exp(rate * T)
    assert np.abs(reached - goal - step.shift).max() == pytest.approx(step.left, abs=1e-12)
    assert (np.abs(step.ankle) <= sole).all()
    assert (np.abs(step.shift) <= reach).all()


def test_points_are_pulled_into_the_hull() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert pulled_into(np.array([0.2, 0.3]), square).tolist() == [0.2, 0.3]
    np.testing.assert_allclose(pulled_into(np.array([4.0, 5.0]), square, 1.0), [1.6, 1.8])
    np.testing.assert_allclose(pulled_into(np.array([1.05, 0.5]), square, 0.1), [1.05, 0.5])


def test_torques_press_within_the_cones_and_feet_feel_it(motion: Motion) -> None:
    """What the program asks for happens: accelerations of a step are the tasks', wrenches are found again from it."""
    k = 300
    q, v = motion.q[k], motion.v[k]
    state = body_state(BIPED, q, v)
    tasks = WholeBodyTorque(BIPED, state)
    tasks.add(np.eye(M.nv), motion.a[k], 1.0)
    torque = tasks.solve(motion.support[k], np.array([0.5, 0.5]))
    assert torque is not None
    assert not torque[:6].any()
    sim = setsu.Simulator(M, 1e-3, environment=FLOOR)
    sim.reset(q, v)
    sim.step(torque)
    total = sim.contact_force.sum(axis=0)
    found = foot_wrenches(BIPED, state, torque, sim.v, 1e-3)
    assert found[:, 2].sum() == pytest.approx(total[2], rel=1e-2)
    assert total[2] == pytest.approx(BIPED.weight, rel=1e-2)


def test_it_goes_on_from_a_saved_state(motion: Motion) -> None:
    sims = [setsu.Simulator(M, 1e-3, torque=Stabiliser(motion), environment=FLOOR) for _ in range(2)]
    sims[0].reset(motion.q[0], np.zeros(M.nv))
    sims[1].reset(motion.q[0], np.zeros(M.nv))
    sims[0].step(steps=600)
    sims[1].restore(sims[0].save())
    for sim in sims:
        sim.step(steps=20)
    assert (sims[0].q == sims[1].q).all()


def test_wrong_arguments_are_refused(motion: Motion) -> None:
    with pytest.raises(setsu.InputError, match="flight"):
        Stabiliser(plan_jump(BIPED, Jump(settling=0.1)))
    with pytest.raises(setsu.InputError, match="reach"):
        Stabiliser(motion, reach=(0.1, 0.1))  # type: ignore[arg-type]
    with pytest.raises(setsu.InputError, match="gain"):
        Stabiliser(motion, gain=-1.0)
    with pytest.raises(setsu.InputError, match="Motion"):
        Stabiliser(motion.q)  # type: ignore[arg-type]
