"""A mechanism that nothing drives gains no energy in any step: dropped, thrown, bouncing, at its joints' stops."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import setsu

G = 9.81
FLOOR = setsu.Environment.floor()
SLOPE = setsu.Environment.slope(0.3)


def _material(r: np.random.Generator, restitution: float) -> setsu.Material:
    kinetic, static = np.sort(r.uniform(0.0, 1.0, 2))
    return setsu.Material(float(static), float(kinetic), restitution)


def _box(r: np.random.Generator, restitution: float) -> setsu.Mechanism:
    x, y, z = r.uniform(0.05, 0.4, 3).tolist()
    return setsu.sample_mechanisms.floating_box((x, y, z), 1.0, _material(r, restitution))


def _chain(r: np.random.Generator, restitution: float) -> setsu.Mechanism:
    """Six links with hinges in all directions, which turn by half a radian."""
    b, material = setsu.MechanismBuilder("chain"), _material(r, restitution)
    for k in range(6):
        x, y, z = r.normal(size=3).tolist()
        joint = setsu.Revolute((x, y, z), f"joint{k}", lower=-0.5, upper=0.6) if k else setsu.Free(name="free")
        b.add_body(
            f"link{k}", f"link{k - 1}" if k else "world", joint, setsu.placement((0.2 if k else 0.0, 0.0, 0.0)),
            mass=float(r.uniform(0.1, 1.0)), center_of_mass=(0.1, 0.0, 0.0), inertia=np.diag([1e-3, 3e-3, 3e-3]),
        )  # fmt: skip
        b.add_contact_points(f"link{k}", [(0, 0, 0.02), (0, 0.02, -0.02), (0, -0.02, -0.02), (0.2, 0, 0)], material)
    return b.build()


def _humanoid(r: np.random.Generator, restitution: float) -> setsu.Mechanism:
    m, material = setsu.sample_mechanisms.hoap1_like(), _material(r, restitution)
    points = tuple(dataclasses.replace(point, material=material) for point in m.contact_points)
    return dataclasses.replace(m, contact_points=points)


def _thrown(m: setsu.Mechanism, r: np.random.Generator, ground: setsu.Environment) -> tuple[np.ndarray, np.ndarray]:
    """A turned and bent state just above the ground, and a velocity with spin."""
    q, v = m.neutral(), np.zeros(m.nv)
    low, high = np.maximum(m.lower[6:], -0.4), np.minimum(m.upper[6:], 0.4)
    q[7:] = low + (high - low) * r.uniform(0.05, 0.95, m.nq - 7)
    turn = r.normal(size=4)
    q[3:7] = turn / np.linalg.norm(turn)
    poses, frames = setsu.body_poses(m, q), [(m.frame(p.body), p.position) for p in m.contact_points]
    (plane,) = ground.polygons
    places = np.array([(poses[frame.body] @ frame.pose.matrix @ [*place, 1.0])[:3] for frame, place in frames])
    q[2] += r.uniform(0.0, 0.1) - (places @ plane.normal - plane.offset).min() / plane.normal[2]
    v[:3], v[3:6] = poses[0, :3, :3].T @ (r.normal(size=3) - [0.0, 0.0, 2.0]), 3.0 * r.normal(size=3)
    return q, v


def _assert_energy_never_rises(m: setsu.Mechanism, run: setsu.Recording) -> None:
    kinetic = np.asarray(setsu.kinetic_energy(m, run.q, run.v))
    # 1e-11 of the kinetic energy is the guard's own tolerance; sums over bodies round at 1e-14 of m g z.
    rounding = 1e-11 * (kinetic[1:] + kinetic[:-1]) + 1e-14 * (np.abs(run.energy[1:]) + m.total_mass * G)
    rise = np.diff(run.energy)
    assert (rise <= rounding).all(), f"{rise.max():.3g} J at t = {run.time[int((rise - rounding).argmax())]:.4g} s"


@pytest.mark.parametrize("joint_stops", [False, True])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", [_box, _chain, _humanoid])
def test_energy_never_rises(kind: object, restitution: float, joint_stops: bool) -> None:
    for seed in range(3):
        for ground, step in ((FLOOR, 1e-3), (SLOPE, 1e-3), (FLOOR, 4e-3)):
            r = np.random.default_rng(seed)
            m = kind(r, restitution)  # type: ignore[operator]
            q, v = _thrown(m, r, ground)
            run = setsu.simulate(m, q, v, 0.6, step, environment=ground, joint_stops=joint_stops)
            _assert_energy_never_rises(m, run)
            assert run.contact_force.any()


@pytest.mark.parametrize("restitution", [1.0, 0.8, 0.5])
def test_apexes_follow_the_square_of_restitution(restitution: float) -> None:
    # The k-th apex is e^(2k) of the first height, to second order in the step: 1e-5 m where v h is 2e-3 m.
    m = setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.1), 1.0, setsu.Material(0.5, 0.3, restitution))
    for height in (0.2, 0.1837):
        run = setsu.simulate(m, [0, 0, 0.05 + height, 0, 0, 0, 1], np.zeros(6), 1.6, 1e-3, environment=FLOOR)
        z = run.q[:, 2] - 0.05
        apexes = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])][:3]
        assert apexes == pytest.approx([height * restitution ** (2 * k + 2) for k in range(len(apexes))], abs=1e-5)


def test_a_spinning_ball_without_friction_keeps_height_and_way() -> None:
    # e = 1 and no friction: nothing acts along the floor, and every bounce comes back to 0.2 m, however it spins.
    b = setsu.MechanismBuilder("ball")
    b.add_body("ball", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 1e-3)
    m = b.add_contact_points("ball", (0, 0, 0), setsu.Material(0.0, 0.0, 1.0), radius=0.05).build()
    run = setsu.simulate(m, [0, 0, 0.25, 0, 0, 0, 1], [1.0, 0, 0, 0, 30.0, 10.0], 3.0, 1e-3, environment=FLOOR)
    velocity = np.einsum("tij,tj->ti", setsu.body_poses(m, run.q)[:, 0, :3, :3], run.v[:, :3])
    assert velocity[:, 0] == pytest.approx(np.ones(len(run.time)), abs=1e-3)
    assert run.q[-800:, 2].max() - 0.05 == pytest.approx(0.2, abs=5e-4)
    _assert_energy_never_rises(m, run)


def test_a_start_inside_is_moved_out_and_then_nothing_is_gained() -> None:
    # Half a millimetre inside: the lift costs m g 0.5 mm, once; then the box rests and carries its weight exactly.
    m = setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.1), 1.0, setsu.Material(0.5, 0.3))
    run = setsu.simulate(m, [0, 0, 0.0495, 0, 0, 0, 1], np.zeros(6), 0.3, 1e-3, environment=FLOOR)
    assert run.energy[-1] - run.energy[0] == pytest.approx(G * 5e-4, rel=1e-6)
    assert run.energy.max() <= run.energy[-1] + 1e-12
    assert np.abs(run.v).max() < 1e-6  # not rounding: what is left of a decaying motion
    assert run.contact_force[-1, :, 2].sum() == pytest.approx(G, rel=1e-6)


def test_joints_at_rest_on_their_stops_carry_what_they_should() -> None:
    # A pendulum that has hit its stop stays a little beyond it, for want of energy, and the stop's torque is m g l sin.
    b = setsu.MechanismBuilder("pendulum")
    b.add_body("bob", joint=setsu.Revolute((0, -1, 0), "hinge", lower=0.2), mass=1.0, center_of_mass=(0, 0, -1.0))
    m = b.add_contact_points("bob", [(0, 0, -1.0)]).build()
    low = setsu.Environment.floor(height=-5.0)
    run = setsu.simulate(m, [1.0], [0.0], 1.0, 1e-3, environment=low, joint_stops=True)
    _assert_energy_never_rises(m, run)
    assert run.contact_log is not None
    assert run.contact_log.stop_torque[-200:, 0] == pytest.approx(G * np.sin(0.2) * np.ones(200), rel=1e-6)
