"""Guesses of contact modes, corrected until none is left that the forces contradict.

Each contact is open, sliding, sticking or starting, (2)-(5) of contact_forces. With modes guessed its rows are linear

    open      f = 0                     sliding, starting   x_n = 0,  (f_1, f_2) + K s f_n d = 0       (1)
    sticking  x = 0                     s = -1 for a bilateral contact that pulls

and are solved for all contacts at once, by the forces nearest to given ones where they leave some open. Directions d of
starting contacts turn by Newton's method for all of them,

    d × x_t = 0,  dx = B df,  (1) df = -K s f_n d'(φ) dφ                                                (2)

Wrong guesses change all at once, after a while one at a time. Cost per round: a pseudo-inverse of size 3c per state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import Floats

__all__ = [
    "OPEN",
    "SLIDING",
    "STARTING",
    "STICKING",
    "Booleans",
    "ContactProblem",
    "ContactSolution",
    "Guess",
    "Modes",
    "guess_from",
    "solve_modes",
]

Booleans = NDArray[np.bool_]
Modes = NDArray[np.int64]

OPEN, SLIDING, STICKING, STARTING = range(4)

_ROUNDS = 40
_ALL_AT_ONCE = 12
_TOLERANCE = 1e-11


class ContactProblem(NamedTuple):
    """c contacts in N states, each with a basis n, t1, t2; t1 of a sliding contact is along its sliding velocity.

    B: (N, c, 3, c, 3), 1/kg. b: (N, c, 3), accelerations without contact forces, m/s².
    friction, bilateral: (c,), K and whether the contact may pull.
    slides: (N, c), whether friction has its direction: the contact slides, or has no friction.
    """

    B: Floats
    b: Floats
    friction: Floats
    bilateral: Booleans
    slides: Booleans

    def at(self, states: NDArray[np.int64] | list[int]) -> ContactProblem:
        """Return the problem of some of the states."""
        return self._replace(B=self.B[states], b=self.b[states], slides=self.slides[states])

    def sizes(self) -> tuple[float, float]:
        """Return the largest of B's diagonal and of |b| in the first state, 1 where that is zero: units to work in."""
        stiffness = float(np.abs(np.einsum("kiki->ki", self.B[0])).max(initial=0.0))
        return stiffness or 1.0, float(np.abs(self.b[0]).max(initial=0.0)) or 1.0


@dataclass
class Guess:
    """Modes (N, c), sliding directions (N, c, 2), signs of the normal force (N, c), forces to stay near (N, c, 3)."""

    mode: Modes
    direction: Floats
    sign: Floats
    near: Floats | None = None


@dataclass(frozen=True)
class ContactSolution:
    """Forces (N, c, 3) along n, t1, t2; modes (N, c); if all conditions hold, if no forces exist (N,)."""

    force: Floats
    mode: Modes
    converged: Booleans
    impossible: Booleans


def solve_modes(problem: ContactProblem, guess: Guess) -> ContactSolution:
    """Correct guesses until none is left to correct, or for a limited number of rounds."""
    force = np.zeros((*guess.mode.shape, 3))
    converged = np.zeros(len(force), dtype=bool)
    for round_number in range(_ROUNDS):
        left = np.flatnonzero(~converged)
        if not left.size:
            break
        state = _State(problem.at(left), guess.mode[left], guess.direction[left], guess.sign[left])
        force[left] = state.solve(None if guess.near is None else guess.near[left])
        wrong = state.correct(
            force[left], one_at_a_time=round_number >= _ALL_AT_ONCE, turn_first=guess.near is not None
        )
        guess.mode[left], guess.direction[left], guess.sign[left] = state.mode, state.direction, state.sign
        converged[left] = ~wrong
    return ContactSolution(force, guess.mode, converged, np.zeros(len(force), dtype=bool))


def guess_from(problem: ContactProblem, force: Floats) -> Guess:
    """Return the guess that forces (N, c, 3) tell of."""
    normal, tangential = force[..., 0], np.linalg.norm(force[..., 1:], axis=-1)
    limit = problem.friction * np.abs(normal)
    full = tangential >= limit * (1.0 - 1e-9)
    mode = np.where(problem.slides, SLIDING, np.where(full, STARTING, STICKING))
    mode = np.where(normal == 0.0, OPEN, mode)
    direction = -force[..., 1:] / np.where(tangential > 0.0, tangential, 1.0)[..., None]
    along_t1 = np.array([1.0, 0.0])
    direction = np.where((problem.slides | (tangential == 0.0))[..., None], along_t1, direction)
    return Guess(mode, direction, np.where(normal < 0.0, -1.0, 1.0))


