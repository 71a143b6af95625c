"""Read a scenario: TOML text or plain data into records, every problem at once, each with its line."""

from __future__ import annotations

import math
import re
import reprlib
import tomllib
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import numpy as np

from setsu.errors import InputError, ModelFileError, nearest_names
from setsu.scenario.schema import Scenario
from setsu.scenario.toml_lines import Origin, key_lines

__all__ = ["as_data", "load", "parse", "plain_numbers", "read_record", "read_toml", "with_values"]

LARGEST_FILE = 2_000_000
_TOML_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)")
# The parser's time grows with the square of the parts of a dotted key.
_LONG_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){64}""")

_NO_TOML = (".urdf", ".xml", ".mjcf", ".nc", ".npz", ".csv")

KeyPath = tuple[str | int, ...]


def load(path: str | Path) -> Scenario:
    """Return the scenario in a TOML file; ModelFileError lists all problems with their lines.

    >>> load("swing.toml").simulation.duration       # doctest: +SKIP
    2.0
    """
    data, origin = read_toml(path)
    if (other := _other_kind(data)) is not None:
        raise ModelFileError(origin.name, [f"{origin.name}: {other}"])
    return read_record(Scenario, data, origin, extra={"origin": origin})


def parse(content: str | Mapping[str, Any], folder: str | Path = ".", name: str = "scenario") -> Scenario:
    """Return the scenario in a TOML text or a dictionary; files named in it stand in `folder`.

    >>> parse('model.sample = "pendulum"\\nsimulation.duration = 1.0').simulation.step
    0.001
    """
    if isinstance(content, str):
        data, origin = _from_text(content, name, Path(folder))
    elif isinstance(content, Mapping):
        data, origin = plain_numbers(content), Origin(name, Path(folder))
    else:
        raise InputError(f"scenario: expected a TOML text or a dictionary, got {content!r:.80}")
    return read_record(Scenario, data, origin, extra={"origin": origin})


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """Return the scenario with values put at dotted paths, such as "model.bodies.link2.mass", "contacts.0.friction".

    Tables that are missing are made. Raises ModelFileError as `load` does.
    """
    data = as_data(scenario)
    for path, value in values.items():
        put(data, path, plain_numbers(value))
    return read_record(Scenario, data, scenario.origin, extra={"origin": scenario.origin})


def plain_numbers(value: Any) -> Any:
    """Return plain data with numbers and arrays of NumPy as those of Python."""
    if isinstance(value, Mapping):
        return {key: plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_numbers(inner) for inner in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def as_data(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as plain dictionaries and lists, the file it came from left out."""
    names = [name for name in scenario.__struct_fields__ if name != "origin"]
    return _without_none({name: msgspec.to_builtins(getattr(scenario, name)) for name in names})


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set an entry of nested dictionaries and lists by its dotted path."""
    words = path.split(".")
    here: Any = data
    for depth, word in enumerate(words):
        last = depth == len(words) - 1
        if isinstance(here, dict):
            if last:
                here[word] = value
            else:
                here = here.setdefault(word, {})
        elif isinstance(here, list) and word.isdigit() and int(word) < len(here):
            if last:
                here[int(word)] = value
            else:
                here = here[int(word)]
        else:
            so_far = ".".join(words[:depth])
            what = f"a list of {len(here)}" if isinstance(here, list) else repr(here)
            raise InputError(f"scenario path {path!r}: {so_far} is {what}, which has no entry {word!r}")


def read_toml(path: str | Path) -> tuple[dict[str, Any], Origin]:
    """Return the content of a TOML file and where its keys stand; ModelFileError when it cannot be read."""
    file = Path(path)
    if file.suffix.lower() in _NO_TOML:
        raise ModelFileError(str(file), [f"{file}: got the extension {file.suffix!r}, expected a TOML file"])
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ModelFileError(str(file), [f"{file}: larger than {LARGEST_FILE // 1_000_000} MB"])
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ModelFileError(str(file), [f"{file}: cannot be read ({reason})"]) from None
    return _from_text(text, str(file), file.parent)


def _other_kind(data: Mapping[str, Any]) -> str | None:
    """What a file is that is no scenario: all its keys are unknown, and saying so one by one helps nobody."""
    if {"model", "simulation"} & data.keys():
        return None
    if "scenario" in data:
        return "a study of many runs, expected a scenario; `setsu sweep` runs it"
    if "body" in data:
        return "a mechanism, expected a scenario, which names it: [model] file = ..."
    return None


def _from_text(text: str, name: str, folder: Path) -> tuple[dict[str, Any], Origin]:
    if len(text) > LARGEST_FILE:
        raise ModelFileError(name, [f"{name}: larger than {LARGEST_FILE // 1_000_000} MB"])
    if long_key := _LONG_KEY.search(text):
        line = text.count("\n", 0, long_key.start()) + 1
        raise ModelFileError(name, [f"{name}:{line}: a dotted key of more than 64 parts"])
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        found = _TOML_LINE.search(str(problem))
        reason = _TOML_LINE.sub("", str(problem)) if str(problem) else "nested too deeply"
        where = f"{name}:{found[1]}" if found else name
        raise ModelFileError(name, [f"{where}: not valid TOML: {reason}"]) from None
    return data, Origin(name, folder, key_lines(text))


# Records from plain data -----------------------------------------------------------------------------------------


def read_record(record: type[Any], data: Any, origin: Origin, extra: Mapping[str, Any] | None = None) -> Any:
    """Return a record (a msgspec Struct) made from plain data.

    extra: fields that are not read but given. Raises ModelFileError with every unknown key, missing key and bad value.
    """
    problems: list[tuple[int, str]] = []
    result = _Reader(origin, problems).struct(record, data, (), dict(extra or {}))
    if problems:
        raise ModelFileError(origin.name, [text for _, text in sorted(problems)])
    return result


class _Reader:
    """Walks types and data together; notes problems and goes on."""

    def __init__(self, origin: Origin, problems: list[tuple[int, str]]) -> None:
        self.origin, self.problems = origin, problems

    def note(self, path: KeyPath, text: str) -> None:
        self.problems.append((self.origin.line(path) or 0, f"{self.origin.where(path)}: {_dotted(path)}: {text}"))

    def struct(self, record: type[Any], data: Any, path: KeyPath, extra: Mapping[str, Any]) -> Any:
        if not isinstance(data, Mapping):
            self.note(path, f"expected a table, got {reprlib.repr(data)}")
            return None
        tag = record.__struct_config__.tag_field
        fields = [field for field in _fields(record) if field.name not in extra]
        names = [field.name for field in fields]
        before = len(self.problems)
        values: dict[str, Any] = dict(extra)
        for key in data:
            if key not in names and key != tag:
                self.note((*path, str(key)), f"unknown key{nearest_names(str(key), names)}")
        for field in fields:
            if field.name in data:
                values[field.name] = self.value(field.type, data[field.name], (*path, field.name))
            elif field.required:
                self.note((*path, field.name), "missing; it is required")
        return record(**values) if len(self.problems) == before else None

    def value(self, kind: Any, data: Any, path: KeyPath) -> Any:
        records = _records(kind)
        if records and isinstance(data, Mapping):
            return self.chosen(records, data, path)
        mapping = next((option for option in _options(kind) if get_origin(option) is dict), None)
        if mapping is not None and isinstance(data, Mapping):
            entry_kind = get_args(mapping)[1]
            return {str(key): self.value(entry_kind, entry, (*path, str(key))) for key, entry in data.items()}
        if get_origin(kind) is tuple and isinstance(data, list | tuple) and _records(get_args(kind)[0]):
            return tuple(self.value(get_args(kind)[0], entry, (*path, k)) for k, entry in enumerate(data))
        if (bad := _not_finite(data)) is not None:
            self.note(path, f"expected finite numbers, got {bad}")
            return None
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as problem:
            inner = re.search(r" - at `\$(.*)`$", str(problem))
            text = str(problem)[: inner.start()] if inner else str(problem)
            if get_origin(kind) is Literal:
                text = f"Expected one of {', '.join(get_args(kind))}"
            self.note(path, f"{_worded(text)}, got {reprlib.repr(data)}")
            return None

    def chosen(self, records: list[type[Any]], data: Mapping[str, Any], path: KeyPath) -> Any:
        """The record a table is meant for: the only one, or the one its `kind` names."""
        if len(records) == 1:
            return self.struct(records[0], data, path, {})
        kinds = {str(record.__struct_config__.tag): record for record in records}
        kind = data.get("kind")
        if kind not in kinds:
            got = "nothing" if kind is None else repr(kind)
            hint = nearest_names(str(kind), kinds) if kind is not None else f" (known: {', '.join(kinds)})"
            self.note((*path, "kind"), f"expected a known kind, got {got}{hint}")
            return None
        return self.struct(kinds[kind], data, path, {})


@cache
def _fields(record: type[Any]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a record; finding out their types takes longer than reading a file."""
    return msgspec.structs.fields(record)


