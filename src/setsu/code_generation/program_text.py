"""A traced function as lines of assignments, in any language with infix arithmetic.

Operations stand in the order they were recorded. A result that is used more than once, or is long, gets a name; others
are written where they are used, in brackets only where needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from setsu.symbolic import Expression, Graph, Op, Scalar

__all__ = ["Assignments", "Notation", "assignments"]

_SYMBOLS = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
# How tightly an operation binds; a text is put in brackets where a tighter one is needed.
_SUM, _PRODUCT, _SIGN, _ATOM = 1, 2, 3, 4
# Longer expressions get a name of their own even when used once.
_LONGEST = 80


@dataclass(frozen=True)
class Notation:
    """How a language writes inputs, constants, functions of one argument, and `a if x < 0 else b`."""

    input: Callable[[str, int], str]
    constant: Callable[[float], str]
    functions: dict[Op, str]
    select: Callable[[str, str, str], str]


@dataclass(frozen=True)
class Assignments:
    """Names with the text they stand for, in order, and the text of each output."""

    steps: list[tuple[str, str]]
    outputs: dict[str, list[str]]


def assignments(graph: Graph, outputs: dict[str, list[Scalar]], notation: Notation) -> Assignments:
    """Write out what the outputs need."""
    flat = [value for values in outputs.values() for value in values]
    order = graph.needed(flat)
    uses: Counter[int] = Counter(value.index for value in flat if isinstance(value, Expression))
    for index in order:
        if graph.ops[index] > Op.CONSTANT:
            uses.update(graph.args[index])
    texts: dict[int, tuple[str, int]] = {}
    steps: list[tuple[str, str]] = []

    def operand(index: int, tightness: int) -> str:
        text, binds = texts[index]
        return text if binds >= tightness else f"({text})"

    for index in order:
        op, args = graph.ops[index], graph.args[index]
        match op:
            case Op.INPUT:
                texts[index] = (notation.input(*args[0]), _ATOM)
                continue
            case Op.CONSTANT:
                text = notation.constant(args[0])
                texts[index] = (text, _SIGN if text.startswith("-") else _ATOM)
                continue
            case Op.ADD | Op.SUB:
                # The right operand of a difference, and every right operand, keeps the recorded order of rounding.
                text = f"{operand(args[0], _SUM)} {_SYMBOLS[op]} {operand(args[1], _PRODUCT)}"
                binds = _SUM
            case Op.MUL | Op.DIV:
                text, binds = f"{operand(args[0], _PRODUCT)}{_SYMBOLS[op]}{operand(args[1], _SIGN)}", _PRODUCT
            case Op.NEG:
                text, binds = f"-{operand(args[0], _ATOM)}", _SIGN
            case Op.SELECT:
                text, binds = notation.select(*(operand(arg, _SUM) for arg in args)), _ATOM
            case _:
                text, binds = f"{notation.functions[op]}({operand(args[0], _SUM)})", _ATOM
        if uses[index] > 1 or len(text) > _LONGEST:
            name = f"t{len(steps)}"
            steps.append((name, text))
            text, binds = name, _ATOM
        texts[index] = (text, binds)
    written = {
        name: [texts[v.index][0] if isinstance(v, Expression) else notation.constant(float(v)) for v in values]  # type: ignore[arg-type]
        for name, values in outputs.items()
    }
    return Assignments(steps, written)
