"""What a mechanism looks like: triangle meshes per moving body, from its shapes, or from joints and inertias.

A body with visual shapes shows them; else its collision shapes; else what its numbers say: a capsule from its joint to
each joint it carries, and for the last body of a chain a capsule to its centre of mass and a box with its inertia.
Mesh files are opened only inside the folders given, after following links, and alone: nothing they refer to is read.
"""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.mechanism import Body, Free, Mechanism, Shape
from setsu.spatial import axis_to_z_rotation
from setsu.studio.colors import Color, joint_color, paler

__all__ = [
    "BodyMesh", "Look", "arrows_mesh", "ellipsoid_of", "is_floating", "look_of", "lowest_point", "size_of", "standing",
]  # fmt: skip

Floats = NDArray[np.float64]

LARGEST_MESH_FILE = 64 * 2**20
MOST_TRIANGLES = 300_000
"""Of all meshes together: more is simplified, since browsers and the page that is exported have to carry them."""

FEWEST_TRIANGLES = 200
"""Of one mesh that is simplified: fewer do not show its form."""

MESH_ENDINGS = (".stl", ".obj", ".dae", ".ply")


@dataclass(frozen=True)
class BodyMesh:
    """Triangles of one colour on a moving body (-1: the world), in its frame: vertices (V, 3) m, faces (F, 3)."""

    body: int
    vertices: Floats
    faces: NDArray[np.int64]
    color: Color
    opacity: float = 1.0


@dataclass(frozen=True)
class Look:
    """All meshes of a mechanism, and what could not be shown, in words."""

    meshes: tuple[BodyMesh, ...]
    remarks: tuple[str, ...] = ()


def is_floating(mechanism: Mechanism) -> bool:
    """Whether all that moves hangs on one body that floats: a robot without a base."""
    m = mechanism
    on_world = [body for body in m.moving if m.frame(body.name).body >= 0 and _carrier(m, body.parent) < 0]
    return len(on_world) == 1 and isinstance(on_world[0].joint, Free)


def _carrier(m: Mechanism, name: str) -> int:
    return -1 if name == "world" else m.frame(name).body


def lowest_point(mechanism: Mechanism, look: Look, q: Floats) -> float:
    """Return the height, m, of the lowest point that can touch the ground, or is drawn where none can."""
    m, poses = mechanism, body_poses(mechanism, q)
    heights = [] if m.contact_points else [
        float((mesh.vertices @ poses[mesh.body, 2, :3]).min() + poses[mesh.body, 2, 3])
        for mesh in look.meshes if mesh.body >= 0 and len(mesh.vertices)
    ]  # fmt: skip
    for point in m.contact_points:
        frame = m.frame(point.body)
        if frame.body >= 0:
            place = poses[frame.body] @ frame.pose.matrix @ np.array([*point.position, 1.0])
            heights.append(float(place[2]) - point.radius)
    return min(heights, default=0.0)


def standing(mechanism: Mechanism, look: Look, q: Floats) -> Floats:
    """Return q with a robot that floats lifted or lowered until its lowest point is on the plane z = 0."""
    if not is_floating(mechanism):
        return q
    root = next(k for k, body in enumerate(mechanism.moving) if isinstance(body.joint, Free))
    first = mechanism.q_slices[root].start
    # Where the three translations lead in the world: the joint may stand turned in it.
    moved = np.tile(q, (4, 1))
    moved[1:, first : first + 3] += np.eye(3)
    places = body_poses(mechanism, moved)[:, root, :3, 3]
    up = np.linalg.solve((places[1:] - places[0]).T, (0.0, 0.0, 1.0))
    result = q.copy()
    result[first : first + 3] -= lowest_point(mechanism, look, q) * up
    return result


