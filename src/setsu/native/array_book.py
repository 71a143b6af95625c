"""Many arrays as one argument of compiled code: a book, whose pages are the fields of a named tuple.

Numba passes every array of a tuple as seven separate numbers, so that functions of a hundred arrays take a minute to
compile and 30 µs to enter. A book is one pointer to a table of addresses and shapes; `book.G` inside compiled code
makes the array G from its entry. The table never changes, which lets the compiler load each entry once.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof_impl
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, unbox
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from setsu.native.builtin import address_of

__all__ = ["Book"]

_PAGE = 4  # address and up to three lengths


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
        self._table = np.zeros((len(pages), _PAGE), dtype=np.int64)
        fields = []
        for k, (name, array) in enumerate(zip(pages._fields, pages, strict=True)):
            if isinstance(array, Book):
                self._table[k, 0] = array.address
                fields.append((name, array.type, 0))
                continue
            known = array.dtype in (np.float64, np.int64) or array.dtype.names is not None
            if not known or not array.flags.c_contiguous or not 1 <= array.ndim <= 3:
                raise ValueError(f"{type(pages).__name__}.{name}: expected a contiguous float64, int64 or record array")
            self._table[k, 0] = address_of(array)
            self._table[k, 1 : 1 + array.ndim] = array.shape
            fields.append((name, array.dtype, array.ndim))
        self.address = address_of(self._table)
        self.type = _book_type(type(pages).__name__, tuple(fields))


class BookType(types.Type):
    """Numba's type of a book: its fields with their kinds and numbers of axes.

    Its name becomes part of every compiled function's: a digest keeps that short where records have many fields.
    """

    def __init__(self, title: str, fields: tuple[tuple[str, Any, int], ...]) -> None:
        self.title, self.fields = title, fields
        described = repr([(name, getattr(kind, "descr", str(kind)), axes) for name, kind, axes in fields])
        super().__init__(name=f"Book({title}: {hashlib.sha256(described.encode()).hexdigest()[:16]})")

    def array_of(self, name: str) -> tuple[int, Any] | None:
        """Number of a field and the type of its array or book."""
        for k, (field, kind, axes) in enumerate(self.fields):
            if field == name:
                return k, kind if isinstance(kind, BookType) else types.Array(from_dtype(kind), axes, "C")
        return None


# Books of arguments are made in every call: their types are not.
_book_type = cache(BookType)


@register_default(BookType)
class _BookModel(models.OpaqueModel):
    pass


@typeof_impl.register(Book)
def _type_of_book(book: Book, context: Any) -> BookType:
    return book.type


@unbox(BookType)
def _unbox_book(kind: BookType, book: Any, context: Any) -> NativeValue:
    number = context.pyapi.object_getattr_string(book, "address")
    address = context.pyapi.long_as_longlong(number)
    context.pyapi.decref(number)
    return NativeValue(context.builder.inttoptr(address, context.context.get_value_type(kind)))


@infer_getattr
class _BookAttribute(AttributeTemplate):
    key = BookType

    def generic_resolve(self, kind: BookType, name: str) -> Any:
        found = kind.array_of(name)
        return None if found is None else found[1]


@lower_getattr_generic(BookType)
def _open_page(context: Any, builder: Any, kind: BookType, book: Any, name: str) -> Any:
    found = kind.array_of(name)
    if found is None:
        raise AttributeError(f"{kind.title} has no array {name}")
    page, array_type = found
    word = ir.IntType(64)
    table = builder.bitcast(book, word.as_pointer())
    constant = builder.module.add_metadata([])

    def entry(k: int) -> Any:
        loaded = builder.load(builder.gep(table, [word(page * _PAGE + k)]))
        loaded.set_metadata("invariant.load", constant)
        return loaded

    if isinstance(array_type, BookType):
        return builder.inttoptr(entry(0), context.get_value_type(array_type))
    array = context.make_array(array_type)(context, builder)
    itemsize = word(kind.fields[page][1].itemsize)
    shape = [entry(1 + axis) for axis in range(array_type.ndim)]
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(entry(0), context.get_data_type(array_type.dtype).as_pointer())
    populate_array(
        array,
        data=data,
        shape=cgutils.pack_array(builder, shape, word),
        strides=cgutils.pack_array(builder, strides, word),
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()
