"""SDF <joint>: type, frame, axes, limits, friction, springs, screws, gearboxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism.joints import Fixed, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from setsu.model_files.fields import name_of, only_child, shorten
from setsu.model_files.reading import Reading
from setsu.model_files.sdf_fields import child_flag, child_number, child_numbers, child_text, read_pose
from setsu.model_files.sdf_frames import MODEL
from setsu.model_files.xml_tree import Element

__all__ = ["Gearbox", "SdfAxis", "SdfJoint", "read_joint"]

Vectors = tuple[NDArray[np.float64], ...]
KINDS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "ball": Spherical,
    "universal": Universal,
    "revolute2": Universal,
    "screw": Helical,
    "fixed": Fixed,
}
NO_LIMIT = 1e16


@dataclass(frozen=True)
class SdfAxis:
    """Direction of a joint axis, the frame it is expressed in ("" for the joint's), and what acts along it."""

    xyz: tuple[float, ...]
    expressed_in: str
    options: dict[str, float]


@dataclass(eq=False)
class SdfJoint:
    """A joint between two frames; parent_link, child_link and axes (in the model's axes) are found once all is read."""

    name: str
    line: int
    kind: type[Joint]
    parent: str
    child: str
    pose: NDArray[np.float64]
    relative_to: str
    given_axes: tuple[SdfAxis, ...]
    pitch: float = 0.0
    mimics: tuple[tuple[str, float, float, float], ...] = ()
    parent_link: str = ""
    child_link: str = ""
    axes: Vectors = field(default_factory=tuple)

    def made(self, to_link: NDArray[np.float64]) -> Joint:
        """The joint with its axes turned by a rotation from the model's axes."""
        options: dict[str, Any] = {"name": self.name}
        if self.kind.has_axis:
            options["axis"] = tuple(_clean(to_link @ self.axes[0]))
        if self.kind is Universal:
            options["second_axis"] = tuple(_clean(to_link @ self.axes[1]))
        if self.kind is Helical:
            options["pitch"] = self.pitch
        if self.kind is Spherical:
            options |= {key: self.given_axes[0].options[key] for key in ("damping", "coulomb")}
        elif self.kind is not Fixed:
            for key in self.given_axes[0].options:
                options[key] = [axis.options.get(key, math.inf) for axis in self.given_axes[: self.kind.nv]]
        return self.kind(**options)


@dataclass(eq=False)
class Gearbox:
    """theta_2 = -ratio theta_1: angles of child and parent against the reference body about their axes."""

    name: str
    line: int
    child: str
    given_bodies: tuple[str, str, str]
    ratio: float
    given_axes: tuple[SdfAxis, ...]
    bodies: tuple[str, ...] = ()
    axes: Vectors = ()


def _clean(vector: NDArray[np.float64]) -> list[float]:
    """An axis that is within rounding of a coordinate axis is one."""
    rounded = np.round(vector)
    return (np.where(np.abs(vector - rounded) < 1e-15, rounded, vector) + 0.0).tolist()


def read_joint(
    element: Element, scope: str, named: Callable[[str], str], reading: Reading
) -> SdfJoint | Gearbox | None:
    """Read one <joint>; `named` gives the full name of a frame of this model."""
    problems = reading.problems
    name = scope + name_of(element, problems)
    kind = element.get("type") or ""
    parent = named(child_text(element, "parent", reading, required=True))
    child = named(child_text(element, "child", reading, required=True))
    axes = tuple(_read_axis(element, tag, name, named, reading) for tag in ("axis", "axis2"))
    if kind == "gearbox":
        reference = named(child_text(element, "gearbox_reference_body", reading, required=True))
        ratio = child_number(element, "gearbox_ratio", reading, 1.0)
        return Gearbox(name, element.line, child, (reference, parent, child), ratio, axes)
    if kind not in KINDS:
        expected = ", ".join((*KINDS, "gearbox"))
        problems.add(element.line, f'joint "{name}": got type {shorten(kind)}, expected {expected}')
        kind = "fixed"  # go on, for the problems of the rest
    pose, relative = read_pose(element, reading)
    mimics = []
    for tag in ("axis", "axis2"):
        axis = only_child(element, tag, problems)
        mimic = None if axis is None else only_child(axis, "mimic", problems)
        if mimic is not None:
            leader = scope + name_of(mimic, problems, "joint")
            numbers = (child_number(mimic, key, reading, usual) for key, usual in _MIMIC)
            mimics.append((leader, *numbers))
    joint = SdfJoint(
        name,
        element.line,
        KINDS[kind],
        parent,
        child,
        pose,
        named(relative) if relative else "",
        axes,
        _pitch(element, kind, reading),
        tuple(mimics),  # type: ignore[arg-type]
    )
    joint.axes = tuple(np.array(axis.xyz) for axis in axes)
    try:
        joint.made(np.eye(3))
    except InputError as error:
        problems.add(element.line, str(error))
        return None
    return joint


_MIMIC = (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))


