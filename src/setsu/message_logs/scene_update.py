"""A mechanism and forces as entities of `foxglove.SceneUpdate`, which 3D log viewers draw.

Bodies are entities in their own frames (`frame_locked`), published once: the transforms of /tf move them. A body shows
its visual shapes, else its collision shapes, else a ball at its joint and lines to the joints it carries or to its
centre of mass. Forces are arrows in the frame "world". Mesh files are named, not read.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Body, Mechanism, Shape
from setsu.spatial import quaternion_from_rotation

__all__ = ["FORCE_COLORS", "SCENE_PROPERTIES", "body_entities", "force_entity", "scene_update", "stamp_of", "xyz"]

Floats = NDArray[np.float64]
Message = dict[str, Any]

FORCE_COLORS = {"contact_forces": (0.85, 0.2, 0.15, 1.0), "joint_forces": (0.15, 0.45, 0.85, 0.9)}
_GREY = (0.62, 0.66, 0.7, 1.0)
_LINE_LIST = 2
_MEDIA = {".stl": "model/stl", ".dae": "model/vnd.collada+xml", ".obj": "model/obj", ".glb": "model/gltf-binary"}

_NUMBER: Message = {"type": "number"}
_TEXT: Message = {"type": "string"}
_TRUTH: Message = {"type": "boolean"}
_TIME: Message = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_XYZ: Message = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_POSE: Message = {
    "type": "object",
    "properties": {"position": _XYZ, "orientation": {"type": "object", "properties": dict.fromkeys("xyzw", _NUMBER)}},
}
_COLOR: Message = {"type": "object", "properties": dict.fromkeys("rgba", _NUMBER)}


def _list_of(**properties: Message) -> Message:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_ENTITIES = _list_of(
    timestamp=_TIME,
    frame_id=_TEXT,
    id=_TEXT,
    lifetime=_TIME,
    frame_locked=_TRUTH,
    metadata=_list_of(key=_TEXT, value=_TEXT),
    arrows=_list_of(
        pose=_POSE, shaft_length=_NUMBER, shaft_diameter=_NUMBER, head_length=_NUMBER, head_diameter=_NUMBER,
        color=_COLOR,
    ),
    cubes=_list_of(pose=_POSE, size=_XYZ, color=_COLOR),
    spheres=_list_of(pose=_POSE, size=_XYZ, color=_COLOR),
    cylinders=_list_of(pose=_POSE, size=_XYZ, bottom_scale=_NUMBER, top_scale=_NUMBER, color=_COLOR),
    lines=_list_of(
        type={"type": "integer"}, pose=_POSE, thickness=_NUMBER, scale_invariant=_TRUTH,
        points={"type": "array", "items": _XYZ}, color=_COLOR, colors={"type": "array", "items": _COLOR},
        indices={"type": "array", "items": {"type": "integer"}},
    ),
    triangles={"type": "array"},
    texts={"type": "array"},
    models=_list_of(
        pose=_POSE, scale=_XYZ, color=_COLOR, override_color=_TRUTH, url=_TEXT, media_type=_TEXT,
        data={"type": "string", "contentEncoding": "base64"},
    ),
)  # fmt: skip
SCENE_PROPERTIES: Message = {
    "deletions": _list_of(timestamp=_TIME, type={"type": "integer"}, id=_TEXT),
    "entities": _ENTITIES,
}
"""Of the JSON schema of foxglove.SceneUpdate."""

_KINDS = ("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")


def stamp_of(stamp: int) -> Message:
    """Return nanoseconds as seconds and nanoseconds."""
    return {"sec": stamp // 10**9, "nsec": stamp % 10**9}


def xyz(vector: Floats) -> dict[str, float]:
    """Return a vector as an object."""
    return dict(zip("xyz", vector.tolist(), strict=True))


def scene_update(entities: list[Message]) -> Message:
    """Return the message that draws entities, in place of those with the same id."""
    return {"deletions": [], "entities": entities}


def _entity(stamp: int, frame: str, name: str, locked: bool, **primitives: list[Message]) -> Message:
    head: Message = {"timestamp": stamp_of(stamp), "frame_id": frame, "id": name, "lifetime": stamp_of(0)}
    return {**head, "frame_locked": locked, "metadata": [], **{kind: primitives.get(kind, []) for kind in _KINDS}}


def body_entities(m: Mechanism, size: float, stamp: int = 0) -> list[Message]:
    """Return an entity per body that shows something; size: of the mechanism, m, for what has no shapes."""
    entities = []
    for body in m.bodies:
        frame = m.frame(body.name)
        carrier = m.body_names[frame.body] if frame.body >= 0 else "world"
        parts: dict[str, list[Message]] = {}
        for shape in body.visuals or body.collisions:
            _add_shape(parts, shape, frame.pose.matrix @ shape.pose.matrix)
        if not parts:
            _add_sticks(parts, m, body, frame.pose.matrix, size)
        if parts:
            entities.append(_entity(stamp, carrier, f"body/{body.name}", True, **parts))
    return entities


def _add_shape(parts: dict[str, list[Message]], shape: Shape, T: Floats) -> None:
    color = _color((*shape.color, 1.0)[:4] if shape.color else _GREY)

    def add(kind: str, at: Floats, size: tuple[float, ...], **more: Any) -> None:
        part = {"pose": _pose(at), "size": xyz(np.array(size)), "color": color, **more}
        parts.setdefault(kind, []).append(part)

    if shape.kind == "box":
        add("cubes", T, shape.size)
    elif shape.kind == "sphere":
        add("spheres", T, (2.0 * shape.size[0],) * 3)
    elif shape.kind == "ellipsoid":
        x, y, z = shape.size
        add("spheres", T, (2.0 * x, 2.0 * y, 2.0 * z))
    elif shape.kind in ("cylinder", "capsule"):
        radius, length = shape.size
        add("cylinders", T, (2.0 * radius, 2.0 * radius, length), bottom_scale=1.0, top_scale=1.0)
        for end in (-0.5, 0.5) if shape.kind == "capsule" else ():
            moved = T.copy()
            moved[:3, 3] += end * length * T[:3, 2]
            add("spheres", moved, (2.0 * radius,) * 3)
    else:
        path = PurePath(shape.mesh)
        model = {
            "pose": _pose(T), "scale": xyz(np.array(shape.size)), "color": color, "override_color": bool(shape.color),
            "url": path.as_uri() if path.is_absolute() else shape.mesh,
            "media_type": _MEDIA.get(path.suffix.lower(), ""), "data": "",
        }  # fmt: skip
        parts.setdefault("models", []).append(model)


def _add_sticks(parts: dict[str, list[Message]], m: Mechanism, body: Body, T: Floats, size: float) -> None:
    """A ball at the body's origin and lines to the joints it carries, or to its centre of mass."""
    ends = [child.pose.translation for child in m.bodies if child.parent == body.name]
    for loop in m.loops:
        ends += [
            pose.translation
            for name, pose in ((loop.body_a, loop.pose_a), (loop.body_b, loop.pose_b))
            if name == body.name
        ]
    if not ends and body.mass == 0.0:
        return
    places = [np.array(end, dtype=np.float64) for end in ends or [body.center_of_mass]]
    points = [point for end in places if np.linalg.norm(end) > 1e-6 * size for point in (np.zeros(3), end)]
    ball = {"pose": _pose(T), "size": xyz(np.full(3, 0.05 * size)), "color": _color(_GREY)}
    parts["spheres"] = [ball]
    if points:
        parts["lines"] = [{
            "type": _LINE_LIST, "pose": _pose(T), "thickness": 0.02 * size, "scale_invariant": False,
            "points": [xyz(point) for point in points], "color": _color(_GREY), "colors": [], "indices": [],
        }]  # fmt: skip


