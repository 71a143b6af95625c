"""C with CasADi's external interface: a function, Jacobian and adjoint, and derivatives of both, each sparse.

| function | arguments | results |
|---|---|---|
| f | x | y(x) |
| jac_f | x, y | ∂y_o/∂x_i, for each y_o and x_i |
| adj1_f | x, y, λ | Σ_o λ_oᵀ ∂y_o/∂x_i, for each x_i |
| jac_adj1_f | x, y, λ, adjoints | derivatives of the adjoints by x, y, λ: the Hessian of λᵀy among them |
| adj1_jac_f | x, y, Jacobians, Λ | Σ Λ ∂²y/∂x², for each x_i: where a Jacobian is part of a cost or constraint |

`casadi.external` finds them by these names: solvers get exact gradients, Jacobians and Hessians, and CasADi's own
algorithmic differentiation goes through the function. Every result is written as straight-line code of one graph,
differentiated by symbolic/derivative.py; entries that are zero everywhere are no part of the sparsity. Derivatives by q
are by its numbers, quaternions included. No work vectors, no state, no allocation: thread-safe. An argument that CasADi
leaves out (NULL) counts as zero, a result that it does not want is not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setsu.code_generation.c_source import DOUBLE, Signature
from setsu.code_generation.program_text import assignments
from setsu.native.specialised import Trace
from setsu.symbolic import Expression, Graph, Op, OperationCount, Scalar, differentiate, gradient

__all__ = ["source_for_casadi"]

# Results that are matrices, given row by row, and how many rows they have, None: as many as columns, or as velocities.
_MATRIX_ROWS = {"J": 3, "J6": 6} | dict.fromkeys(("M", "C", "dq", "dv", "da", "dtau", "Y"))
# Second derivatives that are longer are left out: C compilers take minutes for them.
_MOST_OPERATIONS = 150_000


@dataclass(frozen=True)
class _Array:
    """A matrix of expressions: name, shape, and by columns the entries (row, column, value) that are not zero."""

    name: str
    rows: int
    columns: int
    entries: tuple[tuple[int, int, Scalar], ...]

    @property
    def sparsity(self) -> list[int]:
        """CasADi's compressed columns."""
        starts = [0] * (self.columns + 1)
        for _, column, _ in self.entries:
            starts[column + 1] += 1
        for column in range(self.columns):
            starts[column + 1] += starts[column]
        return [self.rows, self.columns, *starts, *(row for row, _, _ in self.entries)]


def _array(name: str, rows: int, columns: int, values: dict[tuple[int, int], Scalar], dense: bool = False) -> _Array:
    places = sorted((c, r) for r in range(rows) for c in range(columns))
    entries = tuple(
        (r, c, values.get((r, c), 0.0)) for c, r in places if dense or not _is_zero(values.get((r, c), 0.0))
    )
    return _Array(name, rows, columns, entries)


def _is_zero(value: Scalar) -> bool:
    return not isinstance(value, Expression) and value == 0


def _vector(name: str, length: int) -> _Array:
    return _array(name, length, 1, {}, dense=True)


