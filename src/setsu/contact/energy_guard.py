"""Energies at the end of a step, and a guard: a step of a mechanism that nothing drives gains no energy."""

from __future__ import annotations

import math

from setsu.contact.free_motion import (
    APPLIED,
    KINETIC,
    KINETIC_NEXT,
    POTENTIAL,
    POTENTIAL_ENERGY,
    POTENTIAL_NEXT,
    V_NEXT,
    Motion,
    V,
)
from setsu.contact.tree import NEXT, Tree, kinetic_energy, set_inertias, weight_energy
from setsu.native.control_flow import part, run_bound

__all__ = ["guard_energy", "set_energies"]


@part
def set_energies(tree: Tree, motion: Motion):
    """Inertias and energies of the state the step ends in; False for bad numbers."""
    e = motion.energies
    set_inertias(tree, motion.poses_next, motion.columns_next, NEXT)
    e[KINETIC_NEXT] = kinetic_energy(tree, motion.vectors[V_NEXT], NEXT)
    if motion.elastic[0] == 1:
        return run_bound(motion.kernels[POTENTIAL_ENERGY]) < 0
    e[POTENTIAL_NEXT] = weight_energy(tree, motion.poses_next, NEXT)
    return True


@part
def guard_energy(tree: Tree, motion: Motion, h):
    """Keep a step of a mechanism that nothing drives from gaining energy.

    Velocity terms enter free_motion.py (1) explicitly: fast spinning bodies would gain energy of order h². First the
    velocity of free joints is carried over to the turned axes of the body, as linear momentum demands; what is left is
    scaled away.
    """
    a, e = motion.vectors, motion.energies
    driven = 0.0
    for d in range(a.shape[1]):
        driven += abs(a[APPLIED, d])
    before = e[KINETIC] + e[POTENTIAL]
    allowed = before + 1e-11 * (e[KINETIC] + e[KINETIC_NEXT]) + 1e-15 * abs(before)
    if driven > 0.0 or e[KINETIC_NEXT] + e[POTENTIAL_NEXT] <= allowed:
        return
    for k in range(len(motion.free_joints)):
        body, o = motion.free_joints[k, 0], motion.free_joints[k, 1]
        R, S = motion.poses[body], motion.poses_next[body]
        wx, wy, wz = a[V, o + 3], a[V, o + 4], a[V, o + 5]
        x, y, z = a[V, o], a[V, o + 1], a[V, o + 2]
        ux = a[V_NEXT, o] + h * (wy * z - wz * y)
        uy = a[V_NEXT, o + 1] + h * (wz * x - wx * z)
        uz = a[V_NEXT, o + 2] + h * (wx * y - wy * x)
        px = R[0, 0] * ux + R[0, 1] * uy + R[0, 2] * uz
        py = R[1, 0] * ux + R[1, 1] * uy + R[1, 2] * uz
        pz = R[2, 0] * ux + R[2, 1] * uy + R[2, 2] * uz
        for i in range(3):
            a[V_NEXT, o + i] = S[0, i] * px + S[1, i] * py + S[2, i] * pz
    e[KINETIC_NEXT] = kinetic_energy(tree, a[V_NEXT], NEXT)
    gain = e[KINETIC_NEXT] + e[POTENTIAL_NEXT] - before
    if gain > 0.0 and e[KINETIC_NEXT] > 0.0:
        scale = math.sqrt(max(0.0, 1.0 - gain / e[KINETIC_NEXT]))
        for d in range(a.shape[1]):
            a[V_NEXT, d] *= scale
        e[KINETIC_NEXT] *= scale * scale
