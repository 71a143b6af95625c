"""An interior point method for contact with friction: predictor, corrector, De Saxcé's shift linearised.

| symbol | meaning | unit |
|---|---|---|
| λ, u, μ | impulse and velocity of a contact (normal, tangents), friction coefficient | N s, m/s, - |
| z = (μ λ_n, λ_t) | impulse, in the second-order cone: z_0 >= |z_t| | N s |
| s | raised velocity (u_n + μ |u_t|, μ u_t), in the cone; an unknown of its own | m/s |
| x_m, x_p | x_0 - |x_t|, x_0 + |x_t|: eigenvalues of a point x of the cone | |
| D, E | diag(1, μ, μ), diag(μ, 1, 1) | |
| d, N | s_t / |s_t|; 1 - e₀ (0, dᵀ), so that N⁻¹ = 1 + e₀ (0, dᵀ) | |
| S | scaling of Nesterov and Todd: S z = S⁻¹ s = ℓ | |
| Q, Δ | eigenvectors (1, -w)/√2, (1, w)/√2, (0, w⊥) of S, and those of S⁻²: S⁻² = Q Δ Qᵀ | |
| ∘, \\ | product of the cone's algebra, division by it | |

    r = D u + |s_t| e₀ - s                                                    (1)  zero at the end
    z ∘ s = τ e₀                                                              (2)  τ goes to zero
    δs = N⁻¹ (D δv + r),  δv = δu + ε δλ                                      (3)  Newton's step for (1), ε: compliance
    δz = c - S⁻² δs,  c = S⁻¹ (ℓ \\ (σ τ e₀ - (S⁻¹ δs_a) ∘ (S δz_a))) - z      (4)  and for (2), a: predictor
    y = Qᵀ δz:  (Θ + Φ B) y = Θ Qᵀ c - Φ Qᵀ N⁻¹ (D δu + r)                    (5)  Θ = 1/(1 + ε Δ), Φ = Δ Θ
    B = ε Qᵀ N⁻¹ D E⁻¹ Q
    δλ = E⁻¹ Q y = e - C δu                                                   (6)
    σ = (τ_a / τ)³                                                            (7)

At the end z or s lie on the border of the cone, where x_0 - |x_t| loses all digits and S has eigenvalues that grow
without bound. So x_m is stored in place of x_0, all of (3)-(5) is written in Q with sums that do not cancel, and (5) has
bounded entries: the method goes on to 1e-12 of the impulses where it would end at 1e-8 otherwise.
Where μ = 0 the cone is the half line: λ_n u_n = τ. With `raised` false (1) is r = D u - s and N = 1: the convex problem
of normal and tangential velocities in the dual cone, which is monotone, ends always and never adds energy, but lets
sliding contacts separate (Anitescu 2006).
Source: (2), (4), (7) Nesterov and Todd 1998, Mehrotra 1992, Vandenberghe 2010; (1) De Saxcé and Feng 1998 with Acary,
Armand, Nguyen and Shpakovych 2023. Cost: one factorisation, two substitutions per round.
"""

from __future__ import annotations

import math

from setsu.contact.block_elimination import solve_round
from setsu.contact.cone_problem import CONTACTS, ConeProblem, set_velocities
from setsu.contact.couple_laws import hold_couples
from setsu.native.control_flow import inline

__all__ = ["begin_interior", "interior_round", "take_interior"]

# Share of the way to the border of a cone that a step takes.
_NEAREST, _SAFE = 0.9, 0.995
_HALF = 0.7071067811865476


@inline
def begin_interior(p: ConeProblem, eps, impulse_size, velocity_size, raised):
    """z and s from `impulse` and the velocities there, moved into their cones by at least these sizes."""
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
        z[0], z[1], z[2] = max(mu * f[0] - math.sqrt(f[1] * f[1] + f[2] * f[2]), 0.0) + mu * impulse_size, f[1], f[2]
        t = 0.0 if raised else mu * math.sqrt(v[1] * v[1] + v[2] * v[2])
        s[0], s[1], s[2] = max(v[0] - t, 0.0) + velocity_size, mu * v[1], mu * v[2]
    take_interior(p, eps)


@inline
def take_interior(p: ConeProblem, eps):
    """`impulse` and `velocity` of z."""
    for index in range(p.counts[CONTACTS]):
        f, z, mu = p.impulse[index], p.cone[index], p.friction[index]
        f[0] = (z[0] + math.sqrt(z[1] * z[1] + z[2] * z[2])) / mu if mu > 0.0 else z[0]
        f[1], f[2] = z[1], z[2]
    set_velocities(p, p.impulse, eps)


@inline
def _polar(x):
    """|x_t| and the unit vector along it."""
    t = math.sqrt(x[1] * x[1] + x[2] * x[2])
    return (t, x[1] / t, x[2] / t) if t > 0.0 else (0.0, 1.0, 0.0)


