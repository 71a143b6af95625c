"""An arm grinds a sphere: it sticks, breaks loose, and slides against friction; every force is known on the way.

The tool is a point on the flange held to the sphere from outside. The controller presses it on with 40 N and pulls it
along a circle of latitude; friction is 0.3 of the normal force, against the sliding direction.
"""

import numpy as np

import setsu

arm = setsu.sample_mechanisms.seven_joint_arm()
q0 = np.array([0.3, 0.9, 0.0, 1.2, 0.2, 0.9, 0.0])
tip = setsu.body_poses(arm, q0)[-1] @ arm.frame("flange").pose.matrix
radius, friction, press = 0.3, 0.3, 40.0
normal = np.array([0.6, 0.0, 0.8])
center = tip[:3, 3] - radius * normal
tool = setsu.SurfaceContact("flange", (0, 0, 0), setsu.Sphere(center, radius), friction=friction)


def controller(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Weight carried, joints braked softly, the tool pressed on and drawn around the sphere ever harder."""
    J = setsu.point_jacobian(arm, q, "flange", (0, 0, 0))
    frame = arm.frame("flange")
    pose = setsu.body_poses(arm, q)[frame.body] @ frame.pose.matrix
    outward = (pose[:3, 3] - center) / radius
    around = np.cross((0.0, 0.0, 1.0), outward)
    force = -press * outward + min(60.0 * t, 30.0) * around / np.linalg.norm(around)
    return setsu.gravity_torque(arm, q) + J.T @ force - 2.0 * v


run = setsu.simulate(arm, q0, np.zeros(arm.nv), duration=1.0, step=5e-3, torque=controller, contacts=[tool])
for event in run.events:
    print(event)

J = setsu.point_jacobian(arm, run.q, "flange", (0, 0, 0))
slip = np.einsum("tij,tj->ti", J, run.v)
speed = np.linalg.norm(slip, axis=1)
slides = speed > 1e-6
normal_force, friction_force = run.normal_force[:, 0], run.friction_force[:, 0]
print(f"normal force {normal_force.min():.2f} to {normal_force.max():.2f} N; tool at {speed[-1]:.3f} m/s in the end; "
      f"off the sphere by at most {run.constraint_error.max():.1e} m")  # fmt: skip
# On the sphere, held by friction until the pull of 60 N/s x t reaches friction x press, sliding from then on.
assert run.constraint_error.max() < 1e-12
assert run.events[0].kind == "slip"
assert np.isclose(run.events[0].time, friction * press / 60.0, atol=1e-6)
assert not slides[:20].any()
assert slides[-20:].all()
assert (np.linalg.norm(friction_force[~slides], axis=1) <= friction * normal_force[~slides] * (1 + 1e-9)).all()
against = -friction * normal_force[slides, None] * slip[slides] / speed[slides, None]
assert np.allclose(friction_force[slides], against, atol=1e-8 * press)
# The ledger's friction work is the integral of force times slip.
power = np.sum(friction_force * slip, axis=1)
work = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.time))
assert np.isclose(run.ledger.contact_friction[-1], work, rtol=1e-3)
assert np.isclose(run.energy[-1] - run.energy[0], run.ledger.total[-1], atol=1e-9)
# Inverse of what the simulation did: motion and normal force give the controller's torque back.
inverse = setsu.constrained_inverse_dynamics(
    arm, run.q[slides], run.v[slides], run.acceleration[slides], contacts=[tool], normal_force=run.normal_force[slides]
)
assert np.allclose(inverse.torque, run.torque[slides], atol=1e-7)
