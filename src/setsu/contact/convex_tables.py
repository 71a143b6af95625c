"""Collision shapes as flat arrays for compiled code: a convex core, and a radius that rounds it.

| shape | core | radius |
|---|---|---|
| sphere | point | its own |
| capsule | segment along z | its own |
| box | box | 0 |
| cylinder | cylinder | 0 |
| mesh | the convex hull of its corners (extra `geometry`) | 0 |

A cylinder stays a cylinder, by its support function, and is no prism: it rolls smoothly, and a step with it costs less
than one with the many corners a smooth prism would need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.hull_faces import hull_faces
from setsu.contact.shape_pairs import PlacedShape, ShapePairs
from setsu.errors import InputError

__all__ = [
    "BOX",
    "CYLINDER",
    "HULL",
    "MOST_CORNERS",
    "MOST_FACETS",
    "POINT",
    "RIM",
    "SEGMENT",
    "ConvexShapes",
    "load_mesh",
    "make_shapes",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# Kinds of cores.
POINT, SEGMENT, BOX, CYLINDER, HULL = range(5)
_CORES = {"sphere": POINT, "capsule": SEGMENT, "box": BOX, "cylinder": CYLINDER, "mesh": HULL}

RIM = 8
"""Points that stand for the rim of a cylinder where it stands on its end."""
MOST_CORNERS, MOST_FACETS = 100, 400
"""Room for the polytope of convex_depth.py."""

_SHAPE = np.dtype(
    [
        ("body", "i8"),
        ("core", "i8"),
        ("half", "f8", 3),  # m: half lengths of a box; radius, radius, half length of a cylinder; 0, 0, half a segment
        ("radius", "f8"),  # m: rounds the core
        ("first", "i8"),  # corner a search of a hull begins at
        ("corner", "i8"),  # corner the last search ended at
        ("reach", "f8"),  # m: radius of a ball around the shape
        ("farthest", "f8"),  # m: distance of its farthest point from the body's origin, at most
        ("rotation", "f8", (3, 3)),  # in the body frame
        ("center", "f8", 3),
        ("R", "f8", (3, 3)),  # in the world, of this step
        ("place", "f8", 3),
        ("speed", "f8"),  # m/s: no point of it is faster
        ("static_friction", "f8"),
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
    ]
)
_FACE = np.dtype([("start", "i8"), ("stop", "i8"), ("normal", "f8", 3)])
_PAIR = np.dtype([("first", "i8"), ("second", "i8"), ("log", "i8")])
_FACET = np.dtype([("corner", "i8", 3), ("normal", "f8", 3), ("offset", "f8"), ("alive", "i8")])
_FOUND = np.dtype([("position", "f8", 3), ("gap", "f8")])


class ConvexShapes(NamedTuple):
    """Shapes, the pairs of them that may touch, and work arrays of the searches (convex_*.py)."""

    shapes: Any
    pairs: Any  # numbers of two shapes, and of their bodies in the log
    corners: Floats  # (n, 3) of all hulls, m, from the shape's centre
    ring_start: Ints  # (n + 1,) in `ring`
    ring: Ints  # neighbours of each corner
    fan_start: Ints  # (n + 1,) in `fan`
    fan: Ints  # faces around each corner
    faces: Any
    loop: Ints  # corners of each face, counter-clockwise from outside
    simplex: Floats  # (4, 6) points of the difference of two cores, and of the first core
    weights: Floats  # (4,) with which they make up the nearest point
    nearest: Floats  # (3, 3) nearest point of the difference; of the first and of the second core
    polytope: Floats  # (MOST_CORNERS, 6) like simplex
    facets: Any
    edges: Ints  # (., 2) rim of the facets that a new corner sees
    outline: Floats  # (4, ., 3) polygons: of both shapes, cut
    found: Any  # contacts of a pair
    velocities: Floats  # (n_bodies, 6) at the bodies' origins, world axes, m/s and rad/s
    kernel: Handle  # (7,) native function bound to the state and to `velocities`


def make_shapes(pairs: ShapePairs, n_bodies: int) -> ConvexShapes:
    """Return the arrays of the shapes of so many bodies; InputError for a mesh that cannot be read."""
    shapes = np.zeros(len(pairs.shapes), dtype=_SHAPE)
    corners: list[Floats] = [np.zeros((0, 3))]
    rings: list[list[int]] = []
    fans: list[list[int]] = []
    faces: list[tuple[list[int], Floats]] = []
    for row, placed in zip(shapes, pairs.shapes, strict=True):
        points, center = _fill(row, placed)
        if row["core"] == HULL:
            start, face_start = len(rings), len(faces)
            row["first"] = start
            hull = hull_faces(*points)
            faces += [([start + corner for corner in loop], normal) for loop, normal in hull.faces]
            rings += [[start + corner for corner in ring] for ring in hull.rings]
            fans += [[face_start + face for face in fan] for fan in hull.fans]
            corners.append(points[0])
        row["rotation"] = placed.pose[:3, :3]
        row["center"] = placed.pose[:3, :3] @ center + placed.pose[:3, 3]
        row["farthest"] = row["reach"] + np.linalg.norm(row["center"])
    table = np.zeros(len(faces), dtype=_FACE)
    table["start"], table["stop"] = _ranges([loop for loop, _ in faces])
    for entry, (_, normal) in zip(table, faces, strict=True):
        entry["normal"] = normal
    looked_at = np.zeros(len(pairs.pairs), dtype=_PAIR)
    for entry, (i, j), log in zip(looked_at, pairs.pairs, pairs.log, strict=True):
        entry["first"], entry["second"], entry["log"] = i, j, log
    longest = max([RIM, *(len(loop) for loop, _ in faces)])
    return ConvexShapes(
        shapes=shapes,
        pairs=looked_at,
        corners=np.concatenate(corners),
        ring_start=_starts(rings),
        ring=_joined(rings),
        fan_start=_starts(fans),
        fan=_joined(fans),
        faces=table,
        loop=_joined([loop for loop, _ in faces]),
        simplex=np.zeros((4, 6)),
        weights=np.zeros(4),
        nearest=np.zeros((3, 3)),
        polytope=np.zeros((MOST_CORNERS, 6)),
        facets=np.zeros(MOST_FACETS, dtype=_FACET),
        edges=np.zeros((3 * MOST_FACETS, 2), dtype=np.int64),
        outline=np.zeros((4, 2 * longest + 2, 3)),
        found=np.zeros(2 * longest + 2, dtype=_FOUND),
        velocities=np.zeros((n_bodies, 6)),
        kernel=np.zeros(7, dtype=np.int64),
    )


def load_mesh(placed: PlacedShape) -> Any:
    """Return coal's model of a mesh file, its convex hull made; InputError when that cannot be."""
    try:
        coal: Any = import_module("coal")  # its names are made at run time
    except ImportError:
        raise InputError(
            f'body "{placed.owner}": contacts of the mesh {placed.shape.mesh} need coal: pip install setsu[geometry]'
        ) from None
    try:
        mesh = coal.MeshLoader().load(placed.shape.mesh, np.array(placed.shape.size))
        mesh.buildConvexHull(True, "Qt")
    except (RuntimeError, ValueError) as problem:
        raise InputError(f'body "{placed.owner}": cannot read the mesh {placed.shape.mesh} ({problem})') from None
    return mesh


