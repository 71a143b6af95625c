"""The machine of trees without constraints: fixed steps of an explicit method, for many worlds in lockstep.

    M a = τ - bias     by the forward dynamics of the tree, rows in SIMD lanes                    (1)

A world that grows without bound, or whose torque is no number, is frozen at its last good state; the others go on with
the same bits: rows never meet in any operation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function, unrolled_function
from setsu.mechanism import Mechanism
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.workspace import floats
from setsu.simulation.clock import (
    BAD_NUMBERS,
    DIVERGED,
    READY,
    WANTS,
    Ask,
    all_frozen,
    asks_now,
    begins_step,
    counts_step,
    drive,
    freeze,
    takes_order,
)
from setsu.simulation.row_lanes import drop_signs_of_zeros
from setsu.simulation.sampling import samples
from setsu.simulation.stages import (
    Rows,
    begin_stage,
    end_step,
    first_slope,
    keep_slope,
    move_rows,
    remember_start,
    within_reach,
)

__all__ = ["TreeRecords", "TreeWork", "Unrolling", "make_tree_work", "run_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

_DONE, _NEED_TORQUE, _RECORDS_FULL, _FAILED = (
    int(Ask.DONE), int(Ask.NEED_TORQUE), int(Ask.RECORDS_FULL), int(Ask.FAILED),
)  # fmt: skip


# Steps of one world from which on code for the mechanism is made: what they take with loops is what making it takes.
_WORTH_UNROLLING = 1 << 18


class TreeWork(NamedTuple):
    """Kernels of the tree, bound to the rows, and what the energy ledger needs."""

    damping: Floats  # (nv,)
    elements: Ints  # (1,) whether force elements act
    element_power: Floats  # (N, 1) W, of their dampers and drag
    works: Floats  # (N, 4) J, since the last reset
    forward: Handle
    element_powers: Handle


class TreeRecords(NamedTuple):
    """What is kept of every so many steps; no rows for what is not asked for."""

    q: Floats = floats("room", "N", "nq")
    v: Floats = floats("room", "N", "nv")
    a: Floats = floats("room_a", "N", "nv")
    tau: Floats = floats("room", "N", "nv")
    works: Floats = floats("room_works", "N", 4)  # J


def make_tree_work(m: Mechanism, rows: Rows, total: Floats) -> tuple[TreeWork, list[Any]]:
    """Return the work space of a mechanism for rows under torques `total` (N, nv), and what must stay alive."""
    n, elements = len(rows.q), m.has_force_elements
    power = np.zeros((n, 1))
    forward = native_function(m, f"forward_dynamics{' springs' if elements else ''}")
    bound = [
        forward.bind([rows.q, rows.v, total], [rows.a]),
        native_function(m, "element_power").bind([rows.q, rows.v], [power]),
    ]
    work = TreeWork(
        damping=m.damping,
        elements=np.array([int(elements)]),
        element_power=power,
        works=np.zeros((n, 4)),
        forward=bound[0].handle,
        element_powers=bound[1].handle,
    )
    return work, bound


class Unrolling:
    """Code of one mechanism's accelerations, shared by the blocks of a simulator: made when it has become worth it.

    The bits are those of the loops: when it takes their place is a question of what it costs to make, half a second for
    an arm of six joints.
    """

    def __init__(self, m: Mechanism) -> None:
        self._mechanism, self._left = m, 0 if m.has_force_elements else _WORTH_UNROLLING
        self._code: Any = None

    def after(self, steps: int) -> Any:
        """The code, or None for the loops; steps: of one world, those that a block is about to take."""
        if self._left > 0:
            self._left -= steps
            if self._left <= 0:
                self._code = unrolled_function(self._mechanism, "forward_dynamics")
        return self._code


@inline
def _stand_still(c, g, y):
    """Put frozen worlds where they stopped."""
    for n in range(len(y.q)):
        if c.frozen[n] != 0:
            for i in range(y.q.shape[1]):
                y.q[n, i] = g.q0[n, i]
            for d in range(y.v.shape[1]):
                y.v[n, d] = g.v0[n, d]


@inline
def _evaluate(c, y, d, w, g):
    """Torques, accelerations (1) and powers of all rows; freezes those without; False where that does not help."""
    drive(d, y, c)
    _stand_still(c, g, y)
    if run_bound(w.forward) >= 0:
        for n in range(len(y.q)):
            if not within_reach(y.q[n], y.v[n]):
                freeze(c, y, n, BAD_NUMBERS)
        _stand_still(c, g, y)
        if run_bound(w.forward) >= 0:
            return False
    for n in range(len(y.q)):
        drop_signs_of_zeros(y.a[n])  # all that loops and their unrolled code may differ in (native/unrolled.py)
    if c.ledger[0] == 1:
        _powers(y, d, w)
    return True


@inline
def _powers(y, d, w):
    if w.elements[0]:
        run_bound(w.element_powers)
    for n in range(len(y.q)):
        power = y.powers[n]
        power[0], power[1], power[2] = 0.0, 0.0, 0.0
        for i in range(y.v.shape[1]):
            power[0] += d.total[n, i] * y.v[n, i]
            power[1] -= w.damping[i] * y.v[n, i] * y.v[n, i]
        if w.elements[0]:
            power[2] = w.element_power[n, 0]


@inline
def _record(c, y, d, w, r):
    row = c.used[0]
    c.used[0], c.due[0] = row + 1, 0
    for n in range(len(y.q)):
        for i in range(y.q.shape[1]):
            r.q[row, n, i] = y.q[n, i]
        for i in range(y.v.shape[1]):
            r.v[row, n, i], r.tau[row, n, i] = y.v[n, i], d.tau[n, i]
            if len(r.a) > 0:
                r.a[row, n, i] = y.a[n, i]
        if len(r.works) > 0:
            for i in range(4):
                r.works[row, n, i] = w.works[n, i]


@inline
def _move_others(c, y, g, why):
    """Freeze the worlds that have left all bounds, and move the others; where that does not help, freeze all."""
    for n in range(len(y.q)):
        if not within_reach(g.phi[n], y.v[n]):
            freeze(c, y, n, why)
        if c.frozen[n] != 0:
            for d in range(y.v.shape[1]):
                g.phi[n, d] = 0.0
    if not move_rows(g, y):
        for n in range(len(y.q)):
            freeze(c, y, n, why)


@inline
def _end(method, c, y, w, g):
    """Take the rows to the end of the step; worlds that have left all bounds are frozen where it began."""
    h, nv = c.h[0], y.v.shape[1]
    if not end_step(method, g, y, h):
        _move_others(c, y, g, DIVERGED)
    for n in range(len(y.q)):
        if c.frozen[n] == 0 and not within_reach(y.q[n], y.v[n]):
            freeze(c, y, n, DIVERGED)
        elif c.ledger[0] == 1 and c.frozen[n] == 0:
            for i in range(4):
                w.works[n, i] += g.total[n, 2 * nv + i]
    _stand_still(c, g, y)
    counts_step(c, y)


@jit
def run_tree(method, c, y, d, p, w, g, r):
    """Take steps until something is to be asked; return an Ask."""
    if takes_order(c):
        c.phase[0], c.stage[0] = WANTS, -1
    while True:
        if c.phase[0] == WANTS:
            between = c.stage[0] < 0
            if between and c.done[0] == c.target[0] and c.final[0] == 0:
                return _DONE
            if asks_now(c):
                return _NEED_TORQUE
            if between:
                # Where frozen worlds and those that fail now are put back to.
                remember_start(g, y)
            if not _evaluate(c, y, d, w, g) or all_frozen(c):
                return _FAILED
            if between:
                c.phase[0] = READY
                continue
            keep_slope(method, g, y, c.stage[0])
        elif samples(p, d, y):
            c.phase[0] = WANTS
            continue
        else:
            if c.due[0] == 1:
                _record(c, y, d, w, r)
                if c.used[0] == len(r.q):
                    return _RECORDS_FULL
            c.h[0] = begins_step(c)
            if c.h[0] == 0.0:
                return _DONE
            first_slope(method, g, y)
            c.stage[0] = 0
        stage = c.stage[0] + 1
        if stage >= len(method.b):
            _end(method, c, y, w, g)
        else:
            c.stage[0], c.phase[0] = stage, WANTS
            if not begin_stage(method, g, y, stage, c.h[0]):
                _move_others(c, y, g, BAD_NUMBERS)
                _stand_still(c, g, y)
