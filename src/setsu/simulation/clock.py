"""Where a block of worlds stands in its run, and what a machine asks: shared by all machines and by the simulator."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.native.control_flow import inline, run_bound, run_code
from setsu.native.workspace import floats, ints, make
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
    """Where a block of N worlds stands."""

    phase: Ints = ints(1)  # READY, WANTS or MOVED
    stage: Ints = ints(1)  # of the method; -1 between steps
    done: Ints = ints(1)  # steps taken in this run
    target: Ints = ints(1)  # steps to be taken in it
    every: Ints = ints(1)  # steps between records
    final: Ints = ints(1)  # 1: the state after the last step is evaluated, and recorded
    due: Ints = ints(1)  # 1: the state is to be recorded as soon as it is evaluated
    used: Ints = ints(1)  # rows of the records in use
    asks: Ints = ints(1)  # 1: the torque is asked for in Python
    answered: Ints = ints(1)  # 1: it has been given for the present state
    ledger: Ints = ints(1)  # 1: works are added up
    failure: Ints = ints(1)  # status of a failed evaluation or projection
    step: Floats = floats(1)  # s
    last: Floats = floats(1)  # s, length of the last step of the run; 0: as the others
    h: Floats = floats(1)  # s, length of the present step
    order: Ints = ints(1)  # steps to be taken, under a torque given anew, from the next call on; 0: see done, target
    frozen: Ints = ints("N")  # 0, or why a world does not move any more
    frozen_at: Floats = floats("N")  # s


LAWS = 2  # laws without Python that may act at once


class Drive(NamedTuple):
    """What drives the rows of a block (N m, N): tau = held + asked + sampled + laws; total = tau + pushes."""

    held: Floats = floats("N", "nv")  # given from outside for some steps
    asked: Floats = floats("N", "nv")  # answered by a Python function
    sampled: Floats = floats("N", "nv")  # of sampled laws without Python, held between their samples
    tau: Floats = floats("N", "nv")
    total: Floats = floats("N", "nv")
    code: Handle = ints(LAWS)  # addresses of laws without Python: the simulator's, and one of the present run; or 0
    inputs: Floats = floats("1 + nq + nv")  # of such a law: t, q, v, its tables; sampled ones: memory, readings
    output: Floats = floats("nv")
    tables: Ints = ints(0, 6)  # law, first knot, knots, values, coefficients of each, first coefficient; sampled laws
    # count from LAWS on
    knots: Floats = floats(0)  # s, of all tables
    coefficients: Floats = floats(0)  # of all tables: piece by piece, value by value, rising powers
    push: Floats = floats(0, "6 N")  # wrenches on bodies at their origins, world axes: (slots, 6 N)
    jacobian: Floats = floats(0, "N", "6 nv")  # of these bodies, (slots, N, 6 nv)
    push_kernels: Handle = ints(0, 7)  # handles that fill `jacobian`, (slots, 7)


def make_drive(held: Floats, asked: Floats, total: Floats, nq: int) -> Drive:
    """Return what drives N rows: arrays (N, nv) of the caller, in which torques are given and found."""
    n, nv = held.shape
    lengths = {"N": n, "nv": nv, "nq": nq}
    return make(Drive, lengths, held=held, asked=asked, total=total)


def make_clock(rows: int, step: float) -> Clock:
    """Return the clock of a block of worlds at rest."""
    none = np.array([-1])
    return make(
        Clock, {"N": rows}, phase=np.array([WANTS]), stage=none, every=np.array([1]), failure=none.copy(),
        step=np.array([step]),
    )  # fmt: skip


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
