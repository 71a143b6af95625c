"""The motion of a step (contact_step.py (1), (2)) under given impulses, and its derivatives, in compiled code.

Columns are derivatives by z = (q, v, τ) and the impulses λ, as in StepMap. Changes of the middle and of ν are local,

    dq_m = Ad dq + ½ h J dv,   dν = dv,  of free joints at the world dν_o = Tᵀ dv_o + ν_o x ½ h J dω           (1)

with T = R_mᵀ R and the chart of contact_step_space.py (3); all else follows in the order of the step:

    H dx = h (dτ - ∂ID/∂q dq_m - ∂ID/∂v dv_b - ...) + ∂(Kᵀλ)/∂q_m dq_m + Kᵀ dλ,   ID at (q_m, v_b, x/h)        (2)
    dν' = dν + dx + h d(ω x v)                                                                                 (3)
    m dc' = Σ ∂h_P/∂v dq',   d(P', L') = ∂h/∂q dq' + ∂h/∂v dv'                                                 (4)

(4) gives the base of a tree its place and its velocity: its momentum is that of flight.py (5), whatever it was before.
Turns of the fourth equation there are followed through each of their rounds.
"""

from __future__ import annotations

from setsu.contact.factor import factorise, force_to_x, x_to_velocity
from setsu.contact.tree import Tree
from setsu.native.control_flow import part, run_bound
from setsu.native.lanes import LANES, load_at, spread, store_at
from setsu.simulation.contact_step import (
    APPLIED,
    BAD_NUMBERS,
    BIAS,
    BIAS_FIRST,
    BIAS_TORQUE,
    CHANGE,
    COLUMN,
    DERIVATIVES,
    DERIVATIVES_FIRST,
    DISPLACEMENT,
    END,
    FAR,
    FINE,
    FIRST,
    FIRST_RATE,
    FREE,
    FROM,
    HALF,
    IMPULSES,
    LISTED,
    MASS_MATRIX,
    MIDDLE,
    NU,
    NU_NEXT,
    PLACE_END,
    PLACE_MIDDLE,
    PLACE_START,
    PLAIN,
    RATE,
    ROOT,
    SINGULAR,
    SPHERICAL,
    START,
    STEP,
    STILL,
    TO,
    TO_END,
    TO_MIDDLE,
    V_BIAS,
    V_END,
    V_START,
    StepMap,
)
from setsu.simulation.contact_step_space import (
    add_product,
    clear,
    invert_base,
    momentum_terms,
    place,
    set_chart,
    set_product,
    times_all,
    weigh,
)

__all__ = ["add_middle", "add_nu", "begin_motion", "go_through", "is_last", "set_end", "set_end_velocity", "solve_rows"]

# The machine's own thresholds (contact/flight.py, free_motion.py, step.py).
_STILL, _FAST, _TURNING, _TURNS, _TURNS_OF_TREES = 1e-7, 1e-5, 1e-4, 20, 3
# rad: turns of a step that change by less no longer change it.
_SETTLED = 1e-17


# Columns --------------------------------------------------------------------------------------------------------------


@part
def _moves(w: StepMap):
    """Whether the middle is not the beginning."""
    return w.numbers[FAR] > _STILL


@part
def add_middle(w: StepMap, out, a):
    """Add a · dq_m (1), of a row a (nv,), to a row of columns."""
    nv, moves, half = len(a), _moves(w), 0.5 * w.numbers[STEP]
    for d in range(nv):
        out[d] += a[d]
        if moves:
            out[nv + d] += half * a[d]
    if not moves:
        return
    for j in range(len(w.turning)):
        o, n = w.turning[j, 0], w.turning[j, 1]
        for k in range(n):
            by_q = by_v = -a[o + k]
            for i in range(n):
                by_q += a[o + i] * w.carried[j, i, k]
                by_v += a[o + i] * w.chart[j, i, k]
            out[o + k] += by_q
            out[nv + o + k] += half * by_v


@part
def _joint_of(w: StepMap, velocity):
    for j in range(len(w.turning)):
        if w.turning[j, 0] == velocity:
            return j
    return -1


@part
def add_nu(w: StepMap, tree: Tree, out, a):
    """Add a · dν (1), of a row a (nv,), to a row of columns."""
    nv = len(a)
    for d in range(nv):
        out[nv + d] += a[d]
    if w.counts[PLAIN] == 1 or not _moves(w):
        return
    for k in range(len(tree.roots)):
        if tree.roots[k].free == 1:
            o, j = tree.roots[k].velocity, _joint_of(w, tree.roots[k].velocity)
            x, y, z = a[o], a[o + 1], a[o + 2]
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            nu, half = w.vectors[NU], 0.5 * w.numbers[STEP]
            # a · (ν x δ) = (a x ν) · δ
            p, q, r = y * nu[o + 2] - z * nu[o + 1], z * nu[o] - x * nu[o + 2], x * nu[o + 1] - y * nu[o]
            C, J = w.carried[j], w.chart[j]
            for i in range(3):
                out[nv + o + i] += x * C[3, 3 + i] + y * C[4, 3 + i] + z * C[5, 3 + i] - a[o + i]
                out[nv + o + 3 + i] += half * (p * J[3, 3 + i] + q * J[4, 3 + i] + r * J[5, 3 + i])


@part
def _add_nu_of(w: StepMap, tree: Tree, out, d, factor):
    """Add factor · dν_d to a row of columns."""
    local = True
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 and _moves(w) else 0):
        r = tree.roots[k]
        local = local and not (r.free == 1 and r.velocity <= d < r.velocity + 3)
    if local:
        out[len(w.parent) + d] += factor
        return
    unit = w.row[7]
    for i in range(len(unit)):
        unit[i] = 0.0
    unit[d] = factor
    add_nu(w, tree, out, unit)


