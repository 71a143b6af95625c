"""LLVM text of the ways into compiled functions: from a table of words (signature.py) to Numba's calling convention.

Numba's functions are `i32 f(result *, exception **, arguments ...)`; ours raise nothing. An array is handed over as
null, null (owner), number of entries, bytes per entry, data, lengths, strides.
"""

from __future__ import annotations

from collections.abc import Sequence

from setsu.native.signature import RESULTS, ArrayKind, Kind, Signature, TupleKind, code_of_results
from setsu.native.workspace import Layout

__all__ = ["entry_text"]


def entry_text(symbol: str, function: str, signature: Signature, returns: Sequence[str], in_tuple: bool) -> str:
    """Return LLVM text of `i64 symbol(ptr table)`, or of `void symbol(ptr workspace)` for code called by address.

    function: the name of the compiled function. returns: LLVM types of what it returns; in_tuple: as a tuple. The first
    result is returned too, where it is a whole number.
    """
    if signature.by_address:
        head = [f"declare i32 @{function}(ptr, ptr, ptr)", f"define void @{symbol}(ptr %workspace) {{"]
        return "\n".join([*head, *_call(function, ["ptr %workspace"], ()), "  ret void", "}"])
    words = _Words()
    given = [text for kind in signature.arguments for text in words.argument(kind)]
    types = "".join(f", {text.split()[0]}" for text in given)
    lines = [f"define i64 @{symbol}(ptr %table) {{", *words.lines, *_call(function, given, returns)]
    lines += [f"  store i64 {code_of_results(returns, in_tuple)}, ptr %table"]
    shape = "{" + ", ".join(returns) + "}"
    for k, kind in enumerate(returns):
        lines += [
            f"  %from{k} = getelementptr inbounds {shape}, ptr %result, i32 0, i32 {k}",
            f"  %got{k} = load {kind}, ptr %from{k}",
            f"  %word{k} = {_AS_WORD[kind].format(f'%got{k}')}",
            f"  %to{k} = getelementptr inbounds i64, ptr %table, i64 {1 + k}",
            f"  store i64 %word{k}, ptr %to{k}",
        ]
    lines += [f"  ret i64 {'%word0' if returns and returns[0] != 'double' else '0'}", "}"]
    return "\n".join([f"declare i32 @{function}(ptr, ptr{types})", *lines])


_AS_WORD = {"i64": "add i64 {}, 0", "i8": "zext i8 {} to i64", "double": "bitcast double {} to i64"}


def _call(function: str, given: Sequence[str], returns: Sequence[str]) -> list[str]:
    shape = "{" + ", ".join(returns) + "}" if returns else "ptr"
    arguments = "".join(f", {text}" for text in given)
    return [
        f"  %result = alloca {shape}, align 8",
        "  %problem = alloca ptr, align 8",
        f"  %status = call i32 @{function}(ptr %result, ptr %problem{arguments})",
    ]


class _Words:
    """Reads the words of a table one after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._position = 1 + RESULTS
        self._count = 0

    def _let(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def _word(self, kind: str) -> str:
        place = self._let(f"getelementptr inbounds i64, ptr %table, i64 {self._position}")
        self._position += 1
        return self._let(f"load {kind}, ptr {place}, align 8")

    def argument(self, kind: Kind) -> list[str]:
        """What an argument is to Numba's convention."""
        if isinstance(kind, Layout):
            return [f"ptr {self._word('ptr')}"]
        if isinstance(kind, TupleKind):
            return [text for inner in kind.kinds for text in self.argument(inner)]
        if isinstance(kind, ArrayKind):
            return self._array(kind)
        if kind == "bool":
            return [f"i8 {self._let('trunc i64 ' + self._word('i64') + ' to i8')}"]
        return [f"double {self._word('double')}" if kind == "float" else f"i64 {self._word('i64')}"]

    def _array(self, kind: ArrayKind) -> list[str]:
        data = self._word("ptr")
        lengths = [self._word("i64") for _ in range(kind.axes)]
        strides = ["8"]
        for length in lengths[:0:-1]:
            strides.insert(0, self._let(f"mul i64 {strides[0]}, {length}"))
        entries = lengths[0]
        for length in lengths[1:]:
            entries = self._let(f"mul i64 {entries}, {length}")
        numbers = [f"i64 {number}" for number in (*lengths, *strides)]
        return ["ptr null", "ptr null", f"i64 {entries}", "i64 8", f"ptr {data}", *numbers]
