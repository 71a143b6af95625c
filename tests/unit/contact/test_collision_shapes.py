"""Contact points from collision shapes lie on the shapes; bodies touch through them as through points."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import setsu

SHAPES = {
    "box": (setsu.Shape("box", (0.2, 0.4, 0.6)), 8, 0.0),
    "sphere": (setsu.Shape("sphere", (0.1,)), 1, 0.1),
    "capsule": (setsu.Shape("capsule", (0.1, 0.4)), 2, 0.1),
    "cylinder": (setsu.Shape("cylinder", (0.1, 0.4)), 16, 0.0),
}


def _body(shape: setsu.Shape) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("one")
    b.add_body("one", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01, collisions=[shape])
    return b.build()


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_give_their_corners_rims_and_balls(kind: str) -> None:
    shape, count, radius = SHAPES[kind]
    m = setsu.with_contact_points(_body(shape))
    points = np.array([p.position for p in m.contact_points])
    assert len(points) == count
    assert {p.radius for p in m.contact_points} == {radius}
    if kind == "cylinder":
        np.testing.assert_allclose(np.hypot(points[:, 0], points[:, 1]), 0.1)
    if kind == "box":
        np.testing.assert_allclose(np.abs(points), np.tile([0.1, 0.2, 0.3], (8, 1)))


def test_a_mesh_in_a_model_file_gives_the_corners_of_its_hull(tmp_path: Path) -> None:
    # A tetrahedron with one vertex inside it, in a binary STL file: four corners are left.
    a, b, c, d, inside = (0, 0, 0), (0.2, 0, 0), (0, 0.3, 0), (0, 0, 0.4), (0.04, 0.05, 0.06)
    faces = [(a, c, b), (a, b, d), (a, d, c), (b, c, inside), (c, d, inside), (d, b, inside)]
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *p, *q, *r, 0) for p, q, r in faces)
    (tmp_path / "piece.stl").write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows)
    (tmp_path / "piece.urdf").write_text(
        '<robot name="piece"><link name="piece"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><origin xyz="0 0 1"/><geometry><mesh filename="piece.stl"/></geometry></collision></link></robot>'
    )
    m = setsu.with_contact_points(setsu.load(tmp_path / "piece.urdf", floating_base=True))
    points = sorted(p.position for p in m.contact_points)
    expected = sorted((x, y, z + 1.0) for x, y, z in (a, b, c, d))
    np.testing.assert_allclose(points, expected, atol=1e-6)


def test_a_ball_rests_on_a_box_that_rests_on_the_floor() -> None:
    # Forces between bodies are not among the points', but the floor carries both.
    b = setsu.MechanismBuilder("pair")
    for name, shape, size in (
        ("box", setsu.Shape("box", (0.2, 0.2, 0.1)), 0.01),
        ("ball", setsu.Shape("sphere", (0.05,)), 0.001),
    ):
        b.add_body(name, joint=setsu.Free(name=f"free {name}"), mass=1.0, inertia=np.eye(3) * size, collisions=[shape])
    m = setsu.with_contact_points(b.build(), ["box"])
    q = [0, 0, 0.05, 0, 0, 0, 1, 0, 0, 0.151, 0, 0, 0, 1]
    floor = setsu.Environment.floor()
    run = setsu.simulate(m, q, np.zeros(12), 0.1, 1e-3, environment=floor, body_contacts=True)
    assert run.q[-1, 9] == pytest.approx(0.15, abs=1e-5)
    assert run.contact_force[-1, :, 2].sum() == pytest.approx(2 * 9.81, rel=1e-5)


def test_unknown_bodies_are_refused_by_name() -> None:
    with pytest.raises(setsu.InputError, match="wheel"):
        setsu.with_contact_points(_body(SHAPES["box"][0]), ["wheel"])