def force_entity(
    stamp: int, name: str, points: Floats, forces: Floats, metres_per_newton: float, width: float
) -> Message:
    """Return arrows (n, 3) N at points (n, 3) m of the world; forces that vanish or have no place are left out.

    name: "contact_forces" or "joint_forces". width: of a shaft, m.
    """
    arrows = []
    for point, force in zip(points, forces, strict=True):
        length = float(np.linalg.norm(force)) * metres_per_newton
        if not (length > 0.0 and np.isfinite(point).all()):
            continue
        head = min(4.0 * width, 0.4 * length)
        arrows.append({
            "pose": _pose(_along_x(point, force)),
            "shaft_length": length - head, "shaft_diameter": width,
            "head_length": head, "head_diameter": 2.0 * width,
            "color": _color(FORCE_COLORS[name]),
        })  # fmt: skip
    return _entity(stamp, "world", name, False, arrows=arrows)


def _along_x(point: Floats, direction: Floats) -> Floats:
    """A placement whose x axis points along a direction."""
    x = direction / np.linalg.norm(direction)
    y = np.cross(np.eye(3)[np.argmin(np.abs(x))], x)
    y /= np.linalg.norm(y)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.column_stack([x, y, np.cross(x, y)]), point
    return T


def _pose(T: Floats) -> Message:
    turn = dict(zip("xyzw", quaternion_from_rotation(T[:3, :3]).tolist(), strict=True))
    return {"position": xyz(T[:3, 3]), "orientation": turn}


def _color(color: tuple[float, ...]) -> dict[str, float]:
    return dict(zip("rgba", color, strict=True))
