"""Energies at the end of a step, and a guard: a step gains no more energy than is put in.

| symbol | meaning | unit |
|---|---|---|
| T, V; T', V' | kinetic and potential energy at the beginning and at the end of the step | J |
| W | work of applied torques, of moving ground and of springs in contacts in the step | J |
| M, c | mass of a tree of bodies that hangs on a free joint, velocity of its centre of mass | kg, m/s |
| T_r | kinetic energy of the motion about centres of mass: T' - Σ ½ M c² | J |
| d | displacement of the step: q' = q ⊕ d | |

    T' + V' <= T + V + W                                                      (1)  to 1e-11 (T + T') + 1e-15 |T + V|
    W = Σ u d + Σ f_t · v_ground + Σ f_n · v_n of soft contacts               (2)
    v' <- c + s (v' - c),  s² = 1 - gain / T_r                                (3)  if the gain is below half of T_r
    v' <- s v',            s² = 1 - gain / T'                                 (4)  else
    d <- d/2, again and again, in the end 0                                   (5)  where V' > T + V + W

Steps of the second order miss energies by the third power of h; impacts and ways out of the ground by more. The
measures come in this order, each only where those before it do not do: (3) keeps momentum, (4) directions, (5) ends at
(1) for certain: with d = 0 and v' = 0, V' = V.
A body at rest has nothing to pay for being moved out of the ground: it stays where the compliance of its contacts
carries it (step.py). A start inside the ground is moved out in any case: the work of that, at most the weight times
the depth, is given.
Source: (3) is König's theorem. Cost: two passes over the tree where (1) does not hold at once, else nothing.
"""

from __future__ import annotations

import math

from setsu.contact.free_motion import (
    APPLIED,
    AXES,
    AXES_NEXT,
    DAMPING,
    DRY,
    GIVEN,
    KINETIC,
    KINETIC_NEXT,
    POTENTIAL,
    POTENTIAL_ENERGY,
    POTENTIAL_NEXT,
    V_NEXT,
    WORK,
    StepState,
    V,
)
from setsu.contact.held_rows import HeldRows, axes_energy
from setsu.contact.scene import N_CONTACTS, Problem
from setsu.contact.tree import NEXT, Tree, kinetic_energy, weight_energy
from setsu.native.control_flow import inline, run_bound

__all__ = [
    "can_pay",
    "dissipated",
    "energy_gain",
    "guard_energy",
    "is_driven",
    "presses",
    "set_energies",
    "set_work",
    "take_given",
]


@inline
def set_energies(tree: Tree, motion: StepState, held: HeldRows):
    """Energies of the state the step ends in; False for bad numbers."""
    e = motion.energies
    e[AXES_NEXT] = axes_energy(held, motion.q_next, motion.vectors[V_NEXT])
    e[KINETIC_NEXT] = kinetic_energy(tree, motion.vectors[V_NEXT], NEXT)
    tree.current[0] = 1
    if motion.elastic[0] == 1:
        return run_bound(motion.kernels[POTENTIAL_ENERGY]) < 0
    e[POTENTIAL_NEXT] = weight_energy(tree, motion.poses_next, NEXT)
    return True


@inline
def is_driven(tree: Tree, motion: StepState):
    """Whether torques act that could lift something: more than a millionth of the weight, and of a metre per s²."""
    driven = 0.0
    for d in range(motion.vectors.shape[1]):
        driven += abs(motion.vectors[APPLIED, d])
    return driven > 1e-6 * (motion.weight[0] + tree.total_mass[0])


@inline
def set_work(tree: Tree, problem: Problem, motion: StepState, h, plain):
    """W (2), while V and V_NEXT are those of the middle; plain: all trees move with the velocity at the end."""
    a, work = motion.vectors, 0.0
    for d in range(a.shape[1]):
        jumps = plain or tree.jumps[tree.reference[tree.dof_body[d]]] == 1
        work += h * a[APPLIED, d] * (a[V_NEXT, d] if jumps else 0.5 * (a[V, d] + a[V_NEXT, d]))
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        work += c.impulse[1] * c.surface[1] + c.impulse[2] * c.surface[2]
        if c.soft > 0.0:
            work += 0.5 * c.impulse[0] * (c.before[0] + c.velocity[0] - c.shift[0] - c.soft * c.impulse[0])
    motion.energies[WORK] = work


@inline
def dissipated(motion: StepState, h):
    """Work of the joints' friction and dampers in the step (J), at most 0, once V_NEXT is that of the end."""
    a, work = motion.vectors, 0.0
    for d in range(a.shape[1]):
        work += h * (a[DRY, d] - a[DAMPING, d] * a[V_NEXT, d]) * 0.5 * (a[V, d] + a[V_NEXT, d])
    return min(0.0, work)


