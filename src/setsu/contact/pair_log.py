"""What a run keeps of contacts between bodies, in compiled code: forces of each pair, and when it touches.

| symbol | meaning | unit |
|---|---|---|
| p_i, f_i, n | place and force of contact i of a pair, normal | m, N, - |

    f = Σ f_i,   p = Σ p_i n·f_i / Σ n·f_i,   moment = Σ (p_i - p) x f_i      (1)

Pairs that do not press take no room: rows are fetched by Python before there could be no more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.scene import N_CONTACTS, Problem
from setsu.native.control_flow import inline

__all__ = ["LIFT_OFF", "ROW", "TOUCH", "PairLog", "has_room", "make_pair_log", "note_forces", "note_touches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOUCH, LIFT_OFF = 0, 1
# Entries of PairLog.counts.
_ROWS, _EVENTS = 0, 1

_STATE = np.dtype(
    [
        ("before", "i8"),  # 1: it pressed in the step before
        ("now", "i8"),
        ("noted", "i8"),  # 1: among those whose forces are added up
        ("force", "f8", 3),
        ("moment", "f8", 3),
        ("place", "f8", 3),
        ("normal", "f8"),
    ]
)
ROW = np.dtype(
    [
        ("row", "i8"),  # of the recording
        ("pair", "i8"),
        ("force", "f8", 3),  # N, on the first body by the second
        ("moment", "f8", 3),  # N m, about the place
        ("place", "f8", 3),  # m
        ("normal", "f8"),  # N
    ]
)


class PairLog(NamedTuple):
    """Pairs of bodies that may touch, what they do now, and what Python has not fetched yet."""

    states: Any  # of each pair
    rows: Any
    events: Ints  # (room, 3) step, TOUCH or LIFT_OFF, pair
    counts: Ints  # (2,) rows and events
    pressing: Ints  # (2, n_pairs) pairs that pressed in the step before, and that press
    n_pressing: Ints  # (2,) how many


def make_pair_log(n_pairs: int) -> PairLog:
    """Return room for some steps of so many pairs."""
    return PairLog(
        states=np.zeros(n_pairs, dtype=_STATE),
        rows=np.zeros(n_pairs + 500, dtype=ROW),
        events=np.zeros((n_pairs + 50, 3), dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
        pressing=np.zeros((2, max(1, n_pairs)), dtype=np.int64),
        n_pressing=np.zeros(2, dtype=np.int64),
    )


@inline
def has_room(log: PairLog):
    """Whether a step finds room for all that it may note."""
    pairs = len(log.states)
    return log.counts[_ROWS] + pairs <= len(log.rows) and log.counts[_EVENTS] + pairs <= len(log.events)


@inline
def _presses(c):
    """Whether a contact record is one between bodies that press."""
    return c.point == -1 and c.impulse[0] > 0.0


@inline
def _enter(pairs, count, pair):
    """Put a pair into a list in order; return its length."""
    place = count
    while place > 0 and pairs[place - 1] > pair:
        pairs[place] = pairs[place - 1]
        place -= 1
    pairs[place] = pair
    return count + 1


@inline
def _note_event(log: PairLog, step, kind, pair):
    e = log.counts[_EVENTS]
    log.events[e, 0], log.events[e, 1], log.events[e, 2] = step, kind, pair
    log.counts[_EVENTS] = e + 1


@inline
def note_touches(log: PairLog, problem: Problem, step):
    """Note which pairs began and ended to press in a step: first all that began."""
    before, now, count = log.pressing[0], log.pressing[1], 0
    for index in range(problem.counts[N_CONTACTS]):
        if _presses(problem.contacts[index]):
            pair = problem.pairs[problem.contacts[index].face].log
            if log.states[pair].now == 0:
                log.states[pair].now = 1
                count = _enter(now, count, pair)
    for k in range(count):
        if log.states[now[k]].before == 0:
            _note_event(log, step, TOUCH, now[k])
    for k in range(log.n_pressing[0]):
        if log.states[before[k]].now == 0:
            _note_event(log, step, LIFT_OFF, before[k])
        log.states[before[k]].before = 0
    for k in range(count):
        log.states[now[k]].before, log.states[now[k]].now = 1, 0
        before[k] = now[k]
    log.n_pressing[0] = count


@inline
def note_forces(log: PairLog, problem: Problem, row, h):
    """Note what the pairs do in a step of length h (s), as a row of the recording (1)."""
    pairs, count = log.pressing[1], 0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if _presses(c):
            pair = problem.pairs[c.face].log
            s = log.states[pair]
            if s.noted == 0:
                s.noted, s.normal = 1, 0.0
                for i in range(3):
                    s.force[i] = s.moment[i] = s.place[i] = 0.0
                count = _enter(pairs, count, pair)
            s.normal += c.impulse[0] / h
            for i in range(3):
                s.force[i] += _force(c, i, h)
                s.place[i] += c.position[i] * c.impulse[0] / h
    for k in range(count):
        s = log.states[pairs[k]]
        s.noted = 0
        for i in range(3):
            s.place[i] /= s.normal
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if _presses(c):
            s = log.states[problem.pairs[c.face].log]
            x, y, z = c.position[0] - s.place[0], c.position[1] - s.place[1], c.position[2] - s.place[2]
            fx, fy, fz = _force(c, 0, h), _force(c, 1, h), _force(c, 2, h)
            s.moment[0] += y * fz - z * fy
            s.moment[1] += z * fx - x * fz
            s.moment[2] += x * fy - y * fx
    for k in range(count):
        s, out = log.states[pairs[k]], log.rows[log.counts[_ROWS]]
        log.counts[_ROWS] += 1
        out.row, out.pair, out.normal = row, pairs[k], s.normal
        for i in range(3):
            out.force[i], out.moment[i], out.place[i] = s.force[i], s.moment[i], s.place[i]


@inline
def _force(c, i, h):
    """Component of the force of a contact, world axes."""
    return (c.impulse[0] * c.axes[0, i] + c.impulse[1] * c.axes[1, i] + c.impulse[2] * c.axes[2, i]) / h
