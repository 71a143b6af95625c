"""What counts as a rank: the numbers that redundancy.py judges by, for those that cannot ask it."""

from __future__ import annotations

import numpy as np

from setsu.constraints.stacked import Floats

__all__ = ["EXACT", "WEAK", "rank_of"]

WEAK = 1e-4
"""Part of the largest singular value below which a combination of scaled rows may be left out, by redundancy.py."""
EXACT = 1e-9
"""The same below which rows depend on each other exactly, at a closed configuration."""


def rank_of(rows: Floats, tolerance: float = EXACT) -> int:
    """Return how many singular values of scaled rows (n, nv) exceed a part of the largest.

    >>> rank_of(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    2
    """
    if 0 in rows.shape:
        return 0
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.sum(s > tolerance * max(float(s[0]), np.finfo(np.float64).tiny)))
