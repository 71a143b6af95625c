"""Laws every run with an environment obeys: equations of motion and momentum in each row, cones, energy, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import setsu

FLOOR = setsu.Environment.floor()


def _humanoid() -> tuple[setsu.Mechanism, np.ndarray]:
    m = setsu.sample_mechanisms.hoap1_like()
    q = m.neutral()
    poses = setsu.body_poses(m, q)
    frames = [m.frame(p.body) for p in m.contact_points]
    heights = [
        (poses[f.body] @ f.pose.matrix @ [*p.position, 1.0])[2] for f, p in zip(frames, m.contact_points, strict=True)
    ]
    q[2] -= min(heights)
    return m, q


@pytest.fixture(scope="module")
def standing() -> tuple[setsu.Mechanism, setsu.Recording]:
    m, q = _humanoid()
    servo = setsu.JointServo(300.0, 4.0, lambda t: q + 0.1 * np.sin(6.0 * t) * (np.arange(m.nq) == 9))
    return m, setsu.simulate(m, q, np.zeros(m.nv), 0.5, 1e-3, torque=servo, environment=FLOOR)


@pytest.fixture(scope="module")
def falling() -> tuple[setsu.Mechanism, setsu.Recording]:
    m, q = _humanoid()
    v = np.zeros(m.nv)
    v[0], v[4] = 0.6, 1.0
    return m, setsu.simulate(m, q, v, 0.6, 1e-3, environment=FLOOR)


@pytest.fixture(params=["standing", "falling"])
def case(request: pytest.FixtureRequest) -> tuple[setsu.Mechanism, setsu.Recording]:
    return request.getfixturevalue(request.param)


def test_momentum_changes_by_contact_forces_and_weight_alone(case: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    # A_g a + dA_g/dt v = Σ f + m g: force on the free base with all contact forces applied is zero.
    m, run = case
    external = np.zeros((len(run.time), m.n_bodies, 6))
    poses = setsu.body_poses(m, run.q)
    for k, point in enumerate(m.contact_points):
        frame = m.frame(point.body)
        arm = poses[:, frame.body, :3, :3] @ (frame.pose.matrix @ [*point.position, 1.0])[:3]
        force = run.contact_force[:, k]
        external[:, frame.body] += np.concatenate([force, np.cross(arm, force)], axis=-1)
    base = setsu.inverse_dynamics(m, run.q, run.v, run.acceleration, external)[:, :6]
    assert np.abs(base).max() < 1e-9 * m.total_mass * 9.81


def test_forces_stay_in_their_cones_and_points_outside_the_floor(case: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    m, run = case
    mu = np.array([p.material.static_friction for p in m.contact_points])
    tangential = np.linalg.norm(run.contact_force[:, :, :2], axis=2)
    assert (run.normal_force >= 0.0).all()
    assert (tangential <= mu * run.normal_force + 1e-9 * m.total_mass * 9.81).all()
    assert run.constraint_error.max() < 1e-6


def test_a_limp_humanoid_never_gains_energy(falling: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    _, run = falling
    assert np.diff(run.energy).max() < 1e-9 * abs(run.energy[0])


def test_stiff_servos_stay_stable_and_carry_the_weight(standing: tuple[setsu.Mechanism, setsu.Recording]) -> None:
    m, run = standing
    assert np.abs(run.v[-1]).max() < 2.0
    mean = run.contact_force[100:, :, 2].sum(axis=1).mean()
    assert mean == pytest.approx(m.total_mass * 9.81, rel=0.02)


def test_center_of_pressure_lies_between_the_feet_and_below_the_mass(
    standing: tuple[setsu.Mechanism, setsu.Recording],
) -> None:
    m, run = standing
    center = run.center_of_pressure()
    log = run.contact_log
    assert log is not None
    touching = run.normal_force > 0.0
    for k in range(0, len(run.time), 50):
        low, high = log.position[k, touching[k]].min(axis=0), log.position[k, touching[k]].max(axis=0)
        # Points that close in this step may still be 5e-5 m above the floor: friction shifts it by less than that.
        assert (center[k, :2] >= low[:2] - 5e-5).all()
        assert (center[k, :2] <= high[:2] + 5e-5).all()
    assert (log.cone < 1e-9 * m.total_mass * 9.81 * run.step).all()
    assert (log.unconverged == 0.0).all()


def test_recordings_with_contacts_survive_files(
    standing: tuple[setsu.Mechanism, setsu.Recording], tmp_path: Path
) -> None:
    _, run = standing
    for name in ("run.npz", "run.nc"):
        again = setsu.Recording.load(run.save(tmp_path / name))
        assert np.array_equal(again.contact_force, run.contact_force)
        assert again.contact_log is not None
        assert np.array_equal(again.contact_log.position, run.contact_log.position)  # type: ignore[union-attr]
        assert np.array_equal(again.contact_log.residual, run.contact_log.residual)  # type: ignore[union-attr]
        assert [str(event) for event in again.events] == [str(event) for event in run.events]


def test_a_ball_rolls_without_slipping_down_a_slope() -> None:
    # a = g sin α / (1 + I/(m r²)) = 5/7 g sin α for a solid ball.
    r, angle = 0.05, 0.2
    b = setsu.MechanismBuilder("ball")
    b.add_body("ball", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.4 * r * r)
    m = b.add_contact_points("ball", (0.0, 0.0, 0.0), setsu.Material(0.5, 0.5), radius=r).build()
    up = np.array([np.sin(angle), 0.0, np.cos(angle)])
    run = setsu.simulate(m, [*(r * up), 0, 0, 0, 1], np.zeros(6), 1.0, 1e-3, environment=setsu.Environment.slope(angle))
    along = (run.q[:, :3] - run.q[0, :3]) @ [np.cos(angle), 0.0, -np.sin(angle)]
    assert along[-1] == pytest.approx(0.5 * 5.0 / 7.0 * 9.81 * np.sin(angle), rel=2e-3)
    assert np.abs(run.q[:, :3] @ up - r).max() < 1e-6
