"""Derivatives of a step with loops and couplings in an environment, against differences of the step.

Differences go along motions that keep the loops, from states that do: of the step solved to rounding, 1e-8 of the
largest entry; and of the machine's own step, which holds loops to 1e-11 m or rad and contacts to a nanometre. What it
leaves changes with the state, and over h it is a velocity.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.simulation.contact_step import END, V_END

H = 1e-3
E = 3e-4
LOOPS = ("four_bar", "five_bar", "slider_crank", "delta_robot", "stewart_platform", "spatial_slider_crank")


def slopes_and_ours(m, q, v, tau, e, seed):
    """Differences (sixth order) of (q', v') of the step solved to rounding, of the machine's, and what the derivatives
    say, (2 nv,) each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)  # some have nothing that can touch the floor
        sim = setsu.Simulator(m, step=H, environment=setsu.Environment.floor())
    sim.reset(q, v)
    d = sim.derivatives(tau)
    assert d.boundaries == ()
    (made,) = sim._differentiated.values()
    rng = np.random.default_rng(seed)
    way = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv))
    faster, pull = rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    solved, machine, starts = [], [], []
    for s in (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0):
        q1 = setsu.close_loops(m, setsu.integrate(m, q, way, s * e), respect_limits=False)
        v1 = setsu.consistent_velocity(m, q1, v + s * e * faster)
        sim.reset(q1, v1)
        found = sim.derivatives(tau + s * e * pull)
        w = made.map
        solved.append(np.concatenate([setsu.difference(m, d.q, w.q[END]), w.vectors[V_END]]))
        machine.append(np.concatenate([setsu.difference(m, d.q, found.q), found.v]))
        starts.append(np.concatenate([setsu.difference(m, q, q1), v1]))
    weights = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / (60.0 * e)
    start = weights @ np.array(starts)
    dq, dv = start[: m.nv], start[m.nv :]
    ours = [d.dq_dq @ dq + d.dq_dv @ dv + d.dq_dtau @ pull, d.dv_dq @ dq + d.dv_dv @ dv + d.dv_dtau @ pull]
    return weights @ np.array(solved), weights @ np.array(machine), np.concatenate(ours)


def assert_derivatives(m, q, v, tau, e, seed, machine: float) -> None:
    solved, theirs, ours = slopes_and_ours(m, q, v, tau, e, seed)
    for part in (slice(m.nv), slice(m.nv, None)):
        size = np.abs(solved[part]).max()
        np.testing.assert_allclose(ours[part], solved[part], rtol=0, atol=1e-8 * size)
        np.testing.assert_allclose(ours[part], theirs[part], rtol=0, atol=machine * size)  # not rounding: its tolerance


@pytest.mark.parametrize("name", LOOPS)
def test_loops_in_an_environment(name: str) -> None:
    m = getattr(setsu.sample_mechanisms, name)()
    rng = np.random.default_rng(1)
    q = setsu.close_loops(m, m.neutral())
    v, tau = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv)), rng.standard_normal(m.nv)
    for seed in range(3):
        assert_derivatives(m, q, v, tau, E, seed, 1e-6)


def test_drives_and_dampers_in_a_loop_joint() -> None:
    """Armature, damper and spring along the free axis of the joint that closes the loop."""
    b = setsu.MechanismBuilder("four-bar with a drive")
    for name, parent, at, length in (("crank", "world", 0.0, 0.2), ("coupler", "crank", 0.2, 0.5)):
        b.add_body(
            name, parent, setsu.Revolute((0, 0, 1), damping=0.01), setsu.placement((at, 0, 0)), mass=0.3,
            center_of_mass=(length / 2, 0, 0), inertia=np.diag([0.001, 0.004, 0.004]),
        )  # fmt: skip
    b.add_body(
        "rocker", "world", setsu.Revolute((0, 0, 1)), setsu.placement((0.45, 0, 0)), mass=0.4,
        center_of_mass=(0.2, 0, 0), inertia=np.diag([0.001, 0.006, 0.006]),
    )  # fmt: skip
    joint = setsu.Revolute((0, 0, 1), damping=0.05, stiffness=3.0, armature=0.02)
    b.add_loop("pin", "coupler", "rocker", joint, setsu.placement((0.5, 0, 0)), setsu.placement((0.4, 0, 0)))
    m = b.build()
    q = setsu.close_loops(m, [0.7, 0.4, 1.6])
    v, tau = setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0]), np.array([0.3, 0.0, -0.1])
    assert_derivatives(m, q, v, tau, E, 0, 1e-6)


