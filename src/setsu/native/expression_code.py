"""Expressions over a few numbers as native code: what users write as text, for use inside compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from setsu.native.emit import Emitter
from setsu.native.toolchain import NativeModule, load_native
from setsu.symbolic.graph import Graph, Scalar

__all__ = ["expression_code"]


def expression_code(
    key: str, graph: Graph, inputs: Sequence[Any], outputs: Sequence[Scalar]
) -> tuple[NativeModule, int]:
    """Return the module and the address of `void evaluate(double *inputs, double *outputs)`.

    key: text that names the expressions. inputs: keys of the graph's inputs, in the order of the array.
    Keep the module as long as the address is in use.
    """

    def make() -> str:
        emit = Emitter(1)
        position = {name: k for k, name in enumerate(inputs)}
        emit.graph(
            graph,
            list(outputs),
            lambda name: emit.load("%inputs", position[name]),
            lambda k, register: emit.store(register, "%outputs", k),
        )
        return "\n".join(
            [
                emit.declarations(),
                "define void @evaluate(ptr noalias %inputs, ptr noalias %outputs) {",
                "entry:",
                *emit.lines,
                "  ret void",
                "}",
            ]
        )

    module = load_native(f"expressions {key}", make)
    return module, module.addresses("evaluate")[0]
