"""Contact does not know how points are numbered, where the world's axes point, or left from right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import setsu
from setsu.mechanism import Mechanism

SIZE = (0.2, 0.15, 0.1)
CORNERS = list(itertools.product(*[(-0.5 * edge, 0.5 * edge) for edge in SIZE]))


def _box(order: list[int]) -> Mechanism:
    box = setsu.sample_mechanisms.floating_box(SIZE, 1.0)
    b = setsu.MechanismBuilder("box")
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=box.bodies[0].inertia_matrix)
    for k in order:
        b.add_contact_points("box", CORNERS[k], setsu.Material(0.5 - 0.02 * k, 0.4 - 0.02 * k, 0.2))
    return b.build()


START = np.array([0.0, 0.0, 0.12, 0.2, 0.1, 0.05, 0.97])
START[3:] /= np.linalg.norm(START[3:])
VELOCITY = np.array([0.8, 0.3, -0.5, 1.0, -2.0, 0.5])


def _run(m: Mechanism, q: np.ndarray, v: np.ndarray, ground: setsu.Environment, seconds: float) -> setsu.Recording:
    return setsu.simulate(m, q, v, seconds, 1e-3, environment=ground)


def test_permuted_points_give_the_same_motion_and_forces() -> None:
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    a = _run(_box(list(range(8))), START, VELOCITY, setsu.Environment.floor(), 0.3)
    b = _run(_box(order), START, VELOCITY, setsu.Environment.floor(), 0.3)
    np.testing.assert_allclose(b.q, a.q, atol=1e-7)
    np.testing.assert_allclose(b.contact_force.sum(axis=1), a.contact_force.sum(axis=1), atol=1e-3)
    # In the step in which sliding ends, shares of friction among redundant points are not unique; the motion is.
    changes = {round(event.time, 6) for event in a.events}
    steady = np.array([round(t, 6) not in changes for t in a.time])
    np.testing.assert_allclose(b.contact_force[steady], a.contact_force[steady][:, order], atol=1e-3)


def test_a_turned_world_gives_the_turned_motion() -> None:
    turn = setsu.placement(rpy=(0.4, -0.7, 1.1))[:3, :3]
    m = _box(list(range(8)))
    a = _run(m, START, VELOCITY, setsu.Environment.floor(), 0.3)
    corners = np.array([(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]) @ turn.T
    ground = setsu.Environment([setsu.Polygon(corners)])
    turned = setsu.with_gravity(m, tuple(turn @ np.array(m.gravity)))
    q = START.copy()
    q[:3] = turn @ START[:3]
    q[3:] = _product(_quaternion(turn), START[3:])
    b = _run(turned, q, VELOCITY, ground, 0.3)
    np.testing.assert_allclose(b.v, a.v, atol=1e-6)
    np.testing.assert_allclose(b.q[:, :3], a.q[:, :3] @ turn.T, atol=1e-7)


def test_a_mirrored_world_gives_the_mirrored_motion() -> None:
    # y -> -y: positions and velocities mirror, angular velocities as axial vectors, corners change places in pairs.
    order = [CORNERS.index((x, -y, z)) for x, y, z in CORNERS]
    a = _run(_box(list(range(8))), START, VELOCITY, setsu.Environment.floor(), 0.3)
    mirrored = setsu.MechanismBuilder("box")
    inertia = setsu.sample_mechanisms.floating_box(SIZE, 1.0).bodies[0].inertia_matrix
    mirrored.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=inertia)
    for k in range(8):
        mirrored.add_contact_points("box", CORNERS[order[k]], setsu.Material(0.5 - 0.02 * k, 0.4 - 0.02 * k, 0.2))
    flip_q, flip_v = np.array([1, -1, 1, -1, 1, -1, 1]), np.array([1, -1, 1, -1, 1, -1])
    b = _run(mirrored.build(), START * flip_q, VELOCITY * flip_v, setsu.Environment.floor(), 0.3)
    np.testing.assert_allclose(b.q * flip_q, a.q, atol=1e-7)
    np.testing.assert_allclose(b.normal_force, a.normal_force, atol=1e-3)


def test_two_runs_are_equal_to_the_bit() -> None:
    m = _box(list(range(8)))
    a, b = (_run(m, START, VELOCITY, setsu.Environment.floor(), 0.2) for _ in range(2))
    assert np.array_equal(a.q, b.q)
    assert np.array_equal(a.contact_force, b.contact_force)


@pytest.mark.parametrize("every", [1, 7])
def test_recording_fewer_states_changes_none(every: int) -> None:
    m = _box(list(range(8)))
    a = _run(m, START, VELOCITY, setsu.Environment.floor(), 0.1)
    b = setsu.simulate(m, START, VELOCITY, 0.1, 1e-3, environment=setsu.Environment.floor(), record_every=every)
    assert np.array_equal(b.q[:-1], a.q[::every][: len(b.q) - 1])
    assert np.array_equal(b.q[-1], a.q[-1])


def _quaternion(R: np.ndarray) -> np.ndarray:
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4.0 * w * w]) / (4.0 * w)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), [a[3] * b[3] - a[:3] @ b[:3]]])
