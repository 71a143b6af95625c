"""Inverse and forward dynamics of mechanisms whose loops close by no linear relation, as programs of fixed length.

| symbol | meaning |
|---|---|
| G | rows of the loops and couplings, G v = 0; G_a, G_d its columns of the actuated and of the other rates |
| g | G's rate times v: G a + g = 0 |
| J, c | all accelerations from the actuated ones, a = J a_a + c |

    K = G_dᵀ G_d = L diag(d) Lᵀ                                              K y = x solved by substitution    (1)
    τ = tau_a - G_aᵀ G_d K^-1 tau_d                                          tau of the tree at q, v, a        (2)
    J = [1; -K^-1 G_dᵀ G_a],  c = [0; -K^-1 G_dᵀ g]                                                            (3)
    Jᵀ M J a_a = τ - Jᵀ (bias + M c)                                                                           (4)

Arguments are those of the whole tree, in a closed state, because no program of fixed length finds the other joints.
Redundant rows (planar loops in space) do no harm: K is regular wherever the actuated joints determine the motion. Its
condition is that of G_d squared. Source: kawasaki1995 (9)-(11) with J from the loops. Refuses loops closed by universal
and helical joints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.symmetric_solve import factors, solve
from setsu.constraints.system import constraint_system
from setsu.errors import InputError
from setsu.kernels.composite_body_link import mass_matrix_link
from setsu.kernels.interpreter import run
from setsu.kernels.loop_closures import loop_kinematics
from setsu.kernels.newton_euler_link import bias_torque
from setsu.mechanism import Cylindrical, Fixed, Joint, Mechanism, Planar, Prismatic, Revolute, Spherical
from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.native.straight import Trace
from setsu.spatial import axis_to_z_rotation
from setsu.symbolic import Expression, Graph, Op, Scalar
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import apply_operation

__all__ = ["closed_states", "nonlinear_trace"]

Floats = NDArray[np.float64]
Rows = list[list[Scalar]]

# Which parts of the motion a joint holds: of its travel and of its turn, across and along its axis.
_HELD: dict[type[Joint], tuple[str, str]] = {
    Revolute: ("xyz", "xy"),
    Prismatic: ("xy", "xyz"),
    Cylindrical: ("xy", "xy"),
    Spherical: ("xyz", ""),
    Planar: ("z", "xy"),
    Fixed: ("xyz", "xyz"),
}


def nonlinear_trace(m: Mechanism, function: str, rates: list[int]) -> Trace:
    """Return "inverse_dynamics" (torques of the actuated rates) or "forward_dynamics" (accelerations of all)."""
    graph = Graph()
    q = [graph.input(("q", k)) for k in range(m.nq)]
    v = [graph.input(("v", k)) for k in range(m.nv)]
    others = [d for d in range(m.nv) if d not in rates]
    G, g = _rows(m, q, v)
    G_a, G_d = ([[row[d] for d in part] for row in G] for part in (rates, others))
    if len(others) > len(G) or len(others) != m.nv - len(rates):
        raise InputError(f"generate: {m.name}: {len(rates)} actuated rates do not determine the motion")
    K = factors([[_sum(x[i] * x[j] for x in G_d) for j in range(len(others))] for i in range(len(others))])  # (1)
    if function == "inverse_dynamics":
        a = [graph.input(("a", k)) for k in range(m.nv)]
        tau = _tree_torques(m, graph, {"q": q, "v": v, "a": a})
        y = solve(K, [tau[d] for d in others])
        force = [_sum(x * z for x, z in zip(row, y, strict=True)) for row in G_d]
        outputs = [tau[d] - _sum(row[k] * f for row, f in zip(G_a, force, strict=True)) for k, d in enumerate(rates)]
        name = "tau"  # (2)
    else:
        outputs, name = _accelerations(m, graph, q, v, rates, others, (G_a, G_d, g), K), "a"
    short, outputs = simplified(graph, outputs)
    return Trace(short, {name: outputs})


def _accelerations(
    m: Mechanism, graph: Graph, q: list, v: list, rates: list[int], others: list[int], rows: tuple, K: tuple
) -> list[Scalar]:
    G_a, G_d, g = rows
    n = len(rates)

    def follow(right: list[Scalar]) -> list[Scalar]:
        return [
            -x
            for x in solve(K, [_sum(row[i] * r for row, r in zip(G_d, right, strict=True)) for i in range(len(others))])
        ]

    def whole(driven: list[Scalar], rest: list[Scalar]) -> list[Scalar]:
        full: list[Scalar] = [0.0] * m.nv
        for place, value in zip([*rates, *others], [*driven, *rest], strict=True):
            full[place] = value
        return full

    unit: Rows = [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]
    J = [whole(unit[k], follow([row[k] for row in G_a])) for k in range(n)]  # (3), one column after the other
    c = whole([0.0] * n, follow(g))
    flat = run(mass_matrix_link(), m.tables, {"q": q})["M"]
    M = [flat[k : k + m.nv] for k in range(0, len(flat), m.nv)]
    bias = run(bias_torque(straight=True), m.tables, {"q": q, "v": v})["tau"]
    held = [b + _dot(row, c) for b, row in zip(bias, M, strict=True)]
    MJ = [[_dot(row, column) for row in M] for column in J]
    tau = [graph.input(("tau", k)) for k in range(n)]
    right = [t - _dot(column, held) for t, column in zip(tau, J, strict=True)]
    driven = solve(factors([[_dot(J[i], MJ[j]) for j in range(n)] for i in range(n)]), right)  # (4)
    return [_sum(J[k][d] * driven[k] for k in range(n)) + c[d] for d in range(m.nv)]


def _tree_torques(m: Mechanism, graph: Graph, inputs: dict[str, list]) -> list[Scalar]:
    """Torques of the cut tree, moved to this graph."""
    program = inverse_dynamics_program(m.tables, m.tables.regrouped, tree_drives(m.tables))
    values: dict[int, Any] = {}
    source = program.graph
    for index in source.needed(program.torques):
        op, args = source.ops[index], source.args[index]
        if op is Op.INPUT:
            values[index] = inputs[args[0][0]][args[0][1]]
        elif op is Op.CONSTANT:
            values[index] = args[0]
        else:
            values[index] = apply_operation(graph, op, [values[arg] for arg in args])
    return [values[t.index] if isinstance(t, Expression) else t for t in program.torques]


def _rows(m: Mechanism, q: list, v: list) -> tuple[Rows, list[Scalar]]:
    """G and g, rows that vanish left out."""
    G: Rows = []
    g: list[Scalar] = []
    moved = run(loop_kinematics(), m.tables, {"q": q, "v": v})
    for number, loop in enumerate(m.loops):
        held = _HELD.get(type(loop.joint))
        if held is None:
            kind = type(loop.joint).__name__
            raise InputError(f"generate: loop {loop.name} of {m.name}: no code for loops closed by a {kind} joint")
        axes = axis_to_z_rotation(loop.joint.axis)
        base = 6 * number
        columns = [moved["loop_J"][(base + i) * m.nv : (base + i + 1) * m.nv] for i in range(6)]
        bias = moved["bias"][base : base + 6]
        for part, letters in enumerate(held):
            for letter in letters:
                direction = axes[:, "xyz".index(letter)].tolist()
                G.append([_dot(direction, [columns[3 * part + i][d] for i in range(3)]) for d in range(m.nv)])
                g.append(_dot(direction, bias[3 * part : 3 * part + 3]))
    first = {body.joint.name: where.start for body, where in zip(m.moving, m.v_slices, strict=True)}
    for coupling in m.couplings:
        row: list[Scalar] = [0.0] * m.nv
        for joint, factor in coupling.factors:
            row[first[joint]] = float(factor)
        G.append(row)
        g.append(0.0)
    kept = [k for k, row in enumerate(G) if any(isinstance(x, Expression) or x != 0.0 for x in row)]
    return [G[k] for k in kept], [g[k] for k in kept]


def closed_states(m: Mechanism, reference: Floats) -> Callable[[int, int], list[Floats]]:
    """Return a function that draws closed states q, v, a by (count, seed)."""

    def draw(count: int, seed: int) -> list[Floats]:
        rng = np.random.default_rng(seed)
        system = constraint_system(m)
        states = []
        for q in branch_points(m, reference, count, seed):
            J = free_velocities(system, q)[0]
            v = J @ rng.uniform(-1.0, 1.0, J.shape[1])
            a = J @ rng.uniform(-1.0, 1.0, J.shape[1])
            rows = system.linearise(q, v)
            a = a - np.linalg.lstsq(rows.jacobian, rows.jacobian @ a + rows.velocity_term, rcond=None)[0]
            states.append((q, v, a))
        return [np.array(part) for part in zip(*states, strict=True)]

    return draw


def _sum(values: Any) -> Scalar:
    total: Scalar = 0.0
    for value in values:
        total = total + value
    return total


def _dot(a: Any, b: Any) -> Scalar:
    return _sum(x * y for x, y in zip(a, b, strict=True))
