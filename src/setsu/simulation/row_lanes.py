"""Rows of numbers in lanes: copies and sums of arrays (n,) in compiled code.

The last lanes are moved back to end with the row, so that some entries are computed twice: a result may not stand where
its own summands do.
"""

from __future__ import annotations

from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from, total

__all__ = ["add", "copy", "drop_signs_of_zeros", "is_finite"]


@inline
def copy(source, target, first):
    """Copy an array to the entries of another from `first` on."""
    n = len(source)
    if n < LANES:
        for i in range(n):
            target[first + i] = source[i]
        return
    for k in range(0, n, LANES):
        i = min(k, n - LANES)
        store_from(target, first + i, load_from(source, i))


@inline
def add(a, b, out):
    """out = a + b."""
    n = len(out)
    if n < LANES:
        for i in range(n):
            out[i] = a[i] + b[i]
        return
    for k in range(0, n, LANES):
        i = min(k, n - LANES)
        store_from(out, i, load_from(a, i) + load_from(b, i))


@inline
def drop_signs_of_zeros(a):
    """-0 becomes 0."""
    n = len(a)
    if n < LANES:
        for i in range(n):
            a[i] += 0.0
        return
    for k in range(0, n, LANES):
        i = min(k, n - LANES)
        store_from(a, i, load_from(a, i) + spread(0.0))


@inline
def is_finite(a):
    """Whether no number is infinite or none at all: 0 x is 0 then."""
    n, zeros = len(a), 0.0
    if n < LANES:
        for i in range(n):
            zeros += 0.0 * a[i]
        return zeros == 0.0
    sums = spread(0.0)
    for k in range(0, n, LANES):
        sums += spread(0.0) * load_from(a, min(k, n - LANES))
    return total(sums) == 0.0
