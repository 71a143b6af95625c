"""Coulomb's law of one contact as equations: what solvers make zero, and what certifies their result.

| symbol | meaning | unit |
|---|---|---|
| λ, v | impulse and velocity of the contact: normal, two tangents | N s, m/s |
| μ, K | friction coefficient, cone |λ_t| <= μ λ_n; Π: projection onto it | |
| ρ | impulse per velocity of the contact, a factor times 3 / tr W_ii | kg |
| ε | compliance that a round of Newton's method adds: δv = δu + ε δλ | 1/kg |

    natural map:  λ - Π(λ - ρ (v + μ |v_t| n))                                (1)
    z = λ - ρ v                                                               (2)
    open    z_n <= 0:            F = λ                                        (3)
    closed  z_n > 0:             F_n = ρ v_n                                  (4)
      stick |z_t| <= μ z_n:      F_t = ρ v_t                                  (5)
      slide |z_t| > μ z_n:       F_t = λ_t - μ z_n z_t/|z_t|                  (6)
    A δλ + B δv = -F:  C = (A + εB)⁻¹ B,  e = -(A + εB)⁻¹ F,  δλ = e - C δu   (7)

(1) and F vanish together, where λ lies in its cone, v_n >= 0 presses nowhere else, and friction opposes sliding with
all it has. Source: (1) De Saxcé and Feng 1998, (2)-(6) Alart and Curnier 1991.
"""

from __future__ import annotations

import math

from setsu.native.control_flow import inline

__all__ = ["follow_normal", "law_blocks", "law_error", "natural_map", "project"]


@inline
def project(n, s, t, mu):
    """Π of (n, s, t)."""
    r = math.sqrt(s * s + t * t)
    if n >= 0.0 and r <= mu * n:
        return n, s, t
    if mu * r <= -n:
        return 0.0, 0.0, 0.0
    normal = (n + mu * r) / (1.0 + mu * mu)
    along = mu * normal / r if r > 0.0 else 0.0
    return normal, along * s, along * t


@inline
def natural_map(f, v, rho, mu):
    """The largest entry of (1)."""
    raised = v[0] + mu * math.sqrt(v[1] * v[1] + v[2] * v[2])
    n, s, t = project(f[0] - rho * raised, f[1] - rho * v[1], f[2] - rho * v[2], mu)
    return max(abs(f[0] - n), abs(f[1] - s), abs(f[2] - t))


@inline
def law_error(f, v, rho, mu):
    """F (3)-(6)."""
    zn = f[0] - rho * v[0]
    if zn <= 0.0:
        return f[0], f[1], f[2]
    z1, z2 = f[1] - rho * v[1], f[2] - rho * v[2]
    length = math.sqrt(z1 * z1 + z2 * z2)
    if length <= mu * zn:
        return rho * v[0], rho * v[1], rho * v[2]
    return rho * v[0], f[1] - mu * zn * z1 / length, f[2] - mu * zn * z2 / length


@inline
def law_blocks(f, v, rho, mu, eps, C, e, t):
    """C and e of (7), and t (2, 3) for `follow_normal`."""
    for i in range(3):
        for j in range(3):
            C[i, j] = 0.0
    zn = f[0] - rho * v[0]
    if zn <= 0.0:
        e[0], e[1], e[2] = -f[0], -f[1], -f[2]
        return
    soft = 1.0 / eps
    # First row: ρ δv_n = -ρ v_n, so δλ_n = -(v_n + δu_n)/ε.
    C[0, 0] = soft
    e[0] = -soft * v[0]
    z1, z2 = f[1] - rho * v[1], f[2] - rho * v[2]
    length = math.sqrt(z1 * z1 + z2 * z2)
    if length <= mu * zn:
        C[1, 1] = C[2, 2] = soft
        e[1], e[2] = -soft * v[1], -soft * v[2]
        return
    # Slide: (1 + κ(ερ - 1) N) δλ_t + μ d (ρ δu_n + (ρε - 1) δλ_n) + κρ N δu_t = -F_t, N = 1 - d dᵀ.
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
    f1, f2 = f[1] - mu * zn * d1, f[2] - mu * zn * d2
    t[0, 0], t[1, 0] = -(g11 * f1 + g12 * f2), -(g12 * f1 + g22 * f2)
    normal = -mu * (rho * eps - 1.0)
    t[0, 1], t[1, 1] = normal * (g11 * d1 + g12 * d2), normal * (g12 * d1 + g22 * d2)
    t[0, 2], t[1, 2] = mu * rho * (g11 * d1 + g12 * d2), mu * rho * (g12 * d1 + g22 * d2)
    k = kappa * rho
    C[1, 1], C[1, 2] = k * (g11 * n11 + g12 * n12), k * (g11 * n12 + g12 * n22)
    C[2, 1], C[2, 2] = k * (g12 * n11 + g22 * n12), k * (g12 * n12 + g22 * n22)


@inline
def follow_normal(C, t, u, change):
    """For a sliding contact take δλ_t from the rounded δλ_n, so that impulses stay on their cones; u: δu."""
    if C[1, 0] != 0.0 or C[2, 0] != 0.0:
        for k in range(2):
            change[1 + k] = t[k, 0] + t[k, 1] * change[0] - t[k, 2] * u[0] - C[1 + k, 1] * u[1] - C[1 + k, 2] * u[2]
