"""Dry friction of joints in simulation: where joints come to rest, that they stay there, and what moves them again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.simulation.joint_friction import without_dry_friction

MASS, G = 2.0, 9.81
INTEGRATORS = ("rk4", "rk8", "adaptive", "radau")


def block(**options: float) -> setsu.Mechanism:
    """2 kg on a level rail."""
    builder = setsu.MechanismBuilder("block")
    joint = setsu.Prismatic((1, 0, 0), name="slide", **options)
    builder.add_body("block", joint=joint, mass=MASS, inertia=np.eye(3))
    return builder.build()


def pendulum(**options: float) -> setsu.Mechanism:
    """1 kg at 1 m."""
    builder = setsu.MechanismBuilder("pendulum")
    builder.add_body("bob", joint=setsu.Revolute((0, -1, 0), "hinge", **options), mass=1.0, center_of_mass=(0, 0, -1.0))
    return builder.build()


def with_friction(m: setsu.Mechanism, coulomb: Any) -> setsu.Mechanism:
    """The mechanism with dry friction in every joint, those of loops too: one limit, or a function of the joint."""

    def changed(part: Any) -> Any:
        limit = coulomb(part.joint) if callable(coulomb) else coulomb
        return replace(part, joint=replace(part.joint, coulomb=limit))

    return replace(m, bodies=tuple(map(changed, m.bodies)), loops=tuple(map(changed, m.loops)))


# One joint -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_block_stops_after_its_braking_distance_and_stays(integrator: str) -> None:
    """v0²/(2 c/m), reached at v0/(c/m), whatever the step; then v = 0 exactly."""
    run = setsu.simulate(block(coulomb=4.0), [0.0], [1.0], 3.0, 0.013, integrator=integrator)
    (stick,) = run.events
    assert (stick.kind, stick.name, stick.time) == ("stick", "slide", pytest.approx(0.5, abs=1e-8))
    after = run.time > stick.time
    np.testing.assert_allclose(run.q[after], 0.25, rtol=1e-13)
    assert np.abs(run.v[after]).max() == 0.0
    assert run.ledger.joint_friction[-1] == pytest.approx(-0.5 * MASS, rel=1e-13)
    assert np.abs(run.ledger.integration).max() < 1e-13


def test_a_block_stops_with_the_semi_implicit_method_too() -> None:
    run = setsu.simulate(block(coulomb=4.0), [0.0], [1.0], 1.0, 1e-3, integrator="semi_implicit")
    assert [event.kind for event in run.events] == ["stick"]
    assert run.q[-1, 0] == pytest.approx(0.25, abs=1e-3)
    assert run.v[-1, 0] == 0.0


@pytest.mark.parametrize("push", [3.999999, -3.999999, 4.000001, -4.5])
def test_a_block_at_rest_moves_only_when_pushed_beyond_the_limit(push: float) -> None:
    """q = (|F| - c) t² / 2m in the direction of the push, or not at all."""
    run = setsu.simulate(block(coulomb=4.0), [0.3], [0.0], 1.0, 0.01, [push])
    moved = math.copysign(max(abs(push) - 4.0, 0.0), push) / (2.0 * MASS)
    np.testing.assert_allclose(run.q[-1, 0] - 0.3, moved, rtol=1e-8, atol=1e-16)


def test_a_slowly_turning_push_makes_a_block_slip_and_stick_in_turn() -> None:
    """Under 6 sin t the block slips first where 6 sin t = 4, and every half period again as before."""
    run = setsu.simulate(block(coulomb=4.0), [0.0], [0.0], 10.0, 0.01, lambda t, q, v: [6.0 * math.sin(t)])
    assert [event.kind for event in run.events] == ["slip", "stick"] * 3
    times = [event.time for event in run.events]
    assert times[0] == pytest.approx(math.asin(4.0 / 6.0), abs=1e-7)
    np.testing.assert_allclose(np.diff(times[::2]), math.pi, atol=1e-7)
    np.testing.assert_allclose(np.diff(times[1::2]), math.pi, atol=1e-6)
    assert np.abs(run.ledger.integration).max() < 1e-10


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_block_on_a_spring_loses_two_dead_bands_per_half_swing(integrator: str) -> None:
    """Amplitudes fall by 2 c/k each half period π √(m/k), until one is within c/k: 0.31, 0.27, ... 0.03, 0.01 rest."""
    c, k = 1.0, 50.0
    run = setsu.simulate(block(coulomb=c, stiffness=k), [0.31], [0.0], 6.0, 0.01, integrator=integrator)
    assert [event.kind for event in run.events] == ["turn"] * 7 + ["stick"]
    half = math.pi * math.sqrt(MASS / k)
    np.testing.assert_allclose([event.time for event in run.events], half * np.arange(1, 9), rtol=1e-6)
    assert run.q[-1, 0] == pytest.approx(-0.01 + 0.0, abs=1e-6)
    assert run.ledger.joint_friction[-1] == pytest.approx(-0.5 * k * (0.31**2 - 0.01**2), rel=1e-6)


def test_a_pendulum_ends_within_its_dead_band() -> None:
    """At rest where m g l sin q <= c, and there for good; each swing's loss of energy is c times its way."""
    run = setsu.simulate(pendulum(coulomb=0.5), [1.0], [0.0], 20.0, 0.01, integrator="rk8")
    assert run.events[-1].kind == "stick"
    rest = run.time > run.events[-1].time
    assert G * abs(math.sin(run.q[-1, 0])) <= 0.5
    assert np.ptp(run.q[rest]) == 0.0
    way = np.abs(np.diff(run.q[:, 0])).sum()
    lost = G * (math.cos(run.q[-1, 0]) - math.cos(1.0))
    # The recorded points leave out the bits around each turn, within a step of it.
    assert lost == pytest.approx(0.5 * way, rel=1e-3)
    assert lost == pytest.approx(-run.ledger.joint_friction[-1], rel=1e-12)
    assert np.abs(run.ledger.integration).max() < 1e-11


