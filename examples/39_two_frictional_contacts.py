"""An arm slides on two surfaces with friction at once: what nishiguchi2014 leaves to later work, with its balances.

Four links in a plane; the second one's end rides on a shelf, the hand on the floor. Both contacts may only push, both
rub with f_t = K f_n; every force between links comes with the motion.
"""

import math

import numpy as np

import setsu

LENGTH, MASS, K = 0.5, 1.0, 0.1
ANGLES = np.radians([-60.0, -100.0, -60.0])  # of links 1 to 3 from the vertical

b = setsu.MechanismBuilder("four links", gravity=(0.0, 0.0, -9.8))
parent, place = "world", setsu.placement()
for k in range(1, 5):
    b.add_body(f"link{k}", parent, setsu.Revolute((1, 0, 0), f"q{k}", damping=3.0), placement=place, mass=MASS,
               center_of_mass=(0, 0, LENGTH / 2), inertia=np.diag([1, 1, 0.01]) * MASS * LENGTH**2 / 12)  # fmt: skip
    parent, place = f"link{k}", setsu.placement((0, 0, LENGTH))
arm = b.build()

# A link at angle θ points along (0, -sin θ, cos θ). The shelf is as high as the second link's end, and the last angle
# brings the hand to the floor.
heights = LENGTH * np.cumsum(np.cos(ANGLES))
shelf = float(heights[1])
angles = np.append(ANGLES, -math.acos(-heights[2] / LENGTH))
q0 = np.diff(angles, prepend=0.0)
contacts = [
    setsu.SurfaceContact("link2", (0, 0, LENGTH), setsu.Plane((0, 0, 1), shelf), friction=K, name="elbow"),
    setsu.SurfaceContact("link4", (0, 0, LENGTH), setsu.Plane((0, 0, 1), 0.0), friction=K, name="hand"),
]
rec = setsu.simulate(arm, q0, np.zeros(4), duration=2.0, step=0.005, contacts=contacts)

# Both points stay on their surfaces, and press on them.
poses = setsu.body_poses(arm, rec.q)
ends = poses[..., :3, 3] + poses[..., :3, 2] * LENGTH
off = [float(np.abs(ends[:, 1, 2] - shelf).max()), float(np.abs(ends[:, 3, 2]).max())]
print(f"points leave their surfaces by at most {off[0]:.0e} m (elbow) and {off[1]:.0e} m (hand)")
print(f"normal forces from {rec.normal_force.min(axis=0).round(2)} to {rec.normal_force.max(axis=0).round(2)} N")

# The balances (37)-(40) of every link: forces of its neighbours, its contact and its weight are its mass times its
# acceleration.
R, V = poses[..., :3, :3], setsu.body_velocities(arm, rec.q, rec.v)
A = setsu.body_accelerations(arm, rec.q, rec.v, rec.acceleration)
lever = R @ np.array([0.0, 0.0, LENGTH / 2])
centre = A[..., :3] + np.cross(A[..., 3:], lever) + np.cross(V[..., 3:], np.cross(V[..., 3:], lever))
force = rec.joint_wrenches[..., :3].copy()
total = force.copy()
total[:, :-1] -= force[:, 1:]
for link, contact in ((1, 0), (3, 1)):
    total[:, link] += rec.normal_force[:, contact, None] * np.array([0.0, 0.0, 1.0]) + rec.friction_force[:, contact]
total[..., 2] -= MASS * 9.8
worst = float(np.abs(total - MASS * centre).max())
print(f"(37)-(40) for four links and two contacts hold within {worst:.0e} N")

# Friction is K f_n against the sliding wherever a point slides, less where it sticks.
slide = np.stack([np.gradient(ends[:, link, 1], rec.time) for link in (1, 3)], axis=1)
rubbing = np.abs(slide) > 1e-3
opposed = rec.friction_force[..., 1] + K * rec.normal_force * np.sign(slide)
inner = rubbing[1:-1] & rubbing[:-2] & rubbing[2:]
print(f"sliding points rub with K f_n within {np.abs(opposed[1:-1][inner]).max():.0e} N")

# The paper's own construction, all of it out of repeated inverse dynamics, finds the same for both at once.
k = len(rec.time) // 4
state = rec.q[k], rec.v[k], np.zeros(4)
one = setsu.constrained_dynamics(arm, *state, contacts=contacts)
two = setsu.constrained_dynamics(arm, *state, contacts=contacts, method="extended_newton_euler")
print(
    f"extended Newton-Euler differs by {np.abs(one.normal_force - two.normal_force).max():.0e} N at {rec.time[k]:.2f} s"
)

assert max(off) < 1e-9
assert rec.normal_force.min() > 0.0
assert worst < 1e-9
assert np.abs(opposed[1:-1][inner]).max() < 1e-6
assert np.abs(one.normal_force - two.normal_force).max() < 1e-8
