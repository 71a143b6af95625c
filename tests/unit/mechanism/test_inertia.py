"""An inertia is that of a real body when its second moment of mass is positive semi-definite."""

import numpy as np
import pytest

from setsu.errors import InputError
from setsu.mechanism import inertia_report, repair_inertia
from setsu.spatial import rotation_from_quaternion

CENTER = (0.0, 0.0, 0.0)


def second_moment(inertia):
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def random_points_inertia(rng):
    """Mass and inertia about the center of mass of a cloud of point masses: possible by construction."""
    masses, points = rng.uniform(0.1, 1.0, 6), rng.standard_normal((6, 3))
    points -= masses @ points / masses.sum()
    return masses.sum(), sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_point_clouds_are_valid_and_repair_leaves_them_alone(seed):
    mass, inertia = random_points_inertia(np.random.default_rng(seed))
    assert inertia_report(mass, CENTER, inertia).valid
    assert np.array_equal(repair_inertia(mass, CENTER, inertia), 0.5 * inertia + 0.5 * inertia.T)


@pytest.mark.parametrize("seed", range(20))
def test_repair_gives_a_valid_inertia_and_no_possible_one_is_nearer(seed):
    rng = np.random.default_rng(seed)
    R = rotation_from_quaternion(rng.standard_normal(4))
    wrong = R @ np.diag([0.1, 0.2, rng.uniform(0.31, 2.0)]) @ R.T
    wrong = 0.5 * (wrong + wrong.T)
    assert not inertia_report(1.0, CENTER, wrong).valid
    fixed = repair_inertia(1.0, CENTER, wrong)
    assert inertia_report(1.0, CENTER, fixed).valid
    distance = np.linalg.norm(second_moment(fixed) - second_moment(wrong))
    for _ in range(50):
        _, other = random_points_inertia(rng)
        for step in (1e-3, 0.1, 1.0):
            near = second_moment(fixed) + step * (second_moment(other) - second_moment(fixed))
            assert np.linalg.norm(near - second_moment(wrong)) >= distance * (1 - 1e-12)


def test_point_mass_rod_and_massless_rotor_are_valid():
    assert inertia_report(1.0, CENTER, None).valid
    assert inertia_report(1.0, CENTER, np.diag([0.0, 0.3, 0.3])).valid
    assert inertia_report(0.0, CENTER, np.diag([0.1, 0.1, 0.2])).valid
    assert inertia_report(0.0, CENTER, None).valid


def test_the_tolerance_is_relative_to_the_largest_moment():
    assert inertia_report(1.0, CENTER, 1e-12 * np.diag([1.0, 1.0, 2.0 + 1e-10])).valid
    assert not inertia_report(1.0, CENTER, 1e-12 * np.diag([1.0, 1.0, 2.0 + 1e-6])).valid


def test_the_report_names_every_violated_inequality_with_its_numbers():
    report = inertia_report(1.0, CENTER, np.diag([-0.1, 0.2, 0.4]), "hand")
    assert report.problems == (
        "Ixx >= 0 violated: -0.1 < 0",
        "Ixx + Iyy >= Izz violated: -0.1 + 0.2 < 0.4",
    )
    assert str(report).startswith('body "hand": Ixx >= 0')
    assert report.principal_moments == (-0.1, 0.2, 0.4)
    (problem,) = inertia_report(1.0, CENTER, [[1.0, 0.1, 0], [0.1, 1.0, 0], [0, 0, 4.0]]).problems
    assert problem.startswith("J1 + J2 >= J3 violated: 0.9 + 1.1 < 4 (J1, J2, J3: principal moments")
    assert inertia_report(-1.0, CENTER, None).problems == ("mass >= 0 violated: -1 < 0",)


def test_repair_refuses_what_it_cannot_judge():
    with pytest.raises(InputError, match="mass"):
        repair_inertia(-1.0, CENTER, np.eye(3))
    with pytest.raises(InputError, match="3x3"):
        repair_inertia(1.0, CENTER, np.eye(2))
