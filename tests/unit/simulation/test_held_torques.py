"""A torque held from Python goes into the machine by one builtin call, a reset is one copy: the bits stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import setsu
from setsu.native import machine_calls
from setsu.sample_mechanisms import four_bar, hoap1_like, planar_arm, quadruped

STEP = 1e-3


def _tree() -> tuple[setsu.Mechanism, np.ndarray, dict[str, Any]]:
    m = planar_arm(3)
    return m, np.array([0.3, -0.2, 0.5]), {}


def _loop() -> tuple[setsu.Mechanism, np.ndarray, dict[str, Any]]:
    m = four_bar()
    return m, m.neutral(), {}


def _floor(make: Any = quadruped, **options: Any) -> tuple[setsu.Mechanism, np.ndarray, dict[str, Any]]:
    m = make()
    q = m.neutral()
    poses = setsu.body_poses(m, q)
    lowest = 0.0
    for point in m.contact_points:
        frame = m.frame(point.body)
        T = poses[frame.body] @ frame.pose.matrix
        lowest = min(lowest, float(T[2, :3] @ np.asarray(point.position) + T[2, 3]) - point.radius)
    q[2] -= lowest
    return m, q, {"environment": setsu.Environment.floor(), **options}


WORLDS = {"tree": _tree, "loop": _loop, "floor": _floor}


def _bits(sim: setsu.Simulator) -> tuple[Any, bytes, bytes]:
    return sim.time, sim.q.tobytes(), sim.v.tobytes()


def _torque(m: setsu.Mechanism) -> np.ndarray:
    return np.where(np.arange(m.nv) % 2 == 0, 0.25, -0.5)


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("base", [None, 0.125])
def test_every_way_to_give_a_torque_has_the_same_bits(kind: str, base: float | None) -> None:
    m, q, options = WORLDS[kind]()
    law = None if base is None else np.full(m.nv, base)
    given = _torque(m)
    wide = np.zeros((m.nv, 2))
    wide[:, 0] = given
    ways = [given, given.tolist(), given.astype(np.float32), wide[:, 0], tuple(given), np.asarray(given, order="F")]
    found = []
    for torque in ways:
        sim = setsu.Simulator(m, STEP, torque=law, **options)
        sim.reset(q, np.zeros(m.nv))
        for _ in range(20):
            sim.step(torque)
        sim.step(None, 3)
        sim.step(torque, 7)
        found.append(_bits(sim))
    assert all(bits == found[0] for bits in found)


@pytest.mark.parametrize("kind", WORLDS)
def test_what_does_not_fit_is_refused_and_moves_nothing(kind: str) -> None:
    m, q, options = WORLDS[kind]()
    sim = setsu.Simulator(m, STEP, **options)
    with pytest.raises(setsu.InputError, match="reset"):
        sim.step(_torque(m))
    sim.reset(q, np.zeros(m.nv))
    before = _bits(sim)
    bad: list[tuple[Any, Any, str]] = [
        (np.zeros(m.nv + 1), 1, "shape"),
        (np.zeros((1, m.nv)), 1, "shape"),
        (0.0, 1, "shape"),
        (_torque(m), 0, "at least 1"),
        (_torque(m), True, "whole number"),
        (_torque(m), 1.0, "whole number"),
        (None, -3, "at least 1"),
        (None, "2", "whole number"),
    ]
    for torque, steps, words in bad:
        with pytest.raises(setsu.InputError, match=words):
            sim.step(torque, steps)
        assert _bits(sim) == before
    # Whole numbers of NumPy are whole numbers.
    kept = sim.save()
    sim.step(_torque(m), 2)
    taken = _bits(sim)
    sim.restore(kept)
    sim.step(_torque(m), np.int64(2))  # type: ignore[arg-type]
    assert _bits(sim) == taken


@pytest.mark.parametrize("kind", WORLDS)
def test_a_torque_without_a_number_stops_the_world_at_its_last_good_state(kind: str) -> None:
    m, q, options = WORLDS[kind]()
    sim = setsu.Simulator(m, STEP, **options)
    sim.reset(q, np.zeros(m.nv))
    sim.step(_torque(m), 5)
    before = _bits(sim)
    bad = _torque(m)
    bad[-1] = np.nan
    with pytest.raises(setsu.SimulationStopped, match="torque"):
        sim.step(bad)
    assert _bits(sim) == before
    assert list(sim.stopped) == [0]
    sim.reset(q, np.zeros(m.nv))
    sim.step(_torque(m))
    assert not sim.stopped


@pytest.mark.parametrize("kind", WORLDS)
def test_quantities_of_the_present_state_between_steps_change_nothing(kind: str) -> None:
    m, q, options = WORLDS[kind]()
    looked, plain = (setsu.Simulator(m, STEP, **options) for _ in range(2))
    for sim in (looked, plain):
        sim.reset(q, np.zeros(m.nv))
        for _ in range(10):
            sim.step(_torque(m))
            if sim is looked:
                assert np.isfinite(sim.acceleration).all()
    assert _bits(looked) == _bits(plain)
    assert len(looked.events) == len(plain.events)


def test_the_builtin_and_its_portable_twin_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    m, q, options = _floor()
    found = []
    for portable in (False, True):
        with monkeypatch.context() as patch:
            if portable:
                patch.setattr(machine_calls, "headers_as_expected", lambda: False)
            sim = setsu.Simulator(m, STEP, **options)
            sim.reset(q, np.zeros(m.nv))
            for _ in range(10):
                sim.step(_torque(m))
            sim.step(None, 4)
            hold = sim._quick
            assert [hold(_torque(m), 1 << 70), hold("x", 1), hold(None, True)] == [machine_calls.REFUSED] * 3
            found.append(_bits(sim))
    assert found[0] == found[1]


WITH_MEMORY = {
    "quadruped": lambda: _floor(),
    "stops": lambda: _floor(joint_stops=True),
    "humanoid": lambda: _floor(hoap1_like),
    "shapes": lambda: _floor(hoap1_like, body_contacts=True),
}


@pytest.mark.parametrize("kind", WITH_MEMORY)
def test_a_reset_world_is_a_new_one(kind: str) -> None:
    """Also after it has taken over the memory of another world: nothing is left of contacts and impulses."""
    m, q, options = WITH_MEMORY[kind]()
    old, new, other = (setsu.Simulator(m, STEP, **options) for _ in range(3))
    moving = 0.3 * np.sin(np.arange(m.nv, dtype=float))
    for sim in (old, other):
        sim.reset(q, moving)
        sim.step(_torque(m), 60)
    other.step(None, 30)
    old.restore(other.save())
    for sim in (old, new):
        sim.reset(q, np.zeros(m.nv), 1.5)
    block: Any = old._blocks[0]
    for room in (block.problem.contacts, block.problem.pairs):
        # What `drop_overlaps` looked at is not of the run.
        assert kind == "shapes" or not room.view(np.uint8).any()
    for sim in (old, new):
        for _ in range(15):
            sim.step(_torque(m))
    assert _bits(old) == _bits(new)
    assert old.energy == new.energy


def test_rows_are_reset_alone() -> None:
    m, q, options = _floor()
    many, single = setsu.Simulator(m, STEP, count=4, **options), setsu.Simulator(m, STEP, **options)
    many.reset(np.tile(q, (4, 1)), np.zeros((4, m.nv)))
    many.step(_torque(m), 30)
    before = many.q
    many.reset(q, np.zeros(m.nv), rows=[2])
    assert (many.q[[0, 1, 3]] == before[[0, 1, 3]]).all()
    single.reset(q, np.zeros(m.nv))
    many.step(_torque(m), 10)
    single.step(_torque(m), 10)
    assert many.q[2].tobytes() == single.q.tobytes()
    assert many.time.tolist() == [0.04, 0.04, 0.01, 0.04]
