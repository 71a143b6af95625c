"""A five-bar robot draws a circle: joint angles by the law of cosines, motor torques by virtual work.

Two motors turn the upper arms; the forearms meet in the tool. For a tool at distance s from a shoulder the elbow is
away from the line shoulder - tool by acos((upper² + s² - fore²) / (2 upper s)), by hand; `close_loops` finds the rest.
"""

import numpy as np

import setsu

upper, fore, ground = 0.4, 0.6, 0.3
robot = setsu.sample_mechanisms.five_bar(upper=upper, fore=fore, ground=ground)
motors = ["left_upper", "right_upper"]
n, period = 64, 1.2
phase = np.linspace(0.0, 2 * np.pi, n, endpoint=False)
tool = np.stack([0.15 + 0.12 * np.cos(phase), 0.62 + 0.12 * np.sin(phase)], axis=1)

# Upper arms by hand: the left elbow bends out to the left, the right one to the right.
angles = []
for shoulder, side in (((0.0, 0.0), 1.0), ((ground, 0.0), -1.0)):
    to_tool = tool - shoulder
    s = np.hypot(*to_tool.T)
    bend = np.arccos((upper**2 + s**2 - fore**2) / (2 * upper * s))
    angles.append(np.arctan2(to_tool[:, 1], to_tool[:, 0]) + side * bend)
left, right = angles
guess = np.zeros((n, 4))
guess[:, 0], guess[:, 2] = left - 3 * np.pi / 4, right - np.pi / 4  # q = 0: arms lean outwards by 45 degrees
q = setsu.close_loops(robot, guess, fixed=motors)
drawn = (setsu.body_poses(robot, q)[:, robot.body_names.index("left_fore")] @ [fore, 0, 0, 1])[:, [0, 2]]


def rate(samples: np.ndarray) -> np.ndarray:
    """Time derivative of something periodic, by its Fourier series: exact for a smooth motion."""
    order = np.fft.rfftfreq(n, 1 / n)
    order[-1] = 0.0
    return np.fft.irfft(2j * np.pi / period * order[:, None] * np.fft.rfft(samples, axis=0), n, axis=0)


v = rate(q)
a = rate(v)
result = setsu.constrained_inverse_dynamics(robot, q, v, a, actuated=motors)
power = np.sum(result.torque * v, axis=1)
energy = setsu.kinetic_energy(robot, q, v) + setsu.potential_energy(robot, q)

# A third motor in the left elbow is one too many: the three share, and the weighted sum of squares can only fall.
shared = setsu.constrained_inverse_dynamics(robot, q, v, a, actuated=[*motors, "left_fore"])
print(f"circle off by {np.abs(drawn - tool).max():.1e} m; work over the circle {power.mean() * period:.1e} J")
squares, shared_squares = (np.sum(r.torque**2, axis=1) for r in (result, shared))
print(f"mean sum of squared torques {squares.mean():.2f}, with a third motor {shared_squares.mean():.2f} N² m²")
assert np.abs(drawn - tool).max() < 1e-12
assert np.allclose(power, rate(energy[:, None])[:, 0], atol=1e-7 * np.abs(power).max())
assert abs(power.mean()) < 1e-7 * np.abs(power).max()
assert (shared.redundancy == 1).all()
assert (shared_squares <= squares * (1 + 1e-12)).all()
# Another sharing, the same motion: forward dynamics with the three torques gives the accelerations back.
again = setsu.constrained_dynamics(robot, q, v, shared.torque)
assert np.allclose(again.acceleration, a, atol=1e-7 * np.abs(a).max())
