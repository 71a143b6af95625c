"""Springs, dampers, drives, friction and prescribed motion of joints mean the same with and without an environment.

Nothing touches in most of these runs: the time-stepping machine has to follow the event-driven one, to the first order
of its step where loops hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.constraints.system import constraint_system

G = 9.81
DEEP = setsu.Environment.floor(height=-50.0)
CRANK, ROD = 0.3, 1.0


def slider_crank(pin: dict[str, Any] | None = None, slide: dict[str, Any] | None = None) -> setsu.Mechanism:
    """A crank, a rod and a piston with a contact point; the pin between rod and piston closes the loop."""
    b = setsu.MechanismBuilder("slider crank")
    inertia = 0.02 * np.eye(3)
    b.add_body(
        "crank",
        joint=setsu.Revolute((0, 1, 0), name="crank"),
        mass=1.0,
        center_of_mass=(CRANK / 2, 0, 0),
        inertia=inertia,
    )
    hinge = setsu.Revolute((0, 1, 0), name="rod")
    b.add_body("rod", "crank", hinge, setsu.placement((CRANK, 0, 0)), 1.0, (ROD / 2, 0, 0), inertia)
    b.add_body("piston", joint=setsu.Prismatic((1, 0, 0), name="piston", **(slide or {})), mass=2.0, inertia=inertia)
    b.add_contact_points("piston", [[0.0, 0.0, -0.1]])
    b.add_loop("pin", "rod", "piston", setsu.Revolute((0, 1, 0), **(pin or {})), setsu.placement((ROD, 0, 0)))
    return b.build()


def start(m: setsu.Mechanism, angle: float = 0.5, rate: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    q = setsu.close_loops(m, [angle, -angle, CRANK + ROD], fixed=["crank"])
    return q, setsu.consistent_velocity(m, q, [rate, 0, 0], fixed=["crank"])


PINS = {
    "damping": {"damping": 0.8},
    "spring": {"stiffness": 60.0, "spring_rest": 0.2},
    "armature": {"armature": 3.0},
    "friction": {"coulomb": 0.6},
    "all": {"damping": 0.3, "stiffness": 40.0, "armature": 0.1, "coulomb": 0.4},
}


@pytest.mark.parametrize("name", PINS)
def test_what_acts_in_a_loop_joint_acts_in_an_environment(name: str) -> None:
    """Errors against the run without environment fall as the step does."""
    m = slider_crank(PINS[name])
    q, v = start(m)
    exact = setsu.simulate(m, q, v, 0.4, 1e-3, integrator="rk4")
    plain = setsu.simulate(slider_crank(), q, v, 0.4, 1e-3)
    assert np.abs(exact.q[-1] - plain.q[-1]).max() > 0.01  # it matters
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        rec = setsu.simulate(m, q, v, 0.4, step, environment=DEEP)
        errors.append(np.abs(rec.q[-1] - exact.q[-1]).max())
        assert rec.constraint_error.max() < 1e-10  # not rounding: where Newton ends, over the step
    assert errors[2] < 4e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.25)
    # All energy is accounted for, to the order of the method.
    assert abs(rec.ledger.integration[-1]) < 0.02 * np.abs(np.diff(exact.energy)).sum() + 0.02
    np.testing.assert_allclose(rec.energy[0], exact.energy[0], rtol=1e-12)
    forces = np.abs(exact.loop_wrench).max()
    np.testing.assert_allclose(rec.loop_wrench[400], exact.loop_wrench[200], atol=0.02 * forces)


def test_a_loop_joint_with_friction_sticks() -> None:
    """Weight and torque below the limit of the pin's friction move nothing; above it they do."""
    m = replace(slider_crank({"coulomb": 5.0}), gravity=(0.0, 0.0, 0.0))
    q, v = start(m, rate=0.0)
    for torque, moves in ((1.0, False), (4.0, True)):
        free = setsu.simulate(m, q, v, 0.3, 1e-3, [torque, 0, 0])
        rec = setsu.simulate(m, q, v, 0.3, 1e-3, [torque, 0, 0], environment=DEEP)
        moved = np.abs(rec.q - q).max()
        assert (moved > 1e-3) == moves == (np.abs(free.q - q).max() > 1e-3)
        assert moves or moved < 1e-9
        np.testing.assert_allclose(rec.q[-1], free.q[-1], atol=2e-3)


