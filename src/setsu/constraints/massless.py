"""Motions without mass that no constraint holds; what loops and couplings hold needs no mass of its own.

Rows G a = -γ may be added to the mass matrix, M + ρ GᵀG, without any change of the motion: what is massless then is
massless under the constraints too (dynamics/massless).
"""

from __future__ import annotations

import numpy as np

from setsu.constraints.stacked import Floats
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics import mass_matrix
from setsu.dynamics.massless import massless_motion, massless_velocities
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["refuse_unheld", "refuse_unheld_motion"]


def refuse_unheld_motion(mechanism: Mechanism, function: str, M: Floats, G: Floats) -> None:
    """Raise an InputError when, under rows G (n, nv), a motion of a mass matrix M (nv, nv) moves no mass."""
    if not massless_velocities(M):
        return
    G = G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    massless = massless_velocities(M + (float(np.abs(np.diagonal(M)).max(initial=0.0)) or 1.0) * (G.T @ G))
    if massless:
        held = ", and no constraint holds it"
        raise InputError(f"{function}: {massless_motion(mechanism, massless, held)}")


def refuse_unheld(system: ConstraintSystem, function: str, q: Floats) -> None:
    """Raise an InputError when a motion that a system's rows allow at q (nq,) moves no mass."""
    mechanism = system.mechanism
    M = mass_matrix(mechanism, q)
    if not massless_velocities(M):
        return
    rows = system.linearise(q, np.zeros(mechanism.nv))
    F = rows.free_jacobian
    M = M + F.T @ (system.loops.armature[:, None] * F)
    refuse_unheld_motion(mechanism, function, M, rows.jacobian)