@part
def _set_swing_row(unit, v, o, i, factor):
    """Row of factor · d(ω x v)_i of a free joint by its velocities."""
    p, q = (i + 1) % 3, (i + 2) % 3
    for d in range(len(unit)):
        unit[d] = 0.0
    unit[o + 3 + p], unit[o + q] = factor * v[o + q], factor * v[o + 3 + p]
    unit[o + 3 + q], unit[o + p] = -factor * v[o + p], -factor * v[o + 3 + q]


@part
def solve_rows(w: StepMap, B, start, stop):
    """B <- H⁻¹ B, blocks start to stop."""
    nv, H, root = len(w.chain), w.H, w.vectors[ROOT]
    for i in range(nv - 1, -1, -1):
        j = w.chain[i]
        while j >= 0:
            if H[i, j] != 0.0:
                add_product(B, j, -H[i, j], B, i, start, stop)
            j = w.chain[j]
        set_product(B, i, root[i] * root[i], B, i, start, stop)
    for i in range(nv):
        j = w.chain[i]
        while j >= 0:
            if H[i, j] != 0.0:
                add_product(B, i, -H[i, j], B, j, start, stop)
            j = w.chain[j]


# What no impulse changes ----------------------------------------------------------------------------------------------


@part
def begin_motion(w: StepMap, tree: Tree):
    """The beginning and the middle of the step, and its motion without impulses; a Refusal."""
    a, h, nv = w.vectors, w.numbers[STEP], len(w.parent)
    far = 0.0
    for d in range(nv):
        if w.counts[PLAIN] == 0:
            far = max(far, h * abs(a[V_START, d]))
    w.numbers[FAR] = far
    moves = _moves(w)
    for d in range(nv):
        a[HALF, d] = 0.5 * h * a[V_START, d] if moves else 0.0
        a[NU, d] = a[V_START, d]
    for k in range(w.q.shape[1]):
        w.q[MIDDLE, k] = w.q[START, k]
    if run_bound(w.kernels[PLACE_START]) >= 0 or (moves and run_bound(w.kernels[TO_MIDDLE]) >= 0):
        return BAD_NUMBERS
    if run_bound(w.kernels[MASS_MATRIX]) >= 0 or (moves and run_bound(w.kernels[PLACE_MIDDLE]) >= 0):
        return BAD_NUMBERS
    if not moves:
        _copy_places(w)
    for when in range(2):
        place(w, when)
        weigh(w, when, a[V_START])
    for j in range(len(w.turning)):
        set_chart(w, a[HALF], w.turning[j, 0], w.turning[j, 1], w.carried[j], w.chart[j])
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        r = tree.roots[k]
        if r.free == 1 and moves:
            C, o, x, y, z = w.carried[_joint_of(w, r.velocity)], r.velocity, 0.0, 0.0, 0.0
            x, y, z = a[V_START, o], a[V_START, o + 1], a[V_START, o + 2]
            for i in range(3):
                a[NU, o + i] = C[3 + i, 3] * x + C[3 + i, 4] * y + C[3 + i, 5] * z
        if r.exact == 1 and r.free == 0:
            return SPHERICAL
    _note_momenta(w, tree)
    for d in range(nv):
        w.H[d, d] = 0.0
        for e in range(nv):
            w.H[d, e] = w.M[d, e] + w.held_inertia[d, e]
        kp, kd = w.gains[0, d], w.gains[1, d]
        w.H[d, d] += h * (kd + w.damping[d]) + h * h * (kp + w.stiffness[d])
        a[APPLIED, d] += kd * (w.gains[3, d] - a[NU, d])
        if w.coordinate[d] >= 0:
            a[APPLIED, d] += kp * (w.gains[2, d] - w.q[START, w.coordinate[d]])
    if not factorise(w.H, w.chain, a[ROOT]):
        return SINGULAR
    for d in range(nv):
        a[V_BIAS, d] = a[NU, d]
    if run_bound(w.kernels[BIAS_FIRST]) >= 0:
        return BAD_NUMBERS
    _free_change(w, FIRST)
    for d in range(nv):
        a[FREE, d] = a[FIRST, d]
    if _looks_twice(w):
        for d in range(nv):
            a[V_BIAS, d] = a[NU, d] + 0.5 * a[FIRST, d]
        for k in range(len(tree.roots)):
            if tree.roots[k].free == 1:
                o = tree.roots[k].velocity
                _add_swing(a[NU], o, 0.5 * h, a[V_BIAS])
        if run_bound(w.kernels[BIAS_TORQUE]) >= 0:
            return BAD_NUMBERS
        _free_change(w, FREE)
    return FINE


@part
def _copy_places(w: StepMap):
    """The middle is the beginning."""
    n = len(w.reference)
    for body in range(n):
        for i in range(3):
            for j in range(4):
                w.poses[MIDDLE * n + body, i, j] = w.poses[START * n + body, i, j]
    for i in range(6):
        for d in range(len(w.parent)):
            w.columns[MIDDLE, i, d] = w.columns[START, i, d]


@part
def _looks_twice(w: StepMap):
    """Whether the bias is taken a second time, in the middle of the velocities."""
    return w.numbers[FAR] > _FAST


@part
def _add_swing(v, o, factor, out):
    """Add factor · ω x v of a free joint."""
    out[o] += factor * (v[o + 4] * v[o + 2] - v[o + 5] * v[o + 1])
    out[o + 1] += factor * (v[o + 5] * v[o] - v[o + 3] * v[o + 2])
    out[o + 2] += factor * (v[o + 3] * v[o + 1] - v[o + 4] * v[o])