def test_a_loop_that_opens_takes_its_springs_along() -> None:
    m = slider_crank({"stiffness": 60.0, "spring_rest": 0.2, "damping": 0.5})
    q, v = start(m)
    events = [setsu.OpenLoop(0.1, "pin")]
    exact = setsu.simulate(m, q, v, 0.3, 1e-3, events=events)
    rec = setsu.simulate(m, q, v, 0.3, 2.5e-4, events=events, environment=DEEP)
    np.testing.assert_allclose(rec.q[-1], exact.q[-1], atol=5e-3)


def test_a_driven_crank_in_an_environment() -> None:
    """x = r cos θ + sqrt(l² - r² sin² θ); torque as of inverse dynamics; the drive's work closes the ledger."""
    m = slider_crank(slide={"coulomb": 2.0, "damping": 1.0})

    def motion(t: float) -> tuple[float, float, float]:
        return 5.0 * t + 0.1 * np.sin(3.0 * t), 5.0 + 0.3 * np.cos(3.0 * t), -0.9 * np.sin(3.0 * t)

    q = setsu.close_loops(m, [0.0, 0.0, CRANK + ROD], fixed=["crank"])
    v = setsu.consistent_velocity(m, q, [motion(0.0)[1], 0, 0], fixed=["crank"])
    drive = [setsu.Prescribed("crank", motion)]
    exact = setsu.simulate(m, q, v, 1.0, 1e-3, prescribed=drive)
    rec = setsu.simulate(m, q, v, 1.0, 1e-3, prescribed=drive, environment=DEEP)
    angle = np.array([motion(t)[0] for t in rec.time])
    np.testing.assert_allclose(rec.q[:, 0], angle, atol=1e-11)
    np.testing.assert_allclose(
        rec.q[:, 2], CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2), atol=1e-10
    )
    assert rec.constraint_error.max() < 1e-10  # not rounding: where Newton ends, over the step
    size = np.abs(exact.torque[:, 0]).max()
    middle = slice(5, -5)
    # The piston turns round twice; friction changes sign there within a step.
    off = np.abs(rec.torque[middle, 0] - exact.torque[middle, 0]) > 0.02 * size
    assert off.sum() <= 6
    assert rec.ledger.actuators[-1] == pytest.approx(exact.ledger.actuators[-1], rel=5e-3)
    assert abs(rec.ledger.integration[-1]) < 5e-3 * abs(rec.ledger.actuators[-1])
    again = setsu.Simulator(m, 1e-3, prescribed=drive, environment=DEEP)
    again.reset(q, v)
    again.run(0.4)
    kept = again.save()
    again.run(0.6)
    np.testing.assert_array_equal(again.q, rec.q[-1])
    again.restore(kept)
    for _ in range(600):
        again.step()
    np.testing.assert_array_equal(again.q, rec.q[-1])


