"""How fast damping decays, which bounds the step of explicit methods; and what says that a control loop is unstable.

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

__all__ = ["fastest_decay", "unstable_loop"]

Floats = NDArray[np.float64]

# Growth over so many records that no drive of a stable loop shows at the end of a run that failed.
_RECORDS, _GROWTH = 20, 10.0


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


def unstable_loop(q: Floats, v: Floats, law: str) -> str:
    """Say, for the message of a run that failed under a law, how its motion grew over the last records; else nothing.

    q, v: (T, nq), (T, nv) of all records.
    """
    if len(v) < 3:
        return ""
    last = min(_RECORDS, len(v) - 1)
    speed = np.abs(v[-1 - last :]).max(axis=1)
    if not speed[-1] > _GROWTH * max(float(np.median(speed[: last // 2 + 1])), 1e-9):
        return ""
    return (
        f"; the loop closed by {law} is unstable: |v| grows from {speed[0]:.3g} to {speed[-1]:.3g} and |q| from "
        f"{np.abs(q[-1 - last]).max():.3g} to {np.abs(q[-1]).max():.3g} within {last} records; try lower gains, more "
        "damping, a shorter period or less delay"
    )
