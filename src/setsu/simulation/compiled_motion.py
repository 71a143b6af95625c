"""Accelerations, forces and guards of a constrained mechanism at one state, in compiled code.

| symbol | meaning |
|---|---|
| G, γ | active rows: loops, couplings, normals of touching contacts, held stops, sticking joints and contacts |
| f | friction of sliding contacts and joints: compiled_friction.py |

    M a = τ - bias + f + Gᵀ λ,  G a + γ = 0                                  (1)
    near a change point: the rows that fade are left out, the last force Gᵀ λ stands in for theirs          (2)

A row that fades by θ asks for an acceleration to rounding over θ³, while the force it exerts goes on smoothly: λ grows
as 1/θ, Gᵀ λ does not. What (2) misses is normal, in the metric of M, to the motion along the loops.
The state lies on the rows: compiled_projection.py.
Modes and guards of contacts are explained in contact_modes.py, stops in joint_stops.py, sticking joints in
joint_friction.py. All arrays are work space made by motion_space.py.
"""

from __future__ import annotations

import math

from setsu.constraints.compiled_factor import acceleration, cut_rank, factor, multipliers, solve_L
from setsu.constraints.compiled_rows import fill_rates, fill_rows
from setsu.constraints.compiled_vectors import dot, length, minus, scaled, vector
from setsu.native.control_flow import inline, jit, run_bound
from setsu.simulation.compiled_bearings import change_of_limits
from setsu.simulation.compiled_friction import (
    contact_friction,
    joint_friction,
    loop_joint_forces,
    sliding_direction,
    tangents,
)
from setsu.simulation.compiled_projection import SMALLEST_PIVOT, gather, mass, stop_gap
from setsu.simulation.contact_modes import FORCE_ROOM, GAP_ROOM, REST_SPEED
from setsu.simulation.motion_space import (
    ACTUATORS,
    BEARING_JAMS,
    BROKEN,
    CONTACT_FRICTION,
    DAMPERS,
    FREE,
    JOINT_FRICTION,
    MASSLESS,
    NEEDS_DENSE,
    SLIDE,
    STICK,
    UNSUITABLE,
)
from setsu.simulation.sparse_motion import SMALLEST_PIVOT as SMALLEST_PIVOT_OF_K
from setsu.simulation.sparse_motion import largest_error, sparse_accelerations, sparse_factors

__all__ = ["broken", "energy", "evaluate", "remember_sliding"]

_REPEATS = 200
"""How often friction of bearings is looked at anew before a joint is said to jam."""
_SETTLED, _ROUNDED = 1e-14, 1e-11

_NEAR_SINGULAR = 1e-4
"""Pivot, in parts of a typical one, below which rounding in the state moves accelerations more than (2) does."""
_LONGEST_PASSAGE = 100
"""Evaluations in a row after which a mechanism does not pass a change point but rests in it, and (2) is out of date."""


@inline
def _guards(t, s, x, w):
    """Forces of contacts, stops and sticking joints, and guards of contacts, stops and joints; the smallest guard.

    Guards have no units: forces in weights, distances and velocities in lengths of the mechanism.
    """
    unit, weight = x.length[0], w.force_size[0]
    first, held = len(t.row_kind) + len(t.coupling_offset), len(t.held)
    row, smallest, slides = held, math.inf, 0
    stops = held
    for c in range(len(t.contact_body)):
        stops += x.mode[c] != FREE
    tangent = stops
    for i in range(len(x.stop_held)):
        tangent += x.stop_held[i]
    rest = tangent
    for i in range(len(x.dry_held)):
        tangent += x.dry_held[i]
    w.powers[CONTACT_FRICTION] = 0.0
    for c in range(len(t.contact_body)):
        n, v = vector(s.contact_normal, c), vector(s.contact_velocity, c)
        f = w.friction_force[c]
        f[0], f[1], f[2] = 0.0, 0.0, 0.0
        normal_speed = dot(n, v)
        if x.mode[c] == FREE:
            w.normal_force[c] = 0.0
            w.guards[2 * c] = s.error[first + c] / unit + GAP_ROOM if normal_speed < 0.0 else math.inf
            w.guards[2 * c + 1] = math.inf
            smallest = min(smallest, w.guards[2 * c])
            continue
        normal_force = w.multiplier[row]
        w.normal_force[c] = normal_force
        row += 1
        room = FORCE_ROOM * (weight + abs(normal_force))
        w.guards[2 * c] = math.inf if t.bilateral[c] else (normal_force + room) / weight
        w.guards[2 * c + 1] = math.inf
        if x.mode[c] == STICK:
            tangents(n, w.T)
            for i in range(3):
                f[i] = w.multiplier[tangent] * w.T[0, i] + w.multiplier[tangent + 1] * w.T[1, i]
            tangent += 2
            if t.friction[c] > 0.0:
                w.guards[2 * c + 1] = (t.friction[c] * abs(normal_force) - length(f) + room) / weight
        elif t.friction[c] > 0.0:
            for i in range(3):
                f[i] = -t.friction[c] * w.press[c] * normal_force * w.slide[slides, i]
            slides += 1
            speed = dot(minus(v, scaled(n, normal_speed)), vector(x.direction, c))
            w.guards[2 * c + 1] = 0.0 if abs(speed) <= REST_SPEED * unit else speed / unit
        w.powers[CONTACT_FRICTION] += dot(f, v)
        smallest = min(smallest, w.guards[2 * c], w.guards[2 * c + 1])
    place = 2 * len(t.contact_body)
    for j in range(len(w.axis_force)):
        w.axis_force[j] = 0.0
    for i in range(len(x.stop_held)):
        if x.stop_held[i]:
            force = w.multiplier[stops]
            stops += 1
            if x.stop_axis[i] >= 0:
                w.axis_force[x.stop_axis[i]] += x.stop_sign[i] * force
            size = weight * unit / x.stop_unit[i]
            w.guards[place + i] = force / size + FORCE_ROOM * (1.0 + abs(force) / size)
        else:
            j = x.stop_axis[i]
            rate = s.free_rate[j] if j >= 0 else s.v[x.stop_velocity[i]]
            gap = stop_gap(s, x, i) / x.stop_unit[i]
            w.guards[place + i] = gap + GAP_ROOM if x.stop_sign[i] * rate < 0.0 else math.inf
        smallest = min(smallest, w.guards[place + i])
    place += len(x.stop_held)
    for i in range(len(x.dry_held)):
        w.guards[place + i] = _guard_of_joint(s, x, w, i, rest)
        rest += x.dry_held[i]
        if x.dry_axis[i] >= 0:
            w.axis_force[x.dry_axis[i]] += w.dry_force[i]
        smallest = min(smallest, w.guards[place + i])
    return smallest


