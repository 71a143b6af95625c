"""Torques of a closed-link arm for a small controller: few parameters, few operations, C99 without a library.

The six-joint arm of kawasaki1995 (example 3) drives its forearm through a parallelogram. Of its 80 inertial parameters
39 combinations act; the generated inverse dynamics takes the coordinates of the six drives and needs 444 operations,
sines and cosines included (the paper's program: 939). The check runs the code beside the library.
"""

import numpy as np

import setsu

DRIVES = ["joint1", "joint2", "joint2p", "joint4", "joint5", "joint6"]
arm = setsu.sample_mechanisms.six_joint_parallelogram_arm(a2=0.0, a4=0.0, named=False)
code = setsu.generate(arm, "inverse_dynamics", language="c", actuated=DRIVES)
count = code.operations
print(f"{count.total} operations: {count.add} additions, {count.mul} multiplications, {count.func} functions")
print(code.header)

# The same program as Python source, to run it here.
module: dict = {}
python = setsu.generate(arm, "inverse_dynamics", language="python", actuated=DRIVES)
exec(python.source, module)
torque = module[python.name]

# The closed arm in a random state: the joints nobody drives follow from the driven ones.
rng = np.random.default_rng(0)
worst = 0.0
for _ in range(20):
    u, du, ddu = rng.uniform(-1.0, 1.0, (3, 6))
    states = []
    for x, half_turn in ((u, np.pi), (du, 0.0), (ddu, 0.0)):
        states.append([x[0], x[1], x[2] - x[1] - half_turn, x[3], x[4], x[5], x[2], x[1] - x[2]])
    known = setsu.constrained_inverse_dynamics(arm, *states, actuated=DRIVES).torque
    known = known[[arm.joint_names.index(name) for name in DRIVES]]
    worst = max(worst, float(np.abs(np.array(torque(u, du, ddu)) - known).max() / np.abs(known).max()))
print(f"largest difference from the library: {worst:.1e} of the largest torque")

assert setsu.minimum_parameters(arm).count == 39
assert count.total <= 444
assert worst < 1e-12
