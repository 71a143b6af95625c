"""Strict reading of numbers, vectors and names from attributes; every problem is kept, none stops the reading.

A function that meets a bad value notes the problem and returns something harmless, so that one pass over a file finds
all its problems. `Problems.check` raises them together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from setsu.errors import ModelFileError
from setsu.model_files.xml_tree import Element

__all__ = ["LARGEST_NUMBER", "Problems", "name_of", "number", "only_child", "parse_number", "shorten", "vector"]

# Products such as mass x length² must stay finite; nothing built is larger.
LARGEST_NUMBER = 1e50
MAX_PROBLEMS_SHOWN = 100

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\r\n]+")


def shorten(text: str, limit: int = 60) -> str:
    """Return the text in quotes, cut when it is long, control characters escaped."""
    return repr(text if len(text) <= limit else text[:limit] + "...")


class Problems:
    """The problems met while reading one file, each "path:line: what, got, expected"."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[tuple[int, str]] = []

    def add(self, line: int, what: str) -> None:
        """Note a problem in a line (from 1)."""
        self.found.append((line, what))

    def check(self) -> None:
        """Raise one ModelFileError with all problems, by line, when there are any."""
        if not self.found:
            return
        ordered = sorted(set(self.found))
        shown = [f"{self.path}:{line}: {what}" for line, what in ordered[:MAX_PROBLEMS_SHOWN]]
        if len(ordered) > MAX_PROBLEMS_SHOWN:
            shown.append(f"and {len(ordered) - MAX_PROBLEMS_SHOWN} more")
        raise ModelFileError(self.path, shown)


def parse_number(token: str) -> float | str:
    """Return the number a token spells, or what is wrong with it."""
    if not _NUMBER.fullmatch(token):
        hint = ""
        if "," in token:
            hint = " (decimals take a point, vectors are separated by spaces)"
        elif "${" in token or "$(" in token:
            hint = " (an unexpanded xacro expression: run xacro on the file first)"
        return f"got {shorten(token)}{hint}"
    value = float(token)
    if not math.isfinite(value):
        return f"got {shorten(token)}, beyond the range of numbers"
    return value


def number(
    element: Element,
    key: str,
    problems: Problems,
    default: float | None = None,
    *,
    minimum: float | None = None,
    largest: float = LARGEST_NUMBER,
) -> float:
    """Read one finite number; without a default the attribute must be there."""
    text = element.get(key)
    if text is None:
        if default is None:
            problems.add(element.line, f'<{element.tag}>: missing attribute "{key}", expected a number')
            return 0.0
        return default
    what = f'<{element.tag} {key}="...">'
    value = parse_number(text.strip(" \t\r\n"))
    if isinstance(value, str):
        problems.add(element.line, f"{what}: {value}, expected a finite number")
        return default or 0.0
    if minimum is not None and value < minimum:
        problems.add(element.line, f"{what}: got {value:g}, expected at least {minimum:g}")
        return default or 0.0
    if abs(value) > largest:
        problems.add(element.line, f"{what}: got {value:g}, expected a magnitude up to {largest:g}")
        return default or 0.0
    return value


def vector(
    element: Element, key: str, length: int, problems: Problems, default: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Read `length` finite numbers separated by white space; without a default the attribute must be there."""
    text = element.get(key)
    fallback = tuple(default) if default is not None else (0.0,) * length
    if text is None:
        if default is None:
            problems.add(element.line, f'<{element.tag}>: missing attribute "{key}", expected {length} numbers')
        return fallback
    what = f'<{element.tag} {key}="...">'
    tokens = [token for token in _SPACE.split(text) if token]
    values = []
    for token in tokens[: length + 1]:
        value = parse_number(token)
        if isinstance(value, str):
            problems.add(element.line, f"{what}: {value}, expected {length} finite numbers")
            return fallback
        if abs(value) > LARGEST_NUMBER:
            problems.add(element.line, f"{what}: got {value:g}, expected magnitudes up to {LARGEST_NUMBER:g}")
            return fallback
        values.append(value)
    if len(tokens) != length:
        problems.add(element.line, f"{what}: got {len(tokens)} numbers in {shorten(text)}, expected {length}")
        return fallback
    return tuple(values)


def name_of(element: Element, problems: Problems, key: str = "name") -> str:
    """Read a name that must be there and not be empty; control characters and surrounding blanks are refused."""
    text = element.get(key)
    if text is None or not text.strip():
        problems.add(element.line, f'<{element.tag}>: {"missing" if text is None else "empty"} attribute "{key}"')
        return ""
    if not text.isprintable() or text != text.strip():
        problems.add(
            element.line, f"<{element.tag} {key}={shorten(text)}>: expected a printable name without outer blanks"
        )
    return text


def only_child(element: Element, tag: str, problems: Problems, *, required: bool = False) -> Element | None:
    """Return the child with this tag; more than one, or none when required, is a problem."""
    found = element.take(tag)
    if len(found) > 1:
        lines = ", ".join(str(child.line) for child in found[1:4])
        problems.add(
            found[1].line, f"<{element.tag}>: got {len(found)} <{tag}> elements (again in line {lines}), expected one"
        )
    if not found:
        if required:
            problems.add(element.line, f"<{element.tag}>: missing element <{tag}>")
        return None
    return found[0]
