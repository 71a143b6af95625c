"""Exit codes are 0, 1 or 2; bad input gives one readable message on stderr and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from setsu.command_line import main
from setsu.command_line.application import COMMANDS as TABLE

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"
COMMANDS = tuple(name for name, _, _ in TABLE)
PROMISED = "inspect check parameters generate identify simulate reproduce bench sweep studio"


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
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_code_2(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("setsu: ")
    assert expected in captured.err
    assert "Traceback" not in captured.err


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
