"""Contact impulses with friction, exactly, in a bounded number of rounds: what every contact problem goes through.

| stage | from | rounds at most |
|---|---|---|
| Newton's method, full steps (cone_newton.py) | given | 9, 4 where they go around; 16 without friction |
| the same with the worst contacts solved exactly (worst_contacts.py) | given | 20 |
| interior point method (interior_point.py), Newton's method with 1e4 ρ from its end | given | 30 |
| Newton's method with the worst contacts solved exactly | best | 20 |
| Newton's method, line search, 1000 ρ, then ρ | best | 16 + 10 |
| interior point method | where it stopped | 40 |
| Newton's method, line search, 10 ρ | given | 12 |
| interior point method with 100 ε | given | 30 |
| interior point method, nearer to the border | given | 40 |
| Newton's method, line search, 1000 ρ; 10 ρ with 100 ε | given | 10 + 10 |
| Newton's method in many short steps, ρ from 0.1 to 1e4 | around nothing, around best | what is left |
| convex problem, De Saxcé's shift zero: always ends and adds no energy; not the exact solution | nothing | 25 |

Given are the impulses of the step before, which are looked at first; best are the impulses with the least natural map
so far. Full steps end in a few rounds where the modes (open, stick, slide) are nearly known, and may go around between
them otherwise: most often only some ten contacts of an island do, and all others are linear. Solved exactly among
themselves, these end four of five problems that begin near their answer, in some seven rounds. Large ρ lets velocities
decide about modes, small ρ impulses. The interior point method finds modes from anywhere, but with friction its path
may end before the answer: where its steps get short, it reckons with less of the shift's derivative, which leads past
most such ends. Where many bodies lie on each other it comes near, to 1e-8 to 1e-5 of L, and no further; from there
Newton's method with large ρ ends in some ten rounds more often than with any other.
What is left then has a residual with valleys beside its zero: other ρ see other valleys, and other places lie in other
ones.
Problems that are hard with little compliance are easy with more: where several points of one face carry a body that
turns on it, the loads of single points follow from ε alone, and few of the many ways to share them are consistent with
friction. With 100 ε a contact gives way at 5e-5 of the velocity that it takes away. Such answers are exact for the
contacts that they have, add no energy, and are kept as they are.
The result is the best impulses met, certified by their natural map (cone_laws.py (1)) and never by the stage that
found them. Where no stage meets the tolerance they are returned if their natural map is below 1e-6 of L or no rounds
are left, else the convex solution, and reported as not converged.
Couples of torsional and rolling friction belong to Newton's method; the interior point method holds them, and the
convex problems have none.
The scale of impulses L is the largest ρ |b|, what a contact alone would need: it does not grow with the answer, so that
impulses that grow without bound, where no answer exists, cannot pass for one.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import order_nodes, solve_round
from setsu.contact.cone_laws import project
from setsu.contact.cone_newton import certify_natural, copy_impulses, keep_best, newton, start_from
from setsu.contact.cone_problem import (
    ACCURACY,
    CONTACTS,
    CONVERGED,
    DAMPING,
    EPS,
    HARD,
    MOST,
    MOST_ROUNDS,
    RESIDUAL,
    ROUND,
    ROUNDS,
    ROWS,
    TASK,
    TOLERANCE,
    ConeProblem,
    set_velocities,
)
from setsu.contact.interior_point import begin_interior, interior_round, take_interior
from setsu.contact.worst_contacts import newton_of_worst
from setsu.native.compiled_elementary import exp
from setsu.native.control_flow import inline, jit

__all__ = ["solve_entry"]

_NEWTON, _INTERIOR, _WORST = 0.0, 1.0, 2.0
_GIVEN, _BEST, _STOPPED = 0.0, 1.0, 2.0
# What, from where, rounds; of Newton's method: factor of ρ, shortest step; of the interior point method: how far inside
# the cones it starts (parts of L and V), after how many rounds without progress it gives up; factor of ε.
_STAGES = (
    (_NEWTON, _GIVEN, 9.0, 1.0, 1.0, 1.0),
    (_WORST, _GIVEN, 20.0, 1.0, 1.0, 1.0),
    (_INTERIOR, _GIVEN, 30.0, 1e-2, 6.0, 1.0),
    (_WORST, _BEST, 20.0, 1.0, 1.0, 1.0),
    (_NEWTON, _BEST, 16.0, 1000.0, 0.01, 1.0),
    (_NEWTON, _BEST, 10.0, 1.0, 0.01, 1.0),
    (_INTERIOR, _STOPPED, 40.0, 0.0, 20.0, 1.0),
    (_NEWTON, _GIVEN, 12.0, 10.0, 0.01, 1.0),
    (_INTERIOR, _GIVEN, 30.0, 1e-1, 0.0, 100.0),
    (_INTERIOR, _GIVEN, 40.0, 1e-3, 12.0, 1.0),
    (_NEWTON, _GIVEN, 10.0, 1000.0, 0.01, 1.0),
    (_NEWTON, _GIVEN, 10.0, 10.0, 0.01, 100.0),
)
# How many of them newton_solver.py goes through before, where it can.
_TRIED = 1
# Rounds of the first where nothing rubs; |F| from which its full steps go around: parts of L, and of the natural map at
# their start.
_SMOOTH_ROUNDS, _HOPELESS, _WORSE = 16, 1e-2, 10.0
# Many starts: how many, Newton steps from each, how short they may get, narrowest scatter in parts of L; natural
# logarithms of the ranges of ρ, five decades, and of the scatter, from the narrowest to 3.
_STARTS, _PATIENT, _TINY, _NARROWEST = 240, 40, 1e-3, 1e-4
_DECADES, _SPREAD = 11.512925464970229, 10.308952660644293
# Newton's method from impulses that meet the tolerance but not the accuracy: factors of ρ, rounds each, shortest step.
# Rounds of many starts for the same, of a few trees.
_POLISH, _POLISH_ROUNDS, _SHORTEST, _FINER = (1.0, 100.0), 8, 0.01, 300
# Parts of L: a natural map below which the best impulses are nearer to friction's law than those of the convex problem.
_NEARLY = 1e-6
# Parts of the largest impulse that rounding may leave of a natural map.
_ROUNDING = 1e-14
# The interior point method: when it is done (of L V), what counts as progress (of the natural map); after steps
# shorter than this it reckons with less of the shift's derivative, after others with more.
_EMPTY_GAP, _PROGRESS = 1e-20, 0.7
_SHORT, _LESS, _MORE = 0.3, 0.5, 0.1
# Newton's method on its way, from where the natural map falls below _TRY_FROM (parts of L), again where it is so much
# nearer: rounds, factor of ρ.
_TRY_FROM, _NEARER, _TRY_ROUNDS, _TRY_FACTOR = 1e-6, 0.03, 10, 1e4
# The convex problem without shift: rounds, and how far it is solved.
_CONVEX_ROUNDS, _CONVEX_GAP = 25, 1e-13


@inline
def _above_rounding(p: ConeProblem, goal):
    """At least what rounding leaves of the largest of the best impulses, N s: under a heavy body that may exceed L."""
    largest = 0.0
    for index in range(p.counts[CONTACTS]):
        largest = max(largest, p.best[index, 0])
    return max(goal, _ROUNDING * largest)


@inline
def _from_inside(p: ConeProblem, used, eps, damping, resumes, inside, patience, goal, L, V, most, best):
    """Interior point method with De Saxcé's shift, Newton's method from its end. Return (natural map, rounds)."""
    if resumes:
        take_interior(p, eps)
    else:
        begin_interior(p, eps, inside * L, inside * V, True)
    rounds, share, level, waited, least = 0, 1.0, _TRY_FROM * L, 0, math.inf
    while rounds < most:
        gap, length = interior_round(p, used, eps, damping, True, share)
        rounds += 1
        if not (length > 0.0 and gap < math.inf):
            break
        share = _LESS * share if length < _SHORT else min(1.0, share + _MORE)
        residual = certify_natural(p, p.impulse)
        waited = 0 if residual < _PROGRESS * least else waited + 1
        least = min(least, residual)
        ends = waited >= patience or gap <= _EMPTY_GAP * L * V
        if residual > level and not ends:
            continue
        best = keep_best(p, eps, best)
        if residual <= level and best > goal:
            level = _NEARER * residual
            set_velocities(p, p.impulse, eps)
            left = min(_TRY_ROUNDS, most - rounds)
            _, more = newton(p, used, eps, damping, _TRY_FACTOR, goal, left, _SHORTEST, math.inf)
            rounds += more
            best = keep_best(p, eps, best)
        if best <= goal or ends:
            break
        take_interior(p, eps)
    return best, rounds


@inline
def _soften(p: ConeProblem, used, eps, inside, enough, L, V, most):
    """Interior point method with compliance that is not the problem's own until `impulse` is near enough; rounds."""
    begin_interior(p, eps, inside * L, inside * V, True)
    rounds, share = 0, 1.0
    while rounds < most:
        gap, length = interior_round(p, used, eps, eps, True, share)
        rounds += 1
        if not (length > 0.0 and gap < math.inf) or certify_natural(p, p.impulse) <= enough:
            break
        share = _LESS * share if length < _SHORT else min(1.0, share + _MORE)
    return rounds


