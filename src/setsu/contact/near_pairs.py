"""Which shapes are near each other: sweep and prune along the longest axis, in compiled code.

Boxes around the balls of the shapes are sorted by where they begin along the axis in which the shapes spread most; each
is held against those that begin before it ends. The numbers of the pairs found are sorted: what comes out depends on
the places alone, and is in the order of the list of pairs.
Source: Cohen, Lin, Manocha and Ponamgi 1995 (I-COLLIDE). Cost: O(n) for shapes that moved little since the step before,
plus boxes that overlap along the axis; some nanoseconds each.
"""

from __future__ import annotations

import math

from setsu.contact.convex_tables import ConvexShapes
from setsu.native.control_flow import inline

__all__ = ["list_near"]


@inline
def _set_boxes(tables: ConvexShapes, margin, h):
    """Boxes around the shapes, half of the margin (m) and their ways in two steps of h (s) included; longest axis."""
    low = (math.inf, math.inf, math.inf)
    high = (-math.inf, -math.inf, -math.inf)
    for k in range(tables.ground_start[0]):
        s, box = tables.shapes[k], tables.boxes[k]
        around = s.reach + 0.5 * margin + 2.0 * h * s.speed
        for i in range(3):
            box[i], box[3 + i] = s.place[i] - around, s.place[i] + around
        if s.body >= 0:
            x, y, z = s.place[0], s.place[1], s.place[2]
            low = min(low[0], x), min(low[1], y), min(low[2], z)
            high = max(high[0], x), max(high[1], y), max(high[2], z)
    x, y, z = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    return 0 if x >= y and x >= z else 1 if y >= z else 2


@inline
def _sort(tables: ConvexShapes, axis):
    """Order of the shapes by where their boxes begin, equal ones by number: unique, however it was before."""
    order, boxes = tables.order, tables.boxes
    for k in range(1, tables.ground_start[0]):
        shape = order[k]
        begin, place = boxes[shape, axis], k
        while place > 0:
            other = order[place - 1]
            if boxes[other, axis] < begin or (boxes[other, axis] == begin and other < shape):
                break
            order[place] = other
            place -= 1
        order[place] = shape


@inline
def _sort_numbers(values, count):
    """Sort the first `count` numbers (Shell 1959)."""
    gap = 1
    while gap < count:
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for k in range(gap, count):
            value, place = values[k], k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value


@inline
def list_near(tables: ConvexShapes, margin, h):
    """Write the numbers of pairs whose boxes overlap to `near`, in order; return how many."""
    n, boxes, order = tables.ground_start[0], tables.boxes, tables.order
    if len(tables.pairs) == 0:
        return 0
    axis = _set_boxes(tables, margin, h)
    _sort(tables, axis)
    second, third = (axis + 1) % 3, (axis + 2) % 3
    count = 0
    for k in range(n):
        i = order[k]
        a = boxes[i]
        end = a[3 + axis]
        for m in range(k + 1, n):
            j = order[m]
            b = boxes[j]
            if b[axis] > end:
                break
            if (
                b[second] > a[3 + second]
                or a[second] > b[3 + second]
                or b[third] > a[3 + third]
                or a[third] > b[3 + third]
            ):
                continue
            number = tables.number[i, j]
            if number >= 0 and tables.pairs[number].skip == 0:
                tables.near[count] = number
                count += 1
    _sort_numbers(tables.near, count)
    return count
