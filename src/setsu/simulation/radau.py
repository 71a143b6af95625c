"""Radau IIA: implicit Runge-Kutta of order 5, three stages, for stiff springs, dampers and controllers.

| symbol | meaning |
|---|---|
| z_i | increment of (φ, v) at stage i against the start of the step |
| f | (rate of the chart, acceleration), behind the projection onto the constraints |
| J | ∂f/∂(φ, v) at the start of the step |

    z_i = h Σ_j A_ij f(t + c_j h, y_0 + z_j)                                 (1)
    (1 - h A ⊗ J) Δz = h (A ⊗ 1) F(z) - z                                    (2)  simplified Newton, one factorisation
    y' = y_0 + z_3                                                           (3)  the last stage is the end

J comes from the exact derivatives of forward dynamics; where these do not exist (constraints, springs between points)
and for a torque function, from differences: J decides how fast (2) converges, not what it converges to.
A-stable and L-stable: no limit on h from damping. Source: Hairer and Wanner 1996, Solving Ordinary Differential
Equations II, ch. IV.8.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import forward_dynamics_derivatives
from setsu.simulation.explicit_runge_kutta import Step
from setsu.simulation.motion import Evaluation, Motion

__all__ = ["StepFailed", "step"]

Floats = NDArray[np.float64]

_r = math.sqrt(6.0)
A = np.array(
    [
        [(88 - 7 * _r) / 360, (296 - 169 * _r) / 1800, (-2 + 3 * _r) / 225],
        [(296 + 169 * _r) / 1800, (88 + 7 * _r) / 360, (-2 - 3 * _r) / 225],
        [(16 - _r) / 36, (16 + _r) / 36, 1 / 9],
    ]
)
C = np.array([(4 - _r) / 10, (4 + _r) / 10, 1.0])

_ITERATIONS = 25
_DIFFERENCE = 1e-7


class StepFailed(ArithmeticError):  # noqa: N818  (an inner signal: the step is tried again, shorter)
    """Newton's iteration did not converge at this step size."""


def step(motion: Motion, start: Evaluation, h: float) -> Step:
    """Take one step of h seconds; StepFailed when Newton's iteration does not converge."""
    n = 2 * len(start.v)
    # Stages begin at the slope of the start; then (2) until the increments stand still.
    z = np.outer(C * h, np.concatenate([start.v, start.acceleration]))
    solve = np.linalg.inv(np.eye(3 * n) - h * np.kron(A, _jacobian(motion, start)))
    last, powers = math.inf, np.zeros((3, len(start.powers)))
    for _ in range(_ITERATIONS):
        F = np.empty_like(z)
        for i in range(3):
            F[i], powers[i] = _slope(motion, start, h * C[i], z[i])
        delta = (solve @ (h * (A @ F) - z).ravel()).reshape(3, n)
        z += delta
        size = float(np.max(np.abs(delta) / (1.0 + np.abs(z))))
        if size <= 1e-14 or (size <= 1e-9 and size >= 0.5 * last):
            q = motion.charts.point(start.q, z[2, : n // 2])
            return Step(q, start.v + z[2, n // 2 :], h * (A[2] @ powers), F)  # (3)
        if not size < 10.0 * last:
            break
        last = size
    raise StepFailed


def _slope(motion: Motion, start: Evaluation, dt: float, z: Floats) -> tuple[Floats, Floats]:
    """f and the powers at an increment z of the start."""
    nv = len(start.v)
    phi, v = z[:nv], start.v + z[nv:]
    if not np.isfinite(z).all() or np.abs(phi).max() > 1e6:
        raise StepFailed
    q = motion.charts.point(start.q, phi)
    if motion.constrained:
        q, v = motion.project(q, v)
        phi = motion.charts.coordinates(start.q, q)
    evaluation = motion.evaluate(start.t + dt, q, v, complete=False)
    return np.concatenate([motion.charts.rate(phi, v), evaluation.acceleration]), evaluation.powers


def _jacobian(motion: Motion, start: Evaluation) -> Floats:
    nv = len(start.v)
    J = np.zeros((2 * nv, 2 * nv))
    J[:nv, nv:] = np.eye(nv)
    if motion.constrained or motion.mechanism.has_force_elements:
        base = _slope(motion, start, 0.0, np.zeros(2 * nv))[0]
        for k in range(2 * nv):
            z = np.zeros(2 * nv)
            z[k] = _DIFFERENCE
            J[:, k] = (_slope(motion, start, 0.0, z)[0] - base) / _DIFFERENCE
        return J
    derivatives = forward_dynamics_derivatives(motion.mechanism, start.q, start.v, start.torque)
    J[nv:, :nv], J[nv:, nv:] = derivatives.dq, derivatives.dv
    if motion.torque.depends_on_state:
        J[nv:] += derivatives.dtau @ _torque_jacobian(motion, start)
    return J


def _torque_jacobian(motion: Motion, start: Evaluation) -> Floats:
    nv = len(start.v)
    columns = np.empty((nv, 2 * nv))
    for k in range(nv):
        step = np.zeros(nv)
        step[k] = _DIFFERENCE
        moved = motion.torque(start.t, motion.charts.point(start.q, step), start.v)
        faster = motion.torque(start.t, start.q, start.v + step)
        columns[:, k] = (moved - start.torque) / _DIFFERENCE
        columns[:, nv + k] = (faster - start.torque) / _DIFFERENCE
    return columns
