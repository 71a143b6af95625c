"""Trees under constant torques step in compiled code: the motion of Python's steps, the start of a longer run."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu import sample_mechanisms

INTEGRATORS = ("semi_implicit", "rk4", "rk8")


def tree_of_all_joints() -> setsu.Mechanism:
    """A free base with a ball, a screw and a damped hinge, and a damped spring from the world to the last body."""
    b = setsu.MechanismBuilder("tree of all joints")
    inertia = np.diag([0.02, 0.03, 0.025])
    b.add_body("base", "world", setsu.Free("base"), None, 2.0, (0.01, 0.02, 0.0), inertia)
    ball = setsu.Spherical("ball", damping=0.01)
    b.add_body("arm", "base", ball, setsu.placement((0.2, 0.0, 0.0)), 1.0, (0.1, 0.0, 0.02), inertia)
    screw = setsu.Helical((0, 0, 1), "screw", pitch=0.05)
    b.add_body("nut", "base", screw, setsu.placement((0.0, 0.2, 0.1)), 0.7, (0.0, 0.05, 0.0), inertia)
    hinge = setsu.Revolute((0, 1, 0), "hinge", damping=0.02, stiffness=0.3, spring_rest=0.1, armature=0.01)
    b.add_body("hand", "arm", hinge, setsu.placement((0.3, 0.0, 0.0)), 0.5, (0.1, 0.0, 0.0), inertia)
    b.add_spring("rope", "world", (0.0, 0.0, 1.0), "hand", (0.1, 0.0, 0.0), stiffness=4.0, rest_length=0.5, damping=0.3)
    return b.build()


def start(m: setsu.Mechanism) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    q = setsu.integrate(m, m.neutral(), random.standard_normal(m.nv), 0.5)
    return q, random.standard_normal(m.nv), 0.2 * random.standard_normal(m.nv)


MECHANISMS = {
    "arm": sample_mechanisms.seven_joint_arm,
    "PUMA 560": sample_mechanisms.puma560,
    "all joints": tree_of_all_joints,
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_steps_are_those_of_python(name: str, integrator: str) -> None:
    m = MECHANISMS[name]()
    q, v, tau = start(m)
    options = {"duration": 0.2035, "step": 1e-3, "integrator": integrator, "record_every": 20}
    compiled = setsu.simulate(m, q, v, torque=tau, **options)
    stepped = setsu.simulate(m, q, v, torque=lambda t, q, v: tau, **options)
    np.testing.assert_array_equal(compiled.time, stepped.time)
    for key in ("q", "v", "acceleration", "torque", "energy", "joint_wrenches"):
        expected = getattr(stepped, key)
        np.testing.assert_allclose(getattr(compiled, key), expected, atol=1e-11 * (1.0 + np.abs(expected).max()))
    for key in ("actuators", "joint_friction", "spring_dampers", "integration"):
        np.testing.assert_allclose(getattr(compiled.ledger, key), getattr(stepped.ledger, key), atol=1e-10)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_short_run_is_the_beginning_of_a_long_one(integrator: str) -> None:
    m = sample_mechanisms.puma560()
    q, v, tau = start(m)
    long, short = (setsu.simulate(m, q, v, n, 1e-3, tau, integrator=integrator) for n in (0.7, 0.123))
    np.testing.assert_array_equal(long.q[: len(short)], short.q)
    np.testing.assert_array_equal(long.v[: len(short)], short.v)


def test_a_run_that_diverges_says_when() -> None:
    m = sample_mechanisms.pendulum()
    with pytest.raises(setsu.InputError, match=r"at t = .* s the motion grows without bound"):
        setsu.simulate(m, [0.0], [0.0], 1e3, 0.1, [1e6])
