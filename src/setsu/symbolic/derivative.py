"""Derivatives of a graph: one pass over the nodes per direction, sharing what passes have in common; or one backwards.

    d(a b) = da b + a db,  d(a / b) = (da - (a/b) db) / b,  d cos a = -sin a da,  d sin a = cos a da,
    d sqrt a = da / (2 sqrt a),  d select(c, a, b) = select(c, da, db)

A selection counts as locally constant in its condition: at a switching point the derivative is one-sided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from setsu.symbolic.graph import Expression, Graph, Op, Scalar

__all__ = ["differentiate", "directional", "gradient"]


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


def gradient(graph: Graph, output: Scalar, inputs: Sequence[Expression]) -> list[Scalar]:
    """Return d output / d inputs[j] in reverse order: one pass for all inputs, at a few times the cost of the output.

    >>> from setsu.symbolic import Graph
    >>> graph = Graph()
    >>> x, y = graph.input("x"), graph.input("y")
    >>> slopes = gradient(graph, x * y, [x, y])
    >>> slopes[0] is y and slopes[1] is x
    True
    """
    if not isinstance(output, Expression):
        return [0.0] * len(inputs)
    adjoints: dict[int, Scalar] = {output.index: 1.0}
    for index in reversed(graph.needed([output])):
        op, args = graph.ops[index], graph.args[index]
        if op <= Op.CONSTANT or index not in adjoints:
            continue
        own = adjoints[index]
        for place, arg in enumerate(args):
            if op is Op.SELECT and place == 0:
                continue  # locally constant in its condition
            if graph.ops[arg] is Op.CONSTANT:
                continue
            adjoints[arg] = adjoints.get(arg, 0.0) + own * _partial(graph, index, op, args, place)
    return [adjoints.get(wanted.index, 0.0) for wanted in inputs]


def _partial(graph: Graph, index: int, op: Op, args: tuple[int, ...], place: int) -> Scalar:
    """Derivative of a node by one of its arguments, the others held, be they the same node or not."""
    values = [graph.expression(arg) for arg in args]
    d: list[Scalar] = [1.0 if k == place else 0.0 for k in range(len(args))]
    return _local_slope(graph, index, op, args, values, d)


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
    return _local_slope(graph, index, op, args, values, [slopes.get(arg, 0.0) for arg in args])


def _local_slope(
    graph: Graph, index: int, op: Op, args: tuple[int, ...], values: list[Scalar], d: list[Scalar]
) -> Scalar:
    """Change of a node where its arguments, of these values, change by d."""
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
