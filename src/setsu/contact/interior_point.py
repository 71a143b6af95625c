"""An interior point method for contact with friction: predictor, corrector, De Saxcé's shift linearised.

| symbol | meaning | unit |
|---|---|---|
| λ, u, μ | impulse and velocity of a contact (normal, tangents), friction coefficient | N s, m/s, - |
| z = (μ λ_n, λ_t) | impulse, in the second-order cone: z_0 >= |z_t| | N s |
| s | raised velocity (u_n + μ |u_t|, μ u_t), in the cone; an unknown of its own | m/s |
| x_m, x_p | x_0 - |x_t|, x_0 + |x_t|: eigenvalues of a point x of the cone | |
| D, E | diag(1, μ, μ), diag(μ, 1, 1) | |
| d, N | s_t / |s_t| times a share; 1 - e₀ (0, dᵀ), so that N⁻¹ = 1 + e₀ (0, dᵀ) | |
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
    σ = (τ_a / τ)²,  τ_a = (1 - l) τ + l² δz·δs for the longest step l        (7)  δ: of the predictor

At the end z or s lie on the border of the cone, where x_0 - |x_t| loses all digits and S has eigenvalues that grow
without bound. So x_m is stored in place of x_0, (3)-(5) are written in Q with sums that do not cancel, and (5) has
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
    if not t > 0.0:
        return 0.0, 1.0, 0.0
    inverse = 1.0 / t
    return t, inverse * x[1], inverse * x[2]


@inline
def _product(zm, zt, z1, z2, sm, st, s1, s2):
    """z·s from x_m, |x_t| and directions."""
    a, b = z1 + s1, z2 + s2
    return zm * sm + zm * st + sm * zt + 0.5 * zt * st * (a * a + b * b)


@inline
def _scale(z, s, mu, eps, share, out):
    """What a round needs of a contact, out (8, 3): Δ, Qᵀ z, (w, |z| |s|), (Θ + Φ B)⁻¹ Θ, polar of z, polar of s.

    Return z·s. Norms |x| are those of the cone's algebra.
    """
    zt, z1, z2 = _polar(z)
    st, s1, s2 = _polar(s)
    product = _product(z[0], zt, z1, z2, s[0], st, s1, s2)
    a, b = math.sqrt(z[0] * (z[0] + 2.0 * zt)), math.sqrt(s[0] * (s[0] + 2.0 * st))
    over_a, over_b = 1.0 / a, 1.0 / b
    g = 1.0 / math.sqrt(2.0 * (1.0 + product * over_a * over_b))
    along_z, along_s = zt * over_a, st * over_b
    w1, w2 = g * (s1 * along_s - z1 * along_z), g * (s2 * along_s - z2 * along_z)
    t = math.sqrt(w1 * w1 + w2 * w2)
    large = g * ((s[0] + st) * over_b + (z[0] + zt) * over_a) + t
    if t > 0.0:
        inverse = 1.0 / t
        w1, w2 = inverse * w1, inverse * w2
    else:
        w1, w2 = s1, s2
    D2 = a * over_b
    D0, D1 = D2 * large * large, D2 / (large * large)
    out[0, 0], out[0, 1], out[0, 2] = D0, D1, D2
    m1, m2, q1, q2 = z1 - w1, z2 - w2, z1 + w1, z2 + w2
    out[1, 0] = _HALF * (z[0] + 0.5 * zt * (m1 * m1 + m2 * m2))
    out[1, 1] = _HALF * (z[0] + 0.5 * zt * (q1 * q1 + q2 * q2))
    out[1, 2] = z[2] * w1 - z[1] * w2
    out[2, 0], out[2, 1], out[2, 2] = w1, w2, a * b
    out[6, 0], out[6, 1], out[6, 2] = zt, z1, z2
    out[7, 0], out[7, 1], out[7, 2] = st, s1, s2
    # Θ + Φ B, and its inverse times Θ.
    n, m = eps / mu, eps * mu
    a0, a1, a2 = _turned(out, _HALF * n, -_HALF * m * w1, -_HALF * m * w2, share)
    b0, b1, b2 = _turned(out, _HALF * n, _HALF * m * w1, _HALF * m * w2, share)
    c0, c1, c2 = _turned(out, 0.0, -m * w2, m * w1, share)
    t0, t1, t2 = 1.0 / (1.0 + eps * D0), 1.0 / (1.0 + eps * D1), 1.0 / (1.0 + eps * D2)
    D0, D1, D2 = D0 * t0, D1 * t1, D2 * t2
    a, b, c = t0 + D0 * a0, D0 * b0, D0 * c0
    d, f, g = D1 * a1, t1 + D1 * b1, D1 * c1
    h, i, j = D2 * a2, D2 * b2, t2 + D2 * c2
    A, B, C = f * j - g * i, g * h - d * j, d * i - f * h
    k = 1.0 / (a * A + b * B + c * C)
    t0, t1, t2 = k * t0, k * t1, k * t2
    out[3, 0], out[4, 0], out[5, 0] = t0 * A, t0 * B, t0 * C
    out[3, 1], out[4, 1], out[5, 1] = t1 * (c * i - b * j), t1 * (a * j - c * h), t1 * (b * h - a * i)
    out[3, 2], out[4, 2], out[5, 2] = t2 * (b * g - c * f), t2 * (c * d - a * g), t2 * (a * f - b * d)
    return product


@inline
def _turned(W, x0, x1, x2, share):
    """Qᵀ N⁻¹ x."""
    w1, w2, d1, d2 = W[2, 0], W[2, 1], share * W[7, 1], share * W[7, 2]
    return (
        _HALF * (x0 + (d1 - w1) * x1 + (d2 - w2) * x2),
        _HALF * (x0 + (d1 + w1) * x1 + (d2 + w2) * x2),
        x2 * w1 - x1 * w2,
    )


@inline
def _aim(W, target, dz, ds):
    """Qᵀ c (4), with the predictor's changes as Qᵀ δ."""
    za, zb, zp = W[1, 0], W[1, 1], W[1, 2]
    ra, rb, rp = math.sqrt(W[0, 0]), math.sqrt(W[0, 1]), math.sqrt(W[0, 2])
    ia, ib, ip = 1.0 / ra, 1.0 / rb, 1.0 / rp
    xa, xb, xp, ya, yb, yp = ra * ds[0], rb * ds[1], rp * ds[2], dz[0] * ia, dz[1] * ib, dz[2] * ip
    ka = _HALF * (target - 2.0 * xa * ya - xp * yp)
    kb = _HALF * (target - 2.0 * xb * yb - xp * yp)
    kp = -_HALF * ((xa + xb) * yp + (ya + yb) * xp)
    la, lb, lp = za * ia, zb * ib, zp * ip
    over_la, over_lb = 1.0 / la, 1.0 / lb
    x = (kp - 0.5 * lp * (ka * over_la + kb * over_lb)) * 2.0 * la * lb / (_HALF * (la + lb) * W[2, 2])
    return (
        ra * _HALF * (ka - _HALF * lp * x) * over_la - za,
        rb * _HALF * (kb - _HALF * lp * x) * over_lb - zb,
        rp * x - zp,
    )


