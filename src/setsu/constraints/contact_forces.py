"""Forces of unilateral and frictional contacts: who touches, who sticks, who slides.

Per contact a basis n, t1, t2 and a force f = (f_n, f_1, f_2); all contacts together move with
    x = B f + b       acceleration of the contact points along the bases                               (1)
where B (3c, 3c) is the inverse mass seen at the contacts with loops and couplings held. Each contact is
    open      f = 0,          x_n >= 0                                                                 (2)
    sliding   x_n = 0,        (f_1, f_2) = -K |f_n| d, d the direction of sliding                      (3)
    sticking  x = 0,          |(f_1, f_2)| <= K |f_n|                                                  (4)
    starting  as sliding, from rest: d is the direction of its own acceleration, x_t = |x_t| d         (5)
with f_n >= 0 unless the contact is bilateral. For one sliding contact (1) and (3) are nishiguchi2014 (21),
A f_n = a - dᵀτ with A = B_nn - K B_n·d.

| step | what it does | for |
|---|---|---|
| contact_modes_solve | modes are guessed and corrected | nearly all states, many at once |
| contact_pivoting | Lemke's method on polygons of friction leads to one | contacts at rest: a solution exists |
| contact_search | tries all modes, or rules out all of them | contacts that slide: there may be no solution |

Where A < 0 friction presses a sliding contact harder than it gives way (Painlevé). Open and sliding may then both be
consistent, and sliding is unstable: open is tried first. Where neither is, no finite forces exist; a state that is
`impossible` is proven to be one.
Where contacts are redundant the forces of least norm may leave a cone though others would not: after the last two steps
the forces nearest to theirs are taken instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from setsu.constraints.contact_modes_solve import (
    OPEN,
    SLIDING,
    STARTING,
    STICKING,
    Booleans,
    ContactProblem,
    ContactSolution,
    Guess,
    Modes,
    guess_from,
    solve_modes,
)
from setsu.constraints.contact_pivoting import pivot_contacts
from setsu.constraints.contact_search import Choice, search_contacts
from setsu.constraints.stacked import Floats

__all__ = ["OPEN", "SLIDING", "STARTING", "STICKING", "ContactSolution", "solve_contacts"]

_CORNERS = (6, 12, 24, 8, 16, 32, 64, 10, 20, 40)
_MOST_SIGNS = 16
# So many contacts are searched at once; more take the chance of Lemke's method first.
_FEW = 8


def solve_contacts(B: Floats, b: Floats, friction: Floats, bilateral: Booleans, moving: Booleans) -> ContactSolution:
    """Return the forces of c contacts in N states.

    Args:
        B: (N, c, 3, c, 3); t1 of a moving contact is its sliding direction.
        b: (N, c, 3) accelerations without contact forces.
        friction, bilateral: (c,) K and whether the contact may pull.
        moving: (N, c) whether the contact slides now.
    """
    problem = ContactProblem(B, b, friction, bilateral, moving | (friction == 0.0))
    solution = solve_modes(problem, _first_guess(problem))
    for state in np.flatnonzero(~solution.converged):
        found, solution.impossible[state] = _found(problem.at([int(state)]))
        if found is not None:
            solution.force[state], solution.mode[state], solution.converged[state] = found.force[0], found.mode[0], True
    return solution


def _first_guess(problem: ContactProblem) -> Guess:
    """Contacts go on sliding or sticking; those that slide only as an unstable balance are open."""
    count, c = problem.slides.shape
    own = np.einsum("nkikj->nkij", problem.B)
    wedged = own[..., 0, 0] <= problem.friction * own[..., 0, 1]
    mode = np.where(problem.slides, np.where(wedged & ~problem.bilateral, OPEN, SLIDING), STICKING)
    return Guess(mode, np.tile([1.0, 0.0], (count, c, 1)), np.ones((count, c)))


def _found(problem: ContactProblem) -> tuple[ContactSolution | None, bool]:
    """Return the solution of one state, or None, and whether none exists."""
    few_slide = problem.slides.any() and problem.slides.shape[1] <= _FEW
    if not few_slide:
        for start in _pivoted(problem):
            found = solve_modes(problem, start)
            if found.converged[0]:
                return found, False

    def converged(choice: Choice) -> ContactSolution | None:
        found = solve_modes(problem, _guess_of(problem, choice))
        return found if found.converged[0] else None

    proven = 2 ** len(_either_side(problem)) <= _MOST_SIGNS
    for sign in _signs(problem):
        found, impossible = search_contacts(problem, sign, converged)
        if found is not None:
            return found, False
        proven &= impossible
    return None, proven


def _pivoted(problem: ContactProblem) -> Iterator[Guess]:
    """Yield guesses at the ends of the ways of Lemke's method in one state."""
    rng = np.random.default_rng(0)
    for corners in _CORNERS:
        for sign in _signs(problem):
            way = pivot_contacts(problem, sign, corners, rng)
            if way is None:
                continue
            force, starts = way
            guess = guess_from(problem, force[None])
            mode = np.where(starts & (force[:, 0] != 0.0), STARTING, STICKING)
            guess.mode = np.where((guess.mode == OPEN) | problem.slides, guess.mode, mode[None])
            guess.near = force[None]
            yield guess


def _signs(problem: ContactProblem) -> Iterator[Floats]:
    """Yield the sides (c,) to which bilateral contacts with friction may push, all or a good number of them."""
    both = _either_side(problem)
    for choice in range(min(2 ** len(both), _MOST_SIGNS)):
        sign = np.ones(len(problem.friction))
        sign[both] = [1.0 - 2.0 * (choice >> k & 1) for k in range(len(both))]
        yield sign


def _either_side(problem: ContactProblem) -> Modes:
    """Contacts that may push and pull, with friction that asks which."""
    return np.flatnonzero(problem.bilateral & (problem.friction > 0.0))


def _guess_of(problem: ContactProblem, choice: Choice) -> Guess:
    """The guess that a decided choice of modes stands for."""
    angle = np.where(problem.slides[0], 0.0, choice.middle)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    sign = np.where(choice.force[:, 0] < 0.0, -1.0, 1.0)
    return Guess(choice.mode[None].copy(), direction[None], sign[None], choice.force[None])
