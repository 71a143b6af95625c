"""Which program computes a function of a mechanism: its arguments, its traced graph, states to test it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.closed_functions import ARGUMENTS, closed_trace
from setsu.code_generation.closed_mechanism import actuated_rates, linear_drives, minimum_inertias
from setsu.code_generation.closed_unit import ClosedUnit, closed_unit
from setsu.code_generation.loop_rows import total
from setsu.code_generation.nonlinear_loops import NONLINEAR, closed_states, nonlinear_trace
from setsu.constraints.states import coordinate_names
from setsu.dynamics.catalogue import KERNELS, PROGRAMS, STRAIGHT_KERNELS, native_function
from setsu.errors import InputError, nearest_names
from setsu.kernels.interpreter import exceeds_operations
from setsu.mechanism import Mechanism
from setsu.mechanism.record import Frame
from setsu.minimum_parameters import minimum_parameters
from setsu.minimum_parameters.assembly_branch import reference_configuration
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.native.specialised import Trace, trace
from setsu.symbolic import evaluate
from setsu.symbolic.substitution import substituted

__all__ = ["TracedFunction", "traced_function", "traced_unit"]

Floats = NDArray[np.float64]

# The last: along closed motions, whatever loops there are; the others of nonlinear loops are those of the tree.
_JACOBIANS = ("frame_jacobian", "point_jacobian", "closed_frame_jacobian")
_TEST_STATES = 8
# As guessed before tracing, up to three times too high; C compilers take minutes for functions of this length.
_MOST_OPERATIONS = 120_000
_SEED = 0


@dataclass(frozen=True)
class TracedFunction:
    """A program and its arguments: (name, length) in order.

    actuated: names of the coordinates the arguments belong to, empty when they are those of the whole mechanism.
    remark: what a reader of the code has to know besides. library: the same by the library, None where it has no such
    function; then the graph itself is evaluated for test vectors. draw: closed states q, v, a by count and seed.
    """

    mechanism: Mechanism
    inputs: tuple[tuple[str, int], ...]
    trace: Trace
    actuated: tuple[str, ...] = ()
    remark: str = ""
    library: Callable[..., Floats | tuple[Floats, ...]] | None = field(default=None, repr=False)
    draw: Callable[[int, int], list[Floats]] | None = field(default=None, repr=False)

    def states(self, count: int, seed: int = _SEED) -> list[Floats]:
        """Return random arguments, (count, length) per array."""
        rng = np.random.default_rng(seed)
        m = self.mechanism
        found = []
        closed = dict(zip("qva", self.draw(count, seed), strict=True)) if self.draw is not None else {}
        for name, length in self.inputs:
            if name in closed:
                found.append(closed[name])
            elif name == "q" and not self.actuated:
                found.append(np.array([m.random_configuration(rng) for _ in range(count)]))
            else:
                found.append(rng.uniform(-1.0, 1.0, (count, length)))
        return found

    def test_vectors(self) -> tuple[list[Floats], list[Floats]]:
        """Return states and results there, per array."""
        states = self.states(_TEST_STATES)
        if self.library is not None:
            results = self.library(*states)
            return states, [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]
        values = {
            (name, k): column
            for (name, _), state in zip(self.inputs, states, strict=True)
            for k, column in enumerate(state.T)
        }
        graph = self.trace.graph
        found = {name: evaluate(graph, expressions, values) for name, expressions in self.trace.outputs.items()}
        rows = [[np.broadcast_to(np.asarray(x, dtype=float), (_TEST_STATES,)) for x in r] for r in found.values()]
        return states, [np.stack(columns, axis=1) for columns in rows]


def traced_function(
    mechanism: Mechanism,
    function: str,
    actuated: Sequence[str] | None,
    body: str | None,
    progress: Callable[[str, float], None] = lambda text, part: None,
) -> TracedFunction:
    """Return the program of a function; refuses what has none before any work is done."""
    frame = _frame(mechanism, function, body)
    if not (mechanism.loops or mechanism.couplings):
        function = function.removeprefix("closed_")
    if mechanism.loops or mechanism.couplings:
        if frame is None:
            _refuse_springs(mechanism)
        traced = _closed(mechanism, function, actuated, -1 if frame is None else frame.body)
    else:
        if actuated is not None:
            raise InputError(f"generate: actuated: {mechanism.name} has no loops or couplings: every joint is driven")
        traced = _tree(mechanism, function, -1 if frame is None else frame.body, progress)
    return traced if frame is None else _in_frame(traced, frame.pose.matrix)


def _in_frame(traced: TracedFunction, T: Floats) -> TracedFunction:
    """A Jacobian whose point is given in a frame behind fixed joints, placed at T on the body that carries it."""
    if np.array_equal(T, np.eye(4)):
        return traced
    graph, (name, outputs) = traced.trace.graph, next(iter(traced.trace.outputs.items()))
    given = [graph.input(("point", k)) for k in range(3)]
    point = {("point", i): total(T[i, k].item() * given[k] for k in range(3)) + T[i, 3].item() for i in range(3)}
    return replace(traced, trace=Trace(graph, {name: substituted(graph, outputs, point)}), library=None)


def traced_unit(m: Mechanism, actuated: Sequence[str] | None) -> tuple[TracedFunction, ClosedUnit]:
    """Return forward dynamics of a closed mechanism in the state of all joints, and what a unit needs besides."""
    _refuse_springs(m)
    unit = closed_unit(m, actuated)
    names = coordinate_names(m)
    driven = ", ".join(names[rate] for rate in unit.rates)
    forward = TracedFunction(
        mechanism=m,
        inputs=(("q", m.nq), ("v", m.nv), ("tau", len(unit.rates))),
        trace=unit.forward,
        remark=f", closed; arguments of all joints, driven by {driven}",
        draw=closed_states(m, unit.start),
    )
    return forward, unit


def _refuse_springs(m: Mechanism) -> None:
    if m.has_force_elements:
        raise InputError(
            f"generate: {m.name} has force elements (springs between points, tendons, "
            "gravity compensation, fluid) beside loops, which code cannot have"
        )


def _tree(
    mechanism: Mechanism,
    function: str,
    target: int,
    progress: Callable[[str, float], None] = lambda text, part: None,
) -> TracedFunction:
    variant = f"{function} springs" if mechanism.has_force_elements and f"{function} springs" in KERNELS else function
    native = native_function(mechanism, variant, target=target)
    kernel, tables = STRAIGHT_KERNELS.get(variant, KERNELS[variant])(), mechanism.tables
    if exceeds_operations(kernel, tables, _MOST_OPERATIONS):
        raise InputError(f"generate: {function} of {mechanism.name} would be too long as straight-line code")
    inputs = tuple(
        (array.name, array.size(mechanism.nq, mechanism.nv, mechanism.n_bodies, 0)) for array in kernel.inputs
    )
    if variant in PROGRAMS:
        bias = variant == "bias_torque"
        program = inverse_dynamics_program(tables, tables.regrouped, tree_drives(tables), bias=bias, progress=progress)
        found = Trace(program.graph, {"tau": program.torques})
    else:
        found = trace(kernel, tables, mechanism.nq, target=target)
    return TracedFunction(mechanism, inputs, found, library=native)


def _frame(m: Mechanism, function: str, body: str | None) -> Frame | None:
    """Where the body of a Jacobian is."""
    if function not in _JACOBIANS:
        if body is not None:
            raise InputError(f"generate: body: {function} is no Jacobian, got {body!r}")
        return None
    if body is None:
        raise InputError(f"generate: {function}: say which body, one of {', '.join(m.body_names[:6])}")
    if body not in m.frames:
        raise InputError(f"generate: body: no body {body!r} in {m.name}{nearest_names(body, m.frames)}")
    frame = m.frame(body)
    if frame.body < 0:
        raise InputError(f"generate: body: {body} of {m.name} does not move")
    return frame


def _closed(m: Mechanism, function: str, actuated: Sequence[str] | None, target: int) -> TracedFunction:
    rates = actuated_rates(m, actuated)
    reference = reference_configuration(m, None, "generate")
    drives = linear_drives(m, reference, rates)
    if drives is None:
        return _nonlinear(m, function, rates, reference, target)
    function = function.removeprefix("closed_")
    found = minimum_parameters(m, q=reference)
    trace = closed_trace(m, function, drives, minimum_inertias(m, found), found, target)
    lengths = {"q": len(drives.q), "v": len(rates), "a": len(rates), "tau": len(rates), "point": 3}
    arguments = ARGUMENTS[function].split() if function in ARGUMENTS else [a.name for a in KERNELS[function]().inputs]
    names = coordinate_names(m)
    return TracedFunction(
        mechanism=m,
        inputs=tuple((name, lengths[name]) for name in arguments),
        trace=trace,
        actuated=tuple(names[rate] for rate in rates),
        remark=", in the coordinates of the actuated joints",
    )


def _nonlinear(m: Mechanism, function: str, rates: list[int], reference: Floats, target: int) -> TracedFunction:
    """Loops that close by a nonlinear equation: arguments are those of all joints."""
    if function not in NONLINEAR:
        return replace(_tree(m, function, target), remark=", of the tree its loops are cut into")
    names = coordinate_names(m)
    driven = ", ".join(names[rate] for rate in rates)
    lengths = {"q": m.nq, "v": m.nv, "a": m.nv, "tau": len(rates), "point": 3}
    remark = f", closed; arguments of all joints, driven by {driven}"
    if function.endswith(("derivatives", "jacobian")):
        remark += ", a column per driven coordinate"
    return TracedFunction(
        mechanism=m,
        inputs=tuple((name, lengths[name]) for name in NONLINEAR[function].split()),
        trace=nonlinear_trace(m, function, rates, reference, target),
        remark=remark,
        draw=closed_states(m, reference),
    )
