"""Energies at the end of a step, and a guard: a step gains no more energy than is put in.

| symbol | meaning | unit |
|---|---|---|
| group | trees of bodies that press on each other, directly or over others; those that rows hold; with springs all | |
| T, V; T', V' | kinetic and potential energy at the beginning and at the end of the step | J |
| W | work of applied torques, of moving ground and of springs in contacts in the step | J |
| G | gain of a group: T' + V' - T - V - W | J |
| g | what a tree pays of it: in proportion to its own gain, where it has one | J |
| M, c | mass of a tree that hangs on a free joint, velocity of its centre of mass | kg, m/s |
| T_r | kinetic energy of a tree's motion about its centre of mass: T' - ½ M c² | J |
| d | displacement of the step: q' = q ⊕ d | |

    G <= 0 in each group                                                      (1)  to 1e-11 (T + T') + 1e-15 |T + V|
    W = Σ u d + Σ f_t · v_ground + Σ f_n · v_n of soft contacts               (2)
    v' <- c + s (v' - c),  s² = 1 - g / T_r                                   (3)  if g is below half of T_r
    v' <- s v',            s² = 1 - g / T'                                    (4)  else
    d <- d/2, again and again, in the end 0                                   (5)  of trees that cannot pay

What bodies do that touch nothing of each other's group is nobody else's affair: neither pays for the other. Within a
group a light body does not pay for a heavy one below it. Where springs or rows join its trees, all pay alike.
Steps of the second order miss energies by the third power of h; impacts and ways out of the ground by more. The
measures come in this order, each only where those before it do not do: (3) keeps momentum, (4) directions, (5) ends at
(1) for certain: with d = 0 and v' = 0, V' = V.
A body at rest has nothing to pay for being moved out of the ground: it stays where the compliance of its contacts
carries it (step.py). A start inside the ground is moved out in any case: the work of that, at most the weight times
the depth, is given.
Source: (3) is König's theorem. Cost: two passes over the trees where (1) does not hold at once, else nothing.
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
from setsu.contact.tree import (
    ABOUT,
    DRIVE,
    FACTOR,
    INPUT,
    LOSS,
    NEXT,
    NOW,
    POTENTIAL_OF,
    SHARE,
    Tree,
    ends_its_step,
    kinetic_energy,
    own_gain,
    sum_of,
    weight_energy,
)
from setsu.native.control_flow import inline, run_bound

__all__ = [
    "can_pay",
    "energy_gain",
    "find_groups",
    "guard_energy",
    "is_driven",
    "set_energies",
    "set_losses",
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
def _tree_of(tree: Tree, problem: Problem, contact_body):
    return tree.root[tree.last[problem.bodies[contact_body]]]


@inline
def _stands_for(tree: Tree, k):
    while tree.group[k] != k:
        k = tree.group[k]
    return k


@inline
def find_groups(tree: Tree, problem: Problem, motion: StepState):
    """Which trees press on each other, and on which something presses."""
    held = -1
    for k in range(len(tree.group)):
        if held < 0 and tree.plain[k] == 1:
            held = k
        tree.group[k] = 0 if motion.elastic[0] == 1 else (held if tree.plain[k] == 1 else k)
        tree.pressed[k] = tree.stays[k] = 0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.impulse[0] <= 0.0:
            continue
        a = _tree_of(tree, problem, c.hub_a)
        tree.pressed[a] = 1
        if c.hub_b >= 0:
            b = _tree_of(tree, problem, c.hub_b)
            tree.pressed[b] = 1
            a, b = _stands_for(tree, a), _stands_for(tree, b)
            tree.group[max(a, b)] = min(a, b)
    for k in range(len(tree.group)):
        tree.group[k] = _stands_for(tree, k)


@inline
def set_work(tree: Tree, problem: Problem, motion: StepState, h):
    """W (2) of each tree, while V and V_NEXT are those of the middle."""
    a, account = motion.vectors, tree.account
    for k in range(account.shape[1]):
        account[INPUT, k] = account[LOSS, k] = account[DRIVE, k] = 0.0
    for d in range(a.shape[1]):
        k, rate = tree.root[d], a[V_NEXT, d] if ends_its_step(tree, d) else 0.5 * (a[V, d] + a[V_NEXT, d])
        account[INPUT, k] += h * a[APPLIED, d] * rate
        account[DRIVE, k] += abs(a[APPLIED, d])
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        k = _tree_of(tree, problem, c.hub_a)
        account[INPUT, k] += c.impulse[1] * c.surface[1] + c.impulse[2] * c.surface[2]
        if c.soft > 0.0:
            account[INPUT, k] += 0.5 * c.impulse[0] * (c.before[0] + c.velocity[0] - c.shift[0] - c.soft * c.impulse[0])
    motion.energies[WORK] = sum_of(account[INPUT])


@inline
def set_losses(tree: Tree, motion: StepState, h):
    """Work of the joints' friction and dampers of each tree in the step, at most 0, once V_NEXT is that of the end."""
    a, account = motion.vectors, tree.account
    for d in range(a.shape[1]):
        account[LOSS, tree.root[d]] += h * (a[DRY, d] - a[DAMPING, d] * a[V_NEXT, d]) * 0.5 * (a[V, d] + a[V_NEXT, d])
    for k in range(account.shape[1]):
        account[LOSS, k] = min(0.0, account[LOSS, k])


