"""The state of a run, and the velocity a step would end with if nothing touched.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| H, b | mass matrix, bias torque at the beginning of the step | |
| u, kp, kd | torque without and gains of the joint servo; D, k damping and stiffness of the joints | |

    (H + h (kd + D) + h² (kp + k)) (v' - v) = h (u - b - h (kp + k) v)        (1)  u: servo at the old state included

then changed as little as loops, couplings and surfaces of the mechanism demand (held_rows.py).

Dry friction of joints is a damper of the slope it has at the present speed. Cost: bias and one pass over the tree
(articulated.py); with such rows, or bodies that touch each other, the mass matrix and its factors (factor.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.articulated import factor_free, free_sweep
from setsu.contact.factor import factorise, force_to_x, x_to_velocity
from setsu.contact.held_rows import HeldRows, begin_rows, hold_rows
from setsu.contact.scene import Scene
from setsu.contact.tree import NOW, Tree
from setsu.native.control_flow import part, run_bound

__all__ = ["BAD_NUMBERS", "FINE", "NOT_POSITIVE", "VECTORS", "Motion", "free_velocity"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

FINE, BAD_NUMBERS, NOT_POSITIVE = 0, 1, 2

# Rows of Motion.vectors, all (nv,): the state, torques and gains, then what a step works out.
VECTORS = 17
V, TORQUE, KP, KD, POSITION, VELOCITY, DAMPING, STIFFNESS, COULOMB = range(9)
BIAS, ROOT, CHANGE, V_FREE, V_NEXT, DISPLACEMENT, APPLIED, ACCELERATION = range(9, VECTORS)
# Rows of Motion.kernels.
MASS_MATRIX, BIAS_TORQUE, POSES_NOW, INTEGRATE, POSES_NEXT, POTENTIAL_ENERGY = range(6)
# Entries of Motion.energies (J).
KINETIC, POTENTIAL, KINETIC_NEXT, POTENTIAL_NEXT, GIVEN = range(5)


class Motion(NamedTuple):
    """State and work arrays of a run; `kernels` are native functions bound to them.

    TORQUE, KP, KD, POSITION, VELOCITY: u + kp (q_ref - q) + kd (v_ref - v) drives the joints. DAMPING, STIFFNESS,
    COULOMB: of the joints. APPLIED: torque of the step, with the servo at its end. V_FREE, V_NEXT: velocity at its end
    without and with contact impulses. DISPLACEMENT: from q to q_next. ACCELERATION: that of (1).
    """

    q: Floats
    q_next: Floats
    vectors: Floats  # (VECTORS, nv)
    coordinate: Ints  # (nv,) where in q, -1 for velocities without a single coordinate
    poses: Floats  # (n_bodies, 4, 4) at q
    poses_next: Floats
    columns: Floats  # (6, nv) joint axes at q
    columns_next: Floats
    H: Floats
    kernels: Handle  # (6, 7)
    energies: Floats  # (5,) kinetic and potential, of the state and of the next; what may come in (energy_guard.py)
    free_joints: Ints  # (n, 2) body and first velocity of each free joint
    body_twists: Floats  # (2, nv, 6) beyond each velocity, at the beginning and at the end without contacts (tree.py)
    elastic: Ints  # (1,) whether springs keep energy
    creep: Floats  # (2,) how fast contacts take depth back: a share of CREEP (impulses.py); weight of everything (N)


@part
def free_velocity(scene: Scene, tree: Tree, motion: Motion, held: HeldRows, h, dense):
    """Velocity at the end of the step without contacts (1) into V_FREE; FINE or what is wrong."""
    if run_bound(motion.kernels[BIAS_TORQUE]) >= 0:
        return BAD_NUMBERS
    a, x, inertia = motion.vectors, motion.vectors[CHANGE], tree.joint_inertia
    for d in range(len(x)):
        v, dry, kp, kd = a[V, d], a[COULOMB, d], a[KP, d], a[KD, d]
        sign = 1.0 if v > 0.0 else (-1.0 if v < 0.0 else 0.0)
        # Dry friction as a damper that gives its force at the present speed: implicit, it stops the joint and no more.
        slope = dry / max(abs(v), 1e-3)
        u = a[TORQUE, d] + kd * (a[VELOCITY, d] - v)
        if motion.coordinate[d] >= 0:
            u += kp * (a[POSITION, d] - motion.q[motion.coordinate[d]])
        spring = kp + a[STIFFNESS, d]
        x[d] = h * (u - a[BIAS, d] + dry * sign - slope * v - h * spring * v)
        inertia[1, d] = inertia[0, d] + h * (kd + a[DAMPING, d] + slope) + h * h * spring
        a[APPLIED, d] = u
    if dense:
        return _free_dense(scene, tree, motion, held, h)
    if not factor_free(tree):
        return NOT_POSITIVE
    for d in range(len(x)):
        tree.pull[d] = x[d]
    free_sweep(tree)
    for d in range(len(x)):
        a[V_FREE, d] = a[V, d] + tree.change[d]
        p, s, now, free, y, v = (
            tree.parent[d], tree.axes[NOW, d], motion.body_twists[0, d], motion.body_twists[1, d], tree.twists[d],
            a[V, d],
        )  # fmt: skip
        for i in range(6):
            now[i] = s[i] * v + (motion.body_twists[0, p, i] if p >= 0 else 0.0)
            free[i] = now[i] + y[i]
    return FINE


@part
def _free_dense(scene: Scene, tree: Tree, motion: Motion, held: HeldRows, h):
    """The same with the mass matrix and its factors."""
    for kernel in (MASS_MATRIX, POSES_NOW):
        if run_bound(motion.kernels[kernel]) >= 0:
            return BAD_NUMBERS
    H, a, x = motion.H, motion.vectors, motion.vectors[CHANGE]
    for d in range(len(x)):
        H[d, d] += tree.joint_inertia[1, d] - tree.joint_inertia[0, d]
    if not factorise(H, scene.parent, a[ROOT]):
        return NOT_POSITIVE
    force_to_x(H, scene.parent, a[ROOT], x)
    x_to_velocity(H, scene.parent, a[ROOT], x)
    for d in range(len(x)):
        a[V_FREE, d] = a[V, d] + x[d]
    if len(held.work.rows) > 0:
        if not begin_rows(held, motion.q, a[V], a[V_FREE], h):
            return BAD_NUMBERS
        hold_rows(held, H, scene.parent, a[ROOT], x, a[V_FREE])
    return FINE
