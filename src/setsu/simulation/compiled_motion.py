"""Accelerations, forces, guards and projection of a constrained mechanism at one state, in compiled code.

| symbol | meaning |
|---|---|
| G, γ | active rows: loops, couplings, normals of touching contacts, held stops, tangents of sticking contacts |
| f_n, K, d | normal force (N), coefficient of friction, sliding direction of each sliding contact |
| J | Jacobian of a contact point |

    M a = τ - bias + Gᵀ λ - Σ K f_n Jᵀ d                                     (1)
    normal multipliers are linear in the friction forces: f_n = f_0 + S f_n,  so (1 - S) f_n = f_0       (2)
    S_ii >= 1 means jamming: friction pushes the contact harder into the surface than it resists;
    it begins at the coefficient K / S_ii                                    (3)

(2) is nishiguchi2014 (19)-(21) for any number of contacts beside any number of loops. Modes and guards of contacts are
explained in contact_modes.py, stops in joint_stops.py. All arrays are work space made by motion_space.py.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_factor import acceleration, factor, multipliers, nearest, pushed
from setsu.constraints.compiled_rows import fill_rows
from setsu.native.control_flow import compiled, part, run_bound
from setsu.simulation.contact_modes import FORCE_ROOM, GAP_ROOM, REST_SPEED
from setsu.simulation.motion_space import FREE, JAMMED, MASSLESS, SLIDE, STICK, UNSUITABLE

__all__ = ["active_rows", "energy", "evaluate", "project", "settle"]

_SMALLEST_ERROR = 1e-15
_LAST_CORRECTION = 1e-13
_NEAR = 1e-4


@part
def _tangents(n, T):
    """Write two unit vectors normal to n and to each other into T (2, 3): contact_modes.tangent_basis."""
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


@part
def _gather(t, s, x, F, w):
    """Copy the active rows into F.G with velocity terms in w.gamma and errors in w.error; how many there are."""
    nv, held = len(s.v), len(t.row_kind) + len(t.coupling_offset)
    k = 0
    for row in range(held + len(t.contact_body)):
        if row >= held and x.mode[row - held] == FREE:
            continue
        for d in range(nv):
            F.G[k, d] = s.G[row, d]
        w.gamma[k], w.error[k] = s.gamma[row], s.error[row]
        if w.rate[0] > 0.0:
            speed = 0.0
            for d in range(nv):
                speed += s.G[row, d] * s.v[d]
            w.gamma[k] += w.rate[0] * (2.0 * speed + w.rate[0] * s.error[row])
        k += 1
    for i in range(len(x.stop_held)):
        if x.stop_held[i]:
            for d in range(nv):
                F.G[k, d] = 0.0
            F.G[k, x.stop_velocity[i]] = x.stop_sign[i]
            w.gamma[k] = 0.0
            w.error[k] = x.stop_sign[i] * (s.q[x.stop_coordinate[i]] - x.stop_limit[i])
            k += 1
    for c in range(len(t.contact_body)):
        if x.mode[c] == STICK:
            _tangents(s.contact_normal[c], w.T)
            for i in range(2):
                w.gamma[k], w.error[k] = 0.0, 0.0
                for d in range(nv):
                    F.G[k, d] = 0.0
                for j in range(3):
                    w.gamma[k] += w.T[i, j] * s.contact_gamma[c, j]
                    w.error[k] += w.T[i, j] * (s.place[c, j] - x.anchor[c, j])
                    for d in range(nv):
                        F.G[k, d] += w.T[i, j] * s.contact_jacobian[c, j, d]
                k += 1
    return k


@part
def _mass(t, s, kernels):
    """Mass matrix, drives in loop joints included."""
    run_bound(kernels.mass)
    for j in range(len(t.armature)):
        if t.armature[j] != 0.0:
            for a in range(len(s.v)):
                for b in range(len(s.v)):
                    kernels.M[a, b] += t.armature[j] * s.free[j, a] * s.free[j, b]


@part
def _passive(t, s, w):
    """Forces along the free axes of loop joints, added to w.y; the power of their friction."""
    power = 0.0
    for j in range(len(t.damping)):
        rate = s.free_rate[j]
        dry = t.coulomb[j] * (1.0 if rate > 0.0 else -1.0 if rate < 0.0 else 0.0)
        force = -t.damping[j] * rate - dry - t.stiffness[j] * (s.free_coordinate[j] - t.spring_rest[j])
        force += w.axis_force[j] - t.armature[j] * s.free_gamma[j]
        power -= t.damping[j] * rate * rate + t.coulomb[j] * abs(rate)
        if force != 0.0:
            for d in range(len(s.v)):
                w.y[d] += force * s.free[j, d]
    return power


@part
def _spring_power(s, w):
    """Power of the dampers of springs between points: minus damping times the square of the spring's rate."""
    power = 0.0
    for i in range(len(w.spring_damping)):
        square, along = 0.0, 0.0
        for end in range(2):
            body = w.spring_body[i, end]
            for k in range(3):
                w.end[end, k] = w.spring_point[i, end, k]
                w.end[2 + end, k] = 0.0
            if body >= 0:
                R, V = s.poses[body], s.velocities[body]
                x, y, z = w.end[end, 0], w.end[end, 1], w.end[end, 2]
                for k in range(3):
                    w.end[4, k] = R[4 * k] * x + R[4 * k + 1] * y + R[4 * k + 2] * z
                    w.end[end, k] = R[4 * k + 3] + w.end[4, k]
                w.end[2 + end, 0] = V[0] + V[4] * w.end[4, 2] - V[5] * w.end[4, 1]
                w.end[2 + end, 1] = V[1] + V[5] * w.end[4, 0] - V[3] * w.end[4, 2]
                w.end[2 + end, 2] = V[2] + V[3] * w.end[4, 1] - V[4] * w.end[4, 0]
        for k in range(3):
            apart = w.end[1, k] - w.end[0, k]
            square += apart * apart
            along += apart * (w.end[3, k] - w.end[2, k])
        if square > 0.0:
            power -= w.spring_damping[i] * along * along / square
    return power


