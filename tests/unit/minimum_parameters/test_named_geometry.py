"""Names of lengths and angles in the printed combinations: kept in loops that need roots, simplified for angles."""

from __future__ import annotations

import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import setsu
from setsu.minimum_parameters.named_angles import with_cosines_and_sines
from setsu.minimum_parameters.parameter_names import latex

LENGTHS = {"l0": 0.9, "l1": 0.3, "l2": 0.8, "l3": 0.7}


def _four_bar(values: dict[str, float], named: bool = True) -> setsu.Mechanism:
    l0, l1, l2, l3 = (setsu.symbol(name, value) if named else value for name, value in values.items())
    builder = setsu.MechanismBuilder("four_bar")
    y = (0, 1, 0)
    builder.add_body("crank", joint=setsu.Revolute(y, "crank"), mass=1.0)
    builder.add_body("coupler", "crank", setsu.Revolute(y, "elbow"), setsu.placement((l1, 0, 0)), mass=1.0)
    builder.add_body("rocker", "world", setsu.Revolute(y, "rocker"), setsu.placement((l0, 0, 0)), mass=1.0)
    builder.add_loop(
        "pin", "coupler", "rocker", setsu.Revolute(y), setsu.placement((l2, 0, 0)), setsu.placement((l3, 0, 0))
    )
    return builder.build()


def _value(factor: str, values: dict[str, float]) -> float:
    """A factor's text as a number."""
    text = factor if factor[1:] else factor + "1"
    return float(eval(text, {"__builtins__": {}, "cos": math.cos, "sin": math.sin}, dict(values)))


def test_four_bar_keeps_its_lengths() -> None:
    p = setsu.minimum_parameters(_four_bar(LENGTHS))
    assert p.method == "field"
    assert p.names == (
        "MSx_crank + l1*M_coupler + l1/l3**2*Iyy_rocker",
        "MSz_crank",
        "Iyy_crank + l1**2*M_coupler + l1**2/l3**2*Iyy_rocker",
        "MSx_coupler + l2/l3**2*Iyy_rocker",
        "MSz_coupler",
        "Iyy_coupler + l2**2/l3**2*Iyy_rocker",
        "MSx_rocker - 1/l3*Iyy_rocker",
        "MSz_rocker",
    )


@pytest.mark.nightly
def test_names_stand_for_the_numbers_of_the_same_linkage() -> None:
    """Other lengths, the same list; put in, the names give the matrix of the linkage without names."""
    other = {"l0": 1.1, "l1": 0.25, "l2": 0.95, "l3": 0.6}
    named, plain = (setsu.minimum_parameters(_four_bar(other, named)) for named in (True, False))
    assert named.names == setsu.minimum_parameters(_four_bar(LENGTHS)).names
    np.testing.assert_allclose(named.matrix, plain.matrix, atol=1e-12)
    for terms, plain_terms in zip(named.terms, plain.terms, strict=True):
        for (factor, name), (number, plain_name) in zip(terms, plain_terms, strict=True):
            assert name == plain_name
            assert _value(factor, other) == pytest.approx(_value(number, {}), rel=1e-5)


def _offset_bars(values: dict[str, float], named: bool = True) -> setsu.Mechanism:
    """A four-bar whose bars are bent (offsets across them), one length a sum, the coupler turned by an angle."""
    s = {name: setsu.symbol(name, value) if named else value for name, value in values.items()}
    builder = setsu.MechanismBuilder("bent bars")
    y = (0, 1, 0)
    turned = setsu.placement((s["l1"], 0, s["a"]), rpy=(0, s["turn"], 0))
    builder.add_body("crank", joint=setsu.Revolute(y, "crank"), mass=1.0)
    builder.add_body("coupler", "crank", setsu.Revolute(y, "elbow"), turned, mass=1.0)
    builder.add_body("rocker", "world", setsu.Revolute(y, "rocker"), setsu.placement((0.9, 0, 0)), mass=1.0)
    end = setsu.placement((s["l2"], 0, 0)) @ setsu.placement((0, 0, 0), rpy=(0, s["turn"], 0))
    end = end @ setsu.placement((0.1, 0, 0))
    builder.add_loop("pin", "coupler", "rocker", setsu.Revolute(y), end, setsu.placement((s["l3"] + s["a"], 0, 0)))
    return builder.build()


