"""The paper's own method: forward dynamics out of repeated inverse dynamics, plain Runge-Kutta, no projection.

| symbol | meaning | unit |
|---|---|---|
| INV(q, v, a, g, f_n, K) | inverse dynamics with f_n and K f_n acting on the hand | N m |
| b, M | INV(q, v, 0, g, 0, K); columns INV(q, 0, e_i, 0, 0, K) | N m, kg m² |
| j_c, j_t | INV(q, 0, 0, 0, -1, 0); j_c - INV(q, 0, 0, 0, -1, 1) | m |
| f_n, f_t | force of the floor, friction K f_n against the hand's motion | N |

    m_c = j_cᵀ M⁻¹ j_c,  d = M⁻¹ j_c,  a = dᵀ b - (dJ/dt v)_z                      (1)  (14), (16), (18), (22)
    (m_c - dᵀ j_t K) f_n = a - dᵀ tau                                              (2)  (20), (21)
    q'' = M⁻¹ (tau - b + (j_c - j_t K) f_n)                                        (3)  (35)

Corrections as on the page: (29) is the rate of the hand's Jacobian, (33) needs the real sliding direction (none at
rest: f_t = 0). f_n is solved anew in every stage. The surface is the floor z = 0, so that the gradient is the unit
vector up. Nothing keeps the hand on the floor but (2): it drifts by the error of the integration, and where the hand
should stick, f_t = K f_n changes its sign with every sign of the velocity and the trace chatters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import inverse_dynamics, point_jacobian, point_jacobian_rate
from setsu.mechanism import Mechanism, with_gravity
from setsu.reproduce.nishiguchi2014.arms import LENGTH, STEP, Motion, Run, arm, describe

__all__ = ["run_by_paper"]

Floats = NDArray[np.float64]

_UP = np.array([0.0, 0.0, 1.0])
_HAND = (0.0, 0.0, LENGTH)


@dataclass(frozen=True)
class _Solved:
    acceleration: Floats
    normal: float
    friction: Floats


def run_by_paper(motion: Motion, inertia: float, duration: float | None = None) -> Run:
    """Integrate a motion of the paper by its own equations; f_n < 0 would pull, as the paper's constraint may."""
    m = arm(motion.links, inertia)
    bare = _bare(m)
    count = round((duration or motion.duration) / STEP)
    q, v = np.array(motion.start), np.zeros(motion.links)
    rows: list[tuple[Floats, Floats, Floats, float, Floats, Floats]] = []
    for k in range(count + 1):
        t = k * STEP
        now = _solve(m, bare, motion, t, q, v)
        rows.append((q, v, now.acceleration, now.normal, now.friction, motion.drive(t, q, v)))
        q, v = _runge_kutta(m, bare, motion, t, q, v, now.acceleration)
    Q, V, A, normal, friction, torque = (np.array(part) for part in zip(*rows, strict=True))
    return describe(m, np.arange(count + 1, dtype=np.float64) * STEP, Q, V, A, torque, normal, friction)


def _bare(m: Mechanism) -> Mechanism:
    """The arm without gravity and joint friction: INV with g = 0 and v = 0."""
    bodies = tuple(replace(body, joint=replace(body.joint, damping=(0.0,) * body.joint.nv)) for body in m.bodies)
    return with_gravity(replace(m, bodies=bodies), (0.0, 0.0, 0.0))


def _solve(m: Mechanism, bare: Mechanism, motion: Motion, t: float, q: Floats, v: Floats) -> _Solved:
    n, hand = motion.links, f"link{motion.links}"
    zero = np.zeros(n)
    b = inverse_dynamics(m, q, v, zero)
    M = inverse_dynamics(bare, np.tile(q, (n, 1)), np.zeros((n, n)), np.eye(n)).T
    J, dJ = point_jacobian(m, q, hand, _HAND), point_jacobian_rate(m, q, v, hand, _HAND)
    velocity = J @ v
    speed = float(np.linalg.norm(velocity))
    sliding = velocity / speed if speed > 0.0 else np.zeros(3)
    j_c, j_t = J.T @ _UP, J.T @ sliding
    d = np.linalg.solve(M, j_c)
    tau = motion.drive(t, q, v)
    a = d @ b - (dJ @ v)[2]  # (1)
    f_n = (a - d @ tau) / (j_c @ d - d @ j_t * motion.friction)  # (2)
    acceleration = np.linalg.solve(M, tau - b + (j_c - j_t * motion.friction) * f_n)  # (3)
    return _Solved(acceleration, float(f_n), -motion.friction * f_n * sliding)


def _runge_kutta(
    m: Mechanism, bare: Mechanism, motion: Motion, t: float, q: Floats, v: Floats, first: Floats
) -> tuple[Floats, Floats]:
    h = STEP
    v1, a1 = v, first
    v2 = v + 0.5 * h * a1
    a2 = _solve(m, bare, motion, t + 0.5 * h, q + 0.5 * h * v1, v2).acceleration
    v3 = v + 0.5 * h * a2
    a3 = _solve(m, bare, motion, t + 0.5 * h, q + 0.5 * h * v2, v3).acceleration
    v4 = v + h * a3
    a4 = _solve(m, bare, motion, t + h, q + h * v3, v4).acceleration
    return q + h / 6.0 * (v1 + 2 * v2 + 2 * v3 + v4), v + h / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4)