@part
def _free_change(w: StepMap, row):
    """H⁻¹ times the load, with the bias at hand."""
    a, h = w.vectors, w.numbers[STEP]
    x = a[row]
    for d in range(len(x)):
        known = w.damping[d] * (a[V_BIAS, d] - a[NU, d])
        c = w.coordinate[d]
        if c >= 0:
            known += w.stiffness[d] * (w.q[MIDDLE, c] - w.q[START, c])
        spring = w.gains[0, d] + w.stiffness[d]
        x[d] = h * (a[APPLIED, d] - a[BIAS, d] + known - h * spring * a[NU, d]) + w.held_load[d]
    force_to_x(w.H, w.chain, a[ROOT], x)
    x_to_velocity(w.H, w.chain, a[ROOT], x)


@part
def _moment(w: StepMap, when, root, out):
    """First moment (3) of a tree about its first body's origin."""
    out[0] = out[1] = out[2] = 0.0
    for body in range(len(w.reference)):
        if w.reference[body] == root:
            for i in range(3):
                out[i] += w.inertias[when, body, 1 + i]


@part
def _pose(w: StepMap, when, body):
    """Row of w.poses of a body."""
    return when * len(w.reference) + body


@part
def _note_momenta(w: StepMap, tree: Tree):
    """Centres and momenta of the trees at the beginning."""
    c = w.small[2, 0]
    momentum_terms(w, START, w.vectors[V_START], w.row[0], w.row[1])
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        out, h, T = w.before[k], w.momenta[START, r.velocity], w.poses[_pose(w, START, r.body)]
        _moment(w, START, r.body, c)
        x, y, z = c[0] / r.mass, c[1] / r.mass, c[2] / r.mass
        out[0], out[1], out[2] = T[0, 3] + x, T[1, 3] + y, T[2, 3] + z
        out[3], out[4], out[5] = h[0], h[1], h[2]
        out[6] = h[3] - (y * h[2] - z * h[1])
        out[7] = h[4] - (z * h[0] - x * h[2])
        out[8] = h[5] - (x * h[1] - y * h[0])


# Velocities at the end ------------------------------------------------------------------------------------------------


@part
def go_through(w: StepMap, tree: Tree, differentiated):
    """The step under the impulses at hand, up to q' before anything is moved out; a Refusal."""
    a, h, nv = w.vectors, w.numbers[STEP], len(w.parent)
    x = a[CHANGE]
    for d in range(nv):
        x[d] = 0.0
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0:
            for i in range(3):
                for d in range(nv):
                    x[d] += w.K[3 * k + i, d] * w.impulse[k, i]
    for r in range(len(w.held)):
        for d in range(nv):
            x[d] += w.held[r, d] * w.held_impulse[r]
    force_to_x(w.H, w.chain, a[ROOT], x)
    x_to_velocity(w.H, w.chain, a[ROOT], x)
    most = 0.0
    for d in range(nv):
        x[d] += a[FREE, d]
        a[NU_NEXT, d] = a[NU, d] + x[d]
        a[RATE, d], a[FIRST_RATE, d] = x[d] / h, a[FIRST, d] / h
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        if tree.roots[k].free == 1:
            _add_swing(a[V_BIAS], tree.roots[k].velocity, h, a[NU_NEXT])
    for d in range(nv):
        most = max(most, h * abs(a[NU_NEXT, d]))
    w.counts[STILL] = 1 if w.counts[PLAIN] == 1 or (not _moves(w) and most <= _STILL) else 0
    if differentiated:
        if w.counts[FROM] == 0:
            if run_bound(w.kernels[DERIVATIVES]) >= 0:
                return BAD_NUMBERS
            if _looks_twice(w) and run_bound(w.kernels[DERIVATIVES_FIRST]) >= 0:
                return BAD_NUMBERS
        _differentiate_change(w, tree)
    _set_displacement(w, tree, differentiated)
    _set_targets(w, tree, differentiated)
    turns = 0
    if w.counts[PLAIN] == 0 and w.numbers[FAR] > _TURNING:
        turns = _TURNS if len(tree.roots) == len(w.reference) else _TURNS_OF_TREES
    for turn in range(turns + 1):
        change = 1.0
        if turn > 0:
            set_end_velocity(w, tree, w.d_q4, differentiated)
            change = _turn_further(w, tree, differentiated)
        if not set_end(w, tree, True, differentiated):
            return BAD_NUMBERS
        if change <= _SETTLED:
            break
    return FINE


@part
def _differentiate_change(w: StepMap, tree: Tree):
    """dν' (2), (3)."""
    nv, start, stop, out = len(w.parent), w.counts[FROM], w.counts[TO], w.d_next
    clear(w.d_next4, 0, nv, start, stop)
    if start == 0:
        _differentiate_loads(w, tree)
    column = w.counts[COLUMN]
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0:
            for i in range(3):
                for d in range(nv):
                    out[d, column + 3 * w.place[k] + i] = w.K[3 * k + i, d]
    column += w.counts[IMPULSES] - len(w.held)
    for r in range(len(w.held)):
        for d in range(nv):
            out[d, column + r] = w.held[r, d]
    solve_rows(w, w.d_next4, start, stop)
    if start > 0:
        return
    for d in range(nv):
        _add_nu_of(w, tree, out[d], d, 1.0)
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        if tree.roots[k].free == 1:
            _differentiate_swing(w, tree, tree.roots[k].velocity)


