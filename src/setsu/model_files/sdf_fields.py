"""Numbers, poses and names from the text of SDF elements; problems are kept, none stops the reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.model_files.fields import LARGEST_NUMBER, only_child, parse_number, shorten
from setsu.model_files.reading import Reading
from setsu.model_files.xml_tree import Element
from setsu.spatial import placement

__all__ = ["child_flag", "child_number", "child_numbers", "child_text", "read_pose"]

Matrix = NDArray[np.float64]


def child_text(element: Element, tag: str, reading: Reading, *, required: bool = False) -> str:
    """Text of the only child with this tag; empty when there is none."""
    child = only_child(element, tag, reading.problems, required=required)
    return "" if child is None else child.text.strip()


def child_numbers(element: Element, tag: str, length: int, reading: Reading, default: tuple[float, ...]) -> list[float]:
    """Numbers in the text of the only child with this tag."""
    child = only_child(element, tag, reading.problems)
    return list(default) if child is None else numbers_of(child, length, reading, default)


def numbers_of(element: Element, length: int, reading: Reading, default: tuple[float, ...]) -> list[float]:
    """Numbers in the text of an element."""
    values = []
    for token in element.text.split():
        value = parse_number(token)
        if isinstance(value, str) or abs(value) > LARGEST_NUMBER:
            what = value if isinstance(value, str) else f"got {value:g}"
            reading.problems.add(element.line, f"<{element.tag}>: {what}, expected {length} finite numbers")
            return list(default)
        values.append(value)
    if len(values) != length:
        got = f"got {len(values)} numbers in {shorten(element.text.strip())}"
        reading.problems.add(element.line, f"<{element.tag}>: {got}, expected {length}")
        return list(default)
    return values


def child_number(element: Element, tag: str, reading: Reading, default: float) -> float:
    """One number in the text of the only child with this tag."""
    return child_numbers(element, tag, 1, reading, (default,))[0]


def child_flag(element: Element, tag: str, reading: Reading) -> bool:
    """Whether a child says true or 1."""
    text = child_text(element, tag, reading).lower()
    if text not in ("", "true", "1", "false", "0"):
        reading.problems.add(element.line, f"<{tag}>: got {shorten(text)}, expected true or false")
    return text in ("true", "1")


def read_pose(element: Element, reading: Reading) -> tuple[Matrix, str]:
    """Placement in the <pose> of an element, and the frame it is relative to ("" for the usual one)."""
    pose = only_child(element, "pose", reading.problems)
    if pose is None or not pose.text.strip():
        relative = "" if pose is None else (pose.get("relative_to") or pose.get("frame") or "")
        return np.eye(4), relative
    scale = np.pi / 180.0 if (pose.get("degrees") or "").lower() in ("true", "1") else 1.0
    form = pose.get("rotation_format") or "euler_rpy"
    relative = pose.get("relative_to") or pose.get("frame") or ""
    if form == "quat_xyzw":
        x, y, z, *quaternion = numbers_of(pose, 7, reading, (0.0,) * 6 + (1.0,))
        return placement((x, y, z), quaternion=quaternion), relative
    x, y, z, *angles = numbers_of(pose, 6, reading, (0.0,) * 6)
    roll, pitch, yaw = (reading.angle(scale * angle, pose.line) for angle in angles)
    return placement((x, y, z), rpy=(roll, pitch, yaw)), relative
