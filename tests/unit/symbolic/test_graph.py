"""The graph of operations: rules applied while recording keep values, share work and leave trivial operations out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setsu.symbolic import Expression, Graph, Op, evaluate


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Expression:
    return graph.input("x")


@pytest.fixture
def y(graph: Graph) -> Expression:
    return graph.input("y")


def test_zeros_and_ones_vanish(x: Expression) -> None:
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert x * 1.0 is x
    assert 1.0 * x is x
    assert x / 1.0 is x
    assert +x is x
    for zero in (x * 0.0, 0.0 * x, 0.0 / x, x - x):
        assert zero == 0.0
        assert not isinstance(zero, Expression)
    assert x / x == 1.0


def test_signs_move_outwards_and_cancel(x: Expression, y: Expression) -> None:
    negative = -x
    assert -negative is x
    assert x * -1.0 is -x
    assert 0.0 - x is -x
    assert (-x) * y is -(x * y)
    assert (-x) * (-y) is x * y
    assert x + (-y) is x - y
    assert x - (-y) is x + y
    assert (-x) - y is -(x + y)
    assert -(x - y) is y - x
    assert (-x) / y is -(x / y)
    assert x / (-y) is -(x / y)
    assert x * -2.0 is -(x * 2.0)


def test_constants_meet(x: Expression) -> None:
    assert (x * 2.0) * 3.0 is x * 6.0
    assert (x + 2.0) + 3.0 is x + 5.0
    assert (x * 2.0) / 2.0 is x
    assert (x + 2.0) - 2.0 is x


def test_equal_operations_are_one_node(graph: Graph, x: Expression, y: Expression) -> None:
    assert graph.input("x") is x
    assert x * y is y * x
    assert x + y is y + x
    assert (x + y) * (y + x) is (x + y) * (x + y)
    before = len(graph.ops)
    for _ in range(5):
        (x * y + 1.0) / (x - y)
    assert len(graph.ops) == before + 4  # constant, sum, difference, quotient; the product was there


def test_cosine_and_sine_know_their_parity(x: Expression) -> None:
    c, s = x.cos_sin()
    assert (-x).cos_sin()[0] is c  # type: ignore[union-attr]
    assert (-x).cos_sin()[1] is -s  # type: ignore[union-attr]


def test_a_selection_between_equals_is_no_selection(x: Expression, y: Expression) -> None:
    assert x.select_negative(y, y) is y
    assert x.select_negative(2.0, 2.0) == 2.0


def test_counts_are_of_what_outputs_need(graph: Graph, x: Expression, y: Expression) -> None:
    c, s = x.cos_sin()
    unused = x / y  # noqa: F841
    outputs = [c * y + s, s - 3.0 * y, -(x * y)]
    count = graph.count(outputs)
    assert (count.add, count.mul, count.func) == (3, 3, 2)
    assert count.total == 8
    assert graph.count([x, 2.0, y]).total == 0
    assert graph.count([x.sqrt(), x.select_negative(x, y)]).func == 2


def test_needed_lists_arguments_before_users(graph: Graph, x: Expression, y: Expression) -> None:
    z = (x + y) * x
    order = graph.needed([z])
    for index in order:
        if graph.ops[index] > Op.CONSTANT:
            assert all(order.index(arg) < order.index(index) for arg in graph.args[index])


def test_evaluate_takes_floats_complex_numbers_and_arrays(graph: Graph, x: Expression, y: Expression) -> None:
    c, s = x.cos_sin()
    outputs = [c * y - s, (x * x).sqrt(), x.select_negative(-x, x), 5.0]
    at = evaluate(graph, outputs, {"x": -0.5, "y": 2.0})
    assert at == pytest.approx([2 * math.cos(0.5) + math.sin(0.5), 0.5, 0.5, 5.0], rel=1e-15)
    many = evaluate(graph, outputs, {"x": np.array([-0.5, 0.5]), "y": 2.0})
    np.testing.assert_allclose(many[2], [0.5, 0.5])
    step = evaluate(graph, outputs, {"x": -0.5 + 1e-30j, "y": 2.0})
    assert step[0].imag / 1e-30 == pytest.approx(2 * math.sin(0.5) - math.cos(0.5), rel=1e-14)


def test_expressions_read_well(x: Expression, y: Expression) -> None:
    assert "add" in repr(x + y)


# Random expressions ---------------------------------------------------------------------------------------------

numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
leaves = st.one_of(st.sampled_from(["x", "y"]), numbers)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.tuples(st.sampled_from(["neg", "cos", "sin"]), inner),
    ),
    max_leaves=25,
)
VALUES = {"x": 0.7312, "y": -1.4142}


def build(tree: object, inputs: dict[str, object]) -> object:
    """Compute the tree with expressions or with floats; None where it divides by something too small."""
    if isinstance(tree, str):
        return inputs[tree]
    if isinstance(tree, float):
        return tree
    op, *arguments = tree  # type: ignore[misc]
    values = [build(argument, inputs) for argument in arguments]
    if any(value is None for value in values):
        return None
    a = values[0]
    match op:
        case "+":
            return a + values[1]
        case "-":
            return a - values[1]
        case "*":
            return a * values[1]
        case "/":
            return None if isinstance(values[1], float) and abs(values[1]) < 1e-3 else a / values[1]
        case "neg":
            return -a
        case "cos":
            return a.cos_sin()[0] if isinstance(a, Expression) else math.cos(a)
        case _:
            return a.cos_sin()[1] if isinstance(a, Expression) else math.sin(a)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(trees)
def test_folding_never_changes_a_value(tree: object) -> None:
    plain = build(tree, dict(VALUES))
    if plain is None or abs(plain) > 1e6:
        return
    graph = Graph()
    traced = build(tree, {name: graph.input(name) for name in VALUES})
    if traced is None:
        return
    (value,) = evaluate(graph, [traced], VALUES)  # type: ignore[list-item]
    assert value == pytest.approx(plain, rel=1e-6, abs=1e-9)


def test_depth_first_order_has_the_same_nodes_with_arguments_before_users() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    shared = x * y + 1.0
    outputs = [shared * x - y, shared / y, 2.0, x]
    order = graph.depth_first(outputs)
    assert sorted(order) == graph.needed(outputs)
    place = {index: k for k, index in enumerate(order)}
    for index in order:
        if graph.ops[index] > Op.CONSTANT:
            assert all(place[arg] < place[index] for arg in graph.args[index])
