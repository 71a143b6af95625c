"""How few numbers an arm's torques depend on: with names for its lengths, with a loop, and as one would use it.

A two-joint parallelogram (example 1 of kawasaki1995) has forty inertial parameters. Moving in a horizontal plane its
torques depend on four combinations of them, as those of a serial two-link arm do; upright on eight. The check measures
nothing but torques: it draws other bodies with the same minimum parameters and finds the same torques.
"""

import numpy as np

import setsu

flat = setsu.sample_mechanisms.two_joint_parallelogram(a2=0.5, a2p=0.3)
found = setsu.minimum_parameters(flat)
print(f"horizontal: {found.count} of {found.matrix.shape[1]} ({found.method})")
print(found)
print("has the dynamics of a serial arm:", setsu.serial_equivalence(flat, "link2").equivalent)

upright = setsu.sample_mechanisms.two_joint_parallelogram(a2=0.5, a2p=0.3, vertical=True)
print(f"upright: {setsu.minimum_parameters(upright).count}")

# A name is a float to all else.
a2 = setsu.symbol("a2", 0.5)
print("2 a2 =", 2 * a2, "called", (2 * a2).expression)

# Bodies that differ in ways no torque can tell: move along the null space of the regrouping matrix.
arm = setsu.sample_mechanisms.puma560()
p = setsu.minimum_parameters(arm)
rng = np.random.default_rng(0)
theta = setsu.inertial_parameters(arm)
null_space = np.linalg.svd(p.matrix)[2][p.count :]
other = theta + rng.standard_normal(len(null_space)) @ null_space
q, v, a = rng.standard_normal((3, 1000, arm.nv))
regressor = setsu.regressor(arm, q, v, a)
difference = np.abs(regressor @ (other - theta)).max() / np.abs(regressor @ theta).max()
print(f"PUMA 560: {p.count} of {len(theta)}; bodies {np.abs(other - theta).max():.1f} apart, torques {difference:.1e}")

# One more direction than the null space, and the torques do change.
felt = np.abs(regressor @ p.matrix[5]).max() / np.abs(regressor @ theta).max()

assert found.count == 4
assert found.names[1] == "MSx_2 - a2p/a2*MSx_2p"
assert setsu.minimum_parameters(upright).count == 8
assert p.count == 36
assert difference < 1e-12
assert felt > 1e-3
