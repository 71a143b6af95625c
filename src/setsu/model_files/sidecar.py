"""Loop files beside a URDF: what closes loops in a robot whose own file cannot say so.

Ours, as TOML or YAML, `NAME.loops.toml` or `NAME.loops.yaml` beside `NAME.urdf`, or given by `load(..., loops=...)`:

    independent = ["crank"]                       # joints that `independent_coordinates` takes first

    [[loop]]
    name = "pin"
    type = "revolute"                             # any joint type of URDF+
    frame_a = "rod_end"                           # a link, a site, or a joint (its child link)
    frame_b = "rocker"
    axis = [0.0, 0.0, 1.0]                        # in the joint's frame; z when left out
    translation_b = [0.1, 0.0, 0.0]               # of the joint on frame_b, m; also rpy_b, translation_a, rpy_a

    [[coupling]]
    name = "gear"
    factors = { wheel = 1.0, pinion = -3.0 }      # Σ factor x coordinate + offset = 0
    offset = 0.0                                  # or, with factors = { y = 1, x = 1 }: polynomial = [c0, c1, c2]

Gepetto's example-parallel-robots, as they are: closed_loop (pairs of frames), type ("3d": the points coincide, "6d":
the frames do), name_mot (the driven joints).
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from typing import Any

from setsu.errors import InputError, ModelFileError, SetsuError
from setsu.mechanism.additions import add_coupling, add_loop
from setsu.mechanism.joints import own_options
from setsu.mechanism.record import Mechanism
from setsu.model_files.urdf_loops import LOOP_JOINTS
from setsu.spatial import placement

__all__ = ["sidecar_beside", "with_sidecar"]

ENDINGS = (".loops.toml", ".loops.yaml", ".loops.yml")
_LOOP_KEYS = {"name", "type", "frame_a", "frame_b", "axis", "second_axis", "pitch"} | {
    f"{part}_{end}" for part in ("translation", "rpy") for end in "ab"
}
_COUPLING_KEYS = {"name", "factors", "offset", "polynomial", "reference"}


def sidecar_beside(path: str) -> str | None:
    """Return the loop file that stands beside a model file, if any."""
    stem = os.path.splitext(path)[0]
    return next((stem + ending for ending in ENDINGS if os.path.isfile(stem + ending)), None)


def with_sidecar(mechanism: Mechanism, path: str) -> Mechanism:
    """Return the mechanism with the loops and couplings of a loop file; ModelFileError with all problems."""
    document = _parsed(path)
    problems: list[str] = []
    loops = _gepetto(document, path) if "closed_loop" in document else document.get("loop", [])
    for entry in _tables(loops, "loop", _LOOP_KEYS, path, problems):
        try:
            mechanism = _with_loop(mechanism, entry)
        except (SetsuError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{path}: loop {entry.get('name')!r}: {_text(error)}")
    for entry in _tables(document.get("coupling", []), "coupling", _COUPLING_KEYS, path, problems):
        try:
            more = {key: entry[key] for key in ("polynomial", "reference") if key in entry}
            mechanism = add_coupling(mechanism, entry["name"], entry["factors"], entry.get("offset", 0.0), **more)
        except (SetsuError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{path}: coupling {entry.get('name')!r}: {_text(error)}")
    driven = document.get("name_mot", document.get("independent", []))
    unknown = [name for name in driven if name not in mechanism.joint_names]
    if unknown and "independent" in document:
        problems.append(f"{path}: independent: no joint {unknown[0]!r} in {mechanism.name}")
    known = {"loop", "coupling", "independent"} | ({*document} if "closed_loop" in document else set())
    problems += [f"{path}: unknown key {key!r}" for key in document if key not in known]
    if problems:
        raise ModelFileError(path, problems)
    if driven:
        mechanism = dataclasses.replace(mechanism, independent=tuple(name for name in driven if name not in unknown))
    return mechanism


def _text(error: Exception) -> str:
    return f"missing key {error}" if isinstance(error, KeyError) else str(error)


def _parsed(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(1_000_001)
    except OSError as error:
        raise ModelFileError(path, [f"{path}: cannot be read: {error.strerror or error}"]) from None
    if len(data) > 1_000_000:
        raise ModelFileError(path, [f"{path}: larger than 1 MB, expected a loop file"])
    try:
        text = data.decode("utf-8")
        document = tomllib.loads(text) if path.endswith(".toml") else _yaml(text, path)
    except ModelFileError:
        raise
    except Exception as error:  # whatever a parser of TOML or YAML finds wrong
        raise ModelFileError(path, [f"{path}: not valid: {' '.join(str(error).split())[:200]}"]) from None
    if not isinstance(document, dict):
        raise ModelFileError(path, [f"{path}: expected a table with `loop` or `closed_loop`, got {document!r:.60}"])
    return document


def _yaml(text: str, path: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ModelFileError(
            path,
            [f'{path}: YAML needs the package PyYAML: pip install "setsu[yaml]"; or write the file as TOML'],
        ) from None
    return yaml.safe_load(text)


def _gepetto(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """Loops of a sidecar of example-parallel-robots in our form."""
    pairs, kinds = document["closed_loop"], document.get("type", [])
    if not isinstance(pairs, list) or not isinstance(kinds, list) or len(pairs) != len(kinds):
        raise ModelFileError(path, [f"{path}: expected as many entries in `type` as in `closed_loop`"])
    loops = []
    for number, (pair, kind) in enumerate(zip(pairs, kinds, strict=True), start=1):
        types = {"3d": "spherical", "6d": "fixed"}
        if not isinstance(pair, list) or len(pair) != 2 or str(kind).lower() not in types:
            raise ModelFileError(path, [f'{path}: closed_loop {number}: expected two frames and type "3d" or "6d"'])
        name = f"{pair[0]}_{pair[1]}"
        loops.append({"name": name, "type": types[str(kind).lower()], "frame_a": pair[0], "frame_b": pair[1]})
    return loops


def _tables(value: Any, kind: str, keys: set[str], path: str, problems: list[str]) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        problems.append(f"{path}: {kind}: expected a list of tables, got {value!r:.60}")
        return []
    for entry in value:
        for key in entry:
            if key not in keys:
                problems.append(f"{path}: {kind} {entry.get('name')!r}: unknown key {key!r}")
    return value


def _with_loop(m: Mechanism, entry: dict[str, Any]) -> Mechanism:
    kind = LOOP_JOINTS.get(str(entry["type"]))
    if kind is None:
        raise InputError(f"got type {entry['type']!r}, expected {', '.join(LOOP_JOINTS)}")
    options: dict[str, Any] = {}
    if kind.has_axis:
        options["axis"] = entry.get("axis", (0.0, 0.0, 1.0))
    for key, default in own_options(kind).items():
        options[key] = entry[key] if isinstance(default, float) else entry.get(key, default)
    place_a, place_b = (
        placement(entry.get(f"translation_{end}", (0.0, 0.0, 0.0)), rpy=entry.get(f"rpy_{end}", (0.0, 0.0, 0.0)))
        for end in "ab"
    )
    frame_a, frame_b = (_frame(m, str(entry[f"frame_{end}"])) for end in "ab")
    return add_loop(m, str(entry["name"]), frame_a, frame_b, kind(**options), place_a, place_b)


def _frame(m: Mechanism, name: str) -> str:
    """A link or site of this name, or the child link of a joint of this name."""
    if name in m.frames:
        return name
    for body in m.bodies:
        if body.joint.name == name:
            return body.name
    m.frame(name)  # raises with the nearest names
    return name
