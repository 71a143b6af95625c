"""Rational functions of several variables found again from their values modulo a prime."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from setsu.minimum_parameters.rational_interpolation import Degrees, coefficients, degrees_on_line, monomials

PRIME = 2**61 - 1


def _residue(number: Fraction) -> int:
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME


def _at(terms: dict[tuple[int, ...], Fraction], point: list[int]) -> int:
    total = 0
    for exponents, number in terms.items():
        term = _residue(number)
        for base, power in zip(point, exponents, strict=True):
            term = term * pow(base, power, PRIME) % PRIME
        total += term
    return total % PRIME


@pytest.mark.parametrize("seed", range(6))
def test_random_fractions_come_back(seed: int) -> None:
    rng = random.Random(seed)
    every = monomials([(0, 2), (0, 1), (0, 2)], [1, 1, 1], (0, 3))
    above, below = (
        {powers: Fraction(rng.randrange(-99, 99), rng.randrange(1, 50)) for powers in rng.sample(every, 4)}
        for _ in range(2)
    )
    below[0, 0, 0] = Fraction(1)
    points = [[rng.randrange(2, PRIME) for _ in range(3)] for _ in range(2 * len(every) + 1)]
    values = [_at(above, point) * pow(_at(below, point), -1, PRIME) % PRIME for point in points]
    # Only monomials that the fraction has: with more of them, it could be multiplied above and below.
    up, down = sorted(above), sorted(below)
    found = coefficients(up, down, points, values, PRIME)
    assert found is not None
    scale = found[1][down.index((0, 0, 0))]
    assert [number / scale for number in found[0]] == [above[powers] for powers in up]
    assert [number / scale for number in found[1]] == [below[powers] for powers in down]


def test_degrees_along_a_line_and_too_few_points() -> None:
    places = list(range(3, 13))
    values = [5 * s**2 * pow(s**3 + 7, -1, PRIME) % PRIME for s in places]
    assert degrees_on_line(places, values, PRIME) == Degrees((2, 2), (0, 3))
    assert degrees_on_line(places[:5], values[:5], PRIME) is None


def test_values_of_no_short_fraction_are_refused() -> None:
    rng = random.Random(1)
    points = [[rng.randrange(2, PRIME)] for _ in range(6)]
    assert coefficients([(1,)], [(0,)], points, [rng.randrange(PRIME) for _ in points], PRIME) is None