@inline
def _guard_of_joint(s, x, w, i, row):
    """Guard of an axis with dry friction, whose row, where it sticks, has the number given."""
    if x.dry_held[i]:
        force = w.multiplier[row]
        w.dry_force[i] = force
        room = FORCE_ROOM * (x.dry_limit[i] + abs(force))
        return (x.dry_limit[i] - abs(force) + room) / (x.dry_limit[i] + w.force_size[0] * x.length[0] / x.dry_unit[i])
    d, j = x.dry_velocity[i], x.dry_axis[i]
    if d >= 0:
        rate, change = s.v[d], w.a[d]
    else:
        rate, change = s.free_rate[j], s.free_gamma[j]
        for e in range(len(s.v)):
            change += s.free[j, e] * w.a[e]
    w.dry_rate[i], w.dry_change[i] = rate, change
    rate, change = rate / x.dry_unit[i], change / x.dry_unit[i]
    if abs(rate) > REST_SPEED:
        return x.dry_sign[i] * rate
    return min(x.dry_sign[i] * change + FORCE_ROOM * (1.0 + abs(change)), 0.0)


@inline
def _forces(t, s, kernels, x, w):
    """Leave all forces but those of rows and contacts in w.y, and sum the power of friction; False when not finite."""
    # Without force elements `fill_rates` has left it.
    if w.elements[0] and run_bound(kernels.bias) >= 0:
        return False
    for d in range(len(s.v)):
        w.y[d] = w.tau[d] - kernels.b[d]
    w.powers[JOINT_FRICTION] += loop_joint_forces(t, s, w) + joint_friction(s, x, w)
    return True


@jit
def evaluate(t, s, kernels, x, F, w, c, u, factored):
    """Accelerations, multipliers, contact forces, powers and guards of the state in s under w.tau; -1 or a status.

    factored: F, or u, holds the factors of this very configuration, as after `project`.
    Returns BROKEN plus a row's number where a loop or coupling is open beyond x.limit.
    The smallest guard goes to w.smallest[0], the largest violation of an active row to w.violation[0].
    """
    last = math.inf
    for repeat in range(_REPEATS):
        status = _evaluate(t, s, kernels, x, F, w, c, u, factored)
        if status >= 0 or len(w.bearings.factor) == 0:
            return status
        change = change_of_limits(t, s, x, w)
        if change < 0.0:
            return UNSUITABLE
        if change <= _SETTLED or (repeat > 20 and last <= change <= _ROUNDED):
            return status
        if repeat > 20 and change >= last:
            break
        last = change
    return BEARING_JAMS


