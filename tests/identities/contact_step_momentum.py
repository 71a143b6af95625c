"""Momentum of the trees of a step about their centres, for many states at once: what contact_step.py conserves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.mechanism import Mechanism

__all__ = ["TreeMomenta", "cross", "turning_of"]

Floats = NDArray[np.float64]


def turning_of(r: Any) -> slice:
    """Return the angular velocities of a root."""
    return slice(int(r["turning"]), int(r["turning"]) + 3)


class TreeMomenta:
    """Trees that hang on roots which turn freely; moves (n_bodies, nv): which velocities move a body."""

    def __init__(self, mechanism: Mechanism, tree: Any, roots: Any, moves: NDArray[np.bool_]) -> None:
        m = mechanism
        self.tree, self.moves = tree, moves
        self.carried = {int(r["body"]): self._bodies_of(r) for r in roots}
        free = [self.carried[int(r["body"])][0] for r in roots if r["free"]]
        self.alone = len(roots) == 1 and len(free) == 1 and len(free[0]) == m.n_bodies
        self.centroidal_matrix = native_function(m, "centroidal_matrix").fast
        self.center_of_mass = native_function(m, "center_of_mass").fast

    def _bodies_of(self, r: Any) -> tuple[Any, Floats, Floats]:
        """Bodies of a root's tree, their masses and moments (n, 10), and second moments (n, 3, 3)."""
        mine = np.flatnonzero(self.tree.reference == r["body"])
        b = self.tree.masses[mine]
        second = np.empty((len(mine), 3, 3))
        second[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]] = b[:, 4:10]
        second[:, [1, 2, 2], [0, 0, 1]] = b[:, [5, 6, 8]]
        return mine, b, second

    def momentum(
        self, r: Any, q: Floats, v: Floats, poses: Floats, twists: Floats | None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Centre c, momentum P, angular momentum L about c (or the joint) and inertia about it of a root's tree."""
        if twists is None:
            A, turning = self.centroidal_matrix(q), turning_of(r)
            momentum = (A @ v[..., None])[..., 0]
            R = poses[:, r["body"], :3, :3]
            inertia = A[:, 3:, turning] @ np.swapaxes(R, -1, -2)
            return self.center_of_mass(q), momentum[:, :3], momentum[:, 3:], inertia
        mine, b, second = self.carried[int(r["body"])]
        origin = poses[:, r["body"], :3, 3]
        R, arm = poses[:, mine, :3, :3], poses[:, mine][..., :3, 3] - origin[:, None]
        moment = (R @ b[:, 1:4, None])[..., 0]
        S = R @ second @ np.swapaxes(R, -1, -2)
        about = S + _outer(arm, moment) + _outer(moment, arm) + b[:, 0, None, None] * _outer(arm, arm)
        velocity, omega = twists[:, mine, :3], twists[:, mine, 3:]
        P = b[:, 0, None] * velocity + cross(omega, moment)
        own = np.trace(S, axis1=-2, axis2=-1)[..., None] * omega - (S @ omega[..., None])[..., 0]
        L = (cross(moment, velocity) + own + cross(arm, P)).sum(axis=1)
        P = P.sum(axis=1)
        c = (moment + b[:, 0, None] * arm).sum(axis=1) / r["mass"] if r["free"] else np.zeros_like(origin)
        total = about.sum(axis=1) - r["mass"] * _outer(c, c)
        inertia = np.trace(total, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - total
        return origin + c, P, L - cross(c, P), inertia

    def center(self, r: Any, poses: Floats) -> Floats:
        """Centre of mass of a root's tree (B, 3)."""
        mine, b, _ = self.carried[int(r["body"])]
        T = poses[:, mine]
        moment = (T[..., :3, :3] @ b[:, 1:4, None])[..., 0] + b[:, 0, None] * T[..., :3, 3]
        return moment.sum(axis=1) / r["mass"]

    def twists(self, placed: tuple[Floats, Floats], v: Floats) -> Floats | None:
        """Velocities of the bodies' origins and angular velocities (B, n, 6), world axes.

        None where one free tree is all there is, whose momentum is that of the whole mechanism.
        """
        if self.alone:
            return None
        poses, columns = placed
        rate = np.swapaxes(columns, 1, 2) * v[..., None]  # (B, nv, 6)
        at = poses[:, self.tree.dof_body][..., :3, 3]
        # About the world origin they add up along the tree.
        about = np.concatenate([rate[..., :3] + cross(at, rate[..., 3:]), rate[..., 3:]], axis=-1)
        total = np.einsum("nd,bdi->bni", self.moves.astype(np.float64), about)
        total[..., :3] += cross(total[..., 3:], poses[..., :3, 3])
        return total


def cross(a: Floats, b: Floats) -> Floats:
    """a x b along the last axis."""
    return np.cross(a, b)


def _outer(a: Floats, b: Floats) -> Floats:
    return a[..., :, None] * b[..., None, :]
