"""A quadruped stands on stiff servos and is dropped onto a plateau: 1 ms steps, implicit servos, every law kept."""

import numpy as np

import setsu

robot = setsu.sample_mechanisms.quadruped()
weight = robot.total_mass * 9.81
stand = robot.neutral()
stand[7:] = np.tile([0.0, 0.6, -1.2], 4)
stand[2] = 0.4 * np.cos(0.6) + 0.02
servo = setsu.JointServo(300.0, 4.0, stand)

run = setsu.simulate(robot, stand, np.zeros(robot.nv), 3.0, 1e-3, torque=servo, environment=setsu.Environment.floor())
feet = run.contact_force[-1, 8:, 2]
print(f"stands on {np.round(feet, 3)} N, sum {feet.sum():.6f} of {weight:.6f} N; trunk at {run.q[-1, 2]:.4f} m")
assert np.isclose(feet.sum(), weight, rtol=1e-5)
assert np.abs(run.v[-1]).max() < 1e-4

# Dropped onto a plateau of 4 cm: every point of the feet finds the polygon below it.
plateau = setsu.Environment.floor() + setsu.Environment.box((1.0, 1.0, 0.04), (0.0, 0.0, 0.02), name="plateau")
start = stand.copy()
start[2] += 0.04 + 0.1
drop = setsu.simulate(robot, start, np.zeros(robot.nv), 3.0, 1e-3, torque=servo, environment=plateau)
deepest = drop.constraint_error.max()
print(
    f"dropped 0.1 m: at most {deepest:.1e} m inside, peak force {drop.contact_force[:, :, 2].sum(axis=1).max():.0f} N"
)
print("first events:", "; ".join(str(event) for event in drop.events[:4]))
tilt = np.degrees(2.0 * np.arcsin(np.linalg.norm(drop.q[-1, 3:6])))
print(f"comes to rest with its trunk at {drop.q[-1, 2]:.3f} m, tilted by {tilt:.1f} degrees")
assert deepest < 1e-4
assert np.abs(drop.v[-1]).max() < 0.01
assert tilt < 10.0
assert np.isclose(drop.contact_force[-200:, :, 2].sum(axis=1).mean(), weight, rtol=1e-4)
