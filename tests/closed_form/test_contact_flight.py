"""Motion in an environment while nothing, or little, touches: parabolas, momentum, rolling, tops, dry friction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import setsu

STEP, G = 1e-3, 9.81
FLOOR = setsu.Environment.floor()


def _stone(center: tuple[float, float, float], restitution: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("stone")
    b.add_body(
        "stone", joint=setsu.Free(name="free"), mass=2.0, center_of_mass=center, inertia=np.diag([0.01, 0.02, 0.025])
    )
    return b.add_contact_points("stone", (0, 0, 0), setsu.Material(0.5, 0.5, restitution)).build()


@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (0.03, -0.02, 0.05)])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_body_at_a_hundred_radians_per_second_keeps_to_its_parabola(
    center: tuple[float, float, float], restitution: float
) -> None:
    m, v = _stone(center, restitution), np.array([1.0, 2.0, 3.0, 60.0, -70.0, 40.0])
    run = setsu.simulate(m, [0, 0, 50, 0, 0, 0, 1], v, 1.0, STEP, environment=FLOOR)
    R = setsu.body_poses(m, run.q)[:, 0, :3, :3]
    place, t = run.q[:, :3] + R @ center, run.time[:, None]
    start = v[:3] + np.cross(v[3:], center)
    assert np.abs(place - place[0] - start * t + 0.5 * G * t * t * [0, 0, 1]).max() < 1e-9
    # Angular momentum and energy are kept, to rounding.
    L = np.einsum("tij,tj->ti", R, run.v[:, 3:] * [0.01, 0.02, 0.025])
    assert np.abs(L - L[0]).max() < 1e-9 * np.linalg.norm(L[0])
    assert np.ptp(run.energy) < 1e-9 * abs(run.energy[0])


def test_a_tumbling_humanoid_keeps_momentum() -> None:
    m = setsu.sample_mechanisms.hoap1_like()
    q, v = m.neutral(), np.full(m.nv, 1.0)
    q[2], v[3:6] = 20.0, [8.0, -10.0, 8.0]
    run = setsu.simulate(m, q, v, 0.5, STEP, environment=FLOOR)
    c, t = np.array([setsu.center_of_mass(m, row) for row in run.q]), run.time[:, None]
    # A parabola through its first, middle and last places.
    fit = np.polynomial.polynomial.polyfit(run.time, c + 0.5 * G * t * t * [0, 0, 1], 1)
    assert np.abs(fit[0] + fit[1] * t - 0.5 * G * t * t * [0, 0, 1] - c).max() < 1e-9


def test_a_ball_that_slides_into_rolling_ends_with_five_sevenths_of_its_speed() -> None:
    radius = 0.05
    b = setsu.MechanismBuilder("ball")
    b.add_body("ball", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.4 * radius**2)
    m = b.add_contact_points("ball", (0, 0, 0), setsu.Material(0.3, 0.3), radius=radius).build()
    for step in (1e-3, 4e-3):
        run = setsu.simulate(m, [0, 0, radius, 0, 0, 0, 1], [2.0, 0, 0, 0, 0, 0], 0.6, step, environment=FLOOR)
        speed = np.linalg.norm(run.v[-1, :3])
        assert speed == pytest.approx(10.0 / 7.0, rel=1e-9)


def test_a_heavy_top_precesses_as_it_should() -> None:
    # Steady precession W: (I1 + m l²) W² cos θ - I3 s W + m g l = 0.
    mass, length, I1, I3, spin, tilt = 0.5, 0.1, 0.0008, 0.0005, 200.0, 0.5
    b = setsu.MechanismBuilder("top")
    b.add_body(
        "top",
        joint=setsu.Spherical(name="tip"),
        mass=mass,
        center_of_mass=(0, 0, length),
        inertia=np.diag([I1, I1, I3]),
    )
    m = b.add_contact_points("top", (0, 0, 2 * length)).build()
    W = min(np.roots([(I1 + mass * length**2) * np.cos(tilt), -I3 * spin, mass * G * length]).real)
    turned = Rotation.from_rotvec([tilt, 0, 0])
    v, ground, nodding = turned.inv().apply([0, 0, W]), setsu.Environment.floor(-1.0), []
    for step in (STEP, 0.5 * STEP):
        run = setsu.simulate(m, turned.as_quat(), [v[0], v[1], spin], 1.0, step, environment=ground)
        axis = Rotation.from_quat(run.q).apply([0, 0, 1])
        angle = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
        assert (angle[-1] - angle[0]) / run.time[-1] == pytest.approx(W, rel=1e-2)
        assert np.ptp(run.energy) < 1e-9 * abs(run.energy[0])
        nodding.append(np.ptp(axis[:, 2]))
    # Nutation is the error of the step, of the second order: it turns by 0.2 rad in 1 ms.
    assert nodding[1] < 0.3 * nodding[0]
    assert nodding[0] < 0.02


@pytest.mark.parametrize("push", [3.0, 1.5, -1.5])
def test_dry_friction_of_a_joint_holds_or_slides_exactly(push: float) -> None:
    b = setsu.MechanismBuilder("slider")
    joint = setsu.Prismatic(name="rail", axis=(1, 0, 0), coulomb=2.0)
    b.add_body("slider", joint=joint, mass=1.0, inertia=np.eye(3) * 0.01)
    m = b.add_contact_points("slider", (0, 0, 1)).build()
    run = setsu.simulate(m, [0.0], [0.0], 0.5, STEP, torque=np.array([push]), environment=FLOOR)
    expected = 0.5 * max(0.0, push - 2.0) * run.time**2
    assert np.abs(run.q[:, 0] - expected).max() < 1e-9


def test_a_tiny_torque_changes_little() -> None:
    # The guard of the energy does not switch off.
    m = _stone((0.03, -0.02, 0.05), 0.0)
    q, v = [0, 0, 0.3, 0, 0, 0, 1], [1.0, 0, 0, 20.0, -30.0, 10.0]
    ends = [
        setsu.simulate(m, q, v, 0.4, STEP, torque=np.full(6, size), environment=FLOOR).q[-1] for size in (0.0, 1e-300)
    ]
    assert np.abs(ends[0] - ends[1]).max() < 1e-9


def test_a_double_pendulum_in_an_environment_follows_to_the_second_order() -> None:
    b = setsu.MechanismBuilder("pendulum")
    for k in range(2):
        b.add_body(
            f"link{k}", parent="world" if k == 0 else "link0", joint=setsu.Revolute(name=f"pin{k}", axis=(0, 1, 0)),
            placement=setsu.Pose(translation=(0.0, 0.0, -float(k))), mass=1.0, center_of_mass=(0, 0, -1),
            inertia=np.eye(3) * 1e-3,
        )  # fmt: skip
    m = b.add_contact_points("link1", (0, 0, -1)).build()
    deep = setsu.Environment.floor(-5.0)
    ends = [setsu.simulate(m, [1.0, 0.5], [0, 0], 1.0, h, environment=deep).q[-1] for h in (4e-3, 2e-3, 1e-3)]
    ratio = np.abs(ends[1] - ends[0]).max() / np.abs(ends[2] - ends[1]).max()
    assert ratio > 3.5
