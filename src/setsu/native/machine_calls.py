"""Builtins that run a machine: a compiled function of one address that returns only to ask.

    run() -> ask                    the machine alone
    hold(torque, steps) -> ask      its steps under a torque that is put in place before

ctypes takes 0.4 µs for a call, and a torque checked and copied by Python 1.5; the builtins take 0.1 together. Both
release the interpreter lock while the machine runs. `hold` takes None or a plain float64 array (nv,), and an int of at
least 1; for anything else it returns REFUSED and has done nothing, so that the caller finds the words.

`self` of both is an int64 array: the entries of _HEADER, found behind the array header (builtin.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.native.builtin import DATA, Lines, address_of, headers_as_expected, interface, load_vector, new_builtin
from setsu.native.toolchain import NativeModule, load_native

__all__ = ["NOTICED", "REFUSED", "Hold", "Machine"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Hold = Callable[[Any, Any], int]

REFUSED, NOTICED = -1, -2
_HEADER = (
    "array_type", "float_type", "int_type", "none", "as_number", "as_object", "clear_error", "leave", "come_back",
    "machine", "table", "held", "base", "zeros", "length", "order", "watched",
)  # fmt: skip


class Machine:
    """A compiled function of one table of words, called from Python.

    enter: calls it by ctypes. address: of its code. table: address of the words. keep: all that these point to.

    run() returns what it returns.
    """

    def __init__(self, enter: Callable[[int], int], address: int, table: int, keep: Any) -> None:
        self.address, self.table = address, table
        self._enter, self._keep = enter, keep
        self.run: Callable[[], int]
        if headers_as_expected():
            record = _record(machine=address, table=table)
            self.run = new_builtin("run", _code().addresses("run", "hold")[0], record, keep)
        else:
            self.run = lambda: self._enter(self.table)  # keeps all that the table points to

    def holding(self, held: Floats, base: Floats, order: Ints, watched: Ints) -> Hold:
        """Return hold(torque, steps): held = base + torque, order = steps, then the machine; what that returns.

        held, base: (nv,). order, watched: (1,); where the machine returns 0 but `watched` is not zero, NOTICED is
        returned.
        """
        if headers_as_expected():
            arrays = {"held": held, "base": base, "zeros": np.zeros(len(held)), "order": order, "watched": watched}
            addresses = {name: address_of(array) for name, array in arrays.items()}
            record = _record(machine=self.address, table=self.table, length=len(held), **addresses)
            return new_builtin("hold", _code().addresses("run", "hold")[1], record, (self._keep, arrays))

        def hold(torque: Any, steps: Any) -> int:
            plain = type(torque) is np.ndarray and torque.dtype == np.float64 and torque.shape == held.shape
            if not (plain or torque is None) or type(steps) is not int or not 0 < steps < 1 << 63:
                return REFUSED
            given: Any = 0.0 if torque is None else torque
            held[:] = base + given
            order[0] = steps
            ask = self.run()
            return NOTICED if not ask and watched[0] else ask

        return hold


def _record(**places: int) -> Ints:
    known = interface() | places
    return np.array([known.get(name, 0) for name in _HEADER], dtype=np.uint64).view(np.int64)


@cache
def _code() -> NativeModule:
    return load_native("machine calls", _text)


def _text() -> str:
    """LLVM text of both."""
    return "\n".join([_function("run", _run_text()), _function("hold", _hold_text())])


def _function(name: str, text: Lines) -> str:
    head = f"define ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {{"
    return "\n".join([head, "entry:", *text.lines, "}"])


def _header(text: Lines) -> dict[str, str]:
    record = text.member("%self", DATA, "ptr")
    return {name: text.entry(record, k, "i64" if name == "length" else "ptr") for k, name in enumerate(_HEADER)}


def _run_text() -> Lines:
    text = Lines()
    header = _header(text)
    _give(text, header, _run(text, header))
    return text


def _hold_text() -> Lines:
    text = Lines()
    header = _header(text)
    text.do("%numbers = alloca ptr, align 8")
    text.do("%place = alloca i64, align 8")
    two = text.let("icmp eq i64 %nargs, 2")
    text.go_on_if(text.let(f"and i1 {two}, {text.let('icmp eq ptr %keywords, null')}"), "refuse")
    torque, steps = (
        text.let(f"load ptr, ptr {text.let(f'getelementptr ptr, ptr %args, i64 {k}')}, align 8") for k in (0, 1)
    )
    text.go_on_if(text.let(f"icmp eq ptr {text.type_of(steps)}, {header['int_type']}"), "refuse")
    count = text.let(f"call i64 {header['as_number']}(ptr {steps})")
    text.go_on_if(text.let(f"icmp sgt i64 {count}, 0"), "clear")
    text.do(f"store ptr {header['zeros']}, ptr %numbers, align 8")
    nothing = text.let(f"icmp eq ptr {torque}, {header['none']}")
    text.do(f"br i1 {nothing}, label %fill, label %given")
    text.label("given")
    text.do(f"store ptr {load_vector(text, torque, header, header['length'], 'refuse')}, ptr %numbers, align 8")
    text.do("br label %fill")
    text.label("fill")
    text.do(f"store i64 {count}, ptr {header['order']}, align 8")
    text.do("store i64 0, ptr %place, align 8")
    numbers = text.let("load ptr, ptr %numbers, align 8")
    text.do("br label %next")
    text.label("next")
    i = text.let("load i64, ptr %place, align 8")
    more = text.let(f"icmp slt i64 {i}, {header['length']}")
    text.do(f"br i1 {more}, label %add, label %filled")
    text.label("add")
    a, b = (
        text.let(f"load double, ptr {text.let(f'getelementptr double, ptr {row}, i64 {i}')}, align 8")
        for row in (header["base"], numbers)
    )
    place = text.let(f"getelementptr double, ptr {header['held']}, i64 {i}")
    text.do(f"store double {text.let(f'fadd double {a}, {b}')}, ptr {place}, align 8")
    text.do(f"store i64 {text.let(f'add i64 {i}, 1')}, ptr %place, align 8")
    text.do("br label %next")
    text.label("filled")
    ask = _run(text, header)
    quiet = text.let(f"icmp eq i64 {text.entry(header['watched'], 0)}, 0")
    told = text.let(f"select i1 {quiet}, i64 0, i64 {NOTICED}")
    done = text.let(f"icmp eq i64 {ask}, 0")
    _give(text, header, text.let(f"select i1 {done}, i64 {told}, i64 {ask}"))
    text.label("clear")  # a number beyond 64 bits
    text.do(f"call void {header['clear_error']}()")
    text.do("br label %refuse")
    text.label("refuse")
    _give(text, header, str(REFUSED))
    return text


def _run(text: Lines, header: dict[str, str]) -> str:
    """Run the machine without the interpreter lock."""
    state = text.let(f"call ptr {header['leave']}()")
    ask = text.let(f"call i64 {header['machine']}(ptr {header['table']})")
    text.do(f"call void {header['come_back']}(ptr {state})")
    return ask


def _give(text: Lines, header: dict[str, str], number: str) -> None:
    given = text.let(f"call ptr {header['as_object']}(i64 {number})")
    text.do(f"ret ptr {given}")
