"""What acts along the free axes of the joints that close loops: damping, dry friction, springs, drive inertia.

    force along a free axis = -damping r - coulomb sign(r) - stiffness (x - spring_rest) - armature dr/dt      (1)

with x the joint's own coordinate and r its rate; the inertia counts in the mass matrix, JᵀJ times the armature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import ConstraintSystem, Linearisation

__all__ = ["LoopJointForces", "PassiveForces"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PassiveForces:
    """Their part of the equations of motion: mass (nv, nv), force (nv,), and the power of friction (W)."""

    mass: Floats
    force: Floats
    friction_power: float


class LoopJointForces:
    """Forces along the free axes of all loop joints of a system; `exist` tells whether there are any."""

    def __init__(self, system: ConstraintSystem) -> None:
        self._system, t = system, system.loops
        self._loop_of = t.free_loop
        self._damping, self._coulomb, self._armature = t.damping, t.coulomb, t.armature
        self._stiffness, self._rest = t.stiffness, t.spring_rest
        self.exist = any(bool(values.any()) for values in (t.damping, t.coulomb, t.stiffness, t.armature))

    def at(self, rows: Linearisation) -> PassiveForces | None:
        """Return the forces at a state; None when no loop joint has any."""
        if not self.exist:
            return None
        J, rate = rows.free_jacobian, rows.motion.free_rate
        force = self._along(rows) - self._armature * rows.motion.free_velocity_term
        power = -float(self._damping @ (rate * rate) + self._coulomb @ np.abs(rate))
        return PassiveForces(J.T @ (self._armature[:, None] * J), J.T @ force, power)

    def wrenches(self, rows: Linearisation, a: Floats) -> Floats:
        """Return the wrenches of these forces by body_a on body_b at the joints, world axes, (n_loops, 6)."""
        total = np.zeros((len(self._system.loops.names), 6))
        if self.exist:
            swing = rows.free_jacobian @ a + rows.motion.free_velocity_term
            along = self._along(rows) - self._armature * swing
            np.add.at(total, self._loop_of, along[:, None] * rows.free_wrench)
        return total

    def mass(self, q: Floats) -> Floats:
        """Return what drive inertia in loop joints adds to the mass matrix (nv, nv)."""
        J = self._system.linearise(q, np.zeros(self._system.mechanism.nv)).free_jacobian
        return J.T @ (self._armature[:, None] * J)

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return the energy of springs and drives in loop joints (J), (...)."""
        rows = self._system.linearise(q, v)
        stretch = self._system.loop_coordinates(rows.places) - self._rest
        rate = rows.motion.free_rate
        return 0.5 * np.sum(self._stiffness * stretch**2 + self._armature * rate**2, axis=-1)

    def _along(self, rows: Linearisation) -> Floats:
        """(1) without the inertia."""
        rate = rows.motion.free_rate
        force = -self._damping * rate - self._coulomb * np.sign(rate)
        if self._stiffness.any():
            force = force - self._stiffness * (self._system.loop_coordinates(rows.places) - self._rest)
        return force
