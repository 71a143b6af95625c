"""The last search for contact impulses, where all quicker ways stopped short: many careful starts.

| stage | what |
|---|---|
| softer contacts | Newton's method with a compliance of 1e-3 of W, then a tenth of it, down to the real one |
| convex problems | friction problems that are convex, one after the other until friction agrees (cone_descent.py) |
| patience | Newton's method in short steps, ρ from 0.1 to 1e4, in turn from around nothing and around the best so far |

Soft contacts have modes that change slowly, so that each compliance begins near its answer. What is left after that has
a residual with valleys beside its zero: other ρ see other valleys, and other places lie in other ones. Near nothing is
a good place: on two problems that all else left, 27 of 100 starts from there ended at the answer, 4 and 16 from the
impulses of the step before.
The work is bounded by rounds times contacts: single robots get all starts, islands of hundreds of contacts a few.
Measured: three of thirty throws of a limp humanoid hold one to eight steps of 1500 that need it.
"""

from __future__ import annotations

import math

from setsu.contact.cone_descent import begin_descent, descend
from setsu.contact.cone_newton import copy_impulses, keep_best, newton
from setsu.contact.cone_problem import CONTACTS, ROWS, ConeProblem
from setsu.native.compiled_elementary import exp
from setsu.native.control_flow import part

__all__ = ["descend_from_best", "harden_from_best", "search_patiently"]

# Softer contacts: first compliance (parts of the mean of W), by what it falls each time, how far each is solved.
_SOFTEST, _HARDENING, _ROUGH = 1e-3, 0.1, 1e-4
# Newton steps for each factor of ρ.
_CAREFUL, _SHORTEST = 10, 0.01
_FACTORS = (100.0, 1000.0, 1.0, 1e4, 10.0)
# Convex problems: how often friction is made to agree, how far each is solved, when halves are taken; Newton steps.
_TURNS, _FINE, _WHOLE, _BOLD = 40, 1e-7, 4, 6
# Patience: starts, Newton steps from each, how short they may get, narrowest scatter of the starts in parts of L.
_STARTS, _PATIENT, _TINY, _NARROWEST = 240, 40, 1e-3, 1e-4
# Natural logarithms of the ranges of ρ, five decades, and of the scatter, from _NARROWEST to 3.
_DECADES, _SPREAD = 11.512925464970229, 10.308952660644293


@part
def _carefully(p: ConeProblem, used, eps, damping, goal, end):
    """Newton's method with every factor of ρ from `best`, until |F| <= end (N s); return (natural map, rounds).

    The impulses with the least natural map end in `best`, of this compliance.
    """
    copy_impulses(p, p.best, p.again)
    least, rounds = math.inf, 0
    for factor in _FACTORS:
        copy_impulses(p, p.again, p.impulse)
        _, more = newton(p, used, eps, damping, factor, goal, _CAREFUL, _SHORTEST)
        rounds += more
        least = keep_best(p, eps, least)
        if least <= end:
            break
    return least, rounds


@part
def harden_from_best(p: ConeProblem, used, eps, damping, goal, enough, L, most):
    """From soft to real contacts, beginning at `best`; return (natural map, rounds)."""
    n, unit = p.counts[CONTACTS], 0.0
    for index in range(n):
        unit += 1.0 / (p.scale[index] * n)
    rounds, soft = 0, _SOFTEST * unit
    while soft > 1.5 * damping and rounds < most:
        _, more = _carefully(p, used, soft, soft, _ROUGH * L, _ROUGH * L)
        rounds += more
        soft *= _HARDENING
    least, more = _carefully(p, used, eps, damping, goal, enough)
    return least, rounds + more


@part
def descend_from_best(p: ConeProblem, used, eps, damping, goal, enough, L, most, best):
    """Convex problems from `best`, Newton's method from where each ends; return (natural map, rounds)."""
    copy_impulses(p, p.best, p.impulse)
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        for k in range(3):
            p.impulse[row, k] = 0.0
    soft = max(eps, damping)
    begin_descent(p, soft)
    rounds = 0
    for turn in range(_TURNS):
        # Near the end friction may go to and fro unless it is taken by halves.
        rounds += descend(p, used, soft, _FINE * L, 1.0 if turn < _WHOLE else 0.5)
        _, more = newton(p, used, eps, damping, 1.0, goal, _BOLD, 1.0)
        rounds += more
        best = keep_best(p, eps, best)
        if best <= enough or rounds >= most:
            break
    return best, rounds


@part
def search_patiently(p: ConeProblem, used, eps, damping, goal, enough, L, work):
    """All stages, from `given`; return (natural map, rounds). The impulses with the least natural map end in `best`.

    work: rounds times contacts at most.
    """
    n = p.counts[CONTACTS]
    most = work // n
    copy_impulses(p, p.given, p.best)
    best, rounds = harden_from_best(p, used, eps, damping, goal, enough, L, most)
    if best > enough and rounds < most:
        best, more = descend_from_best(p, used, eps, damping, goal, enough, L, most - rounds, best)
        rounds += more
    for index in range(p.counts[ROWS]):
        for k in range(3):
            p.again[index, k] = 0.0
    chance = 1
    for number in range(_STARTS):
        if best <= enough or rounds >= most:
            break
        # Evenly spread numbers, the same in every run: from 0.1 to 1e4, and scatter from nothing to all.
        factor = 0.1 * exp(_DECADES * ((number * 0.6180339887498949 + 0.5) % 1.0))
        scatter = 0.0 if number % 4 == 0 else L * _NARROWEST * exp(_SPREAD * number / _STARTS)
        begin = p.best if number % 2 == 1 else p.again
        for index in range(p.counts[ROWS]):
            for k in range(3):
                chance = (1103515245 * chance + 12345) % 2147483648
                p.impulse[index, k] = begin[index, k] + scatter * (chance / 1073741824.0 - 1.0)
        _, more = newton(p, used, eps, damping, factor, goal, min(_PATIENT, most - rounds), _TINY)
        rounds += more
        best = keep_best(p, eps, best)
    return best, rounds
