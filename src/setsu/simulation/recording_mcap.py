"""A recording as an MCAP log, for ROS 2 tools, log viewers and any MCAP library.

| topic | message | what |
|---|---|---|
| /joint_states | sensor_msgs/msg/JointState (CDR) | joints with one coordinate |
| /tf | foxglove.FrameTransforms | a transform per body from "world" |
| /scene | foxglove.SceneUpdate | bodies once, then arrows of contact forces and of forces in joints |
| /joint_wrenches, /contacts, /energy | setsu.* with their JSON schemas | all components |

Log times are nanoseconds from the start of the run. The longest arrow of a run is a quarter of the mechanism's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.message_logs.joint_state import JointState
from setsu.message_logs.mcap_log import LogWriter
from setsu.message_logs.scene_update import SCENE_PROPERTIES, body_entities, force_entity, scene_update, stamp_of, xyz
from setsu.simulation.recording import Recording
from setsu.spatial import quaternion_from_rotation

__all__ = ["mcap_bytes"]

Floats = NDArray[np.float64]

_NUMBER = {"type": "number"}
_NUMBERS = {"type": "array", "items": _NUMBER}
_NAMES = {"type": "array", "items": {"type": "string"}}
_XYZ = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_STAMP = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_WRENCHES = {"name": _NAMES, "force": {"type": "array", "items": _XYZ}, "torque": {"type": "array", "items": _XYZ}}
_SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    "/tf": (
        "foxglove.FrameTransforms",
        {
            "transforms": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "timestamp": _STAMP,
                        "parent_frame_id": {"type": "string"},
                        "child_frame_id": {"type": "string"},
                        "translation": _XYZ,
                        "rotation": {"type": "object", "properties": dict.fromkeys("xyzw", _NUMBER)},
                    },
                },
            }
        },
    ),
    "/scene": ("foxglove.SceneUpdate", SCENE_PROPERTIES),
    "/joint_wrenches": ("setsu.JointWrenches", {"stamp": _STAMP, **_WRENCHES}),
    "/contacts": ("setsu.ContactForces", {"stamp": _STAMP, "name": _NAMES, "normal_force": _NUMBERS}),
    "/energy": ("setsu.Energy", {"stamp": _STAMP, "energy": _NUMBER, "constraint_error": _NUMBER}),
}
_ARROW = 0.25
_SHAFT = 0.01


def mcap_bytes(recording: Recording, mechanism: Mechanism | None = None) -> bytes:
    """Return the content of an MCAP file of one run; needs the package `mcap` (extra `data`).

    mechanism: that of the recording when not given.
    """
    m = mechanism if mechanism is not None else recording.mechanism
    if m is None:
        raise InputError("Recording.save: an MCAP log needs the mechanism, and this recording was saved without one")
    if recording.q.ndim != 2:
        raise InputError("Recording.save: an MCAP log holds one run: expected recording[k], got many runs")
    log = LogWriter()
    log.add_joint_states()
    for topic, (name, properties) in _SCHEMAS.items():
        log.add_json_channel(topic, name, properties)
    poses = body_poses(m, recording.q)
    scene = _Scene(m, recording, poses)
    single = [k for k, body in enumerate(m.moving) if body.joint.nq == 1]
    of_q, of_v = ([part[k].start for k in single] for part in (m.q_slices, m.v_slices))
    names = tuple(m.joint_names[k] for k in single)
    for index, time in enumerate(recording.time.tolist()):
        stamp = round(time * 1e9)
        state = JointState(
            stamp, names, recording.q[index, of_q], recording.v[index, of_v], recording.torque[index, of_v]
        )
        log.write("/joint_states", stamp, state)
        for topic, message in _messages(m, recording, index, poses[index], stamp).items():
            log.write(topic, stamp, message)
        log.write("/scene", stamp, scene.message(index, stamp))
    return log.content()


def _messages(m: Mechanism, rec: Recording, index: int, poses: Floats, stamp: int) -> dict[str, dict[str, Any]]:
    when = stamp_of(stamp)
    transforms = [
        {
            "timestamp": when,
            "parent_frame_id": "world",
            "child_frame_id": name,
            "translation": xyz(pose[:3, 3]),
            "rotation": dict(zip("xyzw", quaternion_from_rotation(pose[:3, :3]).tolist(), strict=True)),
        }
        for name, pose in zip(m.body_names, poses, strict=True)
    ]
    messages: dict[str, dict[str, Any]] = {
        "/tf": {"transforms": transforms},
        "/joint_wrenches": {
            "stamp": when,
            "name": list(rec.joint_names),
            "force": [xyz(wrench[:3]) for wrench in rec.joint_wrenches[index]],
            "torque": [xyz(wrench[3:]) for wrench in rec.joint_wrenches[index]],
        },
        "/energy": {
            "stamp": when,
            "energy": float(rec.energy[index]),
            "constraint_error": float(rec.constraint_error[index]),
        },
    }
    if rec.contact_names:
        force = rec.normal_force[index].tolist()
        messages["/contacts"] = {"stamp": when, "name": list(rec.contact_names), "normal_force": force}
    return messages


class _Scene:
    """Where forces act, all rows at once, and how long their arrows are."""

    def __init__(self, m: Mechanism, rec: Recording, poses: Floats) -> None:
        self._m = m
        spread = np.ptp(np.concatenate([poses[0, :, :3, 3], np.zeros((1, 3))]), axis=0)
        lengths = [float(np.linalg.norm(body.pose.translation)) for body in m.bodies]
        self._size = max(float(spread.max(initial=0.0)), max(lengths, default=0.0), 0.1)
        places, forces = [], []
        if rec.contact_log is not None:
            places.append(rec.contact_log.position)
            forces.append(rec.contact_force)
        elif rec.surface_contacts:
            places.append(np.stack([_touching(m, poses, c.body, c.point) for c in rec.surface_contacts], axis=1))
            forces.append(rec.contact_force)
        if rec.body_contacts is not None:
            places.append(rec.body_contacts.position)
            forces.append(rec.body_contacts.force)
        empty = np.zeros((len(rec.time), 0, 3))
        self._forces = {
            "contact_forces": (np.concatenate([empty, *places], axis=1), np.concatenate([empty, *forces], axis=1)),
            "joint_forces": (poses[:, :, :3, 3], rec.joint_wrenches[:, :, :3]),
        }
        largest = max(float(np.linalg.norm(force, axis=2).max(initial=0.0)) for _, force in self._forces.values())
        self._scale = _ARROW * self._size / largest if largest > 0.0 else 0.0

    def message(self, index: int, stamp: int) -> dict[str, Any]:
        entities = [
            force_entity(stamp, name, points[index], forces[index], self._scale, _SHAFT * self._size)
            for name, (points, forces) in self._forces.items()
        ]
        return scene_update([*(body_entities(self._m, self._size, stamp) if index == 0 else []), *entities])


def _touching(m: Mechanism, poses: Floats, body: str, point: Any) -> Floats:
    """Where a point of a body is, (T, 3)."""
    frame = m.frame(body)
    place = (frame.pose.matrix @ np.array([*point, 1.0]))[:3]
    if frame.body < 0:
        return np.tile(place, (len(poses), 1))
    return poses[:, frame.body, :3, :3] @ place + poses[:, frame.body, :3, 3]
