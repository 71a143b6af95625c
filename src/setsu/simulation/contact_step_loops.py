"""Loops and couplings of a step in an environment, for contact_step_derivatives.py: their rows, and how these change.

| symbol | meaning |
|---|---|
| G, e, μ | rows, their errors, their impulses |
| J, s, r | rows of free axes of joints that close loops, their coordinates and rates, r = J v |
| D, k, A, γ | damping, stiffness, armature along them; acceleration of the axes at rest of the joints |
| x | ν' - v |

    load = Gᵀ μ - h Jᵀ f,   f = D (r + J x) + k (s + h (r + J x)) + A (J x/h + γ)              (1)  contact/held_rows.py
    ∂load/∂q = ∂(Gᵀ μ - h Jᵀ f̄)/∂q - h Jᵀ ((D + h k) ∂(J ν')/∂q + k J + A ∂(J x/h + γ)/∂q)     (2)  f̄ held
    ∂load/∂v = -h Jᵀ ((D + h k) J + A ∂γ/∂v)                                                   (3)

Rows that follow from others are left out (constraints/redundancy.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.constraint_partials import ConstraintPartials
from setsu.constraints.dense_dynamics import kept_rows
from setsu.constraints.system import Linearisation, constraint_system
from setsu.mechanism import Mechanism
from setsu.simulation.contact_step import CHANGE, END, NU_NEXT, START, STEP, V_START, StepMap

__all__ = ["HeldStep"]

Floats = NDArray[np.float64]


class HeldStep:
    """The rows of a mechanism; `count` of them are held."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.system = constraint_system(mechanism)
        self.rows = kept_rows(self.system)[0]
        self.count = len(self.rows)

    def begin(self, w: StepMap) -> None:
        """Rows at the beginning of the step, and what free axes add to its equation (1)."""
        h, t = float(w.numbers[STEP]), self.system.loops
        self.found = found = self.system.linearise(w.q[START][None], w.vectors[V_START][None])
        w.held[:], w.held_impulse[:] = found.jacobian[0, self.rows], 0.0
        J, self.rate = found.free_jacobian[0], found.free_jacobian[0] @ w.vectors[V_START]
        self.span = self.system.loop_coordinates(found.loop_poses)[0] - t.spring_rest
        w.held_inertia[:] = J.T @ ((h * t.damping + h * h * t.stiffness + t.armature)[:, None] * J)
        w.held_load[:] = -h * self._force(found, h, np.zeros(len(J))) @ J

    def _force(self, found: Linearisation, h: float, change: Floats) -> Floats:
        """F of (1) for changes J x of the rates."""
        t, rate = self.system.loops, self.rate + change
        return (
            t.damping * rate
            + t.stiffness * (self.span + h * rate)
            + t.armature * (change / h + found.motion.free_velocity_term[0])
        )

    def set_end(self, w: StepMap) -> None:
        """Rows and errors at the end of the step."""
        jacobian, error = self.system.jacobian_and_error(w.q[END])
        w.held_end[:], w.held_error[:] = jacobian[self.rows], error[self.rows]

    def set_changes(self, w: StepMap) -> None:
        """(2) and (3), under the impulses of the step."""
        system, t, found, nv = self.system, self.system.loops, self.found, w.vectors.shape[1]
        h, n = float(w.numbers[STEP]), self.system.n_loop_rows
        q, v, x, after = (row[None] for row in (w.q[START], w.vectors[V_START], w.vectors[CHANGE], w.vectors[NU_NEXT]))
        whole = np.zeros((1, system.n_held))
        whole[:, self.rows] = w.held_impulse
        J = found.free_jacobian[0]
        drives = -h * self._force(found, h, J @ x[0])[None]
        loops = np.arange(len(t.names))[:, None]
        wrench = (loops == t.row_loop).astype(np.float64) @ (whole[:, :n, None] * found.loop_wrench) + (
            loops == t.free_loop
        ).astype(np.float64) @ (drives[..., None] * found.free_wrench)
        partials = ConstraintPartials(system, found, q, v, x / h, wrench, drives)
        none = np.zeros((1, 0, 3))
        forces = partials.joint_forces(none, np.zeros((1, 0, 2 * nv, 3)), whole[:, n:])[0, :, :nv]
        swing = t.armature[:, None] * partials.loops.acceleration[0, n:]
        then = ConstraintPartials(system, system.linearise(q, after), q, after, x, wrench, drives)
        turned = then.loops.rate[0, n:, :nv]
        resisting = (t.damping + h * t.stiffness)[:, None]
        w.held_q[:] = forces - h * J.T @ (resisting * turned + t.stiffness[:, None] * J + swing[:, :nv])
        w.held_v[:] = -h * J.T @ (resisting * J + swing[:, nv:])
