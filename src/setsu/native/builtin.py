"""A CPython builtin around a kernel body for one state: argument checks and a fresh result in native code.

A Python function around ctypes costs about a microsecond a call, more than the kernel; this costs about 0.1. The
builtin takes exact float64 vectors of the right length and hands everything else (lists, batches, keywords, numbers
that are not finite) to a Python callable, which also words the errors.

`self` of the builtin is an int64 array, the record, whose data the native code finds behind the array header:
RECORD_HEADER entries, then the descriptions of the arrays as in tiles.py.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from setsu.native.tiles import DESCRIPTION_WIDTH

__all__ = ["RECORD_HEADER", "address_of", "builtin_text", "headers_as_expected", "make_builtin"]

# ndarray type, float64 dtype, PyArray_New, PyObject_Vectorcall, Py_DecRef, fallback, ints, floats, work,
# result ndim, result shape
RECORD_HEADER = 11
# Where CPython and NumPy keep these inside an array object (64-bit builds; checked at run time below).
_TYPE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS = 8, 16, 24, 32, 56, 64
_CONTIGUOUS_ALIGNED = 0x101
_FLOAT64 = 12


def builtin_text(n_inputs: int) -> str:
    """LLVM text of the builtin; needs `rows` of tiles.py in the same module. One result."""
    lines: list[str] = []
    record = "%record"
    for k in range(n_inputs):
        d = RECORD_HEADER + k * DESCRIPTION_WIDTH
        lines += [
            f"  %place{k} = getelementptr ptr, ptr %args, i64 {k}",
            f"  %arg{k} = load ptr, ptr %place{k}, align 8",
            f"  %type_at{k} = getelementptr i8, ptr %arg{k}, i64 {_TYPE}",
            f"  %type{k} = load ptr, ptr %type_at{k}, align 8",
            f"  %is_array{k} = icmp eq ptr %type{k}, %array_type",
            f"  br i1 %is_array{k}, label %array{k}, label %fallback",
            f"array{k}:",
            f"  %ndim_at{k} = getelementptr i8, ptr %arg{k}, i64 {_NDIM}",
            f"  %ndim{k} = load i32, ptr %ndim_at{k}, align 4",
            f"  %flat{k} = icmp eq i32 %ndim{k}, 1",
            f"  br i1 %flat{k}, label %vector{k}, label %fallback",
            f"vector{k}:",
            f"  %shape_at{k} = getelementptr i8, ptr %arg{k}, i64 {_SHAPE}",
            f"  %shape{k} = load ptr, ptr %shape_at{k}, align 8",
            f"  %length{k} = load i64, ptr %shape{k}, align 8",
            f"  %width_at{k} = getelementptr i64, ptr {record}, i64 {d + 2}",
            f"  %width{k} = load i64, ptr %width_at{k}, align 8",
            f"  %fits{k} = icmp eq i64 %length{k}, %width{k}",
            f"  %dtype_at{k} = getelementptr i8, ptr %arg{k}, i64 {_DTYPE}",
            f"  %dtype{k} = load ptr, ptr %dtype_at{k}, align 8",
            f"  %double{k} = icmp eq ptr %dtype{k}, %float_type",
            f"  %flags_at{k} = getelementptr i8, ptr %arg{k}, i64 {_FLAGS}",
            f"  %flags{k} = load i32, ptr %flags_at{k}, align 4",
            f"  %order{k} = and i32 %flags{k}, {_CONTIGUOUS_ALIGNED}",
            f"  %plain{k} = icmp eq i32 %order{k}, {_CONTIGUOUS_ALIGNED}",
            f"  %both{k} = and i1 %fits{k}, %double{k}",
            f"  %good{k} = and i1 %both{k}, %plain{k}",
            f"  br i1 %good{k}, label %take{k}, label %fallback",
            f"take{k}:",
            f"  %data_at{k} = getelementptr i8, ptr %arg{k}, i64 {_DATA}",
            f"  %data{k} = load ptr, ptr %data_at{k}, align 8",
            f"  %slot{k} = getelementptr i64, ptr {record}, i64 {d}",
            f"  store ptr %data{k}, ptr %slot{k}, align 8",
        ]
    names = ("array_type", "float_type", "array_new", "vectorcall", "release", "slow", "ints", "floats", "work")
    head: list[str] = []
    for k, name in enumerate(names):
        head += [
            f"  %{name}_at = getelementptr i64, ptr {record}, i64 {k}",
            f"  %{name} = load ptr, ptr %{name}_at, align 8",
        ]
    out = RECORD_HEADER + n_inputs * DESCRIPTION_WIDTH
    return "\n".join(
        [
            "define ptr @python_call(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {",
            "entry:",
            f"  %record_at = getelementptr i8, ptr %self, i64 {_DATA}",
            f"  {record} = load ptr, ptr %record_at, align 8",
            *head,
            f"  %count_fits = icmp eq i64 %nargs, {n_inputs}",
            "  %no_keywords = icmp eq ptr %keywords, null",
            "  %simple = and i1 %count_fits, %no_keywords",
            "  br i1 %simple, label %look, label %fallback",
            "look:",
            *lines,
            f"  %ndim_of_result = getelementptr i64, ptr {record}, i64 9",
            "  %ndim = load i32, ptr %ndim_of_result, align 8",
            f"  %shape_of_result = getelementptr i64, ptr {record}, i64 10",
            "  %shape = load ptr, ptr %shape_of_result, align 8",
            f"  %result = call ptr %array_new(ptr %array_type, i32 %ndim, ptr %shape, i32 {_FLOAT64}, ptr null, ptr null, "
            "i32 0, i32 0, ptr null)",
            "  %failed = icmp eq ptr %result, null",
            "  br i1 %failed, label %give, label %compute",
            "compute:",
            f"  %result_data_at = getelementptr i8, ptr %result, i64 {_DATA}",
            "  %result_data = load ptr, ptr %result_data_at, align 8",
            f"  %result_slot = getelementptr i64, ptr {record}, i64 {out}",
            "  store ptr %result_data, ptr %result_slot, align 8",
            f"  %arrays = getelementptr i64, ptr {record}, i64 {RECORD_HEADER}",
            "  %status = call i64 @rows(ptr %ints, ptr %floats, ptr %work, ptr %arrays, i64 1)",
            "  %fine = icmp slt i64 %status, 0",
            "  br i1 %fine, label %give, label %refuse",
            "refuse:",
            "  call void %release(ptr %result)",
            "  br label %fallback",
            "give:",
            "  ret ptr %result",
            "fallback:",
            "  %answer = call ptr %vectorcall(ptr %slow, ptr %args, i64 %nargs, ptr %keywords)",
            "  ret ptr %answer",
            "}",
        ]
    )


@cache
def headers_as_expected() -> bool:
    """Tell whether array objects look in memory as the builtin reads them (not so without the global lock)."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.maxsize < 2**62:
        return False
    probe = np.zeros((3, 5))
    address = id(probe)

    def word(offset: int, kind: Any) -> int:
        return kind.from_address(address + offset).value

    shape = word(_SHAPE, ctypes.c_uint64)
    return (
        word(_TYPE, ctypes.c_uint64) == id(np.ndarray)
        and word(_DATA, ctypes.c_uint64) == probe.ctypes.data
        and word(_NDIM, ctypes.c_int32) == 2
        and word(_DTYPE, ctypes.c_uint64) == id(np.dtype(np.float64))
        and word(_FLAGS, ctypes.c_int32) & _CONTIGUOUS_ALIGNED == _CONTIGUOUS_ALIGNED
        and ctypes.c_int64.from_address(shape).value == 3
        and ctypes.c_int64.from_address(shape + 8).value == 5
    )


