"""Dry friction of joints holds: a pendulum comes to rest off the vertical, a block stands until pushed hard enough.

A joint with `coulomb` sticks when it stops and friction can hold it, and slips when the demand exceeds the limit; both
are found in time, so that nothing chatters around zero velocity and the step may be long.
"""

import math

import numpy as np

import setsu

# A pendulum whose bearing resists with 0.5 N m: each swing ends 2 c / (m g l) earlier, about.
b = setsu.MechanismBuilder("pendulum")
b.add_body("bob", joint=setsu.Revolute((0, -1, 0), "hinge", coulomb=0.5), mass=1.0, center_of_mass=(0, 0, -1.0))
pendulum = b.build()
rec = setsu.simulate(pendulum, [1.0], [0.0], duration=12.0, step=0.02, integrator="rk8")
for event in rec.events:
    print(event)
rest = float(rec.q[-1, 0])
print(f"comes to rest at {math.degrees(rest):.3f} degrees, where gravity asks for {9.81 * abs(math.sin(rest)):.3f} N m")
assert rec.events[-1].kind == "stick"
assert 9.81 * abs(math.sin(rest)) <= 0.5
assert np.ptp(rec.q[rec.time > rec.events[-1].time]) == 0.0

# A block pushed to and fro by 6 sin t against 4 N: it stands until 6 sin t = 4, and again after every half period.
b = setsu.MechanismBuilder("block")
b.add_body("block", joint=setsu.Prismatic((1, 0, 0), "slide", coulomb=4.0), mass=2.0, inertia=np.eye(3))
block = b.build()
push = lambda t, q, v: [6.0 * math.sin(t)]  # noqa: E731
rec = setsu.simulate(block, [0.0], [0.0], duration=10.0, step=0.05, torque=push, integrator="rk8")
slips = [event.time for event in rec.events if event.kind == "slip"]
print(f"slips at {', '.join(f'{time:.6f}' for time in slips)} s")
assert [event.kind for event in rec.events] == ["slip", "stick"] * 3
assert np.abs(np.array(slips) - (math.asin(4.0 / 6.0) + math.pi * np.arange(3))).max() < 1e-6
worst = float(np.abs(rec.ledger.integration).max())
print(f"every joule is booked, to {worst:.0e} J")
assert worst < 1e-9
