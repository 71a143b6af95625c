"""Articulated inertias along the tree, with and without contacts: how wrench impulses on bodies change velocities.

| symbol | meaning | unit |
|---|---|---|
| I_d | articulated inertia of all bodies beyond velocity d, (6, 6) about O, world axes | |
| S_b | stiffness of the contacts of a body, added to its inertia; not symmetric where contacts slide | |
| j_d | armature, and what implicit springs and dampers of the joint add | kg, kg m² |
| p_d, g_d | wrench impulse on the bodies beyond, joint impulse | |
| Λ_d | twist of the last body for unit wrench impulses on it | |

    I_d = I_body + S_body + Σ_children (I_c - u_c w_cᵀ / D_c)                 (1)
    u = I s,  w = Iᵀ s,  D = s·u + j                                          (2)
    inward:   e_d = g_d + s_d·p_d,  p_parent += p_d - u_d e_d / D_d           (3)
    outward:  v_d = (e_d - w_d·y_parent) / D_d,  y_d = y_parent + s_d v_d     (4)
    Λ_d = Λ_p - s tᵀ - t sᵀ + (t·f + 1/D) s sᵀ,  f = u/D,  t = Λ_p f          (5)
    x_d = e_d / sqrt(D_d) of (3) without S: kinetic energy ½|x|², x = Xᵀ p, y = X x    (6)

(3), (4) solve (H + Jᵀ S J) v = g + Jᵀ p without H. Source: Featherstone 2008, ch. 7, with one velocity per joint; the
stiffness of contacts as part of the inertia is ours. Cost O(N); with contacts only velocities that move bodies in
contact are done again. S makes D the pivots of an elimination without exchanges: one that is too small in
comparison is reported.
"""

from __future__ import annotations

import math

from setsu.contact.tree import NOW, Tree
from setsu.native.control_flow import inline

__all__ = [
    "FREE_FACTOR",
    "STIFF_FACTOR",
    "factor_free",
    "factor_stiff",
    "free_sweep",
    "set_active",
    "set_responses",
    "set_root",
    "sweep",
    "sweep_all",
]

# Rows of Tree.factors.
FREE_FACTOR, STIFF_FACTOR = 0, 1
# Entry of a row of them: 1 / D.
INVERSE = 12


@inline
def _put_inertia(b, A):
    """A = the inertia matrix of a body with moments b (10,)."""
    m, x, y, z = b[0], b[1], b[2], b[3]
    for i in range(3):
        for j in range(3):
            A[i, j] = 0.0
        A[i, i] = m
        A[i, 3 + i] = A[3 + i, i] = 0.0
    A[0, 4], A[0, 5], A[1, 3], A[1, 5], A[2, 3], A[2, 4] = z, -y, -z, x, y, -x
    A[4, 0], A[5, 0], A[3, 1], A[5, 1], A[3, 2], A[4, 2] = z, -y, -z, x, y, -x
    A[3, 3], A[4, 4], A[5, 5] = b[7] + b[9], b[4] + b[9], b[4] + b[7]
    A[3, 4] = A[4, 3] = -b[5]
    A[3, 5] = A[5, 3] = -b[6]
    A[4, 5] = A[5, 4] = -b[8]


@inline
def _clear(A):
    for i in range(6):
        for j in range(6):
            A[i, j] = 0.0


@inline
def _dot(a, s0, s1, s2, s3, s4, s5):
    """a · s, in pairs: a processor does not wait for one sum to begin the next."""
    return (a[0] * s0 + a[1] * s1) + ((a[2] * s2 + a[3] * s3) + (a[4] * s4 + a[5] * s5))


