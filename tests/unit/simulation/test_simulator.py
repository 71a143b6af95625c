"""A simulator is stepped from outside with the bits of `simulate`: single, batch, threads, saved and restored."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import four_bar, pendulum, puma560

FLOOR = setsu.Environment.floor()


def box() -> setsu.Mechanism:
    b = setsu.MechanismBuilder("box")
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01)
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    return b.add_contact_points("box", corners, setsu.Material(0.5, 0.4)).build()


def hand_on_plane() -> tuple[setsu.Mechanism, list[setsu.SurfaceContact]]:
    b = setsu.MechanismBuilder("slider on a plane")
    b.add_body("x", joint=setsu.Prismatic((1, 0, 0), name="x"), mass=0.1)
    b.add_body("z", "x", joint=setsu.Prismatic((0, 0, 1), name="z"), mass=1.0)
    return b.build(), [setsu.SurfaceContact("z", (0, 0, 0), setsu.Plane((0, 0, 1), 0.0), friction=0.3)]


def cases() -> dict[str, tuple[setsu.Mechanism, np.ndarray, np.ndarray, dict[str, Any]]]:
    arm, loop, sliding = puma560(), four_bar(), hand_on_plane()
    return {
        "tree": (arm, arm.random_configuration(1), np.linspace(-1, 1, 6), {}),
        "tree, adaptive": (arm, arm.random_configuration(1), np.linspace(-1, 1, 6), {"integrator": "adaptive"}),
        "loop": (loop, loop.neutral(), np.zeros(3), {}),
        "loop, radau": (loop, loop.neutral(), np.zeros(3), {"integrator": "radau"}),
        "surface": (sliding[0], np.zeros(2), np.array([0.2, 0.0]), {"contacts": sliding[1]}),
        "contact": (box(), [0, 0, 0.11, 0, 0, 0, 1.0], np.array([0.3, 0, 0, 0, 0, 1]), {"environment": FLOOR}),
    }  # fmt: skip


CASES = cases()


def spring(t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return -0.2 * v


@pytest.mark.parametrize("law", [None, spring], ids=["free", "law"])
@pytest.mark.parametrize("name", CASES)
def test_steps_runs_pieces_and_restored_worlds_have_the_same_bits(name: str, law: Any) -> None:
    m, q, v, options = CASES[name]
    rec = setsu.simulate(m, q, v, 0.08, 1e-3, torque=law, **options)
    stepped, pieces, other = (setsu.Simulator(m, 1e-3, torque=law, **options) for _ in range(3))
    for sim in (stepped, pieces):
        sim.reset(q, v)
    for _ in range(80):
        stepped.step()
    pieces.run(0.03)
    if law is not None:
        law.stateless = True
    kept = pieces.save()
    other.restore(kept)
    other.run(0.05)
    for sim in (stepped, other):
        assert np.array_equal(sim.q, rec.q[-1])
        assert np.array_equal(sim.v, rec.v[-1])
        assert sim.time == rec.time[-1]
    assert np.array_equal(stepped.acceleration, rec.acceleration[-1])
    assert np.array_equal(stepped.q, rec.q[-1])  # asking for a quantity moves nothing


@pytest.mark.parametrize("name", ["tree", "loop", "surface", "contact"])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_a_batch_are_single_runs(name: str, threads: int) -> None:
    m, q, v, options = CASES[name]
    scale = np.linspace(0.2, 1.0, 9)
    Q, V = np.tile(q, (9, 1)), scale[:, None] * v
    batch = setsu.simulate(m, Q, V, 0.05, 1e-3, torque=spring, threads=threads, **options)
    for k in (0, 4, 8):
        single = setsu.simulate(m, Q[k], V[k], 0.05, 1e-3, torque=spring, **options)
        for quantity in ("q", "v", "torque", "energy"):
            assert np.array_equal(getattr(batch, quantity)[k], getattr(single, quantity)), quantity
        assert np.array_equal(batch[k].q, single.q)


def test_worlds_that_differ_are_single_runs_of_their_own() -> None:
    worlds = [pendulum(damping=d) for d in (0.0, 0.1, 0.5)]
    batch = setsu.simulate(worlds, np.ones((3, 1)), np.zeros((3, 1)), 0.1, 1e-3)
    for k, m in enumerate(worlds):
        assert np.array_equal(batch.q[k], setsu.simulate(m, [1.0], [0.0], 0.1, 1e-3).q)


def test_worlds_with_and_without_friction_or_loops_are_single_runs_in_every_quantity() -> None:
    """A world that nothing constrains goes the way it goes alone; sensors know each world's own lengths."""
    worlds = [setsu.with_drives(setsu.sample_mechanisms.planar_arm(2), coulomb=c, damping=0.1) for c in (0.0, 0.3)]
    b = setsu.MechanismBuilder("short")
    for name, parent in (("link1", "world"), ("link2", "link1")):
        x = 0.0 if parent == "world" else 0.3
        joint, place = setsu.Revolute((0, 0, 1), name=f"joint{name[-1]}"), setsu.placement((x, 0, 0))
        b.add_body(name, parent, joint, place, mass=1.0, center_of_mass=(0.2, 0, 0), inertia=0.1 * np.eye(3))
    worlds.append(b.build())
    assert {m.body_names for m in worlds} == {("link1", "link2")}
    batch = setsu.simulate(worlds, np.full((3, 2), 0.3), np.ones((3, 2)), 0.05, 1e-3)
    for k, m in enumerate(worlds):
        single = setsu.simulate(m, [0.3, 0.3], [1.0, 1.0], 0.05, 1e-3)
        for name in ("q", "v", "acceleration", "torque", "energy", "joint_wrenches", "constraint_error"):
            assert np.array_equal(getattr(batch, name)[k], getattr(single, name)), name
        assert np.array_equal(batch.imu("link2")[k], single.imu("link2"))


