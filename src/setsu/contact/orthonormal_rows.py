"""Rows of numbers in whole lanes, made orthonormal one after the other: Gram and Schmidt's method.

    s_k = Q_k x,   x <- x - Σ s_k Q_k,   again where half of |x|² is gone     (1)
    Q_n = x / |x|                                                             (2)

Rows end with zeros up to whole lanes (`padded`). Source: Daniel, Gragg, Kaufman and Stewart 1976: twice is enough.
Cost: 4 n operations per entry of x.
"""

from __future__ import annotations

import math

from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from, total, transposed

__all__ = ["add_multiple", "dot", "padded", "take_in", "take_out"]


def padded(n: int) -> int:
    """Return n, or the next number of whole lanes."""
    return -(-n // LANES) * LANES


@inline
def dot(a, b, n):
    """Sum of the products of the first n entries, as many as fill whole lanes."""
    sums = spread(0.0)
    for k in range(0, n, LANES):
        sums += load_from(a, k) * load_from(b, k)
    return total(sums)


@inline
def add_multiple(out, f, a, n):
    """out += f a, the first n entries, as many as fill whole lanes."""
    factor = spread(f)
    for k in range(0, n, LANES):
        store_from(out, k, load_from(out, k) + factor * load_from(a, k))


@inline
def take_out(Q, n, x, part):
    """Take what x has along the first n rows of Q out of it (1), into part[0] (n,); return |x|² of what is left.

    part (2, n): scratch after it. Rows of Q and columns of `part` go up to whole lanes.
    """
    width, before = len(x), dot(x, x, len(x))
    for k in range(0, n, LANES):
        store_from(part[0], k, spread(0.0))
    for _ in range(3):
        for k in range(0, n, LANES):  # independent of each other, and so are the sums below: none waits for another
            a = b = c = d = spread(0.0)
            for place in range(0, width, LANES):
                y = load_from(x, place)
                a, b = a + load_from(Q[k], place) * y, b + load_from(Q[k + 1], place) * y
                c, d = c + load_from(Q[k + 2], place) * y, d + load_from(Q[k + 3], place) * y
            a, b, c, d = transposed(a, b, c, d)
            along = (a + b) + (c + d)  # as `total` has it
            store_from(part[1], k, along)
            store_from(part[0], k, load_from(part[0], k) + along)
        for place in range(0, width, LANES):
            left4 = load_from(x, place)
            for k in range(n):
                left4 -= spread(part[1, k]) * load_from(Q[k], place)
            store_from(x, place, left4)
        left = dot(x, x, width)
        if left > 0.5 * before:
            break
        before = left
    return left  # type: ignore[possibly-undefined]


@inline
def take_in(Q, n, x, left):
    """Q_n = x / |x| (2), |x|² being `left`; return |x|."""
    size = math.sqrt(left)
    inverse = spread(1.0 / size)
    for place in range(0, len(x), LANES):
        store_from(Q[n], place, inverse * load_from(x, place))
    return size
