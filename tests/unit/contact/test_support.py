"""Center of pressure, support polygon and margin of recordings against statics."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

G = 9.81


@pytest.mark.parametrize("angle", [0.0, 0.1, 0.3])
def test_a_box_on_a_slope_presses_where_its_weight_meets_the_slope(angle: float) -> None:
    # The line of the weight through the center, c above the slope, meets it c tan(angle) down the slope.
    a, b, c = 0.2, 0.1, 0.05
    m = setsu.sample_mechanisms.floating_box((2 * a, 2 * b, 2 * c), 1.0, setsu.Material(0.8, 0.8))
    slope = setsu.Environment.slope(angle)
    (plane,) = slope.polygons
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    q = [*(c * plane.normal), 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)]
    run = setsu.simulate(m, q, np.zeros(6), 0.1, 1e-3, environment=slope)
    center = run.center_of_pressure(plane)
    assert np.abs(center[5:] - c * np.tan(angle) * down).max() < 1e-6
    corners = run.support_polygon(-1, plane)
    expected = np.array([x * down + [0, y, 0] for x, y in ((-a, -b), (a, -b), (a, b), (-a, b))])
    assert corners == pytest.approx(expected, abs=1e-6)
    assert run.support_margin(plane)[-1] == pytest.approx(min(b, a - c * np.tan(angle)), abs=1e-6)


def test_a_standing_biped_presses_below_its_center_of_mass() -> None:
    # Statics: without accelerations the zero-moment point is the center of mass, seen from above.
    from setsu.control.humanoid import Biped, standing_posture

    m = setsu.sample_mechanisms.hoap1_like()
    q = standing_posture(Biped(m))
    run = setsu.simulate(
        m, q, np.zeros(m.nv), 2.0, 1e-3,
        torque=setsu.JointServo(300.0, 4.0, q), environment=setsu.Environment.floor(),
    )  # fmt: skip
    com = setsu.center_of_mass(m, run.q[-1])
    assert run.center_of_pressure()[-1, :2] == pytest.approx(com[:2], abs=1e-7)
    # Both soles: the hull of their eight corners, and the margin the distance to its nearest edge.
    assert run.contact_log is not None
    soles = run.contact_log.position[-1, run.normal_force[-1] > 0.0]
    corners = run.support_polygon()
    assert corners[:, :2].min(axis=0) == pytest.approx(soles[:, :2].min(axis=0), abs=1e-8)
    assert corners[:, :2].max(axis=0) == pytest.approx(soles[:, :2].max(axis=0), abs=1e-8)
    edges = np.concatenate([com[:2] - corners[:, :2].min(axis=0), corners[:, :2].max(axis=0) - com[:2]])
    assert run.support_margin()[-1] == pytest.approx(edges.min(), abs=1e-6)


def test_a_pushed_box_presses_at_its_edge_before_it_tips() -> None:
    # Force F at height z on a box of half length a: p = F z / (m g) towards the far edge, at F = m g a / z on it.
    m = setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.2), 1.0, setsu.Material(1.0, 1.0))
    for part in (0.3, 0.9):
        force = part * G * 0.1 / 0.1  # at the center, 0.1 m high: F z = m g p
        run = setsu.simulate(
            m, [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), 0.05, 1e-3,
            torque=[force, 0, 0, 0, 0, 0], environment=setsu.Environment.floor(),
        )  # fmt: skip
        assert run.center_of_pressure()[-1, 0] == pytest.approx(part * 0.1, abs=1e-5)
        assert run.support_margin()[-1] == pytest.approx((1.0 - part) * 0.1, abs=1e-5)


def test_nothing_presses_in_the_air_and_other_runs_have_no_ground() -> None:
    m = setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.2), 1.0)
    run = setsu.simulate(m, [0, 0, 1, 0, 0, 0, 1], np.zeros(6), 0.01, 1e-3, environment=setsu.Environment.floor())
    assert np.isnan(run.center_of_pressure()).all()
    assert np.isnan(run.support_margin()).all()
    assert run.support_polygon().shape == (0, 3)
    free = setsu.simulate(m, [0, 0, 1, 0, 0, 0, 1], np.zeros(6), 0.01, 1e-3)
    with pytest.raises(setsu.InputError, match="support_margin: expected a recording of a run with an environment"):
        free.support_margin()
    with pytest.raises(setsu.InputError, match="plane: expected a Polygon, got 'floor'"):
        run.center_of_pressure("floor")  # type: ignore[arg-type]
