"""Maps to Pinocchio and MuJoCo: round trips to the bit, the same motions and torques there, wrenches through welds."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from identities.test_wrench_at import cut
from reference_solutions.pinocchio_twin import ROBOTS
from reference_solutions.test_robots_against_pinocchio import USED

import setsu

DATA = Path(__file__).parents[1] / "data"
MJCF = sorted(str(path.name) for path in DATA.glob("*.xml"))
FEW = [
    file for file in USED if any(word in file for word in ("panda.urdf", "talos_reduced.urdf", "ur10_robot", "solo12"))
]


def loaded(file: str, floating: bool = False):
    """A mechanism, Pinocchio's model of the same file, and the map between them."""
    path = ROBOTS / file
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        # Pinocchio takes angles of 11 digits as they are.
        m = setsu.load(path, floating_base=floating, snap_angles=False)
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    return m, model, setsu.interop.pinocchio(m, model)


def states(m: setsu.Mechanism, count: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    q = np.array([m.random_configuration(rng) for _ in range(count)])
    return [q, *rng.standard_normal((3, count, m.nv)), rng.standard_normal((count, m.n_bodies, 6))]


def assert_round_trips(m: setsu.Mechanism, there, q, v, a, tau, wrench) -> None:
    """Here -> there -> here: to the bit where numbers are copied, else to rounding."""
    peer = there.q_to(q)
    back = setsu.difference(m, q, there.q_from(peer), shortest=True)
    assert np.abs(back).max(initial=0.0) < 1e-15
    largest = max(1.0, np.abs(wrench).max(initial=0.0))
    for value, here in (
        (there.v_from(peer, there.v_to(q, v)), v),
        (there.a_from(peer, there.v_to(q, v), there.a_to(q, v, a)), a),
        (there.tau_from(peer, there.tau_to(q, tau)), tau),
        (there.wrench_from(peer, there.wrench_to(q, wrench)), wrench),
    ):
        assert np.abs(value - here).max(initial=0.0) < 1e-14 * largest
    # Power is the same in both.
    power = np.sum(tau * v, axis=1)
    assert np.allclose(np.sum(there.tau_to(q, tau) * there.v_to(q, v), axis=1), power, rtol=1e-13, atol=1e-13)
    # Batches are their rows.
    for k in range(len(q)):
        assert np.array_equal(there.a_to(q[k], v[k], a[k]), there.a_to(q, v, a)[k])


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("file", [pytest.param(f, marks=() if f in FEW else pytest.mark.nightly) for f in USED])
def test_pinocchio(file: str, floating: bool) -> None:
    m, model, there = loaded(file, floating)
    q, v, a, tau, wrench = states(m)
    assert_round_trips(m, there, q, v, a, tau, wrench)
    data = model.createData()
    friction = m.damping * v + m.coulomb * np.sign(v)
    for k in range(2):
        peer = there.q_to(q[k])
        forces = pin.StdVec_Force()
        for row in there.wrench_to(q[k], wrench[k]):
            forces.append(pin.Force(row))
        torque = pin.rnea(model, data, peer, there.v_to(q[k], v[k]), there.a_to(q[k], v[k], a[k]), forces)
        ours = setsu.inverse_dynamics(m, q[k], v[k], a[k], wrench[k]) - friction[k]
        found = there.tau_from(peer, torque)
        assert np.abs(found - ours).max(initial=0.0) <= 1e-13 * np.abs(ours).max(initial=0.0)


@pytest.mark.parametrize("file", [pytest.param(f, marks=() if f in FEW else pytest.mark.nightly) for f in USED])
def test_wrench_at_every_fixed_joint_is_pinocchios_supported_force(file: str) -> None:
    """1e-12 of the robot's weight, or of the largest wrench of the motion; without external forces."""
    m, model, there = loaded(file)
    q, v, a, _, _ = states(m, 2)
    data = model.createData()
    for k in range(len(q)):
        state = there.q_to(q[k]), there.v_to(q[k], v[k]), there.a_to(q[k], v[k], a[k])
        pin.rnea(model, data, *state)
        pin.forwardKinematics(model, data, *state)
        pin.updateFramePlacements(model, data)
        largest = np.abs(setsu.joint_wrenches(m, q[k], v[k], a[k])).max(initial=0.0)
        scale = max(m.total_mass * 9.81, largest)
        for body in m.bodies:
            if not isinstance(body.joint, setsu.Fixed) or not model.existFrame(body.joint.name):
                continue
            number = model.getFrameId(body.joint.name, pin.FrameType.FIXED_JOINT)
            if number >= model.nframes or model.frames[number].parentJoint == 0:
                continue
            force = pin.computeSupportedForceByFrame(model, data, number)
            # Pinocchio counts every joint of the body as beyond the frame; take off those on the near side.
            far, joint = _far_side(m, body.name), model.frames[number].parentJoint
            for k_body, child in enumerate(m.moving):
                child_number = model.getJointId(m.joint_names[k_body])
                if model.parents[child_number] == joint and child.name not in far:
                    near = data.liMi[child_number].act(data.f[child_number])
                    force -= model.frames[number].placement.actInv(near)
            force = force.vector
            assert np.abs(setsu.wrench_at(m, q[k], v[k], a[k], body.name) - force).max() < 1e-12 * scale


@pytest.mark.parametrize("file", [pytest.param(f, marks=() if f in FEW[:1] else pytest.mark.nightly) for f in USED])
def test_wrench_at_every_fixed_joint_is_the_wrench_by_cutting_there(file: str) -> None:
    """The far side alone, on a free joint in the same motion, needs that wrench: 1e-12 of the weight or the motion."""
    m, _, _ = loaded(file)
    q, v, a, _, _ = states(m, 2)
    scale = max(m.total_mass * 9.81, np.abs(setsu.joint_wrenches(m, q, v, a)).max(initial=0.0))
    for body in m.bodies:
        if not isinstance(body.joint, setsu.Fixed):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)
            far, state, index = cut(m, body.name, q, v, a)
        expected = setsu.joint_wrenches(far, *state)[:, index]
        assert np.abs(setsu.wrench_at(m, q, v, a, body.name) - expected).max() < 1e-12 * scale


