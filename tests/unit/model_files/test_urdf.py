"""The URDF reader keeps what the file says: tree, inertias, friction, limits, shapes, mimics, and reports the rest."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from setsu.errors import ModelWarning
from setsu.mechanism import Fixed, Free, Planar, Prismatic, Revolute
from setsu.model_files import load, load_with_report
from setsu.spatial import euler_rotation

DATA = Path(__file__).parents[2] / "data"
ARM = DATA / "two_finger_arm.urdf"
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


@pytest.fixture
def write(tmp_path):
    """Write a robot of the given inner text and return its path."""

    def writer(inner: str, name: str = "robot.urdf") -> Path:
        path = tmp_path / name
        path.write_text(f'<robot name="r">{inner}</robot>', encoding="utf-8")
        return path

    return writer


@pytest.fixture
def arm():
    with pytest.warns(ModelWarning, match="mesh file"):
        return load_with_report(ARM)


def test_tree_and_types(arm):
    mechanism, _ = arm
    assert mechanism.name == "two_finger_arm"
    assert [body.name for body in mechanism.bodies] == ["base", "upper", "fore", "palm", "left_finger", "right_finger"]
    assert [type(body.joint) for body in mechanism.bodies] == [Fixed, Revolute, Revolute, Fixed, Prismatic, Prismatic]
    assert mechanism.bodies[0].joint.name == "world_fixed"
    assert mechanism.joint_names == ("shoulder", "elbow", "left", "right")
    assert mechanism.total_mass == pytest.approx(4 + 2.5 + 1.2 + 0.3 + 0.05 + 0.05)


def test_friction_armature_and_limits_are_used(arm):
    mechanism, _ = arm
    assert mechanism.damping.tolist() == [0.4, 0.0, 0.0, 0.0]
    assert mechanism.coulomb.tolist() == [0.2, 0.0, 0.0, 0.0]
    assert mechanism.armature.tolist() == [0.01, 0.0, 0.0, 0.0]
    assert mechanism.lower.tolist() == [-2.0, -math.inf, 0.0, 0.0]
    assert mechanism.upper.tolist() == [2.5, math.inf, 0.04, 0.05]
    assert mechanism.velocity_limit.tolist() == [3.0, 4.0, 0.2, 0.2]
    assert mechanism.effort_limit.tolist() == [80.0, 40.0, 20.0, 20.0]


def test_axes_are_unit_vectors(arm):
    mechanism, _ = arm
    assert mechanism.bodies[1].joint.axis == (0.0, 0.0, 1.0)
    assert mechanism.bodies[2].joint.axis == pytest.approx((0.6, 0.0, 0.8), abs=1e-15)


def test_inertia_is_turned_into_body_axes(arm):
    """I in link axes = R I R^T with R the rotation of the inertial frame."""
    mechanism, _ = arm
    given = np.array([[0.004, 0.0002, -0.0001], [0.0002, 0.03, 0.0003], [-0.0001, 0.0003, 0.031]])
    R = euler_rotation(0.3, -0.2, 0.1)
    np.testing.assert_allclose(mechanism.bodies[1].inertia_matrix, R @ given @ R.T, atol=1e-17)
    assert mechanism.bodies[1].center_of_mass == (0.2, 0.01, -0.02)


def test_decimals_of_a_right_angle_are_exact_and_others_are_not(arm):
    """1.57079632679 has zeros in its rotation; 1.5708 is what it says: cos(1.5708) = -3.67e-6."""
    mechanism, report = arm
    assert mechanism.bodies[1].pose.rotation == (1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0)
    assert mechanism.bodies[3].pose.rotation[0] == pytest.approx(math.cos(1.5708), rel=1e-12)
    assert any("taken as exact" in note and "line 17" in note for note in report.notes)


def test_mimic_becomes_a_coupling(arm):
    """right = 1.25 left - 0.001, as right - 1.25 left + 0.001 = 0."""
    mechanism, report = arm
    (coupling,) = mechanism.couplings
    assert dict(coupling.factors) == {"right": 1.0, "left": -1.25}
    assert coupling.offset == 0.001
    assert report.couplings == ("right = 1.25 x left -0.001 (mimic)",)


def test_shapes_keep_kind_size_color_and_file_name(arm):
    mechanism, _ = arm
    base, upper = mechanism.bodies[:2]
    assert (base.visuals[0].kind, base.visuals[0].size) == ("cylinder", (0.1, 0.1))
    assert base.visuals[0].color == (0.5, 0.5, 0.6, 1.0)
    assert (base.collisions[0].kind, base.collisions[0].size) == ("box", (0.2, 0.2, 0.1))
    assert (upper.visuals[0].kind, upper.visuals[0].size) == ("capsule", (0.04, 0.3))
    assert upper.visuals[0].pose.rotation == (0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0)
    assert upper.collisions[0].mesh == "package://nowhere/meshes/upper.stl"
    assert upper.collisions[0].size == (0.001, 0.001, 0.001)


def test_everything_ignored_is_listed_once_with_its_line(arm):
    _, report = arm
    listed = {entry.what: (entry.count, entry.line) for entry in report.ignored}
    assert listed == {"joint/safety_controller": (1, 21), "gazebo": (1, 85)}
    assert report.missing_meshes == ("package://nowhere/meshes/upper.stl",)
    assert "gazebo: 1 time, first in line 85" in str(report)


def test_floating_base_puts_a_free_joint_above_the_root():
    with pytest.warns(ModelWarning):
        mechanism = load(ARM, floating_base=True)
    assert isinstance(mechanism.bodies[0].joint, Free)
    assert mechanism.joint_names[0] == "root_joint"
    assert (mechanism.nq, mechanism.nv) == (11, 10)


def test_gravity_is_an_argument():
    with pytest.warns(ModelWarning):
        assert load(ARM, gravity=(0, 0, -1.62)).gravity == (0.0, 0.0, -1.62)


def test_floating_and_planar_joints(write):
    mechanism = load(
        write(
            f'<link name="a">{BODY}</link><link name="b">{BODY}</link><link name="c">{BODY}</link>'
            '<joint name="f" type="floating"><parent link="a"/><child link="b"/></joint>'
            '<joint name="p" type="planar"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint>'
        )
    )
    assert [type(body.joint) for body in mechanism.moving] == [Free, Planar]
    assert mechanism.moving[1].joint.axis == (0.0, 1.0, 0.0)


def test_children_come_depth_first_in_document_order(write):
    links = "".join(f'<link name="{name}"/>' for name in "rabcd")
    joint = '<joint name="{0}{1}" type="fixed"><parent link="{0}"/><child link="{1}"/></joint>'
    text = links + "".join(joint.format(*pair) for pair in ("rb", "ra", "bd", "ac"))
    assert [body.name for body in load(write(text)).bodies] == ["r", "b", "d", "a", "c"]


HUNG = '<link name="world">{}</link><link name="a">' + BODY + "</link>"
HUNG += '<joint name="j" type="{}"><parent link="world"/><child link="a"/></joint>'


def test_a_bare_root_called_world_is_the_world(write):
    mechanism = load(write(HUNG.format("", "floating")))
    assert [body.name for body in mechanism.bodies] == ["a"]
    assert mechanism.bodies[0].parent == "world"


def test_a_root_called_world_with_mass_stays_a_body_under_another_name(write):
    mechanism, report = load_with_report(write(HUNG.format(BODY, "floating")))
    assert [body.name for body in mechanism.bodies] == ["world_link", "a"]
    assert mechanism.total_mass == 2.0
    assert 'link "world" is called "world_link" here' in report.notes


def test_a_root_called_world_can_float(write):
    mechanism = load(write(HUNG.format("", "fixed")), floating_base=True)
    assert [body.name for body in mechanism.bodies] == ["world_link", "a"]
    assert mechanism.nv == 6


def test_missing_limits_are_reported_and_unlimited(write):
    text = f'<link name="a"/><link name="b">{BODY}</link>'
    text += '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>'
    with pytest.warns(ModelWarning, match='joint "j" without <limit>, taken as unlimited'):
        mechanism = load(write(text))
    assert mechanism.upper.tolist() == [math.inf]
    assert mechanism.bodies[1].joint.axis == (1.0, 0.0, 0.0)


BAD_INERTIA = (
    '<link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.4"/></inertial></link>'
)


def test_non_physical_inertia_is_kept_with_a_warning_that_names_link_and_inequality(write):
    with pytest.warns(ModelWarning, match=r'body "a": Ixx \+ Iyy >= Izz violated: 0\.1 \+ 0\.2 < 0\.4') as caught:
        mechanism, report = load_with_report(write(BAD_INERTIA))
    assert len(caught) == 1
    assert re.match(r".*\.urdf:\d+: non-physical", str(caught[0].message))
    assert caught[0].filename == __file__
    assert mechanism.bodies[0].inertia == (0.1, 0.0, 0.0, 0.2, 0.0, 0.4)
    assert report.inertia_problems == ('body "a": Ixx + Iyy >= Izz violated: 0.1 + 0.2 < 0.4',)


def test_repair_gives_the_nearest_possible_inertia_without_warning(write):
    """E = tr(I)/2 - I has eigenvalues 0.25, 0.15, -0.05; without the last I = diag(0.15, 0.25, 0.4)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism, report = load_with_report(write(BAD_INERTIA), repair=True)
    np.testing.assert_allclose(mechanism.bodies[0].inertia_matrix, np.diag([0.15, 0.25, 0.4]), atol=1e-15)
    assert report.repaired == ("a",)


