"""Surfaces as numbers for compiled code: kind and parameters, or the native code of an expression.

| kind | numbers after it |
|---|---|
| PLANE | normal (3), offset |
| SPHERE | center (3), radius |
| CYLINDER | point (3), axis (3), radius |
| EXPRESSION | none; the code gives value, 3 slopes, 9 second derivatives |
"""

from __future__ import annotations

from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere, Surface

__all__ = ["CYLINDER", "EXPRESSION", "PLANE", "SPHERE", "SURFACE_NUMBERS", "surface_numbers"]

PLANE, SPHERE, CYLINDER, EXPRESSION = 0, 1, 2, 3
SURFACE_NUMBERS = 8


def surface_numbers(surface: Surface) -> tuple[list[float], int]:
    """Return a surface's numbers and the address of its code (0 where none is needed)."""
    match surface:
        case Plane():
            numbers, address = [PLANE, *surface.normal, surface.offset], 0
        case Sphere():
            numbers, address = [SPHERE, *surface.center, surface.radius], 0
        case Cylinder():
            numbers, address = [CYLINDER, *surface.point, *surface.axis, surface.radius], 0
        case ImplicitSurface():
            numbers, address = [EXPRESSION], surface.native_address
        case _:
            raise TypeError(f"no compiled form of {type(surface).__name__}")
    return [*map(float, numbers), *[0.0] * (SURFACE_NUMBERS - len(numbers))], address
