"""Adaptive control of a closed-link arm on its minimum parameters, the use kawasaki1995 has in mind.

A parallelogram arm with two drives depends on eight combinations of its forty inertial parameters. Slotine and Li's law
follows a motion without knowing any of them:

    s = u' - u_r',  u_r' = u_d' - λ (u - u_d)
    tau = W(q, v, v_r, a_r) σ̂ - K s,    dσ̂/dt = -Γ Wᵀ s

W is the regressor with Coriolis terms split evenly between v and v_r, which keeps M' - 2 C skew: the rate of
sᵀ M s / 2 + σ̃ᵀ Γ⁻¹ σ̃ / 2 is then -sᵀ K s whatever σ is.
"""

import numpy as np

import setsu

arm = setsu.sample_mechanisms.two_joint_parallelogram(vertical=True, named=False)
minimum = setsu.minimum_parameters(arm)
print(f"{minimum.count} of {10 * arm.n_bodies} parameters: {'; '.join(minimum.names)}")

# Closure: joints 1, 2, 1', 2' from the drives 1 and 1'.
N = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, 1.0], [1.0, -1.0]])
start = setsu.close_loops(arm, [0.4, 1.2, 0.4 + 1.2 + np.pi, -1.2 - np.pi], fixed=["joint1", "joint1p"])
drives = [arm.joint_index("joint1"), arm.joint_index("joint1p")]


def regressor(q, v, v_r, a_r):
    """W (2, 8): W σ = M a_r + C v_r + g, in the drives."""
    zero = np.zeros(4)

    def quadratic(rate):
        return setsu.regressor(arm, q, rate, zero) - setsu.regressor(arm, q, zero, zero)

    Y = setsu.regressor(arm, q, zero, a_r) + 0.5 * (quadratic(v + v_r) - quadratic(v) - quadratic(v_r))
    return (N.T @ Y)[:, minimum.independent]


def target(t):
    """The drives' angles, velocities and accelerations: two waves each, rich enough to tell parameters apart."""
    size, rate = np.array([[0.5, 0.2], [0.4, 0.25]]), np.array([[2.0, 5.0], [3.0, 6.5]])
    wave, slope, bend = size * np.sin(rate * t), size * rate * np.cos(rate * t), -size * rate**2 * np.sin(rate * t)
    return start[drives] + wave.sum(axis=1), slope.sum(axis=1), bend.sum(axis=1)


class Adaptive:
    """The law above at 1 kHz; without `learning`, plain feedback with the same gains."""

    def __init__(self, learning):
        self.estimate, self.learning = np.zeros(minimum.count), learning
        self.sample, self.torque, self.history = -1, np.zeros(4), []

    def __call__(self, t, q, v):
        sample = int(t / PERIOD + 1e-6)
        if sample == self.sample:
            return self.torque
        self.sample = sample
        angle, rate, bend = target(t)
        error, u_rate = q[drives] - angle, v[drives]
        reference = rate - LAMBDA * error
        s = u_rate - reference
        W = regressor(q, v, N @ reference, N @ (bend - LAMBDA * (u_rate - rate)))
        self.torque = np.zeros(4)
        self.torque[drives] = W @ self.estimate - GAIN * s
        if self.learning:
            self.estimate = self.estimate - PERIOD * GAMMA * (W.T @ s)
        self.history.append((t, *error, *self.estimate))
        return self.torque


PERIOD, LAMBDA, GAIN = 2e-3, 8.0, 6.0
GAMMA = 0.5 * np.abs(minimum.values) + 0.05
speed = np.zeros(4)
speed[:] = N @ target(0.0)[1]
errors = {}
for name, learning in (("feedback alone", False), ("adaptive", True)):
    law = Adaptive(learning)
    rec = setsu.simulate(arm, start, speed, duration=6.0, step=PERIOD, torque=law)
    history = np.array(law.history)
    late = history[:, 0] > 4.5
    errors[name] = float(np.sqrt(np.mean(history[late, 1:3] ** 2)))
    print(f"{name}: RMS error of the drives {errors[name]:.5f} rad in the last 1.5 s, "
          f"loop closed within {np.abs(setsu.loop_error(arm, rec.q)).max():.0e}")  # fmt: skip

# What it has learned gives the torques of the real arm along the motion.
q, v, a = rec.q[-1], rec.v[-1], rec.acceleration[-1]
W = regressor(q, v, v, a)
learned, true = W @ law.estimate, W @ minimum.values
print(f"torques by the learned parameters {learned.round(2)} N m, by the true ones {true.round(2)} N m")

assert errors["adaptive"] < 0.1 * errors["feedback alone"]
assert np.abs(learned - true).max() < 0.15 * np.abs(true).max()