@inline
def _change(W, c, x0, x1, x2, share):
    """y of (5) for Qᵀ c and x = D δu + r."""
    x0, x1, x2 = _turned(W, x0, x1, x2, share)
    g0, g1, g2 = c[0] - W[0, 0] * x0, c[1] - W[0, 1] * x1, c[2] - W[0, 2] * x2
    return (
        W[3, 0] * g0 + W[3, 1] * g1 + W[3, 2] * g2,
        W[4, 0] * g0 + W[4, 1] * g1 + W[4, 2] * g2,
        W[5, 0] * g0 + W[5, 1] * g1 + W[5, 2] * g2,
    )


@inline
def _to_impulse(W, mu, a, b, c):
    """E⁻¹ Q y."""
    w1, w2, along = W[2, 0], W[2, 1], _HALF * (b - a)
    return _HALF * (a + b) / mu, along * w1 - c * w2, along * w2 + c * w1


@inline
def _error(v, s, mu, W, raised):
    """r (1)."""
    return v[0] - s[0] - (0.0 if raised else W[7, 0]), mu * v[1] - s[1], mu * v[2] - s[2]


@inline
def _set_blocks(p: ConeProblem, damping, target, corrects, raised, share):
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
        if corrects:
            aim[0], aim[1], aim[2] = _aim(W, target, dz, ds)
        else:
            none = p.slide[index, 1]
            for j in range(3):
                aim[j], none[j] = -W[1, j], 0.0
            for j in range(3):
                x0, x1, x2 = -1.0 if j == 0 else 0.0, -mu if j == 1 else 0.0, -mu if j == 2 else 0.0
                a, b, c = _change(W, none, x0, x1, x2, share)
                C[0, j], C[1, j], C[2, j] = _to_impulse(W, mu, a, b, c)
        r0, r1, r2 = _error(v, s, mu, W, raised)
        a, b, c = _change(W, aim, r0, r1, r2, share)
        e[0], e[1], e[2] = _to_impulse(W, mu, a, b, c)


