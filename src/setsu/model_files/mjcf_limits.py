"""Checks on an MJCF document before MuJoCo sees it.

MuJoCo accepts NaN with a warning and may then loop for ever (a mesh vertex that is NaN), and multiplies elements by
counts the file gives. What it would choke on is refused here, with line numbers.
"""

from __future__ import annotations

import math

from setsu.model_files.fields import LARGEST_NUMBER, Problems, shorten
from setsu.model_files.xml_tree import Element

__all__ = ["check_before_compiling"]

MAX_COPIES = 20_000
# Attributes that size memory or make copies: the largest value a sensible file has.
LARGEST_COUNTS = {
    ("texture", "width"): 16384,
    ("texture", "height"): 16384,
    ("hfield", "nrow"): 8192,
    ("hfield", "ncol"): 8192,
    ("light", "texture"): 16384,
}
COPYING_TAGS = ("replicate", "composite", "flexcomp")
SIZE_LIMIT = 10_000
TEXT_ATTRIBUTES = {"name", "class", "childclass", "file", "content_type", "model", "prefix"}


def check_before_compiling(root: Element, problems: Problems) -> None:
    """Add a problem for every number that is not finite and every count that would make a huge model."""
    waiting = [(root, 1)]
    while waiting:
        element, copies = waiting.pop()
        for key, text in element.attributes.items():
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
    largest = LARGEST_COUNTS.get((element.tag, key), SIZE_LIMIT if element.tag == "size" else LARGEST_NUMBER)
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
