"""What surrounds a mechanism: polygons and shapes that it can touch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from setsu.contact.ground import GroundTables, ground_tables
from setsu.contact.polygon import Polygon
from setsu.errors import InputError
from setsu.mechanism import Material, Shape
from setsu.spatial import finite_vector, listed, real_array, whole_number

__all__ = ["Environment"]

# An unbounded plane is drawn, and sorted into the tree of boxes, with this size (m).
_FLOOR_SIZE = 10.0


@dataclass(frozen=True)
class Environment:
    """Everything fixed in the world that a mechanism can touch.

    polygons: flat pieces, touched from their front. shapes: solids, placed in the world by their poses (meshes by their
    convex hulls). Polygons that close up around a convex body, as those of `box`, are a solid too.

    >>> len(Environment.floor().polygons)
    1
    """

    polygons: tuple[Polygon, ...] = ()
    shapes: tuple[Shape, ...] = ()

    def __init__(self, polygons: Iterable[Polygon] = (), shapes: Iterable[Shape] = ()) -> None:
        for given, kind, key in ((polygons, Polygon, "polygons"), (shapes, Shape, "shapes")):
            entries = tuple(listed(given, f"Environment: {key}", kind.__name__))
            for index, entry in enumerate(entries):
                if not isinstance(entry, kind):
                    raise InputError(
                        f"Environment: {key}: entry {index}: expected a {kind.__name__}, got {entry!r:.80}"
                    )
            object.__setattr__(self, key, entries)

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
        except (TypeError, ValueError, OverflowError):
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
        count = whole_number(count, "Environment stairs count")
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

    @staticmethod
    def heightfield(
        z: ArrayLike,
        size: Sequence[float],
        center: Sequence[float] = (0.0, 0.0, 0.0),
        name: str = "heightfield",
        material: Material | None = None,
    ) -> Environment:
        """Return ground of the heights z (rows along x, columns along y), m, on a rectangle of size (x, y), m.

        The rectangle's middle lies at `center`. Each cell is two triangles, split along the diagonal from its lowest x
        and y.

        >>> len(Environment.heightfield([[0.0, 0.1], [0.1, 0.0], [0.0, 0.0]], (2.0, 1.0)).polygons)
        4
        """
        what = f"Environment {name}"
        try:
            heights = real_array(z)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what}: expected heights (rows, columns), got {z!r:.80}") from None
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise InputError(
                f"{what}: expected at least 2 x 2 finite heights (rows along x, columns along y), "
                f"got an array of shape {heights.shape}"
            )
        lengths = finite_vector(size, 2, f"{what} size")
        if not (lengths > 0.0).all():
            raise InputError(f"{what} size: expected two positive lengths in m, got {size!r}")
        if material is not None and not isinstance(material, Material):
            raise InputError(f"{what} material: expected a Material or None, got {material!r:.80}")
        x0, y0, z0 = finite_vector(center, 3, f"{what} center").tolist()
        x = x0 + np.linspace(-0.5, 0.5, heights.shape[0]) * lengths[0]
        y = y0 + np.linspace(-0.5, 0.5, heights.shape[1]) * lengths[1]
        grid = np.stack([*np.meshgrid(x, y, indexing="ij"), heights + z0], axis=-1)
        a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
        cells = np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)], axis=2)
        return Environment(Polygon.triangles(cells.reshape(-1, 3, 3), name, material))

    def __add__(self, other: Environment) -> Environment:
        """Put two environments together."""
        if not isinstance(other, Environment):
            return NotImplemented
        return Environment(self.polygons + other.polygons, self.shapes + other.shapes)

    @cached_property
    def tables(self) -> GroundTables:
        """The arrays detection reads."""
        return ground_tables(self.polygons)