@inline
def _take_changes(p: ConeProblem, damping, raised, share):
    """δz and δs of δu, as Qᵀ δ and as changes of x_m and x_t; return the longest step that stays inside."""
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
        r0, r1, r2 = _error(v, s, mu, W, raised)
        dz[0], dz[1], dz[2] = _change(W, p.slide[index, 0], r0 + u[0], r1 + mu * u[1], r2 + mu * u[2], share)
        f[0], f[1], f[2] = _to_impulse(W, mu, dz[0], dz[1], dz[2])
        x0 = r0 + u[0] + damping * f[0]
        x1, x2 = r1 + mu * (u[1] + damping * f[1]), r2 + mu * (u[2] + damping * f[2])
        ds[0], ds[1], ds[2] = _turned(W, x0, x1, x2, share)
        move[0] = x0 + (share - 1.0) * (W[7, 1] * x1 + W[7, 2] * x2)
        move[1], move[2] = x1, x2
        w1, w2, z1, z2 = W[2, 0], W[2, 1], W[6, 1], W[6, 2]
        m1, m2, q1, q2 = z1 - w1, z2 - w2, z1 + w1, z2 + w2
        f[0] = 0.5 * _HALF * (dz[0] * (q1 * q1 + q2 * q2) + dz[1] * (m1 * m1 + m2 * m2)) - dz[2] * (z2 * w1 - z1 * w2)
        longest = min(longest, _reach(z, W[6], f), _reach(s, W[7], move))
    return longest


@inline
def _reach(x, polar, change):
    """The longest step along changes of x_m and x_t that stays in the cone."""
    t, d1, d2, m, b, c = polar[0], polar[1], polar[2], change[0], change[1], change[2]
    along, across = d1 * b + d2 * c, d1 * c - d2 * b
    most, more = x[0] + 2.0 * t, m + 2.0 * along
    # First positive root of A l² + 2 B l + C, in the form without cancellation; x_0 > 0 with it.
    A, B, C = m * more - across * across, 0.5 * (most * m + x[0] * more), x[0] * most
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
def _move(x, polar, change, length, out):
    """out = x after a part of a change of x_m and x_t."""
    t, d1, d2, m, b, c = polar[0], polar[1], polar[2], change[0], change[1], change[2]
    along, across = t + length * (d1 * b + d2 * c), length * (d1 * c - d2 * b)
    size = math.sqrt(along * along + across * across)
    # |x_t| grows by more than what lies along it.
    more = across * across / (size + along) if along > 0.0 else size - along
    out[0], out[1], out[2] = x[0] + length * m - more, x[1] + length * b, x[2] + length * c


@inline
def _mean_product_of_changes(p: ConeProblem):
    """Mean of δz·δs, from Qᵀ δ."""
    total = 0.0
    for index in range(p.counts[CONTACTS]):
        dz, ds = p.cone_change[index], p.dual_change[index]
        total += dz[0] * ds[0]
        if p.friction[index] != 0.0:
            total += dz[1] * ds[1] + dz[2] * ds[2]
    return total / p.counts[CONTACTS]


@inline
def _mean_product(p: ConeProblem, length):
    """τ after a part of the step, whose end stands in `trial` and `rest`."""
    total = 0.0
    for index in range(p.counts[CONTACTS]):
        z, s, W, f, g = p.cone[index], p.dual[index], p.scaling[index], p.trial[index], p.rest[index]
        if p.friction[index] == 0.0:
            f[0], g[0] = z[0] + length * p.cone_change[index, 0], s[0] + length * p.dual_change[index, 0]
            total += f[0] * g[0]
            continue
        _move(z, W[6], p.change[index], length, f)
        _move(s, W[7], p.slide[index, 1], length, g)
        zt, z1, z2 = _polar(f)
        st, s1, s2 = _polar(g)
        total += _product(f[0], zt, z1, z2, g[0], st, s1, s2)
    return total / p.counts[CONTACTS]


@inline
def interior_round(p: ConeProblem, used, eps, damping, raised, share):
    """One round from z, s and the velocities; `impulse` and `velocity` follow. Return (τ, length), length 0: failed.

    share: of the shift's derivative that the round reckons with; 0 where nothing is raised.
    """
    tau = 0.0
    for index in range(p.counts[CONTACTS]):
        z, s, mu = p.cone[index], p.dual[index], p.friction[index]
        tau += _scale(z, s, mu, damping, share, p.scaling[index]) if mu > 0.0 else z[0] * s[0]
    tau /= p.counts[CONTACTS]
    hold_couples(p)
    _set_blocks(p, damping, 0.0, False, raised, share)
    if not solve_round(p, used, True):
        return tau, 0.0
    length = min(1.0, _take_changes(p, damping, raised, share))
    ahead = (1.0 - length) * tau + length * length * _mean_product_of_changes(p)
    sigma = min(1.0, max(0.0, ahead / tau)) ** 2
    _set_blocks(p, damping, sigma * tau, True, raised, share)
    solve_round(p, used, False)
    longest = _take_changes(p, damping, raised, share)
    if not longest >= 0.0:
        return tau, 0.0
    length = min(1.0, max(_NEAREST, min(_SAFE, 1.0 - 0.1 * sigma)) * longest)
    tau = _mean_product(p, length)
    for index in range(p.counts[CONTACTS]):
        for k in range(1 if p.friction[index] == 0.0 else 3):
            p.cone[index, k], p.dual[index, k] = p.trial[index, k], p.rest[index, k]
    take_interior(p, eps)
    return tau, length
