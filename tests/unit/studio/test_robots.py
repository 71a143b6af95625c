"""Robots as their files bring them: meshes by relative paths, too many triangles, bases that float, units of plots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import setsu
from setsu.studio import geometry
from setsu.studio.force_arrows import ForceArrows
from setsu.studio.geometry import Look, is_floating, look_of, lowest_point, size_of, standing
from setsu.studio.recorded_plots import plots_of
from setsu.studio.uploads import MOST_CONTACT_POINTS, OUTWARD, open_file

MJCF = """<mujoco><compiler meshdir="assets"/><asset><mesh name="part" file="part.stl"/></asset><worldbody>
<body name="arm"><joint name="j" axis="0 1 0"/><geom type="mesh" mesh="part" mass="1"/></body></worldbody></mujoco>"""
URDF = """<robot name="hopper"><link name="trunk"><inertial><mass value="2"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size=".4 .2 .1"/></geometry></visual></link><link name="leg"><inertial><mass value=".5"/>
<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -.2"/><geometry><box size=".04 .04 .4"/></geometry></collision></link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="30" velocity="9"/></joint></robot>"""


@pytest.fixture
def mjcf_folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    trimesh.creation.icosphere(subdivisions=4, radius=0.1).export(tmp_path / "assets" / "part.stl")
    (tmp_path / "robot.xml").write_text(MJCF)
    return tmp_path


@pytest.mark.parametrize("path", ["robot.xml", "./robot.xml", "../{folder}/robot.xml"])
def test_mjcf_by_a_relative_path_keeps_its_meshes(
    mjcf_folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mjcf_folder)
    opened = open_file(Path(path.format(folder=mjcf_folder.name)))
    look = look_of(opened.mechanism, opened.mesh_folders)
    assert not look.remarks
    assert len(look.meshes[0].faces) == 5120


def test_too_many_triangles_are_simplified_and_keep_the_form(
    mjcf_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geometry, "MOST_TRIANGLES", 1000)
    opened = open_file(mjcf_folder / "robot.xml")
    look = look_of(opened.mechanism, opened.mesh_folders)
    (mesh,) = look.meshes
    assert 200 <= len(mesh.faces) <= 1000
    assert f"shown with {len(mesh.faces)} of 5120 triangles" in look.remarks[0]
    # Still the ball of 0.1 m: every vertex is on it, and the volume is that of the ball, less what chords cut off.
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices, axis=1), 0.1, atol=2e-3)  # not rounding: chords
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    assert abs(solid.volume) == pytest.approx(4.0 / 3.0 * np.pi * 1e-3, rel=0.02)


def test_a_floating_robot_stands_on_its_feet(tmp_path: Path) -> None:
    path = tmp_path / "hopper.urdf"
    path.write_text(URDF)
    fixed, floating = open_file(path), open_file(path, floating_base=True)
    assert not is_floating(fixed.mechanism)
    assert not fixed.mechanism.contact_points
    m = floating.mechanism
    assert is_floating(m)
    look = look_of(m)
    q = standing(m, look, m.neutral())
    assert q[2] == pytest.approx(0.4, abs=1e-9)  # the leg is 0.4 m long
    assert lowest_point(m, look, q) == pytest.approx(0.0, abs=1e-12)
    # It can touch the ground, and carries its weight there.
    assert m.contact_points
    run = setsu.simulate(m, q, np.zeros(m.nv), 0.02, 1e-3, environment=setsu.Environment.floor())
    assert run.q[-1, 2] == pytest.approx(0.4, abs=1e-3)
    assert run.contact_force[-1, :, 2].sum() == pytest.approx(2.5 * 9.81, rel=0.05)


def test_a_turned_root_is_lifted_along_the_vertical() -> None:
    builder = setsu.MechanismBuilder("turned")
    turned = setsu.placement((0.0, 0.0, 0.3), rpy=(0.5, 0.8, 0.1))
    builder.add_body("box", "world", setsu.Free(name="free"), turned, mass=1.0, inertia=np.diag([0.1, 0.1, 0.1]))
    m = builder.build()
    look = look_of(m)
    q = standing(m, look, m.random_configuration(3))
    assert lowest_point(m, look, q) == pytest.approx(0.0, abs=1e-12)


def test_a_robot_far_away_is_looked_at_and_not_the_origin() -> None:
    box = setsu.sample_mechanisms.floating_box()
    q = box.neutral()
    q[:3] = (50.0, -20.0, 3.0)
    center, radius = size_of(box, q)
    near = size_of(box)[1]
    assert radius == pytest.approx(near, rel=1e-6)
    np.testing.assert_allclose(center, q[:3], atol=near)  # not rounding: inside the box


