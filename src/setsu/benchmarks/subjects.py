"""The mechanisms the benchmarks measure, as URDF text that every engine reads alike.

Shapes are dropped, since no dynamics needs them; so are joint damping and friction, which some engines add and others
leave out; continuous joints become revolute ones, because Pinocchio gives them two coordinates; inertias no body can
have are repaired, because MuJoCo and Drake refuse them.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from setsu.mechanism.inertia import inertia_report, repair_inertia

__all__ = ["ROBOTS", "SERIES", "Subject", "chain", "plain_urdf", "robot", "robot_file", "tree"]

ROBOTS = ("two_link", "ur5", "panda", "anymal", "talos")
SERIES = ("chain", "tree")

_FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", False),
    "panda": ("panda_description/urdf/panda.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "talos": ("talos_data/robots/talos_reduced.urdf", True),
}


@dataclass(frozen=True)
class Subject:
    """A mechanism to measure: its name, the group it is reported in, the URDF text, and whether its base floats."""

    name: str
    group: str
    urdf: str
    floating_base: bool = False


def robot_file(name: str) -> Path | None:
    """Return the URDF of a robot in the package example-robot-data, or None when that is not installed."""
    for entry in sys.path:
        found = Path(entry) / "cmeel.prefix/share/example-robot-data/robots" / _FILES[name][0]
        if found.is_file():
            return found
    return None


def robot(name: str) -> Subject | None:
    """Return one of ROBOTS, or None when its file is not installed."""
    if name == "two_link":
        return Subject(name, "robot", _series_urdf(name, [-1, 0]))
    path = robot_file(name)
    if path is None:
        return None
    return Subject(name, "robot", plain_urdf(path.read_text(encoding="utf-8")), _FILES[name][1])


def chain(joints: int) -> Subject:
    """Return a serial chain of revolute joints."""
    return Subject(f"chain_{joints}", "chain", _series_urdf(f"chain_{joints}", [index - 1 for index in range(joints)]))


def tree(joints: int) -> Subject:
    """Return a binary tree of revolute joints: body i hangs on body (i - 1) // 2."""
    parents = [(index - 1) // 2 if index else -1 for index in range(joints)]
    return Subject(f"tree_{joints}", "tree", _series_urdf(f"tree_{joints}", parents))


def plain_urdf(text: str) -> str:
    """Keep links with their inertias and joints with their geometry; everything else is not dynamics."""
    root = ElementTree.fromstring(text)
    for child in list(root):
        if child.tag not in ("link", "joint"):
            root.remove(child)
            continue
        for part in list(child):
            if part.tag not in ("inertial", "parent", "child", "axis", "origin", "limit"):
                child.remove(part)
        for inertia in child.findall("inertial/inertia"):
            _make_possible(inertia)
        if child.get("type") == "continuous":
            child.set("type", "revolute")
            for limit in child.findall("limit"):
                child.remove(limit)
            ElementTree.SubElement(child, "limit", lower="-3.14", upper="3.14", effort="1000", velocity="1000")
    return ElementTree.tostring(root, encoding="unicode")


def _make_possible(element: ElementTree.Element) -> None:
    """Replace an inertia that no body can have by the nearest one, with a margin of 1e-6 for the other readers."""
    keys = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    matrix = np.zeros((3, 3))
    for key, row, column in keys:
        matrix[row, column] = matrix[column, row] = float(element.get(key, "0"))
    if not inertia_report(1.0, (0.0, 0.0, 0.0), matrix).valid:
        matrix = repair_inertia(1.0, (0.0, 0.0, 0.0), matrix)
        matrix += 1e-6 * np.trace(matrix) * np.eye(3)
        for key, row, column in keys:
            element.set(key, repr(float(matrix[row, column])))


def _series_urdf(name: str, parents: list[int]) -> str:
    """URDF of equal rods joined by revolute joints whose axes alternate between y and x; parent -1 is the base."""
    lines = [f'<robot name="{name}">', '<link name="base"/>']
    for index, parent in enumerate(parents):
        axis = "0 1 0" if index % 2 == 0 else "1 0 0"
        lines += [
            f'<link name="link{index}"><inertial><origin xyz="0.01 0.02 0.1" rpy="0 0 0"/><mass value="0.5"/>',
            '<inertia ixx="0.0021" ixy="0.0001" ixz="0.0" iyy="0.002" iyz="0.0" izz="0.0005"/></inertial></link>',
            f'<joint name="joint{index}" type="revolute">',
            f'<parent link="{"base" if parent < 0 else f"link{parent}"}"/><child link="link{index}"/>',
            f'<origin xyz="0 0 {0.0 if parent < 0 else 0.2}" rpy="0 0 {0.1 * (index % 3)}"/><axis xyz="{axis}"/>',
            '<limit lower="-3.14" upper="3.14" effort="1000" velocity="1000"/></joint>',
        ]
    return "\n".join([*lines, "</robot>"])
