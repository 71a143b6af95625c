"""Values of a graph's expressions for given inputs; for checks and tables, where speed does not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from setsu.symbolic.graph import Expression, Graph, Op, Scalar

__all__ = ["evaluate"]

_APPLY: dict[Op, Callable[..., Any]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.NEG: lambda a: -a,
    Op.COS: np.cos,
    Op.SIN: np.sin,
    Op.SQRT: np.sqrt,
    Op.SELECT: lambda a, b, c: np.where(np.real(a) < 0, b, c),
}


def evaluate(graph: Graph, outputs: Sequence[Scalar], values: Mapping[Any, Any]) -> list[Any]:
    """Return the outputs' values; `values` maps input keys to numbers or NumPy arrays (real or complex).

    >>> from setsu.symbolic import Graph
    >>> graph = Graph()
    >>> x = graph.input("x")
    >>> evaluate(graph, [x * 2.0 + 1.0], {"x": 3.0})
    [7.0]
    """
    results: dict[int, Any] = {}
    for index in graph.needed(outputs):
        op, args = graph.ops[index], graph.args[index]
        if op is Op.INPUT:
            results[index] = values[args[0]]
        elif op is Op.CONSTANT:
            results[index] = args[0]
        else:
            results[index] = _APPLY[op](*(results[arg] for arg in args))
    return [results[value.index] if isinstance(value, Expression) else value for value in outputs]
