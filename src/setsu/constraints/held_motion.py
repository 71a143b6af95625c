"""Equations of motion under rows that always hold: rank-revealing, so redundant and singular rows do no harm.

    M a = f + Gᵀ λ,  G a + γ = 0                                                                       (1)
    M = L Lᵀ,  z = Lᵀ a,  Y = L⁻¹ Gᵀ S⁻¹ = U s Vᵀ                                                      (2)
    z = (1 - U Uᵀ) L⁻¹ f - U s⁻¹ Vᵀ S⁻¹ γ                                                              (3)
    λ = S⁻¹ V s⁻¹ Uᵀ (z - L⁻¹ f)                                                                       (4)

    least x in the metric of M with G x = e:  Lᵀ x = U s⁻¹ Vᵀ S⁻¹ e                                   (5)

S (n, n) scales each row by what it could be if nothing cancelled, sqrt(Σ_k size_k² / M_kk): no unit matters, and rows
that rounding alone makes non-zero stay small; where that is not known, by the length of its column of L⁻¹ Gᵀ. Singular
values below `tolerance` times the largest count as zero: their
rows ask nothing new, (4) then is the multiplier of least norm |S λ|. Going by Y instead of G M⁻¹ Gᵀ = S Yᵀ Y S keeps
the digits that squaring would lose.

A massless body inside a loop makes M singular though the motion is determined. Then M + ρ G_Sᵀ G_S and f - ρ G_Sᵀ γ_S,
G_S = S⁻¹G, take the places of M and f: since G a + γ = 0 that is the same motion and the same λ               (6)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import Floats, solve, times, transposed_times
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics import mass_matrix
from setsu.dynamics.massless import massless_motion, massless_velocities
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["HeldMotion", "hold", "refuse_unheld", "singular_values_kept"]

_EPSILON = float(np.finfo(np.float64).eps)

# Part of a direction's motion that rows leave, below which they leave none.
_RIGID = 1e-7
# A pivot of M this small against its diagonal means that a joint moves (almost) no mass of its own.
_SMALLEST_PIVOT = 1e-11


@dataclass(frozen=True)
class HeldMotion:
    """The factored rows at a batch of states; see the module for the symbols."""

    L: Floats  # (..., nv, nv)
    U: Floats  # (..., nv, r) columns of dropped singular values are zero
    s_inverse: Floats  # (..., r) zero where dropped
    Vt: Floats  # (..., r, n)
    scale: Floats  # (..., n) diagonal of S
    gamma: Floats  # (..., n)
    shift: Floats  # (..., nv) what (6) adds to every force

    @property
    def rank(self) -> int:
        """Number of rows, of one state, that are independent."""
        return int(np.count_nonzero(self.s_inverse))

    def solve_L(self, force: Floats) -> Floats:
        """Return L⁻¹ f for forces (..., nv) or (..., nv, k) as columns of the same leading axes."""
        if force.ndim == self.L.ndim:
            return solve(self.L, force)
        return solve(self.L, force[..., None])[..., 0]

    def free_part(self, pushed: Floats) -> Floats:
        """Return (1 - U Uᵀ) x for x (..., nv, k)."""
        return pushed - self.U @ (np.swapaxes(self.U, -1, -2) @ pushed)

    def responses(self, J: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return Y = L⁻¹ Jᵀ (..., nv, m) of forces along rows J (..., m, nv), its free part, and where there is any.

        Of directions that the rows hold already only rounding is left, which is no compliance.
        """
        Y = self.solve_L(np.swapaxes(J, -1, -2))
        Z = self.free_part(Y)
        gives = (Z * Z).sum(-2) > _RIGID**2 * (Y * Y).sum(-2)
        return Y, Z * gives[..., None, :], gives

    @property
    def forced_part(self) -> Floats:
        """Return -U s⁻¹ Vᵀ S⁻¹ γ, (..., nv): the motion the rows force."""
        return -self.least(self.gamma)

    def acceleration(self, z: Floats) -> Floats:
        """Return a = L⁻ᵀ z."""
        return solve(np.swapaxes(self.L, -1, -2), z[..., None])[..., 0]

    def least(self, e: Floats) -> Floats:
        """Return z = Lᵀ x of the least x with G x = e (..., n); `acceleration` makes x of it; (5)."""
        return times(self.U, self.s_inverse * times(self.Vt, e / self.scale))

    def multipliers(self, excess: Floats) -> Floats:
        """Return λ (..., n) that explains z - L⁻¹ f = `excess` (..., nv); (4)."""
        parts = self.s_inverse * transposed_times(self.U, excess)
        return transposed_times(self.Vt, parts) / self.scale


