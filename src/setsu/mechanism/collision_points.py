"""Contact points from the collision shapes of a mechanism.

| shape | points |
|---|---|
| box | its eight corners |
| sphere | its centre, as a ball of its radius: the nearest point touches |
| capsule | the centres of its two ends, as balls |
| cylinder, ellipsoid | none: they meet the ground as what they are |
| mesh | corners of its convex hull (extra `geometry`): all, or as many as asked for |

Fewer corners of a hull: those nearest to the corners of the box around it come first, then again and again the one
farthest from those taken.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism.elements import Body, ContactPoint, Material, Shape
from setsu.mechanism.record import Mechanism

__all__ = ["WITHOUT_POINTS", "shape_points", "with_contact_points"]

Floats = NDArray[np.float64]

WITHOUT_POINTS = ("cylinder", "ellipsoid")
"""Kinds of shapes that no points stand for."""

# Corners of a mesh nearer than this part of its size to one already taken add nothing.
_SAME_CORNER = 1e-3
_DIAGONALS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def with_contact_points(
    mechanism: Mechanism,
    bodies: Iterable[str] | None = None,
    material: Material | None = None,
    *,
    mesh_points: int | None = None,
) -> Mechanism:
    """Return the mechanism with contact points taken from its collision shapes.

    They take the place of those that the bodies have; bodies without shapes, and those not named, keep theirs.

    Args:
        bodies: names of the bodies whose shapes count; all of them when not given.
        material: friction and restitution of the new points; when not given that of the shape, or Material().
        mesh_points: at most so many corners of each mesh, those that stand out most; all of its convex hull's when not
            given.

    Raises:
        InputError: an unknown body, a mesh that cannot be read.

    >>> import setsu
    >>> b = setsu.MechanismBuilder("block")
    >>> shape = setsu.Shape("box", (0.2, 0.1, 0.1))
    >>> _ = b.add_body("block", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3), collisions=[shape])
    >>> len(with_contact_points(b.build()).contact_points)
    8
    """
    if not (material is None or isinstance(material, Material)):
        raise InputError(f"with_contact_points: expected a Material, got {material!r:.80}")
    if mesh_points is not None and (isinstance(mesh_points, bool) or not isinstance(mesh_points, int)):
        raise InputError(f"with_contact_points: mesh_points: expected a whole number or None, got {mesh_points!r:.80}")
    if mesh_points is not None and mesh_points < 4:
        raise InputError(f"with_contact_points: mesh_points: expected at least 4, got {mesh_points}")
    names = [body.name for body in mechanism.bodies] if bodies is None else list(bodies)
    for name in names:
        mechanism.frame(name)
    new = [
        ContactPoint(body.name, (float(x), float(y), float(z)), material or shape.material or Material(), radius)
        for body in mechanism.bodies
        if body.name in names and mechanism.frame(body.name).body >= 0
        for shape in body.collisions
        for (x, y, z), radius in zip(*shape_points(shape, body, mesh_points), strict=True)
    ]
    replaced = {point.body for point in new}
    kept = [point for point in mechanism.contact_points if point.body not in replaced]
    return dataclasses.replace(mechanism, contact_points=(*kept, *new))


def shape_points(shape: Shape, body: Body, mesh_points: int | None = None) -> tuple[Floats, list[float]]:
    """Return the points of a shape in the body frame, (n, 3) m, and the radius of each; of meshes at most so many."""
    size, radius = shape.size, 0.0
    match shape.kind:
        case "box":
            points = np.array(list(itertools.product(*[(-0.5 * edge, 0.5 * edge) for edge in size])))
        case "sphere":
            points, radius = np.zeros((1, 3)), size[0]
        case "capsule":
            points, radius = np.array([[0.0, 0.0, -0.5 * size[1]], [0.0, 0.0, 0.5 * size[1]]]), size[0]
        case kind if kind in WITHOUT_POINTS:
            points = np.zeros((0, 3))
        case _:
            points = _outstanding(_hull_points(shape, body), mesh_points)
    T = shape.pose.matrix
    return points @ T[:3, :3].T + T[:3, 3], [radius] * len(points)


def _hull_points(shape: Shape, body: Body) -> Floats:
    try:
        coal: Any = import_module("coal")  # its names are made at run time
    except ImportError:
        raise InputError(
            f'body "{body.name}": contact points of the mesh {shape.mesh} need coal: pip install setsu[geometry], '
            "or give points by hand (MechanismBuilder.add_contact_points)"
        ) from None
    try:
        mesh = coal.MeshLoader().load(shape.mesh, np.array(shape.size))
        mesh.buildConvexHull(True, "Qt")
        return np.array([mesh.convex.point(k) for k in range(mesh.convex.num_points)])
    except (RuntimeError, ValueError) as problem:
        raise InputError(f'body "{body.name}": cannot read the mesh {shape.mesh} ({problem})') from None


def _outstanding(points: Floats, most: int | None) -> Floats:
    """The corners of a hull (n, 3), or so many of them that leave the others near."""
    if most is None or len(points) <= most:
        return points
    extent = np.ptp(points, axis=0)
    size = float(extent.max())
    within_box = (points - points.min(axis=0)) / np.maximum(extent, 1e-9 * size)
    chosen: list[int] = []
    distance = np.full(len(points), np.inf)
    # -1: the farthest from those chosen.
    for candidate in [*np.argmax(within_box @ _DIAGONALS.T, axis=0).tolist(), *[-1] * most]:
        index = candidate if candidate >= 0 else int(distance.argmax())
        if distance[index] <= _SAME_CORNER * size:
            continue
        chosen.append(index)
        distance = np.minimum(distance, np.linalg.norm(points - points[index], axis=1))
        if len(chosen) == most:
            break
    return points[chosen]
