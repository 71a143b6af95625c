"""Weighted least squares on the base regressor: estimates, standard deviations, parameters that the data do not bear.

| symbol | meaning |
|---|---|
| W_j, y_j | rows of joint j over all samples (T_j, b), torques less what is known (T_j,) |
| s_j² | variance of the residual of joint j |
| c_j | 1 + 2 Σ ρ_j(lag): how many samples of joint j carry the news of one independent sample |
| β, C | base parameters (b,), their covariance (b, b) |

    A = Σ_j W_jᵀW_j / (s_j² c_j),   β = A⁻¹ Σ_j W_jᵀ y_j / (s_j² c_j),   C = A⁻¹              (1)
    s_j² = |y_j - W_j β|² / (T_j - b T_j/T)                                                  (2)
    R²_j = 1 - |y_j - W_j β|² / |y_j - mean|²                                                (3)

(1) and (2) are repeated until the weights stand still. Autocorrelated residuals (filtered sensors, friction that the
model lacks) would make σ too small; c_j sums the autocorrelation up to its first zero.

Removal: while some parameter is smaller than `least_ratio` times its σ, the smallest in that sense is set to zero and
the others are estimated again.                                                               (4)

Robust: weights min(1, 1.345 s/|rest|) with s from the median of |rest|, repeated (Huber 1964).    (6)

Rank: columns scaled to length one; singular values below `weakest` times the largest mean that the motion does not
excite some combination, and its largest members are named.                                   (5)

Source: Gautier and Poignet 2001, (1)-(2); Geyer 1992 (sum of autocorrelations). Cost O(samples · b²).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "Rows", "correlation_length", "essential", "estimate", "robust_scale", "unexcited"]

Floats = NDArray[np.float64]

_ROUNDS = 20
_STILL = 1e-6
# Columns this much shorter than the longest are rounding, whatever their units.
_NOTHING = 1e-12
_HUBER, _ROBUST_ROUNDS = 1.345, 20


@dataclass(frozen=True)
class Rows:
    """The rows of one joint: W (T_j, b), y (T_j,), and the numbers of the samples they come from (T_j,)."""

    W: Floats
    y: Floats
    samples: NDArray[np.intp]

    @cached_property
    def gram(self) -> Floats:
        """WᵀW (b, b)."""
        return self.W.T @ self.W

    @cached_property
    def right(self) -> Floats:
        """Wᵀy (b,)."""
        return self.W.T @ self.y


@dataclass(frozen=True)
class Estimate:
    """Base parameters (b,), covariance (b, b), variance of the residual and correlation length per joint."""

    parameters: Floats
    covariance: Floats
    variance: Floats
    correlation: Floats

    @property
    def std(self) -> Floats:
        """Standard deviations (b,)."""
        return np.sqrt(np.diag(self.covariance))


def estimate(joints: list[Rows], robust: bool = False) -> Estimate:
    """Solve (1)-(2); robust: rows far off weigh less (6)."""
    found = _estimate(joints)
    for _ in range(_ROBUST_ROUNDS if robust else 0):
        weighed = [_weighed(rows, found.parameters) for rows in joints]
        new = _estimate(weighed)
        moved = np.abs(new.parameters - found.parameters).max(initial=0.0)
        found = new
        if moved <= _STILL * np.abs(found.parameters).max(initial=0.0):
            break
    return found


def robust_scale(rest: Floats) -> float:
    """Return the standard deviation that the median of |rest| stands for, if that is normally distributed."""
    return 1.4826 * float(np.median(np.abs(rest - np.median(rest)))) if len(rest) else 0.0


def _weighed(rows: Rows, beta: Floats) -> Rows:
    rest = rows.y - rows.W @ beta
    size = np.abs(rest) / max(robust_scale(rest), 1e-300)
    weight = np.sqrt(np.minimum(1.0, _HUBER / np.maximum(size, 1e-300)))
    return Rows(rows.W * weight[:, None], rows.y * weight, rows.samples)


def _estimate(joints: list[Rows]) -> Estimate:
    b = joints[0].W.shape[1]
    total = sum(len(rows.y) for rows in joints)
    variance = np.array([max(float(np.var(rows.y)), 1e-300) for rows in joints])
    correlation = np.ones(len(joints))
    for _ in range(_ROUNDS):
        beta, _ = _weighted(joints, variance * correlation, np.arange(b))
        before = variance * correlation
        for j, rows in enumerate(joints):
            rest = rows.y - rows.W @ beta
            free = len(rows.y) * max(1.0 - b / total, 1.0 / total)
            floor = (1e-14 * float(np.abs(rows.y).max(initial=0.0)) + 1e-150) ** 2
            variance[j] = max(float(rest @ rest) / free, floor)  # (2)
            correlation[j] = correlation_length(rest)
        if np.all(np.abs(variance * correlation - before) <= _STILL * before):
            break
    beta, covariance = _weighted(joints, variance * correlation, np.arange(b))
    return Estimate(beta, covariance, variance, correlation)


def essential(joints: list[Rows], start: Estimate, least_ratio: float) -> tuple[NDArray[np.bool_], Floats]:
    """Remove parameters by (4), with the weights of the whole fit.

    Returns which are kept (b,), and the parameters estimated with those alone (b,), zero elsewhere.
    """
    weights = start.variance * start.correlation
    kept = np.arange(len(start.parameters))
    beta, covariance = start.parameters, start.covariance
    while len(kept) > 1:
        ratio = np.abs(beta) / np.sqrt(np.diag(covariance))
        worst = int(np.argmin(ratio))
        if ratio[worst] >= least_ratio:
            break
        kept = np.delete(kept, worst)
        beta, covariance = _weighted(joints, weights, kept)
    mask = np.isin(np.arange(len(start.parameters)), kept)
    parameters = np.zeros(len(mask))
    parameters[kept] = beta
    return mask, parameters


def _weighted(joints: list[Rows], variance: Floats, kept: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Solve (1) for the kept columns with given s_j² c_j; return β and C."""
    A = np.sum([rows.gram / s for rows, s in zip(joints, variance, strict=True)], axis=0)[np.ix_(kept, kept)]
    right = np.sum([rows.right / s for rows, s in zip(joints, variance, strict=True)], axis=0)[kept]
    # Columns scaled to one: parameters have units from kg to N m s.
    scale = 1.0 / np.sqrt(np.diag(A))
    C = np.linalg.inv(A * scale * scale[:, None])
    C = 0.5 * (C + C.T) * scale * scale[:, None]
    return C @ right, C


