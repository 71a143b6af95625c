"""Derivatives of a graph, in forward order: one pass over the nodes per input, sharing what the passes have in common.

    d(a b) = da b + a db,  d(a / b) = (da - (a/b) db) / b,  d cos a = -sin a da,  d sin a = cos a da,
    d sqrt a = da / (2 sqrt a),  d select(c, a, b) = select(c, da, db)

A selection counts as locally constant in its condition: at a switching point the derivative is one-sided.
"""

from __future__ import annotations

from collections.abc import Sequence

from setsu.symbolic.graph import Expression, Graph, Op, Scalar

__all__ = ["differentiate"]


def differentiate(graph: Graph, outputs: Sequence[Scalar], inputs: Sequence[Expression]) -> list[list[Scalar]]:
    """Return d outputs[i] / d inputs[j] as rows of expressions of the same graph.

    >>> from setsu.symbolic import Graph
    >>> graph = Graph()
    >>> x = graph.input("x")
    >>> [[slope]] = differentiate(graph, [x * x], [x])
    >>> slope is x * 2.0 or slope is x + x
    True
    """
    order = graph.needed(outputs)
    columns = []
    for wanted in inputs:
        slopes = _slopes(graph, order, wanted.index)
        columns.append([slopes.get(o.index, 0.0) if isinstance(o, Expression) else 0.0 for o in outputs])
    return [list(row) for row in zip(*columns, strict=True)] if inputs else [[] for _ in outputs]


def _slopes(graph: Graph, order: list[int], wanted: int) -> dict[int, Scalar]:
    """Derivative of each node by one input; nodes that do not depend on it are left out."""
    slopes: dict[int, Scalar] = {wanted: 1.0}
    for index in order:
        op, args = graph.ops[index], graph.args[index]
        if op <= Op.CONSTANT or not any(arg in slopes for arg in args):
            continue
        slope = _slope(graph, index, op, args, slopes)
        if isinstance(slope, Expression) or slope != 0:
            slopes[index] = slope
    return slopes


def _slope(graph: Graph, index: int, op: Op, args: tuple[int, ...], slopes: dict[int, Scalar]) -> Scalar:
    values = [graph.expression(arg) for arg in args]
    d = [slopes.get(arg, 0.0) for arg in args]
    match op:
        case Op.ADD:
            return d[0] + d[1]
        case Op.SUB:
            return d[0] - d[1]
        case Op.MUL:
            return d[0] * values[1] + values[0] * d[1]
        case Op.DIV:
            return (d[0] - graph.expression(index) * d[1]) / values[1]
        case Op.NEG:
            return -d[0]
        case Op.COS:
            return -(graph.node(Op.SIN, args) * d[0])
        case Op.SIN:
            return graph.node(Op.COS, args) * d[0]
        case Op.SQRT:
            return d[0] / (2.0 * graph.expression(index))
        case _:
            condition = values[0]
            assert isinstance(condition, Expression)
            return condition.select_negative(d[1], d[2])
