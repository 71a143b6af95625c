"""Theo Jansen's leg walks: every pin where two circles meet, a flat step, a motor that gets its work back.

Ten bars and a crank. Each pin is an intersection of two circles about pins found before; complex numbers do that in
one line and know nothing of loops. The motor's torque follows from virtual work; without friction its mean is zero.
"""

import numpy as np

import setsu

unit, speed, n = 0.01, 2 * np.pi, 256
leg = setsu.sample_mechanisms.jansen_leg(unit)
angle = np.linspace(0.0, 2 * np.pi, n, endpoint=False)

# Turn the crank step by step; each configuration is the guess for the next.
q, guess = np.empty((n, leg.nq)), leg.neutral()
for k in range(n):
    guess[0] = angle[k]
    q[k] = guess = setsu.close_loops(leg, guess, fixed=["crank"])


def meet(center_1, radius_1, center_2, radius_2):
    """Where circles about complex points meet, on the left on the way from the first to the second."""
    way = center_2 - center_1
    along = (abs(way) ** 2 + radius_1**2 - radius_2**2) / (2 * abs(way))
    return center_1 + way / abs(way) * (along + 1j * np.sqrt(radius_1**2 - along**2))


bars = unit * np.array([38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0])
a, b, c, d, e, f, g, h, i, j, k, l, m = bars  # noqa: E741  (Jansen's letters)
crank, pivot = m * np.exp(1j * angle), complex(-a, -l)
top = meet(pivot, b, crank, j)
back = meet(pivot, d, top, e)
knee = meet(crank, k, pivot, c)
ankle = meet(knee, g, back, f)
foot = meet(knee, i, ankle, h)
offset = leg.frame("foot").pose.matrix[:, 3]
found = (setsu.body_poses(leg, q)[:, leg.body_names.index("shin")] @ offset)[:, [0, 2]] @ [1, 1j]


def rate(samples: np.ndarray) -> np.ndarray:
    """Time derivative of something periodic, by its Fourier series: exact for a smooth motion."""
    order = np.fft.rfftfreq(n, 1 / n)
    order[-1] = 0.0
    return np.fft.irfft(1j * speed * order[:, None] * np.fft.rfft(samples, axis=0), n, axis=0)


# The crank turns on; the two rods on it turn back as much from the crank's point of view.
turning = np.zeros(leg.nv)
turning[[leg.joint_index(name) for name in ("crank", "top_rod", "bottom_rod")]] = (1, -1, -1)
v = rate(q - angle[:, None] * turning) + speed * turning
accelerations = rate(v)
torque = setsu.constrained_inverse_dynamics(leg, q, v, accelerations, actuated=["crank"]).torque[:, 0]
energy = setsu.kinetic_energy(leg, q, v) + setsu.potential_energy(leg, q)
power = rate(energy[:, None])[:, 0]

height = foot.imag - foot.imag.min()
stance = height < 0.1 * np.ptp(height)
stride = np.ptp(foot.real)
print(
    f"stride {stride:.3f} m, lift {np.ptp(height):.3f} m; on the lowest tenth of it for {stance.mean():.0%} of a turn"
)
print(f"motor {torque.min():.3f} to {torque.max():.3f} N m at one turn a second, mean {torque.mean():.1e}")
assert np.abs(found - foot).max() < 1e-11
assert np.abs(setsu.loop_error(leg, q)).max() < 1e-12
assert stance.mean() > 0.4
assert np.allclose(torque * speed, power, atol=1e-9 * np.abs(power).max())
assert abs(torque.mean()) < 1e-9 * np.abs(torque).max()

# Let go from a standstill, the leg swings and keeps its energy.
run = setsu.simulate(leg, q[0], np.zeros(leg.nv), duration=0.5, step=5e-3)
assert run.constraint_error.max() < 1e-12
assert np.abs(run.energy - run.energy[0]).max() < 1e-4 * np.abs(setsu.kinetic_energy(leg, run.q, run.v)).max()
