"""The contact problem of one step: how impulses at the contacts change the velocities there.

| symbol | meaning | unit |
|---|---|---|
| O_b | reference point of a body: that of its tree (tree.py), or its own origin where the problem is dense | m |
| w_b, y_b | wrench impulse on a body, twist of a body, at O_b, world axes | N s, N m s; m/s, rad/s |
| E_i, r_i | axes of contact i as rows: normal, two tangents; its place seen from O_b | -, m |
| λ_i, v_i | impulse and velocity of contact i, in these axes | N s, m/s |
| Λ | twists for unit wrench impulses: J H⁻¹ Jᵀ | |

    w_b = Σ (f, r x f),  f = Eᵀ λ                                             (1)  = P λ
    v = E (y_lin + y_ang x r)  of body a, minus that of body b                (2)  = Pᵀ y
    y = y_free + Λ w                                                          (3)  articulated.py, or dense.py
    so KᵀH⁻¹K of sugihara2002 (17) = Pᵀ Λ P                                   (4)
    W = Pᵀ Λ P of one contact:  tr W = tr Λ_ll + 2 tr(Λ_la [r]) + |r|² tr Λ_aa - rᵀ Λ_aa r    (5)

A body's contacts share its six rows, however many they are: the problem never gets larger than the tree, nor harder to
solve when contacts are redundant. It is dense where constraint rows (loops, couplings, surfaces) hold: then contacts
do not add up along the tree.
"""

from __future__ import annotations

import math

from setsu.contact.articulated import FREE_FACTOR, set_active, set_responses, sweep, sweep_all
from setsu.contact.dense import apply_dense, enter_dense, set_dense_twists
from setsu.contact.free_motion import CHANGE, V_FREE, StepState, V
from setsu.contact.held_rows import HeldRows
from setsu.contact.scene import (
    BEFORE,
    DENSE,
    FREE,
    N_BODIES,
    N_CONTACTS,
    SOFT,
    STOP,
    TURNING,
    TWIST,
    WRENCH,
    Problem,
    Scene,
)
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline

__all__ = ["add_wrench", "apply_impulses", "prepare", "reset_hub", "set_twists", "set_velocity"]


@inline
def reset_hub(problem: Problem):
    """Forget the bodies of the former step."""
    for k in range(problem.counts[N_BODIES]):
        problem.contact_index[problem.bodies[k]] = -1
    problem.counts[N_BODIES] = 0


@inline
def _enter(problem: Problem, body):
    """Take a body into the contact bodies; return its position there."""
    k = problem.contact_index[body]
    if k < 0:
        k = problem.counts[N_BODIES]
        problem.counts[N_BODIES] = k + 1
        problem.bodies[k] = body
        problem.contact_index[body] = k
    return k


@inline
def _set_arm(poses, reference, position, arm):
    for i in range(3):
        arm[i] = position[i] - poses[reference, i, 3]


@inline
def prepare(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, first):
    """Fill arms, scales, velocities before and without impulses for the contacts from `first` on."""
    known, dense, a = problem.counts[N_BODIES], problem.counts[DENSE] == 1, motion.vectors
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        c.hub_a = _enter(problem, c.body_a)
        c.hub_b = _enter(problem, c.body_b) if c.body_b >= 0 else -1
    if dense:
        for k in range(known, problem.counts[N_BODIES]):
            enter_dense(scene, problem, motion, held, k)
    if not dense and problem.counts[N_BODIES] > known:
        set_active(tree, problem.bodies, problem.counts[N_BODIES])
        set_responses(tree)
        for k in range(known, problem.counts[N_BODIES]):
            d = tree.last[problem.bodies[k]]
            for i in range(6):
                problem.vectors[BEFORE, 6 * k + i] = motion.body_twists[0, d, i]
                problem.vectors[FREE, 6 * k + i] = motion.body_twists[1, d, i]
            joint = problem.bodies[k] >= len(motion.poses)
            if joint:  # (joint_stops.py): its rate, and nothing else
                problem.vectors[BEFORE, 6 * k], problem.vectors[FREE, 6 * k] = a[V, d], a[V_FREE, d]
    if first == 0:
        problem.counts[TURNING] = problem.counts[SOFT] = 0
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        body = c.body_a
        c.soft, c.recovered, c.certified = 0.0, 0.0, -1.0
        turns = c.torsional > 0.0 or c.rolling > 0.0
        if turns:
            problem.counts[TURNING] += 1
        if c.stiffness < math.inf:
            problem.counts[SOFT] += 1
        L = problem.own[c.hub_a] if dense else tree.response[tree.last[body]]
        if c.point == STOP:
            trace = c.axes[0, 0] * c.axes[0, 0] * (L[0, 0] if dense else tree.joint_response[tree.last[body]])
        else:
            _set_arm(motion.poses, body if dense else tree.reference[body], c.acts, c.arm_a)
            trace = _trace(L, c.arm_a)
            if turns:
                _set_agility(c, L, True)
        if c.hub_b >= 0:
            L = problem.own[c.hub_b] if dense else tree.response[tree.last[c.body_b]]
            _set_arm(motion.poses, c.body_b if dense else tree.reference[c.body_b], c.acts, c.arm_b)
            trace += _trace(L, c.arm_b)
            if turns:
                _set_agility(c, L, False)
        c.scale = 3.0 / trace if trace > 0.0 else 0.0
        set_velocity(problem, index, BEFORE, c.before)
        set_velocity(problem, index, FREE, c.free)


