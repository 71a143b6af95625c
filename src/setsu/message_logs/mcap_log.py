"""MCAP files: write messages with their schemas, read the joint states of a robot. Needs the package `mcap`."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from setsu.errors import InputError
from setsu.message_logs.joint_state import DEFINITION, NAME, JointState, from_cdr, to_cdr

__all__ = ["LogWriter", "read_joint_states"]

_MISSING = "MCAP files need the package mcap: pip install setsu[data]"
_USUAL_TOPIC = "/joint_states"
_NAMES = (NAME, "sensor_msgs/JointState")


class LogWriter:
    """Collects messages and returns them as the bytes of an MCAP file, readable by any MCAP library."""

    def __init__(self) -> None:
        try:
            from mcap.writer import CompressionType, Writer
        except ImportError:
            raise InputError(_MISSING) from None
        self._stream = io.BytesIO()
        self._writer: Any = Writer(self._stream, compression=CompressionType.NONE)
        self._writer.start(profile="", library="setsu")
        self._channels: dict[str, int] = {}
        self._sequence: dict[str, int] = {}

    def add_json_channel(self, topic: str, name: str, properties: dict[str, Any]) -> None:
        """Open a topic of JSON messages; properties: of their JSON schema."""
        schema = {"title": name, "type": "object", "properties": properties}
        self._add(topic, name, "jsonschema", json.dumps(schema).encode(), "json")

    def add_joint_states(self, topic: str = _USUAL_TOPIC) -> None:
        """Open a topic of ROS 2 joint states."""
        self._add(topic, NAME, "ros2msg", DEFINITION.encode(), "cdr")

    def _add(self, topic: str, name: str, encoding: str, schema: bytes, messages: str) -> None:
        number = self._writer.register_schema(name=name, encoding=encoding, data=schema)
        self._channels[topic] = self._writer.register_channel(topic=topic, message_encoding=messages, schema_id=number)
        self._sequence[topic] = 0

    def write(self, topic: str, stamp: int, message: dict[str, Any] | JointState) -> None:
        """Add a message; stamp: nanoseconds."""
        data = to_cdr(message) if isinstance(message, JointState) else json.dumps(message).encode()
        sequence = self._sequence[topic]
        self._sequence[topic] = sequence + 1
        self._writer.add_message(
            self._channels[topic], log_time=stamp, publish_time=stamp, sequence=sequence, data=data
        )

    def content(self) -> bytes:
        """Close the file and return it."""
        self._writer.finish()
        return self._stream.getvalue()


def read_joint_states(path: Path, topic: str | None = None) -> list[tuple[str, JointState]]:
    """Return the joint states of a file in the order they were logged, each with its place for messages.

    topic: which one; when not given the only one with joint states, or /joint_states among several. Where no message
    has a stamp, they have the times they were logged.
    """
    try:
        from mcap.reader import make_reader
    except ImportError:
        raise InputError(f"{path}: {_MISSING}") from None
    try:
        with path.open("rb") as file:
            reader = make_reader(file)
            chosen = _topic(path, reader.get_summary(), topic)
            messages = list(reader.iter_messages(topics=[chosen] if chosen else None))
    except InputError:
        raise
    except Exception as problem:  # readers and decompressors fail in many ways on broken files
        raise InputError(
            f"{path}: cannot be read as MCAP ({type(problem).__name__}: {str(problem)[:80]}); a log whose recorder was "
            "cut off is mended by: mcap recover"
        ) from None
    found: list[tuple[str, int, JointState]] = []
    for schema, channel, message in messages:
        if not _holds_joint_states(schema, channel):
            continue
        chosen = chosen or channel.topic
        if channel.topic != chosen:
            raise InputError(f"{path}: joint states on {chosen} and {channel.topic}: expected topic= one of them")
        where = f"message {len(found) + 1} of {chosen}"
        found.append((where, message.log_time, from_cdr(message.data, f"{path}, {where}")))
    if not found:
        raise InputError(f"{path}: expected messages {NAME} in CDR{f' on {topic}' if topic else ''}, found none")
    unstamped = all(state.stamp == 0 for _, _, state in found)
    return [(where, replace(state, stamp=time) if unstamped else state) for where, time, state in found]


def _holds_joint_states(schema: Any, channel: Any) -> bool:
    return schema is not None and schema.name in _NAMES and channel.message_encoding == "cdr"


def _topic(path: Path, summary: Any, topic: str | None) -> str | None:
    """The topic to read, by the summary of the file where it has one."""
    if topic is not None or summary is None:
        return topic
    channels = summary.channels.values()
    found = sorted(
        {channel.topic for channel in channels if _holds_joint_states(summary.schemas.get(channel.schema_id), channel)}
    )
    if len(found) > 1 and _USUAL_TOPIC not in found:
        raise InputError(f"{path}: joint states on {', '.join(found)}: expected topic= one of them")
    return _USUAL_TOPIC if _USUAL_TOPIC in found else next(iter(found), None)
