"""Five boxes stand on each other for ten seconds: each interface carries exactly what lies above it.

Contacts between bodies come from their collision shapes; the lowest box stands on the floor with its corners.
"""

import numpy as np

import setsu

edge, mass, count, g = 0.1, 1.0, 5, 9.81
shape = setsu.Shape("box", (edge, edge, edge))
corners = [(sx * edge / 2, sy * edge / 2, sz * edge / 2) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
builder = setsu.MechanismBuilder("stack")
q0 = []
for k in range(count):
    name = f"box{k}"
    builder.add_body(
        name, joint=setsu.Free(name=f"free{k}"), mass=mass, inertia=np.eye(3) * mass * edge**2 / 6, collisions=[shape]
    )
    builder.add_contact_points(name, corners, setsu.Material(0.5, 0.4))
    q0 += [0.01 * (-1) ** k, 0.0, edge * (0.5 + k), 0.0, 0.0, 0.0, 1.0]  # a little zigzag
stack = builder.build()

run = setsu.simulate(
    stack,
    q0,
    np.zeros(stack.nv),
    10.0,
    2e-3,
    environment=setsu.Environment.floor(),
    body_contacts=True,
    record_every=10,
)
drift = np.abs(run.q - run.q[0]).max()
weight = run.contact_force[5:, :, 2].sum(axis=1)
print(f"moved at most {drift:.1e} in 10 s; floor carries {weight.mean():.6f} N, exact {count * mass * g:.6f} N")
assert drift < 1e-5
assert np.allclose(weight, count * mass * g, rtol=1e-6)

# What each box presses on the one below, upward on the first of the pair.
between = run.body_contacts
for pair, force in zip(between.pairs, between.force[-1], strict=True):
    above = count - 1 - min(int(name.removeprefix("box")) for name in pair)
    print(f"{' on '.join(pair)}: {force[2]:.6f} N, exact {above * mass * g:.6f} N")
    assert np.isclose(abs(force[2]), above * mass * g, rtol=1e-5)
assert len(between.pairs) == count - 1
