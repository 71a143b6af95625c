"""The state of a run, and the velocity a step would end with if nothing touched.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| H, b | mass matrix, bias torque in the middle of the step (flight.py) | |
| u, kp, kd | torque without and gains of the joint servo; D, k damping and stiffness of the joints | |
| ν, ν' | velocities at both ends; of free joints in the axes of the middle | |
| f, c, s | dry friction of a joint, its limit, its direction of sliding | N m or N |
| ε | 2e-10 m/s or rad/s: what a joint that sticks may yield | |

    (H + h (kd + D) + h² (kp + k)) (ν' - ν) = h (u - b - h (kp + k) ν + f)    (1)  u: servo at the old state included
    b = b(q_m, ν + ½ h a(q_m, ν))                                             (2)
    sliding: f = -c s;  sticking: f = -c ν'/ε, as long as |ν'| <= ε           (3)
    linear acceleration of a free joint in axes at rest: a + ω x ν            (4)

then changed as little as loops, couplings and surfaces of the mechanism demand (held_rows.py).

Which joints stick is found together with the contacts (step.py). Cost: bias, a second time where velocities count, and
one pass over the tree (articulated.py); with such rows, or bodies that touch each other, the mass matrix and its
factors (factor.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.articulated import factor_free, free_sweep
from setsu.contact.factor import factorise, force_to_x, x_to_velocity
from setsu.contact.held_rows import YIELDING, HeldRows, add_axes, check_axes, hold_rows, set_axes_sticking, set_basis
from setsu.contact.scene import Scene
from setsu.contact.tree import NOW, ROW, Tree, set_body_twists
from setsu.contact.world_bias import set_bias
from setsu.contact.world_mass import set_mass_matrix
from setsu.native.control_flow import inline, run_bound

__all__ = [
    "BAD_NUMBERS",
    "FINE",
    "NOT_POSITIVE",
    "VECTORS",
    "StepState",
    "check_sticking",
    "free_velocity",
    "set_sticking",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

FINE, BAD_NUMBERS, NOT_POSITIVE = 0, 1, 2

# m or rad: steps that move more look at the bias a second time (2).
_FAST = 1e-5

# Rows of StepState.vectors, all (nv,): the state, torques and gains, then what a step works out.
VECTORS = 21
V, TORQUE, KP, KD, POSITION, VELOCITY, DAMPING, STIFFNESS, COULOMB = range(9)
BIAS, ROOT, CHANGE, V_FREE, V_NEXT, DISPLACEMENT, APPLIED, ACCELERATION, V_MIDDLE, DRY, UNCHANGED, V_END = range(
    9, VECTORS
)
# Rows of StepState.kernels.
MASS_MATRIX, BIAS_TORQUE, POSES_NOW, INTEGRATE, POSES_NEXT, POTENTIAL_ENERGY = range(6)
# Entries of StepState.energies (J).
KINETIC, POTENTIAL, KINETIC_NEXT, POTENTIAL_NEXT, GIVEN, WORK, AXES, AXES_NEXT = range(8)


class StepState(NamedTuple):
    """State and work arrays of a run; `kernels` are native functions bound to them.

    TORQUE, KP, KD, POSITION, VELOCITY: u + kp (q_ref - q) + kd (v_ref - v) drives the joints. DAMPING, STIFFNESS,
    COULOMB: of the joints. APPLIED: torque of the step, with the servo at its end. V_FREE, V_NEXT: velocity at its end
    without and with contact impulses. DISPLACEMENT: from q to q_next. ACCELERATION: that of (1). DRY: friction of the
    joints in the step (3). UNCHANGED: the servo at the beginning of the step. V_END: V_NEXT, free joints in their axes
    at the end. During a step V, V_FREE and V_NEXT are ν and ν'.
    """

    INNER = {**dict.fromkeys(("poses_start", "poses", "poses_next"), (4, 4)), "body_twists": (ROW,)}  # noqa: RUF012

    q: Floats
    q_next: Floats
    vectors: Floats  # (VECTORS, nv)
    coordinate: Ints  # (nv,) where in q, -1 for velocities without a single coordinate
    q_middle: Floats
    start: Floats  # (1, nv) velocity at the beginning of the step
    poses_start: Floats  # (n_bodies, 4, 4) at q
    poses: Floats  # (n_bodies, 4, 4) at q_middle
    poses_next: Floats
    columns: Floats  # (6, nv) joint axes at q_middle
    columns_next: Floats
    H: Floats
    kernels: Handle  # (6, 7)
    energies: Floats  # (8,) kinetic and potential, of the state and of the next; given, and work (energy_guard.py);
    # of free axes of loops, of the state and of the next
    free_joints: Ints  # (n, 2) body and first velocity of each free joint
    body_twists: Floats  # (2, nv, ROW) beyond each velocity, at the beginning and at the end without contacts (tree.py)
    elastic: Ints  # (1,) whether springs keep energy
    recovery_share: Floats  # (1,) how fast contacts take depth back: a share of RECOVERY_DEPTH (impulses.py)
    weight: Floats  # (1,) of everything (N)


@inline
def set_sticking(tree: Tree, motion: StepState, held: HeldRows):
    """Begin with what the velocities say: joints that move slide, those at rest stick."""
    set_axes_sticking(held)
    a = motion.vectors
    for d in range(a.shape[1]):
        v = a[V, d]
        tree.sticks[d] = 1 if v > YIELDING else (-1 if v < -YIELDING else 0)


@inline
def check_sticking(tree: Tree, motion: StepState, held: HeldRows):
    """Compare (3) with the velocities found; True if a joint begins to slide, or to stick."""
    a = motion.vectors
    changes = check_axes(held, a[V_NEXT])
    for d in range(a.shape[1]):
        if a[COULOMB, d] > 0.0:
            v, s = a[V_NEXT, d], tree.sticks[d]
            if s == 0 and abs(v) > YIELDING * (1.0 + 1e-9):
                tree.sticks[d], changes = 1 if v > 0.0 else -1, True
            elif s * v < 0.0:
                tree.sticks[d], changes = 0, True
    return changes


@inline
def _set_load(tree: Tree, motion: StepState, h):
    """Right side of (1) into CHANGE, and what it adds to the joints' inertias."""
    a, x, inertia = motion.vectors, motion.vectors[CHANGE], tree.joint_inertia
    for d in range(len(x)):
        v, dry, kp, kd = a[V, d], a[COULOMB, d], a[KP, d], a[KD, d]
        u = a[TORQUE, d] + kd * (a[VELOCITY, d] - v)
        if motion.coordinate[d] >= 0:
            u += kp * (a[POSITION, d] - motion.q[motion.coordinate[d]])
        spring, stick, middle = kp + a[STIFFNESS, d], 0.0, a[V_MIDDLE, d]
        if tree.sticks[d] == 0:
            stick = dry / YIELDING
        # The bias holds springs and dampers of the joints in the middle: here they are implicit.
        known = a[DAMPING, d] * (middle - v)
        if motion.coordinate[d] >= 0:
            known += a[STIFFNESS, d] * (motion.q_middle[motion.coordinate[d]] - motion.q[motion.coordinate[d]])
        x[d] = h * (u - a[BIAS, d] + known - stick * v - dry * tree.sticks[d] - h * spring * v)
        inertia[1, d] = inertia[0, d] + h * (kd + a[DAMPING, d] + stick) + h * h * spring
        a[APPLIED, d] = u


