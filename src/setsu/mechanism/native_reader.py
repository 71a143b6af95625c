"""Read the native text format: every problem of a file at once, each with its line where that is known."""

from __future__ import annotations

import dataclasses
import math
import re
import reprlib
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from setsu.errors import InputError, ModelFileError, nearest_names
from setsu.mechanism.actuators import Actuator
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.checked_table import CheckedTable
from setsu.mechanism.elements import WORLD, Material, Pose, Shape
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment
from setsu.mechanism.joints import JOINT_TYPES, Joint, own_options
from setsu.mechanism.loop_constraints import LOOP_CONSTRAINT_TYPES
from setsu.mechanism.record import Mechanism
from setsu.named_numbers import symbol

__all__ = ["FORMAT", "MAXIMUM_BYTES", "from_text"]

FORMAT = 1
"""Version of the format, the first line of every file."""

MAXIMUM_BYTES = 20_000_000
"""Largest file read. A chain of a thousand bodies takes a quarter of a megabyte."""

_MOST_PROBLEMS = 100
_TOP, _NO_LINE = 0, -1
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(\w+)[ \t]*\]\]")
# The parser's time grows with the square of the parts of a dotted key; the format itself uses two at most.
_LONG_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){64}""")
BLOCKS = (
    "body", "loop", "coupling", "spring", "tendon", "site", "actuator", "keyframe", "fluid_box", "contact_points",
)  # fmt: skip
_PER_AXIS = (
    "damping", "armature", "coulomb", "bearing_friction", "bearing_radius", "preload", "stiffness", "spring_rest",
    "lower", "upper", "velocity_limit", "effort_limit",
)  # fmt: skip


def from_text(text: str, path: str = "text") -> Mechanism:
    """Return the mechanism that `text` describes; `path` stands in error messages only.

    >>> from_text('format = 1\\nname = "m"\\n[[body]]\\nname = "a"\\njoint = { type = "Revolute" }').nv
    1

    Raises ModelFileError with every problem found: syntax, unknown keys, wrong types, NaN, unknown names.
    """
    return _Reader(_parsed(text, path), text.split("\n"), path).read()


def _parsed(text: str, path: str) -> dict[str, Any]:
    if len(text) > MAXIMUM_BYTES:
        raise ModelFileError(path, [f"{path}: the text is larger than {MAXIMUM_BYTES // 1_000_000} MB"])
    if long_key := _LONG_KEY.search(text):
        line = text.count("\n", 0, long_key.start()) + 1
        raise ModelFileError(path, [f"{path}:{line}: a dotted key of more than 64 parts"])
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Syntax errors, and whole numbers of thousands of digits, which Python guards against.
        raise ModelFileError(path, [f"{path}: not valid TOML: {error}"]) from None
    except RecursionError:
        raise ModelFileError(path, [f"{path}: not valid TOML: brackets are nested too deeply"]) from None


class _Reader:
    """Walks a parsed document block by block, collecting problems instead of stopping at the first."""

    def __init__(self, document: dict[str, Any], lines: list[str], path: str) -> None:
        self._document = document
        self._lines = lines
        self._path = path
        self._problems: list[str] = []
        self._header_lines: dict[str, list[int]] = {}
        for number, line in enumerate(lines, start=1):
            if header := _HEADER.match(line):
                self._header_lines.setdefault(header[1], []).append(number)
        # Bodies that could not be made, and their joints: what refers to them is not reported a second time.
        self._failed_bodies: set[str] = set()
        self._failed_joints: set[str] = set()
        self._made: set[str] = set()
        self._boxes: list[FluidBox] = []
        self._problems_before = 0

    def read(self) -> Mechanism:
        top = CheckedTable(self._document, "file", lambda message, key: self._add(message, self._line_of(key, _TOP)))
        version = top.number("format", 0)
        if version != FORMAT and not self._problems:
            top.report(f"file format: expected the line `format = {FORMAT}`, got {version:g}", "format")
        name = top.text("name")
        gravity = top.numbers("gravity", 3, (0.0, 0.0, -9.81))
        symbols = self._symbols(top)
        self._reference = top.numbers("reference_configuration", None, ())
        self._missing = top.texts("missing")
        independent = top.texts("independent")
        compensated_by = top.text("gravity_compensation_by", "bodies")
        if compensated_by not in ("bodies", "actuators"):
            top.report(
                f'file gravity_compensation_by: expected "bodies" or "actuators", got {reprlib.repr(compensated_by)}',
                "gravity_compensation_by",
            )
        excluded = top.pairs("excluded")
        self._fluid_table = top.table("fluid")
        blocks = {kind: top.tables(kind) for kind in BLOCKS}
        top.finish()
        try:
            is_named = isinstance(self._document.get("name"), str)
            self._builder = MechanismBuilder(name if is_named else "unnamed", gravity)
        except InputError as error:
            self._add(str(error), _NO_LINE)
            self._builder = MechanismBuilder("unnamed")
        self._builder.warns_of_inertias = False
        self._declared = {entry.get("name") for entry in self._entries("body") if isinstance(entry.get("name"), str)}
        makers = {kind: getattr(self, f"_{kind}") for kind in BLOCKS}
        for kind, tables in blocks.items():
            lines = self._header_lines.get(kind, [])
            for index, table in enumerate(tables):
                table.symbols = symbols
                # Headers written another way (an inline list, a header inside a text) leave the line unknown.
                self._block(makers[kind], kind, table, lines[index] if len(lines) == len(tables) else _NO_LINE)
        self._fluid()
        self._exclude(excluded, top)
        if self._problems:
            raise ModelFileError(self._path, self._problems)
        built = self._builder.build()
        if len(self._reference) not in (0, built.nq):
            problem = f"expected {built.nq} numbers, got {len(self._reference)}"
            raise ModelFileError(self._path, [f"{self._path}: reference_configuration: {problem}"])
        return dataclasses.replace(
            built,
            reference=tuple(self._reference),
            missing=tuple(self._missing),
            independent=tuple(independent),
            compensation_by_actuators=compensated_by == "actuators",
        )

    def _symbols(self, top: CheckedTable) -> dict[str, float]:
        symbols = top.mapping("symbols", required=False)
        for name, value in symbols.items():
            try:
                symbol(name, value)
            except InputError as error:
                top.report(f"file symbols: {error}", "symbols")
        return symbols

    def _entries(self, kind: str) -> list[dict[str, Any]]:
        value = self._document.get(kind)
        return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

    def _block(self, make: Callable[[str, CheckedTable], None], kind: str, table: CheckedTable, line: int) -> None:
        self._problems_before = len(self._problems)
        table.report = lambda message, key: self._add(message, self._line_of(key, line))
        name = table.text("name") if kind not in ("contact_points", "fluid_box") else table.text("body")
        table.what = f"{kind} {reprlib.repr(name)}"
        try:
            make(name, table)
        except InputError as error:
            # Messages run 'body "name" key: ...', so that the word after the name leads to the line.
            key = re.match(rf'\w+ "{re.escape(name)}" (\w+)', str(error))
            self._add(str(error), self._line_of(key[1] if key else "name", line))

    def _add(self, message: str, line: int) -> None:
        self._problems.append(f"{self._path}:{line}: {message}" if line > 0 else f"{self._path}: {message}")
        if len(self._problems) == _MOST_PROBLEMS:
            self._problems.append("reading stopped here; there may be more")
            raise ModelFileError(self._path, self._problems)

    def _line_of(self, key: str, header: int) -> int:
        """Line of `key = ...` in the block under a header line; the header's own when not found."""
        if header == _NO_LINE:
            return header
        pattern = re.compile(r"[ \t]*[\"']?" + re.escape(key) + r"[\"']?[ \t]*=")
        for number in range(header + 1, len(self._lines) + 1):
            line = self._lines[number - 1]
            if _HEADER.match(line):
                break
            if pattern.match(line):
                return number
        return header

    def _is_sound(self, table: CheckedTable, missing: set[str]) -> bool:
        """Whether this block was read without a problem and refers to nothing that is missing since it failed."""
        table.finish()
        return len(self._problems) == self._problems_before and not missing

    def _body(self, name: str, table: CheckedTable) -> None:
        self._failed_bodies.add(name)
        parent = table.text("parent", WORLD)
        joint_table = table.table("joint")
        joint_name = joint_table.text("name", f"{name}_joint") if joint_table is not None else f"{name}_joint"
        joint = self._joint(joint_table, joint_name) if joint_table is not None else None
        self._failed_joints.add(joint_name)
        xx, xy, xz, yy, yz, zz = table.numbers("inertia", 6, (0.0,) * 6)
        pose = table.pose()
        mass = table.number("mass", 0.0)
        center_of_mass = table.numbers("center_of_mass", 3, (0.0, 0.0, 0.0))
        visuals = [shape for entry in table.tables("visuals") for shape in self._shapes(entry)]
        collisions = [shape for entry in table.tables("collisions") for shape in self._shapes(entry)]
        if parent not in self._failed_bodies and parent not in self._made and parent in self._declared:
            table.report(f'{table.what} parent: "{parent}" stands later in the file; parents come first', "parent")
        compensation = table.number("gravity_compensation", 0.0)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if not self._is_sound(table, {parent} & self._failed_bodies - {name}):
            # The body cannot be made, but its numbers may hold more to report.
            trial = MechanismBuilder("trial")
            trial.warns_of_inertias = False
            trial.add_body(name or "unnamed", WORLD, None, pose, mass, center_of_mass, inertia)
            return
        self._builder.add_body(
            name, parent, joint, pose, mass, center_of_mass, inertia, visuals, collisions, compensation
        )
        self._made.add(name)
        self._failed_bodies.discard(name)
        self._failed_joints.discard(joint_name)

    def _loop(self, name: str, table: CheckedTable) -> None:
        body_a, body_b = table.text("body_a"), table.text("body_b")
        joint_table = table.table("joint", required=True)
        kinds = {**JOINT_TYPES, **LOOP_CONSTRAINT_TYPES}
        joint = self._joint(joint_table, joint_table.text("name", name), kinds) if joint_table is not None else None
        pose_a, pose_b = table.pose("_a"), table.pose("_b")
        if self._is_sound(table, {body_a, body_b} & self._failed_bodies) and joint is not None:
            self._builder.add_loop(name, body_a, body_b, joint, pose_a, pose_b)

    def _coupling(self, name: str, table: CheckedTable) -> None:
        factors, offset = table.mapping("factors"), table.number("offset", 0.0)
        polynomial, reference = table.numbers("polynomial", None, ()), table.number("reference", 0.0)
        argument = table.mapping("argument", required=False)
        if not self._is_sound(table, self._failed_joints.intersection({**factors, **argument})):
            return
        if polynomial:
            extra = {"polynomial": polynomial, "argument": argument or None, "reference": reference}
            self._builder.add_coupling(name, factors, offset, **extra)
        else:
            self._builder.add_coupling(name, factors, offset, argument=argument or None, reference=reference)

    def _spring(self, name: str, table: CheckedTable) -> None:
        body_a, point_a = table.text("body_a"), table.numbers("point_a", 3)
        body_b, point_b = table.text("body_b"), table.numbers("point_b", 3)
        stiffness, rest_length = table.number("stiffness"), table.number("rest_length", 0.0)
        damping = table.number("damping", 0.0)
        if self._is_sound(table, {body_a, body_b} & self._failed_bodies):
            self._builder.add_spring(name, body_a, point_a, body_b, point_b, stiffness, rest_length, damping)

    def _tendon(self, name: str, table: CheckedTable) -> None:
        joints = table.mapping("joints", required=False)
        segments = []
        for entry in table.tables("segments"):
            ends = [(entry.text(f"body_{end}"), entry.numbers(f"point_{end}", 3)) for end in "ab"]
            (body_a, point_a), (body_b, point_b) = ends
            segments.append(Segment(body_a, tuple(point_a), body_b, tuple(point_b), entry.number("factor", 1.0)))  # type: ignore[arg-type]
            entry.finish()
        stiffness, damping = table.number("stiffness", 0.0), table.number("damping", 0.0)
        shortest, longest = table.numbers("rest", 2, (0.0, 0.0))
        lower, upper = table.number("lower", -math.inf), table.number("upper", math.inf)
        bodies = {body for piece in segments for body in (piece.body_a, piece.body_b)}
        missing = (bodies & self._failed_bodies) | self._failed_joints.intersection(joints)
        if self._is_sound(table, missing):
            limits = {"lower": lower, "upper": upper}
            self._builder.add_tendon(
                name, joints, segments, stiffness=stiffness, rest=(shortest, longest), damping=damping, **limits
            )

    def _site(self, name: str, table: CheckedTable) -> None:
        body, pose = table.text("body"), table.pose()
        if self._is_sound(table, {body} & self._failed_bodies):
            self._builder.add_site(name, body, pose)

    def _actuator(self, name: str, table: CheckedTable) -> None:
        usual = Actuator(name)
        options: dict[str, Any] = {key: table.text(key, "") for key in ("joint", "tendon", "site")}
        options["gear"] = tuple(table.numbers("gear", None, usual.gear))
        for key, width in (("gain", 3), ("bias", 3), ("control_range", 2), ("force_range", 2)):
            options[key] = tuple(table.numbers(key, width, getattr(usual, key)))
        options["in_parent"] = bool(table.number("in_parent", 0.0))
        if self._is_sound(table, {options["joint"]} & self._failed_joints):
            self._builder.add_actuator(Actuator(name, **options))

    def _keyframe(self, name: str, table: CheckedTable) -> None:
        q, v, control = (table.numbers(key, None, ()) for key in ("q", "v", "control"))
        if self._is_sound(table, set()):
            self._builder.add_keyframe(name, q, v or None, control or None)

    def _fluid_box(self, body: str, table: CheckedTable) -> None:
        x, y, z = table.numbers("size", 3)
        pose = table.pose()
        if self._is_sound(table, {body} & self._failed_bodies):
            self._boxes.append(FluidBox(body, (x, y, z), pose))

    def _fluid(self) -> None:
        table = self._fluid_table
        if table is None:
            if self._boxes:
                self._add("fluid_box: expected a table `fluid = { density = ... }` beside it, got none", _NO_LINE)
            return
        density, viscosity = table.number("density", 0.0), table.number("viscosity", 0.0)
        x, y, z = table.numbers("wind", 3, (0.0, 0.0, 0.0))
        table.finish()
        try:
            self._builder.set_fluid(Fluid(density, viscosity, (x, y, z), tuple(self._boxes)))
        except InputError as error:
            self._add(str(error), _NO_LINE)

    def _exclude(self, pairs: list[tuple[str, str]], top: CheckedTable) -> None:
        for pair in pairs:
            if not self._failed_bodies & {*pair}:
                try:
                    self._builder.exclude_contact(*pair)
                except InputError as error:
                    top.report(f"file excluded: {error}", "excluded")

    def _contact_points(self, body: str, table: CheckedTable) -> None:
        positions, radius = table.rows("positions"), table.number("radius", 0.0)
        values = _material_values(table)
        if self._is_sound(table, {body} & self._failed_bodies):
            self._builder.add_contact_points(body, positions, Material(**values), radius)

    def _joint(self, table: CheckedTable, name: str, kinds: Mapping[str, type[Joint]] = JOINT_TYPES) -> Joint | None:
        before = len(self._problems)
        kind = table.text("type")
        options: dict[str, Any] = {key: table.per_axis(key) for key in _PER_AXIS}
        joint_class = kinds.get(kind)
        if joint_class is None:
            hint = nearest_names(kind, kinds)
            table.report(f"{table.what} type: unknown joint type {reprlib.repr(kind)}{hint}", "type")
            return None
        if joint_class.has_axis:
            options["axis"] = table.numbers("axis", 3, (0.0, 0.0, 1.0))
        for key, default in own_options(joint_class).items():
            if isinstance(default, float):
                options[key] = table.number(key, default)
            elif isinstance(default, str):
                options[key] = table.text(key, default)
            elif isinstance(default[0], str):
                options[key] = table.texts(key) or None
            else:
                options[key] = table.numbers(key, len(default), default)
        table.finish()
        if len(self._problems) > before:
            return None
        given = {key: value for key, value in options.items() if value is not None}
        try:
            return joint_class(name=name, **given)
        except InputError as error:
            table.report(str(error), "joint")
            return None

    def _shapes(self, table: CheckedTable) -> list[Shape]:
        """The one shape of a table, or none when it has a problem."""
        before = len(self._problems)
        kind, size, pose = table.text("kind"), table.numbers("size", None), table.pose()
        mesh, color = table.text("mesh", ""), table.numbers("color", None, ())
        bits = {key: table.whole(key, 1) for key in ("contype", "conaffinity")}
        given = any(table.holds(part.name) for part in dataclasses.fields(Material))
        values = _material_values(table) if given else None
        table.finish()
        if len(self._problems) > before:
            return []
        try:
            material = None if values is None else Material(**values)
            place = Pose.of(pose, f"{table.what} pose")
            return [Shape(kind, tuple(size), place, mesh, tuple(color), **bits, material=material)]
        except InputError as error:
            table.report(f"{table.what}: {error}", "kind")
            return []


def _material_values(table: CheckedTable) -> dict[str, float]:
    usual = Material()
    parts = ("static_friction", "kinetic_friction", "restitution", "torsional", "rolling")
    values = {key: table.number(key, getattr(usual, key)) for key in parts}
    return values | {key: table.number(key, 0.0) for key in ("stiffness", "damping", "dissipation") if table.holds(key)}
