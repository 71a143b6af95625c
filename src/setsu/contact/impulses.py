"""Impulses of a step: which friction acts, and restitution that never raises the energy.

    static friction where points rest, kinetic where they turn out to slide   (1)  solved again where that differs
    bouncing points: v_n' >= -e v_n                                           (2)  above a threshold of speed; flight.py
    soft: λ = -h k (g + ¼ h (v_n + v_n')) - ½ h d (v_n + v_n'),  λ >= 0       (3)  k, d, g: stiffness, damping, gap
    soft, where positions follow v': λ = -h k (g + h v_n') - h d v_n'         (4)

Where Newton's law of restitution and friction together would raise the energy, e is lowered for that step until they
do not. (3) is the rule of the middle, which keeps the energy of an undamped spring; solved for v_n' it adds to v_n' a
shift and, per impulse, the compliance `soft`: soft and rigid contacts are one problem.
Source: sugihara2002 (11), (12), (20)-(27) with the reading of docs/contact.md.
"""

from __future__ import annotations

import math

from setsu.contact import newton_solver
from setsu.contact.flight import rebound
from setsu.contact.free_motion import Motion
from setsu.contact.memory import is_sliding
from setsu.contact.scene import TURNING, Problem
from setsu.contact.tree import Tree
from setsu.contact.turning_friction import MOST_TURNS, SETTLED, set_spun, update_couples
from setsu.native.control_flow import part

__all__ = ["CREEP", "set_bounces", "solve_contacts"]

# m: how much of what the contacts' compliance lets in a step gives back at most; enough for five boxes on each other.
CREEP = 1e-9
# Change of a couple, in parts of its limit, that counts as settled in the end.
_TOLERATED = 1e-6


@part
def set_bounces(tree: Tree, problem: Problem, motion: Motion, first, h, slowest):
    """Mark contacts that come in fast enough to bounce (2)."""
    for index in range(first, problem.counts[0]):
        c = problem.contacts[index]
        reaches = first > 0 or c.gap + h * c.free[0] <= 0.0
        c.bounces = 1 if reaches and c.restitution > 0.0 and c.before[0] < -slowest else 0
        if c.bounces == 1:
            for k in range(3):
                c.curvature[k] = c.bend[k] = 0.0


@part
def _set_shifts(tree: Tree, problem: Problem, h, part, creep, plain):
    """What the contact velocities are measured from; `part` scales restitution. Return whether any contact bounces."""
    bounces = False
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        c.shift[1], c.shift[2] = c.curvature[1] - c.surface[1], c.curvature[2] - c.surface[2]
        if c.bounces == 1:
            bounces = True
            c.shift[0] = c.curvature[0] - rebound(tree, c, part * c.restitution, h)
        elif c.stiffness < math.inf and plain:  # (4)
            c.soft = 1.0 / (h * h * c.stiffness + h * c.damping)
            c.shift[0] = c.soft * h * c.stiffness * c.gap
        elif c.stiffness < math.inf:  # (3)
            c.soft = 1.0 / (0.25 * h * h * c.stiffness + 0.5 * h * c.damping)
            c.shift[0] = c.soft * h * c.stiffness * c.gap + c.before[0]
        else:
            c.shift[0] = max(-creep, c.gap) / h + c.curvature[0]
    return bounces


@part
def _solve_with_turning(tree: Tree, problem: Problem):
    """Solve, in turn with the couples of torsional and rolling friction."""
    residual, rounds, good = newton_solver.solve(tree, problem)
    if problem.counts[TURNING] == 0:
        return residual, rounds, good
    change = 1.0
    for turn in range(MOST_TURNS):
        change = update_couples(problem, turn)
        if change <= SETTLED:
            break
        set_spun(tree, problem)
        residual, more, good = newton_solver.solve(tree, problem)
        rounds += more
    return max(residual, change), rounds, good and change <= _TOLERATED


@part
def _solve_with_friction(tree: Tree, problem: Problem):
    """Solve with static friction where points rest, again with kinetic friction where they turn out to slide."""
    residual, rounds, good = 0.0, 0, True
    again = True
    while again:
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            c.friction = c.kinetic_friction if c.slides == 1 else c.static_friction
        residual, more, good = _solve_with_turning(tree, problem)
        rounds += more
        again = False
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            if c.slides == 0 and c.impulse[0] > 0.0 and is_sliding(c.velocity) == 1:
                c.slides = 1
                again = again or c.kinetic_friction < c.static_friction
    return residual, rounds, good


@part
def solve_contacts(tree: Tree, problem: Problem, h, creep, plain):
    """Solve, with restitution lowered where it would raise the energy of the free motion; creep: m, taken back."""
    part, rounds = 1.0, 0
    while True:
        bounces = _set_shifts(tree, problem, h, part, creep, plain)
        residual, more, good = _solve_with_friction(tree, problem)
        rounds += more
        if not bounces or part == 0.0:
            return residual, rounds, good
        gain = size = 0.0
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            for k in range(3):
                free, after = c.free[k] + c.spun[k], c.velocity[k] - c.shift[k]
                if k == 0:
                    after -= c.soft * c.impulse[0]
                gain += 0.5 * c.impulse[k] * (free + after)
                size += 0.5 * abs(c.impulse[k]) * (abs(free) + abs(after))
        if gain <= 1e-8 * size:
            return residual, rounds, good
        part = 0.8 * part if part > 0.1 else 0.0
