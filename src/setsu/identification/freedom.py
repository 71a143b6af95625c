"""Which velocities of a mechanism are free, and torques reduced to them: all of a tree's, fewer with loops.

J (nv, f) = ∂v/∂v_free follows from the constraints G v = 0, G = [G_d G_i] split into dependent and free velocities:

    v_d = -G_d⁺ G_i v_i,    Jᵀ tau: torques as the free velocities feel them                   (1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import close_loops, independent_coordinates
from setsu.constraints.states import coordinate_names
from setsu.constraints.system import constraint_system
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points

__all__ = ["Freedom", "freedom_of"]

Floats = NDArray[np.float64]

_MOST_CLOSINGS = 40


@dataclass(frozen=True)
class Freedom:
    """The free velocities of a mechanism: their names and positions; `closed` when loops or couplings bind others."""

    mechanism: Mechanism
    names: tuple[str, ...]
    free: NDArray[np.intp]
    closed: bool

    def jacobian(self, q: Floats) -> Floats:
        """Return J (T, nv, f) by (1) for coordinates (T, nq)."""
        m, f = self.mechanism, len(self.free)
        G, _ = constraint_system(m).jacobian_and_error(q)
        bound = np.setdiff1d(np.arange(m.nv), self.free)
        J = np.zeros((*q.shape[:-1], m.nv, f))
        J[..., self.free, np.arange(f)] = 1.0
        J[..., bound, :] = -np.linalg.pinv(G[..., bound], rcond=1e-10) @ G[..., self.free]
        return J

    def reduce_rows(self, q: Floats, Y: Floats) -> Floats:
        """Return Jᵀ Y (T, f, columns) for rows Y (T, nv, columns)."""
        return np.swapaxes(self.jacobian(q), -1, -2) @ Y if self.closed else Y

    def reduce_torque(self, q: Floats, tau: Floats) -> Floats:
        """Return Jᵀ tau (T, f) for torques (T, nv)."""
        return self.reduce_rows(q, tau[..., None])[..., 0]

    def closed_near(self, q: Floats | None) -> Floats | None:
        """Return the closed configuration next to a measured one; None for trees and when nothing is given."""
        return close_loops(self.mechanism, q) if self.closed and q is not None else None

    def random_motion(self, rng: np.random.Generator, count: int, reference: Floats) -> tuple[Floats, Floats, Floats]:
        """Draw states q (count, nq), v, a (count, nv) that satisfy loops, assembled as in the reference (nq,)."""
        m = self.mechanism
        v, a = rng.standard_normal((2, count, m.nv))
        if not self.closed:
            return np.array([m.random_configuration(rng) for _ in range(count)]), v, a
        # A walk along one branch gives as many different points as one likes, but each costs a closing.
        q = branch_points(m, reference, min(count, _MOST_CLOSINGS), 0)
        q = q[np.arange(count) % len(q)]
        J = self.jacobian(q)
        v = (J @ v[:, self.free, None])[..., 0]
        rows = constraint_system(m).evaluate(q, v)
        # Accelerations: G a + velocity term = 0; the shortest solution, plus any motion along the free velocities.
        shortest = -np.linalg.pinv(rows.jacobian, rcond=1e-10) @ rows.velocity_term[..., None]
        return q, v, (shortest + J @ a[:, self.free, None])[..., 0]


def freedom_of(mechanism: Mechanism) -> Freedom:
    """Return the free velocities of a tree (all) or of a mechanism with loops or couplings."""
    names = coordinate_names(mechanism)
    if not (mechanism.loops or mechanism.couplings):
        return Freedom(mechanism, tuple(names), np.arange(mechanism.nv), False)
    free = independent_coordinates(mechanism)
    if not free:
        raise InputError(f"identify: {mechanism.name} cannot move: its loops and couplings hold every joint")
    return Freedom(mechanism, free, np.array([names.index(name) for name in free]), True)