def size_of(mechanism: Mechanism, q: Floats | None = None) -> tuple[Floats, float]:
    """Return centre (3,) and radius (m) of a ball around a mechanism at q, or at rest.

    Joints, centres of mass and plain shapes count, and the world's origin unless the mechanism floats.
    """
    poses = body_poses(mechanism, mechanism.neutral() if q is None else q)
    # What floats is looked at where it is; what is fixed to the world is seen with it.
    floats = is_floating(mechanism)
    points = [] if floats else [np.zeros(3)]
    for name, frame in mechanism.frames.items():
        if frame.body < 0 and floats:
            continue
        pose = (poses[frame.body] if frame.body >= 0 else np.eye(4)) @ frame.pose.matrix
        points.append(pose[:3, 3])
        body = next((body for body in mechanism.bodies if body.name == name), None)
        if body is not None and body.mass > 0.0:
            points.append(pose[:3, :3] @ np.array(body.center_of_mass) + pose[:3, 3])
        for shape in () if body is None else body.visuals or body.collisions:
            # How far a mesh reaches is only known once its file is read.
            if shape.kind != "mesh":
                middle, reach = (pose @ shape.pose.matrix)[:3, 3], 0.5 * max(shape.size)
                points += [middle + reach * axis for axis in (*np.eye(3), *-np.eye(3))]
    cloud = np.array(points)
    center = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
    radius = float(np.linalg.norm(cloud - center, axis=1).max())
    return center, min(max(radius, 0.05), 1e4)


def look_of(mechanism: Mechanism, mesh_folders: Sequence[Path] = ()) -> Look:
    """Return the meshes of every body; mesh files are read only inside `mesh_folders`."""
    remarks: dict[str, None] = {}
    reader = _MeshReader(tuple(mesh_folders), remarks)
    _, radius = size_of(mechanism)
    parts: dict[tuple[int, Color, float], list[Any]] = {}
    for body in mechanism.bodies:
        frame = mechanism.frame(body.name)
        shapes = body.visuals or body.collisions
        drawn = [(solid, shape) for shape in shapes if (solid := reader.solid(shape)) is not None]
        own = paler(joint_color(frame.body)) if frame.body >= 0 else (176, 180, 186)
        if not drawn:
            # Fixed parts are drawn as part of what carries them, when they have weight.
            drawn = [(solid, None) for solid in _from_numbers(mechanism, body, radius)]
        for solid, shape in drawn:
            color, opacity = _paint(shape, own)
            solid.apply_transform(frame.pose.matrix)
            parts.setdefault((frame.body, color, opacity), []).append(solid)
    meshes = []
    for (index, color, opacity), solids in parts.items():
        whole: Any = trimesh.util.concatenate(solids)
        meshes.append(BodyMesh(index, np.asarray(whole.vertices), np.asarray(whole.faces), color, opacity))
    return Look(tuple(_simplified(meshes, remarks)), tuple(remarks))


def _simplified(meshes: list[BodyMesh], remarks: dict[str, None]) -> list[BodyMesh]:
    """The meshes with at most about MOST_TRIANGLES together: quadric error decimation, each by the same part."""
    total = sum(len(mesh.faces) for mesh in meshes)
    if total <= MOST_TRIANGLES:
        return meshes
    import fast_simplification

    result = []
    for mesh in meshes:
        aim = max(round(len(mesh.faces) * MOST_TRIANGLES / total), FEWEST_TRIANGLES)
        if len(mesh.faces) > aim:
            solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
            # Files such as STL give every triangle corners of its own; without neighbours nothing can be merged.
            solid.merge_vertices()
            made = fast_simplification.simplify(
                np.asarray(solid.vertices, dtype=np.float64), np.asarray(solid.faces, dtype=np.int32), target_count=aim
            )
            mesh = dataclasses.replace(mesh, vertices=np.asarray(made[0]), faces=np.asarray(made[1], dtype=np.int64))
        result.append(mesh)
    shown = sum(len(mesh.faces) for mesh in result)
    remarks[f"shown with {shown} of {total} triangles: meshes were simplified for the display"] = None
    return result


