"""Random configurations keep to the limits and come from their seed; the summary fits the page and is complete."""

import numpy as np
import pytest

import setsu.sample_mechanisms as samples
from setsu.mechanism import Cylindrical, Free, MechanismBuilder, Prismatic, Revolute, Spherical


def test_coordinates_stay_within_limits():
    builder = MechanismBuilder("m")
    builder.add_body("both", joint=Revolute(lower=1.0, upper=1.5))
    builder.add_body("low", joint=Prismatic(lower=5.0))
    builder.add_body("high", joint=Revolute(upper=-50.0))
    builder.add_body("none", joint=Cylindrical())
    builder.add_body("point", joint=Revolute(lower=2.0, upper=2.0))
    m = builder.build()
    rng = np.random.default_rng(0)
    draws = np.array([m.random_configuration(rng) for _ in range(500)])
    low, high = draws.min(axis=0), draws.max(axis=0)
    assert (draws >= m.lower).all()
    assert (draws <= m.upper).all()
    assert np.array_equal(low[5:], high[5:])
    assert (high[:5] - low[:5] > 0.9 * np.array([0.5, 2.0, 2 * np.pi, 2.0, 2 * np.pi])).all()


def test_quaternions_are_unit_and_uniform():
    m = MechanismBuilder("m").add_body("a", joint=Spherical()).add_body("b", joint=Free()).build()
    rng = np.random.default_rng(1)
    draws = np.array([m.random_configuration(rng) for _ in range(4000)])
    for quaternions in (draws[:, :4], draws[:, 7:]):
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, rtol=1e-14)
        # For a uniform direction in four dimensions the mean of x xᵀ is 1/4; its error at 4000 draws is about 0.004.
        np.testing.assert_allclose(quaternions.T @ quaternions / len(draws), np.eye(4) / 4, atol=0.02)


def test_a_seed_gives_one_configuration():
    m = samples.random_tree(0)
    assert np.array_equal(m.random_configuration(3), m.random_configuration(3))
    assert not np.array_equal(m.random_configuration(3), m.random_configuration(4))


@pytest.mark.parametrize("name", samples.__all__)
def test_the_summary_names_every_body_and_fits_the_page(name):
    make = getattr(samples, name)
    m = make(20) if name in ("chain", "binary_tree", "random_tree") else make()
    text = m.summary()
    assert max(map(len, text.splitlines())) <= 100
    for body in m.bodies:
        assert body.name in text
        assert body.joint.name in text or body.name in m.frames
    for loop in m.loops:
        assert loop.name in text


def test_the_summary_cuts_long_names_and_lists_all_kinds_of_elements():
    builder = MechanismBuilder("m" * 300)
    builder.add_body("a" * 200, joint=Revolute(name="j" * 200)).add_body("line\nbreak", "a" * 200, Revolute(name="k"))
    builder.add_coupling("gear", {"k": 2.0}).add_contact_points("line\nbreak", np.zeros((3, 3)))
    builder.add_spring("coil", "world", (0, 0, 0), "line\nbreak", (0, 0, 0), 800.0)
    text = builder.build().summary()
    assert max(map(len, text.splitlines())) <= 100
    for piece in ("line?break", "gear", "+2·k", "coil", "800", "contact points"):
        assert piece in text
