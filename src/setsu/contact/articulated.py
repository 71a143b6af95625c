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
from setsu.native.lanes import lane, load_from, spread, store_from, total, transposed

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
# Where the parts of a row of them begin: u / D, w, 1 / D.
_W, INVERSE = 8, 16

# Rows of six numbers stand in eight, of which the last two are zero: two vectors of four lanes each.


@inline
def _put_inertia(tree: Tree, d):
    """I_d = the inertia matrix of the body that velocity d carries, or zeros."""
    A = tree.free[d]
    for i in range(6):
        store_from(A[i], 0, spread(0.0))
        store_from(A[i], 4, spread(0.0))
    if tree.carries[d] < 0:
        return
    b = tree.inertias[NOW, tree.carries[d]]
    m, x, y, z = b[0], b[1], b[2], b[3]
    for i in range(3):
        A[i, i] = m
    A[0, 4], A[0, 5], A[1, 3], A[1, 5], A[2, 3], A[2, 4] = z, -y, -z, x, y, -x
    A[4, 0], A[5, 0], A[3, 1], A[5, 1], A[3, 2], A[4, 2] = z, -y, -z, x, y, -x
    A[3, 3], A[4, 4], A[5, 5] = b[7] + b[9], b[4] + b[9], b[4] + b[7]
    A[3, 4] = A[4, 3] = -b[5]
    A[3, 5] = A[5, 3] = -b[6]
    A[4, 5] = A[5, 4] = -b[8]


@inline
def _products(A, s, i):
    """Lanes whose total is entry i of A s; zeros behind the last."""
    if i >= 6:
        return spread(0.0)
    return load_from(A[i], 0) * load_from(s, 0) + load_from(A[i], 4) * load_from(s, 4)


@inline
def _times(A, s, k):
    """Four entries from k on of A s, or as many as there are."""
    a, b, c, d = transposed(_products(A, s, k), _products(A, s, k + 1), _products(A, s, k + 2), _products(A, s, k + 3))
    return (a + b) + (c + d)


@inline
def _mix(A, s, k):
    """Four entries from k on of Aᵀ s, in pairs: a processor does not wait for one sum to begin the next."""
    a = spread(s[0]) * load_from(A[0], k) + spread(s[1]) * load_from(A[1], k)
    b = spread(s[2]) * load_from(A[2], k) + spread(s[3]) * load_from(A[3], k)
    return a + (b + (spread(s[4]) * load_from(A[4], k) + spread(s[5]) * load_from(A[5], k)))


@inline
def factor_free(tree: Tree):
    """Articulated inertias without contacts (1), (2), which are symmetric; False when a joint moves no mass."""
    for d in range(len(tree.parent)):
        _put_inertia(tree, d)
    for d in range(len(tree.parent) - 1, -1, -1):
        A, s, f = tree.free[d], tree.axes[NOW, d], tree.factors[FREE_FACTOR, d]
        w, rest = _mix(A, s, 0), _mix(A, s, 4)
        D = tree.joint_inertia[1, d] + total(w * load_from(s, 0) + rest * load_from(s, 4))
        if not D > 0.0:
            return False
        inverse = 1.0 / D
        store_from(f, 0, w * spread(inverse))
        store_from(f, 4, rest * spread(inverse))
        _keep_factor(f, w, rest, inverse)
        p = tree.parent[d]
        if p >= 0:
            _pass_on(A, f, tree.free[p])
    return True


@inline
def _keep_factor(f, w, w_rest, inverse):
    store_from(f, _W, w)
    store_from(f, _W + 4, w_rest)
    f[INVERSE] = inverse


@inline
def _pass_on(A, f, P):
    """P += A - u wᵀ / D (1)."""
    w, rest = load_from(f, _W), load_from(f, _W + 4)
    for i in range(6):
        u = spread(f[i])
        store_from(P[i], 0, load_from(P[i], 0) + (load_from(A[i], 0) - u * w))
        store_from(P[i], 4, load_from(P[i], 4) + (load_from(A[i], 4) - u * rest))


@inline
def set_active(tree: Tree, bodies, n):
    """List the velocities that move the first n `bodies`."""
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
    tree.n_active[0] = count