def arrows_mesh(ends: Floats, shaft: float, head: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return vertices and faces of arrows from ends[:, 0] to ends[:, 1], (n, 2, 3) m; radii of shaft and head, m."""
    solids = []
    for start, end in ends:
        length = float(np.linalg.norm(end - start))
        tip = min(3.3 * head, length)
        cone = trimesh.creation.cone(radius=head, height=tip, sections=12)
        cone.apply_translation((0.0, 0.0, length - tip))
        rod = trimesh.creation.cylinder(radius=shaft, segment=[[0.0, 0.0, 0.0], [0.0, 0.0, length - tip]], sections=8)
        pose = np.eye(4)
        x, y, z = ((end - start) / length).tolist()
        pose[:3, :3], pose[:3, 3] = axis_to_z_rotation((x, y, z)), start
        for solid in (cone, rod):
            solid.apply_transform(pose)
            solids.append(solid)
    whole: Any = trimesh.util.concatenate(solids)
    return np.asarray(whole.vertices), np.asarray(whole.faces)


def ellipsoid_of(body: Body) -> tuple[Floats, Floats]:
    """Return half axes (3,) m and directions (3, 3) of the uniform ellipsoid with a body's mass and inertia.

    a_k² = 5/(2m) (I_i + I_j - I_k) for the principal moments I; what no real body has (a_k² < 0) becomes flat.
    """
    moments, axes = np.linalg.eigh(body.inertia_matrix)
    squares = 2.5 / max(body.mass, 1e-12) * (moments.sum() - 2.0 * moments)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    half = np.sqrt(np.clip(squares, 0.0, None))
    return np.maximum(half, 1e-3 * max(half.max(), 1e-3)), axes


def _from_numbers(m: Mechanism, body: Body, radius: float) -> list[Any]:
    """Capsules from the body's origin to the joints it carries, or to its end, and a box for an end with inertia."""
    children = [np.array(child.pose.translation) for child in m.bodies if child.parent == body.name]
    thick = min(max(_thickness(body), 0.018 * radius), 0.06 * radius)
    ends = [end for end in children if np.linalg.norm(end) > 1e-6 * radius]
    ends += [
        np.array(place) for loop in m.loops for name, place in
        ((loop.body_a, loop.pose_a.translation), (loop.body_b, loop.pose_b.translation))
        if name == body.name and np.linalg.norm(place) > 1e-6 * radius
    ]  # fmt: skip
    center = np.array(body.center_of_mass)
    solids = [trimesh.creation.icosphere(subdivisions=1, radius=1.35 * thick)]
    if body.mass == 0.0 and not ends:
        return []
    if not ends and body.mass > 0.0:
        if np.linalg.norm(center) > 1e-6 * radius:
            ends.append(center)
        half, axes = ellipsoid_of(body)
        # The box of equal inertia: its half lengths are those of the ellipsoid times sqrt(3/5).
        box = _box(np.clip(2.0 * np.sqrt(0.6) * half, thick, 0.8 * radius))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = axes, center
        box.apply_transform(pose)
        solids.append(box)
    return [*solids, *(_capsule(np.zeros(3), end, thick) for end in ends)]


def _thickness(body: Body) -> float:
    if body.mass <= 0.0:
        return 0.0
    half, _ = ellipsoid_of(body)
    return 0.5 * float(np.min(half))


def _box(edges: Any) -> Any:
    """A box with edges (m); each side has corners of its own, so that it is shaded as a plane."""
    solid = trimesh.creation.box(extents=edges)
    solid.unmerge_vertices()
    return solid


def _capsule(start: Floats, end: Floats, radius: float) -> Any:
    along = end - start
    length = float(np.linalg.norm(along))
    solid = trimesh.creation.capsule(height=length, radius=radius, count=(8, 8))
    # trimesh's capsule runs from the origin along z.
    solid.apply_translation((0.0, 0.0, -float(solid.bounds[0][2]) - radius))
    pose = np.eye(4)
    x, y, z = (along / length).tolist()
    pose[:3, :3] = axis_to_z_rotation((x, y, z))
    pose[:3, 3] = start
    solid.apply_transform(pose)
    return solid


def _paint(shape: Shape | None, own: Color) -> tuple[Color, float]:
    if shape is None or not shape.color:
        return own, 1.0
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in shape.color[:3])
    opacity = min(max(shape.color[3], 0.05), 1.0) if len(shape.color) == 4 else 1.0
    return (red, green, blue), opacity