@part
def _sliding_direction(x, s, c, d):
    """Write the unit vector friction acts against, continued through rest, into d (3); zeros when there is none."""
    n = s.contact_normal[c]
    normal_speed = n[0] * s.contact_velocity[c, 0] + n[1] * s.contact_velocity[c, 1] + n[2] * s.contact_velocity[c, 2]
    speed, along = 0.0, 0.0
    for i in range(3):
        d[i] = s.contact_velocity[c, i] - n[i] * normal_speed
        speed += d[i] * d[i]
        along += d[i] * x.direction[c, i]
    speed = math.sqrt(speed)
    if speed > REST_SPEED:
        scale = 1.0 / speed if along >= 0.0 else -1.0 / speed
        for i in range(3):
            d[i] *= scale
        return
    part = n[0] * x.direction[c, 0] + n[1] * x.direction[c, 1] + n[2] * x.direction[c, 2]
    length = 0.0
    for i in range(3):
        d[i] = x.direction[c, i] - n[i] * part
        length += d[i] * d[i]
    if length > 0.0:
        for i in range(3):
            d[i] /= math.sqrt(length)


@part
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


@part
def _friction(t, s, x, F, w):
    """Add sliding friction (1), (2) to the pushed forces w.y; -1, or JAMMED plus the number of the contact."""
    nv, held = len(s.v), len(t.row_kind) + len(t.coupling_offset)
    n, touching = 0, 0
    for c in range(len(t.contact_body)):
        if x.mode[c] == FREE:
            continue
        if x.mode[c] == SLIDE and t.friction[c] > 0.0:
            d = w.slide[n]
            _sliding_direction(x, s, c, d)
            for v in range(nv):
                along = (
                    d[0] * s.contact_jacobian[c, 0, v]
                    + d[1] * s.contact_jacobian[c, 1, v]
                    + d[2] * s.contact_jacobian[c, 2, v]
                )
                w.drag[n, v] = -t.friction[c] * along
            pushed(F, w.drag[n])
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
    for i in range(n):
        for v in range(nv):
            w.y[v] += w.drag[i, v] * w.share[i]
    return -1


