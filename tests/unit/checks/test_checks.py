"""Each check holds on sound mechanisms, and fails when the function it watches is off by one part in a million."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import setsu
from setsu import checks, sample_mechanisms
from setsu.checks.result import compare, fourth_order_difference, rounding_tolerance

OFF = 1.0 + 1e-6


def arm_with_everything() -> setsu.Mechanism:
    """A small tree with a free base, friction, armature and a quaternion joint."""
    builder = setsu.MechanismBuilder("everything")
    solid = np.diag([0.02, 0.03, 0.04])
    builder.add_body("base", joint=setsu.Free(), mass=3.0, center_of_mass=(0.1, 0, 0), inertia=solid)
    builder.add_body(
        "arm",
        parent="base",
        joint=setsu.Revolute((0, 1, 1), damping=0.3, coulomb=0.2, armature=0.1),
        placement=setsu.placement((0.3, 0.1, 0), rpy=(0.1, 0.2, 0.3)),
        mass=1.0,
        center_of_mass=(0, 0.1, 0.2),
        inertia=solid,
    )
    builder.add_body(
        "hand", parent="arm", joint=setsu.Spherical(), placement=setsu.placement((0, 0, 0.4)), mass=0.5,
        center_of_mass=(0.05, 0, 0.1), inertia=0.1 * solid,
    )  # fmt: skip
    builder.add_body(
        "slide", parent="base", joint=setsu.Prismatic((1, 0, 0), damping=1.0), mass=0.7, inertia=0.2 * solid
    )
    return builder.build()


MECHANISMS: dict[str, Callable[[], Any]] = {
    "pendulum": sample_mechanisms.pendulum,
    "puma560": sample_mechanisms.puma560,
    "seven_joint_arm": sample_mechanisms.seven_joint_arm,
    "everything": arm_with_everything,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_law_holds_on_a_sound_mechanism(name: str) -> None:
    certificate = checks.certify(MECHANISMS[name](), seed=3)
    assert len(certificate.results) == len(checks.CHECKS)
    assert certificate.passed, "\n".join(map(str, certificate.results))


def corrupt_array(original: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    """Scale a result where `when` says so."""

    def corrupted(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        return result * OFF if when(*arguments, **options) else result

    return corrupted


def corrupt_record(original: Callable[..., Any]) -> Callable[..., Any]:
    """Scale the derivative by q."""
    return lambda *arguments: (lambda record: dataclasses.replace(record, dq=record.dq * OFF))(original(*arguments))


ALWAYS = lambda *arguments, **options: True  # noqa: E731
WITHOUT_OPTIONS = lambda *arguments, **options: not options  # noqa: E731


@pytest.mark.parametrize(
    ("check", "function", "when"),
    [
        (checks.check_mass_matrix, "mass_matrix", WITHOUT_OPTIONS),
        (checks.check_equation_of_motion, "bias_torque", ALWAYS),
        (checks.check_forward_undoes_inverse, "forward_dynamics", lambda *a, method: method == "unit_vector"),
        (checks.check_formulations, "inverse_dynamics", lambda *a, formulation: formulation == "world"),
        (checks.check_regressor, "regressor", ALWAYS),
        (checks.check_coriolis_matrix, "coriolis_matrix", ALWAYS),
        (
            checks.check_energy_rate,
            "potential_energy",
            lambda m, q: q[0, 0] > setsu.checks.states.draw_states(m, 0, 5).q[0, 0],
        ),
        (checks.check_joint_wrenches, "joint_wrenches", ALWAYS),
        (checks.check_batches, "inverse_dynamics", lambda m, q, *a: q.ndim == 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_check_fails_when_its_function_is_wrong(
    check: Callable[..., checks.CheckResult], function: str, when: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = sample_mechanisms.puma560()
    assert check(mechanism).passed
    monkeypatch.setattr(setsu, function, corrupt_array(getattr(setsu, function), when))
    assert not check(mechanism).passed


@pytest.mark.parametrize(
    ("check", "function"),
    [
        (checks.check_inverse_derivatives, "inverse_dynamics_derivatives"),
        (checks.check_forward_derivatives, "forward_dynamics_derivatives"),
    ],
)
def test_a_derivative_check_fails_when_its_function_is_wrong(
    check: Callable[..., checks.CheckResult], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = sample_mechanisms.pendulum()
    monkeypatch.setattr(setsu, function, corrupt_record(getattr(setsu, function)))
    assert not check(mechanism).passed


def test_the_check_of_compiled_code_fails_when_that_code_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sample_mechanisms.puma560()
    good = setsu.compile(mechanism, ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
    bad = SimpleNamespace(
        inverse_dynamics=lambda *arguments: good.inverse_dynamics(*arguments) * OFF,
        forward_dynamics=good.forward_dynamics,
        mass_matrix=good.mass_matrix,
    )
    monkeypatch.setattr(setsu, "compile", lambda m, names: bad)
    assert not checks.check_compiled_code(mechanism).passed


def test_a_massless_tip_makes_the_mass_matrix_check_fail_by_name() -> None:
    builder = setsu.MechanismBuilder("massless tip")
    builder.add_body("rod", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, 1))
    builder.add_body("tip", parent="rod", joint=setsu.Revolute((0, 1, 0)))
    certificate = checks.certify(builder.build())
    result = certificate.results[0]
    assert not certificate.passed
    assert not result.passed
    assert any("no accelerations" in reason for reason in certificate.left_out)
    assert "too little mass behind tip_joint" in str(result)


def test_a_certificate_names_impossible_inertias() -> None:
    builder = setsu.MechanismBuilder("plate too thin")
    with pytest.warns(setsu.ModelWarning):
        builder.add_body("plate", joint=setsu.Revolute((0, 0, 1)), mass=1.0, inertia=np.diag([0.1, 0.1, 0.5]))
    certificate = checks.certify(builder.build())
    assert not certificate.passed
    (problem,) = certificate.inertia_problems
    assert "0.1 + 0.1 < 0.5" in str(problem)
    assert all(result.passed for result in certificate.results), "the laws hold for any numbers"


def test_a_mechanism_that_cannot_move_has_nothing_to_fail() -> None:
    builder = setsu.MechanismBuilder("rock")
    builder.add_body("rock", mass=5.0)
    assert checks.certify(builder.build()).passed


def test_nan_is_a_failure() -> None:
    bad = np.array([[1.0, np.nan]])
    assert not compare("x", "y", bad, np.ones((1, 2)), [np.ones((1, 2))], 1.0).passed


def test_fourth_order_differences_reach_their_tolerance() -> None:
    """d/dt exp(t) = 1 at 0."""
    error = abs(fourth_order_difference(lambda t: np.exp(np.array([t])))[0] - 1.0)
    assert error < rounding_tolerance(1, differences=True)
