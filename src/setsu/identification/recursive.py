"""`RecursiveFit`: base parameters that follow the samples as they come in.

| symbol | meaning |
|---|---|
| A, r | information Σ λ^age WᵀW/s², and Σ λ^age Wᵀy/s² |
| λ | forgetting: what a sample still counts after the next one; 1 forgets nothing |
| s | standard deviation of the torques per joint |

    A <- λ A + WᵀW/s²,  r <- λ r + Wᵀy/s²,  β = A⁻¹ r,  C = A⁻¹                              (1)

Information instead of covariance: nothing has to be guessed before the first sample, and parameters that no motion has
excited yet are known as such (σ = inf). With λ = 1 the result is that of weighted least squares on all samples.
Cost O(b²) per sample, O(b³) when the parameters are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.identification.torque_model import friction_terms, torque_model
from setsu.mechanism import Mechanism

__all__ = ["RecursiveFit"]

Floats = NDArray[np.float64]

_UNKNOWN = 1e-10
"""Eigenvalues of the scaled information below this share of the largest: not excited yet."""


class RecursiveFit:
    """Base parameters of a mechanism from a stream of samples.

    Args:
        mechanism, friction, drive_inertia: as for `identify`; "stribeck" is not linear and refused.
        noise: (nv,) or a number, standard deviation of the torques, N m or N.
        forgetting: 0 < λ <= 1.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> motion = setsu.excitation_trajectory(m, duration=3.0, trials=20)
    >>> live = setsu.RecursiveFit(m, noise=0.1)
    >>> for q, v, a in zip(motion.q, motion.v, motion.a):
    ...     live.update(q, v, a, setsu.inverse_dynamics(m, q, v, a))
    >>> bool(np.allclose(live.parameters, live.prior, atol=1e-6))
    True
    """

    def __init__(
        self,
        mechanism: Mechanism,
        friction: str = "coulomb+viscous",
        *,
        drive_inertia: bool = True,
        noise: ArrayLike = 1.0,
        forgetting: float = 1.0,
    ) -> None:
        require_mechanism(mechanism, "RecursiveFit")
        if "stribeck" in friction_terms(friction):
            raise InputError('RecursiveFit: friction: "stribeck" has parameters that torques are not linear in')
        if not (isinstance(forgetting, int | float) and 0.0 < forgetting <= 1.0):
            raise InputError(f"RecursiveFit: forgetting: expected a number above 0 and up to 1, got {forgetting!r}")
        self.model = torque_model(mechanism, friction, bool(drive_inertia), mechanism.neutral())
        sigma = np.array(noise, dtype=np.float64)
        if sigma.ndim > 1 or sigma.size not in (1, len(self.model.rows)) or not np.all(sigma > 0.0):
            raise InputError(
                f"RecursiveFit: noise: expected one positive number or {len(self.model.rows)}, got {noise!r}"
            )
        self._weight = np.broadcast_to(1.0 / sigma**2, (len(self.model.rows),))
        self._forgetting = float(forgetting)
        self._information = np.zeros((len(self.model.names),) * 2)
        self._right = np.zeros(len(self.model.names))
        self.samples = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters (b,)."""
        return self.model.names

    @property
    def prior(self) -> Floats:
        """Base parameters of the mechanism as it was given, (b,)."""
        return self.model.base_prior

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> None:
        """Take in one sample, q (nq,), v, a, tau (nv,), or several in order, (T, ...)."""
        m = self.model.mechanism
        arrays = []
        for name, value, width in (("q", q, m.nq), ("v", v, m.nv), ("a", a, m.nv), ("tau", tau, m.nv)):
            array = np.atleast_2d(np.asarray(value, dtype=np.float64))
            if array.ndim != 2 or array.shape[1] != width or not np.isfinite(array).all():
                raise InputError(f"RecursiveFit.update: {name}: expected {width} finite numbers, got {array.shape}")
            arrays.append(array)
        if len({len(array) for array in arrays}) != 1:
            raise InputError("RecursiveFit.update: expected as many samples of q, v, a and tau")
        q_, v_, a_, tau_ = arrays
        W = self.model.regressor(q_, v_, a_)
        y = self.model.freedom.reduce_torque(q_, tau_) - self.model.known_torque(q_, v_, a_)
        for rows, right in zip(W, y, strict=True):
            weighed = rows.T * self._weight
            self._information = self._forgetting * self._information + weighed @ rows  # (1)
            self._right = self._forgetting * self._right + weighed @ right
            self.samples += 1

    @property
    def parameters(self) -> Floats:
        """Base parameters (b,); what is not excited yet stays at the mechanism's value."""
        return self._solved()[0]

    @property
    def std(self) -> Floats:
        """Their standard deviations (b,); inf for those that are not excited yet."""
        return self._solved()[1]

    def _solved(self) -> tuple[Floats, Floats]:
        size = np.sqrt(np.diag(self._information))
        scale = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 1.0)
        values, vectors = np.linalg.eigh(self._information * scale * scale[:, None])
        known = values > _UNKNOWN * max(float(values[-1]), 1e-300)
        rest = scale * (self._right - self._information @ self.prior)
        change = vectors[:, known] @ ((vectors[:, known].T @ rest) / values[known])
        spread = (vectors[:, known] ** 2 / values[known]).sum(axis=1)
        blind = (vectors[:, ~known] ** 2).sum(axis=1) > _UNKNOWN
        return self.prior + scale * change, np.where(blind, np.inf, scale * np.sqrt(spread))
