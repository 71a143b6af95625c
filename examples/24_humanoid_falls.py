"""A humanoid with its drives off is pushed and falls: every link may touch the floor, nothing gives energy back.

176 corners of boxes are contact points. Joints have damping and end at their limits; links touch each other where
they get there, but for neighbours across a joint with two axes.
"""

import numpy as np

import setsu
from setsu.control.humanoid import Biped, standing_posture
from setsu.control.humanoid.balance import contact_positions, momentum_error, tilt

m = setsu.sample_mechanisms.hoap1_like()
biped = Biped(m)
pushed = np.zeros(m.nv)
pushed[0] = 0.4  # m/s ahead

close = [
    (f"{side}_{a}", f"{side}_{b}") for side in ("left", "right") for a, b in (("foot", "shank"), ("pelvis", "thigh"))
]
run = setsu.simulate(
    m,
    standing_posture(biped),
    pushed,
    duration=1.5,
    environment=setsu.Environment.floor(),
    joint_stops=True,
    body_contacts=True,
    exclude=close,
)

points, forces = contact_positions(m, run.q), run.contact_force
touched = sorted({event.name.rsplit(" ", 1)[0] for event in run.events if event.kind == "touch"})
rise = np.diff(run.energy).max()
depth = max(0.0, -points[..., 2].min())
balance = momentum_error(biped, run.q, run.v, run.acceleration, points, forces).max()
print(f"{len(touched)} of {len(m.bodies)} links touched the floor; energy from {run.energy[0]:.3f} J to "
      f"{run.energy[-1]:.3f} J, never rising (largest change {rise:.1e} J)")  # fmt: skip
stopped = sorted({event.name for event in run.events if event.kind == "stop"})
beyond = max((m.lower[6:] - run.q[:, 7:]).max(), (run.q[:, 7:] - m.upper[6:]).max())
print(f"joints ended at {len(stopped)} limits, such as the {stopped[0]}; at most {max(beyond, 0.0):.0e} rad beyond")
print(f"leaning by {np.degrees(tilt(biped, run.q[-1])):.1f}° at rest (fastest {np.abs(run.v[-1]).max():.0e}), "
      f"deepest point {1e3 * depth:.1e} mm, momentum balanced to {balance:.0e} m g")  # fmt: skip

# It falls, hits the floor with more than its feet, bends no joint too far, loses energy in every step, comes to rest.
assert np.degrees(tilt(biped, run.q[-1])) > 45.0
assert "torso" in touched
assert stopped
assert beyond < 1e-5
assert rise <= 1e-9 * run.energy[0]
assert np.abs(run.v[-1]).max() < 1e-3
assert depth < 1e-4
assert balance < 1e-9
