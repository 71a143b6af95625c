"""MJCF: poses, kinetic energy, springs, loops and couplings of the mechanism are those MuJoCo computes."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from unit.mechanism.kinematics_by_hand import kinetic_energy, poses_and_velocities

from setsu.errors import InputError, ModelFileError
from setsu.mechanism import Fixed, Free, Spherical
from setsu.model_files import load, load_with_report
from setsu.spatial import quaternion_from_rotation

CART = Path(__file__).parents[2] / "data" / "cart_and_legs.xml"


@pytest.fixture
def write(tmp_path):
    def writer(inner: str) -> Path:
        path = tmp_path / "model.xml"
        path.write_text(f'<mujoco model="m">{inner}</mujoco>', encoding="utf-8")
        return path

    return writer


def mujoco_state(mechanism, model, q, v):
    """The same state for MuJoCo: quaternions w x y z, a free joint's linear velocity in world axes."""
    qpos, qvel = np.zeros(model.nq), np.zeros(model.nv)
    poses, _ = poses_and_velocities(mechanism, q)
    for index, body in enumerate(mechanism.moving):
        joint = model.joint(body.joint.name)
        q_own, v_own = q[mechanism.q_slices[index]].copy(), v[mechanism.v_slices[index]].copy()
        if isinstance(body.joint, (Free, Spherical)):
            q_own[-4:] = np.roll(q_own[-4:], 1)
        if isinstance(body.joint, Free):
            v_own[:3] = poses[body.name][:3, :3] @ v_own[:3]
        qpos[joint.qposadr[0] :][: len(q_own)] = q_own
        qvel[joint.dofadr[0] :][: len(v_own)] = v_own
    return qpos, qvel


def assert_agrees(path, seed=3):
    """Every body's pose, and ½ v·M v without armature, in a drawn state."""
    mechanism, report = load_with_report(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    q, v = mechanism.random_configuration(rng), rng.standard_normal(mechanism.nv)
    data.qpos[:], data.qvel[:] = mujoco_state(mechanism, model, q, v)
    mujoco.mj_forward(model, data)
    poses, _ = poses_and_velocities(mechanism, q)
    for body in range(1, model.nbody):
        pose = poses[model.body(body).name or f"body{body}"]
        np.testing.assert_allclose(pose[:3, 3], data.xpos[body], atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3].ravel(), data.xmat[body], atol=1e-12)
    momentum = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, momentum, data.qvel)
    energy = 0.5 * data.qvel @ (momentum - model.dof_armature * data.qvel)
    assert kinetic_energy(mechanism, q, v) == pytest.approx(energy, rel=1e-10)
    return mechanism, report


@pytest.mark.parametrize("seed", range(5))
def test_poses_and_energy_agree_with_mujoco(seed):
    assert_agrees(CART, seed)


def test_joint_values_of_the_file_are_used():
    mechanism = load(CART)
    joints = {body.joint.name: body.joint for body in mechanism.moving}
    assert mechanism.gravity == (0.0, 0.0, -3.7)
    assert joints["rail"].stiffness == (12.0,)
    assert joints["rail"].spring_rest == (0.1,)
    assert (joints["rail"].lower, joints["rail"].upper) == ((-1.0,), (1.0,))
    assert joints["hip_roll"].damping == (0.1,)
    assert joints["hip_roll"].coulomb == (0.05,)
    assert joints["hip_roll"].armature == (0.02,)
    assert joints["knee"].lower[0] == pytest.approx(np.radians(-120))
    assert joints["flight"].damping == (0.0,) * 6


def test_gravity_argument_wins_over_the_file():
    assert load(CART, gravity=(0, 0, -1)).gravity == (0.0, 0.0, -1.0)


def test_reference_configuration_is_the_pose_the_file_draws():
    """At qpos0 every body sits where <body pos=... euler=...> says."""
    mechanism, report = load_with_report(CART)
    poses, _ = poses_and_velocities(mechanism, np.array(report.reference_configuration))
    np.testing.assert_allclose(poses["cart"][:3, 3], (0.0, 0.1, 1.0), atol=1e-14)
    np.testing.assert_allclose(poses["drone"][:3, 3], (1.0, 0.0, 1.0), atol=1e-14)
    np.testing.assert_allclose(poses["arm"][:3, 3], (1.0, 0.0, 0.9), atol=1e-14)


