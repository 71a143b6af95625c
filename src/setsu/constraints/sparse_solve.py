"""Accelerations and forces of many states under loops and couplings, at a cost that grows with their number.

    M a = f + Gᵀ λ,  G a + γ = 0                                                                   (1)

by the factors of sparse_factor.py (2). Redundant rows (redundancy.py) get multipliers of zero. Where they could take a
share of the forces, near singular configurations, and where parts have no mass, the dense solve takes over.
Kernels run on a group of states at once, all else state by state. Cost: linear in the number of loops.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import held_rates, held_rows
from setsu.constraints.compiled_vectors import (
    add_wrench,
    body_pose,
    cross,
    dot,
    minus,
    plus,
    scaled,
    second_vector,
    turned,
    vector,
)
from setsu.constraints.sparse_factor import accelerate, factor_kkt
from setsu.native.control_flow import inline, jit, run_bound

__all__ = ["BAD", "DENSE", "DONE", "solve_states"]

DONE, DENSE, BAD = 0, 1, 2
"""Outcome of a state: solved; to be solved densely; numbers that are not finite."""

_SMALLEST_PIVOT = 1e-10
"""Part of a typical pivot below which the dense solve takes over."""


@inline
def _solve(t, s, c, u, w, b):
    """One state, whose motion is in s, b its bias torque: w.a and w.multiplier; DONE or DENSE."""
    held_rows(t, s)
    held_rates(t, s)
    if not factor_kkt(c, s, u, _SMALLEST_PIVOT):
        return DENSE
    for d in range(len(w.a)):
        w.a[d] = w.tau[d] - b[d]
    for j in range(len(t.damping)):
        rate = s.free_rate[j]
        dry = t.coulomb[j] * (1.0 if rate > 0.0 else -1.0 if rate < 0.0 else 0.0)
        force = w.axis_torque[j] - t.damping[j] * rate - dry
        force -= t.stiffness[j] * (s.free_coordinate[j] - t.spring_rest[j])
        w.axis_force[j] = force
    for loop in range(len(t.body_a)):
        for j in range(t.free_start[loop], t.free_start[loop + 1]):
            if w.axis_force[j] != 0.0:
                for p in range(t.path_start[loop], t.path_start[loop + 1]):
                    w.a[t.path_velocity[p]] += w.axis_force[j] * s.free[j, t.path_column[p]]
    accelerate(c, s, u, w.a, s.gamma)
    for k in range(len(u.total)):
        w.multiplier[c.rows[k]] = u.total[k]
    return DONE


@inline
def _wrenches(t, s, w, pins, loop_wrench, body_wrench):
    """Wrenches of all loops on body b at the joint, in pins (L, 3), and on the bodies at their origins."""
    for b in range(body_wrench.shape[0]):
        for i in range(6):
            body_wrench[b, i] = 0.0
    for loop in range(len(t.body_a)):
        for i in range(6):
            loop_wrench[loop, i] = 0.0
            for row in range(t.row_start[loop], t.row_start[loop + 1]):
                loop_wrench[loop, i] += w.multiplier[row] * s.wrench[row, i]
            for j in range(t.free_start[loop], t.free_start[loop + 1]):
                loop_wrench[loop, i] += w.axis_force[j] * s.free_wrench[j, i]
        force, moment = vector(loop_wrench, loop), second_vector(loop_wrench, loop)
        R, origin = body_pose(s.poses, t.body_b[loop])
        pin = plus(origin, turned(R, vector(t.origin_b, loop)))
        pins[loop, 0], pins[loop, 1], pins[loop, 2] = pin
        add_wrench(s.poses, body_wrench, t.body_b[loop], force, moment, pin, 1.0)
        add_wrench(s.poses, body_wrench, t.body_a[loop], force, moment, pin, -1.0)


@inline
def _left_out_rows_matter(t, c, poses, wrench, pins, through, loop_wrench):
    """Return whether rows that are left out could take a share of what the joints carry.

    internal_forces.py makes the forces through all joints least; where such a row's wrench is normal to all of them,
    its best share is none.
    """
    largest = 0.0
    for b in range(through.shape[0]):
        for i in range(6):
            largest = max(largest, abs(through[b, i]))
    limit = 1e-10 * largest
    for k in range(len(c.left_out)):
        loop, row = c.left_out_loop[k], c.left_out[k]
        if not c.turning[loop]:
            return True
        f, n = vector(wrench, row), second_vector(wrench, row)
        if abs(dot(f, vector(loop_wrench, loop))) > limit or abs(dot(n, second_vector(loop_wrench, loop))) > limit:
            return True
        pin = vector(pins, loop)
        for p in range(t.path_start[loop], t.path_start[loop + 1]):
            b = c.velocity_body[t.path_velocity[p]]
            _, x = body_pose(poses, b)
            R, origin = body_pose(poses, c.body_parent[b])
            middle = scaled(plus(x, plus(origin, turned(R, vector(c.socket, b)))), 0.5)
            force = vector(through, b)
            if abs(dot(force, f)) > limit:
                return True
            moment = plus(second_vector(through, b), cross(minus(x, middle), force))
            if abs(dot(moment, plus(n, cross(minus(pin, middle), f)))) > limit:
                return True
    return False


@inline
def _residual(c, s, a):
    """The largest |G a + γ| of all rows."""
    largest = 0.0
    for k in range(len(c.rows)):
        total = s.gamma[c.rows[k]]
        for e in range(c.entry_start[k], c.entry_start[k + 1]):
            total += s.G[c.rows[k], c.entry_column[e]] * a[c.entry_velocity[e]]
        # A comparison with NaN is false: it has to come through.
        largest = largest if abs(total) <= largest else abs(total)
    return largest


@inline
def _copy(source, target):
    for i in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[i, k] = source[i, k]


@inline
def _take(s, g, row):
    """The motion of a state of the group, into s."""
    for i in range(len(s.q)):
        s.q[i] = g.q[row, i]
    for d in range(len(s.v)):
        s.v[d] = g.v[row, d]
    _copy(g.poses[row], s.poses)
    _copy(g.directions[row], s.directions)
    _copy(g.velocities[row], s.velocities)
    _copy(g.accelerations[row], s.accelerations)


@jit
def solve_states(t, s, c, u, w, g, given, found):
    """Solve all states of `given` (q, v, tau, axis torques, wrenches on bodies) into `found`; one outcome per state.

    g: a group of states, on which kernels run; that of one state has the arrays of s.
    """
    states, group = given.q.shape[0], g.q.shape[0]
    for first in range(0, states, group):
        count = min(group, states - first)
        for row in range(group):
            # Rows beyond the last state repeat it.
            state = first + min(row, count - 1)
            for i in range(len(s.q)):
                g.q[row, i] = given.q[state, i]
            for d in range(len(s.v)):
                g.v[row, d], g.a[row, d] = given.v[state, d], 0.0
            _copy(given.external[state], g.external[row])
        good = run_bound(g.world) < 0 and run_bound(g.rates) < 0
        # Without other forces the rates have left the bias torque.
        good = good and (not w.loaded[0] or run_bound(g.bias) < 0)
        for row in range(count):
            state = first + row
            found.opening[state], found.outcome[state] = 0.0, BAD
            if not good:
                continue
            if group > 1:
                _take(s, g, row)
            for d in range(len(s.v)):
                w.tau[d] = given.tau[state, d]
            for j in range(len(w.axis_torque)):
                w.axis_torque[j] = given.axis_torque[state, j]
            found.outcome[state] = _solve(t, s, c, u, w, g.b[row])
            for k in range(len(t.place)):
                # A comparison with NaN is false: it has to come through.
                open_by = abs(s.error[k]) / t.length[k]
                found.opening[state] = found.opening[state] if open_by <= found.opening[state] else open_by
            if found.outcome[state] != DONE:
                continue
            _wrenches(t, s, w, g.pin[row], found.loop_wrench[state], found.body_wrench[state])
            for b in range(g.external.shape[1]):
                for i in range(6):
                    g.external[row, b, i] += found.body_wrench[state, b, i]
            found.residual[state] = _residual(c, s, w.a)
            for d in range(len(s.v)):
                g.a[row, d] = w.a[d]
                found.a[state, d] = w.a[d]
            for k in range(found.multiplier.shape[1]):
                found.multiplier[state, k] = w.multiplier[k]
            if group > 1:
                _copy(s.wrench, g.wrench[row])
        good = run_bound(g.joints) < 0
        for row in range(count):
            state = first + row
            if found.outcome[state] != DONE:
                continue
            _copy(g.through[row], found.joint_wrenches[state])
            if not good or not found.residual[state] < math.inf:
                found.outcome[state] = BAD
            elif _left_out_rows_matter(
                t, c, g.poses[row], g.wrench[row], g.pin[row], g.through[row], found.loop_wrench[state]
            ):
                found.outcome[state] = DENSE
