"""The default contact solver: Newton's method on the whole problem, unilateral contacts with exact friction cones.

| symbol | meaning | unit |
|---|---|---|
| λ_i, v_i | impulse and velocity of contact i: normal, tangents; v = Pᵀ y + shift + ε λ | N s, m/s |
| ρ_i | impulse per velocity of the contact, 3 / tr W_ii | kg |
| ε | compliance, 1e-8 of the mean 1/ρ: makes the impulses of redundant contacts unique, the least ones | 1/kg |
| μ_i | friction coefficient in force | |

    z = λ - ρ v                                                               (1)
    open    z_n <= 0:            F = λ                                        (2)
    closed  z_n > 0:             F_n = ρ v_n                                  (3)
      stick |z_t| <= μ z_n:      F_t = ρ v_t                                  (4)
      slide |z_t| > μ z_n:       F_t = λ_t - μ z_n z_t/|z_t|                  (5)
    F(λ) = 0                                                                  (6)  <=> the contact problem
    A δλ + B δv = -F per contact,  δv_i = P_iᵀ δy + ε δλ_i,  δy = Λ P δλ      (7)
    S = Σ P_i C_i P_iᵀ,  C = (A + εB)⁻¹ B,  e = -(A + εB)⁻¹ F,  r = Σ P_i e_i (8)
    (1 + Λ S) δy = Λ r,  or (1 + Xᵀ S X) z = Xᵀ r, δy = X z;  δλ = e - C Pᵀδy  (9)

Source of (1)-(5): Alart and Curnier 1991; the rest follows from Λ (problem.py). Why this method: measured on boxes and
humanoids, sweeps over single contacts (gauss_seidel.py) need hundreds of rounds for 1e-10 where contacts are redundant;
Newton needs one or two linear solves from the last step's impulses while modes stay, and rarely more than eight when
they change. (9) makes such a solve as large as six times the bodies in contact, or as nv if that is less, whatever the
number of contacts: the cost per contact is linear. Newton's method alone may go around between modes; then sweeps
improve the point it starts from.
Accuracy: |F| below 1e-10 of the largest impulse, or `converged` says no.
"""

from __future__ import annotations

import math

from setsu.contact.factor import solve_dense
from setsu.contact.gauss_seidel import sweep
from setsu.contact.problem import add_wrench, set_twists, set_velocity
from setsu.contact.scene import LOAD, SOLUTION, TWIST, X_PART, Problem
from setsu.native.control_flow import part

__all__ = ["linear_step", "set_trial", "solve", "take_trial"]

_COMPLIANCE = 1e-8
_ACCURACY = 1e-10
_ROUNDS = 32
# Newton steps in a row; full ones: the residual of (6) may climb before it falls.
_BOLD = 8
# So many steps may bring nothing when only rounding is left.
_STRIKES = 6
# Within this part of the largest impulse only rounding is left: sweeps would not help.
_NEARLY = 1e-7


@part
def _residual(problem: Problem, eps):
    """Velocities and F for the trial impulses; return its largest entry (N s)."""
    set_twists(problem)
    worst = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        f, v, rho, mu = c.trial, c.velocity, c.scale, c.friction
        set_velocity(problem, index, TWIST, v)
        for k in range(3):
            v[k] += c.shift[k] + eps * f[k]
        zn = f[0] - rho * v[0]
        if zn <= 0.0:
            f0, f1, f2 = f[0], f[1], f[2]  # (2)
        else:
            z1, z2 = f[1] - rho * v[1], f[2] - rho * v[2]
            length = math.sqrt(z1 * z1 + z2 * z2)
            f0 = rho * v[0]  # (3)
            if length <= mu * zn:
                f1, f2 = rho * v[1], rho * v[2]  # (4)
            else:
                f1, f2 = f[1] - mu * zn * z1 / length, f[2] - mu * zn * z2 / length  # (5)
        worst = max(worst, abs(f0), abs(f1), abs(f2))
    return worst


