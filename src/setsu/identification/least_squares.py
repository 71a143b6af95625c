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

Rank: columns scaled to length one; singular values below `weakest` times the largest mean that the motion does not
excite some combination, and its largest members are named.                                   (5)

Source: Gautier and Poignet 2001, (1)-(2); Geyer 1992 (sum of autocorrelations). Cost O(samples · b²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "Rows", "correlation_length", "estimate", "unexcited"]

Floats = NDArray[np.float64]

_ROUNDS = 20
_STILL = 1e-6


@dataclass(frozen=True)
class Rows:
    """The rows of one joint: W (T_j, b), y (T_j,), and the numbers of the samples they come from (T_j,)."""

    W: Floats
    y: Floats
    samples: NDArray[np.intp]


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


def estimate(joints: list[Rows], kept: NDArray[np.bool_] | None = None) -> Estimate:
    """Solve (1)-(2). kept (b,): parameters to estimate; the others are zero, with zero covariance."""
    b = joints[0].W.shape[1]
    columns = np.flatnonzero(np.ones(b, dtype=bool) if kept is None else kept)
    total = sum(len(rows.y) for rows in joints)
    grams = [rows.W[:, columns].T @ rows.W[:, columns] for rows in joints]
    rights = [rows.W[:, columns].T @ rows.y for rows in joints]
    variance = np.array([max(float(np.var(rows.y)), 1e-300) for rows in joints])
    correlation = np.ones(len(joints))
    beta = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        weights = 1.0 / (variance * correlation)
        A = np.sum([w * gram for w, gram in zip(weights, grams, strict=True)], axis=0)
        right = np.sum([w * part for w, part in zip(weights, rights, strict=True)], axis=0)
        beta = _solve(A, right)
        before = variance * correlation
        for j, rows in enumerate(joints):
            rest = rows.y - rows.W[:, columns] @ beta
            free = len(rows.y) * max(1.0 - len(columns) / total, 1.0 / total)
            floor = (1e-14 * float(np.abs(rows.y).max(initial=0.0)) + 1e-150) ** 2
            variance[j] = max(float(rest @ rest) / free, floor)  # (2)
            correlation[j] = correlation_length(rest)
        if np.all(np.abs(variance * correlation - before) <= _STILL * before):
            break
    weights = 1.0 / (variance * correlation)
    A = np.sum([w * gram for w, gram in zip(weights, grams, strict=True)], axis=0)
    parameters, covariance = np.zeros(b), np.zeros((b, b))
    parameters[columns] = beta
    covariance[np.ix_(columns, columns)] = _solve(A, np.eye(len(columns)))
    return Estimate(parameters, 0.5 * (covariance + covariance.T), variance, correlation)


def essential(joints: list[Rows], start: Estimate, least_ratio: float) -> tuple[NDArray[np.bool_], Estimate]:
    """Remove parameters by (4); return which are kept, and the estimate with them alone."""
    kept = np.ones(len(start.parameters), dtype=bool)
    current = start
    while kept.sum() > 1:
        ratio = np.full(len(kept), np.inf)
        ratio[kept] = np.abs(current.parameters[kept]) / current.std[kept]
        worst = int(np.argmin(ratio))
        if ratio[worst] >= least_ratio:
            break
        kept[worst] = False
        current = estimate(joints, kept)
    return kept, current


def unexcited(joints: list[Rows], weakest: float) -> tuple[float, list[int]]:
    """Return the condition number of the scaled columns and, by (5), the parameters that the motion leaves open."""
    W = np.concatenate([rows.W / max(float(np.std(rows.y)), 1e-300) for rows in joints])
    size = np.linalg.norm(W, axis=0)
    blind = np.flatnonzero(size <= weakest * size.max(initial=0.0))
    if len(blind):
        return np.inf, blind.tolist()
    s, directions = np.linalg.svd(np.linalg.qr(W / size, mode="r"))[1:]
    condition = float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf
    if s[-1] > weakest * s[0]:
        return condition, []
    weight = np.abs(directions[s <= weakest * s[0]]).max(axis=0)
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


def _solve(A: Floats, right: Floats) -> Floats:
    """Solve with columns scaled to one: parameters have units from kg to N m s."""
    scale = 1.0 / np.sqrt(np.diag(A))
    scaled = A * scale * scale[:, None]
    solution = np.linalg.solve(scaled, (right.T * scale).T)
    return (solution.T * scale).T
