"""Boxes on a conveyor belt: each is carried off by friction, one stays behind on a patch of ice."""

import numpy as np

import setsu

speed, friction, g = 0.5, 0.4, 9.81
belt = setsu.Polygon([(-1, -0.2, 0), (3, -0.2, 0), (3, 0.2, 0), (-1, 0.2, 0)], "belt", velocity=(speed, 0, 0))
ice = setsu.Polygon([(-1, 0.4, 0), (3, 0.4, 0), (3, 0.8, 0), (-1, 0.8, 0)], "ice", material=setsu.Material(0.01, 0.01))
builder = setsu.MechanismBuilder("boxes")
shape, q0 = setsu.Shape("box", (0.1, 0.1, 0.1)), []
for name, y in (("carried", 0.0), ("left behind", 0.6)):
    builder.add_body(name, joint=setsu.Free(name=f"free {name}"), mass=1.0, inertia=np.eye(3) / 600, collisions=[shape])
    q0 += [0, y, 0.05, 0, 0, 0, 1]
boxes = setsu.with_contact_points(builder.build(), material=setsu.Material(friction, friction))
v0 = np.zeros(12)
v0[6] = speed  # the second slides along the ice at the belt's speed
run = setsu.simulate(boxes, q0, v0, 1.0, 1e-3, environment=setsu.Environment([belt, ice]))

# Sliding for v/(μ g), which costs half of the belt's way in that time; then at rest on the belt.
carried = speed * run.time[-1] - 0.5 * speed**2 / (friction * g)
braked = speed * run.time[-1] - 0.5 * 0.01 * g * run.time[-1] ** 2
print(
    f"carried {run.q[-1, 0]:.6f} m, expected {carried:.6f} m; on the ice {run.q[-1, 7]:.6f} m, expected {braked:.6f} m"
)
assert abs(run.q[-1, 0] - carried) < 1e-5
assert abs(run.v[-1, 0] - speed) < 1e-8
assert abs(run.q[-1, 7] - braked) < 1e-6
