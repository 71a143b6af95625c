"""Dynamics of mechanisms whose loops close by no linear relation, as programs of fixed length, with derivatives.

| symbol | meaning |
|---|---|
| G, g, e | of the loops and couplings: G v = 0, G a + g = 0, position errors (loop_rows.py) |
| G_a, G_d | columns of the actuated and of the other rates |
| J, c | all accelerations from the actuated ones, a = J a_a + c |
| u | coordinates of the actuated joints; δ: change when u, its rate or its acceleration changes |

    K = G_dᵀ G_d = L diag(d) Lᵀ                                              K y = x solved by substitution    (1)
    τ = tau_a - G_aᵀ G_d K^-1 tau_d                                          tau of the tree at q, v, a        (2)
    J = [1; -K^-1 G_dᵀ G_a],  c = [0; -K^-1 G_dᵀ g]                                                            (3)
    Jᵀ M J a_a = τ - Jᵀ (bias + M c)                                                                           (4)
    by u:         δq = J,  G δv = -δ(G) v,  G δa = -δ(G) a - δg,  δv_a = δa_a = 0                              (5)
    by its rate:  δv = J,  G δa = -δg;       by its acceleration:  δa = J                                      (6)
    forward:      δa = (5), (6) at τ's δ, then minus J (Jᵀ M J)^-1 δτ                                          (7)
    closing:      δq_d = -K^-1 G_dᵀ e, then v_d = -K^-1 G_dᵀ G_a v_a         one Newton step                   (8)
    Jacobian of a point of a body, a column per actuated rate:  (Jacobian of the tree) J                       (9)

Arguments are those of the whole tree, in a closed state, because no program of fixed length finds the other joints.
Redundant rows (planar loops in space) do no harm: K is regular wherever the actuated joints determine the motion. Its
condition is that of G_d squared. Source: kawasaki1995 (9)-(11) with J from the loops; the rest differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.closed_mechanism import require_determined
from setsu.code_generation.coordinate_rates import coordinate_rates
from setsu.code_generation.loop_rows import dot, free_axes, loop_rows, passive_torques, total
from setsu.code_generation.symmetric_solve import factors, solve
from setsu.constraints.system import constraint_system
from setsu.dynamics.catalogue import KERNELS
from setsu.errors import InputError
from setsu.kernels.composite_body_link import mass_matrix_link
from setsu.kernels.interpreter import run
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points, free_velocities
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.native.specialised import Trace
from setsu.symbolic import Expression, Graph, Scalar, directional
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import substituted, taken_over

__all__ = ["NONLINEAR", "closed_states", "closing_trace", "following_trace", "nonlinear_trace"]

Floats = NDArray[np.float64]
Column = list[Scalar]

NONLINEAR = {
    "inverse_dynamics": "q v a",
    "forward_dynamics": "q v tau",
    "gravity_torque": "q",
    "inverse_dynamics_derivatives": "q v a",
    "forward_dynamics_derivatives": "q v tau",
    "closed_frame_jacobian": "q point",
}
"""Functions that are made here, with their arguments; tau is that of the actuated joints."""


def nonlinear_trace(m: Mechanism, function: str, rates: list[int], reference: Floats, target: int = -1) -> Trace:
    """Return one of NONLINEAR: torques of the actuated rates, accelerations of all, their derivatives, or a Jacobian.

    Derivatives and Jacobians have a column per actuated rate. target: body of a Jacobian.
    """
    loops = _Loops(m, rates, reference, shortest=function == "inverse_dynamics")
    outputs = {
        "inverse_dynamics": lambda: {"tau": loops.torques()},
        "forward_dynamics": lambda: {"a": loops.accelerations()},
        "gravity_torque": lambda: {"tau": loops.actuated_torques(loops.gravity())},
        "inverse_dynamics_derivatives": loops.torque_derivatives,
        "forward_dynamics_derivatives": loops.acceleration_derivatives,
        "closed_frame_jacobian": lambda: loops.jacobian("frame_jacobian", target),
    }[function]()
    return _shortened(loops.graph, outputs)


def closing_trace(m: Mechanism, rates: list[int], reference: Floats) -> Trace:
    """Return q_next, v_next (all joints) of one Newton step that closes the loops, actuated joints kept (8)."""
    loops = _Loops(m, rates, reference)
    if any(e is None for e in loops.rows.e):
        raise InputError(f"generate: {m.name}: no code that closes a loop by a helical joint")
    n = len(rates)
    off = loops.whole([0.0] * n, loops.follow([e for e in loops.rows.e if e is not None]))
    q = [x + d for x, d in zip(loops.q, coordinate_rates(m.tables, loops.q, off), strict=True)]
    v_a = [loops.v[d] for d in rates]
    v = loops.whole(v_a, loops.follow([dot(row, v_a) for row in loops.G_a]))
    return _shortened(loops.graph, {"q_next": q, "v_next": v})


def following_trace(m: Mechanism, rates: list[int], reference: Floats) -> Trace:
    """Return v_all, a_all at a closed configuration q of all joints, from v, a of the actuated rates (3)."""
    loops = _Loops(m, rates, reference)
    v, a = ([loops.graph.input((f"{name}_driven", k)) for k in range(len(rates))] for name in "va")
    v_all = loops.whole(v, loops.follow([dot(row, v) for row in loops.G_a]))
    right = [dot(row, a) + g for row, g in zip(loops.G_a, loops.rows.g, strict=True)]
    moving = {("v", k): value for k, value in enumerate(v_all)}
    a_all = substituted(loops.graph, loops.whole(a, loops.follow(right)), moving)
    return _shortened(loops.graph, {"v_all": v_all, "a_all": a_all})


def _shortened(graph: Graph, outputs: dict[str, Column]) -> Trace:
    short, values = simplified(graph, [value for part in outputs.values() for value in part])
    left = iter(values)
    return Trace(short, {name: [next(left) for _ in part] for name, part in outputs.items()})


class _Loops:
    """A mechanism with its loops on symbols q, v, a of all joints and tau of the actuated ones."""

    def __init__(self, m: Mechanism, rates: list[int], reference: Floats, *, shortest: bool = False) -> None:
        """shortest: take pains to write the tree's torques with few operations."""
        require_determined(m, free_velocities(constraint_system(m), reference)[0], rates)
        self.m, self.rates, self.graph = m, rates, Graph()
        self.others = [d for d in range(m.nv) if d not in rates]
        self.q: list[Any] = [self.graph.input(("q", k)) for k in range(m.nq)]
        self.v: list[Any] = [self.graph.input(("v", k)) for k in range(m.nv)]
        self.a: list[Any] = [self.graph.input(("a", k)) for k in range(m.nv)]
        self.tau = [self.graph.input(("tau", k)) for k in range(len(rates))]
        self.rows = loop_rows(m, self.q, self.v)
        G = self.rows.G
        self.G_a, self.G_d = ([[row[d] for d in part] for row in G] for part in (rates, self.others))
        columns = range(len(self.others))
        self.K = factors([[total(x[i] * x[j] for x in self.G_d) for j in columns] for i in columns])  # (1)
        self.axes = free_axes(m, self.q, self.v, reference)
        unit = np.eye(len(rates)).tolist()
        self.J = [self.whole(unit[k], self.follow([row[k] for row in self.G_a])) for k in range(len(rates))]  # (3)
        self.tree = self._tree_torques(shortest)

    def follow(self, right: Sequence[Scalar]) -> Column:
        """-K^-1 G_dᵀ right: what the other rates do where G_a demands `right`."""
        columns = range(len(self.others))
        return [
            -x for x in solve(self.K, [total(r[i] * x for r, x in zip(self.G_d, right, strict=True)) for i in columns])
        ]

    def whole(self, driven: Sequence[Scalar], rest: Sequence[Scalar]) -> Column:
        """All rates from those of the actuated joints and those of the others."""
        full: Column = [0.0] * self.m.nv
        for place, value in zip([*self.rates, *self.others], [*driven, *rest], strict=True):
            full[place] = value
        return full

    def _inputs(self) -> dict[tuple[str, int], Any]:
        parts = zip("qva", (self.q, self.v, self.a), strict=True)
        return {(name, k): x for name, part in parts for k, x in enumerate(part)}

    def _tree_torques(self, shortest: bool) -> Column:
        """Torques of the cut tree, and what loop joints add to them."""
        t = self.m.tables
        program = inverse_dynamics_program(t, t.regrouped, tree_drives(t), shortest=shortest)
        torques = taken_over(self.graph, program.graph, program.torques, self._inputs())
        added = passive_torques(self.axes, self.v, self.a, self.m.nv)
        return [torque + more for torque, more in zip(torques, added, strict=True)]

    def torques(self) -> Column:
        """τ of the actuated joints for a motion."""
        return self.actuated_torques(self.tree)

    def gravity(self) -> Column:
        """Torques of the cut tree at rest, without springs."""
        t = self.m.tables
        program = inverse_dynamics_program(t, t.regrouped, tree_drives(t), passive=False, shortest=False)
        rest = {(name, k): 0.0 for name in "va" for k in range(self.m.nv)}
        return taken_over(self.graph, program.graph, program.torques, self._inputs() | rest)

    def jacobian(self, name: str, target: int) -> dict[str, Column]:
        """Jacobian of a point of a body, row by row (9)."""
        kernel = KERNELS[name]()
        point = [self.graph.input(("point", k)) for k in range(3)]
        ((result, values),) = run(kernel, self.m.tables, {"q": self.q, "point": point}, target=target).items()
        rows = [values[k : k + self.m.nv] for k in range(0, len(values), self.m.nv)]
        return {result: [dot(row, column) for row in rows for column in self.J]}

    def actuated_torques(self, tree: Column) -> Column:
        """Torques of the actuated joints that do what `tree` does in the cut tree (2)."""
        y = solve(self.K, [tree[d] for d in self.others])
        force = [dot(row, y) for row in self.G_d]
        return [tree[d] - total(row[k] * f for row, f in zip(self.G_a, force, strict=True))
                for k, d in enumerate(self.rates)]  # fmt: skip

    def _inertia(self) -> tuple[list[Column], tuple]:
        """M, and the factors of Jᵀ M J."""
        nv = self.m.nv
        flat = run(mass_matrix_link(), self.m.tables, {"q": self.q})["M"]
        M = [list(flat[k : k + nv]) for k in range(0, nv * nv, nv)]
        for axis in self.axes:
            for i in range(nv):
                M[i] = [x + axis.armature * axis.F[i] * f for x, f in zip(M[i], axis.F, strict=True)]
        MJ = [[dot(row, column) for row in M] for column in self.J]
        n = range(len(self.rates))
        return M, factors([[dot(self.J[i], MJ[j]) for j in n] for i in n])

    def accelerations(self) -> Column:
        """Accelerations of all joints under the torques of the actuated ones (4)."""
        M, held = self._inertia()
        n = range(len(self.rates))
        c = self.whole([0.0] * len(self.rates), self.follow(self.rows.g))
        bias = substituted(self.graph, self.tree, {("a", k): 0.0 for k in range(self.m.nv)})
        load = [b + dot(row, c) for b, row in zip(bias, M, strict=True)]
        driven = solve(held, [t - dot(column, load) for t, column in zip(self.tau, self.J, strict=True)])
        return [total(self.J[k][d] * driven[k] for k in n) + c[d] for d in range(self.m.nv)]

    def _changes(self) -> dict[str, list[tuple[dict[Expression, Scalar], Column]]]:
        """By name "dq", "dv", "da" and actuated rate: how q, v, a change, and δa."""
        graph, rows, rest = self.graph, self.rows, [0.0] * len(self.rates)
        speed = [dot(row, self.v) for row in rows.G]
        demand = [dot(row, self.a) + g for row, g in zip(rows.G, rows.g, strict=True)]
        found: dict[str, list[tuple[dict[Expression, Scalar], Column]]] = {"dq": [], "dv": [], "da": []}
        for column in self.J:
            place = dict(zip(self.q, coordinate_rates(self.m.tables, self.q, column), strict=True))
            dv = self.whole(rest, self.follow(directional(graph, speed, place)))  # (5)
            by_u = place | dict(zip(self.v, dv, strict=True))
            by_rate = dict(zip(self.v, column, strict=True))  # (6)
            for name, change in (("dq", by_u), ("dv", by_rate)):
                da = self.whole(rest, self.follow(directional(graph, demand, change)))
                found[name].append((change | dict(zip(self.a, da, strict=True)), da))
            found["da"].append((dict(zip(self.a, column, strict=True)), column))
        return found

    def torque_derivatives(self) -> dict[str, Column]:
        """Derivatives of τ by u, its rates and its accelerations, row by row."""
        torques = self.torques()
        return {
            name: _row_by_row([directional(self.graph, torques, change) for change, _ in changes])
            for name, changes in self._changes().items()
        }

    def acceleration_derivatives(self) -> dict[str, Column]:
        """Derivatives of all accelerations by u, its rates and the torques, row by row (7)."""
        graph, n = self.graph, range(len(self.rates))
        held = self._inertia()[1]
        torques, moving = self.torques(), {("a", k): x for k, x in enumerate(self.accelerations())}
        outputs: dict[str, Column] = {}
        for name, changes in self._changes().items():
            columns = []
            for change, da in changes if name != "da" else []:
                slopes = substituted(graph, [*directional(graph, torques, change), *da], moving)
                back = solve(held, slopes[: len(self.rates)])
                columns.append([slopes[len(self.rates) + d] - total(self.J[k][d] * back[k] for k in n)
                                for d in range(self.m.nv)])  # fmt: skip
            if columns:
                outputs[name] = _row_by_row(columns)
        unit = np.eye(len(self.rates)).tolist()
        driven = [solve(held, column) for column in unit]
        outputs["dtau"] = _row_by_row(
            [[total(self.J[k][d] * column[k] for k in n) for d in range(self.m.nv)] for column in driven]
        )
        return outputs


def _row_by_row(columns: list[Column]) -> Column:
    return [value for row in zip(*columns, strict=True) for value in row]


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
