"""An arm whose forearm is driven from the shoulder through a parallelogram: gravity does not couple its two motors.

The forearm stays parallel to the lever, whatever the upper arm does. Every body then moves as a sum of one part that
depends on the upper arm's angle and one that depends on the lever's, so does the potential energy, and each motor's
holding torque depends on its own angle only. The last check cuts the loop open and puts its force there instead.
"""

import numpy as np

import setsu

arm = setsu.sample_mechanisms.parallelogram_arm()
motors = ["upper", "lever"]
n = 9
shoulder, lever = np.meshgrid(np.linspace(-0.6, 0.6, n), np.linspace(-0.5, 0.7, n), indexing="ij")
guess = np.zeros((n, n, arm.nq))
guess[..., 0], guess[..., 2] = shoulder, lever
# The four bars also close crossed over; a rough guess of the other angles says which way is meant.
guess[..., 1], guess[..., 3] = 0.9 * (lever - shoulder), 0.9 * (shoulder - lever)
q = setsu.close_loops(arm, guess, fixed=motors)
rest = np.zeros(arm.nv)
holding = setsu.constrained_inverse_dynamics(arm, q, rest, rest, actuated=motors)
upper_torque, lever_torque = holding.torque[..., 0], holding.torque[..., 2]
print(
    f"upper arm's motor holds {upper_torque.min():.2f} to {upper_torque.max():.2f} N m, the same for every lever angle"
)
print(
    f"lever's motor holds {lever_torque.min():.2f} to {lever_torque.max():.2f} N m, the same for every upper arm angle"
)

# Forearm parallel to the lever: its angle in the world is the lever's.
assert np.allclose(q[..., 0] + q[..., 1], lever, atol=1e-12)
assert np.abs(setsu.loop_error(arm, q)).max() < 1e-12
assert np.allclose(upper_torque, upper_torque[:, :1], atol=1e-11)
assert np.allclose(lever_torque, lever_torque[:1, :], atol=1e-11)

# Cut test, in fast motion: the open tree with the loop's wrench on both sides needs the same torques.
v = np.zeros(arm.nv)
v[0], v[2] = 2.0, -3.0
v[1], v[3] = v[2] - v[0], v[0] - v[2]
q_moving = q[2, 5]
moving = setsu.constrained_dynamics(arm, q_moving, v, np.array([8.0, 0.0, -5.0, 0.0]))
(loop,) = arm.loops
poses = setsu.body_poses(arm, q_moving)
a_index, b_index = arm.body_names.index(loop.body_a), arm.body_names.index(loop.body_b)
joint = (poses[b_index] @ loop.pose_b.matrix)[:3, 3]
force, moment = moving.loop_wrench[0, :3], moving.loop_wrench[0, 3:]
wrenches = np.zeros((arm.n_bodies, 6))
for index, sign in ((a_index, -1.0), (b_index, 1.0)):
    lever_arm = joint - poses[index][:3, 3]
    wrenches[index] = sign * np.concatenate([force, moment + np.cross(lever_arm, force)])
torque = setsu.inverse_dynamics(arm, q_moving, v, moving.acceleration, wrenches)
print(f"cut test: torques of the open tree {np.round(torque, 9)}, pin force {np.linalg.norm(force):.2f} N")
assert np.allclose(torque, [8.0, 0.0, -5.0, 0.0], atol=1e-10)
