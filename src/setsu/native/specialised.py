"""Specialised code: the kernel run on symbols for one mechanism, printed as one straight line of instructions."""

from __future__ import annotations

from dataclasses import dataclass

from setsu.errors import InputError
from setsu.kernels import interpreter
from setsu.kernels.program import Kernel
from setsu.mechanism.tables import Tables
from setsu.native.emit import Emitter
from setsu.symbolic import Graph, OperationCount
from setsu.symbolic.graph import Expression, Scalar

__all__ = ["Trace", "specialised_body", "trace"]


@dataclass(frozen=True)
class Trace:
    """What a kernel computes for one mechanism: outputs by name as expressions over inputs (name, position)."""

    graph: Graph
    outputs: dict[str, list[Scalar]]

    @property
    def operations(self) -> OperationCount:
        """Operations all outputs need together."""
        return self.graph.count([value for values in self.outputs.values() for value in values])


def trace(kernel: Kernel, tables: Tables, nq: int, *, target: int = -1) -> Trace:
    """Run the kernel on symbols; constants of the mechanism are folded in.

    Raises an InputError where that divides by zero: no state has a result then.
    """
    graph = Graph()
    n_bodies = len(tables.body_link)
    inputs = {
        array.name: [graph.input((array.name, k)) for k in range(array.size(nq, tables.nv, n_bodies, tables.n_loops))]
        for array in kernel.inputs
    }
    try:
        return Trace(graph, interpreter.run(kernel, tables, inputs, target=target))
    except ZeroDivisionError:
        raise InputError(
            f"{kernel.name}: it divides by zero in every state: a joint moves no mass (give it inertia or armature)"
        ) from None


def specialised_body(kernel: Kernel, traced: Trace, lanes: int, name: str) -> str:
    """LLVM text of `void name(ints, floats, work, inputs..., outputs...)` on tiles of `lanes` states.

    With several lanes, outputs that are constant are left to `void name_constants(ints, inputs..., outputs...)`: a tile
    keeps them from one group of states to the next.
    """
    arrays = [f"%{array.name}" for array in (*kernel.inputs, *kernel.outputs)]
    flat = [(array, k, value) for array, values in traced.outputs.items() for k, value in enumerate(values)]
    constant = [entry for entry in flat if not isinstance(entry[2], Expression)]
    changing = [entry for entry in flat if isinstance(entry[2], Expression)]
    if lanes == 1:
        return _function(name, ["%ints", "%floats", "%work", *arrays], traced.graph, flat, lanes)
    return "\n".join(
        [
            _function(name, ["%ints", "%floats", "%work", *arrays], traced.graph, changing, lanes),
            _function(f"{name}_constants", ["%ints", *arrays], traced.graph, constant, lanes),
        ]
    )


def _function(
    name: str, parameters: list[str], graph: Graph, results: list[tuple[str, int, Scalar]], lanes: int
) -> str:
    emit = Emitter(lanes)

    def load(key: object) -> str:
        array, position = key  # type: ignore[misc]
        return emit.load(f"%{array}", position)

    def store(k: int, register: str) -> None:
        emit.store(register, f"%{results[k][0]}", results[k][1])

    emit.graph(graph, [value for _, _, value in results], load, store)
    signature = ", ".join(f"ptr noalias {parameter}" for parameter in parameters)
    return "\n".join([f"define internal void @{name}({signature}) {{", *emit.lines, "  ret void", "}"])
