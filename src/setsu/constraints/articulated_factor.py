"""Mass matrix and rows of loops factored along long chains, by articulated bodies, in compiled code.

The same elimination, in the same order and with the same pivots, as sparse_factor.py, whose columns along a chain are
as long as it. What a column holds for the velocities that carry it depends on the motion of one body only: six numbers
stand for all of them.

| symbol | meaning | frame |
|---|---|---|
| S_d | motion of its body by a velocity: at the body's origin, then turn | world axes |
| I_b | inertia that a body feels: its own and, eliminated, all that it carries | world axes, about its origin |
| ξ_bk | force on body b by the multiplier of row k, through all that was eliminated | the same |
| g_dk, W_kl | entries between velocity d or row k and rows that are eliminated later | |

    velocity d of body b:  u = I_b S_d,  D = S_d·u + armature,  g_k = G_dk + S_d·ξ_bk                  (1)
    row k, above the paths of its loop, on body b:  u = ξ_bk,  D = W_kk,  g_l = W_kl                   (2)
    I_b -= u uᵀ / D,  ξ_bk -= u g_k / D,  W_kl -= g_k g_l / D                                          (3)
    to the parent p, by d from its origin:  I_p += Xᵀ I_b X,  ξ_pk += Xᵀ ξ_bk,  X: v + w x d           (4)

Source: Featherstone 2008, ch. 7; Brandl, Johanni and Otter 1988; the loops as by Sathya and Carpentier 2024.
Cost: the number of bodies, times the square of how many loops pass a body.
Refuses, by its outcome, what sparse_factor.py refuses.
"""

from __future__ import annotations

from setsu.constraints.compiled_vectors import cross, minus, plus, second_vector, vector
from setsu.constraints.sparse_inertia import own_inertias, packed_inertia
from setsu.native.control_flow import inline

__all__ = ["NO_MASS", "eliminate_bodies", "solve_bodies", "take_out"]

NO_MASS = 1e-13
"""Part of a velocity's inertia below which what is left of it is rounding."""


@inline
def take_out(c, u, first, last, inverse):
    """Subtract the products of a column's entries from later ones, and leave those of L in their place."""
    for p in range(first + 1, last):
        ratio, target = u.K[p] * inverse, c.target[p]
        if target >= 0:
            for r in range(p, last):
                u.K[target + r] -= ratio * u.K[r]
        else:
            shift = -1 - target - p
            for r in range(p, last):
                u.K[c.scattered[shift + r]] -= ratio * u.K[r]
    for p in range(first + 1, last):
        u.K[p] *= inverse


@inline
def _rigid_bodies(c, s, u):
    """Fill I_b with the bodies' own inertias, S_d, and the ways from the origins of parents."""
    for b in range(len(c.mass)):
        p = c.body_parent[b]
        if p >= 0:
            for i in range(3):
                u.way[b, i] = s.poses[b, 4 * i + 3] - s.poses[p, 4 * i + 3]
        own, J = u.body[b], u.inertia[b]
        h, E = (own[1], own[2], own[3]), (own[4], own[5], own[6], own[7], own[8], own[9])
        for i in range(6):
            for j in range(6):
                J[i, j] = 0.0
        J[0, 0] = J[1, 1] = J[2, 2] = own[0]
        J[0, 4] = J[4, 0] = h[2]
        J[1, 3] = J[3, 1] = -h[2]
        J[2, 3] = J[3, 2] = h[1]
        J[0, 5] = J[5, 0] = -h[1]
        J[1, 5] = J[5, 1] = h[0]
        J[2, 4] = J[4, 2] = -h[0]
        J[3, 3], J[4, 4], J[5, 5] = E[3] + E[5], E[0] + E[5], E[0] + E[3]
        J[3, 4] = J[4, 3] = -E[1]
        J[3, 5] = J[5, 3] = -E[2]
        J[4, 5] = J[5, 4] = -E[4]
    for d in range(len(c.velocity_body)):
        b = c.velocity_body[d]
        turn = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
        axis = (s.directions[6, d], s.directions[7, d], s.directions[8, d])
        moved = cross(turn, minus((s.poses[b, 3], s.poses[b, 7], s.poses[b, 11]), axis))
        for i in range(3):
            u.direction[d, i], u.direction[d, 3 + i] = s.directions[i, d] + moved[i], turn[i]


@inline
def _add_force(d, force, total):
    """total += Xᵀ force (4)."""
    moment = cross(d, (force[0], force[1], force[2]))
    for i in range(3):
        total[i] += force[i]
        total[3 + i] += force[3 + i] + moment[i]


@inline
def _add_inertia(d, J, total):
    """total += Xᵀ I X (4), by its blocks: A linear, B between, C angular."""
    A = ((J[0, 0], J[0, 1], J[0, 2]), (J[1, 0], J[1, 1], J[1, 2]), (J[2, 0], J[2, 1], J[2, 2]))
    B = ((J[0, 3], J[0, 4], J[0, 5]), (J[1, 3], J[1, 4], J[1, 5]), (J[2, 3], J[2, 4], J[2, 5]))
    moved = (plus(B[0], cross(d, A[0])), plus(B[1], cross(d, A[1])), plus(B[2], cross(d, A[2])))
    columns = (
        cross(d, (B[0][0], B[1][0], B[2][0])),
        cross(d, (B[0][1], B[1][1], B[2][1])),
        cross(d, (B[0][2], B[1][2], B[2][2])),
    )
    moved_columns = (
        cross(d, (moved[0][0], moved[1][0], moved[2][0])),
        cross(d, (moved[0][1], moved[1][1], moved[2][1])),
        cross(d, (moved[0][2], moved[1][2], moved[2][2])),
    )
    for i in range(3):
        for j in range(3):
            total[i, j] += J[i, j]
            total[i, 3 + j] += moved[i][j]
            total[3 + j, i] += moved[i][j]
        for j in range(i, 3):
            turned = J[3 + i, 3 + j] + columns[i][j] + moved_columns[j][i]
            total[3 + i, 3 + j] += turned
            if j > i:
                total[3 + j, 3 + i] += turned


