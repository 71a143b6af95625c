"""Base inertial parameters by numeric rank: which columns of the regressor are independent, and how others join them.

Columns are taken from the last body to the first, so that links keep their own parameters and those nearer to the world
receive what cannot be told apart; a column counts as dependent when less than 1e-9 of its length lies outside
the span of those kept before it (Gram-Schmidt, twice for accuracy), over seeded random states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import regressor
from setsu.identification.freedom import freedom_of
from setsu.mechanism import Mechanism

__all__ = ["MinimumParameters", "minimum_parameters"]

Floats = NDArray[np.float64]

_DEPENDENT = 1e-9


@dataclass(frozen=True)
class MinimumParameters:
    """Names, regrouping matrix (count, 10 n_bodies) and independent columns of the base parameters."""

    names: tuple[str, ...]
    matrix: Floats
    independent: NDArray[np.intp]


def minimum_parameters(m: Mechanism, exact: bool = False) -> MinimumParameters:
    """Return the base inertial parameters."""
    assert not exact
    freedom = freedom_of(m)
    count = 10 * m.n_bodies
    q, v, a = freedom.random_motion(np.random.default_rng(1), 3 * count // len(freedom.names) + 8)
    Y = freedom.reduce_rows(q, regressor(m, q, v, a)).reshape(-1, count)
    kept: list[int] = []
    basis = np.zeros((0, len(Y)))
    size = np.linalg.norm(Y, axis=0)
    for k in reversed(range(count)):
        y = Y[:, k]
        for _ in range(2):
            y = y - basis.T @ (basis @ y)
        if size[k] > 1e-12 * size.max() and np.linalg.norm(y) > _DEPENDENT * size[k]:
            kept.append(k)
            basis = np.vstack([basis, y / np.linalg.norm(y)])
    kept.sort()
    K = np.asarray(np.linalg.lstsq(Y[:, kept], Y, rcond=None)[0], dtype=np.float64)
    K[np.abs(K) < _DEPENDENT * np.abs(K).max(initial=1.0)] = 0.0
    kinds = ("m", "MSx", "MSy", "MSz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    names = tuple(f"{kinds[k % 10]}_{m.body_names[k // 10]}" for k in kept)
    return MinimumParameters(names, K, np.array(kept))
