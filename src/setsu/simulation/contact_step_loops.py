"""Loops and couplings of a step in an environment, for contact_step_motion.py: their rows, and how these change.

| symbol | meaning |
|---|---|
| G, e, μ | rows, their errors, their impulses |
| J, s, r | rows of free axes of joints that close loops, their coordinates and rates, r = J v |
| D, k, A, γ | damping, stiffness, armature along them; acceleration of the axes at rest of the joints |
| x | ν' - v |
| W, S_d, σ_d | wrench (F, N) of a loop on body b at its joint p; motion (u, w) there by a velocity; ±1: moves b, a |

    load = Gᵀ μ - h Jᵀ f,   f = D (r + J x) + k (s + h (r + J x)) + A (J x/h + γ)              (1)  contact/held_rows.py
    ∂load/∂q = ∂(Gᵀ μ - h Jᵀ f̄)/∂q - h Jᵀ ((D + h k) ∂(J ν')/∂q + k J + A ∂(J x/h + γ)/∂q)     (2)  f̄ held
    ∂load/∂v = -h Jᵀ ((D + h k) J + A ∂γ/∂v)                                                   (3)
    ∂(σ_d S_d·W)/∂q_e = σ_d (S_d·∂_e W + [e above d] (S_e x S_d)·W)                            (4)
    ∂_e W = (w_e x F, w_e x N) where e moves body a, (0, u_e x F) where it moves b, and what the joint's rotation turns

Velocities that move both bodies of a loop change nothing of it: (4) is taken along the loop's path. Rows that follow
from others are left out (constraints/redundancy.py). Cost: the square of the paths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_loops import loop_pose
from setsu.constraints.compiled_rows import coupling_polynomial, fill_positions, fill_rates
from setsu.constraints.compiled_vectors import cross, dot, length, minus, plus, scaled, second_vector, turned, vector
from setsu.constraints.loop_joints import BALL, CROSS, FIRST_AXIS, SECOND_AXIS
from setsu.constraints.row_changes import change_by_a, change_by_b, relative_motion
from setsu.constraints.row_tables import row_state, row_tables
from setsu.constraints.system import constraint_system
from setsu.dynamics.catalogue import native_function
from setsu.dynamics.motion_derivatives import move_masks
from setsu.mechanism import Mechanism
from setsu.native.control_flow import inline, run_bound
from setsu.native.workspace import Workspace
from setsu.simulation.contact_step import CHANGE, END, NU_NEXT, RATE, START, STEP, V_START, StepMap

__all__ = ["HeldStep", "begin_held", "make_held_step", "set_held_changes", "set_held_end"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]


class _Kernels(NamedTuple):
    world: Handle  # as compiled_rows.py wants them
    rates: Handle
    motion: Handle  # motion_columns at START, V_START, RATE


class _Work(NamedTuple):
    acts: Ints  # (2,) 1: something acts along free axes; 1: armature does
    above: Ints  # (nv, nv) 1 where the motion of velocity d turns with velocity e
    start: Floats  # (f, 3) r, s, γ at the beginning
    wrench: Floats  # (1, 6) W of a loop
    turned: Floats  # (nv, 3) ∂_e N by the joint's own rotation
    change: Floats  # (nv, nv) of a wrench (4)
    motion: Floats  # (6, nv) S, X, Y, Z of kernels/motion_columns.py
    by_q: Floats
    by_q_twice: Floats
    by_v: Floats
    V: Floats  # (n_bodies + 1, 6) and A, the world last
    A: Floats


class HeldStep(NamedTuple):
    """The rows of a mechanism for compiled code: constants, state, kernels and work space."""

    tables: Any
    state: Any
    kernels: Any
    work: Any


def make_held_step(mechanism: Mechanism, w: StepMap) -> tuple[HeldStep, Any]:
    """Return the rows of a mechanism on the arrays of a map, and what has to be kept alive."""
    m, system = mechanism, constraint_system(mechanism)
    t, f = system.loops, len(system.loops.free_loop)
    acts = bool(t.damping.any() or t.stiffness.any() or t.armature.any())
    tables, state = row_tables(system)._replace(free_used=np.array([int(acts)])), row_state(system)
    work = _Work(
        acts=np.array([int(acts), int(t.armature.any())]),
        above=move_masks(m)[1].astype(np.int64),
        start=np.zeros((f, 3)),
        wrench=np.zeros((1, 6)),
        turned=np.zeros((m.nv, 3)),
        change=np.zeros((m.nv, m.nv)),
        motion=np.zeros((6, m.nv)),
        by_q=np.zeros((6, m.nv)),
        by_q_twice=np.zeros((6, m.nv)),
        by_v=np.zeros((6, m.nv)),
        V=np.zeros((m.n_bodies + 1, 6)),
        A=np.zeros((m.n_bodies + 1, 6)),
    )
    work.A[-1, :3] = -np.array(m.gravity)
    kept, handles = [], [np.zeros(7, dtype=np.int64)] * 3
    if system.n_held:
        columns = [work.motion, work.by_q, work.by_q_twice, work.by_v, work.V[:-1], work.A[:-1]]
        given = [w.q[START], w.vectors[V_START], w.vectors[RATE]]
        rates = [state.velocities, state.accelerations, np.zeros(m.nv)]
        kept = [
            native_function(m, "world_poses").bind([state.q], [state.poses, state.directions]),
            native_function(m, "world_rates").bind([state.q, state.v], rates),
            native_function(m, "motion_columns").bind(given, columns),
        ]
        handles = [kernel.handle for kernel in kept]
    parts = (tables, state, _Kernels(*handles), work)
    return HeldStep(*map(Workspace, parts)), kept


@inline
def _fill(held: HeldStep, q, v, rates):
    """Rows and errors at a state, with what depends on velocities if asked for; False for bad numbers."""
    s = held.state
    for k in range(len(q)):
        s.q[k] = q[k]
    for d in range(len(v)):
        s.v[d] = v[d]
    if fill_positions(held.tables, s, held.kernels) >= 0:
        return False
    return not rates or fill_rates(held.tables, s, held.kernels) < 0


@inline
def begin_held(w: StepMap, held: HeldStep):
    """Rows at the beginning of the step, and what free axes add to its equation (1); False for bad numbers."""
    t, s, a, h, nv = held.tables, held.state, held.work, w.numbers[STEP], len(w.parent)
    if len(t.place) == 0:
        return True
    if not _fill(held, w.q[START], w.vectors[V_START], a.acts[0] == 1):
        return False
    for r in range(len(w.held)):
        w.held_impulse[r] = 0.0
        for d in range(nv):
            w.held[r, d] = s.G[t.held[r], d]
    for d in range(nv):
        w.held_load[d] = 0.0
        for e in range(nv):
            w.held_inertia[d, e] = 0.0
    for j in range(len(t.damping) if a.acts[0] == 1 else 0):
        J, start = s.free[j], a.start[j]
        start[0], start[1], start[2] = s.free_rate[j], s.free_coordinate[j] - t.spring_rest[j], s.free_gamma[j]
        inertia, load = h * t.damping[j] + h * h * t.stiffness[j] + t.armature[j], -h * _force(w, held, j, 0.0)
        for d in range(nv):
            w.held_load[d] += load * J[d]
            for e in range(nv):
                w.held_inertia[d, e] += inertia * J[d] * J[e]
    return True


@inline
def _force(w: StepMap, held: HeldStep, j, change):
    """The force f of (1) for a change J x of the rate."""
    t, start, h = held.tables, held.work.start[j], w.numbers[STEP]
    rate = start[0] + change
    return t.damping[j] * rate + t.stiffness[j] * (start[1] + h * rate) + t.armature[j] * (change / h + start[2])


@inline
def set_held_end(w: StepMap, held: HeldStep):
    """Rows and errors at the end of the step; False for bad numbers."""
    if len(held.tables.place) == 0:
        return True
    t, s = held.tables, held.state
    if not _fill(held, w.q[END], w.vectors[V_START], False):
        return False
    for r in range(len(w.held)):
        w.held_error[r] = s.error[t.held[r]]
        for d in range(len(w.parent)):
            w.held_end[r, d] = s.G[t.held[r], d]
    return True


@inline
def set_held_changes(w: StepMap, held: HeldStep):
    """(2) and (3), under the impulses of the step; False for bad numbers."""
    t, s, a, nv = held.tables, held.state, held.work, len(w.parent)
    if len(t.place) == 0:
        return True
    if not _fill(held, w.q[START], w.vectors[V_START], a.acts[0] == 1):
        return False
    if a.acts[1] == 1 and run_bound(held.kernels.motion) >= 0:
        return False
    for d in range(nv):
        for e in range(nv):
            w.held_q[d, e] = w.held_v[d, e] = 0.0
    for loop in range(len(t.body_a)):
        _change_of_loop(w, held, loop)
        for j in range(t.free_start[loop], t.free_start[loop + 1] if a.acts[0] == 1 else t.free_start[loop]):
            _change_along_axis(w, held, loop, j)
    first = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        k = t.place[first + c]
        if k >= 0:
            _, _, bend = coupling_polynomial(t, s, c)
            factor = w.held_impulse[k] * bend
            for d in range(nv if factor != 0.0 else 0):
                for e in range(nv):
                    w.held_q[d, e] -= factor * t.coupling_argument[c, d] * t.coupling_argument[c, e]
    return True


@inline
def _clear(held: HeldStep, loop):
    """Let W of a loop be zero."""
    t, a = held.tables, held.work
    for i in range(6):
        a.wrench[0, i] = 0.0
    for place in range(t.path_start[loop], t.path_start[loop + 1]):
        for i in range(3):
            a.turned[t.path_velocity[place], i] = 0.0


@inline
def _add(held: HeldStep, loop, wrench, amount, kind, varies):
    """Add some of a row or axis to W; varies: its moment turns with the joint's own rotation, by its kind."""
    t, s, a = held.tables, held.state, held.work
    for i in range(6):
        a.wrench[0, i] += amount * wrench[i]
    if not varies:
        return
    R_A, R, _, _, _, _ = loop_pose(t, s, loop)
    moment = (wrench[3], wrench[4], wrench[5])
    first, second = turned(R_A, vector(t.axis, loop)), turned(R_A, turned(R, vector(t.second_axis, loop)))
    for place in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[place]
        turn = scaled((s.directions[3, d], s.directions[4, d], s.directions[5, d]), t.path_sign[place])
        own = scaled(_own_turning(kind, moment, first, second, turn), amount)
        for i in range(3):
            a.turned[d, i] += own[i]