def unexcited(joints: list[Rows], weakest: float) -> tuple[float, list[int]]:
    """Return the condition number of the scaled columns and, by (5), the parameters that the motion leaves open."""
    gram = np.sum([rows.gram for rows in joints], axis=0)
    size = np.sqrt(np.diag(gram))
    blind = np.flatnonzero(size <= _NOTHING * size.max(initial=0.0))
    if len(blind):
        return np.inf, blind.tolist()
    squares, directions = np.linalg.eigh(gram / size / size[:, None])
    s = np.sqrt(np.maximum(squares, 0.0))
    condition = float(s[-1] / s[0]) if s[0] > 0.0 else np.inf
    open_ones = s <= weakest * s[-1]
    if not open_ones.any():
        return condition, []
    weight = np.abs(directions[:, open_ones]).max(axis=1)
    return condition, [int(k) for k in np.argsort(-weight) if weight[k] > 0.3 * weight.max()]


def correlation_length(rest: Floats) -> float:
    """Return c >= 1: one plus twice the autocorrelations of a residual (T,), summed up to the first that is not clear.

    A correlation counts as clear above 2/sqrt(T), twice its scatter for white noise.
    """
    T = len(rest)
    x = rest - rest.mean()
    power = np.abs(np.fft.rfft(x, 2 * T)) ** 2
    auto = np.fft.irfft(power)[: T // 4]
    if len(auto) < 2 or auto[0] <= 0.0:
        return 1.0
    rho = auto[1:] / auto[0]
    below = np.flatnonzero(rho < 2.0 / np.sqrt(T))
    return float(1.0 + 2.0 * rho[: below[0] if len(below) else len(rho)].sum())