def source_for_casadi(signature: Signature, trace: Trace, nv: int) -> tuple[str, OperationCount, bool]:
    """Return the text of the .c file, operations of the function itself, and whether second derivatives are in it."""
    graph = trace.graph
    x = [_vector(name, length) for name, length, _ in signature.inputs]
    y = [_shaped(name, values, nv) for name, values in trace.outputs.items()]
    # As CasADi stacks a matrix: by columns, zeros included.
    stacked = [_stacked(result) for result in y]
    inputs = [[graph.input((name, k)) for k in range(length)] for name, length, _ in signature.inputs]
    slopes = [[differentiate(graph, values, by) for by in inputs] for values in stacked]
    blocks = [
        _block(f"jac_{result.name}_{given.name}", rows, len(given.entries))
        for result, by_input in zip(y, slopes, strict=True)
        for given, rows in zip(x, by_input, strict=True)
    ]
    out = [_array(f"out_{r.name}", r.rows, r.columns, {}, dense=True) for r in y]
    seeds = [_array(f"adj_{r.name}", r.rows, r.columns, {}, dense=True) for r in y]
    weights = [
        [graph.input((seed.name, k)) for k in range(r.rows * r.columns)] for seed, r in zip(seeds, y, strict=True)
    ]
    total: Scalar = 0.0
    for values, given in zip(stacked, weights, strict=True):
        for value, weight in zip(values, given, strict=True):
            total = total + value * weight
    adjoints = [gradient(graph, total, by) for by in inputs]
    adjoint_arrays = [
        _array(f"adj_{given.name}", len(values), 1, {(k, 0): value for k, value in enumerate(values)}, dense=True)
        for given, values in zip(x, adjoints, strict=True)
    ]
    name = signature.name
    functions = [
        (name, x, y),
        (f"jac_{name}", [*x, *out], blocks),
        (f"adj1_{name}", [*x, *out, *seeds], adjoint_arrays),
    ]
    second = _second(graph, adjoint_arrays, adjoints, [*x, *out, *seeds], inputs, weights)
    given = [*x, *out, *seeds, *(_vector(f"out_{a.name}", a.rows) for a in adjoint_arrays)]
    bent, forms = _jacobian_adjoint(graph, blocks, x, out, inputs)
    long = max(_count(graph, second), _count(graph, bent))
    exact = long <= _MOST_OPERATIONS
    if exact:
        functions += [(f"jac_adj1_{name}", given, second), (f"adj1_jac_{name}", forms, bent)]
    text = [_head(signature, exact)]
    text += [_function(graph, *function) for function in functions]
    text.append('#ifdef __cplusplus\n}  /* extern "C" */\n#endif\n')
    return "\n".join(text), trace.operations, exact


def _count(graph: Graph, arrays: list[_Array]) -> int:
    return graph.count([value for array in arrays for _, _, value in array.entries]).total


def _jacobian_adjoint(
    graph: Graph, blocks: list[_Array], x: list[_Array], out: list[_Array], inputs: list[list[Expression]]
) -> tuple[list[_Array], list[_Array]]:
    """Results and arguments of the adjoint of the Jacobian; its seeds are as sparse as the Jacobian's blocks."""
    total: Scalar = 0.0
    for block in blocks:
        for k, (_, _, value) in enumerate(block.entries):
            total = total + value * graph.input((f"adj_{block.name}", k))
    results = [
        _array(f"adj_{given.name}", len(by), 1, dict(zip(((k, 0) for k in range(len(by))), slopes, strict=True)), True)
        for given, by, slopes in zip(x, inputs, (gradient(graph, total, by) for by in inputs), strict=True)
    ]
    results += [_Array(f"adj_{given.name}", given.rows, given.columns, ()) for given in out]
    known = [_Array(f"{kind}_{b.name}", b.rows, b.columns, b.entries) for kind in ("out", "adj") for b in blocks]
    return results, [*x, *out, *known]


def _shaped(name: str, values: Sequence[Scalar], nv: int) -> _Array:
    if name not in _MATRIX_ROWS:
        return _array(name, len(values), 1, {(k, 0): value for k, value in enumerate(values)}, dense=True)
    square = round(len(values) ** 0.5)
    count = _MATRIX_ROWS[name] or (square if square * square == len(values) else nv)
    columns = len(values) // count
    return _array(name, count, columns, {divmod(k, columns): value for k, value in enumerate(values)})


def _stacked(array: _Array) -> list[Scalar]:
    values: list[Scalar] = [0.0] * (array.rows * array.columns)
    for row, column, value in array.entries:
        values[column * array.rows + row] = value
    return values


def _block(name: str, rows: list[list[Scalar]], columns: int) -> _Array:
    entries = {(r, c): value for r, row in enumerate(rows) for c, value in enumerate(row)}
    return _array(name, len(rows), columns, entries)


def _second(
    graph: Graph,
    arrays: list[_Array],
    adjoints: list[list[Scalar]],
    given: list[_Array],
    inputs: list[list[Expression]],
    weights: list[list[Expression]],
) -> list[_Array]:
    """Derivatives of the adjoints by all arguments of the adjoint: none by the results, which they do not read."""
    n, m = len(inputs), len(weights)
    found = []
    for array, values in zip(arrays, adjoints, strict=True):
        for k, argument in enumerate(given):
            size = argument.rows * argument.columns
            by = inputs[k] if k < n else (weights[k - n - m] if k >= n + m else None)
            none: list[list[Scalar]] = [[0.0] * size for _ in values]
            rows = differentiate(graph, values, by) if by is not None else none
            found.append(_block(f"jac_{array.name}_{argument.name}", rows, size))
    return found


