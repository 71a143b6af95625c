"""Derivatives, momentum, energy, Coriolis terms, Jacobians and steps of a few robots, Setsu against Pinocchio."""

import functools

import numpy as np
import pinocchio as pin
import pytest
from reference_solutions.pinocchio_twin import PinocchioTwin, relative_error
from rounding import EPSILON, assert_law

import setsu

pytestmark = pytest.mark.thin(3)

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "continuous": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
}
CASES = [(name, floating) for name in ROBOTS for floating in (False, True)]


@functools.cache
def made(name: str, floating: bool) -> PinocchioTwin:
    return PinocchioTwin(ROBOTS[name], floating)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{'floating' if case[1] else 'fixed'}")
def twin(request: pytest.FixtureRequest) -> PinocchioTwin:
    return made(*request.param)


def test_inverse_dynamics_derivatives(twin: PinocchioTwin) -> None:
    """Damping adds its diagonal to the derivative by velocities; dry friction is flat."""
    m = twin.mechanism
    for q, v, a, _ in zip(*twin.states(2), strict=True):
        ours = setsu.inverse_dynamics_derivatives(m, q, v, a)
        dq, dv, da = pin.computeRNEADerivatives(
            twin.model, twin.data, twin.configuration(q), twin.velocity(v), twin.velocity(a)
        )
        da = np.triu(da) + np.triu(da, 1).T
        assert relative_error(ours.dq, twin.matrix(dq)) < 1e-9
        assert relative_error(ours.dv - np.diag(m.damping), twin.matrix(dv)) < 1e-9
        assert relative_error(ours.da, twin.matrix(da)) < 1e-9


def test_forward_dynamics_derivatives(twin: PinocchioTwin) -> None:
    """Three derivatives of M⁻¹ (tau - bias): rounding grows with κ(M), and so does what damping hides in dv.

    Where a file writes a right angle with few digits Setsu takes the right angle: a difference of the models.
    """
    m = twin.mechanism
    for q, v, _, tau in zip(*twin.states(2), strict=True):
        ours = setsu.forward_dynamics_derivatives(m, q, v, tau + twin.friction(v))
        dq, dv, dtau = pin.computeABADerivatives(
            twin.model, twin.data, twin.configuration(q), twin.velocity(v), twin.velocity(tau)
        )
        dtau, dq, dv = (twin.matrix(x) for x in (np.triu(dtau) + np.triu(dtau, 1).T, dq, dv))
        condition = np.linalg.cond(setsu.mass_matrix(m, q)) + twin.model_difference(q) / EPSILON
        assert_law(ours.dq, dq, [dq], c=10.0, condition=condition)
        assert_law(ours.dv + dtau * m.damping, dv, [dv, dtau * m.damping], c=10.0, condition=condition)
        assert_law(ours.dtau, dtau, [dtau], c=10.0, condition=condition)


def test_center_of_mass_and_momentum(twin: PinocchioTwin) -> None:
    m, model, data = twin.mechanism, twin.model, twin.data
    for q, v, _, _ in zip(*twin.states(2), strict=True):
        qp, vp = twin.configuration(q), twin.velocity(v)
        com = pin.centerOfMass(model, data, qp)
        assert relative_error(setsu.center_of_mass(m, q), com) < 1e-9
        momentum = pin.computeCentroidalMomentum(model, data, qp, vp).vector
        assert relative_error(setsu.momentum(m, q, v), momentum) < 1e-9
        matrix = pin.computeCentroidalMap(model, data, qp)
        assert relative_error(setsu.centroidal_matrix(m, q), twin.vector(matrix)) < 1e-9


def test_energies(twin: PinocchioTwin) -> None:
    """Potential energies agree up to a constant: here the difference between two configurations."""
    m, model, data = twin.mechanism, twin.model, twin.data
    q, v, _, _ = twin.states(3)
    for row, rate in zip(q, v, strict=True):
        theirs = pin.computeKineticEnergy(model, data, twin.configuration(row), twin.velocity(rate))
        assert setsu.kinetic_energy(m, row, rate) == pytest.approx(theirs, rel=1e-9)
    ours = setsu.potential_energy(m, q)
    theirs = np.array([pin.computePotentialEnergy(model, data, twin.configuration(row)) for row in q])
    assert relative_error(np.diff(ours), np.diff(theirs)) < 1e-9


