"""Simplified programs compute the same values with at most as many operations; known short forms are found."""

import numpy as np
import pytest

from setsu.symbolic import Graph, evaluate
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import substituted


def random_program(seed: int) -> tuple[Graph, list]:
    """Thirty operations on six inputs, constants among them, and four outputs."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    values: list = [graph.input(name) for name in "abcdef"]
    for _ in range(30):
        x, y = (values[k] for k in rng.integers(0, len(values), 2))
        match int(rng.integers(0, 6)):
            case 0 | 1:
                values.append(x + y)
            case 2:
                values.append(x - y * 2.0)
            case 3:
                values.append(-x * y)
            case 4:
                values.append(x * float(rng.uniform(-2.0, 2.0)) + 0.5)
            case _:
                values.append(x.cos_sin()[1] if hasattr(x, "cos_sin") else x)
        if not hasattr(values[-1], "cos_sin"):
            values.pop()
    return graph, values[-4:]


@pytest.mark.parametrize("seed", range(40))
def test_values_stay_and_operations_do_not_rise(seed: int) -> None:
    graph, outputs = random_program(seed)
    short, found = simplified(graph, outputs)
    assert short.count(found).total <= graph.count(outputs).total
    point = dict(zip("abcdef", np.random.default_rng(seed).uniform(0.5, 1.5, 6), strict=True))
    expected = np.array(evaluate(graph, outputs, point))
    got = np.array(evaluate(short, found, point))
    # Sums are reordered: rounding grows with the largest intermediate value.
    assert np.abs(got - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(
    ("write", "count"),
    [
        (lambda a, b, c: [a * b + a * c], 2),
        (lambda a, b, c: [a * 2.0 + a * 3.0], 1),
        (lambda a, b, c: [(a + b) + c, (a + c) * b], 3),
        (lambda a, b, c: [(a - b) * c, (b - a) * a], 4),
        (lambda a, b, c: [(a + b) - (a + c), a + b, a + c], 3),
        (lambda a, b, c: [(a * 2.0 + b * 3.0) * 0.5], 2),
        (lambda a, b, c: [(a * b) * c, (a * c) * a], 3),
    ],
)
def test_known_short_forms(write, count: int) -> None:
    graph = Graph()
    outputs = write(*(graph.input(name) for name in "abc"))
    short, found = simplified(graph, outputs)
    assert short.count(found).total == count


def test_the_same_program_comes_out_again() -> None:
    first, second = (simplified(*random_program(3)) for _ in range(2))
    assert first[0].ops == second[0].ops
    assert first[0].args == second[0].args


def test_constants_put_in_fold() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert substituted(graph, [x * y + x, (y + 1.0) * 2.0], {"y": 0.0}) == [x, 2.0]
