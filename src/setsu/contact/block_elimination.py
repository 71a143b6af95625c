"""The linear system of one round of the cone solver: block elimination in minimum-degree order.

| symbol | meaning |
|---|---|
| C_i, e_i | (3, 3) and (3,) of contact i: δλ_i = e_i - C_i K_i δx; C need not be symmetric |
| C_j, e_j, g_j | of the couple of contact i: δκ_j = e_j + g_j δλ_in - C_j K_j δx (couple_laws.py) |
| A_kl | block of nodes k and l |
| B_pl | A_pp⁻¹ A_pl |

    A = 1 + Σ K_iᵀ C_i K_i,   A δx = Σ K_iᵀ e_i                               (1)  and Σ K_jᵀ C_j K_j, Σ K_jᵀ e_j
    A += Σ K_jᵀ g_j C_inn K_in,   right side += Σ K_jᵀ g_j e_in               (4)  couples follow normal impulses
    eliminating node p:  A_kl <- A_kl - A_kp B_pl  for all k, l coupled to p  (2)
    y_p = A_pp⁻¹ r_p,  r_k <- r_k - A_kp y_p;   backwards δx_p = y_p - Σ B_pl δx_l    (3)

Contacts with the environment act on one node: they couple nothing. The order is that of least degree (Markowitz 1957,
Tinney and Walker 1967): a chain of bodies fills nothing in. Rows are exchanged inside the blocks of the diagonal only;
a pivot of rounding size is reported. Cost: chain of N bodies O(N), piles some N^1.5 blocks.
"""

from __future__ import annotations

from setsu.contact.cone_problem import CONTACTS, NODES, ROWS, SIZE, ConeProblem, add_to_nodes, set_from_nodes
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from

__all__ = ["order_nodes", "solve_round"]

_EMPTY, _COUPLED = -1, 0
_SMALLEST_PIVOT = 1e-14


@inline
def order_nodes(p: ConeProblem):
    """Order of elimination, and where each block stands."""
    n, slot, degree, order, later = p.counts[NODES], p.slot, p.degree, p.order, p.later
    for i in range(n):
        degree[i] = 0
        for j in range(n):
            slot[i, j] = _EMPTY
    for index in range(p.counts[CONTACTS]):
        a, b = p.side[index, 0], p.side[index, 1]
        if b >= 0 and slot[a, b] == _EMPTY:
            slot[a, b] = slot[b, a] = _COUPLED
            degree[a] += 1
            degree[b] += 1
    count = 0
    for place in range(n):
        node, least = -1, n + 1
        for i in range(n):
            if 0 <= degree[i] < least:
                node, least = i, degree[i]
        order[place], p.later_start[place] = node, count
        degree[node] = -1
        first = count
        for j in range(n):
            if slot[node, j] == _COUPLED and degree[j] >= 0:
                later[count] = j
                count += 1
        for k in range(first, count):
            a = later[k]
            degree[a] -= 1
            for r in range(k + 1, count):
                b = later[r]
                if slot[a, b] == _EMPTY:
                    slot[a, b] = slot[b, a] = _COUPLED
                    degree[a] += 1
                    degree[b] += 1
    p.later_start[n] = count
    used = 0
    for i in range(n):
        for j in range(n):
            if i == j or slot[i, j] == _COUPLED:
                slot[i, j] = used
                used += p.node_size[i] * p.node_size[j]
    return used


@inline
def _add_product(p: ConeProblem, row, column, c):
    """A += K_rowᵀ C K_column, C (9,) row by row (1), (4)."""
    K, A = p.jacobian, p.blocks
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = c
    for s in range(2):
        a = p.side[row, s]
        if a < 0:
            continue
        n, u = p.node_size[a], p.jacobian_start[row, s]
        for t in range(2):
            b = p.side[column, t]
            if b < 0:
                continue
            m, w, o = p.node_size[b], p.jacobian_start[column, t], p.slot[a, b]
            for i in range(n):
                x, y, z = K[u + i], K[u + n + i], K[u + 2 * n + i]
                f, g, h = x * c00 + y * c10 + z * c20, x * c01 + y * c11 + z * c21, x * c02 + y * c12 + z * c22
                if f == 0.0 and g == 0.0 and h == 0.0:
                    continue
                place = o + i * m
                if m == 6:
                    for j in range(6):
                        A[place + j] += f * K[w + j] + g * K[w + 6 + j] + h * K[w + 12 + j]
                else:
                    whole, f4, g4, h4 = m - m % LANES, spread(f), spread(g), spread(h)
                    for j in range(0, whole, LANES):
                        added = f4 * load_from(K, w + j) + g4 * load_from(K, w + m + j)
                        added += h4 * load_from(K, w + 2 * m + j)
                        store_from(A, place + j, load_from(A, place + j) + added)  # type: ignore[arg-type]
                    for j in range(whole, m):
                        A[place + j] += f * K[w + j] + g * K[w + m + j] + h * K[w + 2 * m + j]


