"""Surfaces, loops and couplings together, over batches of two axes: every state as if it were alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from rounding import assert_law, condition_of

import setsu
from setsu.constraints.system import constraint_system


def machine() -> setsu.Mechanism:
    """A four-bar with a wheel geared to its crank, beside an arm of two links."""
    b = setsu.MechanismBuilder("machine")
    axis, options = (0, -1, 0), {"mass": 1.0, "center_of_mass": (0.2, 0, 0), "inertia": 0.01 * np.eye(3)}
    b.add_body("crank", joint=setsu.Revolute(axis, "crank"), **options)
    b.add_body("coupler", "crank", setsu.Revolute(axis, "coupler"), setsu.placement((0.4, 0, 0)), **options)
    b.add_body("rocker", joint=setsu.Revolute(axis, "rocker"), placement=setsu.placement((1, 0, 0)), **options)
    b.add_body("wheel", joint=setsu.Revolute(axis, "wheel"), placement=setsu.placement((0, 0.2, 0)), **options)
    b.add_body("arm", joint=setsu.Revolute(axis, "arm"), placement=setsu.placement((2, 0, 0)), **options)
    b.add_body("fore", "arm", setsu.Revolute(axis, "fore"), setsu.placement((0.5, 0, 0)), **options)
    ends = setsu.placement((1.0, 0, 0)), setsu.placement((0.4, 0, 0))
    b.add_loop("pin", "coupler", "rocker", setsu.Revolute(axis, "pin"), *ends)
    b.add_coupling("gear", {"crank": 1.0, "wheel": 3.0})
    return b.build()


HAND = setsu.SurfaceContact("fore", (0.5, 0, 0), setsu.Plane((0, 0, 1), -0.3), 0.2, name="hand")
ELBOW = setsu.SurfaceContact("arm", (0.5, 0, 0), setsu.Plane((1, 0, 0), 2.3), 0.1, bilateral=True, name="elbow")


@pytest.fixture(scope="module")
def states() -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    """The machine, q (2, 3, nq) and v (2, 3, nv) on its loops, and torques (3, nv) that broadcast against them."""
    m, rng = machine(), np.random.default_rng(0)
    middle = np.array([1.0, -1.0, 1.0, 0.0, -0.5, -0.8])
    q = setsu.close_loops(m, middle + rng.uniform(-0.3, 0.3, (2, 3, m.nq)))
    v = np.array([[setsu.consistent_velocity(m, one, rng.standard_normal(m.nv)) for one in row] for row in q])
    return m, q, v, rng.standard_normal((3, m.nv))


def assert_same_fields(many: object, one: object, where: tuple[int, int], m: setsu.Mechanism, q, contacts) -> None:
    """Within rounding of accelerations and forces, which come out of one linear system."""
    names = [field.name for field in dataclasses.fields(many) if field.compare]  # type: ignore[arg-type]
    G = constraint_system(m, contacts).linearise(q, np.zeros(m.nv)).jacobian
    system = np.block([[setsu.mass_matrix(m, q), G.T], [G, np.zeros((len(G), len(G)))]])
    terms = [1.0 * getattr(one, name) for name in names]
    for name, expected in zip(names, terms, strict=True):
        assert_law(1.0 * getattr(many, name)[where], expected, terms, 4.0, condition_of(system))


@pytest.mark.parametrize("contacts", [[], [HAND], [HAND, ELBOW]])
@pytest.mark.parametrize("method", ["default", "extended_newton_euler", "compiled"])
def test_constrained_dynamics_of_a_batch_is_that_of_its_states(states, contacts, method) -> None:
    m, q, v, tau = states
    if method == "compiled":
        many = setsu.compile(m, ["constrained_dynamics"]).constrained_dynamics(q, v, tau, contacts)
        method = "default"
    else:
        many = setsu.constrained_dynamics(m, q, v, tau, contacts, method)
    assert many.acceleration.shape == (2, 3, m.nv)
    assert many.friction_force.shape == (2, 3, len(contacts), 3)
    assert many.residual.max() < 1e-10
    for where in np.ndindex(2, 3):
        one = setsu.constrained_dynamics(m, q[where], v[where], tau[where[1]], contacts)
        assert_same_fields(many, one, where, m, q[where], contacts)


@pytest.mark.parametrize("contacts", [[], [HAND], [HAND, ELBOW]])
def test_constrained_inverse_dynamics_of_a_batch_is_that_of_its_states_and_undoes_dynamics(states, contacts) -> None:
    m, q, v, tau = states
    driven = ["crank", "arm", "fore"]
    tau = tau * np.isin(m.joint_names, driven)
    forward = setsu.constrained_dynamics(m, q, v, tau, contacts)
    press = forward.normal_force
    many = setsu.constrained_inverse_dynamics(m, q, v, forward.acceleration, contacts, press, driven)
    np.testing.assert_allclose(many.torque, np.broadcast_to(tau, (2, 3, m.nv)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(many.coupling_force, forward.coupling_force, rtol=0, atol=1e-9)
    np.testing.assert_allclose(many.joint_wrenches, forward.joint_wrenches, rtol=0, atol=1e-9)
    assert (many.redundancy == 0).all()
    for where in np.ndindex(2, 3):
        one = setsu.constrained_inverse_dynamics(
            m, q[where], v[where], forward.acceleration[where], contacts, press[where], driven
        )
        assert_same_fields(many, one, where, m, q[where], contacts)


def test_actuators_share_by_weights_and_squeeze_as_asked_in_every_state(states) -> None:
    """Crank, wheel and loop joint drive one freedom: a squeeze moves nothing, and the dearest actuator rests."""
    m, q, v, _ = states
    driven = ["crank", "wheel", "pin", "arm", "fore"]
    a = setsu.constrained_dynamics(m, q, v, np.ones(m.nv)).acceleration
    plain = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=driven)
    assert (plain.redundancy == 2).all()
    dear = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=driven, weights={"crank": 1e12, "pin": 1e12})
    assert np.abs(dear.torque[..., 0]).max() < 1e-8
    assert np.abs(dear.loop_torque).max() < 1e-8
    squeeze = np.array([1.0, 0.0, 0.0, 0.0, 2.0])  # crank, wheel, arm, fore, then the pin
    tight = setsu.constrained_inverse_dynamics(m, q, v, a, actuated=driven, internal_torque=squeeze)
    assert (np.abs(tight.torque - plain.torque).max(axis=-1) > 1e-3).all()
    for one in (plain, dear, tight):
        moved = setsu.constrained_dynamics(m, q, v, one.torque, loop_torque=one.loop_torque)
        np.testing.assert_allclose(moved.acceleration, a, rtol=0, atol=1e-9)
    # The least torques are at right angles to what moves nothing.
    extra = np.concatenate([tight.torque - plain.torque, tight.loop_torque - plain.loop_torque], axis=-1)
    least = np.concatenate([plain.torque, plain.loop_torque], axis=-1)
    np.testing.assert_allclose(np.sum(extra * least, axis=-1), 0.0, atol=1e-9)
