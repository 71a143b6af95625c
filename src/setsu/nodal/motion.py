"""A sampled motion as a scheme sees it at some of its samples: torques, forces of the links, motion of points.

The batch form looks at all samples, a stepper at one; both come through here, so that their digits are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function, native_function
from setsu.dynamics.springs import spring_wrenches
from setsu.mechanism import Mechanism
from setsu.nodal.exerted import LinkPoint, PointMotion, cross, turn
from setsu.nodal.link_forces import forces_of_motion
from setsu.nodal.samples import Stencils

__all__ = ["ByDifferences", "ByNewmark", "ByRates", "SeenMotion", "spring_torques"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ByDifferences:
    """Derivatives by differences: samples q (N, nq) and one stencil for R of them."""

    m: Mechanism
    samples: Floats
    stencil: Stencils

    @property
    def q(self) -> Floats:
        """Coordinates at the instants."""
        return self.samples[self.stencil.rows]

    @property
    def poses(self) -> Floats:
        """Placements at the instants."""
        return self._poses[0]

    @cached_property
    def _poses(self) -> list[Floats]:
        """Placements at the instants and at the other samples."""
        place = fast_function(self.m, "body_poses")
        return [place(self.samples[rows]) for rows in (self.stencil.at, *self.stencil.others.T)]

    @property
    def rates(self) -> Floats:
        """Joint velocities by the first weights."""
        step = fast_function(self.m, "difference")
        rates = np.zeros((len(self.stencil.at), self.m.nv))
        for rows, weight in zip(self.stencil.others.T, self.stencil.first.T, strict=True):
            if weight.any():
                rates += weight[:, None] * step(self.q, self.samples[rows])
        return rates

    def torques(self) -> Floats:
        """Torques by the kernel of the stencil."""
        return self._kernel("")

    def forces(self) -> Floats:
        """Forces of the links' points by the same differences."""
        return self._kernel(" forces")

    def _kernel(self, what: str) -> Floats:
        s, q = self.stencil, self.samples
        if s.even is not None and isinstance(s.rows, slice):
            start, stop = s.rows.start, s.rows.stop
            before, at, after = q[start - 1 : stop - 1], q[start:stop], q[start + 1 : stop + 1]
            return native_function(self.m, f"nodal_central{what}")(before, at, after, np.array([1.0 / s.even]))
        weights = np.concatenate([s.first, s.second], axis=1)
        return native_function(self.m, f"nodal_weighted{what}")(q[s.at], *(q[rows] for rows in s.others.T), weights)

    def points(self) -> PointMotion:
        """Points by differences of their places."""

        def place(point: LinkPoint, pose: Floats) -> Floats:
            return (
                turn(pose[:, point.body, :3, :3], np.broadcast_to(point.local, (len(pose), 3)))
                + pose[:, point.body, :3, 3]
            )

        def differentiated(values: list[Floats], weights: Floats) -> Floats:
            shape = (-1,) + (1,) * (values[0].ndim - 1)
            total = np.zeros_like(values[0])
            for value, weight in zip(values[1:], weights.T, strict=True):
                if weight.any():
                    total += weight.reshape(shape) * (value - values[0])
            return total

        def places(point: LinkPoint) -> list[Floats]:
            return [place(point, pose) for pose in self._poses]

        return PointMotion(
            position=lambda point: place(point, self.poses),
            velocity=lambda point: differentiated(places(point), self.stencil.first),
            acceleration=lambda point: differentiated(places(point), self.stencil.second),
            rotation=lambda body: self.poses[:, body, :3, :3],
            curve=lambda body: differentiated([pose[:, body, :3, :3] for pose in self._poses], self.stencil.second),
        )


