"""Which contact point is deep inside the ground: behind a face it belongs to, or within a solid.

| symbol | meaning | unit |
|---|---|---|
| x, r | point and its radius | m |
| gap | n·x - d - r of a polygon | m |

    deep: over no polygon with gap >= -1e-5, and over one with -0.1 < gap < -allowed;        (1)
          below an unbounded plane at any depth
    within a solid: along all six axes the first polygon ahead is seen from behind            (2)

(1) leaves room for storeys and table tops, which are polygons with free space below; (2) is for closed bodies, however
thick. Cost: points times polygons, once per run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.polygon import Polygon

__all__ = ["DeepPoint", "deep_point", "shallow_depth"]

Floats = NDArray[np.float64]

# m: deeper below a bounded polygon a point may be in free space under it.
_THICKNESS = 0.1
_IN_FRONT, _EDGE = 1e-5, 1e-7


class DeepPoint(NamedTuple):
    """A point inside the ground: its number, the polygon, how deep (m)."""

    point: int
    polygon: Polygon
    depth: float


def deep_point(polygons: tuple[Polygon, ...], places: Floats, radii: Floats, allowed: float) -> DeepPoint | None:
    """Return the first of the points (n, 3), m, with radii (n,), that is deeper inside than allowed (m), or None."""
    if not polygons or not len(places):
        return None
    gaps = np.array([places @ p.normal - p.offset - radii for p in polygons])
    over = np.array([_over(p, places) for p in polygons])
    limit = np.array([np.inf if p.unbounded else _THICKNESS for p in polygons])[:, None]
    outside = (over & (gaps >= -_IN_FRONT)).any(axis=0)
    deep = over & (gaps < -allowed) & (gaps > -limit) & ~outside  # (1)
    enclosing = _first_faces(polygons, places)
    for point in np.flatnonzero(deep.any(axis=0) | (enclosing >= 0).all(axis=0)).tolist():
        faces = np.flatnonzero(deep[:, point])
        if not len(faces) and (enclosing[:, point] >= 0).all():  # (2)
            faces = enclosing[:, point]
        if len(faces):
            nearest = int(faces[gaps[faces, point].argmax()])
            if gaps[nearest, point] < -allowed:
                return DeepPoint(point, polygons[nearest], float(-gaps[nearest, point]))
    return None


def shallow_depth(polygons: tuple[Polygon, ...], places: Floats, radii: Floats, allowed: float) -> float:
    """Return how deep (m) the deepest of the points is inside, of those that are no deeper than allowed."""
    deepest = 0.0
    for polygon in polygons:
        gaps = places @ polygon.normal - polygon.offset - radii
        inside = (gaps < 0.0) & (gaps >= -allowed) & _over(polygon, places)
        deepest = max(deepest, float(-gaps[inside].min(initial=0.0)))
    return deepest


def _over(polygon: Polygon, places: Floats) -> NDArray[np.bool_]:
    """Whether each place lies within the edges of a polygon, seen along its normal."""
    edges = polygon.edge_planes
    return np.all(places @ edges[:, :3].T <= edges[:, 3] + _EDGE, axis=1)


def _first_faces(polygons: tuple[Polygon, ...], places: Floats) -> NDArray[np.int64]:
    """The first polygon ahead of each place along both ways of x, y, z, (6, n): -1 for none, or seen from its front."""
    found = np.full((6, len(places)), -1, dtype=np.int64)
    for row, direction in enumerate((*np.eye(3), *-np.eye(3))):
        nearest = np.full(len(places), np.inf)
        for index, polygon in enumerate(polygons):
            along = float(polygon.normal @ direction)
            if abs(along) < 1e-12:
                continue
            ahead = (polygon.offset - places @ polygon.normal) / along
            # Of two in one place, as the floor and a block that stands on it, the one seen from behind is the first.
            before = ahead < nearest + (1e-9 if along > 0.0 else -1e-9)
            hit = (ahead > 0.0) & before & _over(polygon, places + ahead[:, None] * direction)
            nearest[hit], found[row, hit] = ahead[hit], index if along > 0.0 else -1
    return found
