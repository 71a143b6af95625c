"""What the writers of URDF and MJCF share: elements as text, numbers with all digits, what a format cannot hold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError, ModelWarning

__all__ = ["FARTHEST", "Losses", "Node", "numbers", "roll_pitch_yaw", "written_limit"]

FARTHEST = 1e30
"""Limits of URDF and MJCF that are as large, are none: their other readers know no infinity."""


@dataclass
class Node:
    """An XML element in the making."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def add(self, tag: str, **attributes: str) -> Node:
        """Add a child and return it; a trailing underscore of an attribute's name is dropped."""
        child = Node(tag, {key.rstrip("_"): value for key, value in attributes.items()})
        self.children.append(child)
        return child

    def text(self, depth: int = 0) -> str:
        """The element and all below it, indented; a child that is a text becomes a comment."""
        for key, value in self.attributes.items():
            if any(sign < " " and sign not in "\t\n\r" for sign in value):
                raise InputError(f"<{self.tag} {key}={value!r}>: XML holds no control characters; save as .toml")
        indent = "  " * depth
        head = f"{indent}<{self.tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in self.attributes.items())
        if not self.children:
            return f"{head}/>\n"
        inside = "".join(
            f"{indent}  <!-- {escape(child).replace('--', '- -')} -->\n"
            if isinstance(child, str)
            else child.text(depth + 1)
            for child in self.children
        )
        return f"{head}>\n{inside}{indent}</{self.tag}>\n"


def numbers(values: Iterable[float] | float) -> str:
    """Numbers with all their digits, apart by blanks."""
    entries = [values] if isinstance(values, (int, float)) else values
    return " ".join(repr(float(entry) + 0.0) for entry in entries)


def written_limit(limit: float) -> float:
    """A limit as a number that every reader takes."""
    return min(max(limit, -FARTHEST), FARTHEST)


def roll_pitch_yaw(rotation: Sequence[float]) -> tuple[float, float, float]:
    """Angles (rad) of a rotation matrix (9 numbers, row by row) about the fixed x, y and z axes, in this order."""
    R: NDArray[np.float64] = np.reshape(np.array(rotation, dtype=np.float64), (3, 3))
    across = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], across)
    if across > 1e-9:
        return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
    # Roll and yaw turn about the same axis: all of it is roll.
    return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0


@dataclass
class Losses:
    """What a format cannot hold, reported in one warning."""

    path: str
    found: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        """Note something that is not written."""
        self.found.append(what)

    def warn(self) -> None:
        """Give one ModelWarning that names everything."""
        if self.found:
            more = f" and {len(self.found) - 20} more" if len(self.found) > 20 else ""
            warnings.warn(
                f"{self.path}: not in the file: {'; '.join(self.found[:20])}{more}", ModelWarning, stacklevel=5
            )
