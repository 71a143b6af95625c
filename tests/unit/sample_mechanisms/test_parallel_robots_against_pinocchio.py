"""Delta robot and Stewart platform in motion: the same accelerations as Pinocchio's constrained dynamics."""

import numpy as np
import pinocchio as pin
import pytest

import setsu
from setsu.constraints.system import constraint_system
from setsu.sample_mechanisms import delta_robot, stewart_platform


def pinocchio_model(m):
    """The same tree in Pinocchio, and a point constraint for every ball joint."""
    make_joint = {
        "Free": lambda joint: pin.JointModelFreeFlyer(),
        "Revolute": lambda joint: pin.JointModelRevoluteUnaligned(np.array(joint.axis)),
        "Prismatic": lambda joint: pin.JointModelPrismaticUnaligned(np.array(joint.axis)),
        "Universal": lambda joint: pin.JointModelUniversal(np.array(joint.axis), np.array(joint.second_axis)),
    }
    model, number = pin.Model(), {"world": 0}
    for body in m.bodies:
        joint = make_joint[type(body.joint).__name__](body.joint)
        index = number[body.name] = model.addJoint(
            number[body.parent], joint, pin.SE3(body.pose.matrix), body.joint.name
        )
        inertia = pin.Inertia(body.mass, np.array(body.center_of_mass), body.inertia_matrix)
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    balls = pin.StdVec_RigidConstraintModel()
    for loop in m.loops:
        place_a, place_b = pin.SE3(loop.pose_a.matrix), pin.SE3(loop.pose_b.matrix)
        balls.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, number[loop.body_a], place_a, number[loop.body_b], place_b
            )
        )
    return model, balls


@pytest.mark.parametrize("make", [delta_robot, stewart_platform])
def test_accelerations_are_those_of_pinocchio(make):
    m = make()
    rng = np.random.default_rng(0)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal(m.nv), 1.0))
    G = constraint_system(m).evaluate(q, np.zeros(m.nv)).jacobian
    wish = rng.standard_normal(m.nv)
    v, tau = wish - np.linalg.pinv(G) @ (G @ wish), 5.0 * rng.standard_normal(m.nv)
    model, balls = pinocchio_model(m)
    data, ball_data = model.createData(), pin.StdVec_RigidConstraintData()
    ball_data.extend([ball.createData() for ball in balls])
    assert list(model.names)[1:] == list(m.joint_names)
    pin.initConstraintDynamics(model, data, balls, ball_data)
    theirs = pin.constraintDynamics(model, data, q, v, tau, balls, ball_data, pin.ProximalSettings(1e-14, 0.0, 1))
    ours = setsu.constrained_dynamics(m, q, v, tau).acceleration
    np.testing.assert_allclose(ours, theirs, atol=1e-11 * np.abs(theirs).max())
