"""Distance and nearest points of two convex cores that are apart, by the method of Gilbert, Johnson and Keerthi.

| symbol | meaning | unit |
|---|---|---|
| C = A - B | all differences a - b of points of the two cores | m |
| w, s_A | point of C, the point a it is made of | m |
| v | point of C nearest to the origin, as far as known | m |

    w = s_A(-v) - s_B(v)                                                      (1)  point of C farthest along -v
    |v| - v·w / |v| is at least the error of |v|                              (2)
    v <- nearest point of the simplex of w and the points that made up v      (3)

All vectors in world axes, seen from the centre of A. The simplex keeps one to four points. Where it is a triangle, and
not a narrow one, v is taken along the triangle's normal, which stays exact however near the cores are.
Source: Gilbert, Johnson, Keerthi, A fast procedure for computing the distance between complex objects in
three-dimensional space (1988). Cost: two supports per round, a few rounds for boxes, more where a cylinder is bent.
Refuses cores nearer than `_TOUCHING` of their size: TOUCH, then convex_depth.py.
"""

from __future__ import annotations

import math

from setsu.contact.convex_support import support
from setsu.contact.convex_tables import ConvexShapes
from setsu.native.control_flow import inline

__all__ = ["APART", "FAR", "TOUCH", "core_distance", "difference", "set_nearest"]

# Farther apart than asked for; apart, nearest points known; touching or overlapping.
FAR, APART, TOUCH = 0, 1, 2

_ROUNDS = 100
# Parts of the cores' size below which they touch; relative error of the distance, and what rounding adds to it.
_TOUCHING, _EXACT, _ROUNDING = 1e-9, 1e-14, 1e-15
# Square of the ratio of a triangle's area to its sides' squares above which its normal tells more than its weights.
_WIDE = 1e-14


@inline
def difference(tables: ConvexShapes, A, B, tx, ty, tz, dx, dy, dz, out):
    """Write the point of A - B farthest along d, and its point of A, to `out` (6,); B's centre is at t (1)."""
    ax, ay, az = support(tables, A, dx, dy, dz)
    bx, by, bz = support(tables, B, -dx, -dy, -dz)
    out[0], out[1], out[2] = ax - bx - tx, ay - by - ty, az - bz - tz
    out[3], out[4], out[5] = ax, ay, az


@inline
def _dot(p, q):
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


@inline
def _near_segment(p, q):
    """Weights of p and q in the point of their segment nearest to the origin."""
    dx, dy, dz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    length = dx * dx + dy * dy + dz * dz
    along = -(p[0] * dx + p[1] * dy + p[2] * dz)
    if along <= 0.0 or length == 0.0:
        return 1.0, 0.0
    if along >= length:
        return 0.0, 1.0
    t = along / length
    return 1.0 - t, t


@inline
def _near_triangle(p, q, r):
    """Weights of three points in the point of their triangle nearest to the origin."""
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = nx * nx + ny * ny + nz * nz
    # Areas of the triangles that the origin's projection makes with each edge, times the normal.
    first = _area_along(q, r, nx, ny, nz)
    second = _area_along(r, p, nx, ny, nz)
    third = _area_along(p, q, nx, ny, nz)
    if area > 0.0 and first >= 0.0 and second >= 0.0 and third >= 0.0:
        total = first + second + third
        if total > 0.0:
            return first / total, second / total, third / total
    # Outside: the nearest point is on an edge.
    best, wp, wq, wr = math.inf, 1.0, 0.0, 0.0
    a, b = _near_segment(p, q)
    distance = _length_of(a, p, b, q)
    if distance < best:
        best, wp, wq, wr = distance, a, b, 0.0
    a, b = _near_segment(q, r)
    distance = _length_of(a, q, b, r)
    if distance < best:
        best, wp, wq, wr = distance, 0.0, a, b
    a, b = _near_segment(r, p)
    distance = _length_of(a, r, b, p)
    if distance < best:
        best, wp, wq, wr = distance, b, 0.0, a
    return wp, wq, wr


@inline
def _area_along(p, q, nx, ny, nz):
    """n · (p x q)."""
    return (
        nx * (p[1] * q[2] - p[2] * q[1]) + ny * (p[2] * q[0] - p[0] * q[2]) + nz * (p[0] * q[1] - p[1] * q[0])
    )  # fmt: skip


@inline
def _length_of(a, p, b, q):
    """Square of |a p + b q|."""
    x, y, z = a * p[0] + b * q[0], a * p[1] + b * q[1], a * p[2] + b * q[2]
    return x * x + y * y + z * z


@inline
def _beyond(p, q, r, opposite):
    """Whether the plane of a triangle separates the origin from a fourth point, or all four lie in it."""
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    origin = -(nx * p[0] + ny * p[1] + nz * p[2])
    other = nx * (opposite[0] - p[0]) + ny * (opposite[1] - p[1]) + nz * (opposite[2] - p[2])
    return origin * other <= 0.0