@inline
def _own_turning(kind, moment, first, second, turn):
    """Change of a moment against body a by a turn of the joint: normal or dual axes of a universal one, or a ball's."""
    if kind == BALL:
        return cross(turn, moment)
    moved, cosine = cross(turn, second), dot(first, second)
    if kind == CROSS:
        sine = max(length(cross(first, second)), 1e-9)
        change = cross(first, moved)
        return scaled(minus(change, scaled(moment, dot(moment, change))), 1.0 / sine)
    square, change = max(1.0 - cosine * cosine, 1e-18), dot(first, moved)
    growth = scaled(moment, 2.0 * cosine * change / square)
    if kind == FIRST_AXIS:
        return minus(growth, scaled(plus(scaled(second, change), scaled(moved, cosine)), 1.0 / square))
    return plus(growth, scaled(minus(moved, scaled(first, change)), 1.0 / square))


@inline
def _set_change(held: HeldStep, loop):
    """(4) of the wrench at hand, into `change` along the path."""
    t, s, a = held.tables, held.state, held.work
    force, moment = vector(a.wrench, 0), second_vector(a.wrench, 0)
    _, _, _, p, _, _ = loop_pose(t, s, loop)
    for i in range(t.path_start[loop], t.path_start[loop + 1]):
        e = t.path_velocity[i]
        u_e, w_e = _motion_at(s, e, p)
        if t.path_sign[i] > 0.0:
            dF, dN = (0.0, 0.0, 0.0), cross(u_e, force)
        else:
            dF, dN = cross(w_e, force), cross(w_e, moment)
        dN = plus(dN, vector(a.turned, e))
        # (S_e x S_d)·W = S_d·(W turned the other way).
        F, N = cross(force, w_e), plus(cross(moment, w_e), cross(force, u_e))
        for k in range(t.path_start[loop], t.path_start[loop + 1]):
            d = t.path_velocity[k]
            u_d, w_d = _motion_at(s, d, p)
            total = dot(u_d, dF) + dot(w_d, dN)
            if a.above[d, e] == 1:
                total += dot(u_d, F) + dot(w_d, N)
            a.change[d, e] = t.path_sign[k] * total


