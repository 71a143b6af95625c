"""Direction in which two convex cores that touch or overlap come apart soonest, by an expanding polytope.

| symbol | meaning | unit |
|---|---|---|
| C = A - B | all differences a - b of points of the two cores | m |
| n | direction from A towards B, of length 1 | |
| h(n) = max n·c, c in C | way of B along n after which the cores only touch | m |

    depth = min h(n) over all n                                               (1)
    P: polytope of points of C; facet f of P: n_f·x <= d_f                    (2)
    d_f <= depth <= h(n_f) for the facet with the least d_f                   (3)  so d_f = h(n_f) ends the search

P begins as a tetrahedron anywhere in C and grows by the point of C farthest along n_f until (3) is met. The origin need
not lie in P, nor in C: then d_f is negative, and the facet of C is found that lies farthest from it; cores that just
touch need no case of their own. Every h(n_f) is a way out; the shortest one seen is the result also where rounding, or
the room for facets, ends the search before (3) does. Facets narrower than the square root of rounding have no normal to
rely on: (3) is asked for to that part of the cores' size. Where this leaves something (bent cylinders, nearly parallel
faces), the direction is improved by

    n <- direction of the distance of A and B moved by (h(n) + a little) n    (4)

which never raises h: h(n') <= h(n) - δ (1 - n·n') for a way δ. It converges at once where C has facets; where C is bent
around a place near to the origin slowly, hence (4) is carried on along the same arc as long as h falls.
Source: van den Bergen, Proximity queries and penetration depth computation on 3D game objects (2001), with the signed
distances and (4) of our own. Cost: O(facets) per corner, some ten corners for boxes.
"""

from __future__ import annotations

import math

from setsu.contact.convex_distance import APART, core_distance, difference, set_nearest
from setsu.contact.convex_tables import MOST_CORNERS, MOST_FACETS, ConvexShapes
from setsu.native.control_flow import inline

__all__ = ["core_depth"]

_ROUNDS = MOST_CORNERS - 4
# Parts of the cores' size: how near (3) is met where nothing is left to improve, and where the search ends; below
# which P is flat; how far B is moved beyond touching in (4).
_EXACT, _RESOLVED, _FLAT, _APART = 1e-14, 1e-8, 1e-12, 1e-4
_IMPROVEMENTS = 12


@inline
def _set_facet(tables: ConvexShapes, index, i, j, k):
    """Plane of three corners; a facet without area is never chosen and never seen."""
    f, p, q, r = tables.facets[index], tables.polytope[i], tables.polytope[j], tables.polytope[k]
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    longest = (ux * ux + uy * uy + uz * uz) + (vx * vx + vy * vy + vz * vz)
    f.corner[0], f.corner[1], f.corner[2], f.alive = i, j, k, 1
    if length <= _FLAT * longest:
        f.normal[0] = f.normal[1] = f.normal[2] = 0.0
        f.offset = math.inf
        return
    f.normal[0], f.normal[1], f.normal[2] = nx / length, ny / length, nz / length
    f.offset = f.normal[0] * p[0] + f.normal[1] * p[1] + f.normal[2] * p[2]


@inline
def _farther(tables: ConvexShapes, A, B, tx, ty, tz, dx, dy, dz, index, px, py, pz):
    """Corner `index`: the point of C farthest from p along d or -d; return how far along the unit d."""
    out = tables.polytope[index]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / length, dy / length, dz / length
    difference(tables, A, B, tx, ty, tz, dx, dy, dz, out)
    ahead = dx * (out[0] - px) + dy * (out[1] - py) + dz * (out[2] - pz)
    x, y, z, a, b, c = out[0], out[1], out[2], out[3], out[4], out[5]
    difference(tables, A, B, tx, ty, tz, -dx, -dy, -dz, out)
    behind = dx * (px - out[0]) + dy * (py - out[1]) + dz * (pz - out[2])
    if behind > ahead:
        return behind
    out[0], out[1], out[2], out[3], out[4], out[5] = x, y, z, a, b, c
    return ahead


