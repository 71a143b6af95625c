"""Closed mechanisms in an environment: loops hold as exactly as without one, and every force is accounted for."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

FLOOR = setsu.Environment.floor()
ROD = {"mass": 0.2, "center_of_mass": (0.1, 0, 0), "inertia": np.diag([1e-4, 7e-4, 7e-4])}
PIN = setsu.Revolute((0, 1, 0))


def _four_bar_foot() -> tuple[setsu.Mechanism, np.ndarray]:
    """A body with a four-bar linkage below it, whose coupler is the foot."""
    b = setsu.MechanismBuilder("leg")
    b.add_body("body", joint=setsu.Free(name="free"), mass=1.0, inertia=np.diag([0.01, 0.01, 0.02]))
    for name, parent, place in (
        ("crank", "body", (-0.1, 0, -0.05)),
        ("foot", "crank", (0.2, 0, 0)),
        ("rocker", "foot", (0.2, 0, 0)),
    ):
        joint = setsu.Revolute((0, 1, 0), name=name)
        b.add_body(name, parent=parent, joint=joint, placement=setsu.placement(place), **ROD)
    b.add_loop("pin", "body", "rocker", PIN, setsu.placement((0.1, 0, -0.05)), setsu.placement((0.2, 0, 0)))
    material = setsu.Material(0.6, 0.5)
    b.add_contact_points("foot", [(x, y, 0.0) for x in (-0.02, 0.22) for y in (-0.05, 0.05)], material)
    b.add_contact_points("body", [(x, y, -0.06) for x in (-0.1, 0.1) for y in (-0.05, 0.05)], material)
    m = b.build()
    q = m.neutral()
    q[2], q[7:] = 0.35, (1.4, -1.4, -1.4)
    return m, setsu.close_loops(m, q, fixed=["free", "crank"])


@pytest.fixture(scope="module")
def landing() -> tuple[setsu.Mechanism, setsu.Recording]:
    m, q = _four_bar_foot()
    v = np.zeros(m.nv)
    v[0] = 0.3
    return m, setsu.simulate(m, q, v, 0.6, 1e-3, environment=FLOOR)


def test_a_four_bar_foot_lands_with_its_loop_closed(landing: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    m, run = landing
    assert run.normal_force.max() > m.total_mass * 9.81
    assert np.abs(setsu.loop_error(m, run.q)).max() < 1e-10
    assert run.constraint_error.max() < 1e-8  # not rounding: where Newton ends, over the step
    assert run.contact_log is not None
    assert (run.contact_log.unconverged == 0.0).all()
    assert np.diff(run.energy).max() < 1e-9 * m.total_mass * 9.81


def test_contact_and_loop_forces_together_explain_the_motion(landing: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    # H a + b = tau + K f + G^T lambda: with both as external wrenches inverse dynamics gives the torques, zero here.
    m, run = landing
    poses, log = setsu.body_poses(m, run.q), run.contact_log
    assert log is not None
    external = np.zeros((len(run.time), m.n_bodies, 6))
    for k, point in enumerate(m.contact_points):
        body = m.frame(point.body).body
        force, arm = run.contact_force[:, k], log.position[:, k] - poses[:, body, :3, 3]
        external[:, body] += np.concatenate([force, np.cross(arm, force)], axis=-1)
    (loop,), wrench = m.loops, run.loop_wrench[:, 0]
    places = poses[:, m.frame("rocker").body] @ loop.pose_b.matrix
    for name, sign in (("rocker", 1.0), ("body", -1.0)):
        body = m.frame(name).body
        arm = places[:, :3, 3] - poses[:, body, :3, 3]
        moment = wrench[:, 3:] + np.cross(arm, wrench[:, :3])
        external[:, body] += sign * np.concatenate([wrench[:, :3], moment], axis=-1)
    left = setsu.inverse_dynamics(m, run.q, run.v, run.acceleration, external)
    assert np.abs(left).max() < 1e-7 * m.total_mass * 9.81


def test_momentum_changes_by_the_floor_and_weight_alone(landing: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    # The sum of all contact forces, with the weight, is the force on the free base: loops are internal.
    m, run = landing
    base = setsu.inverse_dynamics(m, run.q, run.v, run.acceleration)[:, :3]
    R = setsu.body_poses(m, run.q)[:, 0, :3, :3]
    total = run.contact_force.sum(axis=1)
    assert np.abs(np.einsum("tij,tj->ti", R, base) - total).max() < 1e-9 * m.total_mass * 9.81


def test_couplings_and_surfaces_hold_too() -> None:
    # Two wheels geared 1 : -2 on a rail above the floor, driven into it.
    b = setsu.MechanismBuilder("geared")
    b.add_body("slide", joint=setsu.Prismatic((0, 0, 1), name="lift"), mass=1.0, inertia=np.eye(3) * 0.01)
    for name, x in (("left", -0.2), ("right", 0.2)):
        b.add_body(
            name, "slide", setsu.Revolute((0, 1, 0), name=name), setsu.placement((x, 0, 0)),
            mass=0.5, center_of_mass=(0.05, 0, 0), inertia=np.eye(3) * 1e-3,
        )  # fmt: skip
        b.add_contact_points(name, [(0.1, 0, 0), (-0.1, 0, 0)])
    b.add_coupling("gear", {"left": 1.0, "right": 2.0})
    m = b.build()
    run = setsu.simulate(m, [0.3, 0.0, 0.0], [0.0, 2.0, -1.0], 1.0, 1e-3, environment=FLOOR)
    assert np.abs(run.q[:, 1] + 2.0 * run.q[:, 2]).max() < 1e-10
    assert run.events
    assert run.constraint_error.max() < 1e-8  # not rounding: where Newton ends, over the step


def test_a_loop_opens_and_closes_where_it_is_in_mid_flight() -> None:
    # Two free plates held together, let go at 0.1 s, grasped again at 0.2 s: their distance stays while they are held.
    b = setsu.MechanismBuilder("plates")
    for name in ("lower", "upper"):
        b.add_body(name, joint=setsu.Free(name=f"free {name}"), mass=1.0, inertia=np.eye(3) * 0.01)
        b.add_contact_points(name, [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)], setsu.Material(0.5, 0.5))
    b.add_loop("grip", "lower", "upper", setsu.Fixed(), setsu.placement((0, 0, 0.1)))
    m = b.build()
    q = [0, 0, 0.5, 0, 0, 0, 1, 0, 0, 0.6, 0, 0, 0, 1]
    torque = np.zeros(12)
    torque[8] = 4.0
    events = [setsu.OpenLoop(0.1, "grip"), setsu.CloseLoop(0.2, "grip", here=True)]
    run = setsu.simulate(m, q, np.zeros(12), 0.8, 1e-3, torque=torque, environment=FLOOR, events=events)
    apart = run.q[:, 9] - run.q[:, 2]
    before, between, after = run.time <= 0.1, (run.time >= 0.1) & (run.time <= 0.2), run.time >= 0.2
    assert np.ptp(apart[before]) < 1e-10
    # Upper one alone under 4 N and both under weight: 4/m of relative acceleration, semi-implicit: ½ a t (t + h).
    assert apart[between][-1] - apart[between][0] == pytest.approx(0.5 * 4.0 * 0.1 * 0.101, rel=1e-6)
    assert np.ptp(apart[after]) < 1e-10
    opened, closed = [event for event in run.events if event.name == "grip"]
    assert (opened.kind, closed.kind) == ("open", "close")
    # Momentum is shared: half of the relative velocity's energy, reduced mass ½ kg, is lost.
    assert closed.energy_lost == pytest.approx(0.5 * 0.5 * 0.4**2, rel=1e-9)
    assert run.ledger.impacts[-1] <= -closed.energy_lost
    assert np.allclose(run.ledger.total, run.energy - run.energy[0])
    assert run.constraint_error.max() < 1e-8  # not rounding: where Newton ends, over the step
    assert np.abs(run.loop_wrench[between][1:-1]).max() == 0.0


def test_a_gap_that_is_to_close_is_refused_with_the_way_out() -> None:
    b = setsu.MechanismBuilder("plates")
    for name in ("lower", "upper"):
        b.add_body(name, joint=setsu.Free(name=f"free {name}"), mass=1.0, inertia=np.eye(3) * 0.01)
        b.add_contact_points(name, [(0, 0, 0)])
    b.add_loop("grip", "lower", "upper", setsu.Fixed())
    m = b.build()
    q = [0, 0, 0.5, 0, 0, 0, 1, 0, 0, 0.6, 0, 0, 0, 1]
    closing = [setsu.CloseLoop(0.05, "grip")]
    words = r'open by 0\.1 .*CloseLoop\(0\.05, "grip", here=True\)'
    with pytest.raises(setsu.SimulationStopped, match=words) as caught:
        setsu.simulate(m, q, np.zeros(12), 0.2, 1e-3, environment=FLOOR, events=closing)
    assert len(caught.value.recording.time) == 50
    with pytest.raises(setsu.InputError, match='q0 violates loop "grip"'):
        setsu.simulate(m, q, np.zeros(12), 0.2, 1e-3, environment=FLOOR)
