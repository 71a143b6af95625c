"""Rows of columns of a step: changes of its middle and of ν, and what the factors of H make of them.

Equations: contact_step_motion.py (1).
"""

from __future__ import annotations

from setsu.contact.tree import Tree
from setsu.native.control_flow import inline
from setsu.simulation.contact_step import FAR, NU, PLAIN, ROOT, STEP, StepMap
from setsu.simulation.contact_step_space import add_product, set_product

__all__ = [
    "add_middle",
    "add_moment",
    "add_nu",
    "add_nu_of",
    "first_moment",
    "has_middle",
    "is_last",
    "joint_of",
    "pose_row",
    "set_swing_row",
    "solve_rows",
]

# The machine's own thresholds (contact/flight.py, free_motion.py, step.py).
_STILL = 1e-7


@inline
def has_middle(w: StepMap):
    """Whether the middle is not the beginning."""
    return w.numbers[FAR] > _STILL


@inline
def add_middle(w: StepMap, out, a):
    """Add a · dq_m (1), of a row a (nv,), to a row of columns."""
    nv, moves, half = len(a), has_middle(w), 0.5 * w.numbers[STEP]
    for d in range(nv):
        out[d] += a[d]
        if moves:
            out[nv + d] += half * a[d]
    if not moves:
        return
    for j in range(len(w.turning)):
        o, n = w.turning[j, 0], w.turning[j, 1]
        for k in range(n):
            by_q = by_v = -a[o + k]
            for i in range(n):
                by_q += a[o + i] * w.carried[j, i, k]
                by_v += a[o + i] * w.chart[j, i, k]
            out[o + k] += by_q
            out[nv + o + k] += half * by_v


@inline
def joint_of(w: StepMap, velocity):
    for j in range(len(w.turning)):
        if w.turning[j, 0] == velocity:
            return j
    return -1


@inline
def add_nu(w: StepMap, tree: Tree, out, a):
    """Add a · dν (1), of a row a (nv,), to a row of columns."""
    nv = len(a)
    for d in range(nv):
        out[nv + d] += a[d]
    if w.counts[PLAIN] == 1 or not has_middle(w):
        return
    for k in range(len(tree.roots)):
        if tree.roots[k].free == 1:
            o, j = tree.roots[k].velocity, joint_of(w, tree.roots[k].velocity)
            x, y, z = a[o], a[o + 1], a[o + 2]
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            nu, half = w.vectors[NU], 0.5 * w.numbers[STEP]
            # a · (ν x δ) = (a x ν) · δ
            p, q, r = y * nu[o + 2] - z * nu[o + 1], z * nu[o] - x * nu[o + 2], x * nu[o + 1] - y * nu[o]
            C, J = w.carried[j], w.chart[j]
            for i in range(3):
                out[nv + o + i] += x * C[3, 3 + i] + y * C[4, 3 + i] + z * C[5, 3 + i] - a[o + i]
                out[nv + o + 3 + i] += half * (p * J[3, 3 + i] + q * J[4, 3 + i] + r * J[5, 3 + i])


@inline
def add_nu_of(w: StepMap, tree: Tree, out, d, factor):
    """Add factor · dν_d to a row of columns."""
    local = True
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 and has_middle(w) else 0):
        r = tree.roots[k]
        local = local and not (r.free == 1 and r.velocity <= d < r.velocity + 3)
    if local:
        out[len(w.parent) + d] += factor
        return
    unit = w.row[7]
    for i in range(len(unit)):
        unit[i] = 0.0
    unit[d] = factor
    add_nu(w, tree, out, unit)


@inline
def set_swing_row(unit, v, o, i, factor):
    """Row of factor · d(ω x v)_i of a free joint by its velocities."""
    p, q = (i + 1) % 3, (i + 2) % 3
    for d in range(len(unit)):
        unit[d] = 0.0
    unit[o + 3 + p], unit[o + q] = factor * v[o + q], factor * v[o + 3 + p]
    unit[o + 3 + q], unit[o + p] = -factor * v[o + p], -factor * v[o + 3 + q]


@inline
def solve_rows(w: StepMap, B, start, stop):
    """B <- H⁻¹ B, blocks start to stop."""
    nv, H, root = len(w.chain), w.H, w.vectors[ROOT]
    for i in range(nv - 1, -1, -1):
        j = w.chain[i]
        while j >= 0:
            if H[i, j] != 0.0:
                add_product(B, j, -H[i, j], B, i, start, stop)
            j = w.chain[j]
        set_product(B, i, root[i] * root[i], B, i, start, stop)
    for i in range(nv):
        j = w.chain[i]
        while j >= 0:
            if H[i, j] != 0.0:
                add_product(B, i, -H[i, j], B, j, start, stop)
            j = w.chain[j]


@inline
def is_last(w: StepMap, d):
    """Whether a velocity moves through the step as it is at its end."""
    return w.counts[PLAIN] == 1 or w.jumps[w.reference[w.dof_body[d]]] == 1


@inline
def first_moment(w: StepMap, when, root, out):
    """First moment (3) of a tree about its first body's origin."""
    out[0] = out[1] = out[2] = 0.0
    for body in range(len(w.reference)):
        if w.reference[body] == root:
            for i in range(3):
                out[i] += w.inertias[when, body, 1 + i]


@inline
def pose_row(w: StepMap, when, body):
    """Row of w.poses of a body."""
    return when * len(w.reference) + body


@inline
def add_moment(out, r, f):
    out[3] += r[1] * f[2] - r[2] * f[1]
    out[4] += r[2] * f[0] - r[0] * f[2]
    out[5] += r[0] * f[1] - r[1] * f[0]