@inline
def _across(x, y, z):
    """Some direction at right angles."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        return 0.0, z, -y
    if abs(y) <= abs(z):
        return -z, 0.0, x
    return y, -x, 0.0


@inline
def _begin(tables: ConvexShapes, A, B, tx, ty, tz, flat):
    """Make P a tetrahedron; False where C is flat, a direction in which it is into nearest[0]."""
    P, out = tables.polytope, tables.nearest[0]
    dx, dy, dz = tx, ty, tz
    if dx * dx + dy * dy + dz * dz <= flat * flat:
        # Along an axis of A: the answer turns with the world.
        R = tables.shapes[A].R
        dx, dy, dz = R[0, 2], R[1, 2], R[2, 2]
    difference(tables, A, B, tx, ty, tz, dx, dy, dz, P[0])
    if _farther(tables, A, B, tx, ty, tz, dx, dy, dz, 1, P[0, 0], P[0, 1], P[0, 2]) <= flat:
        out[0], out[1], out[2] = dx, dy, dz
        return False
    ux, uy, uz = P[1, 0] - P[0, 0], P[1, 1] - P[0, 1], P[1, 2] - P[0, 2]
    dx, dy, dz = _across(ux, uy, uz)
    if _farther(tables, A, B, tx, ty, tz, dx, dy, dz, 2, P[0, 0], P[0, 1], P[0, 2]) <= flat:
        dx, dy, dz = uy * dz - uz * dy, uz * dx - ux * dz, ux * dy - uy * dx
        if _farther(tables, A, B, tx, ty, tz, dx, dy, dz, 2, P[0, 0], P[0, 1], P[0, 2]) <= flat:
            out[0], out[1], out[2] = dx, dy, dz
            return False
    vx, vy, vz = P[2, 0] - P[0, 0], P[2, 1] - P[0, 1], P[2, 2] - P[0, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    height = _farther(tables, A, B, tx, ty, tz, nx, ny, nz, 3, P[0, 0], P[0, 1], P[0, 2])
    if height <= flat:
        out[0], out[1], out[2] = nx, ny, nz
        return False
    wx, wy, wz = P[3, 0] - P[0, 0], P[3, 1] - P[0, 1], P[3, 2] - P[0, 2]
    if nx * wx + ny * wy + nz * wz > 0.0:  # facets turn counter-clockwise from outside
        _set_facet(tables, 0, 0, 2, 1)
        _set_facet(tables, 1, 0, 1, 3)
        _set_facet(tables, 2, 1, 2, 3)
        _set_facet(tables, 3, 2, 0, 3)
    else:
        _set_facet(tables, 0, 0, 1, 2)
        _set_facet(tables, 1, 1, 0, 3)
        _set_facet(tables, 2, 2, 1, 3)
        _set_facet(tables, 3, 0, 2, 3)
    return True


@inline
def _add_edge(tables: ConvexShapes, count, i, j):
    """Add an edge of a facet that goes, or take away its other half: what is left is the rim. Return how many."""
    edges = tables.edges
    for e in range(count):
        if edges[e, 0] == j and edges[e, 1] == i:
            edges[e, 0], edges[e, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@inline
def _grow(tables: ConvexShapes, corner, facets, seen):
    """Replace the facets that a new corner sees by those to the rim; return the number of facets, -1: no room."""
    w, rim, free = tables.polytope[corner], 0, 0
    for k in range(facets):
        f = tables.facets[k]
        if f.alive == 1 and f.normal[0] * w[0] + f.normal[1] * w[1] + f.normal[2] * w[2] - f.offset > seen:
            f.alive = 0
            for i in range(3):
                rim = _add_edge(tables, rim, f.corner[i], f.corner[(i + 1) % 3])
    for e in range(rim):
        while free < facets and tables.facets[free].alive == 1:
            free += 1
        if free == MOST_FACETS:
            return -1
        _set_facet(tables, free, tables.edges[e, 0], tables.edges[e, 1], corner)
        facets = max(facets, free + 1)
    return facets


@inline
def _set_witness(tables: ConvexShapes, facet):
    """Points of both cores below the origin, from the corners of a facet, into `nearest`; whether it lies below it."""
    f = tables.facets[facet]
    for k in range(3):
        for i in range(6):
            tables.simplex[k, i] = tables.polytope[f.corner[k], i]
    n, s = f.normal, tables.simplex
    total, inside = 0.0, True
    for k in range(3):
        p, q = s[(k + 1) % 3], s[(k + 2) % 3]
        area = (
            n[0] * (p[1] * q[2] - p[2] * q[1]) + n[1] * (p[2] * q[0] - p[0] * q[2]) + n[2] * (p[0] * q[1] - p[1] * q[0])
        )  # fmt: skip
        inside = inside and area >= 0.0
        tables.weights[k] = max(0.0, area)
        total += tables.weights[k]
    for k in range(3):
        tables.weights[k] = tables.weights[k] / total if total > 0.0 else 1.0 / 3.0
    set_nearest(tables, 3)
    return inside


@inline
def _find_witness(tables: ConvexShapes, facets, chosen, near):
    """Set the witness from a facet in the plane of the chosen one that the origin lies above; whether there is any."""
    f = tables.facets[chosen]
    for k in range(facets):
        g = tables.facets[k]
        aligned = f.normal[0] * g.normal[0] + f.normal[1] * g.normal[1] + f.normal[2] * g.normal[2]
        if g.alive == 1 and aligned > 1.0 - _FLAT and g.offset <= f.offset + near and _set_witness(tables, k):
            return True
    return False


@inline
def _height(tables: ConvexShapes, A, B, tx, ty, tz, nx, ny, nz):
    """h(n)."""
    w = tables.polytope[MOST_CORNERS - 1]
    difference(tables, A, B, tx, ty, tz, nx, ny, nz, w)
    return nx * w[0] + ny * w[1] + nz * w[2]


@inline
def _improve(tables: ConvexShapes, A, B, tx, ty, tz, nx, ny, nz, h, size):
    """(4), as long as it helps; return n and h(n), the points of both cores are then those of the last distance."""
    near = tables.nearest
    for step in range(_IMPROVEMENTS):
        way = h + _APART * size
        if core_distance(tables, A, B, tx + way * nx, ty + way * ny, tz + way * nz, math.inf) != APART:
            break
        for i, n in enumerate((nx, ny, nz)):
            near[2, i] -= way * n
        length = math.sqrt(near[0, 0] ** 2 + near[0, 1] ** 2 + near[0, 2] ** 2)
        x, y, z = -near[0, 0] / length, -near[0, 1] / length, -near[0, 2] / length
        dx, dy, dz = x - nx, y - ny, z - nz
        lower = _height(tables, A, B, tx, ty, tz, x, y, z)
        if not lower < h or step == _IMPROVEMENTS - 1:
            break
        far = 1.0
        while lower < h:
            nx, ny, nz, h = x, y, z, lower
            x, y, z = nx + far * dx, ny + far * dy, nz + far * dz
            length = math.sqrt(x * x + y * y + z * z)
            x, y, z = x / length, y / length, z / length
            lower = _height(tables, A, B, tx, ty, tz, x, y, z)
            far *= 2.0
    return nx, ny, nz, h


@inline
def core_depth(tables: ConvexShapes, A, B, tx, ty, tz):
    """Return n and h(n) (m, negative where the cores are apart) of (1); points of both cores into `nearest`.

    core_distance comes first: where C is flat (segments, points) its nearest points are those of the answer.
    """
    P, near = tables.polytope, tables.nearest
    size = tables.shapes[A].reach + tables.shapes[B].reach
    bx = by = bz = 0.0
    if not _begin(tables, A, B, tx, ty, tz, _FLAT * size):
        length = math.sqrt(near[0, 0] ** 2 + near[0, 1] ** 2 + near[0, 2] ** 2)
        bx, by, bz = near[0, 0] / length, near[0, 1] / length, near[0, 2] / length
        if tx * bx + ty * by + tz * bz < 0.0:
            bx, by, bz = -bx, -by, -bz
        return bx, by, bz, _height(tables, A, B, tx, ty, tz, bx, by, bz)
    facets, best, left, inside = 4, math.inf, math.inf, False
    for step in range(_ROUNDS):
        chosen, least = -1, math.inf
        for k in range(facets):
            if tables.facets[k].alive == 1 and tables.facets[k].offset < least:
                chosen, least = k, tables.facets[k].offset
        if chosen < 0 or least >= best:
            break
        n = tables.facets[chosen].normal
        w = P[4 + step]
        difference(tables, A, B, tx, ty, tz, n[0], n[1], n[2], w)
        height = n[0] * w[0] + n[1] * w[1] + n[2] * w[2]
        if height < best:
            best, bx, by, bz = height, n[0], n[1], n[2]
            inside = _set_witness(tables, chosen)
        left = height - least
        if left <= _RESOLVED * size:  # (3)
            inside = inside or _find_witness(tables, facets, chosen, _EXACT * size)
            break
        facets = _grow(tables, 4 + step, facets, _RESOLVED * size)
        if facets < 0:
            break
    if left > _EXACT * size or not inside:
        bx, by, bz, best = _improve(tables, A, B, tx, ty, tz, bx, by, bz, best, size)
    return bx, by, bz, best
