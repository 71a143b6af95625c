"""Balls, boxes and capsules fall into a bin and come to rest on each other."""

import numpy as np

import setsu

rng = np.random.default_rng(1)
builder, q0, count, half = setsu.MechanismBuilder("bin"), [], 18, 0.12
for k in range(count):
    a = rng.uniform(0.03, 0.05, 3)
    shape = (
        setsu.Shape("sphere", (0.5 * a[0],)),
        setsu.Shape("box", tuple(a)),
        setsu.Shape("capsule", (0.4 * a[0], a[1])),
    )[k % 3]
    builder.add_body(
        f"body{k}", joint=setsu.Free(name=f"free{k}"), mass=0.2, inertia=5e-5 * np.eye(3), collisions=[shape]
    )
    layer, place = divmod(k, 4)
    turn = rng.normal(size=4)
    q0 += [
        *(0.06 * np.array([2 * (place % 2) - 1, place // 2 * 2 - 1])),
        0.06 + 0.08 * layer,
        *turn / np.linalg.norm(turn),
    ]
bodies = builder.build()
walls = [
    # Corners go around counter-clockwise as seen from inside.
    setsu.Polygon(
        [(half * x - s * half * y, half * y + s * half * x, z) for s, z in ((1, 0), (-1, 0), (-1, 2), (1, 2))]
    )
    for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))
]
ground = setsu.Environment.floor() + setsu.Environment(walls)

run = setsu.simulate(bodies, q0, np.zeros(bodies.nv), 1.0, 1e-3, environment=ground, body_contacts=True, record_every=5)
places = run.q.reshape(len(run.time), count, 7)[:, :, :3]
log = run.contact_log
print(f"energy {run.energy[0]:.2f} J at first, {run.energy[-1]:.2f} J in the end")
print(f"highest body at {places[-1, :, 2].max():.3f} m, deepest overlap {1e3 * log.depth.max():.3f} mm")
print(f"{int(log.unconverged.sum())} rows with steps that did not converge")
assert np.abs(places[-1, :, :2]).max() < half  # all are in the bin
assert places[-1, :, 2].min() > 0.0
assert np.diff(run.energy).max() < 1e-9 * run.energy[0]
assert log.depth.max() < 1e-4