@dataclass(frozen=True)
class ByRates:
    """Velocities and accelerations handed in, or found by a filter: q (R, nq), rates and accelerations (R, nv)."""

    m: Mechanism
    q: Floats
    rates: Floats
    accelerations: Floats

    @cached_property
    def poses(self) -> Floats:
        """Placements at the instants."""
        return fast_function(self.m, "body_poses")(self.q)

    @cached_property
    def _bodies(self) -> tuple[Floats, Floats]:
        """Velocities and accelerations (R, n, 6) of the links."""
        velocities, accelerated = (fast_function(self.m, f"body_{name}") for name in ("velocities", "accelerations"))
        return velocities(self.q, self.rates), accelerated(self.q, self.rates, self.accelerations)

    def torques(self) -> Floats:
        """Torques by Newton-Euler, which is what the nodal forces add up to."""
        return fast_function(self.m, "inverse_dynamics")(self.q, self.rates, self.accelerations)

    def forces(self) -> Floats:
        """Forces of the links' points."""
        V, A = self._bodies
        R = self.poses[..., :3, :3]
        return forces_of_motion(self.m, R, _curve(R, V[..., 3:], A[..., 3:]), A[..., :3])

    def points(self) -> PointMotion:
        """Points by the motion of their links."""
        V, A = self._bodies

        def arm(point: LinkPoint) -> Floats:
            return turn(self.poses[:, point.body, :3, :3], np.broadcast_to(point.local, (len(self.q), 3)))

        def velocity(point: LinkPoint) -> Floats:
            return V[:, point.body, :3] + cross(V[:, point.body, 3:], arm(point))

        def acceleration(point: LinkPoint) -> Floats:
            w, dw = V[:, point.body, 3:], A[:, point.body, 3:]
            return A[:, point.body, :3] + cross(dw, arm(point)) + cross(w, cross(w, arm(point)))

        return PointMotion(
            position=lambda point: arm(point) + self.poses[:, point.body, :3, 3],
            velocity=velocity,
            acceleration=acceleration,
            rotation=lambda body: self.poses[:, body, :3, :3],
            curve=lambda body: _curve(self.poses[:, body, :3, :3], V[:, body, 3:], A[:, body, 3:]),
        )


@dataclass(frozen=True)
class ByNewmark:
    """What the recurrence of kernels/nodal_newmark.py gave: torques (R, nv), forces (R, n, 6), rates (R, nv), and the
    first and second derivatives (R, n, 12) of rotation and origin of each link, in the axes of its last joint.
    """

    m: Mechanism
    q: Floats
    found_torques: Floats
    found_forces: Floats
    rates: Floats
    speeds: Floats
    curves: Floats

    @cached_property
    def poses(self) -> Floats:
        """Placements at the instants."""
        return fast_function(self.m, "body_poses")(self.q)

    def torques(self) -> Floats:
        """Torques as found."""
        return self.found_torques

    def forces(self) -> Floats:
        """Forces of the links' points as found."""
        return self.found_forces

    def points(self) -> PointMotion:
        """Points by the derivatives of their links."""
        axes = self.m.tables.axes[self.m.tables.body_link]

        def moved(derivatives: Floats, point: LinkPoint) -> Floats:
            local = axes[point.body].T @ point.local
            part = derivatives[:, point.body]
            return turn(part[:, :9].reshape(-1, 3, 3), np.broadcast_to(local, (len(part), 3))) + part[:, 9:]

        def curve(body: int) -> Floats:
            D = self.curves[:, body, :9].reshape(-1, 3, 3)
            return np.stack([turn(D, np.broadcast_to(axes[body][k], (len(D), 3))) for k in range(3)], axis=-1)

        return PointMotion(
            position=lambda point: (
                turn(self.poses[:, point.body, :3, :3], np.broadcast_to(point.local, (len(self.q), 3)))
                + self.poses[:, point.body, :3, 3]
            ),
            velocity=lambda point: moved(self.speeds, point),
            acceleration=lambda point: moved(self.curves, point),
            rotation=lambda body: self.poses[:, body, :3, :3],
            curve=curve,
        )


SeenMotion = ByDifferences | ByRates | ByNewmark
"""What a scheme gives at R instants: q (R, nq) at which forces act, poses (R, n, 4, 4) of the links there, rates (R,
nv); torques() of the motion alone, with armature, friction and joint springs; forces() (R, n, 6) of each link's
points, at its origin, world axes; points(), the motion of points."""


def _curve(R: Floats, w: Floats, dw: Floats) -> Floats:
    """Second derivative (..., 3, 3) of rotations: columns dw x r + w x (w x r)."""
    columns = []
    for k in range(3):
        r = R[..., k]
        columns.append(cross(dw, r) + cross(w, cross(w, r)))
    return np.stack(columns, axis=-1)


def spring_torques(m: Mechanism, seen: SeenMotion) -> Floats:
    """Wrenches (R, n, 6) that links exert against the springs between points, at their origins."""
    return -spring_wrenches(m, seen.q, seen.rates)
