"""A planar two-link arm against the equations every textbook prints."""

import numpy as np

import setsu

m1, m2, l1, c1, c2, i1, i2, g = 2.0, 1.2, 0.5, 0.25, 0.2, 0.05, 0.02, 9.81

builder = setsu.MechanismBuilder("two_link", gravity=(0, -g, 0))
builder.add_body(
    "upper", joint=setsu.Revolute((0, 0, 1)), mass=m1, center_of_mass=(c1, 0, 0), inertia=np.diag([i1, i1, i1])
)
builder.add_body(
    "lower", parent="upper", joint=setsu.Revolute((0, 0, 1)), placement=setsu.placement((l1, 0, 0)),
    mass=m2, center_of_mass=(c2, 0, 0), inertia=np.diag([i2, i2, i2]),
)  # fmt: skip
arm = builder.build()

q, v, a = np.array([0.4, -1.1]), np.array([1.3, 0.7]), np.array([-0.5, 2.0])
cos2, sin2 = np.cos(q[1]), np.sin(q[1])
M = np.array(
    [
        [i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos2), i2 + m2 * (c2**2 + l1 * c2 * cos2)],
        [i2 + m2 * (c2**2 + l1 * c2 * cos2), i2 + m2 * c2**2],
    ]
)
coriolis = m2 * l1 * c2 * sin2 * np.array([-2 * v[0] * v[1] - v[1] ** 2, v[0] ** 2])
gravity = g * np.array(
    [(m1 * c1 + m2 * l1) * np.cos(q[0]) + m2 * c2 * np.cos(q[0] + q[1]), m2 * c2 * np.cos(q[0] + q[1])]
)

print("closed form:", M @ a + coriolis + gravity)
print("setsu:      ", setsu.inverse_dynamics(arm, q, v, a))
assert np.allclose(setsu.mass_matrix(arm, q), M, rtol=1e-14)
assert np.allclose(setsu.gravity_torque(arm, q), gravity, rtol=1e-14)
assert np.allclose(setsu.inverse_dynamics(arm, q, v, a), M @ a + coriolis + gravity, rtol=1e-13)