@inline
def _product(zm, zt, z1, z2, sm, st, s1, s2):
    """z·s from x_m, |x_t| and directions."""
    a, b = z1 + s1, z2 + s2
    return zm * sm + zm * st + sm * zt + 0.5 * zt * st * (a * a + b * b)


@inline
def _scale(z, s, out):
    """Scaling of a pair: out[0] = Δ, out[1] = Qᵀ z, out[2] = (w, |z| |s|), norms of the cone's algebra."""
    zt, z1, z2 = _polar(z)
    st, s1, s2 = _polar(s)
    a, b = math.sqrt(z[0] * (z[0] + 2.0 * zt)), math.sqrt(s[0] * (s[0] + 2.0 * st))
    g = 1.0 / math.sqrt(2.0 * (1.0 + _product(z[0], zt, z1, z2, s[0], st, s1, s2) / (a * b)))
    w1, w2 = g * (s1 * st / b - z1 * zt / a), g * (s2 * st / b - z2 * zt / a)
    t = math.sqrt(w1 * w1 + w2 * w2)
    large = g * ((s[0] + st) / b + (z[0] + zt) / a) + t
    w1, w2 = (w1 / t, w2 / t) if t > 0.0 else (s1, s2)
    out[0, 0], out[0, 1], out[0, 2] = a / b * large * large, a / b / (large * large), a / b
    m1, m2, q1, q2 = z1 - w1, z2 - w2, z1 + w1, z2 + w2
    out[1, 0] = _HALF * (z[0] + 0.5 * zt * (m1 * m1 + m2 * m2))
    out[1, 1] = _HALF * (z[0] + 0.5 * zt * (q1 * q1 + q2 * q2))
    out[1, 2] = z[2] * w1 - z[1] * w2
    out[2, 0], out[2, 1], out[2, 2] = w1, w2, a * b


@inline
def _aim(W, target, dz, ds, corrects):
    """Qᵀ c (4)."""
    za, zb, zp = W[1, 0], W[1, 1], W[1, 2]
    if not corrects:
        return -za, -zb, -zp
    ra, rb, rp = math.sqrt(W[0, 0]), math.sqrt(W[0, 1]), math.sqrt(W[0, 2])
    # (S⁻¹ δs) ∘ (S δz): the roots meet each other but in mixed products.
    xa, xb, xp, ya, yb, yp = ra * ds[0], rb * ds[1], rp * ds[2], dz[0] / ra, dz[1] / rb, dz[2] / rp
    ka = _HALF * (target - 2.0 * xa * ya - xp * yp)
    kb = _HALF * (target - 2.0 * xb * yb - xp * yp)
    kp = -_HALF * ((xa + xb) * yp + (ya + yb) * xp)
    la, lb, lp = za / ra, zb / rb, zp / rp
    x = (kp - 0.5 * lp * (ka / la + kb / lb)) * 2.0 * la * lb / (_HALF * (la + lb) * W[2, 2])
    return (
        ra * _HALF * (ka - _HALF * lp * x) / la - za,
        rb * _HALF * (kb - _HALF * lp * x) / lb - zb,
        rp * x - zp,
    )


@inline
def _turned(W, s, x0, x1, x2, raised):
    """Qᵀ N⁻¹ x."""
    w1, w2 = W[2, 0], W[2, 1]
    if raised:
        _, d1, d2 = _polar(s)
    else:
        d1 = d2 = 0.0
    return (
        _HALF * (x0 + (d1 - w1) * x1 + (d2 - w2) * x2),
        _HALF * (x0 + (d1 + w1) * x1 + (d2 + w2) * x2),
        x2 * w1 - x1 * w2,
    )


@inline
def _inverse(W, s, mu, eps, raised):
    """(Θ + Φ B)⁻¹ of (5), row by row."""
    w1, w2 = W[2, 0], W[2, 1]
    a0, a1, a2 = _turned(W, s, _HALF * eps / mu, -_HALF * eps * mu * w1, -_HALF * eps * mu * w2, raised)
    b0, b1, b2 = _turned(W, s, _HALF * eps / mu, _HALF * eps * mu * w1, _HALF * eps * mu * w2, raised)
    c0, c1, c2 = _turned(W, s, 0.0, -eps * mu * w2, eps * mu * w1, raised)
    t0, t1, t2 = 1.0 / (1.0 + eps * W[0, 0]), 1.0 / (1.0 + eps * W[0, 1]), 1.0 / (1.0 + eps * W[0, 2])
    f0, f1, f2 = W[0, 0] * t0, W[0, 1] * t1, W[0, 2] * t2
    a, b, c = t0 + f0 * a0, f0 * b0, f0 * c0
    d, f, g = f1 * a1, t1 + f1 * b1, f1 * c1
    h, i, j = f2 * a2, f2 * b2, t2 + f2 * c2
    A, B, D = f * j - g * i, g * h - d * j, d * i - f * h
    k = 1.0 / (a * A + b * B + c * D)
    return (
        k * A, k * (c * i - b * j), k * (b * g - c * f),
        k * B, k * (a * j - c * h), k * (c * d - a * g),
        k * D, k * (b * h - a * i), k * (a * f - b * d),
    )  # fmt: skip


