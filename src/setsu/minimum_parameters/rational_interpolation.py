"""Rational functions of several variables from their values modulo a prime.

A function f = n/d that can only be evaluated is found in three steps:

    1. on a line x + s u: the fraction of least degree through the points          degrees of n and d along u    (1)
    2. along every axis, and along a random direction: which monomials n and d can have
    3. Σ a_i m_i(x) - f(x) Σ b_j m_j(x) = 0 at random points: a and b              one null vector               (2)

Source: fractions of least degree, Khodadad and Monagan 2006 (maximal quotient); (2) is a plain linear system, as
the functions meant have few and short monomials. Cost: as many values as unknown coefficients in (2).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from setsu.symbolic.flint_package import flint

__all__ = ["Degrees", "coefficients", "degrees_on_line", "monomials", "rational_from_residue", "value_of"]

Monomials = list[tuple[int, ...]]


@dataclass(frozen=True)
class Degrees:
    """Lowest and highest power of numerator and denominator along a line."""

    above: tuple[int, int]
    below: tuple[int, int]


def degrees_on_line(places: Sequence[int], values: Sequence[int], prime: int) -> Degrees | None:
    """Return the degrees of the fraction through points of a line (1); None when more points are needed.

    A fraction is believed when its coefficients are at least two fewer than the points.

    >>> degrees_on_line([1, 2, 3, 4, 5], [3, 6, 9, 12, 15], 101)
    Degrees(above=(1, 1), below=(0, 0))
    """
    poly = flint().nmod_poly
    modulus, through = poly([1], prime), poly([0], prime)
    for place, value in zip(places, values, strict=True):  # Newton's form
        step = (value - int(through(place))) * pow(int(modulus(place)), -1, prime) % prime
        through += modulus * poly([step], prime)
        modulus *= poly([-place % prime, 1], prime)
    r0, r1, t0, t1 = modulus, through, poly([0], prime), poly([1], prime)
    best = (r1, t1)
    while r1.degree() >= 0:
        if r1.degree() + t1.degree() < best[0].degree() + best[1].degree():
            best = (r1, t1)
        quotient, rest = divmod(r0, r1)
        r0, r1, t0, t1 = r1, rest, t1, t0 - quotient * t1
    above, below = best
    if max(above.degree(), 0) + below.degree() + 4 > len(places):
        return None
    return Degrees(_powers(above), _powers(below))


def _powers(polynomial: Any) -> tuple[int, int]:
    entries = [int(entry) for entry in polynomial.coeffs()]
    return next((k for k, entry in enumerate(entries) if entry), 0), max(polynomial.degree(), 0)


def monomials(ranges: Sequence[tuple[int, int]], weights: Sequence[int], total: tuple[int, int]) -> Monomials:
    """Return the exponents within the range of every variable whose weighted sum lies in `total` (both ends in)."""
    return [
        exponents
        for exponents in itertools.product(*(range(low, high + 1) for low, high in ranges))
        if total[0] <= sum(w * e for w, e in zip(weights, exponents, strict=True)) <= total[1]
    ]


def coefficients(
    above: Monomials, below: Monomials, points: Sequence[Sequence[int]], values: Sequence[int], prime: int
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return the coefficients of numerator and denominator by (2); None when they are not determined or not short."""
    rows = []
    for point, value in zip(points, values, strict=True):
        rows.append([_monomial(point, exponents, prime) for exponents in above])
        rows[-1] += [-value * _monomial(point, exponents, prime) % prime for exponents in below]
    width = len(above) + len(below)
    null, nullity = flint().nmod_mat(len(rows), width, [entry for row in rows for entry in row], prime).nullspace()
    if nullity != 1:
        return None
    vector = [int(null[k, 0]) for k in range(width)]
    pivot = next((entry for entry in reversed(vector[len(above) :]) if entry), 0)
    if pivot == 0:
        return None
    unit = pow(pivot, -1, prime)
    found = [rational_from_residue(entry * unit % prime, prime) for entry in vector]
    short = [entry for entry in found if entry is not None and _is_short(entry)]
    return (short[: len(above)], short[len(above) :]) if len(short) == width else None


def value_of(exponents: Monomials, numbers: Sequence[Fraction], point: Sequence[float]) -> float:
    """Return a polynomial's value in floating point."""
    total = 0.0
    for powers, number in zip(exponents, numbers, strict=True):
        term = float(number)
        for base, power in zip(point, powers, strict=True):
            term *= base**power
        total += term
    return total


def _monomial(point: Sequence[int], exponents: tuple[int, ...], prime: int) -> int:
    result = 1
    for base, power in zip(point, exponents, strict=True):
        result = result * pow(base, power, prime) % prime
    return result


def _is_short(number: Fraction) -> bool:
    """Whether a fraction is one, and not any residue: a random one has nine digits above and below."""
    return abs(number.numerator) < 10**7 and number.denominator < 10**7


def rational_from_residue(residue: int, modulus: int) -> Fraction | None:
    """Return the fraction with numerator and denominator below √(modulus/2) that has this residue, if there is one.

    >>> rational_from_residue(2 * pow(7, -1, 10007) % 10007, 10007)
    Fraction(2, 7)
    """
    bound = isqrt(modulus // 2)
    r0, r1, s0, s1 = modulus, residue % modulus, 0, 1
    while r1 > bound:
        quotient = r0 // r1
        r0, r1, s0, s1 = r1, r0 - quotient * r1, s1, s0 - quotient * s1
    return Fraction(r1, s1) if s1 != 0 and abs(s1) <= bound else None
