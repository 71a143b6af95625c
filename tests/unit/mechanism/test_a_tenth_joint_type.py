"""A joint type is said once: one that stands only in this file works in dynamics, loops, runs and the native format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from rounding import assert_law

import setsu
from setsu.mechanism.joint_motion import joint_placement
from setsu.mechanism.joints import JOINT_TYPES, Joint


@dataclass(frozen=True)
class PinInSlot(Joint):
    """Travel across `axis`, along the slot, then rotation about `axis`."""

    motions = (("travel", "x"), ("turn", "z"))
    holds = ("yz", "xy")
    file_names = ("pin_in_slot",)


INERTIA = np.diag([0.02, 0.03, 0.04])


def slider(joint: Joint | None) -> setsu.Mechanism:
    """A body on a pin in a slot with an arm on it; None: the same by a slide and a hinge."""
    b = setsu.MechanismBuilder("slider")
    if joint is None:
        b.add_body("slide", joint=setsu.Prismatic((1, 0, 0)))
        b.add_body(
            "body", "slide", setsu.Revolute((0, 0, 1)), mass=2.0, center_of_mass=(0.1, 0.2, 0.3), inertia=INERTIA
        )
    else:
        b.add_body("body", joint=joint, mass=2.0, center_of_mass=(0.1, 0.2, 0.3), inertia=INERTIA)
    b.add_body(
        "arm", "body", setsu.Revolute((0, 1, 0)), setsu.placement((0.3, 0, 0)), mass=1.0, center_of_mass=(0.2, 0, 0),
        inertia=INERTIA,
    )  # fmt: skip
    return b.build()


def test_it_moves_as_the_two_joints_it_is_made_of():
    m, other = slider(PinInSlot()), slider(None)
    assert (m.nq, m.nv) == (3, 3)
    rng = np.random.default_rng(0)
    q, v, tau = rng.standard_normal((3, 5, 3))
    for name, arguments in (("mass_matrix", (q,)), ("bias_torque", (q, v)), ("regressor", (q, v, tau))):
        ours, theirs = (getattr(setsu, name)(which, *arguments) for which in (m, other))
        if name == "regressor":
            theirs = theirs[..., 10:]  # without the slide's columns
        assert_law(ours, theirs, [theirs], 50.0)
    a = setsu.forward_dynamics(m, q, v, tau)
    np.testing.assert_allclose(setsu.inverse_dynamics(m, q, v, a), tau, atol=1e-12)
    np.testing.assert_allclose(
        setsu.body_poses(m, q)[:, 0], [joint_placement(PinInSlot(), x[:2]) for x in q], atol=1e-14
    )


def test_it_closes_a_loop_that_runs_and_transmits_forces():
    """A crank whose pin drives a slotted lever: the scotch yoke, turned."""
    b = setsu.MechanismBuilder("crank and slot", gravity=(0, -9.81, 0))
    b.add_body("crank", joint=setsu.Revolute((0, 0, 1)), mass=1.0, center_of_mass=(0.1, 0, 0), inertia=INERTIA)
    b.add_body(
        "lever", joint=setsu.Revolute((0, 0, 1)), placement=setsu.placement((-0.5, 0, 0)), mass=1.0,
        center_of_mass=(0.4, 0, 0), inertia=INERTIA,
    )  # fmt: skip
    b.add_loop("slot", "lever", "crank", PinInSlot(), setsu.placement((0.4, 0, 0)), setsu.placement((0.2, 0, 0)))
    m = b.build()
    q = setsu.close_loops(m, [0.7, 0.1], fixed=["crank_joint"])
    assert setsu.degrees_of_freedom(m, q) == 1
    # The pin lies on the slot: the lever points at it.
    np.testing.assert_allclose(np.tan(q[1]), 0.2 * np.sin(q[0]) / (0.5 + 0.2 * np.cos(q[0])), atol=1e-12)
    held = setsu.constrained_dynamics(m, q, np.zeros(2), np.zeros(2))
    slot = setsu.body_poses(m, q)[1, :3, 0]
    np.testing.assert_allclose(held.loop_wrench[0, :3] @ slot, 0.0, atol=1e-12)  # nothing passes along the slot
    run = setsu.simulate(m, q, np.zeros(2), 0.5, integrator="rk8")
    assert run.constraint_error.max() < 1e-12
    assert np.ptp(run.energy) < 1e-9


def test_files_and_names_know_it(tmp_path, monkeypatch):
    monkeypatch.setitem(JOINT_TYPES, "PinInSlot", PinInSlot)
    m = slider(PinInSlot(name="pin", damping=(0.1, 0.2), lower=(-1.0, -2.0)))
    m.save(tmp_path / "m.toml")
    assert setsu.load(tmp_path / "m.toml") == m
    assert np.abs(m.random_configuration(0)[0]) <= 1.0  # metres, within ±1


def test_what_would_need_more_is_refused_by_name():
    with pytest.raises(setsu.InputError, match="a PinInSlot joint cannot be reversed"):
        setsu.reroot(slider(PinInSlot(name="pin")), "arm")
