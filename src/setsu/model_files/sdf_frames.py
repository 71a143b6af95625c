"""Frames of an SDF model: links, joints, <frame> elements and nested models, resolved to poses in the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from setsu.errors import nearest_names
from setsu.model_files.reading import Reading

__all__ = ["MODEL", "FrameGraph"]

MODEL = "__model__"
Matrix = NDArray[np.float64]


@dataclass
class _Node:
    pose: Matrix
    relative_to: str
    line: int
    carrier: str  # the link that carries it, or the frame it is attached to


@dataclass
class FrameGraph:
    """Frames by name, each given relative to another; `pose` gives any of them in the model's frame."""

    reading: Reading
    nodes: dict[str, _Node] = field(default_factory=dict)
    known: dict[str, Matrix] = field(default_factory=dict)

    def add(self, name: str, pose: Matrix, relative_to: str, line: int, carrier: str) -> None:
        """Declare a frame; a second one of the same name is a problem."""
        if name in self.nodes:
            self.reading.problems.add(line, f'"{name}": the name is taken in line {self.nodes[name].line}')
            return
        self.nodes[name] = _Node(pose, relative_to, line, carrier)

    def pose(self, name: str, line: int, walk: tuple[str, ...] = ()) -> Matrix:
        """Pose of a frame in the model; the identity, with a problem noted, when it cannot be found."""
        if name in ("", MODEL, "world"):
            return np.eye(4)
        if name in self.known:
            return self.known[name]
        node = self.nodes.get(name)
        if node is None:
            self.reading.problems.add(line, f'unknown frame "{name}"{nearest_names(name, self.nodes)}')
            return np.eye(4)
        if name in walk:
            self.reading.problems.add(node.line, f'frame "{name}" is relative to itself: {" -> ".join(walk)}')
            return np.eye(4)
        found = self.pose(node.relative_to, node.line, (*walk, name)) @ node.pose
        self.known[name] = found
        return found

    def carrier(self, name: str, line: int, walk: tuple[str, ...] = ()) -> str:
        """Link that carries a frame, or "world"."""
        if name in ("", "world"):
            return "world"
        node = self.nodes.get(name)
        if node is None:
            self.reading.problems.add(line, f'unknown link or frame "{name}"{nearest_names(name, self.nodes)}')
            return name
        if node.carrier == name or name in walk:
            return name
        return self.carrier(node.carrier, line, (*walk, name))
