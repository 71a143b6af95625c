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
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import LANES
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
    TO_MIDDLE,
    V_BIAS,
    V_START,
    StepMap,
)
from setsu.simulation.contact_step_columns import (
    add_middle,
    add_nu,
    add_nu_of,
    first_moment,
    has_middle,
    joint_of,
    pose_row,
    set_swing_row,
    solve_rows,
)
from setsu.simulation.contact_step_end import set_end, set_end_velocity, turn_further
from setsu.simulation.contact_step_loops import HeldStep, set_held_changes
from setsu.simulation.contact_step_space import (
    add_product,
    clear,
    factor_small,
    momentum_terms,
    move,
    place,
    set_chart,
    set_product,
    solve_small,
)
from setsu.simulation.contact_step_targets import set_displacement, set_targets

__all__ = ["begin_motion", "go_through", "start_held_impulses"]

# The machine's own thresholds (contact/flight.py, free_motion.py, step.py).
_STILL, _FAST, _TURNING, _TURNS, _TURNS_OF_TREES = 1e-7, 1e-5, 1e-4, 20, 3
# rad: turns of a step that change by less no longer change it.
_SETTLED = 1e-17


@inline
def begin_motion(w: StepMap, tree: Tree):
    """The beginning and the middle of the step, and its motion without impulses; a Refusal."""
    a, h, nv = w.vectors, w.numbers[STEP], len(w.parent)
    far = 0.0
    for d in range(nv):
        if w.counts[PLAIN] == 0:
            far = max(far, h * abs(a[V_START, d]))
    w.numbers[FAR] = far
    moves = has_middle(w)
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
    move(w, START, a[V_START])
    for j in range(len(w.turning)):
        set_chart(w, a[HALF], w.turning[j, 0], w.turning[j, 1], w.carried[j], w.chart[j])
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        r = tree.roots[k]
        if r.free == 1 and moves:
            C, o, x, y, z = w.carried[joint_of(w, r.velocity)], r.velocity, 0.0, 0.0, 0.0
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


@inline
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


@inline
def _looks_twice(w: StepMap):
    """Whether the bias is taken a second time, in the middle of the velocities."""
    return w.numbers[FAR] > _FAST


@inline
def _add_swing(v, o, factor, out):
    """Add factor · ω x v of a free joint."""
    out[o] += factor * (v[o + 4] * v[o + 2] - v[o + 5] * v[o + 1])
    out[o + 1] += factor * (v[o + 5] * v[o] - v[o + 3] * v[o + 2])
    out[o + 2] += factor * (v[o + 3] * v[o + 1] - v[o + 4] * v[o])


@inline
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


@inline
def _note_momenta(w: StepMap, tree: Tree):
    """Centres and momenta of the trees at the beginning."""
    c = w.small[2, 0]
    momentum_terms(w, START, w.vectors[V_START], w.row[0], w.row[1])
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        out, h, T = w.before[k], w.momenta[START, r.velocity], w.poses[pose_row(w, START, r.body)]
        first_moment(w, START, r.body, c)
        x, y, z = c[0] / r.mass, c[1] / r.mass, c[2] / r.mass
        out[0], out[1], out[2] = T[0, 3] + x, T[1, 3] + y, T[2, 3] + z
        out[3], out[4], out[5] = h[0], h[1], h[2]
        out[6] = h[3] - (y * h[2] - z * h[1])
        out[7] = h[4] - (z * h[0] - x * h[2])
        out[8] = h[5] - (x * h[1] - y * h[0])


@inline
def _set_change(w: StepMap, x):
    """What loads and the impulses at hand do to ν."""
    a, nv = w.vectors, len(w.parent)
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
    for d in range(nv):
        x[d] += a[FREE, d]


