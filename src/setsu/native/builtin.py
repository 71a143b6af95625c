"""A CPython builtin around a kernel: argument checks and fresh results in native code.

A Python function around ctypes costs several microseconds a call, more than most kernels; this costs about 0.1. The
builtin takes exact float64 arrays of the right shape, for one state or with one batch axis of moderate length, and
hands everything else (lists, several batch axes, large batches for threads, keywords, numbers that are not finite) to a
Python callable, which also words the errors.

`self` of the builtin is an int64 array, the record, whose data the native code finds behind the array header. It holds
the _HEADER entries, the shapes of the inputs, three entries per result (ndim, address of its shape, address of its
shape with a batch axis), and the descriptions of the arrays as in tiles.py, once for one state and once for batches.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from setsu.native.tiles import DESCRIPTION_WIDTH

__all__ = [
    "DATA",
    "Builtin",
    "Lines",
    "address_of",
    "builtin_text",
    "headers_as_expected",
    "interface",
    "load_vector",
    "new_array",
    "new_builtin",
]

_HEADER = (
    "array_type", "float_type", "array_new", "array_return", "vectorcall", "release", "tuple_new", "tuple_put", "slow",
    "ints", "floats", "work", "batch_code", "batch_work", "least_rows", "most_rows",
)  # fmt: skip
# Where CPython and NumPy keep these inside an array object (64-bit builds; checked at run time below).
_TYPE, DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = 8, 16, 24, 32, 56, 64
_CONTIGUOUS_ALIGNED = 0x101
_FLOAT64 = 12


class _Layout:
    """Where things stand in the record, for inputs of these numbers of axes and a number of results."""

    def __init__(self, input_ndims: Sequence[int], n_outputs: int) -> None:
        self.shapes = []
        position = len(_HEADER)
        for ndim in input_ndims:
            self.shapes.append(position)
            position += ndim
        self.results = position
        self.single = self.results + 3 * n_outputs
        self.batch = self.single + (len(input_ndims) + n_outputs) * DESCRIPTION_WIDTH
        self.length = self.batch + (len(input_ndims) + n_outputs) * DESCRIPTION_WIDTH


class Lines:
    """Lines of LLVM text with registers named by their use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def let(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def entry(self, base: str, index: int, kind: str = "i64") -> str:
        """Load entry `index` of a row of 64-bit numbers."""
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr i64, ptr {base}, i64 {index}')}, align 8")

    def member(self, object_: str, offset: int, kind: str) -> str:
        """Load what stands `offset` bytes into an object."""
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr i8, ptr {object_}, i64 {offset}')}, align 4")

    def type_of(self, object_: str) -> str:
        """Load the type of a Python object."""
        return self.member(object_, _TYPE, "ptr")

    def go_on_if(self, condition: str, otherwise: str) -> None:
        self._count += 1
        self.do(f"br i1 {condition}, label %on{self._count}, label %{otherwise}")
        self.label(f"on{self._count}")


def load_vector(text: Lines, argument: str, header: dict[str, str], length: str, otherwise: str) -> str:
    """Address of the numbers of an argument that is a plain float64 array (length,); other ones go elsewhere."""
    kind = text.type_of(argument)
    text.go_on_if(text.let(f"icmp eq ptr {kind}, {header['array_type']}"), otherwise)
    same_type = text.let(f"icmp eq ptr {text.member(argument, _DTYPE, 'ptr')}, {header['float_type']}")
    flags = text.let(f"and i32 {text.member(argument, _FLAGS, 'i32')}, {_CONTIGUOUS_ALIGNED}")
    plain = text.let(f"icmp eq i32 {flags}, {_CONTIGUOUS_ALIGNED}")
    flat = text.let(f"icmp eq i32 {text.member(argument, _NDIM, 'i32')}, 1")
    good = text.let(f"and i1 {text.let(f'and i1 {same_type}, {plain}')}, {flat}")
    text.go_on_if(good, otherwise)
    count = text.entry(text.member(argument, _SHAPE, "ptr"), 0)
    text.go_on_if(text.let(f"icmp eq i64 {count}, {length}"), otherwise)
    return text.member(argument, DATA, "ptr")


def new_array(text: Lines, header: dict[str, str], ndim: str, shape: str) -> str:
    """A new float64 array, or null with the error set; ndim: i32, shape: address of its lengths."""
    return text.let(
        f"call ptr {header['array_new']}(ptr {header['array_type']}, i32 {ndim}, ptr {shape}, i32 {_FLOAT64}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)"
    )


def builtin_text(input_ndims: Sequence[int], n_outputs: int) -> str:
    """LLVM text of `python_call`; needs `rows` of tiles.py in the same module. input_ndims: axes of each input."""
    layout, text = _Layout(input_ndims, n_outputs), Lines()
    record = text.member("%self", DATA, "ptr")
    header = {name: text.entry(record, k, "i64" if name.endswith("_rows") else "ptr") for k, name in enumerate(_HEADER)}
    simple = text.let(f"icmp eq i64 %nargs, {len(input_ndims)}")
    text.go_on_if(text.let(f"and i1 {simple}, {text.let('icmp eq ptr %keywords, null')}"), "fallback")
    rows = is_batch = first_extra = ""
    pointers = []
    for k, ndim in enumerate(input_ndims):
        argument = text.let(f"load ptr, ptr {text.let(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
        kind = text.type_of(argument)
        text.go_on_if(text.let(f"icmp eq ptr {kind}, {header['array_type']}"), "fallback")
        same_type = text.let(f"icmp eq ptr {text.member(argument, _DTYPE, 'ptr')}, {header['float_type']}")
        flags = text.let(f"and i32 {text.member(argument, _FLAGS, 'i32')}, {_CONTIGUOUS_ALIGNED}")
        plain = text.let(f"icmp eq i32 {flags}, {_CONTIGUOUS_ALIGNED}")
        extra = text.let(f"sub i32 {text.member(argument, _NDIM, 'i32')}, {ndim}")
        fits = text.let(f"icmp ule i32 {extra}, 1")
        if k == 0:
            is_batch = text.let(f"icmp eq i32 {extra}, 1")
            first_extra = extra
        else:
            fits = text.let(f"icmp eq i32 {extra}, {first_extra}")
        good = text.let(f"and i1 {text.let(f'and i1 {same_type}, {plain}')}, {fits}")
        text.go_on_if(good, "fallback")
        shape = text.member(argument, _SHAPE, "ptr")
        skip = text.let(f"zext i1 {is_batch} to i64")
        axes = text.let(f"getelementptr i64, ptr {shape}, i64 {skip}")
        good = "true"
        for axis in range(ndim):
            wanted = text.entry(record, layout.shapes[k] + axis)
            same = text.let(f"icmp eq i64 {text.entry(axes, axis)}, {wanted}")
            good = text.let(f"and i1 {good}, {same}")
        if k == 0:
            # One state counts as one row; a shape without axes is never read because each input has one.
            rows = text.let(f"select i1 {is_batch}, i64 {text.entry(shape, 0)}, i64 1")
        else:
            count = text.let(f"select i1 {is_batch}, i64 {text.entry(shape, 0)}, i64 1")
            good = text.let(f"and i1 {good}, {text.let(f'icmp eq i64 {count}, {rows}')}")
        text.go_on_if(good, "fallback")
        pointers.append(text.member(argument, DATA, "ptr"))
    text.do(f"br i1 {is_batch}, label %many, label %one")
    text.label("many")
    enough = text.let(f"icmp sge i64 {rows}, {header['least_rows']}")
    few = text.let(f"icmp sle i64 {rows}, {header['most_rows']}")
    compiled = text.let(f"icmp ne ptr {header['batch_code']}, null")
    text.go_on_if(text.let(f"and i1 {text.let(f'and i1 {enough}, {few}')}, {compiled}"), "fallback")
    text.do("br label %one")
    text.label("one")
    start = text.let(f"select i1 {is_batch}, i64 {layout.batch}, i64 {layout.single}")
    arrays = text.let(f"getelementptr i64, ptr {record}, i64 {start}")
    for k, pointer in enumerate(pointers):
        slot = text.let(f"getelementptr i64, ptr {arrays}, i64 {k * DESCRIPTION_WIDTH}")
        text.do(f"store ptr {pointer}, ptr {slot}, align 8")
    results = []
    for k in range(n_outputs):
        place = layout.results + 3 * k
        ndim = text.entry(record, place)
        ndim = text.let(f"add i64 {ndim}, {text.let(f'zext i1 {is_batch} to i64')}")
        batch_shape = text.entry(record, place + 2, "ptr")
        text.do(f"store i64 {rows}, ptr {batch_shape}, align 8")
        shape = text.let(f"select i1 {is_batch}, ptr {batch_shape}, ptr {text.entry(record, place + 1, 'ptr')}")
        result = new_array(text, header, text.let(f"trunc i64 {ndim} to i32"), shape)
        text.go_on_if(text.let(f"icmp ne ptr {result}, null"), "no_memory")
        slot = text.let(f"getelementptr i64, ptr {arrays}, i64 {(len(pointers) + k) * DESCRIPTION_WIDTH}")
        text.do(f"store ptr {text.member(result, DATA, 'ptr')}, ptr {slot}, align 8")
        results.append(result)
    text.do(f"br i1 {is_batch}, label %run_batch, label %run_rows")
    ints, floats = header["ints"], header["floats"]
    text.label("run_batch")
    tables = f"ptr {ints}, ptr {floats}"
    text.do(
        f"%batch_status = call i64 {header['batch_code']}({tables}, ptr {header['batch_work']}, ptr {arrays}, "
        f"i64 0, i64 {rows})"
    )
    text.do("br label %ran")
    text.label("run_rows")
    text.do(f"%rows_status = call i64 @rows({tables}, ptr {header['work']}, ptr {arrays}, i64 1)")
    text.do("br label %ran")
    text.label("ran")
    text.do("%status = phi i64 [%batch_status, %run_batch], [%rows_status, %run_rows]")
    text.do("%fine = icmp slt i64 %status, 0")
    text.do("br i1 %fine, label %give, label %refuse")
    text.label("refuse")
    for result in results:
        text.do(f"call void {header['release']}(ptr {result})")
    text.do("br label %fallback")
    text.label("give")
    if n_outputs == 1:
        # An array without axes becomes a plain number.
        text.do(f"%given = call ptr {header['array_return']}(ptr {results[0]})")
        text.do("ret ptr %given")
    else:
        row = text.let(f"call ptr {header['tuple_new']}(i64 {n_outputs})")
        text.go_on_if(text.let(f"icmp ne ptr {row}, null"), "no_memory")
        for k, result in enumerate(results):
            text.let(f"call i32 {header['tuple_put']}(ptr {row}, i64 {k}, ptr {result})")
        text.do(f"ret ptr {row}")
    text.label("no_memory")  # NumPy or Python has set the error
    text.do("ret ptr null")
    text.label("fallback")
    text.do(f"%answer = call ptr {header['vectorcall']}(ptr {header['slow']}, ptr %args, i64 %nargs, ptr %keywords)")
    text.do("ret ptr %answer")
    return "\n".join(
        ["define ptr @python_call(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {", "entry:", *text.lines, "}"]
    )


@cache
def headers_as_expected() -> bool:
    """Return whether array objects look in memory as the builtin reads them (not so without the global lock).

    Elsewhere, and with $SETSU_PORTABLE=1, functions are called through ctypes: slower, with the same bits.
    """
    if os.environ.get("SETSU_PORTABLE") == "1":
        return False
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.maxsize < 2**62:
        return False
    probe = np.zeros((3, 5))
    address = id(probe)

    def word(offset: int, kind: Any) -> int:
        return kind.from_address(address + offset).value

    shape = word(_SHAPE, ctypes.c_uint64)
    return (
        word(_TYPE, ctypes.c_uint64) == id(np.ndarray)
        and word(DATA, ctypes.c_uint64) == probe.ctypes.data
        and word(_NDIM, ctypes.c_int32) == 2
        and word(_DTYPE, ctypes.c_uint64) == id(np.dtype(np.float64))
        and word(_FLAGS, ctypes.c_int32) & _CONTIGUOUS_ALIGNED == _CONTIGUOUS_ALIGNED
        and ctypes.c_int64.from_address(shape).value == 3
        and ctypes.c_int64.from_address(shape + 8).value == 5
    )


def address_of(array: np.ndarray) -> int:
    """Address of an array's first number; quicker than `array.ctypes.data`."""
    if headers_as_expected():
        return ctypes.c_uint64.from_address(id(array) + DATA).value
    return array.ctypes.data


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _Record(np.ndarray):
    """The builtin's `self`; `keep` holds all that native code points to."""

    keep: list


@cache
def interface() -> dict[str, int]:
    """Addresses of what the native code calls; places in NumPy's C interface are fixed since 1.0."""
    core: Any = getattr(np, "_core", None) or np.core
    api = ctypes.pythonapi
    get_pointer = api.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get_pointer(core.multiarray._ARRAY_API, None)
    named = {
        "vectorcall": api.PyObject_Vectorcall,
        "retain": api.Py_IncRef,
        "release": api.Py_DecRef,
        "tuple_new": api.PyTuple_New,
        "tuple_put": api.PyTuple_SetItem,
        "as_number": api.PyLong_AsLongLong,
        "as_object": api.PyLong_FromLongLong,
        "clear_error": api.PyErr_Clear,
        "leave": api.PyEval_SaveThread,
        "come_back": api.PyEval_RestoreThread,
    }
    return {
        "array_type": id(np.ndarray),
        "float_type": id(np.dtype(np.float64)),
        "int_type": id(int),
        "none": id(None),
        "array_new": ctypes.c_uint64.from_address(table + 8 * 93).value,
        "array_return": ctypes.c_uint64.from_address(table + 8 * 76).value,
        **{name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in named.items()},
    }


def new_builtin(name: str, code: int, record: np.ndarray, keep: Any) -> Callable[..., Any]:
    """Return the builtin whose code (self, args, count, keywords) stands at an address; record: its `self`, int64."""
    own = record.view(_Record)
    method = _MethodDef(name.encode(), code, _FASTCALL_KEYWORDS, None)
    own.keep = [method, keep]
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(method), own, None)


class Builtin:
    """Makes the builtin for a function and tells it later where its batch code is.

    code: address of `python_call`. slow: the Python callable for everything else. single, batch: descriptions of the
    arrays (see tiles.py), flat. tables: ints, floats, work. keep: objects that must live as long as the builtin.
    """

    def __init__(
        self,
        code: int,
        name: str,
        slow: Callable[..., Any],
        input_shapes: Sequence[tuple[int, ...]],
        result_shapes: Sequence[tuple[int, ...]],
        descriptions: tuple[Sequence[int], Sequence[int]],
        tables: tuple[np.ndarray, np.ndarray, np.ndarray],
        keep: tuple,
    ) -> None:
        self._layout = layout = _Layout([len(shape) for shape in input_shapes], len(result_shapes))
        record = np.zeros(layout.length, dtype=np.int64)
        known = {**interface(), "slow": id(slow), "least_rows": 1 << 62}
        known |= {key: address_of(table) for key, table in zip(("ints", "floats", "work"), tables, strict=True)}
        for k, key in enumerate(_HEADER):
            record[k] = known.get(key, 0)
        for start, shape in zip(layout.shapes, input_shapes, strict=True):
            record[start : start + len(shape)] = shape
        axes = [(np.array(shape, dtype=np.int64), np.array([0, *shape], dtype=np.int64)) for shape in result_shapes]
        for k, (plain, batched) in enumerate(axes):
            place = layout.results + 3 * k
            record[place : place + 3] = len(plain), address_of(plain), address_of(batched)
        record[layout.single : layout.batch] = descriptions[0]
        record[layout.batch :] = descriptions[1]
        self._record, self._kept = record, [axes, slow, tables, keep]
        self.call = new_builtin(name, code, record, self._kept)

    def allow_batches(self, code: int, work: np.ndarray, least_rows: int, most_rows: int, keep: Any) -> None:
        """Let the builtin run batches of these numbers of rows by itself."""
        values = {"batch_work": address_of(work), "least_rows": least_rows, "most_rows": most_rows, "batch_code": code}
        self._kept.append((work, keep))
        for name, value in values.items():
            self._record[_HEADER.index(name)] = value
