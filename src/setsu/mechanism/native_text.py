"""The native text format: TOML with one block per body, loop, coupling, spring, tendon, site, actuator, keyframe, fluid
box and group of contact points.

    format = 1
    name = "pendulum"
    gravity = [0.0, 0.0, -9.81]           # m/s²; this value when left out

    [[body]]
    name = "rod"
    parent = "world"                      # "world" when left out
    joint = { type = "Revolute", name = "hinge", axis = [0.0, 1.0, 0.0], damping = 0.1 }   # Fixed when left out
    translation = [0.0, 0.0, 1.0]         # joint frame in the parent, m
    rotation = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]     # row by row; the identity when left out
    mass = 1.0                            # kg
    center_of_mass = [0.0, 0.0, -0.5]     # m
    inertia = [0.1, 0.0, 0.0, 0.1, 0.0, 0.0]      # Ixx Ixy Ixz Iyy Iyz Izz about the center of mass, kg m²

Named lengths and angles stand beside their numbers: a table `symbols = { a3 = 0.7 }` at the top, and expressions
`translation_names = ["a3", "", ""]` (also rotation_names, and with _a or _b in loops), empty where there is no name.

Numbers are written with all their digits, so that reading a file gives back the mechanism to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path

from setsu.errors import InputError, ModelFileError
from setsu.mechanism.actuators import Actuator, Keyframe
from setsu.mechanism.elements import WORLD, Body, ContactPoint, Coupling, Loop, Material, Pose, Shape, Site, Spring
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment, Tendon
from setsu.mechanism.joints import Fixed, Joint
from setsu.mechanism.mjcf_text import to_mjcf
from setsu.mechanism.native_reader import FORMAT, MAXIMUM_BYTES, from_text
from setsu.mechanism.record import Mechanism
from setsu.mechanism.urdf_text import to_urdf
from setsu.named_numbers import NamedNumber
from setsu.spatial import file_path

__all__ = ["from_text", "named_symbols", "read", "save", "to_text"]

Value = str | float | int | Sequence["Value"] | Mapping[str, "Value"]
Entries = Iterator[tuple[str, Value]]


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Write a mechanism in the format its name ends in: .toml (`read` gives back an equal one), .urdf, .xml, .mjcf."""
    ending = file_path(path, "save").suffix.lower()
    if ending not in _WRITERS:
        raise InputError(f"save: expected a name that ends in {', '.join(_WRITERS)}, got {str(path)!r}")
    text = _WRITERS[ending](mechanism, str(path))
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def read(path: str | Path) -> Mechanism:
    """Read a mechanism from a text file; ModelFileError with every problem found when it is not sound."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise ModelFileError(str(path), [f"{path}: cannot be read: {error.strerror or error}"]) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) <= MAXIMUM_BYTES:
            line = data.count(b"\n", 0, error.start) + 1
            problem = f"{path}:{line}: expected UTF-8 text, got byte {data[error.start]:#04x}"
            raise ModelFileError(str(path), [problem]) from None
        text = data.decode("utf-8", errors="replace")
    return from_text(text, str(path))


def to_text(mechanism: Mechanism) -> str:
    """Return the text of a mechanism; equal mechanisms give equal text.

    >>> from setsu.mechanism import MechanismBuilder
    >>> print(to_text(MechanismBuilder("nothing", gravity=(0, 0, 0)).build()), end="")
    format = 1
    name = "nothing"
    gravity = [0.0, 0.0, 0.0]
    """
    header = {"format": FORMAT, "name": mechanism.name, "gravity": mechanism.gravity}
    if symbols := named_symbols(mechanism):
        header["symbols"] = symbols
    if mechanism.reference:
        header["reference_configuration"] = mechanism.reference
    if mechanism.independent:
        header["independent"] = mechanism.independent
    if mechanism.compensation_by_actuators:
        header["gravity_compensation_by"] = "actuators"
    if mechanism.missing:
        header["missing"] = mechanism.missing
    if mechanism.excluded:
        header["excluded"] = mechanism.excluded
    if mechanism.fluid is not None:
        header["fluid"] = dict(_fluid(mechanism.fluid))
    blocks = ["".join(_lines(header.items()))]
    blocks += [_block("body", _body(body)) for body in mechanism.bodies]
    blocks += [_block("loop", _loop(loop)) for loop in mechanism.loops]
    blocks += [_block("coupling", _coupling(coupling)) for coupling in mechanism.couplings]
    blocks += [_block("spring", _spring(spring)) for spring in mechanism.springs]
    blocks += [_block("tendon", _tendon(tendon)) for tendon in mechanism.tendons]
    blocks += [_block("site", _site(site)) for site in mechanism.sites]
    blocks += [_block("actuator", _actuator(actuator)) for actuator in mechanism.actuators]
    blocks += [_block("keyframe", _keyframe(key)) for key in mechanism.keys]
    blocks += [_block("fluid_box", _fluid_box(box)) for box in (mechanism.fluid.boxes if mechanism.fluid else ())]
    alike = itertools.groupby(mechanism.contact_points, lambda point: (point.body, point.material, point.radius))
    blocks += [_block("contact_points", _contact_points(list(points))) for _, points in alike]
    return "\n".join(blocks)


_WRITERS: dict[str, Callable[[Mechanism, str], str]] = {
    ".toml": lambda mechanism, _: to_text(mechanism),
    ".urdf": to_urdf,
    ".xml": to_mjcf,
    ".mjcf": to_mjcf,
}


def _body(body: Body) -> Entries:
    yield "name", body.name
    if body.parent != WORLD:
        yield "parent", body.parent
    joint = dict(_joint(body.joint, f"{body.name}_joint"))
    if joint != {"type": Fixed.__name__}:
        yield "joint", joint
    yield from _pose(body.pose)
    if body.mass:
        yield "mass", body.mass
    if any(body.center_of_mass):
        yield "center_of_mass", body.center_of_mass
    if any(body.inertia):
        yield "inertia", body.inertia
    if body.gravity_compensation:
        yield "gravity_compensation", body.gravity_compensation
    for key, shapes in (("visuals", body.visuals), ("collisions", body.collisions)):
        if shapes:
            yield key, [dict(_shape(shape)) for shape in shapes]


def _joint(joint: Joint, usual_name: str) -> Entries:
    yield "type", type(joint).__name__
    if joint.name != usual_name:
        yield "name", joint.name
    for option in fields(joint):
        value = getattr(joint, option.name)
        if option.name == "name" or (option.name == "axis" and not joint.has_axis):
            continue
        default = option.default if option.default is not MISSING else None
        if isinstance(value, tuple) and not isinstance(default, tuple):
            # One number per axis: a default is left out, and a number that serves all axes is written once.
            if all(entry == default for entry in value):
                continue
            value = value[0] if len(set(value)) == 1 else value
        if value != default:
            yield option.name, value


def _pose(pose: Pose, suffix: str = "") -> Entries:
    if any(pose.translation):
        yield f"translation{suffix}", pose.translation
    if pose.rotation != Pose().rotation:
        yield f"rotation{suffix}", pose.rotation
    for key, numbers in (("translation", pose.translation), ("rotation", pose.rotation)):
        if any(isinstance(number, NamedNumber) for number in numbers):
            yield f"{key}_names{suffix}", [getattr(number, "expression", "") for number in numbers]


def named_symbols(mechanism: Mechanism) -> dict[str, float]:
    """Return the symbols of all placements with their values; InputError when one name has two values."""
    poses = [body.pose for body in mechanism.bodies]
    poses += [pose for loop in mechanism.loops for pose in (loop.pose_a, loop.pose_b)]
    symbols: dict[str, float] = {}
    for number in (entry for pose in poses for entry in (*pose.translation, *pose.rotation)):
        for name, value in getattr(number, "symbols", {}).items():
            if symbols.setdefault(name, value) != value:
                what = f'mechanism "{mechanism.name}", symbol "{name}"'
                raise InputError(f"{what}: expected one value, got {symbols[name]} and {value}")
    return symbols


def _shape(shape: Shape) -> Entries:
    yield "kind", shape.kind
    yield "size", shape.size
    yield from _pose(shape.pose)
    if shape.mesh:
        yield "mesh", shape.mesh
    if shape.color:
        yield "color", shape.color
    for key in ("contype", "conaffinity"):
        if getattr(shape, key) != 1:
            yield key, getattr(shape, key)
    if shape.material is not None:
        yield from _material(shape.material)


def _loop(loop: Loop) -> Entries:
    yield "name", loop.name
    yield "body_a", loop.body_a
    yield "body_b", loop.body_b
    yield "joint", dict(_joint(loop.joint, loop.name))
    yield from _pose(loop.pose_a, "_a")
    yield from _pose(loop.pose_b, "_b")


def _coupling(coupling: Coupling) -> Entries:
    yield "name", coupling.name
    yield "factors", dict(coupling.factors)
    if coupling.offset:
        yield "offset", coupling.offset
    if coupling.polynomial:
        yield "polynomial", coupling.polynomial
        yield "argument", dict(coupling.argument)
    if coupling.reference:
        yield "reference", coupling.reference


def _spring(spring: Spring) -> Entries:
    yield "name", spring.name
    yield "body_a", spring.body_a
    yield "point_a", spring.point_a
    yield "body_b", spring.body_b
    yield "point_b", spring.point_b
    yield "stiffness", spring.stiffness
    if spring.rest_length:
        yield "rest_length", spring.rest_length
    if spring.damping:
        yield "damping", spring.damping


def _fluid(fluid: Fluid) -> Entries:
    yield "density", fluid.density
    yield "viscosity", fluid.viscosity
    yield "wind", fluid.wind


def _fluid_box(box: FluidBox) -> Entries:
    yield "body", box.body
    yield "size", box.size
    yield from _pose(box.pose)


def _site(site: Site) -> Entries:
    yield "name", site.name
    yield "body", site.body
    yield from _pose(site.pose)


def _tendon(tendon: Tendon) -> Entries:
    yield "name", tendon.name
    if tendon.joints:
        yield "joints", dict(tendon.joints)
    if tendon.segments:
        yield "segments", [dict(_segment(segment)) for segment in tendon.segments]
    for key in ("stiffness", "rest", "damping", "lower", "upper"):
        value = getattr(tendon, key)
        if value != Tendon.__dataclass_fields__[key].default:
            yield key, value


def _segment(segment: Segment) -> Entries:
    yield "body_a", segment.body_a
    yield "point_a", segment.point_a
    yield "body_b", segment.body_b
    yield "point_b", segment.point_b
    if segment.factor != 1.0:
        yield "factor", segment.factor


def _actuator(actuator: Actuator) -> Entries:
    yield "name", actuator.name
    for part in fields(Actuator)[1:]:
        value = getattr(actuator, part.name)
        if value != part.default:
            yield part.name, 1 if value is True else value


def _keyframe(key: Keyframe) -> Entries:
    yield "name", key.name
    yield "q", key.coordinates
    if any(key.velocities):
        yield "v", key.velocities
    if any(key.controls):
        yield "control", key.controls


_OLDEST = ("static_friction", "kinetic_friction", "restitution")


def _contact_points(points: list[ContactPoint]) -> Entries:
    first = points[0]
    yield "body", first.body
    yield "positions", [point.position for point in points]
    if first.radius:
        yield "radius", first.radius
    if first.material != Material():
        yield from _material(first.material)


def _material(material: Material) -> Entries:
    for part in fields(Material):
        value = getattr(material, part.name)
        # What came later is written where it differs.
        if part.name in _OLDEST or value != part.default:
            yield part.name, value


def _block(title: str, entries: Entries) -> str:
    return f"[[{title}]]\n" + "".join(_lines(entries))


def _lines(entries: Iterable[tuple[str, Value]]) -> Iterator[str]:
    for key, value in entries:
        yield f"{key} = {_value(value)}\n"


def _value(value: Value, depth: int = 0) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(entry, depth + 1)}" for key, entry in value.items())
        return f"{{ {inside} }}"
    if depth == 0 and value and not isinstance(value[0], (int, float, str)):
        # Shapes and points stand one per line.
        return "[\n" + "".join(f"    {_value(entry, 1)},\n" for entry in value) + "]"
    return "[" + ", ".join(_value(entry, depth + 1) for entry in value) + "]"


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else _quoted(key)


def _quoted(text: str) -> str:
    def escaped(character: str) -> str:
        if character in '"\\':
            return "\\" + character
        return f"\\u{ord(character):04x}" if ord(character) < 32 or ord(character) == 127 else character

    return '"' + "".join(map(escaped, text)) + '"'
