"""Laws of energy: what the torques' work becomes, and the skew symmetry behind it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.dissipation import dissipated_power
from setsu.checks.result import CheckResult, compare, fourth_order_difference, rounding_tolerance
from setsu.checks.states import draw_states
from setsu.mechanism import Mechanism
from setsu.mechanism.reductions import without_dissipation

__all__ = ["check_coriolis_matrix", "check_energy_rate"]

Array = NDArray[np.float64]


def check_energy_rate(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check d/dt (kinetic + potential energy) = v · tau - P along a motion; P is what friction, dampers and drag take.

    The kinetic energy is vᵀ M v / 2, so that armature counts. P comes from the elements one by one.
    """
    s = draw_states(m, seed, samples)

    def energy(t: float) -> Array:
        # Near t = 0 any path with these velocities and accelerations will do.
        q, v = setsu.integrate(m, s.q, s.v, t), s.v + t * s.a
        kinetic = 0.5 * np.einsum("ki,kij,kj->k", v, setsu.mass_matrix(m, q), v)
        return kinetic + setsu.potential_energy(m, q)

    power_parts = s.v * setsu.inverse_dynamics(m, s.q, s.v, s.a)
    lost = dissipated_power(m, s.q, s.v, s.a)
    rate = fourth_order_difference(energy)
    tolerance = rounding_tolerance(m.nv, differences=True)
    return compare(
        "energy rate",
        "d/dt (T + V) = v · tau - power of friction, dampers and drag",
        rate,
        power_parts.sum(axis=-1) - lost,
        [power_parts, lost, energy(0.0)],
        tolerance,
    )


def check_coriolis_matrix(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check that dM/dt - 2 C is skew-symmetric and that C v is the velocity-dependent part of the bias."""
    rigid = without_dissipation(m)
    s = draw_states(m, seed, samples)
    C = setsu.coriolis_matrix(rigid, s.q, s.v)
    rate = fourth_order_difference(lambda t: setsu.mass_matrix(rigid, setsu.integrate(rigid, s.q, s.v, t)))
    N = rate - 2.0 * C
    at_rest = setsu.bias_torque(rigid, s.q, np.zeros_like(s.v))
    moving = setsu.bias_torque(rigid, s.q, s.v)
    Cv = np.einsum("kij,kj->ki", C, s.v)
    zero = np.concatenate([N + np.swapaxes(N, -1, -2), (Cv + at_rest - moving)[..., None]], axis=-1)
    terms = [rate, C, setsu.mass_matrix(rigid, s.q), at_rest, moving]
    tolerance = rounding_tolerance(m.nv, differences=True)
    return compare("Coriolis matrix", "dM/dt - 2C skew, C v = bias - gravity", zero, 0.0 * zero, terms, tolerance)
