"""What several settings of the studio say: the file's own, or lines such as "elbow = 0.3" or "free = 0 0 1 0 0 0"."""

from __future__ import annotations

import math
import re

from setsu.errors import InputError

__all__ = ["FROM_FILE", "named_numbers", "named_texts", "number_in"]

FROM_FILE = "from the scenario file"
"""What a widget says that leaves its part of the scenario file as it is."""


def named_texts(text: str, what: str) -> dict[str, str]:
    """Return what stands right of "=" by what stands left of it; empty lines do not count.

    >>> named_texts("elbow = 2*t", "torque")
    {'elbow': '2*t'}
    """
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, found, rest = (part.strip() for part in line.partition("="))
        if not found or not name or not rest:
            raise InputError(f"{what}, line {number}: got {line.strip()[:60]!r}, expected joint = value")
        if name in pairs:
            raise InputError(f"{what}, line {number}: {name[:60]!r} stands there twice")
        pairs[name] = rest
    return pairs


def named_numbers(text: str, what: str) -> dict[str, list[float]]:
    """Return one or more numbers by name.

    >>> named_numbers("free = 0 0, 1", "velocities")
    {'free': [0.0, 0.0, 1.0]}
    """
    return {
        name: [number_in(word, f"{what}, {name[:60]}") for word in re.split(r"[\s,;]+", rest.strip(" ,;[]()"))]
        for name, rest in named_texts(text, what).items()
    }


def number_in(text: str, what: str) -> float:
    """Return the finite number a text holds."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{what}: expected a number, got {text[:60]!r}") from None
    if not math.isfinite(value):
        raise InputError(f"{what}: expected a finite number, got {text[:60]!r}")
    return value
