"""Convex hulls of mesh files, read by the library coal (extra `geometry`) and kept."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Shape

__all__ = ["load_mesh", "mesh_hull", "read_mesh"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def load_mesh(shape: Shape, owner: str) -> Any:
    """Return coal's model of a mesh file, its convex hull made; InputError when that cannot be."""
    mesh = read_mesh(shape, owner)
    try:
        mesh.buildConvexHull(True, "Qt")
    except (RuntimeError, ValueError) as problem:
        raise InputError(f'body "{owner}": the mesh {shape.mesh} has no convex hull ({problem})') from None
    return mesh


def read_mesh(shape: Shape, owner: str) -> Any:
    """Return coal's model of a mesh file; InputError when it cannot be read."""
    try:
        coal: Any = import_module("coal")  # its names are made at run time
    except ImportError:
        raise InputError(
            f'body "{owner}": contacts of the mesh {shape.mesh} need coal: pip install setsu[geometry]'
        ) from None
    try:
        return coal.MeshLoader().load(shape.mesh, np.array(shape.size))
    except (RuntimeError, ValueError) as problem:
        raise InputError(f'body "{owner}": cannot read the mesh {shape.mesh} ({problem})') from None


def mesh_hull(shape: Shape, owner: str) -> tuple[Floats, Ints]:
    """Return corners (n, 3), m, and triangles (k, 3) of the hull of a mesh; InputError when it cannot be read."""
    try:
        changed = os.stat(shape.mesh).st_mtime_ns
    except OSError:
        changed = 0
    return _hull(shape, owner, changed)


@lru_cache(maxsize=256)
def _hull(shape: Shape, owner: str, changed: int) -> tuple[Floats, Ints]:
    hull = load_mesh(shape, owner).convex
    corners = np.array(hull.points(), dtype=float)
    triangles = np.array([[hull.polygons(k)[i] for i in range(3)] for k in range(hull.num_polygons)])
    corners.flags.writeable = triangles.flags.writeable = False
    return corners, triangles
