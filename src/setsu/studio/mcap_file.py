"""A recording as an MCAP log: JSON messages with their schemas, readable by log viewers and by any MCAP library.

Channels: /joint_states (name, position, velocity, effort; coordinates of joints with one), /tf (a transform per body
from "world"), /joint_wrenches, /contacts, /energy. Log times are nanoseconds from the start of the run.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from setsu.dynamics import body_poses
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation import Recording
from setsu.spatial import quaternion_from_rotation

__all__ = ["mcap_bytes"]

_NUMBER = {"type": "number"}
_NUMBERS = {"type": "array", "items": _NUMBER}
_NAMES = {"type": "array", "items": {"type": "string"}}
_XYZ = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_STAMP = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_WRENCHES = {"name": _NAMES, "force": {"type": "array", "items": _XYZ}, "torque": {"type": "array", "items": _XYZ}}
_SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    "/joint_states": (
        "setsu.JointState",
        {"stamp": _STAMP, "name": _NAMES, "position": _NUMBERS, "velocity": _NUMBERS, "effort": _NUMBERS},
    ),
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
    "/joint_wrenches": ("setsu.JointWrenches", {"stamp": _STAMP, **_WRENCHES}),
    "/contacts": ("setsu.ContactForces", {"stamp": _STAMP, "name": _NAMES, "normal_force": _NUMBERS}),
    "/energy": ("setsu.Energy", {"stamp": _STAMP, "energy": _NUMBER, "constraint_error": _NUMBER}),
}


def mcap_bytes(mechanism: Mechanism, recording: Recording) -> bytes:
    """Return the content of an MCAP file of a recording; needs the package `mcap` (extra `data`)."""
    try:
        from mcap.writer import CompressionType, Writer
    except ImportError:
        raise InputError("MCAP files need the package mcap: pip install setsu[data]") from None
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.NONE)
    writer.start(profile="", library="setsu")
    channels = {}
    for topic, (name, properties) in _SCHEMAS.items():
        schema = {"title": name, "type": "object", "properties": properties}
        number = writer.register_schema(name=name, encoding="jsonschema", data=json.dumps(schema).encode())
        channels[topic] = writer.register_channel(topic=topic, message_encoding="json", schema_id=number)
    poses = body_poses(mechanism, recording.q)
    for index, time in enumerate(recording.time.tolist()):
        stamp = round(time * 1e9)
        for topic, message in _messages(mechanism, recording, index, poses[index], stamp).items():
            data = json.dumps(message).encode()
            writer.add_message(channels[topic], log_time=stamp, publish_time=stamp, sequence=index, data=data)
    writer.finish()
    return stream.getvalue()


def _messages(m: Mechanism, rec: Recording, index: int, poses: Any, stamp: int) -> dict[str, dict[str, Any]]:
    when = {"sec": stamp // 10**9, "nsec": stamp % 10**9}
    single = [k for k, body in enumerate(m.moving) if body.joint.nq == 1]
    at = lambda values, places: [float(values[index, places[k].start]) for k in single]  # noqa: E731
    transforms = [
        {
            "timestamp": when,
            "parent_frame_id": "world",
            "child_frame_id": name,
            "translation": _xyz(pose[:3, 3]),
            "rotation": dict(zip("xyzw", quaternion_from_rotation(pose[:3, :3]).tolist(), strict=True)),
        }
        for name, pose in zip(m.body_names, poses, strict=True)
    ]
    messages: dict[str, dict[str, Any]] = {
        "/joint_states": {
            "stamp": when,
            "name": [m.joint_names[k] for k in single],
            "position": at(rec.q, m.q_slices),
            "velocity": at(rec.v, m.v_slices),
            "effort": at(rec.torque, m.v_slices),
        },
        "/tf": {"transforms": transforms},
        "/joint_wrenches": {
            "stamp": when,
            "name": list(rec.joint_names),
            "force": [_xyz(wrench[:3]) for wrench in rec.joint_wrenches[index]],
            "torque": [_xyz(wrench[3:]) for wrench in rec.joint_wrenches[index]],
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


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", vector.tolist(), strict=True))
