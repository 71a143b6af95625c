"""Contacts of a mechanism that constraint rows hold: orthonormal rows of size nv.

| symbol | meaning |
|---|---|
| J_b | Jacobian of a body, (6, nv), at its origin, world axes |
| G, Q | rows of loops, couplings, surfaces; orthonormal rows that span what contacts move beside these |
| X_b | (6, n): y_b = X_b Q x, x = D^½ L v (factor.py) |

    column d of J_b = (l_d + a_d x (o_b - o_d), a_d)                          (1)  velocity d on the way to the base
    J_b L⁻¹ D^-½ = (..) G L⁻¹ D^-½ + X_b Q                                    (2)  orthonormal_rows.py
    Λ = X Xᵀ                                                                  (3)
    v <- v + L⁻¹ D^-½ Qᵀ Xᵀ w                                                 (4)

The problem is then one node of size n (cone_problem.py), at most six velocities per body that touches something.
Cost O(n² nv), once per step and body, and O(n³) per round.
"""

from __future__ import annotations

from setsu.contact.factor import x_to_velocity
from setsu.contact.free_motion import CHANGE, ROOT, V_FREE, StepState, V
from setsu.contact.held_rows import HeldRows
from setsu.contact.orthonormal_rows import add_multiple, dot, take_in, take_out
from setsu.contact.scene import BEFORE, FREE, N_BODIES, TWIST, WRENCH, X_PART, X_SIZE, Problem, Scene
from setsu.native.control_flow import inline
from setsu.native.lanes import lane, load_from, spread, store_from

__all__ = ["apply_dense", "enter_dense", "set_dense_twists", "set_free_twists"]

# Parts of a row: what is left of one that others span already is rounding.
_NOTHING = 1e-13


@inline
def _set_jacobian(scene: Scene, problem: Problem, motion: StepState, held: HeldRows, k):
    """J of the body at position k along its path into held.work.body, a row per velocity (1)."""
    body, poses, columns, path, X = problem.bodies[k], motion.poses, motion.columns, scene.path, held.work.body
    b = scene.bodies[body]
    if body >= len(poses):
        # It stands for a joint (joint_stops.py).
        for p in range(b.path_start, b.path_stop):
            x = X[path[p]]
            for i in range(1, 6):
                x[i] = 0.0
            x[0] = held.work.axis[b.axis, path[p]] if b.axis >= 0 else (1.0 if p == b.path_stop - 1 else 0.0)
        return
    ox, oy, oz = poses[body, 0, 3], poses[body, 1, 3], poses[body, 2, 3]
    for p in range(b.path_start, b.path_stop):
        d = path[p]
        origin, x = scene.dof_body[d], X[d]
        rx, ry, rz = ox - poses[origin, 0, 3], oy - poses[origin, 1, 3], oz - poses[origin, 2, 3]
        ax, ay, az = columns[3, d], columns[4, d], columns[5, d]
        x[0] = columns[0, d] + ay * rz - az * ry
        x[1] = columns[1, d] + az * rx - ax * rz
        x[2] = columns[2, d] + ax * ry - ay * rx
        x[3], x[4], x[5] = ax, ay, az


@inline
def _set_twist(scene: Scene, problem: Problem, held: HeldRows, k, v, row):
    """A row of `vectors`: J v of the body at position k."""
    b = scene.bodies[problem.bodies[k]]
    y, rest = spread(0.0), spread(0.0)
    for p in range(b.path_start, b.path_stop):
        d = scene.path[p]
        y += load_from(held.work.body[d], 0) * spread(v[d])
        rest += load_from(held.work.body[d], 4) * spread(v[d])
    for i in range(6):
        problem.vectors[row, 6 * k + i] = lane(y, i) if i < 4 else lane(rest, i - 4)


