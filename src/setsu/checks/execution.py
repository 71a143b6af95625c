"""The same numbers however they are computed: alone, in a batch, by generic or by specialised code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.result import CheckResult, compare, rounding_tolerance
from setsu.checks.states import condition_number, draw_states
from setsu.mechanism import Mechanism

__all__ = ["check_batches", "check_compiled_code"]

Array = NDArray[np.float64]

# More than one register and one tile full, and a remainder.
ROWS = 19


def check_batches(m: Mechanism, *, seed: int = 0, samples: int = ROWS) -> CheckResult:
    """Check that each row of a batch is, to the last bit, what the state gives alone."""
    s = draw_states(m, seed, samples)
    worst = 0.0
    functions: list[tuple[Callable[..., Array], tuple[Array, ...]]] = [
        (setsu.inverse_dynamics, (s.q, s.v, s.a)),
        (setsu.forward_dynamics, (s.q, s.v, s.tau)),
        (setsu.mass_matrix, (s.q,)),
    ]
    for function, arguments in functions:
        batch = function(m, *arguments)
        rows = np.array([function(m, *(part[k] for part in arguments)) for k in range(samples)])
        if not np.array_equal(batch, rows):
            difference = float(np.abs(batch - rows).max())
            worst = max(worst, difference) if not np.isnan(difference) else np.nan
    return CheckResult("batches", "row of a batch = state alone, bitwise", worst, 0.0)


def check_compiled_code(m: Mechanism, *, seed: int = 0, samples: int = ROWS) -> CheckResult:
    """Check that code specialised to the mechanism agrees with the generic code."""
    s = draw_states(m, seed, samples)
    fast = setsu.compile(m, ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
    condition = condition_number(m, s.q)
    pairs = [
        (fast.inverse_dynamics(s.q, s.v, s.a), setsu.inverse_dynamics(m, s.q, s.v, s.a), 1.0),
        (fast.forward_dynamics(s.q, s.v, s.tau), setsu.forward_dynamics(m, s.q, s.v, s.tau), condition),
        (fast.mass_matrix(s.q), setsu.mass_matrix(m, s.q), 1.0),
    ]
    results = [
        compare("compiled code", "compiled = generic", left, right, [right], rounding_tolerance(m.nv, k))
        for left, right, k in pairs
    ]
    return max(results, key=lambda result: np.inf if np.isnan(result.worst) else result.worst / result.tolerance)
