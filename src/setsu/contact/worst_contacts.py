"""Newton's method with the worst contacts solved exactly: nonlinear elimination of what full steps go around with.

| symbol | meaning | unit |
|---|---|---|
| S | contacts whose law the last step missed most, at most WORST | |
| A, C_i, e_i | linear system of a round without S, and of contact i not in S (block_elimination.py) | |
| λ, v | impulses and velocities of S | N s, m/s |
| G | velocities of S for their impulses, all other contacts following as linearised | 1/kg |

    G = K_S A⁻¹ K_Sᵀ,   b = v - (G + ε) λ + K_S A⁻¹ Σ K_iᵀ e_i                (1)
    F(λ, (G + ε) λ + b) = 0  for S alone                                      (2)
    (1 + C G) δλ = e                                                          (3)  Newton's step for (2)

Contacts that stick or stay open are linear: a full step solves them exactly. What goes around is a handful that change
between modes or slide at the speed of their own compliance, where friction turns with every step. (2) has the size of
these alone, and its line search does not shorten the steps of all others. Where a step from there misses the law of
further contacts by much, it is taken again with these in S.
Source: nonlinear elimination, Lanzkron, Rose and Wilkes 1996. Cost of a round: that of Newton's method, and |S|
substitutions of three columns; |S|³ per round of (3).
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import factor_block, solve_block, solve_columns, solve_round
from setsu.contact.cone_laws import follow_normal, law_blocks, law_error
from setsu.contact.cone_newton import copy_impulses
from setsu.contact.cone_problem import CONTACTS, NONE, WORST, ConeProblem, set_velocities
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from

__all__ = ["newton_of_worst"]

# Rows of ConeProblem.few; entries of a row of `response`.
_FROM, _BASE, _IMPULSE, _VELOCITY, _TRIAL, _LEAST = range(6)
_WIDTH = 3 * WORST + LANES
# How many contacts join at a time; of the largest |F|: how bad they are at least; growth of |F| that is taken again.
_JOINING, _BAD, _GROWTH = 8, 1e-2, 10.0
# Newton's method on S: factors of ρ, rounds of each, shortest step,
# decrease; how far, in parts of the goal.
_FACTORS, _ROUNDS, _SHORTER, _SHORTEST, _DECREASE, _FAR = (10.0, 1e3, 1.0), 20, 0.4, 1e-2, 0.1, 1.0


@inline
def _largest_error(p: ConeProblem, impulses, index):
    """The largest entry of F of a contact."""
    a, b, c = law_error(impulses[index], p.velocity[index], p.scale[index], p.friction[index])
    return max(abs(a), abs(b), abs(c))


@inline
def _worst_error(p: ConeProblem, impulses):
    """The largest entry of F."""
    worst = 0.0
    for index in range(p.counts[CONTACTS]):
        error = _largest_error(p, impulses, index)
        if not error <= worst:
            worst = error
    return worst


@inline
def _join(p: ConeProblem, count, least):
    """Add contacts with the largest errors at `trial`, above `least`, to the `count` of `worst`; return how many."""
    most = min(WORST, count + _JOINING)
    while count < most:
        chosen, largest = NONE, least
        for index in range(p.counts[CONTACTS]):
            error = _largest_error(p, p.trial, index)
            if error > largest:
                known = False
                for k in range(count):
                    known = known or p.worst[k] == index
                if not known:
                    chosen, largest = index, error
        if chosen == NONE:
            break
        p.worst[count] = chosen
        count += 1
    return count


@inline
def _set_response(p: ConeProblem, used, count):
    """G (1)."""
    K, A, G = p.jacobian, p.blocks, p.response
    for column in range(count):
        solve_columns(p, used, p.worst[column])
        for row in range(count):
            index = p.worst[row]
            for k in range(3):
                y = spread(0.0)
                for side in range(2):
                    node = p.side[index, side]
                    if node >= 0:
                        m, x = p.node_width[node], used + LANES * p.node_start[node]
                        a = p.jacobian_start[index, side] + k * m
                        for d in range(p.node_size[node]):
                            y += spread(K[a + d]) * load_from(A, x + LANES * d)  # type: ignore[arg-type]
                store_from(G, (3 * row + k) * _WIDTH + 3 * column, y)  # its last lane is the next column's


@inline
def _set_few_velocities(p: ConeProblem, count, eps, impulses):
    """Velocities of S for their impulses (2); return the largest entry of F with the factor 1 of ρ."""
    G, v, b = p.response, p.few[_VELOCITY], p.few[_BASE]
    worst = 0.0
    for i in range(count):
        for k in range(3):
            y, o = b[i, k] + eps * impulses[i, k], (3 * i + k) * _WIDTH
            for j in range(count):
                f = impulses[j]
                y += G[o + 3 * j] * f[0] + G[o + 3 * j + 1] * f[1] + G[o + 3 * j + 2] * f[2]
            v[i, k] = y
        index = p.worst[i]
        a, c, d = law_error(impulses[i], v[i], _few_scale(p, i, eps), p.friction[index])
        worst = max(worst, abs(a), abs(c), abs(d))
    return worst


@inline
def _few_scale(p: ConeProblem, i, eps):
    """Impulse per velocity of a contact of S: that of G."""
    o = 3 * i * (_WIDTH + 1)
    trace = p.response[o] + p.response[o + _WIDTH + 1] + p.response[o + 2 * _WIDTH + 2]
    return 3.0 / max(trace, 3.0 * eps)


@inline
def _few_total(p: ConeProblem, count, eps, factor, impulses):
    """Sum of squares of F at impulses whose velocities are set."""
    total = 0.0
    for i in range(count):
        v, mu = p.few[_VELOCITY, i], p.friction[p.worst[i]]
        a, b, c = law_error(impulses[i], v, factor * _few_scale(p, i, eps), mu)
        total += a * a + b * b + c * c
    return total


@inline
def _few_step(p: ConeProblem, count, eps, factor):
    """δλ of S (3) into `change`; False where the system is singular."""
    J, G, r, n = p.few_matrix, p.response, p.few_load, 3 * count
    for i in range(count):
        index = p.worst[i]
        C, e = p.ratio[index], p.rest[index]
        law_blocks(
            p.few[_IMPULSE, i], p.few[_VELOCITY, i], factor * _few_scale(p, i, eps), p.friction[index], eps, C, e,
            p.slide[index],
        )  # fmt: skip
        g = 3 * i * _WIDTH
        for k in range(3):
            o, x, y, z = g + k * _WIDTH, spread(C[k, 0]), spread(C[k, 1]), spread(C[k, 2])
            for j in range(0, n, LANES):
                row = x * load_from(G, g + j) + y * load_from(G, g + _WIDTH + j) + z * load_from(G, g + 2 * _WIDTH + j)
                store_from(J, o + j, row)
            J[o + 3 * i + k] += 1.0
            r[3 * i + k] = e[k]
    if not factor_block(J, 0, n, _WIDTH, p.few_pivots, 0):
        return False
    solve_block(J, 0, n, _WIDTH, p.few_pivots, 0, r, 0)
    for i in range(count):
        index = p.worst[i]
        change, u = p.change[index], p.slope[index]
        for k in range(3):
            change[k], y, o = r[3 * i + k], 0.0, (3 * i + k) * _WIDTH
            for j in range(n):
                y += G[o + j] * r[j]
            u[k] = y
        follow_normal(p.ratio[index], p.slide[index], u, change)
    return True


@inline
def _solve_few(p: ConeProblem, count, eps, goal):
    """Solve (2) from `impulse`; leave δλ in `rest` and nothing in `ratio` of S."""
    f, trial, least = p.few[_IMPULSE], p.few[_TRIAL], math.inf
    for factor in _FACTORS:
        for i in range(count):
            for k in range(3):
                f[i, k] = p.few[_FROM, i, k]
        worst = _set_few_velocities(p, count, eps, f)
        total, rounds = _few_total(p, count, eps, factor, f), 0
        while worst > goal and rounds < _ROUNDS:
            rounds += 1
            if not _few_step(p, count, eps, factor):
                break
            length = 1.0
            while True:
                for i in range(count):
                    for k in range(3):
                        trial[i, k] = f[i, k] + length * p.change[p.worst[i], k]
                worst = _set_few_velocities(p, count, eps, trial)
                now = _few_total(p, count, eps, factor, trial)
                if now < (1.0 - _DECREASE * length) * total or length <= _SHORTEST:
                    break
                length *= _SHORTER
            total = now
            for i in range(count):
                for k in range(3):
                    f[i, k] = trial[i, k]
        if worst < least:
            least = worst
            for i in range(count):
                for k in range(3):
                    p.few[_LEAST, i, k] = f[i, k]
        if least <= goal:
            break
    _forget_laws(p, count)
    if least < math.inf:
        for i in range(count):
            for k in range(3):
                p.rest[p.worst[i], k] = p.few[_LEAST, i, k] - p.few[_FROM, i, k]


@inline
def _forget_laws(p: ConeProblem, count):
    """S takes no part in the linear system."""
    for i in range(count):
        index = p.worst[i]
        for k in range(3):
            p.rest[index, k] = 0.0
            for j in range(3):
                p.ratio[index, k, j] = 0.0


@inline
def _take_few(p: ConeProblem, used, count, eps):
    """(1) from the slope that the other contacts give alone."""
    _set_response(p, used, count)
    for i in range(count):
        index = p.worst[i]
        for k in range(3):
            p.few[_FROM, i, k], p.few[_BASE, i, k] = p.impulse[index, k], 0.0
    _set_few_velocities(p, count, eps, p.few[_FROM])
    for i in range(count):
        index = p.worst[i]
        for k in range(3):
            p.few[_BASE, i, k] = p.velocity[index, k] + p.slope[index, k] - p.few[_VELOCITY, i, k]


@inline
def newton_of_worst(p: ConeProblem, used, eps, damping, goal, most):
    """From `impulse`, whose velocities are known, until |F| <= goal (N s); return (|F|, rounds)."""
    worst = _worst_error(p, p.impulse)
    rounds, count = 0, 0
    while worst > goal and rounds < most:
        rounds += 1
        for index in range(p.counts[CONTACTS]):
            law_blocks(
                p.impulse[index], p.velocity[index], p.scale[index], p.friction[index], damping, p.ratio[index],
                p.rest[index], p.slide[index],
            )  # fmt: skip
        _forget_laws(p, count)
        if not solve_round(p, used, True):
            break
        if count > 0:
            _take_few(p, used, count, eps)
            _solve_few(p, count, damping, _FAR * goal)
            solve_round(p, used, False)
        for index in range(p.counts[CONTACTS]):
            follow_normal(p.ratio[index], p.slide[index], p.slope[index], p.change[index])
            for k in range(3):
                p.trial[index, k] = p.impulse[index, k] + p.change[index, k]
        set_velocities(p, p.trial, eps)
        error = _worst_error(p, p.trial)
        if error > _GROWTH * worst and count < WORST and rounds < most:
            count = _join(p, count, _BAD * error)
            set_velocities(p, p.impulse, eps)
            continue
        worst, count = error, _join(p, 0, goal)
        copy_impulses(p, p.trial, p.impulse)
    return worst, rounds