class _State:
    """The unconverged states with their present guesses, which `correct` changes."""

    def __init__(self, problem: ContactProblem, mode: Modes, direction: Floats, sign: Floats) -> None:
        self.B, self.b, self.friction, self.bilateral, self.slides_now = problem
        self.mode, self.direction, self.sign = mode, direction, sign
        self.count, self.c = mode.shape
        diagonal = np.einsum("nkiki->nki", self.B)
        largest = diagonal.max(axis=(-1, -2))
        self.scale = np.where(largest > 0.0, largest, 1.0)  # (N,) 1/kg

    def solve(self, near: Floats | None) -> Floats:
        """Forces under the present guesses, nearest to given ones or to zero: rows (2), (3) or (4) of each contact."""
        n, c = self.count, self.c
        B = self.B / self.scale[:, None, None, None, None]
        b = self.b / self.scale[:, None, None]
        identity = np.broadcast_to(np.eye(3 * c).reshape(c, 3, c, 3), B.shape)
        slides = (self.mode == SLIDING) | (self.mode == STARTING)
        rows, right = B.copy(), -b
        opened = self.mode == OPEN
        rows[opened], right[opened] = identity[opened], 0.0
        for axis in range(2):
            tangent = np.where(slides[..., None, None], identity[:, :, axis + 1], rows[:, :, axis + 1])
            drag = self.friction * self.sign * self.direction[..., axis] * slides
            tangent[:, np.arange(c), np.arange(c), 0] += drag
            rows[:, :, axis + 1] = tangent
            right[:, :, axis + 1] = np.where(slides, 0.0, right[:, :, axis + 1])
        matrix = rows.reshape(n, 3 * c, 3 * c)
        self.inverse = np.asarray(np.linalg.pinv(matrix, rcond=1e-12), dtype=np.float64)
        start = np.zeros((n, 3 * c, 1)) if near is None else near.reshape(n, 3 * c, 1)
        return (start + self.inverse @ (right.reshape(n, 3 * c, 1) - matrix @ start)).reshape(n, c, 3)

    def correct(self, force: Floats, *, one_at_a_time: bool, turn_first: bool) -> Booleans:
        """Change guesses that the forces contradict; return which states had one, (N,).

        turn_first: change modes only once the directions have converged.
        """
        x = np.einsum("nkilj,nlj->nki", self.B, force) + self.b
        size = np.abs(self.b).max(axis=(-1, -2)) + self.scale * np.abs(force).max(axis=(-1, -2))
        slack_x, slack_f = _TOLERANCE * size[:, None], _TOLERANCE * (size / self.scale)[:, None]
        normal, tangential = force[..., 0], np.linalg.norm(force[..., 1:], axis=-1)
        limit = self.friction * np.abs(normal)
        along = np.sum(x[..., 1:] * self.direction, axis=-1)

        starts = self.mode == STARTING
        pulls = (self.mode != OPEN) & ~self.bilateral & (normal < -slack_f)
        meets = (self.mode == OPEN) & (x[..., 0] < -slack_x)
        breaks = (self.mode == STICKING) & (tangential > limit + slack_f) & ~pulls
        stops = starts & (along < -slack_x) & ~pulls
        flips = self.bilateral & (self.friction > 0.0) & (self.mode != STICKING) & (normal * self.sign < -slack_f)
        turn = self._turn(force, x, starts)
        turns = starts & ~stops & ~pulls & (np.abs(turn) > 1e-12)
        if turn_first:
            turned = ~turns.any(axis=-1, keepdims=True)
            pulls, meets, breaks, stops, flips = (w & turned for w in (pulls, meets, breaks, stops, flips))
        if one_at_a_time:
            wrong = pulls | meets | breaks | stops | flips
            first = np.zeros(wrong.shape, dtype=bool)
            first[np.arange(self.count), np.argmax(wrong, axis=-1)] = True
            pulls, meets, breaks, stops, flips = (w & first for w in (pulls, meets, breaks, stops, flips))

        away = -force[..., 1:] / np.where(tangential > 0.0, tangential, 1.0)[..., None]
        self.direction = np.where(breaks[..., None], away, self.direction)
        going_on = np.cos(turn)[..., None] * self.direction + np.sin(turn)[..., None] * _across(self.direction)
        self.direction = np.where(turns[..., None], going_on, self.direction)
        slip = np.linalg.norm(x[..., 1:], axis=-1)
        going = x[..., 1:] / np.where(slip > 0.0, slip, 1.0)[..., None]
        goes = meets & ~self.slides_now & (slip > 0.0)
        self.direction = np.where(goes[..., None], going, self.direction)
        self.sign = np.where(flips | (breaks & self.bilateral), np.where(normal < 0.0, -1.0, 1.0), self.sign)
        self.mode = np.where(pulls, OPEN, self.mode)
        self.mode = np.where(breaks, STARTING, self.mode)
        self.mode = np.where(stops, STICKING, self.mode)
        # A contact that closes again slides: its own way if it has one, else where it is going.
        self.mode = np.where(meets, np.where(self.slides_now, SLIDING, STARTING), self.mode)
        return (pulls | meets | breaks | stops | flips | turns).any(axis=-1)

    def _turn(self, force: Floats, x: Floats, starts: Booleans) -> Floats:
        """Newton's step of the angles (N, c) towards directions d along x_t, (5): d × x_t = 0 for all at once."""
        n, c = self.count, self.c
        if not starts.any():
            return np.zeros((n, c))
        d, across = self.direction, _across(self.direction)
        # A turn of contact l by dφ changes the force rows (3) by -K f_n d'(φ) dφ in its own two tangent rows.
        columns = np.zeros((n, c, 3, c))
        drag = -(self.friction * self.sign * force[..., 0] * starts)[..., None] * across
        columns[:, np.arange(c), 1:, np.arange(c)] = np.swapaxes(drag, 0, 1)
        change = (self.inverse @ columns.reshape(n, 3 * c, c)).reshape(n, c, 3, c)
        dx = np.einsum("nkilj,nljm->nkim", self.B, change)[:, :, 1:]
        residual = np.where(starts, np.sum(across * x[..., 1:], axis=-1), 0.0)
        slope = np.einsum("nki,nkim->nkm", across, dx)
        slope[:, np.arange(c), np.arange(c)] -= np.sum(d * x[..., 1:], axis=-1)
        slope = np.where(starts[:, :, None] & starts[:, None, :], slope, np.eye(c))
        step = -np.matmul(np.linalg.pinv(slope, rcond=1e-12), residual[..., None])[..., 0]
        return np.clip(np.where(starts, step, 0.0), -0.5, 0.5)


def _across(d: Floats) -> Floats:
    """Directions (..., 2) turned by a right angle."""
    return np.stack([-d[..., 1], d[..., 0]], axis=-1)
