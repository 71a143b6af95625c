"""Accelerations and forces of many states under loops and couplings, at a cost that grows with their number.

    M a = f + Gᵀ λ,  G a + γ = 0                                                                   (1)

by the factors of sparse_factor.py (2). Redundant rows (redundancy.py) get multipliers of zero. Where they could take a
share of the forces, near singular configurations, and where parts have no mass, the dense solve takes over.
Cost: linear in the number of loops.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import fill_rows
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
def _solve(t, s, kernels, c, u, w):
    """One state: acceleration in w.a, multipliers in w.multiplier; DONE, DENSE or BAD."""
    status = fill_rows(t, s, kernels)
    # Without other forces the rates of the rows have left the bias torque.
    if status >= 0 or (w.loaded[0] and run_bound(w.bias) >= 0):
        return BAD
    if not factor_kkt(c, s, u, _SMALLEST_PIVOT):
        return DENSE
    for d in range(len(w.a)):
        w.a[d] = w.tau[d] - kernels.b[d]
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
def _wrenches(t, s, w, loop_wrench, body_wrench):
    """Wrenches of all loops on body b at the joint, and on the bodies at their origins."""
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
        w.pin[loop, 0], w.pin[loop, 1], w.pin[loop, 2] = pin
        add_wrench(s.poses, body_wrench, t.body_b[loop], force, moment, pin, 1.0)
        add_wrench(s.poses, body_wrench, t.body_a[loop], force, moment, pin, -1.0)


@inline
def _left_out_rows_matter(t, s, c, w, loop_wrench):
    """Return whether rows that are left out could take a share of what the joints carry.

    internal_forces.py makes the forces through all joints least; where such a row's wrench is normal to all of them,
    its best share is none.
    """
    largest = 0.0
    for b in range(w.through.shape[0]):
        for i in range(6):
            largest = max(largest, abs(w.through[b, i]))
    limit = 1e-10 * largest
    for k in range(len(c.left_out)):
        loop, row = c.left_out_loop[k], c.left_out[k]
        if not c.turning[loop]:
            return True
        f, n = vector(s.wrench, row), second_vector(s.wrench, row)
        if abs(dot(f, vector(loop_wrench, loop))) > limit or abs(dot(n, second_vector(loop_wrench, loop))) > limit:
            return True
        pin = vector(w.pin, loop)
        for p in range(t.path_start[loop], t.path_start[loop + 1]):
            b = c.velocity_body[t.path_velocity[p]]
            _, x = body_pose(s.poses, b)
            R, origin = body_pose(s.poses, c.body_parent[b])
            middle = scaled(plus(x, plus(origin, turned(R, vector(c.socket, b)))), 0.5)
            force = vector(w.through, b)
            if abs(dot(force, f)) > limit:
                return True
            moment = plus(second_vector(w.through, b), cross(minus(x, middle), force))
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


@jit
def solve_states(t, s, kernels, c, u, w, given, found):
    """Solve all states of `given` (q, v, tau, axis torques, wrenches on bodies) into `found`; one outcome per state."""
    for state in range(given.q.shape[0]):
        for i in range(len(s.q)):
            s.q[i] = given.q[state, i]
        for d in range(len(s.v)):
            s.v[d], w.tau[d] = given.v[state, d], given.tau[state, d]
        for j in range(len(w.axis_torque)):
            w.axis_torque[j] = given.axis_torque[state, j]
        for b in range(w.external.shape[0]):
            for i in range(6):
                w.external[b, i] = given.external[state, b, i]
        outcome = _solve(t, s, kernels, c, u, w)
        found.outcome[state] = outcome
        found.opening[state] = 0.0
        for row in range(len(t.place)):
            # A comparison with NaN is false: it has to come through.
            open_by = abs(s.error[row]) / t.length[row]
            found.opening[state] = found.opening[state] if open_by <= found.opening[state] else open_by
        if outcome != DONE:
            continue
        _wrenches(t, s, w, found.loop_wrench[state], found.body_wrench[state])
        for b in range(w.external.shape[0]):
            for i in range(6):
                w.external[b, i] += found.body_wrench[state, b, i]
        found.residual[state] = _residual(c, s, w.a)
        if run_bound(w.joints) >= 0 or not found.residual[state] < math.inf:
            found.outcome[state] = BAD
        elif _left_out_rows_matter(t, s, c, w, found.loop_wrench[state]):
            found.outcome[state] = DENSE
        for d in range(len(s.v)):
            found.a[state, d] = w.a[d]
        for row in range(found.multiplier.shape[1]):
            found.multiplier[state, row] = w.multiplier[row]
        for b in range(w.through.shape[0]):
            for i in range(6):
                found.joint_wrenches[state, b, i] = w.through[b, i]
