"""Bodies with hundreds of contact points: detection in groups misses none, and recordings keep what touches."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import setsu

G = 9.81
STEPS = setsu.Environment.floor() + setsu.Environment.box((0.3, 0.3, 0.1), (0.25, 0.0, 0.05))


def _stone(n: int) -> setsu.Mechanism:
    """A round stone: n points on an ellipsoid."""
    arms = np.random.default_rng(5).normal(size=(n, 3))
    points = np.array([0.12, 0.08, 0.06]) * arms / np.linalg.norm(arms, axis=1)[:, None]
    b = setsu.MechanismBuilder("stone")
    b.add_body("stone", joint=setsu.Free(name="free"), mass=2.0, inertia=np.diag([4e-3, 7e-3, 8e-3]))
    return b.add_contact_points("stone", points, setsu.Material(0.6, 0.5)).build()


@pytest.fixture(scope="module")
def tumbling() -> setsu.Recording:
    start = [0, 0.01, 0.25, 0.1, 0.2, 0, 1]
    return setsu.simulate(_stone(600), start, [0.8, 0, 0, 1, 4, 2], 1.0, 1e-3, environment=STEPS)


def test_no_point_gets_into_floor_or_step(tumbling: setsu.Recording) -> None:
    assert tumbling.contact_log is not None
    place = tumbling.contact_log.position
    assert place.shape == (1001, 600, 3)
    assert place[:, :, 2].min() > -1e-6
    in_step = (np.abs(place[:, :, 0] - 0.25) < 0.15 - 1e-5) & (np.abs(place[:, :, 1]) < 0.15 - 1e-5)
    assert place[:, :, 2][in_step].min() > 0.1 - 1e-5
    assert in_step.any()


def test_recorded_forces_are_those_that_move_the_stone(tumbling: setsu.Recording) -> None:
    # m (dv/dt + ω x v) = R^T (Σ f + m g) in every row.
    R = setsu.body_poses(_stone(600), tumbling.q)[:, 0, :3, :3]
    rate = tumbling.acceleration[:, :3] + np.cross(tumbling.v[:, 3:], tumbling.v[:, :3])
    force = tumbling.contact_force.sum(axis=1) - [0.0, 0.0, 2.0 * G]
    assert np.abs(2.0 * np.einsum("tij,tj->ti", R, rate) - force).max() < 1e-9 * 2.0 * G
    pressing = tumbling.normal_force > 0.0
    assert np.array_equal(pressing, np.abs(tumbling.contact_force).max(axis=2) > 0.0)
    assert np.abs(tumbling.friction_force).max() > 0.0
    again = pickle.loads(pickle.dumps(tumbling))
    assert np.array_equal(again.contact_force, tumbling.contact_force)
    assert np.array_equal(again.contact_log.position, tumbling.contact_log.position)  # type: ignore[union-attr]


def test_every_corner_of_a_meshs_hull_is_a_contact_point(tmp_path: Path) -> None:
    # 500 points on a sphere are all corners of their hull; mesh_points takes fewer of them.
    arms = np.random.default_rng(1).normal(size=(500, 3))
    points = 0.1 * arms / np.linalg.norm(arms, axis=1)[:, None]
    faces = [(points[k], points[(k + 1) % 500], points[(k + 2) % 500]) for k in range(500)]
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *p, *q, *r, 0) for p, q, r in faces)
    (tmp_path / "ball.stl").write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows)
    (tmp_path / "ball.urdf").write_text(
        '<robot name="ball"><link name="ball"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><mesh filename="ball.stl"/></geometry></collision></link></robot>'
    )
    m = setsu.load(tmp_path / "ball.urdf", floating_base=True, contact_points=True)
    assert len(m.contact_points) == 500
    bare = setsu.load(tmp_path / "ball.urdf", floating_base=True)
    assert len(setsu.with_contact_points(bare, mesh_points=16).contact_points) == 16
