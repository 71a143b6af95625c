"""The default contact solver: Newton's method on the whole problem, unilateral contacts with exact friction cones.

| symbol | meaning | unit |
|---|---|---|
| λ_i, v_i | impulse and velocity of contact i: normal, tangents; v = Pᵀ y + shift + ε λ | N s, m/s |
| ρ_i | impulse per velocity of the contact, a factor times 3 / tr W_ii | kg |
| ε | compliance, 5e-7 of the mean tr W_ii / 3: makes the impulses of redundant contacts unique, the least ones | 1/kg |
| μ_i | friction coefficient in force | |

    z = λ - ρ v                                                               (1)
    open    z_n <= 0:            F = λ                                        (2)
    closed  z_n > 0:             F_n = ρ v_n                                  (3)
      stick |z_t| <= μ z_n:      F_t = ρ v_t                                  (4)
      slide |z_t| > μ z_n:       F_t = λ_t - μ z_n z_t/|z_t|                  (5)
    F(λ) = 0                                                                  (6)  <=> the contact problem
    A δλ + B δv = -F per contact,  δv_i = P_iᵀ δy + ε δλ_i,  δy = Λ P δλ      (7)
    C = (A + εB)⁻¹ B,  e = -(A + εB)⁻¹ F,  δλ = e - C Pᵀδy                    (8)  δy: linear_step.py

Source of (1)-(5): Alart and Curnier 1991; the rest follows from Λ (problem.py).

Why this method: measured (`setsu bench --only contact`, benchmarks/contact_methods.py) on contact problems of a
humanoid, all to 1e-10. Falling, from the impulses of the step before: Newton 1 round, 12 µs; ADMM 240, 186 µs;
Gauss-Seidel 450, 640 µs, and a fifth of the problems unsolved after 5000. From nothing: 3, 250, and four fifths
unsolved. Standing all start at the answer; from nothing 2, 10, unsolved.

Where modes change Newton may go around between them; then the way leads over softer contacts, ε from 1e-3 down, with
steps shortened until |F| falls. What gets stuck with one ρ goes on with another: large ones let velocities decide about
modes, small ones impulses. What is left after that, contacts that change between rest and sliding at the speed of
ε λ, is led by convex problems (cone_descent.py), with Newton's method from where each ends. The last few in ten
thousand steps of tumbling, whose |F| has valleys beside its zero, give way to patience: many short steps from the best
impulses so far, with ρ of all sizes, then from places around them.
Accuracy: |F| below 1e-10 of the largest impulse, or `converged` says no.
"""

from __future__ import annotations

import math

from setsu.contact.cone_descent import begin_descent, descend
from setsu.contact.linear_step import linear_step
from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import TWIST, Problem
from setsu.contact.tree import Tree
from setsu.native.compiled_elementary import exp
from setsu.native.control_flow import part

__all__ = ["set_trial", "solve", "take_trial"]

_ACCURACY = 1e-10
_COMPLIANCE = 5e-7
# Newton steps before the safe way is taken; full ones: the residual of (6) may climb before it falls.
_BOLD = 6
# The safe way: compliances from the first one down to the real one, and how far each but the last is solved.
_SOFTEST, _HARDENING, _ROUGH = 1e-3, 0.1, 1e-4
# Newton steps for each factor of ρ.
_CAREFUL = 10
_FACTORS = (100.0, 1000.0, 1.0, 1e4, 10.0)
_SHORTEST = 0.01
# The patient way: starts, Newton steps from each, how short they may get, widest and narrowest scatter of the starts.
_STARTS, _PATIENT, _TINY, _NARROWEST = 120, 80, 1e-3, 1e-4
# Natural logarithms of the ranges of ρ, five decades, and of the scatter, from _NARROWEST to 3.
_DECADES, _SPREAD = 11.512925464970229, 10.308952660644293
# The sure way: how often friction is made to agree, how far each convex problem is solved, when halves are taken.
_TURNS, _FINE, _WHOLE = 40, 1e-7, 4


@part
def _residual(tree: Tree, problem: Problem, eps, factor):
    """Velocities and F for the trial impulses; return its largest entry (N s) and the sum of squares."""
    set_twists(tree, problem)
    worst = total = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        f, v, rho, mu = c.trial, c.velocity, factor * c.scale, c.friction
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
        total += f0 * f0 + f1 * f1 + f2 * f2
    return worst, total


@part
def _blocks(problem: Problem, index, eps, factor):
    """Fill C and e of a contact (8)."""
    c = problem.contacts[index]
    f, v, rho, mu, C, e = c.impulse, c.velocity, factor * c.scale, c.friction, c.ratio, c.rest
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
def _keep_on_cones(problem: Problem):
    """For sliding contacts take δλ_t from the rounded δλ_n, so that impulses stay on their cones."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        C, t, u, change = c.ratio, c.slide, c.slope, c.change
        if C[1, 0] != 0.0 or C[2, 0] != 0.0:
            for k in range(2):
                change[1 + k] = t[k, 0] + t[k, 1] * change[0] - t[k, 2] * u[0] - C[1 + k, 1] * u[1] - C[1 + k, 2] * u[2]


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
def _largest_impulse(problem: Problem):
    """The size of impulses that the free velocities call for, N s."""
    largest = 1e-300
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            largest = max(largest, c.scale * abs(c.free[k] + c.shift[k]))
    return largest


@part
def _newton(tree: Tree, problem: Problem, eps, factor, goal, most, shortest):
    """Newton's method from `impulse` until |F| <= goal; return (|F|, rounds). Steps may shrink to `shortest`."""
    set_trial(problem, 0.0)
    worst, total = _residual(tree, problem, eps, factor)
    rounds = 0
    while worst > goal and rounds < most:
        rounds += 1
        for index in range(problem.counts[0]):
            _blocks(problem, index, eps, factor)
        if not linear_step(tree, problem):
            break
        _keep_on_cones(problem)
        length, best, best_total = 1.0, 1.0, math.inf
        while True:
            set_trial(problem, length)
            worst, now = _residual(tree, problem, eps, factor)
            if now < best_total:
                best, best_total = length, now
            if now < (1.0 - 0.1 * length) * total or length <= shortest:
                break
            length *= 0.4
        if length != best:
            set_trial(problem, best)
            worst, now = _residual(tree, problem, eps, factor)
        total = now
        take_trial(problem)
    return worst, rounds


