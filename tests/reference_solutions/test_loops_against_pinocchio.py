"""Welds and ball joints that close loops, against Pinocchio's constrained dynamics: accelerations and wrenches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from reference_solutions.pinocchio_twin import PinocchioTwin

import setsu
from setsu.mechanism import Loop, Pose

# File, floating base, two bodies to tie together.
CASES = {
    "UR5 to the world": ("ur_description/urdf/ur5_robot.urdf", False, ("world", "wrist_3_link")),
    "ANYmal's feet": ("anymal_b_simple_description/robots/anymal.urdf", True, ("LF_SHANK", "RH_SHANK")),
    "Talos' hands": ("talos_data/robots/talos_reduced.urdf", True, ("arm_left_6_link", "arm_right_6_link")),
}


@pytest.mark.parametrize("kind", ["weld", "ball"])
@pytest.mark.parametrize("case", CASES)
def test_a_loop_moves_as_in_pinocchio(case, kind):
    file, floating, (body_a, body_b) = CASES[case]
    twin = PinocchioTwin(file, floating, armature=0.1)
    tree = twin.mechanism
    for q, v, _, tau in zip(*twin.states(3), strict=True):
        poses = dict(zip(tree.body_names, setsu.body_poses(tree, q), strict=True)) | {"world": np.eye(4)}
        pose_a = setsu.placement((0.1, -0.2, 0.05), rpy=(0.3, 0.4, -0.5))
        pose_b = np.linalg.inv(poses[body_b]) @ poses[body_a] @ pose_a
        joint = (setsu.Fixed if kind == "weld" else setsu.Spherical)(name="tie")
        m = dataclasses.replace(
            tree, loops=(Loop("tie", body_a, body_b, joint, Pose.of(pose_a, "a"), Pose.of(pose_b, "b")),)
        )
        G = setsu.constraints.constraint_system(m).evaluate(q, v).jacobian
        v = v - np.linalg.pinv(G) @ (G @ v)
        ours = setsu.constrained_dynamics(m, q, v, tau)

        model, data = twin.model, twin.model.createData()
        joints = [model.getJointId(_joint_of(tree, body)) if body != "world" else 0 for body in (body_a, body_b)]
        contact = pin.ContactType.CONTACT_6D if kind == "weld" else pin.ContactType.CONTACT_3D
        constraint = pin.RigidConstraintModel(
            contact, model, joints[0], pin.SE3(pose_a), joints[1], pin.SE3(pose_b), pin.ReferenceFrame.LOCAL
        )
        constraints, forces = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        constraints.append(constraint)
        forces.append(constraint.createData())
        pin.initConstraintDynamics(model, data, constraints, forces)
        settings = pin.ProximalSettings(1e-14, 1e-14, 50)
        effort = twin.velocity(tau - twin.friction(v))
        theirs = pin.constraintDynamics(
            model, data, twin.configuration(q), twin.velocity(v), effort, constraints, forces, settings
        )
        # A welded hand leaves an arm of six joints no motion: accelerations are then compared as they are.
        expected = twin.vector(theirs)
        assert np.abs(ours.acceleration - expected).max() < 1e-8 * max(1.0, np.abs(expected).max())
        # Pinocchio gives the wrench on its first joint, at and in the axes of that joint's contact frame; ours is the
        # one by that body on the other.
        rotation = (poses[body_a] @ pose_a)[:3, :3]
        wrench = forces[0].contact_force
        for own, their in zip(np.split(ours.loop_wrench[0], 2), (wrench.linear, wrench.angular), strict=True):
            np.testing.assert_allclose(own, -rotation @ their, atol=1e-7 * np.abs(wrench.vector).max())


def _joint_of(m: setsu.Mechanism, body: str) -> str:
    return m.joint_names[m.body_names.index(body)]
