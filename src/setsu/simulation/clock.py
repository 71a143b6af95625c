"""Where a block of worlds stands in its run, and what a machine asks: shared by all machines and by the simulator."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.control_flow import inline, run_bound, run_code
from setsu.simulation.row_lanes import add, copy, is_finite

__all__ = [
    "BAD_NUMBERS",
    "BAD_TORQUE",
    "DIVERGED",
    "LAWS",
    "MOVED",
    "READY",
    "STOPPED",
    "WANTS",
    "Ask",
    "Clock",
    "Drive",
    "all_frozen",
    "asks_now",
    "begins_step",
    "counts_step",
    "drive",
    "freeze",
    "look_up",
    "make_clock",
    "make_drive",
    "takes_order",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# Phases: the state is evaluated and a step may begin; it wants a torque and an evaluation; it has been moved to a stage
# or to the end of a step, and what is prescribed there has been asked for.
READY, WANTS, MOVED = 0, 1, 2
# Why a world was frozen.
BAD_TORQUE, BAD_NUMBERS, DIVERGED, STOPPED = 1, 2, 3, 4


class Ask(IntEnum):
    """What a machine returns with."""

    DONE = 0
    NEED_TORQUE = 1
    RECORDS_FULL = 2
    EVENT = 3
    FAILED = 4
    NEED_MOTION = 5


class Clock(NamedTuple):
    """Where a block stands; all (1,) but for `frozen` and `frozen_at`."""

    phase: Ints  # READY, WANTS or MOVED
    stage: Ints  # of the method; -1 between steps
    done: Ints  # steps taken in this run
    target: Ints  # steps to be taken in it
    every: Ints  # steps between records
    final: Ints  # 1: the state after the last step is evaluated, and recorded
    due: Ints  # 1: the state is to be recorded as soon as it is evaluated
    used: Ints  # rows of the records in use
    asks: Ints  # 1: the torque is asked for in Python
    answered: Ints  # 1: it has been given for the present state
    ledger: Ints  # 1: works are added up
    failure: Ints  # status of a failed evaluation or projection
    step: Floats  # s
    last: Floats  # s, length of the last step of the run; 0: as the others
    h: Floats  # s, length of the present step
    order: Ints  # steps to be taken, under a torque given anew, from the next call on; 0: as `done` and `target` say
    frozen: Ints  # (N,) 0, or why a world does not move any more
    frozen_at: Floats  # (N,) s


LAWS = 2  # laws without Python that may act at once


class Drive(NamedTuple):
    """What drives the rows of a block (N m, N): tau = held + asked + sampled + laws; total = tau + pushes."""

    held: Floats  # (N, nv) given from outside for some steps
    asked: Floats  # (N, nv) answered by a Python function
    sampled: Floats  # (N, nv) of sampled laws without Python, held between their samples
    tau: Floats  # (N, nv)
    total: Floats  # (N, nv)
    code: Handle  # (2,) addresses of laws without Python: the simulator's, and one of the present run; 0 without
    inputs: Floats  # of such a law: t, q, v, values of its tables; of a sampled one also its memory and readings
    output: Floats  # (nv,)
    tables: Ints  # (tables, 6): law, first knot, knots, values, coefficients of each, first coefficient; sampled laws
    # count from LAWS on
    knots: Floats  # s, of all tables
    coefficients: Floats  # of all tables: piece by piece, value by value, rising powers
    push: Floats  # (slots, n_rows * 6) wrenches on bodies at their origins, world axes
    jacobian: Floats  # (slots, N, 6 nv) of these bodies
    push_kernels: Handle  # (slots, 7) handles that fill `jacobian`


def make_drive(held: Floats, asked: Floats, total: Floats, nq: int) -> Drive:
    """Return what drives N rows: arrays (N, nv) of the caller, in which torques are given and found."""
    n, nv = held.shape
    return Drive(
        held=held,
        asked=asked,
        sampled=np.zeros((n, nv)),
        tau=np.zeros((n, nv)),
        total=total,
        code=np.zeros(LAWS, dtype=np.int64),
        inputs=np.zeros(1 + nq + nv),
        output=np.zeros(nv),
        tables=np.zeros((0, 6), dtype=np.int64),
        knots=np.zeros(0),
        coefficients=np.zeros(0),
        push=np.zeros((0, 6 * n)),
        jacobian=np.zeros((0, n, 6 * nv)),
        push_kernels=np.zeros((0, 7), dtype=np.int64),
    )


def make_clock(rows: int, step: float) -> Clock:
    """Return the clock of a block of worlds at rest."""

    def zero() -> Ints:
        return np.zeros(1, dtype=np.int64)

    return Clock(
        phase=np.array([WANTS]),
        stage=np.array([-1]),
        done=zero(),
        target=zero(),
        every=np.array([1]),
        final=zero(),
        due=zero(),
        used=zero(),
        asks=zero(),
        answered=zero(),
        ledger=zero(),
        failure=np.array([-1]),
        step=np.array([step]),
        last=np.zeros(1),
        h=np.zeros(1),
        order=zero(),
        frozen=np.zeros(rows, dtype=np.int64),
        frozen_at=np.zeros(rows),
    )


@inline
def takes_order(c):
    """Begin a run of so many steps without records, if one was ordered: all words of the clock in one call."""
    if c.order[0] == 0:
        return False
    c.done[0], c.target[0], c.last[0], c.every[0], c.final[0], c.due[0] = 0, c.order[0], 0.0, 0, 0, 0
    c.order[0] = c.answered[0] = 0
    return True


@inline
def asks_now(c):
    """Whether the torque of the present state has to be asked for in Python, and has not been given yet."""
    if c.asks[0] == 0:
        return False
    c.answered[0] = 1 - c.answered[0]
    return c.answered[0] == 1


@inline
def begins_step(c):
    """Length (s) of the step that may begin now; 0 when all of the run have been taken."""
    if c.done[0] == c.target[0]:
        return 0.0
    short = c.done[0] == c.target[0] - 1 and c.last[0] > 0.0
    return c.last[0] if short else c.step[0]


@inline
def counts_step(c, y):
    """Count a step that has reached its end, and set the times of the rows to t0 + k step."""
    short = c.done[0] == c.target[0] - 1 and c.last[0] > 0.0
    c.done[0] += 1
    ends = c.done[0] == c.target[0]
    for n in range(len(y.t)):
        if short:
            # The grid begins anew behind a step of another length.
            y.t0[n], y.k[n] = y.t0[n] + y.k[n] * c.step[0] + c.last[0], 0
        else:
            y.k[n] += 1
        y.t[n] = y.start[n] = y.t0[n] + y.k[n] * c.step[0]
    c.due[0] = 1 if (c.every[0] > 0 and (c.done[0] % c.every[0] == 0 or (ends and c.final[0] == 1))) else 0
    c.phase[0], c.stage[0] = WANTS, -1


@inline
def drive(d, y, c):
    """Torques of all rows: held from outside, asked for, by a traced law, by pushes; freezes rows without a number."""
    nv = y.v.shape[1]
    for k in range(len(d.push)):
        run_bound(d.push_kernels[k])
    for n in range(len(y.q)):
        tau = d.tau[n]
        add(d.held[n], d.asked[n], d.total[n])
        add(d.total[n], d.sampled[n], tau)
        for k in range(len(d.code)):
            if d.code[k] != 0:
                d.inputs[0] = y.t[n]
                for i in range(y.q.shape[1]):
                    d.inputs[1 + i] = y.q[n, i]
                for i in range(nv):
                    d.inputs[1 + y.q.shape[1] + i] = y.v[n, i]
                look_up(d, k, y.t[n], 1 + y.q.shape[1] + nv)
                run_code(d.code[k], d.inputs, d.output)
                for i in range(nv):
                    tau[i] += d.output[i]
        copy(tau, d.total[n], 0)
        if not is_finite(tau):
            freeze(c, y, n, BAD_TORQUE)
        for k in range(len(d.push)):
            for i in range(nv):
                for j in range(6):
                    d.total[n, i] += d.jacobian[k, n, j * nv + i] * d.push[k, 6 * n + j]
        if c.frozen[n] != 0:
            for i in range(nv):
                tau[i] = d.total[n, i] = 0.0


@inline
def look_up(d, law, t, place):
    """Put the values of a law's tables at time t into its inputs, from a place on."""
    for k in range(len(d.tables)):
        if d.tables[k, 0] == law:
            first, count, values, width = d.tables[k, 1], d.tables[k, 2], d.tables[k, 3], d.tables[k, 4]
            low, high = 0, count  # piece 0 is before the first knot
            while low < high:
                middle = (low + high) // 2
                if d.knots[first + middle] <= t:
                    low = middle + 1
                else:
                    high = middle
            s = t - d.knots[first + max(low - 1, 0)]
            for j in range(values):
                start = d.tables[k, 5] + (low * values + j) * width
                value = 0.0
                for i in range(width):
                    value = value * s + d.coefficients[start + width - 1 - i]
                d.inputs[place] = value
                place += 1


@inline
def freeze(c, y, n, why):
    """Let a world stand still from now on."""
    if c.frozen[n] == 0:
        c.frozen[n], c.frozen_at[n] = why, y.start[n]


@inline
def all_frozen(c):
    """Whether no world of the block moves any more."""
    moving = 0
    for n in range(len(c.frozen)):
        moving += c.frozen[n] == 0
    return moving == 0
