"""The faces of a convex hull given by triangles: triangles of one plane are one polygon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["HullFaces", "hull_faces"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 1 - cos of the angle (1e-5 rad) up to which neighbouring triangles make one face: mesh files keep seven digits.
_SAME_PLANE = 5e-11


class HullFaces(NamedTuple):
    """Faces as (corners counter-clockwise from outside, outward normal); neighbours and faces of each corner."""

    faces: list[tuple[list[int], Floats]]
    rings: list[list[int]]
    fans: list[list[int]]


def hull_faces(corners: Floats, triangles: Ints) -> HullFaces:
    """Return the faces of a hull.

    corners (n, 3): m. triangles (k, 3): numbers of corners, turning either way.
    """
    inside = corners.mean(axis=0)
    a, b, c = (corners[triangles[:, i]] for i in range(3))
    area = np.cross(b - a, c - a)
    turned = np.einsum("ki,ki->k", area, a - inside) < 0.0
    triangles = np.where(turned[:, None], triangles[:, ::-1], triangles)
    area[turned] *= -1.0
    length = np.linalg.norm(area, axis=1)
    normals = area / np.where(length > 0.0, length, 1.0)[:, None]
    edges = {(int(t[i]), int(t[(i + 1) % 3])): k for k, t in enumerate(triangles) for i in range(3)}
    rings: list[set[int]] = [set() for _ in corners]
    fans: list[set[int]] = [set() for _ in corners]
    for start, end in edges:
        rings[start].add(end)
        rings[end].add(start)
    faces, taken = [], np.zeros(len(triangles), dtype=bool)
    for seed in np.argsort(-length).tolist():  # the largest first: its normal is the most exact
        if taken[seed] or length[seed] == 0.0:
            continue
        members, front = {seed}, [seed]
        taken[seed] = True
        while front:
            t = triangles[front.pop()]
            for i in range(3):
                beyond = edges.get((int(t[(i + 1) % 3]), int(t[i])), -1)
                if beyond >= 0 and not taken[beyond] and normals[beyond] @ normals[seed] > 1.0 - _SAME_PLANE:
                    taken[beyond] = True
                    members.add(beyond)
                    front.append(beyond)
        for corner in triangles[list(members)].ravel().tolist():
            fans[corner].add(len(faces))
        faces.append((_outline(triangles, members), normals[seed]))
    return HullFaces(faces, [sorted(ring) for ring in rings], [sorted(fan) for fan in fans])


def _outline(triangles: Ints, members: set[int]) -> list[int]:
    """The rim of some triangles, in the order of its corners."""
    own = {(int(triangles[k][i]), int(triangles[k][(i + 1) % 3])) for k in members for i in range(3)}
    follows = {a: b for a, b in own if (b, a) not in own}
    start = next(iter(follows))
    loop = [start]
    while (corner := follows[loop[-1]]) != start and len(loop) < len(follows):
        loop.append(corner)
    return loop