@inline
def _reduce_body(c, u, i, home, inverse):
    """(3) for unknown i, whose u is in u.vector: what body `home` feels, then entries among rows."""
    first, last = c.column_start[i], c.column_start[i + 1]
    if home >= 0:
        vec, J = u.vector[i], u.inertia[home]
        for j in range(6):
            ratio = vec[j] * inverse
            for k in range(j, 6):
                part = ratio * vec[k]
                J[j, k] -= part
                if k > j:
                    J[k, j] -= part
        for p in range(first + 1, last):
            ratio, force = u.K[p] * inverse, u.force[c.force_place[p]]
            for j in range(6):
                force[j] -= ratio * vec[j]
    take_out(c, u, first, last, inverse)
    u.inverse[i] = inverse


@inline
def eliminate_bodies(c, s, u, limit):
    """Factor the state in s, with the entries of its rows in u.K; False when a pivot is too small."""
    own_inertias(c, s, u)
    _rigid_bodies(c, s, u)
    # The diagonal of the mass matrix: what a pivot is small against.
    packed_inertia(c, s, u)
    for i in range(len(u.force)):
        for j in range(6):
            u.force[i, j] = 0.0
    for b in range(len(c.mass) - 1, -1, -1):
        i, parent, J = c.body_unknown[b + 1], c.body_parent[b], u.inertia[b]
        for d in range(c.body_velocity[b + 1] - 1, c.body_velocity[b] - 1, -1):
            S, vec, first = u.direction[d], u.vector[i], c.column_start[i]
            pivot = c.armature[d]
            for j in range(6):
                total = 0.0
                for k in range(6):
                    total += J[j, k] * S[k]
                vec[j] = total
                pivot += S[j] * total
            if not pivot > NO_MASS * u.K[first]:
                return False
            for p in range(first + 1, c.column_start[i + 1]):
                force = u.force[c.force_place[p]]
                for j in range(6):
                    u.K[p] += S[j] * force[j]
            _reduce_body(c, u, i, b, 1.0 / pivot)
            i += 1
        if parent >= 0:
            way = vector(u.way, b)
            _add_inertia(way, J, u.inertia[parent])
            for p in range(c.carry_start[b], c.carry_start[b + 1]):
                _add_force(way, u.force[c.carry_from[p]], u.force[c.carry_to[p]])
        while i < c.body_unknown[b]:
            pivot = u.K[c.column_start[i]]
            if not -pivot > limit * c.typical[c.unknown_row[i]]:
                return False
            if parent >= 0:
                for j in range(6):
                    u.vector[i, j] = u.force[c.force_place[c.column_start[i]], j]
            _reduce_body(c, u, i, parent, 1.0 / pivot)
            i += 1
    return True


@inline
def solve_bodies(c, u):
    """Replace u.x, in the order of elimination, by K⁻¹ u.x; forces, then motions, of bodies in u.motion."""
    for b in range(len(c.mass)):
        for j in range(6):
            u.motion[b, j] = 0.0
    for b in range(len(c.mass) - 1, -1, -1):
        i, parent = c.body_unknown[b + 1], c.body_parent[b]
        for d in range(c.body_velocity[b + 1] - 1, c.body_velocity[b] - 1, -1):
            for j in range(6):
                u.x[i] += u.direction[d, j] * u.motion[b, j]
            _pass_on(c, u, i, b)
            i += 1
        if parent >= 0:
            _add_force(vector(u.way, b), u.motion[b], u.motion[parent])
        while i < c.body_unknown[b]:
            _pass_on(c, u, i, parent)
            i += 1
    for b in range(len(c.mass)):
        i, parent = c.body_unknown[b] - 1, c.body_parent[b]
        while i >= c.body_unknown[b + 1] + c.body_velocity[b + 1] - c.body_velocity[b]:
            _take_back(c, u, i, parent)
            i -= 1
        for j in range(6):
            u.motion[b, j] = u.motion[parent, j] if parent >= 0 else 0.0
        if parent >= 0:
            moved = cross(second_vector(u.motion, b), vector(u.way, b))
            linear = plus(vector(u.motion, b), moved)
            u.motion[b, 0], u.motion[b, 1], u.motion[b, 2] = linear
        for d in range(c.body_velocity[b], c.body_velocity[b + 1]):
            _take_back(c, u, i, b)
            for j in range(6):
                u.motion[b, j] += u.direction[d, j] * u.x[i]
            i -= 1


@inline
def _pass_on(c, u, i, home):
    """Forward substitution of unknown i: into later rows, and as a force on body `home`."""
    x = u.x[i]
    for p in range(c.column_start[i] + 1, c.column_start[i + 1]):
        u.x[c.column[p]] -= u.K[p] * x
    if home >= 0:
        part = x * u.inverse[i]
        for j in range(6):
            u.motion[home, j] -= part * u.vector[i, j]


@inline
def _take_back(c, u, i, home):
    """Back substitution of unknown i: from later rows, and from the motion of body `home`."""
    x = u.x[i]
    if home >= 0:
        for j in range(6):
            x -= u.vector[i, j] * u.motion[home, j]
    x *= u.inverse[i]
    for p in range(c.column_start[i] + 1, c.column_start[i + 1]):
        x -= u.K[p] * u.x[c.column[p]]
    u.x[i] = x
