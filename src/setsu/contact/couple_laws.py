"""Torsional and rolling friction as equations: couples that oppose turning, limited by the normal impulse of a contact.

| symbol | meaning | unit |
|---|---|---|
| ω_n, ω_t | relative angular velocity about the normal, and about the tangents | rad/s |
| c_n, c_t | couple about the normal, about the tangents | N m s |
| γ, r | coefficients of torsional and of rolling friction (lengths) | m |
| a | angular velocity for a unit couple of this contact alone | 1/(kg m²) |
| ρ, λ_n, v_n | of the contact (cone_laws.py) | kg, N s, m/s |
| s | 1 / sqrt(ρ a): radius of gyration of what the couple turns | m |
| κ, w, m | c / s, s ω, γ / s or r / s: couple, turning and limit as those of a contact | N s, m/s, - |

    |c_n| <= γ λ_n,  c_n ω_n = -γ λ_n |ω_n|                                   (1)  MuJoCo's condim 4
    |c_t| <= r λ_n,  c_t · ω_t = -r λ_n |ω_t|                                 (2)  condim 6
    natural map:  κ - Π(κ - ρ w),  Π: onto |κ| <= m λ_n                       (3)  zero where (1), (2) hold
    z = κ - ρ w,  z_n = λ_n - ρ v_n                                           (4)
    open    z_n <= 0:        F = κ                                            (5)
    stick   |z| <= m z_n:    F = ρ w                                          (6)
    slide   |z| > m z_n:     F = κ - m z_n z/|z|                              (7)
    round:  δκ = e + g δλ_n - C δ(K x),  g = m z/|z| where it slides          (8)

Couples are unknowns beside the impulses, found by the same Newton's method: (8) is the round of (5)-(7), with
ρ δv_n = -ρ v_n of a closed contact. Turning is measured in s, so that couples and impulses are alike in size and one
compliance ε suits both. In a ConeProblem the couple of a contact is one more row of it (cone_problem.py).
Source: (4)-(7) as Alart and Curnier 1991 for friction.
"""

from __future__ import annotations

import math

from setsu.contact.cone_problem import CONTACTS, ROWS, ConeProblem
from setsu.native.control_flow import inline

__all__ = ["add_couple_errors", "certify_couples", "hold_couples", "project_couples", "set_couple_blocks"]


@inline
def _onto_limits(z, m, normal):
    """Π of (3): three numbers."""
    most = m[0] * normal
    size = math.sqrt(z[1] * z[1] + z[2] * z[2])
    share = 1.0
    if size > m[1] * normal:
        share = m[1] * normal / size
    return max(-most, min(most, z[0])), share * z[1], share * z[2]


@inline
def project_couples(p: ConeProblem, impulses):
    """Bring the couples of impulses (ROWS, 3) within the limits of their contacts."""
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        f = impulses[row]
        f[0], f[1], f[2] = _onto_limits(f, p.limit[row], max(0.0, impulses[p.partner[row], 0]))


@inline
def certify_couples(p: ConeProblem, impulses, worst):
    """The largest entry of (3), or `worst` if that is larger."""
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        i, f, v, z = p.partner[row], impulses[row], p.velocity[row], p.rest[row]
        for k in range(3):
            z[k] = f[k] - p.scale[i] * v[k]
        x, y, w = _onto_limits(z, p.limit[row], max(0.0, impulses[i, 0]))
        error = max(abs(f[0] - x), abs(f[1] - y), abs(f[2] - w))
        if not error <= worst:
            worst = error
    return worst


@inline
def add_couple_errors(p: ConeProblem, impulses, factor, worst, total):
    """Largest entry and sum of squares with F (5)-(7) of the couples; factor: of ρ."""
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        i, f, v, m = p.partner[row], impulses[row], p.velocity[row], p.limit[row]
        rho = factor * p.scale[i]
        normal = impulses[i, 0] - rho * p.velocity[i, 0]
        z0, z1, z2 = f[0] - rho * v[0], f[1] - rho * v[1], f[2] - rho * v[2]
        if normal <= 0.0:
            x, y, w = f[0], f[1], f[2]
        else:
            x, y, w = rho * v[0], rho * v[1], rho * v[2]
            if abs(z0) > m[0] * normal:
                x = f[0] - m[0] * normal * (1.0 if z0 > 0.0 else -1.0)
            size = math.sqrt(z1 * z1 + z2 * z2)
            if size > m[1] * normal:
                share = m[1] * normal / size
                y, w = f[1] - share * z1, f[2] - share * z2
        worst = max(worst, abs(x), abs(y), abs(w))
        total += x * x + y * y + w * w
    return worst, total


@inline
def hold_couples(p: ConeProblem):
    """Rounds leave the couples as they are."""
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        _set_none(p, row)


@inline
def _set_none(p: ConeProblem, row):
    for i in range(3):
        p.rest[row, i] = p.slide[row, 0, i] = 0.0
        for j in range(3):
            p.ratio[row, i, j] = 0.0


@inline
def set_couple_blocks(p: ConeProblem, eps, factor):
    """C, e and g (8) of all couples at `impulse` and its velocities; g: in `slide`. eps: compliance of a round."""
    for row in range(p.counts[CONTACTS], p.counts[ROWS]):
        i, f, v, m = p.partner[row], p.impulse[row], p.velocity[row], p.limit[row]
        C, e, g = p.ratio[row], p.rest[row], p.slide[row, 0]
        rho, soft = factor * p.scale[i], 1.0 / eps
        normal = p.impulse[i, 0] - rho * p.velocity[i, 0]
        _set_none(p, row)
        if normal <= 0.0:
            e[0], e[1], e[2] = -f[0], -f[1], -f[2]
            continue
        now = p.impulse[i, 0]
        z0, z1, z2 = f[0] - rho * v[0], f[1] - rho * v[1], f[2] - rho * v[2]
        if abs(z0) <= m[0] * normal:
            C[0, 0], e[0] = soft, -soft * v[0]
        else:
            g[0] = m[0] if z0 > 0.0 else -m[0]
            e[0] = g[0] * now - f[0]
        size = math.sqrt(z1 * z1 + z2 * z2)
        if size <= m[1] * normal:
            C[1, 1] = C[2, 2] = soft
            e[1], e[2] = -soft * v[1], -soft * v[2]
            continue
        # (1 + b (ε ρ - 1) N) δκ = -κ + m d (λ_n + δλ_n) - b ρ N δu,  b = m z_n / |z|, N = 1 - d dᵀ.
        d1, d2, b = z1 / size, z2 / size, m[1] * normal / size
        across = 1.0 / (1.0 + b * (eps * rho - 1.0))
        along = d1 * f[1] + d2 * f[2]
        g[1], g[2] = m[1] * d1, m[1] * d2
        e[1] = g[1] * now - d1 * along - across * (f[1] - d1 * along)
        e[2] = g[2] * now - d2 * along - across * (f[2] - d2 * along)
        h = b * rho * across
        C[1, 1], C[2, 2] = h * (1.0 - d1 * d1), h * (1.0 - d2 * d2)
        C[1, 2] = C[2, 1] = -h * d1 * d2
