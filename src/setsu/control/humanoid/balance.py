"""How a biped stands: zero-moment point and support polygon (contact/support.py), tilt, balance of momentum.

Symbols
    p_i, f_i     contact points, m, and forces on them, N, world axes         c     center of mass, m

Equations
    (1)  tilt = angle between the torso's z axis and the vertical
    (2)  d/dt (m c') = Σ f_i + m g,  d/dt L = Σ (p_i - c) × f_i

Source: Vukobratovic and Borovac 2004. Cost: one sweep over the bodies per instant. Refuses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact.support import center_of_pressure, support_margin, support_polygon
from setsu.control.humanoid.biped import Biped
from setsu.control.humanoid.motion import ground_wrench
from setsu.dynamics import body_poses, center_of_mass
from setsu.mechanism import Mechanism

__all__ = [
    "contact_positions",
    "ground_zero_moment_point",
    "momentum_error",
    "support_margin",
    "support_polygon",
    "tilt",
    "with_fall",
]

Floats = NDArray[np.float64]


def ground_zero_moment_point(positions: Floats, forces: Floats) -> Floats:
    """Return the zero-moment point (T, 2), m, of forces (T, n, 3), N, at positions (T, n, 3), m; NaN without force."""
    return center_of_pressure(positions, forces)[:, :2]


def contact_positions(m: Mechanism, q: Floats) -> Floats:
    """Return where the contact points of a mechanism are (..., n_points, 3), m, at coordinates (..., nq)."""
    frames = [m.frame(point.body) for point in m.contact_points]
    local = np.array([f.pose.matrix @ [*p.position, 1.0] for f, p in zip(frames, m.contact_points, strict=True)])
    T = body_poses(m, q)[..., [frame.body for frame in frames], :3, :]
    return np.einsum("...nij,nj->...ni", T, local)


def momentum_error(biped: Biped, q: Floats, v: Floats, a: Floats, positions: Floats, forces: Floats) -> Floats:
    """Return what the balance of momentum (2) leaves open, in weights: N, and N m about the centre of mass, (T,).

    Args:
        q, v, a: coordinates, velocities and accelerations (T, nq or nv) of a motion.
        positions, forces: where the ground acts (T, n, 3), m, and how, N.
    """
    force, moment = ground_wrench(biped, q, v, a)
    com = center_of_mass(biped.mechanism, q)
    total = forces.sum(axis=1)
    turning = np.cross(positions - com[:, None], forces).sum(axis=1)
    left = np.concatenate([force - total, moment - np.cross(com, force) - turning], axis=1)
    return np.abs(left).max(axis=1) / biped.weight


def with_fall(biped: Biped, recording: Any, *, lean: float = 1.0, height: float = 0.6) -> Any:
    """Return the Recording of a run with an event "fall" where the biped has fallen over, or the recording itself.

    lean: of the torso off the vertical (rad); height: of the torso above the lowest sole, as part of that in the first
    record. Whichever is passed first is a fall; the event's name is the torso's.
    """
    soles = biped.sole_corners(recording.q)[..., 2].min(axis=(-1, -2))
    above = biped.pose_of(recording.q, biped.torso)[..., 2, 3] - soles
    fallen = np.flatnonzero((tilt(biped, recording.q) > lean) | (above < height * above[0]))
    if not fallen.size:
        return recording
    return recording.with_event(recording.time[fallen[0]], "fall", biped.torso)


def tilt(biped: Biped, q: Floats) -> Floats:
    """Return by how much the torso leans off the vertical (...), rad, at coordinates (..., nq)."""
    R = biped.pose_of(q, biped.torso)[..., :3, :3]
    return np.arctan2(np.hypot(R[..., 0, 2], R[..., 1, 2]), R[..., 2, 2])  # (1), exact for small angles too
