"""The linear system of one round of a contact solver.

| symbol | meaning |
|---|---|
| C_i, e_i | (3, 3) and (3,) of contact i: δλ_i = e_i - C_i P_iᵀ δy |
| P, Λ, X, y | as in problem.py |

    S = Σ P_i C_i P_iᵀ,  r = Σ P_i e_i                                        (1)
    (1 + Λ S) δy = Λ r,  or (1 + Xᵀ S X) z = Xᵀ r, δy = X z                   (2)  whichever is smaller

(2) is as large as six times the bodies in contact, or as nv if that is less, whatever the number of contacts.
"""

from __future__ import annotations

from setsu.contact.factor import solve_dense
from setsu.contact.problem import add_wrench, in_x, set_velocity
from setsu.contact.scene import LOAD, SOLUTION, X_PART, Problem
from setsu.native.control_flow import part

__all__ = ["linear_step"]


@part
def _add_block(C, P, a, Q, b, S):
    """S += P C Qᵀ at the rows of body a and the columns of body b."""
    for j in range(6):
        q0, q1, q2 = Q[j, 0], Q[j, 1], Q[j, 2]
        t0 = C[0, 0] * q0 + C[0, 1] * q1 + C[0, 2] * q2
        t1 = C[1, 0] * q0 + C[1, 1] * q1 + C[1, 2] * q2
        t2 = C[2, 0] * q0 + C[2, 1] * q1 + C[2, 2] * q2
        for i in range(6):
            S[6 * a + i, 6 * b + j] += P[i, 0] * t0 + P[i, 1] * t1 + P[i, 2] * t2


@part
def _solve_in_twists(problem: Problem, n, pairs):
    """SOLUTION = δy by the first form of (2)."""
    S, M, r, y = problem.system[0], problem.system[1], problem.vectors[LOAD], problem.vectors[SOLUTION]
    coupling = problem.coupling
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += coupling[i, j] * r[j]
            # Without pairs of bodies S has blocks on its diagonal only.
            low, high = (0, n) if pairs else (j - j % 6, j - j % 6 + 6)
            m = 0.0
            for k in range(low, high):
                m += coupling[i, k] * S[k, j]
            M[i, j] = m
        M[i, i] += 1.0
        y[i] = s
    return solve_dense(M, y, n)


@part
def _solve_in_x(problem: Problem):
    """SOLUTION = δy by the second form of (2): smaller when more than nv / 6 bodies take part."""
    S, M, r, y = problem.system[0], problem.system[1], problem.vectors[LOAD], problem.vectors[SOLUTION]
    nv, T, z = problem.root.shape[2], problem.product, problem.vectors[X_PART]
    for i in range(nv):
        z[i] = 0.0
        for j in range(nv):
            M[i, j] = 0.0
        M[i, i] = 1.0
    for k in range(problem.counts[1]):
        X, support, o = problem.root[k], problem.support[k], 6 * k
        for p in range(1, support[0] + 1):
            d = support[p]
            for i in range(6):
                s = 0.0
                for j in range(6):
                    s += S[o + i, o + j] * X[j, d]
                T[i, d] = s
                z[d] += X[i, d] * r[o + i]
        for p in range(1, support[0] + 1):
            a = support[p]
            for q in range(1, support[0] + 1):
                d = support[q]
                s = 0.0
                for i in range(6):
                    s += X[i, a] * T[i, d]
                M[a, d] += s
    if not solve_dense(M, z, nv):
        return False
    for k in range(problem.counts[1]):
        X, support = problem.root[k], problem.support[k]
        for i in range(6):
            s = 0.0
            for p in range(1, support[0] + 1):
                s += X[i, support[p]] * z[support[p]]
            y[6 * k + i] = s
    return True


@part
def linear_step(problem: Problem):
    """Fill `change` with δλ from C and e of all contacts (1), (2); False when the linear system is singular."""
    n = 6 * problem.counts[1]
    S, r = problem.system[0], problem.vectors[LOAD]
    for i in range(n):
        r[i] = 0.0
        for j in range(n):
            S[i, j] = 0.0
    pairs = False
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        add_wrench(problem, index, c.rest[0], c.rest[1], c.rest[2], LOAD)
        if c.ratio[0, 0] == 0.0:
            continue
        _add_block(c.ratio, c.map_a, c.hub_a, c.map_a, c.hub_a, S)
        if c.hub_b >= 0:
            pairs = True
            _add_block(c.ratio, c.map_b, c.hub_b, c.map_b, c.hub_b, S)
            _add_block(c.ratio, c.map_a, c.hub_a, c.map_b, c.hub_b, S)
            _add_block(c.ratio, c.map_b, c.hub_b, c.map_a, c.hub_a, S)
    good = _solve_in_x(problem) if in_x(problem) else _solve_in_twists(problem, n, pairs)
    if not good:
        return False
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        C, e, u, change = c.ratio, c.rest, c.slope, c.change
        set_velocity(problem, index, SOLUTION, u)
        for k in range(3):
            change[k] = e[k] - C[k, 0] * u[0] - C[k, 1] * u[1] - C[k, 2] * u[2]
    return True
