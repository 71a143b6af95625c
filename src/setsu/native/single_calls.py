"""A builtin for single calls of compiled code: copies, new arrays and the lock around it in native code.

    call(*inputs) -> results, or None

Python takes some 15 µs for these, longer than a mechanism of ten bodies takes to be solved; the builtin takes 0.3. It
copies plain float64 vectors to where the compiled code reads them, runs it, and returns copies of its results, or None
where the outcome it leaves is not 0: the caller then finds the words. Other arguments go through Python, with the same
bits.

The work space of the code is one. The builtin keeps the interpreter lock while it runs, and a `WorkspaceLock` tells it
when another thread that runs without is inside: then Python waits.

`self` of the builtin is an int64 array: the entries of _HEADER, found behind the array header (builtin.py), then
address and length of each input, and for each result its address, bytes, ndim and the address of its shape.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.native.builtin import (
    DATA,
    Lines,
    address_of,
    headers_as_expected,
    interface,
    load_vector,
    new_array,
    new_builtin,
)
from setsu.native.machine_calls import Machine
from setsu.native.toolchain import NativeModule, load_native

__all__ = ["SingleCall", "WorkspaceLock", "single_call"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SingleCall = Callable[..., tuple[Floats, ...] | None]

_HEADER = (
    "array_type", "float_type", "array_new", "tuple_new", "tuple_put", "vectorcall", "retain", "release", "none",
    "slow", "machine", "table", "outcome", "busy",
)  # fmt: skip


class WorkspaceLock:
    """Whoever uses a work space from Python holds it; `busy` tells native code so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.busy = np.zeros(1, dtype=np.int64)

    def __enter__(self) -> None:
        self._lock.acquire()
        self.busy[0] = 1

    def __exit__(self, *_: object) -> None:
        self.busy[0] = 0
        self._lock.release()


def single_call(
    machine: Machine, inputs: Sequence[Floats], outcome: Ints, results: Sequence[Floats], lock: WorkspaceLock
) -> SingleCall:
    """Return the builtin.

    machine: reads `inputs`, vectors, and leaves `outcome` (1,) and `results`, arrays of any shape.
    """

    def slow(*given: Any) -> tuple[Floats, ...] | None:
        for array, room in zip(given, inputs, strict=True):
            if type(array) is not np.ndarray or array.dtype != np.float64 or array.shape != room.shape:
                return None
        with lock:
            for array, room in zip(given, inputs, strict=True):
                room[:] = array
            machine.run()
            return None if outcome[0] else tuple(result.copy() for result in results)

    if not headers_as_expected():
        return slow
    known = interface() | {"slow": id(slow), "machine": machine.address, "table": machine.table}
    known |= {"outcome": address_of(outcome), "busy": address_of(lock.busy)}
    words = [known[name] for name in _HEADER]
    for room in inputs:
        words += [address_of(room), len(room)]
    shapes = [np.array(result.shape, dtype=np.int64) for result in results]
    for result, shape in zip(results, shapes, strict=True):
        words += [address_of(result), result.nbytes, result.ndim, address_of(shape)]
    record = np.array(words, dtype=np.uint64).view(np.int64)
    code = _code(len(inputs), len(results)).addresses("call")[0]
    return new_builtin("call", code, record, (machine, inputs, outcome, results, shapes, slow, lock))


@cache
def _code(n_inputs: int, n_results: int) -> NativeModule:
    return load_native(f"single calls {n_inputs} {n_results}", lambda: _text(n_inputs, n_results))


def _text(n_inputs: int, n_results: int) -> str:
    """LLVM text of the builtin."""
    text = Lines()
    record = text.member("%self", DATA, "ptr")
    header = {name: text.entry(record, k, "ptr") for k, name in enumerate(_HEADER)}
    expected = text.let(f"icmp eq i64 %nargs, {n_inputs}")
    text.go_on_if(text.let(f"and i1 {expected}, {text.let('icmp eq ptr %keywords, null')}"), "other")
    place, copies = len(_HEADER), []
    for k in range(n_inputs):
        room, length = text.entry(record, place, "ptr"), text.entry(record, place + 1)
        argument = text.let(f"load ptr, ptr {text.let(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8")
        vector = load_vector(text, argument, header, length, "other")
        copies.append(_copy(room, vector, text.let(f"shl i64 {length}, 3")))
        place += 2
    text.go_on_if(text.let(f"icmp eq i64 {text.entry(header['busy'], 0)}, 0"), "other")
    # Arrays are made first: nothing of Python's stands between the run and the copies of its results.
    given = text.let(f"call ptr {header['tuple_new']}(i64 {n_results})")
    text.go_on_if(text.let(f"icmp ne ptr {given}, null"), "no_memory")
    answers = []
    for k in range(n_results):
        source, size, ndim, shape = (text.entry(record, place + i, "i64" if i in (1, 2) else "ptr") for i in range(4))
        array = new_array(text, header, text.let(f"trunc i64 {ndim} to i32"), shape)
        text.go_on_if(text.let(f"icmp ne ptr {array}, null"), "no_memory")
        text.let(f"call i32 {header['tuple_put']}(ptr {given}, i64 {k}, ptr {array})")
        answers.append(_copy(text.member(array, DATA, "ptr"), source, size))
        place += 4
    for copy in copies:
        text.do(copy)
    text.let(f"call i64 {header['machine']}(ptr {header['table']})")
    text.go_on_if(text.let(f"icmp eq i64 {text.entry(header['outcome'], 0)}, 0"), "refused")
    for copy in answers:
        text.do(copy)
    text.do(f"ret ptr {given}")
    text.label("refused")
    text.do(f"call void {header['release']}(ptr {given})")
    text.do(f"call void {header['retain']}(ptr {header['none']})")
    text.do(f"ret ptr {header['none']}")
    text.label("no_memory")  # NumPy or Python has set the error
    text.do("ret ptr null")
    text.label("other")
    text.do(f"%answer = call ptr {header['vectorcall']}(ptr {header['slow']}, ptr %args, i64 %nargs, ptr %keywords)")
    text.do("ret ptr %answer")
    declared = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    head = "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {"
    return "\n".join([declared, head, "entry:", *text.lines, "}"])


def _copy(to: str, source: str, size: str) -> str:
    return f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)"
