"""Accelerations of the nodes from sampled positions, all nodes and all time steps at once.

| symbol | meaning | unit |
|---|---|---|
| u_k, R_k | positions of a node and rotation of its link at sample k | m, - |
| h | step | s |
| θ_k | rotation vector from R_k to R_{k+1}, world axes | rad |

central differences, order 2 also at the ends:
    a_k = (u_{k+1} - 2 u_k + u_{k-1}) / h²;   a_0 = (2 u_0 - 5 u_1 + 4 u_2 - u_3) / h²                (1)
Newmark on given displacements, isobe2003 (3):
    a_{k+1} = Δu / (β h²) - v_k / (β h) - (1/(2β) - 1) a_k                                            (2)
    v_{k+1} = v_k + h ((1 - γ) a_k + γ a_{k+1})                                                       (3)
    with θ_k for Δu where a link turns                                                                (4)

(2), (3) are a linear recurrence s_{k+1} = A s_k + B Δu_k; it is summed in log2(T) doubling passes, not step by step.
With β = 1/4, γ = 1/2 it is only marginally stable: a jerk at the start leaves a sawtooth at any step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["central_second", "newmark", "rotation_steps"]

Floats = NDArray[np.float64]


def central_second(u: Floats, h: float) -> Floats:
    """Second time derivative of samples (T, ...) (1)."""
    a = np.empty_like(u)
    a[1:-1] = (u[2:] - 2.0 * u[1:-1] + u[:-2]) / h**2
    for at, s in ((0, u), (-1, u[::-1])):
        a[at] = (2.0 * s[0] - 5.0 * s[1] + 4.0 * s[2] - s[3]) / h**2
    return a


def rotation_steps(R: Floats) -> Floats:
    """Rotation vectors (T - 1, n, 3) between neighbouring rotations (T, n, 3, 3), world axes, below half a turn."""
    turn = R[1:] @ np.swapaxes(R[:-1], -1, -2)
    axial = 0.5 * np.stack(
        [turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 0] - turn[..., 0, 1]],
        axis=-1,
    )
    sine = np.linalg.norm(axial, axis=-1)
    cosine = 0.5 * (np.trace(turn, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(sine, cosine)
    # angle / sin(angle) near 0: 1 + angle²/6
    ratio = np.where(sine > 1e-8, angle / np.where(sine > 1e-8, sine, 1.0), 1.0 + angle**2 / 6.0)
    return axial * ratio[..., None]


def newmark(steps: Floats, h: float, beta: float, gamma: float, v0: Floats, a0: Floats) -> tuple[Floats, Floats]:
    """Velocities and accelerations (T, ...) from steps (T - 1, ...) and the state at the start (2), (3)."""
    # State (v, a); both rows of A and B from (2) put into (3).
    on_a = np.array([-1.0 / (beta * h), 1.0 - 0.5 / beta])
    on_v = np.array([1.0, h * (1.0 - gamma)]) + gamma * h * on_a
    A = np.array([on_v, on_a])
    B = np.array([gamma * h, 1.0]) / (beta * h**2)
    state = np.empty((2, len(steps) + 1, *steps.shape[1:]))
    state[0, 0], state[1, 0] = v0, a0
    state[:, 1:] = B.reshape(2, *[1] * steps.ndim) * steps
    # s_k = Σ A^(k-j) s_j: after the pass of distance d each entry holds the sum over the last 2 d terms.
    distance, power = 1, A
    while distance < state.shape[1]:
        state[:, distance:] += np.einsum("ij,j...->i...", power, state[:, :-distance])
        distance, power = 2 * distance, power @ power
    return state[0], state[1]
