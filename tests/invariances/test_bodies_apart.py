"""What bodies do that nothing connects is nobody else's affair: beside another body they move as they do alone."""

from __future__ import annotations

import numpy as np
import pytest
from rounding import assert_law

import setsu

_RADIUS = 0.1


def _pair_of_links(mass: float, length: float) -> setsu.Mechanism:
    """Two links in free flight, joined by a hinge."""
    b = setsu.MechanismBuilder("links")
    turning = np.diag([1.0, 1.2, 0.3]) * mass * length**2 / 12.0
    b.add_body("a", joint=setsu.Free(name="free"), mass=mass, inertia=turning, center_of_mass=(0, 0, -0.5 * length))
    b.add_body("b", "a", setsu.Revolute((0, 1, 0), "hinge"), setsu.placement((0, 0, -length)), mass=0.7 * mass,
               inertia=turning, center_of_mass=(0.1 * length, 0, -0.5 * length))  # fmt: skip
    b.add_contact_points("a", [(0, 0, 0)])
    return b.build()


def _ball(mass: float = 1.0) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("ball")
    inertia = 0.4 * mass * _RADIUS**2 * np.eye(3)
    shape = setsu.Shape("sphere", (_RADIUS,), material=setsu.Material(0.8, 0.8))
    b.add_body("ball", joint=setsu.Free(name="free"), mass=mass, inertia=inertia, collisions=[shape])
    return b.build()


def _run(m: setsu.Mechanism, q: np.ndarray, v: np.ndarray, seconds: float, **options: object) -> setsu.Recording:
    return setsu.simulate(m, q, v, seconds, 1e-3, environment=setsu.Environment.floor(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("mass", [0.5, 50.0, 5e5])
def test_in_flight_to_the_bit(mass: float) -> None:
    small = _pair_of_links(0.5, 0.2)
    both = setsu.merge(small, _pair_of_links(mass, 1.0), prefix="other_")
    q, v = both.neutral(), np.zeros(both.nv)
    q[2], v[3:7] = 50.0, (3.0, 2.0, 1.0, 4.0)
    q[8], q[10], v[10:14] = 5.0, 60.0, (3.0, -5.0, 2.0, 6.0)
    alone = _run(small, q[: small.nq], v[: small.nv], 0.2)
    beside = _run(both, q, v, 0.2)
    assert np.array_equal(beside.q[:, : small.nq], alone.q)
    assert np.array_equal(beside.v[:, : small.nv], alone.v)


@pytest.mark.parametrize("other", ["four-bar", "geared arm", "hand on a surface"])
def test_in_flight_beside_what_is_held(other: str) -> None:
    small, contacts = _pair_of_links(0.5, 0.2), []
    linkage = setsu.sample_mechanisms.four_bar() if other == "four-bar" else setsu.sample_mechanisms.planar_arm(2)
    if other == "geared arm":
        first, second = linkage.joint_names[:2]
        linkage = setsu.add_coupling(linkage, "gear", {first: 1.0, second: -2.0})
    both = setsu.merge(small, linkage, prefix="other_")
    if other == "hand on a surface":
        place = setsu.body_poses(both, both.neutral())[both.body_names.index("other_link2"), :3, 3]
        plane = setsu.Plane((0.0, 0.0, 1.0), float(place[2]))
        contacts = [setsu.SurfaceContact("other_link2", (0, 0, 0), plane, bilateral=True)]
    q, v = both.neutral(), np.zeros(both.nv)
    q[2], v[3:7] = 50.0, (3.0, 2.0, 1.0, 4.0)
    alone = _run(small, q[: small.nq], v[: small.nv], 0.2)
    beside = _run(both, q, v, 0.2, contacts=contacts)
    # Rows are held with a factor of the whole mass matrix: rounding of that many steps, by its condition.
    condition = np.linalg.cond(setsu.mass_matrix(small, q[: small.nq]))
    for ours, expected in ((beside.q[:, : small.nq], alone.q), (beside.v[:, : small.nv], alone.v)):
        assert_law(ours, expected, [alone.v], len(alone.q), condition)


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_a_ball_that_rolls_beside_what_stands(shape: str, mass: float) -> None:
    b = setsu.MechanismBuilder("standing")
    size = (1.0, 1.0, 1.0) if shape == "box" else (0.5, 1.0)
    b.add_body("block", joint=setsu.Free(name="held"), mass=mass, inertia=0.1 * mass * np.eye(3),
               collisions=[setsu.Shape(shape, size)])  # fmt: skip
    both = setsu.merge(_ball(), b.build(), prefix="other_")
    q, v = both.neutral(), np.zeros(both.nv)
    q[2], v[:6] = _RADIUS, (1.0, 0, 0, 0, 1.0 / _RADIUS, 0)
    q[8], q[9] = 10.0, 0.5
    alone = _run(_ball(), q[:7], v[:6], 0.5)
    beside = _run(both, q, v, 0.5)
    # Contacts yield by the compliance that makes their forces unique, some 1e-11 m (docs/contact.md).
    assert np.abs(beside.q[:, :3] - alone.q[:, :3]).max() < 1e-9
    # And a heavy body does not sink because a light one touches the ground elsewhere.
    assert np.abs(beside.q[:, 9] - 0.5).max() < 1e-9


@pytest.mark.parametrize("mass", [2.0, 20.0, 2e3, 2e7])
def test_a_ball_rolls_on_a_body_as_on_the_ground(mass: float) -> None:
    b = setsu.MechanismBuilder("slab")
    inertia = np.diag([101.0, 101.0, 200.0]) * mass / 12.0
    b.add_body("slab", joint=setsu.Free(name="held"), mass=mass, inertia=inertia, center_of_mass=(0, 0, -0.5),
               collisions=[setsu.Shape("box", (10.0, 10.0, 1.0), setsu.placement((0, 0, -0.5)))])  # fmt: skip
    both = setsu.merge(_ball(2.0), b.build(), prefix="other_")
    q, v = both.neutral(), np.zeros(both.nv)
    q[2], q[9], v[:6] = _RADIUS + 1.0, 1.0, (1.0, 0, 0, 0, 1.0 / _RADIUS, 0)
    run = _run(both, q, v, 0.5, body_contacts=True)
    speed = setsu.body_velocities(both, run.q, run.v)[:, 0]
    # not rounding: a slab of a thousand times the ball's mass rests some 1e-8 m deep, and the ball on it.
    bound = 1e-8 if mass < 100.0 else 1e-6
    assert np.abs(speed[:, 0] - 1.0).max() < bound
    assert np.abs(speed[:, 4] * _RADIUS - 1.0).max() < bound  # not rounding: contacts are a little soft
    assert np.abs(run.q[:, 2] - _RADIUS - 1.0).max() < 1e-7  # not rounding: contacts are a little soft
