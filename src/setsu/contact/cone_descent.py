"""The sure way to contact impulses: friction problems that are convex, one after the other, until friction agrees.

| symbol | meaning | unit |
|---|---|---|
| λ_i, u_i | impulse and velocity of contact i: normal, two tangents; u without the compliance ε | N s, m/s |
| K, Π | friction cone |λ_t| <= μ λ_n, projection onto it | |
| s_i | speed that the normal velocity is raised by | m/s |
| x, f | velocities of the nodes (cone_problem.py), impulses with x = Kᵀ f | |

    λ(u) = Π(-(u + s n) / ε)                                                  (1)
    x = argmin ½ |x|² + Σ ½ ε |λ(b + K x)|²                                   (2)  convex; at its end f = λ(u)
    s = μ |u_t + ε λ_t|                                                       (3)  then (2) again
    (1 + Kᵀ G K) x' = Kᵀ (λ + G K x),  G = -dλ/du                             (4)  Newton's step for (2)
    d/dt of (2) along the step = Σ (f - λ)·δu                                 (5)  goes up with t: its zero is sought

Fixed points of (1)-(3) solve Coulomb's law: raising the normal velocity by (3) turns the projection into
Coulomb's law. Source: (1), (3) De Saxcé and Feng 1998; (2) with the compliance as a smooth cost Castro et al. 2022; the
alternation Acary et al. 2011. (2) has one minimum and (4) with (5) leads there from everywhere, whereas Newton's method
on the whole problem may go around between modes. Cost: one round of block_elimination.py per step.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import solve_round
from setsu.contact.cone_problem import CONTACTS, ConeProblem, set_velocities
from setsu.contact.couple_laws import hold_couples
from setsu.native.control_flow import inline

__all__ = ["begin_descent", "descend"]

# Looks along each Newton step for (2).
_LOOKS = 12


@inline
def _project(p: ConeProblem, index, eps, x, y, z):
    """(1) for a velocity, b included: impulse, and which part of the cone it meets: 0 none, 1 inside, 2 face."""
    n, s, t, mu = -(x + p.raised[index]) / eps, -y / eps, -z / eps, p.friction[index]
    r = math.sqrt(s * s + t * t)
    if n >= 0.0 and r <= mu * n:
        return n, s, t, 1
    if mu * r <= -n:
        return 0.0, 0.0, 0.0, 0
    normal = (n + mu * r) / (1.0 + mu * mu)
    along = mu * normal / r if r > 0.0 else 0.0
    return normal, along * s, along * t, 2


@inline
def begin_descent(p: ConeProblem, eps):
    """Take up the impulses at hand. K x stands in `dual`, f in `cone`."""
    set_velocities(p, p.impulse, eps)
    for index in range(p.counts[CONTACTS]):
        v, f = p.velocity[index], p.impulse[index]
        for k in range(3):
            p.dual[index, k] = v[k] - p.free[index, k] - eps * f[k]
            p.cone[index, k] = f[k]
        p.raised[index] = p.friction[index] * math.sqrt(v[1] * v[1] + v[2] * v[2])  # (3)


@inline
def _set_system(p: ConeProblem, eps):
    """G and right-hand sides of (4); return the largest |f - λ|."""
    worst = 0.0
    for index in range(p.counts[CONTACTS]):
        u, f, b = p.dual[index], p.cone[index], p.free[index]
        x, y, z = b[0] + u[0], b[1] + u[1], b[2] + u[2]
        n, s, t, where = _project(p, index, eps, x, y, z)
        worst = max(worst, abs(f[0] - n), abs(f[1] - s), abs(f[2] - t))
        G, e, mu = p.ratio[index], p.rest[index], p.friction[index]
        for i in range(3):
            for j in range(3):
                G[i, j] = 0.0
        if where == 1:
            G[0, 0] = G[1, 1] = G[2, 2] = 1.0 / eps
        elif where == 2:
            r = math.sqrt(y * y + z * z)
            d1, d2 = (-y / r, -z / r) if r > 0.0 else (0.0, 0.0)
            g = 1.0 / (eps * (1.0 + mu * mu))
            across = mu * n / r if r > 0.0 else 0.0
            G[0, 0] = g
            G[0, 1] = G[1, 0] = g * mu * d1
            G[0, 2] = G[2, 0] = g * mu * d2
            G[1, 1] = g * mu * mu * d1 * d1 + across * (1.0 - d1 * d1)
            G[1, 2] = G[2, 1] = (g * mu * mu - across) * d1 * d2
            G[2, 2] = g * mu * mu * d2 * d2 + across * (1.0 - d2 * d2)
        e[0] = n + G[0, 0] * u[0] + G[0, 1] * u[1] + G[0, 2] * u[2]
        e[1] = s + G[1, 0] * u[0] + G[1, 1] * u[1] + G[1, 2] * u[2]
        e[2] = t + G[2, 0] * u[0] + G[2, 1] * u[1] + G[2, 2] * u[2]
    return worst


@inline
def _slope(p: ConeProblem, eps, t):
    """(5) at a part t of the step."""
    total = 0.0
    for index in range(p.counts[CONTACTS]):
        u, w, f, g, b = p.dual[index], p.slope[index], p.cone[index], p.change[index], p.free[index]
        d0, d1, d2 = w[0] - u[0], w[1] - u[1], w[2] - u[2]
        n, s, r, _ = _project(p, index, eps, b[0] + u[0] + t * d0, b[1] + u[1] + t * d1, b[2] + u[2] + t * d2)
        total += (f[0] + t * (g[0] - f[0]) - n) * d0
        total += (f[1] + t * (g[1] - f[1]) - s) * d1
        total += (f[2] + t * (g[2] - f[2]) - r) * d2
    return total


@inline
def _length(p: ConeProblem, eps):
    """Where along the step (5) is zero, about."""
    at_start, at_end = _slope(p, eps, 0.0), _slope(p, eps, 1.0)
    if not at_end > 0.0 or not at_start < 0.0:
        return 1.0
    low, high, below, above, t = 0.0, 1.0, at_start, at_end, 1.0
    for look in range(_LOOKS):
        # Straight line between the ends, every third time the middle.
        t = 0.5 * (low + high) if look % 3 == 2 else low - below * (high - low) / (above - below)
        now = _slope(p, eps, t)
        if abs(now) <= 0.1 * min(-at_start, at_end):
            break
        if now < 0.0:
            low, below = t, now
        else:
            high, above = t, now
    return t


@inline
def descend(p: ConeProblem, used, eps, goal, most):
    """Solve (2) until |f - λ| <= goal (N s); impulses go to `impulse`. Return how many rounds it took.

    most: rounds. `raised` follows (3) for the next time.
    """
    rounds = 0
    while True:
        hold_couples(p)
        worst = _set_system(p, eps)
        if worst <= goal or rounds >= most or not solve_round(p, used, True):
            break
        rounds += 1
        t = _length(p, eps)
        for index in range(p.counts[CONTACTS]):
            for k in range(3):
                p.dual[index, k] += t * (p.slope[index, k] - p.dual[index, k])
                p.cone[index, k] += t * (p.change[index, k] - p.cone[index, k])
    for index in range(p.counts[CONTACTS]):
        u, b = p.dual[index], p.free[index]
        x, y, z = b[0] + u[0], b[1] + u[1], b[2] + u[2]
        n, s, t, _ = _project(p, index, eps, x, y, z)
        p.impulse[index, 0], p.impulse[index, 1], p.impulse[index, 2] = n, s, t
        slip = math.sqrt((y + eps * s) ** 2 + (z + eps * t) ** 2)
        p.raised[index] = p.friction[index] * slip  # (3)
    return rounds