def _records(kind: Any) -> list[type[Any]]:
    """The record types a field may hold."""
    return [option for option in _options(kind) if isinstance(option, type) and issubclass(option, msgspec.Struct)]


def _options(kind: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _not_finite(data: Any) -> float | None:
    if isinstance(data, float):
        return None if math.isfinite(data) else data
    if isinstance(data, int) and not isinstance(data, bool):
        return None if abs(data) < 1e300 else math.inf
    entries = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ()
    return next((bad for entry in entries if (bad := _not_finite(entry)) is not None), None)


_WORDS = {
    "float": "a number", "int": "a whole number", "str": "a text", "bool": "true or false", "array": "a list",
    "object": "a table",
}  # fmt: skip


def _worded(text: str) -> str:
    """A message of msgspec in our words."""
    text = re.sub(r", got .*$", "", text)
    text = re.sub(r"`([\w |]+)`", lambda found: _alternatives(found[1]), text)
    return text[:1].lower() + text[1:]


def _alternatives(types_: str) -> str:
    return " or ".join(_WORDS.get(word, word) for word in types_.split(" | ") if word != "null")


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path)) or "file"


def _without_none(data: Any) -> Any:
    """TOML has no null: what is None is absent."""
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    return [_without_none(entry) for entry in data] if isinstance(data, list | tuple) else data
