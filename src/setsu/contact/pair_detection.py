"""Find where shapes touch each other and the world, in compiled code, before each step.

| symbol | meaning | unit |
|---|---|---|
| n | normal of a contact, from the first shape to the second | |
| N, a_e, c_e | normal of a polygon, outward directions of its edges, how far n may lean over them (ground.py) | |
| h(n) | way along n after which two overlapping shapes only touch | m |

    n·N >= 0, and n·a_e <= c_e where the polygon is touched on edge e         (1)
    overlapping a polygon: n = N where (1) does not hold or h(N) <= h(n) + 1e-5 m    (2)

Boxes and balls around the shapes sort out pairs that are farther apart than they can travel towards each other in two
steps (near_pairs.py); a tree of boxes finds the polygons near a shape. The others go through distance
(convex_distance.py), depth where the cores touch (convex_depth.py), and the points where they meet
(convex_manifold.py). A polygon of the ground is a flat hull that is touched from its front; a plane without end is met
along its normal. Corners of shapes that are contact points of their body belong to detection.py where they are over a
face. What is found depends on the present state only.
A step that ends in an overlap all the same, because shapes turned or slid around each other, is taken again with the
contacts of its end:

    gap at the beginning = gap at the end - n·(way of the place on one shape - on the other)    (3)

Cost: microseconds for a pair that touches.
"""

from __future__ import annotations

import math

from setsu.contact.convex_depth import core_depth
from setsu.contact.convex_distance import FAR, TOUCH, core_distance
from setsu.contact.convex_manifold import set_manifold
from setsu.contact.convex_support import forget, support, supporting_face
from setsu.contact.convex_tables import BOUNDED, BOX, HULL, SEGMENT, WITHOUT_END, ConvexShapes
from setsu.contact.detection import combine, copy_material, near_polygons
from setsu.contact.free_motion import StepState
from setsu.contact.near_pairs import list_near
from setsu.contact.scene import FEW_ROUNDS, N_PAIRS, OVERFLOW, ROUNDS_LEFT, Problem
from setsu.contact.shape_pairs import EDGES, MARGIN, PLANES
from setsu.native.control_flow import inline, jit

__all__ = ["find_missed", "find_now", "find_pairs", "look_at", "meet", "place_shapes"]

# m: a face is what is touched rather than its rim if it asks for so much more; deeper, a polygon is left behind.
_FACE_FIRST, _DEEPEST = 1e-5, 5e-3
# m: an overlap at the end of a step that it is taken again for; what shapes must move for that at least.
_MISSED, _SLOW = 1e-5, 5e-6
# Contacts of one shape with the ground: how many are kept, when they are thinned out; m: how much of a gap counts.
_KEPT, _MANY, _NEAR = 16, 48, 1e-4
# m: a place this near to an edge lies on it. How far n may lean beyond (1).
_ON_EDGE, _LEANING = 1e-7, 1e-6


@inline
def place_shapes(tables: ConvexShapes, poses, velocities):
    """Poses of all shapes in the world, and how fast they are, from those of the bodies (n, 4, 4) and (n, 6)."""
    for k in range(tables.ground_start[0]):
        s = tables.shapes[k]
        if s.body < 0:
            continue
        T, v = poses[s.body], velocities[s.body]
        for i in range(3):
            for j in range(3):
                s.R[i, j] = T[i, 0] * s.rotation[0, j] + T[i, 1] * s.rotation[1, j] + T[i, 2] * s.rotation[2, j]
            s.place[i] = T[i, 0] * s.center[0] + T[i, 1] * s.center[1] + T[i, 2] * s.center[2] + T[i, 3]
        moving = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        turning = math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
        s.speed = moving + turning * s.farthest


@inline
def meet(tables: ConvexShapes, A, B, margin):
    """Write the points where two placed shapes meet to `found`, seen from A's centre.

    Returns how many (0: farther apart than the margin, m), the normal from A to B, and the gap (m).
    """
    a, b = tables.shapes[A], tables.shapes[B]
    tx, ty, tz = b.place[0] - a.place[0], b.place[1] - a.place[1], b.place[2] - a.place[2]
    reach = a.reach + b.reach + margin
    if tx * tx + ty * ty + tz * tz > reach * reach:
        return 0, 0.0, 0.0, 0.0, math.inf
    status, nx, ny, nz, gap = _separation(tables, A, B, tx, ty, tz, margin)
    if status == FAR or gap > margin:
        return 0, nx, ny, nz, gap
    return set_manifold(tables, A, B, tx, ty, tz, nx, ny, nz, gap, margin, True), nx, ny, nz, gap


