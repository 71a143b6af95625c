"""Forward dynamics of a closed mechanism for co-simulation: in the state of all joints, and what closes its loops.

A unit integrates the driven joints; the others follow them, so that its loops stay closed whatever the step:

    loops that close linearly: q = D u + b, v = D du, a = D ddu                       kawasaki1995 (4), (9)
    others: accelerations of all joints (nonlinear_loops), Newton steps from where the other joints were before

The order of the integrator is kept: the accelerations of the driven joints are a function of their state alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.closed_functions import closed_trace, tree_state
from setsu.code_generation.closed_mechanism import actuated_rates, linear_drives, minimum_inertias
from setsu.code_generation.loop_rows import total
from setsu.code_generation.nonlinear_loops import closing_trace, nonlinear_trace
from setsu.mechanism import Mechanism
from setsu.minimum_parameters import minimum_parameters
from setsu.minimum_parameters.assembly_branch import reference_configuration
from setsu.native.linear_coordinates import Drives
from setsu.native.specialised import Trace
from setsu.symbolic import Graph
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import taken_over

__all__ = ["ClosedUnit", "closed_unit"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClosedUnit:
    """forward: q, v of all joints and tau of the driven rates to a of all. closing: q, v to q_next, v_next.

    rates: the driven ones. start: (nq,) closed configuration.
    """

    forward: Trace
    closing: Trace
    rates: tuple[int, ...]
    start: Floats


def closed_unit(m: Mechanism, actuated: Sequence[str] | None) -> ClosedUnit:
    """Return the programs of a unit; actuated: joints with a drive, independent ones when not given."""
    rates = actuated_rates(m, actuated)
    start = reference_configuration(m, None, "generate")
    drives = linear_drives(m, start, rates)
    if drives is None:
        forward = nonlinear_trace(m, "forward_dynamics", rates, start)
        return ClosedUnit(forward, closing_trace(m, rates, start), tuple(rates), start)
    return ClosedUnit(_forward(m, drives, start), _closing(m, drives), tuple(rates), start)


def _forward(m: Mechanism, drives: Drives, start: Floats) -> Trace:
    found = minimum_parameters(m, q=start)
    driven = closed_trace(m, "forward_dynamics", drives, minimum_inertias(m, found), found)
    graph = Graph()
    a = taken_over(graph, driven.graph, driven.outputs["a"], _places(graph, drives))
    columns = zip(*drives.weights, strict=True)
    return Trace(graph, {"a": [total(w * x for w, x in zip(row, a, strict=True)) for row in columns]})


def _closing(m: Mechanism, drives: Drives) -> Trace:
    followed = Graph()
    q, v, _ = tree_state(m, drives, followed)
    graph = Graph()
    graph, outputs = simplified(graph, taken_over(graph, followed, [*q, *v], _places(graph, drives)))
    return Trace(graph, {"q_next": outputs[: m.nq], "v_next": outputs[m.nq :]})


def _places(graph: Graph, drives: Drives) -> dict:
    """Inputs of programs in the driven joints' state, among those of all joints."""
    return {
        (name, k): graph.input((name, place))
        for name, places in (("q", drives.q), ("v", drives.v))
        for k, place in enumerate(places)
    }