@inline
def _motion_at(s, d, p):
    """Velocity of p, and angular velocity, by a velocity."""
    turn = (s.directions[3, d], s.directions[4, d], s.directions[5, d])
    arm = (p[0] - s.directions[6, d], p[1] - s.directions[7, d], p[2] - s.directions[8, d])
    return plus((s.directions[0, d], s.directions[1, d], s.directions[2, d]), cross(turn, arm)), turn


@inline
def _change_of_loop(w: StepMap, held: HeldStep, loop):
    """First term of (2)."""
    t, s, a, h = held.tables, held.state, held.work, w.numbers[STEP]
    _clear(held, loop)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        k = t.place[row]
        if k >= 0:
            _add(held, loop, s.wrench[row], w.held_impulse[k], t.row_kind[row], t.row_kind[row] == CROSS)
    for j in range(t.free_start[loop], t.free_start[loop + 1] if a.acts[0] == 1 else t.free_start[loop]):
        change = 0.0
        for d in range(len(w.parent)):
            change += s.free[j, d] * w.vectors[CHANGE, d]
        _add(held, loop, s.free_wrench[j], -h * _force(w, held, j, change), t.free_kind[j], _varies(t, j))
    _set_change(held, loop)
    for i in range(t.path_start[loop], t.path_start[loop + 1]):
        d = t.path_velocity[i]
        for k in range(t.path_start[loop], t.path_start[loop + 1]):
            e = t.path_velocity[k]
            w.held_q[d, e] += a.change[d, e]


