"""Many steps of an explicit method with fixed step under constant torques, without Python in between.

Stages are those of compiled_stages.py. A run stops before the first step in which a guard becomes negative: locating
the event is left to integrators.py.
"""

from __future__ import annotations

from setsu.constraints.compiled_rows import fill_rows
from setsu.native.control_flow import compiled, part
from setsu.simulation.compiled_motion import energy, evaluate, settle
from setsu.simulation.compiled_projection import project
from setsu.simulation.compiled_stages import (
    DIVERGED,
    begin_stage,
    begin_step,
    end_step,
    euler_step,
    keep_slope,
    keep_state,
    separate,
    within_reach,
)
from setsu.simulation.motion_space import UNSUITABLE

__all__ = ["run_steps"]


@part
def _step(t, s, kernels, x, F, w, c, u, g, h, constrained):
    """One step from the evaluated state in s, up to but without the last projection; works in g.total."""
    begin_step(g, s, w)
    if len(g.b) == 0:
        return -1 if euler_step(g, s, w, h) else UNSUITABLE
    for i in range(1, len(g.b)):
        if not begin_stage(g, s, i, h):
            return UNSUITABLE
        if constrained:
            status = project(t, s, kernels, x, F, w, c, u, g.most[0])
            if status >= 0:
                return status
            if not separate(g, s):
                return UNSUITABLE
        status = evaluate(t, s, kernels, x, F, w, c, u, constrained, False)
        if status >= 0:
            return status
        keep_slope(g, s, w, i)
    return -1 if end_step(g, s, h) else UNSUITABLE


@compiled
def run_steps(t, s, kernels, x, F, w, c, u, g, r, steps, first, every, constrained):
    """Take the steps (s) given in `steps` from the evaluated state in s; return how many were taken, and a status.

    The step numbered n, from `first` on, is recorded when n is a multiple of `every`. With status -2 the next step
    holds an event, with one of 0 or more it failed; the state in s then is not to be used.
    """
    row = 0
    for n in range(len(steps)):
        status = _step(t, s, kernels, x, F, w, c, u, g, steps[n], constrained)
        if status >= 0:
            return n, status
        if not within_reach(s):
            return n, DIVERGED
        before = 0.0
        if constrained:
            if w.stores_energy[0]:
                fill_rows(t, s, kernels)  # for springs and drives of loop joints
            before = energy(t, s, w)
            status = project(t, s, kernels, x, F, w, c, u, g.most[0])
            if status >= 0:
                return n, status
        kept = (first + n) % every == 0
        status = evaluate(t, s, kernels, x, F, w, c, u, constrained, kept or n == len(steps) - 1)
        if status >= 0:
            return n, status
        if w.smallest[0] < 0.0:
            return n, -2
        g.most[0] = max(g.most[0], F.size[1])
        settle(t, s, x)
        after = energy(t, s, w)
        for i in range(4):
            r.totals[i] += g.total[2 * len(s.v) + i]
        if constrained:
            r.totals[4] += after - before
        if kept:
            keep_state(s, w, r, row, after)
            for k in range(len(w.normal_force)):
                r.normal_force[row, k] = w.normal_force[k]
                for i in range(3):
                    r.friction_force[row, k, i] = w.friction_force[k, i]
            for i in range(r.dry_force.shape[1]):
                r.dry_force[row, i] = w.dry_force[i]
            for i in range(r.multiplier.shape[1]):
                r.multiplier[row, i] = w.multiplier[i]
            r.numbers[row, 1], r.numbers[row, 7] = w.violation[0], w.redundant[0]
            row += 1
    return len(steps), -1