def test_many_contact_points_are_thinned_to_the_outermost(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    trimesh.creation.icosphere(subdivisions=4, radius=0.1).export(tmp_path / "assets" / "part.stl")
    path = tmp_path / "ball.xml"
    path.write_text(MJCF.replace('<joint name="j" axis="0 1 0"/>', "<freejoint/>"))
    opened = open_file(path)
    points = np.array([point.position for point in opened.mechanism.contact_points])
    if len(points):
        assert len(points) <= max(MOST_CONTACT_POINTS, OUTWARD)
        assert points[:, 2].min() < -0.09


def test_angles_and_lengths_have_plots_of_their_own() -> None:
    """Every curve is in one plot, whose unit is that of its joint."""
    boom = setsu.sample_mechanisms.slider_crank()
    q = setsu.close_loops(boom, boom.reference_configuration())
    run = setsu.simulate(boom, q, np.zeros(boom.nv), 0.02, 1e-3)
    plots = plots_of(boom, run)["Motion"]
    units = {(plot.title, plot.unit) for plot in plots}
    assert not [unit for _, unit in units if " or " in unit]
    kinds = {type(body.joint).__name__ for body in boom.moving}
    assert {"Revolute", "Prismatic"} <= kinds
    assert {("Joint coordinates", "rad"), ("Joint coordinates", "m"), ("Actuator torques", "N")} <= units
    for title, count in (("Joint coordinates", boom.nq), ("Joint velocities", boom.nv)):
        assert sum(len(plot.curves) for plot in plots if plot.title == title) == count
    box = setsu.sample_mechanisms.floating_box()
    run = setsu.simulate(box, box.neutral(), np.ones(6), 0.02, 1e-3)
    shown = {plot.unit: len(plot.curves) for plot in plots_of(box, run)["Motion"] if plot.title == "Joint coordinates"}
    assert shown == {"m": 3, "-": 4}


class _Drawn:
    """Stands for viser's scene: keeps what it is given."""

    def __init__(self) -> None:
        self.visible, self.points, self.colors, self.text, self.position = True, None, None, "", None

    def add_arrows(self, *_: object, **__: object) -> _Drawn:
        return _Drawn()

    def add_label(self, *_: object, **__: object) -> _Drawn:
        return _Drawn()


LAYERS = {"forces": True, "moments": True, "welds": False, "values": True}


def test_arrows_say_whose_they_are_and_how_large() -> None:
    from setsu.studio.state import moment_at_rest

    arm = setsu.sample_mechanisms.puma560()
    q = arm.random_configuration(1)
    moment = moment_at_rest(arm, q)
    arrows = ForceArrows(_Drawn(), arm, 1.0)
    arrows.frame = "link3"
    arrows.show(moment, LAYERS)
    texts = [arrow.text for arrow in arrows.drawn]
    force = float(np.linalg.norm(moment.joint_wrenches[1, :3]))
    assert f"joint2: force {force:.4g} N" in texts
    assert any(text.startswith("at link3: force") for text in texts)
    newton, _ = arrows.newton_per_metre
    for arrow in arrows.drawn:
        if arrow.text.startswith("joint2: force"):
            assert arrow.length * newton == pytest.approx(force, rel=1e-9)
    # A hundred times as long: all shrink together, and the scale says so.
    arrows.factor = 100.0
    arrows.show(moment, LAYERS)
    newton, _ = arrows.newton_per_metre
    lengths = {arrow.text: arrow.length for arrow in arrows.drawn}
    assert max(lengths.values()) == pytest.approx(geometry_limit(), rel=1e-9)
    assert lengths[f"joint2: force {force:.4g} N"] * newton == pytest.approx(force, rel=1e-9)


def geometry_limit() -> float:
    """The longest arrow, in radii."""
    from setsu.studio.force_arrows import LONGEST

    return LONGEST


def test_equal_arrows_stand_beside_each_other() -> None:
    """Joints that meet in one point carry nearly one force; none of its arrows hides another."""
    from setsu.studio.state import moment_at_rest

    arm = setsu.sample_mechanisms.puma560()
    arrows = ForceArrows(_Drawn(), arm, 1.0)
    arrows.show(moment_at_rest(arm, arm.random_configuration(2)), LAYERS)
    for kind in (": force", ": moment"):
        ends = [(arrow.start, arrow.end) for arrow in arrows.drawn if kind in arrow.text]
        for i, (a, b) in enumerate(ends):
            assert all(np.linalg.norm(a - c) > 0.015 or np.linalg.norm(b - d) > 0.015 for c, d in ends[:i])


def test_a_look_without_meshes_stands_where_it_is() -> None:
    box = setsu.sample_mechanisms.floating_box()
    bare = Look(())
    assert np.isfinite(standing(box, bare, box.neutral())).all()
