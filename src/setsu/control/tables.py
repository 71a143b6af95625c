"""Values by time that a law looks up: piecewise polynomials, which run without Python too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.symbolic.graph import Expression, Graph
from setsu.symbolic.tracing import Number, Untraceable, symbols

__all__ = ["LawGraph", "Table", "looked_up"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Polynomials in s = t - t_k between times t_k (s), rising: values before the first, between, after the last.

    knots: (K,). coefficients: (K + 1, n, degree + 1), of rising powers; those before the first count from it too.
    """

    knots: Floats
    coefficients: Floats

    def __call__(self, t: float) -> Floats:
        """Return the values (n,) at time t."""
        k = int(np.searchsorted(self.knots, t, side="right"))
        s, value = t - self.knots[max(k - 1, 0)], np.zeros(self.coefficients.shape[1])
        for power in range(self.coefficients.shape[2] - 1, -1, -1):
            value = value * s + self.coefficients[k, :, power]
        return value


class LawGraph(Graph):
    """What a law computes; it looks up tables at its own time only."""

    def __init__(self) -> None:
        super().__init__()
        self.time = self.input("t")
        self.tables: list[Table] = []


def looked_up(t: Number, table: Table) -> Any:
    """Return the values of a table at the time of a law, as symbols."""
    graph = t.value.graph if isinstance(t.value, Expression) else None
    if not isinstance(graph, LawGraph) or t.value is not graph.time:
        raise Untraceable("it looks into a table at another time than t")
    start = sum(known.coefficients.shape[1] for known in graph.tables)
    graph.tables.append(table)
    return symbols([graph.input(f"table {start + k}") for k in range(table.coefficients.shape[1])], (-1,))
