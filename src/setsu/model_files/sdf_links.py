"""SDF <link>: inertia, visual and collision shapes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism.elements import Material, Pose, Shape
from setsu.model_files.fields import only_child
from setsu.model_files.reading import Reading, checked_inertia
from setsu.model_files.sdf_fields import child_number, child_numbers, child_text, read_pose
from setsu.model_files.xml_tree import Element

__all__ = ["SdfLink", "read_link"]


@dataclass(frozen=True, eq=False)
class SdfLink:
    """A link: mass (kg), center of mass (m, link frame), inertia about it in link axes (kg m²), shapes, file line."""

    name: str
    line: int
    mass: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]
    visuals: tuple[Shape, ...]
    collisions: tuple[Shape, ...]


def read_link(element: Element, name: str, reading: Reading) -> SdfLink:
    """Read one <link>; without <inertial> it has SDF's mass of 1 kg and moments of 1 kg m², which is noted."""
    problems = reading.problems
    inertial = only_child(element, "inertial", problems)
    if inertial is None:
        reading.notes.doubt(f'line {element.line}: link "{name}" without <inertial> has 1 kg and 1 kg m², as SDF says')
        inertial = Element("inertial", {}, element.line)
    T, relative = read_pose(inertial, reading)
    if relative:
        problems.add(inertial.line, f'<inertial>: pose relative to "{relative}", expected one in the frame of its link')
    mass = child_number(inertial, "mass", reading, 1.0)
    if mass < 0.0:
        problems.add(inertial.line, f'link "{name}": got a mass of {mass:g}, expected at least 0')
        mass = 0.0
    moments = only_child(inertial, "inertia", problems) or Element("inertia", {}, element.line)
    xx, yy, zz = (child_number(moments, key, reading, 1.0) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (child_number(moments, key, reading, 0.0) for key in ("ixy", "ixz", "iyz"))
    given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    center = T[:3, 3]
    inertia = checked_inertia(name, mass, center, T[:3, :3] @ given @ T[:3, :3].T, reading, inertial.line)
    shapes = {
        tag: tuple(shape for part in element.take(tag) for shape in _read_shape(part, reading))
        for tag in ("visual", "collision")
    }
    return SdfLink(name, element.line, mass, center, inertia, shapes["visual"], shapes["collision"])


def _read_shape(element: Element, reading: Reading) -> list[Shape]:
    """The shape of a <visual> or <collision>; none, with a doubt noted, when it cannot be used: it is only looks."""
    before = len(reading.problems.found)
    element.get("name")
    T, relative = read_pose(element, reading)
    geometry = only_child(element, "geometry", reading.problems)
    shape: list[Shape] = []
    if relative:
        reading.notes.doubt(f'line {element.line}: <{element.tag}> is left out: its pose is relative to "{relative}"')
    elif geometry is not None:
        try:
            shape = _read_geometry(geometry, Pose.of(T, "shape pose"), _color(element, reading), reading)
            material = _material(element, reading)
            shape = [dataclasses.replace(each, material=material) for each in shape] if material else shape
        except InputError as error:
            reading.notes.doubt(f"line {element.line}: <{element.tag}> is left out: {error}")
    cosmetic = reading.problems.found[before:]
    del reading.problems.found[before:]
    for line, what in cosmetic:
        reading.notes.doubt(f"line {line}: {what}; this <{element.tag}> may be wrong")
    return shape


def _material(element: Element, reading: Reading) -> Material | None:
    """Friction and restitution of a <collision>; None where it says nothing of them."""
    surface = only_child(element, "surface", reading.problems)
    friction = surface and only_child(surface, "friction", reading.problems)
    ode = friction and only_child(friction, "ode", reading.problems)
    bounce = surface and only_child(surface, "bounce", reading.problems)
    if ode is None and bounce is None:
        return None
    mu = child_number(ode, "mu", reading, 1.0) if ode else Material().static_friction
    across = child_number(ode, "mu2", reading, mu) if ode else mu
    if across != mu:
        reading.notes.doubt(f"line {element.line}: friction mu {mu:g} and mu2 {across:g}: the first is taken for both")
    back = child_number(bounce, "restitution_coefficient", reading, 0.0) if bounce else 0.0
    return Material(mu, mu, back)


def _color(element: Element, reading: Reading) -> tuple[float, ...]:
    material = only_child(element, "material", reading.problems)
    if material is None:
        return ()
    for tag in ("diffuse", "ambient"):
        text = child_text(material, tag, reading)
        if text:
            numbers = [float(token) for token in text.split() if token.replace(".", "", 1).isdigit()]
            return tuple(numbers) if len(numbers) in (3, 4) else ()
    return ()


def _read_geometry(geometry: Element, pose: Pose, color: tuple[float, ...], reading: Reading) -> list[Shape]:
    for solid in geometry.children:
        solid.used = True
        match solid.tag:
            case "box":
                return [Shape("box", tuple(child_numbers(solid, "size", 3, reading, (1.0,) * 3)), pose, color=color)]
            case "sphere":
                return [Shape("sphere", (child_number(solid, "radius", reading, 1.0),), pose, color=color)]
            case "cylinder" | "capsule":
                size = (child_number(solid, "radius", reading, 1.0), child_number(solid, "length", reading, 1.0))
                return [Shape(solid.tag, size, pose, color=color)]
            case "ellipsoid":
                radii = tuple(child_numbers(solid, "radii", 3, reading, (1.0,) * 3))
                return [Shape("ellipsoid", radii, pose, color=color)]
            case "mesh":
                name = child_text(solid, "uri", reading, required=True)
                found = reading.meshes.find(name) if name else None
                if name and found is None:
                    reading.notes.missing_meshes[name] = None
                scale = tuple(child_numbers(solid, "scale", 3, reading, (1.0,) * 3))
                return [Shape("mesh", scale, pose, found or name, color)] if name else []
            case "empty":
                reading.notes.ignore(f"geometry/{solid.tag}", solid.line)
            case _:
                reading.notes.doubt(f"line {solid.line}: geometry <{solid.tag}> is left out: it is no solid known here")
    return []
