"""Symbolic scalars: a hash-consed graph of elementary operations, recorded while a kernel runs."""

from setsu.symbolic.graph import Expression, Graph, Op, OperationCount

__all__ = ["Expression", "Graph", "Op", "OperationCount"]
