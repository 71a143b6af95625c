"""Named lengths in the factors of loops that need roots: which products of names the factors are, found modulo a prime.

Points on such a loop are solutions of its closure modulo a prime, for any residues in place of the named lengths. So
the factors K are known as functions of the names, one evaluation at a time. Products of powers, which is what factors
of linkages mostly are (l1, l1²/l3², -1/l3), are told by doubling one name after another:

    K(..., 2 x, ...) / K(..., x, ...) = 2^e, e = -4 ... 4                              exponent of x    (1)
    k = K / Π x^e                                                                      its coefficient, a fraction
    K = k Π x^e at further random residues, and at the values of the names             the check        (2)

A factor that is no such product (a sum of lengths, a function of a named angle) keeps its value as a number. When other
factors vanish, or another rank comes out, for random residues than for the values, these have a special relation: no
names are used.
Source: interpolation of black boxes (Zippel), for one term. Cost: one set of closed points per name and two more.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from setsu.mechanism import Mechanism
from setsu.mechanism.native_text import named_symbols
from setsu.minimum_parameters.exact_geometry import split_symbols
from setsu.minimum_parameters.field_points import FieldSampler, UnsolvedLoopsError
from setsu.minimum_parameters.field_relations import PRIMES, rational_from_residue, solved_residues
from setsu.minimum_parameters.linear_relations import Relations
from setsu.symbolic.flint_package import flint

__all__ = ["named_factors"]

_SPARE = 3
_EXPONENTS = range(-4, 5)
_MOST_NAMES = 12


def named_factors(
    mechanism: Mechanism, independent_dofs: list[int], relations: Relations
) -> tuple[Relations, tuple[str, ...]] | None:
    """Return the relations with names in their factors and these names; None when the values are special.

    relations: as found with the values. Without named lengths they are returned as they are.
    """
    names = split_symbols(mechanism).lengths
    if not names or len(names) > _MOST_NAMES or not relations.factors:
        return relations, ()
    prime = PRIMES[0]
    generator = random.Random(7)

    def factors_at(point: dict[str, int], seed: int) -> dict[tuple[int, int], int]:
        sampler = FieldSampler(mechanism, independent_dofs, [], prime, seed, lengths=point)
        rows = sampler.rows(len(relations.independent) + _SPARE)
        return solved_residues(rows, relations.independent, relations.dependent, prime)

    base = {name: generator.randrange(2, prime) for name in names}
    other = {name: generator.randrange(2, prime) for name in names}
    try:
        at_base, at_other = factors_at(base, 1), factors_at(other, 2)
        if at_base.keys() != relations.factors.keys():
            return None
        doubled = {name: factors_at({**base, name: 2 * base[name] % prime}, 3) for name in names}
    except UnsolvedLoopsError:
        return None
    powers = {pow(2, e, prime): e for e in _EXPONENTS}
    context = flint().fmpq_mpoly_ctx.get(list(names), flint().Ordering.lex)
    values = named_symbols(mechanism)
    factors: dict[tuple[int, int], Any] = dict(relations.factors)
    for place, residue in at_base.items():
        inverse = pow(residue, -1, prime)
        found = [powers.get(doubled[name].get(place, 0) * inverse % prime) for name in names]
        exponents = [e for e in found if e is not None]
        if len(exponents) < len(found):
            continue
        coefficient = rational_from_residue(residue * _product(base, exponents, prime, -1) % prime, prime)
        number = float(relations.factors[place])
        if coefficient is None or not _short(coefficient):
            continue
        k = coefficient.numerator * pow(coefficient.denominator, -1, prime)
        held = k * _product(other, exponents, prime, 1) % prime == at_other.get(place, 0)
        size = float(coefficient) * math.prod(values[name] ** e for name, e in zip(names, exponents, strict=True))
        if held and abs(size - number) <= 1e-6 * max(1.0, abs(number)):
            factors[place] = _as_quotient(context, coefficient, exponents)
    return Relations(relations.independent, relations.dependent, factors), names


def _short(coefficient: Fraction) -> bool:
    """Whether a fraction is one, and not any residue: a random one has nine digits above and below."""
    return abs(coefficient.numerator) < 10**6 and coefficient.denominator < 10**6


def _product(point: dict[str, int], exponents: list[int], prime: int, sign: int) -> int:
    result = 1
    for residue, e in zip(point.values(), exponents, strict=True):
        result = result * pow(residue, sign * e, prime) % prime
    return result


def _as_quotient(context: Any, coefficient: Fraction, exponents: list[int]) -> tuple[Any, Any]:
    above, below = (tuple(max(0, sign * e) for e in exponents) for sign in (1, -1))
    number = flint().fmpq(coefficient.numerator, coefficient.denominator)
    return context.from_dict({above: number}), context.from_dict({below: flint().fmpq(1)})
