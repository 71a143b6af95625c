"""Every source belongs to a public function, every choice is one the function offers, entries are whole."""

from __future__ import annotations

import inspect
import re

import pytest

import setsu
from setsu.citations.bibliography import BIBLIOGRAPHY
from setsu.citations.citing import CHOICES, CITED
from setsu.control import humanoid


def test_every_cited_function_is_public_and_every_source_known() -> None:
    assert set(CITED) <= {*setsu.__all__, *humanoid.__all__}
    used = {key for keys in CITED.values() for key in keys}
    used |= {key for values in CHOICES.values() for keys in values.values() for key in keys}
    assert used | {"setsu"} == set(BIBLIOGRAPHY)


@pytest.mark.parametrize(("name", "option"), [key for key in CHOICES if key[0] != "sweep"], ids=str)
def test_the_first_choice_is_the_functions_default(name: str, option: str) -> None:
    default = inspect.signature(getattr(setsu, name)).parameters[option].default
    # None stands for the method that fits the other arguments; the first choice is the one for most.
    assert default in (None, next(iter(CHOICES[name, option])))


def test_options_choose_the_source() -> None:
    assert "cooper1972" in setsu.citation(setsu.simulate, integrator="rk8").bibtex
    assert "cooper1972" not in setsu.citation("simulate").text
    assert "sugihara2002" in str(setsu.citation("simulate", contact_solver="sugihara2002"))
    both = setsu.citation("mass_matrix", setsu.regressor, method="unit_vector")
    assert [source.key for source in both.sources] == ["yamamoto2022", "walker1982", "atkeson1986", "setsu"]


def test_humanoid_motions_name_their_sources() -> None:
    walk = setsu.citation(humanoid.plan_walk, "Landing")
    assert {"kajita2003", "vukobratovic2004", "raibert1986"} < {source.key for source in walk.sources}


def test_every_entry_of_bibtex_is_whole() -> None:
    for source in setsu.citation().sources:
        assert re.fullmatch(rf"@\w+{{{source.key},\n(  \w+ = {{.+}},\n)+}}", source.bibtex)
        assert source.bibtex.count("{") == source.bibtex.count("}")
        assert str(source.year) in source.text


@pytest.mark.parametrize(
    ("functions", "options", "expected"),
    [
        (("mass_matrx",), {}, 'did you mean "mass_matrix"'),
        (("mass_matrix",), {"method": "x"}, "known: composite_body, unit_vector"),
        (("mass_matrix",), {"integrator": "rk4"}, "no option 'integrator'"),
        ((), {"method": "x"}, "expected a function that takes it"),
        ((3,), {}, "no sources for '3'"),
    ],
    ids=str,
)
def test_what_is_unknown_is_refused(functions: tuple, options: dict[str, str], expected: str) -> None:
    with pytest.raises(setsu.InputError, match=re.escape(expected)):
        setsu.citation(*functions, **options)