@part
def _differentiate_loads(w: StepMap, tree: Tree):
    """Right side of (2) by z."""
    nv, h, looks = len(w.parent), w.numbers[STEP], _looks_twice(w)
    load, rates, stop = w.row[0], w.row[1], w.counts[COLUMN] // LANES
    if looks:
        _differentiate_first(w, tree)
    out = w.d_next
    for d in range(nv):
        _load_rows(w, d, w.own_q[d], w.own_v[d], load, rates)
        for e in range(nv):
            load[e] += w.by_middle[d, e] + w.held_q[d, e]
            if looks:
                # The velocities of the bias are those of d_first.
                factor = -h * w.own_v[d, e] + (h * w.damping[d] if d == e else 0.0)
                rates[e] = -h * w.damping[d] if d == e else 0.0
                if factor != 0.0:
                    add_product(w.d_next4, d, factor, w.d_first4, e, 0, stop)
        if looks:
            rates[d] -= h * w.gains[1, d] + h * h * (w.gains[0, d] + w.stiffness[d])
        for e in range(nv):
            rates[e] += w.held_v[d, e]
        add_middle(w, out[d], load)
        add_nu(w, tree, out[d], rates)
        _add_own(w, out[d], d)


@part
def _differentiate_first(w: StepMap, tree: Tree):
    """Columns of the velocities that the bias is taken at, into d_first."""
    nv, h, first, stop = len(w.parent), w.numbers[STEP], w.d_first, w.counts[COLUMN] // LANES
    load, rates = w.row[0], w.row[1]
    clear(w.d_first4, 0, nv, 0, stop)
    for d in range(nv):
        _load_rows(w, d, w.first_q[d], w.first_v[d], load, rates)
        add_middle(w, first[d], load)
        add_nu(w, tree, first[d], rates)
        _add_own(w, first[d], d)
    solve_rows(w, w.d_first4, 0, stop)
    for d in range(nv):
        set_product(w.d_first4, d, 0.5, w.d_first4, d, 0, stop)
        _add_nu_of(w, tree, first[d], d, 1.0)
    for k in range(len(tree.roots)):
        if tree.roots[k].free == 1:
            o = tree.roots[k].velocity
            for i in range(3):
                _set_swing_row(rates, w.vectors[NU], o, i, 0.5 * h)
                add_nu(w, tree, first[o + i], rates)


@part
def _load_rows(w: StepMap, d, own_q, own_v, load, rates):
    """What q_m and ν do to the load of a velocity, the rates of the bias being ν."""
    h = w.numbers[STEP]
    for e in range(len(load)):
        load[e], rates[e] = -h * own_q[e], -h * own_v[e]
    if w.coordinate[d] >= 0:
        load[d] += h * w.stiffness[d]
    rates[d] -= h * w.gains[1, d] + h * h * (w.gains[0, d] + w.stiffness[d])


@part
def _add_own(w: StepMap, out, d):
    """What torque and coordinate of a velocity itself do to its load."""
    h, nv = w.numbers[STEP], len(w.parent)
    out[2 * nv + d] += h
    if w.coordinate[d] >= 0:
        out[d] -= h * (w.gains[0, d] + w.stiffness[d])


@part
def _differentiate_swing(w: StepMap, tree: Tree, o):
    """Add h d(ω x v) of a free joint to dν'."""
    h, unit, stop = w.numbers[STEP], w.row[0], w.counts[COLUMN] // LANES
    for i in range(3):
        _set_swing_row(unit, w.vectors[V_BIAS], o, i, h)
        if _looks_twice(w):
            for d in range(o, o + 6):
                if unit[d] != 0.0:
                    add_product(w.d_next4, o + i, unit[d], w.d_first4, d, 0, stop)
        else:
            add_nu(w, tree, w.d_next[o + i], unit)


# The end --------------------------------------------------------------------------------------------------------------


@part
def is_last(w: StepMap, d):
    """Whether a velocity moves through the step as it is at its end."""
    return w.counts[PLAIN] == 1 or w.jumps[w.reference[w.dof_body[d]]] == 1


@part
def _set_displacement(w: StepMap, tree: Tree, differentiated):
    """Flight.py (2), (3), in the axes of the beginning."""
    a, h, nv, start, stop = w.vectors, w.numbers[STEP], len(w.parent), w.counts[FROM], w.counts[TO]
    x, way = a[DISPLACEMENT], w.d_way4
    for d in range(nv):
        last = is_last(w, d)
        x[d] = h * a[NU_NEXT, d] if last else 0.5 * h * (a[NU, d] + a[NU_NEXT, d])
        if differentiated:
            set_product(way, d, h if last else 0.5 * h, w.d_next4, d, start, stop)
            if not last and start == 0:
                _add_nu_of(w, tree, w.d_way[d], d, 0.5 * h)
    if w.counts[PLAIN] == 1:
        return
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        j, n = _joint_of(w, r.velocity), 3 if r.free == 1 else 0
        T, J, half, t = w.carried[j], w.chart[j], 0.5 * h, r.turning
        moves = _moves(w)
        if differentiated and moves and start == 0:
            for i in range(3):
                # δ x y of the turn of the middle by ω_i, before T is applied.
                column = nv + t + i
                dx, dy, dz = half * J[n, n + i], half * J[n + 1, n + i], half * J[n + 2, n + i]
                for o in range(t, t - 1 - n, -3):
                    w.d_way[o, column] += dy * x[o + 2] - dz * x[o + 1]
                    w.d_way[o + 1, column] += dz * x[o] - dx * x[o + 2]
                    w.d_way[o + 2, column] += dx * x[o + 1] - dy * x[o]
        for o in range(t, t - 1 - n, -3):
            p, q, s = x[o], x[o + 1], x[o + 2]
            if moves:
                for i in range(3):
                    # T is the transpose of the chart's block.
                    x[o + i] = T[n, n + i] * p + T[n + 1, n + i] * q + T[n + 2, n + i] * s
            for c in range(start, stop if differentiated and moves else start):
                dp, dq, ds = load_at(way, o, c), load_at(way, o + 1, c), load_at(way, o + 2, c)
                for i in range(3):
                    u, v, t3 = spread(T[n, n + i]), spread(T[n + 1, n + i]), spread(T[n + 2, n + i])
                    store_at(way, o + i, c, u * dp + v * dq + t3 * ds)
        if r.free == 0:
            continue
        o = r.velocity
        # Along the screw: way - ½ θ x way + θ x (θ x way) / 12.
        u, v, s, X, Y, Z = x[t], x[t + 1], x[t + 2], x[o], x[o + 1], x[o + 2]
        i, j2, k2 = v * Z - s * Y, s * X - u * Z, u * Y - v * X
        x[o] = X - 0.5 * i + (v * k2 - s * j2) / 12.0
        x[o + 1] = Y - 0.5 * j2 + (s * i - u * k2) / 12.0
        x[o + 2] = Z - 0.5 * k2 + (u * j2 - v * i) / 12.0
        if differentiated:
            _differentiate_screw(w, o, t, (u, v, s), (X, Y, Z), (i, j2, k2))


