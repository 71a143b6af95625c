"""Robots that float stand in the run that the studio offers first, and their gains are those of a stable law."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.studio import open_studio
from setsu.studio.application import Studio
from setsu.studio.hold_gains import hold_gains
from setsu.studio.uploads import open_file

ROBOTS = {
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
    "ANYmal": "anymal_c_simple_description/urdf/anymal.urdf",
}


def _file(name: str) -> Path:
    for entry in sys.path:
        found = Path(entry) / "cmeel.prefix/share/example-robot-data/robots" / ROBOTS[name]
        if found.is_file():
            return found
    raise FileNotFoundError(f"example-robot-data holds no {ROBOTS[name]}")


def _inverted(mass: float, height: float) -> setsu.Mechanism:
    """A mass on a stick that stands on a light foot, by an ankle."""
    b = setsu.MechanismBuilder("stick")
    b.add_body("top", joint=setsu.Free(name="free"), mass=mass, inertia=1e-3 * mass * np.eye(3))
    foot = setsu.Revolute((0, 1, 0), name="ankle")
    b.add_body("foot", "top", foot, setsu.placement((0, 0, -height)), mass=0.01 * mass, inertia=1e-3 * mass * np.eye(3))
    b.add_contact_points("foot", [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    return b.build()


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_an_ankle_carries_twice_what_tips_it_over(mass: float) -> None:
    m = _inverted(mass, 0.8)
    stiffness, _ = hold_gains(m, m.neutral(), 0.1, 0.7, 1e-4)
    assert stiffness[-1] == pytest.approx(2.0 * mass * 9.81 * 0.8, rel=1e-3)


def test_gains_stay_within_what_a_sampled_law_may_have() -> None:
    m = _inverted(10.0, 0.8)
    M = setsu.mass_matrix(m, m.neutral())
    inertia = 1.0 / np.linalg.inv(M)[-1, -1]
    for step in (1e-3, 1e-2, 1e-1):
        k, d = (gains[-1] for gains in hold_gains(m, m.neutral(), 0.1, 0.7, step))
        A = np.array(
            [[1.0 - 0.5 * step**2 * k / inertia, step - 0.5 * step**2 * d / inertia],
             [-step * k / inertia, 1.0 - step * d / inertia]]
        )  # fmt: skip
        assert np.abs(np.linalg.eigvals(A)).max() <= 1.0


def test_a_fixed_arm_has_the_frequency_asked_for() -> None:
    m = setsu.sample_mechanisms.pendulum()
    stiffness, damping = hold_gains(m, m.neutral(), 2.0, 0.7, 1e-3)
    inertia, rate = setsu.mass_matrix(m, m.neutral())[0, 0], 2.0 * np.pi * 2.0
    assert stiffness[0] == pytest.approx(rate**2 * inertia)
    assert damping[0] == pytest.approx(1.4 * rate * inertia)


@pytest.fixture
def studio() -> Iterator[Studio]:
    running = open_studio()
    yield running
    running.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_stands_for_five_seconds_in_the_default_run(studio: Studio, name: str) -> None:
    path = _file(name)
    m = open_file(path, (path.parents[3].parent,), None, True).mechanism
    studio.open_mechanism(m)
    studio.scenario.duration.value = 5.0
    studio.scenario.every.value = 50
    studio.start_run()
    studio.wait_for_run()
    run = studio.recording
    assert run is not None
    assert run.time[-1] == pytest.approx(5.0)
    up = setsu.body_poses(m, run.q)[:, 0, 2, 2]
    assert np.degrees(np.arccos(np.clip(up, -1.0, 1.0))).max() < 15.0
    assert run.q[:, 2].min() > run.q[0, 2] - 0.02
