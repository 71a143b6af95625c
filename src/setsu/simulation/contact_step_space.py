"""Charts of joints that turn in space, and momenta of trees with their derivatives, for contact_step_motion.py.

| symbol | meaning (world axes, about the origin of the tree's first body, a point at rest) |
|---|---|
| S, V | motion of a velocity; motion of the body it moves, without those of its own joint: V_p |
| I, h | inertia and momentum of all bodies that a velocity moves |

    ∂h/∂v_d = I_d S_d,   ∂h/∂q_d = S_d x* h_d + I_d (V_p x S_d)               (1)  h: of the whole tree
    ∂T/∂v_d = S_d · h_d,   ∂T/∂q_d = (V_p x S_d) · h_d                        (2)  kinetic energy
    q' = q ⊕ φ:  δ' = Ad(exp(-φ)) δ + J(φ) dφ                                 (3)  lie_groups.py (4), (5)

Source: (1), (2) from Singh, Russell and Wensing 2022, as kernels/motion_columns.py. Cost O(N).
"""

from __future__ import annotations

import math

from setsu.contact.tree import set_inertias
from setsu.contact.world_bias import apply_inertia
from setsu.native.compiled_elementary import cos_sin
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_at, load_from, spread, store_at, store_from
from setsu.simulation.contact_step import StepMap

__all__ = [
    "add_product",
    "clear",
    "factor_small",
    "invert_base",
    "momentum_terms",
    "move",
    "place",
    "set_chart",
    "set_product",
    "solve_small",
    "subtract_products",
]

# Series in θ², good to rounding below θ = 1: sin θ/θ, (1 - cos θ)/θ², (θ - sin θ)/θ³, (θ² + 2 cos θ - 2)/(2 θ⁴),
# (2 θ - 3 sin θ + θ cos θ)/(2 θ⁵).
_TERMS = 10
_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(_TERMS))
_COSINE = tuple((-1) ** k / math.factorial(2 * k + 2) for k in range(_TERMS))
_CUBE = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(_TERMS))
_FOURTH = tuple((-1) ** k / math.factorial(2 * k + 4) for k in range(_TERMS))
_FIFTH = tuple(
    0.5 * (-1) ** k * (1.0 / math.factorial(2 * k + 4) - 3.0 / math.factorial(2 * k + 5)) for k in range(_TERMS)
)


@inline
def _series(coefficients, square):
    total = 0.0
    for k in range(_TERMS):
        total = total * square + coefficients[_TERMS - 1 - k]
    return total


@inline
def _skew(x, y, z, out):
    out[0, 0] = out[1, 1] = out[2, 2] = 0.0
    out[0, 1], out[0, 2], out[1, 2] = -z, y, -x
    out[1, 0], out[2, 0], out[2, 1] = z, -y, x