@inline
def _separation(tables: ConvexShapes, A, B, tx, ty, tz, margin):
    """FAR, or whether the cores are apart, the normal from A to B and the gap (m); nearest points into `nearest`."""
    forget(tables, A)
    forget(tables, B)
    radii = tables.shapes[A].radius + tables.shapes[B].radius
    status = core_distance(tables, A, B, tx, ty, tz, margin + radii)
    if status == FAR:
        return status, 0.0, 0.0, 0.0, math.inf
    if status == TOUCH:
        nx, ny, nz, depth = core_depth(tables, A, B, tx, ty, tz)
        return status, nx, ny, nz, -depth - radii
    v = tables.nearest[0]
    distance = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return status, -v[0] / distance, -v[1] / distance, -v[2] / distance, distance - radii


@inline
def _leans_too_far(tables: ConvexShapes, polygon, nx, ny, nz):
    """Whether (1) does not hold for n at the polygon's nearest point."""
    g, p, o = tables.ground[polygon], tables.nearest[1], tables.shapes[tables.ground_start[0] + polygon].place
    if nx * g.normal[0] + ny * g.normal[1] + nz * g.normal[2] < -_LEANING:
        return True
    x, y, z = o[0] + p[0], o[1] + p[1], o[2] + p[2]
    for e in range(g.edge_start, g.edge_stop):
        a = tables.ground_edges[e]
        if a[0] * x + a[1] * y + a[2] * z > a[3] - _ON_EDGE and a[0] * nx + a[1] * ny + a[2] * nz > a[4] + _LEANING:
            return True
    return False


@inline
def _meet_polygon(tables: ConvexShapes, polygon, B, margin):
    """`meet` of a polygon of the ground and a shape (1), (2)."""
    A = tables.ground_start[0] + polygon
    a, b, N = tables.shapes[A], tables.shapes[B], tables.ground[polygon].normal
    tx, ty, tz = b.place[0] - a.place[0], b.place[1] - a.place[1], b.place[2] - a.place[2]
    above = tx * N[0] + ty * N[1] + tz * N[2]
    if above > b.reach + margin or above < -b.reach - _DEEPEST:
        return 0, 0.0, 0.0, 0.0
    status, nx, ny, nz, gap = _separation(tables, A, B, tx, ty, tz, margin)
    if status == FAR or gap > margin:
        return 0, 0.0, 0.0, 0.0
    leans = _leans_too_far(tables, polygon, nx, ny, nz)
    if gap >= 0.0:
        if leans:
            return 0, 0.0, 0.0, 0.0
        return set_manifold(tables, A, B, tx, ty, tz, nx, ny, nz, gap, margin, True), nx, ny, nz
    sx, sy, sz = support(tables, B, -N[0], -N[1], -N[2])
    down = above + sx * N[0] + sy * N[1] + sz * N[2] - b.radius
    if leans or down >= gap - _FACE_FIRST:  # (2)
        if down < -_DEEPEST:
            return 0, 0.0, 0.0, 0.0
        over = _is_over(tables, polygon, b.place[0] + sx, b.place[1] + sy, b.place[2] + sz)
        if over:
            for i, x in enumerate((tx + sx, ty + sy, tz + sz)):
                tables.nearest[1, i], tables.nearest[2, i] = x - (down + b.radius) * N[i], x
        return set_manifold(tables, A, B, tx, ty, tz, N[0], N[1], N[2], down, margin, over), N[0], N[1], N[2]
    return set_manifold(tables, A, B, tx, ty, tz, nx, ny, nz, gap, margin, True), nx, ny, nz


