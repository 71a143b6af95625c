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
from setsu.checks import energy
from setsu.checks.result import compare, fourth_order_difference, rounding_tolerance
from setsu.mechanism.elements import Pose
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment

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


def arm_in_a_fluid() -> setsu.Mechanism:
    """What takes energy in every way: dampers of joints, springs and tendons, dry friction, a bearing, drag, wind."""
    b = setsu.MechanismBuilder("in a fluid")
    solid = {"mass": 1.5, "center_of_mass": (0.1, 0.02, 0.0), "inertia": np.diag([0.02, 0.03, 0.04])}
    at = setsu.placement((0.3, 0.0, 0.1), rpy=(0.1, 0.2, -0.1))
    bearing = {"bearing_friction": 0.1, "bearing_radius": 0.05, "preload": 3.0}
    b.add_body("a", joint=setsu.Revolute((0, 1, 0), name="ja", damping=0.3, coulomb=0.2, **bearing), **solid)
    b.add_body("b", "a", setsu.Prismatic((1, 0, 0), name="jb", bearing_friction=0.2), at, **solid)
    b.add_body("c", "b", setsu.Spherical(name="jc", damping=0.1), at, **solid)
    b.add_spring("rope", "world", (0, 0, 1.0), "c", (0.1, 0, 0), stiffness=50.0, rest_length=0.2, damping=4.0)
    b.add_tendon("cable", {"ja": 0.3, "jb": -0.2}, stiffness=40.0, rest=(0.05, 0.1), damping=2.0)
    b.add_tendon("line", None, [Segment("a", (0, 0, 0.1), "c", (0, 0.1, 0), 0.5)], stiffness=30.0, damping=3.0)
    boxes = (FluidBox("c", (0.1, 0.2, 0.3), Pose.of(at, "box")), FluidBox("a", (0.2, 0.1, 0.3)))
    b.set_fluid(Fluid(120.0, 10.0, (0.1, -0.3, 0.2), boxes))
    return b.build()


@pytest.mark.parametrize("seed", range(3))
def test_energy_goes_where_dampers_bearings_and_drag_take_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each element off by one part in a thousand is found."""
    m = arm_in_a_fluid()
    assert checks.check_energy_rate(m, seed=seed).passed
    original = energy.dissipated_power
    fluid = m.fluid
    assert fluid is not None
    wrong = [
        setsu.with_drives(m, damping=1.001 * m.damping),
        setsu.with_drives(m, coulomb=1.001 * m.coulomb),
        dataclasses.replace(m, springs=(dataclasses.replace(m.springs[0], damping=4.004),)),
        *(
            dataclasses.replace(
                m,
                tendons=tuple(dataclasses.replace(x, damping=x.damping * (1.001 if x is t else 1)) for x in m.tendons),
            )
            for t in m.tendons
        ),
        dataclasses.replace(m, fluid=dataclasses.replace(fluid, density=120.12)),
        dataclasses.replace(m, fluid=dataclasses.replace(fluid, viscosity=10.01)),
        dataclasses.replace(m, fluid=dataclasses.replace(fluid, wind=(0.1, -0.3, 0.21))),
    ]
    for other in wrong:
        monkeypatch.setattr(energy, "dissipated_power", lambda _, q, v, a, other=other: original(other, q, v, a))
        assert not checks.check_energy_rate(m, seed=seed).passed


MECHANISMS: dict[str, Callable[[], Any]] = {
    "pendulum": sample_mechanisms.pendulum,
    "puma560": sample_mechanisms.puma560,
    "seven_joint_arm": sample_mechanisms.seven_joint_arm,
    "everything": arm_with_everything,
    "in a fluid": arm_in_a_fluid,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_law_holds_on_a_sound_mechanism(name: str) -> None:
    certificate = checks.certify(MECHANISMS[name](), seed=3)
    # Derivatives and compiled code refuse bearings by name.
    assert len(certificate.results) + len(certificate.left_out) == len(checks.CHECKS)
    assert len(certificate.left_out) == (3 if name == "in a fluid" else 0)
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
