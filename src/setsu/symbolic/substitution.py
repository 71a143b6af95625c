"""A graph's expressions with other values in place of inputs: constants fold, zeros vanish, on a graph of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from setsu.symbolic.graph import Expression, Graph, Op, Scalar

__all__ = ["apply_operation", "substituted", "taken_over"]


def substituted(graph: Graph, outputs: Sequence[Scalar], values: Mapping[Any, Scalar]) -> list[Scalar]:
    """Return the outputs with inputs replaced; inputs that `values` does not name stay. Nodes go to the same graph.

    >>> graph = Graph()
    >>> x, y = graph.input("x"), graph.input("y")
    >>> substituted(graph, [x * y + x], {"y": 0.0})[0] is x
    True
    """
    return taken_over(graph, graph, outputs, values)


def taken_over(graph: Graph, source: Graph, outputs: Sequence[Scalar], values: Mapping[Any, Scalar]) -> list[Scalar]:
    """Return outputs of the graph `source` as expressions of `graph`, inputs replaced as in `substituted`."""
    results: dict[int, Scalar] = {}
    for index in source.needed(outputs):
        op, args = source.ops[index], source.args[index]
        if op is Op.INPUT:
            known = values.get(args[0])
            results[index] = graph.input(args[0]) if known is None else known
        elif op is Op.CONSTANT:
            results[index] = args[0]
        else:
            results[index] = apply_operation(graph, op, [results[arg] for arg in args])
    return [results[value.index] if isinstance(value, Expression) else value for value in outputs]


def apply_operation(graph: Graph, op: Op, args: Sequence[Any]) -> Scalar:
    """Return one operation on values, constants among them."""
    match op:
        case Op.ADD:
            return args[0] + args[1]
        case Op.SUB:
            return args[0] - args[1]
        case Op.MUL:
            return args[0] * args[1]
        case Op.DIV:
            return args[0] / args[1]
        case Op.NEG:
            return -args[0]
    if not isinstance(args[0], Expression):
        if op is Op.SELECT:
            return args[1] if args[0] < 0 else args[2]
        # A function of a constant is left to the program: rounding is that of its own library.
        return graph.node(op, (graph.constant(args[0]).index,))
    if op is Op.SELECT:
        return args[0].select_negative(args[1], args[2])
    return args[0].sqrt() if op is Op.SQRT else args[0].cos_sin()[op is Op.SIN]