def test_connect_becomes_a_spherical_loop_that_is_closed_at_the_reference():
    mechanism, report = load_with_report(CART)
    (loop,) = mechanism.loops
    assert (loop.name, loop.body_a, loop.body_b, type(loop.joint)) == ("rope", "foot", "drone", Spherical)
    poses, _ = poses_and_velocities(mechanism, np.array(report.reference_configuration))
    on_a = poses["foot"] @ loop.pose_a.matrix
    on_b = poses["drone"] @ loop.pose_b.matrix
    np.testing.assert_allclose(on_a[:3, 3], on_b[:3, 3], atol=1e-14)
    assert any(entry.what == "equality/weld that is not active" for entry in report.ignored)


WELDS = {
    "with_relpose": '<weld body1="a" body2="b" relpose="0 0 1 0.8 0 0 0.6" anchor="0.1 0.2 0.3"/>',
    "as_drawn": '<weld body1="a" body2="b"/>',
    "of_sites": '<weld site1="s" site2="t"/>',
}


@pytest.mark.parametrize("weld", WELDS.values(), ids=WELDS.keys())
def test_weld_becomes_a_fixed_loop(write, weld):
    """Where the loop's frames coincide, MuJoCo's constraint has no error."""
    path = write(
        '<worldbody><body name="a" pos="1 0 0" euler="10 20 30"><freejoint/><geom size=".1"/>'
        '<site name="s" pos=".1 0 0" euler="0 0 90"/></body>'
        '<body name="b"><freejoint/><geom size=".1"/><site name="t" pos="0 .3 0"/></body></worldbody>'
        f"<equality>{weld}</equality>"
    )
    (loop,) = load(path).loops
    assert (loop.body_a, loop.body_b, type(loop.joint)) == ("a", "b", Fixed)
    held = loop.pose_a.matrix @ np.linalg.inv(loop.pose_b.matrix)
    x, y, z, w = quaternion_from_rotation(held[:3, :3])
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *held[:3, 3], w, x, y, z]
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.efc_pos[:6], 0.0, atol=1e-12)


def test_joint_equality_becomes_a_coupling_about_the_reference(write):
    """y - y0 = c0 + c1 (x - x0); here y0 = 0.3, x0 = 0.2, c0 = 0.1, c1 = 2."""
    body = '<body><joint name="{}" ref="{}"/><geom size=".1"/></body>'
    path = write(
        '<compiler angle="radian"/><worldbody>' + body.format("y", 0.3) + body.format("x", 0.2) + "</worldbody>"
        '<equality><joint name="e" joint1="y" joint2="x" polycoef="0.1 2 0 0 0"/></equality>'
    )
    mechanism = load(path)
    (coupling,) = mechanism.couplings
    assert dict(coupling.factors) == {"y": 1.0, "x": -2.0}
    x = 0.7
    y = 0.3 + 0.1 + 2 * (x - 0.2)
    assert y - 2 * x + coupling.offset == pytest.approx(0.0, abs=1e-15)


def test_armature_and_damping_of_actuators_are_reflected_by_gear_squared(write):
    path = write(
        '<worldbody><body><joint name="j" armature="0.1"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor name="a" joint="j" gear="3" armature="0.5" damping="0.2"/></actuator>'
    )
    mechanism, report = load_with_report(path)
    assert mechanism.armature[0] == pytest.approx(0.1 + 9 * 0.5)
    assert mechanism.damping[0] == pytest.approx(9 * 0.2)
    assert [str(actuator) for actuator in report.actuators] == ['a: drives joint "j", gear 3']


def test_shapes_are_in_full_lengths():
    mechanism = load(CART)
    shapes = {body.name: body.visuals for body in mechanism.bodies}
    assert (shapes["cart"][0].kind, shapes["cart"][0].size) == ("box", (0.4, 0.2, 0.1))
    assert (shapes["bracket"][0].kind, shapes["bracket"][0].size) == ("cylinder", (0.02, 0.06))
    assert shapes["arm"][0].kind == "capsule"
    assert shapes["arm"][0].size == pytest.approx((0.01, 0.2))


