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

Rows of K and of blocks end with zeros up to whole lanes, as wide as `node_width`.
Contacts with the environment act on one node: they couple nothing. The order is that of least degree (Markowitz 1957,
Tinney and Walker 1967): a chain of bodies fills nothing in. Rows are exchanged inside the blocks of the diagonal only;
a pivot of rounding size is reported. Cost: chain of N bodies O(N), piles some N^1.5 blocks.
"""

from __future__ import annotations

from setsu.contact.cone_problem import CONTACTS, NODES, NONE, ROWS, SIZE, ConeProblem, add_to_nodes, set_from_nodes
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from, total

__all__ = ["factor_block", "order_nodes", "solve_block", "solve_columns", "solve_round"]

# Entries of ConeProblem.slot that are no blocks.
_EMPTY, _COUPLED = 0, -1
_SMALLEST_PIVOT = 1e-14


@inline
def _couple(p: ConeProblem, a, b, links):
    """Note that two nodes are coupled; return how many links there are then."""
    p.slot[a, b] = p.slot[b, a] = _COUPLED
    for node, other in ((a, b), (b, a)):
        p.link_to[links], p.link_next[links] = other, p.link_first[node]
        p.link_first[node] = links
        p.degree[node] += 1
        links += 1
    return links


@inline
def _clear_slots(p: ConeProblem):
    """Forget the blocks of the problem before."""
    for place in range(p.ordered[0]):
        node = p.order[place]
        p.slot[node, node] = _EMPTY
        for k in range(p.later_start[place], p.later_start[place + 1]):
            p.slot[node, p.later[k]] = p.slot[p.later[k], node] = _EMPTY


@inline
def _find_order(p: ConeProblem):
    """Order of elimination, and which nodes each one is coupled to that come after it."""
    n, slot, degree, later = p.counts[NODES], p.slot, p.degree, p.later
    for i in range(n):
        degree[i], p.link_first[i] = 0, NONE
    links = count = least = 0
    for index in range(p.counts[CONTACTS]):
        a, b = p.side[index, 0], p.side[index, 1]
        if b >= 0 and slot[a, b] == _EMPTY:
            links = _couple(p, a, b, links)
    for place in range(n):
        # No degree falls by more than one.
        node, bound, least = -1, max(0, least - 1), n + 1
        for i in range(n):
            if 0 <= degree[i] < least:
                node, least = i, degree[i]
                if least == bound:
                    break
        p.order[place], p.later_start[place] = node, count
        degree[node] = -1
        first, link = count, p.link_first[node]
        while link != NONE:
            if degree[p.link_to[link]] >= 0:
                later[count] = p.link_to[link]
                count += 1
            link = p.link_next[link]
        for k in range(first, count):
            degree[later[k]] -= 1
            for r in range(k + 1, count):
                if slot[later[k], later[r]] == _EMPTY:
                    links = _couple(p, later[k], later[r], links)
    p.later_start[n], p.ordered[0] = count, n


@inline
def order_nodes(p: ConeProblem):
    """Order of elimination, and where each block stands; return where they end."""
    _clear_slots(p)
    _find_order(p)
    used = LANES  # where a block would begin at _EMPTY
    for place in range(p.counts[NODES]):
        node = p.order[place]
        p.slot[node, node] = used
        used += p.node_size[node] * p.node_width[node]
        for k in range(p.later_start[place], p.later_start[place + 1]):
            b = p.later[k]
            p.slot[node, b], p.slot[b, node] = used, used + p.node_size[node] * p.node_width[b]
            used = p.slot[b, node] + p.node_size[b] * p.node_width[node]
    return used


@inline
def _add_row(A, o, K, w, width, f, g, h):
    """Row of A at o += (f, g, h) times the three rows of K at w, so wide."""
    f4, g4, h4 = spread(f), spread(g), spread(h)
    for j in range(0, width, LANES):
        added = f4 * load_from(K, w + j) + g4 * load_from(K, w + width + j) + h4 * load_from(K, w + 2 * width + j)
        store_from(A, o + j, load_from(A, o + j) + added)


@inline
def _add_product(p: ConeProblem, row, column, c):
    """A += K_rowᵀ C K_column, C (9,) row by row (1), (4)."""
    K, A = p.jacobian, p.blocks
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = c
    first, second = p.side[column, 0], p.side[column, 1]
    w, v = p.jacobian_start[column, 0], p.jacobian_start[column, 1]
    for s in range(2):
        a = p.side[row, s]
        if a < 0:
            continue
        u, step = p.jacobian_start[row, s], p.node_width[a]
        o, m, q, k = p.slot[a, first], p.node_width[first], 0, 0
        if second >= 0:
            q, k = p.slot[a, second], p.node_width[second]
        for i in range(p.node_size[a]):
            x, y, z = K[u + i], K[u + step + i], K[u + 2 * step + i]
            f, g, h = x * c00 + y * c10 + z * c20, x * c01 + y * c11 + z * c21, x * c02 + y * c12 + z * c22
            _add_row(A, o + i * m, K, w, m, f, g, h)
            if second >= 0:
                _add_row(A, q + i * k, K, v, k, f, g, h)


@inline
def _assemble(p: ConeProblem, used):
    """(1)."""
    A, n = p.blocks, p.counts[NODES]
    for k in range(0, used, LANES):
        store_from(A, k, spread(0.0))
    for i in range(n):
        o, w = p.slot[i, i], p.node_width[i]
        for j in range(p.node_size[i]):
            A[o + j * w + j] = 1.0
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
    whole, factor = n - n % LANES, spread(f)
    for j in range(0, whole, LANES):
        store_from(A, to + j, load_from(A, to + j) - factor * load_from(A, what + j))
    for j in range(whole, n):
        A[to + j] -= f * A[what + j]


@inline
def factor_block(A, o, n, w, pivots, first):
    """LU of a block (n, w) in place, with row exchanges; False when a pivot is of rounding size."""
    largest = 0.0
    for k in range(n):
        r, best = k, abs(A[o + k * w + k])
        for i in range(k + 1, n):
            if abs(A[o + i * w + k]) > best:
                r, best = i, abs(A[o + i * w + k])
        largest = max(largest, best)
        if not best > _SMALLEST_PIVOT * largest:
            return False
        pivots[first + k] = r
        if r != k:
            for j in range(n):
                A[o + k * w + j], A[o + r * w + j] = A[o + r * w + j], A[o + k * w + j]
        inverse = 1.0 / A[o + k * w + k]
        for i in range(k + 1, n):
            f = A[o + i * w + k] * inverse
            A[o + i * w + k] = f
            if f != 0.0:
                _subtract(A, o + i * w + k + 1, f, o + k * w + k + 1, n - k - 1)
    return True


@inline
def solve_block(A, o, n, w, pivots, first, r, s):
    """r <- A_pp⁻¹ r for n entries of r from s on."""
    for k in range(n):
        place = pivots[first + k]
        if place != k:
            r[s + k], r[s + place] = r[s + place], r[s + k]
    for i in range(1, n):
        y = r[s + i]
        for k in range(i):
            y -= A[o + i * w + k] * r[s + k]
        r[s + i] = y
    for i in range(n - 1, -1, -1):
        y = r[s + i]
        for k in range(i + 1, n):
            y -= A[o + i * w + k] * r[s + k]
        r[s + i] = y * (1.0 / A[o + i * w + i])


@inline
def _solve_diagonal(A, o, n, w, pivots, first, s, m):
    """B <- A_pp⁻¹ B for a block (n, m) at s."""
    for k in range(n):
        r = pivots[first + k]
        if r != k:
            for j in range(0, m, LANES):
                kept = load_from(A, s + k * m + j)
                store_from(A, s + k * m + j, load_from(A, s + r * m + j))
                store_from(A, s + r * m + j, kept)
    for j in range(0, m, LANES):
        for i in range(1, n):
            y = load_from(A, s + i * m + j)
            for k in range(i):
                y -= spread(A[o + i * w + k]) * load_from(A, s + k * m + j)
            store_from(A, s + i * m + j, y)
        for i in range(n - 1, -1, -1):
            y = load_from(A, s + i * m + j)
            for k in range(i + 1, n):
                y -= spread(A[o + i * w + k]) * load_from(A, s + k * m + j)
            store_from(A, s + i * m + j, spread(1.0 / A[o + i * w + i]) * y)


@inline
def _take_product(A, c, a, b, n, size, w, m):
    """Block (n, m) at c -= block (n, size) at a, its rows w apart, times block (size, m) at b (2)."""
    if m == 2 * LANES:
        for i in range(n):
            x, y = load_from(A, c + i * m), load_from(A, c + i * m + LANES)
            for k in range(size):
                f = spread(A[a + i * w + k])
                x -= f * load_from(A, b + k * m)
                y -= f * load_from(A, b + k * m + LANES)
            store_from(A, c + i * m, x)
            store_from(A, c + i * m + LANES, y)
        return
    for i in range(n):
        for j in range(0, m, LANES):
            x = load_from(A, c + i * m + j)
            for k in range(size):
                x -= spread(A[a + i * w + k]) * load_from(A, b + k * m + j)
            store_from(A, c + i * m + j, x)


@inline
def _eliminate(p: ConeProblem):
    """(2) for all nodes in order; False for a pivot of rounding size."""
    A, slot, later = p.blocks, p.slot, p.later
    for place in range(p.counts[NODES]):
        node = p.order[place]
        n, w, o, first = p.node_size[node], p.node_width[node], slot[node, node], p.node_start[node]
        if not factor_block(A, o, n, w, p.pivots, first):
            return False
        start, stop = p.later_start[place], p.later_start[place + 1]
        for k in range(start, stop):
            b = later[k]
            _solve_diagonal(A, o, n, w, p.pivots, first, slot[node, b], p.node_width[b])
        for k in range(start, stop):
            a = later[k]
            for r in range(start, stop):
                b = later[r]
                _take_product(A, slot[a, b], slot[a, node], slot[node, b], p.node_size[a], n, w, p.node_width[b])
    return True


@inline
def _subtract_product(p: ConeProblem, a, b):
    """Part of `load` of node a -= A_ab times that of node b."""
    A, r, o, s, t, w = p.blocks, p.load, p.slot[a, b], p.node_start[b], p.node_start[a], p.node_width[b]
    for i in range(p.node_size[a]):
        x = spread(0.0)
        for j in range(0, w, LANES):
            x += load_from(A, o + i * w + j) * load_from(r, s + j)  # type: ignore[arg-type]
        r[t + i] -= total(x)


@inline
def _substitute(p: ConeProblem):
    """load <- A⁻¹ load (3)."""
    n_nodes = p.counts[NODES]
    for place in range(n_nodes):
        node = p.order[place]
        o, s = p.slot[node, node], p.node_start[node]
        solve_block(p.blocks, o, p.node_size[node], p.node_width[node], p.pivots, s, p.load, s)
        for k in range(p.later_start[place], p.later_start[place + 1]):
            _subtract_product(p, p.later[k], node)
    for place in range(n_nodes - 1, -1, -1):
        for k in range(p.later_start[place], p.later_start[place + 1]):
            _subtract_product(p, p.order[place], p.later[k])


@inline
def solve_columns(p: ConeProblem, used, index):
    """A⁻¹ K_iᵀ of a contact, three columns in lanes: rows of LANES numbers in `blocks` from `used` on."""
    A, K, n_nodes = p.blocks, p.jacobian, p.counts[NODES]
    for i in range(p.counts[SIZE]):
        store_from(A, used + LANES * i, spread(0.0))
    for side in range(2):
        node = p.side[index, side]
        if node >= 0:
            a, m = p.jacobian_start[index, side], p.node_width[node]
            for i in range(p.node_size[node]):
                for k in range(3):
                    A[used + LANES * (p.node_start[node] + i) + k] = K[a + k * m + i]
    for place in range(n_nodes):
        node = p.order[place]
        n, w, s = p.node_size[node], p.node_width[node], used + LANES * p.node_start[node]
        reached = spread(0.0)
        for i in range(n):
            y = load_from(A, s + LANES * i)
            reached += y * y
        if total(reached) == 0.0:
            continue
        _solve_diagonal(A, p.slot[node, node], n, w, p.pivots, p.node_start[node], s, LANES)
        for k in range(p.later_start[place], p.later_start[place + 1]):
            b = p.later[k]
            _take_product(A, used + LANES * p.node_start[b], p.slot[b, node], s, p.node_size[b], n, w, LANES)
    for place in range(n_nodes - 1, -1, -1):
        node = p.order[place]
        n, s = p.node_size[node], used + LANES * p.node_start[node]
        for k in range(p.later_start[place], p.later_start[place + 1]):
            b = p.later[k]
            first, w = used + LANES * p.node_start[b], p.node_width[b]
            _take_product(A, s, p.slot[node, b], first, n, p.node_size[b], w, LANES)


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
