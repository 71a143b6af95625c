"""The sure way to contact impulses: friction problems that are convex, one after the other, until friction agrees.

| symbol | meaning | unit |
|---|---|---|
| λ_i, u_i | impulse and velocity of contact i: normal, two tangents; u without the compliance ε | N s, m/s |
| K, Π | friction cone |λ_t| <= μ λ_n, projection onto it | |
| s_i | speed that the normal velocity is raised by | m/s |
| v, f | velocities of the mechanism; impulses with v - v_free = H⁻¹ Kᵀ f | |

    λ(u) = Π(-(u + s n) / ε)                                                  (1)
    v = argmin ½ (v - v_free)ᵀ H (v - v_free) + Σ ½ ε |λ(u(v))|²              (2)  convex; at its end f = λ(u)
    s = μ |u_t + ε λ_t|                                                       (3)  then (2) again
    (H + Kᵀ G K)(v' - v_free) = Kᵀ (λ + G (u - u_free)),  G = -dλ/du          (4)  Newton's step for (2)
    d/dt of (2) along the step = Σ (f - λ)·δu                                 (5)  goes up with t: its zero is sought

Fixed points of (1)-(3) solve newton_solver.py (6): raising the normal velocity by (3) turns the projection into
Coulomb's law. Source: (1), (3) De Saxcé and Feng 1998; (2) with the compliance as a smooth cost Castro et al. 2022; the
alternation Acary et al. 2011. (2) has one minimum and (4) with (5) leads there from everywhere, whereas Newton's method
on the whole problem may go around between modes. Cost: one linear system along the tree per step.
"""

from __future__ import annotations

import math

from setsu.contact.linear_step import linear_step
from setsu.contact.problem import set_velocity
from setsu.contact.scene import TWIST, Problem
from setsu.contact.tree import Tree
from setsu.native.control_flow import part

__all__ = ["begin_descent", "descend"]

# Newton steps for (2), and looks along each.
_STEPS, _LOOKS = 30, 12


@part
def _project(c, eps, x, y, z):
    """(1) for a velocity, shift included: impulse, and which part of the cone it meets: 0 none, 1 inside, 2 face."""
    n, s, t, mu = -(x + c.raised) / eps, -y / eps, -z / eps, c.friction
    r = math.sqrt(s * s + t * t)
    if n >= 0.0 and r <= mu * n:
        return n, s, t, 1
    if mu * r <= -n:
        return 0.0, 0.0, 0.0, 0
    normal = (n + mu * r) / (1.0 + mu * mu)
    along = mu * normal / r if r > 0.0 else 0.0
    return normal, along * s, along * t, 2


@part
def _velocity(c, change):
    """u + shift for a change (3,) of the free velocity."""
    return (
        c.free[0] + c.shift[0] + change[0],
        c.free[1] + c.shift[1] + change[1],
        c.free[2] + c.shift[2] + change[2],
    )


@part
def begin_descent(problem: Problem):
    """Take up the impulses of the last trial, whose twists and velocities are known."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        set_velocity(problem, index, TWIST, c.moved)
        for k in range(3):
            c.moved[k] -= c.free[k]
            c.balanced[k] = c.trial[k]
        c.raised = c.friction * math.sqrt(c.velocity[1] ** 2 + c.velocity[2] ** 2)  # (3)


@part
def _set_system(problem: Problem, eps):
    """G and right-hand sides of (4); return the largest |f - λ|."""
    worst = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        x, y, z = _velocity(c, c.moved)
        n, s, t, where = _project(c, eps, x, y, z)
        worst = max(worst, abs(c.balanced[0] - n), abs(c.balanced[1] - s), abs(c.balanced[2] - t))
        G, e, mu = c.ratio, c.rest, c.friction
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
        u = c.moved
        e[0] = n + G[0, 0] * u[0] + G[0, 1] * u[1] + G[0, 2] * u[2]
        e[1] = s + G[1, 0] * u[0] + G[1, 1] * u[1] + G[1, 2] * u[2]
        e[2] = t + G[2, 0] * u[0] + G[2, 1] * u[1] + G[2, 2] * u[2]
    return worst


@part
def _slope(problem: Problem, eps, t):
    """(5) at a part t of the step."""
    total = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        u, w, f, g = c.moved, c.slope, c.balanced, c.change
        d0, d1, d2 = w[0] - u[0], w[1] - u[1], w[2] - u[2]
        x = c.free[0] + c.shift[0] + u[0] + t * d0
        y = c.free[1] + c.shift[1] + u[1] + t * d1
        z = c.free[2] + c.shift[2] + u[2] + t * d2
        n, s, r, _ = _project(c, eps, x, y, z)
        total += (f[0] + t * (g[0] - f[0]) - n) * d0
        total += (f[1] + t * (g[1] - f[1]) - s) * d1
        total += (f[2] + t * (g[2] - f[2]) - r) * d2
    return total


@part
def _length(problem: Problem, eps):
    """Where along the step (5) is zero, about."""
    at_start, at_end = _slope(problem, eps, 0.0), _slope(problem, eps, 1.0)
    if not at_end > 0.0 or not at_start < 0.0:
        return 1.0
    low, high, below, above, t = 0.0, 1.0, at_start, at_end, 1.0
    for look in range(_LOOKS):
        # Straight line between the ends, every third time the middle.
        t = 0.5 * (low + high) if look % 3 == 2 else low - below * (high - low) / (above - below)
        now = _slope(problem, eps, t)
        if abs(now) <= 0.1 * min(-at_start, at_end):
            break
        if now < 0.0:
            low, below = t, now
        else:
            high, above = t, now
    return t


@part
def descend(tree: Tree, problem: Problem, eps, goal, share):
    """Solve (2) until |f - λ| <= goal (N s); impulses go to `impulse`. Return how many steps it took.

    share: by how much `raised` goes to where (3) wants it for the next time.
    """
    steps = 0
    while True:
        worst = _set_system(problem, eps)
        if worst <= goal or steps >= _STEPS or not linear_step(tree, problem):
            break
        steps += 1
        t = _length(problem, eps)
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            for k in range(3):
                c.moved[k] += t * (c.slope[k] - c.moved[k])
                c.balanced[k] += t * (c.change[k] - c.balanced[k])
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        x, y, z = _velocity(c, c.moved)
        n, s, t, _ = _project(c, eps, x, y, z)
        c.impulse[0], c.impulse[1], c.impulse[2] = n, s, t
        slip = math.sqrt((y + eps * s) ** 2 + (z + eps * t) ** 2)
        c.raised += share * (c.friction * slip - c.raised)  # (3)
    return steps
