"""Forces of unilateral and frictional contacts: who touches, who sticks, who slides.

Per contact a basis n, t1, t2 and a force f = (f_n, f_1, f_2); all contacts together move with
    x = B f + b       acceleration of the contact points along the bases                               (1)
where B (3c, 3c) is the inverse mass seen at the contacts with loops and couplings held. Each contact is
    open      f = 0,          x_n >= 0                                                                 (2)
    sliding   x_n = 0,        (f_1, f_2) = -K |f_n| d, d the direction of sliding                      (3)
    sticking  x = 0,          |(f_1, f_2)| <= K |f_n|                                                  (4)
    starting  as sliding, from rest: d is the direction of its own acceleration, x_t = |x_t| d         (5)
with f_n >= 0 unless the contact is bilateral. For one sliding contact (1) and (3) are nishiguchi2014 (21),
A f_n = a - dᵀτ with A = B_nn - K B_n·d; A <= 0 is friction jamming.

The modes are guessed, the linear system they make is solved (least norm where it is singular), and wrong guesses are
changed until none is left, after a while one at a time. Where that goes round in circles, sweeps over single contacts
give a better guess to begin with; where these fail too, Lemke's method with polygons of more and more corners does.
Where contacts are redundant the forces of least norm may leave a cone though others would not: after Lemke's method the
forces nearest to its own are taken instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_pivoting import pivot_contacts
from setsu.constraints.contact_sweeps import sweep_contacts
from setsu.errors import InputError

__all__ = ["OPEN", "SLIDING", "STARTING", "STICKING", "ContactSolution", "refuse_jamming", "solve_contacts"]

Floats = NDArray[np.float64]
Modes = NDArray[np.int64]

OPEN, SLIDING, STICKING, STARTING = range(4)

_ROUNDS = 40
_ALL_AT_ONCE = 12
_SWEEPS = (5, 40)
_CORNERS = (6, 12, 24, 8, 16, 32, 64, 10, 20, 40)
_MOST_SIGNS = 16
_TOLERANCE = 1e-11


@dataclass(frozen=True)
class ContactSolution:
    """Forces (N, c, 3) along n, t1, t2; modes (N, c); whether every condition holds (N,)."""

    force: Floats
    mode: Modes
    settled: NDArray[np.bool_]


def refuse_jamming(
    B: Floats,
    friction: Floats,
    sliding: NDArray[np.bool_],
    sign: Floats,
    names: tuple[str, ...],
    batch: tuple[int, ...],
) -> None:
    """Raise an InputError where A <= 0 for a sliding contact; B (N, c, 3, c, 3) with t1 along the sliding velocity.

    sign (c,): -1 for contacts known to pull.
    """
    for k, name in enumerate(names):
        own = B[:, k, :, k, :]
        pressing, wedging = own[:, 0, 0], sign[k] * own[:, 0, 1]
        A = pressing - friction[k] * wedging
        # A direction the mechanism cannot move in at all is no jamming.
        scale = np.trace(own, axis1=-2, axis2=-1)
        bad = sliding[:, k] & (pressing > 1e-12 * scale) & (A - 1e-12 * pressing <= 0.0)
        if bad.any():
            state = int(np.argmax(bad))
            where = f" in state {[int(i) for i in np.unravel_index(state, batch)]}" if batch else ""
            critical = pressing[state] / wedging[state]
            raise InputError(
                f'contact "{name}"{where}: friction jams: with K = {friction[k]:g} no normal force balances sliding '
                f"this way; expected K below the critical value {critical:.6g}"
            )


def solve_contacts(
    B: Floats, b: Floats, friction: Floats, bilateral: NDArray[np.bool_], moving: NDArray[np.bool_]
) -> ContactSolution:
    """Return the forces of c contacts in N states.

    Args:
        B: (N, c, 3, c, 3); t1 of a moving contact is its sliding direction.
        b: (N, c, 3) accelerations without contact forces.
        friction, bilateral: (c,) K and whether the contact may pull.
        moving: (N, c) whether the contact slides now.
    """
    count, c = moving.shape
    slides_now = moving | (friction == 0.0)
    along_t1 = np.broadcast_to(np.array([1.0, 0.0]), (count, c, 2))
    guess = _Guess(np.where(slides_now, SLIDING, STICKING), along_t1.copy(), np.ones((count, c)))
    solution = _settle(B, b, friction, bilateral, slides_now, guess)
    for sweeps in _SWEEPS:
        left = np.flatnonzero(~solution.settled)
        if not left.size:
            break
        # Guesses that went astray begin again from where sweeps lead.
        swept = sweep_contacts(B[left], b[left], friction, bilateral, slides_now[left], sweeps)
        guess = _guess_from(swept, friction, slides_now[left])
        again = _settle(B[left], b[left], friction, bilateral, slides_now[left], guess)
        solution.force[left], solution.mode[left] = again.force, again.mode
        solution.settled[left] = again.settled
    for state in np.flatnonzero(~solution.settled):
        found = _pivoted(B[state], b[state], friction, bilateral, slides_now[state])
        if found is not None:
            solution.force[state], solution.mode[state], solution.settled[state] = found.force[0], found.mode[0], True
    return solution


@dataclass
class _Guess:
    """Modes (N, c), sliding directions (N, c, 2), signs of the normal force (N, c), forces to stay near (N, c, 3)."""

    mode: Modes
    direction: Floats
    sign: Floats
    near: Floats | None = None


def _pivoted(
    B: Floats, b: Floats, friction: Floats, bilateral: NDArray[np.bool_], slides_now: NDArray[np.bool_]
) -> ContactSolution | None:
    """Return the solution of one state that begins where Lemke's method ends, or None; all signs of bilateral ones."""
    rng = np.random.default_rng(0)
    both = np.flatnonzero(bilateral & (friction > 0.0))
    for corners in _CORNERS:
        for choice in range(min(2 ** len(both), _MOST_SIGNS)):
            sign = np.ones(len(friction))
            sign[both] = [1.0 - 2.0 * (choice >> k & 1) for k in range(len(both))]
            way = pivot_contacts(B, b, friction, slides_now, sign, corners, rng)
            if way is None:
                continue
            force, starts = way
            guess = _guess_from(force[None], friction, slides_now[None])
            mode = np.where(starts & (force[:, 0] != 0.0), STARTING, STICKING)
            guess.mode = np.where((guess.mode == OPEN) | slides_now, guess.mode, mode[None])
            guess.near = force[None]
            found = _settle(B[None], b[None], friction, bilateral, slides_now[None], guess)
            if found.settled[0]:
                return found
    return None