def test_mesh_frame_is_the_files_own(write, tmp_path):
    """MuJoCo recentres meshes; the shape's pose still puts the file's vertices where the file means them."""
    corners = [(1, 1, 1), (3, 1, 1), (1, 2, 1), (1, 1, 4)]
    faces = [(1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    text = "".join("v {} {} {}\n".format(*corner) for corner in corners)
    text += "".join("f {} {} {}\n".format(*face) for face in faces)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "corner.obj").write_text(text)
    path = write(
        '<compiler meshdir="meshes"/><asset><mesh name="c" file="corner.obj" scale="0.1 0.1 0.1"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="c" pos="1 2 3" euler="0 0 90"/></body></worldbody>'
    )
    (shape,) = load(path).bodies[0].visuals
    assert shape.mesh == str(tmp_path / "meshes" / "corner.obj")
    assert shape.size == (0.1, 0.1, 0.1)
    np.testing.assert_allclose(shape.pose.translation, (1, 2, 3), atol=1e-12)
    np.testing.assert_allclose(shape.pose.matrix[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_unnamed_bodies_and_joints_get_names(write):
    path = write(
        '<worldbody><body><joint/><joint axis="1 0 0"/><geom size=".1"/>'
        '<body><geom size=".1"/></body></body></worldbody>'
    )
    mechanism, _ = assert_agrees_by_order(path)
    assert [body.name for body in mechanism.bodies] == ["body1_body1_joint", "body1", "body2"]
    assert mechanism.joint_names == ("body1_joint", "body1_joint_")


def assert_agrees_by_order(path):
    """Total mass is MuJoCo's; for files without joint names, where states cannot be matched by name."""
    mechanism, report = load_with_report(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert mechanism.total_mass == pytest.approx(float(model.body_mass.sum()), rel=1e-15)
    return mechanism, report


def test_flags_that_switch_forces_off_are_taken_over(write):
    inner = '<option><flag gravity="disable" spring="disable" damper="disable"/></option>'
    inner += '<worldbody><body><joint damping="1" stiffness="2"/><geom size=".1"/></body></worldbody>'
    mechanism, report = load_with_report(write(inner))
    assert mechanism.gravity == (0.0, 0.0, 0.0)
    assert mechanism.damping.tolist() == [0.0]
    assert mechanism.moving[0].joint.stiffness == (0.0,)
    assert '<flag gravity="disable">: taken over' in report.notes


def test_without_constraints_joints_have_no_dry_friction(write):
    inner = '<option><flag constraint="disable"/></option><worldbody><body><joint frictionloss="1"/><geom size=".1"/>'
    assert load_with_report(write(inner + "</body></worldbody>"))[0].coulomb.tolist() == [0.0]


def test_what_has_no_counterpart_is_listed():
    mechanism, report = load_with_report(CART)
    listed = {entry.what: entry.count for entry in report.ignored}
    assert len(mechanism.tendons) == 1
    assert any(body.gravity_compensation for body in mechanism.bodies)
    assert listed["worldbody/geom"] == 1


def test_floating_base_is_refused():
    with pytest.raises(InputError, match="an MJCF file says itself which bodies are free"):
        load(CART, floating_base=True)


def test_without_mujoco_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match=r'pip install "setsu\[mjcf\]"'):
        load(CART)


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ("<worldbody><body><joint/></body></worldbody>", "mass and inertia of moving bodies"),
        (
            '<worldbody><body><geom size="nan"/></body></worldbody>',
            r"model\.xml:1: <geom size=.*got 'nan', expected finite",
        ),
        ('<worldbody><body pos="1,5 0 0"/></worldbody>', "MuJoCo cannot compile"),
        ("<worldbody><wheel/></worldbody>", "unrecognized"),
        ('<worldbody><replicate count="1000000"><geom size="1"/></replicate></worldbody>', "makes 1000000 copies"),
        ('<asset><texture name="t" builtin="flat" type="2d" width="99999999" height="9"/></asset>', "up to 16384"),
        ('<asset><mesh name="c" file="gone.obj"/></asset>', r"gone\.obj"),
    ],
)
def test_refusals(write, inner, message):
    with pytest.raises(ModelFileError, match=message):
        load(write(inner))


def test_included_files_are_used(write, tmp_path):
    (tmp_path / "leg.xml").write_text('<mujoco><body name="leg"><joint name="hip"/><geom size=".1"/></body></mujoco>')
    assert load(write('<worldbody><include file="leg.xml"/></worldbody>')).joint_names == ("hip",)


def test_included_files_are_checked_too(write, tmp_path):
    included = tmp_path / "leg.xml"
    included.write_text('<mujoco>\n<body name="leg" pos="nan 0 0"><geom size=".1"/></body></mujoco>')
    with pytest.raises(ModelFileError, match=r"leg\.xml:2: <body pos=.*got 'nan', expected finite numbers"):
        load(write('<worldbody><include file="leg.xml"/></worldbody>'))
    included.write_text('<!DOCTYPE a [<!ENTITY b "c">]><mujoco/>')
    with pytest.raises(ModelFileError, match=r"leg\.xml:1: document type declaration"):
        load(write('<worldbody><include file="leg.xml"/></worldbody>'))
