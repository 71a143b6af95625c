"""Where two convex shapes meet: up to eight points with one normal, each with its own gap.

| symbol | meaning | unit |
|---|---|---|
| n | from shape A towards shape B, of length 1 | |
| F_A, F_B | face or edge of each core that is most at right angles to n and holds its farthest point | |
| f, p, u | outward normal of a face, one of its corners; n or -n, whichever points out of it | -, m, - |
| r | radii that round the cores | m |

    region = F_A ∩ F_B as seen along n                                        (1)  one cut by the sides of the other
    height of x above a face, along u: f·(x - p) / f·u                        (2)
    gap = height of the one face above the other - r_A - r_B                  (3)  at each corner of the region
    parallel edges: gap = height - r_A - r_B + s² / 2 (R_A + R_B)             (4)  s: how far they miss each other, R:
                                                                                   radii of what is bent around them

Corners with a gap above the margin do not count. Edges that are not parallel meet in one point: the nearest points of
both shapes, which also join where the region misses them. Of more than eight corners those go, one after the other,
that cost the least area, never the deepest. Cost: O(corners of F_A times corners of F_B).
"""

from __future__ import annotations

import math

from setsu.contact.convex_support import supporting_face
from setsu.contact.convex_tables import ConvexShapes
from setsu.contact.shape_pairs import POINTS_PER_PAIR
from setsu.native.control_flow import inline

__all__ = ["set_manifold"]

_MOST = POINTS_PER_PAIR
# Sine of the angle up to which edges are parallel; cosine down to which a face can be looked at along the normal.
_PARALLEL, _EDGE_ON = 1e-2, 0.05
# Parts of the shapes' size within which corners are one; of the margin, within which the deepest point is among them.
_SAME, _MISSED = 1e-6, 1e-6


@inline
def _cut(source, count, out, closed, px, py, pz, mx, my, mz):
    """Write the part of a polygon, or of an open edge, with m·(x - p) <= 0 to `out`; return its corners."""
    kept = 0
    for k in range(count):
        a, b = source[k], source[(k + 1) % count]
        before = mx * (a[0] - px) + my * (a[1] - py) + mz * (a[2] - pz)
        after = mx * (b[0] - px) + my * (b[1] - py) + mz * (b[2] - pz)
        if before <= 0.0:
            for i in range(3):
                out[kept, i] = a[i]
            kept += 1
        if before * after < 0.0 and (closed or k + 1 < count):
            t = before / (before - after)
            for i in range(3):
                out[kept, i] = a[i] + t * (b[i] - a[i])
            kept += 1
    return kept


@inline
def _add(tables: ConvexShapes, count, x, y, z, gap, margin, same):
    """Take a point into `found` if it is near enough and not the one just taken; return how many there are."""
    if gap > margin or count == len(tables.found):
        return count
    if count > 0:
        last = tables.found[count - 1].position
        if (last[0] - x) ** 2 + (last[1] - y) ** 2 + (last[2] - z) ** 2 <= same * same:
            return count
    f = tables.found[count]
    f.position[0], f.position[1], f.position[2], f.gap = x, y, z, gap
    return count + 1


@inline
def _meet_face(tables: ConvexShapes, face, corners, other, others, f, u, r_face, r_other, margin, same):
    """Region of a polygon `outline[face]` and the polygon or edge `outline[other]` above it (1)-(3)."""
    rim, source, out = tables.outline[face], other, 2
    (fx, fy, fz), (ux, uy, uz) = f, u
    left, closed = others, others > 2
    for k in range(corners):
        a, b = rim[k], rim[(k + 1) % corners]
        dx, dy, dz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        mx, my, mz = dy * uz - dz * uy, dz * ux - dx * uz, dx * uy - dy * ux
        left = _cut(tables.outline[source], left, tables.outline[out], closed, a[0], a[1], a[2], mx, my, mz)
        if left == 0:
            return 0
        source, out = out, 5 - out
    count, p, aligned = 0, rim[0], fx * ux + fy * uy + fz * uz
    for k in range(left):
        x = tables.outline[source, k]
        height = (fx * (x[0] - p[0]) + fy * (x[1] - p[1]) + fz * (x[2] - p[2])) / aligned  # (2)
        down = 0.5 * (height - r_face + r_other)  # to half way between both surfaces
        gap = height - r_face - r_other
        count = _add(tables, count, x[0] - down * ux, x[1] - down * uy, x[2] - down * uz, gap, margin, same)
    return count


