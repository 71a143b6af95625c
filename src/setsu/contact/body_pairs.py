"""Contacts between bodies of a mechanism by the library coal (extra `geometry`): the reference of pair_detection.py.

Balls around the shapes sort out pairs that are far apart; for the others coal finds the distance and, by
computeContactPatch, the polygon in which they meet: its corners become contacts with one normal and one gap.
Cost: tens of microseconds per near pair, in Python before each step.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact.convex_tables import bluntness
from setsu.contact.ground import MATERIAL, material_value
from setsu.contact.mesh_hulls import load_mesh
from setsu.contact.shape_pairs import MARGIN, POINTS_PER_PAIR, PlacedShape, ShapePairs
from setsu.errors import InputError
from setsu.mechanism import Material

__all__ = ["BodyPairs"]

Floats = NDArray[np.float64]


class BodyPairs:
    """Finds contacts between the bodies of a mechanism."""

    def __init__(self, pairs: ShapePairs) -> None:
        try:
            coal: Any = import_module("coal")  # its names are made at run time
        except ImportError:
            raise InputError('simulate: body_contacts="coal" needs coal: pip install setsu[geometry]') from None
        self._coal, self._pairs = coal, pairs
        found = [_geometry(coal, shape) for shape in pairs.shapes]
        self._geometry, self._reach = [shape for shape, _ in found], [reach for _, reach in found]
        centers = [float(np.linalg.norm(shape.pose[:3, 3])) for shape in pairs.shapes]
        self._farthest = [reach + away for reach, away in zip(self._reach, centers, strict=True)]
        self._request = coal.CollisionRequest()
        self._patch_request = coal.ContactPatchRequest()
        self._patch_request.setPatchTolerance(1e-3)

    def find(self, poses: Floats, velocities: Floats, step: float, out: Any) -> int:
        """Write the contacts at poses (n_bodies, 4, 4) to `out`, records PAIR; return how many.

        velocities: of the bodies at their origins, world axes, (n_bodies, 6), m/s and rad/s. step: s.
        """
        coal, shapes, count = self._coal, self._pairs.shapes, 0
        moving, turning = (np.linalg.norm(velocities[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
        places = [poses[s.body] @ s.pose if s.body >= 0 else s.pose for s in shapes]
        speed = [
            moving[s.body] + turning[s.body] * far if s.body >= 0 else 0.0
            for s, far in zip(shapes, self._farthest, strict=True)
        ]
        for number, (i, j) in enumerate(self._pairs.pairs):
            if self._geometry[i] is None:  # a solid of polygons: contact points meet these
                continue
            A, B = places[i], places[j]
            margin = self._request.security_margin = MARGIN + 2.0 * step * float(speed[i] + speed[j])
            if np.linalg.norm(B[:3, 3] - A[:3, 3]) > self._reach[i] + self._reach[j] + margin:
                continue
            a, TA = self._geometry[i], coal.Transform3s(A[:3, :3], A[:3, 3])
            b, TB = self._geometry[j], coal.Transform3s(B[:3, :3], B[:3, 3])
            result = coal.CollisionResult()
            if not coal.collide(a, TA, b, TB, self._request, result):
                continue
            patches = coal.ContactPatchResult(self._patch_request)
            coal.computeContactPatch(a, TA, b, TB, result, self._patch_request, patches)
            for k in range(patches.numContactPatches()):
                patch = patches.getContactPatch(k)
                normal = np.asarray(patch.getNormal()).ravel()
                for corner in range(min(patch.size(), POINTS_PER_PAIR)):
                    if count == len(out):
                        return count
                    row = out[count]
                    # coal's normal points from the first shape to the second: the second is body a of the contact.
                    row["body_a"], row["body_b"], row["log"] = shapes[j].body, shapes[i].body, self._pairs.log[number]
                    blunt_a, blunt_b = (bluntness(shapes[k].shape, self._reach[k]) for k in (i, j))
                    row["follow"] = blunt_a / (blunt_a + blunt_b)
                    row["shapes"], row["normal"], row["gap"] = number, normal, patch.penetration_depth
                    row["position"] = np.asarray(patch.getPoint(corner)).ravel()
                    for key, value in _combined(shapes[i].material, shapes[j].material).items():
                        row[key] = value
                    count += 1
        return count


def _combined(a: Material | None, b: Material | None) -> dict[str, float]:
    """Material of a contact, as `combine` of detection.py."""
    values = {key: min(material_value(a, key), material_value(b, key)) for key in MATERIAL[:5]}
    compliance = [1.0 / material_value(m, "stiffness") for m in (a, b)]
    total = sum(compliance)
    values["stiffness"], values["damping"], values["dissipation"] = np.inf, 0.0, 0.0
    if total > 0.0:
        values["stiffness"], values["restitution"] = 1.0 / total, 0.0
        for key, power in (("damping", 2), ("dissipation", 1)):
            values[key] = sum(
                material_value(m, key) * (c / total) ** power for m, c in zip((a, b), compliance, strict=True)
            )
    return values


def _geometry(coal: Any, placed: PlacedShape) -> tuple[Any, float]:
    """Return coal's shape, and the radius of a ball around it (m)."""
    if placed.shape is None:
        return None, 0.0
    size = placed.shape.size
    match placed.shape.kind:
        case "box":
            return coal.Box(*size), 0.5 * float(np.linalg.norm(size))
        case "sphere":
            return coal.Sphere(size[0]), size[0]
        case "capsule":
            return coal.Capsule(size[0], size[1]), size[0] + 0.5 * size[1]
        case "cylinder":
            return coal.Cylinder(size[0], size[1]), float(np.hypot(size[0], 0.5 * size[1]))
        case "ellipsoid":
            return coal.Ellipsoid(*size), max(size)
        case _:
            mesh = load_mesh(placed.shape, placed.owner)
            return mesh.convex, float(mesh.aabb_radius + np.linalg.norm(mesh.aabb_center))
