"""A Stewart platform: leg lengths by geometry, leg forces by virtual work.

The length of a leg is the distance between its foot and its ball, whatever joints lie between. At rest, lengthening one
leg by ds raises the potential energy by force x ds: the gradient of the energy over the six lengths, by small moves of
the legs, must be the actuator forces. Last, a push on the platform is carried by the legs as by Jacobian transpose.
"""

import numpy as np

import setsu

machine = setsu.sample_mechanisms.stewart_platform()
legs = [f"leg{k}" for k in range(1, 7)]
at = [machine.q_slices[machine.joint_index(leg)].start for leg in legs]
drive = [machine.v_slices[machine.joint_index(leg)].start for leg in legs]

# The platform shifted and tilted, legs found by closing the loops.
wanted = machine.neutral()
wanted[:3] += (0.1, -0.05, 0.12)
wanted[3:7] = (0.1, 0.05, -0.08, 0.0)
wanted[6] = np.sqrt(1 - np.sum(wanted[3:6] ** 2))
q = setsu.close_loops(machine, wanted, fixed=["platform"])

poses = setsu.body_poses(machine, q)
bodies = machine.body_names
platform = poses[bodies.index("platform")]
feet = np.array([poses[bodies.index(f"barrel{k}")][:3, 3] for k in range(1, 7)])
balls = np.array([(platform @ loop.pose_b.matrix)[:3, 3] for loop in machine.loops])
rest_lengths = np.array([np.linalg.norm(body.pose.matrix[:3, 3]) for body in machine.bodies if "piston" in body.name])
lengths = np.linalg.norm(balls - feet, axis=1)
print("leg lengths (m)", np.round(lengths, 4))
assert np.allclose(rest_lengths + q[at], lengths, atol=1e-12)
assert np.allclose(platform[:3, 3], setsu.body_poses(machine, wanted)[0][:3, 3], atol=1e-12)

rest = np.zeros(machine.nv)
holding = setsu.constrained_inverse_dynamics(machine, q, rest, rest, actuated=legs)
force = holding.torque[drive]
print("holding forces (N)", np.round(force, 2))
step = 1e-4
moved = np.tile(q, (2, 6, 1))
for k, column in enumerate(at):
    moved[0, k, column] += step
    moved[1, k, column] -= step
energy = setsu.potential_energy(machine, setsu.close_loops(machine, moved, fixed=legs))
gradient = (energy[0] - energy[1]) / (2 * step)
assert np.allclose(force, gradient, rtol=1e-5, atol=1e-5 * np.abs(force).max())

# A push of the world on the platform, force and moment at its origin: the rows of the inverse Jacobian are the legs'
# directions and their moments about the origin.
push = np.array([30.0, -20.0, -100.0, 4.0, 6.0, -5.0])
wrenches = np.zeros((machine.n_bodies, 6))
wrenches[bodies.index("platform")] = push
pushed = setsu.constrained_inverse_dynamics(machine, q, rest, rest, actuated=legs, external_wrenches=wrenches)
along = (balls - feet) / lengths[:, None]
plucker = np.hstack([along, np.cross(balls - platform[:3, 3], along)])
carried = np.linalg.solve(plucker.T, -push)
print("more force for the push (N)", np.round(carried, 2))
assert np.allclose(pushed.torque[drive] - force, carried, atol=1e-9 * np.abs(carried).max())

# With these forces the machine stays where it is.
held = setsu.constrained_dynamics(machine, q, rest, holding.torque)
assert np.abs(held.acceleration).max() < 1e-9