def test_mimic_of_an_unknown_joint_leaves_the_joint_independent_with_a_warning(write):
    text = f'<link name="a"/><link name="b">{BODY}</link><joint name="left" type="continuous">'
    text += '<parent link="a"/><child link="b"/><mimic joint="lefty"/></joint>'
    with pytest.warns(ModelWarning, match='mimic of unknown joint "lefty"'):
        mechanism = load(write(text))
    assert mechanism.couplings == ()
    assert mechanism.nv == 1


MESH = '<link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link>'


@pytest.mark.parametrize("how", ["package_dirs", "is_package", "environment", "above", "relative", "address"])
def test_meshes_are_found(write, tmp_path, monkeypatch, how):
    elsewhere = tmp_path / "elsewhere"
    place = {"above": tmp_path, "relative": tmp_path}.get(how, elsewhere) / "my_robot" / "meshes"
    place.mkdir(parents=True)
    mesh = place / "a b.stl"
    mesh.write_bytes(b"solid")
    options: dict = {"package_dirs": {"package_dirs": [elsewhere], "is_package": elsewhere / "my_robot"}.get(how, ())}
    if how == "environment":
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(elsewhere))
    name = {"relative": "my_robot/meshes/a b.stl", "address": f"file://{mesh}"}.get(
        how, "package://my_robot/meshes/a b.stl"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism, report = load_with_report(write(MESH.format(name)), **options)
    assert mechanism.bodies[0].visuals[0].mesh == str(mesh)
    assert report.missing_meshes == ()


def test_urdf_may_be_called_xml(write):
    assert load(write(f'<link name="a">{BODY}</link>', "robot.xml")).total_mass == 1.0


def test_a_chain_of_thousands_of_links_loads(write):
    """No recursion: the depth of a robot is not limited by Python's stack."""
    n = 3000
    links = "".join(f'<link name="l{i}"/>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(n - 1)
    )
    assert load(write(links + joints)).nv == n - 1
