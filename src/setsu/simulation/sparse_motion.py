"""Projection and accelerations of a mechanism under loops and couplings alone, by sparse factors, in compiled code.

| symbol | meaning |
|---|---|
| e, G, γ | errors, rows and velocity terms of loops and couplings |
| M, W | mass matrix and G M⁻¹ Gᵀ, factored as in constraints/sparse_factor.py |

    q ⊕= -M⁻¹ Gᵀ W⁻¹ e  until e is rounding: errors of the present point, factors of a former one where they do  (1)
    v -= M⁻¹ Gᵀ W⁻¹ G v,  a = M⁻¹ f - M⁻¹ Gᵀ W⁻¹ (γ + G M⁻¹ f)  with factors of the last point             (2)

This is compiled_projection.py and compiled_motion.py (1) at a cost that grows with the number of loops. Where rows are
redundant or nearly so (change points, over-constrained linkages), where parts have no mass, and where (1) does not
converge, it hands the state over to the dense factors, as it was.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_rows import fill_errors, fill_positions
from setsu.constraints.sparse_factor import DONE, TOO_MANY, factor_rows, hold_rows, least_motion, solve_rows
from setsu.constraints.sparse_inertia import solve_inertia
from setsu.native.control_flow import part, run_bound
from setsu.simulation.motion_space import UNSUITABLE

__all__ = [
    "HANDED_OVER",
    "largest_error",
    "sparse_accelerations",
    "sparse_factors",
    "sparse_projection",
    "take_increment",
]

HANDED_OVER = -2
_DEPENDENT = 1e-5
"""Part of its size below which a pivot is left to the dense factors: the square of how far a row is from the others."""
_FADED = 1e-10
"""The same for rows that fade, in parts of the largest."""
_LARGEST_REST = 1e-12
"""What may be left of errors (m or rad) when they fall no further; more means that corrections do not converge."""


@part
def largest_error(c, s):
    """The largest violation of a row, m or rad."""
    largest = 0.0
    for k in range(len(c.rows)):
        largest = max(largest, abs(s.error[c.rows[k]]))
    return largest


@part
def _rounding(s):
    """Error (m or rad) that rounding makes of poses: some ulps of a metre, or of what the mechanism reaches.

    Correcting it would only shake the state, near a change point by much more than the error.
    """
    reach = 16.0
    for b in range(s.poses.shape[0]):
        reach = max(reach, abs(s.poses[b, 3]), abs(s.poses[b, 7]), abs(s.poses[b, 11]))
    return 2.5e-16 * reach


@part
def sparse_factors(s, x, F, c, u, most, again):
    """Factor the state in s; tells whether it could be done. again: the last state factored was near this one."""
    x.sparse_ready[0] = 0
    outcome = factor_rows(c, s, u, most, _DEPENDENT, _FADED, again)
    if outcome == TOO_MANY:
        # So it will be in every state of this structure.
        x.sparse[0] = 0
    if outcome != DONE:
        return False
    x.sparse_ready[0] = 1
    F.size[1] = u.alive[0]
    return True


@part
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


@part
def _corrected(s, w, c, u):
    """Take one correction (1); False when it cannot be."""
    for k in range(len(u.left)):
        u.left[k] = -s.error[u.rows[k]]
    solve_rows(c, u, u.left)
    least_motion(c, s, u)
    for d in range(len(s.v)):
        w.increment[d] = u.force[d]
    return take_increment(s, w)


@part
def sparse_projection(t, s, kernels, x, F, w, c, u, most):
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
        if not sparse_factors(s, x, F, c, u, most, last < math.inf):
            return _handed_over(s, x, w)
        last, before = size, math.inf
        while size > rounding and size < 0.25 * before:
            if not _corrected(s, w, c, u) or fill_errors(t, s, kernels) >= 0:
                return _handed_over(s, x, w)
            before, size = size, largest_error(c, s)
    if not size < _LARGEST_REST or not sparse_factors(s, x, F, c, u, most, last < math.inf):
        return _handed_over(s, x, w)
    hold_rows(c, s, u, s.v, w.zero)
    return -1


@part
def _handed_over(s, x, w):
    x.sparse_ready[0] = 0
    for i in range(len(s.q)):
        s.q[i] = w.before[i]
    return HANDED_OVER


@part
def sparse_accelerations(s, w, c, u):
    """Accelerations and multipliers of forces in w.y, with the factors in u (2)."""
    for d in range(len(s.v)):
        w.a[d] = w.y[d]
    solve_inertia(c, u, w.a)
    hold_rows(c, s, u, w.a, s.gamma)
    for k in range(len(u.total)):
        w.multiplier[u.rows[k]] = u.total[k]
