"""`record` chooses what a recording keeps: the same numbers for what it names, an error that says so for the rest."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.simulation import recording_set
from setsu.simulation.setting_up import RECORDED

KINDS = ("tree", "loop", "floor")


@cache
def world(kind: str) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, dict[str, Any]]:
    """A mechanism, its start and options."""
    if kind == "tree":
        m = setsu.sample_mechanisms.planar_arm(3)
        return m, np.full(m.nq, 0.3), np.full(m.nv, 0.1), {"torque": np.full(m.nv, 0.5)}
    if kind == "loop":
        m = setsu.sample_mechanisms.four_bar()
        return m, m.neutral(), np.zeros(m.nv), {}
    b = setsu.MechanismBuilder("box")
    shape = setsu.Shape("box", (0.2, 0.2, 0.2))
    for k in range(2):
        b.add_body(f"b{k}", joint=setsu.Free(name=f"f{k}"), mass=1.0, inertia=0.01 * np.eye(3), collisions=[shape])
    m = b.build()
    q = m.neutral()
    q[2], q[9] = 0.1, 0.3
    return m, q, np.zeros(m.nv), {"environment": setsu.Environment.floor(), "body_contacts": True}


def run(kind: str, batched: bool, **options: Any) -> setsu.Recording:
    m, q, v, given = world(kind)
    if batched:
        q, v = np.stack([q, q]), np.stack([v, v])
    return setsu.simulate(m, q, v, 0.05, 5e-3, **given, **options)


def numbers(value: Any) -> list[Any]:
    """All arrays of a quantity."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple):
        return [(event.time, event.kind, event.name) for event in value if not isinstance(event, tuple)]
    return [] if value is None else [getattr(value, name) for name in value.__dataclass_fields__ if name != "pairs"]


@pytest.mark.parametrize("batched", [False, True], ids=["one", "batch"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_quantity_by_itself_is_that_of_a_whole_recording(kind: str, batched: bool) -> None:
    whole = run(kind, batched, record=RECORDED)
    for name in RECORDED:
        if batched and name in ("contact_log", "body_contacts"):
            continue  # recording[k] has them
        found = getattr(run(kind, batched, record=(name,)), name)
        for one, other in zip(numbers(found), numbers(getattr(whole, name)), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
    for k in range(2 if batched else 0):
        assert numbers(run(kind, batched, record=("contact_log",))[k].contact_log)[0:1] is not None


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_keep_all_that_the_state_does_not_tell(kind: str) -> None:
    one, many = run(kind, False), run(kind, True)
    for name in RECORDED:
        if name not in ("events", "contact_log", "body_contacts", "ledger"):
            for k in range(2):
                np.testing.assert_array_equal(
                    getattr(many, name) if name == "time" else getattr(many, name)[k], getattr(one, name)
                )


def test_what_was_not_recorded_is_an_error_that_says_so(tmp_path: Path) -> None:
    rec = run("floor", False, record=("q", "v", "energy"))
    for name in ("contact_force", "normal_force", "friction_force", "joint_wrenches", "acceleration"):
        assert not rec.has(name)
        with pytest.raises(setsu.InputError, match=rf"Recording\.{name}: not recorded.*record=\('{name}'"):
            getattr(rec, name)
    assert rec.contact_log is not None
    with pytest.raises(setsu.InputError, match="contact_log: not recorded"):
        _ = rec.contact_log.position
    assert rec.contact_log.depth.shape == rec.time.shape
    # Files and other processes get what there is.
    for back in (setsu.Recording.load(rec.save(tmp_path / "run.npz")), pickle.loads(pickle.dumps(rec))):
        np.testing.assert_array_equal(back.q, rec.q)
        np.testing.assert_array_equal(back.energy, rec.energy)
        assert not back.has("contact_force")
        with pytest.raises(setsu.InputError, match="contact_force: not recorded"):
            _ = back.contact_force
    tree = run("tree", True)[0]
    back = setsu.Recording.load(tree.save(tmp_path / "tree.npz"))
    with pytest.raises(setsu.InputError, match="ledger: not recorded"):
        _ = back.ledger


def test_the_present_of_a_simulator_is_whole_whatever_is_recorded() -> None:
    m, q, v, given = world("floor")
    sim = setsu.Simulator(m, 5e-3, record=("q",), **given)
    sim.reset(q, v)
    sim.step(steps=5)
    assert sim.joint_wrenches.shape == (m.n_bodies, 6)
    assert sim.acceleration.shape == (m.nv,)
    assert not sim.run(0.05).has("joint_wrenches")


def test_a_recording_above_half_the_free_memory_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    m, q, v, given = world("floor")
    monkeypatch.setattr(recording_set, "_free_memory", lambda: 2**20)
    sim = setsu.Simulator(m, 1e-3, **given)
    sim.reset(q, v)
    with pytest.raises(setsu.InputError, match=r"10002 states of 1 worlds takes [\d.]+ GiB, more than half the free"):
        sim.run(10.0)
    sim.run(0.1)
    small = setsu.Simulator(m, 1e-3, record=("q",), **given)
    assert small._blocks[0].row_bytes < sim._blocks[0].row_bytes


def test_unknown_quantities_are_refused() -> None:
    with pytest.raises(setsu.InputError, match=r"record: unknown quantity 'forces'"):
        run("tree", False, record=("forces",))
