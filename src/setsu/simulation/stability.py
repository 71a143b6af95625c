"""How fast damping decays, which bounds the step of explicit methods; what says that a control loop is unstable, and
that energy came or went without a cause.

| symbol | meaning |
|---|---|
| M, D | mass matrix; damping of the joints, and of loop joints through the motion of their axes |
| N | basis of the velocities that loops and couplings allow |

    rates = eigenvalues of (Nᵀ M N)⁻¹ Nᵀ D N                                  (1)  yamamoto2022, of what can move

An explicit method with step h diverges when the largest rate times h exceeds its limit on the real axis.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.ranks import rank_of
from setsu.constraints.redundancy import redundancy
from setsu.constraints.system import constraint_system
from setsu.dynamics import kinetic_energy, mass_matrix
from setsu.errors import ModelWarning
from setsu.mechanism import Mechanism

__all__ = ["fastest_decay", "unstable_loop", "warn_of_lost_energy"]

Floats = NDArray[np.float64]

# Growth over so many records that no drive of a stable loop shows at the end of a run that failed.
_RECORDS, _GROWTH = 20, 10.0
# Energy that no entry of the ledger explains, between two records: so many times the median of that between the records
# before, such a part of the kinetic energy (friction that turns round within a step leaves some thousandths of it), and
# of all that was exchanged until then.
_SUDDEN, _BEFORE = 1e3, 100
_OF_MOTION, _OF_EXCHANGE, _ROUNDING = 1e-2, 1e-6, 1e-13


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


def warn_of_lost_energy(
    m: Mechanism, time: Floats, q: Floats, v: Floats, energy: Floats, entries: Floats, rest: Floats
) -> None:
    """ModelWarning where energy comes or goes at once and no cause is known, as where a step met a singular position.

    time (T,) s, q (T, nq), v (T, nv); energy (T,), entries (T, n): what the ledger explains of it, rest (T,):
    what it does not, J.
    """
    change = np.abs(np.diff(rest))
    if len(change) < 4:
        return
    exchanged = np.abs(entries).max(axis=1, initial=0.0)[4:]
    rounding = _ROUNDING * float(np.abs(energy).max())
    # A few of those before first: the median of many takes its time.
    near = np.maximum(np.maximum(change[:-3], change[1:-2]), change[2:-1])
    for k in 3 + np.flatnonzero(change[3:] > np.maximum(_OF_EXCHANGE * exchanged + rounding, 30.0 * near)):
        if not change[k] > _SUDDEN * float(np.median(change[max(0, k - _BEFORE) : k])):
            continue
        kinetic = float(np.max(kinetic_energy(m, q[k : k + 2], v[k : k + 2])))
        if change[k] > _OF_MOTION * kinetic:
            warnings.warn(
                f"simulate: between t = {time[k]:.6g} and {time[k + 1]:.6g} s the energy changes by "
                f"{rest[k + 1] - rest[k]:.3g} J that nothing explains (kinetic energy {kinetic:.3g} J): the motion "
                "from there on is not to be trusted; try a shorter step",
                ModelWarning,
                stacklevel=2,
            )
            return
