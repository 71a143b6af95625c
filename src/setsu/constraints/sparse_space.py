"""Work space of the sparse factors of mass matrix and constraint rows (sparse_factor.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.loop_network import Network

__all__ = ["SparseFactor", "sparse_factor_space"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SparseFactor(NamedTuple):
    """The factors of one state; see sparse_inertia.py and sparse_factor.py for the symbols."""

    H: Floats  # mass matrix along branches, then its factors
    diagonal: Floats  # (nv,) of the mass matrix
    inverse: Floats  # (nv,) of D
    root: Floats  # (nv,) square roots of these
    body: Floats  # (n_bodies, 10) composite bodies
    local: Ints  # (nv,) place of a velocity in the support at hand
    Y: Floats  # (k, widest support)
    W: Floats  # blocks
    pivot: Floats  # (k,) reciprocals
    left: Floats  # (k,) what is left of the equations
    total: Floats  # (k,) multipliers
    force: Floats  # (nv,)


def sparse_factor_space(c: Network) -> SparseFactor:
    """Return zeroed work space for a network."""
    nv, k = len(c.velocity_body), len(c.rows)
    return SparseFactor(
        H=np.zeros(len(c.ancestor)),
        diagonal=np.zeros(nv),
        inverse=np.zeros(nv),
        root=np.zeros(nv),
        body=np.zeros((len(c.mass), 10)),
        local=np.zeros(nv, dtype=np.int64),
        Y=np.zeros((k, int(np.diff(c.support_start).max(initial=0)))),
        W=np.zeros(int(c.block_place[-1])),
        pivot=np.zeros(k),
        left=np.zeros(k),
        total=np.zeros(k),
        force=np.zeros(nv),
    )
