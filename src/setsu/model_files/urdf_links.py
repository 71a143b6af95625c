"""URDF <link>: inertia, visual and collision shapes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism.elements import Pose, Shape
from setsu.model_files.fields import name_of, number, only_child, vector
from setsu.model_files.reading import Reading, checked_inertia, read_origin
from setsu.model_files.xml_tree import Element

__all__ = ["UrdfLink", "read_link", "read_materials"]

Colors = dict[str, tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class UrdfLink:
    """A link: mass (kg), center of mass (m, link frame), inertia about it in link axes (kg m²), shapes, file line."""

    name: str
    line: int
    mass: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]
    visuals: tuple[Shape, ...]
    collisions: tuple[Shape, ...]

    @property
    def is_bare(self) -> bool:
        """Whether the link is a frame only: no mass, no inertia, no shapes."""
        return self.mass == 0.0 and not self.inertia.any() and not self.visuals and not self.collisions


def read_materials(robot: Element, reading: Reading) -> Colors:
    """Return the colors (r g b a) of the named materials declared for the whole robot."""
    colors: Colors = {}
    for element in robot.take("material"):
        with only_looks(element, reading):
            name = name_of(element, reading.problems)
            color = only_child(element, "color", reading.problems)
            if color is not None:
                colors[name] = vector(color, "rgba", 4, reading.problems)
    return colors


@contextmanager
def only_looks(element: Element, reading: Reading) -> Iterator[None]:
    """Problems found inside concern the looks of a robot, not its dynamics: they become warnings."""
    before = len(reading.problems.found)
    yield
    found = reading.problems.found[before:]
    del reading.problems.found[before:]
    for line, what in found:
        reading.notes.doubt(f"line {line}: {what}; this <{element.tag}> may look wrong or be left out")


def read_link(element: Element, colors: Colors, reading: Reading) -> UrdfLink:
    """Read one <link>."""
    problems = reading.problems
    name = name_of(element, problems)
    mass, center, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    inertial = only_child(element, "inertial", problems)
    if inertial is not None:
        T = read_origin(only_child(inertial, "origin", problems), reading)
        mass_element = only_child(inertial, "mass", problems, required=True)
        if mass_element is not None:
            mass = number(mass_element, "value", problems, minimum=0.0)
        center = T[:3, 3]
        moments = only_child(inertial, "inertia", problems, required=True)
        if moments is not None:
            xx, xy, xz, yy, yz, zz = (
                number(moments, key, problems) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            )
            given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            # Given in the inertial frame; wanted in the axes of the link.
            turned = matmul(T[:3, :3], given, T[:3, :3].T)
            inertia = checked_inertia(name, mass, center, turned, reading, inertial.line)
    visuals = tuple(shape for part in element.take("visual") for shape in _read_shape(part, colors, reading))
    collisions = tuple(shape for part in element.take("collision") for shape in _read_shape(part, colors, reading))
    return UrdfLink(name, element.line, mass, center, inertia, visuals, collisions)


def _read_shape(element: Element, colors: Colors, reading: Reading) -> list[Shape]:
    """Read a <visual> or <collision>; a list of one shape, empty, with a warning, when something is wrong with it."""
    with only_looks(element, reading):
        return _shape_in(element, colors, reading)
    return []


def _shape_in(element: Element, colors: Colors, reading: Reading) -> list[Shape]:
    problems = reading.problems
    element.get("name")
    pose = Pose.of(read_origin(only_child(element, "origin", problems), reading), f"line {element.line} <origin>")
    color: tuple[float, ...] = ()
    # Of two materials the first is taken, which the warning says.
    material = only_child(element, "material", problems)
    if material is not None:
        own_color = only_child(material, "color", problems)
        name = material.get("name") or ""
        color = (
            colors.get(name, ()) if own_color is None else vector(own_color, "rgba", 4, problems, (0.5, 0.5, 0.5, 1.0))
        )
        if own_color is not None:
            colors.setdefault(name, color)
    geometry = only_child(element, "geometry", problems, required=True)
    if geometry is None:
        return []
    for kind in ("box", "sphere", "cylinder", "capsule", "mesh"):
        solid = only_child(geometry, kind, problems)
        if solid is not None:
            size, mesh = _read_solid(kind, solid, reading)
            try:
                return [Shape(kind, size, pose, mesh, color)]
            except InputError as error:
                problems.add(solid.line, str(error))
                return []
    got = ", ".join(f"<{child.tag}>" for child in geometry.children[:3]) or "nothing"
    problems.add(geometry.line, f"<geometry>: got {got}, expected <box>, <sphere>, <cylinder>, <capsule> or <mesh>")
    return []


def _read_solid(kind: str, element: Element, reading: Reading) -> tuple[tuple[float, ...], str]:
    """Return the size (see Shape) and the mesh file."""
    problems = reading.problems
    if kind == "mesh":
        name = name_of(element, problems, "filename")
        found = reading.meshes.find(name) if name else None
        if name and found is None:
            reading.notes.missing_meshes[name] = None
        return vector(element, "scale", 3, problems, (1.0, 1.0, 1.0)), found or name
    if kind == "box":
        size = vector(element, "size", 3, problems)
        if min(size) < 0.0:
            problems.add(element.line, f'<box size="...">: got {size}, expected lengths of at least 0')
        return size, ""
    keys = ("radius",) if kind == "sphere" else ("radius", "length")
    return tuple(number(element, key, problems, minimum=0.0) for key in keys), ""
