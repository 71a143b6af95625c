"""Symbolic scalars: a hash-consed graph of elementary operations, recorded while a kernel runs."""

from setsu.symbolic.derivative import differentiate, directional, gradient
from setsu.symbolic.evaluation import evaluate
from setsu.symbolic.graph import Expression, Graph, Op, OperationCount, Scalar

__all__ = [
    "Expression",
    "Graph",
    "Op",
    "OperationCount",
    "Scalar",
    "differentiate",
    "directional",
    "evaluate",
    "gradient",
]
