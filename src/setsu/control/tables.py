"""What a law without Python computes: its graph, the tables it looks up, what it remembers and what it senses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.symbolic.graph import Expression, Graph
from setsu.symbolic.tracing import Number, Untraceable, symbols

__all__ = ["LawGraph", "Table", "graph_of", "looked_up"]

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
    """What a law computes; it looks up tables at its own time only.

    sensor: whose readings it may use. memory: numbers from one sample to the next, (before, after); all 0 at first.
    """

    def __init__(self, sensor: Any = None) -> None:
        super().__init__()
        self.time = self.input("t")
        self.tables: list[Table] = []
        self.sensor = sensor
        self.memory: list[tuple[Expression, Any]] = []

    def remembered(self, count: int) -> Any:
        """Return what was remembered at the sample before, (count,); `remember` says what will be."""
        first = len(self.memory)
        slots = [self.input(f"memory {first + k}") for k in range(count)]
        self.memory += [(slot, slot) for slot in slots]
        return symbols(slots, (count,))

    def remember(self, before: Any, after: Any) -> None:
        """Let `after` be remembered in place of `before`, as `remembered` returned it."""
        place = {slot: k for k, (slot, _) in enumerate(self.memory)}
        for old, new in zip(before, after, strict=True):
            self.memory[place[old.value]] = (old.value, new.value)

    def sensed(self, sensor: Any, count: int) -> Any:
        """Return the readings of a sensor, (count,)."""
        if sensor is not self.sensor:
            raise Untraceable("it reads a sensor that does not look when the law is sampled")
        return symbols([self.input(f"sensed {k}") for k in range(count)], (count,))


def looked_up(t: Number, table: Table) -> Any:
    """Return the values of a table at the time of a law, as symbols."""
    graph = graph_of(t)
    start = sum(known.coefficients.shape[1] for known in graph.tables)
    graph.tables.append(table)
    return symbols([graph.input(f"table {start + k}") for k in range(table.coefficients.shape[1])], (-1,))


def graph_of(t: Number) -> LawGraph:
    """Return the graph of the law that is being traced, from its time."""
    graph = t.value.graph if isinstance(t.value, Expression) else None
    if not isinstance(graph, LawGraph) or t.value is not graph.time:
        raise Untraceable("it looks into a table, a memory or a sensor at another time than t")
    return graph
