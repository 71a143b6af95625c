"""One step of any explicit Runge-Kutta method on a mechanism, constraints held in every stage.

| symbol | meaning |
|---|---|
| φ, v, w | chart coordinates around the start of the step, velocities, works of the energy ledger |
| P | projection onto the constraints, positions and velocities, in the metric of the mass matrix |
| A, b, c | coefficients of the method, s stages |
| E | shifts of the stage positions by accelerations, after Nyström 1925; zero in a plain Runge-Kutta method |

    (φ_i, v_i) = P(h Σ_j A_ij kφ_j + h² Σ_j E_ij kv_j, v_0 + h Σ_j A_ij kv_j) (1)
    kφ_i = rate(φ_i, v_i),  kv_i = acceleration(t + c_i h, φ_i, v_i),  kw_i = powers      (2)
    (φ, v) = (h Σ b_i kφ_i, v_0 + h Σ b_i kv_i),  w = h Σ b_i kw_i            (3)

Steps (1) and (2) are the plain method applied to the vector field f∘P, which equals f on the constraints: the order is
kept, and neither accelerations nor ranks are ever computed off the constraints, where redundant ones look independent.
Shifts keep order 4 when e_i = Σ_j E_ij satisfies Σ b_i e_i = Σ b_i c_i e_i = Σ b_i A_ij e_j = 0, and
Σ b_i E_ij c_j = 0: all they do to velocities up to h⁴ then cancels, on rotations too, where kv differs from the second
derivative of φ by c_j h times one and the same vector and O(h²).
The result (3) is projected by the caller, who books the energy that this takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.simulation.motion import Evaluation, Motion

__all__ = ["Step", "Tableau", "explicit_step"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit method: A and E (s, s) strictly lower triangular, b (s,), c (s,), order."""

    A: Floats
    b: Floats
    c: Floats
    order: int
    E: Floats | None = None

    @property
    def shifts(self) -> Floats:
        """E, zero where there are no shifts."""
        return np.zeros_like(self.A) if self.E is None else self.E


@dataclass(frozen=True)
class Step:
    """The end of a step before its projection: q (nq,), v (nv,), works (4,) J; slopes of the stages."""

    q: Floats
    v: Floats
    works: Floats
    slopes: Floats


def explicit_step(tableau: Tableau, motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds from an evaluated state."""
    charts, q0, v0, nv = motion.charts, start.q, start.v, len(start.v)
    A, E, c = tableau.A, tableau.shifts, tableau.c
    slopes = np.empty((len(c), 2 * nv + len(start.powers)))
    _write(slopes[0], v0, start)
    for i in range(1, len(c)):
        increment = h * (A[i, :i] @ slopes[:i, : 2 * nv])
        phi, v = increment[:nv] + h * h * (E[i, :i] @ slopes[:i, nv : 2 * nv]), v0 + increment[nv:]
        q = charts.point(q0, phi)
        if motion.constrained:  # (1)
            q, v = motion.project(q, v)
            phi = charts.coordinates(q0, q)
        _write(slopes[i], charts.rate(phi, v), motion.evaluate(start.t + c[i] * h, q, v, complete=False))  # (2)
    total = h * (tableau.b @ slopes)  # (3)
    return Step(charts.point(q0, total[:nv]), v0 + total[nv : 2 * nv], total[2 * nv :], slopes)


def _write(row: Floats, rate: Floats, evaluation: Evaluation) -> None:
    nv = len(rate)
    row[:nv], row[nv : 2 * nv], row[2 * nv :] = rate, evaluation.acceleration, evaluation.powers
