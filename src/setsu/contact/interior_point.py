"""An interior point method for contact with friction: predictor, corrector, De Saxcé's shift linearised.

| symbol | meaning | unit |
|---|---|---|
| λ, u, μ | impulse and velocity of a contact (normal, tangents), friction coefficient | N s, m/s, - |
| λ̂ = (μ λ_n, λ_t) | impulse, in the second-order cone L: λ̂_0 >= |λ̂_t| | N s |
| û | raised velocity (u_n + μ |u_t|, μ u_t), in L; an unknown of its own | m/s |
| D, E | diag(1, μ, μ), diag(μ, 1, 1) | |
| d, N | û_t / |û_t|; 1 - e₀ (0, dᵀ), so that N⁻¹ = 1 + e₀ (0, dᵀ) | |
| S | scaling of Nesterov and Todd: S λ̂ = S⁻¹ û = ℓ | |
| ∘, \\ | product of the cone's algebra, division by it | |

    r = D u + |û_t| e₀ - û                                                    (1)  zero at the end
    λ̂ ∘ û = τ e₀                                                              (2)  τ goes to zero
    δû = N⁻¹ (D δu + r)                                                       (3)  Newton's step for (1)
    δλ̂ = c - S⁻² δû,  c = S⁻¹ (ℓ \\ (σ τ e₀ - ℓ∘ℓ - (S⁻¹ δû_a) ∘ (S δλ̂_a)))    (4)  and for (2), a: predictor
    δλ = e - C δu,  C = E⁻¹ S⁻² N⁻¹ D,  e = E⁻¹ (c - S⁻² N⁻¹ r)               (5)
    with compliance:  C <- (1 + ε C)⁻¹ C,  e <- (1 + ε C)⁻¹ e                  (6)
    σ = (τ_a / τ)³                                                            (7)

Where μ = 0 the cone is the half line: λ_n u_n = τ, C = λ_n / u_n. With `raised` false (1) is r = D u - û and N = 1: the
convex problem of normal and tangential velocities in the dual cone, which is monotone, ends always and never adds
energy, but lets sliding contacts separate (Anitescu 2006).
Source: (2), (4), (7) Nesterov and Todd 1998, Mehrotra 1992, Vandenberghe 2010; (1) De Saxcé and Feng 1998 with Acary,
Armand, Nguyen and Shpakovych 2023. Cost: one factorisation, two substitutions per round.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import solve_round
from setsu.contact.cone_problem import CONTACTS, ConeProblem, set_velocities
from setsu.contact.couple_laws import hold_couples
from setsu.native.control_flow import inline

__all__ = ["begin_interior", "interior_round"]

# Share of the way to the border of a cone that a step takes.
_NEAREST, _SAFE = 0.9, 0.995


@inline
def begin_interior(p: ConeProblem, eps, impulse_size, velocity_size, raised):
    """λ̂ and û from `impulse` and the velocities there, moved into their cones by at least these sizes."""
    set_velocities(p, p.impulse, eps)
    for index in range(p.counts[CONTACTS]):
        f, v, z, s, mu = p.impulse[index], p.velocity[index], p.cone[index], p.dual[index], p.friction[index]
        # What an island before left there may not be finite.
        for k in range(3):
            p.cone_change[index, k] = p.dual_change[index, k] = 0.0
        if mu == 0.0:
            z[0], z[1], z[2] = max(f[0], 0.0) + impulse_size, 0.0, 0.0
            s[0], s[1], s[2] = max(v[0], 0.0) + velocity_size, 0.0, 0.0
            continue
        t = math.sqrt(f[1] * f[1] + f[2] * f[2])
        z[0], z[1], z[2] = max(mu * f[0], t) + mu * impulse_size, f[1], f[2]
        t = mu * math.sqrt(v[1] * v[1] + v[2] * v[2])
        s[0] = max(v[0] + t if raised else v[0], t) + velocity_size
        s[1], s[2] = mu * v[1], mu * v[2]
    _take_impulses(p)


@inline
def _take_impulses(p: ConeProblem):
    """λ of λ̂."""
    for index in range(p.counts[CONTACTS]):
        f, z, mu = p.impulse[index], p.cone[index], p.friction[index]
        f[0] = z[0] / mu if mu > 0.0 else z[0]
        f[1], f[2] = z[1], z[2]


@inline
def _norm(x):
    """sqrt(x_0² - |x_t|²) of a point inside the cone."""
    t = math.sqrt(x[1] * x[1] + x[2] * x[2])
    return math.sqrt(max(x[0] - t, 1e-300) * (x[0] + t))


@inline
def _scale(z, s, out):
    """Scaling of a pair: out[0] = w̄, out[1] = ℓ, out[2, 0] = 1/η."""
    a, b = _norm(z), _norm(s)
    z0, z1, z2, s0, s1, s2 = z[0] / a, z[1] / a, z[2] / a, s[0] / b, s[1] / b, s[2] / b
    g = 1.0 / math.sqrt(2.0 * (1.0 + z0 * s0 + z1 * s1 + z2 * s2))
    w = out[0]
    w[0], w[1], w[2] = g * (s0 + z0), g * (s1 - z1), g * (s2 - z2)
    h = math.sqrt(a / b)
    out[2, 0] = h
    _forward(out, z, out[1])


@inline
def _forward(scaling, x, out):
    """out = S x."""
    w, h = scaling[0], scaling[2, 0]
    t = w[1] * x[1] + w[2] * x[2]
    c = (x[0] + t / (1.0 + w[0])) / h
    first = (w[0] * x[0] + t) / h
    out[1], out[2] = x[1] / h + c * w[1], x[2] / h + c * w[2]
    out[0] = first


@inline
def _back(scaling, x, out):
    """out = S⁻¹ x."""
    w, h = scaling[0], scaling[2, 0]
    t = w[1] * x[1] + w[2] * x[2]
    c = h * (-x[0] + t / (1.0 + w[0]))
    first = h * (w[0] * x[0] - t)
    out[1], out[2] = h * x[1] + c * w[1], h * x[2] + c * w[2]
    out[0] = first


@inline
def _soften(C, eps):
    """C of (6)."""
    a, b, c = 1.0 + eps * C[0, 0], eps * C[0, 1], eps * C[0, 2]
    d, f, g = eps * C[1, 0], 1.0 + eps * C[1, 1], eps * C[1, 2]
    h, i, j = eps * C[2, 0], eps * C[2, 1], 1.0 + eps * C[2, 2]
    A, B, D = f * j - g * i, g * h - d * j, d * i - f * h
    inverse = 1.0 / (a * A + b * B + c * D)
    m00, m10, m20 = inverse * A, inverse * B, inverse * D
    m01, m11, m21 = inverse * (c * i - b * j), inverse * (a * j - c * h), inverse * (b * h - a * i)
    m02, m12, m22 = inverse * (b * g - c * f), inverse * (c * d - a * g), inverse * (a * f - b * d)
    for k in range(3):
        x, y, z = C[0, k], C[1, k], C[2, k]
        C[0, k], C[1, k], C[2, k] = (
            m00 * x + m01 * y + m02 * z,
            m10 * x + m11 * y + m12 * z,
            m20 * x + m21 * y + m22 * z,
        )


@inline
def _soften_rest(C, e, eps):
    """e of (6) with the C of (6): (1 + ε C)⁻¹ = 1 - ε (1 + ε C)⁻¹ C."""
    x, y, z = e[0], e[1], e[2]
    for k in range(3):
        e[k] -= eps * (C[k, 0] * x + C[k, 1] * y + C[k, 2] * z)


@inline
def _direction(s, raised):
    """d of (3), zero where the shift is none."""
    t = math.sqrt(s[1] * s[1] + s[2] * s[2])
    if not raised or t == 0.0:
        return 0.0, 0.0
    return s[1] / t, s[2] / t


@inline
def _error(v, s, mu, raised):
    """r (1)."""
    t = math.sqrt(s[1] * s[1] + s[2] * s[2]) if raised else 0.0
    return v[0] + t - s[0], mu * v[1] - s[1], mu * v[2] - s[2]


@inline
def _set_blocks(p: ConeProblem, damping, target, corrects, raised):
    """C and e (5), (6) of all contacts; target: σ τ; corrects: the predictor stands in the changes, C is there."""
    for index in range(p.counts[CONTACTS]):
        z, s, mu, v = p.cone[index], p.dual[index], p.friction[index], p.velocity[index]
        C, e, W = p.ratio[index], p.rest[index], p.scaling[index]
        dz, ds = p.cone_change[index], p.dual_change[index]
        if mu == 0.0:
            ratio = z[0] / s[0]
            c = -z[0] + (target - (dz[0] * ds[0] if corrects else 0.0)) / s[0]
            soft = 1.0 / (1.0 + damping * ratio)
            for i in range(3):
                e[i] = 0.0
                for j in range(3):
                    C[i, j] = 0.0
            C[0, 0] = soft * ratio
            e[0] = soft * (c - ratio * (v[0] - s[0]))
            continue
        x, y = W[1], e
        if corrects:
            # ℓ∘ℓ + (S⁻¹ δû) ∘ (S δλ̂) - σ τ e₀, divided by ℓ.
            _back(W, ds, p.slope[index])
            _forward(W, dz, p.change[index])
            a, b = p.slope[index], p.change[index]
            q0 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - target
            q1 = 2.0 * x[0] * x[1] + a[0] * b[1] + b[0] * a[1]
            q2 = 2.0 * x[0] * x[2] + a[0] * b[2] + b[0] * a[2]
            n = _norm(x)
            first = (x[0] * q0 - x[1] * q1 - x[2] * q2) / (n * n)
            y[0], y[1], y[2] = -first, -(q1 - first * x[1]) / x[0], -(q2 - first * x[2]) / x[0]
            _back(W, y, y)
        else:
            y[0], y[1], y[2] = -z[0], -z[1], -z[2]
        # Q = S⁻² = (2 (J w̄)(J w̄)ᵀ - J) / η²
        w, h = W[0], W[2, 0] * W[2, 0]
        w0, w1, w2 = w[0], -w[1], -w[2]
        q00, q11, q22 = h * (2.0 * w0 * w0 - 1.0), h * (2.0 * w1 * w1 + 1.0), h * (2.0 * w2 * w2 + 1.0)
        q01, q02, q12 = 2.0 * h * w0 * w1, 2.0 * h * w0 * w2, 2.0 * h * w1 * w2
        d1, d2 = _direction(s, raised)
        r0, r1, r2 = _error(v, s, mu, raised)
        r0 += d1 * r1 + d2 * r2  # N⁻¹ r
        e0 = y[0] - q00 * r0 - q01 * r1 - q02 * r2
        e1 = y[1] - q01 * r0 - q11 * r1 - q12 * r2
        e2 = y[2] - q02 * r0 - q12 * r1 - q22 * r2
        e[0], e[1], e[2] = e0 / mu, e1, e2
        if not corrects:
            C[0, 0], C[0, 1], C[0, 2] = q00 / mu, q00 * d1 + q01, q00 * d2 + q02
            C[1, 0], C[1, 1], C[1, 2] = q01, mu * (q01 * d1 + q11), mu * (q01 * d2 + q12)
            C[2, 0], C[2, 1], C[2, 2] = q02, mu * (q02 * d1 + q12), mu * (q02 * d2 + q22)
            _soften(C, damping)
        _soften_rest(C, e, damping)


@inline
def _take_changes(p: ConeProblem, damping, raised):
    """δλ̂ and δû (3) of δλ; return the longest step that stays inside."""
    longest = math.inf
    for index in range(p.counts[CONTACTS]):
        z, s, mu, v = p.cone[index], p.dual[index], p.friction[index], p.velocity[index]
        dz, ds, f, u = p.cone_change[index], p.dual_change[index], p.change[index], p.slope[index]
        if mu == 0.0:
            dz[0], dz[1], dz[2] = f[0], 0.0, 0.0
            ds[0], ds[1], ds[2] = u[0] + damping * f[0] + v[0] - s[0], 0.0, 0.0
        else:
            dz[0], dz[1], dz[2] = mu * f[0], f[1], f[2]
            d1, d2 = _direction(s, raised)
            r0, r1, r2 = _error(v, s, mu, raised)
            r0 += u[0] + damping * f[0]
            r1 += mu * (u[1] + damping * f[1])
            r2 += mu * (u[2] + damping * f[2])
            ds[0], ds[1], ds[2] = r0 + d1 * r1 + d2 * r2, r1, r2
        longest = min(longest, _reach(z, dz), _reach(s, ds))
    return longest


@inline
def _reach(x, d):
    """The longest step along d that stays in the cone."""
    c = _norm(x)
    c *= c
    b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2]
    # First positive root of a t² + 2 b t + c, in the form without cancellation; x_0 + t d_0 > 0 with it.
    root = b * b - a * c
    if root < 0.0:
        return math.inf
    root = math.sqrt(root)
    t = math.inf
    if b < 0.0:
        t = c / (root - b)
    elif a < 0.0:
        t = (b + root) / -a
    if d[0] < 0.0:
        t = min(t, x[0] / -d[0])
    return t


@inline
def _mean_product(p: ConeProblem, length):
    """τ after a part of the step."""
    total = 0.0
    for index in range(p.counts[CONTACTS]):
        z, s, dz, ds = p.cone[index], p.dual[index], p.cone_change[index], p.dual_change[index]
        for k in range(3):
            total += (z[k] + length * dz[k]) * (s[k] + length * ds[k])
    return total / p.counts[CONTACTS]


@inline
def interior_round(p: ConeProblem, used, eps, damping, raised):
    """One round from λ̂, û and the velocities; `impulse` and `velocity` follow. Return (τ, length), length 0: failed."""
    for index in range(p.counts[CONTACTS]):
        if p.friction[index] > 0.0:
            _scale(p.cone[index], p.dual[index], p.scaling[index])
    tau = _mean_product(p, 0.0)
    hold_couples(p)
    _set_blocks(p, damping, 0.0, False, raised)
    if not solve_round(p, used, True):
        return tau, 0.0
    length = min(1.0, _take_changes(p, damping, raised))
    ahead = _mean_product(p, length)
    sigma = min(1.0, max(0.0, ahead / tau)) ** 3
    _set_blocks(p, damping, sigma * tau, True, raised)
    solve_round(p, used, False)
    longest = _take_changes(p, damping, raised)
    if not longest >= 0.0:
        return tau, 0.0
    length = min(1.0, max(_NEAREST, min(_SAFE, 1.0 - 0.1 * sigma)) * longest)
    for index in range(p.counts[CONTACTS]):
        for k in range(3):
            p.cone[index, k] += length * p.cone_change[index, k]
            p.dual[index, k] += length * p.dual_change[index, k]
    _take_impulses(p)
    set_velocities(p, p.impulse, eps)
    return _mean_product(p, 0.0), length
