"""Loops, couplings and surfaces of the mechanism in a contact step: rows that hold at its end, like the contacts.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| G, e | Jacobian and position error of the rows, at the beginning of the step | m or rad |
| γ | acceleration of the rows at zero joint accelerations | m/s² or rad/s² |
| v', q' | velocity and configuration at the end of the step, q' = q ⊕ h v' | |

| J, x, r | row, coordinate and rate of a free axis of a joint that closes a loop | m or rad |
| D, k, A, c | its damping, stiffness, armature and dry friction | |

    G v' = g,   g = -(e + ½ h² γ) / h                                         (1)  the least change in kinetic metric
    e(q') > 1e-11:  g <- g - e(q') / h, and the step is solved again          (2)
    force along an axis: -D r' - k (x + h r') - A (r' - r) / h - c s          (3)  sticking: -c r'/ε (free_motion.py)

(1) misses the end of the step by the third order of h only, so that (2) ends after a pass or two. Of a row whose error
is prescribed for the end of the step (a driven joint) γ is zero, and (1) reaches it at once.
(3) is implicit in r' = J v': it adds Jᵀ (h D + h² k + A) J to the mass matrix.
Rows that hold are made orthonormal in x (factor.py), once for given factors of H; those that follow from others hold
nothing. Source: rows as in constraints/compiled_rows.py. Cost: k² nv for k rows, k nv per pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_rows import fill_errors_at_poses, fill_rows, fill_rows_at_poses
from setsu.constraints.ranks import EXACT
from setsu.constraints.row_tables import RowTables, row_state, row_tables
from setsu.constraints.system import ConstraintSystem
from setsu.contact.factor import force_to_x, velocity_to_x, x_to_velocity
from setsu.contact.orthonormal_rows import add_multiple, dot, padded, take_in, take_out
from setsu.contact.tree import ROW
from setsu.dynamics.catalogue import native_function
from setsu.native.control_flow import inline
from setsu.native.lanes import load_from, store_from
from setsu.native.workspace import Workspace

__all__ = [
    "HELD",
    "YIELDING",
    "HeldRows",
    "add_axes",
    "axes_energy",
    "axes_friction_work",
    "begin_rows",
    "check_axes",
    "correct_rows",
    "hold_rows",
    "make_held_rows",
    "place_axes",
    "rows_work",
    "set_axes_sticking",
    "set_basis",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# m or rad: what a step may leave of a row's error.
HELD = 1e-11
# m/s or rad/s: what a joint that sticks may yield.
YIELDING = 2e-10


class _Kernels(NamedTuple):
    world: Handle  # of the kernels that fill poses and motion of the bodies
    rates: Handle


class _Work(NamedTuple):
    INNER = {"body": (ROW,)}  # noqa: RUF012
    basis: Floats  # (n, lanes) orthonormal in x: of rows that hold, then of bodies in contact (dense.py)
    rank: Ints  # (2,) how many of these are of rows that hold, and how many there are
    source: Ints  # (k,) row of G that each of them came from
    part: Floats  # (k, k) of such a row along those before; on the diagonal one over what was left of it
    along: Floats  # (2, n) scratch, n up to whole lanes
    rate: Floats  # (k,) what x has to be along them
    x: Floats  # (lanes,) scratch
    body: Floats  # (nv, 8) Jacobian of a body, six numbers per velocity
    raw: Floats  # (k, lanes) G
    goal: Floats  # (k,) g
    open: Ints  # (k,) 1: belongs to an open loop, or is redundant (constraints/redundancy.py)
    unheld: Floats  # (nv,) velocity at the end of the step without rows and contacts
    mean: Floats  # (2, nv) scratch
    acts: Ints  # (3,) 1: forces act along free axes; 1: some of them store energy; 1: some have stops (joint_stops.py)
    axis_closed: Ints  # (f,) 1: belongs to a closed loop
    axis_limit: Floats  # (f,) dry friction
    axis_sticks: Ints  # (f,) 0: sticks, else the direction of sliding
    axis: Floats  # (f, nv) J at the beginning of the step
    axis_start: Floats  # (f, 3) r, x - rest and acceleration at zero joint accelerations, at the beginning of the step
    axis_end: Floats  # (f, 2) r' and dry friction of the step
    axis_place: Floats  # (2, f) coordinates at the beginning and at the end of the step, where there are stops


class HeldRows(NamedTuple):
    """The rows of a system for compiled code: constants, state, kernels and work space."""

    tables: Any
    state: Any
    kernels: Any
    work: Any


def make_held_rows(system: ConstraintSystem, bearings: bool, stops: bool) -> tuple[HeldRows, Any]:
    """Return the rows of a system, and what has to be kept alive; bearings, stops: whether loop joints have some."""
    m, k = system.mechanism, system.n_rows
    # Copies: loops that close where they are get other frames in mid-run.
    tables = RowTables._make(array.copy() for array in row_tables(system))
    # All rows are filled: which of them are redundant changes with the loops that are open, and `open` says so.
    tables.place[:] = np.arange(system.n_held)
    state = row_state(system)
    stores = bool(tables.stiffness.any() or tables.armature.any())
    acts = stores or bool(tables.damping.any() or tables.coulomb.any()) or bearings
    tables.free_used[:] = int(acts or stops)
    f, most = len(tables.damping), max(k, m.nv) if k else 0
    handles, kept = [np.zeros(7, dtype=np.int64)] * 2, []
    if k:
        rates = [state.velocities, state.accelerations, np.zeros(m.nv)]
        kept = [
            native_function(m, "world_poses").bind([state.q], [state.poses, state.directions]),
            native_function(m, "world_rates").bind([state.q, state.v], rates),
        ]
        handles = [kernel.handle for kernel in kept]
    work = _Work(
        basis=np.zeros((padded(most), padded(m.nv))),
        rank=np.zeros(2, dtype=np.int64),
        source=np.zeros(k, dtype=np.int64),
        part=np.zeros((k, k)),
        along=np.zeros((2, padded(most))),
        rate=np.zeros(k),
        x=np.zeros(padded(m.nv)),
        body=np.zeros((m.nv, ROW)),
        raw=np.zeros((k, padded(m.nv))),
        goal=np.zeros(k),
        open=np.zeros(k, dtype=np.int64),
        unheld=np.zeros(m.nv),
        mean=np.zeros((2, m.nv)),
        acts=np.array([int(acts), int(stores), int(stops)]),
        axis_closed=np.ones(f, dtype=np.int64),
        axis_limit=tables.coulomb.copy(),
        axis_sticks=np.zeros(f, dtype=np.int64),
        axis=np.zeros((f, m.nv)),
        axis_start=np.zeros((f, 3)),
        axis_end=np.zeros((f, 2)),
        axis_place=np.zeros((2, f)),
    )
    return HeldRows(Workspace(tables), Workspace(state), Workspace(_Kernels(*handles)), Workspace(work)), kept


@inline
def _fill(held: HeldRows, q, v):
    """Rows and errors at a state; False for bad numbers or a surface without normal."""
    s = held.state
    for k in range(len(q)):
        s.q[k] = q[k]
    for d in range(len(v)):
        s.v[d] = v[d]
    return fill_rows(held.tables, s, held.kernels) < 0


@inline
def _place(held: HeldRows, q, poses):
    """Coordinates and poses (n_bodies, 4, 4) that are known already, where rows look for them."""
    s = held.state
    for k in range(len(q)):
        s.q[k] = q[k]
    for body in range(len(poses)):
        for i in range(4):
            store_from(s.poses[body], 4 * i, load_from(poses[body, i], 0))


@inline
def begin_rows(held: HeldRows, dof_body, q, v, poses, columns, h):
    """Rows, goals (1) and free axes at the beginning of a step; False for bad numbers."""
    s, w, t = held.state, held.work, held.tables
    _place(held, q, poses)
    for d in range(len(v)):
        s.v[d] = v[d]
        for i in range(6):
            s.directions[i, d] = columns[i, d]
        for i in range(3):
            s.directions[6 + i, d] = poses[dof_body[d], i, 3]
    if fill_rows_at_poses(t, s, held.kernels) >= 0:
        return False
    for r in range(len(w.goal)):
        if w.open[r] == 0:
            w.goal[r] = -(s.error[r] / h + 0.5 * h * s.gamma[r])  # (1)
            for d in range(len(v)):
                w.raw[r, d] = s.G[r, d]
    for j in range(len(w.axis) if w.acts[0] or w.acts[2] else 0):
        start, w.axis_place[0, j] = w.axis_start[j], s.free_coordinate[j]
        start[0], start[1], start[2] = s.free_rate[j], s.free_coordinate[j] - t.spring_rest[j], s.free_gamma[j]
        for d in range(len(v)):
            w.axis[j, d] = s.free[j, d]
    return True


@inline
def place_axes(held: HeldRows, q, v):
    """Coordinates of free axes at the end of a trial step, where there are stops."""
    w = held.work
    if w.acts[2] == 1 and _fill(held, q, v):
        for j in range(len(w.axis)):
            w.axis_place[1, j] = held.state.free_coordinate[j]


@inline
def set_axes_sticking(held: HeldRows):
    """Begin with what the rates say: axes that move slide, those at rest stick."""
    w = held.work
    for j in range(len(w.axis) if w.acts[0] else 0):
        r = w.axis_start[j, 0]
        w.axis_sticks[j] = 1 if r > YIELDING else (-1 if r < -YIELDING else 0)


@inline
def add_axes(held: HeldRows, H, load, h):
    """Add forces along free axes (3) to H and to the load (nv,) of the change of velocity."""
    w, t = held.work, held.tables
    for j in range(len(w.axis) if w.acts[0] else 0):
        if w.axis_closed[j] == 0:
            continue
        J, r, x, swing, c = w.axis[j], w.axis_start[j, 0], w.axis_start[j, 1], w.axis_start[j, 2], w.axis_limit[j]
        damping = t.damping[j] + (c / YIELDING if w.axis_sticks[j] == 0 else 0.0)
        inertia = h * damping + h * h * t.stiffness[j] + t.armature[j]
        force = damping * r + t.stiffness[j] * (x + h * r) + c * w.axis_sticks[j] + t.armature[j] * swing
        for d in range(len(load)):
            load[d] -= h * force * J[d]
            for e in range(d + 1):
                H[d, e] += inertia * J[d] * J[e]


@inline
def check_axes(held: HeldRows, v):
    """Rates and dry friction of the axes at the end of the step; True if one begins to slide, or to stick."""
    w, changes = held.work, False
    for j in range(len(w.axis) if w.acts[0] else 0):
        r, c, s, J = 0.0, w.axis_limit[j] * w.axis_closed[j], w.axis_sticks[j], w.axis[j]
        for d in range(len(v)):
            r += J[d] * v[d]
        w.axis_end[j, 0], w.axis_end[j, 1] = r, -c * (s if s != 0 else r / YIELDING)
        if c > 0.0:
            if s == 0 and abs(r) > YIELDING * (1.0 + 1e-9):
                w.axis_sticks[j], changes = 1 if r > 0.0 else -1, True
            elif s * r < 0.0:
                w.axis_sticks[j], changes = 0, True
    return changes


@inline
def axes_energy(held: HeldRows, q, v):
    """Energy of springs and drives along free axes (J)."""
    w, t, s, total = held.work, held.tables, held.state, 0.0
    if w.acts[1] == 1 and _fill(held, q, v):
        for j in range(len(w.axis)):
            if w.axis_closed[j] == 1:
                x, r = s.free_coordinate[j] - t.spring_rest[j], s.free_rate[j]
                total += 0.5 * (t.stiffness[j] * x * x + t.armature[j] * r * r)
    return total


@inline
def axes_friction_work(held: HeldRows, h):
    """Work of dry friction and dampers along free axes in the step (J)."""
    w, t, total = held.work, held.tables, 0.0
    for j in range(len(w.axis) if w.acts[0] else 0):
        if w.axis_closed[j] == 1:
            r = w.axis_end[j, 0]
            total += h * (w.axis_end[j, 1] - t.damping[j] * r) * 0.5 * (w.axis_start[j, 0] + r)
    return total


@inline
def rows_work(held: HeldRows, H, parent, root, v, v_next, contacts):
    """Work of the rows in the step (J): what all impulses but those of the free motion do, less that of contacts."""
    x, y, total = held.work.mean[0], held.work.mean[1], -contacts
    for d in range(len(v)):
        y[d] = v_next[d] - held.work.unheld[d]
    velocity_to_x(H, parent, root, y, x)
    for d in range(len(v)):
        held.work.unheld[d] = 0.5 * (v[d] + v_next[d])
    velocity_to_x(H, parent, root, held.work.unheld, y)
    for d in range(len(v)):
        total += x[d] * y[d]
    return total


@inline
def correct_rows(held: HeldRows, q, poses, h):
    """Correct the goals by the errors at q and its poses (2); return the largest error (m or rad), -1: bad numbers."""
    s, w = held.state, held.work
    _place(held, q, poses)
    if fill_errors_at_poses(held.tables, s) >= 0:
        return -1.0
    worst = 0.0
    for r in range(len(w.goal)):
        if w.open[r] == 0:
            w.goal[r] -= s.error[r] / h
            worst = max(worst, abs(s.error[r]))
    return worst


@inline
def set_basis(held: HeldRows, H, parent, root):
    """Make `basis` of the rows that hold, for new factors of H."""
    w, count, largest = held.work, 0, 0.0
    for r in range(len(w.open)):
        if w.open[r] == 0:
            x = w.basis[count]
            for d in range(len(x)):
                x[d] = w.raw[r, d]
            force_to_x(H, parent, root, x)
            largest = max(largest, dot(x, x, len(x)))
            w.source[count] = r
            count += 1
    n = 0
    for place in range(count):
        x = w.basis[place]
        left = take_out(w.basis, n, x, w.along)
        # What is left of a row that others hold already (surfaces may, loops are judged) is rounding: it holds nothing.
        if left > EXACT * EXACT * largest:
            for k in range(n):
                w.part[n, k] = w.along[0, k]
            w.part[n, n] = 1.0 / take_in(w.basis, n, x, left)
            w.source[n] = w.source[place]
            n += 1
    w.rank[0] = w.rank[1] = n


@inline
def hold_rows(held: HeldRows, H, parent, root, v_free):
    """v_free <- the velocity nearest to the unheld one that has the rates `goal`."""
    w, x = held.work, held.work.x
    for d in range(len(x)):
        x[d] = 0.0
    velocity_to_x(H, parent, root, w.unheld, x)
    for r in range(w.rank[0]):
        rate = w.goal[w.source[r]]
        for k in range(r):
            rate -= w.part[r, k] * w.rate[k]
        w.rate[r] = w.part[r, r] * rate
        add_multiple(x, w.rate[r] - dot(w.basis[r], x, len(x)), w.basis[r], len(x))
    x_to_velocity(H, parent, root, x)
    for d in range(len(v_free)):
        v_free[d] = x[d]
