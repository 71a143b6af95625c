"""The record that carries states, torques and wrenches to another engine and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics import body_poses
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError
from setsu.interop.joint_blocks import Block
from setsu.mechanism import Mechanism

__all__ = ["StateMap"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StateMap:
    """Exact maps of states between a mechanism and a model of another engine; any leading axes.

    `q_to(q)`, `v_to(q, v)`, `a_to(q, v, a)`, `tau_to(q, tau)`, `wrench_to(q, wrench)` take arrays of the mechanism and
    return the other engine's; `*_from` take the other engine's arrays, its q and v included, and return the
    mechanism's. Torques are those that do the same work. Wrenches here are (..., n_bodies, 6), at body origins, world
    axes, as `external_wrenches` are; there, in the engine's own layout:

        Pinocchio: (..., njoints, 6), force and moment in joint axes, as `fext` of `rnea` and `aba`
        MuJoCo: (..., nbody, 6), force and moment at the body's centre of mass, world axes, as `xfrc_applied`

    wrench_from adds what the other engine applies to links that are welded to a moving body here.

    coordinates, velocities: names of the joints here, in the other engine's order. fixed_q: its coordinates of joints
    that do not exist here.
    """

    mechanism: Mechanism
    engine: str
    joint_names: tuple[str, ...]
    nq: int
    nv: int
    blocks: tuple[Block, ...] = field(repr=False)
    fixed_q: Floats = field(repr=False)
    to_wrench: Callable[[Floats, Floats], Floats] = field(repr=False)
    from_wrench: Callable[[Floats, Floats], Floats] = field(repr=False)

    def q_to(self, q: ArrayLike) -> Floats:
        """Return the other engine's coordinates (..., nq there) of coordinates (..., nq)."""
        q = self._taken(q, self.mechanism.nq, "q_to: q")
        result = np.array(np.broadcast_to(self.fixed_q, (*q.shape[:-1], self.nq)))
        for block in self.blocks:
            result[..., block.peer_q] = block.q_to(q[..., block.q])
        return result

    def q_from(self, q: ArrayLike) -> Floats:
        """Return coordinates (..., nq) of the other engine's (..., nq there); angles of circles within ±pi."""
        peer = self._taken(q, self.nq, "q_from: q")
        result = np.zeros((*peer.shape[:-1], self.mechanism.nq))
        for block in self.blocks:
            result[..., block.q] = block.q_from(peer[..., block.peer_q])
        return result

    def v_to(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Return the other engine's velocities (..., nv there)."""
        q = self._taken(q, self.mechanism.nq, "v_to: q")
        v = self._taken(v, self.mechanism.nv, "v_to: v")
        return self._there("v_to", lambda b: b.v_to(q[..., b.q], v[..., b.v]), q, v)

    def v_from(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Return velocities (..., nv) of the other engine's q and v."""
        own, v = self.q_from(q), self._taken(v, self.nv, "v_from: v")
        return self._here("v_from", lambda b: b.v_from(own[..., b.q], v[..., b.peer_v]), own, v)

    def a_to(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
        """Return the other engine's accelerations (..., nv there): time derivatives of its velocities."""
        q = self._taken(q, self.mechanism.nq, "a_to: q")
        v = self._taken(v, self.mechanism.nv, "a_to: v")
        a = self._taken(a, self.mechanism.nv, "a_to: a")
        return self._there("a_to", lambda b: b.a_to(q[..., b.q], v[..., b.v], a[..., b.v]), q, v, a)

    def a_from(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
        """Return accelerations (..., nv) of the other engine's q, v and a."""
        own, speed = self.q_from(q), self.v_from(q, v)
        a = self._taken(a, self.nv, "a_from: a")
        compute = lambda b: b.a_from(own[..., b.q], speed[..., b.v], a[..., b.peer_v])  # noqa: E731
        return self._here("a_from", compute, own, speed, a)

    def tau_to(self, q: ArrayLike, tau: ArrayLike) -> Floats:
        """Return the other engine's torques (..., nv there) that do the work of torques (..., nv)."""
        q = self._taken(q, self.mechanism.nq, "tau_to: q")
        tau = self._taken(tau, self.mechanism.nv, "tau_to: tau")
        return self._there("tau_to", lambda b: b.tau_to(q[..., b.q], tau[..., b.v]), q, tau)

    def tau_from(self, q: ArrayLike, tau: ArrayLike) -> Floats:
        """Return torques (..., nv) that do the work of the other engine's."""
        own, tau = self.q_from(q), self._taken(tau, self.nv, "tau_from: tau")
        return self._here("tau_from", lambda b: b.tau_from(own[..., b.q], tau[..., b.peer_v]), own, tau)

    def wrench_to(self, q: ArrayLike, wrench: ArrayLike) -> Floats:
        """Return wrenches on bodies (..., n_bodies, 6) in the other engine's layout."""
        q = self._taken(q, self.mechanism.nq, "wrench_to: q")
        w = finite_array(wrench, (self.mechanism.n_bodies, 6), f"{self.engine} wrench_to: wrench")
        return self.to_wrench(body_poses(self.mechanism, q), w)

    def wrench_from(self, q: ArrayLike, wrench: ArrayLike) -> Floats:
        """Return wrenches (..., n_bodies, 6) at body origins, world axes, of the other engine's q and wrenches."""
        w = np.asarray(wrench, dtype=np.float64)
        return self.from_wrench(body_poses(self.mechanism, self.q_from(q)), w)

    def _taken(self, value: ArrayLike, size: int, what: str) -> Floats:
        return finite_array(value, (size,), f"{self.engine} {what}")

    def _there(self, function: str, of_block: Callable[[Block], Floats], *given: Floats) -> Floats:
        result = np.zeros((*self._batch(function, *given), self.nv))
        for block in self.blocks:
            result[..., block.peer_v] = of_block(block)
        return result

    def _here(self, function: str, of_block: Callable[[Block], Floats], *given: Floats) -> Floats:
        result = np.zeros((*self._batch(function, *given), self.mechanism.nv))
        for block in self.blocks:
            result[..., block.v] = of_block(block)
        return result

    def _batch(self, function: str, *given: Floats) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*(one.shape[:-1] for one in given))
        except ValueError:
            axes = ", ".join(str(one.shape[:-1]) for one in given)
            raise InputError(f"{self.engine} {function}: leading axes do not broadcast: {axes}") from None
