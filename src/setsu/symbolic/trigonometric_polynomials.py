"""Polynomials in cosines and sines, rates and named geometry, with sin² -> 1 - cos² after every product.

| generator | stands for | relation |
|---|---|---|
| s_k, c_k | sine and cosine of coordinate k or of a named angle | s² = 1 - c² |
| w, x, y, z | unit quaternion of a spherical or free joint | w² = 1 - x² - y² - z² |
| the others | travels, rates, named lengths | none |

Two such polynomials are equal as functions exactly when their reduced forms are the same: the monomials that are left,
with sines and w to the first power at most, are linearly independent functions (kawasaki1995's fundamental functions).

Built on python-flint's `fmpq_mpoly` in lexicographic order, where reduction is one division. A polynomial of more
terms than `limit` raises TooManyTermsError, so that callers can turn to sampling. Refuses nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from setsu.symbolic.exact_numbers import Angle, Exact, ExactRing, Value
from setsu.symbolic.flint_package import flint

__all__ = ["TooManyTermsError", "TrigonometricRing"]


class TooManyTermsError(Exception):
    """A polynomial grew beyond the limit of its ring."""


class TrigonometricRing(ExactRing):
    """Polynomials over the rationals in pairs (s, c), quaternions (w, x, y, z) and plain generators.

    Args:
        angles: names of coordinates that enter by cosine and sine; generators f"s_{name}" and f"c_{name}".
        quaternions: names of unit quaternions; generators f"{part}_{name}" for the parts w, x, y, z.
        plain: names of generators without a relation.
        limit: most terms of a polynomial.
    """

    def __init__(
        self, angles: Sequence[str], quaternions: Sequence[str], plain: Sequence[str], limit: int = 200_000
    ) -> None:
        ordering = flint().Ordering
        fmpq_mpoly_ctx = flint().fmpq_mpoly_ctx

        names = [f"{part}_{name}" for name in angles for part in "sc"]
        names += [f"{part}_{name}" for name in quaternions for part in "wxyz"]
        names += list(plain)
        self.names = tuple(names)
        # A ring without generators cannot be asked for.
        self.context = fmpq_mpoly_ctx.get(names or ["unused"], ordering.lex)
        self.limit = limit
        generators = self.context.gens()
        self._generator = dict(zip(names, generators, strict=False))
        relations = []
        for name in angles:
            s, c = self._generator[f"s_{name}"], self._generator[f"c_{name}"]
            relations.append((names.index(f"s_{name}"), s * s + c * c - 1))
        for name in quaternions:
            w, x, y, z = (self._generator[f"{part}_{name}"] for part in "wxyz")
            relations.append((names.index(f"w_{name}"), w * w + x * x + y * y + z * z - 1))
        self._relations = relations

    def generator(self, name: str) -> Exact:
        """Return a generator as a scalar."""
        return Exact(self, self._generator[name])

    def angle(self, name: str, value: Value = None) -> Angle:
        """Return the coordinate of this name as an angle."""
        return Angle(self.generator(f"c_{name}"), self.generator(f"s_{name}"), value)

    def quaternion(self, name: str) -> tuple[Exact, ...]:
        """Return the unit quaternion of this name, x y z w."""
        return tuple(self.generator(f"{part}_{name}") for part in "xyzw")

    def constant(self, number: Fraction) -> Any:
        fmpq = flint().fmpq

        return self.context.constant(fmpq(number.numerator, number.denominator))

    def sum(self, a: Any, b: Any) -> Any:
        return a + b

    def product(self, a: Any, b: Any) -> Any:
        if len(a) * len(b) > 20 * self.limit:
            raise TooManyTermsError
        result = a * b
        degrees = result.degrees()
        for place, relation in self._relations:
            if degrees[place] > 1:
                result = divmod(result, relation)[1]
        if len(result) > self.limit:
            raise TooManyTermsError
        return result

    def inverse(self, a: Any) -> Any:
        if not a.is_constant():
            raise ZeroDivisionError("a polynomial has no inverse")
        return self.context.constant(1 / a.leading_coefficient())
