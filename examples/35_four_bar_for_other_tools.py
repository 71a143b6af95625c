"""A four-bar linkage with friction in the pin that closes it, as code for a controller and as a unit for simulators.

Its loop closes by no linear relation. The generated torque takes a closed state of all joints; its derivatives follow
closed motions. The unit (FMI 3.0) has one input, the torque of the crank, and keeps its loop closed at every step. The
checks run the code beside the library.
"""

import dataclasses
import tempfile

import numpy as np

import setsu

linkage = setsu.sample_mechanisms.four_bar()
(pin,) = linkage.loops
rubbing = dataclasses.replace(pin, joint=dataclasses.replace(pin.joint, damping=0.05))
linkage = dataclasses.replace(linkage, loops=(rubbing,))

# Torque of the crank in a closed state, and how it changes with the crank's angle, speed and acceleration.
functions = {}
for name in ("inverse_dynamics", "constrained_dynamics", "inverse_dynamics_derivatives"):
    code = setsu.generate(linkage, name, "python", actuated=["crank"])
    module: dict = {}
    exec(code.source, module)
    functions[name] = module[code.name]
    print(f"{name}: {code.operations.total} operations a call")

q = setsu.close_loops(linkage, [0.7, 0.5, 1.2], fixed=["crank"])
v, tau = np.zeros(3), 1.5
a = functions["constrained_dynamics"](q, v, [tau])
(again,) = functions["inverse_dynamics"](q, v, a)
by_angle, by_speed, by_acceleration = functions["inverse_dynamics_derivatives"](q, v, a)
print(f"crank accelerates by {a[0]:.4f} rad/s² under {tau} N m; that motion needs {again:.12f} N m")
print(f"inertia seen from the crank: {by_acceleration[0]:.5f} kg m²")

unit = setsu.generate(linkage, "constrained_dynamics", "fmu", fmi_version="3.0", actuated=["crank"])
with tempfile.TemporaryDirectory() as folder:
    (path,) = unit.write(folder)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB,", len(unit.unit.files), "files")

library = setsu.constrained_dynamics(linkage, q, v, [tau, 0.0, 0.0]).acceleration
assert np.abs(np.array(a) - library).max() < 1e-9 * np.abs(library).max()
assert abs(again - tau) < 1e-9
# From rest, torque is inertia times acceleration and what gravity asks: slopes tell the inertia exactly.
resting = functions["inverse_dynamics"](q, v, 0.0 * np.array(a))[0]
assert abs(resting + by_acceleration[0] * a[0] - tau) < 1e-9
