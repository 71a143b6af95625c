"""Contacts between bodies of a mechanism, from their collision shapes, by the library coal (extra `geometry`).

Every pair of shapes on two bodies that no joint ties together is looked at. Balls around the shapes sort out pairs that
are far apart; for the others coal finds the distance and, by computeContactPatch, the polygon in which they meet: its
corners become contacts with one normal and one gap. Shapes further apart than the margin do not count.
Cost: tens of microseconds per near pair, in Python before each step.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Material, Mechanism, Shape

__all__ = ["BodyPairs"]

Floats = NDArray[np.float64]

# m: shapes count from this distance on, plus what they can travel towards each other in two steps.
_MARGIN = 1e-3
_POINTS_PER_PAIR = 8


@dataclass(frozen=True)
class _Placed:
    """A shape on a moving body: pose in the body frame, coal's geometry, radius of a ball around it (m)."""

    body: int
    pose: Floats
    geometry: Any
    reach: float
    material: Material

    @property
    def farthest(self) -> float:
        """Distance of its farthest point from the body's origin, at most (m)."""
        return self.reach + float(np.linalg.norm(self.pose[:3, 3]))


class BodyPairs:
    """Finds contacts between the bodies of a mechanism.

    room: largest number of contacts it will report.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        try:
            coal: Any = import_module("coal")  # its names are made at run time
        except ImportError:
            raise InputError("simulate: contacts between bodies need coal: pip install setsu[geometry]") from None
        self._coal = coal
        m = mechanism
        shapes = [
            _placed(m, coal, index, shape) for index in range(len(m.bodies)) for shape in m.bodies[index].collisions
        ]
        tied = {tuple(sorted((m.frame(b.name).body, m.frame(b.parent).body))) for b in m.moving}
        self._pairs = [
            (a, b)
            for a, b in itertools.combinations([shape for shape in shapes if shape.body >= 0], 2)
            if a.body != b.body and tuple(sorted((a.body, b.body))) not in tied
        ]
        self.room = _POINTS_PER_PAIR * len(self._pairs)
        self._request = coal.CollisionRequest()
        self._patch_request = coal.ContactPatchRequest()
        self._patch_request.setPatchTolerance(1e-3)

    def find(self, poses: Floats, velocities: Floats, step: float, out: Any) -> int:
        """Write the contacts at poses (n_bodies, 4, 4) to `out`, records PAIR; return how many.

        velocities: of the bodies at their origins, world axes, (n_bodies, 6), m/s and rad/s. step: s.
        """
        coal, count = self._coal, 0
        moving, turning = (np.linalg.norm(velocities[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
        places: dict[int, Floats] = {}
        for a, b in self._pairs:
            for shape in (a, b):
                if id(shape) not in places:
                    places[id(shape)] = poses[shape.body] @ shape.pose
            A, B = places[id(a)], places[id(b)]
            speed = sum(moving[shape.body] + turning[shape.body] * shape.farthest for shape in (a, b))
            margin = self._request.security_margin = _MARGIN + 2.0 * step * float(speed)
            if np.linalg.norm(B[:3, 3] - A[:3, 3]) > a.reach + b.reach + margin:
                continue
            TA, TB = coal.Transform3s(A[:3, :3], A[:3, 3]), coal.Transform3s(B[:3, :3], B[:3, 3])
            result = coal.CollisionResult()
            if not coal.collide(a.geometry, TA, b.geometry, TB, self._request, result):
                continue
            patches = coal.ContactPatchResult(self._patch_request)
            coal.computeContactPatch(a.geometry, TA, b.geometry, TB, result, self._patch_request, patches)
            for k in range(patches.numContactPatches()):
                patch = patches.getContactPatch(k)
                normal = np.asarray(patch.getNormal()).ravel()
                for corner in range(min(patch.size(), _POINTS_PER_PAIR)):
                    if count == len(out):
                        return count
                    row = out[count]
                    # coal's normal points from the first shape to the second: the second is body a of the contact.
                    row["body_a"], row["body_b"], row["normal"] = b.body, a.body, normal
                    row["gap"], row["position"] = patch.penetration_depth, np.asarray(patch.getPoint(corner)).ravel()
                    for key in ("static_friction", "kinetic_friction", "restitution"):
                        row[key] = min(getattr(a.material, key), getattr(b.material, key))
                    count += 1
        return count


def _placed(m: Mechanism, coal: Any, index: int, shape: Shape) -> _Placed:
    body = m.bodies[index]
    frame, size = m.frame(body.name), shape.size
    match shape.kind:
        case "box":
            geometry, reach = coal.Box(*size), 0.5 * float(np.linalg.norm(size))
        case "sphere":
            geometry, reach = coal.Sphere(size[0]), size[0]
        case "capsule":
            geometry, reach = coal.Capsule(size[0], size[1]), size[0] + 0.5 * size[1]
        case "cylinder":
            geometry, reach = coal.Cylinder(size[0], size[1]), float(np.hypot(size[0], 0.5 * size[1]))
        case _:
            try:
                mesh = coal.MeshLoader().load(shape.mesh, np.array(size))
            except (RuntimeError, ValueError) as problem:
                raise InputError(f'body "{body.name}": cannot read the mesh {shape.mesh} ({problem})') from None
            mesh.buildConvexHull(True, "Qt")
            geometry, reach = mesh.convex, float(mesh.aabb_radius + np.linalg.norm(mesh.aabb_center))
    own = [point.material for point in m.contact_points if point.body == body.name]
    return _Placed(frame.body, frame.pose.matrix @ shape.pose.matrix, geometry, reach, own[0] if own else Material())
