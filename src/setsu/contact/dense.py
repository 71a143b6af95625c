"""Contacts of a mechanism whose bodies touch each other or that constraint rows hold: matrices of size nv.

| symbol | meaning |
|---|---|
| J_b | Jacobian of a body, (6, nv), at its origin, world axes |
| X_b | J_b L⁻¹ D^-½ (factor.py): y_b = X_b x |
| S_b, C_i | stiffness of a body's contacts with the environment, of a contact between bodies |
| K_i | P_aᵀ X_a - P_bᵀ X_b of a contact between bodies, (3, nv) |

    column d of J_b = (l_d + a_d x (o_b - o_d), a_d)                          (1)  velocity d on the way to the base
    Λ = X Xᵀ                                                                  (2)
    X_b <- X_b - (X_b Gₓᵀ) (Gₓ Gₓᵀ)⁻¹ Gₓ,   Gₓ = G L⁻¹ D^-½                   (3)  rows of loops, couplings, surfaces
    (1 + Σ X_bᵀ S_b X_b + Σ K_iᵀ C_i K_i) z = Xᵀ r,  δy = X z                 (4)

Cost O(nv³) per round.
"""

from __future__ import annotations

from setsu.contact.factor import solve_dense, x_to_velocity
from setsu.contact.free_motion import CHANGE, ROOT, Motion
from setsu.contact.scene import BEFORE, FREE, LOAD, SOLUTION, TWIST, WRENCH, X_PART, Problem, Scene
from setsu.native.control_flow import part

__all__ = ["apply_dense", "enter_dense", "set_dense_twists", "solve_in_x"]


@part
def enter_dense(scene: Scene, problem: Problem, motion: Motion, rows, k, root, v, v_free):
    """X, twists before and without impulses, and Λ_bb of the body at position k."""
    body, poses, columns, H = problem.bodies[k], motion.poses, motion.columns, motion.H
    start, stop = scene.bodies[body].path_start, scene.bodies[body].path_stop
    X, nv, path = problem.root[k], len(v), scene.path
    ox = oy = oz = 0.0
    if body < len(poses):
        ox, oy, oz = poses[body, 0, 3], poses[body, 1, 3], poses[body, 2, 3]
    for i in range(6):
        for d in range(nv):
            X[i, d] = 0.0
    if body >= len(poses):
        X[0, path[stop - 1]] = 1.0  # stands for a joint (joint_stops.py)
    for p in range(start, stop if body < len(poses) else start):
        d = path[p]
        origin = scene.dof_body[d]
        rx, ry, rz = ox - poses[origin, 0, 3], oy - poses[origin, 1, 3], oz - poses[origin, 2, 3]
        ax, ay, az = columns[3, d], columns[4, d], columns[5, d]
        X[0, d] = columns[0, d] + ay * rz - az * ry  # (1)
        X[1, d] = columns[1, d] + az * rx - ax * rz
        X[2, d] = columns[2, d] + ax * ry - ay * rx
        X[3, d], X[4, d], X[5, d] = ax, ay, az
    for i in range(6):
        before = free = 0.0
        for p in range(start, stop):
            d = path[p]
            before += X[i, d] * v[d]
            free += X[i, d] * v_free[d]
        problem.vectors[BEFORE, 6 * k + i], problem.vectors[FREE, 6 * k + i] = before, free
        # x of a force on the velocities of this path alone (factor.py (2))
        for p in range(stop - 1, start - 1, -1):
            e = path[p]
            y = X[i, e]
            for o in range(start, p):
                X[i, path[o]] -= H[e, path[o]] * y
            X[i, e] = y * root[e]
    for r in range(len(rows)):  # (3), rows made orthonormal beforehand
        for i in range(6):
            s = 0.0
            for d in range(nv):
                s += X[i, d] * rows[r, d]
            for d in range(nv):
                X[i, d] -= s * rows[r, d]
    support = problem.support[k]
    support[0] = nv if len(rows) > 0 else stop - start
    for p in range(support[0]):
        support[1 + p] = p if len(rows) > 0 else path[start + p]
    for i in range(6):
        for j in range(6):
            s = 0.0
            for p in range(1, support[0] + 1):
                s += X[i, support[p]] * X[j, support[p]]  # (2)
            problem.own[k, i, j] = s


