"""Functions of a mechanism with loops in the coordinates u of its actuated joints, as programs.

| symbol | meaning |
|---|---|
| D | all rates from the actuated ones, v = D du; constant: the loops close linearly |
| tau, J, M, C, Y | of the tree: torques, Jacobian, mass and Coriolis matrix, regressor |

    τ = Dᵀ tau,  J D,  Dᵀ M D,  Dᵀ C D,  Dᵀ Y restricted to the minimum parameters                     (1)
    M = ∂τ/∂a,  bias = τ at a = 0,  M a = τ - bias by M = L diag(d) Lᵀ                                  (2)
    ∂a/∂q = -M^-1 ∂τ/∂q,  ∂a/∂v = -M^-1 ∂τ/∂v,  ∂a/∂τ = M^-1                                           (3)
    drive inertia, friction and springs of loop joints: τ += Dᵀ times what they add to the tree        (4)

(2) and (3) differentiate the shortest inverse dynamics (inverse_dynamics_program), so they hold the minimum parameters
too. Source: kawasaki1995 (9)-(11). Derivatives are refused where a joint has several coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.loop_rows import dot, free_axes, has_joint_forces, passive_torques
from setsu.code_generation.symmetric_solve import factors, solve
from setsu.dynamics.catalogue import KERNELS
from setsu.errors import InputError
from setsu.kernels.interpreter import run
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Inertias
from setsu.minimum_parameters import MinimumParameters
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import Drives, Inputs
from setsu.native.specialised import Trace
from setsu.symbolic import Graph, Scalar, differentiate
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import substituted

__all__ = ["ARGUMENTS", "closed_trace", "tree_state"]

ARGUMENTS = {
    "inverse_dynamics": "q v a",
    "forward_dynamics": "q v tau",
    "mass_matrix": "q",
    "bias_torque": "q v",
    "gravity_torque": "q",
    "inverse_dynamics_derivatives": "q v a",
    "forward_dynamics_derivatives": "q v tau",
}
"""Functions made of the inverse dynamics, with their arguments."""

Floats = NDArray[np.float64]
Rows = list[list[Scalar]]


def closed_trace(
    mechanism: Mechanism,
    function: str,
    drives: Drives,
    inertias: Inertias,
    found: MinimumParameters,
    target: int = -1,
) -> Trace:
    """Return a function of a closed mechanism as a program over u, du, ddu or torques of the drives.

    found: its minimum parameters; the regressor has their columns. target: body of a Jacobian.
    """
    if function in ARGUMENTS:
        trace = _from_inverse_dynamics(mechanism, function, drives, inertias, found.reference)
    else:
        trace = _from_tree(mechanism, function, drives, found.independent.tolist(), target)
    flat = [value for values in trace.outputs.values() for value in values]
    graph, short = simplified(trace.graph, flat)
    left = iter(short)
    return Trace(graph, {name: [next(left) for _ in values] for name, values in trace.outputs.items()})


def _from_inverse_dynamics(m: Mechanism, function: str, drives: Drives, inertias: Inertias, reference: Floats) -> Trace:
    n = len(drives.v)
    passive = function != "gravity_torque"
    program = inverse_dynamics_program(m.tables, inertias, drives, passive=passive)
    graph, torques = program.graph, program.torques
    if passive and has_joint_forces(m):
        state = tree_state(m, drives, graph)
        added = passive_torques(free_axes(m, *state[:2], reference), *state[1:], m.nv)  # (4)
        torques = [torque + dot(weights, added) for torque, weights in zip(torques, drives.weights, strict=True)]
    q, v, a, tau = ([graph.input((name, k)) for k in range(n)] for name in ("q", "v", "a", "tau"))
    rest = {("a", k): 0.0 for k in range(n)}
    if function == "inverse_dynamics":
        return Trace(graph, {"tau": torques})
    if function == "bias_torque":
        return Trace(graph, {"tau": substituted(graph, torques, rest)})
    if function == "gravity_torque":
        return Trace(graph, {"tau": substituted(graph, torques, rest | {("v", k): 0.0 for k in range(n)})})
    M = differentiate(graph, torques, a)  # (2)
    if function == "mass_matrix":
        return Trace(graph, {"M": _flat(M)})
    if function == "inverse_dynamics_derivatives":
        _refuse_quaternions(m, drives, function)
        by = {"dq": differentiate(graph, torques, q), "dv": differentiate(graph, torques, v), "da": M}
        return Trace(graph, {name: _flat(rows) for name, rows in by.items()})
    held = factors(M)
    bias = substituted(graph, torques, rest)
    accelerations = solve(held, [t - b for t, b in zip(tau, bias, strict=True)])
    if function == "forward_dynamics":
        return Trace(graph, {"a": accelerations})
    _refuse_quaternions(m, drives, function)
    moving = {("a", k): value for k, value in enumerate(accelerations)}
    outputs: dict[str, list[Scalar]] = {}
    for name, by in (("dq", q), ("dv", v)):  # (3)
        slopes = differentiate(graph, torques, by)
        columns = [solve(held, [-x for x in substituted(graph, column, moving)]) for column in _columns(slopes)]
        outputs[name] = _flat(_columns(columns))
    unit = [[1.0 if i == j else 0.0 for i in range(n)] for j in range(n)]
    outputs["dtau"] = _flat(_columns([solve(held, column) for column in unit]))
    return Trace(graph, outputs)


def _refuse_quaternions(m: Mechanism, drives: Drives, function: str) -> None:
    if any(form is None for form in drives.forms):
        raise InputError(f"generate: {function} of {m.name}: with loops, every joint must have one coordinate")


def _from_tree(m: Mechanism, function: str, drives: Drives, independent: Sequence[int], target: int) -> Trace:
    """A function of the tree at q = D u + b, projected (1)."""
    kernel = KERNELS[function]()
    graph = Graph()
    q, v, a = tree_state(m, drives, graph)
    point = [graph.input(("point", k)) for k in range(3)]
    found = run(kernel, m.tables, {"q": q, "v": v, "a": a, "point": point}, target=target)
    D = drives.weights
    outputs: dict[str, list[Scalar]] = {}
    for array in kernel.outputs:
        values = found[array.name]
        match array.over:
            case "matrix":
                outputs[array.name] = _flat(_project(_project(_rows(values, m.nv), D), D))
            case "dof":
                outputs[array.name] = _flat(_columns(_project(_rows(values, m.nv), D)))
            case "dof_body":
                kept = [[row[c] for c in independent] for row in _rows(values, len(values) // m.nv)]
                outputs[array.name] = _flat(_project(_columns(kept), D))
            case _:
                outputs[array.name] = values
    return Trace(graph, outputs)


def tree_state(m: Mechanism, drives: Drives, graph: Graph) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """q, v, a of all joints as expressions of those of the drives."""
    t = m.tables
    inputs = Inputs(graph, drives.places(t))
    q: list[Scalar] = [0.0] * m.nq
    rates: dict[str, list[Scalar]] = {"v": [0.0] * m.nv, "a": [0.0] * m.nv}
    for k, place in enumerate(drives.q):
        q[place] = graph.input(("q", k))
    for d, form in enumerate(drives.forms):
        if form is None:
            for name, values in rates.items():
                values[d] = graph.input((name, drives.v.index(d)))
            continue
        q[int(t.q_index[t.dof_link[d]])] = inputs.coordinate(form)
        for name, values in rates.items():
            values[d] = inputs.rate(name, form)
    return q, rates["v"], rates["a"]


def _project(rows: Rows, D: Sequence[Sequence[float]]) -> Rows:
    """(X Dᵀ)ᵀ for rows X over all rates: one row per drive, so that two calls give Dᵀ X D."""
    result: Rows = []
    for weights in D:
        entries: list[Scalar] = []
        for row in rows:
            total: Scalar = 0.0
            for weight, value in zip(weights, row, strict=True):
                if weight != 0.0:
                    total = total + value * weight
            entries.append(total)
        result.append(entries)
    return result


def _rows(values: list[Scalar], width: int) -> Rows:
    return [values[k : k + width] for k in range(0, len(values), width)]


def _columns(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def _flat(rows: Rows) -> list[Scalar]:
    return [value for row in rows for value in row]