@part
def _differentiate_screw(w: StepMap, o, t, turn, way, across):
    """Columns of the same; across: turn x way."""
    out, half, part12 = w.d_way4, spread(0.5), spread(1.0 / 12.0)
    u, v, s = spread(turn[0]), spread(turn[1]), spread(turn[2])
    X, Y, Z = spread(way[0]), spread(way[1]), spread(way[2])
    i, j, k = spread(across[0]), spread(across[1]), spread(across[2])
    for c in range(w.counts[FROM], w.counts[TO]):
        du, dv, ds = load_at(out, t, c), load_at(out, t + 1, c), load_at(out, t + 2, c)
        dX, dY, dZ = load_at(out, o, c), load_at(out, o + 1, c), load_at(out, o + 2, c)
        di = dv * Z - ds * Y + v * dZ - s * dY
        dj = ds * X - du * Z + s * dX - u * dZ
        dk = du * Y - dv * X + u * dY - v * dX
        store_at(out, o, c, dX - half * di + part12 * (dv * k - ds * j + v * dk - s * dj))
        store_at(out, o + 1, c, dY - half * dj + part12 * (ds * i - du * k + s * di - u * dk))
        store_at(out, o + 2, c, dZ - half * dk + part12 * (du * j - dv * i + u * dj - v * di))


@part
def _set_targets(w: StepMap, tree: Tree, differentiated):
    """Momentum of the trees at the end, flight.py (5)."""
    if w.counts[PLAIN] == 1:
        return
    a, h, g, nv = w.vectors, w.numbers[STEP], tree.gravity, len(w.parent)
    c, push, arm, force, R = w.small[2, 0], w.small[2, 1], w.small[2, 2], w.small[2, 3], w.small[3]
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        T, o, out, start = w.poses[_pose(w, MIDDLE, r.body)], r.velocity, w.targets[k], w.before[k]
        _moment(w, MIDDLE, r.body, c)
        for i in range(3):
            c[i] = c[i] / r.mass  # from the origin of the body
            for j in range(3):
                R[i, j] = h * T[i, j]
        for i in range(3):
            push[i] = R[i, 0] * a[APPLIED, o] + R[i, 1] * a[APPLIED, o + 1] + R[i, 2] * a[APPLIED, o + 2]
            turn = R[i, 0] * a[APPLIED, o + 3] + R[i, 1] * a[APPLIED, o + 4] + R[i, 2] * a[APPLIED, o + 5]
            out[i] = start[3 + i] + h * r.mass * g[i] + push[i]
            out[3 + i] = start[6 + i] + turn
            arm[i] = -c[i]
        _add_moment(out, arm, push)
        for n in range(w.counts[LISTED]):
            if w.place[n] >= 0 and w.reference[w.body[n]] == r.body:
                for i in range(3):
                    force[i], arm[i] = 0.0, w.acts[n, i] - T[i, 3] - c[i]
                    for j in range(3):
                        force[i] += w.E[n, j, i] * w.impulse[n, j]
                    out[i] += force[i]
                _add_moment(out, arm, force)
        if differentiated:
            _differentiate_targets(w, k, r, c, push, nv)


@part
def _add_moment(out, r, f):
    out[3] += r[1] * f[2] - r[2] * f[1]
    out[4] += r[2] * f[0] - r[0] * f[2]
    out[5] += r[0] * f[1] - r[1] * f[0]


