"""Python source of one function: plain floats and `math`, no other import."""

from __future__ import annotations

from setsu.code_generation.c_source import Signature
from setsu.code_generation.program_text import Notation, assignments
from setsu.native.specialised import Trace
from setsu.symbolic import Op

__all__ = ["python_source"]

_NOTATION = Notation(
    input=lambda array, position: f"{array}[{position}]",
    constant=lambda value: repr(float(value)),
    functions={Op.COS: "cos", Op.SIN: "sin", Op.SQRT: "sqrt"},
    select=lambda x, a, b: f"({a} if {x} < 0.0 else {b})",
)


def python_source(signature: Signature, trace: Trace) -> str:
    """Return the text of a module with the one function."""
    program = assignments(trace.graph, trace.outputs, _NOTATION)
    lines = [
        f'"""{signature.title}."""',
        "",
        "from math import cos, sin, sqrt  # noqa: F401",
        "",
        "",
        f"def {signature.name}({', '.join(name for name, _, _ in signature.inputs)}):",
        f'    """{signature.title}.',
        "",
        *(f"    {name}: {length} numbers, {meaning}." for name, length, meaning in signature.inputs),
        *(f"    Returns {name}: {length} numbers, {meaning}." for name, length, meaning in signature.outputs),
        '    """',
        *(f"    {name} = {text}" for name, text in program.steps),
    ]
    results = []
    for name, texts in program.outputs.items():
        lines += [f"    {name} = [", *(f"        {text}," for text in texts), "    ]"]
        results.append(name)
    return "\n".join([*lines, f"    return {', '.join(results)}", ""])
