"""Contacts against closed forms: a block that slides and stops, starts, leaves its surface, lands, or jams."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rounding import rounding

import setsu

G = 9.81


def block(*axes: tuple[float, float, float]) -> setsu.Mechanism:
    """A point mass of 2 kg that travels along axes; massless carriers between them are given none of it."""
    builder = setsu.MechanismBuilder("block")
    parent = "world"
    for index, axis in enumerate(axes):
        last = index == len(axes) - 1
        builder.add_body(
            f"part{index}", parent=parent, joint=setsu.Prismatic(axis), mass=2.0 if last else 0.0,
            inertia=np.eye(3) * (0.1 if last else 0.0),
        )  # fmt: skip
        parent = f"part{index}"
    return builder.build()


PLANAR = block((1, 0, 0), (0, 0, 1))
SPATIAL = block((1, 0, 0), (0, 1, 0), (0, 0, 1))
FLOOR = setsu.Plane((0, 0, 1), 0.0)


def touching(
    m: setsu.Mechanism, friction: float = 0.0, surface: object = FLOOR, **options: bool
) -> setsu.SurfaceContact:
    return setsu.SurfaceContact(m.body_names[-1], (0, 0, 0), surface, friction, **options)  # type: ignore[arg-type]


def test_a_sliding_block_stops_where_and_when_friction_says() -> None:
    """v0 = 1, K = 0.3: stops after v0/(K g) = 0.33979 s at v0²/(2 K g) = 0.16989 m, and stays."""
    run = setsu.simulate(PLANAR, [0, 0], [1, 0], 1.0, 0.01, contacts=[touching(PLANAR, 0.3)])
    (stop,) = run.events
    assert stop.kind == "stick"
    assert stop.time == pytest.approx(1 / (0.3 * G), abs=1e-8)
    assert run.q[-1, 0] == pytest.approx(1 / (0.6 * G), abs=1e-10)
    after = run.time > stop.time
    assert np.abs(run.v[after]).max() == 0.0
    assert np.abs(run.friction_force[after]).max() == 0.0
    assert np.allclose(run.normal_force, 2.0 * G)
    assert run.ledger.contact_friction[-1] == pytest.approx(-1.0, abs=1e-8)  # all of ½ m v0²
    assert np.abs(run.ledger.integration).max() < 1e-8


def test_a_block_slides_on_a_curve_in_space() -> None:
    """Speed falls by K g t whatever the direction; sliding velocity and friction stay opposite."""
    run = setsu.simulate(SPATIAL, [0, 0, 0], [0.6, -0.8, 0.0], 0.3, 0.01, contacts=[touching(SPATIAL, 0.3)])
    assert np.allclose(np.linalg.norm(run.v, axis=1), 1.0 - 0.3 * G * run.time, atol=1e-12)
    assert np.allclose(run.friction_force[:, 0], -0.3 * 2.0 * G * np.array([0.6, -0.8, 0.0]), atol=1e-12)
    assert np.allclose(run.contact_force[:, 0], 2.0 * G * np.array([-0.18, 0.24, 1.0]), atol=1e-12)


def test_stick_turns_into_slip_when_the_push_exceeds_friction() -> None:
    """A push growing as 10 t N on K m g = 9.81 N: slips at t = 0.981 s, then m a = 10 t - K m g."""
    push = lambda t, q, v: [10.0 * t, 0.0]  # noqa: E731
    run = setsu.simulate(PLANAR, [0, 0], [0, 0], 1.5, 0.01, torque=push, contacts=[touching(PLANAR, 0.5)])
    (slip,) = run.events
    assert slip.kind == "slip"
    assert slip.time == pytest.approx(0.981, abs=1e-7)
    late = run.time[-1] - 0.981
    assert run.q[-1, 0] == pytest.approx(10.0 * late**3 / 6 / 2.0, abs=1e-7)
    assert np.allclose(run.friction_force[run.time < 0.98, 0, 0], -10.0 * run.time[run.time < 0.98], atol=1e-10)


def test_a_shaken_block_reverses_without_chatter() -> None:
    """Two reversals per period of a strong shake, none in between; energy is booked to the last joule."""
    shake = lambda t, q, v: [30.0 * math.cos(2 * math.pi * t), 0.0]  # noqa: E731
    run = setsu.simulate(PLANAR, [0, 0], [0, 0], 3.0, 0.01, torque=shake, contacts=[touching(PLANAR, 0.3)])
    reversals = [event for event in run.events if event.time > 0]
    assert 5 <= len(reversals) <= 12
    assert run.constraint_error.max() < 1e-15
    assert np.abs(run.ledger.integration).max() < 1e-5


def test_a_point_leaves_a_sphere_at_the_angle_of_the_textbook() -> None:
    """A bead slides off a smooth sphere of radius r where cos θ = 2/3 (started at the top with almost no speed)."""
    speed = 1e-3
    ball = setsu.Sphere((0, 0, -1.0), 1.0)
    run = setsu.simulate(PLANAR, [0, 0], [speed, 0], 4.0, 0.01, contacts=[touching(PLANAR, surface=ball)])
    release = run.events[0]
    assert release.kind == "release"
    before = run.time < release.time
    # The distance from the centre, of the size of the radius, less the radius: a sum of squares and a root.
    assert run.constraint_error[before].max() <= rounding([np.ones(1)], c=10.0)
    last = run.q[before][-1]
    # energy: ½ v² = g (1 - cos θ) + ½ speed²; leaving where v² = g cos θ
    assert 1 + last[1] == pytest.approx(2 / 3 + speed**2 / (3 * G), abs=0.04)
    height = 2 / 3 + speed**2 / (3 * G)
    free = run.time[-1] - release.time
    sine = math.sqrt(1 - height**2)
    v = math.sqrt(G * height)
    assert run.q[-1, 0] == pytest.approx(sine + v * height * free, abs=1e-4)


def test_a_bilateral_contact_never_lets_go() -> None:
    ball = setsu.Sphere((0, 0, -1.0), 1.0)
    hold = touching(PLANAR, surface=ball, bilateral=True)
    run = setsu.simulate(PLANAR, [0, 0], [0.5, 0], 1.5, 0.01, contacts=[hold])
    assert not run.events
    assert run.normal_force.min() < 0.0
    assert run.constraint_error.max() < 1e-14


def test_a_dropped_block_lands_plastically() -> None:
    """From 0.1 m it lands after sqrt(2 h/g) = 0.14278 s, and m g h is lost."""
    run = setsu.simulate(PLANAR, [0, 0.1], [0, 0], 0.5, 0.01, contacts=[touching(PLANAR)])
    (impact,) = run.events
    assert impact.kind == "impact"
    assert impact.time == pytest.approx(math.sqrt(0.2 / G), abs=1e-9)
    assert impact.energy_lost == pytest.approx(2.0 * G * 0.1, rel=1e-9)
    assert run.ledger.impacts[-1] == -impact.energy_lost
    assert np.abs(run.q[-1]).max() < 1e-12
    assert run.normal_force[-1, 0] == pytest.approx(2.0 * G)


def test_an_oblique_landing_slides_on_with_what_friction_leaves() -> None:
    """Impulse of friction K times that of the normal: v_x falls by K v_z at the impact."""
    fall = math.sqrt(2 * G * 0.1)
    run = setsu.simulate(PLANAR, [0, 0.1], [2, 0], 0.2, 0.01, contacts=[touching(PLANAR, 0.2)])
    impact = run.events[0]
    assert impact.velocity_jump == pytest.approx([-0.2 * fall, fall], abs=1e-8)
    expected = 2.0 - 0.2 * fall - 0.2 * G * (0.2 - impact.time)
    assert run.v[-1, 0] == pytest.approx(expected, abs=1e-9)


def dragged_rod(angle: float, friction: float) -> tuple[setsu.Mechanism, setsu.SurfaceContact]:
    """A rod of little inertia whose lower end, 1 m below its center of mass, touches the floor."""
    builder = setsu.MechanismBuilder("dragged rod")
    builder.add_body("cart", joint=setsu.Prismatic((1, 0, 0), "cart"), mass=0.01, inertia=np.eye(3) * 1e-5)
    builder.add_body(
        "lift", parent="cart", joint=setsu.Prismatic((0, 0, 1), "lift"), mass=0.01, inertia=np.eye(3) * 1e-5
    )
    rod = {"mass": 1.0, "center_of_mass": (0, 0, 0), "inertia": np.diag([1e-3, 1e-3, 1e-3])}
    builder.add_body("rod", parent="lift", joint=setsu.Revolute((0, 1, 0), "rod"), **rod)
    floor = setsu.Plane((0, 0, 1), -math.cos(angle))
    return builder.build(), setsu.SurfaceContact("rod", (0, 0, -1.0), floor, friction=friction)


def test_a_falling_rod_stops_sliding_or_lifts_off_before_its_friction_knows_no_force() -> None:
    """Génot and Brogliato: forces grow without bound towards A = 0, and end the sliding, or the contact, before it."""
    builder = setsu.MechanismBuilder("rod")
    builder.add_body("slide", joint=setsu.Prismatic((1, 0, 0), "slide"))
    builder.add_body("lift", "slide", setsu.Prismatic((0, 0, 1), "lift"))
    builder.add_body("rod", "lift", setsu.Revolute((0, 1, 0), "rod"), mass=1.0, inertia=np.diag([0, 1, 1]) / 12)
    m = builder.build()
    end = setsu.SurfaceContact("rod", (0, 0, -0.5), setsu.Plane(), friction=1.6)  # critical from 0.26 to 0.75 rad
    for angle, rate, speed, happens in ((0.15, 0.5, -3.0, "stick"), (0.25, 2.0, -6.0, "release")):
        q = [0.0, 0.5 * math.cos(angle), angle]
        wish = [speed + 0.5 * math.cos(angle) * rate, 0.0, rate]
        v = setsu.consistent_velocity(m, q, wish, contacts=[end], fixed=["slide", "rod"])
        run = setsu.simulate(m, q, v, 0.06, 1e-3, integrator="rk8", contacts=[end])
        assert [event.kind for event in run.events][:1] == [happens]
        assert np.abs(run.ledger.integration).max() < 1e-5
        assert (np.diff(run.energy) <= 1e-9).all()


def test_a_point_that_jams_is_stopped_at_once_by_an_impulse_without_collision() -> None:
    """Painlevé: beyond K = (I/m + sin²) / (sin cos) friction has no finite force; M dv = Jᵀ p ends the sliding."""
    angle = 0.5
    m, tip = dragged_rod(angle, 3.0)
    q0 = [0, 0, angle]
    J = np.array([[1.0, 0.0, -math.cos(angle)], [0.0, 1.0, math.sin(angle)]])  # of the point, (x, z)
    masses = np.diag([1.02, 1.01, 1e-3])
    v0 = np.array([-1.0, 0.0, 0.0])
    run = setsu.simulate(m, q0, v0, 0.002, 1e-4, contacts=[tip])
    (jam,) = [event for event in run.events if event.kind == "jam"]
    impulse = np.linalg.solve(J @ np.linalg.solve(masses, J.T), -J @ v0)
    assert abs(impulse[0]) <= 3.0 * impulse[1]
    assert jam.time == 0.0
    assert jam.name == "rod"
    assert jam.velocity_jump == pytest.approx(np.linalg.solve(masses, J.T @ impulse), abs=1e-9)
    assert jam.energy_lost == pytest.approx(0.5 * jam.velocity_jump @ masses @ jam.velocity_jump, abs=1e-9)
    assert run.energy[0] == pytest.approx(0.5 * (v0 + jam.velocity_jump) @ masses @ (v0 + jam.velocity_jump), abs=1e-9)
    assert np.abs(run.ledger.integration).max() < 1e-9
    # The other way nothing jams; at rest or a little below the critical friction the laws have a solution.
    assert not any(event.kind == "jam" for event in setsu.simulate(m, q0, -v0, 0.002, 1e-4, contacts=[tip]).events)
    critical = (1e-3 / 1.01 + math.sin(angle) ** 2) / (math.sin(angle) * math.cos(angle))
    _, smooth = dragged_rod(angle, 0.95 * critical)
    assert setsu.constrained_dynamics(m, q0, v0, np.zeros(3), [smooth]).normal_force[0] > 0.0
    with pytest.raises(setsu.InputError, match="Painlevé") as caught:
        setsu.constrained_dynamics(m, q0, v0, np.zeros(3), [tip])
    assert float(str(caught.value).split("critical value ")[1].split(",")[0]) == pytest.approx(critical, rel=1e-5)
