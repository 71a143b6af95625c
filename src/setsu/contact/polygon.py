"""A flat convex piece of the environment, with the side it can be touched from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism import Material
from setsu.spatial import finite_vector, real_array

__all__ = ["Polygon"]

Floats = NDArray[np.float64]

# Corners may leave the plane by this part of the polygon's size: what single precision in a file does.
_FLATNESS = 1e-6


@dataclass(frozen=True)
class Polygon:
    """A convex polygon that bodies can touch from the side its normal points to.

    vertices: corners (n, 3) in m, world axes, n >= 3, counter-clockwise as seen from the side that can be touched.
    name: for messages. unbounded: let its whole plane be touched, not only what lies between the corners.
    material: of its surface; friction and restitution of a contact are the lower ones of polygon and body, and those of
    the body where none is given. velocity: of its surface, m/s, world axes (a conveyor belt); the part along the normal
    is refused.

    Raises an InputError, naming the polygon and the corner, unless the corners are finite, distinct, in one plane, and
    go around once without turning back.

    >>> Polygon([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]).normal.tolist()
    [0.0, 0.0, 1.0]
    """

    vertices: Floats
    name: str = "polygon"
    unbounded: bool = field(default=False, kw_only=True)
    material: Material | None = field(default=None, kw_only=True)
    velocity: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), kw_only=True)

    def __init__(
        self,
        vertices: ArrayLike,
        name: str = "polygon",
        *,
        unbounded: bool = False,
        material: Material | None = None,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        corners = _checked_corners(vertices, name)
        self._fill(corners, name, bool(unbounded), _checked_material(material, name))
        x, y, z = (finite_vector(velocity, 3, f'Polygon "{name}" velocity') + 0.0).tolist()
        out = self.normal @ (x, y, z)
        if abs(out) > 1e-9 * max(abs(x), abs(y), abs(z)):
            raise InputError(
                f'Polygon "{name}" velocity: expected one within its plane, got {(x, y, z)} with {out:.3g} m/s along '
                "the normal (a surface that moves out is a body on a driven joint)"
            )
        object.__setattr__(self, "velocity", (x, y, z))

    @staticmethod
    def triangles(corners: Floats, name: str, material: Material | None = None) -> tuple[Polygon, ...]:
        """Return polygons of triangles (n, 3, 3), m, that are known to have an area, without looking at each."""
        result = []
        corners = np.array(corners, dtype=np.float64)
        corners.flags.writeable = False
        for index, triangle in enumerate(corners):
            polygon = object.__new__(Polygon)
            polygon._fill(triangle, f"{name} {index}", False, material)
            object.__setattr__(polygon, "velocity", (0.0, 0.0, 0.0))
            result.append(polygon)
        return tuple(result)

    def _fill(self, corners: Floats, name: str, unbounded: bool, material: Material | None) -> None:
        corners.flags.writeable = False
        object.__setattr__(self, "vertices", corners)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "unbounded", unbounded)
        object.__setattr__(self, "material", material)

    @cached_property
    def normal(self) -> Floats:
        """Unit normal (3,), on the side that can be touched."""
        return _area_vector(self.vertices)[1]

    @cached_property
    def offset(self) -> float:
        """Distance of the plane from the origin along the normal, m."""
        return float(self.normal @ self.vertices.mean(axis=0))

    @property
    def edge_planes(self) -> Floats:
        """(n, 4): a x + b y + c z <= d holds inside every edge; none for an unbounded plane."""
        if self.unbounded:
            return np.zeros((0, 4))
        along = np.roll(self.vertices, -1, axis=0) - self.vertices
        outward = np.cross(along, self.normal)
        outward /= np.linalg.norm(outward, axis=1)[:, None]
        return np.column_stack([outward, np.einsum("ij,ij->i", outward, self.vertices)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polygon) and self._key == other._key and np.array_equal(self.vertices, other.vertices)

    def __hash__(self) -> int:
        return hash((self._key, self.vertices.tobytes()))

    @property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.unbounded, self.material, self.velocity


def _checked_material(material: Material | None, name: str) -> Material | None:
    if material is not None and not isinstance(material, Material):
        raise InputError(f'Polygon "{name}" material: expected a Material or None, got {material!r:.80}')
    return material


def _checked_corners(vertices: ArrayLike, name: str) -> Floats:
    if not isinstance(name, str):
        raise InputError(f"Polygon name: expected a text, got {name!r:.80}")
    what = f'Polygon "{name}"'
    try:
        corners = real_array(vertices)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected corners of 3 numbers each, got {vertices!r:.120}") from None
    if corners.ndim != 2 or corners.shape[1:] != (3,) or len(corners) < 3:
        raise InputError(f"{what}: expected at least 3 corners of 3 numbers, got an array of shape {corners.shape}")
    bad = np.flatnonzero(~np.isfinite(corners).all(axis=1))
    if len(bad):
        raise InputError(f"{what}: corner {bad[0]} is {corners[bad[0]].tolist()}, expected finite numbers")
    size = float(np.ptp(corners, axis=0).max())
    sides = np.roll(corners, -1, axis=0) - corners
    short = np.flatnonzero(np.linalg.norm(sides, axis=1) <= 1e-9 * size)
    if size == 0.0 or len(short):
        where = int(short[0]) if len(short) else 0
        raise InputError(f"{what}: corners {where} and {(where + 1) % len(corners)} are the same point")
    area, normal = _area_vector(corners)
    if area <= 1e-9 * size * size:
        raise InputError(
            f"{what}: its area is {area:.3g} m²; expected corners that do not lie on one line or cross over"
        )
    off = (corners - corners.mean(axis=0)) @ normal
    worst = int(np.abs(off).argmax())
    if abs(off[worst]) > _FLATNESS * size:
        raise InputError(
            f"{what}: corner {worst} is {abs(off[worst]):.3g} m off the plane of the others; "
            "expected a flat polygon (split it into triangles)"
        )
    turns = np.cross(np.roll(sides, 1, axis=0), sides) @ normal
    lengths = np.linalg.norm(sides, axis=1)
    inward = np.flatnonzero(turns < -1e-9 * lengths * np.roll(lengths, 1))
    if len(inward):
        raise InputError(
            f"{what}: it turns back at corner {inward[0]} {corners[inward[0]].tolist()}; expected a convex polygon "
            "that does not cross itself (split it into convex ones)"
        )
    angles = np.arctan2(turns, np.einsum("ij,ij->i", np.roll(sides, 1, axis=0), sides))
    if angles.sum() > 3.0 * np.pi:
        raise InputError(
            f"{what}: it goes around {angles.sum() / (2 * np.pi):.0f} times; expected it not to cross itself"
        )
    return corners


def _area_vector(corners: Floats) -> tuple[float, Floats]:
    """Area (m²) and unit normal by the sum over all corners."""
    arms = corners - corners[0]
    twice = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
    length = float(np.linalg.norm(twice))
    return 0.5 * length, twice / length if length > 0.0 else twice
