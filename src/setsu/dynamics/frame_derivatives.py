"""Derivatives of frames' velocities, accelerations and Jacobians and of the momentum, in tangent coordinates.

| symbol | meaning | unit |
|---|---|---|
| S, V, A | motion of a velocity; spatial velocity and acceleration of a body, about the world's origin | |
| X | what a body sees of the change of its velocity: ∂V = S x V + X  (kernels/motion_columns.py) | |
| x, w, α | a point of the body; angular velocity and acceleration | m, rad/s, rad/s² |
| I, p | spatial inertia of a body, its momentum I V; c: centre of mass | |

    ∂x = S_l + S_a x x,   velocity u = V_l + w x x,   ∂u = ∂V_l + ∂w x x + w x ∂x                   (1)
    acceleration A_l + α x x + w x u:  ∂A_l + ∂α x x + α x ∂x + ∂w x u + w x ∂u                     (2)
    ∂J/∂q_k = dJ/dt at the velocity e_k                                                             (3)
    ∂p/∂q = S x* p + I X,   ∂p/∂v = I S,   L_c = L - c x P                                          (4)

Exact, world axes. The derivative of a frame's pose is its Jacobian: rows of its point, then of its turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.energy import center_of_mass, center_of_mass_jacobian
from setsu.dynamics.frames import frame_jacobian_rate
from setsu.dynamics.kinematics import body_poses
from setsu.dynamics.motion_derivatives import MotionDerivatives, cross
from setsu.dynamics.numbers import finite_array
from setsu.mechanism import Mechanism

__all__ = [
    "FrameAccelerationDerivatives",
    "FrameVelocityDerivatives",
    "MomentumDerivatives",
    "frame_acceleration_derivatives",
    "frame_jacobian_derivatives",
    "frame_velocity_derivatives",
    "momentum_derivatives",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FrameVelocityDerivatives:
    """Derivatives (..., 6, nv) of `frame_velocity` by the configuration (dq) and the velocities (dv)."""

    dq: Floats
    dv: Floats


@dataclass(frozen=True)
class FrameAccelerationDerivatives:
    """Derivatives (..., 6, nv) of `frame_acceleration` by the configuration, the velocities and the accelerations."""

    dq: Floats
    dv: Floats
    da: Floats


@dataclass(frozen=True)
class MomentumDerivatives:
    """Derivatives (..., 6, nv) of `momentum` by the configuration (dq) and the velocities (dv)."""

    dq: Floats
    dv: Floats


def frame_velocity_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> FrameVelocityDerivatives:
    """Return the exact derivatives of the velocity of a point of a frame (m, its axes) and of its angular velocity.

    q (..., nq), v (..., nv).

    >>> import setsu
    >>> d = frame_velocity_derivatives(setsu.sample_mechanisms.planar_arm(2), [0.0, 0.0], [1.0, 0.0], "tip")
    >>> d.dq.shape, d.dv.shape
    ((6, 2), (6, 2))
    """
    state = _State(mechanism, "frame_velocity_derivatives", q, v, None)
    moved = state.at(frame, point)
    return FrameVelocityDerivatives(state.given(moved.velocity[:, 0]), state.given(moved.velocity[:, 1]))


def frame_acceleration_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> FrameAccelerationDerivatives:
    """Return the exact derivatives of the acceleration of a point of a frame and of its angular acceleration.

    q (..., nq), v, a (..., nv); point: m, in the frame's axes.

    >>> import setsu
    >>> arm = setsu.sample_mechanisms.planar_arm(2)
    >>> frame_acceleration_derivatives(arm, [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], "tip").dq.shape
    (6, 2)
    """
    state = _State(mechanism, "frame_acceleration_derivatives", q, v, a)
    moved = state.at(frame, point)
    by_q, by_v = moved.acceleration[:, 0], moved.acceleration[:, 1]
    return FrameAccelerationDerivatives(state.given(by_q), state.given(by_v), state.given(moved.velocity[:, 1]))


def frame_jacobian_derivatives(
    mechanism: Mechanism, q: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Floats:
    """Return the exact derivatives (..., 6, nv, nv) of `frame_jacobian`: the last axis runs over the configuration (3).

    >>> import setsu
    >>> frame_jacobian_derivatives(setsu.sample_mechanisms.planar_arm(2), [0.1, 0.2], "tip").shape
    (6, 2, 2)
    """
    m = mechanism
    require_mechanism(m, "frame_jacobian_derivatives")
    configuration = finite_array(q, (m.nq,), "frame_jacobian_derivatives: q")
    where = finite_array(point, (3,), "frame_jacobian_derivatives: point")
    along = np.broadcast_to(np.eye(m.nv), (*configuration.shape[:-1], m.nv, m.nv))
    repeated = np.repeat(configuration[..., None, :], m.nv, axis=-2)
    if m.nv == 0:
        return np.zeros((*configuration.shape[:-1], 6, 0, 0))
    rates = frame_jacobian_rate(m, repeated, along.copy(), frame, where)
    return np.moveaxis(rates, -3, -1)


def momentum_derivatives(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> MomentumDerivatives:
    """Return the exact derivatives of `momentum`, about the centre of mass (4); dv is the `centroidal_matrix`.

    >>> import setsu
    >>> momentum_derivatives(setsu.sample_mechanisms.planar_arm(2), [0.1, 0.2], [1.0, 2.0]).dq.shape
    (6, 2)
    """
    state = _State(mechanism, "momentum_derivatives", q, v, None)
    by_q, by_v, p = state.motion.momentum(body_poses(mechanism, state.q))
    c, dc = center_of_mass(mechanism, state.q)[:, None], np.swapaxes(center_of_mass_jacobian(mechanism, state.q), 1, 2)
    by_q[..., 3:] -= cross(dc, p[:, None, :3]) + cross(c, by_q[..., :3])
    by_v[..., 3:] -= cross(c, by_v[..., :3])
    return MomentumDerivatives(state.given(by_q), state.given(by_v))


@dataclass(frozen=True)
class _Moved:
    """Derivatives (N, 2, nv, 6) of a point's velocity and acceleration, by coordinates and by velocities."""

    velocity: Floats
    acceleration: Floats


