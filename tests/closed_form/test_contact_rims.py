"""Balls at the rims of polygons: they roll over seams as over a plane, and around the edge of a step."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

G, R = 9.81, 0.05


def _ball(friction: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("ball")
    b.add_body("ball", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.4 * R * R)
    return b.add_contact_points("ball", (0.0, 0.0, 0.0), setsu.Material(friction, friction), radius=R).build()


def _tile(x0: float, x1: float, z: float = 0.0) -> setsu.Polygon:
    return setsu.Polygon([(x0, -1, z), (x1, -1, z), (x1, 1, z), (x0, 1, z)], f"tile at {x0:g}")


def test_a_ball_rolls_over_seams_as_over_a_plane() -> None:
    # As far as the millionth by which contacts yield allows: two faces share the load for an instant at each seam.
    tiles = setsu.Environment([_tile(0.1 * k - 0.5, 0.1 * (k + 1) - 0.5) for k in range(20)])
    over_tiles, over_plane = (
        setsu.simulate(_ball(0.5), [-0.4, 0, R, 0, 0, 0, 1], [1.0, 0, 0, 0, 1.0 / R, 0], 1.0, 1e-3, environment=ground)
        for ground in (tiles, setsu.Environment.floor())
    )
    assert np.abs(over_tiles.q - over_plane.q).max() < 1e-6
    assert over_plane.q[-1, 0] > 0.59


@pytest.mark.parametrize("h", [1e-3, 2.5e-4])
def test_a_ball_rolls_around_an_edge_and_leaves_it_at_ten_seventeenths(h: float) -> None:
    # It turns about the edge: 7/10 v² = 7/10 v0² + g r (1 - cos θ), and leaves it when g cos θ = v²/r:
    # cos θ = (10 + 7 v0²/(g r)) / 17.
    v0 = 0.1
    step = setsu.Environment(
        [_tile(-1.0, 0.0), setsu.Polygon([(0, -1, -1), (0, 1, -1), (0, 1, 0), (0, -1, 0)], "riser")]
    )
    run = setsu.simulate(_ball(20.0), [0, 0, R, 0, 0, 0, 1], [v0, 0, 0, 0, v0 / R, 0], 0.5, h, environment=step)
    leaving = next(event for event in run.events if event.kind == "lift-off")
    row = round(leaving.time / h)
    distance = np.hypot(run.q[: row + 1, 0], run.q[: row + 1, 2])
    assert np.abs(distance - R).max() < 1e-5
    angle = np.arctan2(run.q[row, 0], run.q[row, 2])
    exact = np.arccos((10.0 + 7.0 * v0**2 / (G * R)) / 17.0)
    assert angle == pytest.approx(exact, abs=20.0 * h)
    assert run.contact_log is not None
    assert run.contact_log.depth.max() < 1e-5


def test_a_ball_dropped_beside_an_edge_is_thrown_aside_and_never_gets_in() -> None:
    # Without friction the edge pushes along the line to the center: no spin arises, and no energy.
    step = setsu.Environment.box((1.0, 1.0, 1.0), (-0.5, 0.0, -0.5))
    run = setsu.simulate(_ball(0.0), [0.6 * R, 0, 0.3, 0, 0, 0, 1], np.zeros(6), 0.6, 1e-3, environment=step)
    assert run.q[-1, 0] > 0.1
    outside = np.maximum(run.q[:, [0, 2]], 0.0)
    assert (np.hypot(*outside.T)[(run.q[:, 2] > 0.0)] > R - 1e-5).all()
    assert np.abs(run.v[:, 3:]).max() < 1e-9
    assert np.diff(run.energy).max() < 1e-9
    assert run.normal_force.max() > 0.0