@part
def _differentiate_targets(w: StepMap, k, r, c, push, nv):
    """Columns of a tree's momentum at the end; c: its centre in the middle, from the origin; push: of its base."""
    h, o, mass = w.numbers[STEP], r.velocity, r.mass
    out, start, T = w.d_targets, w.before[k], w.poses[_pose(w, MIDDLE, r.body)]
    first, begin = 6 * k, w.poses[_pose(w, START, r.body)]
    clear(w.d_targets4, first, first + 6, w.counts[FROM], w.counts[TO])
    if w.counts[FROM] > 0:
        _differentiate_pushes(w, r, c, first)
        return
    x, y, z = start[0] - begin[0, 3], start[1] - begin[1, 3], start[2] - begin[2, 3]
    P = w.small[4, 0]
    P[0], P[1], P[2] = start[3], start[4], start[5]
    dc, df, da = w.small[4, 1], w.small[4, 2], w.small[4, 3]
    wrench, moved = w.small[4, 4], w.small[4, 5]
    for d in range(nv):
        if w.reference[w.dof_body[d]] != r.body:
            continue
        by_q, by_v = w.by_q[START, d], w.by_v[START, d]
        for i in range(3):
            out[first + i, d] += by_q[i]
            out[first + i, nv + d] += by_v[i]
            dc[i] = by_v[i] / mass
        # About the centre, which moves: dL - dc x P - (c - O) x dP.
        out[first + 3, d] += by_q[3] - (y * by_q[2] - z * by_q[1]) - (dc[1] * P[2] - dc[2] * P[1])
        out[first + 4, d] += by_q[4] - (z * by_q[0] - x * by_q[2]) - (dc[2] * P[0] - dc[0] * P[2])
        out[first + 5, d] += by_q[5] - (x * by_q[1] - y * by_q[0]) - (dc[0] * P[1] - dc[1] * P[0])
        out[first + 3, nv + d] += by_v[3] - (y * by_v[2] - z * by_v[1])
        out[first + 4, nv + d] += by_v[4] - (z * by_v[0] - x * by_v[2])
        out[first + 5, nv + d] += by_v[5] - (x * by_v[1] - y * by_v[0])
    # Along q_m: rows (6, nv).
    for i in range(6):
        for d in range(nv):
            w.row[i, d] = 0.0
    u = w.vectors[APPLIED]
    for d in range(nv):
        if w.reference[w.dof_body[d]] != r.body:
            continue
        s = w.axes[MIDDLE, d]
        for i in range(6):
            wrench[i] = 0.0
        for i in range(3):
            dc[i] = w.by_v[MIDDLE, d, i] / mass
            da[i] = (s[i] if o <= d < o + 6 else 0.0) - dc[i]
            df[i] = 0.0
        if o + 3 <= d < o + 6:
            # The base turns what acts on it: s_ang x force.
            df[0] = s[4] * push[2] - s[5] * push[1]
            df[1] = s[5] * push[0] - s[3] * push[2]
            df[2] = s[3] * push[1] - s[4] * push[0]
            for i in range(3):
                moved[i] = h * (T[i, 0] * u[o + 3] + T[i, 1] * u[o + 4] + T[i, 2] * u[o + 5])
                wrench[i] += df[i]
            wrench[3] += s[4] * moved[2] - s[5] * moved[1]
            wrench[4] += s[5] * moved[0] - s[3] * moved[2]
            wrench[5] += s[3] * moved[1] - s[4] * moved[0]
            for i in range(3):
                moved[i] = -c[i]
            _add_moment(wrench, moved, df)
        _add_moment(wrench, da, push)
        for i in range(6):
            w.row[i, d] += wrench[i]
    _differentiate_pushes(w, r, c, first)
    for i in range(6):
        add_middle(w, out[first + i], w.row[i])
    for i in range(3):
        for j in range(3):
            # Torques on the base, at its origin.
            f = h * T[i, j]
            out[first + i, 2 * nv + o + j] += f
            out[first + 3 + i, 2 * nv + o + 3 + j] += f
    for j in range(3):
        f, column = w.small[4, 2], 2 * nv + o + j
        for i in range(3):
            f[i] = h * T[i, j]
        out[first + 3, column] += -c[1] * f[2] + c[2] * f[1]
        out[first + 4, column] += -c[2] * f[0] + c[0] * f[2]
        out[first + 5, column] += -c[0] * f[1] + c[1] * f[0]


@part
def _differentiate_pushes(w: StepMap, r, c, first):
    """What contacts of a tree do to its momentum: along q_m into w.row, and by their impulses."""
    out, nv, T = w.d_targets, len(w.parent), w.poses[_pose(w, MIDDLE, r.body)]
    force, arm, da, total = w.small[5, 0], w.small[5, 1], w.small[5, 2], w.small[5, 3]
    total[0] = total[1] = total[2] = 0.0
    for n in range(w.counts[LISTED]):
        if w.place[n] < 0 or w.reference[w.body[n]] != r.body:
            continue
        for i in range(3):
            force[i], arm[i] = 0.0, w.acts[n, i] - T[i, 3]
            for j in range(3):
                force[i] += w.E[n, j, i] * w.impulse[n, j]
            total[i] += force[i]
        d = w.last[w.body[n]] if w.counts[FROM] == 0 else -1
        # The point moves with its body, what acts beside it with the point.
        R, N = w.radius[n], w.E[n, 0]
        x, y, z = arm[0] + R * N[0], arm[1] + R * N[1], arm[2] + R * N[2]
        while d >= 0:
            s, row = w.axes[MIDDLE, d], w.row
            da[0] = s[0] + s[4] * z - s[5] * y
            da[1] = s[1] + s[5] * x - s[3] * z
            da[2] = s[2] + s[3] * y - s[4] * x
            row[3, d] += da[1] * force[2] - da[2] * force[1]
            row[4, d] += da[2] * force[0] - da[0] * force[2]
            row[5, d] += da[0] * force[1] - da[1] * force[0]
            d = w.parent[d]
        for i in range(3):
            arm[i] -= c[i]
        for j in range(3):
            column, E = w.counts[COLUMN] + 3 * w.place[n] + j, w.E[n, j]
            for i in range(3):
                out[first + i, column] += E[i]
            out[first + 3, column] += arm[1] * E[2] - arm[2] * E[1]
            out[first + 4, column] += arm[2] * E[0] - arm[0] * E[2]
            out[first + 5, column] += arm[0] * E[1] - arm[1] * E[0]
    for d in range(nv if w.counts[FROM] == 0 else 0):
        if w.reference[w.dof_body[d]] == r.body:
            x, y, z = w.by_v[MIDDLE, d, 0] / r.mass, w.by_v[MIDDLE, d, 1] / r.mass, w.by_v[MIDDLE, d, 2] / r.mass
            w.row[3, d] -= y * total[2] - z * total[1]
            w.row[4, d] -= z * total[0] - x * total[2]
            w.row[5, d] -= x * total[1] - y * total[0]


