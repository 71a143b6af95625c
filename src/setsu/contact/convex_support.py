"""How far a convex core reaches in a direction, and with which face, edge or corner.

| symbol | meaning | unit |
|---|---|---|
| d | direction, world axes, of any length | |
| R, half | orientation of the core, its half lengths (convex_tables.py) | -, m |

    support = argmax d·x over the core                                        (1)  from its centre, world axes
    ellipsoid: A² d / |A d| - r d / |d|,  A = diag(half), r: what rounds it   (2)

Cost: a few operations; of a hull, a walk over its corners from a fixed one, each step to a neighbour farther along d.
"""

from __future__ import annotations

import math

from setsu.contact.convex_tables import BOX, CYLINDER, ELLIPSOID, HULL, POINT, RIM, SEGMENT, ConvexShapes
from setsu.native.compiled_elementary import cos_sin
from setsu.native.control_flow import inline

__all__ = ["forget", "support", "supporting_face"]


@inline
def _in_world(s, x, y, z):
    R = s.R
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inline
def _in_shape(s, x, y, z):
    R = s.R
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@inline
def forget(tables: ConvexShapes, shape):
    """Begin the walks over a hull's corners anew, so that what is found depends on the present poses alone."""
    tables.shapes[shape].corner = tables.shapes[shape].first


@inline
def _farthest_corner(tables: ConvexShapes, s, x, y, z):
    """The corner of a hull that is farthest along a direction of its own axes."""
    here = s.corner
    c = tables.corners[here]
    best = c[0] * x + c[1] * y + c[2] * z
    farther = True
    while farther:
        farther = False
        for k in range(tables.ring_start[here], tables.ring_start[here + 1]):
            c = tables.corners[tables.ring[k]]
            height = c[0] * x + c[1] * y + c[2] * z
            if height > best:
                best, here, farther = height, tables.ring[k], True
                break
    s.corner = here
    return here


@inline
def _inside_ellipsoid(s, x, y, z):
    """(2) in its own axes."""
    a, b, c = s.half[0], s.half[1], s.half[2]
    long, short = math.sqrt((a * x) ** 2 + (b * y) ** 2 + (c * z) ** 2), math.sqrt(x * x + y * y + z * z)
    if long == 0.0:
        return 0.0, 0.0, c - s.radius
    r = s.radius / short
    return x * (a * a / long - r), y * (b * b / long - r), z * (c * c / long - r)


@inline
def support(tables: ConvexShapes, shape, dx, dy, dz):
    """(1)."""
    s = tables.shapes[shape]
    if s.core == POINT:
        return 0.0, 0.0, 0.0
    x, y, z = _in_shape(s, dx, dy, dz)
    if s.core == HULL:
        c = tables.corners[_farthest_corner(tables, s, x, y, z)]
        return _in_world(s, c[0], c[1], c[2])
    if s.core == ELLIPSOID:
        x, y, z = _inside_ellipsoid(s, x, y, z)
        return _in_world(s, x, y, z)
    up = s.half[2] if z >= 0.0 else -s.half[2]
    if s.core == CYLINDER:
        across = math.sqrt(x * x + y * y)
        if across > 0.0:
            return _in_world(s, s.half[0] * x / across, s.half[0] * y / across, up)
        return _in_world(s, s.half[0], 0.0, up)
    return _in_world(s, s.half[0] if x >= 0.0 else -s.half[0], s.half[1] if y >= 0.0 else -s.half[1], up)


@inline
def _put(out, k, s, x, y, z, ox, oy, oz):
    x, y, z = _in_world(s, x, y, z)
    out[k, 0], out[k, 1], out[k, 2] = x + ox, y + oy, z + oz


@inline
def supporting_face(tables: ConvexShapes, shape, nx, ny, nz, ox, oy, oz, out):
    """Write the corners of the face or edge most at right angles to n to `out` (., 3), counter-clockwise from outside.

    It holds a point farthest along n. ox, oy, oz: where the core's centre is. Returns their number, the outward normal
    of the face (0, 0, 0 for an edge or a point), and the radius of what is bent around an edge (m).
    """
    s = tables.shapes[shape]
    x, y, z = _in_shape(s, nx, ny, nz)
    half = s.half
    if s.core == POINT:
        _put(out, 0, s, 0.0, 0.0, 0.0, ox, oy, oz)
        return 1, 0.0, 0.0, 0.0, s.radius
    if s.core == ELLIPSOID:
        x, y, z = _inside_ellipsoid(s, x, y, z)
        _put(out, 0, s, x, y, z, ox, oy, oz)
        return 1, 0.0, 0.0, 0.0, s.radius
    if s.core == SEGMENT:
        _put(out, 0, s, 0.0, 0.0, -half[2], ox, oy, oz)
        _put(out, 1, s, 0.0, 0.0, half[2], ox, oy, oz)
        return 2, 0.0, 0.0, 0.0, s.radius
    if s.core == CYLINDER:
        across = math.sqrt(x * x + y * y)
        sign = 1.0 if z >= 0.0 else -1.0
        if abs(z) >= across:
            for k in range(RIM):
                turn = sign * 2.0 * math.pi * k / RIM
                cosine, sine = cos_sin(turn)
                _put(out, k, s, half[0] * cosine, half[0] * sine, sign * half[2], ox, oy, oz)
            fx, fy, fz = _in_world(s, 0.0, 0.0, sign)
            return RIM, fx, fy, fz, 0.0
        for k in range(2):
            _put(out, k, s, half[0] * x / across, half[0] * y / across, (2 * k - 1) * half[2], ox, oy, oz)
        return 2, 0.0, 0.0, 0.0, half[0]
    if s.core == BOX:
        if abs(x) >= abs(y) and abs(x) >= abs(z):
            axis, sign = 0, 1.0 if x >= 0.0 else -1.0
        elif abs(y) >= abs(z):
            axis, sign = 1, 1.0 if y >= 0.0 else -1.0
        else:
            axis, sign = 2, 1.0 if z >= 0.0 else -1.0
        u, v = (axis + 1) % 3, (axis + 2) % 3
        R = s.R
        for k in range(4):
            a = half[u] if k == 1 or k == 2 else -half[u]
            b = sign * half[v] if k >= 2 else -sign * half[v]
            c = sign * half[axis]
            out[k, 0] = R[0, u] * a + R[0, v] * b + R[0, axis] * c + ox
            out[k, 1] = R[1, u] * a + R[1, v] * b + R[1, axis] * c + oy
            out[k, 2] = R[2, u] * a + R[2, v] * b + R[2, axis] * c + oz
        return 4, sign * R[0, axis], sign * R[1, axis], sign * R[2, axis], 0.0
    corner, best, chosen = _farthest_corner(tables, s, x, y, z), -2.0, -1
    for k in range(tables.fan_start[corner], tables.fan_start[corner + 1]):
        f = tables.faces[tables.fan[k]].normal
        aligned = f[0] * x + f[1] * y + f[2] * z
        if aligned > best:
            best, chosen = aligned, tables.fan[k]
    start, stop = tables.faces[chosen].start, tables.faces[chosen].stop
    for k in range(start, stop):
        c = tables.corners[tables.loop[k]]
        _put(out, k - start, s, c[0], c[1], c[2], ox, oy, oz)
    f = tables.faces[chosen].normal
    fx, fy, fz = _in_world(s, f[0], f[1], f[2])
    return stop - start, fx, fy, fz, 0.0
