"""Derivatives of the dynamics against fourth-order differences along every direction of q, v and a or tau."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.result import CheckResult, compare, fourth_order_difference, rounding_tolerance
from setsu.checks.states import condition_number, draw_states
from setsu.mechanism import Mechanism

__all__ = ["check_forward_derivatives", "check_inverse_derivatives"]

Array = NDArray[np.float64]
Dynamics = Callable[[Array, Array, Array], Array]


def check_inverse_derivatives(m: Mechanism, *, seed: int = 0, samples: int = 3) -> CheckResult:
    """Check inverse_dynamics_derivatives."""
    s = draw_states(m, seed, samples)
    exact = setsu.inverse_dynamics_derivatives(m, s.q, s.v, s.a)
    by_differences = _differences(m, lambda q, v, a: setsu.inverse_dynamics(m, q, v, a), s.q, s.v, s.a)
    left = np.concatenate([exact.dq, exact.dv, exact.da], axis=-1)
    tolerance = rounding_tolerance(m.nv, differences=True)
    terms = [left, setsu.inverse_dynamics(m, s.q, s.v, s.a)]
    return compare("inverse derivatives", "d ID = differences", left, by_differences, terms, tolerance)


def check_forward_derivatives(m: Mechanism, *, seed: int = 0, samples: int = 3) -> CheckResult:
    """Check forward_dynamics_derivatives."""
    s = draw_states(m, seed, samples)
    exact = setsu.forward_dynamics_derivatives(m, s.q, s.v, s.tau)
    by_differences = _differences(m, lambda q, v, tau: setsu.forward_dynamics(m, q, v, tau), s.q, s.v, s.tau)
    left = np.concatenate([exact.dq, exact.dv, exact.dtau], axis=-1)
    tolerance = rounding_tolerance(m.nv, condition_number(m, s.q), differences=True)
    terms = [left, setsu.forward_dynamics(m, s.q, s.v, s.tau)]
    return compare("forward derivatives", "d FD = differences", left, by_differences, terms, tolerance)


def _differences(m: Mechanism, dynamics: Dynamics, q: Array, v: Array, third: Array) -> Array:
    """Return the derivatives by q, v and the third argument side by side, (N, nv, 3 nv)."""
    directions = np.eye(m.nv)
    # Every state is repeated once per direction: (N, nv directions, ...).
    Q, V, A = (np.repeat(part[:, None, :], m.nv, axis=1) for part in (q, v, third))
    along = np.broadcast_to(directions, V.shape)
    by_q = fourth_order_difference(lambda h: dynamics(setsu.integrate(m, Q, along, h), V, A))
    by_v = fourth_order_difference(lambda h: dynamics(Q, V + h * along, A))
    by_third = fourth_order_difference(lambda h: dynamics(Q, V, A + h * along))
    return np.concatenate([np.swapaxes(part, -1, -2) for part in (by_q, by_v, by_third)], axis=-1)
