"""What compiled code takes and gives back: kinds of arguments, and how they are laid out in a table of 64-bit words.

A function is entered by one pointer to such a table: first a code that says what it returned, room for the words of
its results, then those of its arguments.

    workspace (Workspace)   its address
    int, bool, float   the number
    array              address of its data, then its lengths
    tuple              what it holds, one after the other
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from setsu.native.builtin import address_of
from setsu.native.workspace import Layout, Workspace

__all__ = [
    "RESULTS",
    "ArrayKind",
    "Kind",
    "Signature",
    "TupleKind",
    "code_of_results",
    "kind_of",
    "results",
    "words_of",
]

RESULTS = 8  # room in the table


class ArrayKind(NamedTuple):
    """A contiguous array of float64 or int64."""

    dtype: str  # "float64" or "int64"
    axes: int

    @property
    def text(self) -> str:
        """Its name."""
        return f"{self.dtype}[{self.axes}]"


class TupleKind(NamedTuple):
    """A named tuple."""

    maker: type
    kinds: tuple[Any, ...]

    @property
    def text(self) -> str:
        """Its name."""
        return f"{self.maker.__name__}({', '.join(_text(kind) for kind in self.kinds)})"


Kind = Layout | ArrayKind | TupleKind | str  # a text: int, bool or float


def _text(kind: Kind) -> str:
    return kind if isinstance(kind, str) else kind.text


class Signature(NamedTuple):
    """Kinds of arguments of one function.

    by_address: entered from compiled code that has its address, with one workspace as argument and no result.
    """

    arguments: tuple[Kind, ...]
    by_address: bool = False

    @property
    def text(self) -> str:
        """A text that differs where code differs."""
        return ", ".join(_text(kind) for kind in self.arguments) + (" by address" if self.by_address else "")


def kind_of(value: Any) -> Kind:
    """Return the kind of an argument."""
    if isinstance(value, Workspace):
        return value.layout
    if isinstance(value, np.ndarray):
        if str(value.dtype) not in ("float64", "int64") or not value.flags.c_contiguous or value.ndim == 0:
            raise TypeError(f"compiled code takes contiguous float64 and int64 arrays, got {value.dtype}, or strided")
        return ArrayKind(str(value.dtype), value.ndim)
    if isinstance(value, tuple):
        return TupleKind(type(value), tuple(kind_of(entry) for entry in value))
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    raise TypeError(f"compiled code takes no {type(value).__name__}")


def words_of(values: Sequence[Any]) -> Iterator[int]:
    """Return the words of arguments, as whole numbers of 64 bits."""
    for value in values:
        if isinstance(value, Workspace):
            yield value.address
        elif isinstance(value, np.ndarray):
            yield address_of(value)
            yield from value.shape
        elif isinstance(value, tuple):
            yield from words_of(value)
        elif isinstance(value, float | np.floating):
            yield struct.unpack("<q", struct.pack("<d", value))[0]
        else:
            yield int(value)


_RESULT_TYPES = ("", "i64", "i8", "double")
_IN_TUPLE = 4**RESULTS


def code_of_results(types: Sequence[str], in_tuple: bool) -> int:
    """Return the number that stands for what a function returns: LLVM types (i64, i8 for bool, double)."""
    if len(types) > RESULTS:
        raise ValueError(f"compiled code returns at most {RESULTS} numbers, got {len(types)}")
    return sum(_RESULT_TYPES.index(kind) * 4**k for k, kind in enumerate(types)) + in_tuple * _IN_TUPLE


def results(table: Sequence[int]) -> Any:
    """Return what the words of a table say that a function returned."""
    code, found = table[0], []
    for word in table[1 : 1 + RESULTS]:
        kind = _RESULT_TYPES[code & 3]
        if not kind:
            break
        value = struct.unpack("<d", struct.pack("<q", word))[0] if kind == "double" else word
        found.append(bool(value) if kind == "i8" else value)
        code >>= 2
    return tuple(found) if table[0] >= _IN_TUPLE else found[0] if found else None