def test_a_driven_platform_carries_a_box() -> None:
    """A platform that is lifted by 0.2 m/s carries a box: it presses with its weight, and the drive feels both."""
    b = setsu.MechanismBuilder("lift")
    table, cube = setsu.Shape("box", (0.5, 0.5, 0.1)), setsu.Shape("box", (0.1, 0.1, 0.1))
    lift = setsu.Prismatic((0, 0, 1), name="lift")
    b.add_body("platform", joint=lift, mass=1.0, inertia=np.eye(3), collisions=[table])
    b.add_body("box", joint=setsu.Free(name="box"), mass=2.0, inertia=0.01 * np.eye(3), collisions=[cube])
    m = b.build()
    q = m.neutral()
    q[m.q_slices[m.joint_index("box")].start + 2] = 0.1
    v = np.zeros(m.nv)
    drive = [setsu.Prescribed("lift", lambda t: (0.1 * t * t, 0.2 * t, 0.2))]
    rec = setsu.simulate(m, q, v, 0.5, 1e-3, prescribed=drive, environment=DEEP, body_contacts=True)
    height = rec.q[-1, m.q_slices[m.joint_index("box")].start + 2] - rec.q[-1, 0]
    assert height == pytest.approx(0.1, abs=1e-5)
    assert rec.torque[-1, 0] == pytest.approx(3.0 * (G + 0.2), rel=1e-2)


@pytest.mark.parametrize("environment", [None, DEEP], ids=["alone", "environment"])
def test_bearings_resist_by_their_present_load(environment: setsu.Environment | None) -> None:
    """A swinging pendulum loads its bearing by weight and centrifugal force: as forward_dynamics has it all the way."""
    b = setsu.MechanismBuilder("pendulum")
    joint = setsu.Revolute((0, 1, 0), name="hinge", bearing_friction=0.3, bearing_radius=0.05, preload=2.0)
    b.add_body("bob", joint=joint, mass=1.0, center_of_mass=(0.5, 0, 0), inertia=0.02 * np.eye(3))
    b.add_contact_points("bob", [[0.5, 0, 0]])
    m = b.build()
    rec = setsu.simulate(m, [0.2], [8.0], 0.6, 1e-3, environment=environment)
    known = setsu.forward_dynamics(m, rec.q, rec.v, np.zeros((len(rec.q), 1)))
    assert np.abs(known).max() > 15.0
    np.testing.assert_allclose(rec.acceleration[2:-2], known[2:-2], atol=1e-9 if environment is None else 0.05)
    if environment is None:
        assert np.abs(rec.ledger.integration).max() < 1e-8


def test_a_bearing_holds_what_its_load_allows_in_an_environment() -> None:
    """Limit μ m g on a horizontal slide: 0.299 m g moves nothing, 0.301 m g does; it stops after v²/(2 μ g)."""
    b = setsu.MechanismBuilder("block")
    slide = setsu.Prismatic((1, 0, 0), name="slide", bearing_friction=0.3)
    b.add_body("block", joint=slide, mass=2.0, inertia=np.eye(3))
    b.add_contact_points("block", [[0, 0, 0]])
    m = b.build()
    for part, moves in ((0.299, False), (0.301, True)):
        rec = setsu.simulate(m, [0.0], [0.0], 0.2, 1e-3, [part * 2.0 * G], environment=DEEP)
        assert (abs(rec.q[-1, 0]) > 1e-6) == moves
        assert moves or abs(rec.q[-1, 0]) < 1e-9
    rec = setsu.simulate(m, [0.0], [1.0], 0.6, 1e-3, environment=DEEP)
    assert rec.q[-1, 0] == pytest.approx(1.0 / (2.0 * 0.3 * G), abs=1e-6)  # not rounding: order of the method


def test_bearings_of_a_slider_crank_in_an_environment() -> None:
    """Bearings in tree and loop joints resist as without environment."""
    bearing = {"bearing_friction": 0.3, "bearing_radius": 0.02, "preload": 3.0}
    m = slider_crank(bearing, {"bearing_friction": 0.2})
    q, v = start(m)
    exact = setsu.simulate(m, q, v, 0.3, 1e-3)
    smooth = setsu.simulate(slider_crank(), q, v, 0.3, 1e-3)
    rec = setsu.simulate(m, q, v, 0.3, 2e-4, environment=DEEP)
    moved = np.abs(exact.q[-1] - smooth.q[-1]).max()
    assert moved > 0.02
    np.testing.assert_allclose(rec.q[-1], exact.q[-1], atol=0.05 * moved)
    assert rec.ledger.joint_friction[-1] == pytest.approx(exact.ledger.joint_friction[-1], rel=0.02)