@inline
def _is_over(tables: ConvexShapes, polygon, x, y, z):
    """Whether a place lies within the edges of a polygon."""
    g = tables.ground[polygon]
    for e in range(g.edge_start, g.edge_stop):
        a = tables.ground_edges[e]
        if a[0] * x + a[1] * y + a[2] * z > a[3] + _ON_EDGE:
            return False
    return True


@inline
def _meet_plane(tables: ConvexShapes, polygon, B, margin):
    """`meet` of a plane without end and a shape: corners of what is turned towards it, and the point deepest in it."""
    A = tables.ground_start[0] + polygon
    a, b, N = tables.shapes[A], tables.shapes[B], tables.ground[polygon].normal
    tx, ty, tz = b.place[0] - a.place[0], b.place[1] - a.place[1], b.place[2] - a.place[2]
    above = tx * N[0] + ty * N[1] + tz * N[2]
    if above > b.reach + margin:
        return 0, 0.0, 0.0, 0.0
    forget(tables, B)
    sx, sy, sz = support(tables, B, -N[0], -N[1], -N[2])
    gap = above + sx * N[0] + sy * N[1] + sz * N[2] - b.radius
    if gap > margin:
        return 0, 0.0, 0.0, 0.0
    corners, _, _, _, _ = supporting_face(tables, B, -N[0], -N[1], -N[2], tx, ty, tz, tables.outline[1])
    count, missed = 0, True
    for k in range(min(corners, len(tables.found) - 1)):
        x = tables.outline[1, k]
        height = x[0] * N[0] + x[1] * N[1] + x[2] * N[2] - b.radius
        if height > margin:
            continue
        missed = missed and height > gap + _ON_EDGE
        _put(tables, count, x[0], x[1], x[2], N, height, b.radius)
        count += 1
    if missed:
        _put(tables, count, tx + sx, ty + sy, tz + sz, N, gap, b.radius)
        count += 1
    return count, N[0], N[1], N[2]


@inline
def _put(tables: ConvexShapes, k, x, y, z, N, height, radius):
    """Contact k: half way between the plane and what is `height` (m) above it."""
    f, down = tables.found[k], radius + 0.5 * height
    f.gap = height
    f.position[0], f.position[1], f.position[2] = x - down * N[0], y - down * N[1], z - down * N[2]


@inline
def _is_corner(tables: ConvexShapes, B, x, y, z, near):
    """Whether a place is within `near` (m) of a corner of a shape, or of an end of a capsule."""
    s = tables.shapes[B]
    dx, dy, dz = x - s.place[0], y - s.place[1], z - s.place[2]
    R, half = s.R, s.half
    px = R[0, 0] * dx + R[1, 0] * dy + R[2, 0] * dz
    py = R[0, 1] * dx + R[1, 1] * dy + R[2, 1] * dz
    pz = R[0, 2] * dx + R[1, 2] * dy + R[2, 2] * dz
    if s.core == BOX:
        return abs(abs(px) - half[0]) <= near and abs(abs(py) - half[1]) <= near and abs(abs(pz) - half[2]) <= near
    if s.core == SEGMENT:
        return math.sqrt(px * px + py * py + (abs(pz) - half[2]) ** 2) <= s.radius + near and abs(pz) >= half[2] - near
    if s.core == HULL:
        corner = s.first
        while corner < len(tables.corners) and corner < s.first + s.corners:
            c = tables.corners[corner]
            if abs(c[0] - px) <= near and abs(c[1] - py) <= near and abs(c[2] - pz) <= near:
                return True
            corner += 1
        return False
    return True


@jit
def look_at(tables: ConvexShapes, A, B, margin, out):
    """`meet` for Python: normal and gap to `out` (4,); return how many points."""
    count, out[0], out[1], out[2], out[3] = meet(tables, A, B, margin)
    return count


@jit
def find_now(tables: ConvexShapes, problem: Problem, poses):
    """`find_pairs` for Python, for bodies at rest at poses (n, 4, 4)."""
    place_shapes(tables, poses, tables.velocities)
    find_pairs(tables, problem, 0.0)


