"""Mass matrix of a tree by composite bodies, entry by entry along its branches, in compiled code.

| symbol | meaning | frame |
|---|---|---|
| m, h, E | mass, first and second moments of a body and all it carries, about the body's origin | world axes |
| (l, a, o) | directions of a velocity: world_state.py (1) | world axes |

    h_p += h + m d,  E_p += E + d hᵀ + h dᵀ + m d dᵀ   with d from the parent's origin to the body's         (1)
    f = m u + a x h,  n = h x u + (tr(E) 1 - E) a,  u = l + a x (x - o)                                      (2)
    M[d, e] = l_e·f + a_e·(n + (x - o_e) x f)                                                                (3)

Source: Walker and Orin 1982; Featherstone 2008, ch. 6.2. Cost: the sum of the depths.
"""

from __future__ import annotations

from setsu.constraints.compiled_vectors import cross, dot, minus, plus, scaled
from setsu.native.control_flow import inline

__all__ = ["own_inertias", "packed_inertia"]


@inline
def own_inertias(c, s, w):
    """Mass, first and second moments of every body by itself, into w.body (n_bodies, 10)."""
    for b in range(len(c.mass)):
        P = s.poses[b]
        m = c.moment[b]
        e = c.second_moment[b]
        w.body[b, 0] = c.mass[b]
        for i in range(3):
            w.body[b, 1 + i] = P[4 * i] * m[0] + P[4 * i + 1] * m[1] + P[4 * i + 2] * m[2]
        place = 4
        for i in range(3):
            x, y, z = P[4 * i], P[4 * i + 1], P[4 * i + 2]
            u = x * e[0] + y * e[1] + z * e[2]
            v = x * e[1] + y * e[3] + z * e[4]
            t = x * e[2] + y * e[4] + z * e[5]
            for j in range(i, 3):
                w.body[b, place] = u * P[4 * j] + v * P[4 * j + 1] + t * P[4 * j + 2]
                place += 1


@inline
def _gather_bodies(c, s, w):
    """Add to every body what it carries (1)."""
    for b in range(len(c.mass) - 1, -1, -1):
        p = c.body_parent[b]
        if p < 0:
            continue
        m = w.body[b, 0]
        d = (s.poses[b, 3] - s.poses[p, 3], s.poses[b, 7] - s.poses[p, 7], s.poses[b, 11] - s.poses[p, 11])
        h = (w.body[b, 1], w.body[b, 2], w.body[b, 3])
        y = plus(h, scaled(d, 0.5 * m))
        w.body[p, 0] += m
        place = 4
        for i in range(3):
            w.body[p, 1 + i] += h[i] + m * d[i]
            for j in range(i, 3):
                w.body[p, place] += w.body[b, place] + d[i] * y[j] + y[i] * d[j]
                place += 1


@inline
def packed_inertia(c, s, w):
    """Write the mass matrix, drives included, to its places in w.K (2), (3), from bodies by themselves in w.body."""
    _gather_bodies(c, s, w)
    for d in range(len(c.velocity_body)):
        b = c.velocity_body[d]
        B = w.body[b]
        x = (s.poses[b, 3], s.poses[b, 7], s.poses[b, 11])
        h = (B[1], B[2], B[3])
        a = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
        o = (s.directions[6, d], s.directions[7, d], s.directions[8, d])
        u = plus((s.directions[0, d], s.directions[1, d], s.directions[2, d]), cross(a, minus(x, o)))
        f = plus(scaled(u, B[0]), cross(a, h))
        trace = B[4] + B[7] + B[9]
        n = plus(
            cross(h, u),
            (
                (trace - B[4]) * a[0] - B[5] * a[1] - B[6] * a[2],
                (trace - B[7]) * a[1] - B[5] * a[0] - B[8] * a[2],
                (trace - B[9]) * a[2] - B[6] * a[0] - B[8] * a[1],
            ),
        )
        for place in range(c.ancestor_start[d], c.ancestor_start[d + 1]):
            e = c.ancestor[place]
            a_e = (s.directions[3, e], s.directions[4, e], s.directions[5, e])
            o_e = (s.directions[6, e], s.directions[7, e], s.directions[8, e])
            moment = plus(n, cross(minus(x, o_e), f))
            l_e = (s.directions[0, e], s.directions[1, e], s.directions[2, e])
            w.K[c.mass_place[place]] = dot(l_e, f) + dot(a_e, moment)
        w.K[c.mass_place[c.ancestor_start[d]]] += c.armature[d]