@inline
def factor_free(tree: Tree):
    """Articulated inertias without contacts (1), (2); False when a joint moves no mass."""
    for d in range(len(tree.parent)):
        body = tree.carries[d]
        if body >= 0:
            _put_inertia(tree.inertias[NOW, body], tree.free[d])
        else:
            _clear(tree.free[d])
    for d in range(len(tree.parent) - 1, -1, -1):
        A, s, f = tree.free[d], tree.axes[NOW, d], tree.factors[FREE_FACTOR, d]
        s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
        for i in range(6):
            f[6 + i] = _dot(A[i], s0, s1, s2, s3, s4, s5)
        D = tree.joint_inertia[1, d] + _dot(f[6:], s0, s1, s2, s3, s4, s5)
        if not D > 0.0:
            return False
        inverse = 1.0 / D
        f[INVERSE] = inverse
        for i in range(6):
            f[i] = f[6 + i] * inverse
        p = tree.parent[d]
        if p >= 0:
            _pass_on(A, f, tree.free[p])
    return True


@inline
def _pass_on(A, f, P):
    """P += A - u wᵀ / D (1)."""
    w0, w1, w2, w3, w4, w5 = f[6], f[7], f[8], f[9], f[10], f[11]
    for i in range(6):
        u = f[i]
        P[i, 0] += A[i, 0] - u * w0
        P[i, 1] += A[i, 1] - u * w1
        P[i, 2] += A[i, 2] - u * w2
        P[i, 3] += A[i, 3] - u * w3
        P[i, 4] += A[i, 4] - u * w4
        P[i, 5] += A[i, 5] - u * w5


@inline
def set_active(tree: Tree, bodies, n):
    """List the velocities that move the first n `bodies`, and what `stiff` begins with for each."""
    nv = len(tree.parent)
    for d in range(nv):
        tree.active[1, d] = 0
    for k in range(n):
        d = tree.last[bodies[k]]
        while d >= 0 and tree.active[1, d] == 0:
            tree.active[1, d] = 1
            d = tree.parent[d]
    count = 0
    for d in range(nv):
        if tree.active[1, d] == 1:
            tree.active[0, count] = d
            count += 1
            body = tree.carries[d]
            if body >= 0:
                _put_inertia(tree.inertias[NOW, body], tree.start[d])
            else:
                _clear(tree.start[d])
    tree.n_active[0] = count
    for d in range(nv):
        p = tree.parent[d]
        if tree.active[1, d] == 0 and p >= 0 and tree.active[1, p] == 1:
            _pass_on(tree.free[d], tree.factors[FREE_FACTOR, d], tree.start[p])


@inline
def factor_stiff(tree: Tree, stiffness, bodies, contact_index, n):
    """Articulated inertias with the stiffness (n, 6, 6) of bodies in contact; False when a pivot is too small.

    bodies (n,): which they are; contact_index: position of a body among them, -1: not in contact. Bodies beyond
    those of the mechanism stand for joints at their stops: their stiffness acts on the joint alone.
    """
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        tree.stop[d] = 0.0
        A, B = tree.stiff[d], tree.start[d]
        body = tree.carries[d]
        h = contact_index[body] if body >= 0 else -1
        if h >= 0:
            S = stiffness[h]
            for i in range(6):
                for j in range(6):
                    A[i, j] = B[i, j] + S[i, j]
        else:
            for i in range(6):
                for j in range(6):
                    A[i, j] = B[i, j]
    for k in range(n):
        if bodies[k] >= len(tree.masses):
            tree.stop[tree.last[bodies[k]]] = stiffness[k, 0, 0]
    for k in range(tree.n_active[0] - 1, -1, -1):
        d = tree.active[0, k]
        A, s, f = tree.stiff[d], tree.axes[NOW, d], tree.factors[STIFF_FACTOR, d]
        s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
        D, size = tree.joint_inertia[1, d] + tree.stop[d], 0.0
        w0 = w1 = w2 = w3 = w4 = w5 = 0.0
        for i in range(6):
            a0, a1, a2, a3, a4, a5, t = A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5], s[i]
            u = (a0 * s0 + a1 * s1) + ((a2 * s2 + a3 * s3) + (a4 * s4 + a5 * s5))
            f[i] = u
            w0, w1, w2, w3, w4, w5 = w0 + a0 * t, w1 + a1 * t, w2 + a2 * t, w3 + a3 * t, w4 + a4 * t, w5 + a5 * t
            D += u * t
            size += abs(u * t)
        if not abs(D) > 1e-9 * size:
            return False
        inverse = 1.0 / D
        f[6], f[7], f[8], f[9], f[10], f[11], f[INVERSE] = w0, w1, w2, w3, w4, w5, inverse
        for i in range(6):
            f[i] *= inverse
        p = tree.parent[d]
        if p >= 0:
            _pass_on(A, f, tree.stiff[p])
    return True


