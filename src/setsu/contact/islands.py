"""The contacts of a step as islands: what no chain of touching bodies connects is solved apart.

| symbol | meaning |
|---|---|
| tree | bodies that joints connect; one free body is one too |
| island | trees that touch, directly or over others; the environment does not connect |
| X_b, P_i | twist of a body for x of its tree (articulated.py (6)), wrench of a contact's impulse (problem.py (1)) |

    K_i = P_iᵀ X  of body a, minus that of body b                             (1)
    W_nn += soft of contact i: K_i has a column of its own, (√soft, 0, 0)ᵀ    (2)
    K_j = s E X_ω of the couple of contact i, s: couple_laws.py               (3)

Islands are found by union and find over trees. Each becomes one ConeProblem with a node per tree. Where constraint rows
hold, the whole mechanism is one node.
"""

from __future__ import annotations

import math

from setsu.contact.articulated import set_root
from setsu.contact.cone_problem import CONTACTS, NODES, NONE, ROWS, SIZE, ConeProblem
from setsu.contact.scene import DENSE, FREE, N_BODIES, N_CONTACTS, X_SIZE, Problem
from setsu.contact.tree import Tree
from setsu.contact.turning_friction import couple_size, set_turn
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from

__all__ = ["find_islands", "gather", "has_pairs", "set_roots", "take_couples"]


@inline
def has_pairs(problem: Problem):
    """Whether bodies touch each other."""
    found = False
    for index in range(problem.counts[N_CONTACTS]):
        found = found or problem.contacts[index].hub_b >= 0
    return found


@inline
def set_roots(tree: Tree, problem: Problem):
    """X of all bodies in contact, unless dense.py has done it."""
    if problem.counts[DENSE] == 0:
        for k in range(problem.counts[N_BODIES]):
            body = problem.bodies[k]
            set_root(tree, tree.last[body], body >= len(tree.masses), problem.root[k])


@inline
def _tree_of(tree: Tree, problem: Problem, contact_body):
    """Number of the tree of a body in contact; 0 where rows make all one."""
    return 0 if problem.counts[DENSE] == 1 else tree.root[tree.last[problem.bodies[contact_body]]]


@inline
def _stands_for(p: ConeProblem, k):
    """The tree that stands for the island of a tree."""
    while p.group[k] != k:
        p.group[k] = p.group[p.group[k]]
        k = p.group[k]
    return k


@inline
def find_islands(tree: Tree, problem: Problem):
    """Write the contacts to `members`, island after island; return how many islands."""
    p, n = problem.cones, problem.counts[N_CONTACTS]
    for k in range(len(p.group)):
        p.group[k] = k
        p.node[k] = NONE
    for index in range(n):
        c = problem.contacts[index]
        if c.hub_b >= 0:
            a = _stands_for(p, _tree_of(tree, problem, c.hub_a))
            b = _stands_for(p, _tree_of(tree, problem, c.hub_b))
            if a != b:
                p.group[max(a, b)] = min(a, b)
    # Count, then sort: islands in the order of their first contact, contacts in theirs. `node` numbers the islands.
    count = 0
    for index in range(n):
        island = _stands_for(p, _tree_of(tree, problem, problem.contacts[index].hub_a))
        if p.node[island] == NONE:
            p.node[island] = count
            p.island_start[count + 1] = 0
            count += 1
        p.island_start[p.node[island] + 1] += 1
    p.island_start[0] = 0
    for k in range(count):
        p.island_start[k + 1] += p.island_start[k]
    for index in range(n - 1, -1, -1):
        island = p.node[_stands_for(p, _tree_of(tree, problem, problem.contacts[index].hub_a))]
        p.island_start[island + 1] -= 1
        p.members[p.island_start[island + 1]] = index
    # Every end has become the beginning of its own island.
    for k in range(count):
        p.island_start[k] = p.island_start[k + 1]
    p.island_start[count] = n
    for k in range(len(p.node)):
        p.node[k] = NONE
    return count