def test_a_state_is_restored_under_the_same_options_alone() -> None:
    m = setsu.sample_mechanisms.planar_arm(3)

    def hand(friction: float) -> setsu.SurfaceContact:
        return setsu.SurfaceContact("link3", (0.3, 0, 0), setsu.Plane((0, 1, 0)), friction)

    floor = setsu.Environment.floor(-9.0)
    options: list[dict[str, Any]] = [
        {}, {"joint_stops": True}, {"contacts": [hand(0.3)]}, {"contacts": [hand(0.9)]}, {"environment": floor},
        {"environment": setsu.Environment.floor(-8.0)}, {"environment": floor, "contact_solver": "sugihara2002"},
    ]  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        made = [setsu.Simulator(m, 1e-3, **each) for each in options]
    for k, sim in enumerate(made):
        sim.reset(np.zeros(3), np.zeros(3))
        kept = sim.save()
        for other in made[k + 1 :]:
            with pytest.raises(setsu.InputError, match="of the same kind"):
                other.restore(kept)


@pytest.mark.parametrize("asked", [False, True], ids=["held", "law"])
def test_a_world_whose_torque_is_too_large_stops_alone(asked: bool) -> None:
    """Worlds of one block go on when another's acceleration overflows, and it is that one that is named."""
    m, torque = puma560(), np.zeros((3, 6))
    torque[1] = 1e308

    def law(t: np.ndarray, Q: np.ndarray, V: np.ndarray) -> np.ndarray:
        return torque * (t[1] > 3.5e-3)

    sim = setsu.Simulator(m, 1e-3, torque=law if asked else None, count=3)
    sim.reset(np.tile(m.neutral(), (3, 1)), np.zeros((3, 6)))
    if not asked:
        sim.step(torque)
    rec = sim.run(0.01)
    assert set(rec.stopped) == {1}
    assert "not finite" in rec.stopped[1][1]
    alone = setsu.simulate(m, m.neutral(), np.zeros(6), 0.01 if asked else 0.011)
    assert np.array_equal(rec.q[0, -1], alone.q[-1])
    assert np.array_equal(rec.q[2, -1], alone.q[-1])
    single = setsu.Simulator(m)
    single.reset(m.neutral(), np.zeros(6))
    with pytest.raises(setsu.SimulationStopped, match="at t = 0 s the state is not finite"):
        single.step(torque[1])


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "rk8"])
@pytest.mark.parametrize("name", ["puma560", "floating_box"])
def test_a_world_that_leaves_all_bounds_stops_alone(name: str, integrator: str) -> None:
    """Quaternions of one world that can no longer be turned do not hold those of the others."""
    m = getattr(setsu.sample_mechanisms, name)()
    alone = setsu.Simulator(m, 1e-3, integrator=integrator)
    alone.reset(m.neutral(), np.full(m.nv, 0.1))
    alone.step(steps=5)
    for size in (1e10, 1e50, 1e150):
        v = np.full((3, m.nv), 0.1)
        v[1] = size
        sim = setsu.Simulator(m, 1e-3, count=3, integrator=integrator)
        sim.reset(np.tile(m.neutral(), (3, 1)), v)
        sim.step(steps=5)
        assert set(sim.stopped) == {1}
        assert np.array_equal(sim.q[[0, 2]], np.stack([alone.q, alone.q]))
        torque = np.zeros((3, m.nv))
        torque[1] = size * 1e100
        sim.reset(np.tile(m.neutral(), (3, 1)), np.full((3, m.nv), 0.1))
        sim.step(torque)
        sim.step(steps=4)
        assert set(sim.stopped) == {1}
        assert np.array_equal(sim.q[[0, 2]], np.stack([alone.q, alone.q]))


