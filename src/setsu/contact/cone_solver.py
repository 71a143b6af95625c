"""Contact impulses with friction, exactly, in a bounded number of rounds: what every contact problem goes through.

| stage | at most |
|---|---|
| A: Newton's method, full steps from the impulses of the step before (cone_newton.py) | 6 rounds |
| B: interior point method (interior_point.py) from near these impulses, twice Newton's method from it | 30 + 10 |
| C: Newton's method with a line search from the best impulses so far, with ρ of five sizes | 40 |
| convex problem, De Saxcé's shift zero: always ends, and shows where there is no answer | 25 |
| D: convex problems, one after the other until friction agrees, from the best impulses so far (cone_descent.py) | 60 |
| E: Newton's method from the best impulses so far, with steps that a larger compliance damps | 60 |
| F: B from near the convex solution | 40 |
| G: softer contacts first, from the best impulses so far (patient_search.py); C from around them | 60 + 80 |
| H: patient_search.py: softer contacts first, then many short steps from many places | see there |

Newton's method ends in a few rounds where the modes (open, stick, slide) are nearly known, and may go around between
them otherwise. The interior point method finds modes from anywhere, but with friction its path may end before the
answer; the convex solution is near the answer where sliding is slow. Large ρ lets velocities decide about modes, small
ρ impulses. Of 150 recorded problems that B leaves (rows of dominoes, bins) C, D and E solve half to two thirds each,
not the same.
The result is the best impulses met, certified by their natural map (cone_laws.py (1)) and never by the stage that
found them. Where no stage meets the tolerance they are returned if their natural map is below 1e-6 of L, else the
convex solution, and reported as not converged.
Couples of torsional and rolling friction belong to Newton's method; the interior point method holds them, and the
convex problem has none.
The scale of impulses L is the largest ρ |b|, what a contact alone would need: it does not grow with the answer, so that
impulses that grow without bound, where no answer exists, cannot pass for one.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import order_nodes, solve_round
from setsu.contact.cone_laws import project
from setsu.contact.cone_newton import certify_natural, copy_impulses, keep_best, newton
from setsu.contact.cone_problem import (
    ACCURACY,
    CONTACTS,
    CONVERGED,
    DAMPING,
    EPS,
    RESIDUAL,
    ROUND,
    ROUNDS,
    ROWS,
    TASK,
    TOLERANCE,
    ConeProblem,
    set_velocities,
)
from setsu.contact.interior_point import begin_interior, interior_round
from setsu.contact.patient_search import descend_from_best, harden_from_best, search_patiently
from setsu.native.control_flow import compiled, part

__all__ = ["solve_entry"]

_BOLD, _MOST, _POLISH = 6, 80, 2
# E: compliance of a step in parts of that of rounds, factor of ρ; rounds each.
_DAMPED, _DAMPED_ROUNDS = ((1e3, 1.0), (100.0, 1.0), (30.0, 100.0), (30.0, 10.0), (10.0, 1.0)), 12
# Rounds of D and of G.
_DESCENT, _SOFTER = 60, 60
# Parts of L: a natural map below which the best impulses are nearer to friction's law than those of the convex problem.
_NEARLY = 1e-6
# Of the patient search, rounds times contacts: for the tolerance, and for the accuracy beyond it; that of how many
# contacts at most.
_WORK, _FINER_WORK, _FINER_MOST = 30_000, 5_000, 24
# Parts of the largest impulse that rounding may leave of a natural map.
_ROUNDING = 1e-14
# Parts of L: normal impulses of the convex problem that mean that there is no answer.
_UNBOUNDED = 1e5
# The interior point method: rounds, rounds without progress before it gives up, how far inside the cones it starts.
_ROUNDS, _PATIENCE, _PROGRESS = 30, 5, 0.7
_INSIDE = 1e-2
_EMPTY_GAP = 1e-15
# Newton's method from inside: at which residual first, by how much it has to have fallen for the next time, rounds.
_FIRST_TRY, _NEXT_TRY, _TRY_ROUNDS, _MOST_TRIES = 1e-3, 1e-2, 5, 2
# Newton's method with a line search: factors of ρ, from the best impulses, then from the convex solution; rounds.
_FACTORS = (1.0, 100.0, 1000.0, 10.0, 1e4, 1e4, 1.0)
_FROM_BEST, _CAREFUL, _LONGER, _SHORTEST = 5, 8, 14, 0.01
# How far around the best impulses it starts at last, in parts of their residual.
_SCATTER = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0)
# The convex problem: rounds, and how far it is solved.
_CONVEX_ROUNDS, _CONVEX_GAP = 25, 1e-13


@part
def impulse_scale(p: ConeProblem):
    """L, N s."""
    largest = 0.0
    for index in range(p.counts[CONTACTS]):
        for k in range(3):
            largest = max(largest, p.scale[index] * abs(p.free[index, k]))
    return largest


@part
def _above_rounding(p: ConeProblem, goal):
    """At least what rounding leaves of the largest of the best impulses, N s: under a heavy body that may exceed L."""
    largest = 0.0
    for index in range(p.counts[CONTACTS]):
        largest = max(largest, p.best[index, 0])
    return max(goal, _ROUNDING * largest)


@part
def _from_inside(p: ConeProblem, used, eps, damping, goal, enough, L, V, best):
    """Interior point method with De Saxcé's shift and Newton's method from it. Return (natural map, rounds)."""
    n = p.counts[CONTACTS]
    copy_impulses(p, p.start, p.impulse)
    begin_interior(p, eps, _INSIDE * L, _INSIDE * V, True)
    set_velocities(p, p.impulse, eps)
    rounds, tries, waited, threshold, least = 0, 0, 0, _FIRST_TRY * L, math.inf
    for _ in range(_ROUNDS):
        gap, length = interior_round(p, used, eps, damping, True)
        rounds += 1
        if not (length > 0.0 and gap < math.inf):
            break
        residual = certify_natural(p, p.impulse)
        waited = 0 if residual < _PROGRESS * least else waited + 1
        least = min(least, residual)
        last = waited >= _PATIENCE or gap <= _EMPTY_GAP * L * V
        if residual > threshold and not last:
            continue
        best = keep_best(p, eps, best)
        if best <= enough or last or tries >= _MOST_TRIES:
            if best <= enough or last:
                break
            continue
        tries += 1
        _, more = newton(p, used, eps, damping, 1.0, goal, _TRY_ROUNDS, 1.0)
        rounds += more
        best = keep_best(p, eps, best)
        if best <= enough:
            break
        threshold = _NEXT_TRY * min(residual, threshold)
        for index in range(n):
            f, z, mu = p.impulse[index], p.cone[index], p.friction[index]
            f[0] = z[0] / mu if mu > 0.0 else z[0]
            f[1], f[2] = z[1], z[2]
        for row in range(n, p.counts[ROWS]):
            for k in range(3):
                p.impulse[row, k] = p.best[row, k]
        set_velocities(p, p.impulse, eps)
    return best, rounds


@part
def _damped(p: ConeProblem, used, eps, damping, goal, enough, best):
    """Newton's method from the best impulses so far, steps damped by a larger compliance: (natural map, rounds)."""
    rounds = 0
    for softer, factor in _DAMPED:
        copy_impulses(p, p.best, p.impulse)
        _, more = newton(p, used, eps, softer * damping, factor, goal, _DAMPED_ROUNDS, _SHORTEST)
        rounds += more
        best = keep_best(p, eps, best)
        if best <= enough:
            break
    return best, rounds