@part
def _guards(t, s, x, w, k):
    """Forces of contacts, and guards of contacts and stops; the smallest guard."""
    held = len(t.row_kind) + len(t.coupling_offset)
    row, smallest, slides = held, math.inf, 0
    stops = held
    for c in range(len(t.contact_body)):
        stops += x.mode[c] != FREE
    tangent = stops
    for i in range(len(x.stop_held)):
        tangent += x.stop_held[i]
    w.powers[3] = 0.0
    for c in range(len(t.contact_body)):
        n, v = s.contact_normal[c], s.contact_velocity[c]
        f = w.friction_force[c]
        f[0], f[1], f[2] = 0.0, 0.0, 0.0
        normal_speed = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        if x.mode[c] == FREE:
            w.normal_force[c] = 0.0
            w.guards[2 * c] = s.error[held + c] + GAP_ROOM if normal_speed < 0.0 else math.inf
            w.guards[2 * c + 1] = math.inf
            smallest = min(smallest, w.guards[2 * c])
            continue
        normal_force = w.multiplier[row]
        w.normal_force[c] = normal_force
        row += 1
        room = FORCE_ROOM * (1.0 + abs(normal_force))
        w.guards[2 * c] = math.inf if t.bilateral[c] else normal_force + room
        w.guards[2 * c + 1] = math.inf
        if x.mode[c] == STICK:
            _tangents(n, w.T)
            for i in range(3):
                f[i] = w.multiplier[tangent] * w.T[0, i] + w.multiplier[tangent + 1] * w.T[1, i]
            tangent += 2
            if t.friction[c] > 0.0:
                size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
                w.guards[2 * c + 1] = t.friction[c] * abs(normal_force) - size + room
        elif t.friction[c] > 0.0:
            for i in range(3):
                f[i] = -t.friction[c] * normal_force * w.slide[slides, i]
            slides += 1
            speed = 0.0
            for i in range(3):
                speed += (v[i] - n[i] * normal_speed) * x.direction[c, i]
            w.guards[2 * c + 1] = 0.0 if abs(speed) <= REST_SPEED else speed
        w.powers[3] += f[0] * v[0] + f[1] * v[1] + f[2] * v[2]
        smallest = min(smallest, w.guards[2 * c], w.guards[2 * c + 1])
    place = 2 * len(t.contact_body)
    for i in range(len(x.stop_held)):
        if x.stop_held[i]:
            force = w.multiplier[stops]
            stops += 1
            w.guards[place + i] = force + FORCE_ROOM * (1.0 + abs(force))
        elif x.stop_sign[i] * s.v[x.stop_velocity[i]] < 0.0:
            w.guards[place + i] = x.stop_sign[i] * (s.q[x.stop_coordinate[i]] - x.stop_limit[i]) + GAP_ROOM
        else:
            w.guards[place + i] = math.inf
        smallest = min(smallest, w.guards[place + i])
    return smallest


@compiled
def evaluate(t, s, kernels, x, F, w, factored):
    """Accelerations, multipliers, contact forces, powers and guards of the state in s under w.tau; -1 or a status.

    factored: F holds the factors of this very configuration, as after `project`.
    The smallest guard goes to w.smallest[0], the largest violation of an active row to w.violation[0].
    """
    nv = len(s.v)
    w.powers[0], w.powers[1], w.powers[2], w.powers[3] = 0.0, 0.0, 0.0, 0.0
    for d in range(nv):
        w.powers[0] += w.tau[d] * s.v[d]
        w.powers[1] -= w.damping[d] * s.v[d] * s.v[d] + w.coulomb[d] * abs(s.v[d])
    w.smallest[0], w.violation[0] = math.inf, 0.0
    status = fill_rows(t, s, kernels)
    if status >= 0:
        return status
    w.powers[2] = _spring_power(s, w)
    k = _gather(t, s, x, F, w)
    w.size[0] = k
    if k == 0 and len(t.damping) == 0:
        for d in range(nv):
            w.y[d] = w.tau[d]
        if run_bound(w.forward) >= 0:
            return UNSUITABLE
    else:
        if run_bound(kernels.bias) >= 0:
            return UNSUITABLE
        for d in range(nv):
            w.y[d] = w.tau[d] - kernels.b[d]
        w.powers[1] += _passive(t, s, w)
        if not (factored and k > 0):
            _mass(t, s, kernels)
            if not factor(F, kernels.M, k, k):
                return MASSLESS
        if F.added[0] != 0.0:
            for i in range(k):
                for d in range(nv):
                    w.y[d] -= F.added[0] * F.G[i, d] * w.gamma[i]
        pushed(F, w.y)
        status = _friction(t, s, x, F, w)
        if status >= 0:
            return status
        multipliers(F, w.y, w.gamma, w.multiplier)
        acceleration(F, w.y, w.gamma, w.a)
        for i in range(k):
            w.violation[0] = max(w.violation[0], abs(w.error[i]))
    w.smallest[0] = _guards(t, s, x, w, k)
    return -1


