"""The forces in the joints of an arm at rest carry the weight of everything beyond them."""

from pathlib import Path

import numpy as np

import setsu

arm = setsu.load(Path(__file__).parent / "models" / "arm.urdf")
q, rest = arm.random_configuration(7), np.zeros(arm.nv)
wrenches = setsu.joint_wrenches(arm, q, rest, rest, frame="world")

# The tool is fixed to the flange, so the flange's joint carries both.
masses = np.array([3.8, 8.4, 2.3, 1.2, 1.2, 0.2 + 0.9])
for name, wrench, beyond in zip(arm.joint_names, wrenches, np.cumsum(masses[::-1])[::-1], strict=True):
    print(f"{name:8} vertical force {wrench[2]:8.4f} N, weight beyond {9.81 * beyond:8.4f} N")
    assert np.isclose(wrench[2], 9.81 * beyond, rtol=1e-12)
    assert np.allclose(wrench[:2], 0.0, atol=1e-10)
