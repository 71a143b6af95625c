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

    f(π) = ½ (K π - β)ᵀ C⁻¹ (K π - β) + γ Σ_i [tr(P0_i⁻¹ P_i) - log det P_i] + γ μ Σ_k [x_k/x0_k - log x_k]      (1)

The second term is the log-det divergence from the prior, a distance that does not depend on units or frames and that
is its own barrier: the minimum has every P_i ≻ 0 and every x_k > 0. f is strictly convex; Newton's method with steps
halved until they stay inside and descend finds its one minimum.                                                  (2)

    ∂/∂θ_a (-log det P) = -tr(P⁻¹ S_a),   ∂²/∂θ_a∂θ_b = tr(P⁻¹ S_a P⁻¹ S_b),   P = Σ θ_a S_a                        (3)

Source: Wensing, Kim and Slotine 2018 (pseudo-inertia); Lee, Wensing and Park 2020 (divergence as regulariser).
Cost O((10 n)³) per Newton step, ten to forty steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError

__all__ = ["nearest_consistent", "possible_prior", "pseudo_inertia"]

Floats = NDArray[np.float64]

_STEPS = 200
_DECREMENT = 1e-14
_SHORTEST = 1e-10
_SIGN_WEIGHT = 1e-3
_FLATTEST = 1e-4


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
    """Parameters π (P,) of (1), the change of the base parameters in their own σ (root mean square), Newton steps."""

    parameters: Floats
    deviation: float
    steps: int


def pseudo_inertia(parameters: Floats) -> Floats:
    """Return P (n, 4, 4) of inertial parameters (10 n,) in the order of the regressor.

    >>> import setsu, numpy as np
    >>> m = setsu.sample_mechanisms.puma560()
    >>> pseudo_inertia(setsu.inertial_parameters(m)).shape
    (6, 4, 4)
    """
    return np.einsum("na,aij->nij", np.reshape(parameters, (-1, 10)), _S)


def possible_prior(parameters: Floats) -> Floats:
    """Return prior parameters (10 n,) with every pseudo-inertia clearly positive definite.

    Massless bodies get a thousandth of the mean mass, points and thin parts a size: eigenvalues of the second moment
    about the center of mass below 1e-4 m l² are raised to it, l being the mean size of all bodies (0.1 m without any).
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
    """Minimise (1).

    K: (b, P); beta (b,); covariance (b, b); prior (P,): inertial parameters first, 10 per body, possible ones;
    positive: (P - 10 n,) which of the others cannot be negative; weight: γ.
    """
    n = (len(prior) - len(positive)) // 10
    split = 10 * n
    signed = split + np.flatnonzero(positive)
    P0_inverse = np.linalg.inv(pseudo_inertia(prior[:split]))
    gradient0 = np.zeros(len(prior))
    gradient0[:split] = np.einsum("nij,aji->na", P0_inverse, _S).ravel()
    # Each sign-bound value by its own scale: the prior, or what the data say when the prior is nothing.
    scale = np.maximum(np.abs(prior[signed]), np.abs(np.linalg.pinv(K) @ beta)[signed]) + 1e-9
    gradient0[signed] = _SIGN_WEIGHT / scale
    L = np.linalg.cholesky(_scaled_inverse(covariance))
    KL = L.T @ K
    data = L.T @ beta
    H0 = KL.T @ KL

    def value(pi: Floats) -> float:
        if np.any(pi[signed] <= 0.0):
            return np.inf
        try:
            factors = np.linalg.cholesky(pseudo_inertia(pi[:split]))
        except np.linalg.LinAlgError:
            return np.inf
        logs = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum() + _SIGN_WEIGHT * np.log(pi[signed]).sum()
        rest = KL @ pi - data
        return 0.5 * float(rest @ rest) + weight * float(gradient0 @ pi - logs)

    pi = prior.copy()
    pi[signed] = np.maximum(pi[signed], scale)
    f = value(pi)
    for step in range(_STEPS):
        inverse = np.linalg.inv(pseudo_inertia(pi[:split]))
        PS = np.einsum("nij,ajk->naik", inverse, _S)
        g = KL.T @ (KL @ pi - data) + weight * gradient0
        g[:split] -= weight * np.einsum("naii->na", PS).ravel()  # (3)
        g[signed] -= weight * _SIGN_WEIGHT / pi[signed]
        H = H0.copy()
        blocks = weight * np.einsum("naij,nbji->nab", PS, PS)
        for k in range(n):
            H[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] += blocks[k]
        H[signed, signed] += weight * _SIGN_WEIGHT / pi[signed] ** 2
        move = -_scaled_solve(H, g)
        decrement = float(-g @ move)
        t = 1.0
        while (trial := value(pi + t * move)) > f - 1e-4 * t * decrement and t > _SHORTEST:
            t *= 0.5  # (2)
        if t <= _SHORTEST or decrement <= _DECREMENT * max(1.0, abs(f)):
            # Nothing above rounding is left to gain.
            rest = KL @ pi - data
            return Consistent(pi, float(np.sqrt(rest @ rest / len(rest))), step)
        pi, f = pi + t * move, trial
    raise InputError(f"identify: physically consistent parameters were not found in {_STEPS} Newton steps")


def _scaled_inverse(C: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.diag(C))
    inverse = np.linalg.inv(C * scale * scale[:, None]) * scale * scale[:, None]
    return 0.5 * (inverse + inverse.T)


def _scaled_solve(H: Floats, g: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.diag(H))
    return scale * np.linalg.solve(H * scale * scale[:, None], scale * g)
