"""Concave meshes as convex parts, by CoACD (extra `geometry`), kept in the cache folder.

| symbol | meaning | unit |
|---|---|---|
| V, V_hull | volume of a mesh and of its convex hull | m³ |
| c | threshold of CoACD: how far a part may be from its hull, in parts of the mesh's size | - |

    V = Σ a·(b x c) / 6 over triangles a b c                                  (1)  of a closed mesh
    concave where V_hull > 1.05 V                                             (2)

Contact takes the convex hull of a mesh. `with_convex_parts` puts parts in the place of a concave one, each with a file
of its own in the cache folder, named by what it was made from: the second time nothing is computed. Source: Wei et al.
2022, "Approximate convex decomposition for 3D meshes with collision-aware concavity and tree search".
Cost: seconds to minutes per mesh.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact.mesh_hulls import mesh_hull, read_mesh
from setsu.errors import InputError
from setsu.mechanism import Mechanism, Shape
from setsu.native.toolchain import cache_folder

__all__ = ["hull_excess", "with_convex_parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# (2): how much larger than a mesh its hull may be.
_CONVEX = 0.05
# Relative to the hull: a mesh of less volume is not closed, or inside out.
_EMPTY = 1e-3


def with_convex_parts(
    mechanism: Mechanism, bodies: Iterable[str] | None = None, *, threshold: float = 0.05
) -> Mechanism:
    """Return the mechanism with convex parts in the place of concave collision meshes, by CoACD.

    Meshes that are convex, or not closed, stay as they are. Parts are kept in the cache folder (SETSU_CACHE_DIR).

    Args:
        bodies: names of the bodies whose meshes count; all of them when not given.
        threshold: how far parts may be from their hulls, 0.01 (many parts) to 1, in parts of the mesh's size.

    Raises:
        InputError: an unknown body, a mesh that cannot be read, CoACD is not installed (pip install setsu[geometry]).

    >>> import setsu
    >>> m = setsu.sample_mechanisms.pendulum()
    >>> setsu.with_convex_parts(m) == m  # it has no meshes
    True
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0.01 <= threshold <= 1.0:
        raise InputError(f"with_convex_parts: threshold: expected a number from 0.01 to 1, got {threshold!r:.80}")
    names = {body.name for body in mechanism.bodies} if bodies is None else set(bodies)
    for name in names:
        mechanism.frame(name)
    changed = [
        dataclasses.replace(
            body,
            collisions=tuple(part for shape in body.collisions for part in _parts(shape, body.name, float(threshold))),
        )
        if body.name in names
        else body
        for body in mechanism.bodies
    ]
    return dataclasses.replace(mechanism, bodies=tuple(changed))


def hull_excess(shape: Shape, owner: str) -> float:
    """How much larger than a mesh its convex hull is, V_hull / V - 1; 0 where the mesh is not closed."""
    return _excess(shape, owner, _changed(shape))


def _changed(shape: Shape) -> int:
    try:
        return os.stat(shape.mesh).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=256)
def _excess(shape: Shape, owner: str, changed: int) -> float:
    corners, triangles = _triangles(shape, owner)
    hull = abs(_volume(*_outward(*mesh_hull(shape, owner))))
    own = abs(_volume(corners, triangles))
    return hull / own - 1.0 if _is_closed(corners, triangles) and own > _EMPTY * hull else 0.0


def _triangles(shape: Shape, owner: str) -> tuple[Floats, Ints]:
    """Corners (n, 3), m, and triangles (k, 3) of a mesh file, equal corners joined."""
    mesh = read_mesh(shape, owner)
    corners = np.array(mesh.vertices(), dtype=float).reshape(-1, 3)
    indices = [mesh.tri_indices(k) for k in range(mesh.num_tris)]
    triangles = np.array([[t[0], t[1], t[2]] for t in indices], dtype=np.int64)
    joined, numbers = np.unique(corners, axis=0, return_inverse=True)
    triangles = numbers.ravel()[triangles]
    a, b, c = triangles.T
    return joined, triangles[(a != b) & (b != c) & (c != a)]


def _is_closed(corners: Floats, triangles: Ints) -> bool:
    """Whether every edge is run through once in each direction."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forward = edges[:, 0] * len(corners) + edges[:, 1]
    backward = edges[:, 1] * len(corners) + edges[:, 0]
    return len(np.unique(forward)) == len(forward) and bool(np.array_equal(np.sort(forward), np.sort(backward)))


def _volume(corners: Floats, triangles: Ints) -> float:
    """(1)."""
    a, b, c = (corners[triangles[:, k]] - corners.mean(axis=0) for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def _outward(corners: Floats, triangles: Ints) -> tuple[Floats, Ints]:
    """The triangles of a hull, all seen counter-clockwise from outside."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - corners.mean(axis=0)) < 0.0
    return corners, np.where(inwards[:, None], triangles[:, ::-1], triangles)


def _parts(shape: Shape, owner: str, threshold: float) -> list[Shape]:
    if shape.kind != "mesh" or hull_excess(shape, owner) <= _CONVEX:
        return [shape]
    try:
        coacd: Any = import_module("coacd")
    except ImportError:
        raise InputError(
            f'with_convex_parts: body "{owner}": convex parts of {shape.mesh} need CoACD: pip install setsu[geometry]'
        ) from None
    corners, triangles = _triangles(shape, owner)
    text = f"coacd {metadata.version('coacd')} {threshold!r} ".encode()
    key = hashlib.sha256(text + corners.tobytes() + triangles.tobytes()).hexdigest()[:24]
    folder = cache_folder() / "convex_parts"
    made = folder / f"{key}.done"
    if not made.exists():
        coacd.set_log_level("error")
        parts = coacd.run_coacd(coacd.Mesh(corners, triangles), threshold=threshold, seed=0)
        folder.mkdir(parents=True, exist_ok=True)
        for number, (points, faces) in enumerate(parts):
            _write(folder / f"{key}_{number}.obj", np.asarray(points), np.asarray(faces))
        made.write_text(str(len(parts)))
    # The scale is in the corners of the parts.
    return [
        dataclasses.replace(shape, size=(1.0, 1.0, 1.0), mesh=str(folder / f"{key}_{number}.obj"))
        for number in range(int(made.read_text()))
    ]


def _write(path: Path, corners: Floats, triangles: Ints) -> None:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in corners.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)