@inline
def _note(tables: ConvexShapes, problem: Problem, total, count, A, B, number, log, nx, ny, nz, faced):
    """Write the points just found to problem.pairs, from `total` on; return how many there are then.

    faced: corners that are contact points of their body do not count.
    """
    a, b = tables.shapes[A], tables.shapes[B]
    for point in range(count):
        found = tables.found[point]
        x, y, z = found.position[0] + a.place[0], found.position[1] + a.place[1], found.position[2] + a.place[2]
        if faced and _is_corner(tables, B, x, y, z, 0.5 * abs(found.gap) + _ON_EDGE):
            continue
        if total == len(problem.pairs):
            problem.counts[OVERFLOW] = 1
            return total
        out = problem.pairs[total]
        # The normal points from the first shape to the second: the second is body a of the contact.
        out.body_a, out.body_b, out.shapes, out.log, out.gap = b.body, a.body, number, log, found.gap
        out.normal[0], out.normal[1], out.normal[2] = nx, ny, nz
        out.position[0], out.position[1], out.position[2] = x, y, z
        out.follow = a.blunt / (a.blunt + b.blunt)
        combine(out, a, b)
        for i in range(3):
            out.surface[i] = a.surface[i] - b.surface[i]
        total += 1
    return total


@inline
def find_pairs(tables: ConvexShapes, problem: Problem, h):
    """List the contacts between the placed shapes for a step of length h (s) in problem.pairs."""
    total = 0
    for place in range(list_near(tables, MARGIN, h)):
        k = tables.near[place]
        pair = tables.pairs[k]
        a, b = tables.shapes[pair.first], tables.shapes[pair.second]
        margin = MARGIN + 2.0 * h * (a.speed + b.speed)
        count, nx, ny, nz, _ = meet(tables, pair.first, pair.second, margin)
        if count > 0:
            total = _note(
                tables, problem, total, count, pair.first, pair.second, k, pair.log, nx, ny, nz, pair.faced == 1
            )
    if len(tables.ground) > 0:
        for B in range(tables.ground_start[0]):
            if tables.shapes[B].ground > 0:
                total = _find_ground(tables, problem, total, B, h, MARGIN)
    problem.counts[N_PAIRS] = total


@inline
def _find_ground(tables: ConvexShapes, problem: Problem, total, B, h, least):
    """Add the contacts of a shape with the polygons of the ground; return how many contacts there are then.

    They count from `least` (m) on, plus what the shape travels in two steps of h (s).
    """
    b, first = tables.shapes[B], total
    margin = least + 2.0 * h * b.speed
    near = near_polygons(
        tables.nodes, tables.ground, tables.scratch, b.place[0], b.place[1], b.place[2], b.reach + margin
    )
    for j in range(near):
        polygon = tables.scratch[1, j]
        kind, count = tables.ground[polygon].kind, 0
        nx = ny = nz = 0.0
        if kind == BOUNDED and b.ground & EDGES:
            count, nx, ny, nz = _meet_polygon(tables, polygon, B, margin)
        elif kind == WITHOUT_END and b.ground & PLANES:
            count, nx, ny, nz = _meet_plane(tables, polygon, B, margin)
        if count > 0:
            A = tables.ground_start[0] + polygon
            number = len(tables.pairs) + B * len(tables.ground) + polygon
            faced = b.covered == 1 and kind == BOUNDED
            total = _note(tables, problem, total, count, A, B, number, b.log, nx, ny, nz, faced)
            if total - first > _MANY:
                total = _thin_out(tables, problem, first, total, b.reach)
    return _thin_out(tables, problem, first, total, b.reach)


@inline
def _thin_out(tables: ConvexShapes, problem: Problem, first, total, size):
    """Keep at most _KEPT of the contacts from `first` on: the deepest, then those farthest from the ones kept.

    Normals count as places do, in parts of the shape's size (m); what is 0.1 mm farther from touching counts a quarter.
    Returns how many contacts there are then.
    """
    if total - first <= _KEPT:
        return total
    pairs, deepest = problem.pairs, math.inf
    for k in range(first, total):
        deepest = min(deepest, pairs[k].gap)
    for k in range(first, first + _KEPT):
        chosen, best = k, -1.0
        for j in range(k, total):
            p, n = pairs[j].position, pairs[j].normal
            apart = 1.0
            for i in range(first, k):
                o, m = pairs[i].position, pairs[i].normal
                way = (p[0] - o[0]) ** 2 + (p[1] - o[1]) ** 2 + (p[2] - o[2]) ** 2
                turn = (n[0] - m[0]) ** 2 + (n[1] - m[1]) ** 2 + (n[2] - m[2]) ** 2
                apart = min(apart, way / (size * size) + turn)
            score = apart / (1.0 + (pairs[j].gap - deepest) / _NEAR) ** 2
            if score > best:
                chosen, best = j, score
        if chosen != k:
            _copy_pair(pairs[k], tables.spare[0])
            _copy_pair(pairs[chosen], pairs[k])
            _copy_pair(tables.spare[0], pairs[chosen])
    return first + _KEPT


