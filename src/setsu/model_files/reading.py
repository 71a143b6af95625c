"""What the readers of one file share: problems, notes, mesh finder; and how a rigid body's parts become its inertia."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism.inertia import inertia_report, repair_inertia
from setsu.model_files.fields import Problems, vector
from setsu.model_files.meshes import MeshFinder
from setsu.model_files.report import Notes
from setsu.model_files.xml_tree import Element
from setsu.spatial import placement

__all__ = ["RIGHT_ANGLE_TOLERANCE", "Reading", "checked_inertia", "exact_angle", "free_name", "read_origin"]

RIGHT_ANGLE_TOLERANCE = 5e-11
"""An angle this near (rad) to a multiple of pi/2 is one: pi/2 with 11 digits is off by 5e-12, 1.5708 by 4e-6."""


@dataclass
class Reading:
    """One file being read."""

    problems: Problems
    notes: Notes
    meshes: MeshFinder
    repair: bool = False
    snap_angles: bool = True

    def angle(self, given: float, line: int) -> float:
        """Return an angle (rad), a multiple of pi/2 made exact where it was rounded, which is counted."""
        used = exact_angle(given) if self.snap_angles else given
        if given != used:
            self.notes.round_angle(line)
        return used


def exact_angle(angle: float) -> float:
    """Return the multiple of pi/2 that an angle (rad) was rounded from, or the angle itself.

    >>> exact_angle(1.57079632679) == math.pi / 2, exact_angle(1.5708)
    (True, 1.5708)
    """
    nearest = round(angle / (math.pi / 2)) * (math.pi / 2)
    return nearest if abs(angle - nearest) <= RIGHT_ANGLE_TOLERANCE else angle


def read_origin(element: Element | None, reading: Reading) -> NDArray[np.float64]:
    """Return the 4x4 placement of a URDF <origin xyz="..." rpy="...">; the identity when there is none.

    Angles within RIGHT_ANGLE_TOLERANCE of a multiple of pi/2 are taken as exact, so that the zeros of the geometry are
    zeros; 1.5708 stays what it is. `load(..., snap_angles=False)` keeps every angle.
    """
    if element is None:
        return np.eye(4)
    xyz = vector(element, "xyz", 3, reading.problems, (0.0, 0.0, 0.0))
    rpy = vector(element, "rpy", 3, reading.problems, (0.0, 0.0, 0.0))
    return placement(xyz, rpy=tuple(reading.angle(angle, element.line) for angle in rpy))


def checked_inertia(
    name: str,
    mass: float,
    center_of_mass: NDArray[np.float64],
    inertia: NDArray[np.float64],
    reading: Reading,
    line: int,
) -> NDArray[np.float64]:
    """Warn of a non-physical inertia (3x3 about the center of mass, kg m²), or repair it where that is wanted."""
    inertia = 0.5 * (inertia + inertia.T)
    if not inertia.any():
        return inertia
    report = inertia_report(mass, center_of_mass, inertia, name)
    if report.valid:
        return inertia
    reading.notes.inertia_problems.append(str(report))
    if not reading.repair:
        what = f"non-physical inertia of {report}"
        reading.notes.doubt(f"line {line}: {what}" if line else what)
        return inertia
    reading.notes.repaired.append(name)
    return repair_inertia(mass, center_of_mass, inertia)


def free_name(wanted: str, taken: set[str] | dict[str, object]) -> str:
    """Return `wanted`, with underscores added until it is not taken."""
    while wanted in taken:
        wanted += "_"
    return wanted