def _fill(row: Any, placed: PlacedShape) -> tuple[Any, Floats]:
    """Set what a shape's kind and size say; return corners and triangles of a hull, and its centre."""
    size, points, center = placed.shape.size, None, np.zeros(3)
    row["body"], row["core"] = placed.body, _CORES[placed.shape.kind]
    for key in ("static_friction", "kinetic_friction", "restitution"):
        row[key] = getattr(placed.material, key)
    match placed.shape.kind:
        case "box":
            row["half"] = 0.5 * np.array(size)
        case "sphere":
            row["radius"] = size[0]
        case "capsule":
            row["radius"], row["half"] = size[0], (0.0, 0.0, 0.5 * size[1])
        case "cylinder":
            row["half"] = size[0], size[0], 0.5 * size[1]
        case _:
            hull = load_mesh(placed).convex
            corners = np.array(hull.points(), dtype=float)
            triangles = np.array([[hull.polygons(k)[i] for i in range(3)] for k in range(hull.num_polygons)])
            center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            points = corners - center, triangles
            row["reach"] = np.linalg.norm(points[0], axis=1).max()
    if points is None:
        across = np.linalg.norm(row["half"]) if row["core"] != CYLINDER else np.hypot(row["half"][0], row["half"][2])
        row["reach"] = row["radius"] + across
    return points, center


def _ranges(lists: list[list[int]]) -> tuple[Ints, Ints]:
    ends = _starts(lists)
    return ends[:-1], ends[1:]


def _starts(lists: list[list[int]]) -> Ints:
    return np.concatenate([[0], np.cumsum([len(entries) for entries in lists])]).astype(np.int64)


def _joined(lists: list[list[int]]) -> Ints:
    return np.array([entry for entries in lists for entry in entries], dtype=np.int64)