def address_of(array: np.ndarray) -> int:
    """Address of an array's first number; much quicker than `array.ctypes.data`."""
    if headers_as_expected():
        return ctypes.c_uint64.from_address(id(array) + _DATA).value
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

    keep: tuple


@cache
def _array_new() -> int:
    """Address of NumPy's PyArray_New (entry 93 of its C interface, fixed since 1.0)."""
    multiarray = getattr(np, "_core", None) or np.core
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get_pointer(multiarray.multiarray._ARRAY_API, None)
    return ctypes.c_uint64.from_address(table + 8 * 93).value


def make_builtin(
    address: int,
    name: str,
    fallback: Callable[..., Any],
    descriptions: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
    result_shape: tuple[int, ...],
    keep: tuple,
) -> Callable[..., np.ndarray]:
    """Return a builtin that runs the code at `address` (a `python_call`); `tables` are ints, floats, work."""
    shape = np.array(result_shape, dtype=np.int64)
    api = ctypes.pythonapi
    header = [
        id(np.ndarray),
        id(np.dtype(np.float64)),
        _array_new(),
        ctypes.cast(api.PyObject_Vectorcall, ctypes.c_void_p).value,
        ctypes.cast(api.Py_DecRef, ctypes.c_void_p).value,
        id(fallback),
        *(table.ctypes.data for table in tables),
        len(result_shape),
        shape.ctypes.data,
    ]
    record = np.concatenate([np.array(header, dtype=np.uint64).view(np.int64), descriptions.ravel()]).view(_Record)
    method = _MethodDef(name.encode(), address, _FASTCALL_KEYWORDS, None)
    record.keep = (method, shape, fallback, tables, keep)
    new = api.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(method), record, None)
