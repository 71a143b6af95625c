"""Closed loops in Pinocchio: `constraintDynamics` on 3-D point contacts, classical Runge-Kutta steps in Python.

A revolute joint is closed by two points on its axis, a ball joint by one. Constraints are held by Baumgarte's
feedback, critically damped, at a rate tied to the step h; without it the motion leaves them at singular positions.

Single accelerations of planar linkages are given the least work that holds them: one point per pin, no feedback, by
`constraintDynamics` and by `lcaba`, whose cost is linear.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops_problems import SAMPLING, Motion, Problem, loop_offsets, motion_of_states
from setsu.mechanism import Joint, Mechanism, Prismatic, Revolute, Universal

__all__ = ["WAYS", "accelerations", "derivatives", "run", "version"]

Floats = NDArray[np.float64]

# Loaded by name: its compiled module ships no types.
pin: Any = import_module("pinocchio")

WAYS = {"RK4, gain 0.05/h": 0.05, "RK4, gain 0.2/h": 0.2, "RK4, gain 1/h": 1.0}
"""Rates of Baumgarte's feedback times the step: none is best on all problems."""
PROXIMAL = (1e-14, 1e-10, 10)
"""Accuracy, regularisation and most iterations of the solver, which make redundant rows solvable."""
PROXIMAL_OF_LCABA = (1e-14, 1e-6, 10)
"""The same for `lcaba`, with the regularisation its documentation advises."""
PROXIMAL_OF_DERIVATIVES = (1e-14, 1e-6, 10)
"""The same for derivatives, whose rounding at redundant rows grows as the regularisation gets smaller."""


def version() -> str:
    """Version of the package."""
    return pin.__version__


def run(problem: Problem, way: str, step: float, duration: float) -> Motion:
    """Simulate a problem."""
    m = problem.tree
    if m.springs:
        raise NotMeasuredError("springs between bodies are no part of it")
    solve = _solver(m, WAYS[way] / step)
    # All joints of these trees have as many coordinates as velocities: q is a plain vector.
    q, v = m.neutral(), problem.tree_velocity.copy()
    every, steps = round(SAMPLING / step), round(duration / step)
    states = [(q, v)]
    start = time.perf_counter()
    for k in range(1, steps + 1):
        a1 = solve(q, v)
        v2 = v + 0.5 * step * a1
        a2 = solve(q + 0.5 * step * v, v2)
        v3 = v + 0.5 * step * a2
        a3 = solve(q + 0.5 * step * v2, v3)
        v4 = v + step * a3
        a4 = solve(q + step * v3, v4)
        q = q + step / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v = v + step / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        if k % every == 0:
            states.append((q, v))
    seconds = time.perf_counter() - start
    recorded_q, recorded_v = (np.array(part) for part in zip(*states, strict=True))
    return motion_of_states(m, problem.tree_points, recorded_q, recorded_v, steps, seconds)


def accelerations(problem: Problem) -> dict[str, Callable[[Floats, Floats], Floats]]:
    """Functions of q, v that return a constrained acceleration of a planar problem, each by its name."""
    solve = _solver(problem.tree, 0.0, planar=True)
    model, data, constraints, constraint_data, _ = _prepared(problem.tree, 0.0, planar=True)
    pin.computeJointMinimalOrdering(model, data, constraints)
    settings, tau = pin.ProximalSettings(*PROXIMAL_OF_LCABA), np.zeros(model.nv)

    def by_bodies(q: Floats, v: Floats) -> Floats:
        return pin.lcaba(model, data, q, v, tau, constraints, constraint_data, settings).copy()

    return {"constraintDynamics": solve, "lcaba": by_bodies}


def derivatives(m: Mechanism) -> Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]:
    """Return a function of q, v, tau: derivatives (nv, nv) of the accelerations by each, without feedback."""
    model, data, constraints, constraint_data, _ = _prepared(m, 0.0)
    settings = pin.ProximalSettings(*PROXIMAL_OF_DERIVATIVES)

    def found(q: Floats, v: Floats, tau: Floats) -> tuple[Floats, Floats, Floats]:
        pin.constraintDynamics(model, data, q, v, tau, constraints, constraint_data, settings)
        pin.computeConstraintDynamicsDerivatives(model, data, constraints, constraint_data, settings)
        return data.ddq_dq, data.ddq_dv, data.ddq_dtau

    return found


def _solver(m: Mechanism, rate: float, *, planar: bool = False) -> Callable[[Floats, Floats], Floats]:
    """Prepare model, constraints and memory; return acceleration(q, v)."""
    model, data, constraints, constraint_data, settings = _prepared(m, rate, planar)
    tau = np.zeros(model.nv)
    return lambda q, v: pin.constraintDynamics(model, data, q, v, tau, constraints, constraint_data, settings).copy()


def _prepared(m: Mechanism, rate: float, planar: bool = False) -> tuple[Any, ...]:
    """Model, data, constraints with their data, settings; planar: one point holds a pin."""
    model = _model(m)
    data = model.createData()
    constraints = _constraints(m, model, rate, planar)
    constraint_data = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        constraint_data.append(constraint.createData())
    pin.initConstraintDynamics(model, data, constraints, constraint_data)
    return model, data, constraints, constraint_data, pin.ProximalSettings(*PROXIMAL)


def _model(m: Mechanism) -> Any:
    model = pin.Model()
    model.gravity.linear = np.array(m.gravity)
    for body in m.moving:
        parent = m.frame(body.parent).body + 1
        number = model.addJoint(parent, _joint(body.joint), pin.SE3(body.pose.matrix), body.joint.name)
        inertia = pin.Inertia(body.mass, np.array(body.center_of_mass), body.inertia_matrix)
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    return model


def _joint(joint: Joint) -> object:
    if isinstance(joint, Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis))
    if isinstance(joint, Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
    assert isinstance(joint, Universal)
    both = pin.JointModelComposite(2)
    both.addJoint(pin.JointModelRevoluteUnaligned(np.array(joint.axis)))
    both.addJoint(pin.JointModelRevoluteUnaligned(np.array(joint.second_axis)))
    return both


def _constraints(m: Mechanism, model: Any, rate: float, planar: bool) -> Any:
    constraints = pin.StdVec_RigidConstraintModel()
    for loop in m.loops:
        for offset in [np.zeros(3)] if planar else loop_offsets(loop.joint):
            poses = []
            for body, pose in ((loop.body_a, loop.pose_a), (loop.body_b, loop.pose_b)):
                shifted = pin.SE3(pose.matrix) * pin.SE3(np.eye(3), offset)
                poses += [m.frame(body).body + 1, shifted]
            constraint = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *poses, pin.ReferenceFrame.LOCAL)
            constraint.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(rate * rate, 2.0 * rate))
            constraints.append(constraint)
    return constraints
