"""Loops, couplings and surfaces of the mechanism in a contact step: rows that hold at its end, like the contacts.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| G, e | Jacobian and position error of the rows, at the beginning of the step | m or rad |
| γ | acceleration of the rows at zero joint accelerations | m/s² or rad/s² |
| v', q' | velocity and configuration at the end of the step, q' = q ⊕ h v' | |

    G v' = g,   g = -(e + ½ h² γ) / h                                         (1)  the least change in kinetic metric
    e(q') > 1e-11:  g <- g - e(q') / h, and the step is solved again          (2)

(1) misses the end of the step by the third order of h only, so that (2) ends after a pass or two.
Rows are made orthonormal in x (factor.py); those that follow from others hold nothing. Open loops have rows of zeros.
Source: rows as in constraints/compiled_rows.py. Cost: k² nv for k rows, per pass.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_rows import fill_rows
from setsu.constraints.ranks import EXACT
from setsu.constraints.row_tables import RowTables, row_state, row_tables
from setsu.constraints.system import ConstraintSystem
from setsu.contact.factor import force_to_x, velocity_to_x, x_to_velocity
from setsu.dynamics.catalogue import native_function
from setsu.native.array_book import Book
from setsu.native.control_flow import part

__all__ = ["HELD", "HeldRows", "begin_rows", "correct_rows", "hold_rows", "make_held_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# m or rad: what a step may leave of a row's error.
HELD = 1e-11


class _Kernels(NamedTuple):
    places: Handle  # of the kernels that fill poses and motion of the bodies
    rates: Handle


class _Work(NamedTuple):
    rows: Floats  # (k, nv) orthonormal in x after `hold_rows`
    rate: Floats  # (k,) what x has to be along them
    raw: Floats  # (k, nv) G
    goal: Floats  # (k,) g
    open: Ints  # (k,) 1: belongs to an open loop, or is redundant (constraints/redundancy.py)
    unheld: Floats  # (nv,) velocity at the end of the step without rows and contacts


class HeldRows(NamedTuple):
    """The rows of a system for compiled code: constants, state, kernels and work space."""

    tables: Any
    state: Any
    kernels: Any
    work: Any


def make_held_rows(system: ConstraintSystem) -> tuple[HeldRows, Any]:
    """Return the rows of a system, and what has to be kept alive."""
    m, k = system.mechanism, system.n_rows
    # Copies: loops that close where they are get other frames in mid-run.
    tables = RowTables._make(array.copy() for array in row_tables(system))
    # All rows are filled: which of them are redundant changes with the loops that are open, and `open` says so.
    tables.place[:] = np.arange(system.n_held)
    state = row_state(system)
    handles, kept = [np.zeros(7, dtype=np.int64)] * 2, []
    if k:
        rates = [state.velocities, state.accelerations, np.zeros(m.nv)]
        kept = [
            native_function(m, "world_places").bind([state.q], [state.poses, state.directions]),
            native_function(m, "world_rates").bind([state.q, state.v], rates),
        ]
        handles = [kernel.handle for kernel in kept]
    work = _Work(
        rows=np.zeros((k, m.nv)),
        rate=np.zeros(k),
        raw=np.zeros((k, m.nv)),
        goal=np.zeros(k),
        open=np.zeros(k, dtype=np.int64),
        unheld=np.zeros(m.nv),
    )
    return HeldRows(Book(tables), Book(state), Book(_Kernels(*handles)), Book(work)), kept


@part
def _fill(held: HeldRows, q, v):
    """Rows and errors at a state; False for bad numbers or a surface without normal."""
    s = held.state
    for k in range(len(q)):
        s.q[k] = q[k]
    for d in range(len(v)):
        s.v[d] = v[d]
    return fill_rows(held.tables, s, held.kernels) < 0


@part
def begin_rows(held: HeldRows, q, v, v_free, h):
    """Rows and goals (1) at the beginning of a step; False for bad numbers."""
    s, w = held.state, held.work
    if not _fill(held, q, v):
        return False
    for r in range(len(w.goal)):
        closed = 0.0 if w.open[r] == 1 else 1.0
        w.goal[r] = -closed * (s.error[r] / h + 0.5 * h * s.gamma[r])  # (1)
        for d in range(len(v)):
            w.raw[r, d] = closed * s.G[r, d]
    for d in range(len(v)):
        w.unheld[d] = v_free[d]
    return True


@part
def correct_rows(held: HeldRows, q, v, h):
    """Correct the goals by the errors at q (2); return the largest error (m or rad), -1 for bad numbers."""
    s, w = held.state, held.work
    if not _fill(held, q, v):
        return -1.0
    worst = 0.0
    for r in range(len(w.goal)):
        if w.open[r] == 0:
            w.goal[r] -= s.error[r] / h
            worst = max(worst, abs(s.error[r]))
    return worst


@part
def hold_rows(held: HeldRows, H, parent, root, x, v_free):
    """v_free <- the velocity nearest to the unheld one that has the rates `goal`; `rows` orthonormal in x."""
    w = held.work
    rows, rate, nv = w.rows, w.rate, len(v_free)
    velocity_to_x(H, parent, root, w.unheld, x)
    largest = 0.0  # of the rows, squared
    for r in range(len(rows)):
        rate[r] = w.goal[r]
        for d in range(nv):
            rows[r, d] = w.raw[r, d]
        force_to_x(H, parent, root, rows[r])
        size = 0.0
        for d in range(nv):
            size += rows[r, d] * rows[r, d]
        largest = max(largest, size)
    for r in range(len(rows)):
        G = rows[r]
        for _ in range(2):  # twice is enough
            for k in range(r):
                s = 0.0
                for d in range(nv):
                    s += G[d] * rows[k, d]
                for d in range(nv):
                    G[d] -= s * rows[k, d]
                rate[r] -= s * rate[k]
        left = 0.0
        for d in range(nv):
            left += G[d] * G[d]
        # What is left of a row that others hold already (surfaces may, loops are judged) is rounding: it holds nothing.
        f = 1.0 / math.sqrt(left) if left > EXACT * EXACT * largest else 0.0
        s = rate[r] = f * rate[r]
        for d in range(nv):
            G[d] *= f
            s -= G[d] * x[d]
        for d in range(nv):
            x[d] += s * G[d]
    x_to_velocity(H, parent, root, x)
    for d in range(nv):
        v_free[d] = x[d]