def _at_a_stop(limits: dict[str, float], torque: float, **options: Any) -> tuple[setsu.Mechanism, setsu.Recording]:
    """A slider-crank whose pin, which closes the loop, has limits, under a torque at the crank."""
    m = slider_crank(limits)
    q, v = start(m)
    tau = np.zeros(m.nv)
    tau[0] = torque
    return m, setsu.simulate(m, q, 0.0 * v, 0.4, torque=tau, joint_stops=True, **options)


def _pin(m: setsu.Mechanism, q: np.ndarray) -> np.ndarray:
    system = constraint_system(m)
    return np.array([system.linearise(x, np.zeros(m.nv)).loop_poses.coordinate[0] for x in q])


def _limits(m: setsu.Mechanism) -> tuple[dict[str, float], float]:
    """Limits that the pin reaches, the way it goes first, and its place at the start."""
    _, free = _at_a_stop({}, 3.0, step=1e-3)
    way = _pin(m, free.q)
    side = "upper" if way[100] > way[0] else "lower"
    return {side: float(0.5 * (way[0] + way[150]))}, float(way[0])


def test_a_stop_of_a_loop_joint_holds_in_an_environment_as_without() -> None:
    """Plastic impact, then rest under the torque: the motion of the run with events, to first order of the step."""
    m = slider_crank()
    limits, _ = _limits(m)
    ((side, limit),) = limits.items()
    _, exact = _at_a_stop(limits, 3.0, step=1e-3)
    assert any("stop" in event.kind for event in exact.events)
    found = []
    for step in (1e-3, 5e-4):
        _, rec = _at_a_stop(limits, 3.0, step=step, environment=DEEP)
        way = _pin(m, rec.q)
        beyond = way - limit if side == "upper" else limit - way
        assert beyond.max() < 1e-8
        assert "stop" in [event.kind for event in rec.events]
        assert rec.constraint_error.max() < 1e-9
        # It rests at the stop, and nothing of the energy comes back.
        assert abs(way[-1] - limit) < 1e-8
        assert np.abs(rec.v[-1]).max() < 1e-8
        total = rec.energy - rec.energy[0] - rec.ledger.actuators
        assert total.max() < 1e-6 * np.abs(rec.ledger.actuators).max()
        np.testing.assert_allclose(rec.q[-1], exact.q[-1], atol=1e-7)
        found.append(np.abs(rec.q[:: round(1e-3 / step)] - exact.q).max())
    assert found[1] < 0.75 * found[0]
    assert found[1] < 5e-3


def test_the_torque_of_a_stop_in_a_loop_joint_balances_what_presses_on_it() -> None:
    """At rest, by virtual work: -s dx = (tau - g)·dq along the motion that the loop leaves, x the pin's angle."""
    m = slider_crank()
    limits, _ = _limits(m)
    _, rec = _at_a_stop(limits, 3.0, step=5e-4, environment=DEEP)
    q = rec.q[-2]
    way = setsu.consistent_velocity(m, q, [1.0, 0.0, 0.0], fixed=["crank"])
    system = constraint_system(m)
    turn = float(system.linearise(q, way).free_jacobian[0] @ way)
    tau = np.array([3.0, 0.0, 0.0]) - setsu.gravity_torque(m, q)
    assert rec.loop_wrench[-2, 0, 4] == pytest.approx(-(tau @ way) / turn, rel=1e-6)
    assert np.abs(rec.acceleration[-2]).max() < 1e-6


