"""Derivatives of a graph, in forward order: one pass over the nodes per direction, sharing what passes have in common.

    d(a b) = da b + a db,  d(a / b) = (da - (a/b) db) / b,  d cos a = -sin a da,  d sin a = cos a da,
    d sqrt a = da / (2 sqrt a),  d select(c, a, b) = select(c, da, db)

A selection counts as locally constant in its condition: at a switching point the derivative is one-sided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from setsu.symbolic.graph import Expression, Graph, Op, Scalar

__all__ = ["differentiate", "directional"]


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
        slopes = _slopes(graph, order, {wanted.index: 1.0})
        columns.append([slopes.get(o.index, 0.0) if isinstance(o, Expression) else 0.0 for o in outputs])
    return [list(row) for row in zip(*columns, strict=True)] if inputs else [[] for _ in outputs]


def directional(graph: Graph, outputs: Sequence[Scalar], direction: Mapping[Expression, Scalar]) -> list[Scalar]:
    """Return the slopes of the outputs where the inputs change by `direction`, inputs not named there not at all.

    >>> from setsu.symbolic import Graph
    >>> graph = Graph()
    >>> x, y = graph.input("x"), graph.input("y")
    >>> [slope] = directional(graph, [x * y], {x: 1.0})
    >>> slope is y
    True
    """
    start = {node.index: slope for node, slope in direction.items() if isinstance(slope, Expression) or slope != 0}
    slopes = _slopes(graph, graph.needed(outputs), start)
    return [slopes.get(o.index, 0.0) if isinstance(o, Expression) else 0.0 for o in outputs]


def _slopes(graph: Graph, order: list[int], start: dict[int, Scalar]) -> dict[int, Scalar]:
    """Derivative of each node in a direction given by inputs; nodes that do not change are left out."""
    slopes = dict(start)
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