class _State:
    """States as a flat batch (N, ...), and the motion of all bodies there."""

    def __init__(self, m: Mechanism, what: str, q: ArrayLike, v: ArrayLike, a: ArrayLike | None) -> None:
        require_mechanism(m, what)
        arrays = [finite_array(q, (m.nq,), f"{what}: q"), finite_array(v, (m.nv,), f"{what}: v")]
        arrays.append(np.zeros(m.nv) if a is None else finite_array(a, (m.nv,), f"{what}: a"))
        self.shape = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        self.q, self.v, self.a = (
            np.ascontiguousarray(np.broadcast_to(x, (*self.shape, x.shape[-1])).reshape(-1, x.shape[-1]))
            for x in arrays
        )
        self.mechanism, self.what = m, what
        self.motion = MotionDerivatives(m, self.q, self.v, self.a)

    def given(self, columns: Floats) -> Floats:
        """Columns (N, nv, 6) as the caller wants them, (..., 6, nv)."""
        return np.ascontiguousarray(np.swapaxes(columns, -1, -2)).reshape(*self.shape, 6, -1)

    def at(self, frame: str, point: ArrayLike) -> _Moved:
        """(1), (2)."""
        m, motion, n = self.mechanism, self.motion, self.mechanism.nv
        where = m.frame(frame)
        place = where.pose.matrix[:3, :3] @ finite_array(point, (3,), f"{self.what}: point") + where.pose.matrix[:3, 3]
        body = np.array([where.body])
        T = body_poses(m, self.q)[:, where.body] if where.body >= 0 else np.broadcast_to(np.eye(4), (len(self.q), 4, 4))
        x = (T[:, :3, :3] @ place + T[:, :3, 3])[:, None]
        V, A = motion.V[:, where.body, None], motion.A[:, where.body, None]
        S, dV, dA = motion.displacement(body)[:, 0], motion.velocity(body)[:, 0], motion.acceleration(body)[:, 0]
        dx = S[..., :3] + cross(S[..., 3:], x)
        w, alpha, u = V[..., 3:], A[..., 3:], V[..., :3] + cross(V[..., 3:], x)
        du = dV[..., :3] + cross(dV[..., 3:], x) + cross(w, dx)
        da = dA[..., :3] + cross(dA[..., 3:], x) + cross(alpha, dx) + cross(dV[..., 3:], u) + cross(w, du)
        velocity, acceleration = (
            np.concatenate([linear, d[..., 3:]], axis=-1).reshape(-1, 2, n, 6) for linear, d in ((du, dV), (da, dA))
        )
        return _Moved(velocity, acceleration)