def test_bias_gravity_and_coriolis_product(twin: PinocchioTwin) -> None:
    m, model, data = twin.mechanism, twin.model, twin.data
    for q, v, _, _ in zip(*twin.states(2), strict=True):
        qp, vp = twin.configuration(q), twin.velocity(v)
        bias = twin.vector(pin.nonLinearEffects(model, data, qp, vp))
        gravity = twin.vector(pin.computeGeneralizedGravity(model, data, qp))
        coriolis = twin.vector(pin.computeCoriolisMatrix(model, data, qp, vp) @ vp)
        assert relative_error(setsu.bias_torque(m, q, v) - twin.friction(v), bias) < 1e-9
        assert relative_error(setsu.gravity_torque(m, q), gravity) < 1e-9
        assert relative_error(setsu.coriolis_matrix(m, q, v) @ v, coriolis) < 1e-9


def test_jacobians_and_their_rates_at_every_body(twin: PinocchioTwin) -> None:
    """Velocity of a body point = J v, in Pinocchio's local frame turned into world axes."""
    m, model, data = twin.mechanism, twin.model, twin.data
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    q, v, _, _ = (x[0] for x in twin.states(1))
    qp, vp = twin.configuration(q), twin.velocity(v)
    pin.computeJointJacobiansTimeVariation(model, data, qp, vp)
    for number, name in zip(twin.joints, m.body_names, strict=True):
        J = twin.vector(pin.getJointJacobian(model, data, number, axes)[:3])
        dJ = twin.vector(pin.getJointJacobianTimeVariation(model, data, number, axes)[:3])
        assert relative_error(setsu.point_jacobian(m, q, name), J) < 1e-9
        assert np.abs(setsu.point_jacobian_rate(m, q, v, name) - dJ).max() < 1e-9 * max(1.0, np.abs(dJ).max())


def test_velocities_and_accelerations_of_bodies(twin: PinocchioTwin) -> None:
    m, model, data = twin.mechanism, twin.model, twin.data
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    q, v, a, _ = (x[0] for x in twin.states(1))
    pin.forwardKinematics(model, data, twin.configuration(q), twin.velocity(v), twin.velocity(a))
    velocities = [pin.getVelocity(model, data, number, axes).vector for number in twin.joints]
    accelerations = [pin.getClassicalAcceleration(model, data, number, axes).vector for number in twin.joints]
    assert relative_error(setsu.body_velocities(m, q, v), np.array(velocities)) < 1e-9
    assert relative_error(setsu.body_accelerations(m, q, v, a), np.array(accelerations)) < 1e-9


def test_integrate_and_difference(twin: PinocchioTwin) -> None:
    """The same step: all bodies stand at the same poses after it, and `difference` finds it again."""
    m, model, data = twin.mechanism, twin.model, twin.data
    q, v, _, _ = (x[0] for x in twin.states(1))
    moved = setsu.integrate(m, q, v, 0.7)
    pin.forwardKinematics(model, data, pin.integrate(model, twin.configuration(q), twin.velocity(v) * 0.7))
    theirs = np.array([data.oMi[number].homogeneous for number in twin.joints])
    assert relative_error(setsu.body_poses(m, moved), theirs) < 1e-9
    step = pin.difference(model, twin.configuration(q), twin.configuration(moved))
    assert relative_error(setsu.difference(m, q, moved), twin.vector(step)) < 1e-9


def test_external_wrenches(twin: PinocchioTwin) -> None:
    """Pinocchio takes them in joint frames, Setsu in world axes at the body origin."""
    m, model, data = twin.mechanism, twin.model, twin.data
    q, v, a, tau = (x[0] for x in twin.states(1))
    world = np.random.default_rng(5).standard_normal((m.n_bodies, 6))
    R = setsu.body_poses(m, q)[:, :3, :3]
    forces = pin.StdVec_Force()
    local = {
        number: np.concatenate([R[k].T @ world[k, :3], R[k].T @ world[k, 3:]]) for k, number in enumerate(twin.joints)
    }
    for number in range(model.njoints):
        forces.append(pin.Force(local.get(number, np.zeros(6))))
    qp, vp = twin.configuration(q), twin.velocity(v)
    theirs = twin.vector(pin.rnea(model, data, qp, vp, twin.velocity(a), forces)) + twin.friction(v)
    assert relative_error(setsu.inverse_dynamics(m, q, v, a, world), theirs) < 1e-9
    theirs = twin.vector(pin.aba(model, data, qp, vp, twin.velocity(tau), forces))
    for method in ("articulated_body", "composite_body", "unit_vector"):
        ours = setsu.forward_dynamics(m, q, v, tau + twin.friction(v), world, method=method)
        assert relative_error(ours, theirs) < 1e-9
