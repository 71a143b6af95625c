"""The energy that a step may gain, as contact_step.py (7) slows its end down, with its derivatives.

    v' <- p + σ (v' - p),  σ² = 1 - gain/T,  ∂σ = -(∂gain - gain ∂T/T) / (2 σ T)                      (1)

gain: of kinetic and potential energy beyond the work of torques and belts; T: kinetic energy of the motion about p,
which is that of the trees' centres of mass or, in steps without contacts, that of the trees as rigid bodies.
"""

from __future__ import annotations

import math

from setsu.contact.tree import Tree
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import load_at, spread, store_at
from setsu.simulation.contact_step import (
    ABOUT,
    APPLIED,
    CLOSED,
    COLUMN,
    END,
    ENERGY_END,
    ENERGY_START,
    GAIN,
    GIVEN,
    KEEPS,
    LISTED,
    NU,
    NU_NEXT,
    PLAIN,
    POTENTIAL_END,
    POTENTIAL_START,
    RIGID,
    SIGMA,
    SLOWED,
    START,
    STEP,
    TO,
    V_END,
    V_START,
    WEIGH_END,
    WEIGH_START,
    StepMap,
)
from setsu.simulation.contact_step_columns import add_nu, is_last
from setsu.simulation.contact_step_space import add_product, clear, invert_base, momentum_terms, move, set_product

__all__ = ["keeps_energy", "slow_down"]


@inline
def keeps_energy(w: StepMap, tree: Tree, weight, elastic):
    """Whether nothing presses or drives, so that joints take up what the energy misses (flight.py (8))."""
    driven, servo, exact = 0.0, False, True
    for d in range(len(w.parent)):
        driven += abs(w.vectors[APPLIED, d])
        servo = servo or w.gains[0, d] != 0.0 or w.gains[1, d] != 0.0
    for k in range(len(tree.roots)):
        exact = exact and tree.roots[k].exact == 1 and tree.roots[k].free == 1
    acts = w.counts[PLAIN] == 1 or w.counts[CLOSED] > 0 or driven > 1e-6 * (weight + tree.total_mass[0])
    w.counts[KEEPS] = 0 if acts or servo or elastic or not exact else 1


@inline
def slow_down(w: StepMap, tree: Tree, moved):
    """Apply (1) to v' and its columns where the machine did; moved: columns of q'. False for bad numbers."""
    a, nv = w.vectors, len(w.parent)
    if w.counts[SLOWED] == 0 and w.counts[KEEPS] == 0:
        return True
    w.counts[SLOWED] = 0
    if run_bound(w.kernels[ENERGY_START]) >= 0 or run_bound(w.kernels[ENERGY_END]) >= 0:
        return False
    move(w, END, a[V_END])
    before = momentum_terms(w, START, a[V_START], w.row[0], w.row[1])
    after = momentum_terms(w, END, a[V_END], w.row[2], w.row[3])
    gain = after + w.energies[1] - before - w.energies[0] - _work(w)
    if w.counts[KEEPS] == 1:
        gain -= min(0.0, _lost(w))
    else:
        gain -= w.numbers[GIVEN]
    _set_rigid(w, tree)
    about = after - _rigid_energy(w, tree)
    w.numbers[GAIN], w.numbers[ABOUT] = gain, about
    limit = 0.01 if w.counts[KEEPS] == 1 else 0.5
    if not (about > 0.0 and abs(gain) < limit * about) or (gain <= 0.0 and w.counts[KEEPS] == 0):
        return True
    sigma = math.sqrt(1.0 - gain / about)
    plain = slower = 0.0
    for d in range(nv):
        v = a[RIGID, d] + sigma * (a[V_END, d] - a[RIGID, d])
        plain = max(plain, abs(a[V_END, d] - w.v_reached[0, d]))
        slower = max(slower, abs(v - w.v_reached[0, d]))
    if not slower < plain:
        return True
    w.counts[SLOWED], w.numbers[SIGMA] = 1, sigma
    return _differentiate(w, tree, moved)


@inline
def _acting(w: StepMap, d):
    """The torque of the step's end, as a servo follows what it moves."""
    a, kp, kd = w.vectors, w.gains[0, d], w.gains[1, d]
    u = a[APPLIED, d] - kd * (a[NU_NEXT, d] - a[NU, d])
    return u - (w.numbers[STEP] * kp * a[NU_NEXT, d] if w.coordinate[d] >= 0 else 0.0)


