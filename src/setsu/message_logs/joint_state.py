"""`sensor_msgs/msg/JointState` of ROS 2 as bytes: the common data representation (CDR) that ROS 2 writes.

    bytes 0-3: 0, 1 for little endian (0: big), 0, 0; offsets count from byte 4                           (1)
    a number of n bytes starts at a multiple of n; string: uint32 length with its final 0, bytes, 0       (2)
    sequence: uint32 count, then its elements; an empty one leaves no padding behind                      (3)

Source: OMG, DDS-XTypes 1.3, 7.4.1 (plain CDR, version 1); sensor_msgs/msg/JointState.msg.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError

__all__ = ["DEFINITION", "NAME", "JointState", "from_cdr", "to_cdr"]

Floats = NDArray[np.float64]

NAME = "sensor_msgs/msg/JointState"
_LINE = "=" * 80
DEFINITION = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{_LINE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_LINE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
"""The message with all it is made of, as MCAP's schema encoding ros2msg wants it."""


@dataclass(frozen=True)
class JointState:
    """Position (rad or m), velocity and effort (N m or N) of named joints; arrays may be empty: not measured.

    stamp: nanoseconds.
    """

    stamp: int
    names: tuple[str, ...]
    position: Floats
    velocity: Floats
    effort: Floats


def to_cdr(state: JointState) -> bytes:
    """Return the message, little endian."""
    body = bytearray(struct.pack("<iI", *divmod(state.stamp, 10**9)))
    _put_string(body, "")
    _put_count(body, len(state.names))
    for name in state.names:
        _put_string(body, name)
    for values in (state.position, state.velocity, state.effort):
        _put_count(body, len(values))
        if len(values):
            body += bytes(-len(body) % 8)
            body += np.asarray(values, dtype="<f8").tobytes()
    return b"\x00\x01\x00\x00" + bytes(body)


def _put_count(body: bytearray, count: int) -> None:
    body += bytes(-len(body) % 4)
    body += struct.pack("<I", count)


def _put_string(body: bytearray, text: str) -> None:
    data = text.encode()
    _put_count(body, len(data) + 1)
    body += data + b"\x00"


def from_cdr(data: bytes, where: str) -> JointState:
    """Return a message from its bytes; where: for errors."""
    if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1):
        raise InputError(f"{where}: expected a message in plain CDR, got the header {data[:4].hex()!r}")
    reader = _Reader(data[4:], "<" if data[1] == 1 else ">", where)
    sec, nanosec = reader.number("i"), reader.number("I")
    reader.string()
    names = tuple(reader.string() for _ in range(reader.count(5)))
    position, velocity, effort = (reader.doubles() for _ in range(3))
    for label, values in (("position", position), ("velocity", velocity), ("effort", effort)):
        if len(values) not in (0, len(names)):
            raise InputError(f"{where}: {label}: expected {len(names)} numbers or none, got {len(values)}")
    return JointState(sec * 10**9 + nanosec, names, position, velocity, effort)


class _Reader:
    """Numbers and strings one after another; nothing is read beyond the end."""

    def __init__(self, data: bytes, order: str, where: str) -> None:
        self._data, self._order, self._where, self._at = data, order, where, 0

    def _take(self, size: int, alignment: int) -> bytes:
        start = self._at + -self._at % alignment
        if size < 0 or start + size > len(self._data):
            raise InputError(f"{self._where}: the message ends within a value, after {len(self._data)} bytes")
        self._at = start + size
        return self._data[start : self._at]

    def number(self, kind: str) -> int:
        return struct.unpack(self._order + kind, self._take(4, 4))[0]

    def count(self, least: int) -> int:
        """Number of elements that follow, of at least so many bytes each."""
        count = self.number("I")
        if count * least > len(self._data):
            raise InputError(f"{self._where}: {count} elements do not fit into a message of {len(self._data)} bytes")
        return count

    def string(self) -> str:
        data = self._take(self.count(1), 1)
        try:
            return data.rstrip(b"\x00").decode()
        except UnicodeDecodeError:
            raise InputError(f"{self._where}: a name is no UTF-8 text: {data!r:.60}") from None

    def doubles(self) -> Floats:
        count = self.count(8)
        data = self._take(8 * count, 8) if count else b""
        return np.frombuffer(data, dtype=f"{self._order}f8").astype(np.float64)