@part
def _around(p: ConeProblem, used, eps, damping, goal, enough, first, last, most, best):
    """Newton's method with a line search from places number `first` to `last`: the best impulses so far with several
    factors of ρ, `start`, then around the best ones. Return (natural map, rounds)."""
    rounds, chance, count = 0, 1, len(_FACTORS)
    for number in range(first, last):
        factor = _FACTORS[number % count]
        scatter = 0.0 if number < count else best * _SCATTER[number - count]
        begin = p.start if _FROM_BEST <= number < count else p.best
        for index in range(p.counts[ROWS]):
            for k in range(3):
                # Evenly spread numbers, the same in every run.
                chance = (1103515245 * chance + 12345) % 2147483648
                p.impulse[index, k] = begin[index, k] + scatter * (chance / 1073741824.0 - 1.0)
        allowed = min(most - rounds, _LONGER if number >= _FROM_BEST else _CAREFUL)
        _, more = newton(p, used, eps, damping, factor, goal, allowed, _SHORTEST)
        rounds += more
        best = keep_best(p, eps, best)
        if best <= enough or rounds >= most:
            break
    return best, rounds


@part
def _solve_convex(p: ConeProblem, used, eps, damping, L, V):
    """The convex problem; return rounds. Its impulses stand in `start`, none where numbers are lost."""
    for index in range(p.counts[ROWS]):
        for k in range(3):
            p.impulse[index, k] = p.start[index, k] = 0.0
    begin_interior(p, eps, L, V, False)
    set_velocities(p, p.impulse, eps)
    for rounds in range(1, _CONVEX_ROUNDS + 1):
        gap, length = interior_round(p, used, eps, damping, False)
        if not (length > 0.0 and gap < math.inf):
            return rounds
        for index in range(p.counts[CONTACTS]):
            f, out = p.impulse[index], p.start[index]
            out[0], out[1], out[2] = project(f[0], f[1], f[2], p.friction[index])
        if length < 1e-6 or gap <= _CONVEX_GAP * L * V:
            return rounds
    return _CONVEX_ROUNDS


