"""Contacts of a mechanism that constraint rows hold: matrices of size nv.

| symbol | meaning |
|---|---|
| J_b | Jacobian of a body, (6, nv), at its origin, world axes |
| X_b | J_b L⁻¹ D^-½ (factor.py): y_b = X_b x |

    column d of J_b = (l_d + a_d x (o_b - o_d), a_d)                          (1)  velocity d on the way to the base
    Λ = X Xᵀ                                                                  (2)
    X_b <- X_b - (X_b Gₓᵀ) (Gₓ Gₓᵀ)⁻¹ Gₓ,   Gₓ = G L⁻¹ D^-½                   (3)  rows of loops, couplings, surfaces

The problem is then one node of size nv (cone_problem.py). Cost O(nv³) per round.
"""

from __future__ import annotations

from setsu.contact.factor import force_to_x, x_to_velocity
from setsu.contact.free_motion import CHANGE, ROOT, StepState
from setsu.contact.scene import BEFORE, FREE, N_BODIES, TWIST, WRENCH, X_PART, Problem, Scene
from setsu.native.control_flow import inline

__all__ = ["apply_dense", "enter_dense", "set_dense_twists"]


@inline
def enter_dense(scene: Scene, problem: Problem, motion: StepState, rows, axes, k, root, v, v_free):
    """X, twists before and without impulses, and Λ_bb of the body at position k."""
    body, poses, columns, H = problem.bodies[k], motion.poses, motion.columns, motion.H
    start, stop = scene.bodies[body].path_start, scene.bodies[body].path_stop
    X, nv, path = problem.root[k], len(v), scene.path
    ox = oy = oz = 0.0
    if body < len(poses):
        ox, oy, oz = poses[body, 0, 3], poses[body, 1, 3], poses[body, 2, 3]
    for i in range(6):
        for d in range(nv):
            X[i, d] = 0.0
    if body >= len(poses):
        # It stands for a joint (joint_stops.py).
        axis = scene.bodies[body].axis
        if axis < 0:
            X[0, path[stop - 1]] = 1.0
        else:
            for d in range(nv):
                X[0, d] = axes[axis, d]
    for p in range(start, stop if body < len(poses) else start):
        d = path[p]
        origin = scene.dof_body[d]
        rx, ry, rz = ox - poses[origin, 0, 3], oy - poses[origin, 1, 3], oz - poses[origin, 2, 3]
        ax, ay, az = columns[3, d], columns[4, d], columns[5, d]
        X[0, d] = columns[0, d] + ay * rz - az * ry  # (1)
        X[1, d] = columns[1, d] + az * rx - ax * rz
        X[2, d] = columns[2, d] + ax * ry - ay * rx
        X[3, d], X[4, d], X[5, d] = ax, ay, az
    for i in range(6):
        before = free = 0.0
        for p in range(start, stop):
            d = path[p]
            before += X[i, d] * v[d]
            free += X[i, d] * v_free[d]
        problem.vectors[BEFORE, 6 * k + i], problem.vectors[FREE, 6 * k + i] = before, free
        force_to_x(H, scene.parent, root, X[i])
    for r in range(len(rows)):  # (3), rows made orthonormal beforehand
        for i in range(6):
            s = 0.0
            for d in range(nv):
                s += X[i, d] * rows[r, d]
            for d in range(nv):
                X[i, d] -= s * rows[r, d]
    for i in range(6):
        for j in range(6):
            s = 0.0
            for d in range(nv):
                s += X[i, d] * X[j, d]  # (2)
            problem.own[k, i, j] = s


@inline
def _to_x(problem: Problem, row):
    """X_PART = Xᵀ times a row of `vectors`."""
    z = problem.vectors[X_PART]
    for d in range(problem.root.shape[2]):
        z[d] = 0.0
    for k in range(problem.counts[N_BODIES]):
        X = problem.root[k]
        for i in range(6):
            w = problem.vectors[row, 6 * k + i]
            for d in range(problem.root.shape[2]):
                z[d] += X[i, d] * w


@inline
def _from_x(problem: Problem, row):
    """A row of `vectors` = X times X_PART."""
    z = problem.vectors[X_PART]
    for k in range(problem.counts[N_BODIES]):
        X = problem.root[k]
        for i in range(6):
            s = 0.0
            for d in range(problem.root.shape[2]):
                s += X[i, d] * z[d]
            problem.vectors[row, 6 * k + i] = s


@inline
def set_dense_twists(problem: Problem):
    """TWIST = FREE + Λ WRENCH."""
    _to_x(problem, WRENCH)
    _from_x(problem, TWIST)
    for i in range(6 * problem.counts[N_BODIES]):
        problem.vectors[TWIST, i] += problem.vectors[FREE, i]


@inline
def apply_dense(scene: Scene, problem: Problem, motion: StepState):
    """CHANGE = L⁻¹ D^-½ Xᵀ w: velocity (or displacement) from the wrench impulses."""
    _to_x(problem, WRENCH)
    x = motion.vectors[CHANGE]
    for d in range(len(x)):
        x[d] = problem.vectors[X_PART, d]
    x_to_velocity(motion.H, scene.parent, motion.vectors[ROOT], x)
