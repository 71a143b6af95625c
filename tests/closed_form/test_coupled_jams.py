"""Several contacts with friction that jam together: impulses within their cones stop them, and no energy comes from it.

A ladder on floor and wall with K > 1 at both ends cannot slide: the friction cones of its ends see each other, so that
forces of any size balance themselves along the line between the ends. Sliding, its normal forces would have to grow
without bound; what is left is an impulse that takes all its energy, T = ½ (m L²/4 + I) ω².
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from rounding import assert_in_cones, condition_of

import setsu

pytestmark = pytest.mark.thin(2)

MASS, LENGTH = 1.0, 1.0
INERTIA = MASS * LENGTH**2 / 12.0


def ladder(friction: float) -> tuple[setsu.Mechanism, list[setsu.SurfaceContact]]:
    """A uniform rod in the x-z plane, its foot on the floor z = 0 and its head at the wall x = 0."""
    builder = setsu.MechanismBuilder("ladder")
    builder.add_body("slide", joint=setsu.Prismatic((1, 0, 0), "slide"))
    builder.add_body("lift", "slide", setsu.Prismatic((0, 0, 1), "lift"))
    turn = setsu.Revolute((0, 1, 0), "turn")
    builder.add_body("rod", "lift", turn, mass=MASS, inertia=np.diag([0.0, INERTIA, INERTIA]))
    foot = setsu.SurfaceContact("rod", (0, 0, -0.5), setsu.Plane((0, 0, 1), 0.0), friction=friction, name="foot")
    head = setsu.SurfaceContact("rod", (0, 0, 0.5), setsu.Plane((1, 0, 0), 0.0), friction=friction, name="head")
    return builder.build(), [foot, head]


def sliding_ladder(friction: float, angle: float, rate: float) -> tuple:
    m, ends = ladder(friction)
    q = [0.5 * math.sin(angle), 0.5 * math.cos(angle), -angle]
    return m, ends, q, setsu.consistent_velocity(m, q, [0.0, 0.0, rate], contacts=ends, fixed=["turn"])


def delassus_condition(m: setsu.Mechanism, q: list[float], ends: list[setsu.SurfaceContact]) -> float:
    """κ of J M⁻¹ Jᵀ, which maps impulses at both ends to their velocities."""
    J = np.concatenate([setsu.point_jacobian(m, q, end.body, end.point) for end in ends])
    return condition_of(J @ np.linalg.solve(setsu.mass_matrix(m, q), J.T))


@pytest.mark.parametrize("rate", [1.0, -1.0, 3.0])
@pytest.mark.parametrize("friction", [1.6, 3.0])
def test_a_ladder_whose_cones_see_each_other_stops_at_once(friction: float, rate: float) -> None:
    m, ends, q, v = sliding_ladder(friction, 0.3, rate)
    with pytest.raises(setsu.InputError, match="no finite forces exist in this state"):
        setsu.constrained_dynamics(m, q, v, np.zeros(3), ends)
    run = setsu.simulate(m, q, v, 0.05, 1e-3, contacts=ends)
    (jam,) = [event for event in run.events if event.kind == "jam"]
    assert jam.name == "foot, head"
    energy = 0.5 * (MASS * LENGTH**2 / 4.0 + INERTIA) * rate**2
    assert jam.energy_lost == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(jam.velocity_jump, -v, rtol=0, atol=1e-9)
    # At rest the cones hold it against its weight.
    np.testing.assert_allclose(run.q, np.tile(q, (len(run.q), 1)), rtol=0, atol=1e-12)
    assert np.abs(np.diff(run.energy)).max() < 1e-12
    # The impulses are within the cones. Backwards the foot alone stops the ladder, and the head's impulse is zero.
    assert_in_cones(jam.impulse, friction, c=10.0, condition=delassus_condition(m, q, ends))


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "rk8"])
def test_a_ladder_with_less_friction_slides_and_loses_what_friction_takes(integrator: str) -> None:
    m, ends, q, v = sliding_ladder(0.3, 0.6, 1.0)
    run = setsu.simulate(m, q, v, 0.05, 1e-3, contacts=ends, integrator=integrator)
    assert not run.events
    assert (np.diff(run.energy) < 0.0).all()
    assert (run.normal_force > 0.0).all()


@pytest.mark.parametrize("friction", [0.5, 1.0, 1.6, 3.0])
@pytest.mark.parametrize("angle", [0.3, 1.0])
def test_energy_never_rises_whatever_the_ladder_does(friction: float, angle: float) -> None:
    for rate in (2.0, -2.0):
        m, ends, q, v = sliding_ladder(friction, angle, rate)
        run = setsu.simulate(m, q, v, 0.1, 2e-3, contacts=ends)
        assert (np.diff(run.energy) <= 1e-9).all()
        assert all(event.energy_lost >= -1e-12 for event in run.events)
        assert run.constraint_error.max() < 1e-12


def drawer(friction: float, tilt: float = 0.02) -> tuple[setsu.Mechanism, list[setsu.SurfaceContact]]:
    """A box 0.4 m x 0.3 m between two walls, seen from above, turned until two opposite corners touch them."""
    length, width = 0.4, 0.3
    builder = setsu.MechanismBuilder("drawer", gravity=(0, 0, 0))
    builder.add_body("x", joint=setsu.Prismatic((1, 0, 0), "x"))
    builder.add_body("y", "x", setsu.Prismatic((0, 1, 0), "y"))
    inertia = np.diag([1.0, 1.0, (length**2 + width**2) / 12.0])
    builder.add_body("box", "y", setsu.Revolute((0, 0, 1), "turn"), mass=1.0, inertia=inertia)
    reach = 0.5 * (length * math.sin(tilt) + width * math.cos(tilt))
    front, rear = (0.5 * length, 0.5 * width, 0.0), (-0.5 * length, -0.5 * width, 0.0)
    walls = setsu.Plane((0, -1, 0), -reach), setsu.Plane((0, 1, 0), -reach)
    return builder.build(), [
        setsu.SurfaceContact("box", front, walls[0], friction=friction, name="front"),
        setsu.SurfaceContact("box", rear, walls[1], friction=friction, name="rear"),
    ]


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_box_turned_against_two_walls_brakes_and_stays(speed: float) -> None:
    """A torque N presses both corners with N / a, a = their distance along the walls: deceleration 2 K N / (a m)."""
    friction, torque, tilt = 2.0, 5.0, 0.02
    m, corners = drawer(friction, tilt)
    along = 0.4 * math.cos(tilt) - 0.3 * math.sin(tilt)
    press = torque / along
    run = setsu.simulate(m, [0, 0, tilt], [speed, 0, 0], 0.05, 1e-3, contacts=corners, torque=np.array([0, 0, torque]))
    stop = 1.0 / (2.0 * friction * press)
    assert run.q[-1, 0] == pytest.approx(speed * 0.5 * stop, rel=1e-6)
    assert run.v[-1] == pytest.approx(np.zeros(3), abs=1e-9)
    assert (np.diff(run.energy) <= 1e-9).all()
    np.testing.assert_allclose(run.normal_force[0], press, rtol=1e-9)
