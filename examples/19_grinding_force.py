"""A six-joint arm grinds a curved surface: it moves along an S-shaped path and presses with a set force, with friction.

The controller's model is wrong in its masses by up to 10 % and in the friction by a quarter; it samples every 4 ms,
acts 4 ms later, and sees angles and force through noise. Hybrid control moves the tool and pushes; force feedback
corrects.
"""

import numpy as np

import setsu
from setsu import control

arm = setsu.sample_mechanisms.puma560()
tool, tip = arm.body_names[-1], np.array([0.0, 0.0, 0.1])
q0 = np.array([0.3, -0.6, 0.4, 0.2, 0.8, 0.1])
x0 = setsu.body_poses(arm, q0)[-1] @ [*tip, 1.0]

# A saddle through the tool: bent one way along x, the other way along y.
surface = setsu.ImplicitSurface(f"z - {x0[2]} - 0.6*(x - {x0[0]})**2 + 0.4*(y - {x0[1]})**2")
wanted, period, duration = 40.0, 0.004, 1.2
touch = setsu.SurfaceContact(tool, tip, surface, friction=0.2)


def path(t):
    """An S along the saddle, without a stop: position, velocity, acceleration."""
    r, dr = t / duration, 1.0 / duration
    wave = 2 * np.pi * r
    u, du = 0.12 * r, 0.12 * dr
    v, dv, ddv = 0.05 * np.sin(wave), 0.1 * np.pi * dr * np.cos(wave), -0.2 * (np.pi * dr) ** 2 * np.sin(wave)
    z, dz = 0.6 * u**2 - 0.4 * v**2, 1.2 * u * du - 0.8 * v * dv
    ddz = 1.2 * du**2 - 0.8 * (v * ddv + dv**2)
    return x0[:3] + np.array([u, v, z]), np.array([du, dv, dz]), np.array([0.0, ddv, ddz])


model = control.mismatched(arm, 0.1, seed=5)
assumed = setsu.SurfaceContact(tool, tip, surface, friction=0.15)
sensor = control.ForceSensor(arm, [touch], noise=0.2, seed=1)
gains = {"position_gain": 400.0, "velocity_gain": 40.0}
rest = {"posture": q0, "posture_gain": 100.0, "posture_damping": 20.0}
law = control.HybridControl(model, assumed, path, wanted, **gains, **rest)
law = law + control.ForceFeedback(control.SurfacePress(model, assumed), wanted, sensor, 0.0, integral_gain=60.0)

# The arm is at work already: it moves along the path, and its drives hold what the next sample will correct.
v0 = np.linalg.pinv(setsu.point_jacobian(arm, q0, tool, tip)) @ path(0.0)[1]
holding = control.HybridControl(arm, touch, path, wanted, **gains, **rest)(0.0, q0, v0)
law = law.sampled(
    period, delay=period, position_noise=1e-5, velocity_noise=1e-4, seed=2, sensor=sensor, initial=holding
)
run = setsu.simulate(arm, q0, v0, duration=duration, step=period, torque=law, contacts=[touch])

force, friction = run.normal_force[:, 0], run.friction_force[:, 0]
places = (setsu.body_poses(arm, run.q)[:, -1] @ [*tip, 1.0])[:, :3]
off = np.linalg.norm(places - [path(t)[0] for t in run.time], axis=1)
print(f"normal force {force.min():.2f} to {force.max():.2f} N for {wanted:g} N; tool off its path by at most "
      f"{1e3 * off.max():.2f} mm; off the surface by {run.constraint_error.max():.0e} m")  # fmt: skip

# The set force within 5 %, all the way.
assert np.abs(force - wanted).max() <= 0.05 * wanted
assert off.max() < 2e-3
assert run.constraint_error.max() < 1e-12
# Friction is Coulomb's: 0.2 of the normal force against the motion.
J = setsu.point_jacobian(arm, run.q, tool, tip)
slip = np.einsum("tij,tj->ti", J, run.v)
assert (np.linalg.norm(slip, axis=1) > 0.05).all()
against = -0.2 * force[:, None] * slip / np.linalg.norm(slip, axis=1)[:, None]
assert np.allclose(friction, against, atol=1e-8)