def _far_side(m: setsu.Mechanism, body: str) -> set[str]:
    far = {body}
    for other in m.bodies:
        if other.parent in far:
            far.add(other.name)
    return far


def test_planar_and_helical_joints_of_pinocchio() -> None:
    """Joints built by hand: velocities of a planar joint are in body axes there."""
    b = setsu.MechanismBuilder("planar")
    solid = {"mass": 2.0, "center_of_mass": (0.1, 0.2, 0.3), "inertia": np.diag([0.3, 0.4, 0.5])}
    b.add_body("cart", joint=setsu.Planar((0, 0, 1), name="cart"), **solid)
    b.add_body(
        "arm", parent="cart", joint=setsu.Spherical(name="ball"), placement=setsu.placement((0.2, 0, 0.1)), **solid
    )
    m = b.build()
    model = pin.Model()
    inertia = pin.Inertia(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.3, 0.4, 0.5]))
    cart = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "cart")
    ball = model.addJoint(cart, pin.JointModelSpherical(), pin.SE3(np.eye(3), np.array([0.2, 0.0, 0.1])), "ball")
    for number in (cart, ball):
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    there = setsu.interop.pinocchio(m, model)
    q, v, a, tau, wrench = states(m)
    assert_round_trips(m, there, q, v, a, tau, wrench)
    data = model.createData()
    for k in range(len(q)):
        torque = pin.rnea(model, data, there.q_to(q[k]), there.v_to(q[k], v[k]), there.a_to(q[k], v[k], a[k]))
        ours = setsu.inverse_dynamics(m, q[k], v[k], a[k])
        assert np.abs(there.tau_from(there.q_to(q[k]), torque) - ours).max() < 1e-12 * np.abs(ours).max()


def mujoco_model(file: str) -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_path(str(DATA / file))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    model.dof_frictionloss[:] = 0.0
    return model


@pytest.mark.parametrize("file", MJCF)
def test_mujoco(file: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        m = setsu.load(DATA / file)
    model = mujoco_model(file)
    there = setsu.interop.mujoco(m, model)
    q, v, a, tau, wrench = states(m)
    named = {model.body(number).name for number in range(model.nbody)}
    shown = {frame.body for name, frame in m.frames.items() if name in named}
    massless = [k for k in range(m.n_bodies) if k not in shown]  # between two joints of one MuJoCo body
    wrench[:, massless] = 0.0
    assert_round_trips(m, there, q, v, a, tau, wrench)
    data = mujoco.MjData(model)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:] = there.q_to(q[k]), there.v_to(q[k], v[k])
        data.xfrc_applied[:] = there.wrench_to(q[k], wrench[k])
        mujoco.mj_forward(model, data)
        data.qacc[:] = there.a_to(q[k], v[k], a[k])
        mujoco.mj_inverse(model, data)
        # qfrc_inverse leaves applied forces to the user: what is left is our torque with the wrenches taken off.
        applied = np.zeros(model.nv)
        for body in range(model.nbody):
            f = data.xfrc_applied[body]
            mujoco.mj_applyFT(model, data, f[:3], f[3:], data.xipos[body], body, applied)
        ours = setsu.inverse_dynamics(m, q[k], v[k], a[k], wrench[k]) - m.coulomb * np.sign(v[k])
        found = there.tau_from(there.q_to(q[k]), data.qfrc_inverse - applied)
        assert np.abs(found - ours).max() < 1e-10 * np.abs(ours).max()


