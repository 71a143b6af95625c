"""The way from Python into a compiled function of workspaces: one call by address, the interpreter lock released.

Numba's own way in costs some microseconds per workspace and holds the lock while it unpacks them; here the addresses
are packed once, when the workspaces are made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numba

from setsu.native.array_book import Book
from setsu.native.toolchain import load_native

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
    words = [address, *_addresses(books)]
    table = (ctypes.c_int64 * len(words))(*words)
    go = partial(_way_in(len(words) - 1), ctypes.c_void_p(ctypes.addressof(table)))
    setattr(go, _KEEP, (function, books, table))
    return go


@cache
def _way_in(count: int) -> Any:
    """Return `int64 enter(int64 *table)`: it calls the function at table[0] with the arguments that follow.

    One argument instead of many: ctypes takes some 100 ns for each.
    """

    def make() -> str:
        lines = []
        for k in range(count + 1):
            lines += [f"  %p{k} = getelementptr inbounds ptr, ptr %table, i64 {k}", f"  %a{k} = load ptr, ptr %p{k}"]
        given = "".join(f", ptr %a{k}" for k in range(1, count + 1))
        return "\n".join(
            [
                "define i64 @enter(ptr %table) {",
                "entry:",
                "  %result = alloca i64",
                "  %problem = alloca ptr",
                *lines,
                f"  %status = call i32 %a0(ptr %result, ptr %problem{given})",
                "  %value = load i64, ptr %result",
                "  ret i64 %value",
                "}",
            ]
        )

    module = load_native(f"way in {count}", make)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(module.addresses("enter")[0])
    setattr(call, _KEEP, module)
    return call


def _addresses(books: Any) -> Iterator[int]:
    for book in books:
        if isinstance(book, tuple):
            yield from _addresses(book)
        else:
            yield book.address
