"""Runs of a sweep are those of setsu.simulate; failures are recorded; the store is one, whoever computed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.sweep.studies import content, swings

import setsu
from setsu import scenario
from setsu.sweep.plan import value_of
from setsu.sweep.study import read_study


def alone(study: dict[str, Any], data: Any, run: int) -> setsu.Recording:
    """One run of a study by itself, through setsu.simulate."""
    read = read_study(study)
    changes = {path: value_of(p, float(data[p.label][run])) for p in read.parameters for path in p.paths}
    return scenario.run(scenario.with_values(read.scenario, changes))


ARM = {
    "model": {"sample": "planar_arm", "sample_arguments": [2]},
    "start": {"q": {"joint1": 0.3}, "v": {"joint2": 1.0}},
    "torque": {
        "kind": "joint_feedback", "stiffness": 20.0, "damping": 2.0, "gravity_compensation": True,
        "target": {"joint2": "a * sin(5*t)"}, "parameters": {"a": 0.5},
    },
    "simulation": {"duration": 0.105, "step": 0.002, "integrator": "rk4", "record_every": 5},
}  # fmt: skip
PARAMETERS = [
    {"path": "start.q.joint1", "name": "angle", "low": -1.0, "high": 1.0},
    {"path": "torque.stiffness", "name": "stiffness", "low": 1.0, "high": 50.0},
    {"path": "torque.parameters.a", "name": "wave", "low": 0.0, "high": 1.0},
    {"path": "model.bodies.link2.mass", "name": "mass", "low": 0.2, "high": 3.0},
    {"path": "model.joints.joint1.damping", "name": "friction", "low": 0.0, "high": 1.0},
    {"path": "start.seed", "name": "seed", "low": 0, "high": 1000, "whole": True},
    {"path": "simulation.integrator", "name": "method", "values": ["rk4", "semi_implicit"]},
]


@pytest.mark.parametrize("varied", [PARAMETERS, PARAMETERS[:3], PARAMETERS[3:5], PARAMETERS[5:]], ids=len)
def test_batched_runs_are_those_of_simulate(varied: list[dict[str, Any]], tmp_path: Path) -> None:
    study = {
        "scenario": ARM, "sampling": "latin_hypercube", "runs": 12, "chunk": 9, "seed": 4, "parameters": varied
    }  # fmt: skip
    data = setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    for run in range(0, 12, 3):
        rec = alone(study, data, run)
        # The same equations and steps, other orders of rounding; nothing here amplifies them.
        assert np.allclose(data["final_q"][run], rec.q[-1], rtol=0, atol=1e-12)
        assert np.allclose(data["final_v"][run], rec.v[-1], rtol=0, atol=1e-11)
        assert np.allclose(data["largest_speed"][run], np.abs(rec.v).max(axis=0), rtol=1e-11)
        assert np.allclose(data["largest_torque"][run], np.abs(rec.torque).max(axis=0), rtol=1e-10, atol=1e-10)
        assert np.isclose(data["energy_start"][run], rec.energy[0], rtol=1e-12)
        assert np.isclose(data["energy_end"][run], rec.energy[-1], rtol=1e-11)
        assert float(data["end_time"][run]) == 0.105


def test_compiled_steps_are_those_of_simulate(tmp_path: Path) -> None:
    """Enough runs for code of the mechanism alone, and a duration that is no multiple of the step."""
    study = swings(runs=2000, chunk=2000, duration=0.2005)
    data = setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    for run in (0, 1024, 1999):
        rec = alone(study, data, run)
        assert np.allclose(data["final_q"][run], rec.q[-1], rtol=0, atol=1e-12)
        assert np.allclose(data["final_v"][run], rec.v[-1], rtol=0, atol=1e-12)


def test_a_floating_body_falls_as_a_parabola(tmp_path: Path) -> None:
    """Semi-implicit Euler: z = z0 + v t - g t (t + h) / 2, exactly; the spin of a sphere-like box stays."""
    study = {
        "scenario": {
            "model": {"sample": "floating_box"},
            "simulation": {"duration": 0.1, "step": 0.01, "integrator": "semi_implicit"},
        },
        "sampling": "random", "runs": 5,
        "parameters": [{"path": "start.seed", "low": 0, "high": 99, "whole": True}],
    }  # fmt: skip
    data = setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    box = setsu.sample_mechanisms.floating_box()
    for run in range(5):
        start = box.random_configuration(int(data["start.seed"][run]))
        assert np.isclose(data["final_q"][run, 2], start[2] - 9.81 * 0.1 * 0.11 / 2, atol=1e-12)


def test_a_failed_run_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    """A damper that decays faster than the step diverges with an explicit method; its neighbours do not notice."""
    study = swings(runs=12, chunk=12, duration=0.5)
    study["scenario"]["model"] = {"sample": "pendulum", "joints": {"joint1": {"damping": 0.1}}}
    # The last of these makes h d / J far larger than 2.
    study["parameters"].append({"path": "model.joints.joint1.damping", "name": "damping", "values": [0.1, 1e6]})
    data = setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    stiff = data["damping"].values == 1e6
    assert 0 < stiff.sum() < 12
    assert (data["status"].values == np.where(stiff, 2, 1)).all()
    assert all("grows without bound" in text for text in data["error"].values[stiff])
    assert np.isnan(data["final_q"].values[stiff]).all()
    assert (data["end_time"].values[stiff] < 0.5).all()
    for run in np.flatnonzero(~stiff)[:2]:
        rec = alone(study, data, int(run))
        assert np.allclose(data["final_q"][run], rec.q[-1], rtol=0, atol=1e-12)


def test_failures_one_by_one_are_recorded_too(tmp_path: Path) -> None:
    """The logarithm of a negative number is no torque; the other runs do not care."""
    study = {
        "scenario": {
            "model": {"sample": "pendulum"},
            "torque": {"kind": "expression", "values": {"joint1": "log(a + t)"}, "parameters": {"a": 1.0}},
            "simulation": {"duration": 0.02, "integrator": "rk8"},
        },
        "parameters": [{"path": "torque.parameters.a", "name": "a", "values": [1.0, -1.0, 2.0]}],
    }
    data = setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    assert data["status"].values.tolist() == [1, 2, 1]
    assert "torque function" in str(data["error"].values[1])


def test_the_store_does_not_depend_on_who_computes_it(tmp_path: Path) -> None:
    study = swings()
    setsu.sweep(study, tmp_path / "one.zarr", jobs=1)
    setsu.sweep(study, tmp_path / "two.zarr", jobs=2)
    assert content(tmp_path / "one.zarr") == content(tmp_path / "two.zarr")


def test_what_is_complete_is_not_computed_again(tmp_path: Path) -> None:
    out = tmp_path / "runs.zarr"
    setsu.sweep(swings(), out, jobs=1)
    whole = content(out)
    marks = sorted((out / ".setsu" / "done").iterdir())
    times = {mark.name: mark.stat().st_mtime_ns for mark in marks}
    marks[2].unlink()
    told: list[str] = []
    setsu.sweep(swings(), out, jobs=1, progress=lambda text, part: told.append(text))
    assert told == ["32 of 40 runs", "40 of 40 runs"]
    assert content(out) == whole
    again = {mark.name: mark.stat().st_mtime_ns for mark in (out / ".setsu" / "done").iterdir()}
    assert [name for name in times if again[name] != times[name]] == [marks[2].name]


def test_plain_xarray_reads_the_store(tmp_path: Path) -> None:
    import xarray

    setsu.sweep(swings(), tmp_path / "runs.zarr", jobs=1)
    data = xarray.open_zarr(tmp_path / "runs.zarr", chunks=None)
    assert data.sizes == {"run": 40, "coordinate": 1, "velocity": 1}
    assert data["final_q"].attrs["units"] == "rad or m"
    assert data["angle"].attrs["path"] == ["start.q.joint1"]
    assert data["coordinate"].values.tolist() == ["joint1"]


def test_another_study_is_not_mixed_in(tmp_path: Path) -> None:
    out = tmp_path / "runs.zarr"
    setsu.sweep(swings(runs=8), out, jobs=1)
    with pytest.raises(setsu.InputError, match=r"holds another study \(different: runs \(8 there, 9 here\)\)"):
        setsu.sweep(swings(runs=9), out, jobs=1)
    (tmp_path / "other").mkdir()
    with pytest.raises(setsu.InputError, match="is no store of a sweep"):
        setsu.sweep(swings(), tmp_path / "other", jobs=1)
    with pytest.raises(setsu.InputError, match="a folder that exists"):
        setsu.sweep(swings(), tmp_path / "nowhere" / "runs.zarr", jobs=1)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"path": "start.q.joint7", "values": [0.0]}, "unknown joint .joint7."),
        ({"path": "model.bodies.bob.mass", "values": [-1.0, 1.0]}, "expected a number >= 0"),
        ({"path": "simulation.stp", "values": [0.1]}, 'did you mean "step"'),
        ({"path": "simulation.integrator", "values": ["rk4", "rk5"]}, "expected one of default"),
        ({"path": "simulation.duration.x", "values": [1]}, "has no entry 'x'"),
    ],
    ids=str,
)
def test_a_parameter_that_does_not_fit_is_refused_before_anything_is_written(
    parameter: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    study = {**swings(), "sampling": "grid", "parameters": [parameter]}
    del study["runs"]
    with pytest.raises(setsu.ModelFileError, match=expected):
        setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_does_not_answer_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    def refuse(**place: Any) -> None:
        assert place["address"] == "tcp://127.0.0.1:1"
        raise OSError("Timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(setsu.InputError, match="no Dask scheduler answers"):
        setsu.sweep(swings(), tmp_path / "runs.zarr", cluster="tcp://127.0.0.1:1")


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_must_be_a_whole_number(jobs: Any, tmp_path: Path) -> None:
    with pytest.raises(setsu.InputError, match="jobs: expected a whole number"):
        setsu.sweep(swings(), tmp_path / "runs.zarr", jobs=jobs)


def test_a_store_belongs_to_every_model_file_it_was_made_from(tmp_path: Path) -> None:
    for name, length in (("a", 1.0), ("b", 2.0)):
        setsu.sample_mechanisms.pendulum(length=length).save(tmp_path / f"{name}.toml")
    files = [str(tmp_path / f"{name}.toml") for name in ("a", "b")]
    study = {
        "scenario": {"model": {"file": files[0]}, "simulation": {"duration": 0.01}},
        "parameters": [{"path": "model.file", "name": "file", "values": files}],
    }
    setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
    setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)  # nothing has changed
    setsu.sample_mechanisms.pendulum(length=3.0).save(tmp_path / "b.toml")
    with pytest.raises(setsu.InputError):
        setsu.sweep(study, tmp_path / "runs.zarr", jobs=1)