@inline
def _to_coordinates(scene: Scene, motion: StepState, X, b):
    """J <- J L⁻¹ D^-½, all six rows in one walk from the last velocity of a path (factor.py)."""
    parent, H, root, i = scene.parent, motion.H, motion.vectors[ROOT], scene.path[b.path_stop - 1]
    while i >= 0:
        y, rest = load_from(X[i], 0), load_from(X[i], 4)
        j = parent[i]
        while j >= 0:
            f = spread(H[i, j])  # type: ignore[arg-type]
            store_from(X[j], 0, load_from(X[j], 0) - f * y)
            store_from(X[j], 4, load_from(X[j], 4) - f * rest)
            j = parent[j]
        f = spread(root[i])
        store_from(X[i], 0, f * y)
        store_from(X[i], 4, f * rest)
        i = parent[i]


@inline
def enter_dense(scene: Scene, problem: Problem, motion: StepState, held: HeldRows, k):
    """X, twists before and without impulses, and Λ_bb of the body at position k."""
    w, a, J, X, x = held.work, motion.vectors, held.work.body, problem.root[k], held.work.x
    rank, b = w.rank, scene.bodies[problem.bodies[k]]
    for d in range(len(J)):
        store_from(J[d], 0, spread(0.0))
        store_from(J[d], 4, spread(0.0))
    _set_jacobian(scene, problem, motion, held, k)
    _set_twist(scene, problem, held, k, a[V], BEFORE)
    _set_twist(scene, problem, held, k, a[V_FREE], FREE)
    _to_coordinates(scene, motion, J, b)
    for i in range(6):
        for d in range(len(x)):
            x[d] = 0.0
        for d in range(len(J)):
            x[d] = J[d, i]
        size = dot(x, x, len(x))
        left = take_out(w.basis, rank[1], x, w.along)  # (2)
        for j in range(X.shape[1]):
            X[i, j] = 0.0  # bodies that come later add columns
        for j in range(rank[0], rank[1]):
            X[i, j - rank[0]] = w.along[0, j]
        if left > _NOTHING * _NOTHING * size and rank[1] < len(scene.parent):
            X[i, rank[1] - rank[0]] = take_in(w.basis, rank[1], x, left)
            rank[1] += 1
    problem.counts[X_SIZE] = rank[1] - rank[0]
    for i in range(6):
        for j in range(i + 1):
            problem.own[k, i, j] = problem.own[k, j, i] = dot(X[i], X[j], problem.counts[X_SIZE])  # (3)


@inline
def set_free_twists(scene: Scene, problem: Problem, motion: StepState, held: HeldRows):
    """Twists without impulses, of another free velocity."""
    for k in range(problem.counts[N_BODIES]):
        _set_jacobian(scene, problem, motion, held, k)
        _set_twist(scene, problem, held, k, motion.vectors[V_FREE], FREE)


@inline
def _to_x(problem: Problem, row):
    """X_PART = Xᵀ times a row of `vectors`."""
    z, n = problem.vectors[X_PART], problem.counts[X_SIZE]
    for d in range(n):
        z[d] = 0.0
    for k in range(problem.counts[N_BODIES]):
        for i in range(6):
            w = problem.vectors[row, 6 * k + i]
            for d in range(n):
                z[d] += problem.root[k, i, d] * w


@inline
def set_dense_twists(problem: Problem):
    """TWIST = FREE + Λ WRENCH."""
    _to_x(problem, WRENCH)
    z, n = problem.vectors[X_PART], problem.counts[X_SIZE]
    for k in range(problem.counts[N_BODIES]):
        for i in range(6):
            rate = 0.0
            for d in range(n):
                rate += problem.root[k, i, d] * z[d]
            problem.vectors[TWIST, 6 * k + i] = problem.vectors[FREE, 6 * k + i] + rate


@inline
def apply_dense(scene: Scene, problem: Problem, motion: StepState, held: HeldRows):
    """CHANGE = what the wrench impulses do to the velocity (or displacement) (4)."""
    _to_x(problem, WRENCH)
    w, x, change = held.work, held.work.x, motion.vectors[CHANGE]
    for d in range(len(x)):
        x[d] = 0.0
    for j in range(problem.counts[X_SIZE]):
        add_multiple(x, problem.vectors[X_PART, j], w.basis[w.rank[0] + j], len(x))
    x_to_velocity(motion.H, scene.parent, motion.vectors[ROOT], x)
    for d in range(len(change)):
        change[d] = x[d]
