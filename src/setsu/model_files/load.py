"""Read a model file of any known format into a mechanism."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from numpy.typing import ArrayLike

from setsu.errors import InputError, ModelFileError
from setsu.mechanism.collision_points import with_contact_points
from setsu.mechanism.elements import Material
from setsu.mechanism.inertia import inertia_report
from setsu.mechanism.native_text import from_text
from setsu.mechanism.record import Mechanism
from setsu.mechanism.surgery import repaired
from setsu.model_files.contact_filters import srdf_beside, with_srdf
from setsu.model_files.fields import LARGEST_NUMBER
from setsu.model_files.report import LoadReport, warn
from setsu.model_files.sidecar import sidecar_beside, with_sidecar
from setsu.model_files.urdf import mechanism_from_urdf
from setsu.model_files.xacro_package import expanded
from setsu.model_files.xml_tree import MAX_FILE_BYTES, parse_xml
from setsu.spatial import finite_vector

__all__ = ["load", "load_with_report"]

DEFAULT_GRAVITY = (0.0, 0.0, -9.81)
EXTENSIONS = (".urdf", ".xml", ".mjcf", ".sdf", ".xacro", ".toml")
TEXT_FORMATS = {"urdf": ".urdf", "mjcf": ".xml", "xml": ".xml", "sdf": ".sdf", "toml": ".toml"}

StrPath = str | os.PathLike[str]


def load(
    path: StrPath | None = None,
    *,
    text: str | None = None,
    format: str | None = None,
    mesh_folder: StrPath | None = None,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    package_dirs: Sequence[StrPath] | StrPath = (),
    repair: bool = False,
    contact_points: bool | Material = False,
    loops: StrPath | None = None,
    srdf: StrPath | None = None,
    snap_angles: bool = True,
) -> Mechanism:
    """Return the mechanism in a model file: .urdf, .xml or .mjcf (MJCF, or URDF by its root element), .sdf, .toml.

    Args:
        path: the file; a .xacro file is expanded when the package xacro or xacrodoc is installed.
        text: the model itself instead of a file, such as ROS's robot_description; `format` says what it is ("urdf",
            "mjcf", "sdf" or "toml"), `mesh_folder` where its relative mesh names begin.
        floating_base: URDF only: put a free joint "root_joint" between the world and the root link.
        gravity: m/s², world axes, (3,); None takes the file's own (MJCF, SDF, native), or (0, 0, -9.81) for URDF.
        package_dirs: folders that hold (or are) the packages of `package://` mesh names.
        repair: replace inertias no real body can have by the nearest possible one; else they are kept, with a warning.
        contact_points: True or a Material: add contact points from the file's collision shapes, as
            `setsu.with_contact_points` does with more to choose from.
        loops: a file of loops and couplings (TOML or YAML) for a robot whose own file has none; one called
            NAME.loops.toml or NAME.loops.yaml beside NAME.urdf is found by itself.
        srdf: whose pairs of `<disable_collisions>` never touch in runs; NAME.srdf beside NAME.urdf, or in a folder
            srdf beside its folder, is found by itself. An MJCF has its own excludes, contype and conaffinity.
        snap_angles: take angles of URDF and SDF within 5e-11 rad of a multiple of pi/2 as exact.

    What the file says about topology, mass or force and what the mechanism does not have is a ModelWarning, one each,
    and listed in `Mechanism.missing`.

    Raises:
        ModelFileError: the file cannot be read; the message lists all problems with their lines.

    >>> load(text="<robot name='r'><link name='base'/></robot>", format="urdf").name
    'r'
    """
    mechanism, _ = load_with_report(
        path,
        text=text,
        format=format,
        mesh_folder=mesh_folder,
        floating_base=floating_base,
        gravity=gravity,
        package_dirs=package_dirs,
        repair=repair,
        contact_points=contact_points,
        loops=loops,
        srdf=srdf,
        snap_angles=snap_angles,
    )
    return mechanism


def load_with_report(
    path: StrPath | None = None,
    *,
    text: str | None = None,
    format: str | None = None,
    mesh_folder: StrPath | None = None,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    package_dirs: Sequence[StrPath] | StrPath = (),
    repair: bool = False,
    contact_points: bool | Material = False,
    loops: StrPath | None = None,
    srdf: StrPath | None = None,
    snap_angles: bool = True,
) -> tuple[Mechanism, LoadReport]:
    """Like `load`, and also return what was ignored, repaired or doubtful in the file.

    >>> mechanism, report = load_with_report("robot.urdf")       # doctest: +SKIP
    >>> print(report)                                            # doctest: +SKIP
    """
    if not isinstance(contact_points, bool | Material):
        raise InputError(f"load: contact_points: expected True, False or a Material, got {contact_points!r:.80}")
    source = _source(path, text, format, mesh_folder)
    if isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = [package_dirs]
    mechanism, report = _read(source, floating_base, gravity, package_dirs, repair, snap_angles)
    loop_file = sidecar_beside(source.name) if loops is None and text is None else loops
    if loop_file is not None:
        mechanism = with_sidecar(mechanism, os.fspath(loop_file))
        report = dataclasses.replace(report, notes=(*report.notes, f"loops and couplings from {loop_file}"))
    semantics = srdf_beside(source.name) if srdf is None and text is None and report.format == "URDF" else srdf
    if semantics is not None:
        mechanism, unknown = with_srdf(mechanism, os.fspath(semantics))
        report = dataclasses.replace(
            report, notes=(*report.notes, *_srdf_notes(mechanism, os.fspath(semantics), unknown))
        )
    shapes = sum(len(body.collisions) for body in mechanism.bodies if mechanism.frame(body.name).body >= 0)
    if contact_points is False or not shapes:
        return mechanism, report
    touching = with_contact_points(mechanism, material=contact_points if contact_points is not True else None)
    added = len(touching.contact_points) - len(mechanism.contact_points)
    note = f"{added} contact points from {shapes} collision shape{'' if shapes == 1 else 's'}"
    return touching, dataclasses.replace(report, notes=(*report.notes, note))


def _srdf_notes(mechanism: Mechanism, path: str, unknown: tuple[str, ...]) -> tuple[str, ...]:
    """What was read of an SRDF; a ModelWarning names links that the robot does not have."""
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        warn(f"{path}: disable_collisions of links that {mechanism.name} does not have: {', '.join(unknown[:5])}{more}")
    return (f"{len(mechanism.excluded)} pairs of bodies that never touch from {path}",)


@dataclasses.dataclass(frozen=True)
class _Source:
    """What is read: a name for messages that also says where meshes are, the content, the extension that fits it."""

    name: str
    data: bytes
    extension: str
    is_text: bool = False


def _source(path: StrPath | None, text: str | None, format: str | None, mesh_folder: StrPath | None) -> _Source:
    """Check what is to be loaded and read it."""
    if text is None:
        if path is None:
            raise InputError("load: expected the path of a model file, or text=... with format=...")
        for key, value in (("format", format), ("mesh_folder", mesh_folder)):
            if value is not None:
                raise InputError(f"load: {key} belongs to text=...; a file has its own")
        name, data = _read_bytes(path)
        extension = os.path.splitext(name)[1].lower()
        return _Source(name, expanded(name), ".urdf") if extension == ".xacro" else _Source(name, data, extension)
    if path is not None:
        raise InputError("load: expected a path or text=..., got both")
    if not isinstance(text, str):
        raise InputError(f"load: text: expected a str, got {type(text).__name__}")
    if not isinstance(format, str) or format not in TEXT_FORMATS:
        raise InputError(f"load: format: expected one of {', '.join(TEXT_FORMATS)} beside text, got {format!r}")
    folder = os.fspath(mesh_folder) if mesh_folder is not None else os.curdir
    return _Source(os.path.join(folder, f"text.{format}"), text.encode(), TEXT_FORMATS[format], True)


def _read(
    source: _Source,
    floating_base: bool,
    gravity: ArrayLike | None,
    package_dirs: Sequence[StrPath],
    repair: bool,
    snap_angles: bool,
) -> tuple[Mechanism, LoadReport]:
    """Let the reader of the format read it."""
    name, data, extension = source.name, source.data, source.extension
    if extension == ".toml":
        return _from_native(data, name, floating_base, gravity, repair)
    root = parse_xml(data, name)
    if root.tag == "mujoco" and extension not in (".urdf", ".sdf"):
        if floating_base:
            raise InputError(f"{name}: floating_base is for URDF; an MJCF file says itself which bodies are free")
        from setsu.model_files.mjcf import mechanism_from_mjcf

        text = data.decode("utf-8", "replace") if source.is_text else None
        return mechanism_from_mjcf(root, name, gravity=gravity, repair=repair, text=text)
    if root.tag == "sdf" or extension == ".sdf":
        if root.tag != "sdf":
            raise ModelFileError(name, [f"{name}:{root.line}: root element <{root.tag[:40]}>, expected <sdf>"])
        if floating_base:
            raise InputError(f"{name}: floating_base is for URDF; an SDF model floats unless a joint holds it")
        from setsu.model_files.sdf import mechanism_from_sdf

        options = {"package_dirs": package_dirs, "repair": repair, "snap_angles": snap_angles}
        return mechanism_from_sdf(root, name, gravity=gravity, **options)
    if root.tag != "robot":
        expected = "<robot>" if extension == ".urdf" else "<mujoco> or <robot>"
        raise ModelFileError(name, [f"{name}:{root.line}: root element <{root.tag[:40]}>, expected {expected}"])
    return mechanism_from_urdf(
        root,
        name,
        floating_base=floating_base,
        gravity=DEFAULT_GRAVITY if gravity is None else gravity,
        package_dirs=package_dirs,
        repair=repair,
        snap_angles=snap_angles,
    )


def _read_bytes(path: StrPath) -> tuple[str, bytes]:
    """Return the path as text and the content; what is no readable model file is a ModelFileError."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = path
    if not isinstance(name, str) or not name:
        raise InputError(f"load: expected the path of a model file, got {path!r}")
    if "\0" in name:
        raise InputError(f"load: expected the path of a model file, got {path!r} with a zero character")
    if os.path.isdir(name):
        raise ModelFileError(name, [f"{name}: a folder, expected a model file ({', '.join(EXTENSIONS)})"])
    if not os.path.exists(name):
        raise ModelFileError(name, [f"{name}: no such file"])
    extension = os.path.splitext(name)[1].lower()
    if extension not in EXTENSIONS:
        what = f'got the extension "{extension}"' if extension else "got no extension"
        raise ModelFileError(name, [f"{name}: {what}, expected one of {', '.join(EXTENSIONS)}"])
    try:
        if not os.path.isfile(name):
            raise ModelFileError(name, [f"{name}: not a regular file, expected a model file"])
        size = os.path.getsize(name)
        if size > MAX_FILE_BYTES:
            raise ModelFileError(name, [f"{name}: {size} bytes, expected at most {MAX_FILE_BYTES}"])
        with open(name, "rb") as file:
            return name, file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ModelFileError(name, [f"{name}: cannot be read: {error.strerror or error}"]) from None


