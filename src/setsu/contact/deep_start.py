"""Which contact point is deep inside the ground: behind a face it belongs to, or within a solid.

| symbol | meaning | unit |
|---|---|---|
| x, r | point and its radius | m |
| gap | n·x - d - r of a polygon | m |

    deep: over no polygon with gap >= -1e-5, and over one with -0.1 < gap < -allowed;        (1)
          below an unbounded plane at any depth
    within a solid: along all six axes the first polygon ahead is seen from behind            (2)

(1) leaves room for storeys and table tops, which are polygons with free space below; (2) is for closed bodies, however
thick; of very many points in very many polygons it looks at some. Cost: points times polygons near them, once per run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.environment import Environment
from setsu.contact.polygon import Polygon

__all__ = ["DeepPoint", "deep_point", "shallow_depth"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# m: deeper below a bounded polygon a point may be in free space under it.
_THICKNESS = 0.1
_IN_FRONT, _EDGE = 1e-5, 1e-7
# Numbers of points times edges that are looked at together, and at most.
_AT_ONCE, _MOST = 2_000_000, 20_000_000


class DeepPoint(NamedTuple):
    """A point inside the ground: its number, the polygon, how deep (m)."""

    point: int
    polygon: Polygon
    depth: float


class _Faces(NamedTuple):
    """Polygons as rows: normals, offsets, edges (a, d) of all, where those of each begin, whether it has none."""

    number: NDArray[np.int64]
    normal: Floats
    offset: Floats
    edge: Floats
    start: NDArray[np.int64]
    unbounded: Bools


def deep_point(environment: Environment, places: Floats, radii: Floats, allowed: float) -> DeepPoint | None:
    """Return the first of the points (n, 3), m, with radii (n,), that is deeper inside than allowed (m), or None."""
    if not environment.polygons or not len(places):
        return None
    near, every = _faces(environment, places, radii), _faces(environment)
    enclosed = np.zeros(len(places), dtype=bool)
    step = 1 + len(places) * max(1, len(every.edge)) // _MOST
    enclosing = np.full((6, len(places)), -1, dtype=np.int64)
    for part in _parts(np.arange(0, len(places), step), len(every.edge)):
        enclosing[:, part] = _first_faces(every, places[part])
        enclosed[part] = (enclosing[:, part] >= 0).all(axis=0)
    for part in _parts(np.arange(len(places)), len(near.edge)):
        gaps = places[part] @ near.normal.T - near.offset - radii[part, None]
        over = _over(near, places[part])
        outside = np.any(over & (gaps >= -_IN_FRONT), axis=1, keepdims=True)
        limit = np.where(near.unbounded, np.inf, _THICKNESS)
        deep = over & (gaps < -allowed) & (gaps > -limit) & ~outside  # (1)
        for row in np.flatnonzero(deep.any(axis=1) | enclosed[part]).tolist():
            point = int(part[row])
            if deep[row].any():
                best = int(np.where(deep[row], gaps[row], -np.inf).argmax())
                index, depth = int(near.number[best]), float(-gaps[row, best])
            else:  # (2)
                faces = enclosing[:, point]
                depths = every.offset[faces] + radii[point] - every.normal[faces] @ places[point]
                index, depth = int(faces[depths.argmin()]), float(depths.min())
            if depth > allowed:
                return DeepPoint(point, environment.polygons[index], depth)
    return None


def shallow_depth(environment: Environment, places: Floats, radii: Floats, allowed: float) -> float:
    """Return how deep (m) the deepest of the points is inside, of those that are no deeper than allowed."""
    deepest = 0.0
    if not environment.polygons or not len(places):
        return deepest
    near = _faces(environment, places, radii)
    for part in _parts(np.arange(len(places)), len(near.edge)):
        gaps = places[part] @ near.normal.T - near.offset - radii[part, None]
        inside = (gaps < 0.0) & (gaps >= -allowed) & _over(near, places[part])
        deepest = max(deepest, float(-gaps[inside].min(initial=0.0)))
    return deepest


def _parts(points: NDArray[np.int64], edges: int) -> list[NDArray[np.int64]]:
    """Points in parts that can be looked at together."""
    return np.array_split(points, 1 + len(points) * max(1, edges) // _AT_ONCE)


def _faces(environment: Environment, places: Floats | None = None, radii: Floats | None = None) -> _Faces:
    """All polygons, or those whose boxes come near the box around some places."""
    t = environment.tables
    unbounded = np.array([polygon.unbounded for polygon in environment.polygons], dtype=bool)
    kept = np.ones(len(unbounded), dtype=bool)
    if places is not None and radii is not None:
        reach = _THICKNESS + radii.max(initial=0.0)
        low, high = places.min(axis=0) - reach, places.max(axis=0) + reach
        bounded = np.flatnonzero(~unbounded)
        if len(bounded):
            starts = t.edge_start[bounded]
            near = (np.minimum.reduceat(t.corner, starts) <= high) & (np.maximum.reduceat(t.corner, starts) >= low)
            kept[bounded] = near.all(axis=1)
    number = np.flatnonzero(kept)
    counts = np.diff(t.edge_start)[number]
    rows = np.repeat(t.edge_start[number] - np.concatenate([[0], np.cumsum(counts)])[:-1], counts)
    rows = rows + np.arange(len(rows))
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1].astype(np.int64)
    return _Faces(number, t.normal[number], t.offset[number], t.edge[rows], starts, unbounded[number])


def _all_inside(faces: _Faces, beyond: Floats) -> Bools:
    """Which polygons have no edge that a point is beyond; beyond (n_points, n_edges), m."""
    inside = np.ones((len(beyond), len(faces.number)), dtype=bool)
    bounded = np.flatnonzero(~faces.unbounded)
    if len(bounded):
        inside[:, bounded] = np.maximum.reduceat(beyond, faces.start[bounded], axis=1) <= _EDGE
    return inside


def _over(faces: _Faces, places: Floats) -> Bools:
    """Whether each place lies within the edges of each polygon, seen along its normal, (n_points, n)."""
    return _all_inside(faces, places @ faces.edge[:, :3].T - faces.edge[:, 3])


def _first_faces(faces: _Faces, places: Floats) -> NDArray[np.int64]:
    """The first polygon ahead of each place along both ways of x, y, z, (6, n): -1 for none, or seen from its front."""
    found = np.full((6, len(places)), -1, dtype=np.int64)
    owner = np.repeat(np.arange(len(faces.number)), np.diff(np.append(faces.start, len(faces.edge))))
    height, beyond = faces.offset - places @ faces.normal.T, places @ faces.edge[:, :3].T - faces.edge[:, 3]
    for row, direction in enumerate((*np.eye(3), *-np.eye(3))):
        along = faces.normal @ direction
        ahead = height / np.where(np.abs(along) < 1e-12, np.nan, along)
        # Of two in one place, as the floor and a block that stands on it, the one seen from behind is the first.
        ahead = np.where(along > 0.0, ahead, ahead + 1e-9)
        way = np.nan_to_num(ahead, nan=0.0)
        hit = _all_inside(faces, beyond + way[:, owner] * (faces.edge[:, :3] @ direction)) & (ahead > 0.0)
        ahead = np.where(hit, ahead, np.inf)
        first = ahead.argmin(axis=1) if ahead.shape[1] else np.zeros(len(places), dtype=np.int64)
        some = np.isfinite(ahead.min(axis=1, initial=np.inf)) & (along[first] > 0.0)
        found[row, some] = first[some]
    return found