@part
def _to_x(problem: Problem, row):
    """X_PART = Xᵀ times a row of `vectors`."""
    z = problem.vectors[X_PART]
    for d in range(problem.root.shape[2]):
        z[d] = 0.0
    for k in range(problem.counts[1]):
        X, support = problem.root[k], problem.support[k]
        for i in range(6):
            w = problem.vectors[row, 6 * k + i]
            for p in range(1, support[0] + 1):
                z[support[p]] += X[i, support[p]] * w


@part
def _from_x(problem: Problem, row):
    """A row of `vectors` = X times X_PART."""
    z = problem.vectors[X_PART]
    for k in range(problem.counts[1]):
        X, support = problem.root[k], problem.support[k]
        for i in range(6):
            s = 0.0
            for p in range(1, support[0] + 1):
                s += X[i, support[p]] * z[support[p]]
            problem.vectors[row, 6 * k + i] = s


@part
def set_dense_twists(problem: Problem):
    """TWIST = FREE + Λ WRENCH."""
    _to_x(problem, WRENCH)
    _from_x(problem, TWIST)
    for i in range(6 * problem.counts[1]):
        problem.vectors[TWIST, i] += problem.vectors[FREE, i]


@part
def apply_dense(scene: Scene, problem: Problem, motion: Motion):
    """CHANGE = L⁻¹ D^-½ Xᵀ w: velocity (or displacement) from the wrench impulses."""
    _to_x(problem, WRENCH)
    x = motion.vectors[CHANGE]
    for d in range(len(x)):
        x[d] = problem.vectors[X_PART, d]
    x_to_velocity(motion.H, scene.parent, motion.vectors[ROOT], x)


@part
def _add_bodies(problem: Problem, M):
    """M += Σ X_bᵀ S_b X_b."""
    T = problem.product
    for k in range(problem.counts[1]):
        X, support, S = problem.root[k], problem.support[k], problem.stiffness[k]
        for p in range(1, support[0] + 1):
            d = support[p]
            for i in range(6):
                s = 0.0
                for j in range(6):
                    s += S[i, j] * X[j, d]
                T[i, d] = s
        for p in range(1, support[0] + 1):
            a = support[p]
            for q in range(1, support[0] + 1):
                d = support[q]
                s = 0.0
                for i in range(6):
                    s += X[i, a] * T[i, d]
                M[a, d] += s


@part
def _add_pair(problem: Problem, index, M):
    """M += K_iᵀ C_i K_i."""
    c, K, nv = problem.contacts[index], problem.product, problem.root.shape[2]
    E, C, A, B, r, s = c.axes, c.ratio, problem.root[c.hub_a], problem.root[c.hub_b], c.arm_a, c.arm_b
    for d in range(nv):
        x = A[0, d] + A[4, d] * r[2] - A[5, d] * r[1] - B[0, d] - B[4, d] * s[2] + B[5, d] * s[1]
        y = A[1, d] + A[5, d] * r[0] - A[3, d] * r[2] - B[1, d] - B[5, d] * s[0] + B[3, d] * s[2]
        z = A[2, d] + A[3, d] * r[1] - A[4, d] * r[0] - B[2, d] - B[3, d] * s[1] + B[4, d] * s[0]
        for k in range(3):
            K[k, d] = E[k, 0] * x + E[k, 1] * y + E[k, 2] * z
        for k in range(3):
            K[3 + k, d] = C[k, 0] * K[0, d] + C[k, 1] * K[1, d] + C[k, 2] * K[2, d]
    for a in range(nv):
        x, y, z = K[0, a], K[1, a], K[2, a]
        if x != 0.0 or y != 0.0 or z != 0.0:
            for d in range(nv):
                M[a, d] += x * K[3, d] + y * K[4, d] + z * K[5, d]


@part
def solve_in_x(problem: Problem):
    """SOLUTION = δy (4) from LOAD and the stiffness of all contacts; False when the system is singular."""
    M, nv = problem.system, problem.root.shape[2]
    for i in range(nv):
        for j in range(nv):
            M[i, j] = 0.0
        M[i, i] = 1.0
    _add_bodies(problem, M)
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.hub_b >= 0 and c.ratio[0, 0] != 0.0:
            _add_pair(problem, index, M)
    _to_x(problem, LOAD)
    if not solve_dense(M, problem.vectors[X_PART], nv):
        return False
    _from_x(problem, SOLUTION)
    return True
