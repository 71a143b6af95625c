"""Derivatives of the dynamics predict a small change of the motion to second order."""

import numpy as np

import setsu
from setsu.sample_mechanisms import seven_joint_arm

arm = seven_joint_arm()
random = np.random.default_rng(4)
q, v, tau = arm.random_configuration(random), random.normal(size=arm.nv), random.normal(size=arm.nv)
d = setsu.forward_dynamics_derivatives(arm, q, v, tau)
a = setsu.forward_dynamics(arm, q, v, tau)

direction = random.normal(size=(3, arm.nv))
errors = []
for size in (1e-3, 1e-4):
    dq, dv, dtau = size * direction
    moved = setsu.forward_dynamics(arm, setsu.integrate(arm, q, dq, 1.0), v + dv, tau + dtau)
    predicted = a + d.dq @ dq + d.dv @ dv + d.dtau @ dtau
    errors.append(np.abs(moved - predicted).max())
    print(f"change {size:.0e}: prediction off by {errors[-1]:.2e} rad/s²")
# Ten times smaller change, a hundred times smaller error.
assert 80 < errors[0] / errors[1] < 125
