"""Polygons of an environment as triangles; a plane without end as the square of it near the mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Polygon
from setsu.spatial import axis_to_z_rotation

__all__ = ["drawn_corners", "fan_of_triangles", "foot_on_plane", "plane_axes"]

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
    foot = foot_on_plane(polygon.normal, polygon.offset, center)
    x, y = plane_axes(polygon.normal)[:, :2].T
    return np.array([foot + half * (a * x + b * y) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])


def foot_on_plane(normal: Floats, offset: float, center: Floats) -> Floats:
    """Return the point (3,) m of the plane normal·r = offset below or above a point, or nearest to it, on a wall."""
    height = float(normal @ center) - offset
    return center - (np.array([0.0, 0.0, height / normal[2]]) if abs(normal[2]) > 1e-6 else height * normal)


def plane_axes(normal: Floats) -> Floats:
    """Return a rotation (3, 3) whose third column is the unit normal; the first points down the slope, if there is one.

    >>> plane_axes(np.array([0.0, 0.0, 1.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    down = np.array([normal[0], normal[1], 0.0])
    if np.linalg.norm(down) < 1e-9:
        return axis_to_z_rotation((0.0, 0.0, float(np.sign(normal[2]))))
    y = np.cross(normal, down)
    if np.linalg.norm(y) < 1e-9:  # a wall
        y = np.cross(normal, (0.0, 0.0, 1.0))
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, normal), y, normal])


def fan_of_triangles(count: int) -> NDArray[np.int64]:
    """Return the faces (count - 2, 3) of a convex polygon with so many corners, counter-clockwise.

    >>> fan_of_triangles(4).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    first = np.arange(1, count - 1)
    return np.stack([np.zeros_like(first), first, first + 1], axis=1)
