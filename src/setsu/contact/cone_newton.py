"""Newton's method on Coulomb's law of all contacts of a problem (cone_laws.py (3)-(7)) and on that of their couples
(couple_laws.py (5)-(8)).

Full steps first: near the answer they end in a few rounds, and |F| may climb before it falls. With a line search each
step is shortened until |F|² falls.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import solve_round
from setsu.contact.cone_laws import follow_normal, law_blocks, law_error, natural_map, project
from setsu.contact.cone_problem import CONTACTS, ROWS, ConeProblem, set_velocities
from setsu.contact.couple_laws import add_couple_errors, certify_couples, project_couples, set_couple_blocks
from setsu.native.control_flow import inline

__all__ = ["certify_natural", "copy_impulses", "keep_best", "newton", "start_from"]

_SHORTER, _DECREASE = 0.4, 0.1
# Full steps that go around between modes show it by now.
_SHOWN = 4


@inline
def certify_natural(p: ConeProblem, impulses):
    """The largest entry of the natural map at impulses (n, 3) whose velocities stand in `velocity`."""
    worst = 0.0
    for index in range(p.counts[CONTACTS]):
        error = natural_map(impulses[index], p.velocity[index], p.scale[index], p.friction[index])
        if not error <= worst:
            worst = error
    return certify_couples(p, impulses, worst)


@inline
def copy_impulses(p: ConeProblem, source, target):
    """target = source, both (ROWS, 3)."""
    for index in range(p.counts[ROWS]):
        for k in range(3):
            target[index, k] = source[index, k]


@inline
def keep_best(p: ConeProblem, eps, best):
    """Natural map at `impulse`, brought into its cones; where it is the least so far it becomes `best`.

    Velocities are those of `impulse` before, and those of what was looked at after it.
    """
    copy_impulses(p, p.impulse, p.trial)
    outside = p.counts[ROWS] > p.counts[CONTACTS]
    for index in range(p.counts[CONTACTS]):
        f = p.trial[index]
        n, s, t = project(f[0], f[1], f[2], p.friction[index])
        outside = outside or n != f[0] or s != f[1] or t != f[2]
        f[0], f[1], f[2] = n, s, t
    if outside:
        project_couples(p, p.trial)
        set_velocities(p, p.trial, eps)
    worst = certify_natural(p, p.trial)
    if worst < best:
        copy_impulses(p, p.trial, p.best)
        return worst
    return best


@inline
def start_from(p: ConeProblem, source, eps):
    """impulse = source, with its velocities."""
    copy_impulses(p, source, p.impulse)
    set_velocities(p, p.impulse, eps)


@inline
def _error(p: ConeProblem, factor):
    """F at the trial impulses and their velocities: its largest entry (N s) and the sum of squares."""
    worst = total = 0.0
    for index in range(p.counts[CONTACTS]):
        a, b, c = law_error(p.trial[index], p.velocity[index], factor * p.scale[index], p.friction[index])
        worst = max(worst, abs(a), abs(b), abs(c))
        total += a * a + b * b + c * c
    return add_couple_errors(p, p.trial, factor, worst, total)


@inline
def _set_trial(p: ConeProblem, length, eps):
    """trial = impulse + length · change, with its velocities."""
    for index in range(p.counts[ROWS]):
        for k in range(3):
            p.trial[index, k] = p.impulse[index, k] + length * p.change[index, k]
    set_velocities(p, p.trial, eps)


@inline
def newton(p: ConeProblem, used, eps, damping, factor, goal, most, shortest, hopeless):
    """Newton's method from `impulse`, whose velocities are known, until |F| <= goal (N s); return (|F|, rounds).

    eps: compliance of the problem; damping: that of a round; factor: of ρ; shortest: how short steps may get, 1: full;
    hopeless: |F| (N s) from which it gives up after _SHOWN rounds.
    """
    copy_impulses(p, p.impulse, p.trial)
    worst, total = _error(p, factor)
    rounds = 0
    while worst > goal and rounds < most and not (rounds == _SHOWN and worst > hopeless):
        rounds += 1
        for index in range(p.counts[CONTACTS]):
            rho, mu = factor * p.scale[index], p.friction[index]
            law_blocks(
                p.impulse[index], p.velocity[index], rho, mu, damping, p.ratio[index], p.rest[index], p.slide[index]
            )
        set_couple_blocks(p, damping, factor)
        if not solve_round(p, used, True):
            break
        for index in range(p.counts[CONTACTS]):
            follow_normal(p.ratio[index], p.slide[index], p.slope[index], p.change[index])
        length, best, best_total = 1.0, 1.0, math.inf
        while True:
            _set_trial(p, length, eps)
            worst, now = _error(p, factor)
            if now < best_total:
                best, best_total = length, now
            if now < (1.0 - _DECREASE * length) * total or length <= shortest:
                break
            length *= _SHORTER
        if length != best:
            _set_trial(p, best, eps)
            worst, now = _error(p, factor)
        total = now
        copy_impulses(p, p.trial, p.impulse)
    return worst, rounds