@inline
def start_held_impulses(w: StepMap):
    """Impulses μ of held rows G, which the machine does not note, from the velocity that its step ends with:
    G H⁻¹ Gᵀ μ = G (v' - v - x), x the change without them. They begin at zero where that is singular."""
    a, nv, n, Z, x = w.vectors, len(w.parent), len(w.held), w.d_rigid, w.vectors[CHANGE]
    if n == 0:
        return
    _set_change(w, x)
    for r in range(n):
        for d in range(nv):
            Z[d, r] = w.held[r, d]
    solve_rows(w, w.d_rigid4, 0, (n + LANES - 1) // LANES)
    for r in range(n):
        w.correction[r, 0] = 0.0
        for d in range(nv):
            w.correction[r, 0] += w.held[r, d] * (w.v_reached[0, d] - a[V_START, d] - x[d])
        for s in range(n):
            w.factor[r, s] = 0.0
            for d in range(nv):
                w.factor[r, s] += w.held[r, d] * Z[d, s]
    if factor_small(w.factor, w.pivots, n):
        solve_small(w.factor, w.pivots, n, w.correction4, 0, 1)
        for r in range(n):
            w.held_impulse[r] = w.correction[r, 0]


@inline
def go_through(w: StepMap, tree: Tree, held: HeldStep, differentiated):
    """The step under the impulses at hand, up to q' before anything is moved out; a Refusal."""
    a, h, nv = w.vectors, w.numbers[STEP], len(w.parent)
    x, most = a[CHANGE], 0.0
    _set_change(w, x)
    for d in range(nv):
        a[NU_NEXT, d] = a[NU, d] + x[d]
        a[RATE, d], a[FIRST_RATE, d] = x[d] / h, a[FIRST, d] / h
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        if tree.roots[k].free == 1:
            _add_swing(a[V_BIAS], tree.roots[k].velocity, h, a[NU_NEXT])
    for d in range(nv):
        most = max(most, h * abs(a[NU_NEXT, d]))
    w.counts[STILL] = 1 if w.counts[PLAIN] == 1 or (not has_middle(w) and most <= _STILL) else 0
    if differentiated:
        if w.counts[FROM] == 0:
            if run_bound(w.kernels[DERIVATIVES]) >= 0 or not set_held_changes(w, held):
                return BAD_NUMBERS
            if _looks_twice(w) and run_bound(w.kernels[DERIVATIVES_FIRST]) >= 0:
                return BAD_NUMBERS
        _differentiate_change(w, tree)
    set_displacement(w, tree, differentiated)
    set_targets(w, tree, differentiated)
    turns = 0
    if w.counts[PLAIN] == 0 and w.numbers[FAR] > _TURNING:
        turns = _TURNS if len(tree.roots) == len(w.reference) else _TURNS_OF_TREES
    for turn in range(turns + 1):
        change = 1.0
        if turn > 0:
            set_end_velocity(w, tree, w.d_q4, differentiated)
            change = turn_further(w, tree, differentiated)
        if not set_end(w, tree, True, differentiated):
            return BAD_NUMBERS
        if change <= _SETTLED:
            break
    return FINE


@inline
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
        add_nu_of(w, tree, out[d], d, 1.0)
    for k in range(len(tree.roots) if w.counts[PLAIN] == 0 else 0):
        if tree.roots[k].free == 1:
            _differentiate_swing(w, tree, tree.roots[k].velocity)


@inline
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


@inline
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
        add_nu_of(w, tree, first[d], d, 1.0)
    for k in range(len(tree.roots)):
        if tree.roots[k].free == 1:
            o = tree.roots[k].velocity
            for i in range(3):
                set_swing_row(rates, w.vectors[NU], o, i, 0.5 * h)
                add_nu(w, tree, first[o + i], rates)


@inline
def _load_rows(w: StepMap, d, own_q, own_v, load, rates):
    """What q_m and ν do to the load of a velocity, the rates of the bias being ν."""
    h = w.numbers[STEP]
    for e in range(len(load)):
        load[e], rates[e] = -h * own_q[e], -h * own_v[e]
    if w.coordinate[d] >= 0:
        load[d] += h * w.stiffness[d]
    rates[d] -= h * w.gains[1, d] + h * h * (w.gains[0, d] + w.stiffness[d])


@inline
def _add_own(w: StepMap, out, d):
    """What torque and coordinate of a velocity itself do to its load."""
    h, nv = w.numbers[STEP], len(w.parent)
    out[2 * nv + d] += h
    if w.coordinate[d] >= 0:
        out[d] -= h * (w.gains[0, d] + w.stiffness[d])


@inline
def _differentiate_swing(w: StepMap, tree: Tree, o):
    """Add h d(ω x v) of a free joint to dν'."""
    h, unit, stop = w.numbers[STEP], w.row[0], w.counts[COLUMN] // LANES
    for i in range(3):
        set_swing_row(unit, w.vectors[V_BIAS], o, i, h)
        if _looks_twice(w):
            for d in range(o, o + 6):
                if unit[d] != 0.0:
                    add_product(w.d_next4, o + i, unit[d], w.d_first4, d, 0, stop)
        else:
            add_nu(w, tree, w.d_next[o + i], unit)
