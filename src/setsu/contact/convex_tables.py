"""Collision shapes as flat arrays for compiled code: a convex core, and a radius that rounds it.

| shape | core | radius |
|---|---|---|
| sphere | point | its own |
| capsule | segment along z | its own |
| box | box | 0 |
| cylinder | cylinder | 0 |
| ellipsoid | its points moved inwards along the normal by the radius | 0.9 of the least radius of curvature |
| mesh | the convex hull of its corners (extra `geometry`) | 0 |
| polygon of the ground | a flat hull | 0 |

A cylinder stays a cylinder, by its support function, and is no prism: it rolls smoothly, and a step with it costs less
than one with the many corners a smooth prism would need. So does an ellipsoid; its core is bent everywhere too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.environment import Environment
from setsu.contact.ground import MATERIAL, material_value
from setsu.contact.hull_faces import hull_faces
from setsu.contact.mesh_hulls import mesh_hull
from setsu.contact.scene import NODE, PAIR
from setsu.contact.shape_pairs import PlacedShape, ShapePairs
from setsu.mechanism import Material, Shape

__all__ = [
    "BOUNDED",
    "BOX",
    "CYLINDER",
    "ELLIPSOID",
    "HULL",
    "MOST_CORNERS",
    "MOST_FACETS",
    "OF_SOLID",
    "POINT",
    "RIM",
    "SEGMENT",
    "WITHOUT_END",
    "ConvexShapes",
    "bluntness",
    "make_shapes",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# Kinds of polygons.
BOUNDED, WITHOUT_END, OF_SOLID = range(3)
# Kinds of cores.
POINT, SEGMENT, BOX, CYLINDER, HULL, ELLIPSOID = range(6)
_CORES = {
    "sphere": POINT, "capsule": SEGMENT, "box": BOX, "cylinder": CYLINDER, "ellipsoid": ELLIPSOID, "mesh": HULL,
}  # fmt: skip
# Radius of a shape's surface where it has faces, in parts of its size.
_FLAT = 1e3
# Of the least radius of curvature of an ellipsoid: what rounds its core, which is convex up to 1.
_ROUNDED = 0.9

RIM = 8
"""Points that stand for the rim of a cylinder where it stands on its end."""
MOST_CORNERS, MOST_FACETS = 100, 400
"""Room for the polytope of convex_depth.py."""

_SHAPE = np.dtype(
    [
        ("body", "i8"),  # -1: fixed in the world
        ("core", "i8"),
        ("ground", "i8"),  # what of the ground it meets: EDGES, PLANES (shape_pairs.py)
        ("covered", "i8"),  # 1: its corners are contact points
        ("log", "i8"),  # number of its body and the ground in the log
        # m: half lengths of a box; radius, radius, half length of a cylinder; 0, 0, half a segment; half axes
        # of an ellipsoid
        ("half", "f8", 3),
        ("radius", "f8"),  # m: rounds the core
        ("first", "i8"),  # corner a search of a hull begins at
        ("corners", "i8"),  # how many a hull has
        ("corner", "i8"),  # corner the last search ended at
        ("reach", "f8"),  # m: radius of a ball around the shape
        ("blunt", "f8"),  # m: radius of its surface where others touch it; of faces much more than the shape is large
        ("farthest", "f8"),  # m: distance of its farthest point from the body's origin, at most
        ("rotation", "f8", (3, 3)),  # in the body frame
        ("center", "f8", 3),
        ("R", "f8", (3, 3)),  # in the world, of this step
        ("place", "f8", 3),
        ("speed", "f8"),  # m/s: no point of it is faster
        ("static_friction", "f8"),
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
        ("torsional", "f8"),
        ("rolling", "f8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("dissipation", "f8"),
        ("surface", "f8", 3),  # m/s: velocity of its surface, world axes
    ]
)
_FACE = np.dtype([("start", "i8"), ("stop", "i8"), ("normal", "f8", 3)])
# faced: 1: contact points meet the polygons that the first is made of. skip: 1: never looked at.
_PAIR = np.dtype([("first", "i8"), ("second", "i8"), ("log", "i8"), ("faced", "i8"), ("skip", "i8")])
# A polygon of the ground: kind, edges in `edges`, normal and offset.
_GROUND = np.dtype([("kind", "i8"), ("edge_start", "i8"), ("edge_stop", "i8"), ("normal", "f8", 3), ("offset", "f8")])
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
    ground: Any  # polygons, (n,); number k is shape ground_start[0] + k
    ground_start: Ints  # (1,)
    ground_edges: Floats  # (n, 5) a·x <= d, world axes, and how far normals may lean over it (ground.py)
    spare: Any  # (1,) a contact (scene.py)
    nodes: Any  # tree of boxes around the polygons (scene.py)
    scratch: Ints  # (2, .) work arrays of a walk over it
    velocities: Floats  # (n_bodies, 6) at the bodies' origins, world axes, m/s and rad/s
    number: Ints  # (n, n) of the pair of two shapes, -1: none
    near: Ints  # pairs that are near (near_pairs.py)
    boxes: Floats  # (n, 6) lowest and highest corner of a box around each shape, m
    order: Ints  # (n,) shapes by where their boxes begin
    kernel: Handle  # (7,) native function bound to the state and to `velocities`


def make_shapes(pairs: ShapePairs, n_bodies: int) -> ConvexShapes:
    """Return the arrays of the shapes of so many bodies; InputError for a mesh that cannot be read."""
    ground = None
    if pairs.environment is not None and any(placed.ground for placed in pairs.shapes):
        ground = pairs.environment
    polygons = () if ground is None else ground.polygons
    shapes = np.zeros(len(pairs.shapes) + len(polygons), dtype=_SHAPE)
    corners: list[Floats] = [np.zeros((0, 3))]
    rings: list[list[int]] = []
    fans: list[list[int]] = []
    faces: list[tuple[list[int], Floats]] = []
    for index, (row, placed) in enumerate(zip(shapes, pairs.shapes, strict=False)):
        points, center = _fill(row, placed)
        row["ground"], row["covered"] = placed.ground, placed.covered
        row["log"] = pairs.ground_log[index] if pairs.ground_log else -1
        if row["core"] == HULL:
            start, face_start = len(rings), len(faces)
            row["first"], row["corners"] = start, len(points[0])
            hull = hull_faces(*points)
            faces += [([start + corner for corner in loop], normal) for loop, normal in hull.faces]
            rings += [[start + corner for corner in ring] for ring in hull.rings]
            fans += [[face_start + face for face in fan] for fan in hull.fans]
            corners.append(points[0])
        row["rotation"] = placed.pose[:3, :3]
        row["center"] = placed.pose[:3, :3] @ center + placed.pose[:3, 3]
        row["farthest"] = row["reach"] + np.linalg.norm(row["center"])
        row["blunt"] = bluntness(placed.shape, float(row["reach"]))
        if placed.body < 0:
            row["R"], row["place"] = row["rotation"], row["center"]
    table = np.zeros(len(faces) + len(polygons), dtype=_FACE)
    table["start"][: len(faces)], table["stop"][: len(faces)] = _ranges([loop for loop, _ in faces])
    for entry, (_, normal) in zip(table, faces, strict=False):
        entry["normal"] = normal
    flat = _flat_hulls(ground, shapes[len(pairs.shapes) :], table, len(faces), len(rings), sum(map(len, rings)))
    looked_at = np.zeros(len(pairs.pairs), dtype=_PAIR)
    if len(looked_at):
        looked_at["first"], looked_at["second"] = np.array(pairs.pairs).T
        looked_at["log"] = pairs.log
        solid_hull = np.array([placed.hull is not None for placed in pairs.shapes])
        covered = np.array([placed.covered for placed in pairs.shapes])
        looked_at["faced"] = solid_hull[looked_at["first"]] & covered[looked_at["second"]]
    number = np.full((max(1, len(pairs.shapes)), max(1, len(pairs.shapes))), -1, dtype=np.int64)
    number[looked_at["first"], looked_at["second"]] = np.arange(len(looked_at))
    number[looked_at["second"], looked_at["first"]] = np.arange(len(looked_at))
    longest = max([RIM, *(len(loop) for loop, _ in faces), *(len(p.vertices) for p in polygons)])
    solid, edges, nodes = _ground(ground)
    return ConvexShapes(
        shapes=shapes,
        pairs=looked_at,
        corners=np.concatenate([*corners, flat.corners]),
        ring_start=np.concatenate([_starts(rings), flat.ring_stop]),
        ring=np.concatenate([_joined(rings), flat.ring]),
        fan_start=np.concatenate([_starts(fans), sum(map(len, fans)) + 1 + np.arange(len(flat.corners))]),
        fan=np.concatenate([_joined(fans), flat.fan]),
        faces=table,
        loop=np.concatenate([_joined([loop for loop, _ in faces]), flat.loop]),
        simplex=np.zeros((4, 6)),
        weights=np.zeros(4),
        nearest=np.zeros((3, 3)),
        polytope=np.zeros((MOST_CORNERS, 6)),
        facets=np.zeros(MOST_FACETS, dtype=_FACET),
        edges=np.zeros((3 * MOST_FACETS, 2), dtype=np.int64),
        outline=np.zeros((4, 2 * longest + 2, 3)),
        found=np.zeros(2 * longest + 2, dtype=_FOUND),
        ground=solid,
        ground_start=np.array([len(pairs.shapes)], dtype=np.int64),
        ground_edges=edges,
        spare=np.zeros(1, dtype=PAIR),
        nodes=nodes,
        scratch=np.zeros((2, len(nodes) + 2), dtype=np.int64),
        velocities=np.zeros((n_bodies, 6)),
        number=number,
        near=np.zeros(max(1, len(pairs.pairs)), dtype=np.int64),
        boxes=np.zeros((max(1, len(pairs.shapes)), 6)),
        order=np.arange(max(1, len(pairs.shapes))),
        kernel=np.zeros(7, dtype=np.int64),
    )


class _FlatHulls(NamedTuple):
    corners: Floats
    ring_stop: Ints
    ring: Ints
    fan: Ints
    loop: Ints


def _flat_hulls(
    environment: Environment | None, shapes: Any, table: Any, first_face: int, first_corner: int, first_ring: int
) -> _FlatHulls:
    """Fill the shapes and faces of polygons, which follow those of all hulls; return what else they add."""
    polygons = () if environment is None else environment.polygons
    if environment is None or not polygons:
        none = np.zeros(0, dtype=np.int64)
        return _FlatHulls(np.zeros((0, 3)), none, none, none, none)
    counts = np.array([len(p.vertices) for p in polygons])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owner = np.repeat(np.arange(len(polygons)), counts)
    corners = np.concatenate([p.vertices for p in polygons])
    low, high = (f.reduceat(corners, starts[:-1], axis=0) for f in (np.minimum, np.maximum))
    center = 0.5 * (low + high)
    corners = corners - center[owner]
    shapes["body"], shapes["core"], shapes["first"] = -1, HULL, first_corner + starts[:-1]
    shapes["corners"] = counts
    shapes["place"], shapes["center"], shapes["R"], shapes["rotation"] = center, center, np.eye(3), np.eye(3)
    shapes["reach"] = np.maximum.reduceat(np.linalg.norm(corners, axis=1), starts[:-1])
    shapes["blunt"] = bluntness(None, 1.0)
    flat = environment.tables
    for key in (*MATERIAL, "surface"):
        shapes[key] = getattr(flat, key)
    number = np.arange(len(corners), dtype=np.int64)
    after, before = number + 1, number - 1
    after[starts[1:] - 1], before[starts[:-1]] = starts[:-1], starts[1:] - 1
    loop_start = int(table["stop"][first_face - 1]) if first_face else 0
    new = table[first_face:]
    new["start"], new["stop"] = loop_start + starts[:-1], loop_start + starts[1:]
    new["normal"] = flat.normal
    return _FlatHulls(
        corners,
        first_ring + 2 * (number + 1),
        first_corner + np.stack([before, after], axis=1).ravel(),
        first_face + owner.astype(np.int64),
        first_corner + number,
    )


def _ground(environment: Environment | None) -> tuple[Any, Floats, Any]:
    """Polygons, their edges with the leaning they allow, and the tree of boxes around them."""
    if environment is None:
        return np.zeros(0, dtype=_GROUND), np.zeros((0, 5)), np.zeros(0, dtype=NODE)
    flat = environment.tables
    ground = np.zeros(len(flat.offset), dtype=_GROUND)
    ground["normal"], ground["offset"] = flat.normal, flat.offset
    ground["edge_start"], ground["edge_stop"] = flat.edge_start[:-1], flat.edge_start[1:]
    ground["kind"] = [WITHOUT_END if p.unbounded else BOUNDED for p in environment.polygons]
    for solid in flat.solids:
        ground["kind"][list(solid.polygons)] = OF_SOLID
    nodes = np.zeros(len(flat.node_first), dtype=NODE)
    nodes["low"], nodes["high"], nodes["first"] = flat.node_low, flat.node_high, flat.node_first
    return ground, np.column_stack([flat.edge, flat.limit]), nodes


def _fill(row: Any, placed: PlacedShape) -> tuple[Any, Floats]:
    """Set what a shape's kind and size say; return corners and triangles of a hull, and its centre."""
    row["body"], row["surface"] = placed.body, placed.velocity
    _set_material(row, placed.material)
    if placed.shape is None:
        assert placed.hull is not None
        row["core"] = HULL
        return _centered(row, placed.hull.corners, placed.hull.triangles)
    size, points, center = placed.shape.size, None, np.zeros(3)
    row["core"] = _CORES[placed.shape.kind]
    match placed.shape.kind:
        case "box":
            row["half"] = 0.5 * np.array(size)
        case "sphere":
            row["radius"] = size[0]
        case "capsule":
            row["radius"], row["half"] = size[0], (0.0, 0.0, 0.5 * size[1])
        case "cylinder":
            row["half"] = size[0], size[0], 0.5 * size[1]
        case "ellipsoid":
            row["half"], row["radius"] = size, _ROUNDED * min(size) ** 2 / max(*size, 1e-300)
        case _:
            points, center = _centered(row, *mesh_hull(placed.shape, placed.owner))
    if points is None:
        half = row["half"]
        if row["core"] == ELLIPSOID:
            row["reach"] = half.max()
        elif row["core"] == CYLINDER:
            row["reach"] = np.hypot(half[0], half[2])
        else:
            row["reach"] = row["radius"] + np.linalg.norm(half)
    return points, center


