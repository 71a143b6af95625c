"""Checks on an MJCF document before MuJoCo sees it.

MuJoCo accepts NaN with a warning and may then loop forever (a mesh vertex that is NaN), and multiplies elements by
counts the file gives. What it would choke on is refused here, with line numbers.
"""

from __future__ import annotations

import math
import os

from setsu.errors import ModelFileError
from setsu.model_files.fields import LARGEST_NUMBER, Problems, shorten
from setsu.model_files.xml_tree import MAX_FILE_BYTES, Element, parse_xml

__all__ = ["check_before_compiling"]

MAX_COPIES = 20_000
# Attributes that size memory or make copies: the largest value a sensible file has.
LARGEST_COUNTS = {
    ("texture", "width"): 16384,
    ("texture", "height"): 16384,
    ("hfield", "nrow"): 8192,
    ("hfield", "ncol"): 8192,
    **{
        ("size", f"nuser_{kind}"): 10_000
        for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
    },
    ("size", "nuserdata"): 1_000_000,
    ("size", "nkey"): 10_000,
}
COPYING_TAGS = ("replicate", "composite", "flexcomp")
MAX_INCLUDED_FILES = 100
CLASS_ATTRIBUTES = {"class", "childclass"}
TEXT_ATTRIBUTES = {"name", "class", "childclass", "file", "content_type", "model", "prefix"}


def check_before_compiling(root: Element, path: str) -> None:
    """Check a parsed MJCF file and every file it includes; ModelFileError with all problems of the first bad one."""
    folder = os.path.dirname(os.path.abspath(path))
    seen = {os.path.abspath(path)}
    waiting = [(root, path)]
    while waiting:
        document, name = waiting.pop()
        problems = Problems(name)
        _check_document(document, problems)
        problems.check()
        for included in _included_files(document):
            # MuJoCo looks beside the main file first. What is not there is left for it to complain about.
            places = [folder, os.path.dirname(os.path.abspath(name))]
            candidates = [os.path.normpath(os.path.join(place, included)) for place in places]
            found = next((candidate for candidate in candidates if os.path.isfile(candidate)), None)
            if found is None or found in seen:
                continue
            seen.add(found)
            if len(seen) > MAX_INCLUDED_FILES:
                raise ModelFileError(path, [f"{path}: includes more than {MAX_INCLUDED_FILES} files"])
            waiting.append((parse_xml(_content(found), found), found))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ModelFileError(path, [f"{path}: cannot be read: {error.strerror or error}"]) from None


def _included_files(root: Element) -> list[str]:
    """Return the file names of all <include> elements."""
    found, waiting = [], [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "include" and "file" in element.attributes:
            found.append(element.attributes["file"])
        waiting.extend(element.children)
    return found


def _check_document(root: Element, problems: Problems) -> None:
    """Add a problem for every number that is not finite and every count that would make a huge model."""
    waiting = [(root, 1)]
    while waiting:
        element, copies = waiting.pop()
        for key, text in element.attributes.items():
            if key in CLASS_ATTRIBUTES and "%" in text:
                # MuJoCo prints such a name as a format string, which ends the process.
                what = f'<{element.tag} {key}="...">'
                problems.add(element.line, f'{what}: got {shorten(text)}, expected a class name without "%"')
            if key not in TEXT_ATTRIBUTES:
                _check_numbers(element, key, text, problems)
        if element.tag in COPYING_TAGS:
            copies *= _copies(element)
            if copies > MAX_COPIES:
                what = f'<{element.tag} count="...">'
                problems.add(element.line, f"{what}: makes {copies} copies, expected at most {MAX_COPIES}")
                continue
        waiting.extend((child, copies) for child in element.children)


def _numbers(text: str) -> list[float] | None:
    """The numbers in an attribute, NaN and infinities included; None when it is something else."""
    try:
        return [float(token) for token in text.split()]
    except ValueError:
        return None


def _check_numbers(element: Element, key: str, text: str, problems: Problems) -> None:
    values = _numbers(text)
    if not values:
        return
    what = f'<{element.tag} {key}="...">'
    largest = LARGEST_COUNTS.get((element.tag, key), LARGEST_NUMBER)
    for token, value in zip(text.split(), values, strict=True):
        if not math.isfinite(value):
            problems.add(element.line, f"{what}: got {shorten(token)}, expected finite numbers")
        elif abs(value) > largest:
            problems.add(element.line, f"{what}: got {shorten(token)}, expected a magnitude up to {largest:g}")
        else:
            continue
        break


def _copies(element: Element) -> int:
    values = _numbers(element.attributes.get("count", "")) or [1.0]
    product = 1.0
    for value in values:
        if math.isfinite(value):
            product *= max(1.0, abs(value))
    return int(min(product, 1e18))
