"""Recorded loop wrenches are those of `constrained_dynamics` at the recorded states, redundant or not."""

from __future__ import annotations

import numpy as np
import pytest

import setsu


def door(hinges: float = 0.8) -> setsu.Mechanism:
    """A door of 20 kg on two hinges, one of them closing a loop: five rows, none of which holds any motion."""
    b = setsu.MechanismBuilder("door")
    b.add_body("leaf", joint=setsu.Revolute((0, 0, 1), "lower hinge"), mass=20.0, center_of_mass=(0.45, 0, 1.0),
               inertia=np.diag([6.0, 7.2, 1.4]))  # fmt: skip
    place = setsu.placement(translation=(0, 0, 2.0 * hinges))
    b.add_loop("upper hinge", body_a="world", body_b="leaf", joint=setsu.Revolute((0, 0, 1)), placement_a=place,
               placement_b=place)  # fmt: skip
    return b.build()


def _compared(m: setsu.Mechanism, run: setsu.Recording) -> None:
    again = setsu.constrained_dynamics(m, run.q, run.v, run.torque)
    scale = np.abs(again.joint_wrenches).max()
    np.testing.assert_allclose(run.acceleration, again.acceleration, atol=1e-9 * (1 + np.abs(run.acceleration).max()))
    np.testing.assert_allclose(run.loop_wrench, again.loop_wrench, atol=1e-8 * scale)
    np.testing.assert_allclose(run.joint_wrenches, again.joint_wrenches, atol=1e-8 * scale)


def test_a_door_hangs_on_both_of_its_hinges() -> None:
    """Each carries half the weight, and the couple m g d over their distance; least multipliers load one alone."""
    m = door()
    run = setsu.simulate(m, [0.0], [1.0], 0.2, 0.01)
    _compared(m, run)
    np.testing.assert_allclose(run.loop_wrench[:, 0, 2], 0.5 * 20.0 * 9.81, rtol=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_forces_in_an_over_constrained_linkage_are_those_of_single_states(integrator: str) -> None:
    m = setsu.sample_mechanisms.bricard()
    run = setsu.simulate(m, m.neutral(), np.zeros(m.nv), 0.3, 0.01, integrator=integrator)
    _compared(m, run)


def test_forces_in_a_plane_linkage_are_those_of_single_states() -> None:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0], fixed=["crank"])
    _compared(m, setsu.simulate(m, q, v, 0.5, 0.01))


def test_forces_across_the_plane_of_a_linkage_are_shared_as_in_single_states() -> None:
    """With gravity along the axes rows that move nothing carry the weight, and all joints take part."""
    from dataclasses import replace

    m = replace(setsu.sample_mechanisms.four_bar(), gravity=(0.0, 9.81, 0.0))
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0], fixed=["crank"])
    run = setsu.simulate(m, q, v, 0.2, 0.01)
    assert np.abs(run.loop_wrench[..., [0, 1, 2]]).max() > 0.1
    _compared(m, run)