@part
def _take_start(problem: Problem):
    """impulse = start."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.impulse[k] = c.start[k]


@part
def _set_start(problem: Problem):
    """start = impulse."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.start[k] = c.impulse[k]


@part
def _try_newton(tree: Tree, problem: Problem, eps, factor, goal, most, shortest, best):
    """Newton's method from the impulses at hand; where |F| falls below `best`, `start`. Return (|F|, rounds)."""
    _, rounds = _newton(tree, problem, eps, factor, goal, most, shortest)
    set_trial(problem, 0.0)
    worst, _ = _residual(tree, problem, eps, 1.0)
    if worst < best:
        _set_start(problem)
    return worst, rounds


@part
def _solve_carefully(tree: Tree, problem: Problem, eps, goal):
    """Try every factor of ρ from `start`; leave the best impulses there; return (|F|, rounds)."""
    best, rounds = math.inf, 0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.kept_start[k] = c.start[k]
    for factor in _FACTORS:
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            for k in range(3):
                c.impulse[k] = c.kept_start[k]
        worst, more = _try_newton(tree, problem, eps, factor, goal, _CAREFUL, _SHORTEST, best)
        best, rounds = min(best, worst), rounds + more
        if worst <= goal:
            break
    return best, rounds


@part
def solve(tree: Tree, problem: Problem):
    """Find the impulses; `shift`, `friction` and a start in `impulse` are given. Return (residual, rounds, converged).

    The residual is |F| in parts of the largest impulse at hand. WRENCH and TWIST are those of the result.
    """
    count = problem.counts[0]
    unit = 0.0
    for index in range(count):
        c = problem.contacts[index]
        unit += 1.0 / c.scale
        for k in range(3):
            c.change[k] = 0.0
    unit /= max(1, count)
    largest = _largest_impulse(problem)
    accuracy = _ACCURACY * largest
    _set_start(problem)
    worst, rounds = _newton(tree, problem, _COMPLIANCE * unit, 1.0, accuracy, _BOLD, 1.0)
    if not worst <= accuracy:
        soft = _SOFTEST
        while soft > 1.5 * _COMPLIANCE:
            _, more = _solve_carefully(tree, problem, soft * unit, _ROUGH * largest)
            rounds += more
            soft *= _HARDENING
        worst, more = _solve_carefully(tree, problem, _COMPLIANCE * unit, accuracy)
        rounds += more
        if not worst <= accuracy:
            worst, more = _solve_surely(tree, problem, _COMPLIANCE * unit, accuracy, largest)
            rounds += more
        if not worst <= accuracy:
            rounds += _solve_patiently(tree, problem, _COMPLIANCE * unit, accuracy, largest)
        _take_start(problem)
        set_trial(problem, 0.0)
        worst, _ = _residual(tree, problem, _COMPLIANCE * unit, 1.0)
    return worst / largest, rounds, worst <= accuracy


@part
def _solve_surely(tree: Tree, problem: Problem, eps, accuracy, largest):
    """Descend (cone_descent.py) from `start`, and try Newton's method from where that leads; best impulses: `start`."""
    _take_start(problem)
    set_trial(problem, 0.0)
    best, _ = _residual(tree, problem, eps, 1.0)
    begin_descent(problem)
    rounds = 0
    for turn in range(_TURNS):
        # Near the end friction may go to and fro unless it is taken by halves.
        rounds += descend(tree, problem, eps, _FINE * largest, 1.0 if turn < _WHOLE else 0.5)
        worst, more = _newton(tree, problem, eps, 1.0, accuracy, _BOLD, 1.0)
        rounds += more
        if worst < best:
            best = worst
            _set_start(problem)
        if worst <= accuracy:
            break
    return best, rounds


@part
def _solve_patiently(tree: Tree, problem: Problem, eps, accuracy, largest):
    """Newton's method with ρ of all sizes from `start` and from around it; best impulses: `start`. Return rounds."""
    _take_start(problem)
    set_trial(problem, 0.0)
    best, _ = _residual(tree, problem, eps, 1.0)
    rounds, chance = 0, 1
    for number in range(_STARTS):
        # Evenly spread numbers, the same in every run: from 0.1 to 1e4, and scatter from nothing to all.
        factor = 0.1 * exp(_DECADES * ((number * 0.6180339887498949 + 0.5) % 1.0))
        scatter = 0.0 if number % 4 == 0 else largest * _NARROWEST * exp(_SPREAD * number / _STARTS)
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            for k in range(3):
                chance = (1103515245 * chance + 12345) % 2147483648
                c.impulse[k] = c.start[k] + scatter * (chance / 1073741824.0 - 1.0)
        worst, more = _try_newton(tree, problem, eps, factor, accuracy, _PATIENT, _TINY, best)
        best, rounds = min(best, worst), rounds + more
        if worst <= accuracy:
            break
    return rounds