def _pitch(element: Element, kind: str, reading: Reading) -> float:
    """Travel of a screw, m/rad: screw_thread_pitch in m per turn, or the older thread_pitch in -rad/m."""
    if kind != "screw":
        return 0.0
    if element.take("screw_thread_pitch"):
        return child_number(element, "screw_thread_pitch", reading, 1.0) / (2.0 * math.pi)
    older = child_number(element, "thread_pitch", reading, 1.0)
    if older == 0.0:
        reading.problems.add(element.line, "<thread_pitch>: got 0, expected rad/m")
        return 0.0
    return -1.0 / older


def _read_axis(element: Element, tag: str, name: str, named: Callable[[str], str], reading: Reading) -> SdfAxis:
    axis = only_child(element, tag, reading.problems)
    if axis is None:
        return SdfAxis((0.0, 0.0, 1.0) if tag == "axis" else (1.0, 0.0, 0.0), "", dict(_NOTHING))
    direction = only_child(axis, "xyz", reading.problems)
    expressed = "" if direction is None else direction.get("expressed_in") or ""
    if child_flag(axis, "use_parent_model_frame", reading):
        expressed = MODEL
    xyz = tuple(child_numbers(axis, "xyz", 3, reading, (0.0, 0.0, 1.0)))
    options = dict(_NOTHING)
    dynamics = only_child(axis, "dynamics", reading.problems)
    if dynamics is not None:
        for key, option in _DYNAMICS.items():
            options[option] = child_number(dynamics, key, reading, 0.0)
    limit = only_child(axis, "limit", reading.problems)
    if limit is not None:
        _read_limits(limit, name, options, reading)
    return SdfAxis(xyz, named(expressed) if expressed else "", options)


_DYNAMICS = {
    "damping": "damping",
    "friction": "coulomb",
    "spring_stiffness": "stiffness",
    "spring_reference": "spring_rest",
}
_NOTHING = {"damping": 0.0, "coulomb": 0.0, "stiffness": 0.0, "spring_rest": 0.0, "lower": -math.inf, "upper": math.inf}


def _read_limits(limit: Element, name: str, options: dict[str, float], reading: Reading) -> None:
    lower, upper = child_number(limit, "lower", reading, -NO_LIMIT), child_number(limit, "upper", reading, NO_LIMIT)
    if lower > upper:
        reading.notes.doubt(f'line {limit.line}: joint "{name}": lower limit {lower:g} above upper {upper:g}; unused')
    else:
        options["lower"] = lower if lower > -NO_LIMIT else -math.inf
        options["upper"] = upper if upper < NO_LIMIT else math.inf
    for key, option in (("effort", "effort_limit"), ("velocity", "velocity_limit")):
        value = child_number(limit, key, reading, -1.0)
        if value >= 0.0:
            options[option] = value
