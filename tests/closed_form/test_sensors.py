"""Sensors of runs: an inertial unit at a frame, the wrench of contacts on a body, the centre of pressure."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

G = 9.81


def test_an_imu_at_rest_falling_and_swinging() -> None:
    """At rest it shows the support, in fall nothing, on a pendulum l ω² along the rod and gravity across it."""
    b = setsu.MechanismBuilder("pendulum")
    rod = setsu.Revolute((0, 1, 0), name="hinge")
    b.add_body("rod", joint=rod, mass=1.0, center_of_mass=(0, 0, -1.0), inertia=1e-9 * np.eye(3))
    b.add_body("chip", parent="rod", joint=setsu.Fixed(name="glue"), placement=setsu.placement((0, 0, -1.0)))
    m = b.build()
    rec = setsu.simulate(m, [0.4], [0.0], 1.0, 1e-3)
    shown, angle, rate = rec.imu("chip"), rec.q[:, 0], rec.v[:, 0]
    np.testing.assert_allclose(shown[:, 2], rate**2 + G * np.cos(angle), rtol=1e-6)  # along the rod
    np.testing.assert_allclose(shown[:, [0, 1]], 0.0, atol=1e-6)  # a free pendulum feels nothing across
    np.testing.assert_allclose(shown[:, 4], rate, atol=1e-12)
    ball = setsu.sample_mechanisms.floating_box()
    rec = setsu.simulate(ball, ball.neutral(), np.zeros(6), 0.1, 1e-3)
    np.testing.assert_allclose(rec.imu(ball.body_names[0])[:, :3], 0.0, atol=1e-9)


def _box(height: float) -> tuple[setsu.Mechanism, np.ndarray]:
    b = setsu.MechanismBuilder("box")
    shape = setsu.Shape("box", (0.2, 0.2, 0.2))
    b.add_body("box", joint=setsu.Free(name="free"), mass=2.0, inertia=0.02 * np.eye(3), collisions=[shape])
    m = b.build()
    q = m.neutral()
    q[2] = height
    return m, q


@pytest.mark.parametrize("count", [None, 2])
def test_a_box_at_rest_and_pushed(count: int | None) -> None:
    """Contacts carry the weight; a push at height h moves the centre of pressure by h F / (m g)."""
    m, q = _box(0.1)
    sim = setsu.Simulator(m, 1e-3, environment=setsu.Environment.floor(), count=count)
    sim.reset(q if count is None else np.tile(q, (count, 1)), np.zeros(m.nv if count is None else (count, m.nv)))
    for _ in range(50):
        sim.step()
    for shown in np.atleast_2d(sim.imu("box")):
        np.testing.assert_allclose(shown, [0, 0, G, 0, 0, 0], atol=1e-6)
    for wrench in np.atleast_2d(sim.contact_wrench("box")):
        np.testing.assert_allclose(wrench, [0, 0, 2.0 * G, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(np.atleast_2d(sim.center_of_pressure())[:, :2], 0.0, atol=1e-6)
    rec = setsu.simulate(m, q, np.zeros(m.nv), 0.1, 1e-3, [3.0, 0, 0, 0, 0, 0], environment=setsu.Environment.floor())
    np.testing.assert_allclose(rec.contact_wrench("box")[50], [-3, 0, 2.0 * G, 0, 0, 0], atol=1e-5)
    assert rec.center_of_pressure()[50, 0] == pytest.approx(0.1 * 3.0 / (2.0 * G), abs=1e-6)


def test_unknown_names_and_runs_without_ground_are_refused() -> None:
    m, q = _box(1.0)
    rec = setsu.simulate(m, q, np.zeros(6), 0.01, 1e-3)
    with pytest.raises(setsu.InputError, match="expected a recording of a run with an environment"):
        rec.contact_wrench("box")
    rec = setsu.simulate(m, q, np.zeros(6), 0.01, 1e-3, environment=setsu.Environment.floor())
    with pytest.raises(setsu.InputError, match="unknown body 'bax'"):
        rec.contact_wrench("bax")
    with pytest.raises(setsu.InputError, match="bax"):
        rec.imu("bax")
