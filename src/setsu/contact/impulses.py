"""Impulses of a step: which friction acts, and restitution that never raises the energy.

    static friction where points rest, kinetic where they turn out to slide   (1)  solved again where that differs
    bouncing points: v_n' >= -e v_n                                           (2)  above a threshold of speed; flight.py
    soft: λ = -h k (g + ¼ h (v_n + v_n')) - ½ h d (v_n + v_n'),  λ >= 0       (3)  k, d, g: stiffness, damping, gap
    soft, where positions follow v': λ = -h k (g + h v_n') - h d v_n'         (4)
    d = d_0 + k a max(0, -(g + ½ h v_n))                                      (5)  a: dissipation, at the middle's depth

Where Newton's law of restitution and friction together would raise the energy, e is lowered for that step until they
do not. (3) is the rule of the middle, which keeps the energy of an undamped spring; solved for v_n' it adds to v_n' a
shift and, per impulse, the compliance `soft`: soft and rigid contacts are one problem. (5) makes the force
k δ (1 + a δ̇): the damper of Hunt and Crossley 1975 on a linear spring, which begins and ends without a jump.
Source: sugihara2002 (11), (12), (20)-(27) with the reading of docs/contact.md.
"""

from __future__ import annotations

import math

from setsu.contact import newton_solver
from setsu.contact.flight import rebound
from setsu.contact.free_motion import StepState
from setsu.contact.memory import is_sliding
from setsu.contact.scene import FREE, N_CONTACTS, ROUNDS_LEFT, TURNING, TWIST, Problem
from setsu.contact.tree import Tree
from setsu.contact.turning_friction import set_turn
from setsu.native.control_flow import inline

__all__ = ["RECOVERY_DEPTH", "set_bounces", "solve_contacts"]

# m: how much of what the contacts' compliance lets in a step gives back at most; enough for five boxes on each other.
RECOVERY_DEPTH = 1e-9


@inline
def set_bounces(tree: Tree, problem: Problem, motion: StepState, first, h, slowest):
    """Mark contacts that come in fast enough to bounce (2)."""
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        reaches = first > 0 or c.gap + h * c.free[0] <= 0.0
        c.bounces = 1 if reaches and c.restitution > 0.0 and c.before[0] < -slowest else 0
        if c.bounces == 1:
            for k in range(3):
                c.curvature[k] = c.bend[k] = 0.0


@inline
def _damping(c, h):
    """(5), N s/m."""
    return c.damping + c.stiffness * c.dissipation * max(0.0, -(c.gap + 0.5 * h * c.before[0]))


@inline
def _is_plain(tree: Tree, c):
    """Whether one of the bodies of a contact takes plain steps."""
    plain = tree.plain[tree.root[tree.last[c.body_a]]] == 1
    return plain or (c.body_b >= 0 and tree.plain[tree.root[tree.last[c.body_b]]] == 1)


@inline
def _set_shifts(tree: Tree, problem: Problem, h, part, recovery):
    """What the contact velocities are measured from; `part` scales restitution. Return whether any contact bounces."""
    bounces = False
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        c.shift[1], c.shift[2] = c.curvature[1] - c.surface[1], c.curvature[2] - c.surface[2]
        if c.bounces == 1:
            bounces = True
            c.shift[0] = c.curvature[0] - rebound(tree, c, part * c.restitution, h)
        elif c.stiffness < math.inf and _is_plain(tree, c):  # (4)
            c.soft = 1.0 / (h * h * c.stiffness + h * _damping(c, h))
            c.shift[0] = c.soft * h * c.stiffness * c.gap
        elif c.stiffness < math.inf:  # (3)
            c.soft = 1.0 / (0.25 * h * h * c.stiffness + 0.5 * h * _damping(c, h))
            c.shift[0] = c.soft * h * c.stiffness * c.gap + c.before[0]
        else:
            c.shift[0] = max(-recovery, c.gap) / h + c.curvature[0]
    return bounces


@inline
def _solve_with_friction(tree: Tree, problem: Problem):
    """Solve with static friction where points rest, again with kinetic friction where they turn out to slide."""
    residual, rounds, good = 0.0, 0, True
    again = True
    while again:
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            c.friction = c.kinetic_friction if c.slides == 1 else c.static_friction
        residual, more, good = newton_solver.solve(tree, problem)
        rounds += more
        problem.counts[ROUNDS_LEFT] -= more
        again = False
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            if c.slides == 0 and c.impulse[0] > 0.0 and is_sliding(c.velocity) == 1:
                c.slides = 1
                again = again or c.kinetic_friction < c.static_friction
    return residual, rounds, good


@inline
def solve_contacts(tree: Tree, problem: Problem, h, recovery):
    """Solve, with restitution lowered where it would raise the energy of the free motion; recovery: m of depth."""
    part, rounds = 1.0, 0
    while True:
        bounces = _set_shifts(tree, problem, h, part, recovery)
        residual, more, good = _solve_with_friction(tree, problem)
        rounds += more
        if not bounces or part == 0.0:
            return residual, rounds, good
        gain = size = 0.0
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            for k in range(3):
                free, after = c.free[k], c.velocity[k] - c.shift[k]
                if k == 0:
                    after -= c.soft * c.impulse[0]
                gain += 0.5 * c.impulse[k] * (free + after)
                size += 0.5 * abs(c.impulse[k]) * (abs(free) + abs(after))
            if problem.counts[TURNING] > 0:
                set_turn(problem, index, FREE, c.turn)
                set_turn(problem, index, TWIST, c.slope)
                for k in range(3):
                    gain += 0.5 * c.couple[k] * (c.turn[k] + c.slope[k])
                    size += 0.5 * abs(c.couple[k]) * (abs(c.turn[k]) + abs(c.slope[k]))
        if gain <= 1e-8 * size:
            return residual, rounds, good
        part = 0.8 * part if part > 0.1 else 0.0
