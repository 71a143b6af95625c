"""Seeded states of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.mechanism import Mechanism

__all__ = ["States", "condition_number", "draw_states"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class States:
    """Configurations q (N, nq), velocities v, accelerations a and torques tau (N, nv)."""

    q: Array
    v: Array
    a: Array
    tau: Array


def draw_states(m: Mechanism, seed: int, samples: int) -> States:
    """Draw states: configurations within the limits, the rest normally distributed with deviation one.

    Velocities keep off zero, where Coulomb friction jumps and has no derivative.
    """
    random = np.random.default_rng(seed)
    q = np.array([m.random_configuration(random) for _ in range(samples)]).reshape(samples, m.nq)
    v, a, tau = (random.normal(size=(samples, m.nv)) for _ in range(3))
    return States(q, v + np.copysign(0.1, v), a, tau)


def condition_number(m: Mechanism, q: Array) -> float:
    """Return the largest condition number of the mass matrix over the configurations; inf when one is singular."""
    worst = 1.0
    for M in setsu.mass_matrix(m, q):
        eigenvalues = np.linalg.eigvalsh(M) if np.isfinite(M).all() else np.array([np.nan])
        if not eigenvalues.size:
            continue
        if not eigenvalues[0] > 0.0:
            return float("inf")
        worst = max(worst, float(eigenvalues[-1] / eigenvalues[0]))
    return worst
