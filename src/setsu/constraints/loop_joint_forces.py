"""What acts along the free axes of the joints that close loops: dampers, dry friction, springs, drive inertia.

    force along a free axis = -damping r - coulomb sign(r) - stiffness (x - spring_rest) - armature dr/dt      (1)

with x the joint's own coordinate and r its rate; the inertia counts in the mass matrix, JᵀJ times the armature. In runs
dry friction has a state of its own (simulation/joint_friction.py), and steps keep what it exerts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import Floats, times
from setsu.constraints.system import ConstraintSystem, Linearisation

__all__ = ["loop_joint_energy", "loop_joint_forces"]


def loop_joint_forces(
    system: ConstraintSystem, rows: Linearisation, a: Floats | None = None, *, dry: bool = True
) -> Floats:
    """Return forces (1) along the free axes, (..., f); of drives for accelerations a (..., nv), dry friction if so."""
    t, rate = system.loops, rows.motion.free_rate
    if not t.has_joint_forces:
        return np.zeros(rate.shape)
    force = -t.damping * rate
    if dry:
        force = force - t.coulomb * np.sign(rate)
    force = force - t.stiffness * (rows.loop_poses.coordinate - t.spring_rest)
    if a is not None:
        force = force - t.armature * (times(rows.free_jacobian, a) + rows.motion.free_velocity_term)
    return force


def loop_joint_energy(
    system: ConstraintSystem, q: Floats, v: Floats, acting: NDArray[np.bool_] | None = None
) -> Floats:
    """Return the energy of springs and drives in loop joints (J), (...); acting (f,): axes that count, all without."""
    t, rows = system.loops, system.linearise(q, v)
    stretch, rate = rows.loop_poses.coordinate - t.spring_rest, rows.motion.free_rate
    energy = t.stiffness * stretch**2 + t.armature * rate**2
    return 0.5 * np.sum(energy if acting is None else np.where(acting, energy, 0.0), axis=-1)
