"""Surfaces in compiled code: kind and parameters as numbers, or the native code of an expression.

| kind | numbers after it |
|---|---|
| PLANE | normal (3), offset |
| SPHERE | center (3), radius |
| CYLINDER | point (3), axis (3), radius |
| EXPRESSION | none; the code gives value, 3 slopes, 9 second derivatives |
"""

from __future__ import annotations

from setsu.constraints.compiled_vectors import dot, length, minus, scaled
from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere, Surface
from setsu.native.control_flow import inline, run_code

__all__ = ["SURFACE_NUMBERS", "surface_at", "surface_numbers"]

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


@inline
def surface_at(numbers, code, point, out, r):
    """Fill out (13) with C, ∂C/∂r and ∂²C/∂r∂r at r; numbers and code of `surface_numbers`.

    point: scratch (3).
    """
    kind = int(numbers[0])
    if kind == PLANE:
        out[0] = numbers[1] * r[0] + numbers[2] * r[1] + numbers[3] * r[2] - numbers[4]
        for i in range(3):
            out[1 + i] = numbers[1 + i]
        out[4:13] = 0.0
        return
    if kind in (SPHERE, CYLINDER):
        arm = minus(r, (numbers[1], numbers[2], numbers[3]))
        axis, radius = (0.0, 0.0, 0.0), numbers[4]
        if kind == CYLINDER:
            axis, radius = (numbers[4], numbers[5], numbers[6]), numbers[7]
            arm = minus(arm, scaled(axis, dot(axis, arm)))
        distance = length(arm)
        n = scaled(arm, 1.0 / distance)
        out[0] = distance - radius
        for i in range(3):
            out[1 + i] = n[i]
            for j in range(3):
                across = (1.0 if i == j else 0.0) - axis[i] * axis[j]
                out[4 + 3 * i + j] = (across - n[i] * n[j]) / distance
        return
    point[0], point[1], point[2] = r
    run_code(code, point, out)
