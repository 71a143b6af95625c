"""Two fingers hold a capsule by friction alone: it does not creep."""

import numpy as np

import setsu

mass, squeeze, g = 0.045, 12.0, 9.81
builder = setsu.MechanismBuilder("grasp")
for side in (-1, 1):
    name = "left" if side < 0 else "right"
    builder.add_body(
        name,
        joint=setsu.Prismatic((0, 1, 0), name=f"slide {name}"),
        placement=setsu.Pose(translation=(0.0, 0.035 * side, 0.0)),
        mass=0.1,
        inertia=np.eye(3) * 1e-4,
        collisions=[setsu.Shape("box", (0.04, 0.02, 0.06))],
    )
builder.add_body(
    "capsule",
    joint=setsu.Free(name="free"),
    mass=mass,
    inertia=np.diag([3e-5, 3e-5, 1e-5]),
    collisions=[setsu.Shape("capsule", (0.025, 0.04))],
)
scene = setsu.with_contact_points(builder.build(), material=setsu.Material(0.8, 0.8))
q0 = [0.0, 0.0, 0, 0, 0, 0, 0, 0, 1]
force = np.zeros(scene.nv)
force[0], force[1] = squeeze, -squeeze
run = setsu.simulate(
    scene,
    q0,
    np.zeros(scene.nv),
    1.0,
    1e-3,
    torque=force,
    environment=setsu.Environment.floor(-1.0),
    body_contacts=True,
)
slip = abs(run.q[-1, 4] - run.q[500, 4]) / 0.5
between = run.body_contacts
print(f"slips {slip * 1e6:.4f} µm/s; fingers press with {between.normal_force[-1].round(3).tolist()} N")
assert slip < 1e-7
assert abs(between.force[-1, :, 2].sum()) < 1.01 * mass * g