@inline
def _evaluate(t, s, kernels, x, F, w, c, u, factored):
    """`evaluate` under the limits of dry friction that stand in x."""
    nv = len(s.v)
    w.powers[ACTUATORS], w.powers[JOINT_FRICTION], w.powers[DAMPERS], w.powers[CONTACT_FRICTION] = 0.0, 0.0, 0.0, 0.0
    for d in range(nv):
        w.powers[ACTUATORS] += w.tau[d] * s.v[d]
        w.powers[JOINT_FRICTION] -= w.damping[d] * s.v[d] * s.v[d]
    w.smallest[0], w.violation[0], w.redundant[0] = math.inf, 0.0, 0.0
    ready = factored and x.sparse[0] and x.sparse_ready[0]
    status = fill_rates(t, s, kernels) if ready or (factored and x.rows_ready[0]) else fill_rows(t, s, kernels)
    if status >= 0:
        return status
    if w.elements[0]:
        if run_bound(w.element_powers) >= 0:
            return UNSUITABLE
        w.powers[DAMPERS] = w.element_power[0]
    if ready or (x.sparse[0] and not factored and sparse_factors(s, x, F, c, u, SMALLEST_PIVOT_OF_K)):
        if not _forces(t, s, kernels, x, w):
            return UNSUITABLE
        sparse_accelerations(s, w, c, u)
        w.passing[0] = 0
        _drive_power(t, w)
        w.size[0], w.violation[0] = len(c.rows), largest_error(c, s)
        w.smallest[0] = _guards(t, s, x, w)
        return broken(t, s, x)
    if len(F.diagonal) == 0:
        return NEEDS_DENSE
    k = gather(t, s, x, F, w)
    w.size[0] = k
    if k == 0 and len(t.damping) == 0:
        for d in range(nv):
            w.y[d] = w.tau[d]
        w.powers[JOINT_FRICTION] += joint_friction(s, x, w)
        if run_bound(w.forward) >= 0:
            return UNSUITABLE
    else:
        if not _forces(t, s, kernels, x, w):
            return UNSUITABLE
        if not (factored and k > 0):
            mass(t, s, kernels)
            if not factor(F, kernels.M, k, k, SMALLEST_PIVOT):
                return MASSLESS
        singular = cut_rank(F, _NEAR_SINGULAR) or F.size[1] < F.size[0]
        w.redundant[0] = 1.0 if singular else 0.0
        # Only rows of loops fade; contacts and stops that hold the same thing twice do so exactly.
        w.passing[0] = w.passing[0] + 1 if singular and k == len(t.held) else 0
        if 0 < w.passing[0] <= _LONGEST_PASSAGE:
            for d in range(nv):
                w.y[d] += w.held_force[d]  # (2)
        if F.added[0] != 0.0:
            for i in range(k):
                for d in range(nv):
                    w.y[d] -= F.added[0] * F.G[i, d] * w.gamma[i]
        solve_L(F, w.y)
        status = contact_friction(t, s, x, F, w)
        if status >= 0:
            return status
        multipliers(F, w.y, w.gamma, w.multiplier)
        _drive_power(t, w)
        acceleration(F, w.y, w.gamma, w.a)
        if not singular:
            _keep_held_force(t, F, w)
        for i in range(k):
            w.violation[0] = max(w.violation[0], abs(w.error[i]))
    w.smallest[0] = _guards(t, s, x, w)
    return broken(t, s, x)


@inline
def _drive_power(t, w):
    """Add the power of driven joints to that of torques, and that of their dry friction."""
    for c in range(len(t.coupling_rate)):
        place = t.place[len(t.row_kind) + c]
        if place >= 0 and t.coupling_rate[c] != 0.0:
            lost = t.coupling_friction[c] * abs(t.coupling_rate[c])
            w.powers[ACTUATORS] += lost - w.multiplier[place] * t.coupling_rate[c]
            w.powers[JOINT_FRICTION] -= lost


@inline
def _keep_held_force(t, F, w):
    """Remember the force of loops and couplings, Gᵀ λ."""
    for d in range(len(w.held_force)):
        w.held_force[d] = 0.0
    for i in range(len(t.held)):
        for d in range(len(w.held_force)):
            w.held_force[d] += F.G[i, d] * w.multiplier[i]


@inline
def broken(t, s, x):
    """BROKEN plus the number of the first row of loops and couplings that is open beyond its limit, or -1."""
    for row in range(len(x.limit)):
        if not abs(s.error[row]) <= x.limit[row]:
            return BROKEN + row
    return -1


@inline
def remember_sliding(t, s, x):
    """After a step without event: remember the sliding directions for the next one."""
    for c in range(len(t.contact_body)):
        if x.mode[c] == SLIDE:
            x.direction[c, 0], x.direction[c, 1], x.direction[c, 2] = sliding_direction(s, x, c)


@inline
def energy(t, s, w):
    """Kinetic and potential energy of the state in s (J); springs and drives of loop joints as last filled in."""
    run_bound(w.mechanical)
    total = w.energy[0]
    for j in range(len(t.stiffness)):
        stretch = s.free_coordinate[j] - t.spring_rest[j]
        total += 0.5 * (t.stiffness[j] * stretch * stretch + t.armature[j] * s.free_rate[j] * s.free_rate[j])
    return total
