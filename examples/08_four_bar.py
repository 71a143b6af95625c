"""A four-bar linkage swings freely: the loop stays closed, the energy stays, Freudenstein's equation holds.

Crank a, coupler b, rocker c, ground d: with crank angle phi and rocker angle psi (both from the ground bar),

    a² + c² + d² - b² - 2 a d cos(phi) + 2 c d cos(psi) - 2 a c cos(phi - psi) = 0,

which says that the coupler keeps its length. It comes from geometry alone and knows nothing of the simulation.
"""

import numpy as np

import setsu

a, b, c, d = 0.4, 1.0, 0.8, 1.0
linkage = setsu.sample_mechanisms.four_bar(crank=a, coupler=b, rocker=c, ground=d)
print(linkage.summary())

# A crank speed alone is no motion: the other joints must follow. Close the loop a little further on and take the rate.
ahead, behind = (setsu.close_loops(linkage, [s, 0.0, 0.0], fixed=["crank"]) for s in (1e-5, -1e-5))
v0 = 3.0 * (ahead - behind) / 2e-5
run = setsu.simulate(linkage, linkage.neutral(), v0, duration=2.0, step=1e-2, integrator="rk8")

# The rods lie along x of their body frames.
poses = setsu.body_poses(linkage, run.q)
crank, rocker = (linkage.body_names.index(name) for name in ("crank", "rocker"))
phi, psi = (np.arctan2(poses[:, k, 2, 0], poses[:, k, 0, 0]) for k in (crank, rocker))
freudenstein = (
    a**2 + c**2 + d**2 - b**2 - 2 * a * d * np.cos(phi) + 2 * c * d * np.cos(psi) - 2 * a * c * np.cos(phi - psi)
)
drift = np.abs(run.energy - run.energy[0]).max()
turns = (run.q[-1, 0] - run.q[0, 0]) / (2 * np.pi)
print(f"crank turned {turns:.2f} times, loop open by at most {run.constraint_error.max():.1e} m, energy {drift:.1e} J")
assert run.constraint_error.max() < 1e-12
assert np.abs(freudenstein).max() < 1e-12
assert drift < 1e-8 * np.ptp(run.energy - setsu.kinetic_energy(linkage, run.q, run.v))
