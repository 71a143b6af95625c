"""Pushes of a simulator: forces and torques that stay on bodies through a step or a run, at points fixed to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses, frame_jacobian
from setsu.mechanism import Mechanism

__all__ = ["Push", "pushed_torque", "pushed_wrenches"]

Floats = NDArray[np.float64]


class Push(NamedTuple):
    """A wrench on a body, force first: force (N) at the point, torque (N m), world axes."""

    body: int
    point: Floats  # (3,) m, body frame
    wrench: Floats  # (6,)


def pushed_torque(m: Mechanism, pushes: Sequence[Push], q: Floats) -> Floats:
    """Return what pushes do to the joints at states q (T, nq): (T, nv), N m or N; the bits of `clock.drive`."""
    total = np.zeros((len(q), m.nv))
    for push in pushes:
        jacobian = frame_jacobian(m, q, m.body_names[push.body], push.point)
        for j in range(6):
            total += jacobian[:, j] * push.wrench[j]
    return total


def pushed_wrenches(m: Mechanism, pushes: Sequence[Push], q: Floats) -> Floats:
    """Return the wrenches of pushes on bodies at their origins, (T, n_bodies, 6), world axes."""
    out = np.zeros((len(q), m.n_bodies, 6))
    poses = body_poses(m, q) if pushes else None
    for push in pushes:
        assert poses is not None
        force, arm = push.wrench[:3], poses[:, push.body, :3, :3] @ push.point
        out[:, push.body, :3] += force
        out[:, push.body, 3:] += push.wrench[3:] + np.cross(arm, force)
    return out
