"""The default contact solver: unilateral contacts with exact friction cones, island by island, in bounded work.

| symbol | meaning | unit |
|---|---|---|
| λ_i, v_i | impulse and velocity of contact i: normal, tangents; v = Pᵀ y + shift + ε λ | N s, m/s |
| ρ_i | impulse per velocity of the contact, 3 / tr W_ii | kg |
| ε | compliance, 5e-7 of the mean tr W_ii / 3: makes the impulses of redundant contacts unique, the least ones | 1/kg |

    F(λ) = 0 (cone_laws.py (3)-(6))                                           (1)  <=> the contact problem
    δλ = e - C Pᵀδy,  δy = Λ P δλ                                             (2)  C, e: cone_laws.py (7)

Where only a rigid environment is touched, Newton's method works on all trees at once, by articulated inertias
(linear_step.py): a few full steps, then with a line search, as in cone_newton.py but along the trees. What these do not
solve, bodies that touch each other, mechanisms with constraint rows, trees of very unlike masses, soft contacts and
those with torsional or rolling friction go island by island (islands.py) through cone_solver.py, which ends in a
bounded number of rounds: of those that a step has (200, up to eight trees 2000), what former solves of it left
(ROUNDS_LEFT). Islands that are asked for what they were asked for in the solve before keep their impulses. A light body
under a heavy one gives way at the speed ε λ: such islands are solved again with less compliance, from there.

Why this method: measured (`setsu bench --only contact`, benchmarks/contact_methods.py) on contact problems of a
humanoid, all to 1e-10. Falling, from the impulses of the step before: Newton 1 round, 12 µs; ADMM 240, 186 µs;
Gauss-Seidel 450, 640 µs, and a fifth of the problems unsolved after 5000. From nothing: 3, 250, and four fifths
unsolved. Standing all start at the answer; from nothing 2, 10, unsolved.
Accuracy: Newton's method aims at |F| below 1e-10 of the largest impulse; converged means a natural map below 1e-8.
"""

from __future__ import annotations

import math

from setsu.contact.cone_laws import follow_normal, law_blocks, law_error
from setsu.contact.cone_problem import CONTACTS, EPS, ROWS, ConeProblem, set_velocities, solve_island
from setsu.contact.islands import find_islands, gather, has_pairs, set_roots, take_couples
from setsu.contact.linear_step import linear_step
from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import DENSE, N_CONTACTS, ROUNDS_LEFT, SOFT, TURNING, TWIST, Problem
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline

__all__ = ["UNKNOWN", "forget_solution", "note_answer", "set_trial", "solve", "take_trial"]

_ACCURACY, _TOLERANCE = 1e-10, 1e-8
_COMPLIANCE = 5e-7
# Of the largest speed of an island: what its compliance may let in; else how much of the compliance remains, how often.
_GIVEN_WAY, _HARDER, _HARDER_TIMES = 1e-4, 0.01, 3
# Trees whose contacts yield so many times more than those of others get a compliance of their own.
_UNLIKE = 100.0
# Newton's method on all trees at once: rounds, shortest step, factor of ρ. Full steps first: |F| may climb before it
# falls.
_TRIES = ((4, 1.0, 1.0), (10, 0.01, 1.0), (12, 0.01, 10.0))
_SHORTER, _DECREASE = 0.4, 0.1
# Contact.certified: its island is to be solved.
UNKNOWN = -1.0


@inline
def _residual(tree: Tree, problem: Problem, eps, factor):
    """Velocities and F for the trial impulses; return its largest entry (N s) and the sum of squares."""
    set_twists(tree, problem)
    worst = total = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        set_velocity(problem, index, TWIST, c.velocity)
        for k in range(3):
            c.velocity[k] += c.shift[k] + eps * c.trial[k]
        f0, f1, f2 = law_error(c.trial, c.velocity, factor * c.scale, c.friction)
        worst = max(worst, abs(f0), abs(f1), abs(f2))
        total += f0 * f0 + f1 * f1 + f2 * f2
    return worst, total


@inline
def set_trial(problem: Problem, length):
    """trial = impulse + length · change."""
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        for k in range(3):
            c.trial[k] = c.impulse[k] + length * c.change[k]


@inline
def take_trial(problem: Problem):
    """impulse = trial."""
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        for k in range(3):
            c.impulse[k] = c.trial[k]


@inline
def _newton(tree: Tree, problem: Problem, eps, goal, most, shortest, factor):
    """Newton's method on all trees at once from `start` until |F| <= goal (N s); return (|F|, rounds).

    shortest: how short the steps of its line search may get, 1: full ones. factor: of ρ.
    """
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        for k in range(3):
            c.change[k], c.impulse[k] = 0.0, c.start[k]
    set_trial(problem, 0.0)
    worst, total = _residual(tree, problem, eps, factor)
    rounds = 0
    while worst > goal and rounds < most:
        rounds += 1
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            law_blocks(c.impulse, c.velocity, factor * c.scale, c.friction, eps, c.ratio, c.rest, c.slide)
        if not linear_step(tree, problem):
            break
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            follow_normal(c.ratio, c.slide, c.slope, c.change)
        length, now = 1.0, math.inf
        while True:
            set_trial(problem, length)
            worst, now = _residual(tree, problem, eps, factor)
            if now < (1.0 - _DECREASE * length) * total or length <= shortest:
                break
            length *= _SHORTER
        total = now
        take_trial(problem)
    return worst, rounds


