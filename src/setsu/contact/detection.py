"""Find which points of the bodies are at, or went through, which polygons.

| symbol | meaning | unit |
|---|---|---|
| x | contact point in the world | m |
| n, d | normal and offset of a polygon | -, m |
| r | radius of the ball around the point | m |

    gap = n·x - d - r                                                         (1)
    inside: a·x <= e for every edge                                           (2)
    ball beyond an edge, c the nearest place on the rim:  n = (x - c)/|x - c|,  d = n·c    (3)

Broad phase: the ball around all points of a body walks down the tree of boxes around the polygons; of a body with many
points only groups whose balls come near the planes found meet these polygons, point by point.
A polygon is touched from its front only. A point behind several faces (near the rim of a step) belongs to the face it
is least behind of; faces it is in front of, or less than `_BEHIND` behind, all count. A ball touches a rim (3) unless
it touches a face that the rim lies in, so that it rolls over seams of a floor and around the edge of a step.
Cost: O(bodies log polygons) while nothing is near.
"""

from __future__ import annotations

import math

from setsu.contact.free_motion import StepState
from setsu.contact.scene import N_CONTACTS, N_PAIRS, STOP, Problem, Scene
from setsu.native.control_flow import inline

__all__ = [
    "add_pairs",
    "combine",
    "copy_material",
    "find_near",
    "find_passed",
    "near_polygons",
    "point_in_world",
    "set_axes",
    "set_places",
]

# A point this far behind a face (m) still counts as at it: what linearised steps leave.
_BEHIND = 1e-5
# A rim this near to a face (m) lies in it.
_IN_FACE = 1e-6
# Points beyond an edge by less than this (m) count as inside: no gap between neighbouring polygons.
_EDGE = 1e-7


@inline
def point_in_world(poses, body, p):
    """x = R p + origin; poses (n_bodies, 4, 4)."""
    T = poses[body]
    return (
        T[0, 0] * p[0] + T[0, 1] * p[1] + T[0, 2] * p[2] + T[0, 3],
        T[1, 0] * p[0] + T[1, 1] * p[1] + T[1, 2] * p[2] + T[1, 3],
        T[2, 0] * p[0] + T[2, 1] * p[1] + T[2, 2] * p[2] + T[2, 3],
    )


@inline
def near_polygons(nodes, polygons, scratch, x, y, z, reach):
    """Write the polygons that come within `reach` of a place to scratch[1]; return how many."""
    stack, found = scratch[0], scratch[1]
    if len(nodes) == 0:
        return 0
    count, depth = 0, 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = nodes[stack[depth]]
        low, high = node.low, node.high
        dx = max(low[0] - x, 0.0, x - high[0])
        dy = max(low[1] - y, 0.0, y - high[1])
        dz = max(low[2] - z, 0.0, z - high[2])
        if dx * dx + dy * dy + dz * dz > reach * reach:
            continue
        first = node.first
        if first >= 0:
            stack[depth] = first
            stack[depth + 1] = first + 1
            depth += 2
            continue
        k = -1 - first
        n = polygons[k].normal
        if abs(n[0] * x + n[1] * y + n[2] * z - polygons[k].offset) <= reach:
            found[count] = k
            count += 1
    return count


@inline
def _inside(scene: Scene, polygon, x, y, z):
    """Whether the point lies inside every edge (2)."""
    for e in range(scene.polygons[polygon].edge_start, scene.polygons[polygon].edge_stop):
        edge = scene.edges[e]
        if edge[0] * x + edge[1] * y + edge[2] * z > edge[3] + _EDGE:
            return False
    return True


@inline
def _gap(scene: Scene, polygon, point, x, y, z):
    """(1)."""
    n = scene.polygons[polygon].normal
    return n[0] * x + n[1] * y + n[2] * z - scene.polygons[polygon].offset - scene.points[point].radius


@inline
def _add(scene: Scene, problem: Problem, point, polygon, gap, x, y, z):
    """Append a contact with the face of a polygon."""
    n = scene.polygons[polygon].normal
    _append(scene, problem, point, polygon, gap, x, y, z, n[0], n[1], n[2], scene.polygons[polygon].offset)


