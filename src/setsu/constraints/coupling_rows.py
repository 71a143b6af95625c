"""Rows of couplings: linear relations Σ factor q + offset = 0 between coordinates of joints with one each."""

from __future__ import annotations

import numpy as np

from setsu.constraints.stacked import Floats
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["CouplingRows"]


class CouplingRows:
    """The couplings of a mechanism. jacobian (n, nv): their factors; offset (n,).

    coordinates, velocities: places in q and v of the joints that a coupling may name.

    Raises:
        InputError: couplings that contradict each other.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        m = mechanism
        self.names = tuple(f'coupling "{coupling.name}"' for coupling in m.couplings)
        self.jacobian = np.zeros((len(m.couplings), m.nv))
        for k, coupling in enumerate(m.couplings):
            for name, factor in coupling.factors:
                self.jacobian[k, m.v_slices[m.joint_index(name)].start] += factor
        self.offset = np.array([coupling.offset for coupling in m.couplings], dtype=np.float64)
        single = [k for k, body in enumerate(m.moving) if body.joint.nv == 1]
        self.coordinates = [m.q_slices[k].start for k in single]
        self.velocities = [m.v_slices[k].start for k in single]
        _refuse_contradiction(m, self.jacobian, self.offset)

    def error(self, q: Floats) -> Floats:
        """Return what each coupling should keep at zero, (..., n), for coordinates (..., nq)."""
        return q[..., self.coordinates] @ self.jacobian[:, self.velocities].T + self.offset


def _refuse_contradiction(m: Mechanism, rows: Floats, offset: Floats) -> None:
    """Couplings contradict each other when a combination of them leaves 0 = a number other than 0."""
    if not len(rows):
        return
    length = np.linalg.norm(rows, axis=1)
    U, s, _ = np.linalg.svd(rows / length[:, None])
    rank = int(np.sum(s > len(rows) * 1e-12))
    for combination in U[:, rank:].T:
        left = float(combination @ (offset / length))
        if abs(left) > 1e-9 * max(1.0, float(np.abs(offset / length).max())):
            # As a user would write it: the last coupling as it is, the others times a factor.
            taken = [k for k in range(len(rows)) if abs(combination[k]) > 1e-9]
            share = combination / length * (length[taken[-1]] / combination[taken[-1]])
            left = abs(float(share @ offset))
            names = [f'"{m.couplings[k].name}"' for k in taken]
            sum_of = " + ".join(f'{share[k]:.6g} x "{m.couplings[k].name}"' for k in taken)
            raise InputError(
                f"couplings {' and '.join(names)} of {m.name} contradict each other: {sum_of} leaves 0 = {left:.6g}; "
                "expected relations that some configuration satisfies"
            )