@inline
def factor_stiff(tree: Tree, stiffness, bodies, n):
    """Articulated inertias with the stiffness (n, 6, 8) of bodies in contact; False when a pivot is too small.

    bodies (n,): which they are. Bodies beyond those of the mechanism stand for joints at their stops: their stiffness
    acts on the joint alone.
    """
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        tree.stop[d] = 0.0
        _put_inertia(tree, d)
    for d in range(len(tree.parent)):
        p = tree.parent[d]
        if tree.active[1, d] == 0 and p >= 0 and tree.active[1, p] == 1:
            _pass_on(tree.free[d], tree.factors[FREE_FACTOR, d], tree.free[p])
    for k in range(n):
        d, S = tree.last[bodies[k]], stiffness[k]
        if bodies[k] >= len(tree.masses):
            tree.stop[d] = S[0, 0]
            continue
        for i in range(6):
            store_from(tree.free[d, i], 0, load_from(tree.free[d, i], 0) + load_from(S[i], 0))
            store_from(tree.free[d, i], 4, load_from(tree.free[d, i], 4) + load_from(S[i], 4))
    for k in range(tree.n_active[0] - 1, -1, -1):
        d = tree.active[0, k]
        A, s, f = tree.free[d], tree.axes[NOW, d], tree.factors[STIFF_FACTOR, d]
        w, rest = _mix(A, s, 0), _mix(A, s, 4)
        u, u_rest = _times(A, s, 0), _times(A, s, 4)
        x, y = u * load_from(s, 0), u_rest * load_from(s, 4)
        D = tree.joint_inertia[1, d] + tree.stop[d] + total(x + y)
        size = (abs(lane(x, 0)) + abs(lane(x, 1))) + (abs(lane(x, 2)) + abs(lane(x, 3)))
        if not abs(D) > 1e-9 * (size + (abs(lane(y, 0)) + abs(lane(y, 1)))):
            return False
        inverse = 1.0 / D
        store_from(f, 0, u * spread(inverse))
        store_from(f, 4, u_rest * spread(inverse))
        _keep_factor(f, w, rest, inverse)
        p = tree.parent[d]
        if p >= 0:
            _pass_on(A, f, tree.free[p])
    return True


@inline
def _inward(tree: Tree, n, every, which):
    """(3) for the n active velocities, or for every one; joint impulses become e.

    What goes to the parent is stored only where that is not the next one: a processor waits for what it just stored.
    """
    x, rest, above = spread(0.0), spread(0.0), -1
    for k in range(n - 1, -1, -1):
        d = k if every else tree.active[0, k]
        f, s, q, p = tree.factors[which, d], tree.axes[NOW, d], tree.push[d], tree.parent[d]
        a, b = load_from(q, 0), load_from(q, 4)
        if above == d:
            a, b = a + x, b + rest
        e = tree.pull[d] + total(a * load_from(s, 0) + b * load_from(s, 4))
        tree.pull[d] = e
        x, rest, above = a - load_from(f, 0) * spread(e), b - load_from(f, 4) * spread(e), p
        if p >= 0 and (k == 0 or p != (k - 1 if every else tree.active[0, k - 1])):
            P = tree.push[p]
            store_from(P, 0, load_from(P, 0) + x)
            store_from(P, 4, load_from(P, 4) + rest)
            above = -1


@inline
def _outward(tree: Tree, n, every, which):
    """(4) for the n active velocities, or for every one."""
    x, rest, before = spread(0.0), spread(0.0), -1
    for k in range(n):
        d = k if every else tree.active[0, k]
        f, s, y, p = tree.factors[which, d], tree.axes[NOW, d], tree.twists[d], tree.parent[d]
        e = tree.pull[d]
        if p >= 0:
            if p != before:
                x, rest = load_from(tree.twists[p], 0), load_from(tree.twists[p], 4)
            v = (e - total(load_from(f, _W) * x + load_from(f, _W + 4) * rest)) * f[INVERSE]
            x, rest = x + load_from(s, 0) * spread(v), rest + load_from(s, 4) * spread(v)
        else:
            v = e * f[INVERSE]
            x, rest = load_from(s, 0) * spread(v), load_from(s, 4) * spread(v)
        store_from(y, 0, x)
        store_from(y, 4, rest)
        tree.change[d], before = v, d


