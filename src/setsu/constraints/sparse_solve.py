"""Accelerations and multipliers under loops and couplings at a cost that grows with their number, in compiled code.

    M a = f + Gᵀ λ,  G a + γ = 0                                                                   (1)
    W = G M⁻¹ Gᵀ = Y D⁻¹ Yᵀ,  Yᵀ = L⁻ᵀ Gᵀ on the support of each group                              (2)
    W = U Δ Uᵀ block by block in the order of loop_network, W λ = -(γ + G M⁻¹ f)                    (3)
    twice: λ += W⁻¹ r, a += M⁻¹ Gᵀ W⁻¹ r  with what is left of r = -(G a + γ)                       (4)

(4) gives back the digits that squaring in (2) costs. Rows that move nothing (those out of the plane of a plane linkage)
get multipliers of zero; any other redundant row, and parts without mass, are left to the dense solve (held_motion.py).
Source: Featherstone 2008, ch. 8; George and Liu 1981, ch. 2. Cost: the supports of the groups, squared, and the blocks.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import cross, dot, fill_rows, minus, plus, scaled
from setsu.constraints.sparse_inertia import factor_inertia, packed_inertia, solve_inertia
from setsu.native.control_flow import compiled, part, run_bound

__all__ = ["BAD", "DENSE", "DONE", "solve_states"]

DONE, DENSE, BAD = 0, 1, 2
"""Outcome of a state: solved; to be solved densely; numbers that are not finite."""

_NOTHING = 1e-20
_DEPENDENT = 1e-10


@part
def _spread(t, c, s, w, g):
    """Y of a group: rows of G on its support, then (2)."""
    first, last = c.support_start[g], c.support_start[g + 1]
    count = last - first
    for p in range(count):
        w.local[c.support[first + p]] = p
    for k in range(c.group_rows[g], c.group_rows[g + 1]):
        y, row = w.Y[k], c.rows[k]
        for p in range(count):
            y[p] = s.G[row, c.support[first + p]]
        for p in range(count):
            d = c.support[first + p]
            if y[p] != 0.0:
                for q in range(c.ancestor_start[d] + 1, c.ancestor_start[d + 1]):
                    y[w.local[c.ancestor[q]]] -= w.H[q] * y[p]


@part
def _fill_blocks(c, w):
    for g in range(len(c.group_rows) - 1):
        columns = c.group_rows[g + 1] - c.group_rows[g]
        support = c.support_start[g]
        for block in range(c.block_start[g], c.block_start[g + 1]):
            i = c.block_group[block]
            place = c.block_place[block]
            for a in range(c.group_rows[i + 1] - c.group_rows[i]):
                for b in range(columns):
                    total = 0.0
                    for p in range(c.shared_start[block], c.shared_start[block + 1]):
                        column = c.shared_column[p]
                        product = w.Y[c.group_rows[i] + a, c.shared_row[p]] * w.Y[c.group_rows[g] + b, column]
                        total += product * w.inverse[c.support[support + column]]
                    w.W[place + a * columns + b] = total


@part
def _eliminate(c, w):
    """Factor W in place (3): unit lower blocks and reciprocal pivots; False when a row depends on others."""
    largest = 0.0
    groups = len(c.group_rows) - 1
    for g in range(groups):
        n, place = c.group_rows[g + 1] - c.group_rows[g], c.block_place[c.block_start[g]]
        for a in range(n):
            w.size[c.group_rows[g] + a] = w.W[place + a * n + a]
            largest = max(largest, w.W[place + a * n + a])
    for g in range(groups):
        n, place, first = c.group_rows[g + 1] - c.group_rows[g], c.block_place[c.block_start[g]], c.group_rows[g]
        for a in range(n):
            pivot = w.W[place + a * n + a]
            if w.size[first + a] <= _NOTHING * largest:
                w.pivot[first + a] = 0.0
            elif pivot <= _DEPENDENT * w.size[first + a]:
                return False
            else:
                w.pivot[first + a] = 1.0 / pivot
            for b in range(a + 1, n):
                ratio = w.W[place + b * n + a] * w.pivot[first + a]
                for k in range(a + 1, b + 1):
                    w.W[place + b * n + k] -= ratio * w.W[place + k * n + a]
            for b in range(a + 1, n):
                w.W[place + b * n + a] *= w.pivot[first + a]
        # Later groups: X Δ = W L⁻ᵀ, row by row; X replaces the block, X Δ is kept aside for the updates.
        met = c.block_start[g + 1] - c.block_start[g] - 1
        for k in range(met):
            block = c.block_start[g] + 1 + k
            i, at = c.block_group[block], c.block_place[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    total = w.W[at + r * n + a]
                    for b in range(a):
                        total -= w.W[at + r * n + b] * w.W[place + a * n + b]
                    w.W[at + r * n + a] = total
        pair = c.update_start[g]
        for k in range(met):
            i, at_i = c.block_group[c.block_start[g] + 1 + k], c.block_place[c.block_start[g] + 1 + k]
            for j_place in range(k + 1):
                j = c.block_group[c.block_start[g] + 1 + j_place]
                at_j, target = c.block_place[c.block_start[g] + 1 + j_place], c.block_place[c.update_block[pair]]
                pair += 1
                columns = c.group_rows[j + 1] - c.group_rows[j]
                for a in range(c.group_rows[i + 1] - c.group_rows[i]):
                    for b in range(columns):
                        total = 0.0
                        for q in range(n):
                            total += w.W[at_i + a * n + q] * w.W[at_j + b * n + q] * w.pivot[first + q]
                        w.W[target + a * columns + b] -= total
        for k in range(met):
            block = c.block_start[g] + 1 + k
            i, at = c.block_group[block], c.block_place[block]
            for r in range(c.group_rows[i + 1] - c.group_rows[i]):
                for a in range(n):
                    w.W[at + r * n + a] *= w.pivot[first + a]
    return True


@part
def _solve_blocks(c, w, x):
    """Replace x, rows in the order of elimination, by W⁻¹ x."""
    groups = len(c.group_rows) - 1
    for g in range(groups):
        n, first, place = c.group_rows[g + 1] - c.group_rows[g], c.group_rows[g], c.block_place[c.block_start[g]]
        for a in range(n):
            for b in range(a):
                x[first + a] -= w.W[place + a * n + b] * x[first + b]
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at, other = c.block_place[block], c.group_rows[c.block_group[block]]
            for r in range(c.group_rows[c.block_group[block] + 1] - other):
                for a in range(n):
                    x[other + r] -= w.W[at + r * n + a] * x[first + a]
    for g in range(groups - 1, -1, -1):
        n, first, place = c.group_rows[g + 1] - c.group_rows[g], c.group_rows[g], c.block_place[c.block_start[g]]
        for a in range(n):
            x[first + a] *= w.pivot[first + a]
        for block in range(c.block_start[g] + 1, c.block_start[g + 1]):
            at, other = c.block_place[block], c.group_rows[c.block_group[block]]
            for r in range(c.group_rows[c.block_group[block] + 1] - other):
                for a in range(n):
                    x[first + a] -= w.W[at + r * n + a] * x[other + r]
        for a in range(n - 1, -1, -1):
            for b in range(a + 1, n):
                x[first + a] -= w.W[place + b * n + a] * x[first + b]


@part
def _left_over(c, s, w, a, left):
    """left = -(G a + γ), rows in the order of elimination; the largest of it."""
    largest = 0.0
    for g in range(len(c.group_rows) - 1):
        for k in range(c.group_rows[g], c.group_rows[g + 1]):
            row = c.rows[k]
            total = s.gamma[row]
            for p in range(c.support_start[g], c.support_start[g + 1]):
                total += s.G[row, c.support[p]] * a[c.support[p]]
            left[k] = -total
            largest = max(largest, abs(total))
    return largest


@part
def _push(c, s, w, x):
    """w.force = M⁻¹ Gᵀ x, rows in the order of elimination."""
    for d in range(len(w.force)):
        w.force[d] = 0.0
    for g in range(len(c.group_rows) - 1):
        for k in range(c.group_rows[g], c.group_rows[g + 1]):
            if x[k] != 0.0:
                row = c.rows[k]
                for p in range(c.support_start[g], c.support_start[g + 1]):
                    w.force[c.support[p]] += s.G[row, c.support[p]] * x[k]
    solve_inertia(c, w, w.force)


@part
def _solve(t, s, kernels, c, w):
    """One state: acceleration in w.a, multipliers in w.multiplier; DONE, DENSE or BAD."""
    status = fill_rows(t, s, kernels)
    if status >= 0 or run_bound(w.bias) >= 0:
        return BAD
    packed_inertia(c, s, w)
    for d in range(len(w.a)):
        w.diagonal[d] = w.H[c.ancestor_start[d]]
    if not factor_inertia(c, w):
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
                    w.a[t.path_velocity[p]] += w.axis_force[j] * s.free[j, t.path_velocity[p]]
    solve_inertia(c, w, w.a)
    for g in range(len(c.group_rows) - 1):
        _spread(t, c, s, w, g)
    _fill_blocks(c, w)
    if not _eliminate(c, w):
        return DENSE
    for k in range(len(w.total)):
        w.total[k] = 0.0
    for _ in range(3):
        _left_over(c, s, w, w.a, w.left)
        _solve_blocks(c, w, w.left)
        _push(c, s, w, w.left)
        for d in range(len(w.a)):
            w.a[d] += w.force[d]
        for k in range(len(w.total)):
            w.total[k] += w.left[k]
    for k in range(len(w.total)):
        w.multiplier[c.rows[k]] = w.total[k]
    return DONE


@part
def _wrenches(t, s, w, loop_wrench, body_wrench):
    """Wrenches of all loops on body b at the joint, and on the bodies at their origins."""
    for b in range(body_wrench.shape[0]):
        for i in range(6):
            body_wrench[b, i] = 0.0
    for loop in range(len(t.body_a)):
        f = loop_wrench[loop]
        for i in range(6):
            f[i] = 0.0
            for row in range(t.row_start[loop], t.row_start[loop + 1]):
                f[i] += w.multiplier[row] * s.wrench[row, i]
            for j in range(t.free_start[loop], t.free_start[loop + 1]):
                f[i] += w.axis_force[j] * s.free_wrench[j, i]
        a, b = t.body_a[loop], t.body_b[loop]
        arm = (t.origin_b[loop, 0], t.origin_b[loop, 1], t.origin_b[loop, 2])
        pin = arm
        if b >= 0:
            P = s.poses[b]
            arm = (
                P[0] * pin[0] + P[1] * pin[1] + P[2] * pin[2],
                P[4] * pin[0] + P[5] * pin[1] + P[6] * pin[2],
                P[8] * pin[0] + P[9] * pin[1] + P[10] * pin[2],
            )
            pin = (P[3] + arm[0], P[7] + arm[1], P[11] + arm[2])
            turning = cross(arm, (f[0], f[1], f[2]))
            for i in range(3):
                body_wrench[b, i] += f[i]
                body_wrench[b, 3 + i] += f[3 + i] + turning[i]
        w.pin[loop, 0], w.pin[loop, 1], w.pin[loop, 2] = pin
        if a >= 0:
            arm = (pin[0] - s.poses[a, 3], pin[1] - s.poses[a, 7], pin[2] - s.poses[a, 11])
            turning = cross(arm, (f[0], f[1], f[2]))
            for i in range(3):
                body_wrench[a, i] -= f[i]
                body_wrench[a, 3 + i] -= f[3 + i] + turning[i]


@part
def _idle_rows_matter(t, s, c, w, loop_wrench):
    """Tell whether rows that move nothing could take a share of what the joints carry.

    internal_forces.py makes the forces through all joints least; where an idle row's wrench is normal to all of them,
    its best share is none.
    """
    largest = 0.0
    for b in range(w.through.shape[0]):
        for i in range(6):
            largest = max(largest, abs(w.through[b, i]))
    limit = 1e-10 * largest
    for g in range(len(c.group_rows) - 1):
        for k in range(c.group_rows[g], c.group_rows[g + 1]):
            if w.pivot[k] != 0.0:
                continue
            loop = c.group_loop[g]
            if loop < 0 or not c.turning[loop]:
                return True
            row = c.rows[k]
            f, n = (
                (s.wrench[row, 0], s.wrench[row, 1], s.wrench[row, 2]),
                (
                    s.wrench[row, 3],
                    s.wrench[row, 4],
                    s.wrench[row, 5],
                ),
            )
            own = loop_wrench[loop]
            if abs(f[0] * own[0] + f[1] * own[1] + f[2] * own[2]) > limit:
                return True
            if abs(n[0] * own[3] + n[1] * own[4] + n[2] * own[5]) > limit:
                return True
            pin = (w.pin[loop, 0], w.pin[loop, 1], w.pin[loop, 2])
            for p in range(t.path_start[loop], t.path_start[loop + 1]):
                b = c.velocity_body[t.path_velocity[p]]
                x = (s.poses[b, 3], s.poses[b, 7], s.poses[b, 11])
                socket = (c.socket[b, 0], c.socket[b, 1], c.socket[b, 2])
                if c.body_parent[b] >= 0:
                    P = s.poses[c.body_parent[b]]
                    socket = (
                        P[3] + P[0] * socket[0] + P[1] * socket[1] + P[2] * socket[2],
                        P[7] + P[4] * socket[0] + P[5] * socket[1] + P[6] * socket[2],
                        P[11] + P[8] * socket[0] + P[9] * socket[1] + P[10] * socket[2],
                    )
                middle = scaled(plus(x, socket), 0.5)
                force = (w.through[b, 0], w.through[b, 1], w.through[b, 2])
                if abs(dot(force, f)) > limit:
                    return True
                moment = plus((w.through[b, 3], w.through[b, 4], w.through[b, 5]), cross(minus(x, middle), force))
                if abs(dot(moment, plus(n, cross(minus(pin, middle), f)))) > limit:
                    return True
    return False


@compiled
def solve_states(t, s, kernels, c, w, given, found):
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
        outcome = _solve(t, s, kernels, c, w)
        found.outcome[state] = outcome
        if outcome != DONE:
            continue
        _wrenches(t, s, w, found.loop_wrench[state], found.body_wrench[state])
        for b in range(w.external.shape[0]):
            for i in range(6):
                w.external[b, i] += found.body_wrench[state, b, i]
        found.residual[state] = _left_over(c, s, w, w.a, w.left)
        if run_bound(w.joints) >= 0 or not found.residual[state] < math.inf:
            found.outcome[state] = BAD
        elif _idle_rows_matter(t, s, c, w, found.loop_wrench[state]):
            found.outcome[state] = DENSE
        for d in range(len(s.v)):
            found.a[state, d] = w.a[d]
        for row in range(found.multiplier.shape[1]):
            found.multiplier[state, row] = w.multiplier[row]
        for b in range(w.through.shape[0]):
            for i in range(6):
                found.joint_wrenches[state, b, i] = w.through[b, i]
