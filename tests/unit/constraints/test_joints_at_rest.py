"""Joints at rest under dry friction: held up to its limit, whatever rounding is left of their velocity."""

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import puma560


@pytest.mark.parametrize("v", [0.0, 1e-30, -1e-12, 1e-10, -9e-10])
@pytest.mark.parametrize(("push", "a"), [(0.5, 0.0), (-0.9, 0.0), (1.5, 0.5), (-3.0, -2.0)])
def test_a_block_slower_than_stick_speed_is_at_rest(v, push, a):
    """1 kg, friction of 1 N: a = push - sign(push) where |push| > 1 N."""
    b = setsu.MechanismBuilder("block", gravity=(0, 0, 0))
    m = b.add_body("block", joint=setsu.Prismatic((1, 0, 0), "x", coulomb=1.0), mass=1.0).build()
    r = setsu.constrained_dynamics(m, [0.0], [v], [push])
    assert r.acceleration == pytest.approx([a], abs=1e-15)


@pytest.mark.parametrize(("a", "relative", "force"), [(0.3, 0.0, 0.9), (1.0, -0.5, 2.0)])
def test_friction_holds_what_a_driven_joint_carries(a, relative, force):
    """A carriage of 1 kg driven with a carries 2 kg by friction of 1 N: it slips where 2 kg a exceeds the limit."""
    b = setsu.MechanismBuilder("carriage", gravity=(0, 0, 0))
    b.add_body("a", joint=setsu.Prismatic((1, 0, 0), "drive"), mass=1.0)
    m = b.add_body("b", "a", setsu.Prismatic((1, 0, 0), "slide", coulomb=1.0), mass=2.0).build()
    drive = setsu.Prescribed("drive", lambda t: (0.5 * a * t * t, a * t, a))
    r = setsu.constrained_dynamics(m, [0, 0], [0, 0], [0, 0], prescribed=[drive])
    assert r.acceleration == pytest.approx([a, relative], abs=1e-14)
    assert r.prescribed_torque == pytest.approx([force], abs=1e-14)
    run = setsu.simulate(m, [0, 0], [0, 0], 0.01, prescribed=[drive])
    assert run.acceleration[0] == pytest.approx(r.acceleration, abs=1e-13)


def test_recorded_states_with_joints_at_rest_have_the_recorded_accelerations():
    m = puma560(friction=True)
    v = 0.5 * np.random.default_rng(0).normal(size=6)
    run = setsu.simulate(m, m.random_configuration(0), v, 0.05)
    assert {event.kind for event in run.events} == {"stick"}
    found = setsu.constrained_dynamics(m, run.q, run.v, run.torque).acceleration
    scale = np.abs(run.acceleration).max()
    # Records at which a joint has just come to rest are told from sliding by the event alone.
    assert np.abs(found - run.acceleration)[-10:].max() < 1e-12 * scale
