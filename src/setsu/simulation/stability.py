"""How fast damping decays, which bounds the step of explicit methods.

| symbol | meaning |
|---|---|
| M, D | mass matrix; damping of the joints, and of loop joints through the motion of their axes |
| N | basis of the velocities that loops and couplings allow |

    rates = eigenvalues of (Nᵀ M N)⁻¹ Nᵀ D N                                  (1)  yamamoto2022, of what can move

An explicit method with step h diverges when the largest rate times h exceeds its limit on the real axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.ranks import rank_of
from setsu.constraints.redundancy import redundancy
from setsu.constraints.system import constraint_system
from setsu.dynamics import mass_matrix
from setsu.mechanism import Mechanism

__all__ = ["fastest_decay"]

Floats = NDArray[np.float64]


def fastest_decay(m: Mechanism, q: Floats) -> float:
    """Return the largest rate (1/s) at which damping slows a motion that the loops allow; 0 without damping."""
    if not any(any(part.joint.damping) for part in (*m.moving, *m.loops)):  # type: ignore[arg-type]
        return 0.0
    M, D = mass_matrix(m, q), np.diag(m.damping)
    N = np.eye(m.nv)
    if m.loops or m.couplings:
        system = constraint_system(m)
        rows = system.linearise(q, np.zeros(m.nv))
        G, F = rows.jacobian[redundancy(system).kept], rows.free_jacobian
        M = M + (F.T * system.loops.armature) @ F
        D = D + (F.T * system.loops.damping) @ F
        N = np.linalg.svd(G)[2][rank_of(G) :].T
    if N.shape[1] == 0 or not D.any():
        return 0.0
    try:
        return float(np.abs(np.linalg.eigvals(np.linalg.solve(N.T @ M @ N, N.T @ D @ N))).max())  # (1)
    except np.linalg.LinAlgError:
        return 0.0  # parts without mass that move alone: no rate says anything about them
