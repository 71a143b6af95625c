"""Projection and accelerations of a mechanism under loops and couplings alone, by sparse factors, in compiled code.

| symbol | meaning |
|---|---|
| e, G, γ | errors, rows and velocity terms of loops and couplings |
| K | [M Gᵀ; G 0], factored as in constraints/sparse_factor.py |

    q ⊕= -x,  K [x; ·] = [0; e]  until e is rounding; errors of the present point, factors of one nearby     (1)
    v -= x,  K [x; ·] = [0; G v + rate];  K [a; -λ] = [f; -γ];  factors of the last point                     (2)

This is compiled_projection.py and compiled_motion.py (1) at a cost that grows with the number of loops. Near change
points, where parts have no mass, and where (1) does not converge, it hands the state over to the dense factors, as it
was.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import fill_errors, fill_positions
from setsu.constraints.sparse_factor import accelerate, factor_kkt, hold_rows, least_motion
from setsu.native.control_flow import inline, run_bound
from setsu.simulation.motion_space import UNSUITABLE

__all__ = [
    "HANDED_OVER",
    "SMALLEST_PIVOT",
    "largest_error",
    "sparse_accelerations",
    "sparse_factors",
    "sparse_projection",
    "take_increment",
]

HANDED_OVER = -2
SMALLEST_PIVOT = 1e-6
"""Part of a typical pivot below which the dense factors take over: the square of how near a change point is."""
_LARGEST_REST = 1e-12
"""What may be left of errors (m or rad) when they fall no further; more means that corrections do not converge."""


@inline
def largest_error(c, s):
    """The largest violation of a row, m or rad."""
    largest = 0.0
    for k in range(len(c.rows)):
        largest = max(largest, abs(s.error[c.rows[k]]))
    return largest


@inline
def _rounding(s):
    """Error (m or rad) that rounding makes of poses: some ulps of a metre, or of what the mechanism reaches.

    Correcting it would only shake the state, near a change point by much more than the error.
    """
    reach = 16.0
    for b in range(s.poses.shape[0]):
        reach = max(reach, abs(s.poses[b, 3]), abs(s.poses[b, 7]), abs(s.poses[b, 11]))
    return 2.5e-16 * reach


@inline
def sparse_factors(s, x, F, c, u, limit):
    """Factor the state in s; returns whether it could be done, with no pivot below a part of a typical one."""
    x.sparse_ready[0] = 0
    if not factor_kkt(c, s, u, limit):
        return False
    x.sparse_ready[0] = 1
    F.size[1] = len(c.rows)
    return True


@inline
def take_increment(s, w):
    """s.q ⊕= w.increment; False when it cannot be."""
    if len(s.q) == len(s.v):
        # No rotations among the coordinates.
        for i in range(len(s.q)):
            s.q[i] += w.increment[i]
        return True
    if run_bound(w.move) >= 0:
        return False
    for i in range(len(s.q)):
        s.q[i] = w.moved[i]
    return True


@inline
def _corrected(s, w, c, u):
    """Take one correction (1); False when it cannot be."""
    least_motion(c, s, u, w.increment)
    return take_increment(s, w)


@inline
def sparse_projection(t, s, kernels, x, F, w, c, u):
    """Move the state in s onto the constraints (1), (2); -1, a status, or HANDED_OVER. Rates are left to be filled."""
    for i in range(len(s.q)):
        w.before[i] = s.q[i]
    last = math.inf
    while True:
        if fill_positions(t, s, kernels) >= 0:
            return UNSUITABLE
        size, rounding = largest_error(c, s), _rounding(s)
        # Rounding keeps the error from falling further: more steps would only wander.
        if size <= rounding or size > 0.25 * last:
            break
        if not sparse_factors(s, x, F, c, u, SMALLEST_PIVOT):
            return _handed_over(s, x, w)
        last, before = size, math.inf
        while size > rounding and size < 0.25 * before:
            if not _corrected(s, w, c, u) or fill_errors(t, s, kernels) >= 0:
                return _handed_over(s, x, w)
            before, size = size, largest_error(c, s)
    if not size < _LARGEST_REST or not sparse_factors(s, x, F, c, u, SMALLEST_PIVOT):
        return _handed_over(s, x, w)
    hold_rows(c, s, u, s.v, s.rate)
    return -1


@inline
def _handed_over(s, x, w):
    x.sparse_ready[0] = 0
    for i in range(len(s.q)):
        s.q[i] = w.before[i]
    return HANDED_OVER


@inline
def sparse_accelerations(s, w, c, u):
    """Accelerations and multipliers of forces in w.y, with the factors in u (2)."""
    for d in range(len(s.v)):
        w.a[d] = w.y[d]
    accelerate(c, s, u, w.a, s.gamma)
    for d in range(len(s.v)):
        w.held_force[d] = 0.0
    for k in range(len(c.rows)):
        w.multiplier[c.place[k]] = u.total[k]
        for e in range(c.entry_start[k], c.entry_start[k + 1]):
            w.held_force[c.entry_velocity[e]] += s.G[c.rows[k], c.entry_column[e]] * u.total[k]
