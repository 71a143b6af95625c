"""Many arrays as one argument of compiled code: a workspace, whose fields are those of a named tuple.

A field that begins with zeros says so where it is declared, `G: Floats = floats("rows", "nv")`, and `make` makes it.

Passed one by one, every array is seven separate numbers, so that functions of a hundred arrays take a minute to compile
and 30 µs to enter. A workspace is one pointer to a table of addresses and shapes; `workspace.G` inside compiled code
makes the array G from its entry (numba_lowering.py). The table never changes, which lets the compiler load each entry
once. Lengths of last axes that are the same for all mechanisms stand in `INNER` of the named tuple's class,
`INNER = {"twists": (8,)}`: they are constants of the code, which finds numbers without multiplying.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from setsu.native.builtin import address_of

__all__ = ["FIELD_WORDS", "Layout", "Workspace", "floats", "ints", "make"]

FIELD_WORDS = 4  # words per field: address and up to three lengths
_NUMBERS = (np.dtype(np.float64), np.dtype(np.int64))
_NO_AXES = ((0, 0, 0), (0, 0), (0,), ())  # what follows the lengths of an array of so many axes


class Layout:
    """What compiled code knows of a workspace: its fields with their kinds and numbers of axes.

    fields: (name, dtype, lengths), 0 for a length that is known at run time only, or (name, Layout, ()) for a workspace
    inside this one.
    text: names the layout; a digest keeps it short where records have many fields.
    """

    def __init__(self, title: str, fields: tuple[tuple[str, Any, tuple[int, ...]], ...]) -> None:
        self.title, self.fields = title, fields
        described = repr(
            [
                (name, kind.text if isinstance(kind, Layout) else kind.descr, lengths)  # descr: names, types, offsets
                for name, kind, lengths in fields
            ]
        )
        self.text = f"{title}:{hashlib.sha256(described.encode()).hexdigest()[:16]}"


# Workspaces of arguments are made in every call: their layouts are not.
_layout = cache(Layout)


class Workspace:
    """The arrays of a named tuple (float64, int64 or records, contiguous, up to three axes) for compiled code.

    A field may be a workspace itself.

    >>> class Pair(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> workspace = Workspace(Pair(np.zeros(3), np.ones((2, 2))))
    >>> workspace.fields.b.shape
    (2, 2)
    """

    def __init__(self, fields: Any) -> None:
        self.fields = fields
        words, kinds, known_lengths = [], [], getattr(type(fields), "INNER", {})
        for name, array in zip(fields._fields, fields, strict=True):
            if isinstance(array, Workspace):
                words += (array.address, 0, 0, 0)
                kinds.append((name, array.layout, ()))
                continue
            dtype, axes = array.dtype, array.ndim
            known = dtype in _NUMBERS or dtype.names is not None
            if not known or not array.flags.c_contiguous or not 1 <= axes <= 3:
                raise ValueError(
                    f"{type(fields).__name__}.{name}: expected a contiguous float64, int64 or record array"
                )
            inner = known_lengths.get(name, ())
            if array.shape[axes - len(inner) :] != inner:
                raise ValueError(f"{type(fields).__name__}.{name}: expected inner lengths {inner}, got {array.shape}")
            words += (address_of(array), *array.shape, *_NO_AXES[axes])
            kinds.append((name, dtype, (*[0] * (axes - len(inner)), *inner)))
        self._table = np.array(words, dtype=np.int64)
        self.address = address_of(self._table)
        self.layout = _layout(type(fields).__name__, tuple(kinds))


class _Zeros(NamedTuple):
    """What a field holds at first; shape: numbers, and sums of products of lengths by name, as "2 p + stops"."""

    dtype: type
    shape: tuple[str | int, ...]


def floats(*shape: str | int) -> Any:
    """Declare a field that begins with zeros (float64); shape: numbers, or names of lengths, as "nv" or "2 p + n"."""
    return _Zeros(np.float64, shape)


def ints(*shape: str | int) -> Any:
    """Declare a field that begins with zeros (int64)."""
    return _Zeros(np.int64, shape)


_Fields = TypeVar("_Fields")


def make(kind: type[_Fields], lengths: Mapping[str, int], **given: Any) -> _Fields:
    """Return a named tuple of arrays: those given, and zeros as its fields declare them for all others.

    >>> class Rows(NamedTuple):
    ...     G: np.ndarray = floats("n", 3)
    ...     used: np.ndarray = ints(1)
    ...     names: np.ndarray = ints("n")
    >>> make(Rows, {"n": 2}, names=np.arange(2)).G.shape
    (2, 3)
    """
    for name, zeros in kind._field_defaults.items():  # type: ignore[attr-defined]
        if name not in given and isinstance(zeros, _Zeros):
            given[name] = np.zeros([_length(n, lengths) for n in zeros.shape], dtype=zeros.dtype)
    return kind(**given)


def _length(declared: str | int, lengths: Mapping[str, int]) -> int:
    if isinstance(declared, int):
        return declared
    if declared in lengths:
        return lengths[declared]
    parts = (part.split() for part in declared.split(" + "))
    return sum(math.prod(int(word) if word.isdigit() else lengths[word] for word in words) for words in parts)
