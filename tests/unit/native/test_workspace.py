"""Workspaces are made as their fields declare them, and refuse what nobody gave them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from setsu.native.workspace import Workspace, floats, ints, make


class Sample(NamedTuple):
    """A field that has to be given, one that may be, and others of zeros."""

    given: np.ndarray
    numbers: np.ndarray = floats("n", 3)
    counts: np.ndarray = ints("n")
    one: np.ndarray = ints(1)
    more: np.ndarray = floats("2 n + 3", "n n")


def test_fields_are_zeros_of_the_declared_shapes_but_for_those_given():
    counts = np.arange(2)
    made = make(Sample, {"n": 2}, given=np.ones(4), counts=counts)
    assert made.counts is counts
    assert [(field.shape, field.dtype) for field in made] == [
        ((4,), np.float64), ((2, 3), np.float64), ((2,), np.int64), ((1,), np.int64), ((7, 4), np.float64)
    ]  # fmt: skip
    assert not made.numbers.any()
    again = make(Sample, {"n": 2}, given=np.ones(4))
    assert not np.shares_memory(made.numbers, again.numbers)
    assert Workspace(made).layout is Workspace(again).layout


def test_what_is_not_declared_or_not_given_is_refused():
    with pytest.raises(TypeError, match="given"):
        make(Sample, {"n": 2})
    with pytest.raises(TypeError, match="unknown"):
        make(Sample, {"n": 2}, given=np.ones(4), unknown=np.ones(1))
    with pytest.raises(KeyError, match="n"):
        make(Sample, {}, given=np.ones(4))
    with pytest.raises(AttributeError):
        Workspace(Sample(np.ones(4)))  # made without `make`: declarations are no arrays


class Fixed(NamedTuple):
    """Rows of a length that is a constant of compiled code."""

    INNER = dict.fromkeys(("rows",), (3,))

    rows: np.ndarray


def test_lengths_that_are_constants_of_the_code_are_checked():
    layout = Workspace(Fixed(np.zeros((2, 3)))).layout
    assert layout is Workspace(Fixed(np.zeros((5, 3)))).layout
    assert layout.fields[0][2] == (0, 3)
    with pytest.raises(ValueError, match=r"Fixed\.rows: expected inner lengths \(3,\), got \(2, 4\)"):
        Workspace(Fixed(np.zeros((2, 4))))