@pytest.mark.nightly
def test_sums_of_lengths_and_angles_keep_their_names() -> None:
    values = {"l1": 0.3, "l2": 0.7, "l3": 0.5, "a": 0.2, "turn": 0.3}
    named, plain = (setsu.minimum_parameters(_offset_bars(values, named)) for named in (True, False))
    assert named.method == plain.method == "field"
    rocker = "(a**2 + 2*a*l3 + l3**2)*Iyy_rocker"
    assert f"Iyy_crank + (l1**2 + a**2)*M_coupler + (l1**2 + a**2)/{rocker}" in named.names
    assert f"MSx_coupler + (l2 + 0.1*cos(turn))/{rocker}" in named.names
    np.testing.assert_allclose(named.matrix, plain.matrix, atol=1e-12)
    for terms, plain_terms in zip(named.terms, plain.terms, strict=True):
        for (factor, name), (number, plain_name) in zip(terms, plain_terms, strict=True):
            assert name == plain_name
            assert _value(factor, values) == pytest.approx(_value(number, {}), rel=1e-5)


def test_special_values_are_reported_not_named() -> None:
    """A crossed parallelogram with four names is special: for other values it is no such linkage."""
    m = _four_bar({"l0": 0.8, "l1": 0.3, "l2": 0.8, "l3": 0.3})
    crossed = setsu.close_loops(m, [0.5, -1.9, -1.0], fixed=["crank"])
    if abs(crossed[0] - crossed[2]) < 1e-6:
        pytest.fail("the start closes as a parallelogram")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        p = setsu.minimum_parameters(m, q=crossed)
    assert p.torque_error() < 1e-12
    named = any(re.search(r"\bl[0-3]\b", name) for name in p.names)
    assert named or any("special relation" in str(warning.message) for warning in told)


def test_named_angles_print_as_cosines_and_sines() -> None:
    alpha, beta = setsu.symbol("alpha", 0.7), setsu.symbol("beta", -0.5)
    a2, d3 = setsu.symbol("a2", 0.4), setsu.symbol("d3", 0.2)
    p = setsu.minimum_parameters(setsu.from_dh([(0.0, 0.0, 0.0, 0.1), (alpha, a2, 0.0, d3), (beta, 0.3, 0.0, 0.0)]))
    assert not any("tan(" in name for name in p.names)
    assert "Izz_1 + (a2**2 + d3**2*sin(alpha)**2)*M_2" in p.names[0]
    assert "MSy_2 - sin(beta)*MSz_3" in p.names
    values = {"alpha": 0.7, "beta": -0.5, "a2": 0.4, "d3": 0.2}
    columns = {name: k for k, name in enumerate(_all_names(p))}
    for row, terms in zip(p.matrix, p.terms, strict=True):
        for factor, name in terms:
            assert _value(factor, values) == pytest.approx(row[columns[name]], abs=1e-12)


def _all_names(p: setsu.MinimumParameters) -> list[str]:
    from setsu.minimum_parameters.parameter_names import parameter_names

    return list(parameter_names(p.mechanism))


@pytest.mark.parametrize("seed", range(6))
def test_cosines_and_sines_are_the_same_function(seed: int) -> None:
    """Any quotient in tan(x/2), tan(y/2) and a length, at random angles."""
    rng = np.random.default_rng(seed)
    symbols = ("a", "tan(x/2)", "tan(y/2)")

    def polynomial() -> list[tuple[tuple[int, ...], Fraction]]:
        keys = {tuple(int(k) for k in rng.integers(0, 4, 3)) for _ in range(4)}
        return [(key, Fraction(int(rng.integers(1, 9)))) for key in keys]

    above, below = polynomial(), polynomial()
    new_above, new_below, names = with_cosines_and_sines(above, below, symbols)
    x, y, a = rng.uniform(0.2, 1.2, 3)
    before = {"a": a, "tan(x/2)": math.tan(x / 2), "tan(y/2)": math.tan(y / 2)}
    after = {"a": a, "cos(x)": math.cos(x), "sin(x)": math.sin(x), "cos(y)": math.cos(y), "sin(y)": math.sin(y)}

    def at(terms: list, symbols: tuple[str, ...], point: dict[str, float]) -> float:
        return sum(float(c) * math.prod(point[s] ** e for s, e in zip(symbols, key, strict=True)) for key, c in terms)

    expected = at(above, symbols, before) / at(below, symbols, before)
    assert at(new_above, names, after) / at(new_below, names, after) == pytest.approx(expected, rel=1e-10)


def test_latex_of_angles() -> None:
    assert latex("MSy_2 - cos(beta)*sin(beta)**2*MSz_3") == r"MS_{y,2} - \cos(beta)\,\sin^{2}(beta)\,MS_{z,3}"