class _MeshReader:
    """Makes solids of shapes; every mesh file is read once and only where it may be."""

    def __init__(self, folders: tuple[Path, ...], remarks: dict[str, None]) -> None:
        self._folders = tuple(Path(os.path.realpath(folder)) for folder in folders)
        self._remarks = remarks
        self._known: dict[str, Any] = {}

    def solid(self, shape: Shape) -> Any:
        """Return the shape as a trimesh in the frame of its body, or None when it cannot be shown."""
        make = trimesh.creation
        if shape.kind == "box":
            solid = _box(shape.size)
        elif shape.kind == "sphere":
            solid = make.icosphere(subdivisions=2, radius=shape.size[0])
        elif shape.kind == "ellipsoid":
            solid = make.icosphere(subdivisions=3)
            solid.apply_scale(shape.size)
        elif shape.kind == "cylinder":
            solid = make.cylinder(radius=shape.size[0], height=shape.size[1], sections=24)
        elif shape.kind == "capsule":
            solid = make.capsule(height=shape.size[1], radius=shape.size[0], count=(16, 16))
            solid.apply_translation((0.0, 0.0, -0.5 * float(solid.bounds[0][2] + solid.bounds[1][2])))
        else:
            solid = self._mesh(shape)
        if solid is not None:
            solid.apply_transform(shape.pose.matrix)
        return solid

    def _mesh(self, shape: Shape) -> Any:
        name = shape.mesh
        if name not in self._known:
            self._known[name] = self._read(name)
        mesh = self._known[name]
        if mesh is None:
            return None
        copy = mesh.copy()
        copy.apply_transform(np.diag([*shape.size, 1.0]))
        return copy

    def _read(self, name: str) -> Any:
        shown = os.path.basename(name)[:60]
        path = Path(os.path.realpath(name))
        if not self._folders:
            self._remarks["meshes are not read here: there is no model folder to read them from"] = None
            return None
        if not any(path.is_relative_to(folder) for folder in self._folders):
            self._remarks[f"{shown}: not read, it lies outside the model's folder and packages"] = None
            return None
        if path.suffix.lower() not in MESH_ENDINGS:
            self._remarks[f"{shown}: not read, expected a mesh that ends in {', '.join(MESH_ENDINGS)}"] = None
            return None
        try:
            if path.stat().st_size > LARGEST_MESH_FILE:
                self._remarks[f"{shown}: not read, larger than {LARGEST_MESH_FILE // 2**20} MB"] = None
                return None
            data = path.read_bytes()
            # From memory and without a resolver: materials and textures a mesh names are not looked for.
            mesh = trimesh.load(io.BytesIO(data), file_type=path.suffix.lower()[1:], force="mesh")
            vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces)  # pyright: ignore
        except FileNotFoundError:
            self._remarks[f"{shown}: there is no such mesh file"] = None
            return None
        except Exception as problem:  # mesh readers fail in many ways on broken files; the body is drawn without
            self._remarks[f"{shown}: cannot be read ({str(problem)[:80] or type(problem).__name__})"] = None
            return None
        if len(faces) == 0 or not np.isfinite(vertices).all():
            self._remarks[f"{shown}: holds no triangles with finite coordinates"] = None
            return None
        return trimesh.Trimesh(vertices, faces, process=False)
