"""Named lengths and angles in the factors of loops that need roots, found modulo a prime.

Points on such a loop are solutions of its closure modulo a prime, for any residues in place of the named lengths and of
the half-angle tangents of named angles. So the factors K are rational functions of the names that can be evaluated, one
set of closed points at a time, and are interpolated (`rational_interpolation`): l1, l1²/l3², (a + b)/a, cos(α)/l2.

    1. one name doubled after another: K(2x)/K(x) = 2^e tells a product of powers, 1 that K does not depend on x
    2. other factors: their powers along a line through every other name; along a random line through all lengths, and
       by doubling all of them, their degrees and whether dimensions bind them
    3. coefficients from random points; a spare point and the values of the names check every factor

A factor with more than `_MOST_UNKNOWNS` possible terms, or whose coefficients are no short fractions (lengths of many
digits without a name), keeps its value as a number. When other factors vanish, or another rank comes out, for random
residues than for the values, these have a special relation: no names are used.
Cost: one set of closed points per name where factors are products; else about ten per name more, and one per possible
term of the longest factor, unless that makes more than `_MOST_STATES` closed points.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from setsu.mechanism import Mechanism
from setsu.mechanism.native_text import named_symbols
from setsu.minimum_parameters.exact_geometry import split_symbols
from setsu.minimum_parameters.field_points import FieldSampler, UnsolvedLoopsError
from setsu.minimum_parameters.field_relations import PRIMES, solved_residues
from setsu.minimum_parameters.linear_relations import Relations
from setsu.minimum_parameters.rational_interpolation import (
    Degrees,
    Monomials,
    coefficients,
    degrees_on_line,
    monomials,
    value_of,
)
from setsu.symbolic.flint_package import flint

__all__ = ["named_factors"]

_SPARE = 3
_MOST_NAMES = 12
_MOST_UNKNOWNS = 160
_MOST_STATES = 4000
_EXPONENTS = range(-4, 5)
_LINES = (4, 6, 10, 14)
"""Points on a line, more of them until the degrees of every factor are known."""

Place = tuple[int, int]
Factors = dict[Place, int]


def named_factors(
    mechanism: Mechanism, independent_dofs: list[int], relations: Relations
) -> tuple[Relations, tuple[str, ...]] | None:
    """Return the relations with names in their factors and these names; None when the values are special.

    relations: as found with the values. Without names they are returned as they are. Angles stand in the names as
    tan(α/2).
    """
    geometry = split_symbols(mechanism)
    names = (*geometry.lengths, *(f"tan({name}/2)" for name in geometry.angles))
    if not names or len(names) > _MOST_NAMES or not relations.factors:
        return relations, ()
    prime = PRIMES[0]
    n_lengths = len(geometry.lengths)

    def factors_at(point: Sequence[int]) -> Factors:
        lengths = dict(zip(geometry.lengths, point[:n_lengths], strict=True))
        angles = dict(zip(geometry.angles, point[n_lengths:], strict=True))
        sampler = FieldSampler(mechanism, independent_dofs, [], prime, 1, lengths, angles)
        rows = sampler.rows(len(relations.independent) + _SPARE)
        return solved_residues(rows, relations.independent, relations.dependent, prime)

    affordable = _MOST_STATES // (len(relations.independent) + _SPARE)
    search = _Search(factors_at, len(names), n_lengths, prime)
    try:
        if factors_at(search.base).keys() != relations.factors.keys():
            return None
        forms = search.forms(list(relations.factors), affordable)
        needed = max((len(above) + len(below) + 1 for above, below in forms.values()), default=0)
        points = [search.draw() for _ in range(needed)]
        values = [factors_at(point) for point in points]
    except (UnsolvedLoopsError, ZeroDivisionError):
        return None
    numbers = named_symbols(mechanism)
    at = [*(numbers[name] for name in geometry.lengths), *(math.tan(numbers[name] / 2) for name in geometry.angles)]
    context = flint().fmpq_mpoly_ctx.get(list(names), flint().Ordering.lex)
    factors: dict[Place, Any] = dict(relations.factors)
    for place, (above, below) in forms.items():
        rows = len(above) + len(below) + 1
        found = coefficients(above, below, points[:rows], [value.get(place, 0) for value in values[:rows]], prime)
        if found is None:
            continue
        under, number = value_of(below, found[1], at), float(relations.factors[place])
        if under and abs(value_of(above, found[0], at) / under - number) <= 1e-6 * max(1.0, abs(number)):
            factors[place] = _polynomial(context, above, found[0]), _polynomial(context, below, found[1])
    return Relations(relations.independent, relations.dependent, factors), names


class _Search:
    """Finds which monomials the factors can have."""

    def __init__(self, factors_at: Callable[[Sequence[int]], Factors], n: int, n_lengths: int, prime: int) -> None:
        self.factors_at, self.n, self.n_lengths, self.prime = factors_at, n, n_lengths, prime
        self._random = random.Random(7)
        self.base = self.draw()
        self._at_base: Factors = {}

    def draw(self) -> list[int]:
        return [self._random.randrange(2, self.prime) for _ in range(self.n)]

    def forms(self, places: list[Place], affordable: int) -> dict[Place, tuple[Monomials, Monomials]]:
        """Return the monomials that numerator and denominator of each factor can have; long ones are left out.

        affordable: sets of closed points.
        """
        self._at_base = self.factors_at(self.base)
        known = [self._powers(places, name) for name in range(self.n)]
        left = [place for place in places if any(place not in powers for powers in known)]
        names = [name for name in range(self.n) if any(place not in known[name] for place in left)]
        result = {place: _product([powers[place] for powers in known]) for place in places if place not in left}
        if not left or (len(names) + 1) * _LINES[-2] + _MOST_UNKNOWNS // 4 > affordable:
            return result
        for name in names:
            unknown = [place for place in left if place not in known[name]]
            known[name] |= self._line(unknown, lambda s, k=name: [*self.base[:k], s, *self.base[k + 1 :]])
        direction = [residue if k < self.n_lengths else 0 for k, residue in enumerate(self.draw())]
        through = [*zip(self.base, direction, strict=True)]
        along = self._line(left, lambda s: [(x + s * u) % self.prime for x, u in through])
        bound = self._bound_by_dimensions(left, along)
        weights = [int(k < self.n_lengths) for k in range(self.n)]
        for place in left:
            if place not in along or any(place not in powers for powers in known):
                continue
            above, below = (
                monomials(ranges, weights, (degree if place in bound else 0, degree))
                for ranges, degree in (
                    ([powers[place].above for powers in known], along[place].above[1]),
                    ([powers[place].below for powers in known], along[place].below[1]),
                )
            )
            if len(above) + len(below) <= min(_MOST_UNKNOWNS, affordable):
                result[place] = above, below
        return result

    def _powers(self, places: list[Place], name: int) -> dict[Place, Degrees]:
        """Return the degrees in one name of the factors that are a power of it times something else, by doubling."""
        powers = {pow(2, e, self.prime): e for e in _EXPONENTS}
        doubled = self.factors_at([x * 2 % self.prime if k == name else x for k, x in enumerate(self.base)])
        result = {}
        for place in places:
            e = powers.get(doubled.get(place, 0) * pow(self._at_base[place], -1, self.prime) % self.prime)
            if e is not None:
                above, below = max(0, e), max(0, -e)
                result[place] = Degrees((above, above), (below, below))
        return result

    def _line(self, places: list[Place], at: Callable[[int], list[int]]) -> dict[Place, Degrees]:
        """Return the degrees of the factors along a line, for those whose degrees the most points tell."""
        arguments: list[int] = []
        values: list[Factors] = []
        found: dict[Place, Degrees] = {}
        for count in _LINES:
            while len(arguments) < count:
                arguments.append(self._random.randrange(2, self.prime))
                values.append(self.factors_at(at(arguments[-1])))
            for place in places:
                if place not in found:
                    degrees = degrees_on_line(arguments, [value.get(place, 0) for value in values], self.prime)
                    if degrees is not None:
                        found[place] = degrees
            if len(found) == len(places):
                break
        return found

    def _bound_by_dimensions(self, places: list[Place], along: dict[Place, Degrees]) -> set[Place]:
        """Return the factors that twice the lengths multiply by a power of two, as dimensions ask if all have names."""
        twice = self.factors_at([x * 2 % self.prime if k < self.n_lengths else x for k, x in enumerate(self.base)])
        result = set()
        for place in places:
            if place in along:
                power = pow(2, along[place].above[1] - along[place].below[1], self.prime)
                if twice.get(place, 0) == self._at_base[place] * power % self.prime:
                    result.add(place)
        return result


def _product(powers: list[Degrees]) -> tuple[Monomials, Monomials]:
    return [tuple(p.above[1] for p in powers)], [tuple(p.below[1] for p in powers)]


def _polynomial(context: Any, exponents: Monomials, numbers: Sequence[Any]) -> Any:
    entries = zip(exponents, numbers, strict=True)
    return context.from_dict({powers: flint().fmpq(x.numerator, x.denominator) for powers, x in entries if x})