@inline
def _work(w: StepMap):
    a, h, work = w.vectors, w.numbers[STEP], 0.0
    for d in range(len(w.parent)):
        way = a[NU_NEXT, d] if is_last(w, d) else 0.5 * (a[NU, d] + a[NU_NEXT, d])
        work += h * _acting(w, d) * way
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0:
            work += w.impulse[k, 1] * w.surface[k, 1] + w.impulse[k, 2] * w.surface[k, 2]
    return work


@inline
def _lost(w: StepMap):
    a, lost = w.vectors, 0.0
    for d in range(len(w.parent)):
        lost -= w.numbers[STEP] * w.damping[d] * a[V_END, d] * 0.5 * (a[NU, d] + a[V_END, d])
    return lost


@inline
def _set_rigid(w: StepMap, tree: Tree):
    """p: the base of each tree with its momentum, all joints locked; or with the velocity of its centre of mass."""
    for d in range(len(w.parent)):
        w.vectors[RIGID, d] = 0.0
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.free == 0:
            continue
        o, h, p = r.velocity, w.momenta[END, r.velocity], w.vectors[RIGID]
        if w.counts[KEEPS] == 0:
            T = w.poses[END * len(w.reference) + r.body]
            for i in range(3):
                p[o + i] = (T[0, i] * h[0] + T[1, i] * h[1] + T[2, i] * h[2]) / r.mass
            continue
        invert_base(w, END, o)
        for i in range(6):
            for j in range(6):
                p[o + i] += w.small[6, i, j] * h[j]


@inline
def _rigid_energy(w: StepMap, tree: Tree):
    """Kinetic energy of p."""
    total = 0.0
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.free == 1:
            h, o = w.momenta[END, r.velocity], r.velocity
            if w.counts[KEEPS] == 0:
                total += 0.5 * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) / r.mass
            else:
                for i in range(6):
                    s = w.axes[END, o + i]
                    for j in range(6):
                        total += 0.5 * w.vectors[RIGID, o + i] * s[j] * h[j]
    return total


@inline
def _differentiate(w: StepMap, tree: Tree, moved):
    """Columns of (1)."""
    a, nv, h, stop = w.vectors, len(w.parent), w.numbers[STEP], w.counts[TO]
    if run_bound(w.kernels[WEIGH_START]) >= 0 or run_bound(w.kernels[WEIGH_END]) >= 0:
        return False
    rows, gained = w.d_row4, w.d_row[0]
    clear(rows, 0, 2, 0, stop)
    clear(w.d_rigid4, 0, nv, 0, stop)
    for d in range(nv):
        add_product(rows, 0, w.row[2, d] + a[POTENTIAL_END, d], moved, d, 0, stop)
        add_product(rows, 0, w.row[3, d], w.d_v4, d, 0, stop)
        add_product(rows, 1, w.row[2, d], moved, d, 0, stop)
        add_product(rows, 1, w.row[3, d], w.d_v4, d, 0, stop)
        gained[d] -= w.row[0, d] + a[POTENTIAL_START, d]
        gained[nv + d] -= w.row[1, d]
    # The work of torques and belts.
    unit = w.row[4]
    for d in range(nv):
        last, acting, kp, kd = is_last(w, d), _acting(w, d), w.gains[0, d], w.gains[1, d]
        way = a[NU_NEXT, d] if last else 0.5 * (a[NU, d] + a[NU_NEXT, d])
        servo = kd + (h * kp if w.coordinate[d] >= 0 else 0.0)
        add_product(rows, 0, -h * (acting * (1.0 if last else 0.5) - servo * way), w.d_next4, d, 0, stop)
        unit[d] = 0.0 if last else -0.5 * h * acting
        gained[2 * nv + d] -= h * way
        if w.coordinate[d] >= 0:
            gained[d] += h * way * kp
    add_nu(w, tree, gained, unit)
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0:
            for i in range(1, 3):
                gained[w.counts[COLUMN] + 3 * w.place[k] + i] -= w.surface[k, i]
    if w.counts[KEEPS] == 1 and _lost(w) < 0.0:
        for d in range(nv):
            f = 0.5 * h * w.damping[d]
            add_product(rows, 0, f * (a[NU, d] + 2.0 * a[V_END, d]), w.d_v4, d, 0, stop)
            unit[d] = f * a[V_END, d]
        add_nu(w, tree, gained, unit)
    for k in range(len(tree.roots)):
        if tree.roots[k].free == 1:
            _differentiate_momentum(w, tree.roots[k], moved)
    if w.counts[KEEPS] == 1:
        _differentiate_rigid(w, tree, moved)
    sigma, gain, T = w.numbers[SIGMA], w.numbers[GAIN], w.numbers[ABOUT]
    set_product(rows, 0, -0.5 / (sigma * T), rows, 0, 0, stop)
    add_product(rows, 0, 0.5 * gain / (sigma * T * T), rows, 1, 0, stop)
    for d in range(nv):
        f = a[V_END, d] - a[RIGID, d]
        set_product(w.d_v4, d, sigma, w.d_v4, d, 0, stop)
        add_product(w.d_v4, d, 1.0 - sigma, w.d_rigid4, d, 0, stop)
        add_product(w.d_v4, d, f, rows, 0, 0, stop)
        a[V_END, d] = a[RIGID, d] + sigma * f
    return True


