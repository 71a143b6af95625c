"""A hand held on a surface stays there: |C(r)| <= 1e-12 m throughout a minute at h = 0.01 s, whatever the arm.

The short runs are part of every test run; the minutes are for the night.
"""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.reproduce.nishiguchi2014.arms import MOTIONS, PAPER_INERTIA, run_motion


def hand_error_of_planar_arm(motion: str, duration: float) -> float:
    run = run_motion(MOTIONS[motion], PAPER_INERTIA, lambda text, part: None, duration)
    return float(np.abs(run.hand[:, 2]).max())


def hand_error_on_a_sphere(duration: float) -> float:
    """A seven-joint arm whose tip is pressed on a ball and led round it against friction."""
    arm = setsu.sample_mechanisms.seven_joint_arm()
    q0 = np.array([0.2, 0.9, -0.3, 1.2, 0.4, 0.5, 0.0])
    start = setsu.body_poses(arm, q0)[-1, :3, 3]
    center = start - np.array([0.1, 0.05, 0.3])
    ball = setsu.Sphere(center, float(np.linalg.norm(start - center)))
    tool = setsu.SurfaceContact(arm.body_names[-1], (0, 0, 0), ball, friction=0.15)

    def controller(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        outward = (setsu.body_poses(arm, q)[-1, :3, 3] - center) / ball.radius
        around = np.array([np.cos(3.0 * t), np.sin(3.0 * t), 0.0])
        home = q0 - q
        force = -20.0 * outward + 6.0 * (around - outward * (around @ outward))
        return setsu.gravity_torque(arm, q) + setsu.point_jacobian(arm, q, "link7").T @ force + 4.0 * home - 2.0 * v

    run = setsu.simulate(arm, q0, np.zeros(7), duration, 0.01, torque=controller, contacts=[tool])
    assert run.normal_force.min() > 0.0
    path = setsu.body_poses(arm, run.q)[:, -1, :3, 3]
    return float(np.abs(np.linalg.norm(path - center, axis=1) - ball.radius).max())


@pytest.mark.parametrize("motion", ["figure 3", "figure 6"])
def test_planar_arms_stay_on_the_plane(motion: str) -> None:
    assert hand_error_of_planar_arm(motion, 1.0) <= 1e-12


def test_a_seven_joint_arm_stays_on_the_sphere() -> None:
    assert hand_error_on_a_sphere(1.0) <= 1e-12


@pytest.mark.nightly
@pytest.mark.parametrize("motion", ["figure 3", "figure 6"])
def test_planar_arms_stay_on_the_plane_for_a_minute(motion: str) -> None:
    assert hand_error_of_planar_arm(motion, 60.0) <= 1e-12


@pytest.mark.nightly
def test_a_seven_joint_arm_stays_on_the_sphere_for_a_minute() -> None:
    assert hand_error_on_a_sphere(60.0) <= 1e-12
