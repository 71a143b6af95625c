"""Parallel robots and larger linkages: closed at q = 0, freedoms by count, masses, geometry by hand."""

import math

import numpy as np
import pytest

import setsu
from setsu.errors import InputError
from setsu.sample_mechanisms import delta_robot, excavator_boom, jansen_leg, stewart_platform
from setsu.sample_mechanisms.joined_rods import joined_rods
from setsu.sample_mechanisms.planar_geometry import meeting_point

SAMPLES = [delta_robot, stewart_platform, excavator_boom, jansen_leg]


@pytest.mark.parametrize("make", SAMPLES)
def test_the_neutral_configuration_closes_every_loop(make):
    m = make()
    assert np.abs(setsu.loop_error(m, m.neutral())).max() < 1e-14


@pytest.mark.parametrize(
    ("make", "freedoms", "redundant_rows"),
    # Each revolute loop joint of a planar linkage holds three rows the plane holds already.
    [(delta_robot, 3, 0), (stewart_platform, 6, 0), (excavator_boom, 2, 6), (jansen_leg, 1, 9)],
)
def test_freedoms_are_those_of_the_machine(make, freedoms, redundant_rows):
    m = make()
    report = setsu.constraint_report(m, m.neutral())
    assert report.degrees_of_freedom == freedoms
    assert len(report.redundant) == redundant_rows


def test_masses_add_up():
    arms, rods = 3 * 2.0 * 0.3, 6 * 0.15 * 0.7
    assert delta_robot().total_mass == pytest.approx(0.6 + arms + rods)
    # All bars but the two that stand for the ground: 494.4 units of 0.01 m, 0.5 kg/m.
    assert jansen_leg().total_mass == pytest.approx(0.5 * 4.944)
    boom_cylinder, stick_cylinder = math.hypot(1.4, 2.8), math.hypot(2.5, 1.1)
    cylinders = (0.6 * 70 + 0.8 * 35) * (boom_cylinder + stick_cylinder)
    assert excavator_boom(load=500.0).total_mass == pytest.approx(1600 + 900 + 500 + cylinders)
    m = stewart_platform(platform_mass=20.0)
    lengths = [np.linalg.norm(body.pose.matrix[:3, 3]) for body in m.bodies if body.name.startswith("piston")]
    assert m.total_mass == pytest.approx(20.0 + (0.6 * 6 + 0.7 * 3) * sum(lengths))


@pytest.mark.parametrize("make", SAMPLES)
def test_many_states_at_once_are_the_single_ones(make):
    m = make()
    rng = np.random.default_rng(4)
    guess = setsu.integrate(m, m.neutral(), 0.05 * rng.standard_normal((3, m.nv)), 1.0)
    q = setsu.close_loops(m, guess)
    rest, tau = np.zeros((3, m.nv)), rng.standard_normal((3, m.nv))
    together = setsu.constrained_dynamics(m, q, rest, tau)
    for k in range(3):
        alone = setsu.constrained_dynamics(m, q[k], rest[k], tau[k])
        # Rows of one batch may be summed in another order than a single state: equal to rounding.
        scale = np.abs(alone.loop_wrench).max()
        np.testing.assert_allclose(together.loop_wrench[k], alone.loop_wrench, atol=1e-11 * scale)
        scale = np.abs(alone.acceleration).max()
        np.testing.assert_allclose(together.acceleration[k], alone.acceleration, atol=1e-11 * scale)


def test_a_delta_robot_of_three_fold_symmetry_hangs_symmetrically():
    m = delta_robot()
    r = setsu.constrained_inverse_dynamics(
        m, m.neutral(), np.zeros(m.nv), np.zeros(m.nv), actuated=["arm1", "arm2", "arm3"]
    )
    drives = r.torque[[m.v_slices[m.joint_index(f"arm{k}")].start for k in (1, 2, 3)]]
    # All three arms carry a third each, against gravity: negative, because positive angles turn an arm down.
    np.testing.assert_allclose(drives, drives[0], rtol=1e-12)
    assert drives[0] < 0.0


def test_joined_rods_are_their_sum():
    # A square frame of side s: mass 4 ρ s, moment about its normal 4 (m s²/12 + m s²/4) = 4/3 m s², m = ρ s.
    corners = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)]
    mass, center, inertia = joined_rods([(corners[k - 1], corners[k]) for k in range(4)], 0.5)
    assert mass == 4.0
    np.testing.assert_allclose(center, (1, 1, 0))
    np.testing.assert_allclose(inertia, np.diag([0.5, 0.5, 1.0]) * 4 / 3 * 1.0 * 4, atol=1e-14)


def test_the_meeting_point_lies_on_the_left():
    assert meeting_point((0.0, 0.0), 5.0, (6.0, 0.0), 5.0, "roof") == (3.0, 4.0)
    assert meeting_point((6.0, 0.0), 5.0, (0.0, 0.0), 5.0, "keel") == (3.0, -4.0)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: delta_robot(fore=0.3), "rods longer than 0.44 m"),
        (lambda: stewart_platform(height=0.0), "expected positive finite numbers, got .* height 0.0"),
        (lambda: stewart_platform(platform_radius=math.nan), "platform_radius nan"),
        (lambda: stewart_platform(math.inf), "base_radius inf"),
        (lambda: excavator_boom(load=-1.0), "excavator_boom load: expected at least 0, got -1.0"),
        (lambda: excavator_boom(damping=-1.0), "damping"),
        (lambda: meeting_point((0.0, 0.0), 1.0, (3.0, 0.0), 1.0, "gap"), "gap: bars .* cannot meet"),
    ],
)
def test_bad_arguments_are_refused(action, message):
    with pytest.raises(InputError, match=message):
        action()
