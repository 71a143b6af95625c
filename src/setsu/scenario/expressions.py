"""Texts such as "2 * sin(3*t)" as functions of the time and of named numbers; parsed, never executed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from setsu.errors import InputError, nearest_names

__all__ = ["ALLOWED", "Formula", "parse_formula"]

ALLOWED = "numbers, pi, t, the parameters, + - * / **, < <= > >= (1 or 0), and " + (
    "sin cos tan sqrt exp log tanh abs sign min max"
)
_LONGEST = 2000

Formula = Callable[[Mapping[str, Any]], Any]
"""Takes numbers or arrays by name, "t" among them; returns a number or an array."""

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: np.divide,
    ast.Pow: np.float_power,
    ast.Lt: lambda a, b: np.where(a < b, 1.0, 0.0),
    ast.LtE: lambda a, b: np.where(a <= b, 1.0, 0.0),
    ast.Gt: lambda a, b: np.where(a > b, 1.0, 0.0),
    ast.GtE: lambda a, b: np.where(a >= b, 1.0, 0.0),
}
_ONE: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "tanh": np.tanh,
    "abs": np.abs, "sign": np.sign,
}  # fmt: skip
_TWO: dict[str, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}


def parse_formula(text: str, names: Sequence[str], what: str) -> Formula:
    """Return the function of `text`; InputError names what is not allowed in it.

    names: the parameters it may use besides t. what: for messages.

    >>> float(parse_formula("a * t**2", ["a"], "torque")({"t": 2.0, "a": 3.0}))
    12.0
    """
    if len(text) > _LONGEST:
        raise InputError(f"{what}: expected at most {_LONGEST} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _read(tree.body, [*names, "t"], what)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "msg", "nested too deeply")
        raise InputError(f"{what}: cannot read {text!r}: {reason}; allowed are {ALLOWED}") from None


def _read(node: ast.expr, names: Sequence[str], what: str) -> Formula:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if abs(number) > 1e300 or not math.isfinite(number):
                raise InputError(f"{what}: expected numbers up to 1e300, got {ast.unparse(node):.40}")
            value = float(number)
            return lambda known: value
        case ast.Name(id=name) if name in names:
            return lambda known: known[name]
        case ast.Name(id="pi"):
            return lambda known: math.pi
        case ast.Name(id=name):
            raise InputError(f"{what}: unknown name {name!r}{nearest_names(name, [*names, 'pi', *_ONE, *_TWO])}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand, names, what)
            return lambda known: -inner(known)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _read(operand, names, what)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _both(_OPERATORS[type(op)], left, right, names, what)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            return _both(_OPERATORS[type(op)], left, right, names, what)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _ONE:
            function, inner = _ONE[name], _read(argument, names, what)
            return lambda known: function(inner(known))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _TWO:
            return _both(_TWO[name], left, right, names, what)
    raise InputError(f"{what}: {ast.unparse(node)[:60]!r} is not allowed; allowed are {ALLOWED}")


def _both(
    function: Callable[[Any, Any], Any], left: ast.expr, right: ast.expr, names: Sequence[str], what: str
) -> Formula:
    a, b = _read(left, names, what), _read(right, names, what)
    return lambda known: function(a(known), b(known))
