"""Contact points from collision shapes lie on the shapes; bodies touch through them as through points."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.mechanism.collision_points import _outstanding

SHAPES = {
    "box": (setsu.Shape("box", (0.2, 0.4, 0.6)), 8, 0.0),
    "sphere": (setsu.Shape("sphere", (0.1,)), 1, 0.1),
    "capsule": (setsu.Shape("capsule", (0.1, 0.4)), 2, 0.1),
}


def _body(shape: setsu.Shape) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("one")
    b.add_body("one", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01, collisions=[shape])
    return b.build()


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_give_their_corners_and_balls(kind: str) -> None:
    shape, count, radius = SHAPES[kind]
    m = setsu.with_contact_points(_body(shape))
    points = np.array([p.position for p in m.contact_points])
    assert len(points) == count
    assert {p.radius for p in m.contact_points} == {radius}
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


BOX_URDF = (
    '<robot name="crate"><link name="crate"><inertial><mass value="2"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link></robot>'
)


def test_a_model_file_lands_on_the_floor_by_its_collision_shapes(tmp_path: Path) -> None:
    # The floor carries the weight, whether points were asked for when loading or not.
    (tmp_path / "crate.urdf").write_text(BOX_URDF)
    for wish in (False, True, setsu.Material(0.4, 0.3)):
        m = setsu.load(tmp_path / "crate.urdf", floating_base=True, contact_points=wish)
        assert len(m.contact_points) == (8 if wish else 0)
        floor = setsu.Environment.floor()
        run = setsu.simulate(m, [0, 0, 0.06, 0, 0, 0, 1], np.zeros(6), 0.1, 1e-3, environment=floor)
        assert run.contact_names == tuple(f"crate {k}" for k in range(8))
        assert run.contact_force[-1, :, 2].sum() == pytest.approx(2 * 9.81, rel=1e-6)
        assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-7)


def test_the_report_of_a_file_tells_where_points_come_from(tmp_path: Path) -> None:
    (tmp_path / "crate.urdf").write_text(BOX_URDF)
    m, report = setsu.load_with_report(
        tmp_path / "crate.urdf", floating_base=True, contact_points=setsu.Material(0.4, 0.3)
    )
    assert "8 contact points from 1 collision shape" in report.notes
    assert m.contact_points[0].material == setsu.Material(0.4, 0.3)
    with pytest.raises(setsu.InputError, match="contact_points: expected True, False or a Material, got 'yes'"):
        setsu.load(tmp_path / "crate.urdf", contact_points="yes")  # type: ignore[arg-type]


def test_without_points_and_shapes_a_warning_says_that_nothing_can_touch() -> None:
    b = setsu.MechanismBuilder("ghost")
    b.add_body("ghost", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3))
    with pytest.warns(setsu.ModelWarning, match=r"ghost has neither contact points nor collision shapes.*add_contact_"):
        setsu.simulate(b.build(), [0, 0, 1, 0, 0, 0, 1], np.zeros(6), 0.01, 1e-3, environment=setsu.Environment.floor())


def test_the_chosen_corners_of_a_fine_mesh_stand_out_in_every_direction() -> None:
    # Corners of a box, rounded by 2000 points on small spheres around them: sixteen points miss no extent by much.
    random = np.random.default_rng(3)
    corners = np.array([0.2, 0.1, 0.05]) * np.sign(random.normal(size=(2000, 3)))
    arms = random.normal(size=(2000, 3))
    points = corners + 0.005 * arms / np.linalg.norm(arms, axis=1)[:, None]
    chosen = _outstanding(points, 16)
    assert len(chosen) == 16
    directions = random.normal(size=(100, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    lost = (points @ directions.T).max(axis=0) - (chosen @ directions.T).max(axis=0)
    assert (lost >= 0.0).all()
    assert lost.max() < 0.005
    assert len(_outstanding(points, None)) == 2000


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
    with pytest.raises(setsu.InputError, match="mesh_points: expected at least 4, got 2"):
        setsu.with_contact_points(_body(SHAPES["box"][0]), mesh_points=2)


def test_cylinders_have_no_points_and_points_are_replaced_not_added() -> None:
    # A cylinder meets the ground as one (setsu.contact).
    assert not setsu.with_contact_points(_body(setsu.Shape("cylinder", (0.1, 0.4)))).contact_points
    once = setsu.with_contact_points(_body(setsu.Shape("box", (0.2, 0.4, 0.6))))
    assert len(setsu.with_contact_points(once, material=setsu.Material(0.9, 0.8)).contact_points) == 8