@compiled
def project(t, s, kernels, x, F, w, most):
    """Move the state in s to the nearest one that satisfies the active rows, nearest in the mass matrix's metric.

    most: the largest rank met on the constraints.
    """
    nv, last, size = len(s.v), math.inf, math.inf
    while True:
        status = fill_rows(t, s, kernels)
        if status >= 0:
            return status
        k = _gather(t, s, x, F, w)
        if k == 0:
            return -1
        before, size = size, 0.0
        for i in range(k):
            size = max(size, abs(w.error[i]))
        # Close by, the last factors are as good as new ones: each repeat gains as many digits as the step was small.
        stale = before <= _NEAR
        if not stale:
            _mass(t, s, kernels)
            if not factor(F, kernels.M, k, most):
                return MASSLESS
        # Rounding keeps the error from falling further: more steps would only wander.
        if size <= _SMALLEST_ERROR or size > 0.25 * last:
            break
        last = size
        nearest(F, w.error, w.increment)
        for d in range(nv):
            w.increment[d] = -w.increment[d]
        if run_bound(w.move) >= 0:
            return UNSUITABLE
        for i in range(len(s.q)):
            s.q[i] = w.moved[i]
        if size <= _LAST_CORRECTION:
            # Newton's next error is below rounding, and so is the change of the rows.
            break
    # Velocities take the factors where the state has come to; so does the evaluation that follows.
    if stale:
        _mass(t, s, kernels)
        if not factor(F, kernels.M, k, most):
            return MASSLESS
    for i in range(k):
        w.error[i] = 0.0
        for d in range(nv):
            w.error[i] += F.G[i, d] * s.v[d]
    nearest(F, w.error, w.increment)
    for d in range(nv):
        s.v[d] -= w.increment[d]
    return -1


@compiled
def active_rows(t, s, kernels, x, F, w):
    """Leave the active rows of the state in s in F.G and the mass matrix in kernels.M; their number and a status."""
    status = fill_rows(t, s, kernels)
    if status >= 0:
        return 0, status
    _mass(t, s, kernels)
    return _gather(t, s, x, F, w), -1


@part
def settle(t, s, x):
    """After a step without event: remember the sliding directions for the next one."""
    for c in range(len(t.contact_body)):
        if x.mode[c] != SLIDE:
            continue
        n, v = s.contact_normal[c], s.contact_velocity[c]
        normal_speed = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        speed, along = 0.0, 0.0
        for i in range(3):
            part = v[i] - n[i] * normal_speed
            speed += part * part
            along += part * x.direction[c, i]
        speed = math.sqrt(speed)
        if speed > REST_SPEED:
            # Of the two directions along the velocity the one that continues the motion.
            scale = 1.0 / speed if along >= 0.0 else -1.0 / speed
            for i in range(3):
                x.direction[c, i] = (v[i] - n[i] * normal_speed) * scale


@part
def energy(t, s, w):
    """Kinetic and potential energy of the state in s (J); springs and drives of loop joints as last filled in."""
    run_bound(w.kinetic)
    run_bound(w.potential)
    total = w.energies[0] + w.energies[1]
    for j in range(len(t.stiffness)):
        stretch = s.free_coordinate[j] - t.spring_rest[j]
        total += 0.5 * (t.stiffness[j] * stretch * stretch + t.armature[j] * s.free_rate[j] * s.free_rate[j])
    return total
