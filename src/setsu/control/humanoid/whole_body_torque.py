"""Torques that move a whole body as wanted, by ground forces that soles can get: one quadratic program per sample.

| symbol | meaning | unit |
|---|---|---|
| a, v | accelerations and velocities of all joints, the free one first | m/s², rad/s² |
| M, h | mass matrix; torques that go with a = 0 | kg ..., N m |
| f | forces on the corners of soles that stand, world axes | N |
| G | rows that turn f into joint torques, Σ J'f | |
| A, b | rows and wanted values of tasks, each times the root of its weight | |

    minimise  |A a - b|² + Σ ε_i |f_i|²                                                        (1)
    M a + h = G f  in the rows of the free joint, which has no motor                           (2)
    |f_x|, |f_y| <= μ f_z,  f_z >= 0  at each corner                                           (3)
    joints stop at their ends:  q + v t + a t²/2 within the limits for t = 20 ms               (4)
    τ = M a + h - G f                                                                          (5)

A force in (3) that has a small share of the weight costs more (ε_i): a foot about to be lifted is unloaded first.

    wrenches on the feet over the last step:  J_i' w_i = M (v - v_before)/h + h_before - τ     (6)

in the rows of each leg's own joints: what acts on the torso does not disturb it.

Source: Herzog et al. 2016, Momentum control with hierarchical inverse dynamics; Del Prete et al. 2016. Solved by daqp.
Cost: two sweeps over the bodies, a few Jacobians, and the program, of nv + 12 or 24 unknowns: below a millisecond.
Refuses: daqp not installed. A program without solution returns None.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.biped import Biped
from setsu.dynamics import center_of_mass, frame_acceleration, frame_jacobian, inverse_dynamics, mass_matrix
from setsu.errors import InputError

__all__ = ["BodyState", "WholeBodyTorque", "body_state", "foot_wrenches"]

Floats = NDArray[np.float64]

_EQUALITY, _OPTIMAL, _FAR = 5, 1, 1e30  # of daqp
_AHEAD = 0.02  # s, for (4)
_BRAKING = 500.0  # rad/s², what (4) asks for at most
_FORCE_COST = 1e-4  # of 1 N² in (1), where accelerations of 1 m/s² cost their weight


@dataclass(frozen=True, eq=False)
class BodyState:
    """What a sample is computed from, world axes. Pairs: left and right foot, at the middle of the sole."""

    q: Floats
    v: Floats
    mass_matrix: Floats  # (nv, nv)
    bias: Floats  # (nv,), torques that go with a = 0
    com: Floats  # (3,), m
    com_jacobian: Floats  # (3, nv)
    com_bias: Floats  # (3,), m/s², of a = 0
    torso: Floats  # (4, 4)
    feet: tuple[Floats, Floats]  # (4, 4), at the middle of the sole
    corners: tuple[Floats, Floats]  # (4, 3) from the middle of the sole, m
    jacobians: tuple[Floats, Floats]  # (6, nv)
    biases: tuple[Floats, Floats]  # (6,), accelerations of a = 0


def body_state(biped: Biped, q: Floats, v: Floats) -> BodyState:
    """Return what a sample needs of a body at coordinates (nq,) and velocities (nv,)."""
    m = biped.mechanism
    rest = np.zeros(m.nv)
    M, h = mass_matrix(m, q), inverse_dynamics(m, q, v, rest)
    base = biped.pose_of(q, m.body_names[0])[:3, :3]
    feet, corners, jacobians, biases = [], [], [], []
    for side, foot in enumerate(biped.feet):
        center = biped.sole_centers[side]
        T = biped.pose_of(q, foot)
        R = T[:3, :3]
        T = T.copy()
        T[:3, 3] += R @ center
        feet.append(T)
        corners.append((biped.soles[side] - center) @ R.T)
        jacobians.append(frame_jacobian(m, q, foot, center))
        biases.append(frame_acceleration(m, q, v, rest, foot, center))
    # The first rows are what moves the centre of mass: m c'' = m g + the force on the free joint, in its axes.
    return BodyState(
        q=q,
        v=v,
        mass_matrix=M,
        bias=h,
        com=center_of_mass(m, q),
        com_jacobian=base @ M[:3] / m.total_mass,
        com_bias=base @ h[:3] / m.total_mass + m.gravity,
        torso=biped.pose_of(q, biped.torso),
        feet=(feet[0], feet[1]),
        corners=(corners[0], corners[1]),
        jacobians=(jacobians[0], jacobians[1]),
        biases=(biases[0], biases[1]),
    )


def foot_wrenches(biped: Biped, before: BodyState, torque: Floats, v: Floats, step: float) -> Floats:
    """Return the wrenches (2, 6) on the feet that brought the velocities to v within a step (s), by (6).

    They act at the middles of the soles, world axes, N and N m.
    """
    left_over = before.mass_matrix @ (v - before.v) / step + before.bias - torque
    found = np.empty((2, 6))
    for side, leg in enumerate(biped.legs):
        rows = before.jacobians[side][:, leg]
        # Damped: a straight knee does not feel what goes along the leg.
        found[side] = np.linalg.solve(rows @ rows.T + 1e-9 * np.eye(6), rows @ left_over[leg])
    return found


class WholeBodyTorque:
    """Tasks of one sample, and the torques that serve them (1) to (5).

    >>> import numpy as np, setsu
    >>> from setsu.control.humanoid import Biped, standing_posture
    >>> from setsu.control.humanoid.whole_body_torque import WholeBodyTorque, body_state
    >>> biped = Biped(setsu.sample_mechanisms.hoap1_like())
    >>> tasks = WholeBodyTorque(biped, body_state(biped, standing_posture(biped), np.zeros(26)))
    >>> tasks.add(np.eye(26), np.zeros(26), 1.0)
    >>> tasks.solve(np.array([True, True]), np.array([0.5, 0.5])).shape
    (26,)
    """

    def __init__(self, biped: Biped, state: BodyState) -> None:
        self.biped, self.state = biped, state
        self._rows: list[Floats] = []
        self._values: list[Floats] = []

    def add(self, rows: Floats, wanted: Floats, weight: float | Floats) -> None:
        """Ask for rows (k, nv) @ a = wanted (k,) with a weight, one number or (k,)."""
        root = np.sqrt(np.broadcast_to(weight, wanted.shape))
        self._rows.append(rows * root[:, None])
        self._values.append(wanted * root)

    def solve(self, standing: NDArray[np.bool_], shares: Floats, friction: float = 0.5) -> Floats | None:
        """Return the torques (nv,), zero at the free joint, or None where (2) to (4) exclude each other.

        standing (2,): soles on the ground. shares (2,): of the weight, that they are to carry. friction: μ of (3),
        below what the ground has.
        """
        daqp: Any = _package()
        s, m = self.state, self.biped.mechanism
        n = m.nv
        G = [
            s.jacobians[i][:3].T + _crossed(s.jacobians[i][3:], corner).T
            for i in range(2)
            if standing[i]
            for corner in s.corners[i]
        ]
        G = np.hstack(G) if G else np.zeros((n, 0))
        size = n + G.shape[1]
        A, b = np.concatenate(self._rows), np.concatenate(self._values)
        H, linear = np.zeros((size, size)), np.zeros(size)
        H[:n, :n], linear[:n] = A.T @ A, -A.T @ b
        costs = np.concatenate(
            [np.full(n, 1e-9), *(np.full(12, _FORCE_COST / shares[i]) for i in range(2) if standing[i])]
        )
        H[np.arange(size), np.arange(size)] += costs
        cones = _cones(G.shape[1] // 3, friction)
        C = np.zeros((6 + len(cones), size))
        C[:6, :n], C[:6, n:], C[6:, n:] = s.mass_matrix[:6], -G[:6], cones
        low, high = np.full(size, -_FAR), np.full(size, _FAR)
        low[n + 2 :: 3] = 0.0
        low[:n], high[:n] = self._stops()
        fixed = -s.bias[:6]
        upper = np.concatenate([high, fixed, np.zeros(len(cones))])
        lower = np.concatenate([low, fixed, np.full(len(cones), -_FAR)])
        sense = np.zeros(len(upper), dtype=np.int32)
        sense[size : size + 6] = _EQUALITY
        x, _, flag, _ = daqp.solve(H, linear, C, upper, lower, sense)
        if flag < _OPTIMAL:
            return None
        x = np.array(x)
        torque = s.mass_matrix @ x[:n] + s.bias - G @ x[n:]  # (5)
        torque[:6] = 0.0
        return torque

    def _stops(self) -> tuple[Floats, Floats]:
        """Least and largest accelerations (nv,) by (4); none where both cannot hold."""
        m, s = self.biped.mechanism, self.state
        low, high = np.full(m.nv, -_FAR), np.full(m.nv, _FAR)
        where, single = self.biped.single_coordinates
        here, rate = s.q[where], s.v[single]
        high[single] = np.clip(2.0 * (m.upper[single] - here - rate * _AHEAD) / _AHEAD**2, -_BRAKING, _FAR)
        low[single] = np.clip(2.0 * (m.lower[single] - here - rate * _AHEAD) / _AHEAD**2, -_FAR, _BRAKING)
        torn = low > high
        low[torn], high[torn] = -_FAR, _FAR
        return low, high


def _crossed(angular: Floats, arm: Floats) -> Floats:
    """Rows of ω × arm for rows of ω (3, nv)."""
    x, y, z = arm
    return np.stack([z * angular[1] - y * angular[2], x * angular[2] - z * angular[0], y * angular[0] - x * angular[1]])


@lru_cache
def _cones(count: int, friction: float) -> Floats:
    """Rows (4 count, 3 count) of (3)."""
    one = np.array([[1.0, 0, -friction], [-1.0, 0, -friction], [0, 1.0, -friction], [0, -1.0, -friction]])
    return np.kron(np.eye(count), one).astype(np.float64)


def _package() -> Any:
    try:
        import daqp
    except ImportError:
        raise InputError("Stabiliser needs daqp: pip install setsu[kinematics]") from None
    return daqp