def test_a_stop_of_a_loop_joint_has_the_same_bits_stepped_saved_and_in_a_batch() -> None:
    m = slider_crank()
    limits, _ = _limits(m)
    limited = slider_crank(limits)
    q, v = start(limited)
    tau = np.zeros(m.nv)
    tau[0] = 3.0
    options: dict[str, Any] = {"environment": DEEP, "joint_stops": True}
    one, two, many = (setsu.Simulator(limited, 1e-3, **options, **more) for more in ({}, {}, {"count": 2}))
    for sim in (one, two):
        sim.reset(q, 0.0 * v)
    many.reset(np.tile(q, (2, 1)), np.zeros((2, m.nv)))
    one.step(tau, 300)
    for _ in range(150):
        two.step(tau)
    kept = two.save()
    two.step(tau, 10)
    two.restore(kept)
    two.step(tau, 150)
    many.step(tau, 300)
    assert one.q.tobytes() == two.q.tobytes() == many.q[1].tobytes()


def test_a_start_beyond_the_stop_of_a_loop_joint_is_refused_by_name() -> None:
    m = slider_crank()
    limits, place = _limits(m)
    (side,) = limits
    limited = slider_crank({side: place + (-0.1 if side == "upper" else 0.1)})
    q, v = start(limited)
    with pytest.raises(setsu.InputError, match=f"beyond the {side} stop of pin"):
        setsu.simulate(limited, q, 0.0 * v, 0.1, environment=DEEP, joint_stops=True)


def test_dampers_between_points_are_entries_of_the_ledger() -> None:
    """What a spring's damper takes from a thrown body stands in the ledger in every row, whatever rows are kept."""
    b = setsu.MechanismBuilder("tethered")
    b.add_body("body", joint=setsu.Free(), mass=1.0, inertia=np.diag([0.01, 0.02, 0.03]))
    b.add_contact_points("body", [[0, 0, 0]])
    b.add_spring("tether", "world", (0, 0, 1), "body", (0.1, 0, 0), stiffness=50.0, rest_length=0.3, damping=1.0)
    m = b.build()
    q, v = np.array([0.0, 0, 0.3, 0, 0, 0, 1]), np.array([1.0, 0, 0, 1, 2, 3])
    exact = setsu.simulate(m, q, v, 1.0, 1e-3, integrator="rk8").ledger.spring_dampers
    assert exact[-1] < -0.5
    for every in (1, 10):
        rec = setsu.simulate(m, q, v, 1.0, 1e-3, environment=DEEP, record_every=every)
        np.testing.assert_allclose(rec.ledger.spring_dampers, exact[::every], atol=2e-4 * abs(exact[-1]))
        assert np.abs(rec.ledger.integration).max() < 2e-4 * abs(exact[-1])


@pytest.mark.parametrize("driven", [False, True])
def test_the_first_row_of_a_moving_linkage_has_the_forces_of_its_state(driven: bool) -> None:
    """Steps hold loops in their middle: what rows of a run record is what the state asks for, from the first row on."""
    m = slider_crank()
    q, v = start(m)
    w = float(v[m.v_slices[m.joint_index("crank")]][0])
    assert abs(w) > 1.0
    angle = float(q[m.q_slices[m.joint_index("crank")]][0])
    drive = setsu.Prescribed("crank", lambda t: (angle + w * t + 2.0 * t * t, w + 4.0 * t, 4.0))
    options: dict[str, Any] = {"prescribed": [drive]} if driven else {}
    known = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv), **options)
    for step in (1e-3, 1e-4):
        rec = setsu.simulate(m, q, v, 10 * step, step, environment=DEEP, **options)
        np.testing.assert_allclose(rec.acceleration[0], known.acceleration, atol=1e-9)
        np.testing.assert_allclose(rec.loop_wrench[0], known.loop_wrench, atol=1e-9)
        np.testing.assert_allclose(rec.joint_wrenches[0], known.joint_wrenches, atol=1e-9)
        exact = setsu.simulate(m, q, v, 10 * step, step, **options)
        np.testing.assert_allclose(rec.acceleration, exact.acceleration, atol=20.0 * step)
