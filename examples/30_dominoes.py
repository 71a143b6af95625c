"""A row of dominoes: the first is pushed, all fall, one after the other."""

import numpy as np

import setsu

size, mass, count, gap = np.array([0.008, 0.024, 0.048]), 0.01, 6, 0.024
inertia = np.diag(mass / 12 * (size @ size - size**2))
corners = [(sx * size[0] / 2, sy * size[1] / 2, sz * size[2] / 2) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
builder = setsu.MechanismBuilder("dominoes")
q0 = []
for k in range(count):
    shape = setsu.Shape("box", tuple(size))
    builder.add_body(f"d{k}", joint=setsu.Free(name=f"free{k}"), mass=mass, inertia=inertia, collisions=[shape])
    builder.add_contact_points(f"d{k}", corners, setsu.Material(0.6, 0.5))
    q0 += [k * gap, 0.0, size[2] / 2, 0.0, 0.0, 0.0, 1.0]
row = builder.build()
v0 = np.zeros(row.nv)
v0[0], v0[4] = 0.12, 5.0  # the first leans towards +x

run = setsu.simulate(row, q0, v0, 0.6, 1e-3, environment=setsu.Environment.floor(), body_contacts=True)
q = run.q.reshape(len(run.time), count, 7)
tilt = np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(q[:, :, 3:6], axis=2), 0, 1)))
falls = [float(run.time[np.argmax(tilt[:, k] > 20)]) for k in range(count)]
print("passes 20 degrees at", ", ".join(f"{t:.3f} s" for t in falls))
print(f"energy {run.energy[0] * 1e3:.2f} mJ at first, {run.energy[-1] * 1e3:.2f} mJ in the end")
assert all(t > 0 for t in falls)
assert falls == sorted(falls)
assert np.diff(run.energy).max() < 1e-3 * run.energy[0]
