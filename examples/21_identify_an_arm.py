"""An arm is weighed by moving it: plan a motion, measure it with noise, identify, and check what was claimed.

Held against the arm that the data were made with: its base parameters, and its torques in a motion that was not used.
"""

import numpy as np

import setsu

nominal = setsu.sample_mechanisms.puma560()

# The arm in the laboratory: heavier towards the hand than its data sheet says, and its drives have friction.
parameters = setsu.inertial_parameters(nominal).reshape(-1, 10)
parameters = (parameters * np.linspace(1.0, 1.4, len(parameters))[:, None]).ravel()
drives = {"armature": [0.3, 0.4, 0.2, 0.02, 0.02, 0.01], "damping": [2, 3, 1, 0.1, 0.1, 0.05]}
drives["coulomb"] = [3, 4, 2, 0.2, 0.2, 0.1]
real = setsu.with_parameters(nominal, parameters, drives)

# A motion of ten seconds within the limits of the joints, chosen to tell the parameters apart.
motion = setsu.excitation_trajectory(nominal, duration=10.0, seed=0, trials=300)
print(f"condition number of the motion: {motion.condition_number:.1f}")

# What the sensors say: 1e-5 rad and 1 % of the largest torque of noise, both white.
rng = np.random.default_rng(0)
tau = setsu.inverse_dynamics(real, motion.q, motion.v, motion.a)
tau += 0.01 * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
q = motion.q + 1e-5 * rng.standard_normal(motion.q.shape)

fit = setsu.identify(nominal, motion.time, q, tau)
print(fit)
for name, value, std in zip(fit.model.labels, fit.parameters, fit.std, strict=True):
    if name.startswith(("fc", "fv")):
        print(f"  {name:12} {value:7.3f} ± {std:.1g}")

# Base parameters of the real arm, in the same order: inertias, then drive inertia, viscous and dry friction.
true = fit.model.matrix @ np.concatenate([parameters, drives["armature"], drives["damping"], drives["coulomb"]])
deviation = np.abs(fit.parameters - true) / fit.std
print(f"{len(true)} base parameters, largest deviation {deviation.max():.2f} standard deviations")
assert np.mean(deviation <= 3.0) >= 0.95

# The bodies found can exist, and they move like the real ones where they were never measured.
assert fit.physically_consistent
found = fit.physically_consistent.to_mechanism()
other = setsu.excitation_trajectory(nominal, duration=5.0, seed=7, trials=20)
expected, predicted, before = (setsu.inverse_dynamics(m, other.q, other.v, other.a) for m in (real, found, nominal))
off = np.abs(predicted - expected).max(axis=0) / np.abs(expected).max(axis=0)
print("error of the torques in another motion (%):", np.round(100 * off, 2))
assert off.max() < 0.05
assert (np.abs(before - expected).max(axis=0) / np.abs(expected).max(axis=0)).max() > 0.2
