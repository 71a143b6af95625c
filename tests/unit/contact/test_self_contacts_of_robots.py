"""Whole robots stand on the floor while their links may touch each other; pairs that their files exclude never do.

Robots of the MuJoCo Menagerie where the environment variable MUJOCO_MENAGERIE names its folder; ANYmal of
example-robot-data in any case.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import setsu

pytestmark = pytest.mark.nightly

_MENAGERIE = Path(os.environ.get("MUJOCO_MENAGERIE", ""))
# Knees of the two ANYmals point inwards.
_KNEES = {"HAA": 0.0, "HFE": 0.4, "KFE": -0.8}


def _bent(m: setsu.Mechanism) -> np.ndarray:
    """Legs of a quadruped, bent."""
    q = m.neutral()
    for k, joint in enumerate(m.joint_names[1:]):
        leg, kind = joint.split("_")[0], joint.split("_")[-1]
        q[7 + k] = _KNEES[kind] * (-1.0 if leg.endswith("H") else 1.0)
    return q


def _keyframe(m: setsu.Mechanism) -> np.ndarray:
    q = next(iter(m.keyframes.values())).q
    return setsu.close_loops(m, q, fixed=[m.joint_names[0]]) if m.loops else q


def _stand(m: setsu.Mechanism, q: np.ndarray) -> setsu.Recording:
    """Put the robot on the floor and let servos hold its posture for a second."""
    q = q.copy()
    servo, floor = setsu.JointServo(500.0, 10.0, q), setsu.Environment.floor()
    # It is put down from where it starts: lifted until nothing is inside the floor.
    for _ in range(10):
        sim = setsu.Simulator(m, step=1e-3, environment=floor, torque=servo, body_contacts=True)
        try:
            sim.reset(q, np.zeros(m.nv))
        except setsu.InputError as problem:
            inside = re.search(r"starts ([\d.e-]+) m inside", str(problem))
            if inside is None:
                raise
            q[2] += float(inside[1]) + 1e-3
            continue
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*did not converge.*")
            return sim.run(1.0, record_every=10)
    raise AssertionError(f"{m.name} does not come out of the floor")


def _check(m: setsu.Mechanism, rec: setsu.Recording) -> None:
    excluded = {frozenset(pair) for pair in m.excluded}
    assert rec.body_contacts is None or not excluded & {frozenset(pair) for pair in rec.body_contacts.pairs}
    log = rec.contact_log
    assert log is not None
    assert not log.unconverged.any()
    assert log.residual.max() <= 1e-8  # not rounding: what converged means
    assert log.depth.max() < 1e-5
    # Upright, at rest, and nothing exploded on the way.
    assert abs(rec.q[-1, 6]) > 0.99
    assert np.abs(rec.v[-1]).max() < 0.05
    assert np.abs(rec.v).max() < 10.0


@pytest.mark.parametrize("robot", ["anybotics_anymal_c/anymal_c.xml", "unitree_g1/g1.xml", "agility_cassie/cassie.xml"])
def test_a_robot_of_the_menagerie_stands(robot: str) -> None:
    path = _MENAGERIE / robot
    if not path.is_file():
        pytest.skip(f"MUJOCO_MENAGERIE names no folder with {robot}")
    m = setsu.load(path)
    _check(m, _stand(m, _bent(m) + np.eye(1, m.nq, 2)[0] * 0.6 if "anymal" in robot else _keyframe(m)))


def test_anymal_of_example_robot_data_stands() -> None:
    import pinocchio

    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    folder = next(folder for folder in roots if folder.is_dir()) / "anymal_b_simple_description"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)  # what its URDF leaves out
        m = setsu.load(folder / "robots" / "anymal.urdf", floating_base=True)
        _check(m, _stand(m, _bent(m) + np.eye(1, m.nq, 2)[0] * 0.6))
