"""Exact scalars that kernels run on: residues modulo a prime, trigonometric polynomials.

| ring | its values | for |
|---|---|---|
| `PrimeField` | residues modulo a prime of about 61 bits | points on loops |
| `PrimeVectors` | the same at many points at once | ranks at random points |
| `TrigonometricRing` (own file) | polynomials in cosines, sines, rates and named lengths | identities |

Zeros and ones stay plain floats and vanish while a kernel runs; the other floats a kernel brings along (2.0, 0.5) are
fractions and become exact values. An `Angle` is a joint coordinate: its cosine and sine, and its value where a screw
needs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Angle", "Exact", "ExactRing", "PrimeField", "PrimeVectors", "Value", "as_angle"]

Value = Any
"""An `Exact`, or one of the plain numbers 0.0 and 1.0."""


class Exact:
    """A scalar of an exact ring with Python's arithmetic; results that are zero are the plain number 0.0."""

    __slots__ = ("ring", "value")

    def __init__(self, ring: ExactRing, value: Any) -> None:
        self.ring, self.value = ring, value

    def __repr__(self) -> str:
        return f"Exact({self.value})"

    def __mul__(self, other: Value) -> Value:
        if not isinstance(other, Exact):
            if other == 0:
                return 0.0
            if other == 1:
                return self
        return self.ring.wrap(self.ring.product(self.value, self.ring.raw(other)))

    __rmul__ = __mul__

    def __add__(self, other: Value) -> Value:
        if not isinstance(other, Exact) and other == 0:
            return self
        return self.ring.wrap(self.ring.sum(self.value, self.ring.raw(other)))

    __radd__ = __add__

    def __neg__(self) -> Value:
        return self.ring.wrap(self.ring.product(self.value, self.ring.raw(-1)))

    def __sub__(self, other: Value) -> Value:
        return self + -other

    def __rsub__(self, other: Value) -> Value:
        return -self + other

    def __truediv__(self, other: Value) -> Value:
        return self * self.ring.wrap(self.ring.inverse(self.ring.raw(other)))

    def __rtruediv__(self, other: Value) -> Value:
        return self.ring.wrap(self.ring.inverse(self.value)) * other


class ExactRing(ABC):
    """Arithmetic on raw values of one kind, and their wrapping as scalars."""

    @abstractmethod
    def constant(self, number: Fraction) -> Any:
        """Return the raw value of a fraction."""

    @abstractmethod
    def sum(self, a: Any, b: Any) -> Any:
        """Return a + b for raw values."""

    @abstractmethod
    def product(self, a: Any, b: Any) -> Any:
        """Return a b for raw values."""

    @abstractmethod
    def inverse(self, a: Any) -> Any:
        """Return 1/a for raw values; ZeroDivisionError when there is none."""

    def raw(self, number: Value) -> Any:
        """Return the raw value of a scalar or of a plain number."""
        return number.value if isinstance(number, Exact) else self.constant(Fraction(number))

    def wrap(self, value: Any) -> Value:
        """Return a raw value as a scalar."""
        return 0.0 if value == 0 else Exact(self, value)

    def number(self, number: Fraction | int) -> Value:
        """Return a fraction as a scalar; 0 and 1 as plain numbers, so that kernels can drop them."""
        return float(number) if number in (0, 1) else Exact(self, self.constant(Fraction(number)))


class PrimeField(ExactRing):
    """Residues modulo a prime, as plain integers."""

    def __init__(self, prime: int) -> None:
        self.prime = prime

    def constant(self, number: Fraction) -> int:
        return number.numerator * pow(number.denominator, -1, self.prime) % self.prime

    def sum(self, a: int, b: int) -> int:
        return (a + b) % self.prime

    def product(self, a: int, b: int) -> int:
        return a * b % self.prime

    def inverse(self, a: int) -> int:
        if a % self.prime == 0:
            raise ZeroDivisionError("residue zero has no inverse")
        return pow(a, -1, self.prime)


class PrimeVectors(PrimeField):
    """Residues at many points at once: arrays of integers; plain integers where all points agree."""

    def vector(self, residues: list[int]) -> Exact:
        """Return one residue per point as a scalar."""
        return Exact(self, np.array(residues, dtype=object))

    def broadcast(self, number: Value, count: int) -> NDArray[np.object_]:
        """Return the residues of a scalar at all points."""
        result = np.empty(count, dtype=object)
        result[:] = self.raw(number)
        return result

    def wrap(self, value: Any) -> Value:
        """Return residues as a scalar, zero only when they are zero at all points."""
        return Exact(self, value) if np.any(value) else 0.0

    def inverse(self, a: Any) -> Any:
        """Return the inverses of all residues."""
        if isinstance(a, np.ndarray):
            return np.array([super(PrimeVectors, self).inverse(int(entry)) for entry in a], dtype=object)
        return super().inverse(a)


class Angle:
    """A revolute coordinate as kernels see it: cosine, sine, and for screws the angle itself as a free value."""

    __slots__ = ("cosine", "sine", "value")

    def __init__(self, cosine: Value, sine: Value, value: Value = None) -> None:
        self.cosine, self.sine, self.value = cosine, sine, value

    def cos_sin(self) -> tuple[Value, Value]:
        """Cosine and sine, asked for by the joints' kernels."""
        return self.cosine, self.sine

    def __mul__(self, factor: Value) -> Value:
        return self.value * factor

    def __sub__(self, number: Value) -> Value:
        return self.value - number

    def __add__(self, other: Angle) -> Angle:
        c, s, C, S = self.cosine, self.sine, other.cosine, other.sine
        value = None if self.value is None or other.value is None else self.value + other.value
        return Angle(c * C + -(s * S), s * C + c * S, value)

    def times(self, factor: int) -> Angle:
        """The angle multiplied by a whole number."""
        if factor < 0:
            value = None if self.value is None else -self.value
            return Angle(self.cosine, -self.sine, value).times(-factor)
        result = Angle(1.0, 0.0, None if self.value is None else 0.0)
        for _ in range(factor):
            result = result + self
        return result


def as_angle(ring: ExactRing, half_tangent: Value, value: Value = None) -> Angle:
    """Return the angle whose half has this tangent: c = (1 - t²)/(1 + t²), s = 2 t/(1 + t²)."""
    square = half_tangent * half_tangent
    inverse = ring.wrap(ring.inverse(ring.raw(1.0 + square)))
    return Angle((1.0 - square) * inverse, 2.0 * half_tangent * inverse, value)