@inline
def _whole_gain(motion: StepState):
    """G of all trees, axes of loops and springs (J)."""
    e = motion.energies
    return e[KINETIC_NEXT] + e[POTENTIAL_NEXT] + e[AXES_NEXT] - (e[KINETIC] + e[POTENTIAL] + e[AXES] + e[WORK])


@inline
def _group_gain(tree: Tree, motion: StepState, g):
    """G of the trees of a group (J), what of it is rounding, and whether springs or rows join its trees."""
    e, of = tree.account, motion.energies
    gain = moving = lifted = 0.0
    held = False
    for k in range(g, len(tree.group)):
        if tree.group[k] == g:
            gain += own_gain(tree, k)
            moving += e[NOW, k] + e[NEXT, k]
            lifted += e[NOW, k] + e[POTENTIAL_OF + NOW, k] + e[INPUT, k]
            held = held or tree.plain[k] == 1
    if motion.elastic[0] == 1:
        gain, lifted, held = _whole_gain(motion), of[KINETIC] + of[POTENTIAL], True
    elif held:
        gain += of[AXES_NEXT] - of[AXES]
    return gain, 1e-11 * moving + 1e-15 * abs(lifted), held


@inline
def energy_gain(tree: Tree, motion: StepState):
    """The largest gain of a group, without what is given (J)."""
    given, most = motion.energies[GIVEN], -math.inf
    for g in range(len(tree.group)):
        if tree.group[g] == g:
            gain, _, _ = _group_gain(tree, motion, g)
            used = min(given, max(0.0, gain))
            given -= used
            most = max(most, gain - used)
    return most


@inline
def can_pay(motion: StepState, work):
    """Whether half the kinetic energy at the end of the step makes up for what it would gain by so much work (J)."""
    return _whole_gain(motion) - motion.energies[GIVEN] + work <= 0.5 * motion.energies[KINETIC_NEXT]


