"""Many arrays as one argument of compiled code: a book, whose pages are the fields of a named tuple.

Passed one by one, every array is seven separate numbers, so that functions of a hundred arrays take a minute to compile
and 30 µs to enter. A book is one pointer to a table of addresses and shapes; `book.G` inside compiled code makes the
array G from its entry (numba_lowering.py). The table never changes, which lets the compiler load each entry once.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np

from setsu.native.builtin import address_of

__all__ = ["PAGE", "Book", "Layout"]

PAGE = 4  # words per field: address and up to three lengths


class Layout:
    """What compiled code knows of a book: its fields with their kinds and numbers of axes.

    fields: (name, dtype, axes), or (name, Layout, 0) for a book inside this one.
    text: names the layout; a digest keeps it short where records have many fields.
    """

    def __init__(self, title: str, fields: tuple[tuple[str, Any, int], ...]) -> None:
        self.title, self.fields = title, fields
        described = repr(
            [
                (name, kind.text if isinstance(kind, Layout) else kind.descr, axes)  # descr: names, types, offsets
                for name, kind, axes in fields
            ]
        )
        self.text = f"{title}:{hashlib.sha256(described.encode()).hexdigest()[:16]}"


# Books of arguments are made in every call: their layouts are not.
_layout = cache(Layout)


class Book:
    """The arrays of a named tuple (float64, int64 or records, contiguous, up to three axes) for compiled code.

    A field may be a book itself.

    >>> class Pair(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> book = Book(Pair(np.zeros(3), np.ones((2, 2))))
    >>> book.pages.b.shape
    (2, 2)
    """

    def __init__(self, pages: Any) -> None:
        self.pages = pages
        self._table = np.zeros((len(pages), PAGE), dtype=np.int64)
        fields = []
        for k, (name, array) in enumerate(zip(pages._fields, pages, strict=True)):
            if isinstance(array, Book):
                self._table[k, 0] = array.address
                fields.append((name, array.layout, 0))
                continue
            known = array.dtype in (np.float64, np.int64) or array.dtype.names is not None
            if not known or not array.flags.c_contiguous or not 1 <= array.ndim <= 3:
                raise ValueError(f"{type(pages).__name__}.{name}: expected a contiguous float64, int64 or record array")
            self._table[k, 0] = address_of(array)
            self._table[k, 1 : 1 + array.ndim] = array.shape
            fields.append((name, array.dtype, array.ndim))
        self.address = address_of(self._table)
        self.layout = _layout(type(pages).__name__, tuple(fields))