def bluntness(shape: Shape | None, reach: float) -> float:
    """Radius of a shape's surface where others touch it (m), never 0; without a shape: of a hull of this reach.

    The place where two shapes touch goes with the sharper one: that of two balls in proportion to their radii, that of
    a ball on a box with the ball. On faces it is as undetermined as they are flat; there the smaller shape counts.
    """
    if shape is not None and shape.kind in ("sphere", "capsule", "cylinder"):
        return max(shape.size[0], 1e-9)
    if shape is not None and shape.kind == "ellipsoid":
        return max(*shape.size, 1e-9)
    return max(_FLAT * reach, 1e-9)


def _centered(row: Any, corners: Floats, triangles: Ints) -> tuple[Any, Floats]:
    center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    row["reach"] = np.linalg.norm(corners - center, axis=1).max()
    return (corners - center, triangles), center


def _set_material(row: Any, material: Material | None) -> None:
    """Friction and restitution; without any, those of the other shape count: the lower ones of both do."""
    for key in MATERIAL:
        row[key] = material_value(material, key)


def _ranges(lists: list[list[int]]) -> tuple[Ints, Ints]:
    ends = _starts(lists)
    return ends[:-1], ends[1:]


def _starts(lists: list[list[int]]) -> Ints:
    return np.concatenate([[0], np.cumsum([len(entries) for entries in lists])]).astype(np.int64)


def _joined(lists: list[list[int]]) -> Ints:
    return np.array([entry for entries in lists for entry in entries], dtype=np.int64)