def test_worlds_at_different_times_are_recorded_at_their_own() -> None:
    m = pendulum()
    sim = setsu.Simulator(m, 0.01, torque=lambda t, Q, V: np.sin(t)[:, None], count=2)
    sim.reset(np.ones((2, 1)), np.zeros((2, 1)))
    assert sim.run(0.1).time.shape == (11,)
    sim.reset([[1.0]], [[0.0]], time=5.0, rows=[1])
    rec = sim.run(0.055)
    alone = setsu.Simulator(m, 0.01, torque=lambda t, q, v: np.sin([t]))
    alone.reset([1.0], [0.0], time=5.0)
    single = alone.run(0.055)
    assert np.array_equal(rec[1].time, single.time)
    assert np.array_equal(rec.time[1], single.time)
    assert np.array_equal(rec.torque[1], single.torque)
    assert len(rec) == 7


def test_a_world_that_stops_is_frozen_and_the_others_go_on() -> None:
    def law(t: np.ndarray, Q: np.ndarray, V: np.ndarray) -> np.ndarray:
        tau = -0.1 * V
        tau[1] = np.where(t[1] > 0.02, np.nan, tau[1])
        return tau

    m = pendulum()
    sim = setsu.Simulator(m, 1e-3, torque=law, count=3)
    sim.reset(np.ones((3, 1)), np.zeros((3, 1)))
    rec = sim.run(0.1)
    assert set(rec.stopped) == {1}
    assert rec.stopped[1][0] == pytest.approx(0.02, abs=1.5e-3)
    assert "nan" in rec.stopped[1][1]
    alone = setsu.simulate(m, [1.0], [0.0], 0.1, 1e-3, torque=lambda t, q, v: -0.1 * v)
    assert np.array_equal(rec.q[0], alone.q)
    assert np.array_equal(rec.q[2], alone.q)
    assert np.isfinite(rec.q).all()
    sim.reset(np.ones((1, 1)), np.zeros((1, 1)), rows=[1])
    assert not sim.stopped


def test_a_push_is_the_force_it_says_and_ends_with_the_run() -> None:
    m = setsu.MechanismBuilder("block", gravity=(0, 0, 0))
    m.add_body("block", joint=setsu.Free(name="free"), mass=2.0, inertia=np.eye(3))
    sim = setsu.Simulator(m.build(), 1e-3)
    sim.reset(m.build().neutral(), np.zeros(6))
    sim.push("block", (4.0, 0.0, 0.0))
    sim.run(0.5)
    assert sim.v[0] == pytest.approx(1.0, abs=1e-12)
    sim.run(0.5)
    assert sim.v[0] == pytest.approx(1.0, abs=1e-12)
    sim.push("block", (0.0, 0.0, 0.0), torque=(0.0, 0.0, 3.0))
    sim.step(steps=100)
    assert sim.v[5] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("name", ["tree", "loop", "floor"])
