"""Pieces of surfaces C(r) = 0 near a mechanism, as triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.surfaces import Surface

__all__ = ["surface_mesh"]

Floats = NDArray[np.float64]

CELLS = 28

# Corners of a cube and its cut into six tetrahedra along one diagonal.
_CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
_TETRAHEDRA = ((0, 5, 1, 7), (0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7))


def surface_mesh(surface: Surface, center: Floats, half: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return vertices (V, 3) m and faces (F, 3) of the part of a surface inside a cube around `center`.

    C is evaluated on a grid; in every tetrahedron whose corners differ in sign, a triangle or two cross the edges
    where the linear interpolation of C vanishes. Any surface, one method; empty where the surface is far away.
    """
    ticks = np.linspace(-half, half, CELLS + 1)
    grid = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1) + center
    with np.errstate(all="ignore"):
        values = np.nan_to_num(surface.value(grid), nan=1.0, posinf=1e9, neginf=-1e9)
    base = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3) + _CORNERS
    corner_values = values[base[..., 0], base[..., 1], base[..., 2]]
    crossed = (corner_values.min(axis=1) <= 0.0) & (corner_values.max(axis=1) > 0.0)
    base, corner_values = base[crossed], corner_values[crossed]
    triangles: list[Floats] = []
    for cell, cell_values in zip(base, corner_values, strict=True):
        points = grid[cell[:, 0], cell[:, 1], cell[:, 2]]
        for tetrahedron in _TETRAHEDRA:
            triangles += _cut(points[list(tetrahedron)], cell_values[list(tetrahedron)])
    if not triangles:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    vertices = np.concatenate(triangles)
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _cut(points: Floats, values: Floats) -> list[Floats]:
    """Triangles where the linear function with these values at four points vanishes."""
    inside = [k for k in range(4) if values[k] <= 0.0]
    outside = [k for k in range(4) if values[k] > 0.0]
    if not inside or not outside:
        return []
    crossing = lambda i, j: points[i] + values[i] / (values[i] - values[j]) * (points[j] - points[i])  # noqa: E731
    if len(inside) == 2:
        (i, j), (k, last) = inside, outside
        a, b, c, d = crossing(i, k), crossing(i, last), crossing(j, k), crossing(j, last)
        return [np.array([a, b, d]), np.array([a, d, c])]
    single, others = (inside[0], outside) if len(inside) == 1 else (outside[0], inside)
    return [np.array([crossing(single, other) for other in others])]