@inline
def _set_agility(c, L, first):
    """Angular velocity for unit couples about the axes of a contact, of a body's response; added unless `first`."""
    for k in range(3):
        E, total = c.axes[k], 0.0
        for i in range(3):
            for j in range(3):
                total += E[i] * L[3 + i, 3 + j] * E[j]
        c.agility[k] = total if first else c.agility[k] + total


@inline
def _trace(L, r):
    """(5)."""
    x, y, z = r[0], r[1], r[2]
    turn = z * (L[0, 4] - L[1, 3]) + y * (L[2, 3] - L[0, 5]) + x * (L[1, 5] - L[2, 4])
    around = (y * y + z * z) * L[3, 3] + (x * x + z * z) * L[4, 4] + (x * x + y * y) * L[5, 5]
    across = x * y * L[3, 4] + x * z * L[3, 5] + y * z * L[4, 5]
    return L[0, 0] + L[1, 1] + L[2, 2] + 2.0 * turn + around - 2.0 * across


@inline
def set_velocity(problem: Problem, index, row, out):
    """out (3,): velocity of a contact for the twists in a row of `vectors` (2)."""
    c, y = problem.contacts[index], problem.vectors[row]
    E, r, o = c.axes, c.arm_a, 6 * c.hub_a
    x = y[o] + y[o + 4] * r[2] - y[o + 5] * r[1]
    u = y[o + 1] + y[o + 5] * r[0] - y[o + 3] * r[2]
    z = y[o + 2] + y[o + 3] * r[1] - y[o + 4] * r[0]
    if c.hub_b >= 0:
        r, o = c.arm_b, 6 * c.hub_b
        x -= y[o] + y[o + 4] * r[2] - y[o + 5] * r[1]
        u -= y[o + 1] + y[o + 5] * r[0] - y[o + 3] * r[2]
        z -= y[o + 2] + y[o + 3] * r[1] - y[o + 4] * r[0]
    for k in range(3):
        out[k] = E[k, 0] * x + E[k, 1] * u + E[k, 2] * z


@inline
def add_wrench(problem: Problem, index, n, s, t, row):
    """Add the wrench of an impulse (n, s, t) at a contact to a row of `vectors` (1)."""
    c, w = problem.contacts[index], problem.vectors[row]
    E, r, o = c.axes, c.arm_a, 6 * c.hub_a
    x = E[0, 0] * n + E[1, 0] * s + E[2, 0] * t
    y = E[0, 1] * n + E[1, 1] * s + E[2, 1] * t
    z = E[0, 2] * n + E[1, 2] * s + E[2, 2] * t
    w[o] += x
    w[o + 1] += y
    w[o + 2] += z
    w[o + 3] += r[1] * z - r[2] * y
    w[o + 4] += r[2] * x - r[0] * z
    w[o + 5] += r[0] * y - r[1] * x
    if c.hub_b >= 0:
        r, o = c.arm_b, 6 * c.hub_b
        w[o] -= x
        w[o + 1] -= y
        w[o + 2] -= z
        w[o + 3] -= r[1] * z - r[2] * y
        w[o + 4] -= r[2] * x - r[0] * z
        w[o + 5] -= r[0] * y - r[1] * x


@inline
def _add_couple(problem: Problem, index):
    """Add the couple of a contact to WRENCH (turning_friction.py)."""
    c, w = problem.contacts[index], problem.vectors[WRENCH]
    for i in range(3):
        t = c.axes[0, i] * c.couple[0] + c.axes[1, i] * c.couple[1] + c.axes[2, i] * c.couple[2]
        w[6 * c.hub_a + 3 + i] += t
        if c.hub_b >= 0:
            w[6 * c.hub_b + 3 + i] -= t


@inline
def set_twists(tree: Tree, problem: Problem):
    """WRENCH = P λ of the trial impulses, TWIST = FREE + Λ WRENCH (3)."""
    n, vectors = problem.counts[N_BODIES], problem.vectors
    for k in range(6 * n):
        vectors[WRENCH, k] = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        f = problem.contacts[index].trial
        add_wrench(problem, index, f[0], f[1], f[2], WRENCH)
        if problem.counts[TURNING] > 0:
            _add_couple(problem, index)
    if problem.counts[DENSE] == 1:
        set_dense_twists(problem)
        return
    sweep(tree, vectors[WRENCH], problem.bodies, problem.contact_index, n, FREE_FACTOR)
    for k in range(n):
        d, o = tree.last[problem.bodies[k]], 6 * k
        for i in range(6):
            vectors[TWIST, o + i] = vectors[FREE, o + i] + tree.twists[d, i]
        if problem.bodies[k] >= len(tree.masses):
            vectors[TWIST, o] = vectors[FREE, o] + tree.change[d]


@inline
def apply_impulses(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows):
    """CHANGE = what the contact impulses of the last solve do to the velocities (or displacements)."""
    change = motion.vectors[CHANGE]
    if problem.counts[N_CONTACTS] == 0:
        for d in range(len(change)):
            change[d] = 0.0
    elif problem.counts[DENSE] == 1:
        apply_dense(scene, problem, motion, held)
    else:
        sweep_all(tree)
        for d in range(len(change)):
            change[d] = tree.change[d]