@part
def _has_answer(p: ConeProblem, L):
    """Whether the convex solution, in `start`, is of a size: without an answer it grows until rounding ends it."""
    largest = 0.0
    for index in range(p.counts[CONTACTS]):
        largest = max(largest, p.start[index, 0])
    return largest <= _UNBOUNDED * L


@part
def solve_cones(p: ConeProblem, eps, damping, accuracy, tolerance):
    """Find the impulses from a start in `impulse`; return (natural map / L, rounds, converged).

    eps: compliance of the problem, damping: that which rounds work with (1/kg). accuracy: what Newton's method aims at,
    tolerance: what counts as converged, both in parts of L. `impulse`, `velocity` and `x` are those of the result.
    """
    n = p.counts[CONTACTS]
    L = impulse_scale(p)
    if not L > 0.0:
        # Nothing pushes: no impulses are the answer.
        for index in range(p.counts[ROWS]):
            for k in range(3):
                p.impulse[index, k] = 0.0
        set_velocities(p, p.impulse, eps)
        return 0.0 if L == 0.0 else math.inf, 0, L == 0.0
    used = order_nodes(p)
    V = 0.0
    for index in range(n):
        for k in range(3):
            V = max(V, abs(p.free[index, k]))
    goal, enough = accuracy * L, tolerance * L
    for index in range(p.counts[ROWS]):
        for k in range(3):
            p.start[index, k] = p.given[index, k] = p.impulse[index, k]
            p.best[index, k] = 0.0
    _, rounds = newton(p, used, eps, damping, 1.0, goal, _BOLD, 1.0)
    best = keep_best(p, eps, math.inf)
    goal, enough = _above_rounding(p, goal), _above_rounding(p, enough)
    for stage in range(7):
        if best <= enough:
            break
        more = 0
        if stage == 1:
            best, more = _around(p, used, eps, damping, goal, enough, 0, _FROM_BEST, _MOST, best)
        elif stage == 2:
            rounds += _solve_convex(p, used, eps, damping, L, V)
            if not _has_answer(p, L):
                break
            best, more = descend_from_best(p, used, eps, damping, goal, enough, L, _DESCENT, best)
        elif stage == 3:
            best, more = _damped(p, used, eps, damping, goal, enough, best)
        elif stage == 5:
            copy_impulses(p, p.best, p.kept)
            found, more = harden_from_best(p, used, eps, damping, goal, enough, L, _SOFTER)
            if found < best:
                best = found
            else:
                copy_impulses(p, p.kept, p.best)
        elif stage == 6:
            last = len(_FACTORS) + len(_SCATTER)
            best, more = _around(p, used, eps, damping, goal, enough, _FROM_BEST, last, _MOST, best)
        else:
            best, more = _from_inside(p, used, eps, damping, goal, enough, L, V, best)
        rounds += more
    if best > enough and _has_answer(p, L):
        best, more = search_patiently(p, used, eps, damping, goal, enough, L, _WORK)
        rounds += more
    if best <= enough:
        if best > goal:
            best, more = _around(p, used, eps, damping, goal, goal, 0, _POLISH, _POLISH * _CAREFUL, best)
            rounds += more
        if best > goal and n <= _FINER_MOST:
            copy_impulses(p, p.best, p.start)
            finer, more = search_patiently(p, used, eps, damping, goal, goal, L, _FINER_WORK)
            rounds += more
            if finer > best:
                copy_impulses(p, p.start, p.best)
    elif best > _NEARLY * L:
        copy_impulses(p, p.start, p.best)
    copy_impulses(p, p.best, p.impulse)
    set_velocities(p, p.impulse, eps)
    worst = certify_natural(p, p.impulse)
    return worst / L, rounds, worst <= enough


@compiled
def solve_entry(p: ConeProblem):
    """What ConeProblem.numbers asks for; compiled apart (code_address)."""
    x = p.numbers
    if x[TASK] == ROUND:
        good = solve_round(p, order_nodes(p), True)
    else:
        x[RESIDUAL], x[ROUNDS], good = solve_cones(p, x[EPS], x[DAMPING], x[ACCURACY], x[TOLERANCE])
    x[CONVERGED] = 1.0 if good else 0.0