AXES: dict[str, Any] = {"damping": 0.2, "stiffness": 3.0, "spring_rest": 0.3, "armature": 0.05}
JOINTS = {
    "fixed": setsu.Fixed(),
    "revolute": setsu.Revolute((0, 0, 1), **AXES),
    "prismatic": setsu.Prismatic((1, 0, 0), **AXES),
    "helical": setsu.Helical((0, 0, 1), pitch=0.1, **AXES),
    "cylindrical": setsu.Cylindrical((0, 0, 1), **AXES),
    "planar": setsu.Planar((0, 0, 1), **AXES),
    "universal": setsu.Universal((0, 0, 1), **AXES),
    "spherical": setsu.Spherical(damping=0.2, armature=0.05),
}


def hanging(joint: setsu.Joint) -> setsu.Mechanism:
    """A body that hangs on a swinging one by a joint that closes a loop."""
    b = setsu.MechanismBuilder("hanging")
    inertia = np.diag([0.01, 0.02, 0.03])
    b.add_body("first", joint=setsu.Spherical(name="hang"), mass=1.0, center_of_mass=(0.3, 0, 0), inertia=inertia)
    b.add_body("second", joint=setsu.Free(), mass=2.0, center_of_mass=(0.1, 0.05, 0), inertia=2.0 * inertia)
    b.add_loop("link", "first", "second", joint, setsu.placement((0.6, 0, 0)), setsu.placement((0.0, 0.2, 0.1)))
    return b.build()


@pytest.mark.parametrize("kind", JOINTS)
def test_each_joint_type_closes_a_loop(kind: str) -> None:
    """With springs, dampers and drives along its free axes."""
    m = hanging(JOINTS[kind])
    rng = np.random.default_rng(3)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.4 * rng.standard_normal(m.nv), 1.0))
    v, tau = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv)), rng.standard_normal(m.nv)
    assert_derivatives(m, q, v, tau, E, 0, 1e-6)


def test_a_coupling_by_a_polynomial() -> None:
    b = setsu.MechanismBuilder("cam")
    for k in range(2):
        b.add_body(
            f"link{k}", joint=setsu.Revolute((0, 1, 0), name=f"j{k}"), mass=1.0, center_of_mass=(0.15, 0, 0),
            inertia=np.diag([0.001, 0.01, 0.01]),
        )  # fmt: skip
    b.add_coupling("cam", {"j1": 1.0}, argument={"j0": 1.0}, polynomial=(0.1, 0.5, 0.3, -0.2))
    m = b.build()
    q = setsu.close_loops(m, [0.6, 0.4])
    v, tau = setsu.consistent_velocity(m, q, [1.0, 0.3]), np.array([0.5, 0.2])
    assert_derivatives(m, q, v, tau, E, 0, 1e-6)


def test_couplings() -> None:
    b = setsu.MechanismBuilder("geared arm")
    for k in range(3):
        b.add_body(
            f"link{k}", "world" if k == 0 else f"link{k - 1}", setsu.Revolute((0, 1, 0), name=f"j{k}"),
            setsu.placement((0.0 if k == 0 else 0.3, 0, 1.0 if k == 0 else 0.0)), mass=1.0,
            center_of_mass=(0.15, 0, 0), inertia=np.diag([0.001, 0.01, 0.01]),
        )  # fmt: skip
    b.add_coupling("gears", {"j1": 1.0, "j2": -0.5})
    m = b.build()
    q = setsu.close_loops(m, [0.3, 0.2, 0.4])
    v, tau = setsu.consistent_velocity(m, q, [1.0, -0.5, 0.3]), np.array([0.5, 0.2, 0.1])
    assert_derivatives(m, q, v, tau, E, 0, 1e-6)


@pytest.mark.parametrize("place", ["in the air", "landing"])
def test_a_robot_with_closed_legs(place: str) -> None:
    m = setsu.sample_mechanisms.closed_leg_biped()
    q = setsu.close_loops(m, m.neutral())
    soles = min((setsu.frame_pose(m, q, p.body) @ [*p.position, 1.0])[2] - p.radius for p in m.contact_points)
    q[2] += (0.3 if place == "in the air" else 1e-5) - soles
    v = np.zeros(m.nv)
    v[[0, 2]] = 0.3, -0.05
    if place == "in the air":
        v = 0.3 * np.random.default_rng(0).standard_normal(m.nv)
    v = setsu.consistent_velocity(m, q, v)
    # A gap that changes is closed within the step, by an impact of 1/h times as much.
    e, machine = (E, 1e-6) if place == "in the air" else (2e-6, 1e-9 / (H * 2e-6 * 1e3))
    assert_derivatives(m, q, v, np.zeros(m.nv), e, 0, machine)