@inline
def _free_change(scene: Scene, tree: Tree, motion: StepState, held: HeldRows, h, dense, again):
    """V_FREE - V into V_FREE's place; again: the factors are known."""
    a, x = motion.vectors, motion.vectors[CHANGE]
    if motion.elastic[0] == 0:
        set_bias(tree, a[V_MIDDLE], a[DAMPING], a[BIAS])
    elif run_bound(motion.kernels[BIAS_TORQUE]) >= 0:
        return BAD_NUMBERS
    _set_load(tree, motion, h)
    if dense:
        H = motion.H
        if not again:
            set_mass_matrix(tree, H)
            add_axes(held, H, x, h)
            if not factorise(H, scene.parent, a[ROOT]):
                return NOT_POSITIVE
        force_to_x(H, scene.parent, a[ROOT], x)
        x_to_velocity(H, scene.parent, a[ROOT], x)
        for d in range(len(x)):
            a[V_FREE, d] = x[d]
        return FINE
    if not again and not factor_free(tree):
        return NOT_POSITIVE
    for d in range(len(x)):
        tree.pull[d] = x[d]
    free_sweep(tree)
    for d in range(len(x)):
        a[V_FREE, d] = tree.change[d]
    return FINE


@inline
def free_velocity(scene: Scene, tree: Tree, motion: StepState, held: HeldRows, h, dense, plain, far):
    """Velocity at the end of the step without contacts (1) into V_FREE; FINE or what is wrong.

    plain: all trees are, without (2), (4). far: how much the step moves (m or rad).
    """
    a = motion.vectors
    for d in range(a.shape[1]):
        a[V_MIDDLE, d] = a[V, d]
    again = False
    while True:
        status = _free_change(scene, tree, motion, held, h, dense, again)
        if status != FINE:
            return status
        if not plain:
            for k in range(len(tree.roots)):  # (4)
                if tree.roots[k].free == 0 or tree.plain[tree.root[tree.roots[k].velocity]] == 1:
                    continue
                o, v = tree.roots[k].velocity, a[V_MIDDLE]
                a[V_FREE, o] += h * (v[o + 4] * v[o + 2] - v[o + 5] * v[o + 1])
                a[V_FREE, o + 1] += h * (v[o + 5] * v[o] - v[o + 3] * v[o + 2])
                a[V_FREE, o + 2] += h * (v[o + 3] * v[o + 1] - v[o + 4] * v[o])
        if again or plain or far <= _FAST:
            break
        again = True
        for d in range(a.shape[1]):
            if tree.plain[tree.root[d]] == 0:
                a[V_MIDDLE, d] = a[V, d] + 0.5 * a[V_FREE, d]  # (2)
    for d in range(a.shape[1]):
        a[V_FREE, d] += a[V, d]
    if dense:
        for d in range(a.shape[1]):
            held.work.unheld[d] = a[V_FREE, d]
        set_basis(held, motion.H, scene.parent, a[ROOT])
        hold_rows(held, motion.H, scene.parent, a[ROOT], a[V_FREE])
    else:
        set_body_twists(tree, a[V], NOW, motion.body_twists[0])
        set_body_twists(tree, a[V_FREE], NOW, motion.body_twists[1])
    return FINE
