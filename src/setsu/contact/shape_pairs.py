"""Which collision shapes may touch each other and the world, and what they are like.

| shapes | touch |
|---|---|
| on two moving bodies that no joint ties together | where `between_bodies` says so |
| on a moving body, and fixed in the world | always; but not the body a joint ties it to |
| on a moving body, and polygons | edges and faces always; corners are contact points where the body has them |

Fixed in the world are shapes of bodies that no joint moves, shapes of the environment, and its polygons that close up
around a convex body. Points of bodies without shapes meet such shapes as balls.
Pairs of bodies that are named in `exclude`, or in `excluded` of the mechanism, never touch; nor do shapes of bodies
whose contype and conaffinity have no bit in common.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.contact.environment import Environment
from setsu.contact.ground import Solid
from setsu.contact.mesh_hulls import mesh_hull
from setsu.contact.mesh_parts import hull_excess
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Body, Free, Material, Mechanism, Shape
from setsu.mechanism.collision_points import WITHOUT_POINTS, shape_points

__all__ = ["EDGES", "MARGIN", "PLANES", "POINTS_PER_PAIR", "PlacedShape", "ShapePairs", "shape_pairs"]

Floats = NDArray[np.float64]

MARGIN = 1e-3
"""Shapes count from this distance on (m), plus what they can travel towards each other in two steps."""
POINTS_PER_PAIR = 8
"""Largest number of contacts between two shapes."""
EDGES, PLANES = 1, 2
"""What a shape meets of the ground: polygons with edges; planes without end."""

WORLD_NAME = "world"
# Contacts that there is room for: of a shape with other shapes on average, of a shape with polygons (twice what
# pair_detection.py keeps: steps are taken again with more), and of the one shape that is being thinned out.
_PAIR_ROOM, _GROUND_ROOM, _SPARE_ROOM = 48, 32, 128
# Hulls so much larger than their mesh (parts of its volume) are reported.
_CONCAVE = 0.5


@dataclass(frozen=True)
class PlacedShape:
    """A collision shape: number of its moving body (-1: the world), pose (4, 4) in its frame, who carries it.

    material: None takes that of the other shape. velocity: of its surface, m/s. hull: corners (n, 3) m and triangles
    of a solid made of polygons. ground: what of the polygons it meets, EDGES and PLANES. covered: its corners are
    contact points.
    """

    body: int
    owner: str
    shape: Shape | None
    pose: Floats
    material: Material | None
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    hull: Solid | None = None
    ground: int = 0
    covered: bool = False


@dataclass(frozen=True)
class ShapePairs:
    """Shapes, and the pairs of them that may touch.

    pairs: numbers of two shapes, the one fixed in the world first. log: for each the number of its bodies in `names`,
    where the body of the second shape comes first. ground_log: of each shape with the polygons. between_bodies: whether
    two moving bodies are among them.
    """

    shapes: tuple[PlacedShape, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    log: tuple[int, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    ground_log: tuple[int, ...] = ()
    between_bodies: bool = False
    environment: Environment | None = None

    @property
    def room(self) -> int:
        """Largest number of contacts between shapes."""
        near = min(2 * POINTS_PER_PAIR * len(self.pairs), _PAIR_ROOM * len(self.shapes))
        grounded = sum(shape.ground > 0 for shape in self.shapes)
        return near + (_GROUND_ROOM * grounded + _SPARE_ROOM if grounded else 0)


def shape_pairs(
    mechanism: Mechanism,
    environment: Environment | None = None,
    between_bodies: bool = True,
    exclude: Iterable[tuple[str, str]] = (),
) -> ShapePairs:
    """Return the pairs of a mechanism in an environment; exclude: names of two bodies that never touch."""
    m = mechanism
    apart = _excluded(m, exclude, between_bodies) | {frozenset(pair) for pair in m.excluded}
    declared = m.bodies_by_name
    world = _world_shapes(m, environment)
    moving = _moving_shapes(m, environment, bool(world))
    if not between_bodies:
        moving = _readable(m, [s for s in moving if world or s.ground])
    # A plane meets the corners of a hull, which are those of the mesh.
    if between_bodies or world:
        _warn_of_hulls(m, moving)
    shapes = [*moving, *world]
    joined = {frozenset((m.frame(b.name).body, m.frame(b.parent).body)) for b in m.moving}
    attached = {m.frame(b.name).body: b.parent for b in m.moving if not isinstance(b.joint, Free)}
    masked = [_masked(s, declared) for s in shapes]
    bodies = [s.body for s in shapes]
    pairs = []
    for i, j in itertools.combinations(range(len(shapes)), 2):
        a, b, mask, other = shapes[i], shapes[j], masked[i], masked[j]
        if bodies[i] == bodies[j] or not (mask is None or other is None or mask.may_touch(other)):
            continue
        if apart and frozenset((a.owner, b.owner)) in apart:
            continue
        if b.body < 0:
            # A ball that is a contact point meets the polygons of a solid as such.
            ball = b.hull is not None and a.covered and a.shape is not None and a.shape.kind == "sphere"
            if attached.get(a.body) != b.owner and not ball:
                pairs.append((j, i))
        elif between_bodies and frozenset((a.body, b.body)) not in joined:
            pairs.append((i, j))
    log, ground_log, names = _name_pairs(m, shapes, pairs)
    return ShapePairs(
        tuple(shapes),
        tuple(pairs),
        log,
        names,
        ground_log,
        any(shapes[i].body >= 0 for i, _ in pairs),
        environment,
    )


def _name_pairs(
    m: Mechanism, shapes: list[PlacedShape], pairs: list[tuple[int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[str, str], ...]]:
    """Return `log`, `ground_log` and `names` of ShapePairs: names in order, those with the ground last."""
    body_names = m.body_names
    labels = [WORLD_NAME, *(body_names[s.body] if s.body >= 0 else s.owner for s in shapes)]
    known, rank = np.unique(labels, return_inverse=True)
    ground, rank = int(rank[0]), rank[1:].astype(np.int64)
    grounded = np.array([k for k, s in enumerate(shapes) if s.ground], dtype=np.int64)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    one = np.concatenate([rank[second], rank[grounded]])
    other = np.concatenate([rank[first], np.full(len(grounded), ground)])
    code = ((other == ground) * len(known) + one) * len(known) + other
    distinct, number = np.unique(code, return_inverse=True)
    names = tuple(
        (str(known[k % len(known)]), str(known[o]))
        for k, o in zip(distinct // len(known), distinct % len(known), strict=True)
    )
    ground_log = np.full(len(shapes), -1)
    ground_log[grounded] = number[len(pairs) :]
    return tuple(number[: len(pairs)].tolist()), tuple(ground_log.tolist()), names


def _masked(placed: PlacedShape, bodies: Mapping[str, Body]) -> Shape | None:
    """The shape whose contype and conaffinity count; None for what touches all: shapes of the environment."""
    return placed.shape if placed.owner in bodies else None


def _excluded(m: Mechanism, exclude: Iterable[tuple[str, str]], between_bodies: bool) -> set[frozenset[str]]:
    """Names of bodies that never touch, checked."""
    known = {body.name for body in m.bodies}
    result = set()
    try:
        entries = [tuple(entry) for entry in exclude]
    except TypeError:
        raise InputError(f"exclude: expected pairs of names of bodies, got {exclude!r:.80}") from None
    for entry in entries:
        if len(entry) != 2 or not all(isinstance(name, str) for name in entry):
            raise InputError(f"exclude: expected pairs of names of bodies, got {entry!r:.80}")
        for name in entry:
            if name not in known:
                m.frame(name)  # names the nearest ones
        if not between_bodies and all(m.frame(name).body >= 0 for name in entry):
            raise InputError(f"exclude: {entry!r} has no effect: without body_contacts bodies do not touch each other")
        result.add(frozenset(entry))
    return result


def _world_shapes(m: Mechanism, environment: Environment | None) -> list[PlacedShape]:
    fixed = [
        PlacedShape(
            -1, body.name, shape, m.frame(body.name).pose.matrix @ shape.pose.matrix, _material(m, body.name, shape)
        )
        for body in m.bodies
        for shape in body.collisions
        if m.frame(body.name).body < 0
    ]
    if environment is None:
        return fixed
    names = {body.name for body in m.bodies}

    def named(name: str) -> str:
        return f"{name} of the world" if name in names else name

    placed = [
        PlacedShape(-1, named(f"{shape.kind} {index}"), shape, shape.pose.matrix, shape.material)
        for index, shape in enumerate(environment.shapes)
    ]
    solids = []
    for solid in environment.tables.solids:
        face = environment.polygons[solid.polygons[0]]
        solids.append(PlacedShape(-1, named(solid.name), None, np.eye(4), face.material, face.velocity, solid))
    return [*fixed, *placed, *solids]


def _moving_shapes(m: Mechanism, environment: Environment | None, world: bool) -> list[PlacedShape]:
    points: dict[str, list[tuple[float, ...]]] = {}
    for point in m.contact_points:
        points.setdefault(point.body, []).append((*point.position, point.radius))
    present = _present(environment)
    faces = bool(present & EDGES) or (environment is not None and len(environment.tables.solids) > 0)
    result = []
    for body in m.bodies:
        frame = m.frame(body.name)
        if frame.body < 0:
            continue
        own = np.array(points.get(body.name, [])).reshape(-1, 4)
        for shape in body.collisions:
            covered = faces and _is_covered(shape, body, own)
            # A ball that is a contact point meets faces and rims as such.
            ground = 0 if covered and shape.kind == "sphere" else EDGES
            if shape.kind in WITHOUT_POINTS or not len(own):
                ground |= PLANES
            pose = frame.pose.matrix @ shape.pose.matrix
            material, ground = _material(m, body.name, shape), ground & present
            result.append(PlacedShape(frame.body, body.name, shape, pose, material, ground=ground, covered=covered))
        if world and not body.collisions:
            for point in m.contact_points:
                if point.body == body.name:
                    pose = np.eye(4)
                    pose[:3, 3] = (frame.pose.matrix @ [*point.position, 1.0])[:3]
                    ball = Shape("sphere", (point.radius,))
                    result.append(PlacedShape(frame.body, body.name, ball, pose, point.material, covered=True))
    return result


def _present(environment: Environment | None) -> int:
    """What the ground has of EDGES and PLANES, without the polygons of solids."""
    if environment is None:
        return 0
    in_solids = {k for solid in environment.tables.solids for k in solid.polygons}
    edges = any(not p.unbounded and k not in in_solids for k, p in enumerate(environment.polygons))
    return (EDGES if edges else 0) | (PLANES if any(p.unbounded for p in environment.polygons) else 0)


def _readable(m: Mechanism, shapes: list[PlacedShape]) -> list[PlacedShape]:
    """Without meshes that cannot be read, with a warning: they meet the ground by contact points, if any."""
    kept, lost = [], []
    for placed in shapes:
        if placed.shape is not None and placed.shape.kind == "mesh":
            try:
                mesh_hull(placed.shape, placed.owner)
            except InputError as problem:
                lost.append((placed.owner, problem))
                continue
        kept.append(placed)
    if lost:
        names = ", ".join(sorted({owner for owner, _ in lost}))
        warnings.warn(
            f"simulate: {m.name}: these bodies touch the environment with their contact points only, if they have any: "
            f"{names} ({lost[0][1]})",
            ModelWarning,
            stacklevel=5,
        )
    return kept


def _warn_of_hulls(m: Mechanism, shapes: list[PlacedShape]) -> None:
    """Name the bodies with meshes that are much smaller than the hulls that are taken for them."""
    concave: dict[str, float] = {}
    for placed in shapes:
        if placed.shape is not None and placed.shape.kind == "mesh":
            excess = hull_excess(placed.shape, placed.owner)
            if excess > _CONCAVE:
                concave[placed.owner] = max(excess, concave.get(placed.owner, 0.0))
    if concave:
        names = ", ".join(f"{owner} ({1.0 + excess:.2g} times the mesh)" for owner, excess in sorted(concave.items()))
        warnings.warn(
            f"simulate: {m.name}: contact takes the convex hulls of concave meshes: {names}. "
            "setsu.with_convex_parts(mechanism) puts convex parts in their place (pip install setsu[geometry])",
            ModelWarning,
            stacklevel=5,
        )


def _is_covered(shape: Shape, body: Body, own: Floats) -> bool:
    """Whether the corners of a shape are among contact points of its body (n, 4): place and radius."""
    if shape.kind in WITHOUT_POINTS or not len(own):
        return False
    try:
        corners, radii = shape_points(shape, body)
    except InputError:  # a mesh that cannot be read
        return False
    wanted = np.column_stack([corners, radii])
    size = max(float(np.abs(wanted).max()), 1e-300)
    return all(np.abs(own - corner).max(axis=1).min() <= 1e-9 * size for corner in wanted)


def _material(m: Mechanism, body: str, shape: Shape) -> Material:
    """That of a shape, or of its body's contact points, where they agree, or the default one."""
    if shape.material is not None:
        return shape.material
    found = {point.material for point in m.contact_points if point.body == body}
    return found.pop() if len(found) == 1 else Material()
