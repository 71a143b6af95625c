"""Two collision shapes in the world, as compiled code sees them, as coal does, and in closed form."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import setsu
from setsu.contact.convex_tables import make_shapes
from setsu.contact.pair_detection import look_at
from setsu.contact.shape_pairs import shape_pairs
from setsu.native.workspace import Workspace

# Its names are made at run time.
coal: Any = import_module("coal")

Placement = tuple[np.ndarray, np.ndarray]
HOME: Placement = (np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class Meeting:
    """Where two shapes meet: points (n, 3) and their gaps, the normal from the first to the second, the gap."""

    points: np.ndarray
    gaps: np.ndarray
    normal: np.ndarray
    gap: float


class TwoShapes:
    """Two shapes on free bodies."""

    def __init__(self, first: setsu.Shape, second: setsu.Shape) -> None:
        b = setsu.MechanismBuilder("two")
        for k, shape in enumerate((first, second)):
            b.add_body(
                f"b{k}", joint=setsu.Free(name=f"f{k}"), mass=1.0, inertia=np.eye(3), collisions=[shape]
            )  # fmt: skip
        self.shapes = (first, second)
        self._tables = make_shapes(shape_pairs(b.build()), 2)
        self._workspace: Any = Workspace(self._tables)
        self.size = float(self._tables.shapes["reach"].sum())

    def meet(self, A: Placement, B: Placement, margin: float = 10.0) -> Meeting:
        """What compiled code finds."""
        for row, (R, p) in zip(self._tables.shapes, (A, B), strict=True):
            row["R"], row["place"] = R @ row["rotation"], R @ row["center"] + p
        out = np.full(4, np.nan)
        count = look_at(self._workspace, 0, 1, margin, out)
        found = self._tables.found[:count]
        points = found["position"] + self._tables.shapes[0]["place"]
        return Meeting(points, found["gap"].copy(), out[:3], float(out[3]))

    def separation(self, A: Placement, B: Placement, n: np.ndarray) -> float:
        """How far the second lies beyond the first along n: at most the signed distance, which is its maximum."""
        return -support(self.shapes[1], *B, -n) - support(self.shapes[0], *A, n)

    def by_coal(self, A: Placement, B: Placement) -> tuple[float, np.ndarray]:
        """Signed distance and normal of coal."""
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.enable_signed_distance = True
        request.gjk_tolerance = request.epa_tolerance = 1e-10
        request.gjk_max_iterations = request.epa_max_iterations = 500
        a, b = (coal_shape(shape) for shape in self.shapes)
        distance = coal.distance(a, coal.Transform3s(*A), b, coal.Transform3s(*B), request, result)
        return float(distance), np.asarray(result.normal).ravel()


def support(shape: setsu.Shape, R: np.ndarray, p: np.ndarray, n: np.ndarray) -> float:
    """Largest n·x over a shape."""
    x, size = R.T @ n, shape.size
    match shape.kind:
        case "box":
            reach = 0.5 * float(np.abs(x) @ size)
        case "sphere":
            reach = size[0] * float(np.linalg.norm(n))
        case "capsule":
            reach = size[0] * float(np.linalg.norm(n)) + 0.5 * size[1] * abs(x[2])
        case "cylinder":
            reach = size[0] * float(np.hypot(x[0], x[1])) + 0.5 * size[1] * abs(x[2])
        case "ellipsoid":
            reach = float(np.linalg.norm(np.array(size) * x))
        case _:
            reach = float(np.max(np.array(coal_shape(shape).points()) @ x))
    return reach + float(n @ p)


def outside(shape: setsu.Shape, R: np.ndarray, p: np.ndarray, x: np.ndarray) -> float:
    """Signed distance of a point from a shape (not a mesh), m; of an ellipsoid near its surface only."""
    x, size = R.T @ (x - p), shape.size
    match shape.kind:
        case "sphere":
            return float(np.linalg.norm(x)) - size[0]
        case "capsule":
            x[2] -= np.clip(x[2], -0.5 * size[1], 0.5 * size[1])
            return float(np.linalg.norm(x)) - size[0]
        case "cylinder":
            beyond = np.array([np.hypot(x[0], x[1]) - size[0], abs(x[2]) - 0.5 * size[1]])
        case "ellipsoid":
            scaled = x / np.array(size)
            long = float(np.linalg.norm(scaled))
            return (long - 1.0) * long / float(np.linalg.norm(scaled / np.array(size)))
        case _:
            beyond = np.abs(x) - 0.5 * np.array(size)
    return float(np.linalg.norm(np.maximum(beyond, 0.0)) + min(0.0, beyond.max()))


def coal_shape(shape: setsu.Shape) -> Any:
    """The same shape in coal."""
    if shape.kind == "mesh":
        mesh = coal.MeshLoader().load(shape.mesh, np.array(shape.size))
        mesh.buildConvexHull(True, "Qt")
        return mesh.convex
    kinds = {
        "box": coal.Box, "sphere": coal.Sphere, "capsule": coal.Capsule, "cylinder": coal.Cylinder,
        "ellipsoid": coal.Ellipsoid,
    }  # fmt: skip
    return kinds[shape.kind](*shape.size)


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Any rotation, all equally likely."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.sign(np.linalg.det(Q))


def turn(axis: int, angle: float) -> np.ndarray:
    """Rotation about a coordinate axis."""
    u, v, R = (axis + 1) % 3, (axis + 2) % 3, np.eye(3)
    R[u, u] = R[v, v] = np.cos(angle)
    R[u, v], R[v, u] = -np.sin(angle), np.sin(angle)
    return R


def write_box_mesh(path: Path, size: tuple[float, float, float]) -> None:
    """A box of twelve triangles, as STL."""
    corners = np.array(list(itertools.product(*[(-0.5 * edge, 0.5 * edge) for edge in size])))
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corners[list(part)] for a, b, c, d in quads for part in ((a, b, c), (a, c, d))]
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles)
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + rows)
