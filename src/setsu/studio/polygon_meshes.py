"""Polygons of an environment as triangles; a plane without end as the square of it near the mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Polygon
from setsu.spatial import axis_to_z_rotation

__all__ = ["drawn_corners", "fan_of_triangles"]

Floats = NDArray[np.float64]


def drawn_corners(polygon: Polygon, center: Floats, half: float) -> Floats:
    """Return the corners (n, 3), m, that are drawn: the polygon's own, or of a square with sides of 2 half (m).

    >>> from setsu.contact import Environment
    >>> floor = Environment.floor(height=1.0).polygons[0]
    >>> drawn_corners(floor, np.array([3.0, 0.0, 9.0]), 2.0).mean(axis=0).tolist()
    [3.0, 0.0, 1.0]
    """
    if not polygon.unbounded:
        return polygon.vertices
    n = polygon.normal
    foot = center - (float(n @ center) - polygon.offset) * n
    if abs(n[2]) > 1e-6:
        # Below the centre and not beside it, so that a slope lies under the mechanism.
        foot = center - np.array([0.0, 0.0, (float(n @ center) - polygon.offset) / n[2]])
    # The third axis is the normal; the first one points down the slope, so that the square lies as one expects.
    down = np.array([n[0], n[1], 0.0])
    x, y = axis_to_z_rotation((float(n[0]), float(n[1]), float(n[2])))[:, :2].T
    if np.linalg.norm(down) > 1e-9:
        y = np.cross(n, down)
        y /= np.linalg.norm(y)
        x = np.cross(y, n)
    return np.array([foot + half * (a * x + b * y) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])


def fan_of_triangles(count: int) -> NDArray[np.int64]:
    """Return the faces (count - 2, 3) of a convex polygon with so many corners, counter-clockwise.

    >>> fan_of_triangles(4).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    first = np.arange(1, count - 1)
    return np.stack([np.zeros_like(first), first, first + 1], axis=1)