@inline
def _append(scene: Scene, problem: Problem, point, polygon, gap, x, y, z, nx, ny, nz, offset):
    """Append a contact with a plane unless there is no room."""
    index = problem.counts[N_CONTACTS]
    if index >= len(problem.contacts):
        return
    problem.counts[N_CONTACTS] = index + 1
    c, p = problem.contacts[index], scene.points[point]
    c.point, c.face, c.body_a, c.body_b, c.gap, c.offset = point, polygon, p.body, -1, gap, offset
    c.position[0], c.position[1], c.position[2] = x - p.radius * nx, y - p.radius * ny, z - p.radius * nz
    ground = scene.polygons[polygon]
    combine(c, p, ground)
    set_axes(c.axes, nx, ny, nz)
    _set_surface(c, ground.surface)


@inline
def combine(out, a, b):
    """Material of a contact: the lower friction and restitution; of springs, one behind the other.

    Each takes the part k/k_i of the depth and of its rate: d = Σ d_i (k/k_i)², and a = Σ a_i k/k_i of dissipation.
    """
    out.static_friction = min(a.static_friction, b.static_friction)
    out.kinetic_friction = min(a.kinetic_friction, b.kinetic_friction)
    out.restitution = min(a.restitution, b.restitution)
    out.torsional, out.rolling = min(a.torsional, b.torsional), min(a.rolling, b.rolling)
    out.stiffness = 1.0 / (1.0 / a.stiffness + 1.0 / b.stiffness)
    out.damping = out.dissipation = 0.0
    if out.stiffness < math.inf:
        s, t = out.stiffness / a.stiffness, out.stiffness / b.stiffness
        out.damping, out.restitution = a.damping * s * s + b.damping * t * t, 0.0
        out.dissipation = a.dissipation * s + b.dissipation * t


@inline
def copy_material(out, a):
    """The same material."""
    out.static_friction, out.kinetic_friction, out.restitution = a.static_friction, a.kinetic_friction, a.restitution
    out.torsional, out.rolling, out.stiffness = a.torsional, a.rolling, a.stiffness
    out.damping, out.dissipation = a.damping, a.dissipation


@inline
def _set_surface(c, velocity):
    """Velocity of surface b (m/s, world axes) in the axes of a contact; its part along the normal does not count."""
    for k in range(3):
        c.surface[k] = c.axes[k, 0] * velocity[0] + c.axes[k, 1] * velocity[1] + c.axes[k, 2] * velocity[2]
    c.surface[0] = 0.0


@inline
def _nearest_on_rim(scene: Scene, polygon, x, y, z):
    """The place on the edges of a polygon that is nearest to a point."""
    p, best = scene.polygons[polygon], math.inf
    px = py = pz = 0.0
    for e in range(p.edge_start, p.edge_stop):
        a, b = scene.corners[e], scene.corners[e + 1 if e + 1 < p.edge_stop else p.edge_start]
        dx, dy, dz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        t = ((x - a[0]) * dx + (y - a[1]) * dy + (z - a[2]) * dz) / (dx * dx + dy * dy + dz * dz)
        t = min(1.0, max(0.0, t))
        cx, cy, cz = a[0] + t * dx, a[1] + t * dy, a[2] + t * dz
        distance = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
        if distance < best:
            best, px, py, pz = distance, cx, cy, cz
    return px, py, pz