@inline
def sweep(tree: Tree, wrenches, bodies, contact_index, n, which):
    """Twists of all active velocities for the wrench impulses (6 n,) on the n bodies in contact (3), (4)."""
    zero = spread(0.0)
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        q = tree.push[d]
        tree.pull[d] = 0.0
        body = tree.carries[d]
        h = 6 * contact_index[body] if body >= 0 else -1
        store_from(q, 4, zero)
        if h >= 0:
            store_from(q, 0, load_from(wrenches, h))
            q[4], q[5] = wrenches[h + 4], wrenches[h + 5]
        else:
            store_from(q, 0, zero)
    for k in range(n):
        if bodies[k] >= len(tree.masses):
            tree.pull[tree.last[bodies[k]]] = wrenches[6 * k]
    _inward(tree, tree.n_active[0], False, which)
    _outward(tree, tree.n_active[0], False, which)


@inline
def sweep_all(tree: Tree):
    """What the last free `sweep` means for the velocities that were not active."""
    for d in range(len(tree.parent)):
        if tree.active[1, d] == 0:
            f, s, y, p, v = tree.factors[FREE_FACTOR, d], tree.axes[NOW, d], tree.twists[d], tree.parent[d], 0.0
            x, rest = spread(0.0), spread(0.0)
            if p >= 0:
                x, rest = load_from(tree.twists[p], 0), load_from(tree.twists[p], 4)
                v = (0.0 - total(load_from(f, _W) * x + load_from(f, _W + 4) * rest)) * f[INVERSE]
            store_from(y, 0, x + load_from(s, 0) * spread(v))
            store_from(y, 4, rest + load_from(s, 4) * spread(v))
            tree.change[d] = v


@inline
def free_sweep(tree: Tree):
    """Change of all velocities for the joint impulses in `pull` (3), (4)."""
    zero = spread(0.0)
    for d in range(len(tree.parent)):
        store_from(tree.push[d], 0, zero)
        store_from(tree.push[d], 4, zero)
    _inward(tree, len(tree.parent), True, FREE_FACTOR)
    _outward(tree, len(tree.parent), True, FREE_FACTOR)


@inline
def set_responses(tree: Tree):
    """Λ of the active velocities (5), which are symmetric."""
    for k in range(tree.n_active[0]):
        d = tree.active[0, k]
        f, s, L = tree.factors[FREE_FACTOR, d], tree.axes[NOW, d], tree.response[d]
        a, rest = load_from(s, 0), load_from(s, 4)
        p = tree.parent[d]
        if p < 0:
            for i in range(6):
                c = spread(f[INVERSE] * s[i])
                store_from(L[i], 0, c * a)
                store_from(L[i], 4, c * rest)
            tree.joint_response[d] = f[INVERSE]
            continue
        P = tree.response[p]
        t, u = _mix(P, f, 0), _mix(P, f, 4)
        # Half of the last term with each of the other two.
        c = 0.5 * (total(load_from(f, 0) * t + load_from(f, 4) * u) + f[INVERSE])
        tree.joint_response[d] = 2.0 * c
        t, u = t - spread(c) * a, u - spread(c) * rest
        for i in range(6):
            # Row i of L = P - s tᵀ - t sᵀ.
            b, r = spread(s[i]), spread(lane(t, i) if i < 4 else lane(u, i - 4))
            store_from(L[i], 0, load_from(P[i], 0) - b * t - r * a)
            store_from(L[i], 4, load_from(P[i], 4) - b * u - r * rest)


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
            s = tree.axes[NOW, k]
            e = pull + ((s[0] * p0 + s[1] * p1) + ((s[2] * p2 + s[3] * p3) + (s[4] * p4 + s[5] * p5)))
            X[i, tree.place[k]] = e * math.sqrt(f[INVERSE])
            p0, p1, p2 = p0 - f[0] * e, p1 - f[1] * e, p2 - f[2] * e
            p3, p4, p5 = p3 - f[3] * e, p4 - f[4] * e, p5 - f[5] * e
            pull, k = 0.0, tree.parent[k]
