"""Build a floating crane with every kind of friction, save it as text, and read back exactly the same mechanism."""

import tempfile
from pathlib import Path

import numpy as np

import setsu

builder = setsu.MechanismBuilder("crane")
builder.add_body("boat", joint=setsu.Free(), mass=900.0, inertia=np.diag([300.0, 700.0, 800.0]))
builder.add_body(
    "tower", parent="boat", joint=setsu.Revolute((0, 0, 1), name="slew", damping=25.0, coulomb=12.0, armature=3.0),
    placement=setsu.placement((0.5, 0, 1.0)), mass=120.0, center_of_mass=(0, 0, 0.8),
    inertia=np.diag([30.0, 30.0, 4.0]),
)  # fmt: skip
builder.add_body(
    "boom", parent="tower", joint=setsu.Prismatic((1, 0, 0), name="reach", damping=40.0),
    placement=setsu.placement((0, 0, 1.6), rpy=(0, -0.3, 0)), mass=60.0, center_of_mass=(1.0, 0, 0),
    inertia=np.diag([1.0, 25.0, 25.0]),
)  # fmt: skip
builder.add_body(
    "load", parent="boom", joint=setsu.Spherical(name="hook"), placement=setsu.placement((2.0, 0, 0)),
    mass=200.0, center_of_mass=(0, 0, -1.5), inertia=np.diag([8.0, 8.0, 8.0]),
)  # fmt: skip
crane = builder.build()
print(crane.summary())

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "crane.toml"
    crane.save(path)
    again = setsu.load(path)

# A free fall with all friction acting: inverse dynamics confirms that no torque is needed for it.
q, v = crane.random_configuration(3), 0.1 * np.ones(crane.nv)
a = setsu.forward_dynamics(crane, q, v, np.zeros(crane.nv))
tau = setsu.inverse_dynamics(crane, q, v, a)
print(f"torques of the free motion: at most {np.abs(tau).max():.1e}")
assert again == crane
assert crane.total_mass == 1280.0
assert np.abs(tau).max() < 1e-9
