"""Seeded states of a mechanism, and the mechanism reduced to what a law speaks about."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.mechanism import Body, Mechanism

__all__ = ["States", "condition_number", "draw_states", "without_dissipation", "without_joint_extras"]

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


def without_dissipation(m: Mechanism) -> Mechanism:
    """Return the mechanism without friction and dampers: its energy changes by the torques' work only."""
    bodies = tuple(_with_joint(body, damping=0.0, coulomb=0.0) for body in m.bodies)
    springs = tuple(replace(spring, damping=0.0) for spring in m.springs)
    tendons = tuple(replace(tendon, damping=0.0) for tendon in m.tendons)
    return replace(m, bodies=bodies, springs=springs, tendons=tendons, fluid=None)


def without_joint_extras(m: Mechanism) -> Mechanism:
    """Return the rigid bodies alone: no friction, armature, joint springs or force elements."""
    nothing = {"damping": 0.0, "coulomb": 0.0, "armature": 0.0, "stiffness": 0.0}
    bodies = tuple(replace(_with_joint(body, **nothing), gravity_compensation=0.0) for body in m.bodies)
    return replace(m, bodies=bodies, springs=(), tendons=(), fluid=None)


def _with_joint(body: Body, **values: float) -> Body:
    return replace(body, joint=replace(body.joint, **values))
