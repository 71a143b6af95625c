"""URDF <joint>: type, placement, axis, limits, friction, mimic."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from setsu.mechanism.xml_writing import FARTHEST
from setsu.model_files.fields import name_of, number, only_child, shorten, vector
from setsu.model_files.reading import Reading, read_origin
from setsu.model_files.xml_tree import Element

__all__ = ["Mimic", "UrdfJoint", "read_joint"]

JOINT_CLASSES: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": Fixed,
    "floating": Free,
    "planar": Planar,
}


@dataclass(frozen=True)
class Mimic:
    """coordinate = multiplier x coordinate of `joint` + offset."""

    joint: str
    multiplier: float
    offset: float
    line: int


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint between two links; `placement` is the child's frame in the parent's at coordinate 0."""

    name: str
    line: int
    parent: str
    child: str
    placement: NDArray[np.float64]
    joint: Joint
    mimic: Mimic | None
    is_independent: bool = False


def read_joint(element: Element, reading: Reading) -> UrdfJoint:
    """Read one <joint>."""
    problems = reading.problems
    name = name_of(element, problems)
    kind = element.get("type")
    if kind not in JOINT_CLASSES:
        got = "no type" if kind is None else shorten(kind)
        problems.add(element.line, f'joint "{name}": got {got}, expected type {", ".join(JOINT_CLASSES)}')
        kind = "fixed"
    elif kind == "fixed":
        # Axes and limits of fixed joints are common and without meaning: listed apart from those that would matter.
        element.label = "joint[fixed]"
    placement = read_origin(only_child(element, "origin", problems), reading)
    ends = {}
    for end in ("parent", "child"):
        part = only_child(element, end, problems, required=True)
        ends[end] = "" if part is None else name_of(part, problems, "link")
    options: dict[str, Any] = {}
    if kind in ("revolute", "continuous", "prismatic", "planar"):
        axis = only_child(element, "axis", problems)
        options["axis"] = (1.0, 0.0, 0.0) if axis is None else vector(axis, "xyz", 3, problems, (1.0, 0.0, 0.0))
    if kind in ("revolute", "continuous", "prismatic"):
        options |= _read_limits(element, name, kind, reading)
    if kind != "fixed":
        options |= _read_dynamics(element, reading)
    try:
        joint = JOINT_CLASSES[kind](name=name, **options)
    except InputError as error:
        problems.add(element.line, str(error))
        joint = Fixed(name=name)
    mimic = _read_mimic(element, name, joint, reading)
    # URDF+ says which joints the others follow.
    independent = (element.get("independent") or "").strip().lower() in ("true", "1")
    return UrdfJoint(name, element.line, ends["parent"], ends["child"], placement, joint, mimic, independent)


def _read_limits(element: Element, name: str, kind: str, reading: Reading) -> dict[str, float]:
    """URDF asks for limits of revolute and prismatic joints; where they are missing the report says what was taken."""
    problems = reading.problems
    limit = only_child(element, "limit", problems)
    if limit is None:
        if kind != "continuous":
            reading.notes.unlimited.append((name, element.line))
        return {}
    options = {
        "effort_limit": number(limit, "effort", problems, inf, minimum=0.0, largest=inf),
        "velocity_limit": number(limit, "velocity", problems, inf, minimum=0.0, largest=inf),
    }
    if kind != "continuous":
        options["lower"] = number(limit, "lower", problems, 0.0, largest=inf)
        options["upper"] = number(limit, "upper", problems, 0.0, largest=inf)
        if options["lower"] > options["upper"]:
            low, high = options.pop("lower"), options.pop("upper")
            reading.notes.doubt(
                f'line {limit.line}: joint "{name}": lower limit {low:g} above upper limit {high:g}; neither is used'
            )
    return {key: value for key, value in options.items() if abs(value) < FARTHEST}


def _read_dynamics(element: Element, reading: Reading) -> dict[str, float]:
    """Viscous and dry friction; `armature` is no part of URDF 1.0 but some exporters write it, and it is used."""
    dynamics = only_child(element, "dynamics", reading.problems)
    if dynamics is None:
        return {}
    keys = {"damping": "damping", "friction": "coulomb", "armature": "armature"}
    return {option: number(dynamics, key, reading.problems, 0.0, minimum=0.0) for key, option in keys.items()}


def _read_mimic(element: Element, name: str, joint: Joint, reading: Reading) -> Mimic | None:
    if joint.nv != 1:
        if joint.nv > 1 and element.take("mimic"):
            what = f'joint "{name}": got <mimic>, expected it on joints of one coordinate only'
            reading.problems.add(element.line, what)
        return None
    mimic = only_child(element, "mimic", reading.problems)
    if mimic is None:
        return None
    target = name_of(mimic, reading.problems, "joint")
    multiplier = number(mimic, "multiplier", reading.problems, 1.0)
    return Mimic(target, multiplier, number(mimic, "offset", reading.problems, 0.0), mimic.line)
