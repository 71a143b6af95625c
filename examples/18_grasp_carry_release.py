"""Two arms grasp an object, carry it between them, and one of them walks off with it: open, closed, branched.

Nodal inverse dynamics needs no new equation when the structure changes: what the hands hold is input data. Each change
moves the torque by what is taken over, and by nothing else.
"""

import numpy as np

import setsu

b = setsu.MechanismBuilder("two arms")
for side, x in (("left", -0.2), ("right", 0.2)):
    parent, place = "world", setsu.placement((x, 0, 0))
    for k in (1, 2):
        b.add_body(f"{side}{k}", parent, setsu.Revolute((0, -1, 0), f"{side}_joint{k}"), placement=place, mass=0.5,
                   center_of_mass=(0.15, 0, 0), inertia=np.diag([1e-4, 4e-3, 4e-3]))  # fmt: skip
        parent, place = f"{side}{k}", setsu.placement((0.3, 0, 0))
arms = b.build()
print(setsu.member_length_matrix(arms))

# Both arms swing in step, so that their hands stay 0.4 m apart.
time = np.linspace(0.0, 3.0, 601)
one = np.stack([1.2 + 0.3 * np.sin(2 * time), -0.8 + 0.2 * np.cos(2 * time)], axis=1)
q = np.concatenate([one, one], axis=1)

hands = [("left2", (0.3, 0, 0)), ("right2", (0.3, 0, 0))]
mass, squeeze = 0.4, 5.0
grasp, hand_over = 1.0, 2.0
# The grip closes and opens within 0.2 s; until then a table carries the object.
grip = squeeze * np.clip(np.minimum(time - grasp, hand_over - time) / 0.2, 0.0, 1.0)
between = setsu.HeldObject(mass, hands, grip_force=grip, during=(grasp, hand_over))
alone = setsu.HeldObject(mass, hands[:1], during=(hand_over, np.inf))

free = setsu.nodal_inverse_dynamics(arms, time, q)
torque = setsu.nodal_inverse_dynamics(arms, time, q, held_objects=[between, alone])

# The same from Newton-Euler: forces of the hands on the object, by Jacobians.
rates = np.stack([0.6 * np.cos(2 * time), -0.4 * np.sin(2 * time)], axis=1)
turns = np.stack([-1.2 * np.sin(2 * time), -0.8 * np.cos(2 * time)], axis=1)
v, a = np.concatenate([rates, rates], axis=1), np.concatenate([turns, turns], axis=1)
J = [setsu.point_jacobian(arms, q, body, point) for body, point in hands]
dJ = setsu.point_jacobian_rate(arms, q, v, *hands[0])
acceleration = np.einsum("tij,tj->ti", J[0], a) + np.einsum("tij,tj->ti", dJ, v)
W, u = mass * (acceleration - np.array(arms.gravity)), np.array([1.0, 0.0, 0.0])
together, carried = (time >= grasp) & (time < hand_over), time >= hand_over
left = together[:, None] * (0.5 * W + grip[:, None] * u) + carried[:, None] * W
right = together[:, None] * (0.5 * W - grip[:, None] * u)
load = np.einsum("tij,ti->tj", J[0], left) + np.einsum("tij,ti->tj", J[1], right)
exact = setsu.inverse_dynamics(arms, q, v, a) + load

error = np.abs(torque - exact).max() / np.abs(exact).max()
print(f"largest difference from Newton-Euler + Jᵀ F: {error:.1e} of the largest torque")
for name, at in (("grasp", grasp), ("release", hand_over)):
    k = int(np.searchsorted(time, at))
    print(f"{name}: torques jump by {np.round(torque[k] - torque[k - 1], 3)} N m, the load by "
          f"{np.round(load[k] - load[k - 1], 3)} N m")  # fmt: skip

assert error < 1e-4
# The jump is the physical one: without the load the torque runs on as smoothly as it does without an object.
rest = torque - load
for at in (grasp, hand_over):
    k = int(np.searchsorted(time, at))
    assert np.abs(torque[k] - torque[k - 1]).max() > 0.1
    assert np.abs((rest[k] - rest[k - 1]) - (free[k] - free[k - 1])).max() < 1e-3
