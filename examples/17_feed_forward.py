"""What feed-forward is worth: the same arm with feedback alone and with torques found beforehand, on honest terms.

The controller reckons with masses that are wrong by up to 10 %, samples every 2 ms, acts 2 ms later, sees angles
through noise and cannot exceed its torque limits; the feed-forward comes from the same wrong model.
"""

import numpy as np

import setsu
from setsu import control

arm = setsu.sample_mechanisms.seven_joint_arm()
model = control.mismatched(arm, 0.1, seed=3)
period = 0.002
time = np.arange(0.0, 1.0 + period / 2, period)
rate = 2 * np.pi * np.array([0.5, 0.7, 0.6, 0.8, 0.9, 1.0, 1.1])
q = np.array([0.0, 0.6, 0.0, 1.0, 0.0, 0.5, 0.0]) + 0.25 * (1 - np.cos(np.outer(time, rate)))
v, a = 0.25 * rate * np.sin(np.outer(time, rate)), 0.25 * rate**2 * np.cos(np.outer(time, rate))

target = control.SampledMotion(time, q, v, a)
feedback = control.JointFeedback(model, target, position_gain=400.0, velocity_gain=40.0, integral_gain=800.0)
weight = control.FeedForward.from_motion(model, time, q, 0 * v, 0 * a)
ahead = control.FeedForward.from_motion(model, time, q, v, a)
nodal = control.FeedForward.from_motion(model, time, q, method="nodal")

errors = {}
for name, law in {
    "feedback": feedback,
    "feedback + weight": feedback + weight,
    "feedback + Newton-Euler": feedback + ahead,
    "feedback + nodal": feedback + nodal,
}.items():
    real = law.limited(300.0).sampled(period, delay=period, position_noise=1e-5, velocity_noise=1e-4, seed=1)
    run = setsu.simulate(arm, q[0], v[0], duration=1.0, step=period, torque=real)
    errors[name] = float(np.sqrt(np.mean((run.q - q) ** 2)))
    print(f"{name:25s} RMS error {1e3 * errors[name]:7.3f} mrad, largest torque {np.abs(run.torque).max():.0f} N m")

# Knowing the dynamics to 10 % is worth a factor of three and more; how they are found does not matter.
assert errors["feedback + Newton-Euler"] <= errors["feedback"] / 3
assert errors["feedback + Newton-Euler"] < errors["feedback + weight"] < errors["feedback"]
assert np.isclose(errors["feedback + nodal"], errors["feedback + Newton-Euler"], rtol=0.01)
