"""Sweeps over the contacts, each solved exactly while the others rest: a start and a safe way for the Newton solver.

One contact: W its own block, c its velocity without its own impulse; find λ with v = W λ + c such that

    open    λ = 0,               v_n >= 0                                     (1)
    stick   v = 0,               |λ_t| <= μ λ_n                               (2)
    slide   v_n = 0, λ_t = -μ λ_n v_t / |v_t|                                 (3)

(3) with v_t = -s λ_t: (W̃ + s 1) λ_t = -c̃, |λ_t| = μ λ_n: one unknown s > 0, found by halving brackets; W̃, c̃ are what
is left of the tangential rows once v_n = 0 gives λ_n. Source: Daviet, Bertails-Descoubes and Boissieux 2011, for
the one-contact problem. A contact whose own problem has no solution (3) keeps the frictionless one.
"""

from __future__ import annotations

import math

from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import TWIST, Problem
from setsu.native.control_flow import part

__all__ = ["one_contact", "sweep"]


@part
def one_contact(W, cn, c1, c2, mu):
    """Return the impulse (n, t1, t2) of a single contact."""
    if cn >= 0.0:
        return 0.0, 0.0, 0.0  # (1)
    wnn = W[0, 0]
    if not wnn > 0.0:
        return 0.0, 0.0, 0.0
    if mu <= 0.0:
        return -cn / wnn, 0.0, 0.0
    w1, w2 = W[1, 0], W[2, 0]
    a11, a12, a22 = W[1, 1] - w1 * w1 / wnn, W[2, 1] - w1 * w2 / wnn, W[2, 2] - w2 * w2 / wnn
    d1, d2 = c1 - w1 * cn / wnn, c2 - w2 * cn / wnn
    low, high = 0.0, -1.0
    s = 0.0
    trace = a11 + a22
    t1 = t2 = 0.0
    n = -cn / wnn
    for _ in range(60):
        det = (a11 + s) * (a22 + s) - a12 * a12
        if det > 1e-14 * trace * trace:
            t1, t2 = (a12 * d2 - (a22 + s) * d1) / det, (a12 * d1 - (a11 + s) * d2) / det
            n = -(cn + w1 * t1 + w2 * t2) / wnn
            over = math.sqrt(t1 * t1 + t2 * t2) - mu * n
        else:
            over = 1.0
        if s == 0.0 and over <= 0.0:
            return n, t1, t2  # (2)
        if over > 0.0:
            low = s
        else:
            high = s
            if over > -1e-14 * mu * n:
                break
        if high < 0.0:
            s = 2.0 * s + 1e-3 * trace
        else:
            s = 0.5 * (low + high)
            if high - low <= 1e-9 * high:
                break
        if s > 1e12 * trace:
            return -cn / wnn, 0.0, 0.0
    # On the cone to the last digit (3).
    length = math.sqrt(t1 * t1 + t2 * t2)
    if n <= 0.0 or length <= 0.0:
        return max(0.0, n), 0.0, 0.0
    f = mu * n / length
    return n, f * t1, f * t2


@part
def sweep(problem: Problem, rounds, compliance):
    """Improve the trial impulses by so many sweeps; `shift` and `friction` are given."""
    n, twist = 6 * problem.counts[1], problem.vectors[TWIST]
    set_twists(problem)
    for _ in range(rounds):
        largest = 0.0
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            W, f, v = c.own, c.trial, c.velocity
            x, y, z = f[0], f[1], f[2]
            set_velocity(problem, index, TWIST, v)
            for k in range(3):
                v[k] += c.shift[k] - W[k, 0] * x - W[k, 1] * y - W[k, 2] * z
            for k in range(3):
                W[k, k] += compliance
            f[0], f[1], f[2] = one_contact(W, v[0], v[1], v[2], c.friction)
            for k in range(3):
                W[k, k] -= compliance
            dx, dy, dz = f[0] - x, f[1] - y, f[2] - z
            largest = max(largest, abs(dx), abs(dy), abs(dz))
            for r in range(6):
                w = c.map_a[r, 0] * dx + c.map_a[r, 1] * dy + c.map_a[r, 2] * dz
                for i in range(n):
                    twist[i] += problem.coupling[i, 6 * c.hub_a + r] * w
            if c.hub_b >= 0:
                for r in range(6):
                    w = c.map_b[r, 0] * dx + c.map_b[r, 1] * dy + c.map_b[r, 2] * dz
                    for i in range(n):
                        twist[i] += problem.coupling[i, 6 * c.hub_b + r] * w
        if largest == 0.0:
            break