@inline
def presses(problem: Problem):
    """Whether any contact presses."""
    found = False
    for index in range(problem.counts[N_CONTACTS]):
        found = found or problem.contacts[index].impulse[0] > 0.0
    return found


@inline
def _limit(motion: StepState):
    """T + V + W, springs and drives of loop joints included, and what is given."""
    e = motion.energies
    return e[KINETIC] + e[POTENTIAL] + e[AXES] + e[GIVEN] + e[WORK]


@inline
def _is_within(motion: StepState):
    """(1)."""
    e = motion.energies
    before = _limit(motion)
    allowed = before + 1e-11 * (e[KINETIC] + e[KINETIC_NEXT]) + 1e-15 * abs(before)
    return e[KINETIC_NEXT] + e[POTENTIAL_NEXT] + e[AXES_NEXT] <= allowed


@inline
def energy_gain(motion: StepState):
    """T' + V' - T - V - W, without what is given (J)."""
    e = motion.energies
    return e[KINETIC_NEXT] + e[POTENTIAL_NEXT] + e[AXES_NEXT] - _limit(motion)


@inline
def can_pay(motion: StepState, work):
    """Whether half the kinetic energy at the end of the step makes up for what it would gain by so much work (J)."""
    return energy_gain(motion) + work <= 0.5 * motion.energies[KINETIC_NEXT]


@inline
def guard_energy(tree: Tree, motion: StepState):
    """Change the velocity at the end of the step until (1) holds; False where only (5) helps."""
    if _is_within(motion):
        return True
    a, e = motion.vectors, motion.energies
    e[KINETIC_NEXT] = kinetic_energy(tree, a[V_NEXT], NEXT)  # and the twists that go with it
    gain = energy_gain(motion)
    about = e[KINETIC_NEXT] - _set_center_velocities(tree, motion)
    if 0.0 < gain < 0.5 * about:
        _slow_down(tree, motion, math.sqrt(1.0 - gain / about))  # (3)
        gain = energy_gain(motion)
    if gain > 0.0 and e[KINETIC_NEXT] > 0.0:
        scale = math.sqrt(max(0.0, 1.0 - gain / e[KINETIC_NEXT]))  # (4)
        tree.current[0] = 0
        for d in range(a.shape[1]):
            a[V_NEXT, d] *= scale
        e[KINETIC_NEXT] *= scale * scale
    return _is_within(motion)


@inline
def take_given(motion: StepState):
    """Use up what is given as far as this step needed it."""
    e = motion.energies
    after = e[KINETIC_NEXT] + e[POTENTIAL_NEXT] + e[AXES_NEXT]
    gain = after - e[KINETIC] - e[POTENTIAL] - e[AXES] - e[WORK]
    e[GIVEN] -= min(e[GIVEN], max(0.0, gain))


@inline
def _set_center_velocities(tree: Tree, motion: StepState):
    """c of the trees that hang on free joints into `push`, at their first velocity; return Σ ½ M c² (J).

    `twists` are those of the velocities at the end of the step.
    """
    total = 0.0
    for k in range(len(motion.free_joints)):
        body, o = motion.free_joints[k, 0], motion.free_joints[k, 1]
        mass = x = y = z = 0.0
        while body >= 0:
            b, t = tree.inertias[NEXT, body], tree.twists[tree.last[body]]
            x += b[0] * t[0] + t[4] * b[3] - t[5] * b[2]
            y += b[0] * t[1] + t[5] * b[1] - t[3] * b[3]
            z += b[0] * t[2] + t[3] * b[2] - t[4] * b[1]
            mass += b[0]
            body = tree.sibling[body]
        c, f = tree.push[o], 1.0 / mass if mass > 0.0 else 0.0
        c[0], c[1], c[2] = f * x, f * y, f * z
        total += 0.5 * f * (x * x + y * y + z * z)
    return total


@inline
def _slow_down(tree: Tree, motion: StepState, scale):
    """(3)."""
    v = motion.vectors[V_NEXT]
    for d in range(len(v)):
        v[d] *= scale
    for k in range(len(motion.free_joints)):
        body, o = motion.free_joints[k, 0], motion.free_joints[k, 1]
        S, c = motion.poses_next[body], tree.push[o]
        for i in range(3):
            v[o + i] += (1.0 - scale) * (S[0, i] * c[0] + S[1, i] * c[1] + S[2, i] * c[2])
    motion.energies[KINETIC_NEXT] = kinetic_energy(tree, v, NEXT)
