"""A complete search for the modes of contacts: one choice that is consistent, or the proof that there is none.

Contacts f = (f_n, f_1, f_2) move by x = B f + b, as in contact_forces. Whatever its mode, each contact has

    that slides   (f_1, f_2) = -K f_n t1,  f_n >= 0,  x_n >= 0                                         (1)
    at rest       (f_1, f_2)·u <= K f_n for all directions u,  x_n >= 0                                (2)

which is convex. Deciding on its mode adds

    open      f = 0                                                                                    (3)
    sliding   x_n = 0                                                                                  (4)
    sticking  x = 0                                                                                    (5)
    starting  x_n = 0, x_t between two directions 2h apart, -(f_1, f_2)·u >= K f_n cos h, u halfway    (6)

Contacts are decided one after the other, and sectors of (6) are halved. Where the conditions contradict each other, all
choices that include them are ruled out; where all is decided, guesses are corrected from there as anywhere else. When
no choice is left, no finite forces exist: Painlevé's paradox. Of (2) a few tangents are taken, and then those that
the forces found do not respect.

Bilateral contacts have x_n = 0 and are one-sided here, to the side that `sign` says.
Cost: some ten to some hundred problems of least distance, each about a millisecond. It grows exponentially with the
number of contacts at worst: the search ends after a number of choices without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_modes_solve import OPEN, SLIDING, STARTING, STICKING, ContactProblem
from setsu.constraints.least_distance import shortest_vector
from setsu.constraints.stacked import Floats

__all__ = ["Choice", "search_contacts"]

_MOST_CHOICES = 1500
_MOST_CUTS, _CUTS_ON_THE_WAY = 60, 2
_TANGENTS = 2.0 * np.pi * np.arange(8) / 8
_NARROW, _NARROWEST = 0.2, 1e-3

_UNDECIDED = -1

Solution = TypeVar("Solution")
Row = tuple[Floats, float]


@dataclass(frozen=True)
class Choice:
    """The modes decided for c contacts; starting ones move within `half` (rad) of the angle `middle`.

    force: (c, 3), satisfies what is decided.
    """

    mode: NDArray[np.int64]
    middle: Floats
    half: Floats
    force: Floats

    @property
    def is_decided(self) -> bool:
        """Whether every contact has its mode, and starting ones a direction as good as needed to begin with."""
        return bool((self.mode != _UNDECIDED).all() and (self.half <= _NARROW).all())

    def branch(self, k: int, mode: int, middle: float = 0.0, half: float = 0.0) -> Choice:
        """Return this choice with one contact decided."""
        modes, middles, halves = self.mode.copy(), self.middle.copy(), self.half.copy()
        modes[k], middles[k], halves[k] = mode, middle, half
        return Choice(modes, middles, halves, self.force)


def search_contacts(
    problem: ContactProblem, sign: Floats, solve_modes: Callable[[Choice], Solution | None]
) -> tuple[Solution | None, bool]:
    """Return what `solve_modes` made of a choice of modes in the first state, or None; and whether none can be.

    Args:
        sign: (c,) -1 for a bilateral contact that pulls.
        solve_modes: makes a solution out of a choice in which all is decided, or returns None.
    """
    conditions = _Conditions(problem, sign)
    c = len(sign)
    first = np.where(problem.bilateral & problem.slides[0], SLIDING, _UNDECIDED)
    waiting = [Choice(first, np.zeros(c), np.zeros(c), np.zeros((c, 3)))]
    proven = True
    for _ in range(_MOST_CHOICES):
        if not waiting:
            return None, proven
        choice = conditions.satisfied(waiting.pop())
        if choice is None:
            continue
        if (choice.mode == _UNDECIDED).any():
            waiting.extend(reversed(conditions.branches(choice)))
            continue
        if choice.is_decided:
            solution = solve_modes(choice)
            if solution is not None:
                return solution, False
        k = int(np.argmax(choice.half))
        if choice.half[k] > _NARROWEST:
            half = 0.5 * choice.half[k]
            waiting.extend(choice.branch(k, STARTING, choice.middle[k] + way * half, half) for way in (-1.0, 1.0))
        else:
            # The conditions hold as far as one can tell, and yet nothing came of it.
            proven = False
    return None, False


class _Conditions:
    """The conditions (1)-(6) of one state as rows over y: |f_n| of every contact, f_1 and f_2 of those at rest."""

    def __init__(self, problem: ContactProblem, sign: Floats) -> None:
        c = len(sign)
        self.friction, self.bilateral, self.slides = problem.friction, problem.bilateral, problem.slides[0]
        push = np.eye(3 * c)
        push[3 * np.arange(c), 3 * np.arange(c)] = sign
        push[3 * np.arange(c) + 1, 3 * np.arange(c)] = -self.friction * self.slides
        used = np.ones((c, 3), dtype=bool)
        used[self.slides, 1:] = False
        self.push = push[:, used.reshape(-1)]  # (3c, n), f = push y
        self.read = np.zeros((c, 3, self.push.shape[1]))  # |f_n|, f_1, f_2 = read y; no f_1, f_2 of sliding ones
        self.read[used] = np.eye(self.push.shape[1])
        # Sizes of one for forces and accelerations alike.
        stiffness, load = problem.sizes()
        self.unit = load / stiffness
        self.x_rows = (problem.B[0].reshape(3 * c, 3 * c) @ self.push / stiffness).reshape(c, 3, -1)
        self.x_free = problem.b[0] / load

    def satisfied(self, choice: Choice) -> Choice | None:
        """Return the choice with the least forces that satisfy what is decided, or None where it contradicts itself."""
        equations, inequalities = self._rows(choice)
        y = np.zeros(self.push.shape[1])
        for _ in range(_MOST_CUTS if choice.is_decided else _CUTS_ON_THE_WAY):
            found = shortest_vector(*self._stacked(equations), *self._stacked(inequalities))
            if found is None:
                return None
            y, cuts = found, self._cuts(found)
            if not cuts:
                break
            inequalities.extend(cuts)
        return replace(choice, force=(self.push @ y).reshape(-1, 3) * self.unit)

    def branches(self, choice: Choice) -> list[Choice]:
        """Return the choices for the contact whose forces contradict its own laws most, the likeliest first."""
        y = np.linalg.lstsq(self.push, choice.force.reshape(-1) / self.unit, rcond=None)[0]
        x = self.x_rows @ y + self.x_free
        press, gap, slip = (self.read @ y)[:, 0], x[:, 0], np.linalg.norm(x[:, 1:], axis=-1)
        left = self.friction * press * slip + np.sum((self.read @ y)[:, 1:] * x[:, 1:], axis=-1)
        wrong = press * gap + np.where(self.slides, 0.0, left)
        k = int(np.argmax(np.where(choice.mode == _UNDECIDED, wrong, -1.0)))
        opened = [] if self.bilateral[k] else [choice.branch(k, OPEN)]
        if self.slides[k]:
            closed = [choice.branch(k, SLIDING)]
        else:
            away = float(np.arctan2(x[k, 2], x[k, 1]))
            turns = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
            closed = [choice.branch(k, STICKING)]
            closed += [choice.branch(k, STARTING, away + turn, 0.25 * np.pi) for turn in turns]
        return opened + closed if gap[k] > press[k] else closed + opened

    def _rows(self, choice: Choice) -> tuple[list[Row], list[Row]]:
        """Equations and inequalities (row over y, right-hand side) of all that is decided."""
        equal: list[Row] = []
        at_least: list[Row] = []
        for k, mode in enumerate(choice.mode):
            (normal, *tangent), x, free = self.read[k], self.x_rows[k], -self.x_free[k]
            if mode == OPEN:
                equal += [(row, 0.0) for row in (normal, *tangent)[: 1 if self.slides[k] else 3]]
                at_least.append((x[0], free[0]))
                continue
            at_least.append((normal, 0.0))
            closed = mode != _UNDECIDED or self.bilateral[k]
            (equal if closed else at_least).append((x[0], free[0]))
            if self.slides[k]:
                continue
            at_least += [self._tangent(k, angle) for angle in _TANGENTS]
            if mode == STICKING:
                equal += [(x[1], free[1]), (x[2], free[2])]
            if mode == STARTING:
                at_least += self._sector(k, choice.middle[k], choice.half[k])
        return equal, at_least

    def _sector(self, k: int, middle: float, half: float) -> list[Row]:
        """Rows (6) for motion within `half` of an angle, and the tangents of (2) there."""
        (normal, t1, t2), (_, x1, x2), (_, free1, free2) = self.read[k], self.x_rows[k], -self.x_free[k]
        rows = [self._tangent(k, middle + np.pi + turn) for turn in (-half, 0.0, half)]
        for angle, side in ((middle - half, 1.0), (middle + half, -1.0)):
            across = -side * np.sin(angle), side * np.cos(angle)
            rows.append((across[0] * x1 + across[1] * x2, across[0] * free1 + across[1] * free2))
        against = np.cos(middle) * t1 + np.sin(middle) * t2
        rows.append((-against - self.friction[k] * np.cos(half) * normal, 0.0))
        return rows

    def _tangent(self, k: int, angle: float) -> Row:
        """K f_n - (f_1, f_2)·u >= 0, (2)."""
        normal, t1, t2 = self.read[k]
        return self.friction[k] * normal - np.cos(angle) * t1 - np.sin(angle) * t2, 0.0

    def _cuts(self, y: Floats) -> list[Row]:
        """Tangents of (2) that forces do not respect."""
        normal, t1, t2 = np.moveaxis(self.read @ y, -1, 0)
        out = ~self.slides & (np.hypot(t1, t2) > self.friction * normal + 1e-12 * (1.0 + normal))
        return [self._tangent(int(k), float(np.arctan2(t2[k], t1[k]))) for k in np.flatnonzero(out)]

    def _stacked(self, rows: list[Row]) -> tuple[Floats, Floats]:
        n = self.push.shape[1]
        return np.array([row for row, _ in rows]).reshape(-1, n), np.array([right for _, right in rows])