def hold(
    M: Floats,
    G: Floats,
    gamma: Floats,
    size: Floats | None,
    tolerance: Floats | float,
    mechanism: Mechanism,
    function: str,
) -> HeldMotion:
    """Factor rows G (..., n, nv) of a mechanism with mass matrix M (..., nv, nv).

    Args:
        gamma: velocity terms (..., n).
        size: bounds of the entries of G before cancellation, (..., n, nv); None where they are not known.
        tolerance: relative size below which a singular value is zero, (...).
        mechanism, function: for messages.

    Raises:
        InputError: a motion that the rows leave free moves no mass.
    """
    M, shift = _with_mass_everywhere(M, G, gamma, np.abs(G) if size is None else size, mechanism, function)
    L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    Y = solve(L, np.swapaxes(G, -1, -2))
    squares = (
        Y * Y if size is None else np.swapaxes(size * size / np.diagonal(M, axis1=-2, axis2=-1)[..., None, :], -1, -2)
    )
    scale = np.sqrt(squares.sum(-2))
    scale = np.where(scale > 0.0, scale, 1.0)
    Y = Y / scale[..., None, :]  # (2)
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    keep = singular_values_kept(s, tolerance)
    s_inverse = np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0)
    return HeldMotion(L, U * keep[..., None, :], s_inverse, Vt, scale, gamma, shift)


def refuse_unheld(system: ConstraintSystem, function: str, q: Floats) -> None:
    """Raise an InputError when a motion that a system's rows allow at q (nq,) moves no mass."""
    m = system.mechanism
    M = mass_matrix(m, q)
    if massless_velocities(M):
        rows = system.linearise(q, np.zeros(m.nv))
        M, G = M + system.drive_inertia(rows.free_jacobian), rows.jacobian
        _with_mass_everywhere(M, G, np.zeros(len(G)), np.abs(G), m, function)


def singular_values_kept(s: Floats, tolerance: Floats | float) -> NDArray[np.bool_]:
    """Return which singular values (..., r), largest first, are more than rounding."""
    if not s.shape[-1]:
        return np.zeros(s.shape, dtype=bool)
    largest = np.maximum(s[..., :1], np.finfo(np.float64).tiny)
    return s > np.maximum(np.asarray(tolerance)[..., None] * largest, 1e-13)


def _with_mass_everywhere(
    M: Floats, G: Floats, gamma: Floats, size: Floats, mechanism: Mechanism, function: str
) -> tuple[Floats, Floats]:
    """Return M and the force shift of (6); states whose M is well positive definite stay as they are."""
    shift = np.zeros(M.shape[:-1])
    poor = _poorly_definite(M)
    if not poor.any():
        return M, shift
    length = np.sqrt(np.sum(size * size, axis=-1))
    length = np.where(length > 0.0, length, 1.0)
    G_s, gamma_s = G / length[..., None], gamma / length
    rho = np.max(np.diagonal(M, axis1=-2, axis2=-1), axis=-1, initial=0.0)
    rho = np.where(rho > 0.0, rho, 1.0) * poor
    M = M + rho[..., None, None] * (np.swapaxes(G_s, -1, -2) @ G_s)
    shift = -rho[..., None] * transposed_times(G_s, gamma_s)
    for where in np.argwhere(_poorly_definite(M)):
        massless = massless_velocities(M[tuple(where)])
        if massless:
            raise InputError(f"{function}: {massless_motion(mechanism, massless, ', and no constraint holds it')}")
    return M, shift


def _poorly_definite(M: Floats) -> NDArray[np.bool_]:
    """Return which mass matrices have a pivot that is rounding; scaled to a unit diagonal first."""
    if not M.shape[-1]:
        return np.zeros(M.shape[:-2], dtype=bool)
    diagonal = np.diagonal(M, axis1=-2, axis2=-1)
    empty = diagonal <= 0.0
    root = np.sqrt(np.where(empty, 1.0, diagonal))
    correlation = M / (root[..., :, None] * root[..., None, :])
    return empty.any(axis=-1) | (np.linalg.eigvalsh(correlation)[..., 0] < _SMALLEST_PIVOT)
