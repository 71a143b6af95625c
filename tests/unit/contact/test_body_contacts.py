"""Contacts between bodies: recorded by pair, with the weight they carry, and the momentum they pass on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import setsu

FLOOR = setsu.Environment.floor()
G = 9.81


def _boxes(masses: tuple[float, ...], edge: float = 0.1) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("boxes")
    for k, mass in enumerate(masses):
        b.add_body(
            f"box{k}", joint=setsu.Free(name=f"free{k}"), mass=mass, inertia=np.eye(3) * mass * edge**2 / 6,
            collisions=[setsu.Shape("box", (edge, edge, edge))],
        )  # fmt: skip
    return setsu.with_contact_points(b.build(), material=setsu.Material(0.5, 0.4))


def _state(*places: tuple[float, float, float]) -> np.ndarray:
    return np.concatenate([[*place, 0, 0, 0, 1] for place in places])


@pytest.fixture(scope="module")
def stack() -> tuple[setsu.Mechanism, setsu.Recording]:
    m = _boxes((1.0, 2.0))
    q = _state((0, 0, 0.05), (0.02, 0.01, 0.16))
    return m, setsu.simulate(m, q, np.zeros(12), 0.3, 1e-3, environment=FLOOR, body_contacts=True)


def test_the_lower_box_carries_the_weight_of_the_upper_one(stack: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    _, run = stack
    between = run.body_contacts
    assert between is not None
    assert between.pairs == (("box1", "box0"),)
    # At rest: 2 kg on the interface, acting below the upper box's center of mass; 3 kg on the floor.
    assert between.force[-1, 0] == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-5)
    assert between.normal_force[-1, 0] == pytest.approx(2.0 * G, rel=1e-6)
    assert between.position[-1, 0] == pytest.approx([0.02, 0.01, 0.1], abs=1e-4)
    assert between.moment[-1, 0] == pytest.approx(np.zeros(3), abs=1e-6)
    assert run.contact_force[-1, :, 2].sum() == pytest.approx(3.0 * G, rel=1e-6)
    assert np.isnan(between.position[0]).all()


def test_each_body_moves_by_what_the_recording_says_acts_on_it(stack: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    # m (dv/dt + ω x v) = R^T (Σ f + m g), and the moment about the center of mass likewise, for each free body.
    m, run = stack
    between, log = run.body_contacts, run.contact_log
    assert between is not None
    assert log is not None
    for body, sign in ((0, -1.0), (1, 1.0)):
        mine = [k for k, point in enumerate(m.contact_points) if point.body == f"box{body}"]
        center = run.q[:, 7 * body : 7 * body + 3]
        force = run.contact_force[:, mine].sum(axis=1) + sign * between.force[:, 0]
        moment = np.cross(log.position[:, mine] - center[:, None], run.contact_force[:, mine]).sum(axis=1)
        arm = np.where(between.normal_force[:, :1] > 0.0, between.position[:, 0] - center, 0.0)
        moment += sign * (between.moment[:, 0] + np.cross(arm, between.force[:, 0]))
        v, a = (values[:, 6 * body : 6 * body + 6] for values in (run.v, run.acceleration))
        R = setsu.body_poses(m, run.q)[:, body, :3, :3]
        mass, inertia = m.moving[body].mass, m.moving[body].inertia_matrix
        pull = np.einsum("tij,tj->ti", R, mass * (a[:, :3] + np.cross(v[:, 3:], v[:, :3])))
        spin = np.einsum("tij,tj->ti", R, a[:, 3:] @ inertia + np.cross(v[:, 3:], v[:, 3:] @ inertia))
        assert np.abs(pull - force - [0, 0, -mass * G]).max() < 1e-9 * 3.0 * G
        assert np.abs(spin - moment).max() < 1e-9 * 3.0 * G


def test_touches_of_bodies_are_events(stack: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    # The upper box falls 1 cm.
    _, run = stack
    touches = [event for event in run.events if event.name == "box1 - box0"]
    assert touches[0].kind == "touch"
    assert touches[0].time == pytest.approx(np.sqrt(2 * 0.01 / G), abs=2e-3)
    assert all(event.kind in ("touch", "lift-off") for event in touches)


def test_a_push_passes_from_box_to_box_with_all_of_its_momentum() -> None:
    # Plastic impact in free fall far above the floor: both go on with the common velocity, momentum kept.
    m = _boxes((1.0, 3.0))
    v = np.zeros(12)
    v[0] = 1.0
    run = setsu.simulate(m, _state((0, 0, 5), (0.15, 0, 5)), v, 0.2, 1e-3, environment=FLOOR, body_contacts=True)
    assert run.v[-1, [0, 6]] == pytest.approx([0.25, 0.25], abs=1e-6)  # not rounding: contacts are a little soft
    between = run.body_contacts
    assert between is not None
    (pair,) = between.pairs
    sign = 1.0 if pair[0] == "box1" else -1.0
    impulse = sign * between.force[:, 0, 0].sum() * run.step
    assert impulse == pytest.approx(0.75, abs=1e-6)  # not rounding: contacts are a little soft


def test_a_long_boom_does_not_sweep_through_what_is_in_its_way() -> None:
    # Its tip moves 25 mm in a step, at 5 rad/s only: the ball is pushed away, the boom slowed, momentum about z kept.
    b = setsu.MechanismBuilder("boom")
    b.add_body(
        "boom", joint=setsu.Revolute((0, 0, 1), name="slew"), mass=2.0, center_of_mass=(2.5, 0, 0),
        inertia=np.diag([0.01, 4.2, 4.2]),
        collisions=[setsu.Shape("box", (5.0, 0.1, 0.1), setsu.Pose(translation=(2.5, 0, 0)))],
    )  # fmt: skip
    b.add_body(
        "ball", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01,
        collisions=[setsu.Shape("sphere", (0.05,))],
    )  # fmt: skip
    m = setsu.with_contact_points(b.build(), ["ball"], setsu.Material(0.0, 0.0))
    q = np.array([0.0, 4.8, 0.31, 0.0, 0.0, 0.0, 0.0, 1.0])
    v = np.zeros(7)
    v[0] = 5.0
    m = setsu.with_gravity(m, (0.0, 0.0, 0.0))
    run = setsu.simulate(m, q, v, 0.1, 1e-3, environment=setsu.Environment.floor(height=-1.0), body_contacts=True)
    assert run.body_contacts is not None
    assert run.body_contacts.normal_force.max() > 0.0
    inertia = 4.2 + 2.0 * 2.5**2
    velocity = setsu.body_velocities(m, run.q, run.v)[:, 1, :3]
    place = run.q[:, 1:4]
    about_z = inertia * run.v[:, 0] + place[:, 0] * velocity[:, 1] - place[:, 1] * velocity[:, 0]
    assert np.abs(about_z - inertia * 5.0).max() < 1e-2 * inertia * 5.0
    side = place[:, 1] * np.cos(run.q[:, 0]) - place[:, 0] * np.sin(run.q[:, 0])
    assert side.min() > 0.05 + 0.05 - 2e-3


def test_body_contacts_survive_files(stack: tuple[setsu.Mechanism, setsu.Recording], tmp_path: Path) -> None:
    _, run = stack
    assert run.body_contacts is not None
    for name in ("run.npz", "run.nc"):
        again = setsu.Recording.load(run.save(tmp_path / name)).body_contacts
        assert again is not None
        assert again.pairs == run.body_contacts.pairs
        for part in ("force", "moment", "position", "normal_force"):
            assert np.array_equal(getattr(again, part), getattr(run.body_contacts, part), equal_nan=True)
    assert run.to_xarray()["body_contacts_force"].sel(pair="box1 - box0").shape == (301, 3)