@inline
def _multiply(A, B, out):
    """Out = A B, 3 x 3."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inline
def set_chart(w: StepMap, phi, first, count, carried, chart):
    """Ad(exp(-φ)) and J(φ) (3) of the `count` entries of φ from `first` on, of a joint that turns in space."""
    o = first + count - 3
    x, y, z = phi[o], phi[o + 1], phi[o + 2]
    square = x * x + y * y + z * z
    K, KK, R, P = w.small[0], w.small[1], w.small[2], w.small[3]
    if square < 1.0:
        a, b, c = _series(_SINE, square), _series(_COSINE, square), _series(_CUBE, square)
        fourth, fifth = _series(_FOURTH, square), _series(_FIFTH, square)
    else:
        theta = math.sqrt(square)
        cosine, sine = cos_sin(theta)
        a, b, c = sine / theta, (1.0 - cosine) / square, (theta - sine) / (theta * square)
        fourth = (square + 2.0 * cosine - 2.0) / (2.0 * square * square)
        fifth = (2.0 * theta - 3.0 * sine + theta * cosine) / (2.0 * square * square * theta)
    _skew(x, y, z, K)
    _multiply(K, K, KK)
    for i in range(6):
        for j in range(6):
            carried[i, j] = chart[i, j] = 0.0
    n = count - 3  # where the angular block stands
    for i in range(3):
        for j in range(3):
            one = 1.0 if i == j else 0.0
            R[i, j] = one + a * K[i, j] + b * KK[i, j]
            carried[n + j, n + i] = R[i, j]
            chart[n + i, n + j] = one - b * K[i, j] + c * KK[i, j]
    if count == 3:
        return
    u, v, s = phi[first], phi[first + 1], phi[first + 2]
    # Where the origin goes, V u.
    p0 = u + b * (y * s - z * v) + c * (KK[0, 0] * u + KK[0, 1] * v + KK[0, 2] * s)
    p1 = v + b * (z * u - x * s) + c * (KK[1, 0] * u + KK[1, 1] * v + KK[1, 2] * s)
    p2 = s + b * (x * v - y * u) + c * (KK[2, 0] * u + KK[2, 1] * v + KK[2, 2] * s)
    _skew(p0, p1, p2, P)
    for i in range(3):
        for j in range(3):
            carried[i, j] = carried[3 + i, 3 + j]
            chart[i, j] = chart[3 + i, 3 + j]
            carried[i, 3 + j] = -(R[0, i] * P[0, j] + R[1, i] * P[1, j] + R[2, i] * P[2, j])
    # Q of lie_groups.py (5), with F = -K.
    F, FP, PF, FPF, left, right = w.small[4], w.small[5], w.small[6], w.small[7], w.small[0], w.small[1]
    _skew(-x, -y, -z, F)
    _skew(-u, -v, -s, P)
    _multiply(F, P, FP)
    _multiply(P, F, PF)
    _multiply(FP, F, FPF)
    for i in range(3):
        for j in range(3):
            chart[i, 3 + j] = 0.5 * P[i, j] + c * (FP[i, j] + PF[i, j] + FPF[i, j])
    _multiply(F, FP, left)
    _multiply(PF, F, right)
    for i in range(3):
        for j in range(3):
            chart[i, 3 + j] += fourth * (left[i, j] + right[i, j] - 3.0 * FPF[i, j])
    _multiply(FPF, F, left)
    _multiply(F, FPF, right)
    for i in range(3):
        for j in range(3):
            chart[i, 3 + j] += fifth * (left[i, j] + right[i, j])


@inline
def add_product(out, row, factor, matrix, source, start, stop):
    """Add `factor` times a row of a matrix to a row of `out`, blocks start to stop."""
    f = spread(factor)
    for j in range(start, stop):
        store_at(out, row, j, load_at(out, row, j) + f * load_at(matrix, source, j))


@inline
def set_product(out, row, factor, matrix, source, start, stop):
    """Put it there."""
    f = spread(factor)
    for j in range(start, stop):
        store_at(out, row, j, f * load_at(matrix, source, j))


@inline
def subtract_products(out, row, factors, matrix, first, last, start, stop):
    """Subtract from a row of `out`, blocks start to stop, rows first to last of a matrix times their `factors`: four
    rows at a time."""
    i = first
    while i + 4 <= last:
        a, b, c, d = spread(factors[i]), spread(factors[i + 1]), spread(factors[i + 2]), spread(factors[i + 3])
        for j in range(start, stop):
            x = a * load_at(matrix, i, j) + b * load_at(matrix, i + 1, j)
            y = c * load_at(matrix, i + 2, j) + d * load_at(matrix, i + 3, j)
            store_at(out, row, j, load_at(out, row, j) - (x + y))
        i += 4
    while i < last:
        add_product(out, row, -factors[i], matrix, i, start, stop)
        i += 1


@inline
def clear(out, first, last, start, stop):
    """Zeros into rows first to last, blocks start to stop."""
    zero = spread(0.0)
    for i in range(first, last):
        for j in range(start, stop):
            store_at(out, i, j, zero)


@inline
def place(w: StepMap, when):
    """Axes and inertias from the poses of a configuration, of bodies and of velocities."""
    n, nv, whole = len(w.masses), len(w.parent), w.whole[when]
    set_inertias(w, w.poses[when * n : (when + 1) * n], w.columns[when], when)  # type: ignore[arg-type]
    for d in range(nv):
        body = w.carries[d]
        for i in range(10):
            whole[d, i] = w.inertias[when, body, i] if body >= 0 else 0.0
    for d in range(nv - 1, -1, -1):
        p = w.parent[d]
        for i in range(10 if p >= 0 else 0):
            whole[p, i] += whole[d, i]
        _inertia_times(whole[d], w.axes[when, d], w.by_v[when, d])


@inline
def _inertia_times(b, s, out):
    """Momentum (6) of a motion s (6) and an inertia b (10)."""
    x, y, z, u, v, w = apply_inertia(b, s[0], s[1], s[2], s[3], s[4], s[5])
    out[0], out[1], out[2], out[3], out[4], out[5] = x, y, z, u, v, w


@inline
def move(w: StepMap, when, v):
    """Motions and momenta of all velocities at a configuration, with velocities v (nv,)."""
    axes, twists, momenta = w.axes[when], w.twists[when], w.momenta[when]
    nv = len(w.parent)
    for d in range(nv):
        p, body = w.parent[d], w.carries[d]
        for i in range(6):
            twists[d, i] = axes[d, i] * v[d] + (twists[p, i] if p >= 0 else 0.0)
        if body >= 0:
            _inertia_times(w.inertias[when, body], twists[d], momenta[d])
        else:
            for i in range(6):
                momenta[d, i] = 0.0
    for d in range(nv - 1, -1, -1):
        p = w.parent[d]
        for i in range(6 if p >= 0 else 0):
            momenta[p, i] += momenta[d, i]


@inline
def momentum_terms(w: StepMap, when, v, by_q, by_v):
    """∂h/∂q (1) after `move`, and derivatives (nv,) of the kinetic energy (2) into by_q, by_v; return that energy."""
    axes, twists, momenta, total = w.axes[when], w.twists[when], w.momenta[when], 0.0
    moved, h = w.small[0, 0], w.small[0, 1]
    for d in range(len(w.parent)):
        s, p, out = axes[d], w.above[d], momenta[d]
        if p >= 0:
            V = twists[p]
            moved[0] = V[4] * s[2] - V[5] * s[1] + V[1] * s[5] - V[2] * s[4]
            moved[1] = V[5] * s[0] - V[3] * s[2] + V[2] * s[3] - V[0] * s[5]
            moved[2] = V[3] * s[1] - V[4] * s[0] + V[0] * s[4] - V[1] * s[3]
            moved[3], moved[4], moved[5] = (
                V[4] * s[5] - V[5] * s[4], V[5] * s[3] - V[3] * s[5], V[3] * s[4] - V[4] * s[3],
            )  # fmt: skip
        else:
            for i in range(6):
                moved[i] = 0.0
        _inertia_times(w.whole[when, d], moved, h)
        change = w.by_q[when, d]
        change[0] = h[0] + s[4] * out[2] - s[5] * out[1]
        change[1] = h[1] + s[5] * out[0] - s[3] * out[2]
        change[2] = h[2] + s[3] * out[1] - s[4] * out[0]
        change[3] = h[3] + s[4] * out[5] - s[5] * out[4] + s[1] * out[2] - s[2] * out[1]
        change[4] = h[4] + s[5] * out[3] - s[3] * out[5] + s[2] * out[0] - s[0] * out[2]
        change[5] = h[5] + s[3] * out[4] - s[4] * out[3] + s[0] * out[1] - s[1] * out[0]
        by_q[d], by_v[d] = 0.0, w.armature[d] * v[d]
        for i in range(6):
            by_q[d] += moved[i] * out[i]
            by_v[d] += s[i] * out[i]
        total += 0.5 * by_v[d] * v[d]
    return total


@inline
def invert_base(w: StepMap, when, o):
    """Inverse of what the velocities of a free joint, from o on, do to the momentum of its tree, into small[6]."""
    A, B = w.small[7], w.small[6]
    for i in range(6):
        for j in range(6):
            A[i, j] = w.by_v[when, o + j, i]
            B[i, j] = 1.0 if i == j else 0.0
    for k in range(6):
        best = k
        for i in range(k + 1, 6):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        for j in range(6):
            A[k, j], A[best, j] = A[best, j], A[k, j]
            B[k, j], B[best, j] = B[best, j], B[k, j]
        f = 1.0 / A[k, k]
        for j in range(6):
            A[k, j] *= f
            B[k, j] *= f
        for i in range(6):
            if i != k and A[i, k] != 0.0:
                g = A[i, k]
                for j in range(6):
                    A[i, j] -= g * A[k, j]
                    B[i, j] -= g * B[k, j]


@inline
def factor_small(A, pivots, n):
    """LU factors of the leading n x n block, in place; False where it is singular."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        pivots[k] = best
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            p, q = A[k], A[best]
            for j in range(n):
                p[j], q[j] = q[j], p[j]
        f = 1.0 / A[k, k]
        for i in range(k + 1, n):
            A[i, k] *= f
            if A[i, k] != 0.0:
                g, p, q, j = A[i, k], A[i], A[k], k + 1
                while j + LANES <= n:
                    store_from(p, j, load_from(p, j) - spread(g) * load_from(q, j))
                    j += LANES
                while j < n:
                    p[j] -= g * q[j]
                    j += 1
    return True


@inline
def solve_small(A, pivots, n, B, start, stop):
    """B <- A⁻¹ B, blocks start to stop, with the factors of A."""
    for k in range(n):
        best = pivots[k]
        if best != k:
            for j in range(start, stop):
                x = load_at(B, k, j)
                store_at(B, k, j, load_at(B, best, j))
                store_at(B, best, j, x)
    for i in range(n):
        subtract_products(B, i, A[i], B, 0, i, start, stop)
    for i in range(n - 1, -1, -1):
        subtract_products(B, i, A[i], B, i + 1, n, start, stop)
        set_product(B, i, 1.0 / A[i, i], B, i, start, stop)
