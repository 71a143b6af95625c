"""Named lengths and angles are floats to all numeric work and keep their expression through builders and files."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import setsu
from setsu.elementary import matmul
from setsu.mechanism.native_text import from_text, to_text
from setsu.named_numbers import NamedNumber, evaluate_expression

a = setsu.symbol("a", 0.7)
b = setsu.symbol("b", 0.3)
alpha = setsu.symbol("alpha", 0.4)


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        (a + b, 0.7 + 0.3), (a - b, 0.7 - 0.3), (a * b, 0.7 * 0.3), (a / b, 0.7 / 0.3), (-a, -0.7), (2 * a, 1.4),
        (1 - a, 1 - 0.7), (1 / a, 1 / 0.7), (-(a + b), -(0.7 + 0.3)), (a - (b - a), 0.7 - (0.3 - 0.7)),
        ((a + b) * (a - b), (0.7 + 0.3) * (0.7 - 0.3)), (a / (b / a), 0.7 / (0.3 / 0.7)), (a - -b, 0.7 + 0.3),
        (3 + -a, 3 - 0.7), (1e-7 * a, 1e-7 * 0.7),
    ],
)  # fmt: skip
def test_expression_evaluates_to_the_number(named: NamedNumber, plain: float) -> None:
    assert named == plain
    assert evaluate_expression(named.expression, {"a": 0.7, "b": 0.3}, "test") == pytest.approx(plain, rel=1e-15)


def test_neutral_operations_leave_no_trace() -> None:
    negative = -a
    assert (a + 0.0).expression == (a * 1).expression == (0.0 + a).expression == (-negative).expression == "a"
    assert type(0.0 * a) is float
    assert repr(a) == "0.7"


def test_copies_keep_the_name() -> None:
    for twin in (pickle.loads(pickle.dumps(a / b)), copy.deepcopy(a / b)):
        assert twin.expression == "a / b"
        assert twin.symbols == {"a": 0.7, "b": 0.3}


def test_placements_are_the_same_numbers() -> None:
    named = setsu.modified_dh(alpha, a, 0.2, b)
    np.testing.assert_array_equal(np.asarray(named), setsu.modified_dh(0.4, 0.7, 0.2, 0.3))
    named = setsu.placement((a, 0, b), rpy=(0.1, alpha, 0.2))
    np.testing.assert_array_equal(np.asarray(named), setsu.placement((0.7, 0, 0.3), rpy=(0.1, 0.4, 0.2)))
    plain = np.asarray(named).view(np.ndarray)
    np.testing.assert_array_equal(np.asarray(named @ named), matmul(plain, plain))


def test_product_of_placements_keeps_names_and_other_use_drops_them() -> None:
    T = setsu.placement((a, 0, 0)) @ setsu.placement((b, 0, 0))
    assert T.entries[0][3].expression == "b + a"
    assert (2.0 * T).entries is None
    T[0, 3] = 5.0
    body = setsu.MechanismBuilder("m").add_body("x", joint=setsu.Revolute(), placement=T).build().bodies[0]
    assert type(body.pose.translation[0]) is float


def _mechanism() -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("named")
    builder.add_body("one", joint=setsu.Revolute(), placement=setsu.modified_dh(alpha, a, 0.0, b), mass=1.0)
    builder.add_body("two", "one", setsu.Revolute(), setsu.placement((a + b, 0.1, -a)), mass=1.0)
    builder.add_loop("pin", "two", "world", setsu.Spherical(), setsu.placement((a / 2, 0, 0)))
    return builder.build()


def test_file_gives_back_numbers_and_names() -> None:
    m = _mechanism()
    again = from_text(to_text(m))
    assert again == m
    assert to_text(again) == to_text(m)
    assert [getattr(x, "expression", "") for x in again.bodies[1].pose.translation] == ["a + b", "", "-a"]
    assert again.bodies[0].pose.rotation[4].expression == "cos(alpha)"
    assert again.loops[0].pose_a.translation[0].symbols == {"a": 0.7}


def test_names_change_no_digest() -> None:
    plain = setsu.MechanismBuilder("p").add_body("x", joint=setsu.Revolute(), placement=setsu.placement((0.7, 0, 0)))
    named = setsu.MechanismBuilder("p").add_body("x", joint=setsu.Revolute(), placement=setsu.placement((a, 0, 0)))
    assert plain.build().digest == named.build().digest


def test_dh_table_keeps_names() -> None:
    arm = setsu.from_dh([(0.0, 0.0, 0.0, 0.0), (alpha, a, 0.0, b)])
    assert arm.bodies[1].pose.translation[0].expression == "a"


@pytest.mark.parametrize("name", ["", "a b", "1a", "cos", "é", None])
def test_bad_names_are_refused(name: object) -> None:
    with pytest.raises(setsu.InputError, match="symbol name"):
        setsu.symbol(name, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf, "x", None])
def test_bad_values_are_refused(value: object) -> None:
    with pytest.raises(setsu.InputError, match='symbol "a"'):
        setsu.symbol("a", value)  # type: ignore[arg-type]


def test_one_name_has_one_value() -> None:
    with pytest.raises(setsu.InputError, match="one value"):
        a + setsu.symbol("a", 0.8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('translation_names = ["c", "", ""]', "expression in the symbols"),
        ('translation_names = ["__import__(1)", "", ""]', "expression in the symbols"),
        ('translation_names = ["2*a", "", ""]', "expected 2\\*a to be 0.7"),
        ('translation_names = ["a"]', "a list of 3 texts"),
        ("translation_names = 3", "a list of 3 texts"),
    ],
)
def test_bad_names_in_a_file_are_told(line: str, message: str) -> None:
    text = f'format = 1\nname = "m"\nsymbols = {{ a = 0.7 }}\n[[body]]\nname = "x"\ntranslation = [0.7, 0, 0]\n{line}\n'
    with pytest.raises(setsu.ModelFileError, match=message):
        from_text(text)