@part
def set_end(w: StepMap, tree: Tree, exact, differentiated):
    """Configuration at the end, into d_q or, if not exact, d_out; exact: centres of mass as flight.py (6)."""
    if run_bound(w.kernels[TO_END]) >= 0 or run_bound(w.kernels[PLACE_END]) >= 0:
        return False
    place(w, END)
    h = w.numbers[STEP]
    if differentiated:
        _differentiate_end(w, w.d_q if exact else w.d_out, w.d_q4 if exact else w.d_out4)
    if not exact or w.counts[PLAIN] == 1:
        return True
    c, shift = w.small[2, 0], w.small[2, 1]
    if differentiated:
        weigh(w, END, w.vectors[NU_NEXT])
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        _moment(w, END, r.body, c)
        T, start, goal, jumps = w.poses[_pose(w, END, r.body)], w.before[k], w.targets[k], w.jumps[r.body] == 1
        for i in range(3):
            rate = goal[i] if jumps else 0.5 * (start[3 + i] + goal[i])
            shift[i] = start[i] + h / r.mass * rate - T[i, 3] - c[i] / r.mass
        for i in range(3):
            w.q[END, r.coordinate + i] += r.axes[0, i] * shift[0] + r.axes[1, i] * shift[1] + r.axes[2, i] * shift[2]
        for body in range(len(w.reference)):
            if w.reference[body] == r.body:
                for i in range(3):
                    w.poses[END * len(w.reference) + body, i, 3] += shift[i]
        if differentiated:
            _differentiate_center(w, k, r, T, jumps)
    return True


@part
def _differentiate_end(w: StepMap, out, blocks):
    """Columns of the configuration at the end from those of the displacement."""
    start, stop = w.counts[FROM], w.counts[TO]
    for d in range(len(w.parent)):
        set_product(blocks, d, 1.0, w.d_way4, d, start, stop)
        if start == 0:
            out[d, d] += 1.0
    for n in range(len(w.turning)):
        o, count, k = w.turning[n, 0], w.turning[n, 1], len(w.turning) + n
        set_chart(w, w.vectors[DISPLACEMENT], o, count, w.carried[k], w.chart[k])
        clear(blocks, o, o + count, start, stop)
        for i in range(count):
            for j in range(count):
                if w.chart[k, i, j] != 0.0:
                    add_product(blocks, o + i, w.chart[k, i, j], w.d_way4, o + j, start, stop)
                if start == 0:
                    out[o + i, o + j] += w.carried[k, i, j]


@part
def _differentiate_center(w: StepMap, k, r, T, jumps):
    """Let the base of a tree follow its centre of mass (4)."""
    nv, start, stop, o, rows = len(w.parent), w.counts[FROM], w.counts[TO], r.velocity, w.d_row4
    share = w.numbers[STEP] / r.mass * (1.0 if jumps else 0.5)
    clear(rows, 0, 3, start, stop)
    for i in range(3):
        times_all(w, r.body, w.by_v[END], i, w.d_q4, rows, i)
        set_product(rows, i, -1.0 / r.mass, rows, i, start, stop)
        add_product(rows, i, share, w.d_targets4, 6 * k + i, start, stop)
        for d in range(nv if start == 0 else 0):
            if w.reference[w.dof_body[d]] == r.body:
                w.d_row[i, d] += w.by_v[START, d, i] / r.mass
                if not jumps:
                    w.d_row[i, d] += share * w.by_q[START, d, i]
                    w.d_row[i, nv + d] += share * w.by_v[START, d, i]
    for i in range(3):
        for j in range(3):
            add_product(w.d_q4, o + i, T[j, i], rows, j, start, stop)


@part
def _turn_further(w: StepMap, tree: Tree, differentiated):
    """Turns of free joints from the velocities at both ends, flight.py (4); return by how much they change (rad)."""
    a, h, nv, start, change = w.vectors, w.numbers[STEP], len(w.parent), w.counts[FROM], 0.0
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        before = 0.0 if w.jumps[r.body] == 1 else 0.5
        for o in range(r.turning, r.turning + 3):
            turn = h * (before * a[V_START, o] + (1.0 - before) * a[V_END, o])
            change = max(change, abs(turn - a[DISPLACEMENT, o]))
            a[DISPLACEMENT, o] = turn
            if differentiated:
                set_product(w.d_way4, o, h * (1.0 - before), w.d_v4, o, start, w.counts[TO])
                if start == 0:
                    w.d_way[o, nv + o] += h * before
    return change


@part
def set_end_velocity(w: StepMap, tree: Tree, moved, differentiated):
    """v' from ν' and the momentum of the trees; moved: derivatives of the configuration at the end."""
    a, nv, start, stop = w.vectors, len(w.parent), w.counts[FROM], w.counts[TO]
    for d in range(nv):
        a[V_END, d] = a[NU_NEXT, d]
        if differentiated:
            set_product(w.d_v4, d, 1.0, w.d_next4, d, start, stop)
    if w.counts[STILL] == 1:
        return
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            _turn_velocity(w, r, moved, differentiated)
        else:
            for d in range(r.velocity, r.velocity + 6):
                a[V_END, d] = 0.0
            if differentiated:
                clear(w.d_v4, r.velocity, r.velocity + 6, start, stop)
    weigh(w, END, a[V_END])
    for k in range(len(tree.roots)):
        if tree.roots[k].exact == 1:
            _solve_base(w, k, tree.roots[k])
    if not differentiated:
        return
    weigh(w, END, a[V_END])
    momentum_terms(w, END, a[V_END], w.row[0], w.row[1])
    for k in range(len(tree.roots)):
        if tree.roots[k].exact == 1:
            _differentiate_base(w, k, tree.roots[k], moved)