@inline
def _inward(tree: Tree, d, which):
    """(3) for velocity d, whose joint impulse becomes e."""
    f, s, q = tree.factors[which, d], tree.axes[NOW, d], tree.push[d]
    q0, q1, q2, q3, q4, q5 = q[0], q[1], q[2], q[3], q[4], q[5]
    e = tree.pull[d] + _dot(s, q0, q1, q2, q3, q4, q5)
    tree.pull[d] = e
    p = tree.parent[d]
    if p >= 0:
        P = tree.push[p]
        P[0] += q0 - f[0] * e
        P[1] += q1 - f[1] * e
        P[2] += q2 - f[2] * e
        P[3] += q3 - f[3] * e
        P[4] += q4 - f[4] * e
        P[5] += q5 - f[5] * e


@inline
def _outward(tree: Tree, d, which):
    """(4) for velocity d."""
    f, s, y = tree.factors[which, d], tree.axes[NOW, d], tree.twists[d]
    p = tree.parent[d]
    e = tree.pull[d]
    if p >= 0:
        b = tree.twists[p]
        b0, b1, b2, b3, b4, b5 = b[0], b[1], b[2], b[3], b[4], b[5]
        v = (e - _dot(f[6:], b0, b1, b2, b3, b4, b5)) * f[INVERSE]
        y[0], y[1], y[2] = b0 + s[0] * v, b1 + s[1] * v, b2 + s[2] * v
        y[3], y[4], y[5] = b3 + s[3] * v, b4 + s[4] * v, b5 + s[5] * v
    else:
        v = e * f[INVERSE]
        for i in range(6):
            y[i] = s[i] * v
    tree.change[d] = v


@inline
def sweep(tree: Tree, wrenches, bodies, contact_index, n, which):
    """Twists of all active velocities for the wrench impulses (6 n,) on the n bodies in contact (3), (4)."""
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        q = tree.push[d]
        tree.pull[d] = 0.0
        body = tree.carries[d]
        h = 6 * contact_index[body] if body >= 0 else -1
        if h >= 0:
            for i in range(6):
                q[i] = wrenches[h + i]
        else:
            for i in range(6):
                q[i] = 0.0
    for k in range(n):
        if bodies[k] >= len(tree.masses):
            tree.pull[tree.last[bodies[k]]] = wrenches[6 * k]
    for k in range(tree.n_active[0] - 1, -1, -1):
        _inward(tree, tree.active[0, k], which)
    for k in range(tree.n_active[0]):
        _outward(tree, tree.active[0, k], which)


@inline
def sweep_all(tree: Tree):
    """What the last free `sweep` means for the velocities that were not active."""
    for d in range(len(tree.parent)):
        if tree.active[1, d] == 0:
            tree.pull[d] = 0.0
            _outward(tree, d, FREE_FACTOR)


@inline
def free_sweep(tree: Tree):
    """Change of all velocities for the joint impulses in `pull` (3), (4)."""
    for d in range(len(tree.parent)):
        for i in range(6):
            tree.push[d, i] = 0.0
    for d in range(len(tree.parent) - 1, -1, -1):
        _inward(tree, d, FREE_FACTOR)
    for d in range(len(tree.parent)):
        _outward(tree, d, FREE_FACTOR)


