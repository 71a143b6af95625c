"""Mechanisms whose polynomials are too long are taken joint by joint, with the same result."""

from __future__ import annotations

import importlib
import warnings
from fractions import Fraction

import numpy as np
import pytest
from unit.minimum_parameters.robots import HUMANOIDS, dh_robot, example_robot

import setsu
from setsu.minimum_parameters.parameter_names import parameter_names, preferred_order
from setsu.minimum_parameters.passing_on import passed_on

pytestmark = pytest.mark.thin(3)

analysis = importlib.import_module("setsu.minimum_parameters.analysis")
samples = setsu.sample_mechanisms


def test_what_joints_pass_on() -> None:
    """Khalil's rules for a revolute joint about z with no offset but d along x."""
    arm = setsu.from_dh([(0.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0)])
    names = parameter_names(arm)
    told = {
        names[column]: {names[kept]: factor for kept, factor in expression.items()}
        for column, expression in passed_on(arm, preferred_order(arm)).items()
        if expression != {column: 1}
    }
    assert told == {
        "M_2": {"M_1": 1, "MSx_1": Fraction(1, 2), "Iyy_1": Fraction(1, 4), "Izz_1": Fraction(1, 4)},
        "MSz_2": {"MSz_1": 1, "Ixz_1": Fraction(-1, 2)},
        "Iyy_2": {"Ixx_2": -1, "Ixx_1": 1, "Iyy_1": 1},
    }


@pytest.mark.parametrize("make", [lambda: dh_robot("general 6R"), samples.rx90, samples.puma560])
def test_joint_by_joint_gives_what_identities_give(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    m = make()  # type: ignore[operator]
    whole = setsu.minimum_parameters(m)
    monkeypatch.setattr(analysis, "_LIMIT", 20)
    parts = setsu.minimum_parameters(m)
    assert (whole.method, parts.method) == ("identity", "points")
    np.testing.assert_array_equal(parts.independent, whole.independent)
    np.testing.assert_allclose(parts.matrix, whole.matrix, atol=1e-12)


def test_floating_tree_is_proved_joint_by_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = samples.random_tree(4, n_bodies=6, floating_base=True)
    numeric = setsu.minimum_parameters(tree, exact=False)
    monkeypatch.setattr(analysis, "_LIMIT", 20)
    p = setsu.minimum_parameters(tree)
    assert p.method == "identity"
    assert p.count == numeric.count
    assert p.torque_error() <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Talos with grippers", "G1 with hands", pytest.param("Romeo with hands", marks=pytest.mark.nightly)]
)
def test_humanoids(name: str) -> None:
    """Hands whose fingers are coupled have nearly dependent columns: both methods choose well-conditioned ones."""
    path, count = HUMANOIDS[name]
    m = example_robot(path, floating_base=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        for exact in (True, False):
            p = setsu.minimum_parameters(m, exact=exact)
            assert p.count == count
            assert p.torque_error(seed=5) <= 1e-11


def test_nothing_that_moves_has_no_parameters() -> None:
    p = setsu.minimum_parameters(setsu.MechanismBuilder("nothing").build())
    assert p.count == 0
    assert setsu.minimum_parameters(setsu.MechanismBuilder("nothing").build(), exact=False).count == 0
    assert p.torque_error() == 0.0
