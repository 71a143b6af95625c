"""Exit codes are 0, 1 or 2; bad input gives one readable message on stderr and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import setsu
from setsu.command_line import main
from setsu.command_line.application import COMMANDS as TABLE

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ARM = EXAMPLES / "models" / "arm.urdf"
SCENARIOS = EXAMPLES / "scenarios"
COMMANDS = tuple(name for name, _, _ in TABLE)
PROMISED = "inspect check parameters generate identify simulate reproduce bench sweep studio warm-up"


def test_every_promised_command_exists() -> None:
    assert set(COMMANDS) == set(PROMISED.split())


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)], ids=" ".join)
def test_help_is_there(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert "Usage: setsu" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_offers_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--help"])
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["inspekt", "x"], 'Did you mean "inspect"?'),
        (["inspect"], "requires an argument"),
        (["inspect", "nowhere.urdf"], "no such file"),
        (["inspect", str(ARM), "--bogus"], "--bogus"),
        (["check", str(ARM), "--repair", "x.xml"], "ending in .toml or .urdf"),
        (["check", str(ARM), "--repair", "nowhere/x.toml"], "a folder that exists"),
        (["check", str(ARM), "--repair", str(ARM)], "another file than the model itself"),
        (["check", str(ARM), "--seed", "one"], "--seed"),
        (["bench", "--only", "pandas"], 'did you mean "panda"'),
        (["bench", "--only", "panda", "--out", "/dev/null/x"], "cannot make the folder"),
        (["check", str(ARM), "--seed", "-1"], "not negative, got -1"),
        (["check", str(ARM.parent)], "a folder, expected a model file"),
        (["identify", str(ARM), "nowhere.csv"], "no such file"),
        (["generate", str(ARM), "--language", "java"], "known: c, cpp, python, fmu"),
        (["generate", str(ARM), "--out", "/dev/null/x"], "cannot write into /dev/null/x"),
        (["reproduce", "nobody1900"], "unknown paper"),
        (["reproduce", "all", "--out", "/dev/null"], "cannot make the folder"),
        (["simulate", str(ARM)], "got the extension '.urdf', expected a TOML file"),
        (["simulate", str(SCENARIOS / "swings.toml")], "a study of many runs, expected a scenario"),
        (["simulate", str(SCENARIOS)], "cannot be read"),
        (["simulate", str(SCENARIOS / "reach.toml"), "--out", "run.txt"], "ending in .nc, .npz or .mcap"),
        (["simulate", str(SCENARIOS / "reach.toml"), "--out", "nowhere/run.nc"], "a folder that exists"),
        (["simulate", str(SCENARIOS / "reach.toml"), "--plots", "/dev/null/x"], "cannot make the folder"),
        (["sweep", str(SCENARIOS / "reach.toml")], "looks like a scenario itself"),
        (["sweep", str(SCENARIOS / "swings.toml"), "--jobs", "0"], "at least 1, got 0"),
        (["sweep", str(SCENARIOS / "swings.toml"), "--out", "/dev/null"], "is no store of a sweep"),
        (["sweep", str(SCENARIOS / "swings.toml"), "--out", "x.zarr", "--cluster", "here"], "tcp://host:port"),
        (["studio", str(SCENARIOS), "--no-browser"], "a folder, expected a model file"),
        (["studio", "--port", "99999"], "from 0 to 65535, got 99999"),
        (["studio", "--host", "300.1.2.3", "--no-browser"], "cannot listen on 300.1.2.3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_code_2(
    words: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("setsu: ")
    assert expected in captured.err
    assert "Traceback" not in captured.err
    assert not list(tmp_path.iterdir()), "nothing is written for bad input"


def test_a_mechanism_is_no_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "four_bar.toml"
    setsu.sample_mechanisms.four_bar().save(path)
    assert main(["simulate", str(path)]) == 2
    assert "a mechanism, expected a scenario" in capsys.readouterr().err


def test_a_disk_that_fails_is_a_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from setsu.command_line import inspect_command

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out/page.html")

    monkeypatch.setattr(inspect_command, "load_model", fail)
    assert main(["inspect", str(ARM)]) == 2
    assert capsys.readouterr().err == "setsu: out/page.html: No space left on device\n"


def test_a_broken_file_lists_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text(ARM.read_text().replace('value="3.8"', 'value="1,5"').replace('value="2.3"', 'value="-2"'))
    assert main(["inspect", str(path)]) == 2
    message = capsys.readouterr().err
    assert "2 problems" in message
    assert '"1,5"' in message or "'1,5'" in message
    assert "-2" in message


def test_inspect_shows_the_model_within_100_columns_and_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(ARM)]) == 0
    text = capsys.readouterr().out
    assert "upper_arm" in text
    assert "load report" in text
    assert "\x1b[" not in text
    # Paths may be long; tables may not.
    assert max(len(line) for line in text.splitlines() if str(ARM) not in line) <= 100


def test_inspect_as_json_holds_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(ARM), "--floating-base", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["nq"], data["nv"]) == (6 + 7, 6 + 6)
    assert data["total_mass"] == pytest.approx(22.0)
    assert {body["name"]: body["carried_by"] for body in data["bodies"]}["tool"] == "flange"
    assert data["load_report"]["format"] == "URDF"


def test_python_m_setsu_is_the_same_command() -> None:
    finished = subprocess.run([sys.executable, "-m", "setsu", "inspect", "no.urdf"], capture_output=True, text=True)
    assert finished.returncode == 2
    assert "no such file" in finished.stderr


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from setsu.command_line import main; main(['--help']); "
        "sys.exit(any(name in sys.modules for name in ('setsu.checks', 'setsu.benchmarks')))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0