@pytest.mark.parametrize(
    "options", [{"bearing_friction": 0.3}, {"bearing_friction": 0.2, "preload": 0.1 / 0.2 * MASS * G}]
)
def test_friction_of_a_bearing_holds_what_its_load_allows(options: dict[str, float]) -> None:
    """Limit μ (m g + P) = 0.3 m g: stops after v0²/(2 · 0.3 g), holds 0.299 m g, lets go of 0.301 m g."""
    m = block(**options)
    run = setsu.simulate(m, [0.0], [1.0], 0.5, 0.01)
    assert [event.kind for event in run.events] == ["stick"]
    assert run.q[-1, 0] == pytest.approx(1.0 / (2.0 * 0.3 * G), rel=1e-12)
    for part, moves in ((0.299, False), (0.301, True)):
        run = setsu.simulate(m, [0.0], [0.0], 0.1, 0.01, [part * MASS * G])
        assert (run.q[-1, 0] > 0.0) == moves


# Several joints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_accelerations_out_of_rest_obey_coulomb_in_every_joint(seed: int) -> None:
    """Joint by joint: moves and |f| = c against it, or is at rest with |f| <= c; f = M a + bias is unique."""
    rng = np.random.default_rng(seed)
    tree = setsu.sample_mechanisms.random_tree(seed, n_bodies=5)
    size = 10.0 ** rng.uniform(-1.0, 1.5)
    m = with_friction(tree, lambda joint: tuple(rng.uniform(0.1, 1.0, joint.nv) * size))
    q, v = m.neutral(), rng.normal(size=m.nv) * (rng.random(m.nv) < 0.3)
    a = setsu.simulate(m, q, v, 1e-3, 1e-3).acceleration[0]
    force = setsu.inverse_dynamics(without_dry_friction(m), q, v, a)
    direction = np.where(v != 0.0, np.sign(v), np.where(np.abs(a) < 1e-9, 0.0, np.sign(a)))
    moving = direction != 0.0
    scale = 1.0 + np.abs(force).max()
    np.testing.assert_allclose(force[moving], -(m.coulomb * direction)[moving], atol=1e-12 * scale)
    assert (np.abs(force[~moving]) <= m.coulomb[~moving] + 1e-8 * scale).all()


def test_a_gearbox_holds_as_much_as_its_two_sides_together() -> None:
    """Motor with 0.2 N m at ratio 5 and arm with 0.7 N m: the arm stands up to 5 · 0.2 + 0.7 N m."""

    def drive() -> setsu.Mechanism:
        builder = setsu.MechanismBuilder("geared arm", gravity=(0, 0, 0))
        for name, coulomb in (("arm", 0.7), ("motor", 0.2)):
            joint = setsu.Revolute((0, 0, 1), name, coulomb=coulomb)
            builder.add_body(name, joint=joint, mass=1.0, inertia=np.eye(3) * (1.0 if name == "arm" else 0.01))
        builder.add_coupling("gearbox", {"motor": 1.0, "arm": -5.0})
        return builder.build()

    m = drive()
    holding = setsu.simulate(m, [0.0, 0.0], [0.0, 0.0], 0.5, 0.01, [1.7 - 1e-6, 0.0])
    assert np.abs(holding.q).max() < 1e-15
    moving = setsu.simulate(m, [0.0, 0.0], [0.0, 0.0], 1.0, 0.01, [2.7, 0.0])
    assert moving.q[-1, 0] == pytest.approx(0.5 * 1.0 / (1.0 + 25.0 * 0.01), rel=1e-9)
    np.testing.assert_allclose(moving.q[:, 1], 5.0 * moving.q[:, 0], atol=1e-14)


