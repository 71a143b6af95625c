"""The torque that turns a slider-crank at constant speed, and the force in its pin, beside the textbook.

Crank r, rod s, crank angle theta: the slider is at x = r cos(theta) + sqrt(s² - r² sin²(theta)). Power is conserved:
torque x speed = rate of kinetic and potential energy. Along x only the pin pushes the slider: with m x''.
"""

import numpy as np

import setsu

r, s, slider_mass, speed = 0.2, 0.6, 1.0, 20.0
engine = setsu.sample_mechanisms.slider_crank(crank=r, rod=s, slider_mass=slider_mass)

# One turn in 128 steps. Closing from the configuration before follows the turning crank.
theta = np.linspace(0.0, 2 * np.pi, 128, endpoint=False)
q, guess = np.empty((128, 3)), engine.neutral()
for k, angle in enumerate(theta):
    guess[0] = angle
    q[k] = guess = setsu.close_loops(engine, guess, fixed=["crank"])


def rate(samples: np.ndarray) -> np.ndarray:
    """Time derivative of something periodic, by its Fourier series: exact for a smooth motion."""
    order = np.fft.rfftfreq(len(samples), 1 / len(samples))
    order[-1] = 0.0
    return np.fft.irfft(1j * speed * order[:, None] * np.fft.rfft(samples, axis=0), len(samples), axis=0)


# The crank turns on and on, the rod's angle from the crank turns back with it; the rest is periodic.
turning = np.array([1.0, -1.0, 0.0])
v = rate(q - theta[:, None] * turning) + speed * turning
a = rate(v)
result = setsu.constrained_inverse_dynamics(engine, q, v, a, actuated=["crank"])
torque = result.torque[:, 0]

# At q = 0 the crank stands upright and the slider is sqrt(s² - r²) from the axle.
angle = theta + np.pi / 2
x = r * np.cos(angle) + np.sqrt(s**2 - (r * np.sin(angle)) ** 2)
slider_force = slider_mass * a[:, 2]
energy = setsu.kinetic_energy(engine, q, v) + setsu.potential_energy(engine, q)
power = rate(energy[:, None])[:, 0]
print(f"torque from {torque.min():.2f} to {torque.max():.2f} N m, mean {torque.mean():.1e}")
print(f"pin force along the slider up to {np.abs(result.loop_wrench[:, 0, 0]).max():.1f} N")
assert np.allclose(q[:, 2] + np.sqrt(s**2 - r**2), x, atol=1e-12)
assert np.allclose(torque * speed, power, atol=1e-9 * np.abs(power).max())
# The loop's body_a is the rod, body_b the slider: its wrench is what the rod does to the slider.
assert np.allclose(result.loop_wrench[:, 0, 0], slider_force, atol=1e-9 * np.abs(slider_force).max())
# No friction: over a turn the motor does no work.
assert abs(torque.mean()) < 1e-9 * np.abs(torque).max()