@inline
def set_responses(tree: Tree):
    """Λ of the active velocities (5)."""
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        f, s, L = tree.factors[FREE_FACTOR, d], tree.axes[NOW, d], tree.response[d]
        s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
        p = tree.parent[d]
        if p < 0:
            for i in range(6):
                c = f[INVERSE] * s[i]
                L[i, 0], L[i, 1], L[i, 2], L[i, 3], L[i, 4], L[i, 5] = c * s0, c * s1, c * s2, c * s3, c * s4, c * s5
            tree.joint_response[d] = f[INVERSE]
            continue
        P = tree.response[p]
        f0, f1, f2, f3, f4, f5 = f[0], f[1], f[2], f[3], f[4], f[5]
        t0 = _dot(P[0], f0, f1, f2, f3, f4, f5)
        t1 = _dot(P[1], f0, f1, f2, f3, f4, f5)
        t2 = _dot(P[2], f0, f1, f2, f3, f4, f5)
        t3 = _dot(P[3], f0, f1, f2, f3, f4, f5)
        t4 = _dot(P[4], f0, f1, f2, f3, f4, f5)
        t5 = _dot(P[5], f0, f1, f2, f3, f4, f5)
        # Half of the last term with each of the other two.
        c = 0.5 * (_dot(f, t0, t1, t2, t3, t4, t5) + f[INVERSE])
        tree.joint_response[d] = 2.0 * c
        t0, t1, t2, t3, t4, t5 = t0 - c * s0, t1 - c * s1, t2 - c * s2, t3 - c * s3, t4 - c * s4, t5 - c * s5
        _update(L, P, s, 0, t0, t0, t1, t2, t3, t4, t5)
        _update(L, P, s, 1, t1, t0, t1, t2, t3, t4, t5)
        _update(L, P, s, 2, t2, t0, t1, t2, t3, t4, t5)
        _update(L, P, s, 3, t3, t0, t1, t2, t3, t4, t5)
        _update(L, P, s, 4, t4, t0, t1, t2, t3, t4, t5)
        _update(L, P, s, 5, t5, t0, t1, t2, t3, t4, t5)


@inline
def _update(L, P, s, i, t, t0, t1, t2, t3, t4, t5):
    """Row i of L = P - s tᵀ - t sᵀ."""
    a = s[i]
    L[i, 0] = P[i, 0] - a * t0 - t * s[0]
    L[i, 1] = P[i, 1] - a * t1 - t * s[1]
    L[i, 2] = P[i, 2] - a * t2 - t * s[2]
    L[i, 3] = P[i, 3] - a * t3 - t * s[3]
    L[i, 4] = P[i, 4] - a * t4 - t * s[4]
    L[i, 5] = P[i, 5] - a * t5 - t * s[5]


@inline
def set_root(tree: Tree, d, joint, X):
    """X (6, size of the tree) of the body whose last velocity is d (6); joint: of that joint alone, row 0."""
    for i in range(6):
        for k in range(tree.size[tree.root[d]]):
            X[i, k] = 0.0
    for i in range(1 if joint else 6):
        p0 = p1 = p2 = p3 = p4 = p5 = 0.0
        if not joint:
            p0, p1, p2 = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
            p3, p4, p5 = 1.0 if i == 3 else 0.0, 1.0 if i == 4 else 0.0, 1.0 if i == 5 else 0.0
        pull, k = 1.0 if joint else 0.0, d
        while k >= 0:
            f = tree.factors[FREE_FACTOR, k]
            e = pull + _dot(tree.axes[NOW, k], p0, p1, p2, p3, p4, p5)
            X[i, tree.place[k]] = e * math.sqrt(f[INVERSE])
            p0, p1, p2 = p0 - f[0] * e, p1 - f[1] * e, p2 - f[2] * e
            p3, p4, p5 = p3 - f[3] * e, p4 - f[4] * e, p5 - f[5] * e
            pull, k = 0.0, tree.parent[k]
