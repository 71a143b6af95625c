"""Factors with named angles as people write them: cosines and sines in place of half-angle tangents.

Exact algebra writes a named angle α by t = tan(α/2), so that factors are quotients of polynomials. With numerator and
denominator divided by (1 + t²)^k, 2k their highest degree in t,

    t^2i / (1 + t²)^k       = ((1 - c)/2)^i ((1 + c)/2)^(k-i)                    (1)
    t^(2i+1) / (1 + t²)^k   = s/2 ((1 - c)/2)^i ((1 + c)/2)^(k-i-1)              (2)

and powers of s, or else of c, are put by s² + c² = 1: of the two forms the one with fewer terms is kept, angle by
angle.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

__all__ = ["Terms", "with_cosines_and_sines"]

Terms = list[tuple[tuple[int, ...], Fraction]]
"""A polynomial: exponents by symbol, and the coefficient."""

Polynomial = dict[tuple[int, ...], Fraction]


def with_cosines_and_sines(
    numerator: Terms, denominator: Terms, symbols: tuple[str, ...]
) -> tuple[Terms, Terms, tuple[str, ...]]:
    """Return a quotient with every symbol tan(x/2) replaced by cos(x) and sin(x), and the symbols it is now in.

    >>> half = Fraction(1)
    >>> with_cosines_and_sines([((1,), 2 * half)], [((0,), half), ((2,), half)], ("tan(x/2)",))
    ([((0, 1), Fraction(1, 1))], [((0, 0), Fraction(1, 1))], ('cos(x)', 'sin(x)'))
    """
    above, below = dict(numerator), dict(denominator)
    place, names = 0, list(symbols)
    while place < len(names):
        name = names[place]
        if not (name.startswith("tan(") and name.endswith("/2)")):
            place += 1
            continue
        k = (max(exponents[place] for part in (above, below) for exponents in part) + 1) // 2
        forms = []
        for power in (0, 1):
            top, bottom = (_reduced(_by_cosine(part, place, k), place, power) for part in (above, below))
            forms.append((len(top) + len(bottom), top, bottom))
        _, above, below = min(forms, key=lambda form: form[0])
        inner = name[4:-3]
        names[place : place + 1] = [f"cos({inner})", f"sin({inner})"]
        place += 2
    # One scale for both: the denominator's first coefficient is one.
    scale = next(iter(below.values()))
    return (
        [(exponents, value / scale) for exponents, value in above.items()],
        [(exponents, value / scale) for exponents, value in below.items()],
        tuple(names),
    )


def _by_cosine(part: Polynomial, place: int, k: int) -> Polynomial:
    """Put (1) and (2) for the symbol at a place; its cosine and sine stand there."""
    result: Polynomial = {}
    for exponents, coefficient in part.items():
        i, odd = divmod(exponents[place], 2)
        rest = k - i - odd
        # (1 - c)^i (1 + c)^rest, over 2 to the power k.
        for a in range(i + 1):
            for b in range(rest + 1):
                key = (*exponents[:place], a + b, odd, *exponents[place + 1 :])
                value = coefficient * comb(i, a) * (-1) ** a * comb(rest, b) / Fraction(2) ** k
                result[key] = result.get(key, Fraction(0)) + value
    return {key: value for key, value in result.items() if value}


def _reduced(part: Polynomial, place: int, power: int) -> Polynomial:
    """Leave at most the first power of the sine (power 1 at its place) or of the cosine (power 0)."""
    kept, gone = (place, place + 1) if power == 1 else (place + 1, place)
    result: Polynomial = {}
    for exponents, coefficient in part.items():
        pairs, left = divmod(exponents[gone], 2)
        for j in range(pairs + 1):
            new = list(exponents)
            new[gone], new[kept] = left, exponents[kept] + 2 * j
            key = tuple(new)
            result[key] = result.get(key, Fraction(0)) + coefficient * comb(pairs, j) * (-1) ** j
    return {key: value for key, value in result.items() if value}