@part
def _turn_velocity(w: StepMap, r, moved, differentiated):
    """Velocities of a base in its axes at the end, flight.py (1)."""
    a = w.vectors
    A, B, n = w.poses[_pose(w, MIDDLE, r.body)], w.poses[_pose(w, END, r.body)], 3 if r.free == 1 else 0
    U, t = w.small[2], r.turning
    for i in range(3):
        for j in range(3):
            U[i, j] = B[0, i] * A[0, j] + B[1, i] * A[1, j] + B[2, i] * A[2, j]
    for o in range(t, t - 1 - n, -3):
        x, y, z = a[NU_NEXT, o], a[NU_NEXT, o + 1], a[NU_NEXT, o + 2]
        for i in range(3):
            a[V_END, o + i] = U[i, 0] * x + U[i, 1] * y + U[i, 2] * z
        if differentiated:
            _differentiate_turned(w, o, t, moved)


@part
def _differentiate_turned(w: StepMap, o, t, moved):
    """Columns of three velocities from o on; small[2] turns them, t: first angular velocity of their joint."""
    a, start, stop, turned, rows, U = w.vectors, w.counts[FROM], w.counts[TO], w.row[6], w.d_row4, w.small[2]
    clear(rows, 0, 3, start, stop)
    for i in range(3):
        # dθ_m x ν', a row of q_m at a time.
        p, q = (i + 1) % 3, (i + 2) % 3
        for d in range(len(turned)):
            turned[d] = 0.0
        turned[t + p], turned[t + q] = a[NU_NEXT, o + q], -a[NU_NEXT, o + p]
        if start == 0:
            add_middle(w, w.d_row[i], turned)
        add_product(rows, i, 1.0, w.d_next4, o + i, start, stop)
    X, Y, Z = spread(a[V_END, o]), spread(a[V_END, o + 1]), spread(a[V_END, o + 2])
    for c in range(start, stop):
        x, y, z = load_at(rows, 0, c), load_at(rows, 1, c), load_at(rows, 2, c)
        u, v, s = load_at(moved, t, c), load_at(moved, t + 1, c), load_at(moved, t + 2, c)
        p, q, r = spread(U[0, 0]) * x + spread(U[0, 1]) * y + spread(U[0, 2]) * z, v * Z - s * Y, s * X - u * Z
        store_at(w.d_v4, o, c, p - q)
        store_at(w.d_v4, o + 1, c, spread(U[1, 0]) * x + spread(U[1, 1]) * y + spread(U[1, 2]) * z - r)
        p = spread(U[2, 0]) * x + spread(U[2, 1]) * y + spread(U[2, 2]) * z
        store_at(w.d_v4, o + 2, c, p - (u * Y - v * X))


@part
def _goal(w: StepMap, k, r, c, out):
    """Momentum (6) of a tree at the end, about the origin of its base; c: its centre from there."""
    goal = w.targets[k]
    _moment(w, END, r.body, c)
    for i in range(3):
        c[i] = c[i] / r.mass
        out[i], out[3 + i] = goal[i], goal[3 + i]
    _add_moment(out, c, goal)


@part
def _solve_base(w: StepMap, k, r):
    """Velocity of the base that gives a tree its momentum; those of its joints are in `momenta` already."""
    c, goal, v, o = w.small[2, 0], w.small[2, 1], w.vectors[V_END], r.velocity
    _goal(w, k, r, c, goal)
    invert_base(w, END, o)
    B, h = w.small[6], w.momenta[END, o]
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += B[i, j] * (goal[j] - h[j])
        v[o + i] = total


@part
def _differentiate_base(w: StepMap, k, r, moved):
    """Columns of that velocity (4)."""
    start, stop, o, rows, P, c = w.counts[FROM], w.counts[TO], r.velocity, w.d_row4, w.targets[k], w.small[2, 0]
    clear(rows, 0, 6, start, stop)
    for i in range(3):
        times_all(w, r.body, w.by_v[END], i, moved, rows, i)  # m dc
    _goal(w, k, r, c, w.small[2, 1])
    x, y, z = spread(P[0] / r.mass), spread(P[1] / r.mass), spread(P[2] / r.mass)
    cx, cy, cz, goal, g = spread(c[0]), spread(c[1]), spread(c[2]), w.d_targets4, 6 * k
    for j in range(start, stop):
        u, v, s = load_at(rows, 0, j), load_at(rows, 1, j), load_at(rows, 2, j)
        p, q, t = load_at(goal, g, j), load_at(goal, g + 1, j), load_at(goal, g + 2, j)
        store_at(rows, 0, j, p)
        store_at(rows, 1, j, q)
        store_at(rows, 2, j, t)
        store_at(rows, 3, j, load_at(goal, g + 3, j) + v * z - s * y + cy * t - cz * q)
        store_at(rows, 4, j, load_at(goal, g + 4, j) + s * x - u * z + cz * p - cx * t)
        store_at(rows, 5, j, load_at(goal, g + 5, j) + u * y - v * x + cx * q - cy * p)
    for d in range(len(w.parent)):
        if w.reference[w.dof_body[d]] == r.body:
            for i in range(6):
                if w.by_q[END, d, i] != 0.0:
                    add_product(rows, i, -w.by_q[END, d, i], moved, d, start, stop)
                if not o <= d < o + 6 and w.by_v[END, d, i] != 0.0:
                    add_product(rows, i, -w.by_v[END, d, i], w.d_v4, d, start, stop)
    invert_base(w, END, o)
    for i in range(6):
        for j in range(6):
            add_product(w.d_v4, o + i, w.small[6, i, j], rows, j, start, stop)
