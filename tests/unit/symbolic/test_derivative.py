"""Derivatives of graphs against known derivatives and complex steps."""

import numpy as np
import pytest

import setsu
from setsu.dynamics.catalogue import KERNELS
from setsu.native.specialised import trace
from setsu.sample_mechanisms import planar_arm, random_tree
from setsu.symbolic import Graph, differentiate, evaluate


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x, y: x + y, (1.0, 1.0)),
        (lambda x, y: x - 2.0 * y, (1.0, -2.0)),
        (lambda x, y: x * y, (0.7, 0.4)),
        (lambda x, y: x / y, (1 / 0.7, -0.4 / 0.49)),
        (lambda x, y: -(x * x), (-0.8, 0.0)),
        (lambda x, y: x.cos_sin()[0] * y, (-0.7 * np.sin(0.4), np.cos(0.4))),
        (lambda x, y: (x * y).cos_sin()[1], (0.7 * np.cos(0.28), 0.4 * np.cos(0.28))),
        (lambda x, y: (x + y).sqrt(), (0.5 / np.sqrt(1.1), 0.5 / np.sqrt(1.1))),
        (lambda x, y: (x - y).select_negative(x * 3.0, y), (3.0, 0.0)),
        (lambda x, y: (y - x).select_negative(x * 3.0, y), (0.0, 1.0)),
        (lambda x, y: 5.0, (0.0, 0.0)),
    ],
)
def test_rules(function, slope) -> None:
    """At x = 0.4, y = 0.7."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    (row,) = differentiate(graph, [function(x, y)], [x, y])
    assert evaluate(graph, row, {"x": 0.4, "y": 0.7}) == pytest.approx(slope, rel=1e-14, abs=1e-15)


def test_no_inputs_and_no_outputs() -> None:
    graph = Graph()
    x = graph.input("x")
    assert differentiate(graph, [x], []) == [[]]
    assert differentiate(graph, [], [x]) == []


@pytest.mark.parametrize("by", ["v", "a"])
def test_a_traced_kernel_has_the_derivatives_of_the_library(by: str) -> None:
    """∂ID/∂v and ∂ID/∂a from the graph of inverse dynamics = inverse_dynamics_derivatives, by another algorithm."""
    m = random_tree(2, n_bodies=4, damping=0.3)
    traced = trace(KERNELS["inverse_dynamics"](), m.tables, m.nq)
    (outputs,) = traced.outputs.values()
    inputs = [traced.graph.input((by, k)) for k in range(m.nv)]
    rows = differentiate(traced.graph, outputs, inputs)
    rng = np.random.default_rng(0)
    q, v, a = m.random_configuration(rng), *rng.standard_normal((2, m.nv))
    values = {(name, k): x for name, array in (("q", q), ("v", v), ("a", a)) for k, x in enumerate(array)}
    flat = evaluate(traced.graph, [entry for row in rows for entry in row], values)
    record = setsu.inverse_dynamics_derivatives(m, q, v, a)
    expected = record.dv if by == "v" else record.da
    np.testing.assert_allclose(np.reshape(flat, (m.nv, m.nv)), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_traced_torques_are_the_torques() -> None:
    m = planar_arm(3)
    traced = trace(KERNELS["inverse_dynamics"](), m.tables, m.nq)
    (outputs,) = traced.outputs.values()
    q, v, a = np.random.default_rng(1).standard_normal((3, 3))
    values = {(name, k): x for name, array in (("q", q), ("v", v), ("a", a)) for k, x in enumerate(array)}
    found = evaluate(traced.graph, outputs, values)
    np.testing.assert_allclose(found, setsu.inverse_dynamics(m, q, v, a), rtol=1e-13)
    count = traced.operations
    assert count.func == 6  # one cosine and one sine per joint
    assert 0 < count.total < 250