@inline
def _change(W, s, mu, eps, c, x0, x1, x2, raised):
    """y of (5) for Qᵀ c and x = D δu + r."""
    m = _inverse(W, s, mu, eps, raised)
    x0, x1, x2 = _turned(W, s, x0, x1, x2, raised)
    g0 = (c[0] - W[0, 0] * x0) / (1.0 + eps * W[0, 0])
    g1 = (c[1] - W[0, 1] * x1) / (1.0 + eps * W[0, 1])
    g2 = (c[2] - W[0, 2] * x2) / (1.0 + eps * W[0, 2])
    return (
        m[0] * g0 + m[1] * g1 + m[2] * g2,
        m[3] * g0 + m[4] * g1 + m[5] * g2,
        m[6] * g0 + m[7] * g1 + m[8] * g2,
    )


@inline
def _to_impulse(W, mu, a, b, c):
    """E⁻¹ Q y."""
    w1, w2, along = W[2, 0], W[2, 1], _HALF * (b - a)
    return _HALF * (a + b) / mu, along * w1 - c * w2, along * w2 + c * w1


@inline
def _error(v, s, mu, raised):
    """r (1)."""
    t = 0.0 if raised else math.sqrt(s[1] * s[1] + s[2] * s[2])
    return v[0] - s[0] - t, mu * v[1] - s[1], mu * v[2] - s[2]


@inline
def _set_blocks(p: ConeProblem, damping, target, corrects, raised):
    """C and e (6) of all contacts; target: σ τ; corrects: the predictor stands in the changes, C is there."""
    for index in range(p.counts[CONTACTS]):
        z, s, mu, v = p.cone[index], p.dual[index], p.friction[index], p.velocity[index]
        C, e, W, aim = p.ratio[index], p.rest[index], p.scaling[index], p.slide[index, 0]
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
        aim[0], aim[1], aim[2] = _aim(W, target, dz, ds, corrects)
        r0, r1, r2 = _error(v, s, mu, raised)
        a, b, c = _change(W, s, mu, damping, aim, r0, r1, r2, raised)
        e[0], e[1], e[2] = _to_impulse(W, mu, a, b, c)
        if not corrects:
            none = p.slide[index, 1]
            none[0] = none[1] = none[2] = 0.0
            for j in range(3):
                x0, x1, x2 = -1.0 if j == 0 else 0.0, -mu if j == 1 else 0.0, -mu if j == 2 else 0.0
                a, b, c = _change(W, s, mu, damping, none, x0, x1, x2, raised)
                C[0, j], C[1, j], C[2, j] = _to_impulse(W, mu, a, b, c)


@inline
def _take_changes(p: ConeProblem, damping, raised):
    """δz and δs of δu, both as Qᵀ δ; return the longest step that stays inside."""
    longest = math.inf
    for index in range(p.counts[CONTACTS]):
        z, s, mu, v = p.cone[index], p.dual[index], p.friction[index], p.velocity[index]
        dz, ds, f, u = p.cone_change[index], p.dual_change[index], p.change[index], p.slope[index]
        W, move = p.scaling[index], p.slide[index, 1]
        if mu == 0.0:
            dz[0], ds[0] = f[0], u[0] + damping * f[0] + v[0] - s[0]
            if dz[0] < 0.0:
                longest = min(longest, z[0] / -dz[0])
            if ds[0] < 0.0:
                longest = min(longest, s[0] / -ds[0])
            continue
        r0, r1, r2 = _error(v, s, mu, raised)
        dz[0], dz[1], dz[2] = _change(
            W, s, mu, damping, p.slide[index, 0], r0 + u[0], r1 + mu * u[1], r2 + mu * u[2], raised
        )
        f[0], f[1], f[2] = _to_impulse(W, mu, dz[0], dz[1], dz[2])
        x0 = r0 + u[0] + damping * f[0]
        x1, x2 = r1 + mu * (u[1] + damping * f[1]), r2 + mu * (u[2] + damping * f[2])
        ds[0], ds[1], ds[2] = _turned(W, s, x0, x1, x2, raised)
        move[0], move[1], move[2] = x0, x1, x2
        a, b, c = _of_cone(z, W, dz, f)
        longest = min(longest, _reach(z, a, b, c))
        a, b, c = _of_dual(s, move, raised)
        longest = min(longest, _reach(s, a, b, c))
    return longest


