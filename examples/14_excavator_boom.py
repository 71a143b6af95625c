"""The boom of an excavator: cylinder length by the law of cosines, cylinder force by moments, lowering through a valve.

A hydraulic cylinder is a prismatic joint inside a loop. Its force holds the boom if the moments of all weights beyond
the boom's foot balance the moment of the cylinder's pin. With the valves half open the cylinders are dampers: the boom
sinks, and all energy it loses is heat in the oil.
"""

import numpy as np

import setsu

valve = 6e5  # N s/m
machine = setsu.sample_mechanisms.excavator_boom(load=1000.0, damping=valve)
cylinders = ["boom_cylinder", "stick_cylinder"]
boom, boom_cylinder, stick = (machine.joint_index(name) for name in ("boom", "boom_cylinder", "stick"))

# Boom foot at the origin, cylinder foot on the ground, cylinder head on the boom: a triangle with two fixed sides.
poses = setsu.body_poses(machine, machine.neutral())
foot = poses[machine.body_names.index("boom_barrel")][:3, 3]
head = machine.loops[0].pose_b.matrix[:3, 3]
side_1, side_2 = np.linalg.norm(foot), np.linalg.norm(head)
opening = np.arctan2(head[2], head[0]) - np.arctan2(foot[2], foot[0])
lift = np.linspace(-0.4, 0.4, 9)
guess = np.zeros((9, machine.nq))
guess[:, boom] = lift
q = setsu.close_loops(machine, guess, fixed=["boom", "stick"])
length = np.sqrt(side_1**2 + side_2**2 - 2 * side_1 * side_2 * np.cos(opening + lift))
assert np.allclose(np.linalg.norm(head - foot) + q[:, boom_cylinder], length, atol=1e-12)

# Holding: moments about the boom's foot of the weights it carries (its own, stick, bucket, stick cylinder).
rest = np.zeros(machine.nv)
holding = setsu.constrained_inverse_dynamics(machine, q, rest, rest, actuated=cylinders)
poses = setsu.body_poses(machine, q)
moment = np.zeros(9)
for body in machine.bodies:
    if body.name not in ("boom_barrel", "boom_rod"):
        frame = machine.frame(body.name)  # the bucket is fixed to the stick and moves with it
        center = poses[:, frame.body] @ frame.pose.matrix @ np.append(body.center_of_mass, 1.0)
        moment += 9.81 * body.mass * center[:, 0]
pin = poses[:, machine.body_names.index("boom")] @ np.append(head, 1.0)
force = holding.loop_wrench[:, 0, :3]  # by the rod on the boom
assert np.allclose(pin[:, 2] * force[:, 0] - pin[:, 0] * force[:, 2], -moment, rtol=1e-10)
print(f"the boom's cylinder holds with {holding.torque[:, boom_cylinder].min() / 1e3:.1f} to "
      f"{holding.torque[:, boom_cylinder].max() / 1e3:.1f} kN")  # fmt: skip

# Lowering through the valves.
run = setsu.simulate(machine, q[6], rest, duration=1.0, step=1e-2, integrator="radau")
speeds = run.v[:, [machine.joint_index(name) for name in cylinders]]
power = valve * np.sum(speeds**2, axis=1)
heat = np.sum((power[:-2:2] + 4 * power[1::2] + power[2::2]) * (run.time[2::2] - run.time[:-2:2]) / 6)
lost = run.energy[0] - run.energy[-1]
print(f"lowered {np.degrees(run.q[0, boom] - run.q[-1, boom]):.1f} degrees, lost {lost / 1e3:.3f} kJ, "
      f"heat in the oil {heat / 1e3:.3f} kJ, loops open by at most {run.constraint_error.max():.1e} m")  # fmt: skip
assert run.constraint_error.max() < 1e-12
assert run.q[-1, boom] < run.q[0, boom] - 0.01
assert np.isclose(lost, heat, rtol=1e-4)
assert np.isclose(-run.ledger.joint_friction[-1], lost, rtol=1e-4)
