"""Spatial motions of all bodies and their derivatives, for whole batches: motion_columns.py as arrays.

Directions, the second last axis, are 2 nv: along the coordinates first, then along the velocities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.dynamics.parameters import inertial_parameters
from setsu.mechanism import Mechanism

__all__ = [
    "MotionDerivatives",
    "cross",
    "cross_force",
    "cross_motion",
    "fixed_wrench_changes",
    "force_derivative",
    "move_masks",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Up to so many numbers fewer calls count, beyond it fewer copies.
_FEW = 1000
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: Floats, b: Floats) -> Floats:
    """Return a x b over the last axis (3)."""
    if max(a.size, b.size) < _FEW:
        return a.take(_NEXT, -1) * b.take(_AFTER, -1) - a.take(_AFTER, -1) * b.take(_NEXT, -1)
    ax, ay, az, bx, by, bz = (x[..., k] for x in (a, b) for k in range(3))
    first = ay * bz
    result = np.empty((*first.shape, 3))
    np.subtract(first, az * by, out=result[..., 0])
    np.subtract(az * bx, ax * bz, out=result[..., 1])
    np.subtract(ax * by, ay * bx, out=result[..., 2])
    return result


def cross_motion(a: Floats, b: Floats) -> Floats:
    """Return the motion a x b over the last axis (6)."""
    w = a[..., 3:]
    return np.concatenate([cross(w, b[..., :3]) + cross(a[..., :3], b[..., 3:]), cross(w, b[..., 3:])], axis=-1)


def cross_force(a: Floats, f: Floats) -> Floats:
    """Return a x* f of a motion a and a wrench f over the last axis (6)."""
    w = a[..., 3:]
    return np.concatenate([cross(w, f[..., :3]), cross(w, f[..., 3:]) + cross(a[..., :3], f[..., :3])], axis=-1)


def move_masks(m: Mechanism) -> tuple[Floats, Floats]:
    """Return ones where a velocity moves a body (n_bodies + 1, nv), the world last; and where the columns of velocity d
    turn with velocity e, (nv, nv): e is above d or in its joint."""
    known = m.__dict__.get("_move_masks")
    if known is None:
        t = m.tables
        above = np.zeros((m.nv, m.nv))
        for d in range(m.nv):
            parent = t.dof_parent[d]
            if parent >= 0:
                above[d] = above[parent]
            above[d, t.dof_link == t.dof_link[d]] = 1.0
        moves = np.zeros((m.n_bodies + 1, m.nv))
        for body, where in enumerate(m.v_slices):
            moves[body] = above[where.stop - 1]
        known = m.__dict__["_move_masks"] = moves, above
    return known


class MotionDerivatives:
    """Motions at N states q (N, nq), v, a (N, nv), about the world's origin; the world is the last body.

    S, X, Y, Z (N, nv, 6), V, A (N, n_bodies + 1, 6): see kernels/motion_columns.py.
    """

    def __init__(self, mechanism: Mechanism, q: Floats, v: Floats, a: Floats) -> None:
        self.mechanism, self.q = mechanism, q
        self.moves, self.above = move_masks(mechanism)
        S, X, Y, Z, V, A = native_function(mechanism, "motion_columns").fast(q, v, a)
        self.S, self.X, self.Y, self.Z = (np.ascontiguousarray(np.swapaxes(block, -1, -2)) for block in (S, X, Y, Z))
        fixed = np.zeros((len(q), 1, 6))
        self.V = np.concatenate([V, fixed], axis=1)
        fixed = fixed.copy()
        fixed[..., :3] = -np.array(mechanism.gravity)
        self.A = np.concatenate([A, fixed], axis=1)

    def displacement(self, bodies: Ints) -> Floats:
        """Return how directions displace bodies (k,): (N, k, 2 nv, 6), zero along velocities."""
        moved = self.S[:, None] * self.moves[bodies][None, :, :, None]
        return np.concatenate([moved, np.zeros(moved.shape)], axis=-2)

    def velocity(self, bodies: Ints) -> Floats:
        """Return ∂V of bodies (k,), (N, k, 2 nv, 6), (1) and (2)."""
        mask = self.moves[bodies][None, :, :, None]
        by_q = cross_motion(self.S[:, None], self.V[:, bodies, None]) + self.X[:, None]
        return np.concatenate([by_q * mask, self.S[:, None] * mask], axis=-2)

    def acceleration(self, bodies: Ints) -> Floats:
        """Return ∂A of bodies (k,), (N, k, 2 nv, 6), (1) and (2)."""
        mask = self.moves[bodies][None, :, :, None]
        V, A = self.V[:, bodies, None], self.A[:, bodies, None]
        S, X = self.S[:, None], self.X[:, None]
        by_q = cross_motion(S, A) + cross_motion(X, V) + self.Y[:, None]
        by_v = cross_motion(S, V) + self.Z[:, None]
        return np.concatenate([by_q * mask, by_v * mask], axis=-2)

    def momentum(self, poses: Floats) -> tuple[Floats, Floats, Floats]:
        """Return derivatives (N, nv, 6) of the momentum of all bodies by coordinates and velocities, and itself (N, 6).

        Linear first, then angular about the world's origin; poses (N, n_bodies, 4, 4).
        """
        bodies = np.arange(self.mechanism.n_bodies)
        inertia = _inertias(self.mechanism, poses)
        mask = self.moves[bodies][None, :, :, None]
        momentum = (inertia @ self.V[:, bodies, :, None])[..., 0]
        S, X = self.S[:, None], self.X[:, None]
        by_q = cross_force(S, momentum[:, :, None]) + _times(inertia, X)
        return (by_q * mask).sum(axis=1), (_times(inertia, S) * mask).sum(axis=1), momentum.sum(axis=1)

    def inertial_forces(self, poses: Floats) -> tuple[Floats, Floats]:
        """Return derivatives of the force each body's motion needs (its momentum's rate) by coordinates and
        velocities (N, n_bodies, 2 nv, 6) and by accelerations (N, n_bodies, nv, 6); poses (N, n_bodies, 4, 4)."""
        bodies = np.arange(self.mechanism.n_bodies)
        inertia = _inertias(self.mechanism, poses)
        mask = self.moves[bodies][None, :, :, None]
        V, A = self.V[:, bodies], self.A[:, bodies]
        momentum = (inertia @ V[..., None])[..., 0]
        force = (inertia @ A[..., None])[..., 0] + cross_force(V, momentum)
        S, X, V, P = self.S[:, None], self.X[:, None], V[:, :, None], momentum[:, :, None]

        def answer(dV: Floats, dA: Floats) -> Floats:
            return _times(inertia, dA) + cross_force(dV, P) + cross_force(V, _times(inertia, dV))

        # What the body sees of the change, and the turning of all of it with the body.
        by_q = answer(X, self.Y[:, None] + cross_motion(X, V)) + cross_force(S, force[:, :, None])
        by_v = answer(S, self.Z[:, None] + cross_motion(S, V))
        return np.concatenate([by_q * mask, by_v * mask], axis=-2), _times(inertia, S) * mask


def _times(inertia: Floats, columns: Floats) -> Floats:
    """inertia (N, b, 6, 6) times motions (N, b or 1, k, 6)."""
    return np.matmul(columns, np.swapaxes(inertia, -1, -2))


def _inertias(m: Mechanism, poses: Floats) -> Floats:
    """Spatial inertias of all bodies about the world's origin, (N, n_bodies, 6, 6)."""
    p = inertial_parameters(m).reshape(-1, 10)
    mass, s = p[:, 0], p[:, 1:4]
    J = p[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    R, x = poses[..., :3, :3], poses[..., :3, 3]
    h = (R @ s[..., None])[..., 0]
    X, H = _skew(x), _skew(h)
    about = R @ J @ np.swapaxes(R, -1, -2) - X @ H - H @ X - mass[:, None, None] * (X @ X)
    first = H + mass[:, None, None] * X
    inertia = np.zeros((*x.shape[:-1], 6, 6))
    inertia[..., :3, :3] = mass[:, None, None] * np.eye(3)
    inertia[..., :3, 3:], inertia[..., 3:, :3] = -first, first
    inertia[..., 3:, 3:] = about
    return inertia


def _skew(a: Floats) -> Floats:
    result = np.zeros((*a.shape, 3))
    result[..., 0, 1], result[..., 0, 2], result[..., 1, 2] = -a[..., 2], a[..., 1], -a[..., 0]
    return result - np.swapaxes(result, -1, -2)


def force_derivative(motion: MotionDerivatives, on_bodies: Floats, moved: list[tuple[Floats, Floats]]) -> Floats:
    """Return derivatives (N, nv, 2 nv) of the joint forces Σ Jᵀ W of wrenches that act on bodies.

    on_bodies: W about the world's origin (N, n_bodies, 6). moved: per group of wrenches their changes (N, k, 2 nv, 6)
    about the world's origin, and a matrix (k, nv) with the part of each that a velocity feels: ±1 or 0.
    """
    S, nv = motion.S, motion.mechanism.nv
    felt = np.tensordot(motion.moves[:-1].T, on_bodies, axes=(1, 1)).swapaxes(0, 1)
    turned = np.matmul(cross_force(S, felt), np.swapaxes(S, -1, -2)) * motion.above
    result = np.zeros((len(S), nv, 2 * nv))
    result[..., :nv] = turned
    for change, part in moved:
        result += np.einsum("ndx,kd,nkex->nde", S, part, change, optimize=True)
    return result


def fixed_wrench_changes(motion: MotionDerivatives, external: Floats, origins: Floats) -> Floats:
    """Return how wrenches (N, n_bodies, 6) at body origins (N, n_bodies, 3) that do not turn change about the world's
    origin, (N, n_bodies, 2 nv, 6): their points move."""
    D = motion.displacement(np.arange(motion.mechanism.n_bodies))
    dp = D[..., :3] + cross(D[..., 3:], origins[:, :, None])
    turning = cross(dp, external[:, :, None, :3])
    return np.concatenate([np.zeros(turning.shape), turning], axis=-1)