@inline
def _reduce(tables: ConvexShapes, count, apart):
    """Weights of the nearest point of the simplex (3); False when it holds the origin, which it cannot if `apart`."""
    s, weights = tables.simplex, tables.weights
    for k in range(4):
        weights[k] = 0.0
    if count == 1:
        weights[0] = 1.0
    elif count == 2:
        weights[0], weights[1] = _near_segment(s[0], s[1])
    elif count == 3:
        weights[0], weights[1], weights[2] = _near_triangle(s[0], s[1], s[2])
    else:
        best = math.inf
        for without in range(4):
            i, j, k = (without + 1) % 4, (without + 2) % 4, (without + 3) % 4
            if not apart and not _beyond(s[i], s[j], s[k], s[without]):
                continue
            a, b, c = _near_triangle(s[i], s[j], s[k])
            x = a * s[i, 0] + b * s[j, 0] + c * s[k, 0]
            y = a * s[i, 1] + b * s[j, 1] + c * s[k, 1]
            z = a * s[i, 2] + b * s[j, 2] + c * s[k, 2]
            distance = x * x + y * y + z * z
            if distance < best:
                best = distance
                weights[i], weights[j], weights[k], weights[without] = a, b, c, 0.0
        return best < math.inf
    return True


@inline
def _keep(tables: ConvexShapes, count):
    """Drop the points of the simplex that do not make up the nearest one; return how many are left."""
    kept = 0
    for k in range(count):
        if tables.weights[k] > 0.0:
            tables.weights[kept] = tables.weights[k]
            for i in range(6):
                tables.simplex[kept, i] = tables.simplex[k, i]
            kept += 1
    return kept


@inline
def set_nearest(tables: ConvexShapes, count):
    """Nearest point of the simplex and the points of both cores it is made of, into `nearest`."""
    s, out = tables.simplex, tables.nearest
    for i in range(3):
        v = a = 0.0
        for k in range(count):
            v += tables.weights[k] * s[k, i]
            a += tables.weights[k] * s[k, 3 + i]
        out[0, i], out[1, i] = v, a
    if count == 3:
        ux, uy, uz = s[1, 0] - s[0, 0], s[1, 1] - s[0, 1], s[1, 2] - s[0, 2]
        wx, wy, wz = s[2, 0] - s[0, 0], s[2, 1] - s[0, 1], s[2, 2] - s[0, 2]
        nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        area, longest = nx * nx + ny * ny + nz * nz, ux * ux + uy * uy + uz * uz + wx * wx + wy * wy + wz * wz
        if area > _WIDE * longest * longest:
            t = (nx * s[0, 0] + ny * s[0, 1] + nz * s[0, 2]) / area
            out[0, 0], out[0, 1], out[0, 2] = t * nx, t * ny, t * nz
    for i in range(3):
        out[2, i] = out[1, i] - out[0, i]


@inline
def core_distance(tables: ConvexShapes, A, B, tx, ty, tz, limit):
    """Nearest points of two cores into `nearest`; FAR when they are more than `limit` (m) apart, APART or TOUCH."""
    s, near = tables.simplex, tables.nearest
    size = tables.shapes[A].reach + tables.shapes[B].reach
    difference(tables, A, B, tx, ty, tz, tx, ty, tz, s[0])
    count = 1
    tables.weights[0] = 1.0
    set_nearest(tables, count)
    distance = math.sqrt(_dot(near[0], near[0]))
    for _ in range(_ROUNDS):
        if distance <= _TOUCHING * size:
            return TOUCH
        x, y, z = near[0, 0], near[0, 1], near[0, 2]
        new = s[count]
        difference(tables, A, B, tx, ty, tz, -x, -y, -z, new)
        along = (x * new[0] + y * new[1] + z * new[2]) / distance
        if along > limit:
            return FAR
        if distance - along <= _EXACT * distance + _ROUNDING * size:  # (2)
            break
        if not _reduce(tables, count + 1, along > 0.0):
            return TOUCH
        former = near[0, 0], near[0, 1], near[0, 2], near[1, 0], near[1, 1], near[1, 2]
        latest = new[0], new[1], new[2], new[3], new[4], new[5]
        count = _keep(tables, count + 1)
        set_nearest(tables, count)
        shorter = math.sqrt(_dot(near[0], near[0]))
        if not shorter < distance:
            # The simplex is too narrow for the digits there are: go on from v itself and the new point.
            for i in range(6):
                s[0, i], s[1, i] = former[i], latest[i]
            tables.weights[0], tables.weights[1] = _near_segment(s[0], s[1])
            count = _keep(tables, 2)
            set_nearest(tables, count)
            shorter = math.sqrt(_dot(near[0], near[0]))
            if not shorter < distance:
                for i in range(3):
                    near[0, i], near[1, i] = former[i], former[3 + i]
                    near[2, i] = near[1, i] - near[0, i]
                break
        distance = shorter
    return APART
