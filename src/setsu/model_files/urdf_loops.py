"""What closes loops in a URDF: <loop> and <coupling> of URDF+, <joint_constraint> of its older files, <constraint>.

URDF+ (ROAM-Lab, generalized_rbda): a loop joint between two frames, and a gear between two links,
    ratio x Σ coordinates from the common ancestor to the predecessor = Σ coordinates to the successor.
<constraint> (the proposal ros/urdfdom#264): a loop joint with an origin and an axis on either link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError, nearest_names
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.joints import JOINT_TYPES, Fixed, Free, Joint, own_options, unit_axis
from setsu.model_files.fields import name_of, number, only_child, shorten, vector
from setsu.model_files.reading import Reading, read_origin
from setsu.model_files.urdf_joints import UrdfJoint
from setsu.model_files.xml_tree import Element

__all__ = ["LOOP_JOINTS", "Closures", "add_closures", "aligned", "read_closures", "refuse_unknown_topology"]

LOOP_JOINTS = {name: kind for kind in JOINT_TYPES.values() if kind is not Free for name in kind.file_names}
_TAGS = {"second_axis": "axis2"}
# Children by which an element ties links together.
_ENDS = {"parent", "child", "predecessor", "successor", "link1", "link2", "body1", "body2", "frame_a", "frame_b"}

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Loop:
    name: str
    line: int
    links: tuple[str, str]
    placements: tuple[Matrix, Matrix]
    joint: Joint


@dataclass(frozen=True, eq=False)
class _Gear:
    name: str
    line: int
    links: tuple[str, str]
    ratio: float


@dataclass(frozen=True)
class Closures:
    """Loop joints and gears of one file."""

    loops: tuple[_Loop, ...]
    gears: tuple[_Gear, ...]


def read_closures(robot: Element, reading: Reading) -> Closures:
    """Read every element that closes a loop or couples links."""
    loops = [_read_loop(element, reading) for element in robot.take("loop")]
    loops += [_read_constraint(element, reading) for element in robot.take("constraint")]
    gears = [_read_gear(element, reading) for tag in ("coupling", "joint_constraint") for element in robot.take(tag)]
    return Closures(tuple(loop for loop in loops if loop is not None), tuple(gears))


def refuse_unknown_topology(robot: Element, reading: Reading) -> None:
    """An element nobody knows that ties links together is a problem; loops inside <gazebo> are noted as missing."""
    for element in robot.children:
        if element.used or ":" in element.tag:
            continue
        if element.tag == "gazebo":
            for joint in element.children:
                if joint.tag == "joint":
                    name = joint.attributes.get("name", "?")
                    reading.notes.lose(f'joint "{name}" inside <gazebo> is left out; write it as <loop>', joint.line)
            continue
        if element.tag not in ("transmission", "sensor", "ros2_control") and any(
            child.tag in _ENDS for child in element.children
        ):
            reading.problems.add(
                element.line,
                f"<{element.tag[:40]}>: an unknown element that ties links together, expected <joint>, <loop>, "
                "<coupling> or <constraint>",
            )


def _ends(element: Element, reading: Reading, first: str, second: str) -> list[tuple[str, Element | None]]:
    ends = []
    for tag in (first, second):
        part = only_child(element, tag, reading.problems, required=True)
        ends.append(("" if part is None else name_of(part, reading.problems, "link"), part))
    return ends


def _kind(element: Element, name: str, reading: Reading) -> type[Joint] | None:
    kind = element.get("type")
    if kind not in LOOP_JOINTS:
        got = "no type" if kind is None else shorten(kind)
        expected = ", ".join(LOOP_JOINTS)
        reading.problems.add(element.line, f'{element.tag} "{name}": got {got}, expected type {expected}')
        return None
    return LOOP_JOINTS[kind]


def _axis(element: Element, tag: str, reading: Reading) -> tuple[float, ...]:
    axis = only_child(element, tag, reading.problems)
    return (1.0, 0.0, 0.0) if axis is None else vector(axis, "xyz", 3, reading.problems, (1.0, 0.0, 0.0))


def _read_loop(element: Element, reading: Reading) -> _Loop | None:
    name = name_of(element, reading.problems)
    kind = _kind(element, name, reading)
    (a, part_a), (b, part_b) = _ends(element, reading, "predecessor", "successor")
    placements = [
        np.eye(4) if part is None else read_origin(only_child(part, "origin", reading.problems), reading)
        for part in (part_a, part_b)
    ]
    options: dict[str, Any] = {"axis": _axis(element, "axis", reading)}
    for key, default in own_options(kind).items() if kind is not None else ():
        tag = _TAGS.get(key, key)
        options[key] = _number(element, tag, reading) if isinstance(default, float) else _axis(element, tag, reading)
    return _loop(name, element.line, (a, b), (placements[0], placements[1]), kind, options, reading)


def _number(element: Element, tag: str, reading: Reading) -> float:
    part = only_child(element, tag, reading.problems, required=True)
    return 0.0 if part is None else number(part, "value", reading.problems)


def _read_constraint(element: Element, reading: Reading) -> _Loop | None:
    name = name_of(element, reading.problems)
    kind = _kind(element, name, reading)
    (a, _), (b, _) = _ends(element, reading, "parent", "child")
    origins = [only_child(element, f"{end}_origin", reading.problems) for end in ("parent", "child")]
    T_a, T_b = (read_origin(origin, reading) for origin in origins)
    axis_a, axis_b = (_axis(element, f"{end}_axis", reading) for end in ("parent", "child"))
    options: dict[str, Any] = {"axis": axis_a}
    own = {} if kind is None else own_options(kind)
    if "second_axis" in own:
        options["second_axis"] = axis_b
    elif kind is not None and kind.has_axis:
        try:
            T_b = T_b @ aligned(axis_a, axis_b)
        except InputError as error:
            reading.problems.add(element.line, f'constraint "{name}": {error}')
    options |= {key: _number(element, key, reading) for key, default in own.items() if isinstance(default, float)}
    return _loop(name, element.line, (a, b), (T_a, T_b), kind, options, reading)


def _loop(
    name: str,
    line: int,
    links: tuple[str, str],
    placements: tuple[Matrix, Matrix],
    kind: type[Joint] | None,
    options: dict[str, Any],
    reading: Reading,
) -> _Loop | None:
    if kind is None:
        return None
    if not kind.has_axis:
        options = {}
    try:
        return _Loop(name, line, links, placements, kind(**options))
    except InputError as error:
        reading.problems.add(line, f'"{name}": {error}')
        return None


def aligned(axis_a: Any, axis_b: Any) -> Matrix:
    """Return the smallest turn (4x4) after which axis_a points along axis_b."""
    a, b = np.array(unit_axis(axis_a, "axis")), np.array(unit_axis(axis_b, "axis"))
    T = np.eye(4)
    v, c = np.cross(a, b), float(a @ b)
    if c < -1.0 + 1e-12:
        other = np.eye(3)[int(np.argmin(np.abs(a)))]
        n = np.cross(a, other) / np.linalg.norm(np.cross(a, other))
        T[:3, :3] = 2.0 * np.outer(n, n) - np.eye(3)
        return T
    K = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    T[:3, :3] = np.eye(3) + K + K @ K / (1.0 + c)
    return T


def _read_gear(element: Element, reading: Reading) -> _Gear:
    name = name_of(element, reading.problems)
    element.get("type")  # "rolling" or "belt": the same relation
    (a, _), (b, _) = _ends(element, reading, "predecessor", "successor")
    tag = "ratio" if element.tag == "coupling" else "gear_ratio"
    part = only_child(element, tag, reading.problems, required=True)
    ratio = 1.0 if part is None else number(part, "value", reading.problems)
    return _Gear(name, element.line, (a, b), ratio)


def add_closures(
    builder: MechanismBuilder,
    closures: Closures,
    above: dict[str, UrdfJoint],
    names: dict[str, str],
    reading: Reading,
) -> None:
    """Add loops and gears; `above` is the joint above each link, `names` the body of each link."""
    problems = reading.problems
    for item in (*closures.loops, *closures.gears):
        for link in item.links:
            if link and link not in names:
                problems.add(item.line, f'"{item.name}": unknown link "{link}"{nearest_names(link, names)}')
    problems.check()
    for loop in closures.loops:
        a, b = (names[link] for link in loop.links)
        try:
            builder.add_loop(loop.name, a, b, loop.joint, *loop.placements)
        except InputError as error:
            problems.add(loop.line, str(error))
    for gear in closures.gears:
        try:
            builder.add_coupling(gear.name, _gear_factors(gear, above))
        except InputError as error:
            problems.add(gear.line, str(error))
        else:
            reading.notes.couplings.append(f"{gear.ratio:g} x {gear.links[0]} = {gear.links[1]} (coupling)")


def _gear_factors(gear: _Gear, above: dict[str, UrdfJoint]) -> dict[str, float]:
    """Factors of ratio x Σ q(ancestor → predecessor) - Σ q(ancestor → successor) = 0."""

    def way_up(link: str) -> list[UrdfJoint]:
        joints = []
        while link in above:
            joints.append(above[link])
            link = above[link].parent
        return joints

    ways = [way_up(link) for link in gear.links]
    shared = {id(joint) for joint in ways[0]} & {id(joint) for joint in ways[1]}
    factors: dict[str, float] = {}
    for way, factor in zip(ways, (gear.ratio, -1.0), strict=True):
        for joint in way:
            if id(joint) in shared or isinstance(joint.joint, Fixed):
                continue
            factors[joint.name] = factors.get(joint.name, 0.0) + factor
    return factors
