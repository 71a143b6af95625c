"""Spatial loops without a formula: the count is the rank of an independent high-precision computation, or a refusal."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from unit.minimum_parameters.spatial_loops import (
    FAMILIES,
    Outcome,
    faults_of_the_study,
    random_linkage,
    run_study,
    study,
    write_study,
)

import setsu

samples = setsu.sample_mechanisms


@pytest.mark.thin(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_count_is_the_high_precision_rank(family: str) -> None:
    assert faults_of_the_study([study(family, seed=0)]) == []


@pytest.mark.nightly
def test_study_of_200_loops() -> None:
    """No silent failure; at most 5 % refused, none of the families that close for any geometry."""
    outcomes: list[Outcome] = []
    # The table grows as it goes: a study that is cut short leaves its part behind.
    for outcome in run_study(200):
        outcomes.append(outcome)
        write_study(outcomes)
    assert len(outcomes) == 200
    assert faults_of_the_study(outcomes) == []


def test_study_sees_faults() -> None:
    """A wrong count, a torque error, a refusal without a reason, and too many refusals each count."""
    right = Outcome("7R", 0, 29, 29, 1e-15, "extended", 1.0)
    refused = dataclasses.replace(right, count=None, method="refused", reason="no gap")
    assert faults_of_the_study([right] * 19 + [refused]) == []
    for wrong in (
        dataclasses.replace(right, count=28),
        dataclasses.replace(right, torque_error=1e-8),
        dataclasses.replace(right, torque_error=float("nan")),
        dataclasses.replace(refused, reason=""),
        dataclasses.replace(refused, family="RSCR"),
    ):
        assert len(faults_of_the_study([right] * 19 + [wrong])) == 1
    assert len(faults_of_the_study([right] * 18 + [refused] * 2)) == 1


def test_jansen_leg_is_solved_exactly() -> None:
    for exact, method in ((True, "field"), (False, "numeric")):
        p = setsu.minimum_parameters(samples.jansen_leg(), exact=exact)
        assert (p.count, p.method) == (18, method)
        assert p.torque_error() < 1e-11  # not rounding: the promise; the analysis itself refuses above rounding


def test_orthogonal_bricard_linkage() -> None:
    """Six hinges that move because all sides are equal and all twists right angles, with alternating sign."""
    builder = setsu.MechanismBuilder("Bricard")
    parent, n = "world", 6
    half = np.pi / 2
    sides = [_dh(0.0, 0.4, half if k % 2 == 0 else -half) for k in range(n)]
    # In the symmetric position all angles are 120 degrees: cos θ1 cos θ2 + cos θ1 + cos θ2 = 0 has other ones as well.
    first = 1.2
    second = float(np.arccos(-np.cos(first) / (1.0 + np.cos(first))))
    turns = [_dh(first if k % 2 == 0 else second, 0.0, 0.0) for k in range(n)]
    placements = [sides[k - 1] @ turns[k] for k in range(n)]
    for k in range(n - 1):
        joint = setsu.Revolute((0, 0, 1), f"j{k}")
        builder.add_body(f"b{k}", parent, joint, placements[k], mass=1.0, inertia=np.eye(3))
        parent = f"b{k}"
    builder.add_loop("closure", parent, "world", setsu.Revolute((0, 0, 1)), placements[-1], np.eye(4))
    m = builder.build()
    assert np.abs(setsu.loop_error(m, m.neutral())).max() < 1e-12
    p = setsu.minimum_parameters(m, q=m.neutral())
    assert p.torque_error(seed=4) < 1e-11
    assert p.count == setsu.minimum_parameters(m, q=m.neutral(), exact=False).count


def _dh(theta: float, side: float, twist: float) -> np.ndarray:
    c, s, C, S = np.cos(theta), np.sin(theta), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * C, s * S, side * c], [s, c * C, -c * S, side * s], [0, S, C, 0], [0, 0, 0, 1.0]])


def test_geometry_that_closes_only_nearly_is_refused() -> None:
    """A Bennett linkage with lengths rounded to seven digits is no linkage at all: no count, but a reason."""
    m = random_linkage("Bennett", 0).mechanism()
    bodies = tuple(
        dataclasses.replace(
            body,
            pose=dataclasses.replace(body.pose, translation=tuple(float(f"{x:.7g}") for x in body.pose.translation)),
        )
        for body in m.bodies
    )
    rounded = dataclasses.replace(m, bodies=bodies)
    with pytest.raises((setsu.InputError, setsu.ClosingError)):
        setsu.minimum_parameters(rounded, q=m.neutral())


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e4, 1e6])
def test_count_does_not_depend_on_the_unit_of_length(scale: float) -> None:
    """Lengths in micrometres or in megametres: the same robot, exactly and numerically, and no warning."""
    a, alpha, d = (0.4, 0.3, 0.2), (0.0, 0.7, -1.1), (0.1, 0.2, 0.3)
    small = setsu.from_dh([(t, scale * x, 0.0, scale * y) for t, x, y in zip(alpha, a, d, strict=True)])
    plain = setsu.from_dh([(t, x, 0.0, y) for t, x, y in zip(alpha, a, d, strict=True)])
    expected = setsu.minimum_parameters(plain).count
    for exact in (True, False):
        p = setsu.minimum_parameters(small, exact=exact)
        assert p.count == expected
        assert p.torque_error() < 1e-11  # not rounding: the promise; the analysis itself refuses above rounding


def test_rounded_angles_are_reported() -> None:
    """A SCARA written with 3.1416 has 14 parameters instead of 8: a warning says why."""
    arm = samples.scara()
    turned = dataclasses.replace(
        arm,
        bodies=tuple(
            dataclasses.replace(body, pose=dataclasses.replace(body.pose, rotation=_rounded_turn(body.pose)))
            if k == 1
            else body
            for k, body in enumerate(arm.bodies)
        ),
    )
    with pytest.warns(setsu.ModelWarning, match="off a right angle"):
        assert setsu.minimum_parameters(turned).count > 8


def _rounded_turn(pose: Any) -> tuple[float, ...]:
    R = np.array(pose.matrix, dtype=float)[:3, :3] @ np.asarray(setsu.placement(rpy=(3.1416 - np.pi, 0.0, 0.0)))[:3, :3]
    return tuple(R.ravel().tolist())


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("tilt", [1e-7, 1e-4])
def test_a_planar_loop_whose_axis_is_tilted_is_refused(tilt: float, given: bool) -> None:
    """Taken as written it cannot move, and no torque depends on anything: never a traceback, never a count."""
    b = setsu.MechanismBuilder("tilted")
    y = (0, 1, 0)
    b.add_body("crank", joint=setsu.Revolute(y, "crank"), mass=1.0)
    b.add_body("coupler", "crank", setsu.Revolute((tilt, 1, 0), "elbow"), setsu.placement((0.3, 0, 0.2)), mass=1.0)
    b.add_body("rocker", "world", setsu.Revolute(y, "rocker"), setsu.placement((0.9, 0, 0)), mass=1.0)
    b.add_loop(
        "pin", "coupler", "rocker", setsu.Revolute(y), setsu.placement((0.8, 0, 0)), setsu.placement((0.7, 0, 0))
    )
    m = b.build()
    with pytest.raises(setsu.InputError):
        setsu.minimum_parameters(m, q=setsu.close_loops(m) if given else None)


def test_loops_that_leave_no_motion_are_named() -> None:
    m = setsu.sample_mechanisms.four_bar()
    coupled = dataclasses.replace(m, couplings=(*m.couplings, setsu.Coupling("held", (("crank", 1.0),))))
    with pytest.raises(setsu.InputError, match="leave it no motion"):
        setsu.minimum_parameters(coupled)