@inline
def find_missed(tables: ConvexShapes, problem: Problem, motion: StepState, h):
    """Add contacts where shapes overlap at the end of the step just tried (3); return how many."""
    if problem.counts[ROUNDS_LEFT] < FEW_ROUNDS:
        return 0
    place_shapes(tables, motion.poses_next, tables.velocities)
    first = total = problem.counts[N_PAIRS]
    for place in range(list_near(tables, 0.0, 0.0)):
        k = tables.near[place]
        pair = tables.pairs[k]
        a, b = tables.shapes[pair.first], tables.shapes[pair.second]
        if h * (a.speed + b.speed) <= _SLOW:
            continue
        count, nx, ny, nz, gap = meet(tables, pair.first, pair.second, 0.0)
        if count > 0 and gap < -_MISSED:
            total = _note(
                tables, problem, total, count, pair.first, pair.second, k, pair.log, nx, ny, nz, pair.faced == 1
            )
    if len(tables.ground) > 0:
        for B in range(tables.ground_start[0]):
            if tables.shapes[B].ground > 0 and h * tables.shapes[B].speed > _SLOW:
                total = _find_ground(tables, problem, total, B, 0.0, 0.0)
    count = first
    for k in range(first, total):
        if problem.pairs[k].gap < -_MISSED and problem.pairs[k].stiffness == math.inf:
            _copy_pair(problem.pairs[k], problem.pairs[count])
            _bring_back(problem.pairs[count], motion)
            count += 1
    problem.counts[N_PAIRS] = count
    return count - first


@inline
def _copy_pair(source, target):
    target.body_a, target.body_b, target.shapes, target.log = source.body_a, source.body_b, source.shapes, source.log
    target.gap, target.follow = source.gap, source.follow
    copy_material(target, source)
    for i in range(3):
        target.position[i], target.normal[i] = source.position[i], source.normal[i]
        target.surface[i] = source.surface[i]


@inline
def _bring_back(pair, motion: StepState):
    """Gap and place of a contact at the end of a step as seen from its beginning (3)."""
    p, n = pair.position, pair.normal
    x, y, z = _moved(motion, pair.body_a, p[0], p[1], p[2])
    wx, wy, wz = x, y, z
    if pair.body_b >= 0:
        u, v, w = _moved(motion, pair.body_b, p[0], p[1], p[2])
        f = pair.follow
        wx, wy, wz = u + f * (x - u), v + f * (y - v), w + f * (z - w)
        x, y, z = x - u, y - v, z - w
    pair.gap -= n[0] * x + n[1] * y + n[2] * z
    p[0] -= wx
    p[1] -= wy
    p[2] -= wz


@inline
def _moved(motion: StepState, body, x, y, z):
    """How far the point of a body that is at x y z at the end of the step came in it."""
    S, T = motion.poses_next[body], motion.poses_start[body]
    dx, dy, dz = x - S[0, 3], y - S[1, 3], z - S[2, 3]
    a = S[0, 0] * dx + S[1, 0] * dy + S[2, 0] * dz
    b = S[0, 1] * dx + S[1, 1] * dy + S[2, 1] * dz
    c = S[0, 2] * dx + S[1, 2] * dy + S[2, 2] * dz
    return (
        x - (T[0, 0] * a + T[0, 1] * b + T[0, 2] * c + T[0, 3]),
        y - (T[1, 0] * a + T[1, 1] * b + T[1, 2] * c + T[1, 3]),
        z - (T[2, 0] * a + T[2, 1] * b + T[2, 2] * c + T[2, 3]),
    )