@inline
def guard_energy(tree: Tree, motion: StepState):
    """Change velocities at the end of the step until (1) holds; False where only (5) helps, trees that stay noted."""
    given, known, good = motion.energies[GIVEN], False, True
    for k in range(len(tree.group)):
        tree.stays[k] = 0
    for g in range(len(tree.group)):
        if tree.group[g] != g:
            continue
        gain, rounding, joined = _group_gain(tree, motion, g)
        used = min(given, max(0.0, gain))
        given -= used
        gain -= used
        if gain <= rounding:
            continue
        if not known:
            known = True
            motion.energies[KINETIC_NEXT] = kinetic_energy(tree, motion.vectors[V_NEXT], NEXT)  # twists go with it
            _set_center_velocities(tree, motion)
        if gain - _pay(tree, motion, joined, g, gain) > rounding:
            good = False
        else:
            for k in range(g, len(tree.group)):
                tree.stays[k] = 0 if tree.group[k] == g else tree.stays[k]
    return good


@inline
def _pay(tree: Tree, motion: StepState, joined, g, gain):
    """Slow down the trees of a group (3), (4); return the energy that took (J)."""
    e = tree.account
    own = about = kinetic = 0.0
    for k in range(g, len(tree.group)):
        if tree.group[k] == g:
            own += max(0.0, own_gain(tree, k))
            about += e[ABOUT, k]
            kinetic += e[NEXT, k]
    turns = gain < 0.5 * about  # of trees that are joined
    paid = 0.0
    for k in range(g, len(tree.group)):
        e[FACTOR, k] = 1.0
        if tree.group[k] != g:
            continue
        if joined:
            share = e[ABOUT, k] / about if turns else (e[NEXT, k] / kinetic if kinetic > 0.0 else 0.0)
        else:
            share = max(0.0, own_gain(tree, k)) / own if own > 0.0 else 0.0
            turns = share * gain < 0.5 * e[ABOUT, k]
        e[SHARE, k] = share * gain
        tree.stays[k] = 1 if joined or e[SHARE, k] > e[NEXT, k] else 0
        if e[SHARE, k] > 0.0 and e[NEXT, k] > 0.0:
            paid += _slow_down(tree, motion, k, turns)
    v = motion.vectors[V_NEXT]
    for d in range(len(v)):
        if tree.group[tree.root[d]] == g:
            v[d] *= e[FACTOR, tree.root[d]]
    tree.current[0] = 0
    motion.energies[KINETIC_NEXT] -= paid
    return paid


@inline
def _slow_down(tree: Tree, motion: StepState, k, turns):
    """Factor of a tree's velocity (3) or (4), and what its centre of mass keeps; return the energy it takes (J)."""
    e, v = tree.account, motion.vectors[V_NEXT]
    paid = min(e[SHARE, k], e[NEXT, k])
    if not turns:
        e[FACTOR, k] = math.sqrt(max(0.0, 1.0 - paid / e[NEXT, k]))
    else:
        scale = e[FACTOR, k] = math.sqrt(1.0 - paid / e[ABOUT, k])
        e[ABOUT, k] -= paid
        for f in range(len(motion.free_joints)):
            body, o = motion.free_joints[f, 0], motion.free_joints[f, 1]
            if tree.root[o] == k:
                S, c = motion.poses_next[body], tree.push[o]
                for i in range(3):
                    v[o + i] += (1.0 - scale) / scale * (S[0, i] * c[0] + S[1, i] * c[1] + S[2, i] * c[2])
    e[NEXT, k] -= paid
    return paid


@inline
def take_given(tree: Tree, motion: StepState):
    """Use up what is given as far as this step needed it."""
    for g in range(len(tree.group)):
        if motion.energies[GIVEN] > 0.0 and tree.group[g] == g:
            gain, _, _ = _group_gain(tree, motion, g)
            motion.energies[GIVEN] -= min(motion.energies[GIVEN], max(0.0, gain))


@inline
def _set_center_velocities(tree: Tree, motion: StepState):
    """T_r of all trees; c of those that hang on free joints into `push`, at their first velocity.

    `twists` are those of the velocities at the end of the step.
    """
    for k in range(len(tree.group)):
        tree.account[ABOUT, k] = tree.account[NEXT, k]
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
        tree.account[ABOUT, tree.root[o]] -= 0.5 * f * (x * x + y * y + z * z)
