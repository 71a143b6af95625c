"""Value, gradient and second derivatives of a surface at a point, in compiled code: surfaces.py as numbers."""

from __future__ import annotations

from setsu.constraints.compiled_vectors import dot, length, minus, scaled
from setsu.constraints.surface_code import CYLINDER, PLANE, SPHERE
from setsu.native.control_flow import inline, run_code

__all__ = ["surface_at"]


@inline
def surface_at(numbers, code, point, out, r):
    """Fill out (13) with C, ∂C/∂r and ∂²C/∂r∂r at r; numbers (SURFACE_NUMBERS) and code as in surface_code.py.

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
