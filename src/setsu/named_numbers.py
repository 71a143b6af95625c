"""Numbers that remember how they were made: named lengths and angles for exact analysis.

`symbol("a3", 0.7)` is the float 0.7 that also knows its name. Sums, products, quotients and the cosines and sines that
placements take of it know their expression ("a3 + a4", "-r4*sin(alpha)"); everything else sees the float. Equality,
hashing, printing and files of numbers are those of the float, so that numeric work cannot tell the difference.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.errors import InputError

__all__ = [
    "NamedNumber",
    "NamedPlacement",
    "as_placement",
    "evaluate_expression",
    "named",
    "named_cos_sin",
    "placement_rows",
    "symbol",
    "symbols_of",
]

_RESERVED = {"cos", "sin", "pi"}


class NamedNumber(float):
    """A float with an expression in named symbols; made by `symbol` and by arithmetic on one.

    expression: text in Python syntax with + - * / cos sin. symbols: value of every symbol in it.
    """

    __slots__ = ("expression", "symbols")
    expression: str
    symbols: dict[str, float]

    def __new__(cls, value: float, expression: str, symbols: Mapping[str, float]) -> NamedNumber:
        number = super().__new__(cls, value)
        number.expression = expression
        number.symbols = dict(symbols)
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedNumber, (float(self), self.expression, self.symbols)

    def __repr__(self) -> str:
        return float.__repr__(self)

    def __add__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self if _is_plain(other, 0.0) else _join(float(self) + float(other), self, "+", other)

    def __radd__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self if _is_plain(other, 0.0) else _join(float(other) + float(self), other, "+", self)

    def __sub__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self if _is_plain(other, 0.0) else _join(float(self) - float(other), self, "-", other)

    def __rsub__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return -self if _is_plain(other, 0.0) else _join(float(other) - float(self), other, "-", self)

    def __mul__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        for factor, result in ((0.0, 0.0), (1.0, self), (-1.0, -self)):
            if _is_plain(other, factor):
                return result
        return _join(float(self) * float(other), self, "*", other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self if _is_plain(other, 1.0) else _join(float(self) / float(other), self, "/", other)

    def __rtruediv__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return 0.0 if _is_plain(other, 0.0) else _join(float(other) / float(self), other, "/", self)

    def __neg__(self) -> NamedNumber:
        inner = self.expression[1:]
        if self.expression.startswith("-") and (inner.isidentifier() or _is_bracket(inner)):
            return NamedNumber(-float(self), inner, self.symbols)
        return NamedNumber(-float(self), f"-{_factor(self.expression)}", self.symbols)

    def __pos__(self) -> NamedNumber:
        return self


def symbol(name: str, value: float) -> NamedNumber:
    """Return a named length (m) or angle (rad): a float of this value that exact analysis keeps as a name.

    >>> a3 = symbol("a3", 0.7)
    >>> a3 + 0.3, (a3 / 2).expression
    (1.0, 'a3 / 2.0')
    """
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name in _RESERVED:
        raise InputError(f"symbol name: expected a plain identifier such as a3, got {name!r}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f'symbol "{name}": expected a number, got {value!r}') from None
    if not math.isfinite(number):
        raise InputError(f'symbol "{name}": expected a finite number, got {number}')
    return NamedNumber(number, name, {name: number})


def named(number: float, original: Any) -> float:
    """Return `original` when it is a named number of this very value, else the plain float."""
    return original if isinstance(original, NamedNumber) and float(original) == float(number) else float(number)


def named_cos_sin(angle: NamedNumber, cosine: float, sine: float) -> tuple[float, float]:
    """Name the cosine and sine of a named angle."""
    inner = angle.expression[1:-1] if _is_bracket(angle.expression) else angle.expression
    return (
        NamedNumber(cosine, f"cos({inner})", angle.symbols),
        NamedNumber(sine, f"sin({inner})", angle.symbols),
    )


def evaluate_expression(text: str, symbols: Mapping[str, float], what: str) -> float:
    """Return the value of an expression in symbols; InputError when it is not one."""
    try:
        return _value(ast.parse(text, mode="eval").body, symbols)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError, OverflowError):
        known = ", ".join(symbols) or "none"
        raise InputError(f"{what}: expected an expression in the symbols ({known}), got {text[:80]!r}") from None


def symbols_of(text: str, symbols: Mapping[str, float]) -> dict[str, float]:
    """Return the symbols that occur in a sound expression, with their values."""
    names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    return {name: value for name, value in symbols.items() if name in names}


def _value(node: ast.AST, symbols: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return float(symbols[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, symbols)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, symbols), _value(right, symbols)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
        case ast.Call(func=ast.Name(id="cos" | "sin" as function), args=[inner], keywords=[]):
            return (math.cos if function == "cos" else math.sin)(_value(inner, symbols))
    raise ValueError("not an expression")


class NamedPlacement(np.ndarray):
    """A 4x4 placement some of whose entries are named; products with other placements keep the names.

    `entries` holds the numbers row by row; it is None on anything made from the array in another way.
    """

    entries: tuple[tuple[float, ...], ...] | None

    def __array_finalize__(self, obj: Any) -> None:
        self.entries = None

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _product(other, self)


def as_placement(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return rows of numbers as an array that keeps the named ones among them."""
    array = np.array([[float(entry) for entry in row] for row in rows])
    if not any(isinstance(entry, NamedNumber) for row in rows for entry in row):
        return array
    result = array.view(NamedPlacement)
    result.entries = tuple(tuple(row) for row in rows)
    return result