@inline
def _assemble(p: ConeProblem, used):
    """(1)."""
    A, n = p.blocks, p.counts[NODES]
    for k in range(used):
        A[k] = 0.0
    for i in range(n):
        o, m = p.slot[i, i], p.node_size[i]
        for j in range(m):
            A[o + j * m + j] = 1.0
    for row in range(p.counts[ROWS]):
        C = p.ratio[row]
        if row >= p.counts[CONTACTS] or C[0, 0] != 0.0:
            c = C[0, 0], C[0, 1], C[0, 2], C[1, 0], C[1, 1], C[1, 2], C[2, 0], C[2, 1], C[2, 2]
            _add_product(p, row, row, c)
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        normal, g = p.ratio[p.partner[row], 0, 0], p.slide[row, 0]
        if normal != 0.0:
            _add_product(
                p, row, p.partner[row], (normal * g[0], 0.0, 0.0, normal * g[1], 0.0, 0.0, normal * g[2], 0.0, 0.0)
            )


@inline
def _subtract(A, to, f, what, n):
    """n entries of A from `to` on -= f times those from `what` on."""
    if n == 6:
        for j in range(6):
            A[to + j] -= f * A[what + j]
        return
    whole, factor = n - n % LANES, spread(f)
    for j in range(0, whole, LANES):
        store_from(A, to + j, load_from(A, to + j) - factor * load_from(A, what + j))
    for j in range(whole, n):
        A[to + j] -= f * A[what + j]


@inline
def _solve_vector(A, o, n, pivots, first, r, s):
    """r <- A_pp⁻¹ r for n entries of r from s on."""
    for k in range(n):
        place = pivots[first + k]
        if place != k:
            r[s + k], r[s + place] = r[s + place], r[s + k]
    for i in range(1, n):
        y = r[s + i]
        for k in range(i):
            y -= A[o + i * n + k] * r[s + k]
        r[s + i] = y
    for i in range(n - 1, -1, -1):
        y = r[s + i]
        for k in range(i + 1, n):
            y -= A[o + i * n + k] * r[s + k]
        r[s + i] = y * (1.0 / A[o + i * n + i])


@inline
def _factor_diagonal(A, o, n, pivots, first):
    """LU of a block in place, with row exchanges; False when a pivot is of rounding size."""
    largest = 0.0
    for k in range(n):
        r, best = k, abs(A[o + k * n + k])
        for i in range(k + 1, n):
            if abs(A[o + i * n + k]) > best:
                r, best = i, abs(A[o + i * n + k])
        largest = max(largest, best)
        if not best > _SMALLEST_PIVOT * largest:
            return False
        pivots[first + k] = r
        if r != k:
            for j in range(n):
                A[o + k * n + j], A[o + r * n + j] = A[o + r * n + j], A[o + k * n + j]
        inverse = 1.0 / A[o + k * n + k]
        for i in range(k + 1, n):
            f = A[o + i * n + k] * inverse
            A[o + i * n + k] = f
            if f != 0.0:
                _subtract(A, o + i * n + k + 1, f, o + k * n + k + 1, n - k - 1)
    return True


@inline
def _solve_diagonal(A, o, n, pivots, first, B, s, m):
    """B <- A_pp⁻¹ B for a block (n, m) at s."""
    for k in range(n):
        r = pivots[first + k]
        if r != k:
            for j in range(m):
                B[s + k * m + j], B[s + r * m + j] = B[s + r * m + j], B[s + k * m + j]
    for i in range(1, n):
        for k in range(i):
            f = A[o + i * n + k]
            if f != 0.0:
                _subtract(B, s + i * m, f, s + k * m, m)
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            f = A[o + i * n + k]
            if f != 0.0:
                _subtract(B, s + i * m, f, s + k * m, m)
        inverse = 1.0 / A[o + i * n + i]
        for j in range(m):
            B[s + i * m + j] *= inverse


