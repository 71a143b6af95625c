"""A ball bounces, slides, and rolls: restitution, kinetic friction and rolling without slip against closed forms."""

import numpy as np

import setsu

radius, mass, g = 0.05, 0.2, 9.81
builder = setsu.MechanismBuilder("ball")
builder.add_body("ball", joint=setsu.Free(name="free"), mass=mass, inertia=np.eye(3) * 0.4 * mass * radius**2)
builder.add_contact_points("ball", (0, 0, 0), setsu.Material(0.3, 0.3, restitution=0.8), radius=radius)
ball = builder.build()
floor = setsu.Environment.floor()

# Dropped from 0.2 m: every bounce keeps e² of the height.
run = setsu.simulate(ball, [0, 0, radius + 0.2, 0, 0, 0, 1], np.zeros(6), 1.2, 1e-3, environment=floor)
touches = [event.time for event in run.events if event.kind == "touch"]
heights = [
    run.q[(run.time > a) & (run.time < b), 2].max() - radius for a, b in zip(touches, [*touches[1:], 1.2], strict=True)
]
for number, height in enumerate(heights[:2], start=1):
    print(f"bounce {number}: {height:.4f} m, exact {0.2 * 0.64**number:.4f} m")

# Pushed along the floor without spin: it slides until it rolls, at 5/7 of its speed.
pushed = setsu.simulate(ball, [0, 0, radius, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], 0.5, 1e-3, environment=floor)
stick = next(event.time for event in pushed.events if event.kind == "stick")
velocity = np.diff(pushed.q[:, 0]) / 1e-3
print(
    f"rolls after {stick:.3f} s, exact {2.0 / (7.0 * 0.3 * g):.3f} s; "
    f"at {velocity[-1]:.4f} m/s, exact {5.0 / 7.0:.4f} m/s"
)

assert abs(heights[0] - 0.128) < 0.02 * 0.128
assert abs(stick - 2.0 / (7.0 * 0.3 * g)) < 2e-3
assert abs(velocity[-1] - 5.0 / 7.0) < 2e-3
