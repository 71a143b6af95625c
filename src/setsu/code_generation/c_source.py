"""C99 source of one function: no allocation, no loops, no dependency but libm, a header, and a self-test with vectors.

In single precision every number is a float, every constant has its suffix f and functions are sinf, cosf, sqrtf: no
operation is carried out in double, which small processors have no hardware for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.program_text import Notation, assignments
from setsu.errors import InputError
from setsu.native.specialised import Trace
from setsu.symbolic import Op, OperationCount

__all__ = ["DOUBLE", "SINGLE", "Signature", "c_header", "c_source", "c_test", "number_text", "read_inputs"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Signature:
    """A generated function: its name, what it computes, and its arrays by name with length and meaning."""

    name: str
    title: str
    inputs: tuple[tuple[str, int, str], ...]
    outputs: tuple[tuple[str, int, str], ...]
    single: bool = False

    @property
    def real(self) -> str:
        """C type of all numbers."""
        return "float" if self.single else "double"

    @property
    def guard(self) -> str:
        """Name of the header's include guard."""
        return f"{self.name.upper()}_H"


def _number(value: float) -> str:
    text = repr(float(value))
    return text if any(mark in text for mark in ".en") else text + ".0"


def _single_number(value: float) -> str:
    if abs(value) > np.finfo(np.float32).max:
        raise InputError(f"generate: the constant {value!r} is too large for single precision")
    text = str(np.float32(value))
    return (text if any(mark in text for mark in ".en") else text + ".0") + "f"


DOUBLE = Notation(
    input=lambda array, position: f"{array}[{position}]",
    constant=_number,
    functions={Op.COS: "cos", Op.SIN: "sin", Op.SQRT: "sqrt"},
    select=lambda x, a, b: f"(({x} < 0.0) ? {a} : {b})",
)
SINGLE = Notation(
    input=lambda array, position: f"{array}[{position}]",
    constant=_single_number,
    functions={Op.COS: "cosf", Op.SIN: "sinf", Op.SQRT: "sqrtf"},
    select=lambda x, a, b: f"(({x} < 0.0f) ? {a} : {b})",
)


def number_text(value: float, single: bool) -> str:
    """Return a number as C and C++ write it."""
    return _single_number(value) if single else _number(value)


def _prototype(signature: Signature) -> str:
    parameters = [f"const {signature.real} {name}[{length}]" for name, length, _ in signature.inputs]
    parameters += [f"{signature.real} {name}[{length}]" for name, length, _ in signature.outputs]
    return f"void {signature.name}({', '.join(parameters)})"


def c_source(signature: Signature, trace: Trace) -> str:
    """Return the text of the .c file."""
    program = assignments(trace.graph, trace.outputs, SINGLE if signature.single else DOUBLE)
    read = read_inputs(trace)
    lines = [f'#include "{signature.name}.h"', "", "#include <math.h>", "", f"{_prototype(signature)}", "{"]
    lines += [f"    (void){name};" for name, _, _ in signature.inputs if name not in read]
    lines += [f"    const {signature.real} {name} = {text};" for name, text in program.steps]
    for name, texts in program.outputs.items():
        lines += [f"    {name}[{k}] = {text};" for k, text in enumerate(texts)]
    return "\n".join([*lines, "}", ""])


def read_inputs(trace: Trace) -> set[str]:
    """Return the names of the arrays a program reads."""
    graph = trace.graph
    needed = graph.needed([value for values in trace.outputs.values() for value in values])
    return {graph.args[index][0][0] for index in needed if graph.ops[index] is Op.INPUT}


def c_header(signature: Signature, operations: OperationCount) -> str:
    """Return the text of the .h file."""
    arrays = [("in ", *entry) for entry in signature.inputs] + [("out", *entry) for entry in signature.outputs]
    lines = [
        f"/* {signature.title}", " *",
        *(f" * {way} {name}[{length}]: {meaning}" for way, name, length, meaning in arrays),
        " *",
        f" * Per call, at all states: {operations.add} additions, {operations.mul} multiplications and divisions, "
        f"{operations.func} functions.",
        f" * All numbers are {signature.real}. No loops, no allocation, no state; thread-safe. Needs libm.", " */",
        f"#ifndef {signature.guard}", f"#define {signature.guard}", "",
        "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        f"{_prototype(signature)};", "",
        "#ifdef __cplusplus", "}", "#endif", "", "#endif", "",
    ]  # fmt: skip
    return "\n".join(lines)


def c_test(signature: Signature, states: list[Floats], results: list[Floats], tolerance: float) -> str:
    """Return the text of a program that runs the function on states and compares with results; exit code 0 or 1.

    states, results: per array (count, length).
    """
    count = len(states[0])
    real, number = signature.real, partial(number_text, single=signature.single)
    absolute = "fabsf" if signature.single else "fabs"
    lines = [f'#include "{signature.name}.h"', "", "#include <math.h>", "#include <stdio.h>", ""]
    for (name, length, _), values in zip((*signature.inputs, *signature.outputs), [*states, *results], strict=True):
        lines.append(f"static const {real} given_{name}[{count}][{length}] = {{")
        lines += [f"    {{{', '.join(number(x) for x in row)}}}," for row in values.reshape(count, length).tolist()]
        lines.append("};")
    arguments = [f"given_{name}[k]" for name, _, _ in signature.inputs] + [name for name, _, _ in signature.outputs]
    lines += ["", "int main(void)", "{", "    int k, i, bad = 0;", f"    for (k = 0; k < {count}; ++k) {{"]
    lines += [f"        {real} {name}[{length}];" for name, length, _ in signature.outputs]
    lines.append(f"        {signature.name}({', '.join(arguments)});")
    for (name, length, _), values in zip(signature.outputs, results, strict=True):
        size = float(np.abs(values).max(initial=1.0))
        lines += [
            f"        for (i = 0; i < {length}; ++i) {{",
            f"            const {real} off = {absolute}({name}[i] - given_{name}[k][i]);",
            f"            if (!(off <= {number(tolerance * size)})) {{",
            f'                printf("state %d, {name}[%d]: %.17g, expected %.17g\\n",',
            f"                       k, i, (double){name}[i], (double)given_{name}[k][i]);",
            "                bad = 1;",
            "            }",
            "        }",
        ]
    lines += ["    }", f'    printf(bad ? "failed\\n" : "{count} states agree\\n");', "    return bad;", "}", ""]
    return "\n".join(lines)
