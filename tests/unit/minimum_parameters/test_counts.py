"""Counts of minimum parameters that derivations by hand and the literature give, exactly and in floating point."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from unit.minimum_parameters.robots import dh_robot, example_robot

import setsu

pytestmark = pytest.mark.thin(2)

samples = setsu.sample_mechanisms
NO_GRAVITY, TILTED, ACROSS = (0.0, 0.0, 0.0), (3.0, -2.0, -9.0), (0.0, 9.81, 0.0)


def _crossed(gravity: tuple[float, float, float]) -> tuple[setsu.Mechanism, np.ndarray]:
    arm = setsu.with_gravity(samples.parallelogram_arm(), gravity)
    q = setsu.close_loops(arm, [0.0, 2.5, 0.5, -2.8], fixed=["upper", "lever"])
    # On the parallelogram's branch the forearm keeps the lever's angle.
    assert abs(q[0] + q[1] - q[2]) > 0.1
    return arm, q


def _panda() -> setsu.Mechanism:
    arm = example_robot("panda_description/urdf/panda.urdf")
    return setsu.lock_joints(arm, ["panda_finger_joint1", "panda_finger_joint2"])


def _tree(**options: object) -> setsu.Mechanism:
    return dataclasses.replace(samples.six_joint_parallelogram_arm(**options), loops=())


def _main_chain() -> setsu.Mechanism:
    arm = samples.six_joint_parallelogram_arm()
    keep = {f"link{k}" for k in range(1, 7)}
    return dataclasses.replace(arm, loops=(), bodies=tuple(body for body in arm.bodies if body.name in keep))


def _no_parallelogram() -> setsu.Mechanism:
    arm = samples.six_joint_parallelogram_arm(named=False)
    (pin,) = arm.loops
    pose = dataclasses.replace(pin.pose_a, translation=(0.65, 0.0, 0.0))
    return dataclasses.replace(arm, loops=(dataclasses.replace(pin, pose_a=pose),))


def _open(mechanism: setsu.Mechanism) -> setsu.Mechanism:
    return dataclasses.replace(mechanism, loops=())


COUNTS: dict[str, tuple[Callable[[], setsu.Mechanism], int]] = {
    "planar 2R in a vertical plane": (lambda: samples.planar_arm(2), 6),
    "planar 2R in a horizontal plane": (lambda: setsu.with_gravity(samples.planar_arm(2), ACROSS), 4),
    "planar 3R in a vertical plane": (lambda: samples.planar_arm(3), 9),
    "planar 3R in a horizontal plane": (lambda: setsu.with_gravity(samples.planar_arm(3), ACROSS), 7),
    "SCARA": (samples.scara, 8),
    "PUMA 560": (samples.puma560, 36),
    "RX-90": (samples.rx90, 36),
    "UR5": (lambda: example_robot("ur_description/urdf/ur5_robot.urdf"), 36),
    "UR10": (lambda: example_robot("ur_description/urdf/ur10_robot.urdf"), 36),
    "Stanford": (samples.stanford_arm, 33),
    "Panda": (_panda, 43),
    "iiwa": (samples.iiwa, 43),
    "six joints, first axis vertical": (lambda: dh_robot("general 6R"), 36),
    "six joints, gravity tilted": (lambda: dh_robot("general 6R", TILTED), 38),
    "example 3, tree": (_tree, 50),
    "example 3": (samples.six_joint_parallelogram_arm, 39),
    "example 3, cut at 3'": (lambda: samples.six_joint_parallelogram_arm(cut="3p"), 39),
    "example 3, main chain": (_main_chain, 36),
    "example 3, four-bar that is no parallelogram": (_no_parallelogram, 47),
    "example 3, no gravity, tree": (lambda: _tree(gravity=NO_GRAVITY), 50),
    "example 3, no gravity": (lambda: samples.six_joint_parallelogram_arm(gravity=NO_GRAVITY), 39),
    "example 3, no gravity, a2 = 0, tree": (lambda: _tree(a2=0.0, gravity=NO_GRAVITY), 46),
    "example 3, no gravity, a2 = 0": (lambda: samples.six_joint_parallelogram_arm(a2=0.0, gravity=NO_GRAVITY), 35),
    "example 1, horizontal, tree": (lambda: _open(samples.two_joint_parallelogram()), 8),
    "example 1, horizontal": (samples.two_joint_parallelogram, 4),
    "example 1, vertical, tree": (lambda: _open(samples.two_joint_parallelogram(vertical=True)), 12),
    "example 1, vertical": (lambda: samples.two_joint_parallelogram(vertical=True), 8),
    "five-bar, vertical": (samples.five_bar, 11),
    "five-bar, horizontal": (lambda: setsu.with_gravity(samples.five_bar(), ACROSS), 7),
    "four-bar, vertical": (samples.four_bar, 8),
    "four-bar, horizontal": (lambda: setsu.with_gravity(samples.four_bar(), ACROSS), 4),
    "slider-crank, vertical": (samples.slider_crank, 6),
    "slider-crank, horizontal": (lambda: setsu.with_gravity(samples.slider_crank(), ACROSS), 4),
}


SLOW = {"example 3, four-bar that is no parallelogram"}


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.slow] * (case in SLOW)) for case in COUNTS])
def test_count(case: str) -> None:
    make, count = COUNTS[case]
    m = make()
    exact = setsu.minimum_parameters(m)
    assert exact.count == count
    assert exact.torque_error() <= 1e-12
    roots = {"five-bar", "four-bar", "slider-crank", "example 3, four-bar that is no parallelogram"}
    linear = case not in roots and case.split(",")[0] not in roots
    assert exact.method == ("identity" if linear else "field")
    numeric = setsu.minimum_parameters(m, exact=False)
    assert numeric.count == count
    assert numeric.torque_error() <= 1e-12
    np.testing.assert_array_equal(exact.independent, numeric.independent)
    np.testing.assert_allclose(exact.matrix, numeric.matrix, atol=1e-9)


@pytest.mark.parametrize(("gravity", "count"), [((0.0, 0.0, -9.81), 11), (ACROSS, 7)])
def test_crossed_branch_of_the_parallelogram_has_more(gravity: tuple[float, float, float], count: int) -> None:
    arm, q = _crossed(gravity)
    for exact, method in ((True, "field"), (False, "numeric")):
        p = setsu.minimum_parameters(arm, q=q, exact=exact)
        assert (p.count, p.method) == (count, method)
        assert p.torque_error() <= 1e-12
