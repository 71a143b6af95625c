"""What surrounds a mechanism: polygons it can touch, and the flat tables detection reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.polygon import Polygon
from setsu.errors import InputError
from setsu.spatial import finite_vector

__all__ = ["Environment", "PolygonTables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# An unbounded plane is drawn, and sorted into the tree of boxes, with this size (m).
_FLOOR_SIZE = 10.0


class PolygonTables(NamedTuple):
    """Polygons as arrays: planes n·x = offset, edges a·x <= d, and a tree of boxes around them.

    A node of the tree holds the box of its polygons; below `first` >= 0 stand its two halves, at first and first + 1;
    a leaf has first = -1 - polygon.
    """

    normal: Floats  # (n, 3)
    offset: Floats  # (n,)
    edge_start: Ints  # (n + 1,)
    edge: Floats  # (n_edges, 4)
    node_low: Floats  # (n_nodes, 3)
    node_high: Floats  # (n_nodes, 3)
    node_first: Ints  # (n_nodes,)


@dataclass(frozen=True)
class Environment:
    """Everything fixed in the world that a mechanism can touch.

    >>> len(Environment.floor().polygons)
    1
    """

    polygons: tuple[Polygon, ...] = ()

    def __init__(self, polygons: Iterable[Polygon] = ()) -> None:
        try:
            given = tuple(polygons)
        except TypeError:
            raise InputError(f"Environment: expected a list of Polygon, got {polygons!r:.80}") from None
        for index, polygon in enumerate(given):
            if not isinstance(polygon, Polygon):
                raise InputError(f"Environment: entry {index}: expected a Polygon, got {polygon!r:.80}")
        object.__setattr__(self, "polygons", given)

    @staticmethod
    def floor(height: float = 0.0) -> Environment:
        """Return a horizontal floor without end at z = height (m)."""
        return Environment.slope(0.0, height=height, name="floor")

    @staticmethod
    def slope(angle: float, *, height: float = 0.0, name: str = "slope") -> Environment:
        """Return a plane without end, tilted by `angle` (rad) about +y: it falls towards +x; z = height at the origin.

        >>> Environment.slope(0.1).polygons[0].normal.round(3).tolist()
        [0.1, 0.0, 0.995]
        """
        for value, what in ((angle, "angle"), (height, "height")):
            if not (isinstance(value, int | float) and math.isfinite(value)):
                raise InputError(f"Environment {name} {what}: expected a finite number, got {value!r:.80}")
        c, s, a = math.cos(angle), math.sin(angle), _FLOOR_SIZE
        corners = [(c * x, y, height - s * x) for x, y in ((-a, -a), (a, -a), (a, a), (-a, a))]
        return Environment([Polygon(corners, name, unbounded=True)])

    @staticmethod
    def box(size: Sequence[float], center: Sequence[float] = (0.0, 0.0, 0.0), name: str = "box") -> Environment:
        """Return the six faces of a box fixed in the world: edges along x y z and centre, m."""
        try:
            edges, middle = np.array(size, dtype=np.float64), np.array(center, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"Environment {name}: expected numbers, got {size!r:.60} and {center!r:.60}") from None
        if edges.shape != (3,) or middle.shape != (3,) or not (np.isfinite(edges).all() and (edges > 0.0).all()):
            raise InputError(
                f"Environment {name}: expected 3 positive edges and 3 coordinates, got {size!r}, {center!r}"
            )
        faces = []
        for axis in range(3):
            for sign in (-1.0, 1.0):
                a, b = ((axis + 1) % 3, (axis + 2) % 3) if sign > 0 else ((axis + 2) % 3, (axis + 1) % 3)
                corners = np.tile(middle, (4, 1))
                corners[:, axis] += 0.5 * sign * edges[axis]
                corners[:, a] += 0.5 * edges[a] * np.array([-1, 1, 1, -1])
                corners[:, b] += 0.5 * edges[b] * np.array([-1, -1, 1, 1])
                faces.append(Polygon(corners, f"{name} {'-+'[sign > 0]}{'xyz'[axis]}"))
        return Environment(faces)

    @staticmethod
    def stairs(
        count: int, rise: float, tread: float, width: float = 2.0, start: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> Environment:
        """Return treads and risers of `count` steps up along +x (m), the first riser at `start`."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"Environment stairs: expected at least one step, got {count!r}")
        for value, what in ((rise, "rise"), (tread, "tread"), (width, "width")):
            if not (isinstance(value, int | float) and math.isfinite(value) and value > 0.0):
                raise InputError(f"Environment stairs {what}: expected a positive length in m, got {value!r:.80}")
        x0, y0, z0 = finite_vector(start, 3, "Environment stairs start").tolist()
        half, faces = 0.5 * width, []
        for k in range(count):
            x, z = x0 + k * tread, z0 + k * rise
            riser = [(x, y0 + half, z), (x, y0 - half, z), (x, y0 - half, z + rise), (x, y0 + half, z + rise)]
            top = [(x, y0 - half), (x + tread, y0 - half), (x + tread, y0 + half), (x, y0 + half)]
            faces.append(Polygon(riser, f"riser {k + 1}"))
            faces.append(Polygon([(a, b, z + rise) for a, b in top], f"tread {k + 1}"))
        return Environment(faces)

    def __add__(self, other: Environment) -> Environment:
        """Put two environments together."""
        if not isinstance(other, Environment):
            return NotImplemented
        return Environment(self.polygons + other.polygons)

    @cached_property
    def tables(self) -> PolygonTables:
        """The arrays detection reads."""
        edges = [polygon.edge_planes for polygon in self.polygons]
        low, high, first = _tree(self.polygons)
        return PolygonTables(
            normal=np.array([polygon.normal for polygon in self.polygons]).reshape(-1, 3),
            offset=np.array([polygon.offset for polygon in self.polygons], dtype=np.float64),
            edge_start=np.concatenate([[0], np.cumsum([len(rows) for rows in edges])]).astype(np.int64),
            edge=np.concatenate([np.zeros((0, 4)), *edges]),
            node_low=low,
            node_high=high,
            node_first=first,
        )


def _tree(polygons: tuple[Polygon, ...]) -> tuple[Floats, Floats, Ints]:
    """Boxes around halves of halves of the polygons, split at the median of the longest side."""
    lows = [np.full(3, -np.inf) if p.unbounded else p.vertices.min(axis=0) for p in polygons]
    highs = [np.full(3, np.inf) if p.unbounded else p.vertices.max(axis=0) for p in polygons]
    middles = [p.vertices.mean(axis=0) for p in polygons]
    low: list[Floats] = []
    high: list[Floats] = []
    first: list[int] = []

    def fill(node: int, members: list[int]) -> None:
        low[node] = np.min([lows[k] for k in members], axis=0)
        high[node] = np.max([highs[k] for k in members], axis=0)
        if len(members) == 1:
            first[node] = -1 - members[0]
            return
        axis = int(np.ptp([middles[k] for k in members], axis=0).argmax())
        ordered = sorted(members, key=lambda k: middles[k][axis])
        first[node] = len(first)
        here = first[node]
        for _ in range(2):
            low.append(np.zeros(3))
            high.append(np.zeros(3))
            first.append(0)
        fill(here, ordered[: len(ordered) // 2])
        fill(here + 1, ordered[len(ordered) // 2 :])

    if polygons:
        low.append(np.zeros(3))
        high.append(np.zeros(3))
        first.append(0)
        fill(0, list(range(len(polygons))))
    return np.array(low).reshape(-1, 3), np.array(high).reshape(-1, 3), np.array(first, dtype=np.int64)
