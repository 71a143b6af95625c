"""The paper's way to all terms of constrained motion: nothing but repeated inverse dynamics.

INV(q, v, a, g, f) are the joint torques of a motion under contact forces f, by the Newton-Euler recursion with the
forces at the last link (6)-(9). Then, equation numbers of nishiguchi2014,

    b    = INV(q, v, 0, g, 0)                                                          (31)
    M_i  = INV(q, 0, e_i, 0, 0)                                                        columns of the mass matrix
    j_c  = INV(q, 0, 0, 0, -n)        torques of a unit normal force                   (32)
    j_t  = INV(q, 0, 0, 0, -t)        of a unit tangential force; here from its own call instead of the difference
                                      (33), (34), so that a hand at rest has directions too

The paper switches gravity off by its argument g; here the torques at rest are subtracted, which also removes springs.
Loop rows are found the same way: a unit wrench on body_b and its reaction on body_a. The terms dJ/dt v come from the
outward recursion (2)-(5) with zero joint accelerations, which is (29) without forming dJ/dt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import ConstraintSystem, Linearisation
from setsu.dynamics.equations import bare_inverse_dynamics, mass_matrix

__all__ = ["Terms", "terms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Terms:
    """Mass matrix (N, nv, nv), bias (N, nv), rows (N, n, nv), free axes (N, f, nv), contact points (N, c, 3, nv)."""

    mass_matrix: Floats
    bias: Floats
    jacobian: Floats
    free_jacobian: Floats
    contact_jacobian: Floats


def terms(system: ConstraintSystem, rows: Linearisation, q: Floats, v: Floats, external: Floats | None) -> Terms:
    """Return all terms at N states q (N, nq), v (N, nv), from inverse dynamics alone."""
    m = system.mechanism
    still = np.zeros(m.nv)
    at_rest = bare_inverse_dynamics(m, q, still, still)

    def directions(wrenches: Floats) -> Floats:
        """Torques (N, k, nv) that unit wrenches on the bodies (N, k, n_bodies, 6) exert on the joints; (32)."""
        loaded = bare_inverse_dynamics(m, q[:, None, :], still, still, wrenches)
        return at_rest[:, None, :] - loaded

    n_loops, n_contacts, count = len(system.loops.names), len(system.contacts), len(q)
    no_contact = np.zeros((count, 1, n_contacts, 3))

    def on_bodies(wrenches: Floats, loops: NDArray[np.int64]) -> Floats:
        """Wrenches (N, k, 6) at loop joints as wrenches on all bodies (N, k, n_bodies, 6)."""
        spread = np.zeros((count, len(loops), n_loops, 6))
        spread[:, np.arange(len(loops)), loops] = wrenches
        return _one_more_axis(system, rows, spread, no_contact)

    loop_rows = directions(on_bodies(rows.loop_wrench, system.loops.row_loop))
    free_rows = directions(on_bodies(rows.free_wrench, system.loops.free_loop))
    unit_forces = np.broadcast_to(
        np.eye(3 * n_contacts).reshape(3 * n_contacts, n_contacts, 3), (count, 3 * n_contacts, n_contacts, 3)
    )
    no_loop = np.zeros((count, 1, n_loops, 6))
    point_rows = directions(_one_more_axis(system, rows, no_loop, unit_forces)).reshape(count, n_contacts, 3, m.nv)
    normal_rows = np.sum(rows.normal[..., None] * point_rows, axis=-2)
    couplings = rows.jacobian[:, system.n_loop_rows : system.n_held]
    return Terms(
        mass_matrix=mass_matrix(m, q, method="unit_vector"),
        bias=bare_inverse_dynamics(m, q, v, still, external),
        jacobian=np.concatenate([loop_rows, couplings, normal_rows], axis=-2),
        free_jacobian=free_rows,
        contact_jacobian=point_rows,
    )


def _one_more_axis(system: ConstraintSystem, rows: Linearisation, loop_wrench: Floats, force: Floats) -> Floats:
    """Body wrenches of several load cases per state: (N, k, n_loops, 6) and (N, k, c, 3) to (N, k, n_bodies, 6)."""
    cases = [
        system.body_wrenches(
            rows, loop_wrench[:, min(k, loop_wrench.shape[1] - 1)], force[:, min(k, force.shape[1] - 1)]
        )
        for k in range(loop_wrench.shape[1] * force.shape[1])
    ]
    return np.stack(cases, axis=1) if cases else np.zeros((len(rows.error), 0, system.mechanism.n_bodies, 6))