@inline
def _search(p: ConeProblem, used, eps, damping, goal, enough, L, most, best):
    """Newton's method from many places; return (natural map, rounds)."""
    rounds, chance = 0, 1
    for number in range(_STARTS):
        if best <= enough or rounds >= most:
            break
        # Evenly spread numbers, the same in every run: ρ from 0.1 to 1e4, and scatter from nothing to all.
        factor = 0.1 * exp(_DECADES * ((number * 0.6180339887498949 + 0.5) % 1.0))
        scatter = 0.0 if number % 4 == 0 else L * _NARROWEST * exp(_SPREAD * number / _STARTS)
        share = number % 2
        for index in range(p.counts[ROWS]):
            for k in range(3):
                chance = (1103515245 * chance + 12345) % 2147483648
                p.impulse[index, k] = share * p.best[index, k] + scatter * (chance / 1073741824.0 - 1.0)
        set_velocities(p, p.impulse, eps)
        _, more = newton(p, used, eps, damping, factor, goal, min(_PATIENT, most - rounds), _TINY, math.inf)
        rounds += more
        best = keep_best(p, eps, best)
    return best, rounds


@inline
def _solve_convex(p: ConeProblem, used, eps, damping, L, V):
    """The convex problem; return rounds. Its impulses stand in `best`, none where numbers are lost."""
    for index in range(p.counts[ROWS]):
        for k in range(3):
            p.impulse[index, k] = p.best[index, k] = 0.0
    begin_interior(p, eps, L, V, False)
    for rounds in range(1, _CONVEX_ROUNDS + 1):
        gap, length = interior_round(p, used, eps, damping, False, 0.0)
        if not (length > 0.0 and gap < math.inf):
            return rounds
        for index in range(p.counts[CONTACTS]):
            f, out = p.impulse[index], p.best[index]
            out[0], out[1], out[2] = project(f[0], f[1], f[2], p.friction[index])
        if length < 1e-6 or gap <= _CONVEX_GAP * L * V:
            return rounds
    return _CONVEX_ROUNDS


