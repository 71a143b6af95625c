"""What a reader found worth telling about a file it could read."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from setsu.errors import ModelWarning
from setsu.mechanism.actuators import Actuator
from setsu.model_files.xml_tree import Element

__all__ = ["Ignored", "LoadReport", "Notes", "warn"]

MAX_NAMES_IN_WARNING = 5


@dataclass(frozen=True)
class Ignored:
    """An element ("link/contact") or attribute ("joint/limit/@current") that was not used: how often, first line."""

    what: str
    count: int
    line: int

    def __str__(self) -> str:
        where = f", first in line {self.line}" if self.line else ""
        return f"{self.what}: {self.count} time{'' if self.count == 1 else 's'}{where}"


@dataclass(frozen=True)
class LoadReport:
    """What was ignored, repaired or doubtful in a model file; printable by str().

    ignored: elements and attributes without influence on the mechanism, each once.
    missing: what moves, closes or pushes something in the file and is not in the mechanism, one text each; the load
        warned of it, and `setsu check` does not certify the model.
    inertia_problems: one text per body whose inertia no real body can have.
    repaired: names of the bodies whose inertia was replaced by the nearest possible one (`repair=True`).
    missing_meshes: mesh file names as written that were not found.
    couplings: one text per relation between joints (URDF mimic, MJCF equality joint).
    actuators: the actuators of an MJCF file.
    reference_configuration: MJCF: the file's own starting configuration (qpos0) as a q of the mechanism.
    given_names: MJCF: names that elements without one got, by kind ("joint", "body", "site", "tendon", "actuator",
        "equality", "key") and MuJoCo's number: `given_names["joint"][2]`.
    notes: everything else, such as angles taken as exact right angles or bodies that were renamed.
    """

    path: str
    format: str
    ignored: tuple[Ignored, ...] = ()
    missing: tuple[str, ...] = ()
    inertia_problems: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    missing_meshes: tuple[str, ...] = ()
    couplings: tuple[str, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    reference_configuration: tuple[float, ...] = ()
    given_names: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts: list[tuple[str, Iterable[object]]] = [
            ("not in the model", self.missing),
            ("ignored", self.ignored),
            ("non-physical inertias", self.inertia_problems),
            ("repaired inertias", self.repaired),
            ("missing meshes", self.missing_meshes),
            ("couplings", self.couplings),
            ("actuators", self.actuators),
            (
                "names given",
                (f"{kind} {k}: {name}" for kind, made in self.given_names.items() for k, name in made.items()),
            ),
            ("notes", self.notes),
        ]
        lines = [f"{self.path} ({self.format})"]
        for title, entries in parts:
            texts = [f"    {entry}" for entry in entries]
            lines += [f"  {title}:", *texts] if texts else []
        return "\n".join(lines if len(lines) > 1 else [*lines, "  nothing to report"])


@dataclass
class Notes:
    """The report in the making."""

    path: str
    format: str
    inertia_problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    missing_meshes: dict[str, None] = field(default_factory=dict)
    couplings: list[str] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    reference_configuration: tuple[float, ...] = ()
    given_names: dict[str, dict[int, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rounded_angles: int = 0
    rounded_angle_line: int = 0
    doubts: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unlimited: list[tuple[str, int]] = field(default_factory=list)
    _ignored: dict[str, list[int]] = field(default_factory=dict)

    def ignore(self, what: str, line: int = 0, count: int = 1) -> None:
        """Count an element or attribute that has no influence; line 0 means unknown."""
        entry = self._ignored.setdefault(what, [0, line])
        entry[0] += count

    def name(self, kind: str, number: int, name: str) -> None:
        """Note a name that an element without one got."""
        self.given_names.setdefault(kind, {})[number] = name

    def round_angle(self, line: int) -> None:
        """Count an angle that was taken as an exact multiple of a right angle."""
        self.rounded_angles += 1
        self.rounded_angle_line = self.rounded_angle_line or line

    def ignore_unread(self, root: Element) -> None:
        """Count all that nobody read, with a warning where a name is nearly one that is read."""
        for what, line in root.unused():
            self.ignore(what, line)
        found: dict[str, list[int]] = {}
        for what, meant, line in root.misspelt():
            found.setdefault(f'<{what}> is not read; did you mean "{meant}"?', []).append(line)
        for text, lines in found.items():
            self.doubt(f"line {lines[0]}: {text}" + (f" ({len(lines)} times)" if len(lines) > 1 else ""))

    def doubt(self, what: str) -> None:
        """Note something that deserves a warning."""
        self.doubts.append(what)

    def lose(self, what: str, line: int = 0) -> None:
        """Note an element that moves, closes or pushes something and that the mechanism does not have."""
        self.missing.append(f"line {line}: {what}" if line else what)

    def finish(self) -> LoadReport:
        """Give the warnings, missing meshes and missing limits in one each, and return the report."""
        if self.unlimited:
            names = ", ".join(f'"{name}"' for name, _ in self.unlimited[:MAX_NAMES_IN_WARNING])
            more = len(self.unlimited) - MAX_NAMES_IN_WARNING
            what = "joint" if len(self.unlimited) == 1 else "joints"
            others = f" and {more} more" if more > 0 else ""
            self.doubt(f"line {self.unlimited[0][1]}: {what} {names}{others} without <limit>, taken as unlimited")
        for text in [*self.doubts, *self.missing]:
            where, _, rest = text.partition(": ") if text.startswith("line ") else ("", "", text)
            place = f"{self.path}:{where.removeprefix('line ')}" if where else self.path
            warn(f"{place}: {rest}")
        if self.missing_meshes:
            names = list(self.missing_meshes)
            more = len(names) - MAX_NAMES_IN_WARNING
            listed = ", ".join(names[:MAX_NAMES_IN_WARNING]) + (f" and {more} more" if more > 0 else "")
            text = f"{self.path}: {len(names)} mesh file(s) not found: {listed}; give package_dirs=[...] to say where"
            warn(text)
        notes = [*self.doubts, *self.notes]
        if self.rounded_angles:
            notes.append(
                f"{self.rounded_angles} angle(s) that are a multiple of pi/2 rounded to 11 digits or more "
                f"taken as exact, first in line {self.rounded_angle_line}"
            )
        return LoadReport(
            path=self.path,
            format=self.format,
            missing=tuple(self.missing),
            ignored=tuple(Ignored(what, count, line) for what, (count, line) in self._ignored.items()),
            inertia_problems=tuple(self.inertia_problems),
            repaired=tuple(self.repaired),
            missing_meshes=tuple(self.missing_meshes),
            couplings=tuple(self.couplings),
            actuators=tuple(self.actuators),
            reference_configuration=self.reference_configuration,
            given_names=self.given_names,
            notes=tuple(notes),
        )


def warn(text: str) -> None:
    """Give a ModelWarning that points to the line that called the package."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("setsu."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, ModelWarning, stacklevel=depth)
