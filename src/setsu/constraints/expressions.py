"""Text such as "x**2 + y**2 - z" as an expression graph in x, y, z; parsed, never executed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

from setsu.errors import InputError
from setsu.symbolic import Expression, Graph, Scalar

__all__ = ["ALLOWED", "COORDINATES", "parse_expression"]

COORDINATES = ("x", "y", "z")
ALLOWED = "numbers, pi, x, y, z, + - * /, ** with a whole or half number, sin cos tan sqrt ( )"

_LONGEST_TEXT = 4000
_LARGEST_POWER = 64


def parse_expression(text: str, graph: Graph, what: str) -> Scalar:
    """Return the expression of `text` over the graph's inputs "x", "y", "z".

    >>> from setsu.symbolic import evaluate
    >>> graph = Graph()
    >>> evaluate(graph, [parse_expression("x**2 - 2*y", graph, "surface")], {"x": 3.0, "y": 1.0, "z": 0.0})
    [7.0]
    """
    if not isinstance(text, str):
        raise InputError(f"{what}: expected a text such as 'x**2 + y**2 - z', got {text!r}")
    if len(text) > _LONGEST_TEXT:
        raise InputError(f"{what}: expected at most {_LONGEST_TEXT} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", "too deeply nested")
        raise InputError(f"{what}: cannot read {text!r}: {reason}; allowed are {ALLOWED}") from None
    try:
        return _Reader(graph, text, what).read(tree.body)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what}: {text!r} divides by zero, overflows or takes the root of a negative") from None
    except RecursionError:
        raise InputError(f"{what}: {text[:40]!r}... is too deeply nested") from None


class _Reader:
    """Walks the syntax tree; what it does not know is refused with the place in the text."""

    def __init__(self, graph: Graph, text: str, what: str) -> None:
        self.graph, self.text, self.what = graph, text, what

    def read(self, node: ast.expr) -> Scalar:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._finite(float(number), node)
            case ast.Name(id="pi"):
                return math.pi
            case ast.Name(id=name) if name in COORDINATES:
                return self.graph.input(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.read(left), self.read(right), node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self.read(argument))
        raise InputError(f"{self.what}: {self._source(node)!r} is not allowed in {self.text!r}; allowed are {ALLOWED}")

    def _power(self, base: Scalar, exponent: Scalar, node: ast.expr) -> Scalar:
        if isinstance(exponent, (Expression, complex)) or abs(exponent) > _LARGEST_POWER:
            raise InputError(
                f"{self.what}: expected a number up to {_LARGEST_POWER} as power, got {self._source(node)!r}"
            )
        halves = 2.0 * exponent
        if halves != round(halves):
            raise InputError(
                f"{self.what}: expected a whole or half number as power, got {exponent} in {self._source(node)!r}"
            )
        whole, half = divmod(abs(round(halves)), 2)
        result: Scalar = _sqrt(base) if half else 1.0
        for _ in range(whole):
            result = result * base
        return 1.0 / result if exponent < 0 else result

    def _finite(self, number: float, node: ast.expr) -> float:
        if not math.isfinite(number):
            raise InputError(f"{self.what}: expected finite numbers, got {self._source(node)!r} in {self.text!r}")
        return number

    def _source(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.text.strip(), node) or type(node).__name__


def _sqrt(value: Scalar) -> Scalar:
    return value.sqrt() if isinstance(value, Expression) else math.sqrt(_real(value))


def _cos_sin(value: Scalar) -> tuple[Scalar, Scalar]:
    if isinstance(value, Expression):
        return value.cos_sin()
    return math.cos(_real(value)), math.sin(_real(value))


def _tan(value: Scalar) -> Scalar:
    cosine, sine = _cos_sin(value)
    return sine / cosine


def _real(value: Scalar) -> float:
    assert isinstance(value, (int, float))
    return float(value)


_BINARY: dict[type[ast.operator], Callable[[Scalar, Scalar], Scalar]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}

_FUNCTIONS: dict[str, Callable[[Scalar], Scalar]] = {
    "sin": lambda value: _cos_sin(value)[1],
    "cos": lambda value: _cos_sin(value)[0],
    "tan": _tan,
    "sqrt": _sqrt,
}