def _from_native(
    data: bytes, path: str, floating_base: bool, gravity: ArrayLike | None, repair: bool
) -> tuple[Mechanism, LoadReport]:
    """Read the native text format; gravity may be overridden."""
    if floating_base:
        raise InputError(f"{path}: floating_base is for URDF; the native format says itself which bodies are free")
    if not data.strip():
        raise ModelFileError(path, [f"{path}: the file is empty, expected TOML"])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelFileError(path, [f"{path}:{line}: byte {data[error.start]:#04x}, expected UTF-8 text"]) from None
    mechanism = from_text(text, path)
    _check_magnitudes(mechanism, path)
    if gravity is not None:
        x, y, z = finite_vector(gravity, 3, "gravity").tolist()
        mechanism = dataclasses.replace(mechanism, gravity=(x, y, z))
    reports = [
        inertia_report(body.mass, body.center_of_mass, body.inertia_matrix, body.name) for body in mechanism.bodies
    ]
    doubtful = [report for report in reports if not report.valid]
    for one in doubtful if not repair else ():
        warn(f"{path}{_line_of_name(text, one.name)}: non-physical inertia of {one}")
    report = LoadReport(
        path,
        "native",
        inertia_problems=tuple(str(report) for report in doubtful),
        repaired=tuple(report.name for report in doubtful) if repair else (),
    )
    return repaired(mechanism).mechanism if repair else mechanism, report


