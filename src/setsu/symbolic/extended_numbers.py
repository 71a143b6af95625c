"""Real numbers of several hundred bits as a ring that kernels run on: points of loops whose closure needs roots.

Raw values are midpoints and radii (flint's balls): the radius bounds every rounding error made since the last
`midpoint`. The precision is that of flint's context while the ring is used, set by `precision`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from setsu.symbolic.exact_numbers import Angle, Exact, ExactRing, Value
from setsu.symbolic.flint_package import flint

__all__ = ["ExtendedReals", "precision"]


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with so many bits inside the block."""
    context = flint().ctx
    before = context.prec
    context.prec = bits
    try:
        yield
    finally:
        context.prec = before


class ExtendedReals(ExactRing):
    """Balls around real numbers; a ball that is exactly zero is the plain number 0.0."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._ball = flint().arb

    def constant(self, number: Fraction) -> Any:
        return self._ball(number.numerator) / number.denominator

    def raw(self, number: Value) -> Any:
        """Return the ball of a scalar; those of plain numbers are kept."""
        if isinstance(number, Exact):
            return number.value
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self.constant(Fraction(number))
        return known

    def wrap(self, value: Any) -> Value:
        return 0.0 if value.is_zero() else Exact(self, value)

    def sum(self, a: Any, b: Any) -> Any:
        return a + b

    def product(self, a: Any, b: Any) -> Any:
        return a * b

    def inverse(self, a: Any) -> Any:
        if a.contains(0):
            raise ZeroDivisionError("a number that cannot be told from zero has no inverse")
        return 1 / a

    def angle(self, value: Any) -> Angle:
        """Return a joint coordinate from the ball of its angle, rad."""
        sine, cosine = value.sin_cos()
        return Angle(self.wrap(cosine), self.wrap(sine), self.wrap(value))
