"""Results of a single state as one block of numbers, of which fields are made when they are first read.

To make a dozen arrays takes longer than to compute their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from setsu.constraints.stacked import Floats

__all__ = ["BlockFields", "Part", "part"]

Part = Callable[[Floats], Any]


def part(first: int, shape: tuple[int, ...]) -> Part:
    """Return the function that takes an array of a shape out of a block."""
    where = slice(first, first + math.prod(shape))
    return lambda block: block[where].reshape(shape)


class BlockFields:
    """Base of a frozen dataclass that may be made from a block: `_block`, and `_parts` by the names of fields."""

    def __getattr__(self, name: str) -> Any:
        """Make a field."""
        own = self.__dict__
        if "_parts" not in own or name not in own["_parts"]:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        value = own[name] = own["_parts"][name](own["_block"])
        return value

    def __getstate__(self) -> dict[str, Any]:
        """All fields: a copy, or what is read from a file, needs no block."""
        record: Any = self
        return {field.name: getattr(record, field.name) for field in fields(record)}