WELDED = """
<mujoco><compiler autolimits="true"/><option density="0"><flag constraint="disable"/></option>
<worldbody><body name="pedestal" pos="0 0 0.3"><inertial pos="0 0 0.1" mass="9" diaginertia="0.2 0.2 0.2"/>
 <body name="link" pos="0 0 0.2"><joint name="shoulder" type="ball"/>
  <inertial pos="0.2 0.1 0" mass="2" diaginertia="0.03 0.02 0.02"/>
  <body name="sensor" pos="0.4 0 0" euler="20 30 40">
   <inertial pos="0.01 0 0" mass="0.3" diaginertia="0.001 0.001 0.001"/>
   <site name="face" pos="0 0 0.02" euler="10 0 50"/>
   <body name="tool" pos="0 0 0.1" euler="0 45 0">
    <inertial pos="0.05 0 0.02" mass="0.7" diaginertia="0.004 0.003 0.002"/>
    <body name="finger" pos="0.1 0 0"><joint name="grip" type="slide" axis="0 1 0.2"/>
     <inertial pos="0 0 0.03" mass="0.1" diaginertia="0.0002 0.0002 0.0001"/></body></body></body></body></body>
 <body name="flyer" pos="1 0 1"><freejoint name="free"/><inertial pos="0.1 0 0" mass="1" diaginertia="0.02 0.03 0.04"/>
  <body name="cap" pos="0 0 0.2" euler="0 0 30"><inertial pos="0 0.1 0" mass="0.5" diaginertia="0.01 0.01 0.01"/></body>
 </body></worldbody></mujoco>
"""


def test_wrench_at_every_weld_is_mujocos_interaction_force(tmp_path: Path) -> None:
    """cfrc_int after mj_rnePostConstraint: moment first, about the tree's centre of mass; pushes on welded bodies."""
    (tmp_path / "welded.xml").write_text(WELDED)
    m = setsu.load(tmp_path / "welded.xml")
    model = mujoco.MjModel.from_xml_string(WELDED)
    there, data = setsu.interop.mujoco(m, model), mujoco.MjData(model)
    q, v, a, _, _ = states(m)
    rng = np.random.default_rng(0)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:] = there.q_to(q[k]), there.v_to(q[k], v[k])
        mujoco.mj_forward(model, data)
        data.qacc[:] = there.a_to(q[k], v[k], a[k])
        pushes = {name: rng.standard_normal(6) for name in ("tool", "finger", "cap", "sensor", "pedestal")}
        for name, push in pushes.items():
            body, origin = model.body(name).id, data.body(name).xpos
            arm = data.body(name).xipos - origin
            data.xfrc_applied[body] = [*push[:3], *(push[3:] - np.cross(arm, push[:3]))]
        mujoco.mj_rnePostConstraint(model, data)
        for body in m.bodies:
            number = model.body(body.name).id
            moment, force = np.split(data.cfrc_int[number], 2)
            about = data.subtree_com[model.body_rootid[number]] - data.body(body.name).xpos
            expected = np.r_[force, moment + np.cross(about, force)]
            found = setsu.wrench_at(m, q[k], v[k], a[k], body.name, pushes, axes="world")
            assert np.abs(found - expected).max() < 1e-12 * max(m.total_mass * 9.81, np.abs(expected).max())
        face = setsu.wrench_at(m, q[k], v[k], a[k], "face", pushes)
        R = data.site("face").xmat.reshape(3, 3)
        sensor = setsu.wrench_at(m, q[k], v[k], a[k], "sensor", pushes, axes="world")
        arm = data.site("face").xpos - data.body("sensor").xpos
        moment = sensor[3:] - np.cross(arm, sensor[:3])
        assert np.abs(face - np.r_[R.T @ sensor[:3], R.T @ moment]).max() < 1e-12 * m.total_mass * 9.81


def test_models_of_another_machine_are_refused() -> None:
    m, model, _ = loaded(FEW[0])
    other = setsu.sample_mechanisms.planar_arm(2)
    with pytest.raises(setsu.InputError, match=r"joint1.* is not in the model"):
        setsu.interop.pinocchio(setsu.sample_mechanisms.planar_arm(2), pin.Model())
    shifted = pin.Model(model)
    shifted.jointPlacements[2] = shifted.jointPlacements[2] * pin.SE3(np.eye(3), np.array([0.0, 0.01, 0.0]))
    with pytest.raises(setsu.InputError, match="away from where Pinocchio has it"):
        setsu.interop.pinocchio(m, shifted)
    with pytest.raises(setsu.InputError, match=r"expected a pinocchio\.Model"):
        setsu.interop.pinocchio(m, other)
    with pytest.raises(setsu.InputError, match=r"expected a mujoco\.MjModel"):
        setsu.interop.mujoco(m, other)
