"""A pendulum keeps its energy, and swings as long as the elliptic integral says.

The motion is computed with a hand-written fourth-order Runge-Kutta step around `forward_dynamics`.
"""

import numpy as np

import setsu

mass, length, start = 1.5, 0.8, 2.0
builder = setsu.MechanismBuilder("pendulum")
builder.add_body("bob", parent="world", joint=setsu.Revolute((0, 1, 0)), mass=mass, center_of_mass=(0, 0, -length))
pendulum = builder.build()


def rate(state: np.ndarray) -> np.ndarray:
    """Time derivative of (q, v) without torque."""
    q, v = state[:1], state[1:]
    return np.concatenate([v, setsu.forward_dynamics(pendulum, q, v, np.zeros(1))])


def energy(state: np.ndarray) -> float:
    """Kinetic and potential energy, J."""
    return float(setsu.kinetic_energy(pendulum, state[:1], state[1:]) + setsu.potential_energy(pendulum, state[:1]))


# Period of a point pendulum with amplitude A by the arithmetic-geometric mean: T = 2 pi sqrt(l/g) / agm(1, cos(A/2)).
x, y = 1.0, np.cos(start / 2)
while abs(x - y) > 1e-15:
    x, y = (x + y) / 2, np.sqrt(x * y)
period = 2 * np.pi * np.sqrt(length / 9.81) / x

steps = 2000
h = period / steps
state = np.array([start, 0.0])
first = energy(state)
drift = 0.0
for _ in range(steps):
    k1 = rate(state)
    k2 = rate(state + h / 2 * k1)
    k3 = rate(state + h / 2 * k2)
    k4 = rate(state + h * k3)
    state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    drift = max(drift, abs(energy(state) - first))

print(f"period {period:.6f} s; after it q = {state[0]:.12f} (started at {start}), energy drift {drift:.1e} J")
# Fourth order: errors of about (omega h)^4 = 1e-10.
assert abs(state[0] - start) < 1e-9
assert drift < 1e-9
