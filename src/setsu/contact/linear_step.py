"""The linear system of one round of a contact solver.

| symbol | meaning |
|---|---|
| C_i, e_i | (3, 3) and (3,) of contact i: δλ_i = e_i - C_i P_iᵀ δy |
| P, Λ, y, E, r | as in problem.py |

    S_b = Σ P_i C_i P_iᵀ = Σ (A, -A [r]; [r] A, -[r] A [r]),  A = Eᵀ C E,   w = Σ P_i e_i    (1)
    δy = Λ (w - S δy)                                                         (2)

(2) is solved along the tree, the stiffness of contacts added to the inertia of their body (articulated.py), whatever
the number of contacts. Where bodies touch each other or constraint rows hold it is solved by block_elimination.py.
"""

from __future__ import annotations

from setsu.contact.articulated import STIFF_FACTOR, factor_stiff, sweep
from setsu.contact.cone_problem import solve_one_round
from setsu.contact.islands import gather, has_pairs, set_roots
from setsu.contact.problem import add_wrench, set_velocity
from setsu.contact.scene import DENSE, LOAD, N_BODIES, N_CONTACTS, SOLUTION, Problem
from setsu.contact.tree import ROW, Tree
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, spread, store_from

__all__ = ["linear_step"]


@inline
def _add_stiffness(problem: Problem, index):
    """S += P C Pᵀ (1)."""
    c = problem.contacts[index]
    C, E, r, S = c.ratio, c.axes, c.arm_a, problem.stiffness[c.hub_a]
    x, y, z = r[0], r[1], r[2]
    for i in range(3):
        # Row i of A = Eᵀ C E.
        e0, e1, e2 = E[0, i], E[1, i], E[2, i]
        b0 = e0 * C[0, 0] + e1 * C[1, 0] + e2 * C[2, 0]
        b1 = e0 * C[0, 1] + e1 * C[1, 1] + e2 * C[2, 1]
        b2 = e0 * C[0, 2] + e1 * C[1, 2] + e2 * C[2, 2]
        a0 = b0 * E[0, 0] + b1 * E[1, 0] + b2 * E[2, 0]
        a1 = b0 * E[0, 1] + b1 * E[1, 1] + b2 * E[2, 1]
        a2 = b0 * E[0, 2] + b1 * E[1, 2] + b2 * E[2, 2]
        # The same row of -A [r]: the moment arm acts on the twist.
        m0, m1, m2 = a2 * y - a1 * z, a0 * z - a2 * x, a1 * x - a0 * y
        _add_row(S, i, 1.0, a0, a1, a2, m0, m1, m2)
        # Rows of [r] times this row of A.
        if i == 0:
            _add_row(S, 4, z, a0, a1, a2, m0, m1, m2)
            _add_row(S, 5, -y, a0, a1, a2, m0, m1, m2)
        elif i == 1:
            _add_row(S, 3, -z, a0, a1, a2, m0, m1, m2)
            _add_row(S, 5, x, a0, a1, a2, m0, m1, m2)
        else:
            _add_row(S, 3, y, a0, a1, a2, m0, m1, m2)
            _add_row(S, 4, -x, a0, a1, a2, m0, m1, m2)


@inline
def _add_row(S, i, f, a0, a1, a2, m0, m1, m2):
    S[i, 0] += f * a0
    S[i, 1] += f * a1
    S[i, 2] += f * a2
    S[i, 3] += f * m0
    S[i, 4] += f * m1
    S[i, 5] += f * m2


@inline
def linear_step(tree: Tree, problem: Problem):
    """Fill `change` with δλ from C and e of all contacts (1), (2); False when the linear system is singular."""
    if problem.counts[DENSE] == 1 or has_pairs(problem):
        return _step_by_blocks(tree, problem)
    n, vectors = problem.counts[N_BODIES], problem.vectors
    for k in range(n):
        for i in range(6):
            vectors[LOAD, 6 * k + i] = 0.0
            for j in range(0, ROW, LANES):
                store_from(problem.stiffness[k, i], j, spread(0.0))
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        add_wrench(problem, index, c.rest[0], c.rest[1], c.rest[2], LOAD)
        if c.ratio[0, 0] != 0.0:
            _add_stiffness(problem, index)
    if not factor_stiff(tree, problem.stiffness, problem.bodies, n):
        return False
    sweep(tree, vectors[LOAD], problem.bodies, problem.contact_index, n, STIFF_FACTOR)
    for k in range(n):
        d = tree.last[problem.bodies[k]]
        for i in range(6):
            vectors[SOLUTION, 6 * k + i] = tree.twists[d, i]
        if problem.bodies[k] >= len(tree.masses):
            vectors[SOLUTION, 6 * k] = tree.change[d]
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        C, e, u, change = c.ratio, c.rest, c.slope, c.change
        set_velocity(problem, index, SOLUTION, u)
        for k in range(3):
            change[k] = e[k] - C[k, 0] * u[0] - C[k, 1] * u[1] - C[k, 2] * u[2]
    return True


@inline
def _step_by_blocks(tree: Tree, problem: Problem):
    """The same for all contacts as one island."""
    p, n = problem.cones, problem.counts[N_CONTACTS]
    for index in range(n):
        p.members[index] = index
    set_roots(tree, problem)
    gather(tree, problem, 0, n, False)
    for index in range(n):
        c = problem.contacts[index]
        for i in range(3):
            p.rest[index, i] = c.rest[i]
            for j in range(3):
                p.ratio[index, i, j] = c.ratio[i, j]
    if not solve_one_round(p):
        return False
    for index in range(n):
        c = problem.contacts[index]
        for k in range(3):
            c.change[k], c.slope[k] = p.change[index, k], p.slope[index, k]
    return True
