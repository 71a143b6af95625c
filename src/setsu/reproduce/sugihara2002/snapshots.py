"""Draw a mechanism of boxes as it stands at several instants: shaded faces, seen from far away, nearest drawn last.

A plain painter's picture: faces turned away from the eye are left out, the others are sorted by the depth of their
middles. For boxes that hardly overlap this is right; it needs no 3-D machinery and gives small files.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism

__all__ = ["View", "draw_floor", "draw_mechanism"]

Floats = NDArray[np.float64]

_LIGHT = np.array([0.35, -0.55, 0.76])
_GREY = (0.75, 0.75, 0.75)

# Corners are numbered by the bits of x, y, z; every face counts around, seen from outside.
_FACES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


class View:
    """Parallel projection: azimuth and elevation of the eye in degrees, azimuth counted from +x towards +y."""

    def __init__(self, azimuth: float, elevation: float) -> None:
        a, e = np.radians([azimuth, elevation])
        self.towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        self.axes = np.stack([right, np.cross(self.towards, right)])

    def project(self, points: Floats) -> Floats:
        """Return picture coordinates (..., 2), m, of points (..., 3)."""
        return points @ self.axes.T


def draw_mechanism(axes: Any, m: Mechanism, q: Floats, view: View, shift: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    """Draw all boxes of a mechanism at q (nq,), carried by `shift` (m), into matplotlib axes."""
    from matplotlib.collections import PolyCollection

    poses = body_poses(m, q)
    faces, colors = [], []
    for body in m.bodies:
        frame = m.frame(body.name)
        T = poses[frame.body] @ frame.pose.matrix
        for shape in body.visuals:
            if shape.kind != "box":
                continue
            corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * shape.size
            place = T @ shape.pose.matrix
            world = corners @ place[:3, :3].T + place[:3, 3] + np.asarray(shift)
            faces.append(world[_FACES])
            colors.append(np.tile(shape.color[:3] or _GREY, (6, 1)))
    corners, paint = np.concatenate(faces), np.concatenate(colors)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    seen = normals @ view.towards > 1e-9
    brightness = 0.55 + 0.45 * np.clip(normals @ _LIGHT, 0.0, 1.0)
    depth = corners.mean(axis=1) @ view.towards
    order = np.flatnonzero(seen)[np.argsort(depth[seen], kind="stable")]
    shaded = paint[order] * brightness[order, None]
    polygons = list(view.project(corners[order]))
    axes.add_collection(PolyCollection(polygons, facecolors=shaded, edgecolors=0.45 * shaded, linewidths=0.4))


def draw_floor(axes: Any, view: View, low: Sequence[float], high: Sequence[float], spacing: float = 0.1) -> None:
    """Draw a grid on z = 0 between two corners (x, y), m."""
    from matplotlib.collections import LineCollection

    lines = []
    for k in (0, 1):
        for value in np.arange(np.ceil(low[k] / spacing), np.floor(high[k] / spacing) + 1) * spacing:
            ends = np.array([[*low, 0.0], [*high, 0.0]])
            ends[:, k] = value
            lines.append(view.project(ends))
    axes.add_collection(LineCollection(lines, colors="#cccccc", linewidths=0.6, zorder=0))