def _settle(
    B: Floats,
    b: Floats,
    friction: Floats,
    bilateral: NDArray[np.bool_],
    slides_now: NDArray[np.bool_],
    guess: _Guess,
) -> ContactSolution:
    """Correct guesses until none is left to correct, or for a limited number of rounds."""
    force = np.zeros((*guess.mode.shape, 3))
    settled = np.zeros(len(force), dtype=bool)
    for round_number in range(_ROUNDS):
        left = np.flatnonzero(~settled)
        if not left.size:
            break
        guesses = (guess.mode[left], guess.direction[left], guess.sign[left])
        state = _State(B[left], b[left], friction, bilateral, slides_now[left], *guesses)
        force[left] = state.solve(None if guess.near is None else guess.near[left])
        wrong = state.correct(
            force[left], one_at_a_time=round_number >= _ALL_AT_ONCE, turn_first=guess.near is not None
        )
        guess.mode[left], guess.direction[left], guess.sign[left] = state.mode, state.direction, state.sign
        settled[left] = ~wrong
    return ContactSolution(force, guess.mode, settled)


def _guess_from(force: Floats, friction: Floats, slides_now: NDArray[np.bool_]) -> _Guess:
    """Modes that forces (N, c, 3) tell of."""
    normal, tangential = force[..., 0], np.linalg.norm(force[..., 1:], axis=-1)
    limit = friction * np.abs(normal)
    full = tangential >= limit * (1.0 - 1e-9)
    mode = np.where(slides_now, SLIDING, np.where(full, STARTING, STICKING))
    mode = np.where(normal == 0.0, OPEN, mode)
    direction = -force[..., 1:] / np.where(tangential > 0.0, tangential, 1.0)[..., None]
    along_t1 = np.array([1.0, 0.0])
    direction = np.where((slides_now | (tangential == 0.0))[..., None], along_t1, direction)
    return _Guess(mode, direction, np.where(normal < 0.0, -1.0, 1.0))


class _State:
    """The unsettled states with their present guesses, which `correct` changes."""

    def __init__(
        self,
        B: Floats,
        b: Floats,
        friction: Floats,
        bilateral: NDArray[np.bool_],
        slides_now: NDArray[np.bool_],
        mode: Modes,
        direction: Floats,
        sign: Floats,
    ) -> None:
        self.B, self.b, self.friction, self.bilateral = B, b, friction, bilateral
        self.slides_now = slides_now
        self.mode, self.direction, self.sign = mode, direction, sign
        self.count, self.c = mode.shape
        diagonal = np.einsum("nkiki->nki", B)
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

    def correct(self, force: Floats, *, one_at_a_time: bool, turn_first: bool) -> NDArray[np.bool_]:
        """Change guesses that the forces contradict; return which states had one, (N,).

        turn_first: change modes only once the directions have settled.
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

    def _turn(self, force: Floats, x: Floats, starts: NDArray[np.bool_]) -> Floats:
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
