"""How one joint's coordinates, velocities, accelerations and torques read in another engine.

| block | here | there |
|---|---|---|
| Plain | numbers | the same numbers |
| Circle | an angle | its cosine and sine (Pinocchio, joints without limits) |
| PlanarBody | x, y, angle; rates of them | x, y, cosine, sine; velocity in body axes (Pinocchio) |
| Ball | quaternion x y z w | the same, or w x y z (MuJoCo) |
| FreeBody | position, quaternion x y z w; velocity in body axes | the same (Pinocchio); w x y z, linear part in world axes (MuJoCo) |

    world axes:   v_W = R v_B,   a_W = R (a_B + ω x v_B),   f_W = R f_B                                  (1)
    planar:       v_B = Rᵀ v,    a_B = Rᵀ a - ω e x v_B,    f_B = Rᵀ f                                   (2)

Torques do the same work: τ·v here = τ·v there. Copied numbers keep their bits.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "Block", "Circle", "FreeBody", "Plain", "PlanarBody"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """A joint: where its numbers stand here (`q`, `v`) and there (`peer_q`, `peer_v`).

    Methods take arrays (..., n) of this joint alone. `q` is here's, `peer` there's coordinates of the joint.
    """

    q: slice
    v: slice
    peer_q: slice
    peer_v: slice

    def q_to(self, q: Floats) -> Floats:
        return q

    def q_from(self, peer: Floats) -> Floats:
        return peer

    def v_to(self, q: Floats, v: Floats) -> Floats:
        return v

    def v_from(self, q: Floats, v: Floats) -> Floats:
        """Velocity here of one there; q is here's, as in all methods that follow."""
        return v

    def a_to(self, q: Floats, v: Floats, a: Floats) -> Floats:
        return a

    def a_from(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Acceleration here of one there; v is here's."""
        return a

    def tau_to(self, q: Floats, tau: Floats) -> Floats:
        return self.v_to(q, tau)

    def tau_from(self, q: Floats, tau: Floats) -> Floats:
        return self.v_from(q, tau)


@dataclass(frozen=True)
class Plain(Block):
    """Numbers that are the same in both."""


@dataclass(frozen=True)
class Circle(Block):
    """An angle here, a point of the unit circle there."""

    def q_to(self, q: Floats) -> Floats:
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)

    def q_from(self, peer: Floats) -> Floats:
        return np.arctan2(peer[..., 1:], peer[..., :1])


def _turn(angle: Floats, vector: Floats, sign: float) -> Floats:
    c, s = np.cos(angle), sign * np.sin(angle)
    x, y = vector[..., 0], vector[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


@dataclass(frozen=True)
class PlanarBody(Block):
    """Rates of travel here, velocity in body axes there (2)."""

    def q_to(self, q: Floats) -> Floats:
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], axis=-1)

    def q_from(self, peer: Floats) -> Floats:
        return np.concatenate([peer[..., :2], np.arctan2(peer[..., 3:], peer[..., 2:3])], axis=-1)

    def v_to(self, q: Floats, v: Floats) -> Floats:
        return np.concatenate([_turn(q[..., 2], v[..., :2], -1.0), v[..., 2:]], axis=-1)

    def v_from(self, q: Floats, v: Floats) -> Floats:
        return np.concatenate([_turn(q[..., 2], v[..., :2], 1.0), v[..., 2:]], axis=-1)

    def a_to(self, q: Floats, v: Floats, a: Floats) -> Floats:
        result, body = self.v_to(q, a), self.v_to(q, v)
        result[..., 0] += v[..., 2] * body[..., 1]
        result[..., 1] -= v[..., 2] * body[..., 0]
        return result

    def a_from(self, q: Floats, v: Floats, a: Floats) -> Floats:
        a, body = np.array(a), self.v_to(q, v)
        a[..., 0] -= v[..., 2] * body[..., 1]
        a[..., 1] += v[..., 2] * body[..., 0]
        return self.v_from(q, a)


@dataclass(frozen=True)
class Ball(Block):
    """A quaternion; scalar_first: w x y z there."""

    scalar_first: bool = False

    def q_to(self, q: Floats) -> Floats:
        return q[..., [3, 0, 1, 2]] if self.scalar_first else q

    def q_from(self, peer: Floats) -> Floats:
        return peer[..., [1, 2, 3, 0]] if self.scalar_first else peer


@dataclass(frozen=True)
class FreeBody(Block):
    """Position and quaternion; world_linear: the linear velocity is in world axes there (1)."""

    scalar_first: bool = False
    world_linear: bool = False

    def q_to(self, q: Floats) -> Floats:
        return q[..., [0, 1, 2, 6, 3, 4, 5]] if self.scalar_first else q

    def q_from(self, peer: Floats) -> Floats:
        return peer[..., [0, 1, 2, 4, 5, 6, 3]] if self.scalar_first else peer

    def v_to(self, q: Floats, v: Floats) -> Floats:
        return self._turned(q, v, 1.0)

    def v_from(self, q: Floats, v: Floats) -> Floats:
        return self._turned(q, v, -1.0)

    def a_to(self, q: Floats, v: Floats, a: Floats) -> Floats:
        if not self.world_linear:
            return a
        a = np.array(np.broadcast_to(a, np.broadcast_shapes(a.shape, v.shape)))
        a[..., :3] += np.cross(v[..., 3:], v[..., :3])
        return self.v_to(q, a)

    def a_from(self, q: Floats, v: Floats, a: Floats) -> Floats:
        if not self.world_linear:
            return a
        result = np.array(self.v_from(q, a))
        result[..., :3] -= np.cross(v[..., 3:], v[..., :3])
        return result

    def _turned(self, q: Floats, v: Floats, sign: float) -> Floats:
        """The linear part turned by the quaternion (sign 1), or back (-1)."""
        if not self.world_linear:
            return v
        u, w = q[..., 3:6], sign * q[..., 6:]
        length = np.sum(q[..., 3:] ** 2, axis=-1, keepdims=True)
        across = np.cross(u, v[..., :3])
        linear = v[..., :3] + 2.0 * (w * across + np.cross(u, across)) / length
        return np.concatenate(np.broadcast_arrays(linear, v[..., 3:]), axis=-1)