def _line_of_name(text: str, name: str) -> str:
    """ ":LINE" of a body of a native file, where its name stands as it is."""
    wanted = f'name = "{name}"'
    found = next((number for number, line in enumerate(text.split("\n"), start=1) if line.strip() == wanted), 0)
    return f":{found}" if found else ""


def _check_magnitudes(mechanism: Mechanism, path: str) -> None:
    """Refuse numbers whose products would overflow, as the XML readers do where they read them."""
    entries: list[tuple[str, tuple[float, ...]]] = [("gravity", mechanism.gravity)]
    for body in mechanism.bodies:
        what = f'body "{body.name}"'
        entries.append((what, (*body.pose.translation, body.mass, *body.center_of_mass, *body.inertia)))
        for key in ("damping", "armature", "coulomb", "stiffness", "spring_rest"):
            entries.append((f'{what}, joint "{body.joint.name}" {key}', getattr(body.joint, key)))
        entries.append((f'{what}, joint "{body.joint.name}" pitch', (getattr(body.joint, "pitch", 0.0),)))
    for loop in mechanism.loops:
        entries.append((f'loop "{loop.name}"', (*loop.pose_a.translation, *loop.pose_b.translation)))
    for coupling in mechanism.couplings:
        entries.append((f'coupling "{coupling.name}"', (coupling.offset, *(factor for _, factor in coupling.factors))))
        entries.append((f'coupling "{coupling.name}" polynomial', (*coupling.polynomial, coupling.reference)))
    for spring in mechanism.springs:
        numbers = (*spring.point_a, *spring.point_b, spring.stiffness, spring.rest_length, spring.damping)
        entries.append((f'spring "{spring.name}"', numbers))
    for point in mechanism.contact_points:
        entries.append((f'contact point of "{point.body}"', (*point.position, point.radius)))
    problems = [
        f"{path}: {what}: got {max(numbers, key=abs):g}, expected a magnitude up to {LARGEST_NUMBER:g}"
        for what, numbers in entries
        if numbers and max(map(abs, numbers)) > LARGEST_NUMBER
    ]
    if problems:
        raise ModelFileError(path, problems)
