"""How coordinates change with the rates of a mechanism, on symbols: equal but for quaternions and free positions.

quaternion h = (x y z w), w in body axes: dh/dt = h (w, 0) / 2                       (1)
position of a free joint: dp/dt = R(h) v                                             (2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from setsu.kernels.vectors import add, cross, scale
from setsu.mechanism.tables import Kind, Tables
from setsu.symbolic import Scalar

__all__ = ["coordinate_rates"]


def coordinate_rates(tables: Tables, q: Sequence[Any], rates: Sequence[Scalar]) -> list[Scalar]:
    """Return the change of all coordinates (nq) for changes `rates` of a displacement (nv)."""
    found: list[Scalar] = []
    for link, number in enumerate(tables.kind.tolist()):
        kind, at, first = Kind(number), int(tables.q_index[link]), int(tables.v_index[link])
        own = list(rates[first : first + kind.nv])
        if kind is Kind.FREE:
            x, y, z, s = h = q[at + 3 : at + 7]
            v = (own[0], own[1], own[2])
            twice = scale(cross((x, y, z), v), 2.0)
            found += add(add(v, scale(twice, s)), cross((x, y, z), twice))  # (2)
            found += _quaternion_rate(h, own[3:])
        elif kind is Kind.SPHERICAL:
            found += _quaternion_rate(q[at : at + 4], own)
        else:
            found += own
    return found


def _quaternion_rate(h: Sequence[Any], w: Sequence[Any]) -> list[Scalar]:
    x, y, z, s = h
    return [
        0.5 * (s * w[0] + y * w[2] - z * w[1]),
        0.5 * (s * w[1] + z * w[0] - x * w[2]),
        0.5 * (s * w[2] + x * w[1] - y * w[0]),
        -0.5 * (x * w[0] + y * w[1] + z * w[2]),
    ]  # (1)