def test_pushes_are_saved_and_restored_whichever_bodies_were_pushed_before(name: str) -> None:
    m = setsu.sample_mechanisms.four_bar() if name == "loop" else setsu.sample_mechanisms.planar_arm(3)
    ground = {"environment": setsu.Environment.floor(-5.0)} if name == "floor" else {}
    one, two = (setsu.Simulator(m, 1e-3, **ground) for _ in range(2))
    first, second = m.body_names[0], m.body_names[2]
    for sim in (one, two):
        sim.reset(m.neutral(), np.zeros(3))
    before = one.save()
    one.push(second, (0.0, 1.0, 4.0), torque=(1.0, 2.0, 3.0))
    pushed = one.save()
    two.push(first, (0.0, 0.0, -2.0))
    two.push(second, (3.0, 0.0, 0.0))
    two.restore(pushed)
    for sim in (one, two):
        sim.step(steps=20)
    assert np.array_equal(one.v, two.v)
    moved = one.v
    for sim in (one, two):
        sim.restore(before)
        sim.step(steps=20)
    assert np.array_equal(one.v, two.v)
    assert not np.array_equal(one.v, moved)


def test_a_held_torque_acts_beside_the_law() -> None:
    m = setsu.MechanismBuilder("slider", gravity=(0, 0, 0))
    m.add_body("slider", joint=setsu.Prismatic((1, 0, 0)), mass=1.0)
    sim = setsu.Simulator(m.build(), 1e-2, torque=lambda t, q, v: [1.0])
    sim.reset([0.0], [0.0])
    sim.step([2.0], steps=10)
    assert sim.v[0] == pytest.approx(0.3, abs=1e-14)
    sim.step(steps=10)
    assert sim.v[0] == pytest.approx(0.4, abs=1e-14)


def test_files_go_on_bit_for_bit(tmp_path: Path) -> None:
    m, q, v, options = CASES["contact"]
    sim = setsu.Simulator(m, 1e-3, **options)
    sim.reset(q, v)
    sim.step(steps=40)
    sim.save(tmp_path / "box.sim")
    sim.step(steps=40)
    loaded = setsu.Simulator.load(tmp_path / "box.sim")
    loaded.step(steps=40)
    assert np.array_equal(loaded.q, sim.q)
    (tmp_path / "bad.sim").write_bytes(b"setsu simulator 1\nnonsense")
    with pytest.raises(setsu.InputError, match="damaged"):
        setsu.Simulator.load(tmp_path / "bad.sim")


def test_a_named_integrator_is_used_or_refused() -> None:
    m, q, v, options = CASES["contact"]
    with pytest.raises(setsu.InputError, match="'rk4' cannot step over impacts"):
        setsu.Simulator(m, integrator="rk4", **options)
    with pytest.raises(setsu.InputError, match="needs an environment"):
        setsu.Simulator(pendulum(), integrator="time_stepping")
    assert setsu.simulate(m, q, v, 0.01, **options).integrator == "time_stepping"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda sim: sim.step(), "expected a state first"),
        (lambda sim: (sim.reset([0.0], [0.0]), sim.step([1.0, 2.0])), "expected shape"),
        (lambda sim: (sim.reset([0.0], [0.0]), sim.step(steps=0)), "at least 1"),
        (lambda sim: (sim.reset([0.0], [0.0]), sim.push("nobody", (0, 0, 1))), "unknown body"),
        (lambda sim: sim.reset([0.0], [0.0], rows=[0]), "one world"),
        (lambda sim: sim.restore({}), "same kind"),
    ],
)
def test_bad_calls_say_what_was_expected(call: Any, words: str) -> None:
    with pytest.raises(setsu.InputError, match=words):
        call(setsu.Simulator(pendulum(), 1e-3))


def test_two_threads_may_run_two_simulators() -> None:
    from concurrent.futures import ThreadPoolExecutor

    m, q, v, options = CASES["loop"]

    def go(_: int) -> np.ndarray:
        return setsu.simulate(m, q, v, 0.2, 1e-3, **options).q

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(go, range(2))
    assert np.array_equal(first, second)
