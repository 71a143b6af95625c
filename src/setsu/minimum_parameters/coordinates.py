"""Which motions a mechanism has: its joint coordinates as functions of independent ones, in any exact ring.

| symbol | meaning |
|---|---|
| u, du | independent coordinates and their rates |
| N, b | linear closure: q = N u + b for all joints of one coordinate; v = N du |

Trees have N = 1, b = 0. Couplings are linear, and so are parallelograms (θ' = θ2 + θ3 + π). Columns of N that feed
angles are scaled to whole numbers, so that cosines of N u are polynomials in the cosines and sines of u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.exact_geometry import rational, rational_angle
from setsu.symbolic.exact_numbers import Angle, ExactRing, Value
from setsu.symbolic.trigonometric_polynomials import TrigonometricRing

__all__ = ["LinearClosure", "coordinates_in", "no_closure", "polynomial_ring"]

_TURNING = (Kind.REVOLUTE, Kind.HELICAL)
_TRAVELLING = (Kind.PRISMATIC, Kind.HELICAL)


@dataclass(frozen=True)
class LinearClosure:
    """q = N u + b: matrix (nv rows of fractions, one entry per independent rate), offset (nv floats, m or rad)."""

    matrix: tuple[tuple[Fraction, ...], ...]
    offset: tuple[float, ...]

    @property
    def freedom(self) -> int:
        """Number of independent rates."""
        return len(self.matrix[0]) if self.matrix else 0


def no_closure(mechanism: Mechanism) -> LinearClosure:
    """Return the closure of a tree: every coordinate is its own."""
    nv = mechanism.nv
    return LinearClosure(tuple(tuple(Fraction(int(i == j)) for j in range(nv)) for i in range(nv)), (0.0,) * nv)


def whole_angles(mechanism: Mechanism, closure: LinearClosure) -> LinearClosure:
    """Scale the columns so that every angle is a whole multiple of every independent coordinate."""
    kinds = _dof_kinds(mechanism)
    scale = [
        math.lcm(*(closure.matrix[d][k].denominator for d, kind in enumerate(kinds) if kind in _TURNING))
        for k in range(closure.freedom)
    ]
    return LinearClosure(
        tuple(tuple(entry * s for entry, s in zip(row, scale, strict=True)) for row in closure.matrix), closure.offset
    )


def polynomial_ring(
    mechanism: Mechanism, closure: LinearClosure, angles: Sequence[str], lengths: Sequence[str], limit: int
) -> TrigonometricRing:
    """Return the ring of cosines and sines of u, travels, rates, and the mechanism's symbols (in this order)."""
    kinds = _dof_kinds(mechanism)
    turning, travelling = [], []
    for k in range(closure.freedom):
        used = {kinds[d] for d in range(len(kinds)) if closure.matrix[d][k] != 0}
        if used & set(_TURNING):
            turning.append(f"u{k}")
        if used & set(_TRAVELLING):
            travelling.append(f"x{k}")
    quaternions, places = [], []
    for link, kind in enumerate(mechanism.tables.kind.tolist()):
        if Kind(kind) in (Kind.SPHERICAL, Kind.FREE):
            quaternions.append(f"h{link}")
        if Kind(kind) is Kind.FREE:
            places += [f"{axis}{link}" for axis in ("px", "py", "pz")]
    rates = [f"du{k}" for k in range(closure.freedom)]
    # Symbols come with a prefix of their own: a length called c_u0 must not meet a cosine.
    names = [f"S_{name}" for name in lengths]
    return TrigonometricRing(
        [*turning, *(f"S_{name}" for name in angles)], quaternions, [*travelling, *places, *rates, *names], limit
    )


def coordinates_in(
    mechanism: Mechanism,
    closure: LinearClosure,
    ring: ExactRing,
    angles: Sequence[Angle | None],
    travels: Sequence[Value],
    rates: Sequence[Value],
    quaternions: dict[int, tuple[Value, ...]],
) -> tuple[list, list]:
    """Return q and v as kernels take them, from independent angles, travels and rates.

    quaternions: by link: x y z w of spherical links, position and x y z w of free ones.
    """
    tables = mechanism.tables
    q: list = []
    for link, number in enumerate(tables.kind.tolist()):
        kind, d = Kind(number), int(tables.v_index[link])
        if kind in (Kind.SPHERICAL, Kind.FREE):
            q += list(quaternions[link])
            continue
        row = [(k, entry) for k, entry in enumerate(closure.matrix[d]) if entry != 0]
        travel: Value = None
        if kind in _TRAVELLING:
            travel = ring.number(rational(closure.offset[d]))
            for k, entry in row:
                travel = travel + travels[k] * ring.number(entry)
        if kind in _TURNING:
            c, s = rational_angle(closure.offset[d])
            angle = Angle(ring.number(c), ring.number(s), travel)
            for k, entry in row:
                part = angles[k]
                assert part is not None
                part = Angle(part.cosine, part.sine).times(int(entry))
                angle = Angle(*(angle + part).cos_sin(), travel)
            q.append(angle)
        else:
            q.append(travel)
    v = []
    for row in closure.matrix:
        total: Value = 0.0
        for k, entry in enumerate(row):
            if entry != 0:
                total = total + rates[k] * ring.number(entry)
        v.append(total)
    return q, v


def _dof_kinds(mechanism: Mechanism) -> list[Kind]:
    tables = mechanism.tables
    return [Kind(tables.kind[link]) for link in tables.dof_link]