@inline
def _enter(tree: Tree, problem: Problem, contact_body):
    """Node of a body in contact, made when it is new."""
    p = problem.cones
    k = _tree_of(tree, problem, contact_body)
    node = p.node[k]
    if node == NONE:
        node = p.counts[NODES]
        p.counts[NODES] = node + 1
        p.node[k] = node
        p.node_size[node] = problem.counts[X_SIZE] if problem.counts[DENSE] == 1 else tree.size[k]
    return node


@inline
def _add_jacobian(E, r, X, sign, K, o, m, n):
    """K at o (3, n) += sign · P_iᵀ X (1), X (6, m)."""
    whole, s, rx, ry, rz = m - m % LANES, spread(sign), spread(r[0]), spread(r[1]), spread(r[2])
    for d in range(0, whole, LANES):
        turn_x, turn_y, turn_z = load_from(X[3], d), load_from(X[4], d), load_from(X[5], d)
        x4 = s * (load_from(X[0], d) + turn_y * rz - turn_z * ry)
        y4 = s * (load_from(X[1], d) + turn_z * rx - turn_x * rz)
        z4 = s * (load_from(X[2], d) + turn_x * ry - turn_y * rx)
        for k in range(3):
            added = spread(E[k, 0]) * x4 + spread(E[k, 1]) * y4 + spread(E[k, 2]) * z4
            store_from(K, o + k * n + d, load_from(K, o + k * n + d) + added)
    for d in range(whole, m):
        x = sign * (X[0, d] + X[4, d] * r[2] - X[5, d] * r[1])
        y = sign * (X[1, d] + X[5, d] * r[0] - X[3, d] * r[2])
        z = sign * (X[2, d] + X[3, d] * r[1] - X[4, d] * r[0])
        K[o + d] += E[0, 0] * x + E[0, 1] * y + E[0, 2] * z
        K[o + n + d] += E[1, 0] * x + E[1, 1] * y + E[1, 2] * z
        K[o + 2 * n + d] += E[2, 0] * x + E[2, 1] * y + E[2, 2] * z


@inline
def _columns(tree: Tree, problem: Problem, contact_body):
    """Columns of X of a body."""
    return problem.counts[X_SIZE] if problem.counts[DENSE] == 1 else tree.size[_tree_of(tree, problem, contact_body)]


@inline
def _enter_all(tree: Tree, problem: Problem, first, last):
    """Nodes of the contacts `first` to `last`, with a further velocity for each soft one (2)."""
    p = problem.cones
    p.counts[CONTACTS], p.counts[NODES], p.counts[SIZE] = last - first, 0, 0
    for i in range(last - first):
        c = problem.contacts[p.members[first + i]]
        a = _enter(tree, problem, c.hub_a)
        b = _enter(tree, problem, c.hub_b) if c.hub_b >= 0 else NONE
        p.side[i, 0], p.side[i, 1] = a, NONE if b == a else b
    for i in range(last - first):
        if problem.contacts[p.members[first + i]].soft > 0.0:
            p.column[i] = p.node_size[p.side[i, 0]]
            p.node_size[p.side[i, 0]] += 1
    for node in range(p.counts[NODES]):
        p.node_start[node] = p.counts[SIZE]
        p.node_width[node] = p.node_size[node] + (-p.node_size[node]) % LANES
        p.counts[SIZE] += p.node_width[node]


@inline
def _add_turning(E, X, sign, size, K, o, m, n):
    """K at o (3, n) += sign · s E X_ω (3), X (6, m); size (2,): s about the normal, about the tangents."""
    for d in range(m):
        x, y, z = sign * X[3, d], sign * X[4, d], sign * X[5, d]
        for k in range(3):
            K[o + k * n + d] += size[min(k, 1)] * (E[k, 0] * x + E[k, 1] * y + E[k, 2] * z)