@inline
def _differentiate_momentum(w: StepMap, r, moved):
    """Momentum of a tree (6) into the rows of its base in d_rigid; or, of centres of mass, p itself and T."""
    o, out, stop, rigid = r.velocity, w.d_rigid4, w.counts[TO], w.counts[KEEPS] == 1
    for d in range(len(w.parent)):
        if w.reference[w.dof_body[d]] == r.body:
            for i in range(6 if rigid else 3):
                add_product(out, o + i, w.by_q[END, d, i], moved, d, 0, stop)
                add_product(out, o + i, w.by_v[END, d, i], w.d_v4, d, 0, stop)
    if rigid:
        return
    P, T, t, p = w.momenta[END, o], w.poses[END * len(w.reference) + r.body], r.turning, w.vectors[RIGID]
    x0, y0, z0, f = spread(p[o]), spread(p[o + 1]), spread(p[o + 2]), spread(1.0 / r.mass)
    px, py, pz = spread(P[0]), spread(P[1]), spread(P[2])
    for j in range(stop):
        x, y, z = f * load_at(out, o, j), f * load_at(out, o + 1, j), f * load_at(out, o + 2, j)
        store_at(w.d_row4, 1, j, load_at(w.d_row4, 1, j) - (px * x + py * y + pz * z))
        u, v, s = load_at(moved, t, j), load_at(moved, t + 1, j), load_at(moved, t + 2, j)
        a, b, c = spread(T[0, 0]) * x + spread(T[1, 0]) * y + spread(T[2, 0]) * z, v * z0 - s * y0, s * x0 - u * z0
        store_at(out, o, j, a - b)
        store_at(out, o + 1, j, spread(T[0, 1]) * x + spread(T[1, 1]) * y + spread(T[2, 1]) * z - c)
        a = spread(T[0, 2]) * x + spread(T[1, 2]) * y + spread(T[2, 2]) * z
        store_at(out, o + 2, j, a - (u * y0 - v * x0))


@inline
def _differentiate_rigid(w: StepMap, tree: Tree, moved):
    """p and T of trees as rigid bodies, from the columns of their momenta."""
    a, stop, rows = w.vectors, w.counts[TO], w.d_first4
    move(w, END, a[RIGID])
    momentum_terms(w, END, a[RIGID], w.row[2], w.row[3])
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        o = r.velocity
        for d in range(len(w.parent)):
            if w.reference[w.dof_body[d]] == r.body:
                for i in range(6):
                    add_product(w.d_rigid4, o + i, -w.by_q[END, d, i], moved, d, 0, stop)
        invert_base(w, END, o)
        clear(rows, 0, 6, 0, stop)
        for i in range(6):
            for j in range(6):
                add_product(rows, i, w.small[6, i, j], w.d_rigid4, o + j, 0, stop)
        for i in range(6):
            set_product(w.d_rigid4, o + i, 1.0, rows, i, 0, stop)
    for d in range(len(w.parent)):
        add_product(w.d_row4, 1, -w.row[2, d], moved, d, 0, stop)
        add_product(w.d_row4, 1, -w.row[3, d], w.d_rigid4, d, 0, stop)
