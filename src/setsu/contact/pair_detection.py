"""Find where bodies touch each other, in compiled code, before each step.

Balls around the shapes sort out pairs that are farther apart than they can travel towards each other in two steps; the
others go through distance (convex_distance.py), depth where the cores touch (convex_depth.py), and the points where
they meet (convex_manifold.py). What is found depends on the present state alone.
Cost: some nanoseconds for a pair that is far apart, microseconds for one that touches.
"""

from __future__ import annotations

import math

from setsu.contact.convex_depth import core_depth
from setsu.contact.convex_distance import FAR, TOUCH, core_distance
from setsu.contact.convex_manifold import set_manifold
from setsu.contact.convex_support import forget
from setsu.contact.convex_tables import ConvexShapes
from setsu.contact.scene import Problem
from setsu.contact.shape_pairs import MARGIN
from setsu.native.control_flow import compiled, part

__all__ = ["find_pairs", "look_at", "meet", "place_shapes"]


@part
def place_shapes(tables: ConvexShapes, poses, velocities):
    """Poses of all shapes in the world, and how fast they are, from those of the bodies (n, 4, 4) and (n, 6)."""
    for k in range(len(tables.shapes)):
        s = tables.shapes[k]
        T, v = poses[s.body], velocities[s.body]
        for i in range(3):
            for j in range(3):
                s.R[i, j] = T[i, 0] * s.rotation[0, j] + T[i, 1] * s.rotation[1, j] + T[i, 2] * s.rotation[2, j]
            s.place[i] = T[i, 0] * s.center[0] + T[i, 1] * s.center[1] + T[i, 2] * s.center[2] + T[i, 3]
        moving = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        turning = math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
        s.speed = moving + turning * s.farthest


@part
def meet(tables: ConvexShapes, A, B, margin):
    """Write the points where two placed shapes meet to `found`, seen from A's centre.

    Returns how many (0: farther apart than the margin, m), the normal from A to B, and the gap (m).
    """
    a, b = tables.shapes[A], tables.shapes[B]
    tx, ty, tz = b.place[0] - a.place[0], b.place[1] - a.place[1], b.place[2] - a.place[2]
    reach = a.reach + b.reach + margin
    if tx * tx + ty * ty + tz * tz > reach * reach:
        return 0, 0.0, 0.0, 0.0, math.inf
    forget(tables, A)
    forget(tables, B)
    radii = a.radius + b.radius
    status = core_distance(tables, A, B, tx, ty, tz, margin + radii)
    if status == FAR:
        return 0, 0.0, 0.0, 0.0, math.inf
    if status == TOUCH:
        nx, ny, nz, depth = core_depth(tables, A, B, tx, ty, tz)
        gap = -depth - radii
    else:
        v = tables.nearest[0]
        distance = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        nx, ny, nz, gap = -v[0] / distance, -v[1] / distance, -v[2] / distance, distance - radii
    if gap > margin:
        return 0, nx, ny, nz, gap
    return set_manifold(tables, A, B, tx, ty, tz, nx, ny, nz, gap, margin), nx, ny, nz, gap


@compiled
def look_at(tables: ConvexShapes, A, B, margin, out):
    """`meet` for Python: normal and gap to `out` (4,); return how many points."""
    count, out[0], out[1], out[2], out[3] = meet(tables, A, B, margin)
    return count


@part
def find_pairs(tables: ConvexShapes, problem: Problem, h):
    """List the contacts between the placed shapes for a step of length h (s) in problem.pairs."""
    total = 0
    for k in range(len(tables.pairs)):
        pair = tables.pairs[k]
        a, b = tables.shapes[pair.first], tables.shapes[pair.second]
        count, nx, ny, nz, _ = meet(tables, pair.first, pair.second, MARGIN + 2.0 * h * (a.speed + b.speed))
        for point in range(count):
            out, found = problem.pairs[total], tables.found[point]
            # The normal points from the first shape to the second: the second is body a of the contact.
            out.body_a, out.body_b, out.shapes, out.log, out.gap = b.body, a.body, k, pair.log, found.gap
            out.normal[0], out.normal[1], out.normal[2] = nx, ny, nz
            for i in range(3):
                out.position[i] = found.position[i] + a.place[i]
            out.static_friction = min(a.static_friction, b.static_friction)
            out.kinetic_friction = min(a.kinetic_friction, b.kinetic_friction)
            out.restitution = min(a.restitution, b.restitution)
            total += 1
    problem.counts[2] = total
