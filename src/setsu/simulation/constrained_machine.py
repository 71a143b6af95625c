"""The machine of one world with loops, couplings, surfaces, stops and dry friction; events are located in it.

    stage → motion of drives → projection onto the constraints → torque → evaluation → next stage or end of the step
    end   → energy of the projection booked → guards → event? the step again, shorter → record

An event is a guard that has become negative. Its time is found by taking the step again, shorter, until the guard is
zero (regula falsi, Illinois): no interpolation, so that the event is as accurate as the step itself. What then changes
is decided in Python (transitions.py). The length of adaptive steps follows their error: step_errors.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_rows import fill_rows
from setsu.native.control_flow import inline, jit
from setsu.native.workspace import floats, ints
from setsu.simulation.clock import MOVED, READY, WANTS, Ask, asks_now, begins_step, counts_step, drive, takes_order
from setsu.simulation.compiled_motion import broken, energy, evaluate, remember_sliding
from setsu.simulation.compiled_projection import project, smooth_stage
from setsu.simulation.implicit import ENDED, FAILS, begin_implicit, take_slope, wanted_state
from setsu.simulation.motion_space import BROKEN, JAMMED
from setsu.simulation.sampling import samples
from setsu.simulation.stages import (
    begin_stage,
    end_step,
    first_slope,
    keep_slope,
    remember_start,
    separate_rows,
    within_reach,
)
from setsu.simulation.step_errors import accepts_length

__all__ = ["DIVERGENCE", "NO_SOLUTION", "STEP_TOO_SHORT", "Course", "Records", "run_constrained"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIVERGENCE, STEP_TOO_SHORT, NO_SOLUTION = 1_000_003, 1_000_004, 1_000_005

_DONE, _NEED_TORQUE, _RECORDS_FULL, _EVENT, _FAILED, _NEED_MOTION = (
    int(Ask.DONE), int(Ask.NEED_TORQUE), int(Ask.RECORDS_FULL), int(Ask.EVENT), int(Ask.FAILED), int(Ask.NEED_MOTION),
)  # fmt: skip

# Parts of the user's step: below which a step is not shortened any more, within which a jam is located, and what is no
# step any more.
_SHORTEST, _JAM, _ROUNDING = 1e-12, 1e-9, 1e-9
_SHORTEST_IMPLICIT = 1e-6
_LOCATION_STEPS = 60
# A step that is taken again, shorter.
_TOO_LONG = -2
# What an evaluation says of a step: accept it, take it again with another length, an event ends it.
_ACCEPT, _AGAIN, _EVENT_HERE = 0, 1, 2


class Course(NamedTuple):
    """The present step of a constrained world, the search for an event in it, and sums."""

    held: Ints = ints(1)  # 1: states are projected onto the constraints
    most: Ints = ints(1)  # largest rank met on the constraints
    factored: Ints = ints(1)  # 1: the factors at hand are those of the present configuration
    inside: Ints = ints(1)  # 1: the step begins between two times of the grid
    whole: Ints = ints(1)  # 1: it ends at a time of the grid
    until: Floats = floats(1)  # s, no step goes beyond it
    unchecked: Ints = ints(1)  # 1: the guards at the end of a step are still to be looked at
    locating: Ints = ints(1)  # rounds of the search for an event so far; 0: none under way
    low: Floats = floats(1)  # s, lengths of the step before and behind the event, and the guards there
    high: Floats = floats(1)
    value_low: Floats = floats(1)
    value_high: Floats = floats(1)
    guard: Floats = floats(1)  # smallest guard at the start of the step
    before: Floats = floats(1)  # J, energy before the projection
    totals: Floats = floats(5)  # J, works and projection since the reset
    adaptive: Ints = ints(1)  # 1: the length of steps follows the error
    tolerance: Floats = floats(1)
    proposed: Floats = floats(1)  # s, next step of the adaptive method
    fades: Ints = ints(1)  # 1: a state of the step is close to a change point
    errors: Floats = floats(2, "2 nv")  # differences to the methods of lower order, over h
    q: Floats = floats(1, "nq")  # state of the world where the simulator reads it
    v: Floats = floats(1, "nv")
    drive_velocity: Ints = ints("drives")  # velocities of driven joints, and places of their rows among the multipliers
    drive_place: Ints = ints("drives")


class Records(NamedTuple):
    """What is kept of every so many steps."""

    q: Floats = floats("room", "nq")
    v: Floats = floats("room", "nv")
    a: Floats = floats("room", "nv")
    tau: Floats = floats("room", "nv")
    t: Floats = floats("room")
    normal_force: Floats = floats("room", "contacts")
    friction_force: Floats = floats("room", "contacts", 3)
    axis_force: Floats = floats("room", "axes")  # dry friction and stops along free axes of loop joints
    multiplier: Floats = floats("room", "loop_rows")
    redundant: Floats = floats("room")
    error: Floats = floats("room")  # largest violation of an active row, m or rad
    energy: Floats = floats("room")  # J
    totals: Floats = floats("room", 5)  # J


@inline
def _remaining(c, e, y):
    """Time (s) to the end of the present step of the grid; 0 at the end of the run."""
    whole = begins_step(c)
    if whole == 0.0 or e.inside[0] == 0:
        return whole
    return max(y.t0[0] + y.k[0] * c.step[0] + whole - y.start[0], 0.0)


@inline
def _back(g, y):
    """Put the state back to the start of the step."""
    for i in range(y.q.shape[1]):
        y.q[0, i] = g.q0[0, i]
    for d in range(y.v.shape[1]):
        y.v[0, d] = g.v0[0, d]
    y.t[0] = y.start[0]


@inline
def _end(method, b, c, e, g, y, t, s, kernels, x, F, w, net, u):
    """Take the state to the end of the step; -1, a status, or _TOO_LONG."""
    h = c.h[0]
    # An implicit method has left it there.
    if len(b.c) == 0 and not end_step(method, g, y, h):
        return DIVERGENCE
    if not within_reach(s.q, s.v):
        if e.adaptive[0] == 0:
            return DIVERGENCE
        c.h[0], e.whole[0] = h / 3.0, 0
        return _TOO_LONG
    if not accepts_length(method, c, e, g, y, s, kernels, x, F, w, net, u):
        return _TOO_LONG
    if e.held[0] == 1 and c.ledger[0] == 1:
        if w.stores_energy[0]:
            fill_rows(t, s, kernels)  # for springs and drives of loop joints
        e.before[0] = energy(t, s, w)
    y.t[0] = y.start[0] + h
    c.stage[0], e.unchecked[0] = -1, 1
    return -1


@inline
def _checked(c, e, w):
    """What the guards say of the step that has just been evaluated; in a search, c.h is the next length to try."""
    smallest, h = w.smallest[0], c.h[0]
    if e.locating[0] == 0:
        if smallest >= 0.0:
            return _ACCEPT
        e.low[0], e.high[0] = 0.0, h
        e.value_low[0], e.value_high[0] = max(e.guard[0], 0.0), smallest
    elif smallest < 0.0:
        e.high[0], e.value_high[0] = h, smallest
        e.value_low[0] *= 0.5
    else:
        e.low[0], e.value_low[0] = h, smallest
        e.value_high[0] *= 0.5
    e.locating[0] += 1
    low, high = e.low[0], e.high[0]
    if high - low <= _SHORTEST * c.step[0] or e.locating[0] > _LOCATION_STEPS:
        if h == high:
            return _EVENT_HERE
        c.h[0] = high
        return _AGAIN
    # A guard that has only come into being within the step gives no slope to go by.
    slope = 0.0
    if 0.0 < e.value_low[0] < math.inf:
        slope = (e.value_high[0] - e.value_low[0]) / (high - low)
    tried = high - e.value_high[0] / slope if slope != 0.0 else 0.5 * (low + high)
    c.h[0] = min(max(tried, low + 0.01 * (high - low)), high - 0.01 * (high - low))
    e.whole[0] = 0
    return _AGAIN


@inline
def _accept(c, e, g, y, t, s, w):
    """Count a step, and let time go on."""
    nv = y.v.shape[1]
    if c.ledger[0] == 1:
        for i in range(4):
            e.totals[i] += g.total[0, 2 * nv + i]
        if e.held[0] == 1:
            e.totals[4] += energy(t, s, w) - e.before[0]
    if e.whole[0] == 1:
        counts_step(c, y)
        e.inside[0] = 0
    else:
        y.start[0], e.inside[0] = y.t[0], 1
    e.unchecked[0], e.locating[0] = 0, 0


@inline
def _record(c, e, y, d, r, t, s, w):
    row = c.used[0]
    c.used[0], c.due[0] = row + 1, 0
    for i in range(y.q.shape[1]):
        r.q[row, i] = y.q[0, i]
    for i in range(y.v.shape[1]):
        r.v[row, i], r.a[row, i], r.tau[row, i] = y.v[0, i], y.a[0, i], d.tau[0, i]
    first = len(t.coupling_rate) - len(e.drive_velocity)
    for i in range(len(e.drive_velocity)):
        rate = t.coupling_rate[first + i]
        friction = 0.0 if rate == 0.0 else -math.copysign(t.coupling_friction[first + i], rate)
        r.tau[row, e.drive_velocity[i]] += w.multiplier[e.drive_place[i]] + friction
    r.t[row] = y.t[0]
    for k in range(r.normal_force.shape[1]):
        r.normal_force[row, k] = w.normal_force[k]
        for i in range(3):
            r.friction_force[row, k, i] = w.friction_force[k, i]
    for i in range(r.axis_force.shape[1]):
        r.axis_force[row, i] = w.axis_force[i]
    for i in range(r.multiplier.shape[1]):
        r.multiplier[row, i] = w.multiplier[i]
    r.redundant[row], r.error[row], r.energy[row] = w.redundant[0], w.violation[0], energy(t, s, w)
    for i in range(5):
        r.totals[row, i] = e.totals[i]


@inline
def _begin(method, b, c, e, g, y):
    """Begin a step; False when there is none to take."""
    left = _remaining(c, e, y)
    if left > 0.0 and e.inside[0] == 1 and left <= _ROUNDING * c.step[0]:
        # What is left below a rounding of the time is no step.
        e.inside[0] = 0
        counts_step(c, y)
        left = 0.0 if c.due[0] == 1 else begins_step(c)
    c.phase[0] = READY
    if left == 0.0:
        return False
    c.h[0], e.whole[0] = left, 1
    if e.adaptive[0] == 1 and e.proposed[0] < left:
        c.h[0], e.whole[0] = e.proposed[0], 0
    if y.start[0] + c.h[0] > e.until[0]:
        c.h[0], e.whole[0] = e.until[0] - y.start[0], 0
    remember_start(g, y)
    first_slope(method, g, y)
    if len(b.c) > 0:
        begin_implicit(b, g, y, c.h[0], False)
    return True


@inline
def _go(method, b, c, e, g, y, t, s, kernels, x, F, w, net, u, stage):
    """Take the world to a stage of the present step, or to its end; -1 or a status. `_hold` brings it home."""
    ends = stage >= len(method.b)
    if ends:
        status = _end(method, b, c, e, g, y, t, s, kernels, x, F, w, net, u)
        if status == _TOO_LONG:
            if c.h[0] < _SHORTEST * c.step[0]:
                return STEP_TOO_SHORT
            _back(g, y)
            ends, stage = False, 1
        elif status >= 0:
            return status
    if not ends:
        c.stage[0] = stage
        if len(b.c) > 0:
            if not wanted_state(b, g, y, c.h[0]):
                return NO_SOLUTION
        elif not begin_stage(method, g, y, stage, c.h[0]):
            return DIVERGENCE
    c.phase[0] = MOVED
    return -1


@inline
def _hold(b, c, e, g, y, t, s, kernels, x, F, w, net, u):
    """Bring the end of a step onto the constraints, and a stage that cannot stay beside them; -1 or a status."""
    c.phase[0], e.factored[0] = WANTS, e.held[0]
    stays = e.held[0] == 1 and c.stage[0] >= 0 and len(b.c) == 0
    if stays:
        stays = smooth_stage(t, s, kernels, x, F, w, net, u, e.most[0])
    if e.held[0] == 1 and not stays:
        status = project(t, s, kernels, x, F, w, net, u, e.most[0])
        if status >= 0:
            return status
        if c.stage[0] >= 0 and not separate_rows(g, y):
            return DIVERGENCE
    return -1


@inline
def _is_quiet(e, w):
    """Whether nothing can happen at the end of a step that its evaluation would have to tell first."""
    return len(w.guards) == 0 and w.stores_energy[0] == 0 and e.until[0] == math.inf


@jit
def run_constrained(method, b, c, e, y, d, p, g, r, t, s, kernels, x, F, w, net, u):
    """Take steps until something is to be asked; return an Ask, with the status of a failure in c.failure."""
    if takes_order(c):
        c.phase[0], c.stage[0] = WANTS, -1
    ask = _run(method, b, c, e, y, d, p, g, r, t, s, kernels, x, F, w, net, u)
    for i in range(y.q.shape[1]):
        e.q[0, i] = y.q[0, i]
    for i in range(y.v.shape[1]):
        e.v[0, i] = y.v[0, i]
    return ask


@inline
def _run(method, b, c, e, y, d, p, g, r, t, s, kernels, x, F, w, net, u):
    """`run_constrained` itself."""
    while True:
        stage, status, following = c.stage[0], -1, 0
        if c.phase[0] == READY:
            if e.until[0] - y.start[0] <= _ROUNDING * c.step[0]:
                return _DONE
            if c.done[0] == c.target[0] and c.final[0] == 0:
                # Its record waits for the torque of the steps that follow.
                return _DONE
            for i in range(p.sensed.shape[1]):
                p.sensed[0, i] = w.normal_force[i]
            if samples(p, d, y):
                c.phase[0] = WANTS
                continue
            if c.due[0] == 1:
                _record(c, e, y, d, r, t, s, w)
                if c.used[0] == len(r.q):
                    return _RECORDS_FULL
            e.fades[0] = w.passing[0] > 0
            if _begin(method, b, c, e, g, y):
                following = 1
            elif c.due[0] == 0:
                return _DONE
        elif c.phase[0] == MOVED:
            status = _hold(b, c, e, g, y, t, s, kernels, x, F, w, net, u)
        else:
            if stage < 0 and e.unchecked[0] == 1 and _is_quiet(e, w):
                # Nothing can happen: the step is taken before its end is evaluated, which the next torque may do.
                status = broken(t, s, x)
                if status < 0:
                    _accept(c, e, g, y, t, s, w)
            if status < 0 and stage < 0 and c.done[0] == c.target[0] and not (c.final[0] or e.unchecked[0]):
                return _DONE
            if status < 0:
                if asks_now(c):
                    return _NEED_TORQUE
                drive(d, y, c)
                if c.frozen[0] != 0:
                    return _FAILED
                status = evaluate(t, s, kernels, x, F, w, net, u, e.factored[0] == 1)
                if stage >= 0 and status >= BROKEN:
                    # Stages may stand beside the constraints; the end of the step tells whether that matters.
                    status = -1
            if status < 0 and stage >= 0 and len(b.c) > 0:
                found = take_slope(method, b, g, y, c.h[0], e.held[0], s, kernels, x, F, w, net, u)
                following = len(method.b) if found == ENDED else 1
                status = NO_SOLUTION if found == FAILS else -1
            elif status < 0 and stage >= 0:
                e.fades[0] |= w.passing[0] > 0
                keep_slope(method, g, y, stage)
                following = stage + 1
            elif status < 0:
                verdict = _EVENT_HERE if w.smallest[0] < 0.0 else _ACCEPT
                if e.unchecked[0] == 1:
                    verdict = _checked(c, e, w)
                if verdict == _AGAIN:
                    _back(g, y)
                    following = 1
                    if len(b.c) > 0:
                        begin_implicit(b, g, y, c.h[0], True)
                else:
                    e.most[0] = max(e.most[0], F.size[1])
                    if e.unchecked[0] == 1:
                        remember_sliding(t, s, x)
                        _accept(c, e, g, y, t, s, w)
                    e.guard[0], c.phase[0] = w.smallest[0], READY
                    if verdict == _EVENT_HERE:
                        return _EVENT
            elif status >= JAMMED and (stage >= 0 or e.unchecked[0] == 1) and 0.5 * c.h[0] > _JAM * c.step[0]:
                # Come as near to the jam as time can tell; what then happens is decided in Python.
                _back(g, y)
                c.h[0], e.whole[0], e.locating[0], e.unchecked[0] = 0.5 * c.h[0], 0, 0, 0
                status, following = -1, 1
                if len(b.c) > 0:
                    begin_implicit(b, g, y, c.h[0], True)
        if following > 0 and status < 0:
            status = _go(method, b, c, e, g, y, t, s, kernels, x, F, w, net, u, following)
        if status == NO_SOLUTION and 0.5 * c.h[0] > _SHORTEST_IMPLICIT * c.step[0]:
            # The equations of an implicit step may have a solution for a shorter one.
            _back(g, y)
            c.h[0], e.whole[0] = 0.5 * c.h[0], 0
            begin_implicit(b, g, y, c.h[0], True)
            status, following = _go(method, b, c, e, g, y, t, s, kernels, x, F, w, net, u, 1), 1
        if following > 0 and status < 0:
            if len(e.drive_velocity) > 0:
                return _NEED_MOTION
            status = _hold(b, c, e, g, y, t, s, kernels, x, F, w, net, u)
        if status >= 0:
            c.failure[0] = status
            if c.stage[0] >= 0 or e.unchecked[0] == 1 or following > 0:
                _back(g, y)
            c.stage[0], e.unchecked[0], e.locating[0] = -1, 0, 0
            return _FAILED
