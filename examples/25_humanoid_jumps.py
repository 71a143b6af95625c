"""A humanoid jumps and lands on its feet; spun in the air it still does, thanks to its landing controller.

The plan lets the body leave the floor without spin; in the air nothing but gravity acts. The second run is spun by a
blow in mid-air: following the plan alone it would fall over; with hips that answer the tilt it stands.
"""

import numpy as np

import setsu
from setsu.control.humanoid import Biped, Jump, Landing, plan_jump
from setsu.control.humanoid.balance import contact_positions, momentum_error, tilt

m = setsu.sample_mechanisms.hoap1_like()
biped = Biped(m)
motion = plan_jump(biped, Jump(flight=0.2, settling=0.9))
floor = setsu.Environment.floor()

servo = setsu.JointServo(300.0, 4.0, Landing(motion).position, motion.velocity, motion.feed_forward)

run = setsu.simulate(m, motion.q[0], np.zeros(m.nv), duration=motion.time[-1], torque=servo, environment=floor)

# The longest time without any contact force is the flight.
free = np.concatenate([[False], ~run.contact_force.any(axis=(1, 2)), [False]])
edges = np.flatnonzero(free[1:] != free[:-1]).reshape(-1, 2)
begin, end = edges[np.argmax(edges[:, 1] - edges[:, 0])]
time, height = run.time[begin : end + 1], setsu.center_of_mass(m, run.q[begin : end + 1])[:, 2]
gravity = -2.0 * np.polyfit(time - time[0], height, 2)[0]
# A semi-implicit step has the velocity of its middle: at a state it is the mean of those around.
speed = setsu.momentum(m, run.q[begin : begin + 2], run.v[begin : begin + 2])[:, 2].mean() / m.total_mass
rise = height.max() - height[0]
lean = np.degrees(tilt(biped, run.q[run.time >= time[-1] + 1.0])).max()
points = contact_positions(m, run.q)
depth = max(0.0, -points[..., 2].min())
balance = momentum_error(biped, run.q, run.v, run.acceleration, points, run.contact_force).max()
print(f"flew {time[-1] - time[0]:.3f} s, rose {1e3 * rise:.2f} mm (v²/2g {1e3 * speed**2 / 2 / 9.81:.2f} mm), "
      f"g = {gravity:.4f} m/s²; stands within {lean:.1e}°")  # fmt: skip
print(f"deepest point {1e3 * depth:.1e} mm, momentum balanced to {balance:.0e} m g")
assert time[-1] - time[0] >= 0.15
assert abs(gravity - 9.81) < 1e-3 * 9.81
assert abs(rise / (speed**2 / (2 * 9.81)) - 1.0) < 0.02
assert lean < 3.0
assert depth < 1e-4
assert balance < 1e-9

# A blow 60 ms after take-off adds 2 rad/s of pitch; the run goes on from there.
blow = begin + 60
spun = run.v[blow].copy()
spun[4] += 2.0
left = motion.after(run.time[blow])
leans = []
for position in (left.position, Landing(left).position):
    follow = setsu.JointServo(300.0, 4.0, position, left.velocity, left.feed_forward)
    again = setsu.simulate(m, run.q[blow], spun, duration=1.2, torque=follow, environment=floor)
    leans.append(np.degrees(tilt(biped, again.q[-1])))
print(f"spun by 2 rad/s: leans by {leans[0]:.0f}° with the plan alone, by {leans[1]:.1f}° with the landing controller")
assert leans[0] > 45.0
assert leans[1] < 3.0