@inline
def _take_product(A, c, a, b, n, k_size, m):
    """Block (n, m) at c -= block (n, k_size) at a times block (k_size, m) at b (2)."""
    if n == 6 and k_size == 6 and m == 6:
        for i in range(6):
            x0, x1, x2 = A[c + 6 * i], A[c + 6 * i + 1], A[c + 6 * i + 2]
            x3, x4, x5 = A[c + 6 * i + 3], A[c + 6 * i + 4], A[c + 6 * i + 5]
            for k in range(6):
                f, r = A[a + 6 * i + k], b + 6 * k
                x0, x1, x2 = x0 - f * A[r], x1 - f * A[r + 1], x2 - f * A[r + 2]
                x3, x4, x5 = x3 - f * A[r + 3], x4 - f * A[r + 4], x5 - f * A[r + 5]
            A[c + 6 * i], A[c + 6 * i + 1], A[c + 6 * i + 2] = x0, x1, x2
            A[c + 6 * i + 3], A[c + 6 * i + 4], A[c + 6 * i + 5] = x3, x4, x5
        return
    for i in range(n):
        for k in range(k_size):
            f = A[a + i * k_size + k]
            if f != 0.0:
                _subtract(A, c + i * m, f, b + k * m, m)


@inline
def _eliminate(p: ConeProblem):
    """(2) for all nodes in order; False for a pivot of rounding size."""
    A, slot, later = p.blocks, p.slot, p.later
    for place in range(p.counts[NODES]):
        node = p.order[place]
        n, o, first = p.node_size[node], slot[node, node], p.node_start[node]
        if not _factor_diagonal(A, o, n, p.pivots, first):
            return False
        start, stop = p.later_start[place], p.later_start[place + 1]
        for k in range(start, stop):
            b = later[k]
            _solve_diagonal(A, o, n, p.pivots, first, A, slot[node, b], p.node_size[b])
        for k in range(start, stop):
            a = later[k]
            for r in range(start, stop):
                b = later[r]
                _take_product(A, slot[a, b], slot[a, node], slot[node, b], p.node_size[a], n, p.node_size[b])
    return True


@inline
def _substitute(p: ConeProblem):
    """load <- A⁻¹ load (3)."""
    A, r, slot = p.blocks, p.load, p.slot
    n_nodes = p.counts[NODES]
    for place in range(n_nodes):
        node = p.order[place]
        n, s = p.node_size[node], p.node_start[node]
        _solve_vector(A, slot[node, node], n, p.pivots, s, r, s)
        for k in range(p.later_start[place], p.later_start[place + 1]):
            b = p.later[k]
            m, t, o = p.node_size[b], p.node_start[b], slot[b, node]
            for i in range(m):
                total = 0.0
                for j in range(n):
                    total += A[o + i * n + j] * r[s + j]
                r[t + i] -= total
    for place in range(n_nodes - 1, -1, -1):
        node = p.order[place]
        n, s = p.node_size[node], p.node_start[node]
        for k in range(p.later_start[place], p.later_start[place + 1]):
            b = p.later[k]
            m, t, o = p.node_size[b], p.node_start[b], slot[node, b]
            for i in range(n):
                total = 0.0
                for j in range(m):
                    total += A[o + i * m + j] * r[t + j]
                r[s + i] -= total


@inline
def solve_round(p: ConeProblem, used, factor):
    """Fill `change` and `slope` from C and e of all contacts; factor: C is new. False when A is singular."""
    if factor:
        _assemble(p, used)
        if not _eliminate(p):
            return False
    for i in range(p.counts[SIZE]):
        p.load[i] = 0.0
    for index in range(p.counts[CONTACTS]):
        e = p.rest[index]
        add_to_nodes(p, index, e[0], e[1], e[2], p.load)
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        e, g, normal = p.rest[row], p.slide[row, 0], p.rest[p.partner[row], 0]
        add_to_nodes(p, row, e[0] + g[0] * normal, e[1] + g[1] * normal, e[2] + g[2] * normal, p.load)
    _substitute(p)
    for index in range(p.counts[CONTACTS]):
        C, e, u, change = p.ratio[index], p.rest[index], p.slope[index], p.change[index]
        set_from_nodes(p, index, p.load, u)
        for k in range(3):
            change[k] = e[k] - C[k, 0] * u[0] - C[k, 1] * u[1] - C[k, 2] * u[2]
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        C, e, u, change = p.ratio[row], p.rest[row], p.slope[row], p.change[row]
        set_from_nodes(p, row, p.load, u)
        normal = p.change[p.partner[row], 0]
        for k in range(3):
            change[k] = e[k] + p.slide[row, 0, k] * normal - C[k, 0] * u[0] - C[k, 1] * u[1] - C[k, 2] * u[2]
    return True