def _standing_four_bar() -> tuple[setsu.Mechanism, np.ndarray, float, float]:
    """A four-bar with 0.3 N m in all four joints, closed; the drive that balances it; what friction can hold."""
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, [0.8, -1.0, 0.5], fixed=["crank"])
    ratios = setsu.consistent_velocity(m, q, [1.0, 0.0, 0.0], fixed=["crank"])
    balance = setsu.constrained_inverse_dynamics(m, q, np.zeros(3), np.zeros(3), actuated=["crank"]).torque[0]
    last = ratios[0] + ratios[1] - ratios[2]  # the pin turns by what the coupler turns against the rocker
    return with_friction(m, 0.3), q, float(balance), float(0.3 * (np.abs(ratios).sum() + abs(last)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_four_bar_stands_as_long_as_all_its_joints_together_hold_it(sign: float) -> None:
    """Virtual work: the drive may miss the balance by Σ c_i |dr_i / d crank|, the cut joint included."""
    m, q, balance, room = _standing_four_bar()
    torque = lambda part: [balance + sign * part * room, 0.0, 0.0]  # noqa: E731
    held = setsu.simulate(m, q, np.zeros(3), 0.3, 0.01, torque(1.0 - 1e-6))
    assert np.abs(held.q - q).max() < 1e-14
    moved = setsu.simulate(m, q, np.zeros(3), 0.3, 0.01, torque(1.0 + 1e-3))
    assert sign * (moved.q[-1, 0] - q[0]) > 1e-6
    assert moved.constraint_error.max() < 1e-14


def test_a_four_bar_with_friction_comes_to_rest_and_every_joule_is_booked() -> None:
    m = with_friction(setsu.sample_mechanisms.four_bar(), 1.0)
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0], fixed=["crank"])
    run = setsu.simulate(m, q, v, 4.0, 0.005, integrator="rk8")
    assert np.abs(run.v[-1]).max() < 1e-15
    assert run.ledger.joint_friction[-1] == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-9)
    assert np.abs(run.ledger.integration).max() < 1e-8
    assert run.constraint_error.max() < 1e-13


def test_moving_the_cut_changes_neither_motion_nor_rest() -> None:
    """Friction in the joint that closes the loop is the same as in a joint of the tree."""
    m = with_friction(setsu.sample_mechanisms.four_bar(), 0.4)
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0], fixed=["crank"])
    moved = setsu.move_cut(m, "pin", "coupler")
    first = setsu.simulate(m, q, v, 3.0, 0.01, integrator="rk8")
    second = setsu.simulate(moved.mechanism, *moved.convert(q, v), 3.0, 0.01, integrator="rk8")
    crank = [run.q[:, run.joint_names.index("crank")] for run in (first, second)]
    np.testing.assert_allclose(crank[1], crank[0], atol=1e-9)
    assert len(first.events) == len(second.events)


def test_an_impact_shakes_a_sticking_joint_loose() -> None:
    """The upper arm ends at its stop; the fore-arm, held by friction so far, swings on and stops by friction."""
    builder = setsu.MechanismBuilder("arm", gravity=(0, 0, 0))
    upper = setsu.Revolute((0, 0, 1), "shoulder", upper=0.5)
    builder.add_body("upper arm", joint=upper, mass=1.0, center_of_mass=(0.5, 0, 0), inertia=np.eye(3) * 0.1)
    fore = setsu.Revolute((0, 0, 1), "elbow", coulomb=0.6)
    builder.add_body("fore-arm", parent="upper arm", joint=fore, mass=1.0, center_of_mass=(0.5, 0, 0),
                     inertia=np.eye(3) * 0.1, placement=setsu.placement(translation=(1.0, 0, 0)))  # fmt: skip
    m = builder.build()
    run = setsu.simulate(m, [0.0, 0.0], [1.0, 0.0], 3.0, 0.01, joint_stops=True, integrator="rk8")
    kinds = [event.kind for event in run.events if event.name in ("elbow", "upper stop of shoulder")]
    assert kinds[0] == "stop"
    assert kinds[-1] == "stick"
    swing = run.events[0].velocity_jump[1]
    assert swing > 0.1
    # From then on only the fore-arm turns, about the elbow: ½ I ω² = c Δq.
    inertia = 0.1 + 1.0 * 0.5**2
    assert run.q[-1, 1] == pytest.approx(0.5 * inertia * swing**2 / 0.6, rel=1e-8)
    assert np.abs(run.ledger.integration).max() < 1e-9


def test_sweeps_give_the_same_rest_as_single_runs(tmp_path: Any) -> None:
    """Runs that differ in the limit of friction, the first without any: each ends as `simulate` ends it."""
    study = {
        "scenario": {
            "model": {"sample": "pendulum"},
            "start": {"q": {"joint1": 0.6}},
            "simulation": {"duration": 2.0, "step": 0.01, "integrator": "rk4"},
        },
        "sampling": "grid",
        "chunk": 4,
        "parameters": [{"path": "model.joints.joint1.coulomb", "name": "friction", "values": [0.0, 1.0, 3.0]}],
    }
    found = setsu.sweep(study, tmp_path / "store", jobs=1)
    for k, limit in enumerate((0.0, 1.0, 3.0)):
        m = with_friction(setsu.sample_mechanisms.pendulum(), limit)
        run = setsu.simulate(m, [0.6], [0.0], 2.0, 0.01)
        np.testing.assert_allclose(found["final_q"].values[k], run.q[-1], atol=1e-12)