@inline
def _gather_couples(tree: Tree, problem: Problem, first, last, used):
    """Rows of the couples; used: how much of `jacobian` the contacts take."""
    p, row = problem.cones, last - first
    for i in range(last - first):
        index = p.members[first + i]
        c, size = problem.contacts[index], p.limit[row]
        if c.torsional == 0.0 and c.rolling == 0.0:
            continue
        p.partner[row], p.scale[row], p.friction[row] = i, c.scale, 0.0
        for side in range(2):
            node = p.side[row, side] = p.side[i, side]
            if node != NONE:
                p.jacobian_start[row, side] = used
                for d in range(3 * p.node_width[node]):
                    p.jacobian[used + d] = 0.0
                used += 3 * p.node_width[node]
        set_turn(problem, index, FREE, p.free[row])
        size[0], size[1] = couple_size(c, False), couple_size(c, True)
        for k in range(3):
            s = size[min(k, 1)]
            p.free[row, k] *= s
            p.impulse[row, k] = c.couple[k] / s if s > 0.0 else 0.0
        n, m = p.node_width[p.side[i, 0]], _columns(tree, problem, c.hub_a)
        _add_turning(c.axes, problem.root[c.hub_a], 1.0, size, p.jacobian, p.jacobian_start[row, 0], m, n)
        if c.hub_b >= 0:
            side = 0 if p.side[i, 1] == NONE else 1
            n, m = p.node_width[p.side[i, side]], _columns(tree, problem, c.hub_b)
            _add_turning(c.axes, problem.root[c.hub_b], -1.0, size, p.jacobian, p.jacobian_start[row, side], m, n)
        size[0] = c.torsional / size[0] if size[0] > 0.0 else 0.0
        size[1] = c.rolling / size[1] if size[1] > 0.0 else 0.0
        row += 1
    p.counts[ROWS] = row


@inline
def take_couples(problem: Problem, first):
    """Couples of the contacts from `first` of `members` on, from the rows of the island just solved."""
    p = problem.cones
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        c = problem.contacts[p.members[first + p.partner[row]]]
        for k in range(3):
            c.couple[k] = couple_size(c, k > 0) * p.impulse[row, k]


@inline
def gather(tree: Tree, problem: Problem, first, last, turning):
    """Fill the ConeProblem with the contacts `first` to `last` of `members`, impulses to start from included.

    turning: and with their couples of torsional and rolling friction.
    """
    p = problem.cones
    _enter_all(tree, problem, first, last)
    used = 0
    for i in range(last - first):
        c = problem.contacts[p.members[first + i]]
        for side in range(2):
            node = p.side[i, side]
            if node == NONE:
                continue
            n = p.node_width[node]
            p.jacobian_start[i, side] = used
            for d in range(3 * n):
                p.jacobian[used + d] = 0.0
            used += 3 * n
        n, m = p.node_width[p.side[i, 0]], _columns(tree, problem, c.hub_a)
        _add_jacobian(c.axes, c.arm_a, problem.root[c.hub_a], 1.0, p.jacobian, p.jacobian_start[i, 0], m, n)
        if c.soft > 0.0:
            p.jacobian[p.jacobian_start[i, 0] + p.column[i]] = math.sqrt(c.soft)  # (2)
        if c.hub_b >= 0:
            side = 0 if p.side[i, 1] == NONE else 1
            n, m = p.node_width[p.side[i, side]], _columns(tree, problem, c.hub_b)
            _add_jacobian(c.axes, c.arm_b, problem.root[c.hub_b], -1.0, p.jacobian, p.jacobian_start[i, side], m, n)
        p.friction[i], p.scale[i] = c.friction, c.scale
        for k in range(3):
            p.free[i, k], p.impulse[i, k] = c.free[k] + c.shift[k], c.impulse[k]
    p.counts[ROWS] = last - first
    if turning:
        _gather_couples(tree, problem, first, last, used)
    # Which tree has which node is known by the contacts from here on.
    for i in range(last - first):
        c = problem.contacts[p.members[first + i]]
        p.node[_tree_of(tree, problem, c.hub_a)] = NONE
        if c.hub_b >= 0:
            p.node[_tree_of(tree, problem, c.hub_b)] = NONE
