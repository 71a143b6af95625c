"""Checks of single arguments: the value in its plain form, or an InputError that names it."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism.elements import Vector3
from setsu.mechanism.inertia import symmetric_inertia
from setsu.spatial import finite_vector

__all__ = ["checked_name", "finite_number", "require_order", "six_moments", "vector3"]


def checked_name(name: object, what: str) -> str:
    """Return a name that is a text of at least one Unicode character."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{what}: expected a text that is not empty, got {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what}: expected Unicode text, got {name!r} with a lone surrogate") from None
    return name


def finite_number(value: object, what: str, *, minimum: float | None = None) -> float:
    """Return a finite number, at least `minimum` when given."""
    try:
        number = float(value) if not isinstance(value, complex) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected a number, got {value!r}") from None
    if isinstance(value, str) or not math.isfinite(number):
        raise InputError(f"{what}: expected a finite number, got {value!r}")
    if minimum is not None and number < minimum:
        raise InputError(f"{what}: expected at least {minimum:g}, got {number}")
    return number + 0.0  # -0.0 becomes 0.0, so that equal mechanisms have equal digests


def vector3(value: ArrayLike, what: str) -> Vector3:
    """Return three finite numbers."""
    x, y, z = (finite_vector(value, 3, what) + 0.0).tolist()
    return (x, y, z)


def six_moments(inertia: ArrayLike | None, what: str) -> tuple[float, float, float, float, float, float]:
    """Return Ixx, Ixy, Ixz, Iyy, Iyz, Izz of a symmetric 3x3 inertia (kg m²); None is a point mass."""
    if inertia is None:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = symmetric_inertia(inertia, what).tolist()
    return (xx, xy, xz, yy, yz, zz)


def require_order(lower: float, upper: float, what: str) -> None:
    """InputError for limits that are crossed or no numbers."""
    if not lower <= upper:
        raise InputError(f"{what}: expected lower <= upper, got {lower!r} and {upper!r}")
