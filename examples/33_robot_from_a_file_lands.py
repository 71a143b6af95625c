"""A walker from a URDF file, limp, is dropped on a floor with steps: its collision shapes touch, its joint limits hold.

Points come from the shapes in the file: corners of the trunk's box, rims of the legs' cylinders, the feet as balls.
"""

from pathlib import Path

import numpy as np

import setsu

model = Path(__file__).parent / "models" / "crab.urdf"
robot, report = setsu.load_with_report(model, floating_base=True, contact_points=setsu.Material(0.6, 0.5))
print(report)
weight = robot.total_mass * 9.81

start = robot.neutral()
start[2] = 0.6
start[7:] = np.tile([0.5, -0.9], 4)
ground = setsu.Environment.floor() + setsu.Environment.stairs(2, 0.05, 0.2, start=(0.15, 0.0, 0.0))
run = setsu.simulate(robot, start, np.zeros(robot.nv), 3.0, 1e-3, environment=ground, joint_stops=True)

joints = run.q[:, 7:]
beyond = max((robot.lower[6:] - joints).max(), (joints - robot.upper[6:]).max())
stops = [event for event in run.events if event.kind == "stop"]
print(f"lands at {run.events[0].time:.3f} s; deepest point {run.contact_log.depth.max():.0e} m inside")
print(f"joints hit their limits {len(stops)} times, first: {stops[0]}; at most {max(beyond, 0.0):.0e} rad beyond")
assert run.contact_log.depth.max() < 1e-4
assert beyond < 1e-5

# At the end it lies still: the ground carries its weight, pressing within the polygon of what touches.
shapes = run.body_contacts  # cylinders, and edges of the stairs, touch as shapes; the rest as points
ground = run.contact_force.sum(axis=1) + shapes.force.sum(axis=1)
carried, margin = ground[-1, 2], run.support_margin()[-1]
touching = [name for name, force in zip(run.contact_names, run.normal_force[-1], strict=True) if force > 0.0]
touching += [name for (name, _), force in zip(shapes.pairs, shapes.normal_force[-1], strict=True) if force > 0.0]
print(f"comes to rest on {', '.join(touching)}: {carried:.4f} of {weight:.4f} N, margin {1e3 * margin:.0f} mm")
assert np.isclose(carried, weight, rtol=1e-3)
assert margin > 0.0

# Momentum changes by the ground and the weight alone: with all contact forces on it, the free base needs no force.
base = setsu.inverse_dynamics(robot, run.q, run.v, run.acceleration)[:, :3]
world = np.einsum("tij,tj->ti", setsu.body_poses(robot, run.q)[:, 0, :3, :3], base)
left = np.abs(world - ground).max() / weight
print(f"momentum balance in every step: {left:.0e} weights")
assert left < 1e-9
