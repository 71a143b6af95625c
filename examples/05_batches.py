"""Ten thousand states in one call give, row by row and bit by bit, what each state gives alone."""

import numpy as np

import setsu
from setsu.sample_mechanisms import puma560

robot = puma560()
random = np.random.default_rng(1)
count = 10_000
q, v, a = (random.uniform(-1, 1, (count, robot.nv)) for _ in range(3))

tau = setsu.inverse_dynamics(robot, q, v, a)
alone = np.array([setsu.inverse_dynamics(robot, q[k], v[k], a[k]) for k in range(0, count, 997)])
print(f"{count} states: {tau.shape}, rows equal to single calls: {np.array_equal(tau[::997], alone)}")

# Arguments broadcast: one configuration, many accelerations.
from_rest = setsu.inverse_dynamics(robot, q[0], np.zeros(robot.nv), a)
M = setsu.mass_matrix(robot, q[0])
assert np.array_equal(tau[::997], alone)
assert np.allclose(from_rest, a @ M + setsu.gravity_torque(robot, q[0]), atol=1e-10)
