"""Friction in compiled code: of sliding contacts, coupled through their normal forces, and of sliding joints.

| symbol | meaning |
|---|---|
| f_n, K, d | normal force (N), coefficient of friction, sliding direction of each sliding contact |
| c, s | limit of dry friction (N or N m) and sign of sliding of a joint's axis |

    force on a contact  -K |f_n| d, f_n < 0 where a bilateral one is pulled, whose sign is found by trying;
    multipliers are linear in these: f_n = f_0 + S f_n, so (1 - S) f_n = f_0                                    (1)
    S_ii >= 1 means jamming: friction pushes the contact harder into the surface than it resists;
    it begins at the coefficient K / S_ii                                    (2)
    force along an axis  -c s                                                (3)

(1) is nishiguchi2014 (19)-(21) for any number of contacts beside any number of loops; (3) is explained in
joint_friction.py. Refuses: a jamming contact, by its number.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_factor import multipliers, solve_L
from setsu.constraints.compiled_vectors import dot, length, minus, scaled, vector
from setsu.native.control_flow import inline
from setsu.simulation.contact_modes import REST_SPEED
from setsu.simulation.motion_space import FREE, JAMMED, SLIDE

__all__ = ["contact_friction", "joint_friction", "loop_joint_forces", "sliding_direction", "tangents"]

_PULLED = -2  # status of a balance with a wrong sign
_MOST_SIGNS = 8


@inline
def tangents(n, T):
    """Write two unit vectors normal to n and to each other into T (2, 3)."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        T[0, 0], T[0, 1], T[0, 2] = 0.0, n[2], -n[1]
    elif y <= z:
        T[0, 0], T[0, 1], T[0, 2] = -n[2], 0.0, n[0]
    else:
        T[0, 0], T[0, 1], T[0, 2] = n[1], -n[0], 0.0
    length = math.sqrt(T[0, 0] ** 2 + T[0, 1] ** 2 + T[0, 2] ** 2)
    for i in range(3):
        T[0, i] /= length
    T[1, 0] = n[1] * T[0, 2] - n[2] * T[0, 1]
    T[1, 1] = n[2] * T[0, 0] - n[0] * T[0, 2]
    T[1, 2] = n[0] * T[0, 1] - n[1] * T[0, 0]


@inline
def sliding_direction(s, x, c):
    """Unit vector that friction acts against, continued through rest; zeros when there is none."""
    n, before = vector(s.contact_normal, c), vector(x.direction, c)
    v = vector(s.contact_velocity, c)
    along = minus(v, scaled(n, dot(n, v)))
    speed = length(along)
    if speed > REST_SPEED * x.length[0]:
        # Of the two directions along the velocity the one that continues the motion.
        return scaled(along, 1.0 / speed if dot(along, before) >= 0.0 else -1.0 / speed)
    rest = minus(before, scaled(n, dot(n, before)))
    size = length(rest)
    return scaled(rest, 1.0 / size) if size > 0.0 else rest


@inline
def _solve_small(A, b, n):
    """Solve A x = b in place by elimination with the largest pivot; False when singular."""
    for i in range(n):
        best = i
        for r in range(i + 1, n):
            if abs(A[r, i]) > abs(A[best, i]):
                best = r
        if A[best, i] == 0.0:
            return False
        if best != i:
            for c in range(n):
                A[i, c], A[best, c] = A[best, c], A[i, c]
            b[i], b[best] = b[best], b[i]
        for r in range(i + 1, n):
            ratio = A[r, i] / A[i, i]
            for c in range(i, n):
                A[r, c] -= ratio * A[i, c]
            b[r] -= ratio * b[i]
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            b[i] -= A[i, c] * b[c]
        b[i] /= A[i, i]
    return True


@inline
def contact_friction(t, s, x, F, w):
    """Add friction of sliding contacts (1), (2) to the forces L⁻¹ f in w.y; -1, or JAMMED plus a contact's number."""
    for c in range(len(t.contact_body)):
        w.press[c] = 1.0
    for _ in range(_MOST_SIGNS):
        status = _balance(t, s, x, F, w)
        if status != _PULLED:
            return status
    return _balance(t, s, x, F, w)


@inline
def _balance(t, s, x, F, w):
    """`contact_friction` with bilateral contacts that press, or pull, as w.press says; _PULLED where one does not."""
    nv, held = len(s.v), len(t.held)
    n, touching = 0, 0
    for c in range(len(t.contact_body)):
        if x.mode[c] == FREE:
            continue
        if x.mode[c] == SLIDE and t.friction[c] > 0.0:
            d = w.slide[n]
            d[0], d[1], d[2] = sliding_direction(s, x, c)
            for v in range(nv):
                along = (
                    d[0] * s.contact_jacobian[c, 0, v]
                    + d[1] * s.contact_jacobian[c, 1, v]
                    + d[2] * s.contact_jacobian[c, 2, v]
                )
                w.drag[n, v] = -t.friction[c] * w.press[c] * along
            solve_L(F, w.drag[n])
            w.which[n], w.normal_row[n] = c, held + touching
            n += 1
        touching += 1
    if n == 0:
        return -1
    multipliers(F, w.y, w.gamma, w.multiplier)
    for i in range(n):
        w.share[i] = w.multiplier[w.normal_row[i]]
    for j in range(n):
        multipliers(F, w.drag[j], w.zero, w.multiplier)
        for i in range(n):
            w.S[i, j] = (1.0 if i == j else 0.0) - w.multiplier[w.normal_row[i]]
        if w.S[j, j] <= 1e-12:
            w.critical[0] = t.friction[w.which[j]] / (1.0 - w.S[j, j])
            return JAMMED + w.which[j]
    if not _solve_small(w.S, w.share, n):
        w.critical[0] = t.friction[w.which[0]]
        return JAMMED + w.which[0]
    pulled = False
    for i in range(n):
        c = w.which[i]
        if t.bilateral[c] and w.press[c] * w.share[i] < 0.0:
            w.press[c], pulled = -w.press[c], True
    if pulled:
        return _PULLED
    for i in range(n):
        for v in range(nv):
            w.y[v] += w.drag[i, v] * w.share[i]
    return -1


@inline
def loop_joint_forces(t, s, w):
    """Add springs, dampers and drives along the free axes of loop joints to w.y; the power of the dampers."""
    power = 0.0
    if not t.free_used[0]:
        return power
    for j in range(len(t.damping)):
        rate = s.free_rate[j]
        force = -t.damping[j] * rate - t.stiffness[j] * (s.free_coordinate[j] - t.spring_rest[j])
        force -= t.armature[j] * s.free_gamma[j]
        power -= t.damping[j] * rate * rate
        if force != 0.0:
            for d in range(len(s.v)):
                w.y[d] += force * s.free[j, d]
    return power


@inline
def joint_friction(s, x, w):
    """Add dry friction of sliding joints (3) to w.y; its power."""
    power = 0.0
    for i in range(len(x.dry_held)):
        if x.dry_held[i]:
            continue
        force = -x.dry_limit[i] * x.dry_sign[i]
        w.dry_force[i] = force
        d, j = x.dry_velocity[i], x.dry_axis[i]
        if d >= 0:
            w.y[d] += force
            power += force * s.v[d]
        else:
            power += force * s.free_rate[j]
            for d in range(len(s.v)):
                w.y[d] += force * s.free[j, d]
    return power