@inline
def _add_rim(scene: Scene, problem: Problem, point, polygon, first, from_x, from_y, from_z, x, y, z, reach, deepest):
    """Add the contact (3) of a ball, from where it is, with the rim nearest to x y z, where it is or will be.

    Only if it gets there within `reach` (m), from at most `deepest` (m) inside, and touches no face among the contacts
    from `first` on that the rim lies in.
    """
    r = scene.points[point].radius
    n = scene.polygons[polygon].normal
    if n[0] * from_x + n[1] * from_y + n[2] * from_z < scene.polygons[polygon].offset or _inside(
        scene, polygon, from_x, from_y, from_z
    ):
        return
    px, py, pz = _nearest_on_rim(scene, polygon, x, y, z)
    if math.sqrt((x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2) - r > reach:
        return
    ux, uy, uz = from_x - px, from_y - py, from_z - pz
    distance = math.sqrt(ux * ux + uy * uy + uz * uz)
    if distance - r < -deepest or distance == 0.0:
        return
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == point:
            ahead = c.axes[0, 0] * px + c.axes[0, 1] * py + c.axes[0, 2] * pz - c.offset
            if c.face == polygon or ahead < _IN_FACE:
                return
    ux, uy, uz = ux / distance, uy / distance, uz / distance
    offset = ux * px + uy * py + uz * pz
    _append(scene, problem, point, polygon, distance - r, from_x, from_y, from_z, ux, uy, uz, offset)


@inline
def add_pairs(problem: Problem):
    """Append the contacts between shapes."""
    for k in range(problem.counts[N_PAIRS]):
        index = problem.counts[N_CONTACTS]
        if index >= len(problem.contacts):
            return
        problem.counts[N_CONTACTS] = index + 1
        c, p = problem.contacts[index], problem.pairs[k]
        c.point, c.face, c.body_a, c.body_b, c.gap = -1, k, p.body_a, p.body_b, p.gap
        for i in range(3):
            c.position[i] = p.position[i]
        c.follow = p.follow
        copy_material(c, p)
        set_axes(c.axes, p.normal[0], p.normal[1], p.normal[2])
        _set_surface(c, p.surface)


@inline
def set_places(scene: Scene, problem: Problem, motion: StepState, first):
    """Where the contacts from `first` on act in the middle of the step: points move, pairs go with their bodies."""
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point >= 0:
            p = scene.points[c.point]
            x, y, z = point_in_world(motion.poses, p.body, p.position)
            n = c.axes[0]
            c.acts[0], c.acts[1], c.acts[2] = x - p.radius * n[0], y - p.radius * n[1], z - p.radius * n[2]
            continue
        if c.point == STOP:
            continue
        for i in range(3):
            way = motion.poses[c.body_a, i, 3] - motion.poses_start[c.body_a, i, 3]
            if c.body_b >= 0:
                other = motion.poses[c.body_b, i, 3] - motion.poses_start[c.body_b, i, 3]
                way = other + c.follow * (way - other)
            c.acts[i] = c.position[i] + way


@inline
def set_axes(axes, nx, ny, nz):
    """Fill the rows of a contact frame: the normal and two tangents."""
    if abs(nx) < 0.6:
        tx, ty, tz = 0.0, nz, -ny  # n x e_x, turned so that a horizontal floor has t1 = y
    else:
        tx, ty, tz = -nz, 0.0, nx
    s = 1.0 / math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = s * tx, s * ty, s * tz
    axes[0, 0], axes[0, 1], axes[0, 2] = nx, ny, nz
    axes[1, 0], axes[1, 1], axes[1, 2] = tx, ty, tz
    axes[2, 0], axes[2, 1], axes[2, 2] = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx


@inline
def _group_is_near(scene: Scene, poses, body, group, found, reach):
    """Whether the ball around a group of points comes within `reach` (m) of the plane of a polygon that was found."""
    g = scene.groups[group]
    x, y, z = point_in_world(poses, body, g.center)
    for j in range(found):
        p = scene.polygons[scene.scratch[1, j]]
        if abs(p.normal[0] * x + p.normal[1] * y + p.normal[2] * z - p.offset) <= g.radius + reach:
            return True
    return False


@inline
def find_near(scene: Scene, problem: Problem, poses, reach, deepest):
    """List all points with a gap below `reach` (m) and at most `deepest` (m) behind a polygon."""
    problem.counts[N_CONTACTS] = 0
    for body in range(len(scene.bodies)):
        b = scene.bodies[body]
        if b.group_start == b.group_stop:
            continue
        cx, cy, cz = point_in_world(poses, body, b.center)
        far = max(reach, deepest)
        found = near_polygons(scene.nodes, scene.polygons, scene.scratch, cx, cy, cz, b.radius + far)
        if found == 0:
            continue
        many = b.group_stop - b.group_start > 1
        for group in range(b.group_start, b.group_stop):
            if many and not _group_is_near(scene, poses, body, group, found, far):
                continue
            for k in range(scene.groups[group].point_start, scene.groups[group].point_stop):
                _find_near_point(scene, problem, poses, body, scene.group_points[k], found, reach, deepest)


@inline
def _find_near_point(scene: Scene, problem: Problem, poses, body, point, found, reach, deepest):
    """Add the contacts of one point with the polygons that were found."""
    x, y, z = point_in_world(poses, body, scene.points[point].position)
    in_front, least, least_gap, first = False, -1, -deepest, problem.counts[N_CONTACTS]
    for j in range(found):
        polygon = scene.scratch[1, j]
        gap = _gap(scene, polygon, point, x, y, z)
        if gap < -deepest or not _inside(scene, polygon, x, y, z):
            continue
        if gap >= -_BEHIND:
            in_front = True
            if gap <= reach:
                _add(scene, problem, point, polygon, gap, x, y, z)
        elif gap >= least_gap:
            least, least_gap = polygon, gap
    if least >= 0 and not in_front:
        _add(scene, problem, point, least, least_gap, x, y, z)
    if scene.points[point].radius > 0.0:
        for j in range(found):
            _add_rim(scene, problem, point, scene.scratch[1, j], first, x, y, z, x, y, z, reach, deepest)


@inline
def find_passed(scene: Scene, problem: Problem, poses, poses_next, tolerance):
    """Add points that a trial step takes through a polygon by more than `tolerance` (m); return how many."""
    before = problem.counts[N_CONTACTS]
    for body in range(len(scene.bodies)):
        b = scene.bodies[body]
        if b.group_start == b.group_stop:
            continue
        ax, ay, az = point_in_world(poses, body, b.center)
        bx, by, bz = point_in_world(poses_next, body, b.center)
        turned = 0.0
        for i in range(3):
            for j in range(3):
                turned += (poses_next[body, i, j] - poses[body, i, j]) ** 2
        moved = math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2)
        far = moved + b.radius * math.sqrt(turned)
        found = near_polygons(scene.nodes, scene.polygons, scene.scratch, bx, by, bz, b.radius + far)
        if found == 0:
            continue
        many = b.group_stop - b.group_start > 1
        for group in range(b.group_start, b.group_stop):
            if many and not _group_is_near(scene, poses_next, body, group, found, far):
                continue
            for k in range(scene.groups[group].point_start, scene.groups[group].point_stop):
                _find_passed_point(scene, problem, poses, poses_next, body, scene.group_points[k], found, tolerance)
    return problem.counts[N_CONTACTS] - before


