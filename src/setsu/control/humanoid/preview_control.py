"""Move the centre of mass of a linear inverted pendulum so that its zero-moment point follows a plan known ahead.

Symbols
    c            horizontal position of the centre of mass, one axis, m; x = (c, c', c'')
    u            jerk c''', held over a step of h seconds, m/s³
    z, g         constant height of the centre of mass, m; gravity, m/s²
    p, r         zero-moment point and the wanted one, m
    Q, R         weights of (p - r)² and of u²

Equations
    (1)  x[k+1] = A x[k] + B u[k],  A = [1 h h²/2; 0 1 h; 0 0 1],  B = [h³/6; h²/2; h]
    (2)  p[k] = C x[k],  C = [1 0 -z/g]                                  the pendulum's zero-moment point
    (3)  P = AᵀPA - AᵀPB (R + BᵀPB)⁻¹ BᵀPA + CᵀQC                        discrete Riccati equation
    (4)  K = (R + BᵀPB)⁻¹ BᵀPA
    (5)  F[j] = (R + BᵀPB)⁻¹ Bᵀ ((A - BK)ᵀ)^(j-1) CᵀQ,  j = 1..N         weights of what is ahead
    (6)  u[k] = -K x[k] + Σ F[j] r[k+j]

Source: Kajita et al., "Biped walking pattern generation by using preview control of zero-moment point", ICRA 2003; here
without the integral of the error, which a triple integrator does not need. (3) is solved by doubling (Chu, Fan, Lin and
Wang 2004), which squares the closed loop in every round.
Cost: about 20 products of 3x3 matrices for (3); (6) is one convolution and one recursion over the plan.
Refuses: heights, gravities, steps and weights that are not positive; plans that are not finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError

__all__ = ["CenterOfMassMotion", "PreviewController", "solve_riccati"]

Floats = NDArray[np.float64]

_MOST_DOUBLINGS = 60
_LARGEST = 1e100


@dataclass(frozen=True)
class CenterOfMassMotion:
    """Motion of the pendulum over a plan of T samples and any axes: position, velocity, acceleration, zmp (T, axes)."""

    position: Floats
    velocity: Floats
    acceleration: Floats
    zmp: Floats


@dataclass(frozen=True)
class PreviewController:
    """Preview control of a linear inverted pendulum.

    Args:
        height: of the centre of mass, m. step: sampling time, s. horizon: how far it looks ahead, s.
        jerk_weight: R / Q of (3), (m/(m/s³))²; the less, the closer the zero-moment point follows.

    >>> controller = PreviewController(height=0.225, step=0.005)
    >>> motion = controller.follow(np.full((1000, 1), 0.1), start=[0.1])
    >>> bool(np.allclose(motion.position, 0.1))
    True
    """

    height: float
    step: float = 1e-3
    horizon: float = 1.6
    jerk_weight: float = 1e-9
    gravity: float = 9.81

    def __post_init__(self) -> None:
        for key in ("height", "step", "horizon", "jerk_weight", "gravity"):
            value = getattr(self, key)
            if not isinstance(value, int | float) or not (math.isfinite(value) and value > 0.0):
                raise InputError(f"PreviewController {key}: expected a positive number, got {value!r}")

    @cached_property
    def matrices(self) -> tuple[Floats, Floats, Floats]:
        """A (3, 3), B (3, 1), C (1, 3) of (1) and (2)."""
        h = self.step
        A = np.array([[1.0, h, h * h / 2.0], [0.0, 1.0, h], [0.0, 0.0, 1.0]])  # (1)
        B = np.array([[h**3 / 6.0], [h * h / 2.0], [h]])
        return A, B, np.array([[1.0, 0.0, -self.height / self.gravity]])  # (2)

    @cached_property
    def gains(self) -> tuple[Floats, Floats]:
        """State feedback K (3,) and preview gains F (N,)."""
        A, B, C = self.matrices
        P = solve_riccati(A, B, C.T @ C, np.array([[self.jerk_weight]]))  # (3)
        S = self.jerk_weight + float((B.T @ P @ B)[0, 0])
        K = B.T @ P @ A / S  # (4)
        closed, ahead = (A - B @ K).T, C.T
        F = np.empty(max(1, round(self.horizon / self.step)))
        for j in range(len(F)):  # (5)
            F[j] = (B.T @ ahead)[0, 0] / S
            ahead = closed @ ahead
        return K[0], F

    def follow(self, zmp: ArrayLike, start: ArrayLike | None = None) -> CenterOfMassMotion:
        """Return the motion whose zero-moment point follows `zmp` (T, axes), m.

        start: position at rest at the first sample (axes,), m; the first planned zero-moment point when not given. The
        last planned point is held beyond the end.
        """
        plan = np.array(zmp, dtype=np.float64)
        if plan.ndim != 2 or len(plan) < 1 or not np.isfinite(plan).all():
            raise InputError(f"PreviewController: expected finite zero-moment points (T, axes), got shape {plan.shape}")
        A, B, C = self.matrices
        K, F = self.gains
        ahead = np.concatenate([plan[1:], np.repeat(plan[-1:], len(F), axis=0)])
        push = np.stack([np.convolve(column, F[::-1], mode="valid") for column in ahead.T], axis=1)
        x = np.zeros((len(plan), 3, plan.shape[1]))
        x[0, 0] = plan[0] if start is None else start
        for k in range(len(plan) - 1):
            x[k + 1] = A @ x[k] + B * (push[k] - K @ x[k])  # (6)
        return CenterOfMassMotion(x[:, 0], x[:, 1], x[:, 2], (C @ x)[:, 0])


def solve_riccati(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the stabilising solution P of P = AᵀPA - AᵀPB (R + BᵀPB)⁻¹ BᵀPA + Q, by structure-preserving doubling."""
    unit = np.eye(len(A))
    E, G, P = A, B @ np.linalg.solve(R, B.T), Q
    for _ in range(_MOST_DOUBLINGS):
        W = np.linalg.solve(unit + G @ P, np.hstack([E, G]))
        W_E, W_G = W[:, : len(A)], W[:, len(A) :]
        new = P + E.T @ P @ W_E
        E, G, old, P = E @ W_E, G + E @ W_G @ E.T, P, 0.5 * (new + new.T)
        if np.abs(P).max() > _LARGEST:
            break
        if np.abs(P - old).max() <= 1e-15 * np.abs(P).max():
            return P
    raise InputError("solve_riccati: expected a stabilisable pair (A, B) seen through Q, got one that does not settle")
