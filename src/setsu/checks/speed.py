"""How long the library takes on a model: one state, and a state of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from setsu.dynamics import forward_dynamics, inverse_dynamics, mass_matrix
from setsu.mechanism import Mechanism

__all__ = ["Speed", "measure_speed"]

BATCH = 1024
SECONDS = 0.02


@dataclass(frozen=True)
class Speed:
    """Seconds of one function per state: called with one state, and with a batch on the threads set."""

    function: str
    single: float
    batch: float


def measure_speed(m: Mechanism, *, seed: int = 0) -> tuple[Speed, ...]:
    """Time the generic functions on a model; the fastest of repeated calls counts, about a tenth of a second in all.

    >>> from setsu.sample_mechanisms import pendulum
    >>> [speed.function for speed in measure_speed(pendulum())]
    ['inverse dynamics', 'forward dynamics', 'mass matrix']
    """
    random = np.random.default_rng(seed)
    q = np.tile(m.random_configuration(seed), (BATCH, 1))
    v, a = random.standard_normal((2, BATCH, m.nv))
    calls: tuple[tuple[str, Callable[[int | slice], object]], ...] = (
        ("inverse dynamics", lambda rows: inverse_dynamics(m, q[rows], v[rows], a[rows])),
        ("forward dynamics", lambda rows: forward_dynamics(m, q[rows], v[rows], a[rows])),
        ("mass matrix", lambda rows: mass_matrix(m, q[rows])),
    )
    return tuple(Speed(name, _fastest(call, 0), _fastest(call, slice(None)) / BATCH) for name, call in calls)


def _fastest(call: Callable[[int | slice], object], rows: int | slice) -> float:
    call(rows)
    fastest, end = np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        call(rows)
        fastest = min(fastest, time.perf_counter() - start)
    return float(fastest)
