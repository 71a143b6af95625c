"""A planned motion of a biped: coordinates, their derivatives, ground wrenches and the joint torques that go with it.

Symbols (world axes)
    q, v, a      coordinates, velocities, accelerations at samples h apart
    f, n         force, and moment about the origin, by which the ground must act to give the motion, N, N m
    p            zero-moment point on the ground, whose height is z, m
    c_i, s_i     middle of sole i, m, and its share of the ground's wrench; Σ s_i = 1

Equations
    (1)  v[k+½] = (q[k+1] ⊖ q[k]) / h,  v[k] = (v[k+½] + v[k-½]) / 2,  a[k] = (v[k+½] - v[k-½]) / h
    (2)  (f, n) from the first six rows of the inverse dynamics, moved to the origin
    (3)  p = (z f_x - n_y, z f_y + n_x) / f_z
    (4)  s_1 = clip((p - c_0)·(c_1 - c_0) / |c_1 - c_0|², 0, 1) with both feet on the ground, else 1 for the one that is
    (5)  foot i takes s_i f at c_i + (p - Σ s_j c_j) and the twisting moment s_i (n_z - (p × f)_z)
    (6)  τ = inverse dynamics of (q, v, a) under (5): zero at the free joint

Source: (3) Vukobratovic and Borovac 2004; (4), (5) are our choice among all that (2) allows.
Cost: two inverse dynamics per sample, in batches.
Refuses: no motion; where no foot is on the ground (5) is zero and the free joint shows what the plan lacks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.biped import Biped
from setsu.dynamics import difference, inverse_dynamics

__all__ = ["Motion", "ground_wrench", "planned_motion", "zero_moment_point"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a planned motion.

    time (T,) s; q (T, nq); v, a, torque (T, nv); feet (T, 2, 3): middles of the soles, m; support (T, 2): which soles
    are on the ground; zmp (T, 2), m: of the whole body, NaN in flight; ground_force (T, 3): what it asks for, N.
    Entries of `torque` at the free joint are what the plan lacks: zero up to rounding, but for the flight of a jump.
    """

    biped: Biped
    time: Floats
    q: Floats
    v: Floats
    a: Floats
    torque: Floats
    feet: Floats
    support: NDArray[np.bool_]
    zmp: Floats
    ground_force: Floats

    def index(self, t: float) -> int:
        """Number of the sample nearest to a time; the ends hold beyond them."""
        step = self.time[1] - self.time[0]
        return min(max(round((t - self.time[0]) / step), 0), len(self.time) - 1)

    def after(self, t: float) -> Motion:
        """Return the rest of the motion from the sample nearest to time t on, which becomes time 0."""
        k = self.index(t)
        return Motion(
            biped=self.biped,
            time=self.time[k:] - self.time[k],
            q=self.q[k:],
            v=self.v[k:],
            a=self.a[k:],
            torque=self.torque[k:],
            feet=self.feet[k:],
            support=self.support[k:],
            zmp=self.zmp[k:],
            ground_force=self.ground_force[k:],
        )

    # A servo with contact acts at the end of the step that begins at t: there the joints are to be at the next sample,
    # having come there with the velocity between the two, under the torque that changes velocities at this one.

    def position(self, t: float) -> Floats:
        """Return the coordinates (nq,) a servo is to reach with the step that begins at time t."""
        return self.q[min(self.index(t) + 1, len(self.q) - 1)]

    def velocity(self, t: float) -> Floats:
        """Return the velocities (nv,) with which it gets there."""
        k = self.index(t)
        return 0.5 * (self.v[k] + self.v[min(k + 1, len(self.v) - 1)])

    def feed_forward(self, t: float) -> Floats:
        """Return the torques (nv,) of the drives, zero at the free joint, for the step that begins at time t."""
        torque = self.torque[self.index(t)].copy()
        torque[:6] = 0.0
        return torque