@inline
def _gives_way(p: ConeProblem, eps):
    """Whether the compliance lets contacts in at a speed that counts beside those of the problem."""
    largest = speed = 0.0
    for i in range(p.counts[CONTACTS]):
        largest = max(largest, p.impulse[i, 0])
        speed = max(speed, abs(p.free[i, 0]), abs(p.free[i, 1]), abs(p.free[i, 2]))
    return eps * largest > _GIVEN_WAY * speed


@inline
def _harden(p: ConeProblem, eps, residual, most):
    """Solve the island again with less compliance; return (residual, rounds) of the last solution that converged."""
    rounds = 0
    for _ in range(_HARDER_TIMES):
        harder = _HARDER * eps
        worst, more, converged = solve_island(p, harder, harder, _ACCURACY, _TOLERANCE, most - rounds, False)
        rounds += more
        if not converged:
            for row in range(p.counts[ROWS]):
                for k in range(3):
                    p.impulse[row, k] = p.given[row, k]
            set_velocities(p, p.impulse, eps)
            break
        eps, residual = harder, worst
        if not _gives_way(p, eps):
            break
    return residual, rounds


@inline
def note_answer(c, residual):
    """What is asked of a contact now has an answer of this residual, UNKNOWN: none."""
    c.certified, c.asked[3] = residual, c.friction
    for k in range(3):
        c.asked[k] = c.free[k] + c.shift[k]


@inline
def _known(problem: Problem, first, last):
    """Residual of an island that is asked for what it was asked for in the solve before, else UNKNOWN."""
    p = problem.cones
    residual = problem.contacts[p.members[first]].certified
    for i in range(first, last):
        c = problem.contacts[p.members[i]]
        same = c.certified == residual and c.asked[3] == c.friction
        for k in range(3):
            same = same and c.asked[k] == c.free[k] + c.shift[k]
        if not same:
            return UNKNOWN
    return residual


@inline
def _solve_islands(tree: Tree, problem: Problem, most, hard):
    """Island by island; return (largest residual, most rounds, whether all converged).

    most: rounds for each. hard: full Newton steps have failed already.
    """
    p = problem.cones
    residual, rounds, good = 0.0, 0, True
    set_roots(tree, problem)
    for island in range(find_islands(tree, problem)):
        first, last = p.island_start[island], p.island_start[island + 1]
        worst = _known(problem, first, last)
        if worst != UNKNOWN:
            residual = max(residual, worst)
            continue
        gather(tree, problem, first, last, problem.counts[TURNING] > 0)
        eps = 0.0
        for i in range(last - first):
            eps += _COMPLIANCE / (p.scale[i] * (last - first))
        worst, more, converged = solve_island(p, eps, eps, _ACCURACY, _TOLERANCE, most, hard)
        if converged and p.numbers[EPS] == eps and _gives_way(p, eps):
            worst, further = _harden(p, eps, worst, most - more)
            more += further
        residual, rounds, good = max(residual, worst), max(rounds, more), good and converged
        for i in range(last - first):
            c = problem.contacts[p.members[first + i]]
            note_answer(c, worst if converged else UNKNOWN)
            for k in range(3):
                c.impulse[k], c.velocity[k] = p.impulse[i, k], p.velocity[i, k]
        take_couples(problem, first)
    set_trial(problem, 0.0)
    set_twists(tree, problem)
    return residual, rounds, good


@inline
def _are_unlike(tree: Tree, problem: Problem):
    """Whether one tree in contact is so much lighter than another that its compliance would let that one sink."""
    lightest, heaviest, several, first = math.inf, 0.0, False, -1
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        k = tree.root[tree.last[problem.bodies[c.hub_a]]]
        several = several or (first >= 0 and k != first)
        first = k
        lightest, heaviest = min(lightest, c.scale), max(heaviest, c.scale)
    return several and heaviest > _UNLIKE * lightest


@inline
def forget_solution(problem: Problem):
    """Impulses are not those of the last solve any more: every island is solved next time."""
    for index in range(problem.counts[N_CONTACTS]):
        problem.contacts[index].certified = UNKNOWN


@inline
def solve(tree: Tree, problem: Problem):
    """Find the impulses; `shift`, `friction` and a start in `impulse` are given. Return (residual, rounds, converged).

    The residual is in parts of the largest impulse at hand. WRENCH and TWIST are those of the result. At most
    counts[ROUNDS_LEFT] rounds.
    """
    count, most, rounds = problem.counts[N_CONTACTS], problem.counts[ROUNDS_LEFT], 0
    apart = problem.counts[SOFT] > 0 or problem.counts[TURNING] > 0
    if problem.counts[DENSE] == 0 and not apart and not has_pairs(problem) and not _are_unlike(tree, problem):
        unit, largest = 0.0, 1e-300
        for index in range(count):
            c = problem.contacts[index]
            unit += 1.0 / (c.scale * count)
            for k in range(3):
                c.start[k] = c.impulse[k]
                largest = max(largest, c.scale * abs(c.free[k] + c.shift[k]))
        forget_solution(problem)
        eps, goal = _COMPLIANCE * unit, _ACCURACY * largest
        for allowed, shortest, factor in _TRIES:
            worst, more = _newton(tree, problem, eps, goal, min(allowed, most - rounds), shortest, factor)
            rounds += more
            if worst <= goal:
                return worst / largest, rounds, True
        for index in range(count):
            c = problem.contacts[index]
            for k in range(3):
                c.impulse[k] = c.start[k]
    residual, more, good = _solve_islands(tree, problem, most - rounds, rounds > 0)
    return residual, rounds + more, good
