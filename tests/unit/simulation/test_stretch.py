"""Stretches in compiled code take the very steps that a run takes step by step."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import bricard, four_bar


def _floating_loop() -> setsu.Mechanism:
    """A free body and a spherical joint in a loop: charts that are not flat."""
    b = setsu.MechanismBuilder("floating loop", gravity=(0, 0, -2.0))
    inertia = np.diag([0.1, 0.2, 0.15])
    b.add_body("base", parent="world", joint=setsu.Free(name="free"), mass=1.0, inertia=inertia)
    b.add_body(
        "arm", parent="base", joint=setsu.Spherical(name="ball"), placement=setsu.placement(translation=(1, 0, 0)),
        mass=0.5, center_of_mass=(0.3, 0, 0), inertia=inertia,
    )  # fmt: skip
    b.add_loop(
        "pin", body_a="world", body_b="arm", joint=setsu.Spherical(),
        placement_a=setsu.placement(translation=(2, 0, 0)), placement_b=setsu.placement(translation=(1, 0, 0)),
    )  # fmt: skip
    return b.build()


@pytest.mark.parametrize("integrator", ["rk4", "rk8", "semi_implicit"])
@pytest.mark.parametrize("make", [four_bar, bricard, _floating_loop])
def test_constant_torques_move_the_same_with_and_without_python(make, integrator) -> None:
    m = make()
    start = setsu.consistent_velocity(m, m.neutral(), np.linspace(0.2, 0.5, m.nv))
    tau = np.zeros(m.nv)
    tau[-1] = 0.1
    options = {"duration": 0.3, "step": 0.01, "integrator": integrator, "record_every": 3}
    compiled = setsu.simulate(m, m.neutral(), start, torque=tau, **options)
    stepped = setsu.simulate(m, m.neutral(), start, torque=lambda t, q, v: tau, **options)
    np.testing.assert_array_equal(compiled.time, stepped.time)
    for key in ("q", "v", "acceleration", "loop_wrench", "joint_wrenches", "energy"):
        got, expected = getattr(compiled, key), getattr(stepped, key)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10 * (1.0 + np.abs(expected).max()), err_msg=key)
    np.testing.assert_allclose(compiled.ledger.actuators, stepped.ledger.actuators, atol=1e-10)
    assert compiled.constraint_error.max() < 1e-13
