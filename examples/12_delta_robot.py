"""A Delta robot picks and places: closed-form inverse kinematics, a level platform, torques that do no work in a round.

For a platform at p, arm k moves in a vertical plane of its own: with x, z the rods' lower end as seen from the shoulder
in that plane and y across it,  x² + y² + z² + upper² - fore² = 2 upper (x cos(angle) - z sin(angle)).
Nothing but the lengths of six rods holds the platform level; the loops of the model know no more than that either.
"""

import numpy as np

import setsu

base, upper, fore, platform = 0.2, 0.3, 0.7, 0.06
robot = setsu.sample_mechanisms.delta_robot(base, upper, fore, platform)
arms = ["arm1", "arm2", "arm3"]
at = [robot.q_slices[robot.joint_index(arm)].start for arm in arms]
drive = [robot.v_slices[robot.joint_index(arm)].start for arm in arms]

# A tilted loop in space, smooth and periodic.
n, period = 64, 0.5
phase = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
path = np.stack([0.15 * np.cos(phase), 0.1 * np.sin(phase), -0.6 + 0.05 * np.cos(2 * phase)], axis=1)

angles = np.empty((n, 3))
for k in range(3):
    turn = 2 * np.pi * k / 3
    outward, across = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
    x, y, z = path @ outward + platform - base, path @ across, path[:, 2]
    reach = (x**2 + y**2 + z**2 + upper**2 - fore**2) / (2 * upper)
    # Of two solutions the elbow points outwards: the smaller angle below the horizontal.
    angles[:, k] = np.arctan2(-z, x) - np.arccos(reach / np.hypot(x, z))

guess = np.tile(robot.neutral(), (n, 1))
guess[:, at] = angles
q = setsu.close_loops(robot, guess, fixed=arms)
poses = setsu.body_poses(robot, q)[:, robot.body_names.index("platform")]


def rate(samples: np.ndarray) -> np.ndarray:
    """Time derivative of something periodic, by its Fourier series: exact for a smooth motion."""
    order = np.fft.rfftfreq(n, 1 / n)
    order[-1] = 0.0
    return np.fft.irfft(2j * np.pi / period * order[:, None] * np.fft.rfft(samples, axis=0), n, axis=0)


# The platform is level, so its body frame is the world's: velocities of the free joint are rates of the position.
v = np.zeros((n, robot.nv))
v[:, :3] = rate(q[:, :3])
v[:, 6:] = rate(q[:, 7:])
a = rate(v)
result = setsu.constrained_inverse_dynamics(robot, q, v, a, actuated=arms)
torque = result.torque[:, drive]
power = np.sum(torque * v[:, drive], axis=1)
energy = setsu.kinetic_energy(robot, q, v) + setsu.potential_energy(robot, q)
tilt = np.abs(poses[:, :3, :3] - np.eye(3)).max()
print(f"path off by {np.abs(poses[:, :3, 3] - path).max():.1e} m, tilt {tilt:.1e} rad")
print(f"arm torques up to {np.abs(torque).max():.2f} N m, work in a round {power.mean() * period:.1e} J")
assert np.abs(poses[:, :3, 3] - path).max() < 1e-11
assert tilt < 1e-11
assert np.allclose(power, rate(energy[:, None])[:, 0], atol=1e-8 * np.abs(power).max())
assert abs(power.mean()) < 1e-8 * np.abs(power).max()
# Forward and inverse dynamics agree, and so do the forces in the ball joints.
forward = setsu.constrained_dynamics(robot, q, v, result.torque)
assert np.allclose(forward.acceleration, a, atol=1e-8 * np.abs(a).max())
assert np.allclose(forward.loop_wrench, result.loop_wrench, atol=1e-8 * np.abs(result.loop_wrench).max())
