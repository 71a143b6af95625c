"""Walks that turn, go sideways, on slopes and stairs: the plan is one a floor can cause, and the humanoid arrives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import setsu
from setsu.control.humanoid import Biped, Motion, Stabiliser, Walk, plan_footsteps, plan_walk
from setsu.control.humanoid.balance import tilt
from setsu.control.humanoid.walking import feet_below_hips

pytestmark = pytest.mark.thin(3)

M = setsu.sample_mechanisms.hoap1_like()
BIPED = Biped(M)


def slope(angle: float) -> setsu.Environment:
    z = np.tan(angle)
    return setsu.Environment([setsu.Polygon([[-1, -1, -z], [1, -1, z], [1, 1, z], [-1, 1, -z]])])


def stairs(rise: float, depth: float, count: int, first: float) -> setsu.Environment:
    edges = [-1.0, *(first + depth * k for k in range(count)), 2.0]
    treads = [
        setsu.Polygon([[a, -1, k * rise], [b, -1, k * rise], [b, 1, k * rise], [a, 1, k * rise]], name=f"tread {k}")
        for k, (a, b) in enumerate(itertools.pairwise(edges))
    ]
    return setsu.Environment(treads)


def walked(motion: Motion, ground: setsu.Environment, feedback: bool = False) -> setsu.Recording:
    servo = setsu.JointServo(300.0, 4.0, motion.position, motion.velocity, motion.feed_forward)
    law = Stabiliser(motion) if feedback else servo
    return setsu.simulate(
        M,
        motion.q[0],
        np.zeros(M.nv),
        duration=float(motion.time[-1]),
        torque=law,
        environment=ground,
        record_every=10,
    )


WAYS = {
    "circle": (Walk(steps=8, stride=0.03, turn=0.2, standing=0.5), setsu.Environment.floor(), 1.0),
    "sideways": (Walk(steps=5, stride=0.0, sideways=-0.015, standing=0.5, first=1), setsu.Environment.floor(), 1.0),
    "uphill": (Walk(steps=4, slope=0.1, standing=0.5), slope(0.1), 1.0),
    "downhill": (Walk(steps=4, slope=-0.1, standing=0.5), slope(-0.1), 1.0),
    "stairs": (
        Walk(
            steps=4, stride=0.11, rise=0.02, together=True, step_time=0.8, swing_height=0.03, height=0.215, standing=0.5
        ),
        stairs(0.02, 0.11, 2, 0.055),
        5.0,
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_humanoid_arrives(name: str) -> None:
    walk, ground, lean = WAYS[name]
    motion = plan_walk(BIPED, walk)
    # With the planned torques the free joint carries nothing.
    assert np.abs(motion.torque[:, :6]).max() < 1e-10
    run = walked(motion, ground)
    soles = BIPED.sole_corners(run.q[-1]).mean(axis=1)
    assert np.abs(soles - motion.feet[-1]).max() < 0.006
    assert np.degrees(tilt(BIPED, run.q)).max() < lean


@pytest.mark.nightly
@pytest.mark.parametrize("name", WAYS)
def test_the_humanoid_arrives_with_feedback(name: str) -> None:
    walk, ground, _ = WAYS[name]
    motion = plan_walk(BIPED, walk)
    run = walked(motion, ground, feedback=True)
    soles = BIPED.sole_corners(run.q[-1]).mean(axis=1)
    assert np.abs(soles - motion.feet[-1]).max() < 0.006
    assert np.degrees(tilt(BIPED, run.q)).max() < 5.0


def test_a_turning_walk_runs_along_a_circle() -> None:
    """Feet side by side at the end are turned by all steps that lead on; their middle has gone along the chords."""
    walk = Walk(steps=9, stride=0.03, turn=0.2)
    plan = plan_footsteps(walk, feet_below_hips(BIPED))
    turned = 0.2 * 8
    assert plan.heading[-1] == pytest.approx(turned)
    np.testing.assert_allclose(plan.soles[-1, 0, :2, 0], [np.cos(turned), np.sin(turned)], atol=1e-12)
    left, right = plan.feet[-1, :, :2]
    across = np.array([-np.sin(turned), np.cos(turned)])
    np.testing.assert_allclose(left - right, across * np.linalg.norm(left - right), atol=1e-12)
    # Chords of 0.03 m, turned by 0.2 rad from one to the next, from the start on.
    angles = 0.1 + 0.2 * np.arange(8)
    reached = 0.03 * np.array([np.cos(angles).sum(), np.sin(angles).sum()])
    start = plan.feet[0, :, :2].mean(axis=0)
    np.testing.assert_allclose(0.5 * (left + right) - start, reached, atol=1e-12)


def test_a_straight_walk_is_what_it_was() -> None:
    plan = plan_footsteps(Walk(steps=3), np.array([[0.0, 0.04, 0.0], [0.0, -0.04, 0.0]]))
    assert plan.feet[-1].tolist() == [[0.06, 0.04, 0.0], [0.06, -0.04, 0.0]]
    assert not plan.ground.any()
    assert (plan.soles == np.eye(3)).all()
    assert Walk(steps=3).travel == pytest.approx(0.06)
    assert Walk(steps=4, stride=0.1, together=True).travel == pytest.approx(0.2)


@pytest.mark.parametrize(("key", "value"), [("turn", np.inf), ("rise", "a"), ("slope", 1.0), ("sideways", np.nan)])
def test_wrong_ways_are_refused(key: str, value: object) -> None:
    with pytest.raises(setsu.InputError, match=f"Walk {key}"):
        Walk(**{key: value})  # type: ignore[arg-type]
