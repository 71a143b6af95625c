"""The way from Python into a compiled function of workspaces: one call by address, the interpreter lock released.

Numba's own way in costs some microseconds per workspace and holds the lock while it unpacks them; here the addresses
are packed once, when the workspaces are made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba

from setsu.native.array_book import Book

__all__ = ["entry"]

_KEEP = "kept"


def entry(function: Any, *books: Book | tuple[Book, ...]) -> Callable[[], int]:
    """Return a callable without arguments that runs `function(*books)`, compiled and returning a whole number.

    books: workspaces, or named tuples of them. Numba's calling convention: a place for the result, one for an exception
    (compiled code here raises none), then the arguments; a book is one pointer.
    """
    kinds = tuple(numba.typeof(book) for book in books)
    function.compile(kinds)
    made = function.overloads[kinds]
    address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    result, problem = ctypes.c_int64(), ctypes.c_void_p()
    words = [ctypes.addressof(result), ctypes.addressof(problem), *_addresses(books)]
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(words))(address)
    run = partial(call, *map(ctypes.c_void_p, words))

    def go() -> int:
        run()
        return result.value

    setattr(go, _KEEP, (function, books, result, problem))
    return go


def _addresses(books: Any) -> Iterator[int]:
    for book in books:
        if isinstance(book, tuple):
            yield from _addresses(book)
        else:
            yield book.address
