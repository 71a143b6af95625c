"""The studies of stepping: both engines start from the same state and move alike; tables and JSON hold every row."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from setsu.benchmarks import simulator as stepping
from setsu.benchmarks import stepping_report as report
from setsu.benchmarks.machine import describe_machine


@pytest.fixture(scope="module")
def subjects() -> dict[str, stepping._Subject]:
    return {subject.name: subject for subject in stepping._subjects(stepping._mujoco("simulator"))}


def test_the_twins_move_alike(subjects: dict[str, stepping._Subject]) -> None:
    subject = subjects["PUMA 560"]
    sim = subject.simulator()
    sim.step(steps=100)
    subject.begin(mujoco)
    mujoco.mj_step(subject.model, subject.data, 100)
    np.testing.assert_allclose(sim.q, subject.data.qpos, atol=1e-9)
    np.testing.assert_allclose(sim.v, subject.data.qvel, atol=1e-8)


def test_the_twin_of_the_closed_legs_keeps_them_closed() -> None:
    subject = stepping._closed_legs(mujoco)
    subject.begin(mujoco)
    mujoco.mj_step(subject.model, subject.data, 100)
    sim = subject.simulator()
    sim.step(steps=100)
    np.testing.assert_allclose(sim.q[:3], subject.data.qpos[:3], atol=5e-3)
    assert np.abs(subject.data.efc_pos[: subject.data.ne]).max() < 2e-3


@pytest.mark.parametrize("name", ["quadruped on the floor", "humanoid on the floor"])
def test_both_engines_stand_on_the_floor_from_the_start(subjects: dict[str, stepping._Subject], name: str) -> None:
    """A twin that still falls has nothing to solve, and its steps are no measure."""
    subject = subjects[name]
    sim = subject.simulator()
    subject.begin(mujoco)
    for step in range(4):
        sim.step()
        mujoco.mj_step(subject.model, subject.data)
        # Feet that begin exactly on the floor touch it for MuJoCo once they have sunk in.
        assert subject.data.ncon >= (4 if step else 0)
        assert (np.asarray(sim.contact_force)[:, 2] > 0.0).sum() >= 4
    np.testing.assert_allclose(sim.q[:3], subject.data.qpos[:3], atol=1e-4)


def test_the_laws_of_both_engines_hold_the_arm(subjects: dict[str, stepping._Subject]) -> None:
    subject = subjects["PUMA 560"]
    for way in stepping._WAYS.values():
        ours, theirs = way(mujoco, subject, 20)
        assert ours() > 0.0
        assert theirs() > 0.0
    _, theirs = stepping._compiled_law(mujoco, subject, 500)
    theirs()
    np.testing.assert_allclose(subject.data.qpos, subject.qpos, atol=1e-6)
    assert (subject.model.body_gravcomp == 0.0).all()


def test_tables_and_json_hold_every_row(tmp_path: Path) -> None:
    rows = (
        report.SteppingRow("arm", "bare", 2.0, 10.0, 1.0),
        report.SteppingRow("arm", "many worlds", 2.0, 10.0, 20.0, 256, 2),
    )
    study = report.SteppingStudy(
        report.ROLLOUT, describe_machine(), {"Setsu": "0", "MuJoCo": "0"}, rows,
        together=(report.TogetherRow("arm", 1.0, 1.1),),
        overheads=(report.OverheadRow("arm", 5.0, 4.0), report.OverheadRow("leg", 9.0, 4.0)),
        resets=(report.ResetRow("leg", 30.0, 60.0),),
        threads=(report.ThreadsRow("arm", 256, 1.0, 0.5), report.ThreadsRow("leg", 256, 1.0, 0.9)),
    )  # fmt: skip
    data = report.stepping_as_json(study)
    assert [(row["ratio"], row["met"]) for row in data["rows"]] == [(5.0, True), (5.0, False)]
    assert [(row["overhead"], row["met"]) for row in data["overheads"]] == [(1.0, True), (5.0, False)]
    assert [row["met"] for row in (*data["together"], *data["resets"])] == [True, False]
    assert [(row["ratio"] >= 1.7, row["met"]) for row in data["threads"]] == [(True, True), (False, False)]
    report.write_stepping_json(study, tmp_path / "rollout.json")
    assert report.stepping_tables(study) is not None


def test_overheads_and_resets_are_measured(subjects: dict[str, stepping._Subject]) -> None:
    subject = subjects["quadruped on the floor"]
    row = stepping._overhead(subject, 5, 1)
    assert row.stepped > 0.0
    assert row.at_once > 0.0
    assert stepping._resets(subject, 1, {"joint_stops": True}, worlds=2).one > 0.0
