"""Constraint rows seen through the mass matrix: multipliers, accelerations and corrections without squaring conditions.

| symbol | meaning |
|---|---|
| M = L Lᵀ | mass matrix and its Cholesky factor |
| G | active constraint rows, (k, nv) |
| B = L⁻¹ Gᵀ = U S Vᵀ D | rows in coordinates where the mass matrix is 1; D their lengths |
| y = L⁻¹ f | generalised force f in these coordinates |

    M a = f + Gᵀ λ,  G a = -γ                                                (1)
    D λ = -V S⁻² Vᵀ D⁻¹ γ - V S⁻¹ Uᵀ y                                       (2)  least norm when rows are redundant
    Lᵀ a = y - U Uᵀ y - U S⁻¹ Vᵀ D⁻¹ γ                                       (3)
    nearest x with G x = e:  Lᵀ x = U S⁻¹ Vᵀ D⁻¹ e                           (4)  nearest in the metric of M

Rows are scaled to length one in these coordinates, so that neither units nor masses decide their rank, which is that of
constraints/ranks.py: rows of contacts may hold what loops hold; those of loops are independent (redundancy.py).
Where parts without mass make M singular, α GᵀG is added to M and -α Gᵀγ to f, which changes neither a nor λ of (1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.ranks import EXACT

__all__ = ["MassMetric"]

Floats = NDArray[np.float64]


class MassMetric:
    """The factors of a mass matrix (nv, nv) and of constraint rows (k, nv)."""

    def __init__(self, M: Floats, G: Floats) -> None:
        self._added = 0.0
        self.G = G
        try:
            self._inverse = np.linalg.inv(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:
            self._added = float(np.trace(M)) / max(float(np.sum(G * G)), 1e-300)
            self._inverse = np.linalg.inv(np.linalg.cholesky(M + self._added * (G.T @ G)))
        if len(G):
            B = self._inverse @ G.T
            size = np.linalg.norm(B, axis=0)
            size = np.where(size > 0.0, size, 1.0)
            U, s, Vt = np.linalg.svd(B / size, full_matrices=False)
            self.rank = int(np.sum(s > EXACT * s[0]))
            # Vᵀ D⁻¹: what turns rates of rows into those of the directions U.
            self._U, self._s, self._Vt = U[:, : self.rank], s[: self.rank], Vt[: self.rank] / size
        else:
            self.rank = 0
            self._U, self._s, self._Vt = np.zeros((len(M), 0)), np.zeros(0), np.zeros((0, 0))

    def force(self, f: Floats, gamma: Floats) -> Floats:
        """Return y of a generalised force f (nv,) or of columns (nv, n)."""
        if self._added:
            f = f - self._added * (self.G.T @ gamma)
        return self._inverse @ f

    def multipliers(self, y: Floats, gamma: Floats) -> Floats:
        """Return λ (k,) or columns (k, n) of forces y (2)."""
        along = self._U.T @ y
        per_row = (self._Vt @ gamma) / self._s
        return -self._Vt.T @ ((along + (per_row if y.ndim == 1 else per_row[:, None])).T / self._s).T

    def acceleration(self, y: Floats, gamma: Floats) -> Floats:
        """Return a (nv,) (3)."""
        return self._inverse.T @ (y - self._U @ (self._U.T @ y + (self._Vt @ gamma) / self._s))

    def nearest(self, e: Floats) -> Floats:
        """Return the x (nv,) nearest to zero with G x = e (4)."""
        return self._inverse.T @ (self._U @ ((self._Vt @ e) / self._s))

    def impulse(self, e: Floats) -> Floats:
        """Return p (k,) with M x = Gᵀ p for x = nearest(e)."""
        return self._Vt.T @ ((self._Vt @ e) / (self._s * self._s))
