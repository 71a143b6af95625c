"""How a biped stands: zero-moment point of forces on the ground, its support polygon, the margin between them, tilt.

Symbols
    p_i, f_i     contact points, m, and forces on them, N, world axes         p     zero-moment point on z = 0, m
    e            edges of the support polygon, counted counter-clockwise      n     their normals, pointing inwards

Equations
    (1)  p_x = Σ (x_i f_iz - z_i f_ix) / Σ f_iz,  p_y = Σ (y_i f_iz - z_i f_iy) / Σ f_iz
    (2)  margin = min over edges of n·(p - e)                                 negative outside
    (3)  tilt = angle between the torso's z axis and the vertical
    (4)  d/dt (m c') = Σ f_i + m g,  d/dt L = Σ (p_i - c) × f_i               momentum, c the centre of mass

Source: Vukobratovic and Borovac 2004. Cost: n log n in the number of touching points, per instant.
Refuses: nothing; without a force on the ground, or with fewer than three corners, there is no margin: NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
]

Floats = NDArray[np.float64]


def ground_zero_moment_point(positions: Floats, forces: Floats) -> Floats:
    """Return the zero-moment point (T, 2), m, of forces (T, n, 3), N, at positions (T, n, 3), m; NaN without force."""
    vertical = forces[..., 2].sum(axis=1)
    turned = positions[..., :2] * forces[..., 2:] - positions[..., 2:] * forces[..., :2]
    some = vertical > 0.0
    result = np.full((len(forces), 2), np.nan)
    result[some] = turned.sum(axis=1)[some] / vertical[some, None]  # (1)
    return result


def support_polygon(points: Floats) -> Floats:
    """Return the corners (k, 2) of the convex hull of points (n, 2), counter-clockwise, no three in a line.

    >>> support_polygon(np.array([[0, 0], [1, 0], [0.5, 0.2], [1, 1], [0, 1]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    # Corners that lie in a line but for a rounding would come in the wrong order: a nanometre counts as the same place.
    ordered = np.unique(np.round(points, 9) + 0.0, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for way in (ordered, ordered[::-1]):
        chain: list[Floats] = []
        for point in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 1e-15:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def support_margin(zmp: Floats, points: Floats, touching: NDArray[np.bool_]) -> Floats:
    """Return how far the zero-moment point (T, 2) is inside the hull of points (T, n, 2) that touch (T, n): (T,), m."""
    margins = np.full(len(zmp), np.nan)
    for k in np.flatnonzero(np.isfinite(zmp).all(axis=1)):
        corners = support_polygon(points[k, touching[k]])
        if len(corners) < 3:
            continue
        edges = np.roll(corners, -1, axis=0) - corners
        inward = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
        margins[k] = np.min(np.sum(inward * (zmp[k] - corners), axis=1))  # (2)
    return margins


def contact_positions(m: Mechanism, q: Floats) -> Floats:
    """Return where the contact points of a mechanism are (..., n_points, 3), m, at coordinates (..., nq)."""
    frames = [m.frame(point.body) for point in m.contact_points]
    local = np.array([f.pose.matrix @ [*p.position, 1.0] for f, p in zip(frames, m.contact_points, strict=True)])
    T = body_poses(m, q)[..., [frame.body for frame in frames], :3, :]
    return np.einsum("...nij,nj->...ni", T, local)


def momentum_error(biped: Biped, q: Floats, v: Floats, a: Floats, positions: Floats, forces: Floats) -> Floats:
    """Return what the balance of momentum (4) leaves open, in weights: N, and N m about the centre of mass, (T,).

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


def tilt(biped: Biped, q: Floats) -> Floats:
    """Return by how much the torso leans off the vertical (...), rad, at coordinates (..., nq)."""
    R = biped.pose_of(q, biped.torso)[..., :3, :3]
    return np.arctan2(np.hypot(R[..., 0, 2], R[..., 1, 2]), R[..., 2, 2])  # (3), exact for small angles too


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    """Twice the area of the triangle a b c; positive when it counts counter-clockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
