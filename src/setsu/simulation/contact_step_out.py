"""Contacts that a step moves out of the ground, with the columns of that.

Equations: contact_step.py (6), contact_step_laws.py (4).
"""

from __future__ import annotations

from setsu.contact.scene import Problem, Scene
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import LANES
from setsu.simulation.contact_step import (
    APART,
    COMPLIANCE,
    DISPLACEMENT,
    END,
    INERTIA_AT_REST,
    LISTED,
    MIDDLE,
    MOVED_OUT,
    PLACE_END,
    RIGID,
    SHIFTED_INERTIA,
    TO,
    StepMap,
)
from setsu.simulation.contact_step_columns import add_middle, solve_rows
from setsu.simulation.contact_step_end import set_end
from setsu.simulation.contact_step_laws import add_load_change, arm_of, set_jacobian, set_swing
from setsu.simulation.contact_step_space import add_product, clear, factor_small, place, solve_small

__all__ = ["move_out"]

_RECOVERY, _DEEP = 0.2, 1e-8


@inline
def move_out(w: StepMap, tree: Tree, scene: Scene, problem: Problem):
    """Move contacts out of the ground (4) if the machine did, with the derivatives of that; False for bad numbers."""
    w.counts[MOVED_OUT] = 0
    deepest = 0.0
    for k in range(w.counts[LISTED]):
        deepest = min(deepest, w.gaps[k, 1])
    if deepest >= -_DEEP:
        return True
    n, nv, s = 0, len(w.parent), w.vectors[RIGID]
    plain = _distance(w)
    for k in range(w.counts[LISTED]):
        w.out[k] = -1
        if w.gaps[k, 1] < 0.0:
            w.out[k] = n
            n += 1
    Z, y = w.d_rigid, w.residual
    for k in range(w.counts[LISTED]):
        if w.out[k] >= 0:
            y[w.out[k]] = -_RECOVERY * w.gaps[k, 1]
            for d in range(nv):
                Z[d, w.out[k]] = w.K[3 * k, d]
    solve_rows(w, w.d_rigid4, 0, (n + LANES - 1) // LANES)
    for k in range(w.counts[LISTED]):
        if w.out[k] >= 0:
            for j in range(n):
                total = w.numbers[COMPLIANCE] if j == w.out[k] else 0.0
                for d in range(nv):
                    total += w.K[3 * k, d] * Z[d, j]
                w.factor[w.out[k], j] = total
    if not factor_small(w.factor, w.pivots, n):
        return False
    for j in range(n):
        w.correction[j, 0] = y[j]
    solve_small(w.factor, w.pivots, n, w.correction4, 0, 1)
    for j in range(n):
        y[j] = w.correction[j, 0]
    for d in range(nv):
        s[d] = 0.0
        for j in range(n):
            s[d] += Z[d, j] * y[j]
    _differentiate_depths(w)
    for i in range(w.q.shape[1]):
        w.unmoved[i] = w.q[END, i]
    for d in range(nv):
        w.vectors[DISPLACEMENT, d] += s[d]
    if not set_end(w, tree, False, False):
        return False
    if _distance(w) > plain:
        # There was no energy to do so.
        for i in range(w.q.shape[1]):
            w.q[END, i] = w.unmoved[i]
        if run_bound(w.kernels[PLACE_END]) >= 0:
            return False
        place(w, END)
        for d in range(nv):
            w.vectors[DISPLACEMENT, d] -= s[d]
        return True
    w.counts[MOVED_OUT] = 1
    return _differentiate_way_out(w, tree, n)


@inline
def _distance(w: StepMap):
    """How far q' is from where the machine's step ends."""
    run_bound(w.kernels[APART])
    far = 0.0
    for d in range(len(w.apart)):
        far = max(far, abs(w.apart[d]))
    return far


@inline
def _differentiate_depths(w: StepMap):
    """Columns of what the depths ask for (4), into `deep`, at the end of the step before anything is moved."""
    nv, r, last, stop = len(w.parent), w.small[1, 0], w.row[0:3], w.counts[TO]
    for k in range(w.counts[LISTED]):
        o = w.out[k]
        if o < 0:
            continue
        clear(w.deep4, o, o + 1, 0, stop)
        if w.stop[k] >= 0:
            add_product(w.deep4, o, -_RECOVERY * w.K[3 * k, w.stop[k]], w.d_q4, w.stop[k], 0, stop)
            continue
        arm_of(w, END, k, w.points[k], 3, r)
        set_jacobian(w, END, k, r, last)
        for d in range(nv):
            if last[0, d] != 0.0:
                add_product(w.deep4, o, -_RECOVERY * last[0, d], w.d_q4, d, 0, stop)


@inline
def _differentiate_way_out(w: StepMap, tree: Tree, n):
    """Columns of (4), added to those of the displacement; then those of q' into d_out."""
    nv, s, y, stop = len(w.parent), w.vectors[RIGID], w.residual, w.counts[TO]
    if run_bound(w.kernels[SHIFTED_INERTIA]) >= 0 or run_bound(w.kernels[INERTIA_AT_REST]) >= 0:
        return False
    for d in range(nv):
        for e in range(nv):
            w.by_middle[d, e] = w.own_q[d, e] - w.first_q[d, e]
    # ν' stands for the displacement in (1).
    for d in range(nv):
        p, t = w.parent[d], w.axes[MIDDLE, d]
        for i in range(6):
            w.way[1, d, i] = t[i] * s[d] + (w.way[1, p, i] if p >= 0 else 0.0)
    r, V = w.small[1, 0], w.small[3, 0]
    for k in range(w.counts[LISTED]):
        if w.out[k] < 0 or w.stop[k] >= 0:
            continue
        w.small[2, 0, 0] = y[w.out[k]]
        add_load_change(w, k, w.small[2, 0], 1)
        arm_of(w, MIDDLE, k, w.acts[k], 0, r)
        for j in range(6):
            V[j] = w.way[1, w.last[w.body[k]], j]
        set_swing(w, k, 0, r, V, 1.0, False, w.row[6])
        for d in range(nv):
            w.row[6, d] = -w.row[6, d]
        add_middle(w, w.deep[w.out[k]], w.row[6])
    clear(w.d_out4, 0, nv, 0, stop)
    for d in range(nv):
        add_middle(w, w.d_out[d], w.by_middle[d])
    solve_rows(w, w.d_out4, 0, stop)
    for k in range(w.counts[LISTED]):
        if w.out[k] >= 0:
            for d in range(nv):
                if w.K[3 * k, d] != 0.0:
                    add_product(w.deep4, w.out[k], -w.K[3 * k, d], w.d_out4, d, 0, stop)
    solve_small(w.factor, w.pivots, n, w.deep4, 0, stop)
    for d in range(nv):
        add_product(w.d_way4, d, 1.0, w.d_out4, d, 0, stop)
        for j in range(n):
            if w.d_rigid[d, j] != 0.0:
                add_product(w.d_way4, d, w.d_rigid[d, j], w.deep4, j, 0, stop)
    return set_end(w, tree, False, True)
