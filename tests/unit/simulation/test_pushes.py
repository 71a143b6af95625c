"""Pushes of a simulator: where they act, how long, and what recordings say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import setsu

KINDS = ("tree", "batch", "loop", "environment")


def _made(kind: str) -> tuple[setsu.Mechanism, dict[str, Any]]:
    four_bar = setsu.sample_mechanisms.four_bar()
    if kind == "loop":
        return four_bar, {}
    b = setsu.MechanismBuilder("arm")
    b.add_body("a", parent="world", joint=setsu.Revolute((0, 1, 0), name="j"), mass=1.0, center_of_mass=(0.5, 0, 0),
               inertia=np.eye(3) * 0.1)  # fmt: skip
    b.add_body("b", parent="a", joint=setsu.Revolute((1, 0, 0), name="k"), mass=0.5, center_of_mass=(0, 0.2, 0),
               inertia=np.eye(3) * 0.1)  # fmt: skip
    b.add_contact_points("b", [[0, 0, 0]])
    options = {"environment": setsu.Environment.floor(-50.0)} if kind == "environment" else {}
    return b.build(), options | ({"count": 2} if kind == "batch" else {})


def _simulator(kind: str) -> tuple[setsu.Mechanism, setsu.Simulator]:
    m, options = _made(kind)
    sim = setsu.Simulator(m, 1e-4, **options)
    q = setsu.close_loops(m, m.neutral(), fixed=[m.joint_names[0]]) if kind == "loop" else m.neutral()
    sim.reset(np.tile(q, (2, 1)) if kind == "batch" else q, np.zeros((2, m.nv)) if kind == "batch" else np.zeros(m.nv))
    return m, sim


def _first(kind: str, values: Any) -> Any:
    return values[0] if kind == "batch" else values


@pytest.mark.parametrize("kind", KINDS)
def test_a_push_at_a_point_does_its_work_there(kind: str) -> None:
    """Kinetic and potential energy gained = force times the way of the point it acts at."""
    m, sim = _simulator(kind)
    body, point, force = m.body_names[1], np.array([0.3, -0.2, 0.1]), np.array([20.0, 3.0, 80.0])
    before = _first(kind, sim.energy)
    sim.push(body, force, point=point)
    rec = _first(kind, sim.run(0.05))
    way = setsu.body_poses(m, rec.q[[0, -1]])[:, 1] @ [*point, 1.0]
    assert np.linalg.norm(way[1] - way[0]) > 1e-3
    assert rec.energy[-1] - before == pytest.approx(
        force @ (way[1] - way[0])[:3], rel=2e-3 * (kind == "environment") + 1e-7
    )


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_joint_wrenches_and_accelerations_count_pushes(kind: str) -> None:
    """Newton and Euler of every body: what its joints, loops and pushes exert is what moves it."""
    m, sim = _simulator(kind)
    push = np.array([1.0, -30.0, 20.0, 0.5, 4.0, -3.0])
    point = np.array([0.3, -0.2, 0.1])
    sim.push(m.body_names[1], push[:3], point=point, torque=push[3:])
    rec = _first(kind, sim.run(1e-3))
    sim.run(1e-3)
    sim.reset(sim.q, sim.v)  # what is asked of the recording now is what it recorded
    external = np.zeros((len(rec.time), m.n_bodies, 6))
    arm = setsu.body_poses(m, rec.q)[:, 1, :3, :3] @ point
    external[:, 1] = push + np.hstack([np.zeros_like(arm), np.cross(arm, push[:3])])
    loops = setsu.constrained_dynamics(m, rec.q, rec.v, rec.torque, external_wrenches=external)
    assert np.abs(rec.acceleration - loops.acceleration).max() < 1e-9 * np.abs(rec.acceleration).max() + 0.05 * (
        kind == "environment"
    )
    exact = kind != "environment"
    expected = (
        loops.joint_wrenches if exact else setsu.joint_wrenches(m, rec.q, rec.v, rec.acceleration, external, "world")
    )
    assert np.abs(rec.joint_wrenches - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(rec.torque).max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_forgets_pushes_and_restored_ones_end(kind: str) -> None:
    m, sim = _simulator(kind)
    rest = sim.save()
    sim.step()
    free = sim.v
    sim.restore(rest)
    q, v = sim.q, sim.v
    sim.push(m.body_names[0], (0.0, 10.0, 5.0), point=(0.1, 0.2, 0.3), torque=(1.0, 2.0, 3.0))
    pushed = sim.save()
    sim.reset(q, v)
    sim.step()
    assert np.array_equal(sim.v, free)
    _, other = _simulator(kind)
    other.restore(pushed)
    other.step()
    assert not np.array_equal(other.v, free)
    other.step()
    at_end = other.save()
    other.restore(pushed)
    other.step()
    state = other.q, other.v
    other.reset(*state)
    other.step()
    assert np.allclose(other.v, at_end["blocks"][0]["arrays"][1], rtol=1e-12, atol=0.0)


def test_a_reset_of_some_rows_forgets_their_pushes_alone() -> None:
    m, sim = _simulator("batch")
    q, v = sim.q, sim.v
    sim.push(m.body_names[0], (0.0, 0.0, 500.0), point=(1.0, 0.0, 0.0), rows=[0, 1])
    sim.push(m.body_names[0], (0.0, 0.0, 500.0), point=(0.5, 0.0, 0.0), rows=[1])
    sim.reset(q[:1], v[:1], rows=[0])
    sim.step()
    a = setsu.forward_dynamics(m, q, v, np.zeros((2, 2)), external_wrenches=np.array(
        [np.zeros((2, 6)), [[0, 0, 1000.0, 0, -750.0, 0], np.zeros(6)]]))  # fmt: skip
    assert np.allclose(sim.v, a * 1e-4, rtol=1e-3)


def test_a_push_before_there_is_a_state_is_refused() -> None:
    sim = setsu.Simulator(_made("tree")[0])
    with pytest.raises(setsu.InputError, match=r"Simulator\.push: expected a state first"):
        sim.push("a", (0, 0, 1))


@pytest.mark.parametrize("kind", ["batch", "environment"])
def test_a_recording_is_of_its_own_run_whenever_it_is_read(kind: str) -> None:
    """Quantities that are computed when they are asked for do not follow the simulator to its next run."""
    m, options = _made(kind)
    sim = setsu.Simulator(m, 1e-3, count=2, environment=options.get("environment"))
    sim.reset(np.array([[0.1, 0.2], [0.3, 0.4]]), np.ones((2, 2)))
    first = sim.run(0.01)
    sim.run(0.02)
    assert np.array_equal(first[1].q, first.q[1])
    assert np.array_equal(first.energy, setsu.kinetic_energy(m, first.q, first.v) + setsu.potential_energy(m, first.q))
