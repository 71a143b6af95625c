"""What acts along the free axes of the joints that close loops: damping, springs, drive inertia.

    force along a free axis = -damping r - stiffness (x - spring_rest) - armature dr/dt      (1)

with x the joint's own coordinate and r its rate; the inertia counts in the mass matrix, JᵀJ times the armature. Dry
friction and stops have states of their own (joint_friction.py, joint_stops.py), and steps keep what they exert.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import times
from setsu.constraints.system import ConstraintSystem, Linearisation

__all__ = ["LoopJointForces"]

Floats = NDArray[np.float64]


class LoopJointForces:
    """Forces along the free axes of loop joints of a system; `exist` tells whether there are any.

    acting (f,): axes that they act along; all when not given.
    """

    def __init__(self, system: ConstraintSystem, acting: NDArray[np.bool_] | None = None) -> None:
        self._system, t = system, system.loops
        every = np.ones(len(t.damping)) if acting is None else acting.astype(np.float64)
        self._damping, self._stiffness, self._armature = every * t.damping, every * t.stiffness, every * t.armature
        self._rest = t.spring_rest
        self.exist = any(bool(values.any()) for values in (self._damping, self._stiffness, self._armature))

    def along_axes(self, rows: Linearisation, a: Floats) -> Floats:
        """Return these forces (1) along the free axes, (T, f), for states with accelerations a (T, nv)."""
        if not self.exist:
            return np.zeros(rows.motion.free_rate.shape)
        swing = times(rows.free_jacobian, a) + rows.motion.free_velocity_term
        rate = rows.motion.free_rate
        stretch = rows.loop_poses.coordinate - self._rest
        return -self._damping * rate - self._stiffness * stretch - self._armature * swing

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return the energy of springs and drives in loop joints (J), (...)."""
        rows = self._system.linearise(q, v)
        stretch = rows.loop_poses.coordinate - self._rest
        rate = rows.motion.free_rate
        return 0.5 * np.sum(self._stiffness * stretch**2 + self._armature * rate**2, axis=-1)
