"""Joints that identify holds have to stand still: noise and the tremble of a drive pass, motion does not."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.identification import MeasuredMotion, hold_still

ARM = setsu.sample_mechanisms.planar_arm(3)
TIME = np.linspace(0.0, 4.0, 2001)


def motion(second: np.ndarray, name: str = "log.csv") -> MeasuredMotion:
    q = np.stack([np.sin(2 * TIME), second, np.cos(3 * TIME)], axis=1)
    return MeasuredMotion(name, TIME, q, np.zeros_like(q), None)


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3, 0.02])
def test_a_noisy_joint_that_stands_is_held(noise: float) -> None:
    still = 0.7 + noise * np.random.default_rng(1).standard_normal(len(TIME))
    held, (rest,) = hold_still(ARM, ["joint2"], [motion(still)])
    assert held.nv == 2
    assert rest.q.shape == (len(TIME), 2)


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("travel", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("shape", ["slow", "wave", "jump"])
def test_a_joint_that_moves_is_refused_by_name(noise: float, travel: float, shape: str) -> None:
    """However slow it moves: a drift has no large difference between two samples."""
    path = {"slow": TIME / 4.0, "wave": 0.5 + 0.5 * np.sin(TIME), "jump": (TIME > 3.9).astype(float)}[shape]
    moved = travel * path + noise * np.random.default_rng(2).standard_normal(len(TIME))
    with pytest.raises(setsu.InputError, match=r'log\.csv: joint "joint2" cannot be held: it moves by'):
        hold_still(ARM, ["joint2"], [motion(moved)])


def test_a_joint_that_stands_elsewhere_in_another_log_is_refused() -> None:
    logs = [motion(np.full_like(TIME, 0.7), "first.csv"), motion(np.full_like(TIME, 0.9), "second.csv")]
    with pytest.raises(setsu.InputError, match=r'second\.csv: joint "joint2" stands at 0\.9, in the first log at 0\.7'):
        hold_still(ARM, ["joint2"], logs)