def _product(left: Any, right: Any) -> Any:
    plain = matmul(np.asarray(left).view(np.ndarray), np.asarray(right).view(np.ndarray))
    if np.shape(left) != (4, 4) or np.shape(right) != (4, 4):
        return plain
    a, b = _rows(left), _rows(right)
    result = []
    for i in range(4):
        row = []
        for j in range(4):
            total: float = 0.0
            for k in range(4):
                if not _is_plain(a[i][k], 0.0) and not _is_plain(b[k][j], 0.0):
                    total = total + a[i][k] * b[k][j]
            value = float(plain[i, j])
            # The array's own product decides the digits, so that names change no result.
            row.append(NamedNumber(value, total.expression, total.symbols) if isinstance(total, NamedNumber) else value)
        result.append(row)
    return as_placement(result)


def _rows(matrix: Any) -> list[list[float]]:
    """Entries of a placement; a name whose number was changed in the array since is dropped."""
    numbers = np.asarray(matrix, dtype=np.float64).tolist()
    entries = getattr(matrix, "entries", None)
    if entries is None:
        return numbers
    return [[named(x, y) for x, y in zip(*pair, strict=True)] for pair in zip(numbers, entries, strict=True)]


def placement_rows(matrix: Any) -> list[list[float]] | None:
    """Return the entries of a placement when some are named, else None."""
    return _rows(matrix) if getattr(matrix, "entries", None) is not None else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_plain(value: Any, number: float) -> bool:
    return not isinstance(value, NamedNumber) and value == number


def _join(value: float, left: Any, operator: str, right: Any) -> NamedNumber:
    a, b = (x.expression if isinstance(x, NamedNumber) else repr(float(x)) for x in (left, right))
    if operator in "*/":
        a = _factor(a)
    if operator != "+":
        b = _factor(b)
    elif b.startswith("-"):
        b = f"({b})"
    symbols = {**getattr(left, "symbols", {}), **getattr(right, "symbols", {})}
    for name in getattr(left, "symbols", {}):
        if name in getattr(right, "symbols", {}) and left.symbols[name] != right.symbols[name]:
            values = f"{left.symbols[name]} and {right.symbols[name]}"
            raise InputError(f'symbol "{name}": expected one value, got {values} in one expression')
    return NamedNumber(value, f"{a} {operator} {b}", symbols)


def _factor(text: str) -> str:
    """Text that may stand beside * and /."""
    simple = text.isidentifier() or _is_bracket(text) or _is_call(text) or text.replace(".", "", 1).isdigit()
    return text if simple else f"({text})"


def _is_bracket(text: str) -> bool:
    return text.startswith("(") and _closes_at_end(text, 0)


def _is_call(text: str) -> bool:
    return text[:4] in ("cos(", "sin(") and _closes_at_end(text, 3)


def _closes_at_end(text: str, start: int) -> bool:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
