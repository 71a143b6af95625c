"""Hash-consed graph of scalar operations.

A kernel that runs on `Expression` scalars records what it computes. Constants are plain Python numbers, so work on
constants happens at once; zero, one and sign rules are applied while recording, and equal operations are one node.

    graph = Graph()
    x = graph.input("x")
    y = x * 1.0 + 0.0 * x        # is x itself

Rules: x+0, x-0, x*0, x*1, x*-1, x/1, 0/x; x-x = 0; double negation; signs move outwards (-a)*b = -(a*b),
a+(-b) = a-b; constant factors and summands meet (x*2)*3 = x*6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Expression", "Graph", "Op", "OperationCount", "Scalar"]


class Op(IntEnum):
    """Operations of a graph; SELECT is its second argument where the first is negative, else its third."""

    INPUT = 0
    CONSTANT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    COS = 7
    SIN = 8
    SQRT = 9
    SELECT = 10


@dataclass(frozen=True)
class OperationCount:
    """Arithmetic operations of a program: additions and subtractions, multiplications and divisions, functions."""

    add: int
    mul: int
    func: int

    @property
    def total(self) -> int:
        """All operations."""
        return self.add + self.mul + self.func


class Graph:
    """Nodes in order of creation: `ops[i]`, `args[i]` (node numbers; the key of an input, the value of a constant)."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.args: list[tuple] = []
        self._known: dict[tuple, Expression] = {}

    def input(self, key: object) -> Expression:
        """Return the input named by `key`; the same key gives the same node."""
        return self.node(Op.INPUT, (key,))

    def constant(self, value: Scalar) -> Expression:
        """Return a constant as a node (kernels use plain numbers instead)."""
        return self.node(Op.CONSTANT, (value,))

    def node(self, op: Op, args: tuple) -> Expression:
        """Return the one node of this operation on these arguments."""
        known = self._known.get((op, args))
        if known is None:
            known = Expression(self, len(self.ops))
            self.ops.append(op)
            self.args.append(args)
            self._known[op, args] = known
        return known

    def number(self, value: Scalar) -> int:
        """Return the node number of an expression or of a plain constant."""
        return value.index if isinstance(value, Expression) else self.constant(value).index

    def expression(self, index: int) -> Scalar:
        """Return node `index` as a kernel would see it: an expression, or a plain number for a constant."""
        if self.ops[index] is Op.CONSTANT:
            return self.args[index][0]
        return self._known[self.ops[index], self.args[index]]

    def needed(self, outputs: Iterable[Scalar]) -> list[int]:
        """Return the numbers of the nodes the outputs depend on, arguments before users."""
        wanted: set[int] = set()
        stack = [value.index for value in outputs if isinstance(value, Expression)]
        while stack:
            index = stack.pop()
            if index not in wanted:
                wanted.add(index)
                if self.ops[index] > Op.CONSTANT:
                    stack.extend(self.args[index])
        return sorted(wanted)

    def depth_first(self, outputs: Iterable[Scalar]) -> list[int]:
        """The same nodes as `needed`, each as late as its first user allows, so that few values are in use at once.

        Of two arguments the deeper one comes first: what it takes to compute it is no longer in use when the other one
        is begun.
        """
        wanted = list(outputs)
        depth: dict[int, int] = {}
        for index in self.needed(wanted):
            inner = self.args[index] if self.ops[index] > Op.CONSTANT else ()
            depth[index] = 1 + max((depth[arg] for arg in inner), default=-1)
        order: list[int] = []
        done: set[int] = set()
        for output in wanted:
            stack = [(output.index, False)] if isinstance(output, Expression) else []
            while stack:
                index, ready = stack.pop()
                if index in done:
                    continue
                if ready:
                    done.add(index)
                    order.append(index)
                    continue
                stack.append((index, True))
                if self.ops[index] > Op.CONSTANT:
                    left = [arg for arg in self.args[index] if arg not in done]
                    stack.extend((arg, False) for arg in sorted(left, key=depth.__getitem__))
        return order

    def count(self, outputs: Iterable[Scalar]) -> OperationCount:
        """Count the operations the outputs need; a sign that no addition absorbs counts as an addition."""
        add = mul = func = 0
        for index in self.needed(outputs):
            op = self.ops[index]
            if op in (Op.ADD, Op.SUB, Op.NEG):
                add += 1
            elif op in (Op.MUL, Op.DIV):
                mul += 1
            elif op > Op.NEG:
                func += 1
        return OperationCount(add, mul, func)


