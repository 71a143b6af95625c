"""Impacts of several contacts and stops at once: what rests may open, and no order is preferred."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import setsu
from setsu.constraints import constraint_system


def _sliders() -> setsu.Mechanism:
    b = setsu.MechanismBuilder("sliders", gravity=(0, 0, 0))
    b.add_body("first", "world", setsu.Prismatic((1, 0, 0), "p", lower=-1.0, upper=10.0), mass=1.0)
    b.add_body("second", "first", setsu.Prismatic((1, 0, 0), "r", lower=0.0, upper=5.0), mass=1.0)
    return b.build()


def test_the_momentum_of_two_sliders_in_series_stays() -> None:
    # The second rests against its stop on the first, both moving; then the first is at rest and hit by the second.
    m = _sliders()
    recording = setsu.simulate(m, [0.0, 1.0], [0.0, -1.0], 1.5, 1e-2, joint_stops=True)
    # Absolute velocities -1 and 0 become -0.5 both: v = (-0.5, 0).
    np.testing.assert_allclose(recording.v[-1], [-0.5, 0.0], atol=1e-12)


def test_a_slider_pulled_off_its_stop_takes_nothing_with_it() -> None:
    # First moves into its own lower stop while the second rests on the first's: the first stops, the second goes on
    # into its stop: both end at rest against the wall, which takes the momentum.
    m = _sliders()
    recording = setsu.simulate(m, [-0.5, 0.0], [-1.0, 0.0], 1.0, 1e-2, joint_stops=True)
    np.testing.assert_allclose(recording.v[-1], [0.0, 0.0], atol=1e-12)
    away = setsu.simulate(m, [-0.5, 4.5], [-1.0, 1.5], 0.4, 1e-2, joint_stops=True)
    # Before anything is reached both move on; at 1/3 s the second reaches its upper stop: common velocity -0.25.
    np.testing.assert_allclose(away.v[-1], [-0.25, 0.0], atol=1e-12)


def _block(width: float, height: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("block", gravity=(0, 0, -9.81))
    inertia = np.diag([1.0, (width**2 + height**2) / 12.0, 1.0])
    b.add_body("block", "world", setsu.Planar((0, 1, 0)), mass=1.0, inertia=inertia)
    return b.build()


def _corners(width: float, height: float, friction: float) -> list[setsu.SurfaceContact]:
    floor = setsu.Plane((0, 0, 1), 0.0)
    return [
        setsu.SurfaceContact("block", (x * width / 2, 0, -height / 2), floor, friction=friction, name=name)
        for x, name in ((-1, "left"), (1, "right"))
    ]


@pytest.mark.parametrize("swap", [False, True])
def test_a_rocking_block_goes_on_as_housner_says(swap: bool) -> None:
    width, height, turn = 0.2, 1.0, 0.02
    m, contacts = _block(width, height), _corners(width, height, 5.0)
    contacts = contacts[::-1] if swap else contacts
    poses = setsu.body_poses
    # Find which way the joint's angle turns, then stand the block on its left corner, the right one lifted.
    for sign in (1.0, -1.0):
        q = np.array([0.0, 0.0, sign * turn])
        place = poses(m, q)[0]
        left, right = (place @ [x * width / 2, 0, -height / 2, 1.0] for x in (-1, 1))
        if right[2] > left[2]:
            break
    for _ in range(3):
        # Planar coordinates are along two axes of the plane: Newton on where the left corner is.
        J = np.array([(poses(m, q + 1e-6 * np.eye(3)[i])[0] - poses(m, q)[0])[[0, 2], 3] / 1e-6 for i in range(2)]).T
        left = poses(m, q)[0] @ [-width / 2, 0, -height / 2, 1.0]
        q[:2] -= np.linalg.solve(J, left[[0, 2]] - [-width / 2, 0.0])
    recording = setsu.simulate(m, q, np.zeros(3), 1.0, 1e-3, contacts=contacts)
    impact = next(event for event in recording.events if event.kind == "impact")
    after = int(np.searchsorted(recording.time, impact.time, side="right"))
    spin = np.abs(recording.v[:, 2])
    ratio = spin[after] / (spin[after] + np.abs(impact.velocity_jump[2]))
    # Angular momentum about the corner that hits: (2 h² - w²)/(2 (h² + w²)) of the rate is left.
    expected = (2 * height**2 - width**2) / (2 * (height**2 + width**2))
    assert ratio == pytest.approx(expected, abs=2e-3)


def test_a_bilateral_contact_that_is_pulled_is_braked_like_one_that_is_pushed() -> None:
    speeds = []
    for gravity in (9.81, -9.81):
        b = setsu.MechanismBuilder("block", gravity=(0, 0, gravity))
        b.add_body("block", "world", setsu.Free(), mass=1.0, inertia=np.eye(3))
        m = b.build()
        contact = setsu.SurfaceContact("block", (0, 0, 0), setsu.Plane((0, 0, 1), 0.0), friction=0.3, bilateral=True)
        recording = setsu.simulate(m, m.neutral(), [1.0, 0, 0, 0, 0, 0], 0.2, 1e-3, contacts=[contact])
        speeds.append(recording.v[-1, 0])
    assert speeds == pytest.approx([1.0 - 0.3 * 9.81 * 0.2] * 2, abs=1e-9)


def test_a_light_body_lifts_off() -> None:
    b = setsu.MechanismBuilder("dust", gravity=(0, 0, 9.81))
    b.add_body("dust", "world", setsu.Prismatic((0, 0, 1)), mass=1e-10)
    m = b.build()
    contact = setsu.SurfaceContact("dust", (0, 0, 0), setsu.Plane((0, 0, 1), 0.0))
    recording = setsu.simulate(m, [0.0], [0.0], 0.1, 1e-2, contacts=[contact])
    assert recording.q[-1, 0] == pytest.approx(0.5 * 9.81 * 0.01, rel=1e-6)


def test_stops_of_joints_with_several_axes_and_of_joints_that_close_loops() -> None:
    b = setsu.MechanismBuilder("tube", gravity=(0, 0, -9.81))
    b.add_body(
        "t", "world", setsu.Cylindrical((0, 0, 1), lower=(-0.1, -3.0), upper=(1.0, 3.0)), mass=1.0, inertia=np.eye(3)
    )
    m = b.build()
    recording = setsu.simulate(m, [0.0, 0.0], [0.0, 0.0], 0.5, 1e-3, joint_stops=True)
    assert recording.q[:, 0].min() == pytest.approx(-0.1, abs=1e-9)

    m = setsu.sample_mechanisms.four_bar()
    free = setsu.simulate(m, m.neutral(), np.zeros(3), 0.5, 1e-3)
    loop, system = m.loops[0], constraint_system(m)
    angle = [float(system.linearise(q, np.zeros(3)).loop_poses.coordinate[0]) for q in free.q]
    way = np.sign(angle[200] - angle[0])
    limit = angle[0] + way * 0.5 * abs(angle[200] - angle[0])
    side = {"upper": limit} if way > 0 else {"lower": limit}
    stopped = replace(m, loops=(replace(loop, joint=replace(loop.joint, **side)),))
    recording = setsu.simulate(stopped, m.neutral(), np.zeros(3), 0.5, 1e-3, joint_stops=True)
    reached = [float(system.linearise(q, np.zeros(3)).loop_poses.coordinate[0]) for q in recording.q]
    assert way * (max(way * np.array(reached)) * way - limit) < 1e-9
    assert any(event.kind == "stop" for event in recording.events)
