"""A wheel rolls down a ramp and over bumps of a heightfield: energy goes from height to speed and back."""

import numpy as np

import setsu

radius, mass, g = 0.1, 2.0, 9.81
x = np.linspace(-3.0, 3.0, 121)
profile = np.where(x < -1.0, 0.2 * (-1.0 - x), 0.0) + 0.01 * np.cos(4.0 * np.pi * x) * (x > 0.0)
ground = setsu.Environment.heightfield(np.repeat(profile[:, None], 3, axis=1), (6.0, 1.0))

builder = setsu.MechanismBuilder("wheel")
around, across = 0.5 * mass * radius**2, mass * (3 * radius**2 + 0.04**2) / 12
builder.add_body(
    "wheel",
    joint=setsu.Free(name="free"),
    mass=mass,
    inertia=np.diag([across, across, around]),
    collisions=[setsu.Shape("cylinder", (radius, 0.04))],
)
wheel = builder.build()
# Its axle lies along y; it starts at rest on the ramp, which falls by 0.2 m per metre.
half, slope = np.sqrt(0.5), np.arctan(0.2)
start = np.array([-2.2, 0.0, 0.2 * 1.2]) + radius * np.array([np.sin(slope), 0.0, np.cos(slope)])
run = setsu.simulate(wheel, [*start, half, 0, 0, half], np.zeros(6), 3.0, 1e-3, environment=ground)

# Down the ramp ¾ m v² = m g (drop); where it meets the flat, a plastic blow: angular momentum about the new contact.
flat = int(np.argmax(run.q[:, 0] > -0.5))
speed = (run.q[flat + 1, 0] - run.q[flat, 0]) / run.step
meeting = radius / np.cos(slope) - radius * np.tan(slope) * np.sin(slope) - radius * np.cos(slope)
drop = start[2] - radius - meeting
expected = np.sqrt(g * drop / 0.75) * (np.cos(slope) + 0.5) / 1.5
print(f"on the flat: {speed:.4f} m/s, rolling without slip {expected:.4f} m/s")
print(f"ends at x = {run.q[-1, 0]:.2f} m; deepest {run.contact_log.depth.max() * 1e6:.3f} µm")
assert abs(speed / expected - 1.0) < 2e-3
assert np.diff(run.energy).max() < 1e-6 * run.energy[0]