@inline
def _varies(t, j):
    """Whether a free axis turns against body a."""
    return t.free_kind[j] == BALL or t.free_kind[j] == FIRST_AXIS or t.free_kind[j] == SECOND_AXIS


@inline
def _change_along_axis(w: StepMap, held: HeldStep, loop, j):
    """The other terms of (2), and (3), of a free axis."""
    t, s, a, h, nv = held.tables, held.state, held.work, w.numbers[STEP], len(w.parent)
    resists, J = t.damping[j] + h * t.stiffness[j], s.free[j]
    if resists == 0.0 and t.armature[j] == 0.0:
        return
    _clear(held, loop)
    _add(held, loop, s.free_wrench[j], 1.0, t.free_kind[j], _varies(t, j))
    _set_change(held, loop)
    for i in range(t.path_start[loop], t.path_start[loop + 1]):
        e = t.path_velocity[i]
        by_q, by_v = t.stiffness[j] * J[e], resists * J[e]
        for k in range(t.path_start[loop], t.path_start[loop + 1]):
            d = t.path_velocity[k]
            by_q += resists * a.change[d, e] * w.vectors[NU_NEXT, d]
        if t.armature[j] != 0.0:
            swing, faster = _swing(held, loop, j, e, t.path_sign[i])
            by_q += t.armature[j] * swing
            by_v += t.armature[j] * faster
        for d in range(nv):
            w.held_q[d, e] -= h * J[d] * by_q
            w.held_v[d, e] -= h * J[d] * by_v


@inline
def _swing(held: HeldStep, loop, j, e, side):
    """Change of J x/h + γ of a free axis by a coordinate and by its rate, along motions that keep the loop."""
    t, s, a = held.tables, held.state, held.work
    _, _, _, p, _, _ = loop_pose(t, s, loop)
    # -1, the world, is the last one.
    V_a, V_b = _pair(a.V, t.body_a[loop]), _pair(a.V, t.body_b[loop])
    A_a, A_b = _pair(a.A, t.body_a[loop]), _pair(a.A, t.body_b[loop])
    omega, u, gamma, g = relative_motion(V_a, V_b, A_a, A_b, p)
    S, X, Y, Z = _column(a.motion, e), _column(a.by_q, e), _column(a.by_q_twice, e), _column(a.by_v, e)
    if side > 0.0:
        linear, angular, faster, turning = change_by_b(S, X, Y, Z, V_a, V_b, A_b, p, omega, u, gamma)
    else:
        linear, angular, faster, turning = change_by_a(S, X, Y, Z, V_a, V_b, A_a, p, omega, u, gamma, g)
    force, moment = vector(s.free_wrench, j), second_vector(s.free_wrench, j)
    by_q = dot(force, linear) + dot(moment, angular) + dot(vector(a.turned, e), gamma[1])
    return by_q, dot(force, faster) + dot(moment, turning)


@inline
def _pair(array, body):
    place = body if body >= 0 else len(array) - 1
    return vector(array, place), second_vector(array, place)


@inline
def _column(array, d):
    """Column d of an array (6, nv)."""
    return (array[0, d], array[1, d], array[2, d]), (array[3, d], array[4, d], array[5, d])