@inline
def _of_cone(z, W, dz, f):
    """δz as changes of z_m (along the tangent at z) and z_t."""
    _, z1, z2 = _polar(z)
    w1, w2 = W[2, 0], W[2, 1]
    m1, m2, q1, q2 = z1 - w1, z2 - w2, z1 + w1, z2 + w2
    first = 0.5 * _HALF * (dz[0] * (q1 * q1 + q2 * q2) + dz[1] * (m1 * m1 + m2 * m2))
    return first - dz[2] * (z2 * w1 - z1 * w2), f[1], f[2]


@inline
def _of_dual(s, x, raised):
    """δs likewise."""
    _, s1, s2 = _polar(s)
    return x[0] - (0.0 if raised else s1 * x[1] + s2 * x[2]), x[1], x[2]


@inline
def _reach(x, m, b, c):
    """The longest step along (m, b, c), changes of x_m and x_t, that stays in the cone."""
    t, d1, d2 = _polar(x)
    along, across = d1 * b + d2 * c, d1 * c - d2 * b
    most, change = x[0] + 2.0 * t, m + 2.0 * along
    # First positive root of A l² + 2 B l + C, in the form without cancellation; x_0 > 0 with it.
    A, B, C = m * change - across * across, 0.5 * (most * m + x[0] * change), x[0] * most
    root = B * B - A * C
    if root < 0.0:
        return math.inf
    root = math.sqrt(root)
    length = math.inf
    if B < 0.0:
        length = C / (root - B)
    elif A < 0.0:
        length = (B + root) / -A
    if m + along < 0.0:
        length = min(length, (x[0] + t) / -(m + along))
    return length


@inline
def _moved(x, length, m, b, c):
    """x after a part of a change: x_m and x_t."""
    t, d1, d2 = _polar(x)
    along, across = t + length * (d1 * b + d2 * c), length * (d1 * c - d2 * b)
    size = math.sqrt(along * along + across * across)
    # |x_t| grows by more than along it.
    more = across * across / (size + along) if along > 0.0 else size - along
    return x[0] + length * m - more, x[1] + length * b, x[2] + length * c


@inline
def _mean_product(p: ConeProblem, length, raised, take):
    """τ after a part of the step; take: the step is taken."""
    total = 0.0
    for index in range(p.counts[CONTACTS]):
        z, s = p.cone[index], p.dual[index]
        if p.friction[index] == 0.0:
            z0, s0 = z[0] + length * p.cone_change[index, 0], s[0] + length * p.dual_change[index, 0]
            total += z0 * s0
            if take:
                z[0], s[0] = z0, s0
            continue
        f, g = p.trial[index], p.rest[index]
        a, b, c = _of_cone(z, p.scaling[index], p.cone_change[index], p.change[index])
        f[0], f[1], f[2] = _moved(z, length, a, b, c)
        a, b, c = _of_dual(s, p.slide[index, 1], raised)
        g[0], g[1], g[2] = _moved(s, length, a, b, c)
        zt, z1, z2 = _polar(f)
        st, s1, s2 = _polar(g)
        total += _product(f[0], zt, z1, z2, g[0], st, s1, s2)
        if take:
            for k in range(3):
                z[k], s[k] = f[k], g[k]
    return total / p.counts[CONTACTS]


@inline
def interior_round(p: ConeProblem, used, eps, damping, raised):
    """One round from z, s and the velocities; `impulse` and `velocity` follow. Return (τ, length), length 0: failed."""
    tau = 0.0
    for index in range(p.counts[CONTACTS]):
        z, s = p.cone[index], p.dual[index]
        if p.friction[index] > 0.0:
            _scale(z, s, p.scaling[index])
            zt, z1, z2 = _polar(z)
            st, s1, s2 = _polar(s)
            tau += _product(z[0], zt, z1, z2, s[0], st, s1, s2)
        else:
            tau += z[0] * s[0]
    tau /= p.counts[CONTACTS]
    hold_couples(p)
    _set_blocks(p, damping, 0.0, False, raised)
    if not solve_round(p, used, True):
        return tau, 0.0
    length = min(1.0, _take_changes(p, damping, raised))
    ahead = _mean_product(p, length, raised, False)
    sigma = min(1.0, max(0.0, ahead / tau)) ** 3
    _set_blocks(p, damping, sigma * tau, True, raised)
    solve_round(p, used, False)
    longest = _take_changes(p, damping, raised)
    if not longest >= 0.0:
        return tau, 0.0
    length = min(1.0, max(_NEAREST, min(_SAFE, 1.0 - 0.1 * sigma)) * longest)
    tau = _mean_product(p, length, raised, True)
    take_interior(p, eps)
    return tau, length
