"""The polygons of an environment as arrays: planes, edges, a tree of boxes, which edges are real, which faces a solid.

| symbol | meaning | unit |
|---|---|---|
| N, d | normal and offset of a polygon | -, m |
| a_e | outward direction of an edge, in the polygon's plane | |
| c_e | how far a contact normal n may lean over an edge: n·a_e <= c_e | |

    c_e = N_neighbour · a_e                                                   (1)  1 at a rim without neighbour

Over a flat or hollow edge c_e <= 0: nothing is touched there but faces, and bodies slide over the seams of a floor.
Over a ridge the normal lies between those of the two faces.
Polygons that close up and bound a convex body (those of Environment.box) are one solid. Cost: n log n in the number of
polygons, in a few passes over arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.polygon import Polygon
from setsu.mechanism import Material

__all__ = ["MATERIAL", "GroundTables", "Solid", "ground_tables", "material_value"]

# What makes up a material.
MATERIAL = (
    "static_friction", "kinetic_friction", "restitution", "torsional", "rolling", "stiffness", "damping", "dissipation",
)  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Corners nearer than this part of the ground's size are one.
_SAME = 1e-9


class Solid(NamedTuple):
    """A convex body closed by polygons: name, corners (n, 3) m, triangles (k, 3), numbers of its polygons."""

    name: str
    corners: Floats
    triangles: Ints
    polygons: tuple[int, ...]


class GroundTables(NamedTuple):
    """Polygons as arrays: planes n·x = offset, edges a·x <= d, and a tree of boxes around them.

    A node of the tree holds the box of its polygons; below `first` >= 0 stand its two halves, at first and first + 1;
    a leaf has first = -1 - polygon. Polygons without bounds have no edges.
    """

    normal: Floats  # (n, 3)
    offset: Floats  # (n,)
    edge_start: Ints  # (n + 1,)
    edge: Floats  # (n_edges, 4)
    corner: Floats  # (n_edges, 3) where each edge begins, m
    limit: Floats  # (n_edges,) (1)
    node_low: Floats  # (n_nodes, 3)
    node_high: Floats  # (n_nodes, 3)
    node_first: Ints  # (n_nodes,)
    solids: tuple[Solid, ...]
    static_friction: Floats  # (n,) inf: that of what touches the polygon
    kinetic_friction: Floats
    restitution: Floats
    torsional: Floats
    rolling: Floats
    stiffness: Floats
    damping: Floats
    dissipation: Floats
    surface: Floats  # (n, 3) velocity of the surface, m/s


def ground_tables(polygons: tuple[Polygon, ...]) -> GroundTables:
    """Return the arrays of some polygons."""
    counts = np.array([len(p.vertices) for p in polygons], dtype=np.int64)
    unbounded = np.array([p.unbounded for p in polygons], dtype=bool)
    corners = np.concatenate([np.zeros((0, 3)), *(p.vertices for p in polygons)])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    owner = np.repeat(np.arange(len(polygons)), counts)
    follows = np.arange(len(corners)) + 1
    follows[starts[1:] - 1] = starts[:-1]
    normal, offset = _planes(corners, starts, owner, follows)
    along = corners[follows] - corners
    outward = np.cross(along, normal[owner])
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    edge = np.column_stack([outward, np.einsum("ij,ij->i", outward, corners)])
    neighbour = _neighbours(corners, follows, owner, unbounded)
    beyond = np.einsum("ij,ij->i", normal[np.maximum(owner[neighbour], 0)], outward) if len(corners) else np.zeros(0)
    limit = np.where(neighbour >= 0, beyond, 1.0)
    solids = _solids(polygons, corners, starts, owner, neighbour, normal, offset)
    kept = ~unbounded[owner] if len(corners) else np.zeros(0, dtype=bool)
    low, high, first = _tree(polygons, corners, starts, unbounded)
    return GroundTables(
        normal=normal,
        offset=offset,
        edge_start=np.concatenate([[0], np.cumsum(np.where(unbounded, 0, counts))]).astype(np.int64),
        edge=edge[kept],
        corner=corners[kept],
        limit=limit[kept],
        node_low=low,
        node_high=high,
        node_first=first,
        solids=solids,
        surface=np.array([p.velocity for p in polygons]).reshape(-1, 3),
        **{key: _values(polygons, key) for key in MATERIAL},
    )


def _values(polygons: tuple[Polygon, ...], key: str) -> Floats:
    return np.array([material_value(p.material, key) for p in polygons], dtype=np.float64)


def material_value(material: Material | None, key: str) -> float:
    """An entry of a material; inf where there is none: of two surfaces the lower values count. Rigid: stiffness inf."""
    value = None if material is None else getattr(material, key)
    if key in ("damping", "dissipation"):
        return value or 0.0
    return np.inf if value is None else value


def _planes(corners: Floats, starts: Ints, owner: Ints, follows: Ints) -> tuple[Floats, Floats]:
    """Unit normals and offsets of all polygons, as Polygon.normal and Polygon.offset."""
    if not len(corners):
        return np.zeros((0, 3)), np.zeros(0)
    arms = corners - corners[starts[:-1]][owner]
    twice = np.add.reduceat(np.cross(arms, arms[follows]), starts[:-1], axis=0)
    normal = twice / np.linalg.norm(twice, axis=1)[:, None]
    mean = np.add.reduceat(corners, starts[:-1], axis=0) / np.diff(starts)[:, None]
    return normal, np.einsum("ij,ij->i", normal, mean)


def _neighbours(corners: Floats, follows: Ints, owner: Ints, unbounded: NDArray[np.bool_]) -> Ints:
    """For each edge the one of another polygon that runs the other way between the same corners, -1: none."""
    result = np.full(len(corners), -1, dtype=np.int64)
    if not len(corners):
        return result
    grid = _SAME * max(float(np.ptp(corners, axis=0).max()), 1e-300)
    _, number = np.unique(np.round(corners / grid).astype(np.int64), axis=0, return_inverse=True)
    number = np.asarray(number).ravel().astype(np.int64)
    forward = number * (number.max() + 1) + number[follows]
    backward = number[follows] * (number.max() + 1) + number
    order = np.argsort(forward, kind="stable")
    begin = np.searchsorted(forward[order], backward, side="left")
    end = np.searchsorted(forward[order], backward, side="right")
    single = (end - begin == 1) & ~unbounded[owner]
    result[single] = order[begin[single]]
    # Bodies that stand edge to edge: of several, the polygon that was given nearest to this one.
    for e in np.flatnonzero((end - begin > 1) & ~unbounded[owner]):
        candidates = order[begin[e] : end[e]]
        result[e] = candidates[np.abs(owner[candidates] - owner[e]).argmin()]
    result[(result >= 0) & unbounded[owner[result]]] = -1
    # Only where both agree.
    agree = (result >= 0) & (result[np.maximum(result, 0)] == np.arange(len(result)))
    return np.where(agree, result, -1)


def _solids(
    polygons: tuple[Polygon, ...], corners: Floats, starts: Ints, owner: Ints, neighbour: Ints, normal: Floats,
    offset: Floats,
) -> tuple[Solid, ...]:  # fmt: skip
    """Sets of polygons without a rim, all of whose corners lie behind all of their planes."""
    label = np.arange(len(polygons))
    inner = neighbour >= 0
    a, b = owner[inner], owner[neighbour[inner]]
    while len(a):  # the least number of all connected polygons spreads
        least = np.minimum(label[a], label[b])
        before = label.copy()
        np.minimum.at(label, a, least)
        np.minimum.at(label, b, least)
        label = label[label]
        if np.array_equal(label, before):
            break
    open_sets = set(label[owner[~inner]].tolist())
    plain = [p.material is None and not any(p.velocity) for p in polygons]
    found = []
    for first in sorted(set(label.tolist()) - open_sets):
        members = np.flatnonzero(label == first)
        rows = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in members])
        own, number = np.unique(corners[rows], axis=0, return_inverse=True)
        size = float(np.ptp(own, axis=0).max())
        ahead = own @ normal[members].T - offset[members]
        uniform = all(plain[k] for k in members) or len({polygons[k]._key[2:] for k in members}) == 1
        if ahead.max() > 1e-7 * size or not uniform:
            continue
        number = np.asarray(number).ravel()
        triangles, place = [], 0
        for k in members:
            count = starts[k + 1] - starts[k]
            ring = number[place : place + count]
            triangles += [(ring[0], ring[i], ring[i + 1]) for i in range(1, count - 1)]
            place += count
        names = [polygons[k].name for k in members]
        found.append(Solid(_shared(names), own, np.array(triangles, dtype=np.int64), tuple(members.tolist())))
    return tuple(found)


def _shared(names: list[str]) -> str:
    """The words all names begin with, or the first name."""
    words = [name.split() for name in names]
    count = 0
    while all(len(w) > count and w[count] == words[0][count] for w in words):
        count += 1
    return " ".join(words[0][:count]) or names[0]


def _tree(
    polygons: tuple[Polygon, ...], corners: Floats, starts: Ints, unbounded: NDArray[np.bool_]
) -> tuple[Floats, Floats, Ints]:
    """Boxes around halves of halves of the polygons, split at the median of the longest side, level by level."""
    n = len(polygons)
    if n == 0:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=np.int64)
    low = np.minimum.reduceat(corners, starts[:-1], axis=0)
    high = np.maximum.reduceat(corners, starts[:-1], axis=0)
    middle = 0.5 * (low + high)
    low[unbounded], high[unbounded] = -np.inf, np.inf
    order, begins = np.arange(n), np.array([0])
    lows, highs, firsts = [], [], []
    placed = 1  # nodes that have a number
    while len(begins):
        # `begins`: where the nodes of this level begin in `order`, which holds no other polygons.
        lengths = np.diff(np.append(begins, len(order)))
        lows.append(np.minimum.reduceat(low[order], begins, axis=0))
        highs.append(np.maximum.reduceat(high[order], begins, axis=0))
        m = middle[order]
        axis = (np.maximum.reduceat(m, begins, axis=0) - np.minimum.reduceat(m, begins, axis=0)).argmax(axis=1)
        node = np.repeat(np.arange(len(begins)), lengths)
        order = order[np.lexsort((m[np.arange(len(m)), axis[node]], node))]
        many = lengths > 1
        first = np.empty(len(begins), dtype=np.int64)
        first[~many] = -1 - order[begins[~many]]
        first[many] = placed + 2 * np.arange(many.sum())
        placed += 2 * int(many.sum())
        firsts.append(first)
        order = order[np.repeat(many, lengths)]
        left = lengths[many] // 2
        sizes = np.stack([left, lengths[many] - left], axis=1).ravel()
        begins = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64) if len(sizes) else np.zeros(0, int)
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(firsts)