def planned_motion(
    biped: Biped,
    time: Floats,
    q: Floats,
    feet: Floats,
    support: NDArray[np.bool_],
    ground: Floats | float = 0.0,
) -> Motion:
    """Return the motion through coordinates (T, nq) at evenly spaced times, with torques by (1) to (6).

    ground: height (T,) of the zero-moment point, m.
    """
    height = np.broadcast_to(ground, time.shape)
    m = biped.mechanism
    h = float(time[1] - time[0])
    between = difference(m, q[:-1], q[1:]) / h
    before, after = np.vstack([between[:1], between]), np.vstack([between, between[-1:]])
    v, a = 0.5 * (before + after), (after - before) / h  # (1)
    force, moment = ground_wrench(biped, q, v, a)
    flying = ~support.any(axis=1)
    zmp = np.full((len(q), 2), np.nan)
    zmp[~flying] = zero_moment_point(force[~flying], moment[~flying], height[~flying])
    shares = _shares(zmp, feet[:, :, :2], support)
    wrenches = _foot_wrenches(biped, q, force, moment, np.column_stack([zmp, height]), feet, shares)
    torque = inverse_dynamics(m, q, v, a, external_wrenches=wrenches)  # (6)
    return Motion(biped, time, q, v, a, torque, feet, support, zmp, force)


def ground_wrench(biped: Biped, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Return the force (T, 3), N, and moment about the origin (T, 3), N m, the ground must give; world axes."""
    m = biped.mechanism
    base = inverse_dynamics(m, q, v, a)[:, :6]
    T = biped.pose_of(q, m.body_names[0])
    force = np.einsum("tij,tj->ti", T[:, :3, :3], base[:, :3])
    moment = np.einsum("tij,tj->ti", T[:, :3, :3], base[:, 3:]) + np.cross(T[:, :3, 3], force)  # (2)
    return force, moment


def zero_moment_point(force: Floats, moment: Floats, height: Floats | float = 0.0) -> Floats:
    """Return where at a height (m) a force (..., 3), N, does not tip, (..., 2), m.

    moment: about the origin (..., 3), N m. height: one number or (...).
    """
    z = np.asarray(height)
    x, y = z * force[..., 0] - moment[..., 1], z * force[..., 1] + moment[..., 0]
    return np.stack([x, y], axis=-1) / force[..., 2:]  # (3)


def _shares(zmp: Floats, centers: Floats, support: NDArray[np.bool_]) -> Floats:
    """Share of either foot in the ground's wrench (T, 2)."""
    left, right = support.T
    apart = centers[:, 1] - centers[:, 0]
    along = np.sum((zmp - centers[:, 0]) * apart, axis=1) / np.sum(apart * apart, axis=1)
    share = np.where(left & right, np.clip(along, 0.0, 1.0), right)  # (4)
    return np.stack([np.where(left | right, 1.0 - share, 0.0), share], axis=1)


def _foot_wrenches(
    biped: Biped, q: Floats, force: Floats, moment: Floats, zmp: Floats, feet: Floats, shares: Floats
) -> Floats:
    """Return the wrenches on all bodies at their origins (T, n_bodies, 6), zero but on the feet."""
    m = biped.mechanism
    wrenches = np.zeros((len(q), m.n_bodies, 6))
    p = np.where(np.isnan(zmp), 0.0, zmp)
    beside = p - np.sum(shares[:, :, None] * feet, axis=1)
    twist = moment[:, 2] - (p[:, 0] * force[:, 1] - p[:, 1] * force[:, 0])
    for side, foot in enumerate(biped.feet):
        body = m.frame(foot).body
        origin = biped.pose_of(q, m.body_names[body])[:, :3, 3]
        place = feet[:, side] + beside
        share = shares[:, side, None]
        wrenches[:, body, :3] += share * force  # (5)
        wrenches[:, body, 3:] += np.cross(place - origin, share * force)
        wrenches[:, body, 5] += shares[:, side] * twist
    return wrenches