@inline
def _find_passed_point(scene: Scene, problem: Problem, poses, poses_next, body, point, found, tolerance):
    """Add the contacts of one point with those of the polygons found that it goes through."""
    x, y, z = point_in_world(poses_next, body, scene.points[point].position)
    for j in range(found):
        polygon = scene.scratch[1, j]
        after = _gap(scene, polygon, point, x, y, z)
        if after >= -tolerance:
            continue
        px, py, pz = point_in_world(poses, body, scene.points[point].position)
        gap = _gap(scene, polygon, point, px, py, pz)
        if gap < -_BEHIND:
            continue
        # Where the way from the one place to the other meets the plane.
        s = max(0.0, gap) / (max(0.0, gap) - after)
        if not _inside(scene, polygon, px + s * (x - px), py + s * (y - py), pz + s * (z - pz)):
            continue
        listed = False
        for c in range(problem.counts[N_CONTACTS]):
            if problem.contacts[c].point == point and problem.contacts[c].face == polygon:
                listed = True
        if not listed:
            _add(scene, problem, point, polygon, gap, px, py, pz)
    if scene.points[point].radius > 0.0:
        px, py, pz = point_in_world(poses, body, scene.points[point].position)
        for j in range(found):
            polygon = scene.scratch[1, j]
            _add_rim(scene, problem, point, polygon, 0, px, py, pz, x, y, z, -tolerance, _BEHIND)