@inline
def solve_cones(p: ConeProblem, eps, damping, accuracy, tolerance, most, hard):
    """Find the impulses from a start in `impulse`; return (natural map / L, rounds, converged, compliance).

    eps: compliance of the problem, damping: that which rounds work with (1/kg). accuracy: what Newton's method aims at,
    tolerance: what counts as converged, both in parts of L. most: rounds. hard: without the first stages, which
    have failed already. `impulse`, `velocity` and `x` are those of the result.
    """
    L = V = 0.0
    smooth = True
    for index in range(p.counts[CONTACTS]):
        smooth = smooth and p.friction[index] == 0.0
        for k in range(3):
            L, V = max(L, p.scale[index] * abs(p.free[index, k])), max(V, abs(p.free[index, k]))
    if not L > 0.0:
        # Nothing pushes: no impulses are the answer.
        for index in range(p.counts[ROWS]):
            for k in range(3):
                p.impulse[index, k] = 0.0
        set_velocities(p, p.impulse, eps)
        return 0.0 if L == 0.0 else math.inf, 0, L == 0.0, eps
    used = order_nodes(p)
    goal, enough = accuracy * L, tolerance * L
    copy_impulses(p, p.impulse, p.given)
    set_velocities(p, p.impulse, eps)
    reserve = _CONVEX_ROUNDS if most > 2 * _CONVEX_ROUNDS else 0
    best, rounds, tried = keep_best(p, eps, math.inf), 0, False
    skipped = _TRIED if hard else 0
    for kind, source, allowed, factor, shortest, softer in _STAGES:
        if skipped > 0:
            skipped, tried = skipped - 1, True
            continue
        left = _SMOOTH_ROUNDS if smooth and not tried else int(allowed)
        left, more = min(left, most - reserve - rounds), 0
        goal, enough = _above_rounding(p, accuracy * L), _above_rounding(p, tolerance * L)
        if left <= 0 or best <= goal or (tried and best <= enough):
            break
        tried = True
        start_from(p, p.given if source == _GIVEN else p.best, softer * eps)
        if softer > 1.0:
            if eps == 0.0:  # its problem is to be solved as it is
                continue
            if kind == _NEWTON:
                _, more = newton(p, used, softer * eps, softer * eps, factor, goal, left, shortest, math.inf)
            else:
                more = _soften(p, used, softer * eps, factor, enough, L, V, left)
            if certify_natural(p, p.impulse) <= enough:
                eps, damping = softer * eps, softer * eps
                best = keep_best(p, eps, math.inf)
        elif kind == _WORST:
            if p.counts[ROWS] > p.counts[CONTACTS]:
                continue
            _, more = newton_of_worst(p, used, eps, damping, goal, left)
            best = keep_best(p, eps, best)
        elif kind == _NEWTON:
            hopeless = min(_HOPELESS * L, _WORSE * best) if shortest == 1.0 and not smooth else math.inf
            _, more = newton(p, used, eps, damping, factor, goal, left, shortest, hopeless)
            least, best = best, keep_best(p, eps, best)
            if best <= goal and best < least:  # velocities are those of the best
                copy_impulses(p, p.best, p.impulse)
                return best / L, rounds + more, True, eps
        else:
            resumes = source == _STOPPED
            best, more = _from_inside(p, used, eps, damping, resumes, factor, shortest, goal, L, V, left, best)
        rounds += more
    if best > enough:
        best, more = _search(p, used, eps, damping, goal, enough, L, most - reserve - rounds, best)
        rounds += more
    if best <= enough:
        for factor in _POLISH:
            if best > goal:
                start_from(p, p.best, eps)
                left = max(0, min(_POLISH_ROUNDS, most - rounds))
                _, more = newton(p, used, eps, damping, factor, goal, left, _SHORTEST, math.inf)
                best, rounds = keep_best(p, eps, best), rounds + more
        if best > goal and most > MOST_ROUNDS:
            best, more = _search(p, used, eps, damping, goal, goal, L, min(_FINER, most - rounds), best)
            rounds += more
    elif best > _NEARLY * L and reserve > 0:
        rounds += _solve_convex(p, used, eps, damping, L, V)
    start_from(p, p.best, eps)
    worst = certify_natural(p, p.impulse)
    return worst / L, rounds, worst <= enough, eps


@jit
def solve_entry(p: ConeProblem):
    """What ConeProblem.numbers asks for; compiled apart (code_address)."""
    x = p.numbers
    if x[TASK] == ROUND:
        good = solve_round(p, order_nodes(p), True)
    else:
        most, hard = int(x[MOST]), x[TASK] == HARD
        x[RESIDUAL], x[ROUNDS], good, x[EPS] = solve_cones(p, x[EPS], x[DAMPING], x[ACCURACY], x[TOLERANCE], most, hard)
    x[CONVERGED] = 1.0 if good else 0.0