@inline
def _meet_edges(tables: ConvexShapes, n, r_a, r_b, bend, margin, same):
    """Two points where two edges are parallel (4), none otherwise."""
    nx, ny, nz = n
    a, c, b, d = tables.outline[0, 0], tables.outline[0, 1], tables.outline[1, 0], tables.outline[1, 1]
    ux, uy, uz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    vx, vy, vz = d[0] - b[0], d[1] - b[1], d[2] - b[2]
    up, vp = ux * nx + uy * ny + uz * nz, vx * nx + vy * ny + vz * nz
    ex, ey, ez = ux - up * nx, uy - up * ny, uz - up * nz
    gx, gy, gz = vx - vp * nx, vy - vp * ny, vz - vp * nz
    length, other = math.sqrt(ex * ex + ey * ey + ez * ez), math.sqrt(gx * gx + gy * gy + gz * gz)
    if length <= same or other <= same:
        return 0
    along = (ex * gx + ey * gy + ez * gz) / (length * other)
    if 1.0 - along * along > _PARALLEL * _PARALLEL:
        return 0
    ex, ey, ez = ex / length, ey / length, ez / length
    begin = (b[0] - a[0]) * ex + (b[1] - a[1]) * ey + (b[2] - a[2]) * ez
    reach = along * other
    low, high = max(0.0, min(begin, begin + reach)), min(length, max(begin, begin + reach))
    if high <= low:
        return 0
    count = 0
    for k in range(2):
        place = low if k == 0 else high
        s, t = place / length, (place - begin) / reach
        x, y, z = a[0] + s * ux, a[1] + s * uy, a[2] + s * uz
        dx, dy, dz = b[0] + t * vx - x, b[1] + t * vy - y, b[2] + t * vz - z
        height = dx * nx + dy * ny + dz * nz
        aside = max(0.0, dx * dx + dy * dy + dz * dz - height * height)
        gap = height - r_a - r_b + 0.5 * aside / max(bend, same)
        middle = 0.5 * (r_a - r_b)
        x, y, z = x + 0.5 * dx + middle * nx, y + 0.5 * dy + middle * ny, z + 0.5 * dz + middle * nz
        count = _add(tables, count, x, y, z, gap, margin, same)
    return count


@inline
def _thin_out(tables: ConvexShapes, count, most, same):
    """Take corners away until so many are left, each time the one that costs the least area; return how many are.

    Corners in the middle of a side go in any case: edges that all but coincide cross in other places at every step.
    """
    found = tables.found
    while count > 2:
        deepest, chosen, least = 0, -1, math.inf
        for k in range(1, count):
            if found[k].gap < found[deepest].gap:
                deepest = k
        for k in range(count):
            a, b, c = found[(k + count - 1) % count].position, found[k].position, found[(k + 1) % count].position
            ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
            vx, vy, vz = c[0] - b[0], c[1] - b[1], c[2] - b[2]
            area = (uy * vz - uz * vy) ** 2 + (uz * vx - ux * vz) ** 2 + (ux * vy - uy * vx) ** 2
            wx, wy, wz = ux + vx, uy + vy, uz + vz
            between = ux * vx + uy * vy + uz * vz >= 0.0
            if between and area <= same * same * (wx * wx + wy * wy + wz * wz):
                chosen, least = k, -1.0
            elif area < least and k != deepest and count > most:
                chosen, least = k, area
        if chosen < 0:
            break
        for k in range(chosen, count - 1):
            for i in range(3):
                found[k].position[i] = found[k + 1].position[i]
            found[k].gap = found[k + 1].gap
        count -= 1
    return count


@inline
def set_manifold(tables: ConvexShapes, A, B, tx, ty, tz, nx, ny, nz, gap, margin, nearest):
    """Write where two shapes meet to `found`, seen from A's centre; return how many points.

    B's centre is at t; n: normal from A to B; gap: of the nearest points in `nearest` (m); margin: m. nearest: whether
    these are a contact in any case.
    """
    a, b = tables.shapes[A], tables.shapes[B]
    count_a, ax, ay, az, bend_a = supporting_face(tables, A, nx, ny, nz, 0.0, 0.0, 0.0, tables.outline[0])
    count_b, bx, by, bz, bend_b = supporting_face(tables, B, -nx, -ny, -nz, tx, ty, tz, tables.outline[1])
    aligned_a, aligned_b = ax * nx + ay * ny + az * nz, -(bx * nx + by * ny + bz * nz)
    same, count = _SAME * (a.reach + b.reach), 0
    if min(count_a, count_b) > 1:
        if max(aligned_a, aligned_b) < _EDGE_ON:
            if count_a == 2 and count_b == 2:
                count = _meet_edges(tables, (nx, ny, nz), a.radius, b.radius, bend_a + bend_b, margin, same)
        elif aligned_a >= aligned_b:
            count = _meet_face(
                tables, 0, count_a, 1, count_b, (ax, ay, az), (nx, ny, nz), a.radius, b.radius, margin, same
            )
        else:
            count = _meet_face(
                tables, 1, count_b, 0, count_a, (bx, by, bz), (-nx, -ny, -nz), b.radius, a.radius, margin, same
            )
    if count > 1:
        p, q = tables.found[0].position, tables.found[count - 1].position
        if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2 <= same * same:
            count -= 1
    missed = nearest
    for k in range(count):
        if tables.found[k].gap <= gap + _MISSED * margin:
            missed = False
    count = _thin_out(tables, count, _MOST - 1 if missed else _MOST, same)
    if missed:
        f, p, q = tables.found[count], tables.nearest[1], tables.nearest[2]
        middle = 0.5 * (a.radius - b.radius)
        f.gap = gap
        f.position[0] = 0.5 * (p[0] + q[0]) + middle * nx
        f.position[1] = 0.5 * (p[1] + q[1]) + middle * ny
        f.position[2] = 0.5 * (p[2] + q[2]) + middle * nz
        count += 1
    return count
