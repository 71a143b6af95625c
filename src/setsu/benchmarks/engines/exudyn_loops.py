"""Closed loops in Exudyn: every body has its own coordinates, every joint is a set of equations, implicit steps.

Its usual way: generalised-alpha steps on the position-level equations, Euler parameters, dense factors that pass over
redundant equations.
"""

from __future__ import annotations

import time
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

import setsu
from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops_problems import SAMPLING, Motion, Problem
from setsu.mechanism import Joint, Mechanism, Prismatic, Revolute, Spherical, Universal

__all__ = ["WAYS", "run", "version"]

# Loaded by name: the package ships no types, and is not there on every machine.
exudyn: Any = import_module("exudyn")
utilities: Any = import_module("exudyn.utilities")

WAYS = ("generalised alpha",)
MOST_BODIES = 20


def version() -> str:
    """Version of the package."""
    return exudyn.__version__


def run(problem: Problem, way: str, step: float, duration: float) -> Motion:
    """Simulate a problem; every sensor writes at multiples of SAMPLING."""
    m = problem.mechanism
    if m.n_bodies > MOST_BODIES:
        raise NotMeasuredError(f"dense factors for more than {MOST_BODIES} bodies take minutes")
    # What it prints when it gives up would end up in the middle of our tables or JSON.
    exudyn.SetWriteToConsole(False)
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    bodies = _add_bodies(system, m, problem)
    _add_joints(system, m, bodies)
    _add_springs(system, m, bodies)
    kinds = exudyn.OutputVariableType

    def sensor(body: int, kind: object, point: np.ndarray) -> int:
        return system.AddSensor(
            utilities.SensorBody(bodyNumber=body, localPosition=point, outputVariableType=kind, storeInternal=True)
        )

    # Bodies are placed at their centers of mass, with axes parallel to the world's at q = 0 as in our mechanisms.
    tips = []
    for name, point in problem.points:
        body = m.moving[m.frame(name).body]
        tips.append(sensor(bodies[name], kinds.Position, np.array(point) - body.center_of_mass))
    centers = [
        [
            sensor(bodies[b.name], kind, np.zeros(3))
            for kind in (kinds.Position, kinds.Velocity, kinds.AngularVelocityLocal)
        ]
        for b in m.moving
    ]
    system.Assemble()
    steps = round(duration / step)
    start = time.perf_counter()
    if not system.SolveDynamic(_settings(steps, duration), showCausingItems=False):
        raise RuntimeError("the solver gave up")
    seconds = time.perf_counter() - start
    rows = round(duration / SAMPLING) + 1
    read = {number: _stored(system, number, rows) for number in chain(tips, *centers)}
    points = np.stack([read[number] for number in tips], axis=1)
    energy = np.zeros(rows)
    for body, (position, velocity, angular) in zip(m.moving, centers, strict=True):
        energy += 0.5 * body.mass * np.sum(read[velocity] ** 2, axis=1)
        energy += 0.5 * np.einsum("ti,ij,tj->t", read[angular], body.inertia_matrix, read[angular])
        energy -= body.mass * read[position] @ np.array(m.gravity)
    return Motion(points, energy, None, steps, seconds)


def _settings(steps: int, duration: float) -> object:
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.adaptiveStep = False
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = SAMPLING
    settings.linearSolver.solverType = exudyn.LinearSolverType.EigenDense
    settings.linearSolver.ignoreSingularJacobian = True
    return settings


def _add_bodies(system: Any, m: Mechanism, problem: Problem) -> dict[str, int]:
    """Add the bodies at their places and velocities at the start, and the ground."""
    poses = setsu.body_poses(m, m.neutral())
    velocities = setsu.body_velocities(m, m.neutral(), problem.velocity)
    numbers = {"world": system.CreateGround()}
    for body, pose, velocity in zip(m.moving, poses, velocities, strict=True):
        arm = pose[:3, :3] @ np.array(body.center_of_mass)
        numbers[body.name] = system.CreateRigidBody(
            referencePosition=pose[:3, 3] + arm,
            initialVelocity=velocity[:3] + np.cross(velocity[3:], arm),
            initialAngularVelocity=velocity[3:],
            inertia=utilities.RigidBodyInertia(mass=body.mass, inertiaTensor=body.inertia_matrix),
            gravity=list(m.gravity),
        )
    return numbers


def _add_joints(system: Any, m: Mechanism, bodies: dict[str, int]) -> None:
    """Add tree joints and loop joints alike, where they are at q = 0."""
    poses = setsu.body_poses(m, m.neutral())
    for body, pose in zip(m.moving, poses, strict=True):
        _add_joint(system, body.joint, [bodies[body.parent], bodies[body.name]], pose[:3, 3])
    for loop in m.loops:
        carrier = m.frame(loop.body_a).body
        place = (np.eye(4) if carrier < 0 else poses[carrier]) @ loop.pose_a.matrix
        _add_joint(system, loop.joint, [bodies[loop.body_a], bodies[loop.body_b]], place[:3, 3])


def _add_springs(system: Any, m: Mechanism, bodies: dict[str, int]) -> None:
    """Add springs between bodies, at points given from their centers of mass."""
    centers = {"world": (0.0, 0.0, 0.0)} | {body.name: body.center_of_mass for body in m.moving}
    for spring in m.springs:
        system.CreateSpringDamper(
            itemNumbers=[bodies[spring.body_a], bodies[spring.body_b]],
            localPosition0=np.subtract(spring.point_a, centers[spring.body_a]),
            localPosition1=np.subtract(spring.point_b, centers[spring.body_b]),
            referenceLength=spring.rest_length,
            stiffness=spring.stiffness,
            damping=spring.damping,
        )


def _add_joint(system: Any, joint: Joint, pair: list[int], position: np.ndarray) -> None:
    if isinstance(joint, Revolute):
        system.CreateRevoluteJoint(itemNumbers=pair, position=position, axis=list(joint.axis))
    elif isinstance(joint, Prismatic):
        system.CreatePrismaticJoint(itemNumbers=pair, position=position, axis=list(joint.axis))
    elif isinstance(joint, Spherical):
        system.CreateSphericalJoint(itemNumbers=pair, position=position)
    else:
        # With rotation z constrained, the first body's x stays normal to the second body's y.
        assert isinstance(joint, Universal)
        first, second = np.array(joint.axis), np.array(joint.second_axis)
        axes = np.stack([first, second, np.cross(first, second)], axis=1)
        system.CreateGenericJoint(
            itemNumbers=pair, position=position, rotationMatrixAxes=axes, constrainedAxes=[1, 1, 1, 0, 0, 1]
        )


def _stored(system: Any, number: int, rows: int) -> np.ndarray:
    """Values (T, 3) of a sensor."""
    data = np.asarray(system.GetSensorStoredData(number))[:, 1:]
    if len(data) != rows:
        raise RuntimeError(f"{len(data)} samples, expected {rows}")
    return data
