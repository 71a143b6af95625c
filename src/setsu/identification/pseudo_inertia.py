"""Full inertial parameters that real bodies can have, nearest to a prior among those that explain the data.

| symbol | meaning | unit |
|---|---|---|
| θ_i | parameters of body i: m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about the body origin | kg, kg m, kg m² |
| P_i(θ) | pseudo-inertia [[E, m c], [m cᵀ, m]], 4x4, with E = tr(I)/2 · 1 - I | |
| P0_i | pseudo-inertia of the prior (the model's own values) | |
| x_k | drive inertia and friction that cannot be negative | |
| β, C | base parameters of the least-squares step and their covariance; K: β = K π, π = (θ, x) | |
| γ | weight of the prior: 1 trusts it to about 100 % | 1 |

A body of non-negative mass has P ⪰ 0, and every P ≻ 0 is the pseudo-inertia of some body. We minimise

    f(π) = ½ (K π - β)ᵀ C⁻¹ (K π - β) + γ Σ_i [tr(P0_i⁻¹ P_i) - log det P_i] + γ Σ_k [x_k/x0_k - log x_k]        (1)

The second term is the log-det divergence from the prior, a distance that does not depend on units or frames and that
is its own barrier: the minimum has every P_i ≻ 0 and every x_k > 0. f is strictly convex; Newton's method with steps
halved until they stay inside and descend finds its one minimum.                                                  (2)

    ∂/∂θ_a (-log det P) = -tr(P⁻¹ S_a),   ∂²/∂θ_a∂θ_b = tr(P⁻¹ S_a P⁻¹ S_b),   P = Σ θ_a S_a                        (3)

From a far prior Newton's steps would hit the boundary again and again. So the data term is multiplied by a share that
grows to one, from where it is as small as the others, each minimum being the start of the next.                  (4)

Source: Wensing, Kim and Slotine 2018 (pseudo-inertia); Lee, Wensing and Park 2020 (divergence as regulariser).
Cost O((10 n)³) per Newton step, ten to seventy steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError

__all__ = ["nearest_consistent", "possible_prior", "pseudo_inertia"]

Floats = NDArray[np.float64]

_STEPS = 200
_ROUGH, _EXACT = 1e-2, 1e-9
_GROWTH = 5.0
_SHORTEST = 1e-10
_FINEST = 1e-7
_FLATTEST = 0.03


def _basis() -> Floats:
    """S_a (10, 4, 4): pseudo-inertia as a linear function of the ten parameters."""
    S = np.zeros((10, 4, 4))
    S[0, 3, 3] = 1.0
    for k in range(3):
        S[1 + k, k, 3] = S[1 + k, 3, k] = 1.0
    for a, (i, j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)), start=4):
        if i == j:
            S[a, :3, :3] = 0.5 * np.eye(3)
            S[a, i, i] -= 1.0
        else:
            S[a, i, j] = S[a, j, i] = -1.0
    return S


_S = _basis()


@dataclass(frozen=True)
class Consistent:
    """Parameters π (P,) of (1), the change of the base parameters in their σ (root mean square), Newton steps.

    settled: whether these were enough; data that contradict all bodies may lead on forever.
    """

    parameters: Floats
    deviation: float
    steps: int
    settled: bool = True


def pseudo_inertia(parameters: ArrayLike) -> Floats:
    """Return P (n, 4, 4) of inertial parameters (10 n,) in the order of the regressor.

    Raises:
        InputError: numbers that are not finite, or not ten per body.

    >>> import setsu, numpy as np
    >>> m = setsu.sample_mechanisms.puma560()
    >>> pseudo_inertia(setsu.inertial_parameters(m)).shape
    (6, 4, 4)
    """
    theta = finite_array(parameters, (), "pseudo_inertia: parameters")
    if theta.size % 10:
        raise InputError(f"pseudo_inertia: parameters: expected ten numbers per body, got shape {theta.shape}")
    return np.einsum("na,aij->nij", theta.reshape(-1, 10), _S)


def possible_prior(parameters: Floats) -> Floats:
    """Return prior parameters (10 n,) with every pseudo-inertia clearly positive definite.

    Massless bodies get a thousandth of the mean mass, points and thin parts a size: eigenvalues of the second moment
    about the center of mass below 0.03 m l² are raised to it, l being the mean size of all bodies (0.1 m without any).
    A model that makes a link a rod means that it is slim, not that its center of mass is known to a hair.
    """
    theta = np.array(parameters, dtype=np.float64).reshape(-1, 10)
    mean_mass = float(np.maximum(theta[:, 0], 0.0).mean()) or 1.0
    for body in theta:
        body[0] = max(body[0], 1e-3 * mean_mass)
    P = pseudo_inertia(theta.ravel())
    moments = []
    for p in P:
        c = p[:3, 3] / p[3, 3]
        moments.append((c, p[3, 3], np.linalg.eigh(p[:3, :3] - p[3, 3] * np.outer(c, c))))
    sizes = [np.sqrt(max(float(e.eigenvalues.max()), 0.0) / mass) for _, mass, e in moments]
    length = float(np.mean(sizes)) or 0.1
    for body, (c, mass, e) in zip(theta, moments, strict=True):
        axes = e.eigenvectors
        E = (axes * np.maximum(e.eigenvalues, _FLATTEST * mass * length**2)) @ axes.T + mass * np.outer(c, c)
        inertia = np.trace(E) * np.eye(3) - E
        body[4:] = [inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return theta.ravel()


def nearest_consistent(
    K: Floats, beta: Floats, covariance: Floats, prior: Floats, positive: NDArray[np.bool_], weight: float
) -> Consistent:
    """Minimise (1) along the path (4).

    K: (b, P); beta (b,); covariance (b, b); prior (P,): inertial parameters first, 10 per body, possible ones;
    positive: (P - 10 n,) which of the others cannot be negative; weight: γ.
    """
    problem = _Problem(K, beta, covariance, prior, positive, weight)
    pi = prior.copy()
    pi[problem.signed] = np.maximum(pi[problem.signed], problem.scale)
    share = min(1.0, 1.0 / max(problem.misfit(pi), 1e-300))
    steps = 0
    while True:
        pi, taken = problem.descend(pi, share, _EXACT if share == 1.0 else _ROUGH)
        steps += taken
        # Data that no bodies explain lead along the edge of what can exist; any point there says as much.
        if share == 1.0 or taken == _STEPS:
            deviation = float(np.sqrt(2.0 * problem.misfit(pi) / len(beta)))
            return Consistent(pi, deviation, steps, taken < _STEPS)
        share = min(1.0, _GROWTH * share)


class _Problem:
    """The function (1) with the data term multiplied by a share, and Newton's method for it."""

    def __init__(
        self, K: Floats, beta: Floats, covariance: Floats, prior: Floats, positive: NDArray[np.bool_], weight: float
    ) -> None:
        self.split = len(prior) - len(positive)
        self.signed = self.split + np.flatnonzero(positive)
        self.weight = weight
        self.prior_gradient = np.zeros(len(prior))
        P0_inverse = np.linalg.inv(pseudo_inertia(prior[: self.split]))
        self.prior_gradient[: self.split] = np.einsum("nij,aji->na", P0_inverse, _S).ravel()
        # Each sign-bound value by its own scale: the prior, or what the data say when the prior is nothing.
        from_data = np.abs(np.linalg.pinv(K) @ beta)[self.signed]
        self.scale = np.maximum(np.abs(prior[self.signed]), from_data) + 1e-9
        self.prior_gradient[self.signed] = 1.0 / self.scale
        # Data without noise would make the rest of (1) vanish below rounding.
        grain = _FINEST * (np.abs(K) @ np.abs(prior) + np.abs(beta))
        L = np.linalg.cholesky(_scaled_inverse(covariance + np.diag(grain**2)))
        self.KL, self.data = L.T @ K, L.T @ beta
        self.data_hessian = self.KL.T @ self.KL

    def misfit(self, pi: Floats) -> float:
        """First term of (1)."""
        rest = self.KL @ pi - self.data
        return 0.5 * float(rest @ rest)

    def value(self, pi: Floats, share: float) -> float:
        """The function, inf outside of its domain."""
        if np.any(pi[self.signed] <= 0.0):
            return np.inf
        try:
            factors = np.linalg.cholesky(pseudo_inertia(pi[: self.split]))
        except np.linalg.LinAlgError:
            return np.inf
        logs = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum()
        logs += np.log(pi[self.signed]).sum()
        return share * self.misfit(pi) + self.weight * float(self.prior_gradient @ pi - logs)

    def newton_step(self, pi: Floats, share: float) -> tuple[Floats, float]:
        """Return the step and the decrement: by how much a quadratic function would still fall, times two."""
        split, signed, weight = self.split, self.signed, self.weight
        PS = np.einsum("nij,ajk->naik", np.linalg.inv(pseudo_inertia(pi[:split])), _S)
        g = share * (self.KL.T @ (self.KL @ pi - self.data)) + weight * self.prior_gradient
        g[:split] -= weight * np.einsum("naii->na", PS).ravel()  # (3)
        g[signed] -= weight / pi[signed]
        H = share * self.data_hessian
        for k, block in enumerate(weight * np.einsum("naij,nbji->nab", PS, PS)):  # (3)
            H[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] += block
        H[signed, signed] += weight / pi[signed] ** 2
        move = -_scaled_solve(H, g)
        return move, float(-g @ move)

    def descend(self, pi: Floats, share: float, tolerance: float) -> tuple[Floats, int]:
        """Take Newton steps (2) until the decrement is below the tolerance; return the point and their number."""
        f = self.value(pi, share)
        for step in range(_STEPS):
            try:
                move, decrement = self.newton_step(pi, share)
            except np.linalg.LinAlgError:
                # At the edge of what can exist to rounding, which only data lead to that no bodies explain.
                return pi, _STEPS
            t = 1.0
            while (trial := self.value(pi + t * move, share)) > f - 1e-4 * t * decrement and t > _SHORTEST:
                t *= 0.5
            # With the shortest step nothing above rounding is left to gain.
            if t <= _SHORTEST or decrement <= tolerance:
                return pi, step
            pi, f = pi + t * move, trial
        return pi, _STEPS


def _scaled_inverse(C: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.diag(C))
    inverse = np.linalg.inv(C * scale * scale[:, None]) * scale * scale[:, None]
    return 0.5 * (inverse + inverse.T)


def _scaled_solve(H: Floats, g: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.diag(H))
    return scale * np.linalg.solve(H * scale * scale[:, None], scale * g)