class Expression:
    """One node of a graph, with Python's arithmetic. Comparison is identity: equal computations are one node."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __repr__(self) -> str:
        op, args = self.graph.ops[self.index], self.graph.args[self.index]
        return f"{op.name.lower()}{args}"

    # Products first: sums look at the signs of products.
    def __mul__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if not isinstance(other, Expression):
            if other == 0:
                return 0.0
            if other == 1:
                return self
            if other == -1:
                return -self
            op, args = graph.ops[self.index], graph.args[self.index]
            if op is Op.NEG:
                return graph.expression(args[0]) * -other
            if op is Op.MUL and graph.ops[args[1]] is Op.CONSTANT:
                return graph.expression(args[0]) * (graph.args[args[1]][0] * other)
            if other < 0:  # type: ignore[operator]
                return -(self * -other)
            return graph.node(Op.MUL, (self.index, graph.constant(other).index))
        a, b = self.index, other.index
        ops = graph.ops
        if ops[a] is Op.NEG:
            inner = graph.expression(graph.args[a][0]) * other
            return -inner
        if ops[b] is Op.NEG:
            return -(self * graph.expression(graph.args[b][0]))
        return graph.node(Op.MUL, (a, b) if a < b else (b, a))

    __rmul__ = __mul__

    def __neg__(self) -> Scalar:
        graph = self.graph
        op, args = graph.ops[self.index], graph.args[self.index]
        if op is Op.NEG:
            return graph.expression(args[0])
        if op is Op.SUB:
            return graph.expression(args[1]) - graph.expression(args[0])
        return graph.node(Op.NEG, (self.index,))

    def __pos__(self) -> Expression:
        return self

    def __add__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if not isinstance(other, Expression):
            if other == 0:
                return self
            op, args = graph.ops[self.index], graph.args[self.index]
            if op is Op.ADD and graph.ops[args[1]] is Op.CONSTANT:
                return graph.expression(args[0]) + (graph.args[args[1]][0] + other)
            if op is Op.NEG:
                return other - graph.expression(args[0])
            return graph.node(Op.ADD, (self.index, graph.constant(other).index))
        a, b = self.index, other.index
        if graph.ops[b] is Op.NEG:
            return self - graph.expression(graph.args[b][0])
        if graph.ops[a] is Op.NEG:
            return other - graph.expression(graph.args[a][0])
        return graph.node(Op.ADD, (a, b) if a < b else (b, a))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if not isinstance(other, Expression):
            return self + -other
        a, b = self.index, other.index
        if a == b:
            return 0.0
        if graph.ops[b] is Op.NEG:
            return self + graph.expression(graph.args[b][0])
        if graph.ops[a] is Op.NEG:
            return -(graph.expression(graph.args[a][0]) + other)
        return graph.node(Op.SUB, (a, b))

    def __rsub__(self, other: Scalar) -> Scalar:
        if other == 0:
            return -self
        graph = self.graph
        if graph.ops[self.index] is Op.NEG:
            return graph.expression(graph.args[self.index][0]) + other
        return graph.node(Op.SUB, (graph.constant(other).index, self.index))

    def __truediv__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if not isinstance(other, Expression):
            return self * (1 / other)
        if graph.ops[self.index] is Op.NEG:
            return -(graph.expression(graph.args[self.index][0]) / other)
        if graph.ops[other.index] is Op.NEG:
            return -(self / graph.expression(graph.args[other.index][0]))
        if self.index == other.index:
            return 1.0
        return graph.node(Op.DIV, (self.index, other.index))

    def __rtruediv__(self, other: Scalar) -> Scalar:
        graph = self.graph
        if other == 0:
            return 0.0
        if graph.ops[self.index] is Op.NEG:
            return -(other / graph.expression(graph.args[self.index][0]))
        return graph.node(Op.DIV, (graph.constant(other).index, self.index))

    def cos_sin(self) -> tuple[Scalar, Scalar]:
        """Return cosine and sine; cos(-x) = cos(x), sin(-x) = -sin(x)."""
        graph = self.graph
        if graph.ops[self.index] is Op.NEG:
            inner = graph.args[self.index]
            return graph.node(Op.COS, inner), -graph.node(Op.SIN, inner)
        return graph.node(Op.COS, (self.index,)), graph.node(Op.SIN, (self.index,))

    def sqrt(self) -> Scalar:
        """Return the square root."""
        return self.graph.node(Op.SQRT, (self.index,))

    def select_negative(self, if_negative: Scalar, otherwise: Scalar) -> Scalar:
        """Return `if_negative` where this value is below zero, else `otherwise`."""
        graph = self.graph
        first, second = graph.number(if_negative), graph.number(otherwise)
        if first == second:
            return if_negative
        return graph.node(Op.SELECT, (self.index, first, second))


Scalar = Expression | float | int | complex
