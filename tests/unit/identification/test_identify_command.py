"""`setsu identify` reads a model and a log it has never seen, prints, writes report and model; bad input is code 2."""

import json
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu.benchmarks.identification import drawn_mechanism, measured
from setsu.command_line import main
from setsu.sample_mechanisms import planar_arm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and two logs of another arm than the model says."""
    path = tmp_path_factory.mktemp("identify")
    nominal = planar_arm(2)
    nominal.save(path / "arm.toml")
    rng = np.random.default_rng(0)
    truth = drawn_mechanism(nominal, rng)
    truth.save(path / "truth.toml")
    for seed, name in enumerate(("log.csv", "other.csv")):
        motion = setsu.excitation_trajectory(nominal, duration=5.0, seed=seed, trials=30)
        q, tau = measured(truth, motion, rng)
        np.savetxt(path / name, np.column_stack([motion.time, q, tau]), delimiter=",")
    return path


def test_report_and_model_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out"
    words = ["identify", str(folder / "arm.toml"), str(folder / "log.csv"), "--validate", str(folder / "other.csv")]
    assert main([*words, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "11 base parameters" in text
    assert "R² unseen log" in text
    assert max(len(line) for line in text.splitlines() if "written" not in line) <= 100
    page = (out / "report.html").read_text()
    for word in ("Identification of", "Unseen motion", "fv_joint1", "±", "positive definite"):
        assert word in page
    assert page.count("data:image/png;base64,") == 4
    for name in ("torques.png", "residuals.png", "parameters.png", "validation.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    # The model that was written predicts the true arm's torques where the nominal one does not.
    truth, nominal, found = (setsu.load(folder / name) for name in ("truth.toml", "arm.toml", "out/identified.toml"))
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, 40, 2))
    expected = setsu.inverse_dynamics(truth, q, v, a)
    off = [np.abs(setsu.inverse_dynamics(m, q, v, a) - expected).max() for m in (found, nominal)]
    assert off[0] < 0.1 * off[1]


def test_json_holds_the_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(folder / "arm.toml"), str(folder / "log.csv"), "--friction", "viscous", "--no-drive-inertia", "--json"]
    assert main(["identify", *words]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["physically_consistent"] is True
    assert [joint["name"] for joint in data["joints"]] == ["joint1", "joint2"]
    assert len(data["parameters"]) == 6 + 2
    assert all(len(values) == 10 for values in data["bodies"].values())


def test_a_joint_that_stands_still_is_held_where_the_log_says(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second link held at 0.7 rad is part of the first; with or without columns of its own."""
    arm = planar_arm(2)
    held = setsu.lock_joints(arm, {"joint2": 0.7})
    motion = setsu.excitation_trajectory(held, duration=4.0, trials=20)
    tau = setsu.inverse_dynamics(held, motion.q, motion.v, motion.a)
    still = np.full((len(tau), 1), 0.7)
    np.savetxt(tmp_path / "all.csv", np.column_stack([motion.time, motion.q, still, tau, 0 * still]), delimiter=",")
    np.savetxt(tmp_path / "one.csv", np.column_stack([motion.time, motion.q, tau]), delimiter=",")
    found = []
    for log, lock in (("all.csv", "joint2"), ("one.csv", "joint2=0.7")):
        assert main(["identify", str(folder / "arm.toml"), str(tmp_path / log), "--lock", lock, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for data in found:
        by_name = {entry["name"]: entry for entry in data["parameters"]}
        assert len(by_name) == 5
        assert all(entry["value"] == pytest.approx(entry["model"], abs=1e-4) for entry in by_name.values())
    assert main(["identify", str(folder / "arm.toml"), str(tmp_path / "all.csv")]) == 2
    assert 'joint "joint2" does not move' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (lambda text: text, ["--friction", "sticky"], "unknown term 'sticky'"),
        (lambda text: text, ["--lock", "joint9"], "unknown joint 'joint9'"),
        (lambda text: text, ["--lock", "joint2=far"], "expected a number behind =, got 'far'"),
        (lambda text: text.replace("\n", ",1\n"), [], "6 columns without a header; expected 5"),
        (lambda text: "\n".join(text.splitlines()[:8]), [], "at least 12 samples, got 8"),
    ],
)
def test_bad_input_is_one_message(
    folder: Path, change, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "bad.csv"
    log.write_text(change((folder / "log.csv").read_text()))
    assert main(["identify", str(folder / "arm.toml"), str(log), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_alarms_decide_the_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Negated torques, with and without noise: 1, and 0 once every alarm is accepted by name."""
    table = np.loadtxt(folder / "log.csv", delimiter=",")
    table[:, 3:] *= -1.0
    np.savetxt(folder / "negated.csv", table, delimiter=",")
    motion = setsu.excitation_trajectory(planar_arm(2), duration=4.0, trials=10)
    tau = setsu.inverse_dynamics(planar_arm(2), motion.q, motion.v, motion.a)
    np.savetxt(folder / "exact.csv", np.column_stack([motion.time, motion.q, -tau]), delimiter=",")
    for log in ("negated.csv", "exact.csv"):
        words = ["identify", str(folder / "arm.toml"), str(folder / log)]
        assert main([*words, "--json"]) == 1
        kinds = [alarm["kind"] for alarm in json.loads(capsys.readouterr().out)["alarms"]]
        assert "sign" in kinds
        assert main([*words, *(word for kind in kinds for word in ("--accept", kind))]) == 0
        assert "note: sign" in capsys.readouterr().out
        if len(kinds) > 1:
            assert main([*words, "--accept", "sign"]) == 1
            capsys.readouterr()


def test_logs_in_other_units_are_suspected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Degrees in place of radians leave torques unexplained; a few samples are refused by the name of their file."""
    table = np.loadtxt(folder / "log.csv", delimiter=",")
    table[:, 1:3] = np.degrees(table[:, 1:3])
    np.savetxt(folder / "degrees.csv", table, delimiter=",")
    assert main(["identify", str(folder / "arm.toml"), str(folder / "degrees.csv")]) == 1
    assert "are they degrees? expected rad" in " ".join(capsys.readouterr().out.split())
    np.savetxt(folder / "short.csv", table[:8], delimiter=",")
    assert main(["identify", str(folder / "arm.toml"), str(folder / "short.csv")]) == 2
    assert "short.csv: expected at least 12 samples, got 8" in capsys.readouterr().err