# Text --------------------------------------------------------------------------------------------------------------


def _head(signature: Signature, exact: bool) -> str:
    order = "with first and second derivatives" if exact else "with first derivatives"
    compiled = f"cc -O1 -fPIC -shared {signature.name}.c -o {signature.name}.so -lm"
    return f"""/* {signature.title}, {order}, for casadi.external.
 *
 *     {compiled}
 *     f = casadi.external("{signature.name}", "./{signature.name}.so")
 *
 * No state, no allocation, no work vectors; thread-safe. Needs libm.
 */
#include <math.h>

#ifdef __cplusplus
extern "C" {{
#endif

#ifndef casadi_real
#define casadi_real double
#endif
#ifndef casadi_int
#define casadi_int long long int
#endif
#if defined(_WIN32)
#define SETSU_EXPORT __declspec(dllexport)
#else
#define SETSU_EXPORT __attribute__((visibility("default")))
#endif
"""


def _function(graph: Graph, name: str, given: list[_Array], results: list[_Array]) -> str:
    outputs = {str(k): [value for _, _, value in array.entries] for k, array in enumerate(results)}
    program = assignments(graph, outputs, DOUBLE)
    needed = graph.needed([value for values in outputs.values() for value in values])
    read = {graph.args[index][0][0] for index in needed if graph.ops[index] is Op.INPUT}
    longest = max([len(array.entries) for array in given if array.name in read], default=1)
    lines = [f"static const casadi_real {name}_zeros[{longest}] = {{0}};"]
    for kind, arrays in (("in", given), ("out", results)):
        for k, array in enumerate(arrays):
            numbers = array.sparsity
            lines.append(
                f"static const casadi_int {name}_{kind}{k}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};"
            )
    lines += [
        f"SETSU_EXPORT int {name}(const casadi_real** arg, casadi_real** res, casadi_int* iw, casadi_real* w, int mem)",
        "{",
    ]
    for k, array in enumerate(given):
        if array.name in read:
            lines.append(f"    const casadi_real* {array.name} = arg[{k}] ? arg[{k}] : {name}_zeros;")
    lines.append("    (void)arg; (void)iw; (void)w; (void)mem;")
    lines += [f"    const casadi_real {step} = {text};" for step, text in program.steps]
    for k, array in enumerate(results):
        texts = program.outputs[str(k)]
        if array.entries:
            lines.append(f"    if (res[{k}]) {{")
            lines += [f"        res[{k}][{i}] = {text};" for i, text in enumerate(texts)]
            lines.append("    }")
    lines += ["    return 0;", "}", *_interface(name, given, results)]
    return "\n".join([*lines, ""])


def _interface(name: str, given: list[_Array], results: list[_Array]) -> list[str]:
    """Numbers, names and sparsities of arguments and results, as CasADi asks for them."""
    lines = [
        f"SETSU_EXPORT casadi_int {name}_n_in(void) {{ return {len(given)}; }}",
        f"SETSU_EXPORT casadi_int {name}_n_out(void) {{ return {len(results)}; }}",
    ]
    for kind, arrays in (("in", given), ("out", results)):
        names = "".join(f' case {k}: return "{array.name}";' for k, array in enumerate(arrays))
        shapes = "".join(f" case {k}: return {name}_{kind}{k};" for k in range(len(arrays)))
        lines += [
            f"SETSU_EXPORT const char* {name}_name_{kind}(casadi_int i)",
            f"{{ switch (i) {{{names} default: return 0; }} }}",
            f"SETSU_EXPORT const casadi_int* {name}_sparsity_{kind}(casadi_int i)",
            f"{{ switch (i) {{{shapes} default: return 0; }} }}",
        ]
    return [
        *lines,
        f"SETSU_EXPORT int {name}_work(casadi_int* sz_arg, casadi_int* sz_res, casadi_int* sz_iw, casadi_int* sz_w)",
        "{",
        f"    if (sz_arg) *sz_arg = {len(given)};",
        f"    if (sz_res) *sz_res = {len(results)};",
        "    if (sz_iw) *sz_iw = 0;",
        "    if (sz_w) *sz_w = 0;",
        "    return 0;",
        "}",
    ]