@part
def _blocks(problem: Problem, index, eps):
    """Fill C and e of a contact (8)."""
    c = problem.contacts[index]
    f, v, rho, mu, C, e = c.impulse, c.velocity, c.scale, c.friction, c.ratio, c.rest
    for i in range(3):
        for j in range(3):
            C[i, j] = 0.0
    zn = f[0] - rho * v[0]
    if zn <= 0.0:
        e[0], e[1], e[2] = -f[0], -f[1], -f[2]
        return
    soft = 1.0 / eps
    # First row: ρ δv_n = -ρ v_n, so δλ_n = -(v_n + P_nᵀ δy)/ε.
    C[0, 0] = soft
    e[0] = -soft * v[0]
    z1, z2 = f[1] - rho * v[1], f[2] - rho * v[2]
    length = math.sqrt(z1 * z1 + z2 * z2)
    if length <= mu * zn:
        C[1, 1] = C[2, 2] = soft
        e[1], e[2] = -soft * v[1], -soft * v[2]
        return
    # Slide: (1 + κ(ερ - 1) N) δλ_t + μ d (ρ δu_n + (ρε - 1) δλ_n) + κρ N δu_t = -F_t, N = 1 - d dᵀ, u = Pᵀ y.
    d1, d2 = z1 / length, z2 / length
    kappa = mu * zn / length
    n11, n12, n22 = 1.0 - d1 * d1, -d1 * d2, 1.0 - d2 * d2
    m = kappa * (eps * rho - 1.0)
    a11, a12, a22 = 1.0 + m * n11, m * n12, 1.0 + m * n22
    inverse = 1.0 / (a11 * a22 - a12 * a12)
    g11, g12, g22 = inverse * a22, -inverse * a12, inverse * a11
    # δλ_n = e_n - C_nn δu_n put in.
    along = mu * (rho - (rho * eps - 1.0) * soft)
    fixed = mu * (rho * eps - 1.0) * e[0]
    f1, f2 = f[1] - mu * zn * d1 + fixed * d1, f[2] - mu * zn * d2 + fixed * d2
    e[1], e[2] = -(g11 * f1 + g12 * f2), -(g12 * f1 + g22 * f2)
    C[1, 0], C[2, 0] = along * (g11 * d1 + g12 * d2), along * (g12 * d1 + g22 * d2)
    t = c.slide
    f1, f2 = f[1] - mu * zn * d1, f[2] - mu * zn * d2
    t[0, 0], t[1, 0] = -(g11 * f1 + g12 * f2), -(g12 * f1 + g22 * f2)
    normal = -mu * (rho * eps - 1.0)
    t[0, 1], t[1, 1] = normal * (g11 * d1 + g12 * d2), normal * (g12 * d1 + g22 * d2)
    t[0, 2], t[1, 2] = mu * rho * (g11 * d1 + g12 * d2), mu * rho * (g12 * d1 + g22 * d2)
    k = kappa * rho
    C[1, 1], C[1, 2] = k * (g11 * n11 + g12 * n12), k * (g11 * n12 + g12 * n22)
    C[2, 1], C[2, 2] = k * (g12 * n11 + g22 * n12), k * (g12 * n12 + g22 * n22)


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
    """SOLUTION = δy by the first form of (9)."""
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
    """SOLUTION = δy by the second form of (9): smaller when more than nv / 6 bodies take part."""
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
    """Fill `change` with δλ from C and e of all contacts (8), (9); False when the linear system is singular."""
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
    good = _solve_in_x(problem) if n > problem.root.shape[2] and not pairs else _solve_in_twists(problem, n, pairs)
    if not good:
        return False
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        C, e, change = c.ratio, c.rest, c.change
        set_velocity(problem, index, SOLUTION, change)
        u0, u1, u2 = change[0], change[1], change[2]
        for k in range(3):
            change[k] = e[k] - C[k, 0] * u0 - C[k, 1] * u1 - C[k, 2] * u2
        if c.ratio[0, 0] != 0.0 and c.ratio[1, 0] != 0.0:
            # Sliding: δλ_t from the rounded δλ_n, so that the impulse stays on its cone.
            t = c.slide
            for k in range(2):
                change[1 + k] = t[k, 0] + t[k, 1] * change[0] - t[k, 2] * u0 - C[1 + k, 1] * u1 - C[1 + k, 2] * u2
    return True


@part
def set_trial(problem: Problem, length):
    """trial = impulse + length · change."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.trial[k] = c.impulse[k] + length * c.change[k]


@part
def take_trial(problem: Problem):
    """impulse = trial."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.impulse[k] = c.trial[k]


@part
def solve(problem: Problem):
    """Find the impulses; `shift`, `friction` and a start in `impulse` are given. Return (residual, rounds, converged).

    The residual is |F| in parts of the largest impulse at hand. WRENCH and TWIST are those of the result.
    """
    count = problem.counts[0]
    eps, largest = 0.0, 1e-300
    for index in range(count):
        c = problem.contacts[index]
        eps += 1.0 / c.scale
        for k in range(3):
            largest = max(largest, c.scale * abs(c.free[k] + c.shift[k]))
            c.change[k] = 0.0
    eps *= _COMPLIANCE / max(1, count)
    accuracy = _ACCURACY * largest
    set_trial(problem, 0.0)
    worst = _residual(problem, eps)
    rounds = strikes = 0
    while worst > accuracy and rounds < _ROUNDS:
        if rounds > 0 and rounds % _BOLD == 0 and worst > _NEARLY * largest:
            # Newton's method goes around in circles: let every contact find its own mode for a while.
            set_trial(problem, 0.0)
            sweep(problem, rounds, eps)
            worst = _residual(problem, eps)
            take_trial(problem)
        rounds += 1
        for index in range(count):
            _blocks(problem, index, eps)
        if not linear_step(problem):
            break
        set_trial(problem, 1.0)
        new_worst = _residual(problem, eps)
        if worst <= _NEARLY * largest and new_worst > 0.5 * worst:
            strikes += 1
            if strikes > _STRIKES:
                break
        worst = new_worst
        take_trial(problem)
    if worst > accuracy:
        set_trial(problem, 0.0)
        if worst > _NEARLY * largest:
            sweep(problem, 100, eps)
        worst = _residual(problem, eps)
        take_trial(problem)
    return worst / largest, rounds, worst <= accuracy
