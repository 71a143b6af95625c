"""A humanoid of 48 cm and 6 kg walks ten steps: planned zero-moment point, preview control, servos, rigid contact.

The plan gives angles and torques of twenty joints; the floor gives what forces it can: at eight corners of the soles,
within their cones of friction. Every step of 1 ms is checked against the balance of momentum.
"""

import numpy as np

import setsu
from setsu.control.humanoid import Biped, Walk, plan_walk
from setsu.control.humanoid.balance import (
    contact_positions,
    ground_zero_moment_point,
    momentum_error,
    support_margin,
    tilt,
)

m = setsu.sample_mechanisms.hoap1_like()
biped = Biped(m)
walk = Walk(steps=10, stride=0.03, step_time=0.6, double_support=0.15, height=0.225)
motion = plan_walk(biped, walk)
servo = setsu.JointServo(300.0, 4.0, motion.position, motion.velocity, motion.feed_forward)

run = setsu.simulate(
    m, motion.q[0], np.zeros(m.nv), duration=motion.time[-1], torque=servo, environment=setsu.Environment.floor()
)

points, forces = contact_positions(m, run.q), run.contact_force
zmp = ground_zero_moment_point(points, forces)
margin = support_margin(zmp, points[..., :2], points[..., 2] < 1e-5)
travel = run.q[-1, 0] - run.q[0, 0]
lean = np.degrees(tilt(biped, run.q)).max()
mean_force = forces[..., 2].sum(axis=1).mean() / biped.weight
depth = max(0.0, -points[..., 2].min())
balance = momentum_error(biped, run.q, run.v, run.acceleration, points, forces).max()
print(f"walked {travel:.4f} m of {walk.travel:.4f} m, leaning by at most {lean:.4f}°; "
      f"zero-moment point {1e3 * np.nanmedian(margin):.1f} mm inside (median)")  # fmt: skip
print(
    f"mean force {mean_force:.9f} weights, deepest point {1e3 * depth:.1e} mm, momentum balanced to {balance:.0e} m g"
)

# Where it was to go, upright, the zero-moment point well inside the soles.
assert abs(travel - walk.travel) < 0.03 * walk.travel
assert lean < 1.0
assert np.nanmedian(margin) > 0.015
# The floor carries the weight, lets nothing through, and is the only thing that changes momentum.
assert abs(mean_force - 1.0) < 1e-6
assert depth < 1e-4
assert balance < 1e-9
